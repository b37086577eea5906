//! Builds the engine of a scenario: flows, sources, and web users, with their random values.

use super::footprint::Memory;
use super::schedule::StreamId;
use super::timers::Timer;
use super::transit::Transit;
use super::{Engine, longest_access_delay};
use crate::memory::make_room;
use crate::network::{Network, Route, Serving};
use crate::report::jitter::Jitter;
use crate::report::meter::{Meter, Terms};
use crate::report::transfers::Transfers;
use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::order::{self, Order};
use crate::scenario::{Arrivals, Scenario, Spread, Tcp};
use crate::traffic::connection::{AccessLink, Connection, Heed, Life, controller};
use crate::traffic::datagrams::DatagramSource;
use crate::traffic::source::Source;
use crate::traffic::web::WebGroup;
use crate::transport::ecn::{EcnMode, Receiving};
use crate::transport::policy::{Fuse, Guard, Policy};
use crate::transport::receiver::Receiver;
use crate::transport::sender::Sender;
use fullpipe_cc::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

impl<P: Policy> Engine<P> {
    /// The engine of `scenario`; `serving` as in [`Network::new`].
    pub fn new(written: Arc<Scenario>, memory_bytes: u64, serving: Serving) -> Self {
        let order = Order::of(Arc::clone(&written));
        let scenario = Arc::clone(&order.scenario);
        let (network, routes) = Network::new(&scenario, serving);
        let mut engine = Engine {
            transit: Transit::new(&scenario, network),
            flows: Vec::new(),
            datagrams: Vec::new(),
            web: Vec::new(),
            ack_streams: BTreeMap::new(),
            long_lived: 0,
            first_segments: 0,
            memory: Memory::new(&scenario, memory_bytes),
            excess: None,
            transfers: Transfers::default(),
            fuse: Fuse::default(),
            now: 0,
            end: scenario.duration + longest_access_delay(&scenario),
            scenario: Arc::clone(&scenario),
            written,
            order,
        };
        engine.set_changes();
        engine.add_flows(&routes);
        engine.add_datagrams(&routes[scenario.flows.len()..]);
        engine.add_web(&routes[scenario.flows.len() + scenario.udp.len()..]);
        if scenario.web.is_empty() {
            // No flow is added later. With random access delays each flow has a separate stream.
            engine.ack_streams.clear();
        }
        engine
    }

    fn set_changes(&mut self) {
        for place in 0..self.transit.network.served.len() {
            self.transit.attend_to(place as u32);
        }
    }

    fn add_flows(&mut self, routes: &[Route]) {
        let scenario = Arc::clone(&self.scenario);
        let identities = std::mem::take(&mut self.order.flows);
        let count = scenario.flows.iter().map(|group| group.count as usize).sum();
        let sessions = scenario.web.iter().map(|web| match web.arrivals {
            Arrivals::Sessions { sessions, .. } => sessions as usize,
            Arrivals::Poisson { .. } => 0,
        });
        self.flows.reserve_exact(count + sessions.sum::<usize>());
        self.transit.lost.reserve_exact(count);
        self.transit.timers.reserve(count);
        self.transit.schedule.reserve_flows(count);
        let (window, interval) = (self.transit.window, scenario.series_interval);
        let terms = Arc::new(Terms { window, interval, distributes: true });
        for (group, &route) in scenario.flows.iter().zip(routes) {
            for _ in 0..group.count {
                let identity = identities[self.flows.len()];
                let mut spreads = Rng::new(scenario.seed, Purpose::Spreads, identity);
                let start = spreads.spread(group.start);
                let access = spreads.spread(group.tcp.access_delay);
                let rng = Rng::new(scenario.seed, Purpose::Source, identity);
                let source = Source::new(group, scenario.packet_size, start, window, rng);
                let segments = group.size.unwrap_or(if group.source.is_bulk() { u64::MAX } else { 0 });
                let terms = Arc::clone(&terms);
                let id = self.add_connection(&group.tcp, identity, route, access, segments, terms, None);
                self.flows[id as usize].set_source(source);
                self.transit.log.add_flow(&self.flows[id as usize].sender.cc, start, self.transit.window.to);
                self.transit.lost.push(0);
                self.transit.timers.set_of(start + access, Timer::Start(id), identity);
                if let Some(stop) = group.stop {
                    self.transit.timers.set_of(stop + access, Timer::Stop(id), identity);
                }
            }
        }
        self.transit.log.make_room(&self.order.numbers);
        self.long_lived = self.flows.len();
    }

    fn add_datagrams(&mut self, routes: &[Route]) {
        for (group, (udp, &route)) in self.scenario.udp.iter().zip(routes).enumerate() {
            for _ in 0..udp.count {
                let identity = self.order.sources[self.datagrams.len()];
                let mut spreads = Rng::new(self.scenario.seed, Purpose::Spreads, identity);
                let start = spreads.spread(udp.start);
                let access = spreads.spread(udp.access_delay);
                self.datagrams.push(DatagramSource::new(udp, (group as u32, identity), route, start, access));
                let id = self.datagrams.len() as u32 - 1;
                self.transit.timers.set_of(start + access, Timer::Datagram(id), identity);
            }
        }
    }

