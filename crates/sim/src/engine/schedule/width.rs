//! Width of the slices, which follows the traffic.

use super::entries::Delayed;
use super::keys::{place_in, within};
use super::{LAST_SHIFT, SLICES, Schedule, StreamId, mask_of, place_after, slice_of};
use crate::memory::make_room;
use crate::packet::Packet;
use fullpipe_cc::Nanos;
use std::cmp::Reverse;

/// Packets after which the width is considered.
const CONSIDERED: usize = 4096;
/// Packets a slice should hold: with fewer, opening slices costs more than reading them; with more, they outgrow the
/// cache.
const FEW: usize = 16;
const MANY: usize = 128;

/// Counts since the last adaptation of the width.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) taken: usize,
    pub(super) opened: usize,
    /// Packets for the open slice.
    pub(super) late: usize,
    /// Packets for earlier times.
    pub(super) early: usize,
    pub(super) far: usize,
    /// Maximum width: too many packets arrived in the open slice with a larger one.
    pub(super) widest: u32,
}

impl Schedule {
    /// Adapts the width, once per [`CONSIDERED`] packets.
    #[inline]
    pub(super) fn follow_traffic(&mut self) {
        let Traffic { taken, late, early, far, .. } = self.traffic;
        let passed = taken + late + early + far;
        if passed >= CONSIDERED {
            self.since_refiled += passed;
            let shift = self.better_shift();
            self.traffic = Traffic { widest: self.traffic.widest, ..Traffic::default() };
            // At most one packet is moved per packet filed, so that adaptation at most doubles the cost of filing.
            if shift != self.shift && self.since_refiled >= self.waiting_packets() {
                self.refile(shift);
            }
        }
    }

    #[cold]
    fn better_shift(&mut self) -> u32 {
        let Traffic { taken, opened, late, far, .. } = self.traffic;
        let many = |part: usize| part > (taken + late) / 8;
        let each = taken / opened.max(1);
        if many(late) && self.shift > 0 {
            self.traffic.widest = self.shift - 1;
            return self.shift - 1;
        }
        if many(far) {
            // Late packets may have been from one burst.
            if late == 0 {
                self.traffic.widest = (self.traffic.widest + 1).min(LAST_SHIFT);
            }
            return (self.shift + 2).min(self.traffic.widest);
        }
        if each < FEW {
            return (self.shift + 1).min(self.traffic.widest);
        }
        if each > MANY && self.shift > 0 && self.in_use() < SLICES / 4 {
            return self.shift - 1;
        }
        self.shift
    }

    /// Distance from the open slice to the last one that holds packets.
    fn in_use(&self) -> u64 {
        let holds = |slice: &u64| !self.slices[(slice % SLICES) as usize].is_empty();
        (self.open..self.open + SLICES).rev().find(holds).map_or(0, |slice| slice - self.open)
    }

    /// Packets in all slices and heaps.
    pub fn waiting_packets(&self) -> usize {
        let filed: usize = self.slices.iter().map(Vec::len).sum();
        self.keys.len() - self.taken + filed + self.late.len() + self.far.len()
    }

    /// Moves all packets to slices of another width.
    #[cold]
    fn refile(&mut self, shift: u32) {
        #[cfg(test)]
        {
            self.refilings = (self.refilings.0 + 1, self.refilings.1 + self.waiting_packets());
        }
        self.since_refiled = 0;
        let first = self.earliest();
        let (before, open, base) = (self.shift, self.open, self.base);
        let slices = std::mem::replace(&mut self.slices, vec![Vec::new(); SLICES as usize]);
        let (keys, entries) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.entries));
        let heaps = [std::mem::take(&mut self.late), std::mem::take(&mut self.far)];
        let taken = std::mem::take(&mut self.taken);
        self.occupied = [0; SLICES as usize / 64];
        self.spare.clear();
        (self.shift, self.mask) = (shift, mask_of(shift));
        self.open = slice_of(first, shift) - 1;
        // Packets of one stream and moment are in one of these, or in the open slice and then in the heap of late ones.
        for &key in &keys[taken..] {
            let entry = &entries[place_in(key)];
            self.refile_one(entry.stream, &entry.packet(base + within(key)));
        }
        for heap in heaps {
            let mut waiting: Vec<_> = heap.into_iter().map(|Reverse(waiting)| waiting).collect();
            waiting.sort_unstable_by_key(|waiting| Reverse(waiting.order));
            while let Some(Delayed { stream, packet, .. }) = waiting.pop() {
                self.refile_one(stream, &packet);
                // Otherwise all packets would be in memory twice.
                if waiting.len() < waiting.capacity() / 16 * 15 {
                    waiting.shrink_to_fit();
                }
            }
        }
        for (place, entries) in (0..).zip(slices) {
            let slice = open + 1 + place_after(place, open + 1);
            for entry in entries {
                self.refile_one(entry.stream, &entry.packet(((slice - 1) << before) + Nanos::from(entry.within)));
            }
        }
    }

    fn refile_one(&mut self, stream: StreamId, packet: &Packet) {
        if !self.file(stream, packet) {
            let waiting = self.waiting(stream, packet);
            make_room(&mut self.far);
            self.far.push(waiting);
        }
    }

    /// Lower bound of the arrival times.
    fn earliest(&self) -> Nanos {
        let open = self.keys.get(self.taken).map(|&key| self.base + within(key));
        let slice = self.next_occupied().map(|slice| (slice - 1) << self.shift);
        let waiting = [&self.late, &self.far].map(|heap| heap.peek().map(|Reverse(waiting)| waiting.at));
        [open, slice].into_iter().chain(waiting).flatten().min().unwrap_or(0)
    }
}
