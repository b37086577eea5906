//! Limit of the packets between a transmitter and the far end, as netem's `limit` has for its delay queue.

use fullpipe_cc::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Packets that travel.
#[derive(Debug)]
pub struct DelayLine {
    limit: u64,
    /// Times at which they arrive; those of packets that have arrived stay until the next packet is sent.
    arrivals: BinaryHeap<Reverse<Nanos>>,
}

impl DelayLine {
    /// An empty line with room for `limit` packets.
    pub fn new(limit: u64) -> DelayLine {
        DelayLine { limit, arrivals: BinaryHeap::new() }
    }

    /// Whether a packet that has been sent at `sent`, and would arrive at `at`, is let in. One that arrives at `sent` makes room.
    pub fn admits(&mut self, sent: Nanos, at: Nanos) -> bool {
        while self.arrivals.peek().is_some_and(|Reverse(arrival)| *arrival <= sent) {
            self.arrivals.pop();
        }
        let admits = (self.arrivals.len() as u64) < self.limit;
        if admits {
            self.arrivals.push(Reverse(at));
        }
        admits
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.arrivals.capacity() * size_of::<Reverse<Nanos>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two at most, which arrive in any order: the third waits for a place until the first of them has arrived, at 30.
    #[test]
    fn an_arrival_makes_room() {
        let mut line = DelayLine::new(2);
        let found = [(0, 50), (10, 30), (29, 40), (30, 60), (49, 99), (60, 99)].map(|(sent, at)| line.admits(sent, at));
        assert_eq!(found, [true, true, false, true, false, true]);
    }
}
