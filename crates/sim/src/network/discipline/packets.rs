//! Packets that wait, first in, first out.

use super::Queued;
use crate::prefetch::prefetch;
use std::collections::VecDeque;

/// See the head of the file.
#[derive(Debug, Default)]
pub struct Packets {
    packets: VecDeque<Box<Queued>>,
    bytes: u64,
}

impl Packets {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The one that has waited longest.
    #[inline]
    pub fn front(&self) -> Option<&Queued> {
        self.packets.front().map(|queued| &**queued)
    }

    /// Adds one at the end.
    #[inline]
    pub fn push(&mut self, queued: Box<Queued>) {
        self.bytes += u64::from(queued.size);
        self.packets.push_back(queued);
    }

    /// Takes the one that has waited longest; the next one is asked for from memory.
    #[inline]
    pub fn pop(&mut self) -> Option<Box<Queued>> {
        let queued = self.packets.pop_front()?;
        self.bytes -= u64::from(queued.size);
        if let Some(next) = self.front() {
            prefetch(next, size_of::<Queued>());
        }
        Some(queued)
    }

    /// Bytes that their places take on the heap; those of the packets are the link's.
    pub fn heap_bytes(&self) -> usize {
        self.packets.capacity() * size_of::<Box<Queued>>()
    }
}
