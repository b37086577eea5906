//! Links and routes: where a packet goes after each stop, and which stops need no event of their own.

use crate::link::{Direction, Window};
use crate::scenario::{Scenario, Tcp, Udp};
use std::collections::BTreeMap;

/// The way of a flow's data to the receiver and of its ACKs back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The directions entered, in order; data takes the first `data_hops`, ACKs the rest.
    pub hops: Vec<Hop>,
    /// How many of them are the data's.
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

impl Route {
    /// The two directions, if it is so short.
    pub fn direct(&self) -> Option<Direct> {
        match self.hops[..] {
            [there, back] if self.data_hops == 1 && there.runs_on && back.runs_on => {
                Some(Direct { there: there.direction, back: back.direction })
            }
            _ => None,
        }
    }
}

/// A stop on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Index of the direction.
    pub direction: u32,
    /// What follows this stop needs no event: it can be worked out as soon as the packet is accepted here.
    pub runs_on: bool,
}

/// The number of a route.
pub type RouteId = u32;

/// All directions of all links, and the routes over them. Link `i` forward is direction `2 i`, backward `2 i + 1`.
#[derive(Debug)]
pub struct Network {
    /// Every link's two directions.
    pub directions: Vec<Direction>,
    /// Every distinct route.
    pub routes: Vec<Route>,
}

impl Network {
    /// The network of a scenario and, in the order of its flow, UDP and web groups, the route of each.
    pub fn new(scenario: &Scenario) -> (Network, Vec<RouteId>) {
        let window = Window { from: scenario.warmup, to: scenario.duration };
        let direction = |index: usize| {
            let link = &scenario.links[index / 2];
            Direction::new(link, scenario.seed, index as u64, window, scenario.series_interval)
        };
        let directions: Vec<_> = (0..2 * scenario.links.len()).map(direction).collect();

        let tcp =
            |tcp: &Tcp| Way { path: tcp.path.clone(), reverse: tcp.reverse, acks: true, timed_acks: tcp.delayed_ack };
        let udp = |udp: &Udp| Way { path: udp.path.clone(), reverse: udp.reverse, acks: false, timed_acks: false };
        let mut ways: Vec<_> = scenario.flows.iter().map(|group| tcp(&group.tcp)).collect();
        ways.extend(scenario.udp.iter().map(udp));
        ways.extend(scenario.web.iter().map(|web| tcp(&web.tcp)));

        let feeders = Feeders::of(&ways, directions.len());
        let mut routes = Vec::new();
        let mut known = BTreeMap::new();
        let ids = ways.iter().map(|way| {
            let route = feeders.route(way);
            *known.entry(route.clone()).or_insert_with(|| {
                routes.push(route);
                routes.len() as RouteId - 1
            })
        });
        let ids = ids.collect();
        (Network { directions, routes }, ids)
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

    fn route(&self, way: &Way) -> Route {
        let (data, acks) = way.legs();
        let all: Vec<_> = data.iter().chain(&acks).copied().collect();
        // After the last stop comes a sender's event (ACKs) or nothing at all (datagrams).
        let runs_on = |k: usize| match all.get(k + 1) {
            Some(&next) => matches!(self.0[next], Feeder::Direction(_)),
            None => true,
        };
        let hops =
            all.iter().enumerate().map(|(k, &direction)| Hop { direction: direction as u32, runs_on: runs_on(k) });
        Route { hops: hops.collect(), data_hops: data.len() as u8 }
    }
}
