//! Constant-rate traffic without congestion control.

use crate::network::Route;
use crate::network::line::{Line, Transmission};
use crate::packet::{Kind, Packet};
use crate::scenario::Udp;
use crate::window::Window;
use fullpipe_cc::Nanos;

/// One source.
pub struct DatagramSource {
    /// The way of its datagrams.
    pub route: Route,
    /// One-way delay to its first link.
    pub access: Nanos,
    /// What the rate makes of `each` datagram: when the next one is due.
    line: Line,
    each: Transmission,
    /// Bytes of a datagram.
    pub size: u32,
    /// Which `[[udp]]` it belongs to.
    pub group: u32,
    stop: Nanos,
    /// Datagrams sent in the measuring window.
    pub sent: u64,
    /// Datagrams that have arrived in it.
    pub received: u64,
}

impl DatagramSource {
    /// One that has sent nothing.
    pub fn new(udp: &Udp, group: u32, route: Route, access: Nanos) -> DatagramSource {
        let line = Line::new(udp.rate_bps);
        let (each, stop) = (line.transmission(udp.packet_size), udp.stop.unwrap_or(Nanos::MAX));
        DatagramSource { route, access, line, each, size: udp.packet_size, group, stop, sent: 0, received: 0 }
    }

    /// The source's turn at `at`, when what it sends reaches the first link: the datagram of source `id`, and when its next turn is;
    /// `None` where it sends no more.
    pub fn send(&mut self, id: u32, at: Nanos, window: Window) -> Option<(Packet, Nanos)> {
        let now = at - self.access;
        if now > self.stop || now >= window.to {
            return None;
        }
        self.sent += u64::from(window.contains(now));
        self.line.rest_until(at);
        self.line.send(self.each);
        Some((Packet { at, flow: id, kind: Kind::Datagram, ..Packet::default() }, self.line.free()))
    }
}
