use super::*;
use proptest::prelude::*;

fn packet(at: Nanos, seq: u32) -> Packet {
    Packet { at, seq, ..Packet::default() }
}

fn take(schedule: &mut Schedule) -> Option<(Nanos, u32)> {
    let next = schedule.next_time();
    let taken = if schedule.any_late() { schedule.pop_late() } else { schedule.pop() };
    assert_eq!(next, taken.map_or(Nanos::MAX, |packet| packet.at));
    taken.map(|packet| (packet.at, packet.seq))
}

const TIES: Ties = Ties::new(7);

/// Identity of a stream or a flow in these tests.
fn identity(number: u32) -> Identity {
    Identity::NONE.number(number.into())
}

/// Schedule with `streams` streams, and flows with numbers below 8.
fn with_streams(streams: u32) -> Schedule {
    let mut schedule = Schedule::new(TIES);
    (0..streams).for_each(|number| assert_eq!(schedule.add_stream(identity(number)), number));
    (0..8).for_each(|number| schedule.add_flow(identity(number)));
    schedule
}

/// At 4 ns packets of three streams, two of them of one: these keep their order.
#[test]
fn packets_come_in_time_order_and_ties_by_rank() {
    let mut schedule = with_streams(6);
    for (stream, times) in [(5, [1, 4]), (0, [3, 9]), (3, [4, 4]), (1, [4, 5])] {
        for (k, at) in (0..).zip(times) {
            schedule.push(stream, &packet(at, 10 * stream + k));
        }
    }
    let order: Vec<_> = std::iter::from_fn(|| take(&mut schedule)).collect();
    let mut tied = [10, 30, 31, 51];
    tied.sort_by_key(|seq| TIES.rank(4, identity(seq / 10)));
    let expected = [(1, 50), (3, 0)].into_iter().chain(tied.map(|seq| (4, seq))).chain([(5, 11), (9, 1)]);
    assert_eq!(order, expected.collect::<Vec<_>>());
}

/// 1000 moments at which three streams tie, pushed in one order: each stream is first a third of the times. The standard deviation
/// is 15.
#[test]
fn no_stream_wins_ties_by_its_number() {
    let mut schedule = with_streams(3);
    let mut first = [0; 3];
    for moment in 1..=1000 {
        (0..3).for_each(|stream| schedule.push(stream, &packet(moment * 12_000, stream)));
        first[take(&mut schedule).expect("three").1 as usize] += 1;
        (0..2).for_each(|_| assert!(take(&mut schedule).is_some()));
    }
    assert!(first.iter().all(|won| (280..=390).contains(won)), "{first:?}");
}

/// Flows 7 and 2 are to be woken at a moment at which packets of a stream arrive, one of which is pushed last; one as soon as 100 ns, in the
/// slice that is open, and one with too high a number, are no entries.
#[test]
fn flows_are_woken_after_all_packets_of_a_moment_by_rank() {
    let mut schedule = with_streams(1);
    let stream = 0;
    schedule.push(stream, &packet(50, 0));
    schedule.push(stream, &packet(MS, 1));
    assert!(schedule.push_pace(7, MS) && schedule.push_pace(2, MS));
    assert!(!schedule.push_pace(3, 100) && !schedule.push_pace(MOST_PACED, MS));
    schedule.push(stream, &packet(MS, 2));
    let order: Vec<_> =
        std::iter::from_fn(|| schedule.pop()).map(|packet| (packet.at, packet.kind, packet.flow, packet.seq)).collect();
    let arrives = |at, seq| (at, PacketKind::Data, 0, seq);
    let wakes = |flow| (MS, PacketKind::Pace, flow, 0);
    let mut woken = [2, 7];
    woken.sort_by_key(|&flow| TIES.rank(MS, identity(flow)));
    assert_eq!(order, [arrives(50, 0), arrives(MS, 1), arrives(MS, 2), wakes(woken[0]), wakes(woken[1])]);
}

/// Five million streams: keys have 22 bits for their number. A number beyond those would be taken for a later time.
#[test]
fn more_streams_than_numbers_keep_the_order_of_time() {
    let mut schedule = Schedule::new(TIES);
    let last = (0..5_000_000).map(|k| schedule.add_stream(identity(k))).last().expect("five million");
    schedule.push(0, &packet(2, 0));
    schedule.push(last, &packet(1, 1));
    schedule.push(0, &packet(1, 2));
    let order: Vec<_> = std::iter::from_fn(|| take(&mut schedule)).collect();
    let mut tied = [(1, 2), (1, 1)];
    tied.sort_by_key(|&(_, seq)| TIES.rank(1, identity(if seq == 1 { MOST_STREAMS - 1 } else { 0 })));
    assert_eq!(order, [tied[0], tied[1], (2, 0)]);
}

