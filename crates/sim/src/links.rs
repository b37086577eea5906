//! Links without senders: a program sends packets into the links of a scenario, and takes them out at the far ends, in virtual time.
//!
//! A whole protocol stack that takes the time as an argument runs over [`Links`]: the queues, rates, delays, losses, traces, and
//! schedules are those of the simulator. A scenario has at least one table of traffic, which is not simulated here.
//!
//! ```
//! use fullpipe_sim::links::{Ecn, Links};
//! use fullpipe_sim::Scenario;
//!
//! let scenario = Scenario::from_toml(
//!     r#"
//!     duration = "10 s"
//!     links = [{ name = "l", rate = "8 Mbit/s", delay = "10 ms", buffer = "2 packets" }]
//!     udp = [{ rate = "1 Mbit/s" }]
//!     "#,
//! )?;
//! let mut links = Links::new(&scenario)?;
//! let there = links.find("l", false).unwrap();
//! for tag in 1..=3 {
//!     links.send(0, there, 1000, Ecn::NotEct, tag);
//! }
//! // 1000 bytes take 1 ms at 8 Mbit/s. The third packet found the buffer full.
//! let mut now = 0;
//! while let Some(at) = links.next_event() {
//!     now = at;
//!     while let Some(packet) = links.deliver(now) {
//!         println!("packet {} arrives at {now} ns", packet.tag);
//!     }
//! }
//! assert_eq!((now, links.lost(there)), (12_000_000, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::packet::Ecn;

use crate::model::Invalid;
use crate::network::Serving;
use crate::network::discipline::flow_hash::FlowHash;
use crate::network::discipline::queue_seed;
use crate::network::served::{Accepted, Order, Request, Served};
use crate::packet::{Marks, Packet, PacketKind};
use crate::scenario::{Scenario, order};
use crate::window::Window;
use fullpipe_cc::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Direction of a link.
///
/// Example: see [`Links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Direction(usize);

impl Direction {
    /// Index among all directions: 2 i for link i forward, and 2 i + 1 for it backward.
    pub fn index(self) -> usize {
        self.0
    }
}

/// Packet at the far end of a direction.
///
/// Example: see [`Links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Direction that it has crossed.
    pub direction: Direction,
    /// Time of arrival.
    pub at: Nanos,
    /// ECN field, which a queue may have set to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// Tag of [`Links::send`].
    pub tag: u64,
}

/// Event of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Its schedule changes something.
    Change,
    /// Its transmitter is free.
    Turn,
    /// The packet in this slot arrives at the far end.
    Arrival(usize),
}

/// The links of a scenario.
///
/// ```
/// use fullpipe_sim::Scenario;
/// use fullpipe_sim::links::{Ecn, Links};
///
/// let scenario = Scenario::from_toml(r#"
///     duration = "1 s"
///     links = [{ name = "l", rate = "8 Mbit/s", delay = "10 ms", buffer = "2 packets" }]
///     udp = [{ rate = "1 Mbit/s" }]
/// "#)?;
/// let mut links = Links::new(&scenario)?;
/// let back = links.find("l", true).expect("a link of this name");
/// assert_eq!(back.index(), 1);
/// links.send(0, back, 1000, Ecn::Ect0, 7);
/// let packet = links.deliver(20_000_000).expect("1 ms to send it, and 10 ms to the far end");
/// assert_eq!((packet.direction, packet.at, packet.ecn, packet.tag), (back, 11_000_000, Ecn::Ect0, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Links {
    names: Vec<String>,
    /// Direction 2 i is link i forward, and 2 i + 1 backward.
    served: Vec<Served>,
    lost: Vec<u64>,
    /// Events by time, then by the order in which they were added.
    events: BinaryHeap<Reverse<(Nanos, u64, usize, Kind)>>,
    added: u64,
    /// Packets between a transmitter and the far end, and free slots.
    wire: Vec<Packet>,
    free: Vec<usize>,
    now: Nanos,
}

impl Links {
    /// Idle links at time 0.
    ///
    /// # Errors
    /// Fault of a scenario that was built in code.
    pub fn new(scenario: &Scenario) -> Result<Links, Invalid> {
        scenario.check()?;
        let window = Window { from: 0, to: scenario.duration };
        let directions = scenario.links.iter().flat_map(|link| [(link, false), (link, true)]);
        let served = directions.map(|(link, reverse)| {
            let (identity, one) = (order::direction(&link.name, reverse), link.direction(reverse));
            let prompt = Serving::Promptly;
            let mut served = Served::new(one, scenario.packet_size, scenario.seed, identity, window, None, prompt);
            if let Some(queues) = one.queue.flow_queues() {
                served.set_flow_hash(FlowHash::new(queues, queue_seed(scenario.seed, identity)));
            }
            served
        });
        let mut links = Links {
            names: scenario.links.iter().map(|link| link.name.clone()).collect(),
            served: served.collect(),
            lost: vec![0; 2 * scenario.links.len()],
            events: BinaryHeap::new(),
            added: 0,
            wire: Vec::new(),
            free: Vec::new(),
            now: 0,
        };
        (0..links.served.len()).for_each(|place| links.attend_to(place));
        Ok(links)
    }

