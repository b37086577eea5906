//! Paths of datagrams.

use super::Transit;
use crate::network::{End, Hop, Route};
use crate::packet::Packet;
use fullpipe_cc::Nanos;

impl Transit {
    /// Moves a datagram of `size` bytes along its path. Returns whether it is delivered in the measurement interval.
    pub fn carry_datagram(&mut self, route: Route, size: u32, mut packet: Packet, ahead: bool) -> bool {
        self.follow_datagram(route, size, &mut packet, ahead) && self.count_delivered(packet.at)
    }

    /// As [`Transit::leave`], for a datagram.
    pub fn leave_datagram(&mut self, route: Route, size: u32, mut packet: Packet) -> bool {
        let hop = self.network.hop(route, packet.hop);
        self.datagram_goes_on(hop, &mut packet) && self.carry_datagram(route, size, packet, true)
    }

    /// As [`Transit::carry_datagram`], for a datagram of a frame. Returns its delivery time, in the measurement interval or not.
    pub fn carry_of_frame(&mut self, route: Route, size: u32, mut packet: Packet, ahead: bool) -> Option<Nanos> {
        let delivered = self.follow_datagram(route, size, &mut packet, ahead);
        delivered.then(|| {
            self.count_delivered(packet.at);
            packet.at
        })
    }

    /// As [`Transit::leave`], for a datagram of a frame.
    pub fn leave_of_frame(&mut self, route: Route, size: u32, mut packet: Packet) -> Option<Nanos> {
        let hop = self.network.hop(route, packet.hop);
        if self.datagram_goes_on(hop, &mut packet) { self.carry_of_frame(route, size, packet, true) } else { None }
    }

    /// Moves a datagram of `size` bytes up to its next event. Returns whether it is delivered.
    #[inline(always)]
    fn follow_datagram(&mut self, route: Route, size: u32, packet: &mut Packet, mut ahead: bool) -> bool {
        while packet.hop < route.hops {
            let hop = self.network.hop(route, packet.hop);
            if let End::Fifo(place) = hop.end {
                let link = &mut self.network.fifos[place as usize];
                let Some(departure) = link.accept(packet.at, size) else {
                    self.count_lost(packet.at);
                    return false;
                };
                packet.at = departure + link.delay;
            } else if !self.offer(route, hop, packet, size, ahead) {
                return false;
            }
            if !self.datagram_goes_on(hop, packet) {
                return false;
            }
            ahead = true;
        }
        true
    }

    fn datagram_goes_on(&mut self, hop: Hop, packet: &mut Packet) -> bool {
        packet.hop += 1;
        if !hop.runs_on {
            self.schedule.push(hop.direction, packet);
        }
        hop.runs_on
    }
}
