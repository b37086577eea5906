//! Departures of packets from links that are served, and datagrams.

use super::Engine;
use super::timers::Timer;
use crate::network::served::Departed;
use crate::packet::{Kind, Packet};
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
    pub(super) fn hand_on(&mut self, place: u32) {
        let (mut departed, mut stock) = self.transit.network.served[place as usize].take_departed();
        for &Departed { at, place } in &departed {
            let packet = Packet { at, ..stock.take(place).packet };
            self.leave(packet);
        }
        departed.clear();
        // No path crosses a link twice, so no packet has arrived or left meanwhile.
        self.transit.network.served[place as usize].give_back(departed, stock);
    }

    /// Serves links up to `end`, the end of the run. Their timers may be set for later.
    #[cold]
    #[inline(never)]
    pub(super) fn take_last_turns(&mut self, end: Nanos) {
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

    /// Applies a scheduled change of a link.
    #[inline(never)]
    pub(super) fn change(&mut self, place: u32, now: Nanos) {
        let mut packet = Packet::default();
        if self.transit.change(place, now, &mut packet) {
            self.leave(packet);
        }
    }

    /// Passes on a packet that has left a served link.
    #[inline(always)]
    pub(super) fn leave(&mut self, packet: Packet) {
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
