//! Packet store of a served link. Each packet stays in its slot, and queues pass the slot's number. Slots are reused.
//! Lists are linked through the slots, so that any number of lists needs memory only for its packets.

use crate::memory::growth;
use crate::packet::{Ecn, Packet};
use fullpipe_cc::Nanos;

/// Packet store of a link, and the drops and marks of its queue since the last check.
#[derive(Debug)]
pub struct Stock {
    places: Vec<Place>,
    /// First free slot.
    free: u32,
    /// Number of data packets and datagrams in the store that the link will not lose.
    arriving: u64,
    /// Whether the queue has dropped or marked a packet.
    pub acted: bool,
    /// Dropped packets in order. They are still in the store.
    pub dropped: Vec<u32>,
    /// Number of marked packets.
    pub marked: u64,
}

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Place {
    queued: Queued,
    /// Next slot in the packet's list, or in the list of free slots.
    next: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;

/// Minimum capacity after the first packet.
const LEAST: usize = 4;

/// Packet in its slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queued {
    /// The packet. It arrived at `packet.at`.
    pub packet: Packet,
    /// Bytes on the wire.
    pub size: u32,
    /// What the link will do with the packet. Queues do not use it.
    pub fate: Fate,
}

/// Result after transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// A segment or a datagram that reaches the receiver.
    #[default]
    Arrives,
    /// An ACK that reaches the sender.
    AckArrives,
    /// A packet lost on the link.
    Lost,
}

/// Properties of a packet that queues need.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its slot.
    pub place: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// Time of arrival.
    pub entered: Nanos,
}

/// FIFO list of slots of one [`Stock`]. The ends of an empty list have no meaning.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl List {
    /// Number of packets in the list.
    pub fn len(&self) -> usize {
        self.len as usize
    }
}

impl Default for Stock {
    fn default() -> Self {
        let (places, dropped) = (Vec::new(), Vec::new());
        Stock { places, free: NONE, arriving: 0, acted: false, dropped, marked: 0 }
    }
}

impl Stock {
    /// Stores a packet of `size` bytes.
    #[inline(always)]
    pub fn put(&mut self, packet: &Packet, size: u32) -> Known {
        // Inlined: as an argument of a function, the packet would first be assembled in memory.
        if self.free == NONE {
            self.add_place();
        }
        let fate = if packet.kind.is_data() { Fate::Arrives } else { Fate::AckArrives };
        self.arriving += u64::from(fate == Fate::Arrives);
        let place = self.free;
        let at = &mut self.places[place as usize];
        self.free = at.next;
        at.queued = Queued { packet: *packet, size, fate };
        Known { place, size, entered: packet.at }
    }

    /// Properties of the packet in a slot.
    #[inline(always)]
    pub fn known(&self, place: u32) -> Known {
        let Queued { packet, size, .. } = &self.places[place as usize].queued;
        Known { place, size: *size, entered: packet.at }
    }

    /// Packet in a slot.
    #[inline(always)]
    pub fn packet(&self, place: u32) -> &Packet {
        &self.places[place as usize].queued.packet
    }

    /// Whether the link loses the packet in a slot.
    #[inline(always)]
    pub fn is_lost(&self, place: u32) -> bool {
        self.places[place as usize].queued.fate == Fate::Lost
    }

    /// Makes the link lose the packet in a slot.
    pub fn lose(&mut self, place: u32) -> Packet {
        let queued = &mut self.places[place as usize].queued;
        self.arriving -= u64::from(queued.fate == Fate::Arrives);
        queued.fate = Fate::Lost;
        queued.packet
    }

    /// Removes and returns a packet that is in no list. Its slot becomes free.
    #[inline(always)]
    pub fn take(&mut self, place: u32) -> Queued {
        let queued = self.places[place as usize].queued;
        self.arriving -= u64::from(queued.fate == Fate::Arrives);
        self.places[place as usize].next = self.free;
        self.free = place;
        queued
    }

