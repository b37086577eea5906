//! The event loop.
//!
//! Events are few: an ACK reaches a sender, a packet reaches a link that several sources feed, a timer expires. A sender's
//! event takes place when its packets reach the first link, one access delay after the sender's time. No other event depends on
//! the time between, and packets enter the link in the order of the loop. So each flow has its own clock,
//! behind the loop's by its access delay.

mod build;
mod burst;
mod connections;
mod departures;
mod figures;
mod footprint;
mod requests;
pub mod schedule;
mod simulation;
mod source;
pub mod timers;
mod tracing;
mod transit;

use crate::packet::{Packet, PacketKind};
use crate::prefetch::prefetch;
use crate::report::transfers::Transfers;
use crate::rng::Ties;
use crate::scenario::order::Order;
use crate::scenario::{Problem, Scenario};
use crate::traffic::connection::{Connection, HOT_BYTES};
use crate::traffic::datagrams::DatagramSource;
use crate::traffic::web::WebGroup;
use crate::transport::policy::{Fuse, Policy};
use burst::Rest;
use footprint::Memory;
use fullpipe_cc::Nanos;
use schedule::{Schedule, StreamId};
pub use simulation::{Simulation, Stopped, run, run_served, run_within};
use std::collections::BTreeMap;
use std::sync::Arc;
use timers::{Timer, Timers};
use transit::Transit;

/// Events between two calls of the watch.
const WATCH_EVERY: u32 = 1 << 14;

/// Events that a new connection counts as between two looks at the memory: it takes as much as 16 packets.
const CONNECTION_EVENTS: u64 = 16;

/// Number of flows whose state exceeds the cache.
const MANY_FLOWS: usize = 512;

struct Engine<P> {
    /// In canonical order.
    scenario: Arc<Scenario>,
    /// In the order of the file.
    written: Arc<Scenario>,
    order: Order,
    transit: Transit,
    flows: Vec<Connection<P>>,
    datagrams: Vec<DatagramSource>,
    web: Vec<WebGroup>,
    /// Streams of ACKs on their way to senders, by last direction and access delay.
    ack_streams: BTreeMap<(u32, Nanos), StreamId>,
    long_lived: usize,
    /// Segments of first windows sent since memory was last looked at.
    first_segments: u32,
    memory: Memory,
    /// Memory limit that was exceeded.
    excess: Option<Problem>,
    /// Transfers of finite flows and of web traffic.
    transfers: Transfers,
    /// Fault of an algorithm.
    fuse: Fuse,
    /// Simulated time.
    now: Nanos,
    /// Time of the last event that can affect a metric, on the loop's clock.
    end: Nanos,
}

impl<P: Policy> Engine<P> {
    fn run(&mut self, until: Nanos, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<(), Stopped> {
        let last = until >= self.transit.window.to;
        let bound = if last { self.end } else { until };
        while !self.has_failed() && self.take_some(bound) {
            if self.trace_fault().is_some() {
                break;
            }
            let next = self.transit.schedule.next_time().min(self.transit.timers.next_time());
            self.now = next.min(self.transit.window.to);
            self.look_at_memory(self.now);
            if !watch(self.now) {
                return Err(Stopped::Interrupted);
            }
        }
        if let Some(fault) = self.fuse.fault() {
            return Err(Stopped::Algorithm(fault.clone()));
        }
        if let Some(fault) = self.trace_fault() {
            return Err(Stopped::Trace(fault));
        }
        if let Some(problem) = &self.excess {
            return Err(Stopped::Memory(problem.clone()));
        }
        self.now = self.now.max(until.min(self.transit.window.to));
        if last {
            self.take_last_turns(bound);
        }
        Ok(())
    }

    /// An algorithm has failed.
    #[inline(always)]
    fn has_failed(&self) -> bool {
        P::MAY_FAIL && self.fuse.fault().is_some()
    }

    /// Handles events until the next check of watch and memory. Returns false if no event is left before `end`.
    #[inline(always)]
    fn take_some(&mut self, end: Nanos) -> bool {
        self.transit.left = WATCH_EVERY;
        if let Some(rest) = self.transit.rest.take() {
            self.send_rest(rest);
        }
        while self.transit.left > 0 {
            self.transit.left -= 1;
            let timer = self.transit.timers.next_time();
            let packet = self.transit.schedule.next_time();
            if timer.min(packet) >= end {
                return false;
            }
            // An ACK comes before the timer that would expire at the same moment.
            if timer < packet {
                let (at, timer) = self.transit.timers.pop().expect("just seen");
                self.on_timer(at, timer);
            } else if self.transit.schedule.any_late() {
                self.take_late();
            } else if let Some(packet) = self.transit.schedule.pop() {
                self.on_packet(&packet);
            }
            if self.has_failed() {
                return false;
            }
        }
        true
    }

    /// Continues a long burst before any other event.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, rest: Rest) {
        self.transit.send_rest(&mut self.flows[rest.flow as usize], rest);
        if self.transit.rest.is_some() {
            self.transit.left = 0;
        }
    }

