//! Helpers for the tests of queue disciplines, and properties that hold for every discipline.

use super::params::Value;
use super::stock::Queued;
use super::{ALL, Any, Discipline, Info, Known, Settings, Stock};
use crate::packet::{Ecn, Marks, Packet, PacketKind};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MICROSECOND;
use proptest::prelude::*;
use std::ops::{Deref, DerefMut};

/// Data packet of `size` bytes that arrives at `entered`.
pub fn queued(flow: u32, seq: u32, size: u32, ecn: Ecn, entered: Nanos) -> Queued {
    let aside = ecn as u64;
    debug_assert_eq!(Marks::new(ecn, false), Packet { aside, ..Packet::default() }.marks());
    let packet = Packet { at: entered, flow, seq, aside, ..Packet::default() };
    Queued { packet, size, ..Queued::default() }
}

/// Puts a packet into `stock` and `queue`.
pub fn come(queue: &mut impl Discipline, queued: Queued, full: bool, stock: &mut Stock) {
    let class = queue.expect(queued.packet.flow_key());
    queue.enqueue(stock.put(&queued.packet, queued.size), class, full, stock);
}

/// Packet that `queue` sends at `now`, removed from `stock`.
pub fn leave(queue: &mut impl Discipline, now: Nanos, stock: &mut Stock) -> Option<Queued> {
    queue.dequeue(now, stock).map(|known| stock.take(known.place))
}

/// Packets dropped since the last check, removed from `stock`.
pub fn dropped(stock: &mut Stock) -> Vec<Queued> {
    let places = std::mem::take(&mut stock.dropped);
    places.into_iter().map(|place| stock.take(place)).collect()
}

/// A discipline and its packets.
pub struct Bench<D> {
    pub queue: D,
    pub stock: Stock,
}

impl<D: Discipline> Bench<D> {
    pub fn new(queue: D) -> Bench<D> {
        Bench { queue, stock: Stock::default() }
    }

    pub fn come(&mut self, queued: Queued, full: bool) {
        come(&mut self.queue, queued, full, &mut self.stock);
    }

    pub fn leave(&mut self, now: Nanos) -> Option<Queued> {
        leave(&mut self.queue, now, &mut self.stock)
    }

    /// Numbers of the packets dropped since the last check.
    pub fn dropped(&mut self) -> Vec<u32> {
        dropped(&mut self.stock).iter().map(|queued| queued.packet.seq).collect()
    }
}

impl<D> Deref for Bench<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.queue
    }
}

impl<D> DerefMut for Bench<D> {
    fn deref_mut(&mut self) -> &mut D {
        &mut self.queue
    }
}

/// Parameters that differ from the defaults.
pub fn settings(info: &'static Info, given: &[(&'static str, Value)]) -> Settings {
    Settings { info, given: given.to_vec() }
}

/// Every discipline with its defaults, and with each choice set to another value.
fn variants() -> Vec<Settings> {
    let mut variants: Vec<_> = ALL.iter().map(|info| Settings::defaults(info)).collect();
    for info in ALL {
        for param in info.params {
            let others: Vec<Value> = match (param.kind, param.default) {
                (super::params::Kind::Flag, Some(Value::Flag(on))) => vec![Value::Flag(!on)],
                (super::params::Kind::Choice(names), default) => {
                    names.iter().map(|name| Value::Name(name)).filter(|name| Some(*name) != default).collect()
                }
                (super::params::Kind::Rate { .. }, _) => vec![Value::Rate(8_000_000)],
                (super::params::Kind::PacketsOrTime, _) => vec![Value::Packets(5), Value::Time(100 * MICROSECOND)],
                _ => Vec::new(),
            };
            variants.extend(others.into_iter().map(|value| settings(info, &[(param.name, value)])));
        }
    }
    variants
}

/// An event of a discipline.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet of a flow arrives.
    Arrival { flow: u32, ack: bool, size: u32 },
    /// The transmitter is idle.
    Departure,
    /// Time passes.
    Pause(Nanos),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrival = (0..12_u32, any::<bool>(), prop::sample::select(vec![40, 500, 1000, 1500]));
    let step = prop_oneof![
        5 => arrival.prop_map(|(flow, ack, size)| Step::Arrival { flow, ack, size }),
        4 => Just(Step::Departure),
        2 => (0..30_000 * MICROSECOND).prop_map(Step::Pause),
    ];
    prop::collection::vec(step, 0..1000)
}