    /// Direction of the link of this name.
    pub fn find(&self, name: &str, reverse: bool) -> Option<Direction> {
        let link = self.names.iter().position(|known| known == name)?;
        Some(Direction(2 * link + usize::from(reverse)))
    }

    /// Direction of this index, if there is one.
    pub fn direction(&self, index: usize) -> Option<Direction> {
        (index < self.served.len()).then_some(Direction(index))
    }

    /// Latest time of a call so far.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Whether a packet can be sent at `now`: not before an earlier call, and not after the next event.
    pub fn may_send(&self, now: Nanos) -> bool {
        now >= self.now && self.next_event().is_none_or(|next| now <= next)
    }

    /// Sends a packet of `bytes` into a direction at `now`. The packet is delivered with `tag`; packets whose tags have equal upper 32 bits are
    /// a flow for queues that separate flows. A lost packet never comes out.
    ///
    /// # Panics
    /// See [`may_send`](Self::may_send).
    pub fn send(&mut self, now: Nanos, direction: Direction, bytes: u32, ecn: Ecn, tag: u64) {
        assert!(self.may_send(now), "time {now} is before {} or after the next event", self.now);
        self.now = now;
        let packet = Packet {
            at: now,
            stamp: tag,
            aside: u64::from(Marks::new(ecn, false).bits()),
            flow: (tag >> 32) as u32,
            kind: PacketKind::Datagram,
            ..Packet::default()
        };
        let place = direction.0;
        match self.served[place].accept(&packet, bytes, Order::First) {
            Accepted::Sent(packet) => self.fly(place, packet),
            Accepted::Taken => {}
            Accepted::Early => unreachable!("the packet is not ahead of the time"),
        }
        self.attend_to(place);
    }

    /// Time of the next event: call [`deliver`](Self::deliver) then.
    pub fn next_event(&self) -> Option<Nanos> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Next packet that arrives at its far end by `now`, if there is one. Call again until there is none.
    ///
    /// # Panics
    /// `now` is before an earlier call's.
    pub fn deliver(&mut self, now: Nanos) -> Option<Delivered> {
        assert!(now >= self.now, "time {now} is before {}", self.now);
        while let Some(&Reverse((at, _, place, kind))) = self.events.peek() {
            if at > now {
                break;
            }
            self.events.pop();
            self.now = at;
            if let Some(delivered) = self.take(at, place, kind) {
                return Some(delivered);
            }
        }
        self.now = now;
        None
    }

    /// Packets that a direction has lost so far: in its queue, its policer, or on its wire.
    pub fn lost(&self, direction: Direction) -> u64 {
        self.lost[direction.0]
    }

    /// Packets in the queue of a direction, the one that is being sent excluded.
    pub fn queued(&self, direction: Direction) -> usize {
        self.served[direction.0].waiting_packets()
    }

    fn take(&mut self, at: Nanos, place: usize, kind: Kind) -> Option<Delivered> {
        match kind {
            Kind::Arrival(slot) => {
                self.free.push(slot);
                let packet = &self.wire[slot];
                return Some(Delivered { direction: Direction(place), at, ecn: packet.ecn(), tag: packet.stamp });
            }
            Kind::Turn => self.served[place].serve(at),
            Kind::Change => {
                if let Some(packet) = self.served[place].change(at) {
                    self.fly(place, packet);
                }
            }
        }
        self.attend_to(place);
        while let Some(packet) = self.served[place].next_departed() {
            self.fly(place, packet);
        }
        None
    }

    /// Handles the requests of a direction.
    fn attend_to(&mut self, place: usize) {
        while let Some(request) = self.served[place].poll() {
            match request {
                Request::Serve(at) => self.add(at, place, Kind::Turn),
                Request::Change(at) => self.add(at, place, Kind::Change),
                Request::Lose(_) => self.lost[place] += 1,
            }
        }
    }

    fn fly(&mut self, place: usize, packet: Packet) {
        let slot = self.free.pop().unwrap_or(self.wire.len());
        if slot == self.wire.len() {
            self.wire.push(packet);
        }
        self.wire[slot] = packet;
        self.add(packet.at, place, Kind::Arrival(slot));
    }

    fn add(&mut self, at: Nanos, place: usize, kind: Kind) {
        self.added += 1;
        self.events.push(Reverse((at, self.added, place, kind)));
    }
}
