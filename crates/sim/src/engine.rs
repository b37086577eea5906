//! The event loop.
//!
//! Events are few: an ACK reaches a sender, a packet reaches a link that several sources feed, a timer expires. A sender's
//! event takes place when what it sends reaches the first link, one access delay after the sender's own moment: nothing in
//! between concerns anybody else, and packets then enter the link in the order of the loop. So each flow has its own clock,
//! behind the loop's by its access delay.

use crate::link::Window;
use crate::network::{Network, RouteId};
use crate::packet::{Kind, Packet, SackSlot, SackStore, Segment};
use crate::prefetch::prefetch;
use crate::receiver::{Receiver, Reply};
use crate::report::{FlowReport, LinkReport, PacketCount, Report, Series, TrafficReport};
use crate::rng::{Purpose, Rng};
use crate::scenario::{Algorithm, Arrivals, Scenario, Setting, Spread, Tcp, Web};
use crate::schedule::{Destination, Schedule, StreamId};
use crate::sender::{Arrival, COMMON_COLUMNS, FlowSamples, Meter, Sender};
use fullpipe_cc::{Controller, Nanos, registry, time::seconds};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::num::NonZero;

/// The run was stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Runs `scenario`. Every few thousand events `watch` is told the simulated time reached; when it answers false the run
/// stops.
///
/// # Errors
/// [`Interrupted`] if `watch` said so.
pub fn run(scenario: &Scenario, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<Report, Interrupted> {
    let mut engine = Engine::new(scenario);
    engine.run(watch)?;
    Ok(engine.report())
}

/// Events between two calls of the watch.
const WATCH_EVERY: u32 = 1 << 14;

struct Engine<'a> {
    scenario: &'a Scenario,
    window: Window,
    network: Network,
    schedule: Schedule,
    timers: BinaryHeap<Reverse<(Nanos, Timer)>>,
    sacks: SackStore,
    flows: Vec<Connection>,
    datagrams: Vec<DatagramSource>,
    web: Vec<WebGroup>,
    /// Streams of ACKs on their way to senders, by last direction and access delay.
    ack_streams: BTreeMap<(u32, Nanos), StreamId>,
    /// Stream of the packets that have left each direction, for stops that need an event.
    link_streams: Vec<StreamId>,
    long_lived: usize,
    max_access: Nanos,
    count: PacketCount,
}

/// What a timer is for. The order settles ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Start(u32),
    Stop(u32),
    Retransmit(u32),
    DelayedAck(u32),
    Datagram(u32),
    Transfer(u32),
}

/// A TCP connection, both ends. What every packet touches comes first, together in memory.
#[repr(C, align(64))]
struct Connection {
    access: Nanos,
    /// When the retransmission timer's entry stands in the loop, on the loop's clock.
    timer_at: Nanos,
    /// Segments that reached the receiver outside the warm-up, duplicates included.
    received: u64,
    /// How long the receiver may hold an ACK.
    ack_delay: Option<NonZero<Nanos>>,
    access_link: Option<Box<AccessLink>>,
    route: RouteId,
    ack_stream: StreamId,
    incarnation: u16,
    active: bool,
    sack: bool,
    receiver: Receiver,
    sender: Sender,
    ack_timer_at: Nanos,
    started: Nanos,
    completed: Option<Nanos>,
    /// Which web group it serves.
    web: Option<u32>,
}

/// How much of a connection most packets touch.
const HOT_BYTES: usize = 512;

/// From so many flows on their state outgrows the cache.
const MANY_FLOWS: usize = 512;

/// A sender's access link that has a rate: packets leave it one after another.
struct AccessLink {
    rate_bps: u64,
    free: Nanos,
    stream: StreamId,
}

impl AccessLink {
    /// A packet is handed over at `at`; says when it has been sent.
    fn send(&mut self, at: Nanos, size: u32) -> Nanos {
        let bits = u128::from(size) * 8;
        self.free = self.free.max(at) + (bits * 1_000_000_000 / u128::from(self.rate_bps)) as Nanos;
        self.free
    }
}

