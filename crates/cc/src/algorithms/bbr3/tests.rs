//! The draft's own numbers, and those that follow from it by hand.

use super::*;
use crate::params::Value;
use crate::time::{MILLISECOND, SECOND};
use std::vec::Vec;

/// A connection of 1514-byte segments with a first window of 10 and a handshake of `rtt_ms` milliseconds.
fn bbr3(rtt_ms: u64, given: &[(&str, Value)]) -> Bbr3 {
    let start = Start::from(10.0).segment_bytes(1514).rtt(rtt_ms * MILLISECOND).seed(7);
    let mut cc = Bbr3::controller(&Params::checked(&BBR3, given).expect("parameters"), start);
    cc.on_sent(&Flow::at(0).in_flight(1));
    cc
}

/// An ACK at `now_ms` that ends a round. Its sample has `delivered` segments in `interval_ms`; `in_flight` are in flight.
fn ack(cc: &mut Bbr3, now_ms: u64, delivered: u64, interval_ms: u64, in_flight: u64) {
    let rate = RateSample::new(delivered, Some(interval_ms * MILLISECOND)).prior_delivered(cc.model.delivered);
    cc.on_ack(&Flow::at(now_ms * MILLISECOND).in_flight(in_flight), &Ack::of(1, 1.0).rate(Some(rate)));
}

/// A round of `per_second` segments a second: an ACK within it has this rate, and the one that ends it has none.
fn round(cc: &mut Bbr3, per_second: f64) {
    let within = RateSample::new((per_second * 1000.0) as u64, Some(1000 * SECOND));
    let end = RateSample::new(1, None);
    for sample in [within.prior_delivered(cc.model.next_round_delivered - 1), end] {
        let prior = if sample.interval.is_some() { sample.prior_delivered } else { cc.model.delivered };
        let sample = sample.prior_delivered(prior).newly_delivered(1);
        cc.on_ack(&Flow::at(800 * MILLISECOND).in_flight(100), &Ack::of(1, 1.0).rate(Some(sample)));
    }
}

/// A connection at a full pipe of `rate` segments a second: in ProbeBW_CRUISE, with nothing else known.
fn cruising(rtt_ms: u64, rate: u64) -> Bbr3 {
    let mut cc = bbr3(rtt_ms, &[]);
    for k in 1..=6 {
        ack(&mut cc, 100 * k, 100 * rate, 100_000, 1000);
    }
    ack(&mut cc, 700, 100 * rate, 100_000, 1);
    ack(&mut cc, 701, 100 * rate, 100_000, 1);
    assert_eq!(cc.phase, Bbr3Phase::Cruise);
    cc
}

/// Section 5.3.1.2: rates of 10, 20, 40, 80, 99, 99 and 99 in successive rounds are a full pipe at the seventh; 100 is 1.25 times 80, and
/// then it is at the eighth.
#[test]
fn three_rounds_of_little_growth_are_a_full_pipe() {
    for (last, full) in [(99, 7), (100, 8)] {
        let mut cc = bbr3(100, &[]);
        let rounds = (1..).zip([10, 20, 40, 80].into_iter().chain(std::iter::repeat(last)));
        let mut reached = rounds.map(|(round, rate)| {
            ack(&mut cc, 1000 * round, rate, 1000, 50);
            (cc.full_pipe.reached, round)
        });
        assert_eq!(reached.find(|(reached, _)| *reached), Some((true, full)));
    }
}

/// Section 5.3.1.2: rounds limited by the application do not count.
#[test]
fn an_application_that_sends_little_fills_no_pipe() {
    let mut cc = bbr3(100, &[]);
    for round in 1..40 {
        let rate = RateSample::new(10, Some(SECOND)).prior_delivered(cc.model.delivered).is_app_limited(true);
        cc.on_ack(&Flow::at(round * 100 * MILLISECOND), &Ack::of(1, 1.0).rate(Some(rate)));
    }
    assert_eq!(cc.phase, Bbr3Phase::Startup);
}

/// Section 5.5.10.2: 100 in flight before the segment and 1 lost of them: (0.02 100 - 1)/0.98 = 1.0204 more, and 2 % are lost.
#[test]
fn where_losses_crossed_the_threshold() {
    assert!((bbr3(100, &[]).inflight_at_loss(101.0, 2.0) - 101.0204).abs() < 1e-4);
}

