//! Invariants of disciplines with random choices, over random parameters, arrivals, pauses, and rates.

use super::params::{Info, Kind, Settings, Value};
use super::testing::{come, dropped, leave, queued, settings};
use super::{Any, Discipline, Known, Stock, ared, dualpi2, pie, red};
use crate::packet::Ecn;
use fullpipe_cc::Nanos;
use fullpipe_cc::time::{MILLISECOND, SECOND};
use proptest::prelude::*;

const TRIED: [&Info; 4] = [&red::INFO, &ared::INFO, &pie::INFO, &dualpi2::INFO];

/// Event at a queue.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Packets of one size arrive at once.
    Burst { flow: u32, count: u32, size: u32 },
    /// Packets are sent.
    Departures(u32),
    /// Time passes, sometimes years.
    Pause(Nanos),
    /// The link has another rate.
    Rate(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..8_u32, 1..12_u32, prop::sample::select(vec![40_u32, 1000, 1500]))
            .prop_map(|(flow, count, size)| Event::Burst { flow, count, size }),
        6 => (1..12_u32).prop_map(Event::Departures),
        6 => (0..40 * MILLISECOND).prop_map(Event::Pause),
        1 => (0..100_000_000 * SECOND).prop_map(Event::Pause),
        1 => prop::sample::select(vec![0_u64, 100_000, 10_000_000, 1_000_000_000]).prop_map(Event::Rate),
    ]
}

/// A value of `kind`: most often its bounds and values near the lower one, as defaults are.
fn value(kind: Kind) -> BoxedStrategy<Value> {
    let whole = |min: u64, max: u64| prop_oneof![Just(min), Just(max), min..=(min + 20).min(max), min..=max];
    match kind {
        Kind::Time { min, max } => {
            prop_oneof![Just(min), Just(max), min..=(min + 50 * MILLISECOND).min(max)].prop_map(Value::Time).boxed()
        }
        Kind::Packets { min, max } => whole(min, max).prop_map(Value::Packets).boxed(),
        Kind::Bytes { min, max } => whole(min, max).prop_map(Value::Bytes).boxed(),
        Kind::Whole { min, max } => whole(min, max).prop_map(Value::Whole).boxed(),
        Kind::Rate { min, max } => whole(min, max).prop_map(Value::Rate).boxed(),
        Kind::PacketsOrTime => (0..100_u64).prop_map(Value::Packets).boxed(),
        Kind::Number { min, max } => {
            prop_oneof![Just(min), Just(max), min..=max.min(min + 1.0)].prop_map(Value::Number).boxed()
        }
        Kind::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        Kind::Choice(names) => prop::sample::select(names).prop_map(Value::Name).boxed(),
    }
}

/// One of the disciplines, with about a third of its parameters given.
fn any_settings() -> impl Strategy<Value = Settings> {
    prop::sample::select(&TRIED[..]).prop_flat_map(|info| {
        let each: Vec<_> = info.params.iter().map(|param| prop::option::weighted(0.3, value(param.kind))).collect();
        each.prop_map(move |values| {
            let names = info.params.iter().map(|param| param.name);
            let given: Vec<_> = names.zip(values).filter_map(|(name, value)| Some((name, value?))).collect();
            settings(info, &given)
        })
    })
}

/// The ECN field of a flow's packets.
fn ecn_of(flow: u32) -> Ecn {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4]
}

/// Buffer limit in packets.
const LIMIT: usize = 60;

/// Outcome of a packet: its flow, its number, and its ECN field when it was sent, `None` if it was dropped.
type Fate = (u32, u32, Option<Ecn>);

/// Queue, and outcomes of its arrivals.
struct Trial {
    queue: Any,
    stock: Stock,
    now: Nanos,
    came: u32,
    inside: usize,
    fullest: usize,
    fates: Vec<Fate>,
}

impl Trial {
    fn happen(&mut self, event: Event) {
        match event {
            Event::Burst { flow, count, size } => (0..count).for_each(|_| self.arrive(flow, size)),
            Event::Departures(count) => while_some(count, || self.depart()),
            Event::Pause(nanos) => self.now += nanos,
            Event::Rate(rate_bps) => self.queue.set_rate(self.now, rate_bps),
        }
    }

    fn arrive(&mut self, flow: u32, size: u32) {
        let packet = queued(flow, self.came, size, ecn_of(flow), self.now);
        come(&mut self.queue, packet, self.inside >= LIMIT, &mut self.stock);
        self.came += 1;
        self.inside += 1;
        self.note_dropped();
        self.fullest = self.fullest.max(self.inside);
    }

