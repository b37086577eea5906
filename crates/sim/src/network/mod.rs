//! Links and routes: where a packet goes after each stop, and which stops need no separate event.

pub mod change;
pub mod discipline;
pub mod fifo;
mod ledger;
pub mod line;
pub mod served;
mod transmits;
mod transmitter;

use crate::packet::PacketKind;
use crate::report::DirectionReport;
use crate::scenario::{Link, Scenario, Tcp, Udp, limits, order};
use crate::window::Window;
use change::trace::Traced;
use discipline::flow_hash::{FlowHash, known_flows};
use discipline::labels::Labels;
use discipline::queue_seed;
use fifo::Fifo;
use fullpipe_cc::Nanos;
use ledger::Sampled;
use served::Served;
use std::sync::Arc;

/// The way of a flow's data to the receiver and of its ACKs back: a stretch of [`Network::hops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where it begins.
    first: u32,
    /// How many hops it has.
    pub hops: u8,
    /// How many of them are the data's, which come first.
    pub data_hops: u8,
    /// Connections over it begin with a handshake, whose way comes after all these: there and back once more.
    pub handshake: bool,
}

/// Route over one link to the receiver, and back over a FIFO link. No packet between the first link and the sender needs an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direct {
    /// Link of the data.
    pub there: End,
    /// Link of the ACKs, among [`Network::fifos`].
    pub back: u32,
}

/// A stop on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the direction among all, which is its stream's number too.
    pub direction: u32,
    /// The direction as one of its kind.
    pub end: End,
    /// The kind that a packet has once it has passed this stop.
    pub then: PacketKind,
    /// The next stop needs no event: it can be worked out as soon as the packet is accepted here.
    pub runs_on: bool,
}

/// All directions of all links, and the routes over them. Link `i` forward is direction `2 i`, backward `2 i + 1`.
#[derive(Debug)]
pub struct Network {
    /// Which kind each direction is, and where it is among its kind.
    ends: Vec<End>,
    /// The directions whose packets' departures are known when they arrive.
    pub fifos: Vec<Fifo>,
    /// Those of them that follow a trace.
    pub traced: Vec<Fifo<Traced>>,
    /// Those that decide when the transmitter is free.
    pub served: Vec<Served>,
    /// Of each direction, the queues that several of the flows known beforehand share.
    shared_queues: Vec<u64>,
    /// The hops of all routes, one route after another.
    hops: Vec<Hop>,
}

/// How links are served. Metrics do not depend on it, and tests compare the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// Where nothing simpler does.
    WhereNeeded,
    /// Everywhere.
    Everywhere,
    /// Everywhere, and the loop wakes the link for each turn.
    Promptly,
}

/// A direction: its index among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// One of [`Network::fifos`].
    Fifo(u32),
    /// One of [`Network::traced`].
    Traced(u32),
    /// One of [`Network::served`].
    Served(u32),
}

