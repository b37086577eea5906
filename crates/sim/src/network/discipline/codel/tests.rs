use super::*;
use crate::network::discipline::testing::{Bench, queued, settings};
use crate::packet::Ecn;

const NEWTON: (&str, Value) = ("sqrt", Value::Name("newton"));
const ECN: (&str, Value) = ("ecn", Value::Flag(true));

fn codel(given: &[(&'static str, Value)]) -> Bench<Codel> {
    Bench::new(Codel::new(&settings(&INFO, given), 1, 1000))
}

/// `packets` packets of 1000 bytes, come at `entered`.
fn fill(codel: &mut Bench<Codel>, packets: u32, ecn: Ecn, entered: Nanos) {
    for seq in 0..packets {
        codel.come(queued(0, seq, 1000, ecn, entered), false);
    }
}

/// Lets the transmitter send at `now`. Returns the number of drops, and of packets that wait afterwards.
fn turn(codel: &mut Bench<Codel>, now: Nanos) -> (usize, usize) {
    assert!(codel.leave(now).is_some());
    (codel.dropped().len(), codel.queue.queue.len())
}

/// A queue that is always long. It sends a packet every 10 microseconds, and dropped packets are replaced.
struct Overloaded {
    codel: Bench<Codel>,
    now: Nanos,
}

const STEP: Nanos = 10 * MICROSECOND;

impl Overloaded {
    /// Above the target from `now` on.
    fn new(given: &[(&'static str, Value)], now: Nanos) -> Overloaded {
        let mut codel = codel(given);
        fill(&mut codel, 5, Ecn::NotEct, now - 50 * MILLISECOND);
        Overloaded { codel, now }
    }

    /// The times of drops up to `end`.
    fn drops(&mut self, end: Nanos) -> Vec<Nanos> {
        let mut times = Vec::new();
        while self.now <= end {
            let (dropped, _) = turn(&mut self.codel, self.now);
            times.extend(std::iter::repeat_n(self.now, dropped));
            fill(&mut self.codel, 1 + dropped as u32, Ecn::NotEct, self.now - 50 * MILLISECOND);
            self.now += STEP;
        }
        times
    }

    /// One packet that has not waited: the drop state ends.
    fn relax(&mut self) {
        self.codel.queue.queue = Packets::default();
        fill(&mut self.codel, 5, Ecn::NotEct, self.now);
        assert_eq!(turn(&mut self.codel, self.now).0, 0);
        self.codel.queue.queue = Packets::default();
        fill(&mut self.codel, 5, Ecn::NotEct, self.now - 50 * MILLISECOND);
    }
}

/// RFC 8289 section 5.6: 100, 200 ms and on by 100/sqrt(2), 100/sqrt(3), ... ms; sums worked outside this code.
#[test]
fn drops_come_when_the_control_law_says() {
    drop_times(
        &[],
        [100.0, 200.0, 270.71, 328.45, 378.45, 423.17, 463.99, 501.79, 537.14],
        [(500, 7), (1000, 27), (2000, 105), (5000, 637), (10_000, 2523)],
    );
}

/// Variant with Linux's 16-bit Newton steps.
#[test]
fn drops_come_when_linux_drops() {
    drop_times(
        &[NEWTON],
        [100.0, 200.0, 250.0, 306.25, 355.03, 399.18, 439.58, 477.10, 512.25],
        [(500, 8), (1000, 29), (2000, 107), (5000, 643), (10_000, 2538)],
    );
}

fn drop_times(given: &[(&'static str, Value)], first_ms: [f64; 9], counts: [(u64, usize); 5]) {
    let mut overloaded = Overloaded::new(given, SECOND);
    let times = overloaded.drops(11 * SECOND);
    for (time, expected) in times.iter().zip(first_ms) {
        let found = (time - SECOND) as f64 / 1e6;
        // Two decimals, and asked every 10 microseconds.
        assert!((found - expected).abs() <= 0.015, "{found} for {expected}");
    }
    for (end_ms, expected) in counts {
        assert_eq!(
            times.iter().filter(|time| **time <= SECOND + end_ms * MILLISECOND).count(),
            expected,
            "{end_ms} ms"
        );
    }
}

/// RFC 8289 section 5.5, by hand: at 210 ms one drop, the next due at 310; at 420 ms those of 310 and 380.7, the next due at 438.4.
#[test]
fn twenty_packets() {
    worked_case(&[], (2, 13));
}

/// Linux's gaps of 100, 50 and 56.25 ms: due at 310, 360, 416.25 and 471.
#[test]
fn twenty_packets_in_linux() {
    worked_case(&[NEWTON], (3, 12));
}

fn worked_case(given: &[(&'static str, Value)], last: (usize, usize)) {
    let mut codel = codel(given);
    fill(&mut codel, 20, Ecn::NotEct, 0);
    assert_eq!(turn(&mut codel, 10 * MILLISECOND), (0, 19));
    assert_eq!(turn(&mut codel, 210 * MILLISECOND), (1, 17));
    assert_eq!(turn(&mut codel, 210 * MILLISECOND), (0, 16));
    assert_eq!(turn(&mut codel, 420 * MILLISECOND), last);
}

/// With ECN nothing is lost: a packet is marked where the first of a turn's drops would be.
#[test]
fn twenty_packets_with_ecn() {
    for sqrt in ["exact", "newton"] {
        let mut codel = codel(&[ECN, ("sqrt", Value::Name(sqrt))]);
        fill(&mut codel, 20, Ecn::Ect0, 0);
        let mut marked = |at_ms: u64| codel.leave(at_ms * MILLISECOND).unwrap().packet.ecn() == Ecn::Ce;
        // The mark at 420 ms is that due at 310; the one at once after it that due at 360 or 381; the next is due later.
        let found = [10, 210, 210, 420, 420, 421].map(&mut marked);
        let due_at_416 = sqrt == "newton";
        assert_eq!(found, [false, true, false, true, true, due_at_416], "{sqrt}");
        assert!(codel.stock.dropped.is_empty());
        assert_eq!(codel.stock.marked, 3 + u64::from(due_at_416));
    }
}

#[test]
fn what_is_not_ecn_capable_is_dropped_until_a_packet_takes_the_mark() {
    let mut codel = codel(&[ECN]);
    fill(&mut codel, 3, Ecn::NotEct, 0);
    fill(&mut codel, 3, Ecn::Ect1, 0);
    turn(&mut codel, 10 * MILLISECOND);
    // Late at 110 ms: a drop; due at 210 and 280.7 ms: another and a mark.
    let sent = [110, 290].map(|at| codel.leave(at * MILLISECOND).unwrap().packet.ecn());
    assert_eq!(sent, [Ecn::NotEct, Ecn::Ce]);
    assert_eq!((codel.stock.dropped.len(), codel.stock.marked), (1, 1));
}

#[test]
fn without_ecn_a_capable_packet_is_dropped() {
    let mut codel = codel(&[]);
    fill(&mut codel, 5, Ecn::Ect0, 0);
    turn(&mut codel, 10 * MILLISECOND);
    assert_eq!(turn(&mut codel, 110 * MILLISECOND), (1, 2));
}

/// RFC 8289 section 5.5: ten drops that began at 1 leave 9 to begin with, within 16 intervals of the drop that was due
/// next, at 570.48 + 100/sqrt(10) = 602.10 ms. After that, and after a single drop, it begins at 1.
#[test]
fn a_drop_state_goes_on_where_the_last_one_was() {
    let begins = [(700.0, 9.0_f64), (602.1 + 1600.0 - 0.1, 9.0), (602.1 + 1600.0 + 0.1, 1.0)];
    for (again_ms, count) in begins {
        let mut overloaded = Overloaded::new(&[], SECOND);
        assert_eq!(overloaded.drops(SECOND + 571 * MILLISECOND).len(), 10);
        let again = SECOND + (again_ms * 1e6) as Nanos;
        let times = overloaded.dropped_again(again);
        assert!(times[0].abs_diff(again) <= STEP, "{times:?}");
        let gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        for (gap, k) in gaps.iter().zip([count, count + 1.0]) {
            assert!((gap - 100.0 / k.sqrt()).abs() < 0.021, "{gap} ms at {k} from {again_ms} ms");
        }
    }
    for sqrt in ["exact", "newton"] {
        let mut overloaded = Overloaded::new(&[("sqrt", Value::Name(sqrt))], SECOND);
        assert_eq!(overloaded.drops(SECOND + 240 * MILLISECOND).len(), 2);
        let times = overloaded.dropped_again(SECOND + 400 * MILLISECOND);
        assert!((times[1] - times[0]).abs_diff(100 * MILLISECOND) <= STEP, "one drop added is none to go on from");
    }
}

/// RFC 8289 section 5.5: the next drop is scheduled only if the packet after a drop is late too. There are eight drops,
/// and a ninth of the last late packet, due at 537.14 ms. The 16 intervals count from that time, not from the drop that
/// would have followed at 570.48 ms.
#[test]
fn a_drop_that_ends_the_drop_state_plans_no_other() {
    for (again_ms, gap_ms) in [(537.1 + 1599.9, 100.0 / 8_f64.sqrt()), (537.1 + 1600.1, 100.0)] {
        let mut overloaded = Overloaded::new(&[], SECOND);
        assert_eq!(overloaded.drops(SECOND + 537 * MILLISECOND).len(), 8);
        overloaded.now = SECOND + 540 * MILLISECOND;
        overloaded.codel.queue.queue = Packets::default();
        fill(&mut overloaded.codel, 1, Ecn::NotEct, SECOND);
        fill(&mut overloaded.codel, 3, Ecn::NotEct, overloaded.now);
        assert_eq!(turn(&mut overloaded.codel, overloaded.now), (1, 2));
        let times = overloaded.dropped_again(SECOND + (again_ms * 1e6) as Nanos);
        assert!(((times[1] - times[0]) as f64 / 1e6 - gap_ms).abs() < 0.021, "{times:?}");
    }
}

impl Overloaded {
    /// Short for a moment, too long again from 100 ms before `again`: the times of drops in the 180 ms from then on.
    fn dropped_again(&mut self, again: Nanos) -> Vec<Nanos> {
        self.relax();
        self.now = again - 100 * MILLISECOND;
        self.drops(again + 180 * MILLISECOND)
    }
}

/// A second drop state takes its own drops: begun at 9, it reached 11, so the third begins at 2.
#[test]
fn only_the_drops_that_a_state_has_added_count() {
    let mut overloaded = Overloaded::new(&[], SECOND);
    overloaded.drops(SECOND + 571 * MILLISECOND);
    overloaded.relax();
    // Late at 671.02 ms or so; drops then, after 33.33 and after 31.62 ms.
    assert_eq!(overloaded.drops(SECOND + 740 * MILLISECOND).len(), 3);
    overloaded.relax();
    let times = overloaded.drops(SECOND + 920 * MILLISECOND);
    assert!(((times[1] - times[0]) as f64 / 1e6 - 70.71).abs() < 0.02, "{times:?}");
}

/// RFC 8289 section 4.1: with an MTU behind it a packet is never dropped, with a byte more it is.
#[test]
fn an_mtu_is_left() {
    for (size, dropped) in [(1000, 0), (1001, 1)] {
        let mut codel = codel(&[]);
        let mut found = 0;
        for step in 0..1000 {
            let now = SECOND + step * MILLISECOND;
            while codel.queue.queue.len() < 2 {
                codel.come(queued(0, 0, size, Ecn::NotEct, now - SECOND), false);
            }
            codel.leave(now);
            found += codel.dropped().len();
        }
        // A drop leaves one packet, which nothing is behind: the drop state ends at once, and 101 ms later there is another.
        assert_eq!(found > 0, dropped > 0, "{size}");
    }
    let mut wide = self::codel(&[("mtu", Value::Bytes(1001))]);
    fill(&mut wide, 3, Ecn::NotEct, 0);
    turn(&mut wide, 10 * MILLISECOND);
    assert_eq!(turn(&mut wide, 200 * MILLISECOND), (0, 1));
}

/// RFC 8289 section 5.6: `sojourn_time < TARGET` is in time, so the target itself is late; likewise `now >= first_above_time`.
#[test]
fn at_the_target_a_packet_is_late() {
    for (early, dropped) in [(0, 1), (1, 0)] {
        let mut codel = codel(&[]);
        for at in [0, 100] {
            let now = (10 + at) * MILLISECOND;
            fill(&mut codel, 5, Ecn::NotEct, now - 5 * MILLISECOND + early);
            assert_eq!(turn(&mut codel, now).0, if at == 100 { dropped } else { 0 });
        }
    }
    let mut codel = codel(&[]);
    fill(&mut codel, 9, Ecn::NotEct, 0);
    turn(&mut codel, 10 * MILLISECOND);
    assert_eq!(turn(&mut codel, 110 * MILLISECOND - 1).0, 0);
    assert_eq!(turn(&mut codel, 110 * MILLISECOND).0, 1);
    // So is `now >= drop_next_` (section 5.5).
    assert_eq!(turn(&mut codel, 210 * MILLISECOND - 1).0, 0);
    assert_eq!(turn(&mut codel, 210 * MILLISECOND).0, 1);
}

/// A packet in time or an empty queue between late ones: the interval starts again (RFC 8289 section 5.6).
#[test]
fn one_short_moment_begins_the_interval_anew() {
    for empty in [false, true] {
        let mut codel = codel(&[]);
        fill(&mut codel, 5, Ecn::NotEct, 0);
        turn(&mut codel, 10 * MILLISECOND);
        codel.queue.queue = Packets::default();
        if !empty {
            fill(&mut codel, 5, Ecn::NotEct, 60 * MILLISECOND);
        }
        codel.leave(60 * MILLISECOND);
        codel.queue.queue = Packets::default();
        fill(&mut codel, 9, Ecn::NotEct, 0);
        for (at_ms, dropped) in [(110, 0), (200, 0), (210, 1)] {
            assert_eq!(turn(&mut codel, at_ms * MILLISECOND).0, dropped, "{at_ms} ms");
        }
    }
}

/// RFC 8290 section 5.2.7; more than the threshold, with `ecn` and without, each packet once.
#[test]
fn the_ce_threshold_marks_what_has_waited_longer() {
    for ecn in [false, true] {
        let mut codel = codel(&[("ecn", Value::Flag(ecn)), ("ce_threshold", Value::Time(MILLISECOND))]);
        for (seq, ecn) in [Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ce].into_iter().enumerate() {
            codel.come(queued(0, seq as u32, 1000, ecn, 0), false);
        }
        let at = [MILLISECOND, MILLISECOND + 1, MILLISECOND + 2, MILLISECOND + 3, MILLISECOND + 4];
        let sent = at.map(|now| codel.leave(now).unwrap().packet.ecn());
        assert_eq!(sent, [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::NotEct, Ecn::Ce]);
        assert_eq!((codel.stock.marked, codel.stock.dropped.len()), (2, 0));
    }
}

#[test]
fn a_full_buffer_drops_what_comes_and_codel_knows_nothing_of_it() {
    let mut codel = codel(&[]);
    fill(&mut codel, 3, Ecn::NotEct, 0);
    for seq in 10..20 {
        codel.come(queued(0, seq, 1000, Ecn::NotEct, 0), true);
    }
    let dropped: Vec<_> = codel.dropped();
    assert_eq!((dropped, codel.queue.queue.len()), ((10..20).collect(), 3));
    assert_eq!(codel.control.count, 0);
}

/// 2^16/sqrt(count) within what 16 bits and one step a drop can do: 46341, 37837, 32768, 20724, 6554, 2072.
#[test]
fn newton_steps_close_in_on_the_square_root() {
    let mut x = u16::MAX;
    for count in 2..=1000_u32 {
        x = newton_step(x, count);
        match count {
            // 65535 (3 - 2 0.99997)/2 = 32769.
            2 => assert_eq!(x, 32_769),
            // x = .50002: x (3 - 3 x^2)/2 = .56250.
            3 => assert_eq!(x, 36_864),
            10 => assert!((20_600..=20_725).contains(&x), "{x}"),
            100 => assert!((6550..=6554).contains(&x), "{x}"),
            1000 => assert!((2070..=2072).contains(&x), "{x}"),
            _ => {}
        }
    }
}
