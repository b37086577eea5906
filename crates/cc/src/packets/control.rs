//! Trait of a packet-level controller, and the state that it reads.

use super::record::{Acked, Lost, LostBy, Rtt, Sent};
use crate::time::Nanos;
use core::fmt::Display;

/// State of a sender after an event: times in nanoseconds, sizes in bytes. All calls of one ACK see equal values.
///
/// Example: see [`NewReno`](super::NewReno).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Path {
    /// Time of the event.
    pub now: Nanos,
    /// Bytes sent that are neither acknowledged, lost, nor discarded.
    pub in_flight: u64,
    /// Bytes in flight before the event: FlightSize of RFC 9438 section 4.6.
    pub prior_in_flight: u64,
    /// Bytes delivered since the connection began.
    pub delivered: u64,
    /// Bytes declared lost since the connection began.
    pub lost: u64,
    /// Bytes of `lost` that arrived after all.
    pub spurious: u64,
    /// Bytes sent since the connection began.
    pub sent: u64,
    /// Packets marked CE since the connection began.
    pub ce: u64,
    /// Time of the last delivery (C.delivered_time of draft-ietf-ccwg-bbr).
    pub delivered_at: Nanos,
    /// Start of the next sampling interval (C.first_send_time of draft-ietf-ccwg-bbr).
    pub first_sent_at: Nanos,
    /// Latest RTT sample; `None` before the first.
    pub latest_rtt: Option<Nanos>,
    /// Smoothed RTT (RFC 9002 section 5.3, RFC 6298).
    pub smoothed_rtt: Option<Nanos>,
    /// RTT variation.
    pub rttvar: Option<Nanos>,
    /// Minimum RTT, without regard to ACK delay.
    pub min_rtt: Option<Nanos>,
    /// Longest time that the receiver delays an ACK.
    pub max_ack_delay: Nanos,
    /// Probe timeout without backoff (RFC 9002 section 6.2.1), or retransmission timeout.
    pub pto: Nanos,
    /// Number of the next packet.
    pub next_packet: u64,
    /// Round trips completed: a round ends when a packet sent after its start is acknowledged.
    pub round: u64,
    /// The sender is in a recovery period (RFC 9002 section 7.3.2).
    pub in_recovery: bool,
    /// The window limited the sender once in the last round.
    pub cwnd_limited: bool,
    /// Nothing was left to send at the last attempt, while window and pacer permitted a packet.
    pub app_limited: bool,
    /// Largest packet.
    pub datagram: u64,
}

/// Congestion controller at packet level: a window in bytes from per-packet events.
///
/// Order of calls for an ACK: [`on_spurious_loss`](Self::on_spurious_loss), [`on_ecn_ce`](Self::on_ecn_ce),
/// [`on_packets_lost`](Self::on_packets_lost), [`on_packets_acked`](Self::on_packets_acked). Losses come before acknowledgments, so that a
/// controller that leaves recovery on an ACK does not meet losses of that ACK afterwards.
///
/// Example: see [`packets`](crate::packets), and [`NewReno`](super::NewReno) for the calls.
pub trait PacketControl {
    /// Congestion window; at least one datagram and at most 2^50 bytes. Read after every event.
    fn window_bytes(&self) -> u64;

