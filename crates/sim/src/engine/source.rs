//! Flows whose applications do not always have data.
//!
//! A sender with unsent data asks its application for more at its own events. Only a sender that has sent everything needs an event of the
//! application, [`Timer::Write`].

use super::Engine;
use super::timers::Timer;
use crate::packet::Packet;
use crate::report::percentiles::Histogram;
use crate::traffic::connection::Life;
use crate::transport::policy::Policy;
use fullpipe_cc::Nanos;
use std::collections::BTreeMap;

/// Frames of a group of flows.
#[derive(Default)]
pub(super) struct FramesOfGroup {
    /// Delays of delivered frames.
    pub delays: Histogram,
    /// Late frames, and frames that could have been late; `None` without a deadline.
    pub late: Option<(u64, u64)>,
}

impl<P: Policy> Engine<P> {
    /// An ACK reaches the sender of an application. By value: a reference to the packet of the loop would keep every packet in memory
    /// instead of registers (three links took a quarter more time).
    #[inline(never)]
    pub(super) fn on_ack_of_source(&mut self, packet: Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let Some(now) = self.transit.hand_over(flow, &packet) else { return };
        let over = flow.source.as_ref().is_some_and(|source| source.is_over());
        if over && flow.sender.finished() {
            return self.complete(packet.flow, now);
        }
        self.serve_source(packet.flow, packet.at);
    }

    /// Sends data that the application has and the window allows.
    pub(super) fn send_what_is_due(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        match flow.source {
            None => self.transit.pump(flow, at),
            Some(_) => self.serve_source(id, at),
        }
    }

    /// The application of flow `id` writes.
    pub(super) fn on_write_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let Some(source) = flow.source.as_mut().filter(|source| source.timer_at == at) else { return };
        source.timer_at = Nanos::MAX;
        let now = at - flow.access;
        if flow.life == Life::Open && now < self.transit.window.to {
            flow.sender.pass_time(now, id, &mut self.transit.log);
            self.serve_source(id, at);
        }
    }

    /// Lets the application write the data due at `at`, and the sender send as far as it may.
    pub(super) fn serve_source(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let now = at - flow.access;
        let before = flow.sender.counters().sent;
        if let Some(source) = &mut flow.source {
            source.app_limited.end(now, self.transit.window);
            let written = source.written(now, flow.sender.high());
            flow.sender.write(written);
            flow.sender.validate(now, &mut source.validation);
            flow.sender.restart_after_idle(now, &mut source.validation);
        }
        self.transit.pump(flow, at);
        let Some(source) = &mut flow.source else { return };
        flow.sender.note_attempt(now, before, &mut source.validation);
        if let Some(from) = flow.sender.app_limited_from(now) {
            source.app_limited.begin(from);
        }
        let next = source.next_write(now, flow.sender.has_unsent()).saturating_add(flow.access);
        if next < source.timer_at {
            source.timer_at = next;
            self.transit.timers.set_of(next, Timer::Write(id), self.transit.schedule.flow(id));
        }
    }

    /// The application of flow `id` stops at `now`, if it is one that does not always have data.
    pub(super) fn stop_source(&mut self, id: u32, now: Nanos) {
        let flow = &mut self.flows[id as usize];
        if let Some(source) = &mut flow.source {
            source.stop(now, flow.sender.high());
        }
    }

    /// Frames of each group of flows that has any.
    pub(super) fn frames_of_groups(&self) -> BTreeMap<&str, FramesOfGroup> {
        let mut sums: BTreeMap<&str, FramesOfGroup> = BTreeMap::new();
        let groups = self.scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        for (flow, group) in self.flows.iter().zip(groups) {
            let Some((delays, late)) = flow.source.as_ref().and_then(|source| source.frames()) else { continue };
            let all = sums.entry(group.tcp.group()).or_default();
            all.delays.add(delays.delays());
            if let Some((late, due)) = late {
                let (before, before_due) = all.late.unwrap_or_default();
                all.late = Some((before + late, before_due + due));
            }
        }
        sums
    }

    /// Ends the time without data of flow `id` at `now`.
    pub(super) fn end_app_limited(&mut self, id: u32, now: Nanos) {
        if let Some(source) = &mut self.flows[id as usize].source {
            source.app_limited.end(now, self.transit.window);
        }
    }
}
