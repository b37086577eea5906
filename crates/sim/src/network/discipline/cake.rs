//! CAKE: a shaper, classes of traffic with priorities (tins), and in each of them a queue with COBALT for each flow, whose turns are fair to hosts.
//!
//! Source: T. Høiland-Jørgensen, D. Täht, J. Morton, *Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways*, 2018
//! (only its abstract and introduction were read); Linux net/sched/sch_cake.c, by behavior; tc-cake(8).
//!
//! - **Length**: bytes plus `overhead`, at least `mpu`, then in cells of `framing`. Shaper and turns count adjusted bytes.
//! - **Shaper**: the clock moves by length/`bandwidth` for each packet sent. The next packet leaves when the clock is due. A packet that finds
//!   the queue empty sets a past clock to now. With `ingress` dropped packets move the clock too. Then a failsafe clock, which moves
//!   1.5 times as far for packets sent alone, lets packets leave where it is due earlier.
//! - **Tins** have shares of the bandwidth: best effort 1, bulk 1/16, video 1/2, voice 1/4; tin i of `diffserv8` (7/8)^i. The highest tin
//!   goes first whose own clock is due, else the earliest one. A tin above its share loses its priority only. Without a shaper, tins take turns
//!   by bytes: 1024, 64, 512, 256; in `diffserv8` 256, then 7/8 of the tin before.
//! - **Flows** take turns as in `fq-codel`: sparse ones first, then bulk ones. The quantum of a flow is divided by the number of bulk flows
//!   of its host (`isolation`), rounded at random. An empty flow whose drop state is not at rest decays: each call looks at one such flow.
//! - **COBALT** drops or marks as in `cake/cobalt.rs`, never the last packet of a flow.
//! - **A full buffer** drops from the head of the flow with the most bytes until the packet that came has room.
//!
//! # Deviations and choices
//!
//! - **Not here**: the ACK filter, automatic bandwidth, splitting of large segments, and washing of the DSCP.
//! - **The largest packet** has 1514 bytes, or the scenario's packet size if that is larger. Linux takes the device's.
//! - **The overhead** is 0 by default, as the sizes of a scenario are. Linux without `overhead` counts 14 bytes of Ethernet.
//! - **Hosts** are exact, and so is the key of a flow. Linux hashes both. A flow without `sender` or `receiver` has a separate host.
//! - **ACKs** have the class of the flow. Hosts on the Internet often answer with best effort.
//! - **Clocks** count whole nanoseconds, rounded for each packet.
//! - **The shaper** is asked once for each packet sent. Linux asks again where a drop (`ingress`) is followed by an empty flow.
//! - **The root** 1/sqrt(count) is exact; Linux takes Newton steps above 16. `root` decides about its first value, 0 in Linux.
//! - **The limit** is the link's. Linux has the larger of 4 MiB and 4 times bandwidth times `rtt`, of kernel memory. A limit in time
//!   counts the link's rate, not the bandwidth.

mod cobalt;
mod flows;

use super::labels::{Label, Labels};
use super::params::{self, Info, Param, Params, Settings, Unset, Value};
use super::{Discipline, Known, Stock};
use crate::packet::Packet;
use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::{Class, limits};
use cobalt::{CobaltLaw, Verdict};
use flows::{Flows, Kind, State};
use fullpipe_cc::Nanos;
use fullpipe_cc::random::mix;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, SECOND};
use std::sync::Arc;

const LINUX: &str = "Linux, net/sched/sch_cake.c";

