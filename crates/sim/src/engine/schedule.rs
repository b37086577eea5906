//! Packets in flight, in the order of their arrival.
//!
//! Time ahead is cut into slices of one width. A packet is appended to the slice in which it arrives; a slice is sorted
//! when its turn comes, and then read from the beginning to the end: a calendar (R. Brown, *Calendar Queues*, CACM 1988) of
//! pages so long that sorting pays, and that the next packets are known well ahead. A packet that arrives in the slice that is
//! being read takes its place among those still unread. Packets that arrive before that slice, in one of which too many are unread,
//! or beyond the last one, go to heaps. The width follows the traffic.
//!
//! Packets of one stream that arrive at one moment keep their order. Streams that tie go in the order of [`Ties::rank`], a fair choice at
//! each moment, and after them the flows to be woken. The rank is computed only for ties. The order does not depend on the width.

mod entries;
mod keys;
mod width;

use crate::memory::make_room;
use crate::packet::{NoteSlot, Packet, PacketKind};
use crate::rng::{Identity, TIE_BITS, Ties};
use entries::{Delayed, Entry, grow};
use fullpipe_cc::Nanos;
use keys::{MOMENT, MOST_PACED, MOST_STREAMS, STREAM_BITS, is_tie, place_in, spread, stream_in, within};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use width::Traffic;

/// Number of a stream: packets that follow one another in order over one path section.
pub type StreamId = u32;

/// How many slices there are; a power of two.
const SLICES: u64 = 1024;
/// Binary logarithm of the width of a slice, nanoseconds: at first, and at most.
const FIRST_SHIFT: u32 = 19;
const LAST_SHIFT: u32 = 24;

/// All packets under way.
#[derive(Debug)]
pub struct Schedule {
    ties: Ties,
    /// Identity of each stream, and of each flow.
    streams: Vec<Identity>,
    flows: Vec<Identity>,
    shift: u32,
    /// Bits of a time that give the position in its slice.
    mask: u32,
    /// Packets by slice: those of slice `n` at `n % SLICES`.
    slices: Vec<Vec<Entry>>,
    /// Which slices hold any, a bit each.
    occupied: [u64; SLICES as usize / 64],
    /// Which slice is open: being read.
    open: u64,
    /// When it begins.
    base: Nanos,
    entries: Vec<Entry>,
    /// Its entries in order, each a key: time since `base`, stream, place.
    keys: Vec<u64>,
    /// Room for sorting them.
    unsorted: Vec<u64>,
    /// How many of them have been read.
    taken: usize,
    /// When the next packet arrives.
    next: Nanos,
    /// Packets that arrive before the open slice, or in it where it has no place for them, pushed after it was opened.
    late: BinaryHeap<Reverse<Delayed>>,
    /// Whether one of those arrives in the open slice. Later packets must not overtake it.
    outgrown: bool,
    /// Packets beyond the last slice.
    far: BinaryHeap<Reverse<Delayed>>,
    order: u64,
    spare: Vec<Vec<Entry>>,
    traffic: Traffic,
    /// How many packets have been pushed or read, about, since the width last changed.
    since_refiled: usize,
    /// Number of changes, and of packets that were sorted again for them.
    #[cfg(test)]
    refilings: (usize, usize),
}

impl Schedule {
    /// Nothing under way.
    pub fn new(ties: Ties) -> Schedule {
        Schedule {
            ties,
            streams: Vec::new(),
            flows: Vec::new(),
            shift: FIRST_SHIFT,
            mask: mask_of(FIRST_SHIFT),
            slices: vec![Vec::new(); SLICES as usize],
            occupied: [0; SLICES as usize / 64],
            open: 0,
            base: 0,
            entries: Vec::new(),
            keys: Vec::new(),
            unsorted: Vec::new(),
            taken: 0,
            next: Nanos::MAX,
            late: BinaryHeap::new(),
            outgrown: false,
            far: BinaryHeap::new(),
            order: 0,
            spare: Vec::new(),
            traffic: Traffic { widest: LAST_SHIFT, ..Traffic::default() },
            since_refiled: 0,
            #[cfg(test)]
            refilings: (0, 0),
        }
    }

    /// A new, empty stream. Where keys have no bits for more, the last one serves all that come: it settles ties, no more.
    pub fn add_stream(&mut self, identity: Identity) -> StreamId {
        if self.streams.len() < MOST_STREAMS as usize {
            make_room(&mut self.streams);
            self.streams.push(identity);
        }
        self.streams.len() as StreamId - 1
    }

