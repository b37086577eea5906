//! Departures of packets from links that are served, and datagrams.

use super::Engine;
use super::timers::Timer;
use crate::packet::{Packet, PacketKind};
use crate::transport::policy::Policy;
use fullpipe_cc::Nanos;

impl<P: Policy> Engine<P> {
    /// Serves a link, whose next packet is due.
    #[inline(never)]
    pub(super) fn serve(&mut self, place: u32, now: Nanos) {
        self.transit.serve(place, now);
        self.hand_on(place);
    }

    /// Passes on packets that have left a served link.
    #[inline(never)]
    fn hand_on(&mut self, place: u32) {
        while let Some(packet) = self.transit.network.served[place as usize].next_departed() {
            self.leave(&packet, packet.at);
        }
    }

    /// Serves links up to `end`, the end of the run. Their timers may be set for later.
    #[cold]
    #[inline(never)]
    pub(super) fn take_last_turns(&mut self, end: Nanos) {
        loop {
            let due = |place: &u32| self.transit.network.served[*place as usize].due();
            let places = 0..self.transit.network.served.len() as u32;
            let Some(place) = places.min_by_key(due) else { return };
            let now = due(&place);
            if now >= end {
                return;
            }
            self.serve(place, now);
        }
    }

    /// Applies a scheduled change of a link.
    #[inline(never)]
    pub(super) fn change(&mut self, place: u32, now: Nanos) {
        if let Some(packet) = self.transit.change(place, now) {
            self.leave(&packet, packet.at);
        }
    }

    /// Passes on a packet that has left a served link, and reaches the far end at `at`.
    #[inline(always)]
    pub(super) fn leave(&mut self, packet: &Packet, at: Nanos) {
        if packet.kind == PacketKind::Datagram {
            let source = &mut self.datagrams[packet.flow as usize];
            let packet = Packet { at, ..*packet };
            if source.frames.is_some() {
                return self.leave_of_frame(packet);
            }
            source.received += u64::from(self.transit.leave_datagram(source.route, source.size, packet));
        } else {
            self.transit.leave(&mut self.flows[packet.flow as usize], packet, at);
        }
    }

    pub(super) fn carry_datagram(&mut self, packet: Packet) {
        let source = &mut self.datagrams[packet.flow as usize];
        if source.frames.is_some() {
            return self.carry_of_frame(packet);
        }
        source.received += u64::from(self.transit.carry_datagram(source.route, source.size, packet, false));
    }

    #[inline(never)]
    pub(super) fn carry_of_frame(&mut self, packet: Packet) {
        let source = &mut self.datagrams[packet.flow as usize];
        if let Some(at) = self.transit.carry_of_frame(source.route, source.size, packet, false) {
            source.arrive_of_frame(packet.stamp, at, self.transit.window);
        }
    }

    #[inline(never)]
    pub(super) fn leave_of_frame(&mut self, packet: Packet) {
        let source = &mut self.datagrams[packet.flow as usize];
        if let Some(at) = self.transit.leave_of_frame(source.route, source.size, packet) {
            source.arrive_of_frame(packet.stamp, at, self.transit.window);
        }
    }

    pub(super) fn send_datagram(&mut self, id: u32, at: Nanos) {
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
    pub(super) fn send_of_frame(&mut self, id: u32, at: Nanos) {
        let source = &mut self.datagrams[id as usize];
        let Some((packet, next)) = source.send_of_frame(id, at, self.transit.window) else { return };
        self.transit.count.sent += 1;
        self.transit.timers.set_of(next, Timer::Datagram(id), source.identity);
        self.carry_of_frame(packet);
    }
}