    /// Adds a packet, which is in no list, at the end of `list`.
    #[inline(always)]
    pub fn link(&mut self, list: &mut List, place: u32) {
        // Avoids a branch that would be mispredicted: if the list is empty, all bits are set, and the packet is linked
        // to itself.
        let alone = u32::from(list.len == 0).wrapping_neg();
        let last = list.tail ^ ((list.tail ^ place) & alone);
        list.head ^= (list.head ^ place) & alone;
        self.places[last as usize].next = place;
        list.tail = place;
        list.len += 1;
    }

    /// Removes and returns the oldest packet of `list`.
    #[inline(always)]
    pub fn unlink(&self, list: &mut List) -> Option<u32> {
        if list.len == 0 {
            return None;
        }
        let place = list.head;
        list.head = self.places[place as usize].next;
        list.len -= 1;
        Some(place)
    }

    /// Drops a packet.
    pub fn drop(&mut self, place: u32) {
        self.acted = true;
        self.dropped.push(place);
    }

    /// Marks a packet of an ECN-capable transport (RFC 3168 section 5). Returns whether it is ECN-capable. A packet
    /// that is already marked stays marked and is not counted again.
    #[inline(never)]
    pub fn mark(&mut self, place: u32) -> bool {
        let packet = &mut self.places[place as usize].queued.packet;
        let ecn = packet.ecn();
        if !ecn.capable() {
            return false;
        }
        self.acted = true;
        self.marked += u64::from(ecn != Ecn::Ce);
        packet.mark();
        true
    }

    /// Sets the ECN field of a packet that is ECN-capable.
    pub fn set_ecn(&mut self, place: u32, ecn: Ecn) {
        self.places[place as usize].queued.packet.set_ecn(ecn);
    }

    /// Number of data packets and datagrams in the store that the link will not lose.
    pub fn arriving(&self) -> u64 {
        self.arriving
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        // Slots are aligned to cache lines, so a larger array is a copy, and the old one counts as well.
        2 * self.places.capacity() * size_of::<Place>() + self.dropped.capacity() * size_of::<u32>()
    }

    /// Adds a free slot.
    #[cold]
    fn add_place(&mut self) {
        let places = self.places.len();
        if places == self.places.capacity() {
            self.places.reserve_exact(growth(places, size_of::<Place>(), places / 4).max(LEAST));
        }
        self.places.push(Place { queued: Queued::default(), next: NONE });
        self.free = places as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Three lists agree with three queues of the standard library, and need no more slots than the maximum in use.
        #[test]
        fn lists_behave_like_queues(steps in prop::collection::vec((0..3_usize, prop::option::weighted(0.6, any::<u16>())), 0..400)) {
            let (mut stock, mut lists) = (Stock::default(), [List::default(); 3]);
            let mut queues: [VecDeque<u16>; 3] = Default::default();
            let mut most = 0;
            for (which, step) in steps {
                let (list, queue) = (&mut lists[which], &mut queues[which]);
                match step {
                    Some(seq) => {
                        let packet = Packet { at: 7, seq: seq.into(), ..Packet::default() };
                        let known = stock.put(&packet, 100 + u32::from(seq));
                        prop_assert_eq!((known.entered, known.size), (7, 100 + u32::from(seq)));
                        stock.link(list, known.place);
                        queue.push_back(seq);
                    }
                    None => {
                        let taken = stock.unlink(list).map(|place| stock.take(place));
                        let taken = taken.map(|queued| (queued.packet.seq, queued.size));
                        prop_assert_eq!(taken, queue.pop_front().map(|seq| (seq.into(), 100 + u32::from(seq))));
                    }
                }
                prop_assert_eq!(list.len(), queue.len());
                most = most.max(queues.iter().map(VecDeque::len).sum());
                prop_assert_eq!(stock.arriving(), queues.iter().map(VecDeque::len).sum::<usize>() as u64);
            }
            prop_assert_eq!(stock.places.len(), most);
        }
    }

    /// Twice the memory, because a growing array is copied.
    #[test]
    fn memory_is_within_a_quarter_of_that_of_the_packets_and_of_their_copies() {
        let mut stock = Stock::default();
        for packets in 1..=1000_usize {
            stock.put(&Packet::default(), 40);
            assert!(stock.heap_bytes() <= 2 * (packets * 5 / 4 + LEAST) * size_of::<Place>());
        }
    }
}