    /// Packets newly acknowledged by one ACK, in ascending order of their numbers. Packets declared lost before are not among them.
    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>);

    /// Packets found lost together, in ascending order of their numbers. `persistent`: persistent congestion (RFC 9002 section 7.6), or
    /// with TCP a retransmission timeout.
    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool);

    /// Packet that has just left, probes included.
    fn on_packet_sent(&mut self, _path: &Path, _sent: &Sent) {}

    /// The receiver reports `count` more packets marked CE. By default this is the loss of `largest`, the newest acknowledged packet.
    fn on_ecn_ce(&mut self, path: &Path, _count: u64, largest: &Acked) {
        let (by, reserved) = (LostBy::PacketThreshold, [0; 7]);
        let marked = Lost { sent: largest.sent, by, reserved, lost_since_sent: 0, delivered_since_sent: 0 };
        self.on_packets_lost(path, &[marked], false);
    }

    /// Packets declared lost have been acknowledged. `all`: every loss of the episode has proved spurious.
    fn on_spurious_loss(&mut self, _path: &Path, _arrived: &[Lost], _all: bool) {}

    /// The probe timeout has expired `count` times in a row. No window change is due (RFC 9002 section 7.5).
    fn on_pto(&mut self, _path: &Path, _count: u32) {}

    /// Nothing is left to send while window and pacer permit a packet.
    fn on_app_limited(&mut self, _path: &Path) {}

    /// The next packet follows a time with nothing in flight.
    fn on_restart(&mut self, _path: &Path) {}

    /// The largest datagram has another size from now on, for example in a tunnel.
    fn on_mtu(&mut self, _path: &Path, _max_datagram_bytes: u64) {}

    /// Bytes have left flight without ACK and without congestion: a path MTU probe is lost (RFC 9000 section 14.4).
    fn on_discarded(&mut self, _path: &Path, _bytes: u64) {}

    /// The peer has acknowledged an ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency section 4): it sends an ACK after more than
    /// `threshold` packets, or after `max_ack_delay`. A connection with the default frequency sends no such frame.
    fn on_ack_frequency(&mut self, _path: &Path, _threshold: u64, _max_ack_delay: Nanos) {}

    /// Pacing rate; `None` for 1.25 windows per smoothed RTT over QUIC, and for no pacing over TCP.
    fn pacing_rate_bytes_per_s(&self) -> Option<f64> {
        None
    }

    /// Largest burst of a paced sender.
    fn send_quantum_bytes(&self) -> u64 {
        0
    }

    /// Rate samples of packets sent now count as limited by the application (draft-ietf-ccwg-bbr, section 5.3.4.3).
    fn marks_app_limited(&self) -> bool {
        false
    }

    /// ECN codepoint of data packets: 0 for ECT(0), 1 for ECT(1), `None` for that of the scenario. The scenario's keys `ecn` and `ect` have
    /// precedence. Read once, of a controller with default parameters, when a library is loaded. In a catalogue,
    /// [`MadeForEcn`](crate::params::MadeForEcn) has this value.
    fn ect(&self) -> Option<u8> {
        None
    }

    /// Slow-start threshold, for traces.
    fn ssthresh_bytes(&self) -> Option<u64> {
        None
    }

    /// Name of the state. The series `phase` of a controller has its place in [`PHASES`](super::PHASES), or NaN. A controller without
    /// states returns "", always.
    fn state(&self) -> &'static str {
        ""
    }

    /// Failure that ends the run, if there is one. For controllers that call code which may fail.
    fn fault(&self) -> Option<&dyn Display> {
        None
    }

    /// Shows named internals to `visit`, as [`CongestionControl::inspect`](crate::CongestionControl::inspect).
    fn inspect(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// Call of a [`PacketControl`] method, for transports and adapters that pass calls on.
///
/// ```
/// use fullpipe_cc::Start;
/// use fullpipe_cc::packets::{Event, Lost, NewReno, PacketControl, Path, Sent};
///
/// let mut cc = NewReno::new(&Start::from(20.0).segment_bytes(1200));
/// let lost = [Lost { sent: Sent { number: 3, ..Sent::default() }, ..Lost::default() }];
/// let event = Event::Lost(&lost, false);
/// event.call(&Path::default(), &mut cc);
/// assert_eq!((cc.window_bytes(), event.name()), (12_000, ("on_packets_lost", Some(3))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// [`PacketControl::on_packet_sent`].
    Sent(&'a Sent),
    /// [`PacketControl::on_packets_acked`].
    Acked(&'a [Acked], Option<Rtt>),
    /// [`PacketControl::on_packets_lost`].
    Lost(&'a [Lost], bool),
    /// [`PacketControl::on_ecn_ce`].
    EcnCe(u64, &'a Acked),
    /// [`PacketControl::on_spurious_loss`].
    SpuriousLoss(&'a [Lost], bool),
    /// [`PacketControl::on_pto`].
    Pto(u32),
    /// [`PacketControl::on_app_limited`].
    AppLimited,
    /// [`PacketControl::on_restart`].
    Restart,
    /// [`PacketControl::on_mtu`].
    Mtu(u64),
    /// [`PacketControl::on_discarded`].
    Discarded(u64),
    /// [`PacketControl::on_ack_frequency`].
    AckFrequency(u64, Nanos),
}

impl Event<'_> {
    /// Calls the method of `control`.
    pub fn call(&self, path: &Path, control: &mut impl PacketControl) {
        match *self {
            Event::Sent(sent) => control.on_packet_sent(path, sent),
            Event::Acked(acked, rtt) => control.on_packets_acked(path, acked, rtt),
            Event::Lost(lost, persistent) => control.on_packets_lost(path, lost, persistent),
            Event::EcnCe(count, largest) => control.on_ecn_ce(path, count, largest),
            Event::SpuriousLoss(arrived, all) => control.on_spurious_loss(path, arrived, all),
            Event::Pto(count) => control.on_pto(path, count),
            Event::AppLimited => control.on_app_limited(path),
            Event::Restart => control.on_restart(path),
            Event::Mtu(bytes) => control.on_mtu(path, bytes),
            Event::Discarded(bytes) => control.on_discarded(path, bytes),
            Event::AckFrequency(threshold, delay) => control.on_ack_frequency(path, threshold, delay),
        }
    }

    /// Name of the method, and the last packet that it is about.
    pub fn name(&self) -> (&'static str, Option<u64>) {
        match self {
            Event::Sent(sent) => ("on_packet_sent", Some(sent.number)),
            Event::Acked(acked, _) => ("on_packets_acked", acked.last().map(|packet| packet.sent.number)),
            Event::Lost(lost, _) => ("on_packets_lost", lost.last().map(|packet| packet.sent.number)),
            Event::EcnCe(_, largest) => ("on_ecn_ce", Some(largest.sent.number)),
            Event::SpuriousLoss(arrived, _) => ("on_spurious_loss", arrived.last().map(|packet| packet.sent.number)),
            Event::Pto(_) => ("on_pto", None),
            Event::AppLimited => ("on_app_limited", None),
            Event::Restart => ("on_restart", None),
            Event::Mtu(_) => ("on_mtu", None),
            Event::Discarded(_) => ("on_discarded", None),
            Event::AckFrequency(..) => ("on_ack_frequency", None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[derive(Default)]
    struct Seen(Vec<(Lost, bool)>);

    impl PacketControl for Seen {
        fn window_bytes(&self) -> u64 {
            14_720
        }
        fn on_packets_acked(&mut self, _: &Path, _: &[Acked], _: Option<Rtt>) {}
        fn on_packets_lost(&mut self, _: &Path, lost: &[Lost], persistent: bool) {
            self.0.extend(lost.iter().map(|lost| (*lost, persistent)));
        }
    }

    /// A mark shows no loss since the packet left, and no delivery.
    #[test]
    fn marks_are_by_default_the_loss_of_the_newest_packet() {
        let mut control = Seen::default();
        let sent = Sent { number: 7, bytes: 1200, sent_at: 5, ..Sent::default() };
        control.on_ecn_ce(&Path::default(), 3, &Acked { sent, ..Acked::default() });
        let [(lost, persistent)] = control.0[..] else { panic!("{:?}", control.0) };
        assert_eq!((lost.sent, lost.by, persistent), (sent, LostBy::PacketThreshold, false));
        assert_eq!((lost.lost_since_sent, lost.delivered_since_sent), (0, 0));
    }
}
