use super::super::params::Value;
use super::super::pie::Pie;
use super::super::testing::{Bench, queued, settings};
use super::*;
use crate::packet::{Ecn, Packet};

/// At 8 Mbit/s, 1000 bytes are a millisecond.
fn fq_pie(given: &[(&'static str, Value)]) -> Bench<FqPie> {
    let mut queue = FqPie::new(&settings(&INFO, given), 1, 1000);
    queue.set_rate(0, 8_000_000);
    Bench::new(queue)
}

/// Number of the queue of a flow.
fn queue_of(bench: &Bench<FqPie>, flow: u32) -> usize {
    bench.queue.hash.queue_of(Packet { flow, ..Packet::default() }.flow_key())
}

/// The delay is 30 ms for ever, and has been: 0.125 · 0.015 = 0.001875 an update, over 2048, 2048, and 512.
#[test]
fn each_queue_follows_pie() {
    let mut bench = fq_pie(&[]);
    let number = queue_of(&bench, 7);
    bench.come(queued(7, 0, 1000, Ecn::NotEct, 0), false);
    bench.queue.queues[number].state.on_departure(30 * MILLISECOND, false);
    // Without the change of the delay before the first update.
    let law = PieLaw::new(&settings(&INFO, &[("beta", Value::Number(0.0))]), true);
    bench.queue.queues[number].state.update(&law, 0.03);
    let first = bench.queue.queues[number].state.probability;
    assert!((first / 9.155e-7 - 1.0).abs() < 1e-3, "{first}");
    for expected in [1.831e-6, 5.493e-6] {
        bench.queue.update();
        let found = bench.queue.queues[number].state.probability;
        assert!((found / expected - 1.0).abs() < 1e-3, "{found}, not {expected}");
    }
    let others = (0..1024).filter(|&other| other != number);
    assert!(others.map(|other| bench.queue.queues[other].state.probability).all(|p| p == 0.0));
}

/// From a delay of 0 the first update gives (0.125 · 0.015 + 1.25 · 0.03)/2048 = 1.923e-5. In Linux it comes after half a second.
#[test]
fn the_first_update_of_linux_is_late() {
    for (variant, first) in [("rfc", 15), ("linux", 510)] {
        let mut bench = fq_pie(&[("variant", Value::Name(variant))]);
        let number = queue_of(&bench, 7);
        bench.come(queued(7, 0, 1000, Ecn::NotEct, 0), false);
        bench.queue.queues[number].state.on_departure(30 * MILLISECOND, false);
        bench.queue.catch_up((first - 1) * MILLISECOND);
        assert_eq!(bench.queue.queues[number].state.probability, 0.0);
        bench.queue.catch_up(first * MILLISECOND);
        let found = bench.queue.queues[number].state.probability;
        assert!((found / 1.923e-5 - 1.0).abs() < 1e-3, "{variant}: {found}");
    }
}

/// Packets of 1000 bytes with a quantum of 1514: a queue has two in its first turn, then one or two by its credit of 514 and so on. Flow 9
/// comes last, and is served before the old ones.
#[test]
fn queues_take_turns_and_new_ones_come_first() {
    let mut bench = fq_pie(&[]);
    for seq in 0..6 {
        bench.come(queued(1, seq, 1000, Ecn::NotEct, 0), false);
        bench.come(queued(2, 10 + seq, 1000, Ecn::NotEct, 0), false);
    }
    let leave = |bench: &mut Bench<FqPie>| bench.leave(0).map(|packet| packet.packet.seq);
    // Flow 1 has credit for 0 and 1, then flow 2 for 10 and 11. Both are old then, and their credit of -486 becomes 1028: two packets.
    let first: Vec<_> = (0..6).filter_map(|_| leave(&mut bench)).collect();
    assert_eq!(first, [0, 1, 10, 11, 2, 3]);
    bench.come(queued(9, 99, 1000, Ecn::NotEct, 0), false);
    let rest: Vec<_> = (0..7).filter_map(|_| leave(&mut bench)).collect();
    assert_eq!(rest, [99, 12, 13, 4, 14, 5, 15]);
    assert_eq!((leave(&mut bench), bench.queue.packets), (None, 0));
}

/// RFC 8290 section 3: "until the value of the byte credits counter becomes zero or less".
#[test]
fn a_quantum_sent_to_the_byte_ends_the_turn() {
    let mut bench = fq_pie(&[("quantum", Value::Bytes(1000))]);
    for seq in 0..2 {
        bench.come(queued(1, seq, 1000, Ecn::NotEct, 0), false);
        bench.come(queued(2, 10 + seq, 1000, Ecn::NotEct, 0), false);
    }
    let order: Vec<_> = std::iter::from_fn(|| bench.leave(0).map(|packet| packet.packet.seq)).collect();
    assert_eq!(order, [0, 10, 1, 11]);
}

/// Defaults are those of PIE with timestamps.
#[test]
fn the_law_of_each_queue_is_that_of_pie() {
    let law = PieLaw::new(&settings(&INFO, &[]), true);
    let pie = settings(&super::super::pie::INFO, &[("delay", Value::Name("timestamp"))]);
    let alone = Pie::new(&pie, 1, 1000);
    assert_eq!(format!("{law:?}"), format!("{:?}", alone.law));
}

#[test]
fn an_arrival_at_a_full_buffer_is_dropped() {
    let mut bench = fq_pie(&[]);
    bench.come(queued(1, 1, 1000, Ecn::NotEct, 0), false);
    bench.come(queued(2, 2, 1000, Ecn::NotEct, 0), true);
    assert_eq!((bench.dropped(), bench.queue.packets), (vec![2], 1));
}

/// A flow sends one packet each 8 ms, while the queue of another only grows: its delay stays short, and it loses no packet.
#[test]
fn a_sparse_flow_loses_nothing() {
    let mut bench = fq_pie(&[]);
    let (mut sparse, mut bulk) = (0, 0);
    for now in 0..4000 {
        for seq in 0..2 {
            bench.come(queued(1, seq, 1000, Ecn::NotEct, now * MILLISECOND), false);
        }
        if now % 8 == 0 {
            bench.come(queued(2, 7, 1000, Ecn::NotEct, now * MILLISECOND), false);
        }
        for seq in bench.dropped() {
            if seq == 7 { sparse += 1 } else { bulk += 1 }
        }
        bench.leave(now * MILLISECOND);
    }
    assert!(sparse == 0 && bulk > 1000, "{sparse} {bulk}");
}

/// Ten years with updates each 0.1 ms take no time: of more than a million updates the last one is computed, and of 65,535 queues one.
#[test]
fn years_without_packets_take_no_time() {
    let many = [("flows", Value::Whole(65_535)), ("update", Value::Time(MILLISECOND / 10))];
    let mut bench = fq_pie(&many);
    bench.come(queued(1, 0, 1000, Ecn::NotEct, 0), false);
    assert_eq!(bench.queue.busy.len(), 1);
    bench.leave(50 * MILLISECOND);
    bench.queue.catch_up(Nanos::MAX / 2);
    assert!(bench.queue.busy.is_empty());
}
