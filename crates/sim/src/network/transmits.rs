//! What a link needs to know of its transmitter where first in, first out makes every departure known beforehand.

use super::ledger::Use;
use crate::scenario::Link;
use fullpipe_cc::Nanos;

/// What sends one packet after another, so that it is known beforehand when. It has moments of its own, numbers that tell apart what
/// comes one after the other at the same time.
pub trait Transmits {
    /// A packet that waits for others may begin to be sent at the very time at which it comes.
    const MAY_WAIT_NO_TIME: bool;

    /// An idle one.
    fn new(link: &Link) -> Self;

    /// The moment of what comes at `now`.
    fn moment(&self, now: Nanos) -> u64;

    /// The time of a moment.
    fn time(moment: u64) -> Nanos;

    /// The moment at which the last packet given to it leaves.
    fn free(&self) -> u64;

    /// When the packet behind that one begins to be sent, if it comes before it has left.
    fn start(&self) -> Nanos;

    /// The same of one that comes at `now`, when all have left.
    fn start_idle(&mut self, now: Nanos) -> Nanos;

    /// Sends a packet that begins when it has just been told; says when that has left.
    fn send(&mut self, size: u32) -> Nanos;

    /// How long it takes for all that has been given to it, waits not included.
    fn busy(&self) -> Nanos;

    /// What has been sent and offered by `mark`, before which all came that has been given to it.
    fn use_at(&self, mark: Nanos) -> Use;

    /// How long a packet waits that comes at `now` behind others, as a buffer in time has it.
    fn wait(&mut self, now: Nanos) -> Nanos;

    /// Bytes that it takes on the heap.
    fn heap_bytes(&self) -> usize;
}
