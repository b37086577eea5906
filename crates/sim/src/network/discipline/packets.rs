//! Packets that wait, first in, first out.

use super::Known;
use crate::memory::make_room;
use std::collections::VecDeque;

/// See the head of the file.
#[derive(Debug, Default)]
pub struct Packets {
    packets: VecDeque<Known>,
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
    pub fn front(&self) -> Option<&Known> {
        self.packets.front()
    }

    /// Adds one at the end.
    #[inline]
    pub fn push(&mut self, known: Known) {
        self.bytes += u64::from(known.size);
        make_room(&mut self.packets);
        self.packets.push_back(known);
    }

    /// Takes the one that has waited longest.
    #[inline]
    pub fn pop(&mut self) -> Option<Known> {
        let known = self.packets.pop_front()?;
        self.bytes -= u64::from(known.size);
        Some(known)
    }

    /// Bytes that their places take on the heap; the packets' own are the link's.
    pub fn heap_bytes(&self) -> usize {
        self.packets.capacity() * size_of::<Known>()
    }
}
