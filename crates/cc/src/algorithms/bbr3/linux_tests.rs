//! The rules in which the two variants differ, with values that follow by hand. Section numbers are the draft's; for Linux the rule is
//! that of google/bbr (branch v3), `net/ipv4/tcp_bbr.c`.

use super::*;
use crate::params::Value;
use crate::time::{MILLISECOND, SECOND};

const LINUX_V3: (&str, Value) = ("variant", Value::Name("linux-v3"));
const RTT_MS: u64 = 100;

/// A connection with a full pipe of 1000 segments a second and 100 ms, in this state.
fn full(linux: bool, phase: Bbr3Phase) -> Bbr3 {
    let given = if linux { &[LINUX_V3][..] } else { &[] };
    let start = Start::from(10.0).segment_bytes(1500).rtt(RTT_MS * MILLISECOND).seed(7);
    let mut cc = Bbr3::controller(&Params::checked(&BBR3, given).expect("parameters"), start);
    cc.on_sent(&Flow::at(0).in_flight(1));
    cc.model.take(1000.0);
    cc.full_pipe.reached = true;
    cc.phase = phase;
    cc.cwnd = 200.0;
    cc.follow_model();
    cc
}

/// An ACK at `now_ms` of one segment, with `in_flight` segments after it; its sample has `rate` segments in a second.
fn news(cc: &Bbr3, now_ms: u64, in_flight: u64, rate: u64) -> Bbr3AckEvent {
    let sample = RateSample::new(rate, Some(SECOND)).prior_delivered(cc.model.delivered).newly_delivered(1);
    Bbr3AckEvent::of(&Flow::at(now_ms * MILLISECOND).in_flight(in_flight), &Ack::of(1, 1.0), sample)
}

/// A bound of 1024 segments gives 2^9 = 512 steps. The exponent has 5 bits, so that a bound of 10^12 segments gives no more than 2^30.
#[test]
fn steps_after_marks_have_at_most_30_doublings() {
    for (longterm, doublings) in [(1024.0, 9), (1e12, 30), (f64::INFINITY, 30)] {
        let mut cc = full(true, Bbr3Phase::Cruise);
        cc.model.inflight_longterm = longterm;
        let marked = Ack::of(1, 1.0).ce(1);
        let sample = RateSample::new(1000, Some(SECOND)).prior_delivered(cc.model.delivered).newly_delivered(1);
        let event = Bbr3AckEvent::of(&Flow::at(SECOND).in_flight(100), &marked, sample);
        // Marks count after a round of at most 5 ms.
        (cc.model.min_rtt, cc.model.round_start) = (Some(MILLISECOND), true);
        cc.update_marks(&event);
        cc.note_cycle(&event);
        assert!(cc.reprobes_after_marks(&event), "{longterm}");
        assert_eq!(cc.probe.up_rounds, doublings, "{longterm}");
    }
}

/// Growth by 9 % a round from 1000 segments a second. With a new baseline at a round start, three round starts later the rate is 1.09³ =
/// 1.295 of it. With one just before a round start, it is 1.09² = 1.188 of it and 1 % more: less than 1.25.
#[test]
fn a_baseline_within_a_round_lets_three_round_starts_be_two_rounds() {
    for (within, rates) in [(false, [1090, 1188, 1295]), (true, [1010, 1101, 1200])] {
        let mut cc = full(true, Bbr3Phase::Startup);
        cc.full_pipe = Bbr3FullPipe { bw: 800.0, ..Bbr3FullPipe::default() };
        cc.model.round_start = !within;
        cc.check_full_bw_reached(&news(&cc, 0, 100, 1000));
        assert_eq!((cc.full_pipe.bw, cc.full_pipe.count), (1000.0, 0));
        cc.model.round_start = true;
        for (round, rate) in (1..).zip(rates) {
            cc.check_full_bw_reached(&news(&cc, 100 * round, 100, rate));
        }
        assert_eq!(cc.full_pipe.reached, within);
    }
}

/// Section 5.3.3.6: with an inflight_longterm of 50.5, 49 segments are in flight after an ACK of one and 50 before it, and not one more has
/// room: the probe ends. With 48 it does not. Linux has 49 + 2 >= 50.
#[test]
fn a_probe_ends_where_the_risky_amount_is_reached_before_the_ack() {
    for (linux, longterm, in_flight, ends) in
        [(false, 50.5, 49, true), (false, 50.5, 48, false), (true, 50.0, 47, true), (true, 50.0, 46, false)]
    {
        let mut cc = full(linux, Bbr3Phase::Up);
        (cc.model.inflight_longterm, cc.probe.was_too_high) = (longterm, true);
        let news = news(&cc, 1000, in_flight, 1000);
        cc.update_up(&news);
        assert_eq!(cc.phase == Bbr3Phase::Down, ends, "{linux} {in_flight}");
        assert_eq!(cc.probe.was_precautionary, ends);
    }
}