impl Network {
    /// The network of a scenario and, in the order of its flow, UDP and web groups, the route of each. `serving` is for
    /// tests.
    pub fn new(scenario: &Scenario, serving: Serving) -> (Network, Vec<Route>) {
        let window = Window { from: scenario.warmup, to: scenario.duration };
        let (ends, fifos, traced, served, hops) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let shared_queues = vec![0; 2 * scenario.links.len()];
        let mut network = Network { ends, fifos, traced, served, shared_queues, hops };
        let ways = Way::all(scenario);
        let links: Vec<_> =
            (0..2 * scenario.links.len()).map(|index| scenario.links[index / 2].direction(index % 2 == 1)).collect();
        let feeders = Feeders::of(&ways, &links);
        for (index, link) in links.iter().enumerate() {
            let (seed, interval) = (scenario.seed, scenario.series_interval);
            let identity = order::direction(&scenario.links[index / 2].name, index % 2 == 1);
            let simple = knows_departures(link) || link.is_steady() && feeders.space_out(index, &ways, &links);
            if serving != Serving::WhereNeeded || !simple {
                network.ends.push(End::Served(network.served.len() as u32));
                network.served.push(Served::new(link, scenario.packet_size, seed, identity, window, interval, serving));
            } else if link.trace.is_some() {
                network.ends.push(End::Traced(network.traced.len() as u32));
                network.traced.push(Fifo::new(link, seed, identity, window, interval));
            } else {
                network.ends.push(End::Fifo(network.fifos.len() as u32));
                network.fifos.push(Fifo::new(link, seed, identity, window, interval));
            }
        }
        network.hash_flows(scenario);
        network.label_packets(scenario);

        let routes = ways.iter().map(|way| {
            let first = network.hops.len() as u32;
            network.hops.extend(feeders.hops(way, &network.ends, false));
            let count = |hops: usize| u8::try_from(hops).expect("a path is not that long");
            let hops = count(network.hops.len() - first as usize);
            if way.handshake || way.request_size.is_some() {
                network.hops.extend(feeders.hops(way, &network.ends, true));
            }
            Route { first, hops, data_hops: count(way.path.len()), handshake: way.handshake }
        });
        let routes = routes.collect();
        (network, routes)
    }

    /// Gives each queue that separates flows its hash, and counts the queues that flows share. Queues where nothing ever waits, which are
    /// left out of the network, count as well: which ones these are is a matter of speed.
    fn hash_flows(&mut self, scenario: &Scenario) {
        for direction in 0..self.ends.len() {
            let link = &scenario.links[direction / 2];
            let Some(queues) = link.direction(direction % 2 == 1).queue.flow_queues() else { continue };
            let seed = queue_seed(scenario.seed, order::direction(&link.name, direction % 2 == 1));
            let flows = known_flows(scenario, direction);
            let hash = match scenario.seed {
                limits::DEFAULT_SEED => FlowHash::separating(queues, seed, &flows),
                _ => FlowHash::new(queues, seed),
            };
            self.shared_queues[direction] = hash.shared_queues(&flows);
            if let End::Served(place) = self.ends[direction] {
                self.served[place as usize].set_flow_hash(hash);
            }
        }
    }

    /// Gives the hosts and classes of packets to each queue that reads them.
    fn label_packets(&mut self, scenario: &Scenario) {
        let queue = |direction: usize| &scenario.links[direction / 2].direction(direction % 2 == 1).queue;
        let reading: Vec<_> = (0..self.ends.len()).filter(|&direction| queue(direction).reads_labels()).collect();
        if reading.is_empty() {
            return;
        }
        let labels = Arc::new(Labels::of(scenario));
        for direction in reading {
            if let End::Served(place) = self.ends[direction] {
                self.served[place as usize].set_labels(&labels);
            }
        }
    }

    /// How many directions there are.
    pub fn directions(&self) -> usize {
        self.ends.len()
    }

    /// The figures of a direction; call once the run is over.
    pub fn report(&mut self, direction: usize) -> DirectionReport {
        let report = match self.ends[direction] {
            End::Fifo(place) => self.fifos[place as usize].report(),
            End::Traced(place) => self.traced[place as usize].report(),
            End::Served(place) => self.served[place as usize].report(),
        };
        DirectionReport { shared_queues: self.shared_queues[direction], ..report }
    }

    /// Ends a direction's series, and hands over its columns.
    pub fn take_series(&mut self, direction: usize) -> Option<Sampled> {
        match self.ends[direction] {
            End::Fifo(place) => self.fifos[place as usize].take_series(),
            End::Traced(place) => self.traced[place as usize].take_series(),
            End::Served(place) => self.served[place as usize].take_series(),
        }
    }

    /// Packets in a direction's queue, but for some that have left unnoticed.
    pub fn waiting_packets(&self, direction: usize) -> usize {
        match self.ends[direction] {
            End::Fifo(place) => self.fifos[place as usize].waiting_packets(),
            End::Traced(place) => self.traced[place as usize].waiting_packets(),
            End::Served(place) => self.served[place as usize].waiting_packets(),
        }
    }

