//! Links and routes: where a packet goes after each stop, and which stops need no event of their own.

pub mod discipline;
pub mod fifo;
mod ledger;
pub mod line;

use crate::packet::Kind;
use crate::scenario::{Scenario, Tcp, Udp};
use crate::window::Window;
use fifo::Fifo;

/// The way of a flow's data to the receiver and of its ACKs back: a stretch of [`Network::hops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where it begins.
    first: u32,
    /// How many hops it has.
    pub hops: u8,
    /// How many of them are the data's, which come first.
    pub data_hops: u8,
}

/// A route over one link, there and back, on which nothing waits for its turn: the two directions.
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
    /// Index of the direction.
    pub direction: u32,
    /// The kind that a packet has once it has passed this stop.
    pub then: Kind,
    /// What follows this stop needs no event: it can be worked out as soon as the packet is accepted here.
    pub runs_on: bool,
}

/// All directions of all links, and the routes over them. Link `i` forward is direction `2 i`, backward `2 i + 1`.
#[derive(Debug)]
pub struct Network {
    /// Every link's two directions.
    pub directions: Vec<Fifo>,
    /// The hops of all routes, one route after another.
    hops: Vec<Hop>,
}

impl Network {
    /// The network of a scenario and, in the order of its flow, UDP and web groups, the route of each.
    pub fn new(scenario: &Scenario) -> (Network, Vec<Route>) {
        let window = Window { from: scenario.warmup, to: scenario.duration };
        let direction = |index: usize| {
            let link = &scenario.links[index / 2];
            Fifo::new(link, scenario.seed, index as u64, window, scenario.series_interval)
        };
        let directions: Vec<_> = (0..2 * scenario.links.len()).map(direction).collect();

        let tcp =
            |tcp: &Tcp| Way { path: tcp.path.clone(), reverse: tcp.reverse, acks: true, timed_acks: tcp.delayed_ack };
        let udp = |udp: &Udp| Way { path: udp.path.clone(), reverse: udp.reverse, acks: false, timed_acks: false };
        let mut ways: Vec<_> = scenario.flows.iter().map(|group| tcp(&group.tcp)).collect();
        ways.extend(scenario.udp.iter().map(udp));
        ways.extend(scenario.web.iter().map(|web| tcp(&web.tcp)));

        let feeders = Feeders::of(&ways, directions.len());
        let mut hops: Vec<Hop> = Vec::new();
        let routes = ways.iter().map(|way| {
            let first = hops.len() as u32;
            hops.extend(feeders.hops(way));
            let count = |hops: usize| u8::try_from(hops).expect("a path is not that long");
            Route { first, hops: count(hops.len() - first as usize), data_hops: count(way.path.len()) }
        });
        let routes = routes.collect();
        (Network { directions, hops }, routes)
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
        if (route.data_hops, route.hops) != (1, 2) || !self.hop(route, 0).runs_on {
            return None;
        }
        Some(Direct { there: self.hop(route, 0).direction, back: self.hop(route, 1).direction })
    }
}

/// What a group of flows asks of the network.
struct Way {
    path: Vec<usize>,
    reverse: bool,
    acks: bool,
    /// ACKs may also leave when a timer says so.
    timed_acks: bool,
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
    /// Senders, timers, or more than one direction.
    Several,
}

impl Feeders {
    fn of(ways: &[Way], directions: usize) -> Feeders {
        let mut feeders = Feeders(vec![Feeder::Nothing; directions]);
        for way in ways {
            let (data, acks) = way.legs();
            let mut before = None;
            for (k, direction) in data.iter().chain(&acks).copied().enumerate() {
                let timed = way.timed_acks && k == data.len();
                feeders.add(direction, before.filter(|_| !timed));
                before = Some(direction);
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

    fn hops(&self, way: &Way) -> impl Iterator<Item = Hop> {
        let (data, acks) = way.legs();
        let (data_hops, acked) = (data.len(), way.acks);
        let all: Vec<_> = data.into_iter().chain(acks).collect();
        (0..all.len()).map(move |k| {
            let then = match k + 1 {
                _ if !acked => Kind::Datagram,
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
            Hop { direction: all[k] as u32, then, runs_on }
        })
    }
}
