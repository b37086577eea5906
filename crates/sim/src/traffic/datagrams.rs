//! Constant-rate traffic without congestion control.

use crate::network::Route;
use crate::network::line::{Line, Transmission};
use crate::packet::{Packet, PacketKind};
use crate::rng::Identity;
use crate::scenario::Udp;
use crate::traffic::frames::FrameSource;
use crate::window::Window;
use fullpipe_cc::Nanos;

/// One source.
pub struct DatagramSource {
    /// The way of its datagrams.
    pub route: Route,
    /// One-way delay to its first link.
    pub access: Nanos,
    /// Time of the next datagram at the source's rate.
    line: Line,
    each: Transmission,
    /// Bytes of a datagram.
    pub size: u32,
    /// Which `[[udp]]` it belongs to.
    pub group: u32,
    /// Its rank where events tie.
    pub identity: Identity,
    stop: Nanos,
    /// Its frames; `None` where each datagram follows the one before.
    pub frames: Option<Box<FrameSource>>,
    /// Datagrams sent in the measuring window.
    pub sent: u64,
    /// Datagrams that have arrived in it.
    pub received: u64,
}

impl DatagramSource {
    /// One that has sent nothing, and begins at `start`, by its own time.
    pub fn new(
        udp: &Udp,
        (group, identity): (u32, Identity),
        route: Route,
        start: Nanos,
        access: Nanos,
    ) -> DatagramSource {
        let line = Line::new(udp.rate_bps);
        let (each, stop) = (line.transmission(udp.packet_size), udp.stop.unwrap_or(Nanos::MAX));
        let frames = udp.frames.map(|law| Box::new(FrameSource::new(law, udp.packet_size, start)));
        DatagramSource {
            route,
            access,
            line,
            each,
            size: udp.packet_size,
            group,
            identity,
            stop,
            frames,
            sent: 0,
            received: 0,
        }
    }

    /// Turn of the source at `at`, when its datagram reaches the first link: the datagram of source `id`, and the time of the next turn;
    /// `None` where it sends no more.
    pub fn send(&mut self, id: u32, at: Nanos, window: Window) -> Option<(Packet, Nanos)> {
        let now = at - self.access;
        if now > self.stop || now >= window.to {
            return None;
        }
        self.sent += u64::from(window.contains(now));
        self.line.rest_until(at);
        self.line.send(self.each);
        Some((Packet { at, flow: id, kind: PacketKind::Datagram, ..Packet::default() }, self.line.free()))
    }

    /// Turn of a source of frames.
    pub fn send_of_frame(&mut self, id: u32, at: Nanos, window: Window) -> Option<(Packet, Nanos)> {
        let now = at - self.access;
        let frames = self.frames.as_mut()?;
        if now > self.stop && !frames.in_the_middle() || now >= window.to {
            return None;
        }
        let counts = window.contains(now);
        self.sent += u64::from(counts);
        self.line.rest_until(at);
        self.line.send(self.each);
        let (number, made) = frames.send(counts);
        let next = self.line.free().max(made.map_or(0, |made| made.saturating_add(self.access)));
        Some((Packet { at, stamp: number, flow: id, kind: PacketKind::Datagram, ..Packet::default() }, next))
    }

    /// A datagram of a frame has arrived at `at`.
    pub fn arrive_of_frame(&mut self, number: u64, at: Nanos, window: Window) {
        self.received += u64::from(window.contains(at));
        if let Some(frames) = &mut self.frames {
            frames.arrive(number, at, window);
        }
    }
}