/// Parameters in scenarios.
pub static INFO: Info = Info {
    name: "cake",
    source: "Høiland-Jørgensen et al. 2018; Linux",
    params: &[
        Param::new(
            "bandwidth",
            params::Kind::Rate { min: *limits::RATE.start(), max: *limits::RATE.end() },
            None,
            "Rate of the shaper; without it the link's rate is the only one.",
        )
        .unset(Unset::Word("unlimited"))
        .source(LINUX),
        Param::time("rtt", 100 * MILLISECOND, MICROSECOND, 1000 * SECOND, "Round trip for which drops are laid out.")
            .source("tc-cake(8)"),
        Param::time("target", 0, MICROSECOND, 1000 * SECOND, "Waiting time above which drops begin: rtt/20.")
            .derived(target_of_rtt)
            .source("iproute2, tc/q_cake.c"),
        Param::choice(
            "diffserv",
            &["besteffort", "diffserv3", "diffserv4", "diffserv8"],
            "Tins for classes of flows; auto: one if all flows have one class, otherwise diffserv3.",
        )
        .unset(Unset::Word("auto"))
        .source(LINUX),
        Param::choice(
            "isolation",
            &["triple", "dual-srchost", "dual-dsthost", "flows", "hosts", "srchost", "dsthost", "none"],
            "What gets an equal share: flows of hosts at both ends, at one end, flows, pairs of hosts, hosts, or nothing.",
        )
        .source("tc-cake(8)"),
        Param::number("overhead", 0.0, -64.0, 256.0, "Bytes added to each packet, rounded to whole ones.")
            .unit("B")
            .source("tc-cake(8): none"),
        Param::bytes("mpu", 0, 0, 256, "Least length of a packet after the overhead.").source("tc-cake(8): 0"),
        Param::choice(
            "framing",
            &["none", "atm", "ptm"],
            "Cells of the link: 53 bytes for each 48, or one byte for each 64.",
        )
        .source("tc-cake(8)"),
        Param::flag("ingress", false, "Count dropped packets at the shaper, for a link before the queue.")
            .source("tc-cake(8)"),
        Param::whole("flows", 1024, 8, 65_528, "Queues of a tin, in sets of 8; rounded up to a multiple of 8.")
            .source(LINUX),
        Param::choice("root", &["linux", "exact"], "First value of 1/sqrt(count): 0 as in Linux, or 1.").source(LINUX),
    ],
    marks: |_| true,
    conflict: |_| None,
};

/// tc-cake(8): the target is a twentieth of the RTT.
fn target_of_rtt(params: &Params) -> Value {
    Value::Time((params.time("rtt") / 20).max(MICROSECOND))
}

/// Size of the largest packet, bytes.
const MTU: u32 = 1514;

/// CAKE queue of one direction of a link.
#[derive(Debug)]
pub struct Cake {
    settings: Settings,
    seed: u64,
    /// Size of the largest packet, bytes.
    mtu: u32,
    framing: Framing,
    isolation: Isolation,
    ingress: bool,
    shaper: Option<Shaper>,
    map: TinMap,
    tins: Vec<Tin>,
    /// Tin whose turn it is, without a shaper.
    turn: usize,
    /// Packets in all tins.
    packets: usize,
    labels: Arc<Labels>,
    rng: Rng,
}

/// Rule for the length of a packet on the link.
#[derive(Clone, Copy, Debug)]
struct Framing {
    overhead: i64,
    mpu: i64,
    cells: &'static str,
}

/// What the key of a flow is made of, and whose bulk flows count.
#[derive(Clone, Copy, Debug)]
struct Isolation {
    name: &'static str,
    /// Bulk flows of the source, and of the destination.
    counts: [bool; 2],
}

/// Clock of the shaper, and the failsafe one.
#[derive(Debug)]
struct Shaper {
    rate_bps: f64,
    next: Nanos,
    failsafe: Nanos,
}

/// Tin of each class.
type TinMap = fn(Class) -> usize;

/// One class of traffic.
#[derive(Debug)]
struct Tin {
    /// Part of the bandwidth, and bytes per turn without a shaper.
    share: f64,
    turn_bytes: i64,
    law: CobaltLaw,
    /// Bytes that a flow may send in its turn.
    quantum: u32,
    /// Time from which the tin has its priority.
    next: Nanos,
    deficit: i64,
    packets: usize,
    flows: Flows,
}

impl Cake {
    /// Empty queue.
    pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Self {
        let name = settings.choice("isolation");
        let rate =
            settings.value("bandwidth").and_then(|value| if let Value::Rate(bps) = value { Some(bps) } else { None });
        let mut cake = Cake {
            settings: settings.clone(),
            seed,
            mtu: packet_size.max(MTU),
            framing: Framing {
                overhead: settings.number("overhead").round() as i64,
                mpu: settings.whole("mpu") as i64,
                cells: settings.choice("framing"),
            },
            isolation: Isolation {
                name,
                counts: [["triple", "dual-srchost"].contains(&name), ["triple", "dual-dsthost"].contains(&name)],
            },
            ingress: settings.flag("ingress"),
            shaper: rate.map(|bps| Shaper { rate_bps: bps as f64, next: 0, failsafe: 0 }),
            map: |_| 0,
            tins: Vec::new(),
            turn: 0,
            packets: 0,
            labels: Arc::default(),
            rng: Rng::new(seed, Purpose::Queue, Identity::NONE.number(1)),
        };
        cake.set_up_tins();
        cake
    }

