//! Slow start: how the window grows while nothing is known of the path, and when that ends. An axis of its own: whatever runs in
//! the frame [`Classic`](crate::Classic) begins with any of them.

mod standard;

use crate::{Ack, Flow};

/// The kinds of slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SlowStart {
    /// A segment per ACK until ssthresh (RFC 5681 section 3.1).
    #[default]
    Standard,
}

impl SlowStart {
    /// Every kind.
    pub const ALL: [SlowStart; 1] = [SlowStart::Standard];

    /// The name scenarios use.
    pub fn name(self) -> &'static str {
        match self {
            SlowStart::Standard => "standard",
        }
    }
}

/// A slow start at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Policy {
    Standard,
}

impl Policy {
    pub fn new(kind: SlowStart) -> Policy {
        match kind {
            SlowStart::Standard => Policy::Standard,
        }
    }

    /// An ACK below ssthresh: what it adds to the window, segments, where the window may grow.
    #[inline(always)]
    pub fn gain(&mut self, _flow: &Flow, ack: &Ack) -> f64 {
        match self {
            Policy::Standard => standard::gain(ack),
        }
    }
}
