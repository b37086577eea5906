//! A TCP connection, both ends.

use crate::network::{Direct, Route};
use crate::receiver::Receiver;
use crate::schedule::StreamId;
use crate::sender::Sender;
use fullpipe_cc::Nanos;
use std::num::NonZero;

/// A TCP connection, both ends. What every packet touches comes first, together in memory.
#[repr(C, align(64))]
pub struct Connection {
    /// Its number.
    pub id: u32,
    /// Which connection of the flow (web traffic opens many, one after another).
    pub incarnation: u16,
    /// It has begun and is not complete.
    pub active: bool,
    /// ACKs carry SACK blocks.
    pub sack: bool,
    /// One-way delay of its access link: the flow's clock is so much behind the loop's.
    pub access: Nanos,
    /// When the retransmission timer's entry stands in the loop, on the loop's clock.
    pub timer_at: Nanos,
    /// Segments that reached the receiver outside the warm-up, duplicates included.
    pub received: u64,
    /// The way of its data and of its ACKs.
    pub route: Route,
    /// The same where it is short and every segment gets its ACK at once.
    pub direct: Option<Direct>,
    /// Where ACKs wait that are on their way to the sender.
    pub ack_stream: StreamId,
    /// How long the receiver may hold an ACK.
    pub ack_delay: Option<NonZero<Nanos>>,
    /// An access link that has a rate.
    pub access_link: Option<Box<AccessLink>>,
    /// The receiving end.
    pub receiver: Receiver,
    /// The sending end.
    pub sender: Sender,
    /// When the held ACK's entry stands in the loop.
    pub ack_timer_at: Nanos,
    /// When it began, and when it was complete, on its own clock.
    pub started: Nanos,
    /// See `started`.
    pub completed: Option<Nanos>,
    /// Which web group it serves.
    pub web: Option<u32>,
}

/// How much of a connection most packets touch.
pub const HOT_BYTES: usize = 512;

/// A sender's access link that has a rate: packets leave it one after another.
pub struct AccessLink {
    rate_bps: u64,
    free: Nanos,
    /// Where packets wait that are on their way to the first link.
    pub stream: StreamId,
}

impl AccessLink {
    /// An idle one.
    pub fn new(rate_bps: u64, stream: StreamId) -> Self {
        AccessLink { rate_bps, free: 0, stream }
    }

    /// A packet is handed over at `at`; says when it has been sent.
    pub fn send(&mut self, at: Nanos, size: u32) -> Nanos {
        let bits = u128::from(size) * 8;
        self.free = self.free.max(at) + (bits * 1_000_000_000 / u128::from(self.rate_bps)) as Nanos;
        self.free
    }
}