    /// Ends the run if it exceeds its memory limit: no event is left.
    #[cold]
    #[inline(never)]
    fn look_at_memory(&mut self, now: Nanos) {
        self.first_segments = 0;
        if let Err(problem) = self.check_memory(now) {
            self.excess = Some(problem);
            self.transit.schedule = Schedule::new(Ties::default());
            self.transit.timers = Timers::new(Ties::default());
            self.transit.rest = None;
        }
    }

    #[inline(never)]
    fn take_late(&mut self) {
        if let Some(packet) = self.transit.schedule.pop_late() {
            self.on_packet(&packet);
        }
    }

    /// Handles the arrival of a packet at its next stop. A packet that moves on is copied, so that an arriving ACK can stay in registers.
    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet) {
        if self.flows.len() >= MANY_FLOWS {
            self.prefetch_upcoming();
        }
        match packet.kind {
            PacketKind::Arriving => self.on_ack(packet),
            PacketKind::Data | PacketKind::Received | PacketKind::Ack | PacketKind::Syn | PacketKind::SynAck => {
                self.transit.move_on(&mut self.flows[packet.flow as usize], *packet)
            }
            PacketKind::Pace => self.on_pace(packet.flow, packet.at),
            PacketKind::Datagram | PacketKind::Opening => self.on_rarer_packet(*packet),
        }
    }

    /// Handles rare packets, out of line to keep [`Engine::on_packet`] small.
    #[inline(never)]
    fn on_rarer_packet(&mut self, packet: Packet) {
        match packet.kind {
            PacketKind::Opening if packet.seq > 0 => self.on_request(&packet),
            PacketKind::Opening => self.on_syn_ack(packet),
            _ => self.carry_datagram(packet),
        }
    }

    #[inline(always)]
    fn prefetch_upcoming(&self) {
        let Some((flow, note)) = self.transit.schedule.upcoming(1) else { return };
        if let Some(flow) = self.flows.get(flow as usize) {
            prefetch(flow, HOT_BYTES);
        }
        self.transit.notes.prefetch(note);
    }

    fn on_timer(&mut self, at: Nanos, timer: Timer) {
        self.transit.by_timer = true;
        match timer {
            Timer::Change(place) => self.change(place, at),
            Timer::Start(id) => self.start(id, at),
            Timer::Stop(id) => self.stop(id, at),
            Timer::Retransmit(id) => self.on_retransmit_timer(id, at),
            Timer::Pace(id) => self.on_pace_timer(id, at),
            Timer::DelayedAck(id) => self.on_ack_timer(id, at),
            Timer::Datagram(id) => self.send_datagram(id, at),
            Timer::Transfer(group) => self.begin_poisson_transfer(group, at),
            Timer::Turn(place) => self.serve(place, at),
            Timer::Write(id) => self.on_write_timer(id, at),
            Timer::Client(id) => self.on_client_timer(id, at),
        }
        self.transit.by_timer = false;
    }

    /// An ACK reaches its sender.
    #[inline(always)]
    fn on_ack(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        if flow.source.is_some() {
            return self.on_ack_of_source(*packet);
        }
        let Some(now) = self.transit.hand_over(flow, packet) else { return };
        if flow.sender.finished() {
            self.complete(packet.flow, now);
        } else {
            self.transit.pump(flow, packet.at);
        }
    }
}

/// Maximum access delay: connections draw theirs at random, some of them only at their start.
fn longest_access_delay(scenario: &Scenario) -> Nanos {
    let flows = scenario.flows.iter().map(|group| group.tcp.access_delay);
    let udp = scenario.udp.iter().map(|group| group.access_delay);
    let web = scenario.web.iter().map(|group| group.tcp.access_delay);
    flows.chain(udp).chain(web).map(|delay| delay.high).max().unwrap_or(0)
}