    /// Announces the next flow, which [`Schedule::push_pace`] may name.
    pub fn add_flow(&mut self, identity: Identity) {
        make_room(&mut self.flows);
        self.flows.push(identity);
    }

    /// Appends to a stream; `packet.at` is not before that of the packet ahead of it, nor before that of a packet taken.
    #[inline(always)]
    pub fn push(&mut self, stream: StreamId, packet: &Packet) {
        if !self.file(stream, packet) {
            self.put_aside(stream, *packet);
        }
        if self.taken >= self.keys.len() {
            self.open_next();
        }
    }

    /// Wakes flow `flow` at `at`, after all packets that arrive at that moment; flows that tie go by their rank. False, and nothing is done,
    /// where that is so soon, or so far ahead, that no slice takes it, or the flow has no number.
    #[inline(always)]
    pub fn push_pace(&mut self, flow: u32, at: Nanos) -> bool {
        if flow >= MOST_PACED
            || !self.file(MOST_STREAMS + flow, &Packet { at, flow, kind: PacketKind::Pace, ..Packet::default() })
        {
            return false;
        }
        if self.taken >= self.keys.len() {
            self.open_next();
        }
        true
    }

    /// Makes room for `flows` more flows.
    pub fn reserve_flows(&mut self, flows: usize) {
        self.flows.reserve_exact(flows);
    }

    /// Identity of a flow.
    #[inline]
    pub fn flow(&self, flow: u32) -> Identity {
        self.flows.get(flow as usize).copied().unwrap_or(Identity::NONE)
    }

    /// When the next packet arrives; beyond every run if none is under way.
    #[inline(always)]
    pub fn next_time(&self) -> Nanos {
        self.next
    }

    /// Whether the next packet must be taken by [`Schedule::pop_late`].
    #[inline(always)]
    pub fn any_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Takes the next packet to arrive where none is late.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Packet> {
        let entry = self.entries.get(place_in(*self.keys.get(self.taken)?))?;
        let packet = entry.packet(self.next);
        self.taken += 1;
        match self.keys.get(self.taken) {
            Some(key) => self.next = self.base + within(*key),
            None => self.open_next(),
        }
        Some(packet)
    }

    /// The flow and the note of a packet that comes soon: `ahead` 0 is the next one in the open slice.
    #[inline(always)]
    pub fn upcoming(&self, ahead: usize) -> Option<(u32, NoteSlot)> {
        let entry = self.entries.get(place_in(*self.keys.get(self.taken + ahead)?))?;
        Some((entry.flow, entry.note))
    }

    /// All packets still under way.
    pub fn packets(&self) -> impl Iterator<Item = Packet> {
        let open = self.keys[self.taken..].iter().map(|key| &self.entries[place_in(*key)]);
        let entries = open.chain(self.slices.iter().flatten()).map(|entry| entry.packet(0));
        entries.chain(self.late.iter().chain(&self.far).map(|waiting| waiting.0.packet))
    }

    /// Bytes that packets under way take on the heap.
    pub fn heap_bytes(&self) -> usize {
        let slices = self.slices.iter().chain(&self.spare).chain([&self.entries]);
        let entries: usize = slices.map(Vec::capacity).sum();
        let keys = self.keys.capacity() + self.unsorted.capacity();
        let waiting = self.late.capacity() + self.far.capacity();
        let identities = self.streams.capacity() + self.flows.capacity();
        entries * size_of::<Entry>()
            + keys * size_of::<u64>()
            + waiting * size_of::<Delayed>()
            + identities * size_of::<Identity>()
    }

    /// Puts a packet into its slice; false where it has none.
    #[inline(always)]
    fn file(&mut self, stream: StreamId, packet: &Packet) -> bool {
        let slice = slice_of(packet.at, self.shift);
        if slice.wrapping_sub(self.open + 1) >= SLICES - 1 {
            return false;
        }
        let place = (slice % SLICES) as usize;
        let entries = &mut self.slices[place];
        if entries.len() == entries.capacity() {
            if !grow(entries, &mut self.spare) {
                return false;
            }
            // An empty slice has no capacity.
            self.occupied[place / 64] |= 1 << (place % 64);
        }
        entries.push(Entry::new(stream, packet, self.mask));
        true
    }

