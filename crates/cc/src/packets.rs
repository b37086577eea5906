//! Records of packets, for algorithms that ask for every packet sent and lost.
//!
//! Units: time in nanoseconds on the clock of [`Flow::now`](crate::Flow::now), sizes in bytes. The layout is that of
//! `struct fullpipe_sent` and `struct fullpipe_lost` in `fullpipe.h`.

use crate::time::Nanos;

/// Packet at the time it was sent. The names of draft-ietf-ccwg-bbr are in brackets.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum LostBy {
    /// Later packets had arrived: duplicate ACKs (RFC 5681) or SACK (RFC 6675).
    #[default]
    PacketThreshold = 0,
    /// Time had passed: RACK (RFC 8985), Vegas' fine-grained timer, or the retransmission timer.
    TimeThreshold = 1,
}

/// Packet that was found lost.
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
