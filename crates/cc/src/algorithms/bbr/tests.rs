//! The papers' own numbers, and those that follow from them by hand.

use super::probe_bw::GAINS;
use super::*;
use crate::time::{MILLISECOND, SECOND};
use std::vec::Vec;

/// A connection with a first window of 10 and a handshake of 100 ms, and the history of its path.
struct Path {
    cc: Bbr,
    delivered: u64,
    lost: u64,
}

impl Path {
    fn new(seed: u64) -> Path {
        let start = Start::from(10.0).segment_bytes(1500).rtt(100 * MILLISECOND).seed(seed);
        let mut cc = Bbr::controller(&Params::defaults(&BBR), start);
        cc.on_sent(&Flow::at(0).in_flight(1));
        Path { cc, delivered: 0, lost: 0 }
    }

    /// An ACK at `now_ms` that ends a round: of `rate` segments a second, `lost` of which are, with `in_flight` in flight.
    fn ack(&mut self, now_ms: u64, rate: u64, lost: u64, in_flight: u64) {
        let newly = rate / 10;
        let sample = RateSample::new(newly, Some(100 * MILLISECOND)).prior_delivered(self.delivered);
        self.delivered += newly;
        self.lost += lost;
        let flow = Flow::at(now_ms * MILLISECOND).in_flight(in_flight).lost(self.lost);
        self.cc.on_ack(&flow, &Ack::of(newly, 1.0).rate(Some(sample)).newly_lost(lost));
    }

    /// At a full pipe of 1000 segments a second, in ProbeBW.
    fn probing(seed: u64) -> Path {
        let mut path = Path::new(seed);
        (1..=5).for_each(|k| path.ack(100 * k, 1000, 0, 200));
        path.ack(600, 1000, 0, 50);
        assert!(matches!(path.cc.phase, BbrPhase::ProbeBw { .. }));
        path
    }
}

/// Section 4.3.2.2: three rounds that bring less than a quarter more are a full pipe.
#[test]
fn three_rounds_of_little_growth_are_a_full_pipe() {
    let mut path = Path::new(1);
    let full = (1..).zip([100, 200, 400, 800, 990, 990, 990, 990]).find_map(|(round, rate)| {
        path.ack(100 * round, rate, 0, 200);
        path.cc.full_pipe.reached.then_some(round)
    });
    assert_eq!(full, Some(7));
    assert_eq!(path.cc.phase, BbrPhase::Drain);
}

/// Section 4.3.4.1: 5/4, 3/4 and six times 1, each for a round trip at least; it begins with any but 3/4.
#[test]
fn the_cycle_of_gains() {
    assert_eq!(GAINS.iter().sum::<f64>(), 8.0);
    let first: Vec<u8> = (0..200)
        .map(|seed| match Path::probing(seed).cc.phase {
            BbrPhase::ProbeBw { index, .. } => index,
            _ => unreachable!(),
        })
        .collect();
    assert!((0..8).all(|index| first.contains(&index) == (index != 1)), "{first:?}");
    let mut path = Path::probing(1);
    let gains: Vec<f64> = (0..16)
        .map(|k| {
            // More than the round trip passes, and 5/4 of a BDP is in flight.
            path.ack(800 + 101 * k, 1000, 0, 150);
            path.cc.pacing_gain()
        })
        .collect();
    let begin = gains.iter().position(|&gain| gain == 1.25).expect("a fast phase");
    let cycle: Vec<f64> = gains.iter().cycle().skip(begin).take(8).copied().collect();
    assert_eq!(cycle, GAINS);
}

/// Linux looks at the amount in flight when the next segment may leave. At 1000 segments a second and 100 ms, 5/4 of a BDP, three quanta of 2 and the
/// fast phase's 2 are 134: enough are 132 and the quantum that leaves next. Once one has left at 1237.5 a second, that is 1.6 ms later, in
/// which 1 is delivered: 133. The slow phase ends early with a BDP and three quanta, 106, and with 108 once a quantum has left at 742.5 a
/// second, 2.7 ms before the next.
#[test]
fn phases_end_by_what_is_in_flight_at_the_next_departure() {
    let ends = |gain: f64, after_ms: u64, sent: u64, prior_in_flight: u64| {
        let mut path = Path::probing(1);
        let begins = (0..16).map(|k| 800 + 101 * k).find(|&at| {
            path.ack(at, 1000, 0, 150);
            path.cc.pacing_gain() == gain
        });
        let now = begins.expect("such a phase") + after_ms;
        (0..sent).for_each(|_| path.cc.on_sent(&Flow::at(now * MILLISECOND).in_flight(100)));
        path.ack(now, 1000, 0, prior_in_flight - 100);
        path.cc.pacing_gain() != gain
    };
    assert_eq!([131, 132].map(|prior| ends(1.25, 101, 0, prior)), [false, true]);
    assert_eq!([132, 133].map(|prior| ends(1.25, 101, 2, prior)), [false, true]);
    assert_eq!([107, 106].map(|prior| ends(0.75, 50, 0, prior)), [false, true]);
    assert_eq!([109, 108].map(|prior| ends(0.75, 50, 2, prior)), [false, true]);
}

