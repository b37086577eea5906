//! Packets that wait for their arrival: entries of slices, and elements of heaps.

use super::StreamId;
use super::keys::{MOST, PLACE_BITS, STREAM_BITS};
use crate::packet::{NoteSlot, Packet, PacketKind};
use fullpipe_cc::Nanos;
use std::cmp::Ordering;

/// A packet in a slice: its time within the slice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    stamp: Nanos,
    aside: Nanos,
    pub(super) within: u32,
    pub(super) stream: StreamId,
    pub(super) flow: u32,
    seq: u32,
    pub(super) note: NoteSlot,
    incarnation: u16,
    hop: u8,
    kind: PacketKind,
}

/// A packet in a heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delayed {
    pub(super) at: Nanos,
    /// Order of streams at one moment, see [`Schedule::rank`](super::Schedule).
    pub(super) rank: u64,
    /// Order in which packets were pushed.
    pub(super) order: u64,
    pub(super) stream: StreamId,
    pub(super) packet: Packet,
}

/// Makes room in a slice: takes the memory of a slice that has been read, or grows, large slices by a quarter. Returns false if it is full.
#[cold]
pub(super) fn grow(entries: &mut Vec<Entry>, spare: &mut Vec<Vec<Entry>>) -> bool {
    if entries.len() >= MOST {
        return false;
    }
    let read = if entries.capacity() == 0 { spare.pop() } else { None };
    match read {
        Some(empty) => *entries = empty,
        None => entries.reserve_exact((entries.len() / 4).max(entries.len().clamp(16, 64))),
    }
    true
}

impl Entry {
    #[inline(always)]
    pub(super) fn new(stream: StreamId, packet: &Packet, mask: u32) -> Entry {
        let Packet { at, stamp, aside, flow, seq, note, incarnation, hop, kind } = *packet;
        let within = at as u32 & mask;
        Entry { stamp, aside, within, stream, flow, seq, note, incarnation, hop, kind }
    }

    #[inline(always)]
    pub(super) fn packet(&self, at: Nanos) -> Packet {
        let Entry { stamp, aside, flow, seq, note, incarnation, hop, kind, .. } = *self;
        Packet { at, stamp, aside, flow, seq, note, incarnation, hop, kind }
    }

    #[inline(always)]
    pub(super) fn key(&self, place: usize) -> u64 {
        u64::from(self.within) << (STREAM_BITS + PLACE_BITS) | u64::from(self.stream) << PLACE_BITS | place as u64
    }
}

impl PartialEq for Delayed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Delayed {}

impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delayed {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.rank, self.order).cmp(&(other.at, other.rank, other.order))
    }
}