/// The ECN field of a flow's packets: all four occur.
fn ecn_of(flow: u32) -> Ecn {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4]
}

/// Link rate in the property tests, and the number of waiting packets at which the buffer is full.
const RATE_BPS: u64 = 10_000_000;
const LIMIT: usize = 60;

/// A discipline and its expected invariants.
struct Trial {
    settings: Settings,
    queue: Any,
    stock: Stock,
    /// Flow, direction, and number of each packet in the queue.
    inside: Vec<(u32, PacketKind, u32)>,
    fullest: usize,
    /// Number of packets that arrived unmarked and left or were dropped with a mark.
    marked: u64,
}

impl Trial {
    fn new(settings: Settings, seed: u64) -> Trial {
        let mut queue = Any::new(&settings, seed, 1000);
        queue.set_rate(0, RATE_BPS);
        Trial { settings, queue, stock: Stock::default(), inside: Vec::new(), fullest: 0, marked: 0 }
    }

    fn arrive(&mut self, packet: Queued) {
        let full = self.inside.len() >= LIMIT;
        self.inside.push(key(&packet));
        come(&mut self.queue, packet, full, &mut self.stock);
        self.fullest = self.fullest.max(self.inside.len());
        self.look_at_dropped();
        assert!(self.inside.len() <= LIMIT, "{:?}: no room is made for what comes", self.settings);
    }

    /// Lets a packet depart; false if the queue is empty.
    fn depart(&mut self, now: Nanos) -> bool {
        let sent = leave(&mut self.queue, now, &mut self.stock);
        self.look_at_dropped();
        let Some(sent) = sent else {
            assert!(self.inside.is_empty(), "{:?}: sends nothing with {} inside", self.settings, self.inside.len());
            return false;
        };
        let of_flow = |one: &&(u32, PacketKind, u32)| (one.0, one.1) == (sent.packet.flow, sent.packet.kind);
        assert_eq!(self.inside.iter().find(of_flow), Some(&key(&sent)), "{:?}: out of its flow's order", self.settings);
        self.leave(&sent);
        true
    }

    fn look_at_dropped(&mut self) {
        for dropped in dropped(&mut self.stock) {
            self.leave(&dropped);
        }
    }

    /// Checks a packet that has left: it was in the queue, and its ECN field is unchanged or correctly marked.
    fn leave(&mut self, gone: &Queued) {
        let at = self.inside.iter().position(|one| *one == key(gone));
        self.inside.remove(at.unwrap_or_else(|| panic!("{:?}: gives {gone:?} unasked", self.settings)));
        let (before, after) = (ecn_of(gone.packet.flow) as u64, gone.packet.aside);
        if before != after {
            let may = gone.packet.kind == PacketKind::Data && ecn_of(gone.packet.flow).capable();
            assert!(may && after == Ecn::Ce as u64, "{:?}: {before} became {after}", self.settings);
            self.marked += 1;
        }
    }
}

fn key(queued: &Queued) -> (u32, PacketKind, u32) {
    (queued.packet.flow, queued.packet.kind, queued.packet.seq)
}

/// Time at which all packets have left.
const END: Nanos = 1000 * fullpipe_cc::time::SECOND;

