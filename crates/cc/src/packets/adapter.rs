//! Packet-level controller as an algorithm of segments.

use super::control::{Event, PacketControl, Path};
use crate::parts::number::float;
use crate::{Ack, CongestionControl, Flow, Signal, Start};
use core::fmt::{self, Display};

/// Largest window of a packet-level controller, bytes.
const LARGEST_WINDOW: u64 = 1 << 50;

/// States of draft-ietf-ccwg-bbr in the order of its section 5.1, by the names that [`PacketControl::state`] returns.
pub const PHASES: [&str; 7] =
    ["Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT"];

/// Packet-level controller in the form of [`CongestionControl`]: windows and rates are divided by the size of a datagram. Senders pass
/// packet events to it ([`CongestionControl::on_event`]), and no others.
///
/// ```
/// use fullpipe_cc::packets::{Acked, Event, NewReno, Packets, Path, Sent};
/// use fullpipe_cc::{CongestionControl, Start};
///
/// let start = Start::from(10.0).segment_bytes(1200);
/// let mut cc = Packets::new(NewReno::new(&start), &start);
/// let acked = [Acked { sent: Sent { bytes: 1200, ..Sent::default() }, ..Acked::default() }];
/// let mut path = Path::default();
/// (path.datagram, path.cwnd_limited) = (1200, true);
/// cc.on_event(&path, &Event::Acked(&acked, None));
/// assert_eq!(cc.cwnd(), 11.0, "12000 + 1200 bytes in datagrams of 1200");
/// ```
#[derive(Debug)]
pub struct Packets<C> {
    control: C,
    datagram: u64,
    has_states: bool,
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
            Unsound::Window(_) => write!(f, "; it must be in [{}, {LARGEST_WINDOW}] bytes", self.datagram),
            Unsound::Rate(_) => write!(f, "; it must be above 0 bytes per second, or none"),
        }
    }
}

impl<C: PacketControl> Packets<C> {
    /// Adapter around a controller of a connection that begins as `start` has it.
    pub fn new(control: C, start: &Start) -> Packets<C> {
        let (has_states, datagram) = (!control.state().is_empty(), u64::from(start.segment_bytes).max(1));
        let mut packets = Packets { control, datagram, has_states, fault: None };
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
        if let Event::Mtu(datagram) = *event {
            self.datagram = datagram;
        }
        event.call(path, &mut self.control);
        self.check(event.name());
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.control.fault().or_else(|| self.fault.as_ref().map(|fault| fault as &dyn Display))
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.control.inspect(visit);
        // Names never change, so that a state without a place is shown as NaN.
        if self.has_states {
            let state = self.control.state();
            let place = (0..).zip(PHASES).find(|&(_, name)| name == state);
            visit("phase", place.map_or(f64::NAN, |(place, _)| float(place)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::{Acked, Lost, Rtt};

    struct Named(&'static str);

    impl PacketControl for Named {
        fn window_bytes(&self) -> u64 {
            14_720
        }
        fn on_packets_acked(&mut self, _: &Path, _: &[Acked], _: Option<Rtt>) {}
        fn on_packets_lost(&mut self, _: &Path, _: &[Lost], _: bool) {}
        fn state(&self) -> &'static str {
            self.0
        }
    }

    struct Paced(f64);

    impl PacketControl for Paced {
        fn window_bytes(&self) -> u64 {
            14_720
        }
        fn on_packets_acked(&mut self, _: &Path, _: &[Acked], _: Option<Rtt>) {}
        fn on_packets_lost(&mut self, _: &Path, _: &[Lost], _: bool) {}
        fn pacing_rate_bytes_per_s(&self) -> Option<f64> {
            Some(self.0)
        }
    }

    #[test]
    fn a_pacing_rate_is_above_zero() {
        for (rate, allowed) in [(0.001, true), (0.0, false), (-1.0, false), (f64::NAN, false)] {
            let packets = Packets::new(Paced(rate), &Start::from(10.0));
            assert_eq!(packets.fault().is_none(), allowed, "{rate}");
        }
    }

    #[test]
    fn states_are_shown_by_their_places() {
        let phase = |name| {
            let mut shown = None;
            Packets::new(Named(name), &Start::from(10.0)).inspect(&mut |name, value| shown = Some((name, value)));
            shown
        };
        assert_eq!(phase("Startup"), Some(("phase", 0.0)));
        assert_eq!(phase("ProbeRTT"), Some(("phase", 6.0)));
        assert!(phase("Open").is_some_and(|(_, value)| value.is_nan()));
        assert_eq!(phase(""), None);
    }
}