/// Section 4.2.3.2: 2 BDP are 200 segments, and three quanta of 2 are on top: 206, an even number; 2 more in the phase of 5/4. A round's ACK of
/// 100 segments at once is a clump of as many, of which there is room for as many as 100 ms bring, 100.
#[test]
fn the_window_is_two_bdp() {
    let mut path = Path::probing(1);
    (0..20).for_each(|k| path.ack(800 + 101 * k, 1000, 0, 150));
    let fast = if path.cc.pacing_gain() > 1.0 { 2.0 } else { 0.0 };
    assert_eq!(path.cc.cwnd(), 306.0 + fast);
}

/// Section 4.1.2.2 and 4.3.5: ten seconds without a lower round trip, and four segments are in flight for 200 ms.
#[test]
fn the_round_trip_is_probed_for_after_ten_seconds() {
    let mut path = Path::probing(1);
    path.ack(10_000, 1000, 0, 150);
    assert!(matches!(path.cc.phase, BbrPhase::ProbeBw { .. }));
    path.ack(10_001, 1000, 0, 150);
    assert!(path.cc.holds_back());
    assert_eq!(path.cc.cwnd(), 4.0);
    path.ack(10_100, 1000, 0, 4);
    path.ack(10_300, 1000, 0, 4);
    assert!(path.cc.holds_back(), "200 ms have not passed");
    path.ack(10_301, 1000, 0, 4);
    assert!(!path.cc.holds_back() && path.cc.cwnd() > 200.0);
}

/// Linux: 78 segments lost while four rounds deliver 396 are more than 50 of 256, which are 77.3; two such intervals with one rate are a policer,
/// and its rate is the bandwidth for 48 rounds. 77 are not.
#[test]
fn a_policer_is_found() {
    for (lost, found) in [(78, true), (77, false)] {
        let mut path = Path::probing(1);
        let mut policed = Vec::new();
        for k in 1..=80 {
            path.ack(700 + 100 * k, 1000 - u64::from(k > 1) * 10, if k % 4 == 1 { lost } else { 0 }, 100);
            policed.push(path.cc.policer.rate().is_some());
        }
        assert_eq!(policed.contains(&true), found, "{lost}");
        if found {
            let begin = policed.iter().position(|&policed| policed).expect("found");
            let rounds = policed[begin..].iter().take_while(|&&policed| policed).count();
            assert_eq!(rounds, 48);
        }
    }
}

/// Section 4.2.3.4: fast recovery sends no more than arrives in its first round; after it, the window is that before it.
#[test]
fn recovery_keeps_packets_for_a_round() {
    let mut path = Path::probing(1);
    (0..20).for_each(|k| path.ack(800 + 101 * k, 1000, 0, 150));
    let before = path.cc.cwnd();
    path.cc.on_congestion(&Flow::at(3 * SECOND).in_flight(149), Signal::Loss);
    assert_eq!(path.cc.cwnd(), 149.0 + 100.0, "in flight, and what the last ACK has delivered");
    path.cc.on_recovered(&Flow::at(3 * SECOND));
    assert_eq!(path.cc.cwnd(), before);
    path.cc.on_congestion(&Flow::at(3 * SECOND).in_flight(0), Signal::Timeout);
    assert_eq!(path.cc.cwnd(), 1.0);
}

/// tcp_bbr.c starts packet conservation and a round only if the state before the ACK was not Recovery, and restores the window only if the
/// state after is not. With 10 segments delivered and 100 in flight, a first recovery has a window of 110, and 120 after another ACK of 10. A
/// round later conservation is over. The ACK that ends this recovery and begins the next changes nothing. A recovery that begins later, by the
/// reordering timer, conserves again.
#[test]
fn recovery_that_continues_in_one_ack_conserves_no_second_time() {
    let mut path = Path::probing(1);
    (0..20).for_each(|k| path.ack(800 + 101 * k, 1000, 0, 150));
    path.ack(2900, 100, 1, 100);
    let full = path.cc.cwnd();
    path.cc.on_congestion(&Flow::at(2900 * MILLISECOND).in_flight(100), Signal::Loss);
    assert_eq!(path.cc.cwnd(), 110.0);
    path.ack(3000, 100, 0, 105);
    let window = path.cc.cwnd();
    assert_eq!(window, 120.0, "the round is over: slow start by segments delivered");
    let now = Flow::at(3000 * MILLISECOND).in_flight(105);
    let mut over = path.cc.clone();
    over.on_recovered(&now);
    assert_eq!(over.cwnd(), full, "the window is restored");
    over.on_congestion(&Flow::at(3001 * MILLISECOND).in_flight(105), Signal::Loss);
    assert_eq!(over.cwnd(), 115.0, "a timer begins a new recovery");
    path.cc.on_recovered(&now);
    path.cc.on_congestion(&now, Signal::Loss);
    assert_eq!(path.cc.cwnd(), window);
    path.ack(3100, 200, 2, 100);
    assert_eq!(path.cc.cwnd(), 138.0, "2 lost, 20 delivered: no conservation");
    path.cc.on_recovered(&Flow::at(3100 * MILLISECOND).in_flight(100));
    assert_eq!(path.cc.cwnd(), full, "the window from before the first recovery");
}

/// Section 4.2.2: a millisecond's worth: 1 segment below 1.2 Mbit/s, 2 above, 12 at 150 Mbit/s and 1500 bytes (12.5, less a part), 64 kB at most.
#[test]
fn the_send_quantum() {
    let mut cc = Path::new(1).cc;
    let quanta = [1.1e6, 1.3e6, 150e6, 1e10].map(|rate: f64| {
        cc.pacing_rate = rate / 12_000.0;
        cc.send_quantum()
    });
    assert_eq!(quanta, [1, 2, 12, 43]);
}