    /// Packets in a direction's queue at `now`, the one that is being sent included.
    pub fn queued_packets(&self, direction: usize, now: Nanos) -> usize {
        match self.ends[direction] {
            End::Fifo(place) => self.fifos[place as usize].queued_packets(now),
            End::Traced(place) => self.traced[place as usize].queued_packets(now),
            End::Served(place) => self.served[place as usize].waiting_packets(),
        }
    }

    /// Bytes that all queues take on the heap.
    pub fn heap_bytes(&self) -> usize {
        let fifos = self.fifos.iter().map(Fifo::heap_bytes).chain(self.traced.iter().map(Fifo::heap_bytes));
        fifos.chain(self.served.iter().map(Served::heap_bytes)).sum()
    }

    /// A stop of a route.
    #[inline(always)]
    pub fn hop(&self, route: Route, number: u8) -> Hop {
        self.hops[route.first as usize + usize::from(number)]
    }

    /// The last stop of a route.
    pub fn last_hop(&self, route: Route) -> Hop {
        self.hop(route, route.hops - 1)
    }

    /// The fast path of a route, if it has one.
    pub fn direct(&self, route: Route) -> Option<Direct> {
        let (first, second) = (self.hop(route, 0), self.hop(route, 1));
        let short = (route.data_hops, route.hops) == (1, 2) && first.runs_on;
        let End::Fifo(back) = second.end else { return None };
        short.then_some(Direct { there: first.end, back })
    }
}

/// Whether it is known when a packet leaves as soon as it comes. Not where packets that leave at an opportunity of a trace may come back, over wires
/// that take no time, to share it.
fn knows_departures(link: &Link) -> bool {
    link.queue.is_drop_tail() && link.is_steady_but_for_a_trace() && (link.trace.is_none() || link.delay > 0)
}

/// Path of a group of flows, with the sizes of its packets.
struct Way {
    path: Vec<usize>,
    reverse: bool,
    acks: bool,
    /// ACKs may also leave at a timer.
    timed_acks: bool,
    handshake: bool,
    /// Size of a request, which takes the way of a SYN-ACK; `None` without a client.
    request_size: Option<u32>,
    /// Sizes of a packet of data, and of a SYN or an ACK, bytes.
    data_size: u32,
    ack_size: u32,
}

impl Way {
    /// Those of a scenario, in the order of its flow, UDP and web groups.
    fn all(scenario: &Scenario) -> Vec<Way> {
        let tcp = |tcp: &Tcp, request_size: Option<u32>| Way {
            path: tcp.path.clone(),
            reverse: tcp.reverse,
            acks: true,
            timed_acks: tcp.held_acks().is_some() || tcp.quic.is_some() || request_size.is_some(),
            handshake: tcp.handshake,
            request_size,
            data_size: scenario.packet_size,
            ack_size: scenario.ack_size,
        };
        let udp = |udp: &Udp| Way {
            path: udp.path.clone(),
            reverse: udp.reverse,
            acks: false,
            timed_acks: false,
            handshake: false,
            request_size: None,
            data_size: udp.packet_size,
            ack_size: 0,
        };
        let flows = scenario.flows.iter().map(|group| tcp(&group.tcp, group.source.request_size()));
        let web = scenario.web.iter().map(|web| tcp(&web.tcp, None));
        flows.chain(scenario.udp.iter().map(udp)).chain(web).collect()
    }

    /// Directions of the data, then of the ACKs.
    fn legs(&self) -> (Vec<usize>, Vec<usize>) {
        let there: Vec<_> = self.path.iter().map(|link| 2 * link).collect();
        let back: Vec<_> = self.path.iter().rev().map(|link| 2 * link + 1).collect();
        let (data, acks) = if self.reverse { (back, there) } else { (there, back) };
        (data, if self.acks { acks } else { Vec::new() })
    }

