//! Drop-tail: first in, first out; what does not fit is dropped.
//!
//! Source: RFC 7567 section 2, which recommends against it; ns-2's `Queue/DropTail`.
//!
//! # Deviations and choices
//!
//! - **The limit** is the link's, and counts the packet being sent, as in ns-2.

use super::packets::Packets;
use super::params::{Info, Settings};
use super::{Discipline, Known, Stock};
use crate::packet::Packet;
use fullpipe_cc::Nanos;

/// Parameters in scenarios.
pub static INFO: Info =
    Info { name: "drop-tail", source: "RFC 7567 section 2", params: &[], marks: |_| false, conflict: |_| None };

/// See the head of the file.
#[derive(Debug, Default)]
pub struct DropTail {
    queue: Packets,
}

impl DropTail {
    /// An empty one.
    pub fn new(_settings: &Settings, _seed: u64, _packet_size: u32) -> Self {
        DropTail::default()
    }
}

impl Discipline for DropTail {
    fn enqueue(&mut self, known: Known, _class: u32, full: bool, stock: &mut Stock) {
        match full {
            true => stock.drop(known.place),
            false => self.queue.push(known),
        }
    }

    #[inline]
    fn lets_pass(&mut self, _now: Nanos, _packet: &Packet, _size: u32) -> bool {
        true
    }

    fn dequeue(&mut self, _now: Nanos, _stock: &mut Stock) -> Option<Known> {
        self.queue.pop()
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }
}
