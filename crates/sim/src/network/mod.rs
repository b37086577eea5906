//! Links and routes: where a packet goes after each stop, and which stops need no event of their own.

pub mod change;
pub mod discipline;
pub mod fifo;
mod ledger;
pub mod line;
pub mod served;
mod transmitter;

use crate::packet::Kind;
use crate::report::DirectionReport;
use crate::scenario::{Link, Scenario, Tcp, Udp};
use crate::window::Window;
use change::trace::Traced;
use fifo::Fifo;
use ledger::Sampled;
use served::Served;

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

/// A route over one link, there and back, on which nothing waits for its turn: the two directions, among [`Network::fifos`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direct {
    /// The data's.
    pub there: u32,
    /// The ACKs'.
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
    pub then: Kind,
    /// What follows this stop needs no event: it can be worked out as soon as the packet is accepted here.
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
    /// The hops of all routes, one route after another.
    hops: Vec<Hop>,
}

/// How links are served: whichever it is, the figures are the same, and that is what the other two are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// Where nothing simpler does.
    WhereNeeded,
    /// Everywhere.
    Everywhere,
    /// Everywhere, and the loop is told of each turn when it is taken.
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
        let mut network = Network { ends, fifos, traced, served, hops };
        for index in 0..2 * scenario.links.len() {
            let link = scenario.links[index / 2].direction(index % 2 == 1);
            let (seed, number, interval) = (scenario.seed, index as u64, scenario.series_interval);
            if serving != Serving::WhereNeeded || !knows_departures(link) {
                network.ends.push(End::Served(network.served.len() as u32));
                network.served.push(Served::new(link, scenario.packet_size, seed, number, window, interval, serving));
            } else if link.trace.is_some() {
                network.ends.push(End::Traced(network.traced.len() as u32));
                network.traced.push(Fifo::new(link, seed, number, window, interval));
            } else {
                network.ends.push(End::Fifo(network.fifos.len() as u32));
                network.fifos.push(Fifo::new(link, seed, number, window, interval));
            }
        }

        let tcp = |tcp: &Tcp| Way {
            path: tcp.path.clone(),
            reverse: tcp.reverse,
            acks: true,
            timed_acks: tcp.delayed_ack,
            handshake: tcp.handshake,
        };
        let udp = |udp: &Udp| Way {
            path: udp.path.clone(),
            reverse: udp.reverse,
            acks: false,
            timed_acks: false,
            handshake: false,
        };
        let mut ways: Vec<_> = scenario.flows.iter().map(|group| tcp(&group.tcp)).collect();
        ways.extend(scenario.udp.iter().map(udp));
        ways.extend(scenario.web.iter().map(|web| tcp(&web.tcp)));

        let feeders = Feeders::of(&ways, &network);
        let routes = ways.iter().map(|way| {
            let first = network.hops.len() as u32;
            network.hops.extend(feeders.hops(way, &network.ends, false));
            let count = |hops: usize| u8::try_from(hops).expect("a path is not that long");
            let hops = count(network.hops.len() - first as usize);
            if way.handshake {
                network.hops.extend(feeders.hops(way, &network.ends, true));
            }
            Route { first, hops, data_hops: count(way.path.len()), handshake: way.handshake }
        });
        let routes = routes.collect();
        (network, routes)
    }

    /// How many directions there are.
    pub fn directions(&self) -> usize {
        self.ends.len()
    }

    /// The figures of a direction; call once the run is over.
    pub fn report(&mut self, direction: usize) -> DirectionReport {
        match self.ends[direction] {
            End::Fifo(place) => self.fifos[place as usize].report(),
            End::Traced(place) => self.traced[place as usize].report(),
            End::Served(place) => self.served[place as usize].report(),
        }
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

    /// The two directions of a route, if it is so short.
    pub fn direct(&self, route: Route) -> Option<Direct> {
        if (route.data_hops, route.hops) != (1, 2) {
            return None;
        }
        match (self.hop(route, 0), self.hop(route, 1)) {
            (Hop { end: End::Fifo(there), runs_on: true, .. }, Hop { end: End::Fifo(back), .. }) => {
                Some(Direct { there, back })
            }
            _ => None,
        }
    }
}

/// Whether it is known when a packet leaves as soon as it comes. Not where what leaves at an opportunity of a trace may come back, over wires
/// that take no time, to share it.
fn knows_departures(link: &Link) -> bool {
    link.queue.is_drop_tail() && link.is_steady_but_for_a_trace() && (link.trace.is_none() || link.delay > 0)
}

/// What a group of flows asks of the network.
struct Way {
    path: Vec<usize>,
    reverse: bool,
    acks: bool,
    /// ACKs may also leave when a timer says so.
    timed_acks: bool,
    handshake: bool,
}

impl Way {
    /// Directions of the data, then of the ACKs.
    fn legs(&self) -> (Vec<usize>, Vec<usize>) {
        let there: Vec<_> = self.path.iter().map(|link| 2 * link).collect();
        let back: Vec<_> = self.path.iter().rev().map(|link| 2 * link + 1).collect();
        let (data, acks) = if self.reverse { (back, there) } else { (there, back) };
        (data, if self.acks { acks } else { Vec::new() })
    }
}

/// What feeds each direction. One that is fed by a single other direction gets its packets in the order in which that one
/// accepted them, so it can be worked out there and then, ahead of the clock, and needs no events.
struct Feeders(Vec<Feeder>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nothing,
    Direction(usize),
    /// Senders, timers, or more than one direction; or changes of its own come between.
    Several,
}

impl Feeders {
    fn of(ways: &[Way], network: &Network) -> Feeders {
        let unknown = |end: &End| match end {
            End::Served(place) if !network.served[*place as usize].may_run_ahead() => Feeder::Several,
            _ => Feeder::Nothing,
        };
        let mut feeders = Feeders(network.ends.iter().map(unknown).collect());
        let in_order = |&direction: &usize| match network.ends[direction] {
            End::Fifo(_) | End::Traced(_) => true,
            End::Served(place) => network.served[place as usize].keeps_order(),
        };
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

    /// The stops of a flow's data and ACKs, or of a SYN and the answer to it.
    fn hops<'a>(&'a self, way: &Way, ends: &'a [End], opens: bool) -> impl Iterator<Item = Hop> + 'a {
        let (data, acks) = way.legs();
        let (data_hops, acked) = (data.len(), way.acks);
        let all: Vec<_> = data.into_iter().chain(acks).collect();
        (0..all.len()).map(move |k| {
            let then = match k + 1 {
                _ if !acked => Kind::Datagram,
                next if opens && next < data_hops => Kind::Syn,
                next if opens && next < all.len() => Kind::SynAck,
                _ if opens => Kind::Opening,
                next if next < data_hops => Kind::Data,
                next if next == data_hops => Kind::Received,
                next if next < all.len() => Kind::Ack,
                _ => Kind::Arriving,
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