    /// A packet for a heap, numbered.
    fn waiting(&mut self, stream: StreamId, packet: &Packet) -> Reverse<Delayed> {
        self.order += 1;
        let rank = self.rank(packet.at, stream);
        Reverse(Delayed { at: packet.at, rank, order: self.order, stream, packet: *packet })
    }

    /// Puts a packet for which there is no slice ahead where it belongs. It is given away, so that others need not be in memory.
    #[cold]
    fn put_aside(&mut self, stream: StreamId, packet: Packet) {
        let slice = slice_of(packet.at, self.shift);
        if slice >= self.open + SLICES {
            self.traffic.far += 1;
            let waiting = self.waiting(stream, &packet);
            make_room(&mut self.far);
            self.far.push(waiting);
        } else {
            self.next = self.next.min(packet.at);
            if slice == self.open && self.insert(stream, &packet) {
                return;
            }
            let count = if slice == self.open { &mut self.traffic.late } else { &mut self.traffic.early };
            *count += 1;
            let waiting = self.waiting(stream, &packet);
            self.put_late(waiting);
        }
        self.follow_traffic();
    }

    /// Puts a packet that arrives in the open slice among those that have not been read; false where there are too many.
    #[inline(always)]
    fn insert(&mut self, stream: StreamId, packet: &Packet) -> bool {
        let unread = &self.keys[self.taken..];
        if self.outgrown || unread.len() > MOST_UNREAD {
            return false;
        }
        if self.entries.len() == self.entries.capacity() && !grow(&mut self.entries, &mut self.spare) {
            return false;
        }
        let entry = Entry::new(stream, packet, self.mask);
        let key = entry.key(self.entries.len());
        let mut place = self.taken + unread.partition_point(|&other| other < (key | MOMENT));
        if place > self.taken && is_tie(self.keys[place - 1], key) {
            place = self.place_among_ties(key, place);
        }
        self.entries.push(entry);
        self.keys.insert(place, key);
        true
    }

    /// Place of a key whose moment ends before `place`: behind all of its stream.
    #[cold]
    fn place_among_ties(&self, key: u64, mut place: usize) -> usize {
        let at = self.base + within(key);
        let rank = self.rank(at, stream_in(key));
        while place > self.taken {
            let before = self.keys[place - 1];
            if !is_tie(before, key) || self.rank(at, stream_in(before)) <= rank {
                break;
            }
            place -= 1;
        }
        place
    }

    /// Order of streams at one moment: arrivals before flows to be woken, then by [`Ties::rank`]. Equal ranks go by number.
    fn rank(&self, at: Nanos, stream: StreamId) -> u64 {
        let (wakes, identities, number) = match stream.checked_sub(MOST_STREAMS) {
            Some(flow) => (1, &self.flows, flow),
            None => (0, &self.streams, stream),
        };
        let identity = identities.get(number as usize).copied().unwrap_or(Identity::NONE);
        wakes << (TIE_BITS + STREAM_BITS) | u64::from(self.ties.rank(at, identity)) << STREAM_BITS | u64::from(number)
    }

    /// Puts streams that tie in the order of their ranks, in keys that are sorted.
    #[cold]
    fn settle_ties(&mut self) {
        let mut keys = std::mem::take(&mut self.keys);
        for tied in keys.chunk_by_mut(|&a, &b| is_tie(a, b)) {
            let (first, last) = (tied[0], tied[tied.len() - 1]);
            if stream_in(first) != stream_in(last) {
                let at = self.base + within(first);
                tied.sort_unstable_by_key(|&key| (self.rank(at, stream_in(key)), place_in(key)));
            }
        }
        self.keys = keys;
    }

    fn put_late(&mut self, waiting: Reverse<Delayed>) {
        self.outgrown |= slice_of(waiting.0.at, self.shift) >= self.open;
        make_room(&mut self.late);
        self.late.push(waiting);
    }

