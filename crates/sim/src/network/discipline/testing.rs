//! What the tests of disciplines share, and the properties that hold for every one of them.

use super::params::Value;
use super::stock::Queued;
use super::{ALL, Any, Discipline, Info, Known, Settings, Stock};
use crate::packet::{Ecn, Marks, Packet, PacketKind};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MICROSECOND;
use proptest::prelude::*;
use std::ops::{Deref, DerefMut};

/// A data packet of `size` bytes that comes at `entered`.
pub fn queued(flow: u32, seq: u32, size: u32, ecn: Ecn, entered: Nanos) -> Queued {
    let aside = ecn as u64;
    debug_assert_eq!(Marks::new(ecn, false), Packet { aside, ..Packet::default() }.marks());
    let packet = Packet { at: entered, flow, seq, aside, ..Packet::default() };
    Queued { packet, size, ..Queued::default() }
}

/// It comes to `queue`, into `stock`.
pub fn come(queue: &mut impl Discipline, queued: Queued, full: bool, stock: &mut Stock) {
    let class = queue.expect(queued.packet.flow_key());
    queue.enqueue(stock.put(&queued.packet, queued.size), class, full, stock);
}

/// What `queue` sends at `now`, taken out of the `stock` that it came into.
pub fn leave(queue: &mut impl Discipline, now: Nanos, stock: &mut Stock) -> Option<Queued> {
    queue.dequeue(now, stock).map(|known| stock.take(known.place))
}

/// What has been dropped since the last look, taken out of the `stock` that it came into.
pub fn dropped(stock: &mut Stock) -> Vec<Queued> {
    let places = std::mem::take(&mut stock.dropped);
    places.into_iter().map(|place| stock.take(place)).collect()
}

/// A discipline and the packets that are in it.
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

    /// The numbers of those dropped since the last look.
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

/// Every discipline as it is, and those with a choice that changes what they do the other way.
fn variants() -> Vec<Settings> {
    let mut variants: Vec<_> = ALL.iter().map(|info| Settings::defaults(info)).collect();
    for info in ALL {
        for param in info.params {
            let others: Vec<Value> = match (param.kind, param.default) {
                (super::params::Kind::Flag, Some(Value::Flag(on))) => vec![Value::Flag(!on)],
                (super::params::Kind::Choice(names), default) => {
                    names.iter().map(|name| Value::Name(name)).filter(|name| Some(*name) != default).collect()
                }
                (super::params::Kind::PacketsOrTime, _) => vec![Value::Packets(5), Value::Time(100 * MICROSECOND)],
                _ => Vec::new(),
            };
            variants.extend(others.into_iter().map(|value| settings(info, &[(param.name, value)])));
        }
    }
    variants
}

/// What happens to a discipline at one moment.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet of a flow comes.
    Arrival { flow: u32, ack: bool, size: u32 },
    /// The transmitter is free.
    Departure,
    /// Time goes by.
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

/// The rate that the properties are tried at, and the most packets waiting, on which a discipline is told that it is full.
const RATE_BPS: u64 = 10_000_000;
const LIMIT: usize = 60;

/// A discipline and what must be true of it.
struct Trial {
    settings: Settings,
    queue: Any,
    stock: Stock,
    /// Flow, direction and number of each packet inside.
    inside: Vec<(u32, PacketKind, u32)>,
    fullest: usize,
    /// Packets that came unmarked and left or were dropped marked.
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

    /// False once it gives nothing.
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

    /// A packet is gone: it was inside, and its ECN field is as it came or properly marked.
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

/// When all packets have left, after the last came.
const END: Nanos = 1000 * fullpipe_cc::time::SECOND;

/// A link with a queue: packets that come a time after one another, of a flow and a size. What becomes of each: when it is sent, with
/// which ECN field; `None` where it is dropped. `passing`: those that come to the idle link may pass.
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
    // One turn of the transmitter at `at`; when it is free again.
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
        // An idle link sends what comes before anything else comes at that moment, as a served link does.
        while idle && inside > 0 && free == now {
            free = turn(now, &mut queue, &mut inside, &mut stock, &mut fates);
        }
    }
    fates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet leaves once or is dropped, in its flow's order; what is not ECN-capable is never marked, no mark is taken away; a
    /// discipline takes no more memory than its fullest moment asked for.
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
            // Twice as many as ever needed, of two queues; lists are linked, and there may be one of flows besides.
            let places = 2 * (2 * trial.fullest + 8);
            let most_bytes = empty_bytes + places * (2 * size_of::<Known>() + 8);
            prop_assert!(trial.queue.heap_bytes() <= most_bytes, "{:?}: more than the fullest needs", settings);
        }
    }

    /// A packet that passes an idle link, and all behind it, fare as if it had been in the queue. Packets may come in one nanosecond.
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