    /// Empty tins, for the classes of the labels.
    fn set_up_tins(&mut self) {
        let auto = if self.labels.differ_in_class() { "diffserv3" } else { "besteffort" };
        let diffserv = match self.settings.value("diffserv") {
            Some(Value::Name(name)) => name,
            _ => auto,
        };
        let (map, shares) = tins(diffserv);
        self.map = map;
        self.tins = shares.into_iter().map(|(share, turn_bytes)| self.tin(share, turn_bytes)).collect();
    }

    /// Empty tin with a share of the bandwidth.
    fn tin(&self, share: f64, turn_bytes: i64) -> Tin {
        let (rtt, target) = (self.settings.time("rtt"), self.settings.time("target"));
        let (ingress, root_from_zero) = (self.ingress, self.settings.choice("root") == "linux");
        let law = |target, interval, mtu_time| CobaltLaw { target, interval, mtu_time, ingress, root_from_zero };
        let (law, quantum) = match &self.shaper {
            None => (law(target, rtt, 0), MTU),
            Some(shaper) => {
                let rate_bps = shaper.rate_bps * share;
                let mtu_time = nanos(self.mtu.into(), rate_bps);
                let longer = target.max(mtu_time + mtu_time / 2);
                let interval = (rtt + longer - target).max(2 * longer);
                (law(longer, interval, mtu_time), ((rate_bps / 8.0 / 4096.0) as u32).clamp(300, MTU))
            }
        };
        let mut flows = Flows::new(self.settings.whole("flows") as usize, self.seed);
        flows.set_hosts(self.labels.hosts);
        Tin { share, turn_bytes, law, quantum, next: 0, deficit: 0, packets: 0, flows }
    }

    /// Tin that is served next, if there are packets.
    fn next_tin(&mut self, now: Nanos) -> usize {
        if self.shaper.is_none() {
            return self.next_turn();
        }
        let (mut best, mut shortest) = (0, Nanos::MAX);
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.packets > 0) {
            let wait = tin.next.saturating_sub(now);
            if wait == 0 || wait <= shortest {
                (best, shortest) = (number, wait);
            }
        }
        best
    }

    /// [`Cake::next_tin`] without a shaper.
    fn next_turn(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.packets > 0 && tin.deficit >= 0 {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.turn_bytes;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }

    /// Serves a tin: a packet to send, or `None` if its next flow is empty.
    fn serve(&mut self, number: usize, now: Nanos, look_at_decaying: &mut bool, stock: &mut Stock) -> Option<Known> {
        loop {
            let tin = &mut self.tins[number];
            let place = tin.next_flow(std::mem::take(look_at_decaying), &mut self.rng);
            while let Some(known) = tin.pop(place, stock) {
                self.packets -= 1;
                let drops = tin.drops(place, known, now, &mut self.rng, stock);
                let length = self.framing.length(known.size);
                if !drops || self.ingress {
                    tin.flows.flows[place].deficit -= length as i64;
                    tin.deficit -= length as i64;
                    charge(&mut self.shaper, tin, length, now, drops);
                }
                if !drops {
                    return Some(known);
                }
                stock.drop(known.place);
                if self.ingress {
                    break;
                }
            }
            let flow = &tin.flows.flows[place];
            if flow.packets.len() == 0 {
                tin.find_empty(place, now);
                return None;
            }
        }
    }

    /// Makes room for `size` bytes at the cost of the flow with the most bytes.
    #[cold]
    fn drop_from_the_longest(&mut self, size: u32, now: Nanos, stock: &mut Stock) {
        let mut freed = 0;
        while freed < size {
            let flows = self.tins.iter().enumerate().flat_map(|(number, tin)| {
                tin.flows.listed().map(move |place| (tin.flows.flows[place].bytes, number, place))
            });
            let Some((_, number, place)) = flows.max() else { return };
            let tin = &mut self.tins[number];
            let Some(known) = tin.pop(place, stock) else { return };
            self.packets -= 1;
            freed += known.size;
            tin.flows.flows[place].cobalt.overflow(&tin.law, now);
            if self.ingress {
                charge(&mut self.shaper, tin, self.framing.length(known.size), now, true);
            }
            stock.drop(known.place);
        }
    }
}

