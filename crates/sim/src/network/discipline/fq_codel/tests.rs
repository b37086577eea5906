use super::*;
use crate::network::discipline::packets::Packets;
use crate::network::discipline::params::Value;
use crate::network::discipline::stock::Queued;
use crate::network::discipline::testing::{come, dropped, leave, queued, settings};
use crate::packet::{Ecn, PacketKind};
use fullpipe_cc::time::{MILLISECOND, SECOND};
use proptest::prelude::*;
use std::collections::VecDeque;

/// CoDel never acts within it.
const LONG: (&str, Value) = ("interval", Value::Time(100 * SECOND));

fn fq_codel(given: &[(&'static str, Value)]) -> FqCodel {
    FqCodel::new(&settings(&INFO, given), 1, 1000)
}

/// A queue and the packets that flows send into it.
struct Bench {
    queue: FqCodel,
    stock: Stock,
    now: Nanos,
    seq: u32,
}

impl Bench {
    fn new(given: &[(&'static str, Value)]) -> Bench {
        Bench { queue: fq_codel(given), stock: Stock::default(), now: 0, seq: 0 }
    }

    fn arrive(&mut self, flow: u32, size: u32) {
        self.come(flow, size, false);
    }

    fn come(&mut self, flow: u32, size: u32, full: bool) {
        let packet = queued(flow, self.seq, size, Ecn::NotEct, self.now);
        self.seq += 1;
        come(&mut self.queue, packet, full, &mut self.stock);
    }

    /// The flow whose packet is sent.
    fn turn(&mut self) -> u32 {
        leave(&mut self.queue, self.now, &mut self.stock).expect("a packet waits").packet.flow
    }

    fn turns(&mut self, turns: usize) -> Vec<u32> {
        (0..turns).map(|_| self.turn()).collect()
    }

    /// The numbers of packets dropped since the last look.
    fn dropped(&mut self) -> Vec<u32> {
        dropped(&mut self.stock).iter().map(|queued| queued.packet.seq).collect()
    }
}

/// RFC 8290 section 3: packets of 1500 and of 500 bytes get equal bytes. At the end of a round each has sent its quanta but for less
/// than a packet, so they differ by less than one.
#[test]
fn large_and_small_packets_get_equal_bytes() {
    let mut bench = Bench::new(&[LONG]);
    let sizes = [1500, 500];
    let mut sent = [0_u64; 2];
    let mut last = 1;
    for _ in 0..3 {
        sizes.iter().enumerate().for_each(|(flow, size)| (0..4).for_each(|_| bench.arrive(flow as u32, *size)));
    }
    for _ in 0..4000 {
        let flow = bench.turn() as usize;
        if (last, flow) == (1, 0) {
            assert!(sent[0].abs_diff(sent[1]) < 1514, "{sent:?}");
        }
        sent[flow] += u64::from(sizes[flow]);
        assert!(sent[0].abs_diff(sent[1]) < 1514 + 1500, "{sent:?}");
        bench.arrive(flow as u32, sizes[flow]);
        last = flow;
    }
    assert!(sent[0] > 900_000, "{sent:?}");
}

/// RFC 8290 section 3: one with packets of a third of the quantum sends three each turn, one with packets of a quantum sends one.
#[test]
fn three_packets_of_a_third_of_the_quantum_a_turn() {
    let mut bench = Bench::new(&[LONG, ("quantum", Value::Bytes(1500))]);
    (0..8).for_each(|_| bench.arrive(0, 500));
    (0..3).for_each(|_| bench.arrive(1, 1500));
    assert_eq!(bench.turns(11), [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1]);
}

/// Ten bulk flows with packets of 1000 bytes, a quantum, on a link that takes 1 ms for each, and a flow that sends 500
/// bytes every `gap`. Returns the waiting times of its packets.
fn waits_of_a_sparse_flow(gap: Nanos) -> Vec<u64> {
    let mut bench = Bench::new(&[LONG, ("quantum", Value::Bytes(1000))]);
    let sparse = 10;
    (0..3).for_each(|_| (0..sparse).for_each(|flow| bench.arrive(flow, 1000)));
    let mut waits = Vec::new();
    let mut next = gap;
    for _ in 0..2000 {
        // It comes while a packet is being sent.
        while next < bench.now {
            let packet = queued(sparse, 0, 500, Ecn::NotEct, next);
            come(&mut bench.queue, packet, false, &mut bench.stock);
            next += gap;
        }
        let sent = leave(&mut bench.queue, bench.now, &mut bench.stock).unwrap();
        match sent.packet.flow == sparse {
            true => waits.push(bench.now - sent.packet.at),
            false => bench.arrive(sent.packet.flow, 1000),
        }
        bench.now += u64::from(sent.size) * MILLISECOND / 1000;
    }
    assert!(waits.len() > 80);
    waits
}

/// RFC 8290 section 1.3. One packet in 20 ms finds its queue off the lists: it is next. One in 8.3 ms comes when a round of the
/// others is not over yet: it waits for at most a quantum of each, and the packet being sent.
#[test]
fn a_sparse_flow_waits_at_most_a_quantum_of_each_bulk_flow() {
    let often = 8_300_000;
    assert!(waits_of_a_sparse_flow(20 * MILLISECOND).iter().all(|wait| *wait <= MILLISECOND));
    let waits = waits_of_a_sparse_flow(often);
    assert!(waits.iter().all(|wait| *wait <= 11 * MILLISECOND), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait > MILLISECOND), "its queue is still an old one now and then");
}

/// RFC 8290 section 4.2: two flows that each send again just as the other is served would be new for ever. By hand: 1 and 2 are new
/// behind 0, which one packet's credit makes old; they are served, found empty, and become old behind 0; so all take turns.
#[test]
fn a_queue_found_empty_passes_through_the_old_ones() {
    let mut bench = Bench::new(&[LONG, ("quantum", Value::Bytes(1000))]);
    (0..200).for_each(|_| bench.arrive(0, 1000));
    assert_eq!(bench.turn(), 0);
    bench.arrive(1, 500);
    bench.arrive(2, 500);
    let mut served = Vec::new();
    for _ in 0..90 {
        let flow = bench.turn();
        served.push(flow);
        if flow > 0 {
            bench.arrive(3 - flow, 500);
        }
    }
    assert_eq!(served[..2], [1, 2]);
    let bulk = served.iter().filter(|flow| **flow == 0).count();
    // In bytes a third at least: of 90 packets, of which the others' are half as long, a fifth.
    assert!(bulk >= 18, "{served:?}");
}

/// RFC 8290 figure 1: arrival makes it new, a quantum sent or nothing left old, nothing left there takes it off the lists.
#[test]
fn queues_go_from_new_to_old_to_none() {
    let mut bench = Bench::new(&[LONG]);
    let lists = |bench: &Bench| (bench.queue.new.len(), bench.queue.old.len());
    bench.arrive(0, 1000);
    bench.arrive(0, 1000);
    assert_eq!(lists(&bench), (1, 0));
    assert_eq!(bench.turns(2), [0, 0]);
    assert_eq!(lists(&bench), (1, 0));
    // 1514 - 2000 bytes of credit: it is old when 1 comes, which goes first.
    bench.arrive(0, 1000);
    bench.arrive(1, 1000);
    assert_eq!(bench.turns(2), [1, 0]);
    assert!(leave(&mut bench.queue, 0, &mut bench.stock).is_none());
    assert_eq!(lists(&bench), (0, 0));
    assert!(bench.queue.queues.iter().all(|queue| !queue.listed));
    bench.arrive(0, 1000);
    assert_eq!(lists(&bench), (1, 0));
}

/// RFC 8290 section 4.2: an idle transmitter finds every queue empty and removes it from the lists. While flow 0's
/// packet is still being sent, its queue is in a list and keeps its turn. Later it is a new flow after flow 1.
#[test]
fn when_the_link_falls_idle_no_queue_is_listed() {
    for (next, order) in [(MILLISECOND - 1, [0, 1]), (MILLISECOND, [1, 0])] {
        let mut bench = Bench::new(&[LONG]);
        bench.queue.set_rate(0, 8_000_000);
        bench.arrive(0, 1000);
        assert_eq!(bench.turn(), 0);
        bench.now = next;
        bench.arrive(1, 1000);
        bench.arrive(0, 1000);
        assert_eq!(bench.turns(2), order, "{next} ns");
    }
}

/// RFC 8290 section 3: "until the value of the byte credits counter becomes zero or less".
#[test]
fn a_quantum_sent_to_the_byte_ends_the_turn() {
    let mut bench = Bench::new(&[LONG, ("quantum", Value::Bytes(1000))]);
    (0..2).for_each(|_| (0..2).for_each(|flow| bench.arrive(flow, 1000)));
    assert_eq!(bench.turns(4), [0, 1, 0, 1]);
}

/// RFC 8290 section 4.1: a queue that returns to the lists loses its remaining credit, 514 bytes here.
#[test]
fn a_new_queue_has_a_quantum_of_credit() {
    let mut bench = Bench::new(&[LONG]);
    bench.arrive(0, 1000);
    assert_eq!(bench.turn(), 0);
    assert!(leave(&mut bench.queue, 0, &mut bench.stock).is_none());
    (0..4).for_each(|_| (0..2).for_each(|flow| bench.arrive(flow, 1000)));
    assert_eq!(bench.turns(5), [0, 0, 1, 1, 0]);
}

/// Each queue has a separate CoDel. Twenty packets at time 0 lose one at 110 ms (RFC 8289 section 5.5), while packets
/// of another queue, which came late, lose none.
#[test]
fn codel_works_on_each_queue() {
    let mut bench = Bench::new(&[]);
    (0..20).for_each(|_| bench.arrive(0, 1514));
    bench.now = 10 * MILLISECOND;
    assert_eq!(bench.turn(), 0);
    bench.now = 110 * MILLISECOND;
    (0..20).for_each(|_| bench.arrive(1, 1514));
    assert_eq!(bench.turns(2), [1, 0]);
    assert_eq!(bench.dropped(), [1]);
    assert_eq!(bench.turns(2), [1, 0]);
    assert!(bench.dropped().is_empty());
}

/// RFC 8290 section 5.2.6: ECN is on unless turned off.
#[test]
fn marks_are_the_default() {
    for (given, marked) in [(&[] as &[_], 1), (&[("ecn", Value::Flag(false))], 0)] {
        let mut queue = fq_codel(given);
        let mut stock = Stock::default();
        for seq in 0..5 {
            come(&mut queue, queued(0, seq, 1000, Ecn::Ect0, 0), false, &mut stock);
        }
        queue.dequeue(10 * MILLISECOND, &mut stock);
        queue.dequeue(110 * MILLISECOND, &mut stock);
        assert_eq!((stock.marked, stock.dropped.len() as u64), (marked, 1 - marked));
    }
}

/// A queue of two packets never loses the last but one to CoDel (RFC 8289 section 4.1); with Linux's floor, compared with the bytes
/// of all queues, it does.
#[test]
fn the_floor_is_the_queues_own_or_that_of_all() {
    for (floor, dropped) in [("queue", 0), ("all", 1)] {
        let mut bench = Bench::new(&[("floor", Value::Name(floor))]);
        (0..3).for_each(|_| bench.arrive(0, 1000));
        (0..9).for_each(|_| bench.arrive(1, 1000));
        bench.now = 10 * MILLISECOND;
        let first = bench.turn();
        bench.now = 200 * MILLISECOND;
        assert_eq!((first, bench.turn()), (0, 0));
        assert_eq!(bench.stock.dropped.len(), dropped, "{floor}");
    }
}

/// RFC 8290 section 4.1: half of the queue with the most bytes (10 of 1000 here, not 20 of 400), from its head.
#[test]
fn a_full_buffer_drops_half_of_the_longest_queue() {
    let mut bench = Bench::new(&[LONG]);
    (0..20).for_each(|_| bench.arrive(1, 400));
    (0..10).for_each(|_| bench.arrive(0, 1000));
    bench.come(2, 1000, true);
    assert_eq!(bench.dropped(), [20, 21, 22, 23, 24]);
    // Now 9000 bytes in 6 packets: 3 of them are too few bytes for the 4000 that came, so it is 4.
    bench.come(0, 4000, true);
    assert_eq!(bench.dropped(), [25, 26, 27, 28]);
}

#[test]
fn half_is_rounded_up_and_at_most_the_batch() {
    for (packets, batch, dropped) in [(0, 64, 1), (1, 64, 1), (2, 64, 2), (127, 64, 64), (300, 64, 64), (300, 8, 8)] {
        let mut bench = Bench::new(&[LONG, ("drop_batch", Value::Packets(batch))]);
        (0..packets).for_each(|_| bench.arrive(0, 1000));
        bench.come(0, 1000, true);
        assert_eq!(bench.dropped(), (0..dropped).collect::<Vec<_>>(), "half of {packets} and one");
        assert_eq!(bench.queue.total.bytes, u64::from(packets + 1 - dropped) * 1000);
    }
}

/// (1023/1024)^99 = .9078 of 100 flows are alone in their queue (RFC 8290 section 5.3 prints 90.78 %).
#[test]
fn the_share_of_flows_alone_in_a_queue() {
    let (mut alone, seeds) = (0, 1000);
    for seed in 0..seeds {
        let queue = FqCodel::new(&Settings::defaults(&INFO), seed, 1000);
        let mut flows = [0_u32; 1024];
        let number = |flow| queue.hash.queue_of(Packet { flow, ..Packet::default() }.flow_key());
        (0..100).for_each(|flow| flows[number(flow)] += 1);
        alone += flows.iter().filter(|flows| **flows == 1).count();
    }
    let share = alone as f64 / (seeds * 100) as f64;
    assert!((share - 0.9078).abs() < 0.004, "{share}");
}

/// The hash is salted (RFC 8290 section 4.1), and a queue is for one direction of one connection.
#[test]
fn seeds_directions_and_connections_have_queues_of_their_own() {
    let data = Packet { flow: 7, ..Packet::default() };
    let queue_of =
        |seed, packet: Packet| FqCodel::new(&Settings::defaults(&INFO), seed, 1000).hash.queue_of(packet.flow_key());
    let distinct = |mut numbers: Vec<usize>| {
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    };
    assert!(distinct((0..20).map(|seed| queue_of(seed, data)).collect()) > 15);
    let others = [PacketKind::Ack, PacketKind::Datagram].map(|kind| Packet { kind, ..data });
    let web = (1..8).map(|incarnation| Packet { incarnation, ..data });
    assert!(distinct(others.into_iter().chain(web).chain([data]).map(|packet| queue_of(1, packet)).collect()) >= 9);
}

#[test]
fn one_queue_is_codel() {
    let mut bench = Bench::new(&[("flows", Value::Whole(1))]);
    (0..20).for_each(|flow| bench.arrive(flow, 1000));
    // The worked case of CoDel: 1 drop at 210 ms, 2 at 420 ms.
    for (at_ms, dropped) in [(10, 0), (210, 1), (210, 0), (420, 2)] {
        bench.now = at_ms * MILLISECOND;
        bench.turn();
        assert_eq!(bench.dropped().len(), dropped, "{at_ms} ms");
    }
}

/// RFC 8290 section 4.2, literally, with separate lists and queues.
struct Plain {
    law: CodelLaw,
    quantum: i32,
    queues: Vec<PlainQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

#[derive(Default)]
struct PlainQueue {
    packets: Packets,
    credit: i32,
    listed: bool,
    control: Control,
}

impl Plain {
    fn new(settings: &Settings) -> Plain {
        let queues = (0..settings.whole("flows")).map(|_| PlainQueue::default()).collect();
        let (new, old) = (VecDeque::new(), VecDeque::new());
        Plain { law: CodelLaw::new(settings, 1000), quantum: settings.whole("quantum") as i32, queues, new, old }
    }

    fn enqueue(&mut self, number: usize, known: Known) {
        let queue = &mut self.queues[number];
        queue.packets.push(known);
        if !std::mem::replace(&mut queue.listed, true) {
            queue.credit = self.quantum;
            self.new.push_back(number);
        }
    }

    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        loop {
            let new = !self.new.is_empty();
            let list = if new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.queues[number];
            if queue.credit <= 0 {
                queue.credit += self.quantum;
            } else if let Some(known) = queue.control.dequeue(&self.law, &mut queue.packets, now, stock) {
                queue.credit -= known.size as i32;
                return Some(known);
            } else {
                queue.listed = new;
            }
            list.pop_front();
            if queue.listed {
                self.old.push_back(number);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// Departures, drops, and marks agree with the literal version, for every order of arrivals and departures.
    /// Includes sizes above the quantum, flows that share a queue, queues that empty and fill again, and drops by
    /// CoDel.
    #[test]
    fn turns_are_those_of_the_rfc(
        quantum in prop_oneof![Just(256u64), Just(1000), Just(1514)],
        steps in prop::collection::vec(
            (0u32..9, prop_oneof![Just(40u32), Just(1000), 1..3000u32], 0..4u64, prop_oneof![3 => Just(1usize), 2 => 0..4usize], any::<bool>()),
            1..300,
        ),
    ) {
        let given = [
            ("flows", Value::Whole(6)),
            ("quantum", Value::Bytes(quantum)),
            ("target", Value::Time(5 * MILLISECOND)),
            ("interval", Value::Time(20 * MILLISECOND)),
        ];
        let settings = settings(&INFO, &given);
        let (mut queue, mut plain) = (FqCodel::new(&settings, 1, 1000), Plain::new(&settings));
        let (mut stock, mut plain_stock) = (Stock::default(), Stock::default());
        let mut now = 0;
        for (seq, (flow, size, gap, asked, capable)) in (0..).zip(steps) {
            now += gap * MILLISECOND;
            let packet = queued(flow, seq, size, if capable { Ecn::Ect0 } else { Ecn::NotEct }, now);
            let number = queue.expect(packet.packet.flow_key()) as usize;
            plain.enqueue(number, plain_stock.put(&packet.packet, packet.size));
            come(&mut queue, packet, false, &mut stock);
            for _ in 0..asked {
                let known = |left: Queued| (left.packet.seq, left.size, left.packet.at, left.packet.ecn());
                let expected = plain.dequeue(now, &mut plain_stock).map(|left| known(plain_stock.take(left.place)));
                prop_assert_eq!(leave(&mut queue, now, &mut stock).map(known), expected);
            }
            let numbers = |stock: &mut Stock| dropped(stock).iter().map(|queued| queued.packet.seq).collect::<Vec<_>>();
            prop_assert_eq!(numbers(&mut stock), numbers(&mut plain_stock));
            prop_assert_eq!(stock.marked, plain_stock.marked);
        }
    }
}