struct DatagramSource {
    route: RouteId,
    access: Nanos,
    interval: Nanos,
    size: u32,
    group: u32,
    stop: Nanos,
    /// Packets outside the warm-up.
    sent: u64,
    received: u64,
}

struct WebGroup {
    rng: Rng,
    route: RouteId,
    /// Connections at rest (Poisson arrivals take one, or make one).
    idle: Vec<u32>,
    started: u64,
    completed: u64,
    completion_sum: f64,
}

impl<'a> Engine<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let (network, routes) = Network::new(scenario);
        let mut schedule = Schedule::default();
        let link_streams = network.directions.iter().map(|_| schedule.add_stream(Destination::NextHop)).collect();
        let mut engine = Engine {
            scenario,
            window: Window { from: scenario.warmup, to: scenario.duration },
            network,
            schedule,
            timers: BinaryHeap::new(),
            sacks: SackStore::default(),
            flows: Vec::new(),
            datagrams: Vec::new(),
            web: Vec::new(),
            ack_streams: BTreeMap::new(),
            link_streams,
            long_lived: 0,
            max_access: 0,
            count: PacketCount::default(),
        };
        engine.add_flows(&routes);
        engine.add_datagrams(&routes[scenario.flows.len()..]);
        engine.add_web(&routes[scenario.flows.len() + scenario.udp.len()..]);
        engine
    }

    fn add_flows(&mut self, routes: &[RouteId]) {
        let mut spreads = Rng::new(self.scenario.seed, Purpose::Spreads, 0);
        let count = self.scenario.flows.iter().map(|group| group.count as usize).sum();
        self.flows.reserve_exact(count);
        self.timers.reserve_exact(count);
        self.schedule.reserve(count);
        for (group, &route) in self.scenario.flows.iter().zip(routes) {
            for _ in 0..group.count {
                let start = spreads.spread(group.start);
                let access = spreads.spread(group.tcp.access_delay);
                let interval = self.scenario.series_interval;
                let id = self.add_connection(&group.tcp, route, access, group.size.unwrap_or(u64::MAX), interval, None);
                self.set_timer(start + access, Timer::Start(id));
                if let Some(stop) = group.stop {
                    self.set_timer(stop + access, Timer::Stop(id));
                }
            }
        }
        self.long_lived = self.flows.len();
    }

    fn add_datagrams(&mut self, routes: &[RouteId]) {
        let mut spreads = Rng::new(self.scenario.seed, Purpose::Spreads, 1);
        for (group, (udp, &route)) in self.scenario.udp.iter().zip(routes).enumerate() {
            let bits = u128::from(udp.packet_size) * 8;
            let interval = (bits * 1_000_000_000 / u128::from(udp.rate_bps)) as Nanos;
            for _ in 0..udp.count {
                let start = spreads.spread(udp.start);
                let access = spreads.spread(udp.access_delay);
                self.max_access = self.max_access.max(access);
                let stop = udp.stop.unwrap_or(self.scenario.duration);
                let (size, group) = (udp.packet_size, group as u32);
                self.datagrams.push(DatagramSource {
                    route,
                    access,
                    interval,
                    size,
                    group,
                    stop,
                    sent: 0,
                    received: 0,
                });
                self.set_timer(start + access, Timer::Datagram(self.datagrams.len() as u32 - 1));
            }
        }
    }

    fn add_web(&mut self, routes: &[RouteId]) {
        for (index, (web, &route)) in self.scenario.web.iter().zip(routes).enumerate() {
            let mut rng = Rng::new(self.scenario.seed, Purpose::Web, index as u64);
            let begin = |rng: &mut Rng| rng.spread(web.start);
            let mut starts = Vec::new();
            match web.arrivals {
                Arrivals::Sessions { sessions, .. } => starts.extend((0..sessions).map(|_| begin(&mut rng))),
                Arrivals::Poisson { .. } => {
                    let start = begin(&mut rng);
                    self.set_timer(start, Timer::Transfer(index as u32));
                }
            }
            let group = WebGroup { rng, route, idle: Vec::new(), started: 0, completed: 0, completion_sum: 0.0 };
            self.web.push(group);
            for start in starts {
                let id = self.add_web_connection(index as u32);
                self.set_timer(start + self.flows[id as usize].access, Timer::Start(id));
            }
        }
    }

    fn add_web_connection(&mut self, group: u32) -> u32 {
        let web = &self.scenario.web[group as usize];
        let WebGroup { rng, route, .. } = &mut self.web[group as usize];
        let (access, route) = (rng.spread(web.tcp.access_delay), *route);
        self.add_connection(&web.tcp, route, access, 0, None, Some(group))
    }

    fn add_connection(
        &mut self,
        tcp: &Tcp,
        route: RouteId,
        access: Nanos,
        segments: u64,
        interval: Option<Nanos>,
        web: Option<u32>,
    ) -> u32 {
        let id = self.flows.len() as u32;
        self.max_access = self.max_access.max(access);
        let cc = controller(&tcp.algorithm, tcp.initial_window);
        let meter = Meter::new(self.window, interval, &cc);
        // Up to an hour apart.
        let clock_offset = Rng::new(self.scenario.seed, Purpose::Clocks, u64::from(id)).spread(CLOCK_OFFSETS);
        let last = self.network.routes[route as usize].hops.last().expect("a route has hops").direction;
        let schedule = &mut self.schedule;
        let ack_stream =
            *self.ack_streams.entry((last, access)).or_insert_with(|| schedule.add_stream(Destination::Sender));
        let access_link = tcp.access_rate_bps.map(|rate_bps| {
            Box::new(AccessLink { rate_bps, free: 0, stream: schedule.add_stream(Destination::NextHop) })
        });
        self.flows.push(Connection {
            sender: Sender::new(tcp, cc, segments, clock_offset, meter),
            receiver: Receiver::default(),
            route,
            ack_stream,
            access,
            incarnation: 0,
            active: false,
            sack: tcp.recovery == fullpipe_cc::Recovery::Sack,
            ack_delay: NonZero::new(tcp.delayed_ack_timeout).filter(|_| tcp.delayed_ack),
            timer_at: Nanos::MAX,
            ack_timer_at: Nanos::MAX,
            received: 0,
            access_link,
            started: 0,
            completed: None,
            web,
        });
        id
    }

    fn run(&mut self, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<(), Interrupted> {
        let end = self.window.to + self.max_access;
        loop {
            for _ in 0..WATCH_EVERY {
                let timer = self.timers.peek().map_or(Nanos::MAX, |entry| entry.0.0);
                let packet = self.schedule.next_time();
                if timer.min(packet) > end {
                    return Ok(());
                }
                if timer <= packet {
                    let Reverse((at, timer)) = self.timers.pop().expect("just seen");
                    self.on_timer(at, timer);
                } else if let Some((packet, destination)) = self.schedule.pop() {
                    if self.flows.len() >= MANY_FLOWS {
                        self.prefetch_next();
                    }
                    match destination {
                        Destination::Sender => self.on_ack(packet),
                        Destination::NextHop => self.carry(packet),
                    }
                }
            }
            let now = self.schedule.next_time().min(self.window.to);
            if !watch(now) {
                return Err(Interrupted);
            }
        }
    }

    #[inline]
    fn prefetch_next(&self) {
        let next = self.schedule.next_flow().and_then(|flow| self.flows.get(flow as usize));
        if let Some(flow) = next {
            prefetch(flow, HOT_BYTES);
        }
    }

    fn set_timer(&mut self, at: Nanos, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
    }

    fn on_timer(&mut self, at: Nanos, timer: Timer) {
        match timer {
            Timer::Start(id) => self.start(id, at),
            Timer::Stop(id) => self.stop(id, at),
            Timer::Retransmit(id) => self.on_retransmit_timer(id, at),
            Timer::DelayedAck(id) => self.on_ack_timer(id, at),
            Timer::Datagram(id) => self.send_datagram(id, at),
            Timer::Transfer(group) => self.begin_poisson_transfer(group, at),
        }
    }

    /// An ACK reaches its sender.
    #[inline(always)]
    fn on_ack(&mut self, packet: Packet) {
        let sack = self.sacks.take(packet.sack);
        let flow = &mut self.flows[packet.flow as usize];
        let now = packet.at - flow.access;
        if !flow.active || packet.incarnation != flow.incarnation || now > self.window.to {
            return;
        }
        let arrival = Arrival { cumulative: packet.seq, stamp: packet.stamp, receiver_stamp: packet.receiver_stamp };
        flow.sender.on_ack(now, &arrival, sack.as_ref());
        if flow.sender.finished() {
            self.complete(packet.flow, now);
        } else {
            self.pump(packet.flow, packet.at);
        }
    }

    /// Sends what the window allows. `at` is the loop's time, the flow's is an access delay behind.
    #[inline(always)]
    fn pump(&mut self, id: u32, at: Nanos) {
        loop {
            let flow = &mut self.flows[id as usize];
            let now = at - flow.access;
            let Some(seq) = flow.sender.next_segment(now) else { break };
            let (seq, incarnation) = (seq as u32, flow.incarnation);
            self.count.sent += 1;
            match &mut flow.access_link {
                None => self.carry_data(Segment { at, stamp: now, flow: id, seq, incarnation, hop: 0 }),
                Some(link) => {
                    let at = link.send(at, self.scenario.packet_size);
                    let segment = Segment { at, stamp: now, flow: id, seq, incarnation, hop: 0 };
                    self.schedule.push(link.stream, segment.into());
                }
            }
        }
        self.arm(id);
    }

    /// A packet reaches its next stop in its turn.
    fn carry(&mut self, packet: Packet) {
        match packet.kind {
            Kind::Data => self.carry_data(packet.into()),
            Kind::Ack => self.carry_ack(packet),
            Kind::Datagram => self.carry_datagram(packet),
        }
    }

    /// Follows a segment until it is lost, delivered and acknowledged, or must wait for its turn in the loop.
    #[inline(always)]
    fn carry_data(&mut self, mut segment: Segment) {
        let route = &self.network.routes[self.flows[segment.flow as usize].route as usize];
        let hops = &route.hops[..usize::from(route.data_hops)];
        while let Some(hop) = hops.get(usize::from(segment.hop)) {
            let direction = &mut self.network.directions[hop.direction as usize];
            let Some(departure) = direction.accept(segment.at, self.scenario.packet_size) else {
                self.count_lost(segment.at);
                return;
            };
            segment.at = departure + direction.delay;
            segment.hop += 1;
            if !hop.runs_on {
                self.schedule.push(self.link_streams[hop.direction as usize], segment.into());
                return;
            }
        }
        self.deliver(segment);
    }

    /// A segment reaches its receiver, which acknowledges it now or later.
    #[inline(always)]
    fn deliver(&mut self, segment: Segment) {
        self.count_delivered(segment.at);
        let flow = &mut self.flows[segment.flow as usize];
        if segment.incarnation != flow.incarnation {
            return;
        }
        flow.received += u64::from(self.window.contains(segment.at));
        match flow.receiver.take(segment.seq, segment.stamp, segment.at, flow.ack_delay.map(NonZero::get)) {
            Reply::Ack => self.acknowledge(segment.flow, segment.at),
            Reply::Hold => self.arm_ack(segment.flow),
        }
    }

    /// The receiver sends an ACK.
    #[inline(always)]
    fn acknowledge(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let (next, stamp) = flow.receiver.acknowledge();
        let blocks = if flow.sack { flow.receiver.sack_blocks() } else { None };
        let ack = Packet {
            at,
            stamp,
            receiver_stamp: at,
            flow: id,
            seq: next as u32,
            sack: blocks.map_or(SackSlot::NONE, |blocks| self.sacks.put(blocks)),
            incarnation: flow.incarnation,
            hop: self.network.routes[flow.route as usize].data_hops,
            kind: Kind::Ack,
        };
        self.carry_ack(ack);
    }

    /// Follows an ACK until it is lost, on its way to the sender, or must wait for its turn in the loop.
    #[inline(always)]
    fn carry_ack(&mut self, mut ack: Packet) {
        let flow = &self.flows[ack.flow as usize];
        let hops = &self.network.routes[flow.route as usize].hops;
        while let Some(hop) = hops.get(usize::from(ack.hop)) {
            let direction = &mut self.network.directions[hop.direction as usize];
            let Some(departure) = direction.accept(ack.at, self.scenario.ack_size) else {
                self.sacks.take(ack.sack);
                return;
            };
            ack.at = departure + direction.delay;
            ack.hop += 1;
            if !hop.runs_on {
                self.schedule.push(self.link_streams[hop.direction as usize], ack);
                return;
            }
        }
        ack.at += 2 * flow.access;
        self.schedule.push(flow.ack_stream, ack);
    }

    fn carry_datagram(&mut self, mut packet: Packet) {
        let source = &mut self.datagrams[packet.flow as usize];
        let hops = &self.network.routes[source.route as usize].hops;
        while let Some(hop) = hops.get(usize::from(packet.hop)) {
            let direction = &mut self.network.directions[hop.direction as usize];
            let Some(departure) = direction.accept(packet.at, source.size) else {
                self.count_lost(packet.at);
                return;
            };
            packet.at = departure + direction.delay;
            packet.hop += 1;
            if !hop.runs_on {
                self.schedule.push(self.link_streams[hop.direction as usize], packet);
                return;
            }
        }
        source.received += u64::from(self.window.contains(packet.at));
        self.count_delivered(packet.at);
    }

    /// What is worked out ahead of the clock may lie beyond the end of the run: such packets are still in flight then.
    #[inline]
    fn count_delivered(&mut self, at: Nanos) {
        if at <= self.window.to {
            self.count.delivered += 1;
        } else {
            self.count.in_flight += 1;
        }
    }

    fn count_lost(&mut self, at: Nanos) {
        if at <= self.window.to {
            self.count.dropped += 1;
        } else {
            self.count.in_flight += 1;
        }
    }

    fn start(&mut self, id: u32, at: Nanos) {
        let now = at - self.flows[id as usize].access;
        if now > self.window.to {
            return;
        }
        if let Some(group) = self.flows[id as usize].web {
            if !self.reopen(id, group, at) {
                return;
            }
        }
        let flow = &mut self.flows[id as usize];
        flow.active = true;
        flow.started = now;
        flow.sender.meter.start(now);
        flow.sender.pass_time(now);
        self.pump(id, at);
    }

    /// A new connection for a web transfer; false where none may begin any more.
    fn reopen(&mut self, id: u32, group: u32, at: Nanos) -> bool {
        let web = &self.scenario.web[group as usize];
        let flow = &mut self.flows[id as usize];
        if web.stop.is_some_and(|stop| at - flow.access > stop) {
            return false;
        }
        let WebGroup { rng, started, .. } = &mut self.web[group as usize];
        let segments = libm::ceil(rng.pareto(web.mean_size, web.shape) / f64::from(self.scenario.packet_size));
        *started += u64::from(self.window.contains(at));
        let cc = controller(&web.tcp.algorithm, web.tcp.initial_window);
        flow.sender.reopen(cc, segments.clamp(1.0, MAX_TRANSFER_SEGMENTS) as u64);
        flow.receiver = Receiver::default();
        flow.incarnation = flow.incarnation.wrapping_add(1);
        true
    }

    fn stop(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let now = at - flow.access;
        if !flow.active || now > self.window.to {
            return;
        }
        flow.sender.stop();
        if flow.sender.finished() {
            flow.sender.pass_time(now);
            self.complete(id, now);
        }
    }

    /// Everything the flow had to send has been acknowledged.
    fn complete(&mut self, id: u32, now: Nanos) {
        let flow = &mut self.flows[id as usize];
        flow.active = false;
        flow.completed = Some(now);
        flow.sender.meter.stop();
        let (access, took) = (flow.access, seconds(now - flow.started));
        let Some(group) = flow.web else { return };
        let WebGroup { rng, idle, completed, completion_sum, .. } = &mut self.web[group as usize];
        if self.window.contains(now) {
            *completed += 1;
            *completion_sum += took;
        }
        match self.scenario.web[group as usize].arrivals {
            Arrivals::Sessions { mean_gap, .. } => {
                let next = now + rng.exponential(mean_gap as f64);
                self.set_timer(next + access, Timer::Start(id));
            }
            Arrivals::Poisson { .. } => idle.push(id),
        }
    }

    fn begin_poisson_transfer(&mut self, group: u32, at: Nanos) {
        let web: &Web = &self.scenario.web[group as usize];
        let Arrivals::Poisson { per_second } = web.arrivals else { return };
        let WebGroup { rng, idle, .. } = &mut self.web[group as usize];
        let next = at + rng.exponential(1e9 / per_second);
        let id = idle.pop();
        let id = id.unwrap_or_else(|| self.add_web_connection(group));
        self.set_timer(at + self.flows[id as usize].access, Timer::Start(id));
        if web.stop.is_none_or(|stop| next <= stop) {
            self.set_timer(next, Timer::Transfer(group));
        }
    }

    fn send_datagram(&mut self, id: u32, at: Nanos) {
        let source = &mut self.datagrams[id as usize];
        let now = at - source.access;
        if now > source.stop {
            return;
        }
        source.sent += u64::from(self.window.contains(now));
        let next = at + source.interval;
        self.count.sent += 1;
        self.set_timer(next, Timer::Datagram(id));
        self.carry_datagram(Packet {
            at,
            stamp: 0,
            receiver_stamp: 0,
            flow: id,
            seq: 0,
            sack: SackSlot::NONE,
            incarnation: 0,
            hop: 0,
            kind: Kind::Datagram,
        });
    }

    /// Sees that the loop wakes the flow when its retransmission timer expires. An entry that is too early is renewed when it
    /// comes up; most ACKs move the timer on and touch no entry.
    #[inline(always)]
    fn arm(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        let due = flow.sender.deadline().saturating_add(flow.access);
        if due < flow.timer_at {
            flow.timer_at = due;
            self.set_timer(due, Timer::Retransmit(id));
        }
    }

    fn on_retransmit_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        if flow.timer_at != at {
            return;
        }
        flow.timer_at = Nanos::MAX;
        let now = at - flow.access;
        if !flow.active || now > self.window.to {
            return;
        }
        if flow.sender.deadline() > now {
            self.arm(id);
            return;
        }
        flow.sender.on_timeout(now);
        self.pump(id, at);
    }

    /// The same for a held ACK, on the receiver's clock, which is the loop's.
    fn arm_ack(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        let Some(due) = flow.receiver.deadline.filter(|&due| due < flow.ack_timer_at) else { return };
        flow.ack_timer_at = due;
        self.set_timer(due, Timer::DelayedAck(id));
    }

    fn on_ack_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        if flow.ack_timer_at != at {
            return;
        }
        flow.ack_timer_at = Nanos::MAX;
        match flow.receiver.deadline {
            Some(due) if due <= at => self.acknowledge(id, at),
            _ => self.arm_ack(id),
        }
    }

    fn report(mut self) -> Report {
        let end = self.window.to;
        for flow in self.flows.iter_mut().filter(|flow| flow.active) {
            flow.sender.pass_time(end);
        }
        self.count.in_flight += self.schedule.packets().filter(|packet| packet.kind != Kind::Ack).count() as u64;
        let flows = self.flow_reports();
        let jain_index = jain(flows.iter().map(|flow| flow.goodput_bps));
        Report {
            links: self.link_reports(),
            traffic: self.traffic_reports(),
            data_packets: self.flows.iter().map(|flow| flow.sender.meter.counters.sent).sum(),
            packets: self.count,
            jain_index,
            flow_series: self.flow_series(),
            link_series: self.link_series(),
            flows,
        }
    }

    /// Bits per second of so many data packets in the measuring window.
    fn bits_per_second(&self, packets: u64, size: u32) -> f64 {
        packets as f64 * f64::from(size) * 8.0 / seconds(self.window.length())
    }

    fn flow_reports(&self) -> Vec<FlowReport> {
        let groups = self.scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        let mut reports = Vec::with_capacity(self.long_lived);
        reports.extend(
            groups.zip(&self.flows).enumerate().map(|(id, (group, flow))| self.flow_report(id, &group.tcp, flow)),
        );
        reports
    }

    fn flow_report(&self, id: usize, tcp: &Tcp, flow: &Connection) -> FlowReport {
        let (counted, averages) = (flow.sender.meter.counted(), flow.sender.meter.averages());
        let delay: Nanos = tcp.path.iter().map(|&link| self.scenario.links[link].delay).sum();
        let size = self.scenario.packet_size;
        FlowReport {
            id: id as u32,
            algorithm: tcp.algorithm.name.clone(),
            throughput_bps: self.bits_per_second(flow.received, size),
            goodput_bps: self.bits_per_second(counted.acked, size),
            retransmits: counted.retransmits,
            timeouts: counted.timeouts,
            fast_recoveries: counted.fast_recoveries,
            mean_rtt_s: averages.rtt_s,
            mean_cwnd_packets: averages.cwnd,
            base_rtt_s: seconds(2 * (delay + flow.access)),
            completion_s: flow.completed.map_or(f64::NAN, |at| seconds(at - flow.started)),
        }
    }

    fn link_reports(&mut self) -> Vec<LinkReport> {
        let pairs = self.network.directions.chunks_exact_mut(2).zip(&self.scenario.links);
        pairs
            .map(|(pair, link)| LinkReport {
                name: link.name.clone(),
                forward: pair[0].report(),
                reverse: pair[1].report(),
            })
            .collect()
    }

    fn traffic_reports(&self) -> Vec<TrafficReport> {
        let udp = self.scenario.udp.iter().enumerate().map(|(group, udp)| {
            let sources = || self.datagrams.iter().filter(|source| source.group == group as u32);
            let received = sources().map(|source| source.received).sum();
            TrafficReport {
                kind: "udp",
                throughput_bps: self.bits_per_second(received, udp.packet_size),
                sent_packets: sources().map(|source| source.sent).sum(),
                received_packets: received,
                transfers_started: 0,
                transfers_completed: 0,
                mean_completion_s: f64::NAN,
            }
        });
        let web = self.web.iter().enumerate().map(|(index, group)| {
            let flows = || self.flows.iter().filter(|flow| flow.web == Some(index as u32));
            let received = flows().map(|flow| flow.received).sum();
            TrafficReport {
                kind: "web",
                throughput_bps: self.bits_per_second(received, self.scenario.packet_size),
                sent_packets: flows().map(|flow| flow.sender.meter.counted().sent).sum(),
                received_packets: received,
                transfers_started: group.started,
                transfers_completed: group.completed,
                mean_completion_s: group.completion_sum / group.completed as f64,
            }
        });
        udp.chain(web).collect()
    }

    fn flow_series(&mut self) -> Series {
        if self.scenario.series_interval.is_none() {
            return Series::with_columns(COMMON_COLUMNS, 0);
        }
        let flows = &mut self.flows[..self.long_lived];
        let samples: Vec<_> = flows.iter_mut().map(|flow| flow.sender.meter.take_samples()).collect();
        let mut names: Vec<&'static str> = COMMON_COLUMNS.to_vec();
        for name in samples.iter().flatten().flat_map(|s| &s.internals) {
            if !names.contains(name) {
                names.push(name);
            }
        }
        let rows = samples.iter().flatten().map(|s| s.times.len()).sum();
        let mut series = Series::with_columns(names.iter().copied(), rows);
        for (id, samples) in samples.into_iter().enumerate() {
            if let Some(samples) = samples {
                add_flow_rows(&mut series, id as u32, &samples);
            }
        }
        series
    }

    fn link_series(&mut self) -> Series {
        let names = ["queue_packets", "utilization", "reverse_queue_packets", "reverse_utilization"];
        let Some(interval) = self.scenario.series_interval else { return Series::with_columns(names, 0) };
        let rows = (self.window.to / interval) as usize * self.scenario.links.len();
        let mut series = Series::with_columns(names, rows);
        for (index, pair) in self.network.directions.chunks_exact_mut(2).enumerate() {
            let columns: Vec<_> = pair.iter_mut().filter_map(|d| d.take_series()).flat_map(|(q, u)| [q, u]).collect();
            let n = columns[0].len();
            series.t_s.extend((1..=n as u64).map(|k| seconds(k * interval)));
            series.entity.extend(std::iter::repeat_n(index as u32, n));
            for ((_, into), from) in series.columns.iter_mut().zip(columns) {
                into.extend(from);
            }
        }
        series
    }
}