/// Moves the clocks of the shaper and of a tin by a packet of this length.
fn charge(shaper: &mut Option<Shaper>, tin: &mut Tin, length: u64, now: Nanos, dropped: bool) {
    let Some(shaper) = shaper else { return };
    let time = nanos(length, shaper.rate_bps * tin.share);
    tin.next = if tin.next < now { tin.next.saturating_add(time) } else { tin.next.max(now.saturating_add(time)) };
    let time = nanos(length, shaper.rate_bps);
    shaper.next = shaper.next.saturating_add(time);
    if !dropped {
        shaper.failsafe = shaper.failsafe.saturating_add(time + time / 2);
    }
}

/// Transmission time.
fn nanos(bytes: u64, rate_bps: f64) -> Nanos {
    (bytes as f64 * 8e9 / rate_bps).round() as Nanos
}

/// Tins of a mode: the tin of each class; for each tin, its share of the bandwidth, and its bytes per turn.
fn tins(diffserv: &str) -> (TinMap, Vec<(f64, i64)>) {
    const BEST_EFFORT: (f64, i64) = (1.0, 1024);
    const BULK: (f64, i64) = (1.0 / 16.0, 64);
    const VIDEO: (f64, i64) = (0.5, 512);
    const VOICE: (f64, i64) = (0.25, 256);
    match diffserv {
        "diffserv3" => (|class| [1, 0, 0, 2][class as usize], vec![BEST_EFFORT, BULK, VOICE]),
        "diffserv4" => (|class| [1, 0, 2, 3][class as usize], vec![BEST_EFFORT, BULK, VIDEO, VOICE]),
        "diffserv8" => {
            let mut shares = vec![(1.0, 256)];
            while let (1..8, Some(&(share, bytes))) = (shares.len(), shares.last()) {
                shares.push((share * 7.0 / 8.0, bytes * 7 / 8));
            }
            (|class| [1, 2, 3, 6][class as usize], shares)
        }
        _ => (|_| 0, vec![BEST_EFFORT]),
    }
}

impl Framing {
    /// Bytes that a packet takes on the link.
    fn length(self, size: u32) -> u64 {
        let bytes = (i64::from(size) + self.overhead).max(self.mpu).max(0) as u64;
        match self.cells {
            "atm" => bytes.div_ceil(48) * 53,
            "ptm" => bytes + bytes.div_ceil(64),
            _ => bytes,
        }
    }
}

impl Isolation {
    /// Key of the flow that a packet belongs to.
    fn key(self, packet: &Packet, label: Label) -> u64 {
        let [source, destination] = [0, 1].map(|end| match label.hosts[end] {
            Some(host) => u64::MAX - u64::from(host),
            None => packet.flow_key() & !0xffff_0000,
        });
        match self.name {
            "none" => 0,
            "srchost" => source,
            "dsthost" => destination,
            "hosts" => mix(mix(source) ^ destination),
            _ => packet.flow_key(),
        }
    }

    /// Hosts whose bulk flows count.
    fn counted(self, label: Label) -> [Option<u32>; 2] {
        [0, 1].map(|end| label.hosts[end].filter(|_| self.counts[end]))
    }
}

impl Tin {
    /// Takes a packet into the queue of its flow.
    fn push(&mut self, place: usize, known: Known, stock: &mut Stock) {
        let flow = &mut self.flows.flows[place];
        stock.link(&mut flow.packets, known.place);
        flow.bytes += u64::from(known.size);
        self.packets += 1;
        match flow.state {
            State::Idle | State::Decaying => {
                flow.deficit = self.quantum.into();
                self.flows.set_state(place, State::Sparse);
                self.flows.move_to(place, Kind::Sparse);
            }
            State::Waiting => self.flows.set_state(place, State::Bulk),
            State::Sparse | State::Bulk => {}
        }
    }