    /// Of the packets that cross a direction, bytes.
    fn sizes_at(&self, direction: usize) -> impl Iterator<Item = u32> {
        let (data, acks) = self.legs();
        let data_size = data.contains(&direction).then_some(self.data_size);
        let small = acks.contains(&direction) || self.handshake && data.contains(&direction);
        let request = self.request_size.filter(|_| acks.contains(&direction));
        data_size.into_iter().chain(small.then_some(self.ack_size)).chain(request)
    }
}

/// Size times the rate of another link: two of these compare as the times of the two sizes at their own links' rates.
fn weighted(size: u32, rate_bps: u64) -> u128 {
    u128::from(size) * u128::from(rate_bps)
}

/// Feeder of each direction. One that is fed by a single other direction gets its packets in the order in which that one
/// accepted them, so it can be worked out there and then, ahead of the clock, and needs no events.
struct Feeders(Vec<Feeder>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nothing,
    Direction(usize),
    /// Senders, timers, or more than one direction; or the direction's schedule.
    Several,
}

impl Feeders {
    fn of(ways: &[Way], links: &[&Link]) -> Feeders {
        let unknown = |link: &&Link| if link.schedule.changes.is_empty() { Feeder::Nothing } else { Feeder::Several };
        let mut feeders = Feeders(links.iter().map(unknown).collect());
        let in_order = |&direction: &usize| links[direction].keeps_order();
        for way in ways {
            let (data, acks) = way.legs();
            let mut before = None;
            for (k, direction) in data.iter().chain(&acks).copied().enumerate() {
                let timed = way.timed_acks && k == data.len();
                feeders.add(direction, before.filter(|_| !timed));
                before = Some(direction).filter(in_order);
            }
        }
        feeders
    }

    fn add(&mut self, direction: usize, from: Option<usize>) {
        let entry = &mut self.0[direction];
        *entry = match (*entry, from) {
            (Feeder::Nothing, Some(from)) => Feeder::Direction(from),
            (Feeder::Direction(known), Some(from)) if known == from => Feeder::Direction(known),
            _ => Feeder::Several,
        };
    }

    /// Whether packets come to a direction so far apart that none ever waits there, so that whatever its queue is has nothing to do: all
    /// come from a single other direction, which takes as long to send the least of its packets as this one the largest. ACKs of data that
    /// have come over the bottleneck are the usual case.
    fn space_out(&self, direction: usize, ways: &[Way], links: &[&Link]) -> bool {
        let Feeder::Direction(from) = self.0[direction] else { return false };
        let data_crosses = ways.iter().any(|way| way.legs().0.contains(&direction));
        let sizes_at = |direction| ways.iter().flat_map(move |way| way.sizes_at(direction));
        let (Some(least), Some(largest)) = (sizes_at(from).min(), sizes_at(direction).max()) else { return false };
        // No queue can mark an ACK, but it may mark data that do not wait.
        !links[direction].queue.shapes()
            && (!data_crosses || !links[direction].queue.marks())
            && links[from].is_steady()
            && weighted(largest, links[from].rate_bps) <= weighted(least, links[direction].rate_bps)
    }