    /// Takes the next packet to arrive.
    #[inline(never)]
    pub fn pop_late(&mut self) -> Option<Packet> {
        let late = self.late.peek().map(|Reverse(waiting)| (waiting.at, waiting.rank))?;
        let key = self.keys.get(self.taken).copied();
        let filed = key.filter(|&key| {
            let at = self.base + within(key);
            at < late.0 || at == late.0 && self.rank(at, stream_in(key)) <= late.1
        });
        let packet = match filed {
            Some(key) => {
                self.taken += 1;
                self.entries[place_in(key)].packet(self.base + within(key))
            }
            None => self.late.pop()?.0.packet,
        };
        if self.taken >= self.keys.len() {
            self.open_next();
        }
        self.see_next();
        Some(packet)
    }

    fn see_next(&mut self) {
        let filed = self.keys.get(self.taken).map_or(Nanos::MAX, |&key| self.base + within(key));
        self.next = self.late.peek().map_or(filed, |Reverse(waiting)| filed.min(waiting.at));
    }

    /// The open slice has been read: opens the next one that holds any.
    #[inline(never)]
    fn open_next(&mut self) {
        self.traffic.taken += self.keys.len();
        self.traffic.opened += usize::from(!self.keys.is_empty());
        self.keys.clear();
        self.taken = 0;
        self.outgrown = false;
        self.follow_traffic();
        if !self.entries.is_empty() {
            self.entries.clear();
            self.spare.push(std::mem::take(&mut self.entries));
        }
        if let Some(slice) = self.next_occupied().or_else(|| self.slice_before_far()) {
            self.open = slice;
            self.fetch_far();
            self.read_open();
        }
        self.see_next();
    }

    /// The next slice that holds any packets.
    fn next_occupied(&self) -> Option<u64> {
        let first = (self.open + 1) % SLICES;
        let words = self.occupied.len();
        // The first word twice: its bits from `first` on, and in the end those before.
        (0..=words).find_map(|k| {
            let word = (first as usize / 64 + k) % words;
            let bits = self.occupied[word] & if k == 0 { u64::MAX << (first % 64) } else { u64::MAX };
            let place = (64 * word) as u64 + u64::from(bits.trailing_zeros());
            (bits != 0).then(|| self.open + 1 + place_after(place, first))
        })
    }

    /// An empty slice from which the first of the far packets is in reach.
    fn slice_before_far(&self) -> Option<u64> {
        self.far.peek().map(|Reverse(waiting)| slice_of(waiting.at, self.shift) - 1)
    }

    /// Files packets that the last slice has come up to.
    fn fetch_far(&mut self) {
        while let Some(Reverse(waiting)) = self.far.peek() {
            if slice_of(waiting.at, self.shift) >= self.open + SLICES {
                return;
            }
            if let Some(Reverse(waiting)) = self.far.pop() {
                if !self.file(waiting.stream, &waiting.packet) {
                    self.put_late(Reverse(waiting));
                }
            }
        }
    }

    /// Sorts the content of the open slice.
    fn read_open(&mut self) {
        let place = (self.open % SLICES) as usize;
        self.entries = std::mem::take(&mut self.slices[place]);
        self.occupied[place / 64] &= !(1 << (place % 64));
        self.base = (self.open - 1) << self.shift;
        self.read_keys();
        if self.entries.is_empty() {
            // Only far packets had been left, and now they are in reach.
            self.open_next();
        }
    }

    /// The keys of the entries, sorted.
    fn read_keys(&mut self) {
        // Sorted, and no two at one moment.
        let (mut apart, mut last) = (true, 0);
        self.keys.extend(self.entries.iter().enumerate().map(|(place, entry)| {
            let key = entry.key(place);
            apart &= last < key;
            last = key | MOMENT;
            key
        }));
        if !apart && self.sort_keys() {
            self.settle_ties();
        }
    }

    /// Sorts the keys. Returns whether there are ties.
    fn sort_keys(&mut self) -> bool {
        spread(&mut self.keys, &mut self.unsorted, self.shift).unwrap_or_else(|| {
            self.keys.sort_unstable();
            true
        })
    }
}

/// Among more unread packets of the open slice than these no place is made for another one.
const MOST_UNREAD: usize = 512;

/// Slices count from 1, so that there is one before the first.
#[inline(always)]
fn slice_of(at: Nanos, shift: u32) -> u64 {
    (at >> shift) + 1
}

/// The bits of a time within a slice.
fn mask_of(shift: u32) -> u32 {
    (1 << shift) - 1
}

/// How many places after that of slice `first` one is.
fn place_after(place: u64, first: u64) -> u64 {
    place.wrapping_sub(first) % SLICES
}

#[cfg(test)]
mod tests;
