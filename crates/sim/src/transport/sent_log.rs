//! When each outstanding segment was last sent.

use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// The times of sending of all segments outstanding, in their order.
#[derive(Clone, Debug, Default)]
pub struct SentLog {
    /// The first segment that `sent` has a time of.
    base: u64,
    sent: VecDeque<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    last: Nanos,
    /// Sent more than once.
    again: bool,
}

impl SentLog {
    /// Segment `seq` is sent: the first one outstanding, or one of those known, or the next one after them.
    pub fn note(&mut self, seq: u64, now: Nanos) {
        let at = (seq - self.base) as usize;
        if at < self.sent.len() {
            self.sent[at] = Sent { last: now, again: true };
        } else {
            self.sent.push_back(Sent { last: now, again: false });
        }
    }

    /// When segment `seq` was last sent.
    pub fn sent_at(&self, seq: u64) -> Option<Nanos> {
        self.sent.get((seq - self.base) as usize).map(|sent| sent.last)
    }

    /// When segment `seq` was sent; `None` if more than once.
    pub fn sent_once_at(&self, seq: u64) -> Option<Nanos> {
        self.sent.get((seq - self.base) as usize).filter(|sent| !sent.again).map(|sent| sent.last)
    }

    /// Segments below `una` have been acknowledged.
    pub fn forget_below(&mut self, una: u64) {
        while self.base < una && self.sent.pop_front().is_some() {
            self.base += 1;
        }
        self.base = una;
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>()
    }
}