/// Departure time and ECN field of each packet on a link with a queue; `None` for a drop. Packets arrive with given
/// gaps, flows, and sizes. `passing`: packets that find the link idle may bypass the queue.
fn fates(
    settings: &Settings,
    seed: u64,
    arrivals: &[(Nanos, u32, u32)],
    passing: bool,
) -> Vec<(u32, Nanos, Option<Ecn>)> {
    let mut queue = Any::new(settings, seed, 1000);
    queue.set_rate(0, RATE_BPS);
    let (mut stock, mut fates) = (Stock::default(), Vec::new());
    let (mut now, mut free, mut inside) = (0, 0, 0);
    let time_of = |size: u32| Nanos::from(size) * 8_000_000_000 / RATE_BPS;
    // One transmission at `at`. Returns when the transmitter is idle again.
    let turn = |at: Nanos, queue: &mut Any, inside: &mut usize, stock: &mut Stock, fates: &mut Vec<_>| {
        let sent = leave(queue, at, stock);
        *inside -= stock.dropped.len() + usize::from(sent.is_some());
        fates.extend(dropped(stock).iter().map(|dropped| (dropped.packet.seq, at, None)));
        sent.map_or(at, |sent| {
            fates.push((sent.packet.seq, at, Some(sent.packet.ecn())));
            at + time_of(sent.size)
        })
    };
    for (seq, (gap, flow, size)) in (0..).zip(arrivals.iter().copied().chain([(END, 0, 0)])) {
        now += gap;
        while inside > 0 && free < now {
            free = turn(free, &mut queue, &mut inside, &mut stock, &mut fates);
        }
        if gap == END {
            break;
        }
        let packet = queued(flow, seq, size, ecn_of(flow), now);
        let idle = inside == 0 && free <= now;
        if passing && idle && queue.lets_pass(now, &packet.packet, size) {
            fates.push((seq, now, Some(packet.packet.ecn())));
            free = now + time_of(size);
            continue;
        }
        come(&mut queue, packet, inside >= LIMIT, &mut stock);
        inside += 1;
        inside -= stock.dropped.len();
        fates.extend(dropped(&mut stock).iter().map(|dropped| (dropped.packet.seq, now, None)));
        free = free.max(now);
        // An idle link sends an arrival before another packet arrives at that time, as a served link does.
        while idle && inside > 0 && free == now {
            free = turn(now, &mut queue, &mut inside, &mut stock, &mut fates);
        }
    }
    fates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet leaves once or is dropped, in its flow's order. A packet that is not ECN-capable is never marked,
    /// and no mark is removed. The memory of a discipline is bounded by its largest number of packets.
    #[test]
    fn packets_are_conserved(steps in steps(), seed in any::<u64>()) {
        for settings in variants() {
            let mut trial = Trial::new(settings, seed);
            let empty_bytes = trial.queue.heap_bytes();
            let mut now = 0;
            for (number, step) in steps.iter().enumerate() {
                match *step {
                    Step::Arrival { flow, ack, size } => {
                        let mut packet = queued(flow, number as u32, size, ecn_of(flow), now);
                        if ack {
                            packet.packet.kind = PacketKind::Ack;
                        }
                        trial.arrive(packet);
                    }
                    Step::Departure => { trial.depart(now); }
                    Step::Pause(nanos) => now += nanos,
                }
            }
            while trial.depart(now) {
                now += MICROSECOND;
            }
            let settings = &trial.settings;
            prop_assert_eq!(trial.marked, trial.stock.marked, "{:?}", settings);
            // Twice the maximum needed by two queues. Lists are linked, and there may be one list of flows.
            let places = 2 * (2 * trial.fullest + 8);
            let most_bytes = empty_bytes + places * (2 * size_of::<Known>() + 8);
            prop_assert!(trial.queue.heap_bytes() <= most_bytes, "{:?}: more than the fullest needs", settings);
        }
    }

    /// A packet that bypasses the queue of an idle link, and all packets behind it, are treated as if it had been in
    /// the queue. Packets may arrive in one nanosecond.
    #[test]
    fn passing_is_as_queueing(
        arrivals in prop::collection::vec((prop_oneof![Just(0), 0..200 * MICROSECOND, 0..3_000 * MICROSECOND], 0..6_u32,
            prop::sample::select(vec![40_u32, 1000])), 1..600),
        seed in any::<u64>(),
    ) {
        for settings in variants() {
            let [queued, passed] = [false, true].map(|passing| fates(&settings, seed, &arrivals, passing));
            prop_assert_eq!(queued, passed, "{:?}", settings);
        }
    }
}

#[test]
fn every_parameter_is_declared_in_full() {
    for info in ALL {
        assert!(std::ptr::eq(super::find(info.name).expect("listed under its name"), *info));
        assert!(!info.source.is_empty());
        for param in info.params {
            assert!(param.doc.ends_with('.') && !param.source.is_empty(), "{}: {}", info.name, param.name);
            assert_eq!(info.params.iter().filter(|other| other.name == param.name).count(), 1);
        }
    }
}

#[test]
fn every_parameter_is_on_its_page() {
    let read = |page: &str| {
        let path = format!("{}/../../docs/reference/queues/{page}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no {path}"))
    };
    let list = read("README.md");
    for info in ALL {
        let link = list.split_once(&format!("\n- [`{}`](", info.name)).expect(info.name).1;
        let page = read(link.split_once(')').expect("a link ends").0);
        for param in info.params {
            assert!(page.contains(&format!("`{}`", param.name)), "{}: {}", info.name, param.name);
        }
    }
}