    /// The stops of a flow's data and ACKs, or of a SYN and the answer to it.
    fn hops<'a>(&'a self, way: &Way, ends: &'a [End], opens: bool) -> impl Iterator<Item = Hop> + 'a {
        let (data, acks) = way.legs();
        let (data_hops, acked) = (data.len(), way.acks);
        let all: Vec<_> = data.into_iter().chain(acks).collect();
        (0..all.len()).map(move |k| {
            let then = match k + 1 {
                _ if !acked => PacketKind::Datagram,
                next if opens && next < data_hops => PacketKind::Syn,
                next if opens && next < all.len() => PacketKind::SynAck,
                _ if opens => PacketKind::Opening,
                next if next < data_hops => PacketKind::Data,
                next if next == data_hops => PacketKind::Received,
                next if next < all.len() => PacketKind::Ack,
                _ => PacketKind::Arriving,
            };
            // After the last stop of an ACK comes its sender's event, after that of a datagram nothing at all.
            let runs_on = match all.get(k + 1) {
                Some(&next) => matches!(self.0[next], Feeder::Direction(_)),
                None => !acked,
            };
            Hop { direction: all[k] as u32, end: ends[all[k]], then, runs_on }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each direction of two links is served: there and back over `a` of 10 Mbit/s, then over `b`.
    fn served(queue: &str, b: &str, flows: &str) -> Vec<bool> {
        let text = format!(
            r#"
            duration = "1 s"
            links = [
                {{ name = "a", rate = "10 Mbit/s", delay = "1 ms", queue = "{queue}", buffer = "100 packets" }},
                {{ name = "b", delay = "1 ms", queue = "{queue}", buffer = "100 packets", {b} }},
            ]
            {flows}
            "#
        );
        let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}"));
        let (network, _) = Network::new(&scenario, Serving::WhereNeeded);
        network.ends.iter().map(|end| matches!(end, End::Served(_))).collect()
    }

    const BOTH: &str = r#"flows = [{ algorithm = "reno", path = ["a", "b"] }]"#;
    const OPENING: &str = r#"flows = [{ algorithm = "reno", path = ["a", "b"], handshake = true }]"#;

    /// Data wait at `a` alone if `b` is as fast, ACKs nowhere; but behind a segment that has waited there may come a SYN.
    #[test]
    fn a_queue_where_nothing_ever_waits_is_none() {
        assert_eq!(served("codel", r#"rate = "10 Mbit/s""#, BOTH), [true, false, false, false]);
        assert_eq!(served("codel", r#"rate = "9 Mbit/s""#, BOTH), [true, false, true, false]);
        assert_eq!(served("codel", r#"rate = "10 Mbit/s""#, OPENING), [true, false, true, false]);
        let one = r#"flows = [{ algorithm = "reno", path = ["a"] }]"#;
        let back = |rate: &str| served("codel", &format!(r#"rate = "{rate}""#), one);
        assert_eq!(back("1 Mbit/s"), [true, false, true, true]);
    }

    /// ACKs of 40 bytes at 400 kbit/s come as data of 1000 bytes leave at 10 Mbit/s.
    #[test]
    fn a_slow_way_back_has_a_queue() {
        let back = |rate: &str| {
            let b = format!(r#"rate = "10 Mbit/s", reverse = {{ rate = "{rate}" }}"#);
            served("pie", &b, r#"flows = [{ algorithm = "reno", path = ["a", "b"] }]"#)[3]
        };
        assert_eq!((back("400 kbit/s"), back("399 kbit/s")), (false, true));
    }

    /// A queue may mark data that do not wait; ACKs it may not.
    #[test]
    fn data_that_a_queue_may_mark_come_to_the_queue() {
        let served = |queue| served(queue, r#"rate = "10 Mbit/s""#, BOTH);
        assert_eq!(
            (served("step"), served("fq-codel")),
            (vec![true, false, true, false], vec![true, false, true, false])
        );
        assert_eq!(served("codel"), [true, false, false, false]);
    }

    /// Timers, traffic of their own and what bunches packets leave no gaps.
    #[test]
    fn what_comes_from_elsewhere_may_wait() {
        let rate = r#"rate = "10 Mbit/s""#;
        let delayed = r#"flows = [{ algorithm = "reno", path = ["a", "b"], delayed_ack = true }]"#;
        assert_eq!(served("red", rate, delayed), [true, false, false, true]);
        let two_way =
            format!("{}, {{ algorithm = \"reno\", path = [\"b\"], reverse = true }}]", BOTH.trim_end_matches(']'));
        assert_eq!(served("red", rate, &two_way), [true, false, true, true]);
        let bunched = r#"rate = "10 Mbit/s", aggregation = "4 ms""#;
        assert_eq!(served("red", bunched, BOTH), [true, true, true, true]);
    }
}
