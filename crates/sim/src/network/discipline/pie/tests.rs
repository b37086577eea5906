use super::super::testing::{come, queued, settings};
use super::*;
use crate::packet::Ecn;

/// At 8 Mbit/s, 1000 bytes are a millisecond.
fn pie(given: &[(&'static str, Value)]) -> Pie {
    let mut pie = Pie::new(&settings(&INFO, given), 1, 1000);
    pie.set_rate(0, 8_000_000);
    pie
}

fn arrive(pie: &mut Pie, now: Nanos, ecn: Ecn) -> Stock {
    let mut stock = Stock::default();
    come(pie, queued(0, 0, 1000, ecn, now), false, &mut stock);
    stock
}

/// PIE with `packets` packets waiting since time 0.
fn filled(packets: usize, given: &[(&'static str, Value)]) -> Pie {
    let mut pie = pie(given);
    (0..packets).for_each(|_| assert!(arrive(&mut pie, 0, Ecn::NotEct).dropped.is_empty()));
    pie
}

/// One with 30 packets that no longer lets bursts in, with p as given and as long a delay before.
fn congested(probability: f64, given: &[(&'static str, Value)]) -> Pie {
    let pie = filled(30, given);
    let state = PieState { probability, previous_delay_s: 0.03, burst_allowance: 0, ..pie.state.clone() };
    Pie { state, ..pie }
}

/// A delay of 30 ms for ever: 0.125 * 0.015 = 0.001875 an update, over 2048, 512, 128, 32, 8, 2 and 1.
#[test]
fn a_constant_delay_raises_p_as_section_4_2_says() {
    let mut pie = congested(0.0, &[]);
    for expected in [9.155e-7, 1.831e-6, 5.493e-6, 9.155e-6] {
        pie.update();
        assert!((pie.state.probability / expected - 1.0).abs() < 1e-3, "{}", pie.state.probability);
    }
    let mut updates = 4;
    for (reached, after) in [(1e-5, 5), (1e-4, 11), (1e-3, 27), (0.01, 66), (0.1, 162), (1.0, 642)] {
        while pie.state.probability < reached {
            pie.update();
            updates += 1;
        }
        assert_eq!(updates, after, "p = {reached}");
    }
}

/// 0.125 * 0.085 + 1.25 * 0.1 = 0.135625.
#[test]
fn a_step_is_scaled_and_capped() {
    let law = pie(&[]).law;
    assert!((law.updated(0.05, 0.1, 0.0) - (0.05 + 0.135_625 / 2.0)).abs() < 1e-12);
    assert!((law.updated(0.1, 0.1, 0.0) - 0.12).abs() < 1e-12);
    assert_eq!(law.updated(0.99, 0.1, 0.0), 1.0);
    assert_eq!(law.updated(0.1, 0.0, 1.0), 0.0);
    let free = pie(&[("cap_step", Value::Flag(false))]).law;
    assert!((free.updated(0.1, 0.1, 0.0) - 0.235_625).abs() < 1e-12);
}

/// Empty: 0.5 - 0.125 * 0.015 = 0.498125. At 5 ms: 0.5 - 0.125 * 0.01 = 0.49875.
#[test]
fn p_decays_when_empty_or_below_half_the_target() {
    let half_target = ("decay", Value::Name("half-target"));
    let cases = [
        (&[][..], 0.0, 0.0, 0.498_125 * 0.98),
        (&[], 0.005, 0.005, 0.498_75),
        (&[half_target], 0.0, 0.0, 0.498_125 * 0.98),
        (&[half_target], 0.005, 0.005, 0.498_75 * 0.98),
        (&[half_target], 0.0, 0.0075, 0.5 - 0.001_875 - 1.25 * 0.0075),
        (&[("variant", Value::Name("linux"))], 0.0, 0.0, 0.498_125 * 63.0 / 64.0),
    ];
    for (given, delay_s, previous_delay_s, expected) in cases {
        let found = pie(given).law.updated(0.5, delay_s, previous_delay_s);
        assert!((found - expected).abs() < 1e-12, "{given:?}: {found}");
    }
}

/// 0.125 * 0.285 = 0.035625, capped at 0.02.
#[test]
fn linux_adds_to_p_at_long_delays() {
    let linux = ("variant", Value::Name("linux"));
    assert!((pie(&[]).law.updated(0.2, 0.3, 0.3) - 0.22).abs() < 1e-12);
    assert!((pie(&[linux]).law.updated(0.2, 0.3, 0.3) - 0.24).abs() < 1e-12);
    assert!((pie(&[linux]).law.updated(0.2, 0.25, 0.25) - 0.22).abs() < 1e-12);
    let without = pie(&[linux, ("long_delay_step", Value::Flag(false))]).law;
    assert!((without.updated(0.2, 0.3, 0.3) - 0.22).abs() < 1e-12);
}

/// Half a second of packets, and as many come as go.
#[test]
fn a_burst_is_let_in_for_150_ms() {
    let mut pie = filled(500, &[]);
    let first_drop = (1..2000).find(|n| {
        let dropped = !arrive(&mut pie, n * MILLISECOND, Ecn::NotEct).dropped.is_empty();
        pie.dequeue(n * MILLISECOND, &mut Stock::default());
        dropped
    });
    assert!((150..300).contains(&first_drop.expect("p grows")), "{first_drop:?} ms");
}

#[test]
fn the_burst_allowance_begins_anew_once_congestion_is_over() {
    let mut pie = pie(&[]);
    pie.state.burst_allowance = 0;
    // p is not 0.
    pie.state.probability = 1e-9;
    arrive(&mut pie, 0, Ecn::NotEct);
    assert_eq!(pie.state.burst_allowance, 0);
    pie.state.probability = 0.0;
    // The delay of the last update was half the target.
    pie.state.previous_delay_s = 0.0075;
    arrive(&mut pie, 0, Ecn::NotEct);
    assert_eq!(pie.state.burst_allowance, 0);
    pie.state.previous_delay_s = 0.0074;
    arrive(&mut pie, 0, Ecn::NotEct);
    assert_eq!(pie.state.burst_allowance, 150 * MILLISECOND);
    pie.update();
    assert_eq!(pie.state.burst_allowance, 135 * MILLISECOND);
    // 7.5 ms wait now, half the target.
    (0..4).for_each(|_| drop(arrive(&mut pie, 0, Ecn::NotEct)));
    come(&mut pie, queued(0, 0, 500, Ecn::NotEct, 0), false, &mut Stock::default());
    pie.state.burst_allowance = 0;
    arrive(&mut pie, 0, Ecn::NotEct);
    assert_eq!(pie.state.burst_allowance, 0);
}

/// Arrivals from one drop to the next with p = 0.01.
fn gaps(given: &[(&'static str, Value)]) -> Vec<u32> {
    let mut pie = congested(0.01, given);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    for _ in 0..3_000_000 {
        gap += 1;
        if arrive(&mut pie, 0, Ecn::NotEct).dropped.is_empty() {
            pie.dequeue(0, &mut Stock::default());
        } else {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps
}

/// Section 5.4: 0.85/0.01 = 85, 8.5/0.01 = 850.
#[test]
fn drops_are_neither_close_nor_far_apart() {
    let derandomized = gaps(&[]);
    assert_eq!((derandomized.iter().min(), derandomized.iter().max()), (Some(&85), Some(&850)));
    let random = gaps(&[("derandomize", Value::Flag(false))]);
    assert!(random.contains(&1) && random.iter().any(|gap| *gap > 850));
}

#[test]
fn an_uncongested_queue_drops_nothing() {
    // Two packets wait.
    let mut pie = filled(2, &[]);
    pie.state = PieState { probability: 1.0, previous_delay_s: 1.0, burst_allowance: 0, ..pie.state };
    assert!(arrive(&mut pie, 0, Ecn::NotEct).dropped.is_empty());
    assert_eq!(arrive(&mut pie, 0, Ecn::NotEct).dropped.len(), 1);
    // The last delay was below 7.5 ms, and p below 0.2; the third bound of the sum would have every one dropped.
    for (probability, previous_delay_s, dropped) in [(0.19, 0.0074, 0), (0.19, 0.0075, 1), (0.2, 0.0074, 1)] {
        let mut pie = congested(probability, &[]);
        (pie.state.previous_delay_s, pie.state.accumulated) = (previous_delay_s, 9.0);
        assert_eq!(arrive(&mut pie, 0, Ecn::NotEct).dropped.len(), dropped, "{probability} {previous_delay_s}");
    }
}

#[test]
fn ecn_marks_below_a_tenth() {
    let ecn = ("ecn", Value::Flag(true));
    let cases = [
        (&[ecn][..], 0.099, Ecn::Ect0, (0, 1)),
        (&[ecn], 0.099, Ecn::Ect1, (0, 1)),
        (&[ecn], 0.099, Ecn::NotEct, (1, 0)),
        (&[ecn], 0.1, Ecn::Ect0, (1, 0)),
        (&[], 0.099, Ecn::Ect0, (1, 0)),
        (&[ecn, ("ecn_threshold", Value::Number(0.5))], 0.499, Ecn::Ect0, (0, 1)),
    ];
    for (given, probability, field, expected) in cases {
        let mut pie = congested(probability, given);
        pie.state.accumulated = 9.0;
        let stock = arrive(&mut pie, 0, field);
        assert_eq!((stock.dropped.len(), stock.marked), expected, "{given:?} {field:?}");
        assert_eq!(pie.state.accumulated, 0.0);
    }
}

#[test]
fn a_full_buffer_drops_and_marks_nothing() {
    let mut pie = congested(0.05, &[("ecn", Value::Flag(true))]);
    pie.state.accumulated = 9.0;
    let mut stock = Stock::default();
    come(&mut pie, queued(0, 0, 1000, Ecn::Ect0, 0), true, &mut stock);
    assert_eq!((stock.dropped.len(), stock.marked, pie.state.accumulated, pie.queue.bytes()), (1, 0, 0.0, 30_000));
}

#[test]
fn the_delay_is_what_waits_over_the_rate() {
    let mut pie = filled(30, &[]);
    assert_eq!(pie.delay_s(), 0.03);
    pie.set_rate(0, 16_000_000);
    assert_eq!(pie.delay_s(), 0.015);
    pie.set_rate(0, 0);
    assert_eq!(pie.delay_s(), 0.015);
    pie.dequeue(0, &mut Stock::default());
    assert_eq!(pie.delay_s(), 0.0145);
}

#[test]
fn timestamps_tell_how_long_the_last_packet_had_waited() {
    let mut pie = filled(2, &[("delay", Value::Name("timestamp"))]);
    assert_eq!(pie.delay_s(), 0.0);
    pie.dequeue(9 * MILLISECOND, &mut Stock::default());
    assert_eq!(pie.delay_s(), 0.009);
    // None is left.
    pie.dequeue(10 * MILLISECOND, &mut Stock::default());
    assert_eq!(pie.delay_s(), 0.0);
    let linux = Value::Name("linux");
    assert!(Pie::new(&settings(&INFO, &[("variant", linux)]), 1, 1000).law.timestamps);
    assert!(!Pie::new(&settings(&INFO, &[("variant", linux), ("delay", Value::Name("rate"))]), 1, 1000).law.timestamps);
}

/// A year has two thousand million updates: p stays at 0, stays at 1, or is in equilibrium.
#[test]
fn years_without_packets_take_no_time() {
    let mut idle = pie(&[]);
    idle.state.probability = 1.0;
    idle.catch_up(Nanos::MAX / 2);
    assert_eq!((idle.state.probability, idle.state.previous_delay_s, idle.state.burst_allowance), (0.0, 0.0, 0));
    for (waiting, probability) in [(30, 1.0), (1, 0.0), (15, 0.3)] {
        let mut out = filled(waiting as usize, &[]);
        (out.state.probability, out.state.previous_delay_s) = (0.3, f64::from(waiting) / 1e3);
        out.set_rate(0, 0);
        out.catch_up(Nanos::MAX / 2);
        assert_eq!(out.state.probability, probability, "{waiting} waiting");
    }
}

/// ns-3's `pie-queue-disc` tests 2 to 5: 400 packets of 1000 bytes come every 10 ms and leave every so often. The
/// drops.
fn drops_of_400(delay: &'static str, target_ms: u64, update_ms: u64, departure_ms: u64) -> usize {
    let millis = |n| Value::Time(n * MILLISECOND);
    let (target, update, burst) =
        (("target", millis(target_ms)), ("update", millis(update_ms)), ("max_burst", millis(100)));
    let mut pie = pie(&[target, update, burst, ("delay", Value::Name(delay))]);
    pie.set_rate(0, 8_000_000 / departure_ms);
    let mut stock = Stock::default();
    for now in 1..=8000 {
        if now % departure_ms == 0 && now <= 400 * departure_ms {
            pie.dequeue(now * MILLISECOND, &mut stock);
        }
        if now % 10 == 0 && now <= 4000 {
            come(&mut pie, queued(0, 0, 1000, Ecn::NotEct, now * MILLISECOND), false, &mut stock);
        }
    }
    stock.dropped.len()
}

#[test]
fn drops_order_as_in_ns_3() {
    for delay in ["rate", "timestamp"] {
        let base = drops_of_400(delay, 20, 30, 12);
        let (relaxed, slow) = (drops_of_400(delay, 80, 30, 12), drops_of_400(delay, 20, 30, 15));
        let lazy = drops_of_400(delay, 20, 90, 15);
        assert!(base > 0 && relaxed < base && slow > base && lazy < slow, "{delay}: {base} {relaxed} {slow} {lazy}");
    }
}
