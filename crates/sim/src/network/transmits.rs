//! Transmitters of FIFO links, on which each departure is known on arrival.

use super::ledger::Use;
use crate::scenario::Link;
use fullpipe_cc::Nanos;

/// Transmitter of a FIFO link. Its moments are numbers that order events of one time.
pub trait Transmits {
    /// Transmission of a waiting packet may begin at its arrival time.
    const MAY_WAIT_NO_TIME: bool;

    /// An idle one.
    fn new(link: &Link) -> Self;

    /// Moment of an arrival at `now`.
    fn moment(&self, now: Nanos) -> u64;

    /// The time of a moment.
    fn time(moment: u64) -> Nanos;

    /// Moment of the last departure.
    fn free(&self) -> u64;

    /// Start of the next transmission, if its packet arrives before the last departure.
    fn start(&self) -> Nanos;

    /// Start of the transmission of a packet that arrives at `now`, after the last departure.
    fn start_idle(&mut self, now: Nanos) -> Nanos;

    /// Sends a packet from the start last returned. Returns its departure time.
    fn send(&mut self, size: u32) -> Nanos;

    /// Total transmission time, without waiting.
    fn busy(&self) -> Nanos;

    /// Sent and offered bytes by `mark`. All packets arrived before.
    fn use_at(&self, mark: Nanos) -> Use;

    /// Waiting time of a packet that arrives at `now`, for a buffer limited by time.
    fn wait(&mut self, now: Nanos) -> Nanos;

    /// Bytes that it takes on the heap.
    fn heap_bytes(&self) -> usize;
}
