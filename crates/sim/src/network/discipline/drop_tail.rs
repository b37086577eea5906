//! Drop-tail: first in, first out; what does not fit is dropped.
//!
//! Source: RFC 7567 section 2, which recommends against it; ns-2's `Queue/DropTail`.
//!
//! # Deviations and choices
//!
//! - **The limit** is the link's, and counts the packet being sent, as in ns-2.

use super::params::{Info, Settings};
use super::{Deeds, Discipline, Queued};
use crate::ring::Ring;
use fullpipe_cc::Nanos;

/// What scenarios may say of it.
pub static INFO: Info =
    Info { name: "drop-tail", source: "RFC 7567 section 2", params: &[], marks: |_| false, conflict: |_| None };

/// See the head of the file.
#[derive(Debug, Default)]
pub struct DropTail {
    queue: Ring<Queued>,
}

impl DropTail {
    /// An empty one.
    pub fn new(_settings: &Settings, _seed: u64, _packet_size: u32) -> Self {
        DropTail::default()
    }
}

impl Discipline for DropTail {
    fn enqueue(&mut self, _now: Nanos, queued: Queued, full: bool, deeds: &mut Deeds) {
        match full {
            true => deeds.drop(queued),
            false => self.queue.push_back(queued),
        }
    }

    fn dequeue(&mut self, _now: Nanos, _deeds: &mut Deeds) -> Option<Queued> {
        self.queue.pop_front()
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }
}