    fn add_web(&mut self, routes: &[Route]) {
        let terms = Arc::new(Terms { window: self.transit.window, interval: None, distributes: false });
        let scenario = Arc::clone(&self.scenario);
        for (index, (web, &route)) in scenario.web.iter().zip(routes).enumerate() {
            let identity = self.order.users[index];
            let mut rng = Rng::new(self.scenario.seed, Purpose::Web, identity);
            let begin = |rng: &mut Rng| rng.spread(web.start);
            let (mut starts, mut first_transfer) = (Vec::new(), None);
            match web.arrivals {
                Arrivals::Sessions { sessions, .. } => starts.extend((0..sessions).map(|_| begin(&mut rng))),
                Arrivals::Poisson { .. } => first_transfer = Some(begin(&mut rng)),
            }
            self.web.push(WebGroup::new(identity, rng, route, Arc::clone(&terms)));
            first_transfer.into_iter().for_each(|start| self.set_transfer(index as u32, start));
            for start in starts {
                let id = self.add_web_connection(index as u32);
                self.start_at(start, id);
            }
        }
    }

    /// Starts connection `id` at `start` on the flow's clock.
    pub fn start_at(&mut self, start: Nanos, id: u32) {
        let at = start + self.flows[id as usize].access;
        self.transit.timers.set_of(at, Timer::Start(id), self.transit.schedule.flow(id));
    }

    /// A connection at rest for the transfers of a group.
    pub fn add_web_connection(&mut self, group: u32) -> u32 {
        let scenario = Arc::clone(&self.scenario);
        let web = &scenario.web[group as usize];
        let WebGroup { identity, connections, rng, route, terms, .. } = &mut self.web[group as usize];
        let (access, route, terms) = (rng.spread(web.tcp.access_delay), *route, Arc::clone(terms));
        let identity = identity.number(*connections);
        *connections += 1;
        self.add_connection(&web.tcp, identity, route, access, 0, terms, Some(group))
    }

    #[expect(clippy::too_many_arguments)]
    fn add_connection(
        &mut self,
        tcp: &Tcp,
        identity: Identity,
        route: Route,
        access: Nanos,
        segments: u64,
        terms: Arc<Terms>,
        web: Option<u32>,
    ) -> u32 {
        let id = self.flows.len() as u32;
        let meter = Meter::new(terms);
        // Up to an hour apart.
        let clock_offset = Rng::new(self.scenario.seed, Purpose::Clocks, identity).spread(CLOCK_OFFSETS);
        let round_trip: Nanos = tcp.path.iter().map(|&link| self.scenario.links[link].round_trip()).sum();
        let base_rtt = round_trip + 2 * access;
        let guard = Guard { fuse: self.fuse.clone(), flow: self.order.number(id), now: 0 };
        let rtt = (!tcp.handshake).then_some(base_rtt);
        let cc = controller(tcp, self.scenario.packet_size, rtt, choices(self.scenario.seed, identity, 0), &guard);
        let slow_access = tcp.access_rate_bps.is_some() || tcp.processing_time > 0;
        let heed = self.heed(tcp, web);
        let held_acks = tcp.held_acks();
        let is_plain = !slow_access && held_acks.is_none() && heed.is_none();
        let direct = self.transit.network.direct(route).filter(|_| is_plain);
        let ack_stream = self.ack_stream(route, access);
        let schedule = &mut self.transit.schedule;
        schedule.add_flow(identity);
        let access_link = slow_access.then(|| {
            let rng = Rng::new(self.scenario.seed, Purpose::Processing, identity);
            Box::new(AccessLink::new(tcp, rng, schedule.add_stream(identity)))
        });
        let receiver = Receiver::of(tcp, base_rtt);
        make_room(&mut self.flows);
        self.flows.push(Connection {
            id,
            sender: Sender::new(tcp, cc, segments, base_rtt, clock_offset, self.scenario.packet_size, meter),
            source: None,
            receiver,
            route,
            direct,
            ack_stream,
            access,
            incarnation: 0,
            life: Life::Idle,
            heed,
            ack_every: held_acks.map_or(1, |(every, _)| every),
            ack_delay: held_acks.map(|(_, delay)| delay),
            timer_at: Nanos::MAX,
            ack_timer_at: Nanos::MAX,
            received: 0,
            duplicates: 0,
            access_link,
            stopped: false,
            started: 0,
            completed: Nanos::MAX,
            transfer: None,
            web,
        });
        id
    }

    /// ECN and jitter at the receiver of a connection, if either is on.
    fn heed(&self, tcp: &Tcp, web: Option<u32>) -> Option<Box<Heed>> {
        let quic = tcp.quic.is_some();
        let ecn = (tcp.ecn != EcnMode::Off && !quic).then(|| Receiving::new(tcp.ecn));
        let jitter = (self.scenario.measure_jitter && web.is_none()).then(Jitter::default);
        (quic || ecn.is_some() || jitter.is_some()).then(|| Box::new(Heed { quic, ecn, jitter, ..Heed::default() }))
    }

    /// Stream of ACKs that take the last hop of `route` and this access delay.
    fn ack_stream(&mut self, route: Route, access: Nanos) -> StreamId {
        let last = self.transit.network.last_hop(route).direction;
        let last_link = &self.scenario.links[last as usize / 2];
        let identity = order::direction(&last_link.name, last % 2 == 1);
        let schedule = &mut self.transit.schedule;
        *self.ack_streams.entry((last, access)).or_insert_with(|| schedule.add_stream(identity.number(access)))
    }
}

/// Seed for the algorithm of a flow's connection. A web user opens many connections, one after another.
pub fn choices(seed: u64, flow: Identity, incarnation: u16) -> u64 {
    Rng::new(seed, Purpose::Algorithm, flow.number(incarnation.into())).bits()
}

/// Offset of a receiver's clock from its sender's.
const CLOCK_OFFSETS: Spread = Spread { low: 0, high: 3_600_000_000_000 };