    /// Takes the oldest packet of a flow.
    fn pop(&mut self, place: usize, stock: &Stock) -> Option<Known> {
        let flow = &mut self.flows.flows[place];
        let known = stock.known(stock.unlink(&mut flow.packets)?);
        flow.bytes -= u64::from(known.size);
        self.packets -= 1;
        Some(known)
    }

    /// Flow that is served next. Those without deficit left get their quanta, and become bulk flows.
    fn next_flow(&mut self, mut look_at_decaying: bool, rng: &mut Rng) -> usize {
        loop {
            let decaying = self.flows.first(Kind::Decaying).filter(|_| std::mem::take(&mut look_at_decaying));
            let others = || self.flows.first(Kind::Sparse).or_else(|| self.flows.first(Kind::Bulk));
            let place = decaying.or_else(others).expect("a flow with packets is in a list");
            let flow = &self.flows.flows[place];
            if flow.deficit > 0 {
                return place;
            }
            if flow.state == State::Sparse {
                let has_packets = flow.packets.len() > 0;
                self.flows.set_state(place, if has_packets { State::Bulk } else { State::Waiting });
            }
            let share = f64::from(self.quantum) / f64::from(self.flows.host_load(place));
            self.flows.flows[place].deficit += (share + rng.unit()) as i64;
            self.flows.move_to(place, Kind::Bulk);
        }
    }

    /// Whether COBALT drops a packet that was just taken from its flow, which it may also mark. The last packet of a flow is never dropped.
    fn drops(&mut self, place: usize, known: Known, now: Nanos, rng: &mut Rng, stock: &mut Stock) -> bool {
        let bulk = self.flows.bulk;
        let flow = &mut self.flows.flows[place];
        let Verdict { due, blue } = flow.cobalt.decide(&self.law, now, now - known.entered, bulk, rng);
        let drops = due && !stock.mark(known.place) || blue;
        flow.cobalt.settle(&self.law, now, drops);
        drops && flow.packets.len() > 0
    }

    /// A flow that is served has no packet.
    fn find_empty(&mut self, place: usize, now: Nanos) {
        let cobalt = &mut self.flows.flows[place].cobalt;
        cobalt.find_empty(&self.law, now);
        if cobalt.is_at_rest(now) {
            self.flows.set_state(place, State::Idle);
        } else {
            self.flows.set_state(place, State::Decaying);
            self.flows.move_to(place, Kind::Decaying);
        }
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, known: Known, _class: u32, full: bool, stock: &mut Stock) {
        let packet = stock.packet(known.place);
        let label = self.labels.of_packet(packet);
        let (key, hosts) = (self.isolation.key(packet, label), self.isolation.counted(label));
        let tin = &mut self.tins[(self.map)(label.class)];
        let now = known.entered;
        if let Some(shaper) = self.shaper.as_mut().filter(|shaper| self.packets == 0 && shaper.next < now) {
            (shaper.next, shaper.failsafe) = (now, now);
        }
        if tin.packets == 0 {
            tin.next = tin.next.max(now);
        }
        let place = tin.flows.queue_of(key, hosts);
        tin.push(place, known, stock);
        self.packets += 1;
        if full {
            self.drop_from_the_longest(known.size, now, stock);
        }
    }

    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        let mut look_at_decaying = true;
        while self.packets > 0 {
            let number = self.next_tin(now);
            if let Some(known) = self.serve(number, now, &mut look_at_decaying, stock) {
                return Some(known);
            }
        }
        None
    }

    fn set_labels(&mut self, labels: &Arc<Labels>) {
        self.labels = Arc::clone(labels);
        self.set_up_tins();
    }

    fn ready_at(&self) -> Nanos {
        self.shaper.as_ref().map_or(0, |shaper| shaper.next.min(shaper.failsafe))
    }

    fn heap_bytes(&self) -> usize {
        let flows: usize = self.tins.iter().map(|tin| tin.flows.heap_bytes()).sum();
        flows + self.tins.capacity() * size_of::<Tin>()
    }
}

#[cfg(test)]
mod tests;
