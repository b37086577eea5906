//! Beginning and end of connections, and their timers.

use super::timers::Timer;
use super::{CONNECTION_EVENTS, Engine, build, burst, tracing};
use crate::packet::Packet;
use crate::scenario::{Arrivals, Tcp, Web};
use crate::traffic::connection::{Life, controller};
use crate::traffic::web::WebGroup;
use crate::transport::ecn::Receiving;
use crate::transport::policy::{Guard, Policy};
use fullpipe_cc::Nanos;

impl<P: Policy> Engine<P> {
    pub(super) fn start(&mut self, id: u32, at: Nanos) {
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
        let to_send = flow.sender.to_send().filter(|_| flow.source.as_ref().is_none_or(|source| source.is_bulk()));
        flow.transfer = to_send.map(|segments| self.transfers.begin(id, now, segments, before));
        flow.sender.meter.start(now);
        flow.sender.pass_time(now, id, &mut self.transit.log);
        if flow.route.handshake {
            flow.life = Life::Opening;
            flow.sender.open(now);
            self.transit.send_syn(flow, at);
        } else {
            tracing::started(&mut self.transit.tracer, flow, now, false);
            self.send_first_window(id, at);
        }
    }

    /// Handles a SYN-ACK.
    #[cold]
    pub(super) fn on_syn_ack(&mut self, packet: Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let now = packet.at - flow.access;
        if flow.life != Life::Opening || packet.incarnation != flow.incarnation || now >= self.transit.window.to {
            return;
        }
        flow.sender.pass_time(now, flow.id, &mut self.transit.log);
        let timeouts = flow.sender.on_syn_ack(now, packet.stamp);
        if let Some(tracer) = &mut self.transit.tracer {
            tracer.opened(flow.id, now, packet.stamp);
        }
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

    /// TCP settings of a connection.
    pub(super) fn tcp(&self, id: u32) -> &Tcp {
        if let Some(group) = self.flows[id as usize].web {
            return &self.scenario.web[group as usize].tcp;
        }
        let mut groups =
            self.scenario.flows.iter().flat_map(|group| std::iter::repeat_n(&group.tcp, group.count as usize));
        groups.nth(id as usize).expect("a flow of a group")
    }

    /// Sends the first window of an established connection.
    pub(super) fn send_first_window(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        flow.life = Life::Open;
        let now = at - flow.access;
        let before = flow.sender.counters().sent;
        self.begin_client(id, at);
        self.send_what_is_due(id, at);
        let flow = &self.flows[id as usize];
        let sent = u32::try_from(flow.sender.counters().sent - before).unwrap_or(u32::MAX);
        self.first_segments = self.first_segments.saturating_add(sent);
        if u64::from(self.first_segments) >= burst::PART {
            self.look_at_memory(now);
        }
    }

    /// Begins a new connection for a web transfer. Returns false after the stop time of the group.
    pub(super) fn reopen(&mut self, id: u32, group: u32, now: Nanos) -> bool {
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

    pub(super) fn stop(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let now = at - flow.access;
        if flow.life == Life::Idle || now >= self.transit.window.to {
            return;
        }
        if flow.source.as_mut().is_some_and(|source| source.stop_client()) {
            return;
        }
        let unsent = flow.sender.stop();
        self.stop_source(id, now);
        let flow = &mut self.flows[id as usize];
        if unsent {
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

    /// Handles the acknowledgement of a flow's last segment. Its transfer is complete, unless the flow stopped before.
    pub(super) fn complete(&mut self, id: u32, now: Nanos) {
        self.end_app_limited(id, now);
        let flow = &mut self.flows[id as usize];
        flow.life = Life::Idle;
        if let Some(tracer) = &mut self.transit.tracer {
            tracer.finished(id, now);
        }
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

    pub(super) fn begin_poisson_transfer(&mut self, group: u32, at: Nanos) {
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

    /// Schedules a transfer of a Poisson process at `at`, unless the run ends before.
    pub(super) fn set_transfer(&mut self, group: u32, at: Nanos) {
        if at <= self.transit.window.to {
            let identity = self.web[group as usize].identity;
            self.transit.timers.set_of(at, Timer::Transfer(group), identity);
        }
    }

    pub(super) fn on_retransmit_timer(&mut self, id: u32, at: Nanos) {
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
        tracing::timed_out(&mut self.transit.tracer, flow, now);
        self.send_what_is_due(id, at);
    }

    /// Handles the pacing of flow `id` at `at`, after other timers of this moment.
    #[inline(never)]
    pub(super) fn on_pace(&mut self, id: u32, at: Nanos) {
        if self.transit.timers.next_time() == at {
            return self.transit.timers.set_of(at, Timer::Pace(id), self.transit.schedule.flow(id));
        }
        self.transit.prefetch_next_note();
        self.transit.by_timer = true;
        self.on_pace_timer(id, at);
        self.transit.by_timer = false;
    }

    /// Sends segments that the pacer held back.
    #[inline(always)]
    pub(super) fn on_pace_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let now = at - flow.access;
        if flow.life != Life::Open || now >= self.transit.window.to {
            return;
        }
        flow.sender.pass_time(now, id, &mut self.transit.log);
        if flow.source.is_some() {
            return self.serve_source(id, at);
        }
        self.transit.pump_one_by_one(flow, at, now);
        self.transit.arm(flow);
    }

    pub(super) fn on_ack_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        if flow.ack_timer_at != at {
            return;
        }
        flow.ack_timer_at = Nanos::MAX;
        match flow.ack_deadline() {
            Some(due) if due <= at => self.transit.acknowledge(flow, at),
            _ => self.transit.arm_ack(flow),
        }
    }
}