/// Section 5.3.3.8.1: 25 Mbit/s and 30 ms are 61.9 segments of 1514 bytes: a probe after 61 or 62 rounds, 1.9 s, for Reno's sake.
#[test]
fn small_windows_probe_as_often_as_reno() {
    let mut cc = cruising(30, 2064);
    let seen: Vec<u64> = (0..20)
        .map(|_| {
            cc.start_down(0);
            cc.phase = Bbr3Phase::Cruise;
            cc.cwnd = 200.0;
            let mut rounds = 0;
            while cc.phase == Bbr3Phase::Cruise {
                rounds += 1;
                // The clock is constant, so that rounds alone count.
                ack(&mut cc, 800, 206_400, 100_000, 61);
            }
            rounds
        })
        .collect();
    assert!(seen.iter().all(|rounds| [61, 62].contains(rounds)), "{seen:?}");
    assert!(seen.contains(&61) && seen.contains(&62), "{seen:?}");
}

/// Section 5.3.3.8.3: a BDP of 1000 segments at 100 ms takes more than 63 rounds of 100 ms, and 2 to 3 s of the clock come first.
#[test]
fn large_windows_probe_every_two_to_three_seconds() {
    let mut cc = cruising(100, 10_000);
    for _ in 0..20 {
        cc.start_down(0);
        cc.phase = Bbr3Phase::Cruise;
        cc.cwnd = 2000.0;
        let mut now_ms = 0;
        while cc.phase == Bbr3Phase::Cruise {
            now_ms += 100;
            ack(&mut cc, now_ms, 1_000_000, 100_000, 1000);
        }
        assert!((2000..=3100).contains(&now_ms), "{now_ms}");
    }
}

/// Section 5.3.3.5: a window of 100 raises inflight_longterm by 1, 2, 4 and 8 in successive rounds.
#[test]
fn inflight_longterm_grows_by_twice_as_much_every_round() {
    let mut cc = cruising(100, 1000);
    (cc.cwnd, cc.model.inflight_longterm, cc.usage.full_now) = (100.0, 80.0, true);
    cc.phase = Bbr3Phase::Up;
    cc.raise_inflight_longterm_slope();
    let flow = Flow::at(SECOND);
    let one = RateSample::new(1, None);
    let grown: Vec<f64> = (0..4)
        .map(|_| {
            let before = cc.model.inflight_longterm;
            for k in 1..=100 {
                cc.model.round_start = k == 100;
                cc.probe_inflight_longterm_upward(&Bbr3AckEvent::of(&flow, &Ack::default(), one));
            }
            cc.model.inflight_longterm - before
        })
        .collect();
    assert_eq!(grown, [1.0, 2.0, 4.0, 8.0]);
}

/// Section 5.6.2: 2.77 windows of ten 1500-byte segments in 40 ms are 8.31 Mbit/s; without a handshake's RTT, in 1 ms.
#[test]
fn the_first_pacing_rate() {
    let params = Params::defaults(&BBR3);
    let rate = |start: Start| Bbr3::controller(&params, start).pacing_rate().expect("it paces") * 12_000.0;
    assert!((rate(Start::from(10.0).rtt(40 * MILLISECOND)) - 8.31e6).abs() < 1.0);
    assert!((rate(Start::from(10.0)) - 332.4e6).abs() < 1.0);
}

/// Section 5.3.3.8.3: 1 % lost in each of 137 rounds of CRUISE takes bw to 0.99^137 of its first value, and four times that is 1.01.
#[test]
fn a_loss_of_one_percent_a_round_takes_as_much() {
    let mut cc = cruising(100, 1000);
    cc.start_down(0);
    cc.phase = Bbr3Phase::Cruise;
    cc.cwnd = 1000.0;
    let first = cc.model.bw();
    round(&mut cc, 990.0);
    for _ in 0..137 {
        // So that neither rounds nor the clock call for a probe.
        cc.probe.rounds_since = 0;
        cc.on_lost(&Flow::at(0), &Lost::of(5));
        let bw = cc.model.bw();
        round(&mut cc, 0.99 * bw);
        cc.on_recovered(&Flow::at(0));
    }
    assert_eq!(cc.phase, Bbr3Phase::Cruise);
    assert!((4.0 * cc.model.bw() / first - 1.01).abs() < 0.005, "{}", cc.model.bw() / first);
}