    fn depart(&mut self) -> Option<()> {
        let sent = leave(&mut self.queue, self.now, &mut self.stock);
        self.note_dropped();
        let Some(packet) = sent.map(|queued| queued.packet) else {
            assert_eq!(self.inside, 0, "nothing is sent while some wait");
            return None;
        };
        let (before, after) = (ecn_of(packet.flow), packet.ecn());
        assert!(after == before || before.capable() && after == Ecn::Ce, "{before:?} became {after:?}");
        self.fates.push((packet.flow, packet.seq, Some(after)));
        self.inside -= 1;
        self.now += MILLISECOND;
        Some(())
    }

    fn note_dropped(&mut self) {
        let dropped = dropped(&mut self.stock);
        self.inside -= dropped.len();
        self.fates.extend(dropped.iter().map(|dropped| (dropped.packet.flow, dropped.packet.seq, None)));
    }
}

fn while_some(count: u32, mut step: impl FnMut() -> Option<()>) {
    (0..count).try_for_each(|_| step());
}

/// Outcomes of all packets, and the number of marks, if the queue is emptied at the end.
fn fates(settings: &Settings, seed: u64, events: &[Event]) -> (Vec<Fate>, u64) {
    let queue = Any::new(settings, seed, 1000);
    let empty_bytes = queue.heap_bytes();
    let mut trial = Trial { queue, stock: Stock::default(), now: 0, came: 0, inside: 0, fullest: 0, fates: Vec::new() };
    let (first, last) = (Event::Rate(10_000_000), Event::Departures(u32::MAX));
    for event in [&first].into_iter().chain(events).chain([&last]) {
        trial.happen(*event);
    }
    assert_eq!(trial.fates.len(), trial.came as usize);
    // Two queues, each with twice the places that it has ever needed.
    let most_bytes = empty_bytes + 2 * (2 * trial.fullest + 4) * size_of::<Known>();
    assert!(trial.queue.heap_bytes() <= most_bytes, "more memory than the fullest moment needs");
    (trial.fates, trial.stock.marked)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each packet is sent or dropped, once; those of a queue leave it in order; Not-ECT is never marked, CE never
    /// cleared; pauses take no computing time; results of one seed are equal.
    #[test]
    fn packets_are_conserved(
        settings in any_settings(), seed in any::<u64>(), events in prop::collection::vec(event(), 0..200),
    ) {
        let (all, marked) = fates(&settings, seed, &events);
        let mut numbers: Vec<_> = all.iter().map(|(_, seq, _)| *seq).collect();
        numbers.sort_unstable();
        prop_assert!(numbers.iter().copied().eq(0..all.len() as u32));

        let sent = || all.iter().filter(|(_, _, ecn)| ecn.is_some());
        let is_l4s = |flow: u32| settings.info.name == "dualpi2" && matches!(ecn_of(flow), Ecn::Ect1 | Ecn::Ce);
        for l4s in [false, true] {
            prop_assert!(sent().filter(|(flow, ..)| is_l4s(*flow) == l4s).is_sorted_by_key(|(_, seq, _)| *seq));
        }
        let seen = sent().filter(|(flow, _, ecn)| *ecn == Some(Ecn::Ce) && ecn_of(*flow) != Ecn::Ce).count() as u64;
        prop_assert_eq!(marked, seen);
        prop_assert_eq!((all, marked), fates(&settings, seed, &events));
    }
}

/// Steps with each pause cut into milliseconds. After each one the link reports its rate, so that updates are not
/// delayed.
fn in_small_steps(events: &[Event]) -> Vec<Event> {
    let mut rate = Event::Rate(10_000_000);
    let mut cut = Vec::new();
    for event in events {
        match *event {
            Event::Pause(nanos) => {
                for _ in 0..nanos / MILLISECOND {
                    cut.extend([Event::Pause(MILLISECOND), rate]);
                }
                cut.push(Event::Pause(nanos % MILLISECOND));
            }
            Event::Rate(_) => {
                rate = *event;
                cut.push(rate);
            }
            _ => cut.push(*event),
        }
    }
    cut
}

/// Pauses of some seconds at most.
fn brisk_event() -> impl Strategy<Value = Event> {
    event().prop_map(|event| match event {
        Event::Pause(nanos) if nanos > SECOND => Event::Pause(nanos % (3 * SECOND)),
        other => other,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Delayed updates, at the next packet, equal updates in time.
    #[test]
    fn late_updates_are_those_in_time(
        settings in any_settings(), seed in any::<u64>(), events in prop::collection::vec(brisk_event(), 0..200),
    ) {
        prop_assert_eq!(fates(&settings, seed, &events), fates(&settings, seed, &in_small_steps(&events)));
    }
}
