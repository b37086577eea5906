//! Inputs of an algorithm: at most three, each a plain value. Senders build them with
//! [`Flow::at`], [`Ack::of`] and the methods named after the fields; more fields may come.

use crate::parts::number::{float, seconds};
use crate::time::Nanos;

/// A method for each field, which sets it. They cost nothing at run time.
macro_rules! setters {
    ($type:ident { $($field:ident: $kind:ty,)+ }) => {
        impl $type {
            $(#[doc = concat!("The same with another [`", stringify!($type), "::", stringify!($field), "`](field@", stringify!($type), "::", stringify!($field), ").")]
            #[inline(always)]
            #[must_use]
            pub const fn $field(mut self, $field: $kind) -> Self {
                self.$field = $field;
                self
            })+
        }
    };
}

/// The sender's state, read-only, as it is after the event being reported.
///
/// ```
/// use fullpipe_cc::{Ack, Flow};
///
/// let flow = Flow::at(50_000_000).delivered(1).flight_size(9).cwnd_limited(true);
/// assert!(flow.may_grow(&Ack::of(1, 1.0)));
/// assert!(!flow.in_recovery(true).may_grow(&Ack::of(1, 1.0)));
/// assert!(!flow.cwnd_limited(false).may_grow(&Ack::of(1, 1.0)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Flow {
    /// The sender's clock.
    pub now: Nanos,
    /// Segments acknowledged since the flow began.
    pub delivered: u64,
    /// Segments found lost since the start of the flow: the retransmitted ones, or those reported to an algorithm that receives each loss.
    pub lost: u64,
    /// Segments sent and not yet cumulatively acknowledged (RFC 5681's FlightSize, in segments).
    pub flight_size: u64,
    /// Segments thought to be in the network: those sent, less those known to have arrived and those taken for lost (RFC 6675's
    /// pipe). While nothing is lost or suspected it is `flight_size`.
    pub in_flight: u64,
    /// Smoothed RTT (RFC 6298); `None` before the first sample.
    pub srtt: Option<Nanos>,
    /// Least RTT seen on this flow; `None` before the first sample.
    pub min_rtt: Option<Nanos>,
    /// Round trips completed: a round ends when data sent after its beginning is acknowledged.
    pub round: u64,
    /// Fast recovery is under way (never set after a timeout, where slow start runs).
    pub in_recovery: bool,
    /// The congestion window or the pacing rate limits the sender, and neither the application nor the receiver.
    pub cwnd_limited: bool,
    /// There is nothing left to send, and the window has room. For algorithms that take rate samples: it was so, and not all that
    /// was in the network then has arrived and been followed by more (draft-ietf-ccwg-bbr, section 4.1.2.4: C.app_limited).
    pub app_limited: bool,
}

/// News of one ACK that moved the cumulative point or reports marks. Algorithms that take rate samples
/// ([`CongestionControl::takes_rate_samples`](crate::CongestionControl::takes_rate_samples)) get every ACK that delivers anything.
///
/// ```
/// use fullpipe_cc::{Ack, CongestionControl, Flow, build};
///
/// let mut cc = build("newreno", &[], 10.0)?;
/// let flow = Flow::at(50_000_000).cwnd_limited(true);
/// cc.on_ack(&flow, &Ack::of(2, 1.0).rtt(Some(50_000_000)));
/// assert_eq!(cc.cwnd(), 11.0, "an ACK counts once (RFC 5681)");
/// cc.on_ack(&flow, &Ack::of(2, 2.0));
/// assert_eq!(cc.cwnd(), 13.0, "or by its segments (RFC 3465)");
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ack {
    /// Segments newly acknowledged by the cumulative point; 0 where only SACK reports new ones.
    pub acked: u64,
    /// Window increases this ACK is worth: 1 (RFC 5681 counts ACKs), or `acked` where the sender counts segments
    /// (RFC 3465); 0 where the window is not to grow by it.
    pub credit: f64,
    /// This ACK ends a round trip (see [`Flow::round`]).
    pub round_start: bool,
    /// The RTT sample this ACK carries; `None` where it carries none.
    pub rtt: Option<Nanos>,
    /// One-way delay of the data, receiver's clock minus sender's, nanoseconds; the offset between the clocks is unknown,
    /// so that only differences mean anything.
    pub forward_delay: Option<i64>,
    /// One-way delay of the ACK, sender's clock minus receiver's, nanoseconds; same caution.
    pub backward_delay: Option<i64>,
    /// Segments found lost since the ACK before.
    pub newly_lost: u64,
    /// Marked segments (CE) that no earlier ACK has reported; 1 for any number with classic ECN (RFC 3168).
    pub ce: u64,
    /// The rate at which data arrives, for algorithms that take samples; `None` where this ACK gives none.
    pub rate: Option<RateSample>,
}

/// How fast data arrived between two ACKs (draft-ietf-ccwg-bbr, section 4.1: RS).
///
/// ```
/// use fullpipe_cc::{Ack, RateSample};
///
/// let rate = RateSample::new(20, Some(50_000_000)).segment(19).tx_in_flight(20);
/// assert_eq!(rate.per_second(), Some(400.0), "20 segments in 50 ms");
/// assert_eq!(Ack::of(20, 1.0).rate(Some(rate)).rate.unwrap().delivered, 20);
/// assert_eq!(RateSample::new(20, None).per_second(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RateSample {
    /// The newest segment of this ACK, counted from the flow's first: of those that it newly delivers, the one sent last.
    pub segment: u64,
    /// Segments delivered since the newest segment of this ACK was sent.
    pub delivered: u64,
    /// Segments that had been delivered, of the whole flow, when the newest segment of this ACK was sent.
    pub prior_delivered: u64,
    /// Segments that this ACK newly delivers, SACK's word included.
    pub newly_delivered: u64,
    /// The longer of the times in which the `delivered` segments were sent and were acknowledged; more than 0. `None` where it is
    /// shorter than the least RTT, so that it shows no rate.
    pub interval: Option<Nanos>,
    /// The RTT of the newest segment of this ACK; `None` where it has been sent more than once.
    pub rtt: Option<Nanos>,
    /// The newest segment of this ACK was sent while the application had no more to send.
    pub is_app_limited: bool,
    /// Segments in the network once that segment had been sent, itself included.
    pub tx_in_flight: u64,
    /// Segments found lost since that segment was sent.
    pub lost: u64,
}

