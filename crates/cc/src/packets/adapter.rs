//! Packet-level controller as an algorithm of segments.

use super::control::{Event, PacketControl, Path};
use crate::parts::number::float;
use crate::{Ack, CongestionControl, Flow, Signal, Start};
use core::fmt::{self, Display};

/// Largest window of a packet-level controller, bytes.
const LARGEST_WINDOW: u64 = 1 << 50;

/// Packet-level controller in the form of [`CongestionControl`]: windows and rates are divided by the size of a datagram. Senders pass
/// packet events to it ([`CongestionControl::on_event`]), and no others.
#[derive(Debug)]
pub struct Packets<C> {
    control: C,
    datagram: u64,
    fault: Option<Fault>,
}

/// Window or rate that is not allowed, and the event after which a controller returned it.
#[derive(Debug)]
struct Fault {
    what: Unsound,
    method: &'static str,
    packet: Option<u64>,
    datagram: u64,
}

#[derive(Debug)]
enum Unsound {
    Window(u64),
    Rate(f64),
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.what {
            Unsound::Window(window) => write!(f, "returned window {window} after {}", self.method)?,
            Unsound::Rate(rate) => write!(f, "returned pacing rate {rate} after {}", self.method)?,
        }
        if let Some(packet) = self.packet {
            write!(f, " (packet {packet})")?;
        }
        match self.what {
            Unsound::Window(_) => write!(f, "; allowed: {} to {LARGEST_WINDOW} bytes", self.datagram),
            Unsound::Rate(_) => write!(f, "; allowed: above 0 bytes per second, or none"),
        }
    }
}

impl<C: PacketControl> Packets<C> {
    /// Adapter around a controller of a connection that begins as `start` has it.
    pub fn new(control: C, start: &Start) -> Packets<C> {
        let mut packets = Packets { control, datagram: u64::from(start.segment_bytes).max(1), fault: None };
        packets.check(("create", None));
        packets
    }

    /// Controller.
    pub fn control(&self) -> &C {
        &self.control
    }

    /// Keeps the first window or rate that is not allowed.
    fn check(&mut self, (method, packet): (&'static str, Option<u64>)) {
        if self.fault.is_some() || self.control.fault().is_some() {
            return;
        }
        let window = self.control.window_bytes();
        let what = if !(self.datagram..=LARGEST_WINDOW).contains(&window) {
            Unsound::Window(window)
        } else {
            match self.control.pacing_rate_bytes_per_s().filter(|rate| rate.is_nan() || *rate <= 0.0) {
                Some(rate) => Unsound::Rate(rate),
                None => return,
            }
        };
        self.fault = Some(Fault { what, method, packet, datagram: self.datagram });
    }
}

impl<C: PacketControl> CongestionControl for Packets<C> {
    fn cwnd(&self) -> f64 {
        float(self.control.window_bytes()) / float(self.datagram)
    }

    fn ssthresh(&self) -> f64 {
        self.control.ssthresh_bytes().map_or(f64::INFINITY, |bytes| float(bytes) / float(self.datagram))
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.control.pacing_rate_bytes_per_s().map(|rate| rate / float(self.datagram))
    }

    fn send_quantum(&self) -> u64 {
        (self.control.send_quantum_bytes() / self.datagram).max(1)
    }

    fn rules_recovery(&self) -> bool {
        true
    }

    fn holds_back(&self) -> bool {
        self.control.marks_app_limited()
    }

    fn on_ack(&mut self, _: &Flow, _: &Ack) {}

    fn on_congestion(&mut self, _: &Flow, _: Signal) {}

    fn on_undo(&mut self, _: f64, _: f64) {}

    fn takes_packets(&self) -> bool {
        true
    }

    fn is_packet_level(&self) -> bool {
        true
    }

    fn on_event(&mut self, path: &Path, event: &Event) {
        event.call(path, &mut self.control);
        self.check(event.name());
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.control.fault().or_else(|| self.fault.as_ref().map(|fault| fault as &dyn Display))
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.control.inspect(visit);
    }
}