/// Linux: the next segment may leave in 5 ms, in which 1000 segments a second deliver 5. Of 105 in flight 100 are left, the BDP. In UP the
/// quantum of 2 is added.
#[test]
fn in_flight_at_the_next_departure() {
    let mut cc = full(true, Bbr3Phase::Down);
    cc.departure = 1005 * MILLISECOND;
    assert_eq!(cc.at_departure(105.0, 1000 * MILLISECOND), 100.0);
    cc.phase = Bbr3Phase::Up;
    assert_eq!(cc.at_departure(105.0, 1000 * MILLISECOND), 102.0);
    assert_eq!(cc.at_departure(105.0, 1006 * MILLISECOND), 107.0);
}

/// Section 5.3.2: Drain ends after the round `drain_start_round + 3`, whatever is in flight. With Linux it does not.
#[test]
fn only_the_drafts_drain_ends_by_time() {
    for (linux, phase) in [(false, Bbr3Phase::Down), (true, Bbr3Phase::Drain)] {
        let mut cc = full(linux, Bbr3Phase::Drain);
        cc.enter_drain();
        for (rounds, expected) in [(3, Bbr3Phase::Drain), (4, phase)] {
            cc.model.round_count = cc.drain_start_round + rounds;
            let news = news(&cc, 1000, 500, 1000);
            cc.check_drain_done(&news);
            assert_eq!(cc.phase, expected, "{linux} {rounds}");
        }
    }
}

/// Section 5.3.2: Drain ends where no more than the BDP, 100 segments, is in flight.
#[test]
fn drain_ends_at_the_bdp() {
    for (in_flight, expected) in [(101, Bbr3Phase::Drain), (100, Bbr3Phase::Down)] {
        let mut cc = full(false, Bbr3Phase::Drain);
        cc.enter_drain();
        let news = news(&cc, 1000, in_flight, 1000);
        cc.check_drain_done(&news);
        assert_eq!(cc.phase, expected);
    }
}

/// Section 5.3.3.4 (IsTimeToGoDown): a window that is full and reaches inflight_longterm, here of 200, keeps the probe going, whatever
/// the rate of delivery has shown before. One that is not full, or is below, does not.
#[test]
fn a_full_pipe_ends_a_probe_below_the_long_term() {
    for (is_full, longterm, expected) in
        [(true, 200.0, Bbr3Phase::Up), (true, 201.0, Bbr3Phase::Down), (false, 200.0, Bbr3Phase::Down)]
    {
        let mut cc = full(false, Bbr3Phase::Up);
        (cc.usage.full_now, cc.usage.full_before) = (is_full, false);
        (cc.model.inflight_longterm, cc.probe.was_too_high, cc.full_pipe.now) = (longterm, false, true);
        let news = news(&cc, 1000, 50, 1000);
        cc.update_up(&news);
        assert_eq!(cc.phase, expected, "{is_full} {longterm}");
    }
}

/// Section 5.6.4.4 (SaveCwnd): outside of recovery and ProbeRTT the window itself; within, the greater one.
#[test]
fn the_window_that_is_saved() {
    for (in_episode, phase, saved) in
        [(false, Bbr3Phase::Cruise, 200.0), (true, Bbr3Phase::Cruise, 300.0), (false, Bbr3Phase::ProbeRtt, 300.0)]
    {
        let mut cc = full(false, phase);
        (cc.undo.in_episode, cc.prior_cwnd, cc.cwnd) = (in_episode, 300.0, 200.0);
        cc.save_cwnd();
        assert_eq!(cc.prior_cwnd, saved, "{in_episode} {phase:?}");
    }
}

/// Linux at 2 ms: with alpha at 1, one mark in ten segments takes it to 1 - (1 - 0.1)/16 = 0.94375, and inflight_shortterm from 1000 to
/// 1000 (1 - 85/256 x 0.94375), 686.6, of which whole segments count. Before any mark none is taken.
#[test]
fn the_part_of_marks_is_of_all_that_is_delivered() {
    let start = Start::from(10.0).segment_bytes(1500).rtt(2 * MILLISECOND).seed(7);
    let mut cc = Bbr3::controller(&Params::checked(&BBR3, &[LINUX_V3]).expect("parameters"), start);
    cc.on_sent(&Flow::at(0).in_flight(1));
    assert_eq!(cc.inflight_for_marks(), None);
    cc.model.inflight_shortterm = 1000.0;
    for (delivered, ce, round_start) in [(4, 0, false), (6, 1, true)] {
        let sample = RateSample::new(1000, Some(SECOND)).newly_delivered(delivered);
        let news = Bbr3AckEvent::of(&Flow::at(MILLISECOND), &Ack::of(delivered, delivered as f64).ce(ce), sample);
        cc.model.round_start = round_start;
        cc.update_marks(&news);
    }
    assert_eq!(cc.inflight_for_marks(), Some(686.0));
}