impl RateSample {
    /// Sample of `delivered` segments in `interval`, the first ones of a flow.
    pub const fn new(delivered: u64, interval: Option<Nanos>) -> RateSample {
        let (newly_delivered, rtt) = (delivered, None);
        RateSample {
            segment: 0,
            delivered,
            prior_delivered: 0,
            newly_delivered,
            interval,
            rtt,
            is_app_limited: false,
            tx_in_flight: 0,
            lost: 0,
        }
    }

    /// Segments a second, if the interval is long enough.
    pub fn per_second(&self) -> Option<f64> {
        self.interval.map(|interval| float(self.delivered) / seconds(interval))
    }
}

/// A segment found lost; for algorithms that take rate samples (draft-ietf-ccwg-bbr, section 5.5.10: P).
///
/// ```
/// use fullpipe_cc::{CongestionControl, Flow, Lost, build};
///
/// let mut cc = build("bbr3", &[], 10.0)?;
/// let lost = Lost::of(7).tx_in_flight(10).lost(2).delivered(8);
/// assert!(cc.takes_rate_samples());
/// cc.on_lost(&Flow::at(50_000_000).lost(2), &lost);
/// assert_eq!(cc.cwnd(), 10.0, "the model answers once a round");
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// Its number, counted from the flow's first segment.
    pub segment: u64,
    /// Segments in the network once it had been sent, itself included.
    pub tx_in_flight: u64,
    /// Segments found lost since it was sent, itself included.
    pub lost: u64,
    /// Whether it was sent while the application had no more to send.
    pub is_app_limited: bool,
    /// Segments delivered of the whole flow when it was found lost, those of the ACK that has shown it included; 0 where that is not known.
    pub delivered: u64,
}

impl Lost {
    /// The segment of this number, alone in the network and the only one lost.
    pub const fn of(segment: u64) -> Lost {
        Lost { segment, tx_in_flight: 1, lost: 1, is_app_limited: false, delivered: 0 }
    }
}

setters! {
    Lost {
        tx_in_flight: u64,
        lost: u64,
        is_app_limited: bool,
        delivered: u64,
    }
}

setters! {
    RateSample {
        segment: u64,
        prior_delivered: u64,
        newly_delivered: u64,
        rtt: Option<Nanos>,
        is_app_limited: bool,
        tx_in_flight: u64,
        lost: u64,
    }
}

/// Congestion, reported once per episode.
///
/// ```
/// use fullpipe_cc::{CongestionControl, Flow, Signal, build};
///
/// for (signal, cwnd) in [(Signal::Loss, 10.0), (Signal::Ecn, 10.0), (Signal::Timeout, 1.0)] {
///     let mut cc = build("newreno", &[], 20.0)?;
///     cc.on_congestion(&Flow::at(0).cwnd_limited(true), signal);
///     assert_eq!((cc.cwnd(), cc.ssthresh()), (cwnd, 10.0));
/// }
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Duplicate ACKs or SACK show a loss; fast recovery begins.
    Loss,
    /// The network marked a packet (RFC 3168).
    Ecn,
    /// The ACK clock is gone: the retransmission timer expired (RFC 6298), or Tahoe's fast retransmit gave it up. Slow start
    /// runs again from one segment. Algorithms that take rate samples hear of it once the segments that are lost by it are.
    Timeout,
}

impl Flow {
    /// A sender of which nothing is known but that it is `now`.
    #[inline(always)]
    pub const fn at(now: Nanos) -> Flow {
        Flow {
            now,
            delivered: 0,
            lost: 0,
            flight_size: 0,
            in_flight: 0,
            srtt: None,
            min_rtt: None,
            round: 0,
            in_recovery: false,
            cwnd_limited: false,
            app_limited: false,
        }
    }

    /// Whether the window may grow with `ack`: not in recovery, nor where the sender does not use it all, nor for an ACK that is worth
    /// no growth.
    #[inline(always)]
    pub fn may_grow(&self, ack: &Ack) -> bool {
        !self.in_recovery && self.cwnd_limited && ack.credit != 0.0
    }
}

setters! {
    Flow {
        delivered: u64,
        lost: u64,
        flight_size: u64,
        in_flight: u64,
        srtt: Option<Nanos>,
        min_rtt: Option<Nanos>,
        round: u64,
        in_recovery: bool,
        cwnd_limited: bool,
        app_limited: bool,
    }
}

impl Ack {
    /// An ACK of `acked` segments that is worth `credit` window increases.
    #[inline(always)]
    pub const fn of(acked: u64, credit: f64) -> Ack {
        Ack {
            acked,
            credit,
            round_start: false,
            rtt: None,
            forward_delay: None,
            backward_delay: None,
            newly_lost: 0,
            ce: 0,
            rate: None,
        }
    }
}

setters! {
    Ack {
        credit: f64,
        round_start: bool,
        rtt: Option<Nanos>,
        forward_delay: Option<i64>,
        backward_delay: Option<i64>,
        newly_lost: u64,
        ce: u64,
        rate: Option<RateSample>,
    }
}
