//! The trait, and how a connection begins.

use crate::packets;
use crate::slow_start::{Saved, SlowStart};
use crate::time::Nanos;
use crate::{Ack, Flow, Lost, Signal};
use core::fmt::Display;

/// A congestion control algorithm: what [`registry`](crate::registry) builds and a sender drives.
///
/// ```
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// struct Doubling(f64);
///
/// impl CongestionControl for Doubling {
///     fn cwnd(&self) -> f64 { self.0 }
///     fn ssthresh(&self) -> f64 { f64::INFINITY }
///     fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
///         if flow.may_grow(ack) { self.0 += ack.credit }
///     }
///     fn on_congestion(&mut self, _: &Flow, _: Signal) { self.0 = (self.0 / 2.0).max(1.0) }
///     fn on_undo(&mut self, cwnd: f64, _: f64) { self.0 = self.0.max(cwnd) }
/// }
///
/// let (mut cc, flow) = (Doubling(10.0), Flow::at(0).cwnd_limited(true));
/// cc.on_ack(&flow, &Ack::of(1, 1.0));
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 5.5);
/// ```
pub trait CongestionControl {
    /// The congestion window in segments; at least 1.
    ///
    /// Excludes the inflation of recovery (RFC 5681 section 3.2, step 4).
    fn cwnd(&self) -> f64;

    /// The slow-start threshold in segments; `f64::INFINITY` until the first congestion event.
    fn ssthresh(&self) -> f64;

    /// The rate at which packets leave, segments per second; `None` where they leave as ACKs come. An algorithm that gives a rate
    /// gives one from its construction on.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// How many segments a paced sender may send back to back; at least 1.
    fn send_quantum(&self) -> u64 {
        1
    }

    /// Whether it needs [`Ack::rate`] and is called for every ACK that delivers anything, of all that is sent and of all that is lost; the
    /// same from its construction on.
    fn takes_rate_samples(&self) -> bool {
        false
    }

    /// Its window holds in fast recovery as well, where others have proportional rate reduction (RFC 9937); constant.
    fn rules_recovery(&self) -> bool {
        false
    }

    /// Whether it sends less than the path may take: rate samples of packets sent meanwhile count as limited by the application
    /// (draft-ietf-ccwg-bbr, section 5.3.4.3: MarkConnectionAppLimited).
    fn holds_back(&self) -> bool {
        false
    }

    /// An ACK acknowledged new data: its cumulative point moved, or for an algorithm that takes rate samples, SACK reports new segments.
    /// An ACK that reports marks is passed as well, with `ack.acked == 0` and `ack.credit == 0.0` if it is a duplicate.
    ///
    /// Called in recovery too, with `flow.in_recovery` set, so that RTT filters stay fed; windows do not grow then.
    fn on_ack(&mut self, flow: &Flow, ack: &Ack);

    /// Congestion was found; called once per episode, before anything is retransmitted.
    fn on_congestion(&mut self, flow: &Flow, signal: Signal);

    /// The episode is over: all data outstanding when it began has been acknowledged.
    fn on_recovered(&mut self, _flow: &Flow) {}

    /// A segment is sent, for the first time or again; for algorithms that take rate samples. `flow` counts it.
    fn on_sent(&mut self, _flow: &Flow) {}

    /// A segment has been found lost; for algorithms that take rate samples. `flow` is as it is once all are that were found
    /// together; the ACK that has shown them is reported after.
    fn on_lost(&mut self, _flow: &Flow, _lost: &Lost) {}

    /// Whether it asks for [`on_packet_sent`](Self::on_packet_sent) and [`on_packet_lost`](Self::on_packet_lost), which cost others
    /// nothing; constant.
    fn takes_packets(&self) -> bool {
        false
    }

    /// Packet that has just left, a retransmission or probe included; for algorithms that ask for packets. `flow` counts it.
    fn on_packet_sent(&mut self, _flow: &Flow, _sent: &packets::Sent) {}

    /// Packet that was found lost; for algorithms that ask for packets. RACK reports a loss when it finds it, before the ACK that showed
    /// it. Other recoveries report it when they retransmit the segment.
    fn on_packet_lost(&mut self, _flow: &Flow, _lost: &packets::Lost) {}

