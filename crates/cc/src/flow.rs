//! What an algorithm may know: at most three inputs, each a plain value. Whoever drives an algorithm puts them together with
//! [`Flow::at`], [`Ack::of`] and the methods named after the fields; more fields may come.

use crate::time::Nanos;

/// The sender's state, read-only, as it is after the event being reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Flow {
    /// The sender's clock.
    pub now: Nanos,
    /// Segments acknowledged since the flow began.
    pub delivered: u64,
    /// Segments found lost since the flow began.
    pub lost: u64,
    /// Segments sent and not yet cumulatively acknowledged (RFC 5681's FlightSize, in segments).
    pub in_flight: u64,
    /// Smoothed RTT (RFC 6298); `None` before the first sample.
    pub srtt: Option<Nanos>,
    /// Least RTT seen on this flow; `None` before the first sample.
    pub min_rtt: Option<Nanos>,
    /// Round trips completed: a round ends when data sent after its beginning is acknowledged.
    pub round: u64,
    /// Fast recovery is under way (never set after a timeout, where slow start runs).
    pub in_recovery: bool,
    /// The congestion window, and neither the application nor the receiver, is what limits the sender.
    pub cwnd_limited: bool,
}

/// What one ACK that moved the cumulative point adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ack {
    /// Segments newly acknowledged; at least 1.
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
    /// Segments that it newly tells to have been marked (CE); with classic ECN (RFC 3168) 1 for any number.
    pub ce: u64,
}

/// Congestion, reported once per episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Duplicate ACKs or SACK show a loss; fast recovery begins.
    Loss,
    /// The network marked a packet (RFC 3168).
    Ecn,
    /// The ACK clock is gone: the retransmission timer expired (RFC 6298), or Tahoe's fast retransmit gave it up. Slow start
    /// runs again from one segment.
    Timeout,
}

/// A method for each field: the same value with that field set. They cost nothing at run time.
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

impl Flow {
    /// A sender of which nothing is known but that it is `now`.
    #[inline(always)]
    pub const fn at(now: Nanos) -> Flow {
        Flow {
            now,
            delivered: 0,
            lost: 0,
            in_flight: 0,
            srtt: None,
            min_rtt: None,
            round: 0,
            in_recovery: false,
            cwnd_limited: false,
        }
    }
}

setters! {
    Flow {
        delivered: u64,
        lost: u64,
        in_flight: u64,
        srtt: Option<Nanos>,
        min_rtt: Option<Nanos>,
        round: u64,
        in_recovery: bool,
        cwnd_limited: bool,
    }
}

impl Ack {
    /// An ACK of `acked` segments that is worth `credit` window increases.
    #[inline(always)]
    pub const fn of(acked: u64, credit: f64) -> Ack {
        Ack { acked, credit, round_start: false, rtt: None, forward_delay: None, backward_delay: None, ce: 0 }
    }
}

setters! {
    Ack {
        credit: f64,
        round_start: bool,
        rtt: Option<Nanos>,
        forward_delay: Option<i64>,
        backward_delay: Option<i64>,
        ce: u64,
    }
}
