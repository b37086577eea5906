//! The packets of a served link. Each stays in its place while queues hand on the place's number; places are used again, and lists are linked
//! through them, so that any number of lists takes room for what they hold and no more.

use crate::memory::growth;
use crate::packet::{Ecn, Packet};
use fullpipe_cc::Nanos;

/// See the head of the file; and what the link's queue did to them since somebody looked.
#[derive(Debug)]
pub struct Stock {
    places: Vec<Place>,
    /// The first place that is free.
    free: u32,
    /// Data and datagrams among them that the wire does not lose.
    arriving: u64,
    /// The queue did something to any.
    pub acted: bool,
    /// Those it has dropped, in that order, which are still here.
    pub dropped: Vec<u32>,
    /// How many it has marked.
    pub marked: u64,
}

/// A line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Place {
    queued: Queued,
    /// The one behind it, of its list or of the free ones.
    next: u32,
}

/// No place.
const NONE: u32 = u32::MAX;

/// Room for this many at least once there is any.
const LEAST: usize = 4;

/// A packet in its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queued {
    /// The packet; it came at `packet.at`.
    pub packet: Packet,
    /// Bytes on the wire.
    pub size: u32,
    /// What the wire will do to it: no queue's concern.
    pub fate: Fate,
}

/// What becomes of a packet once it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// A segment or a datagram that reaches the far end.
    #[default]
    Arrives,
    /// An ACK that does.
    AckArrives,
    /// The wire loses it.
    Lost,
}

/// What queues have to know of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its place.
    pub place: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// When it came.
    pub entered: Nanos,
}

/// First in, first out, of places of one [`Stock`]; without any, its ends are of no account.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl List {
    /// How many are on it.
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
    /// A packet of `size` bytes comes.
    #[inline(always)]
    pub fn put(&mut self, packet: &Packet, size: u32) -> Known {
        // The packet is not for a call to put there: it would be put together in memory first.
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

    /// What is known of the packet at a place.
    #[inline(always)]
    pub fn known(&self, place: u32) -> Known {
        let Queued { packet, size, .. } = &self.places[place as usize].queued;
        Known { place, size: *size, entered: packet.at }
    }

    /// The packet at a place.
    #[inline(always)]
    pub fn packet(&self, place: u32) -> &Packet {
        &self.places[place as usize].queued.packet
    }

    /// Whether the wire loses the packet at a place.
    #[inline(always)]
    pub fn is_lost(&self, place: u32) -> bool {
        self.places[place as usize].queued.fate == Fate::Lost
    }

    /// The wire will lose the packet at a place.
    pub fn lose(&mut self, place: u32) -> Packet {
        let queued = &mut self.places[place as usize].queued;
        self.arriving -= u64::from(queued.fate == Fate::Arrives);
        queued.fate = Fate::Lost;
        queued.packet
    }

    /// A packet goes, which is on no list: what was at its place, which is free now.
    #[inline(always)]
    pub fn take(&mut self, place: u32) -> Queued {
        let queued = self.places[place as usize].queued;
        self.arriving -= u64::from(queued.fate == Fate::Arrives);
        self.places[place as usize].next = self.free;
        self.free = place;
        queued
    }

    /// Adds a packet, which is on no list, at the end of `list`.
    #[inline(always)]
    pub fn link(&mut self, list: &mut List, place: u32) {
        // Without a branch, which nobody could guess: all bits where there is no other, and then it is linked to itself.
        let alone = u32::from(list.len == 0).wrapping_neg();
        let last = list.tail ^ ((list.tail ^ place) & alone);
        list.head ^= (list.head ^ place) & alone;
        self.places[last as usize].next = place;
        list.tail = place;
        list.len += 1;
    }

    /// The packet that has been on `list` longest, and is not any more.
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

    /// The queue drops a packet.
    pub fn drop(&mut self, place: u32) {
        self.acted = true;
        self.dropped.push(place);
    }

    /// The queue marks a packet if it is of an ECN-capable transport (RFC 3168 section 5); says whether it is. One marked before stays so
    /// and is not counted again.
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

    /// Data and datagrams that are here and that the wire does not lose.
    pub fn arriving(&self) -> u64 {
        self.arriving
    }

    /// Bytes that they take on the heap.
    pub fn heap_bytes(&self) -> usize {
        // Places are aligned to cache lines, so that they are copied where their number grows.
        2 * self.places.capacity() * size_of::<Place>() + self.dropped.capacity() * size_of::<u32>()
    }

    /// One free place more.
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
        /// Three lists agree with three of the standard library's queues, and take no more places than are ever in use.
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

    /// Twice the room, since it is copied where it grows.
    #[test]
    fn memory_is_within_a_quarter_of_that_of_the_packets_and_of_their_copies() {
        let mut stock = Stock::default();
        for packets in 1..=1000_usize {
            stock.put(&Packet::default(), 40);
            assert!(stock.heap_bytes() <= 2 * (packets * 5 / 4 + LEAST) * size_of::<Place>());
        }
    }
}