    /// Whether it works at packet level ([`PacketControl`](packets::PacketControl)): [`on_event`](Self::on_event) is its only event; constant.
    fn is_packet_level(&self) -> bool {
        false
    }

    /// Event of a packet-level controller.
    fn on_event(&mut self, _path: &packets::Path, _event: &packets::Event) {}

    /// Spurious congestion event: the lost segments have arrived late. Before it the window was `cwnd` and the threshold `ssthresh`
    /// segments, and they are at least that again (RFC 4015 section 3.2, RFC 9438 section 4.9). Other memory of the event may stay.
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64);

    /// Restart or validation of the window by the sender, after idle time or a round that the application limited: the window is `cwnd` and
    /// the threshold `ssthresh` segments from now on (RFC 5681 section 4.1). Algorithms that model the path keep theirs.
    fn on_restart(&mut self, _cwnd: f64, _ssthresh: f64) {}

    /// Upper limit of the growth of a window that the sender does not use: the window is `cwnd` segments from now on
    /// (draft-ietf-ccwg-ratelimited-increase, section 3). BBR observes the limit in Startup.
    fn on_limit(&mut self, cwnd: f64) {
        self.on_restart(cwnd, self.ssthresh());
    }

    /// Failure that ends the run, if there is one. For algorithms that call code which may fail.
    fn fault(&self) -> Option<&dyn Display> {
        None
    }

    /// Shows the algorithm's named internals (such as `beta` or `extra`) to `visit`, for traces and plots.
    ///
    /// Names and their order never change; an unknown value is `f64::NAN`.
    fn inspect(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// How a connection begins. A plain number is its first window.
///
/// ```
/// use fullpipe_cc::packets::{NewReno, PacketControl};
/// use fullpipe_cc::{CongestionControl, Start, build};
///
/// let start = Start::from(10.0).segment_bytes(1200).seed(1);
/// assert_eq!(build("cubic", &[], start)?.cwnd(), 10.0);
/// assert_eq!(NewReno::new(&start).window_bytes(), 12_000);
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Start {
    /// The first window, segments.
    pub window: f64,
    /// Growth of the window until something is known of the path; for algorithms that take one of the sender's slow starts.
    pub slow_start: SlowStart,
    /// Values saved from an earlier connection, for careful resume. [`Started`](crate::Started) uses them.
    pub resume: Option<Saved>,
    /// Packets leave at a rate, and not as ACKs come.
    pub paced: bool,
    /// Bytes of a segment on the wire.
    pub segment_bytes: u32,
    /// RTT that the handshake has measured; `None` before it has ended. A connection that begins established has had its handshake
    /// over an idle path.
    pub rtt: Option<Nanos>,
    /// More than one loss can be found in a round trip, as with SACK.
    pub selective_acks: bool,
    /// Seed of random choices.
    pub seed: u64,
}

impl Start {
    /// Start with another slow start.
    #[must_use]
    pub fn slow_start(self, slow_start: SlowStart) -> Start {
        Start { slow_start, ..self }
    }

    /// Start with values saved from an earlier connection.
    #[must_use]
    pub fn resume(self, saved: Saved) -> Start {
        Start { resume: Some(saved), ..self }
    }

    /// Start of a paced connection, or of one that is not.
    #[must_use]
    pub fn paced(self, paced: bool) -> Start {
        Start { paced, ..self }
    }

    /// Start with segments of `segment_bytes` bytes.
    #[must_use]
    pub fn segment_bytes(self, segment_bytes: u32) -> Start {
        Start { segment_bytes, ..self }
    }

    /// Start after a handshake that has measured this RTT.
    #[must_use]
    pub fn rtt(self, rtt: Nanos) -> Start {
        Start { rtt: Some(rtt), ..self }
    }

    /// Start with more than one loss found in a round trip, or not.
    #[must_use]
    pub fn selective_acks(self, selective_acks: bool) -> Start {
        Start { selective_acks, ..self }
    }

    /// Start with random choices drawn from `seed`.
    #[must_use]
    pub fn seed(self, seed: u64) -> Start {
        Start { seed, ..self }
    }
}

impl From<f64> for Start {
    fn from(window: f64) -> Start {
        let slow_start = SlowStart::default();
        Start {
            window,
            slow_start,
            resume: None,
            paced: false,
            segment_bytes: 1000,
            rtt: None,
            selective_acks: true,
            seed: 0,
        }
    }
}
