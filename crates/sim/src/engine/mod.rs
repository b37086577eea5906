//! The event loop.
//!
//! Events are few: an ACK reaches a sender, a packet reaches a link that several sources feed, a timer expires. A sender's
//! event takes place when what it sends reaches the first link, one access delay after the sender's own moment: nothing in
//! between concerns anybody else, and packets then enter the link in the order of the loop. So each flow has its own clock,
//! behind the loop's by its access delay.

mod build;
mod burst;
mod figures;
mod footprint;
pub mod schedule;
pub mod timers;
mod transit;

use crate::model::Invalid;
use crate::network::Serving;
use crate::network::served::Departed;
use crate::packet::{Kind, Packet, Segment};
use crate::prefetch::prefetch;
use crate::report::Report;
use crate::report::transfers::Transfers;
use crate::rng::Ties;
use crate::scenario::order::Order;
use crate::scenario::{Arrivals, Problem, Scenario, Tcp, Web};
use crate::traffic::connection::{Connection, HOT_BYTES, Life, controller};
use crate::traffic::datagrams::DatagramSource;
use crate::traffic::web::WebGroup;
use crate::transport::ecn::Receiving;
use crate::transport::policy::{Any, Controller, Fault, Fuse, Guard, Policy};
use burst::Rest;
use footprint::Memory;
use fullpipe_cc::Nanos;
use schedule::{Schedule, StreamId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use timers::{Timer, Timers};
use transit::Transit;

/// Why a run did not reach its end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stopped {
    /// The watch said so.
    Interrupted,
    /// The scenario is not valid.
    Invalid(Invalid),
    /// It needs more memory than it may take; the problem names the key at fault.
    Memory(Problem),
    /// An algorithm that is none of the crate's has failed.
    Algorithm(Fault),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Stopped::Interrupted => f.write_str("stopped before its end"),
            Stopped::Invalid(invalid) => invalid.fmt(f),
            Stopped::Memory(problem) => problem.fmt(f),
            Stopped::Algorithm(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for Stopped {}

/// Runs `scenario`. Every few thousand events `watch` is told the simulated time reached; when it answers false the run
/// stops.
///
/// # Errors
/// [`Stopped`], by the watch or by an algorithm.
pub fn run(scenario: &Scenario, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<Report, Stopped> {
    run_within(scenario, u64::MAX, watch)
}

/// The same in so many bytes of memory. What is certain to be needed is worked out beforehand; what grows is looked at as the run
/// goes, every few thousand events and after each large first window. The limit has no effect on any figure.
///
/// # Errors
/// [`Stopped`], by the watch, by an algorithm or for want of memory.
pub fn run_within(
    scenario: &Scenario,
    memory_bytes: u64,
    watch: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Report, Stopped> {
    let mut simulation = Simulation::within(scenario.clone(), memory_bytes)?;
    simulation.advance_watched(Nanos::MAX, watch)?;
    simulation.report()
}

/// The same with links that are served in another way that gives the same: to see that it does.
///
/// # Errors
/// As there.
#[doc(hidden)]
pub fn run_served(
    scenario: &Scenario,
    serving: Serving,
    watch: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Report, Stopped> {
    scenario.check().map_err(Stopped::Invalid)?;
    let mut simulation = Simulation::begin(Arc::new(scenario.clone()), u64::MAX, serving);
    simulation.advance_watched(Nanos::MAX, watch)?;
    simulation.report()
}

/// A run that goes on as far as it is told to, in as many steps as one likes: its figures are the same bytes as in one go.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation};
///
/// let scenario = Scenario::from_toml(
///     r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
///     flows = [{ algorithm = "reno" }]
///     "#,
/// )?;
/// let mut simulation = Simulation::new(scenario)?;
/// simulation.advance(2_000_000_000)?;
/// assert_eq!(simulation.now(), 2_000_000_000);
/// assert!(simulation.report()?.links[0].forward.utilization > 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation(Run);

enum Run {
    Builtin(Box<Engine<Controller>>),
    Any(Box<Engine<Any>>),
}

/// Does the same of an engine of either kind.
macro_rules! either {
    ($run:expr, $engine:ident => $what:expr) => {
        match $run {
            Run::Builtin($engine) => $what,
            Run::Any($engine) => $what,
        }
    };
}

impl Simulation {
    /// Simulation of `scenario` at time 0.
    ///
    /// # Errors
    /// The first fault of the scenario, as [`Scenario::check`] finds it.
    pub fn new(scenario: impl Into<Arc<Scenario>>) -> Result<Simulation, Invalid> {
        let scenario = scenario.into();
        scenario.check()?;
        Ok(Simulation::begin(scenario, u64::MAX, Serving::WhereNeeded))
    }

    /// Simulation of `scenario` that holds at most `memory_bytes` bytes of memory (see [`run_within`]).
    ///
    /// # Errors
    /// [`Stopped::Invalid`] for a fault of the scenario, [`Stopped::Memory`] if it is certain to need more.
    pub fn within(scenario: impl Into<Arc<Scenario>>, memory_bytes: u64) -> Result<Simulation, Stopped> {
        let scenario = scenario.into();
        scenario.check().map_err(Stopped::Invalid)?;
        footprint::check_certain(&scenario, memory_bytes).map_err(Stopped::Memory)?;
        Ok(Simulation::begin(scenario, memory_bytes, Serving::WhereNeeded))
    }

    fn begin(scenario: Arc<Scenario>, memory_bytes: u64, serving: Serving) -> Simulation {
        Simulation(match scenario.has_foreign() {
            false => Run::Builtin(Box::new(Engine::new(scenario, memory_bytes, serving))),
            true => Run::Any(Box::new(Engine::new(scenario, memory_bytes, serving))),
        })
    }

    /// The simulated time reached: all that comes before it has happened.
    pub fn now(&self) -> Nanos {
        either!(&self.0, engine => engine.now)
    }

    /// Packets in the queue of a link, by its place in the scenario: forward, then reverse.
    pub fn queued_packets(&self, link: usize) -> [usize; 2] {
        either!(&self.0, engine => {
            let place = Order::back(&engine.order.links)[link];
            [0, 1].map(|direction| engine.transit.network.queued_packets(2 * place + direction, engine.now))
        })
    }

    /// Goes on until the time `until`, or to the end of the scenario if that comes first.
    ///
    /// # Errors
    /// [`Stopped`], by an algorithm or for want of memory; it goes no further then.
    pub fn advance(&mut self, until: Nanos) -> Result<(), Stopped> {
        self.advance_watched(until, &mut |_| true)
    }

    /// The same; every few thousand events `watch` is told the simulated time reached, and when it answers false the run stops there.
    ///
    /// # Errors
    /// [`Stopped`], by the watch too, after which it may go on.
    pub fn advance_watched(&mut self, until: Nanos, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<(), Stopped> {
        either!(&mut self.0, engine => engine.run(until, watch))
    }

    /// What is left of the run, then its figures.
    ///
    /// # Errors
    /// As [`Simulation::advance`] gives them.
    pub fn report(mut self) -> Result<Report, Stopped> {
        self.advance(Nanos::MAX)?;
        Ok(either!(self.0, engine => engine.report()))
    }
}

/// Events between two calls of the watch.
const WATCH_EVERY: u32 = 1 << 14;

/// Events that a new connection counts as between two looks at the memory: it takes as much as 16 packets.
const CONNECTION_EVENTS: u64 = 16;

/// From so many flows on their state outgrows the cache.
const MANY_FLOWS: usize = 512;

struct Engine<P> {
    /// In canonical order.
    scenario: Arc<Scenario>,
    /// In the order in which it was written.
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
    /// Why the run ends before its time.
    excess: Option<Problem>,
    /// Transfers of finite flows and of web traffic.
    transfers: Transfers,
    /// The same, of an algorithm.
    fuse: Fuse,
    /// How far the run has come.
    now: Nanos,
    /// When the last event may be that concerns a figure, on the loop's clock.
    end: Nanos,
}

impl<P: Policy> Engine<P> {
    fn run(&mut self, until: Nanos, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<(), Stopped> {
        let last = until >= self.transit.window.to;
        let bound = if last { self.end } else { until };
        while !self.has_failed() && self.take_some(bound) {
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

    /// The next events, as many as there may be between two looks at watch and memory; false where none is left up to `end`.
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

    /// A long burst goes on before any other event.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, rest: Rest) {
        self.transit.send_rest(&mut self.flows[rest.flow as usize], rest);
        if self.transit.rest.is_some() {
            self.transit.left = 0;
        }
    }

    /// Ends the run where it holds more than it may: no event is left.
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

    /// A packet reaches its next stop in its turn. Where it goes on it is copied, so that an ACK that arrives need not be in memory.
    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet) {
        if self.flows.len() >= MANY_FLOWS {
            self.prefetch_upcoming();
        }
        match packet.kind {
            Kind::Arriving => self.on_ack(packet),
            Kind::Data | Kind::Received | Kind::Ack | Kind::Syn | Kind::SynAck => {
                self.transit.move_on(&mut self.flows[packet.flow as usize], *packet)
            }
            Kind::Pace => self.on_pace(packet.flow, packet.at),
            Kind::Datagram | Kind::Opening => self.on_rarer_packet(*packet),
        }
    }

    /// The same apart, for the sake of the others.
    #[inline(never)]
    fn on_rarer_packet(&mut self, packet: Packet) {
        match packet.kind {
            Kind::Opening => self.on_syn_ack(packet),
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
        }
        self.transit.by_timer = false;
    }

    /// An ACK reaches its sender.
    #[inline(always)]
    fn on_ack(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let Some(now) = self.transit.hand_over(flow, packet) else { return };
        if flow.sender.finished() {
            self.complete(packet.flow, now);
        } else {
            self.transit.pump(flow, packet.at);
        }
    }

    /// A served link takes its turns, those that are due.
    #[inline(never)]
    fn serve(&mut self, place: u32, now: Nanos) {
        self.transit.serve(place, now);
        self.hand_on(place);
    }

    /// What has left a served link goes on.
    #[inline(never)]
    fn hand_on(&mut self, place: u32) {
        let (mut departed, mut stock) = self.transit.network.served[place as usize].take_departed();
        for &Departed { at, place } in &departed {
            // Most are segments whose receiver is next: they are read where they lie, and not copied first.
            let packet = stock.packet(place);
            if packet.kind == Kind::Data {
                let flow = &mut self.flows[packet.flow as usize];
                if self.transit.leaves_direct(flow, Segment { at, ..Segment::from(packet) }) {
                    stock.take(place);
                    continue;
                }
            }
            let packet = Packet { at, ..stock.take(place).packet };
            self.leave(packet);
        }
        departed.clear();
        // No path crosses a link twice, so nothing has come to it or left it since.
        self.transit.network.served[place as usize].give_back(departed, stock);
    }

    /// The run is over at `end`: served links take the turns before it of which the loop need not have been told yet.
    #[cold]
    #[inline(never)]
    fn take_last_turns(&mut self, end: Nanos) {
        let places = 0..self.transit.network.served.len() as u32;
        loop {
            let served = &mut self.transit.network.served;
            if let Some(place) = places.clone().find(|&place| served[place as usize].has_coming()) {
                self.transit.let_in(place);
                continue;
            }
            if let Some(place) = places.clone().find(|&place| served[place as usize].has_departed()) {
                self.hand_on(place);
                continue;
            }
            let turn = |place: &u32| self.transit.network.served[*place as usize].turn();
            let Some(place) = places.clone().min_by_key(turn) else { return };
            let now = turn(&place);
            if now >= end {
                return;
            }
            self.serve(place, now);
        }
    }

    /// Something changes of a served link.
    #[inline(never)]
    fn change(&mut self, place: u32, now: Nanos) {
        let mut packet = Packet::default();
        if self.transit.change(place, now, &mut packet) {
            self.leave(packet);
        }
    }

    /// A packet leaves a served link at which it has waited.
    #[inline(always)]
    fn leave(&mut self, packet: Packet) {
        if packet.kind == Kind::Datagram {
            let source = &mut self.datagrams[packet.flow as usize];
            if source.frames.is_some() {
                return self.leave_of_frame(packet);
            }
            source.received += u64::from(self.transit.leave_datagram(source.route, source.size, packet));
        } else {
            self.transit.leave(&mut self.flows[packet.flow as usize], packet);
        }
    }

    fn carry_datagram(&mut self, packet: Packet) {
        let source = &mut self.datagrams[packet.flow as usize];
        if source.frames.is_some() {
            return self.carry_of_frame(packet);
        }
        source.received += u64::from(self.transit.carry_datagram(source.route, source.size, packet, false));
    }

    #[inline(never)]
    fn carry_of_frame(&mut self, packet: Packet) {
        let source = &mut self.datagrams[packet.flow as usize];
        if let Some(at) = self.transit.carry_of_frame(source.route, source.size, packet, false) {
            source.arrive_of_frame(packet.stamp, at, self.transit.window);
        }
    }

    #[inline(never)]
    fn leave_of_frame(&mut self, packet: Packet) {
        let source = &mut self.datagrams[packet.flow as usize];
        if let Some(at) = self.transit.leave_of_frame(source.route, source.size, packet) {
            source.arrive_of_frame(packet.stamp, at, self.transit.window);
        }
    }

    fn start(&mut self, id: u32, at: Nanos) {
        let now = at - self.flows[id as usize].access;
        if now >= self.transit.window.to {
            return;
        }
        if let Some(group) = self.flows[id as usize].web {
            if !self.reopen(id, group, now) {
                return;
            }
        }
        let flow = &mut self.flows[id as usize];
        flow.started = now;
        let before = flow.sender.meter.events;
        flow.transfer = flow.sender.to_send().map(|segments| self.transfers.begin(id, now, segments, before));
        flow.sender.meter.start(now);
        flow.sender.pass_time(now, id, &mut self.transit.log);
        if flow.route.handshake {
            flow.life = Life::Opening;
            flow.sender.open(now);
            self.transit.send_syn(flow, at);
        } else {
            self.send_first_window(id, at);
        }
    }

    /// The answer to a SYN reaches its sender.
    #[cold]
    fn on_syn_ack(&mut self, packet: Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let now = packet.at - flow.access;
        if flow.life != Life::Opening || packet.incarnation != flow.incarnation || now >= self.transit.window.to {
            return;
        }
        flow.sender.pass_time(now, flow.id, &mut self.transit.log);
        let timeouts = flow.sender.on_syn_ack(now, packet.stamp);
        let (rtt, incarnation) = (flow.sender.handshake_rtt(), flow.incarnation);
        let tcp = self.tcp(packet.flow);
        // RFC 6928 section 2.
        let reduced = (timeouts > 1).then(|| Tcp { initial_window: 1, ..tcp.clone() });
        let guard = Guard { fuse: self.fuse.clone(), flow: self.order.number(packet.flow), now };
        let seed = build::choices(self.scenario.seed, self.transit.schedule.flow(packet.flow), incarnation);
        let cc = controller(reduced.as_ref().unwrap_or(tcp), self.scenario.packet_size, Some(rtt), seed, &guard);
        self.flows[packet.flow as usize].sender.begin_with(cc);
        self.send_first_window(packet.flow, packet.at);
    }

    /// What is asked of a connection.
    fn tcp(&self, id: u32) -> &Tcp {
        if let Some(group) = self.flows[id as usize].web {
            return &self.scenario.web[group as usize].tcp;
        }
        let mut groups =
            self.scenario.flows.iter().flat_map(|group| std::iter::repeat_n(&group.tcp, group.count as usize));
        groups.nth(id as usize).expect("a flow of a group")
    }

    /// A connection is established.
    fn send_first_window(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        flow.life = Life::Open;
        let now = at - flow.access;
        let before = flow.sender.counters().sent;
        self.transit.pump(flow, at);
        let sent = u32::try_from(flow.sender.counters().sent - before).unwrap_or(u32::MAX);
        self.first_segments = self.first_segments.saturating_add(sent);
        if u64::from(self.first_segments) >= burst::PART {
            self.look_at_memory(now);
        }
    }

    /// A new connection for a web transfer; false where none may begin any more.
    fn reopen(&mut self, id: u32, group: u32, now: Nanos) -> bool {
        let web = &self.scenario.web[group as usize];
        let flow = &mut self.flows[id as usize];
        if web.stop.is_some_and(|stop| now > stop) {
            return false;
        }
        let segments = self.web[group as usize].begin(web, self.scenario.packet_size, now, self.transit.window);
        let seed =
            build::choices(self.scenario.seed, self.transit.schedule.flow(flow.id), flow.incarnation.wrapping_add(1));
        let guard = Guard { fuse: self.fuse.clone(), flow: self.order.number(id), now };
        let rtt = (!web.tcp.handshake).then(|| flow.sender.handshake_rtt());
        let cc = controller(&web.tcp, self.scenario.packet_size, rtt, seed, &guard);
        flow.sender.reopen(cc, segments);
        flow.receiver.reset();
        if let Some(ecn) = flow.heed.as_mut().and_then(|heed| heed.ecn.as_mut()) {
            *ecn = Receiving::new(web.tcp.ecn);
        }
        flow.incarnation = flow.incarnation.wrapping_add(1);
        true
    }

    fn stop(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let now = at - flow.access;
        if flow.life == Life::Idle || now >= self.transit.window.to {
            return;
        }
        if flow.sender.stop() {
            flow.stopped = true;
            if let Some(transfer) = flow.transfer {
                self.transfers.cut_off(transfer);
            }
        }
        if flow.sender.finished() {
            flow.sender.pass_time(now, id, &mut self.transit.log);
            self.complete(id, now);
        }
    }

    /// Everything that the flow had to send has been acknowledged. Its transfer is complete, unless the flow stopped before.
    fn complete(&mut self, id: u32, now: Nanos) {
        let flow = &mut self.flows[id as usize];
        flow.life = Life::Idle;
        if flow.transfer.is_some() && !flow.stopped {
            flow.completed = now;
        }
        flow.sender.meter.stop();
        if let Some(transfer) = flow.transfer {
            self.transfers.end(transfer, now, flow.sender.meter.events);
        }
        let started = flow.started;
        let Some(group) = flow.web else { return };
        let web = &mut self.web[group as usize];
        web.complete(started, now, self.transit.window);
        match self.scenario.web[group as usize].arrivals {
            Arrivals::Sessions { mean_gap, .. } => {
                let next = now + web.rng.exponential(mean_gap as f64);
                self.start_at(next, id);
            }
            Arrivals::Poisson { .. } => web.idle.push(id),
        }
    }

    fn begin_poisson_transfer(&mut self, group: u32, at: Nanos) {
        let Web { arrivals, stop, .. } = self.scenario.web[group as usize];
        let Arrivals::Poisson { per_second } = arrivals else { return };
        let WebGroup { rng, idle, .. } = &mut self.web[group as usize];
        let next = at.saturating_add(rng.exponential(1e9 / per_second));
        let id = idle.pop();
        let id = id.unwrap_or_else(|| {
            self.transit.count_burst(CONNECTION_EVENTS);
            self.add_web_connection(group)
        });
        self.start_at(at, id);
        if stop.is_none_or(|stop| next <= stop) {
            self.set_transfer(group, next);
        }
    }

    /// A transfer of a Poisson process begins at `at`, if the run lasts so long.
    fn set_transfer(&mut self, group: u32, at: Nanos) {
        if at <= self.transit.window.to {
            let identity = self.web[group as usize].identity;
            self.transit.timers.set_of(at, Timer::Transfer(group), identity);
        }
    }

    fn send_datagram(&mut self, id: u32, at: Nanos) {
        let source = &mut self.datagrams[id as usize];
        if source.frames.is_some() {
            return self.send_of_frame(id, at);
        }
        let Some((packet, next)) = source.send(id, at, self.transit.window) else { return };
        self.transit.count.sent += 1;
        self.transit.timers.set_of(next, Timer::Datagram(id), source.identity);
        source.received += u64::from(self.transit.carry_datagram(source.route, source.size, packet, false));
    }

    #[inline(never)]
    fn send_of_frame(&mut self, id: u32, at: Nanos) {
        let source = &mut self.datagrams[id as usize];
        let Some((packet, next)) = source.send_of_frame(id, at, self.transit.window) else { return };
        self.transit.count.sent += 1;
        self.transit.timers.set_of(next, Timer::Datagram(id), source.identity);
        self.carry_of_frame(packet);
    }

    fn on_retransmit_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        if flow.timer_at != at {
            return;
        }
        flow.timer_at = Nanos::MAX;
        let now = at - flow.access;
        if flow.life == Life::Idle || now >= self.transit.window.to {
            return;
        }
        if flow.sender.deadline() > now {
            self.transit.arm(flow);
            return;
        }
        flow.sender.pass_time(now, id, &mut self.transit.log);
        if flow.life == Life::Opening {
            flow.sender.on_syn_timeout(now);
            self.transit.send_syn(flow, at);
            return;
        }
        flow.sender.on_timeout(now);
        self.transit.pump(flow, at);
    }

    /// The same, where other alarms come first that are due at this moment.
    #[inline(never)]
    fn on_pace(&mut self, id: u32, at: Nanos) {
        if self.transit.timers.next_time() == at {
            return self.transit.timers.set_of(at, Timer::Pace(id), self.transit.schedule.flow(id));
        }
        self.transit.prefetch_next_note();
        self.transit.by_timer = true;
        self.on_pace_timer(id, at);
        self.transit.by_timer = false;
    }

    /// A sender that was held back goes on; one that is not any more has nothing to send now.
    #[inline(always)]
    fn on_pace_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let now = at - flow.access;
        if flow.life != Life::Open || now >= self.transit.window.to {
            return;
        }
        flow.sender.pass_time(now, id, &mut self.transit.log);
        self.transit.pump_one_by_one(flow, at, now);
        self.transit.arm(flow);
    }

    fn on_ack_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        if flow.ack_timer_at != at {
            return;
        }
        flow.ack_timer_at = Nanos::MAX;
        match flow.receiver.deadline() {
            Some(due) if due <= at => self.transit.acknowledge(flow, at),
            _ => self.transit.arm_ack(flow),
        }
    }
}

/// The longest that any access delay may be: connections draw theirs, some of them only when they begin.
fn longest_access_delay(scenario: &Scenario) -> Nanos {
    let flows = scenario.flows.iter().map(|group| group.tcp.access_delay);
    let udp = scenario.udp.iter().map(|group| group.access_delay);
    let web = scenario.web.iter().map(|group| group.tcp.access_delay);
    flows.chain(udp).chain(web).map(|delay| delay.high).max().unwrap_or(0)
}
