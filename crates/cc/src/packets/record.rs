//! Records of packets: sent, acknowledged, lost. The layout of [`Sent`] and [`Lost`] is that of `struct fullpipe_sent` and
//! `struct fullpipe_lost` in `fullpipe.h`.

use crate::time::Nanos;

/// Packet at the time it was sent. The names of draft-ietf-ccwg-bbr are in brackets.
///
/// Example: see [`NewReno`](super::NewReno).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Sent {
    /// Packet number, from 0: each transmission of a segment, first or repeated, has the next one.
    pub number: u64,
    /// Size on the wire.
    pub bytes: u64,
    /// Time of sending.
    pub sent_at: Nanos,
    /// Bytes in flight after this packet (P.tx_in_flight).
    pub in_flight: u64,
    /// Bytes delivered since the connection began, when this packet was sent (P.delivered).
    pub delivered: u64,
    /// Bytes lost since the connection began, when this packet was sent (P.lost).
    pub lost: u64,
    /// Time of the last delivery, when this packet was sent (P.delivered_time).
    pub delivered_at: Nanos,
    /// Time at which the sampling interval of this packet began (P.first_send_time).
    pub first_sent_at: Nanos,
    /// The application limited the sender when this packet was sent (P.is_app_limited).
    pub app_limited: bool,
    /// Tail loss probe (RFC 8985 section 7).
    pub is_probe: bool,
    /// ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0).
    pub ecn: u8,
    /// Zero.
    pub reserved: [u8; 5],
}

/// Rule that found a loss.
///
/// Example: see [`NewReno`](super::NewReno).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum LostBy {
    /// Later packets had arrived: duplicate ACKs (RFC 5681) or SACK (RFC 6675).
    #[default]
    PacketThreshold = 0,
    /// Time had passed: RACK (RFC 8985), Vegas' fine-grained timer, or the retransmission timer.
    TimeThreshold = 1,
}

/// Delivery rate that the newest packet of an ACK shows (draft-ietf-ccwg-bbr, section 4.1: RS).
///
/// ```
/// use fullpipe_cc::packets::{Acked, RateSample};
///
/// let rate = RateSample { delivered: 24_000, interval: 50_000_000, ..RateSample::default() };
/// let acked = Acked { rate: Some(rate), ..Acked::default() };
/// let bytes_per_s = acked.rate.filter(|rate| rate.interval > 0).map(|rate| rate.delivered * 1_000_000_000 / rate.interval);
/// assert_eq!(bytes_per_s, Some(480_000), "24 kB in 50 ms");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RateSample {
    /// Bytes delivered since the packet was sent.
    pub delivered: u64,
    /// Longer of the times in which these bytes were sent and were acknowledged; 0 if it is shorter than the minimum RTT, so that it
    /// shows no rate.
    pub interval: Nanos,
    /// Bytes delivered since the connection began, when the packet was sent.
    pub prior_delivered: u64,
    /// Bytes in flight after the packet was sent.
    pub tx_in_flight: u64,
    /// Bytes lost since the packet was sent.
    pub lost: u64,
    /// The application limited the sender when the packet was sent.
    pub is_app_limited: bool,
    /// Zero.
    pub reserved: [u8; 7],
}

/// Packet that an ACK newly acknowledges.
///
/// Example: see [`NewReno`](super::NewReno).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Packet as it was sent.
    pub sent: Sent,
    /// Time at which the ACK arrived.
    pub acked_at: Nanos,
    /// Rate sample; for the newest packet of the ACK only.
    pub rate: Option<RateSample>,
}

/// RTT sample of an ACK (RFC 9002 section 5).
///
/// Example: see [`NewReno`](super::NewReno).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Rtt {
    /// Time from the sending of the packet to the ACK (latest_rtt).
    pub sample: Nanos,
    /// Sample without the ACK delay (adjusted_rtt).
    pub adjusted: Nanos,
    /// ACK delay that the receiver reports.
    pub ack_delay: Nanos,
    /// Packet number that the sample belongs to.
    pub packet: u64,
}

/// Packet that was found lost.
///
/// Example: see [`NewReno`](super::NewReno).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Lost {
    /// Packet as it was sent.
    pub sent: Sent,
    /// Rule that found the loss.
    pub by: LostBy,
    /// Zero.
    pub reserved: [u8; 7],
    /// Bytes lost since this packet was sent, itself included.
    pub lost_since_sent: u64,
    /// Bytes delivered since this packet was sent.
    pub delivered_since_sent: u64,
}