proptest! {
    /// Whatever the delays, near or far beyond the slices, the order is that of a plain list sorted by time, rank and push;
    /// long enough for the width to change. Delays are multiples of `unit`: with a large one most packets tie.
    #[test]
    fn the_order_is_that_of_a_sorted_list(
        delays in prop::collection::vec((0u32..30, 1u64..1000, 0u32..4), 1..40),
        rounds in 1usize..600,
        unit in prop::sample::select(vec![1u64, 1, 1_000, 1_000_000]),
    ) {
        let mut schedule = with_streams(4);
        let mut waiting = std::collections::BTreeSet::new();
        let mut last = [0; 4];
        let (mut now, mut pushed) = (0, 0u32);
        for _ in 0..rounds {
            for &(magnitude, factor, stream) in &delays {
                let at = (now + (factor << magnitude)).next_multiple_of(unit).max(last[stream as usize]);
                last[stream as usize] = at;
                schedule.push(stream, &packet(at, pushed));
                waiting.insert((at, TIES.rank(at, identity(stream)), pushed));
                pushed += 1;
            }
            for _ in 0..delays.len() - usize::from(rounds % 3 == 0) {
                let first = waiting.pop_first();
                prop_assert_eq!(take(&mut schedule), first.map(|(at, _, seq)| (at, seq)));
                now = first.map_or(now, |(at, ..)| at);
            }
        }
        prop_assert_eq!(schedule.packets().count(), waiting.len());
        while let Some((at, _, seq)) = waiting.pop_first() {
            prop_assert_eq!(take(&mut schedule), Some((at, seq)));
        }
        prop_assert_eq!(take(&mut schedule), None);
    }
}

/// Holds `held` packets in flight. Each is retransmitted when it arrives, with a delay of `delay(n)` after n packets.
/// Returns the number of width changes, and the number of re-sorted packets per arrival.
fn refilings(held: u32, packets: u32, delay: impl Fn(u32) -> Nanos) -> (usize, f64) {
    let mut schedule = with_streams(2);
    let streams = [0, 1];
    let mut last = [0; 2];
    for k in 0..packets + held {
        let now = if k < held { 0 } else { take(&mut schedule).expect("one under way").0 };
        let stream = k as usize % 2;
        last[stream] = last[stream].max(now + delay(k));
        schedule.push(streams[stream], &packet(last[stream], k));
    }
    let (times, moved) = schedule.refilings;
    (times, moved as f64 / f64::from(packets))
}

/// For every load, the calendar re-sorts fewer packets than pass through it, and its width settles. Loads: constant, a
/// queue that grows and drains as a sawtooth, and two paths of different lengths.
#[test]
fn the_width_settles_whatever_the_load() {
    const PACKETS: u32 = 400_000;
    for held in [10, 1_000, 30_000, 100_000] {
        for rtt in [MS / 10, 10 * MS, 100 * MS, 1000 * MS] {
            let spaced = |k: u32| rtt + rtt * Nanos::from(k.min(held)) / Nanos::from(held);
            let sawtooth = |k: u32| spaced(k) + rtt * Nanos::from(k % (3 * held)) / Nanos::from(3 * held);
            let paths = |k: u32| spaced(k) * if k % 2 == 0 { 1 } else { 7 };
            let loads: [(&str, &dyn Fn(u32) -> Nanos); 3] =
                [("steady", &spaced), ("sawtooth", &sawtooth), ("paths", &paths)];
            for (name, load) in loads {
                let (times, moved) = refilings(held, PACKETS, load);
                assert!(moved <= 2.0, "{moved} moves a packet: {name}, {held} under way, {rtt} ns");
                assert!(times <= 24, "{times} widths: {name}, {held} under way, {rtt} ns");
            }
        }
    }
}

/// Six hundred in the open slice, more than find a place there; then two of one stream at one moment, the second when there is room again.
#[test]
fn nothing_passes_what_the_open_slice_had_no_place_for() {
    let mut schedule = with_streams(2);
    let (many, two) = (0, 1);
    (0..600).for_each(|k| schedule.push(many, &packet(1000 + Nanos::from(k), k)));
    schedule.push(two, &packet(5000, 1000));
    (0..300).for_each(|k| assert_eq!(take(&mut schedule), Some((1000 + Nanos::from(k), k))));
    schedule.push(two, &packet(5000, 1001));
    (300..600).for_each(|k| assert_eq!(take(&mut schedule), Some((1000 + Nanos::from(k), k))));
    assert_eq!([take(&mut schedule), take(&mut schedule)], [Some((5000, 1000)), Some((5000, 1001))]);
}

/// Hosts with a processing time of up to 240 us at the ends of a path of 120 ms. For every width, early and late
/// arrivals have a slot, and almost no packet goes to a heap.
#[test]
fn short_waits_among_long_ones_need_no_heap() {
    const PACKETS: u64 = 200_000;
    let mut schedule = with_streams(2);
    let (path, host) = (0, 1);
    (0..500).for_each(|k| schedule.push(path, &packet(k * MS / 4, 0)));
    let mut awake = 0;
    for k in 0..PACKETS {
        let (now, in_host) = take(&mut schedule).expect("one under way");
        if in_host == 1 {
            schedule.push(path, &packet(now + 120 * MS, 0));
        } else {
            awake = awake.max(now + k * 7919 % 240_000);
            schedule.push(host, &packet(awake, 1));
        }
    }
    assert!(schedule.order < PACKETS / 20, "{} of {PACKETS}", schedule.order);
}

const MS: Nanos = 1_000_000;