/// Where delivery falls by more, bw falls by Beta, to 0.7, in a round.
#[test]
fn no_round_takes_more_than_beta() {
    let mut cc = cruising(100, 1000);
    round(&mut cc, 1.0);
    cc.on_lost(&Flow::at(0), &Lost::of(5));
    round(&mut cc, 1.0);
    assert!((cc.model.bw() / 1000.0 - 0.7).abs() < 1e-9, "{}", cc.model.bw());
}

/// The table of section 5.6.1, and Linux's where it differs.
#[test]
fn gains_are_the_tables() {
    let phases = [
        Bbr3Phase::Startup,
        Bbr3Phase::Drain,
        Bbr3Phase::Down,
        Bbr3Phase::Cruise,
        Bbr3Phase::Refill,
        Bbr3Phase::Up,
        Bbr3Phase::ProbeRtt,
    ];
    let gains = |given: &[(&str, Value)]| {
        let mut cc = bbr3(100, given);
        phases.map(|phase| {
            cc.phase = phase;
            (cc.pacing_gain(), cc.cwnd_gain())
        })
    };
    let draft = [(2.77, 2.0), (0.5, 2.0), (0.9, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, 2.25), (1.0, 0.5)];
    assert_eq!(gains(&[]), draft);
    let linux = gains(&[("variant", Value::Name("linux-v3"))]);
    assert_eq!([linux[1].0, linux[2].0], [0.34375, 0.90625]);
    assert_eq!(gains(&[("drain_pacing_gain", Value::Number(0.4))])[1].0, 0.4);
}

/// Section 5.6.3: the data of a millisecond, at least 2 segments, at most 64 kB: 43.3 segments of 1514 bytes.
#[test]
fn the_send_quantum() {
    let mut cc = bbr3(100, &[]);
    let quanta = [100.0, 10_500.0, 1e6].map(|rate| {
        cc.pace_at(rate);
        cc.send_quantum()
    });
    assert_eq!(quanta, [2, 10, 43]);
}

/// Section 5.6.4.6: the window grows by the amount delivered, to 2 BDP, 200 segments, once the pipe is full.
#[test]
fn the_window_is_two_bdp() {
    let mut cc = cruising(100, 1000);
    ack(&mut cc, 800, 100_000, 100_000, 90);
    let extra = cc.model.aggregation.extra_acked();
    assert!((cc.cwnd() - (200.0 + extra)).abs() < 1e-9, "{} {extra}", cc.cwnd());
}

/// Section 5.6.4.4: a timeout leaves room for one segment more than those in flight; recovery over, the window is back.
#[test]
fn a_timeout_and_its_end() {
    let mut cc = cruising(100, 1000);
    ack(&mut cc, 800, 100_000, 100_000, 90);
    let before = cc.cwnd();
    cc.on_congestion(&Flow::at(SECOND).in_flight(3), Signal::Timeout);
    assert_eq!(cc.cwnd(), 4.0);
    cc.on_recovered(&Flow::at(SECOND));
    assert_eq!(cc.cwnd(), before);
}

/// Marks: of the draft's they count as a loss, and a round with one takes bw to 0.7; of Linux's not one counts at 100 ms. At 2 ms a round of nothing
/// but marks takes alpha/3 of inflight_shortterm, alpha being 1 at first and 1 after it.
#[test]
fn marks_are_answered() {
    let mut cc = cruising(100, 1000);
    round(&mut cc, 1.0);
    cc.on_congestion(&Flow::at(0), Signal::Ecn);
    round(&mut cc, 1.0);
    assert!((cc.model.bw() / 1000.0 - 0.7).abs() < 1e-9);
    for (rtt_ms, shortterm) in [(100, f64::INFINITY), (2, 80.0)] {
        let mut cc = bbr3(rtt_ms, &[("variant", Value::Name("linux-v3"))]);
        cc.start_down(0);
        cc.phase = Bbr3Phase::Cruise;
        cc.full_pipe.reached = true;
        cc.cwnd = 120.0;
        let rate = RateSample::new(1000, Some(10 * MILLISECOND));
        cc.on_ack(&Flow::at(MILLISECOND), &Ack::of(1, 1.0).rate(Some(rate)).ce(1000));
        let found = cc.model.inflight_shortterm;
        assert!(found == shortterm || (found - shortterm).abs() < 1e-9, "{found}");
    }
}