/// Receivers' clocks are ahead of their senders' by up to this.
const CLOCK_OFFSETS: Spread = Spread { low: 0, high: 3_600_000_000_000 };

/// The longest web transfer; a Pareto law has no bound of its own.
const MAX_TRANSFER_SEGMENTS: f64 = 1e9;

/// Builds an algorithm that the scenario has already been checked for.
fn controller(algorithm: &Algorithm, initial_window: u32) -> Controller {
    let given: Vec<_> = algorithm.params.iter().map(|(name, setting)| (name.as_str(), value(setting))).collect();
    registry::build(&algorithm.name, &given, f64::from(initial_window)).expect("a checked scenario")
}

fn value(setting: &Setting) -> registry::Value<'_> {
    match setting {
        Setting::Number(x) => registry::Value::Number(*x),
        Setting::Flag(x) => registry::Value::Flag(*x),
        Setting::Name(x) => registry::Value::Name(x),
    }
}

/// Jain's fairness index: (sum x)^2 / (n sum x^2); NaN where nobody got anything.
fn jain(rates: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = rates.clone().count() as f64;
    let sum: f64 = rates.clone().sum();
    let squares: f64 = rates.map(|x| x * x).sum();
    sum * sum / (n * squares)
}

fn add_flow_rows(series: &mut Series, id: u32, samples: &FlowSamples) {
    let width = COMMON_COLUMNS.len() + samples.internals.len();
    series.t_s.extend(samples.times.iter().map(|&at| seconds(at)));
    series.entity.extend(std::iter::repeat_n(id, samples.times.len()));
    let position = |name: &str| {
        let common = COMMON_COLUMNS.iter().position(|n| *n == name);
        common.or_else(|| samples.internals.iter().position(|n| *n == name).map(|k| k + COMMON_COLUMNS.len()))
    };
    for (name, column) in &mut series.columns {
        match position(name) {
            Some(k) => column.extend(samples.values.iter().skip(k).step_by(width)),
            None => column.extend(std::iter::repeat_n(f64::NAN, samples.times.len())),
        }
    }
}