/// Section 5.3.1.2: only the first ACK of a round is looked at. With Linux a rate of 1250 within a round, 1.25 times the last one, begins the count
/// again.
#[test]
fn an_ack_within_a_round_may_show_growth_with_linux() {
    for (linux, count) in [(false, 2), (true, 0)] {
        let mut cc = full(linux, Bbr3Phase::Startup);
        cc.full_pipe = Bbr3FullPipe { bw: 1000.0, count: 2, now: false, reached: false };
        cc.model.next_round_delivered = 100;
        let news = news(&cc, 1000, 100, 1250);
        cc.update_model_and_state(&news);
        assert_eq!(cc.full_pipe.count, count, "{linux}");
    }
}

/// Linux: of 300 segments that came together 100 ms of bandwidth count, 100, on top of 2 BDP, 200. The draft counts all (section 5.6.4.2).
#[test]
fn aggregation_counts_for_100_ms_with_linux() {
    for (linux, most) in [(false, 500.0), (true, 300.0)] {
        let mut cc = full(linux, Bbr3Phase::Cruise);
        let round = (1, false);
        assert!(cc.model.aggregation.remember(300.0, round, 10));
        cc.model.has_changed = true;
        cc.bound_cwnd();
        cc.cwnd = 1000.0;
        cc.bound_cwnd();
        assert!((cc.cwnd - most).abs() < 1e-9, "{linux} {}", cc.cwnd);
    }
}

/// Linux: CRUISE begins with an inflight_shortterm of 80 where inflight_longterm is 80. The draft's section 5.3.3.9 leaves it at 120.
#[test]
fn cruise_begins_within_the_long_term_with_linux() {
    for (linux, expected) in [(false, 120.0), (true, 80.0)] {
        let mut cc = full(linux, Bbr3Phase::Down);
        (cc.model.inflight_longterm, cc.model.inflight_shortterm) = (80.0, 120.0);
        cc.start_cruise();
        assert_eq!(cc.model.inflight_shortterm, expected);
    }
}

/// Section 5.6.4.6: with a window above max_inflight one of 19 does not grow once 10 segments are delivered. With Linux one below
/// 20, twice the first window, does.
#[test]
fn a_window_below_twice_the_first_grows_with_linux() {
    for (linux, grown) in [(false, 19.0), (true, 20.0)] {
        let mut cc = full(linux, Bbr3Phase::Startup);
        cc.full_pipe.reached = false;
        cc.model.take(10.0);
        cc.follow_model();
        cc.cwnd = 19.0;
        for _ in 0..2 {
            let news = news(&cc, 1000, 10, 10);
            cc.set_cwnd(&news);
        }
        assert_eq!(cc.cwnd, grown, "{linux}");
    }
}

/// Section 5.5.10.3: a tail loss probe that has repaired a loss makes a round with a loss, and bw falls to Beta, 0.7 (Linux: 180/256).
#[test]
fn a_repaired_tail_is_a_loss() {
    for (linux, part) in [(false, 0.7), (true, 0.703125)] {
        let mut cc = full(linux, Bbr3Phase::Cruise);
        cc.on_congestion(&Flow::at(SECOND), Signal::Loss);
        assert!(cc.congestion.is_loss_in_round, "{linux}");
        cc.adapt_lower_bounds();
        assert!((cc.model.bw() - 1000.0 * part).abs() < 1e-9, "{linux} {}", cc.model.bw());
    }
}

/// A reported loss is not taken for a repaired tail: no second round of losses begins.
#[test]
fn a_reported_loss_begins_no_second_round() {
    let mut cc = full(false, Bbr3Phase::Cruise);
    let flow = Flow::at(SECOND);
    cc.on_lost(&flow, &Lost::of(5).delivered(40));
    cc.congestion.is_loss_in_round = false;
    cc.on_congestion(&flow, Signal::Loss);
    assert!(!cc.congestion.is_loss_in_round);
}

/// Section 5.5.10.2: the round of a loss begins with the data sent once 40 segments are delivered, the ACK's own included. An ACK of a segment
/// sent after 39 does not end it.
#[test]
fn the_round_of_a_loss_begins_after_the_ack_that_shows_it() {
    let mut cc = full(false, Bbr3Phase::Cruise);
    cc.model.delivered = 30;
    cc.on_lost(&Flow::at(SECOND), &Lost::of(5).delivered(40));
    for (prior, ends) in [(39, false), (40, true)] {
        let sample = RateSample::new(10, Some(SECOND)).prior_delivered(prior).newly_delivered(1);
        let news = Bbr3AckEvent::of(&Flow::at(SECOND), &Ack::of(1, 1.0), sample);
        assert_eq!(cc.update_latest_delivery_signals(&news), ends, "{prior}");
    }
}

/// Linux: 10,000 segments a second for 1/1024 s are 9.77. A min_rtt of 1 ms adds 64 kB / 2, 21.8 segments of 1500 bytes: 31 whole ones. The
/// draft's section 5.6.3 has 10, whatever the min_rtt.
#[test]
fn a_short_path_has_a_larger_quantum_with_linux() {
    for (linux, rtt_ms, quantum) in [(false, 1, 10), (true, 1, 31), (true, 100, 9)] {
        let mut cc = full(linux, Bbr3Phase::Cruise);
        cc.model.min_rtt = Some(rtt_ms * MILLISECOND);
        cc.pace_at(10_000.0);
        assert_eq!(cc.send_quantum(), quantum, "{linux} {rtt_ms}");
    }
}

/// Section 5.5.10.2: 2 of 101 segments are less than 2 % of it, 2.02. Linux: 5/256 of 101 are 1.97, rounded down 1.
#[test]
fn too_high_is_a_whole_number_of_losses_with_linux() {
    assert!(!full(false, Bbr3Phase::Up).is_inflight_too_high(2.0, 101.0));
    assert!(full(true, Bbr3Phase::Up).is_inflight_too_high(2.0, 101.0));
    assert!(!full(true, Bbr3Phase::Up).is_inflight_too_high(1.0, 101.0));
}

/// Linux: 5/256 of 100 segments are 1.95, rounded up 2; one was lost before: 1/(1 - 5/256) = 1.02, so that 101 were safe.
#[test]
fn the_safe_amount_is_whole_with_linux() {
    assert_eq!(full(true, Bbr3Phase::Up).inflight_at_loss(101.0, 2.0), 101.0);
    assert_eq!(full(true, Bbr3Phase::Up).inflight_at_loss(101.0, 9.0), 100.0);
}

/// Linux: a probe ends by an ACK of a segment since whose departure 3 of 100 were lost. The draft's ends by the losses only.
#[test]
fn losses_of_a_sample_end_a_probe_with_linux() {
    for (linux, phase) in [(false, Bbr3Phase::Up), (true, Bbr3Phase::Down)] {
        let mut cc = full(linux, Bbr3Phase::Up);
        cc.probe.is_sample = true;
        let mut news = news(&cc, 1000, 90, 1000);
        (news.lost, news.tx_in_flight) = (3, 100);
        cc.update_probe_bw_cycle_phase(&news);
        assert_eq!(cc.phase, phase, "{linux}");
    }
}

/// Section 5.6.4.4: recovery over, the window of 200 is back, and bounded at once by an inflight_shortterm of 60. With Linux fast
/// recovery leaves it as it is, and a timeout does not.
#[test]
fn the_window_after_recovery_is_bounded_by_the_model() {
    for (linux, signal, expected) in
        [(false, Signal::Loss, 60.0), (true, Signal::Loss, 50.0), (true, Signal::Timeout, 60.0)]
    {
        let mut cc = full(linux, Bbr3Phase::Cruise);
        cc.on_lost(&Flow::at(SECOND), &Lost::of(5));
        cc.on_congestion(&Flow::at(SECOND).in_flight(3), signal);
        cc.model.inflight_shortterm = 60.0;
        cc.model.has_changed = true;
        cc.cwnd = 50.0;
        cc.on_recovered(&Flow::at(2 * SECOND));
        assert_eq!(cc.cwnd, expected, "{linux} {signal:?}");
    }
}

/// Gains that are given hold with either variant, those equal to the draft's too.
#[test]
fn given_gains_win_over_the_variants() {
    let given = [LINUX_V3, ("drain_pacing_gain", Value::Number(0.5)), ("down_pacing_gain", Value::Number(0.9))];
    let cc = Bbr3::controller(&Params::checked(&BBR3, &given).expect("parameters"), 10.0);
    assert_eq!(cc.settings.constants.pacing_gains[1..3], [0.5, 0.9]);
}
