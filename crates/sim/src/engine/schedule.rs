//! What happens next: packets under way, in the order in which they arrive.
//!
//! Time ahead is cut into slices of one width. A packet is appended to the slice in which it arrives; a slice is sorted
//! when its turn comes, and then read from the beginning to the end: a calendar (R. Brown, *Calendar Queues*, CACM 1988) of
//! pages so long that sorting pays, and that the next packets are known well ahead. A packet that arrives in the slice that is
//! being read takes its place among those still unread. Packets that arrive before that slice, in one of which too many are unread,
//! or beyond the last one, go to heaps. The width follows the traffic.
//!
//! Packets of one stream that arrive at one moment keep their order. Streams that tie go in the order of [`Ties::rank`], a fair choice at
//! each moment, and after them the flows to be woken. The rank is computed only for ties. The order does not depend on the width.

use crate::memory::make_room;
use crate::packet::{Kind, NoteSlot, Packet};
use crate::rng::{Identity, TIE_BITS, Ties};
use fullpipe_cc::Nanos;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The number of a stream: packets that follow one another over the same stretch, in order.
pub type StreamId = u32;

/// How many slices there are; a power of two.
const SLICES: u64 = 1024;
/// Binary logarithm of the width of a slice, nanoseconds: at first, and at most.
const FIRST_SHIFT: u32 = 19;
const LAST_SHIFT: u32 = 24;
/// Bits of a key: time within a slice, stream, place in the slice.
const STREAM_BITS: u32 = 22;
const PLACE_BITS: u32 = 64 - STREAM_BITS - LAST_SHIFT;
const MOST_STREAMS: StreamId = (1 << STREAM_BITS) - MOST_PACED;
/// So many flows have a number each after those of streams, for when their pacers let them go on.
const MOST_PACED: u32 = 1 << 16;
/// How many packets fit into a slice.
const MOST: usize = 1 << PLACE_BITS;

/// All packets under way.
#[derive(Debug)]
pub struct Schedule {
    ties: Ties,
    /// Identity of each stream, and of each flow.
    streams: Vec<Identity>,
    flows: Vec<Identity>,
    shift: u32,
    /// The bits of a time that say where in its slice it is.
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
    late: BinaryHeap<Reverse<Waiting>>,
    /// Whether any of those arrives in the open slice: what comes after it must not pass it.
    outgrown: bool,
    /// Packets beyond the last slice.
    far: BinaryHeap<Reverse<Waiting>>,
    order: u64,
    spare: Vec<Vec<Entry>>,
    traffic: Traffic,
    /// How many packets have been pushed or read, about, since the width last changed.
    since_refiled: usize,
    /// How many times it changed, and how many packets were sorted anew for it.
    #[cfg(test)]
    refilings: (usize, usize),
}

/// A packet in a slice: its time within the slice.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    stamp: Nanos,
    aside: Nanos,
    within: u32,
    stream: StreamId,
    flow: u32,
    seq: u32,
    note: NoteSlot,
    incarnation: u16,
    hop: u8,
    kind: Kind,
}

/// A packet in a heap.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: Nanos,
    /// See [`Schedule::rank`].
    rank: u64,
    order: u64,
    stream: StreamId,
    packet: Packet,
}

/// What the width follows: counts since it was last considered.
#[derive(Debug, Default)]
struct Traffic {
    taken: usize,
    opened: usize,
    /// Of the open slice.
    late: usize,
    /// Before it.
    early: usize,
    far: usize,
    /// A width at which too many packets came late is not tried again.
    widest: u32,
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
            || !self.file(MOST_STREAMS + flow, &Packet { at, flow, kind: Kind::Pace, ..Packet::default() })
        {
            return false;
        }
        if self.taken >= self.keys.len() {
            self.open_next();
        }
        true
    }

    /// Makes room for so many flows more.
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
            + waiting * size_of::<Waiting>()
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
    fn waiting(&mut self, stream: StreamId, packet: &Packet) -> Reverse<Waiting> {
        self.order += 1;
        let rank = self.rank(packet.at, stream);
        Reverse(Waiting { at: packet.at, rank, order: self.order, stream, packet: *packet })
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

    fn put_late(&mut self, waiting: Reverse<Waiting>) {
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

    /// Sorts what the open slice holds.
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

    /// Sorts the keys; says whether any tie.
    fn sort_keys(&mut self) -> bool {
        spread(&mut self.keys, &mut self.unsorted, self.shift).unwrap_or_else(|| {
            self.keys.sort_unstable();
            true
        })
    }

    /// Considers the width, every so many packets.
    #[inline]
    fn follow_traffic(&mut self) {
        let Traffic { taken, late, early, far, .. } = self.traffic;
        let passed = taken + late + early + far;
        if passed >= CONSIDERED {
            self.since_refiled += passed;
            let shift = self.better_shift();
            self.traffic = Traffic { widest: self.traffic.widest, ..Traffic::default() };
            // Each packet pays for one to be sorted anew, so that however the traffic changes it costs no more than twice its filing.
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
            // What came late may have been a burst long gone.
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

    /// How many slices ahead the last one is that holds any.
    fn in_use(&self) -> u64 {
        let holds = |slice: &u64| !self.slices[(slice % SLICES) as usize].is_empty();
        (self.open..self.open + SLICES).rev().find(holds).map_or(0, |slice| slice - self.open)
    }

    /// How many packets are under way.
    pub fn waiting_packets(&self) -> usize {
        let filed: usize = self.slices.iter().map(Vec::len).sum();
        self.keys.len() - self.taken + filed + self.late.len() + self.far.len()
    }

    /// Sorts all packets into slices of another width.
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
        // Packets of one stream that arrive at one moment stand in one of these, or in the open slice and then among the late.
        for &key in &keys[taken..] {
            let entry = &entries[place_in(key)];
            self.refile_one(entry.stream, &entry.packet(base + within(key)));
        }
        for heap in heaps {
            let mut waiting: Vec<_> = heap.into_iter().map(|Reverse(waiting)| waiting).collect();
            waiting.sort_unstable_by_key(|waiting| Reverse(waiting.order));
            while let Some(Waiting { stream, packet, .. }) = waiting.pop() {
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

    /// No packet arrives before.
    fn earliest(&self) -> Nanos {
        let open = self.keys.get(self.taken).map(|&key| self.base + within(key));
        let slice = self.next_occupied().map(|slice| (slice - 1) << self.shift);
        let waiting = [&self.late, &self.far].map(|heap| heap.peek().map(|Reverse(waiting)| waiting.at));
        [open, slice].into_iter().chain(waiting).flatten().min().unwrap_or(0)
    }
}

/// Packets after which the width is considered.
const CONSIDERED: usize = 4096;
/// Packets a slice should hold: with fewer, opening slices costs more than reading them; with more, they outgrow the
/// cache.
const FEW: usize = 16;
const MANY: usize = 128;
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

/// The bits of a key below its time.
const MOMENT: u64 = (1 << (STREAM_BITS + PLACE_BITS)) - 1;

/// Whether two keys have one time.
#[inline(always)]
fn is_tie(a: u64, b: u64) -> bool {
    (a ^ b) <= MOMENT
}

#[inline(always)]
fn within(key: u64) -> Nanos {
    key >> (STREAM_BITS + PLACE_BITS)
}

#[inline(always)]
fn stream_in(key: u64) -> StreamId {
    (key >> PLACE_BITS) as StreamId & ((1 << STREAM_BITS) - 1)
}

#[inline(always)]
fn place_in(key: u64) -> usize {
    key as usize & (MOST - 1)
}

/// Sorts the keys of a slice of width `shift`, and says whether any tie; `None` where it is better done by comparing. Arrivals are spread over a slice, so
/// each key goes to a bucket by its time, and then past the few that share it: less guessing by the processor.
fn spread(keys: &mut Vec<u64>, unsorted: &mut Vec<u64>, shift: u32) -> Option<bool> {
    let bits = keys.len().ilog2() + 1;
    if bits > shift || 1 << bits > BUCKETS {
        return None;
    }
    let bucket = |key: u64| (key >> (STREAM_BITS + PLACE_BITS + shift - bits)) as usize & (BUCKETS - 1);
    let mut ends = [0u16; BUCKETS];
    for &key in keys.iter() {
        ends[bucket(key)] += 1;
    }
    let (mut sum, mut most) = (0, 0);
    for end in &mut ends[..1 << bits] {
        most = most.max(*end);
        sum += std::mem::replace(end, sum);
    }
    if most > CROWD {
        return None;
    }
    std::mem::swap(keys, unsorted);
    keys.resize(unsorted.len(), 0);
    for &key in unsorted.iter() {
        let place = &mut ends[bucket(key)];
        keys[usize::from(*place)] = key;
        *place += 1;
    }
    Some(insertion_sort(keys))
}

/// Sorts the keys; says whether any tie.
fn insertion_sort(keys: &mut [u64]) -> bool {
    let mut ties = false;
    for end in 1..keys.len() {
        let key = keys[end];
        if keys[end - 1] | MOMENT < key {
            continue;
        }
        let mut place = end;
        while place > 0 && keys[place - 1] > key {
            keys[place] = keys[place - 1];
            place -= 1;
        }
        keys[place] = key;
        ties |= place > 0 && is_tie(keys[place - 1], key) || place < end && is_tie(keys[place + 1], key);
    }
    ties
}

/// Most buckets of [`spread`], and most keys in one: beyond, comparing all is faster.
const BUCKETS: usize = 512;
const CROWD: u16 = 12;

/// Makes room in a slice: it takes one that has been read, or grows, large ones by a quarter. False where it is full.
#[cold]
fn grow(entries: &mut Vec<Entry>, spare: &mut Vec<Vec<Entry>>) -> bool {
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
    fn new(stream: StreamId, packet: &Packet, mask: u32) -> Entry {
        let Packet { at, stamp, aside, flow, seq, note, incarnation, hop, kind } = *packet;
        let within = at as u32 & mask;
        Entry { stamp, aside, within, stream, flow, seq, note, incarnation, hop, kind }
    }

    #[inline(always)]
    fn packet(&self, at: Nanos) -> Packet {
        let Entry { stamp, aside, flow, seq, note, incarnation, hop, kind, .. } = *self;
        Packet { at, stamp, aside, flow, seq, note, incarnation, hop, kind }
    }

    #[inline(always)]
    fn key(&self, place: usize) -> u64 {
        u64::from(self.within) << (STREAM_BITS + PLACE_BITS) | u64::from(self.stream) << PLACE_BITS | place as u64
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.rank, self.order).cmp(&(other.at, other.rank, other.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(at: Nanos, seq: u32) -> Packet {
        Packet { at, seq, ..Packet::default() }
    }

    fn take(schedule: &mut Schedule) -> Option<(Nanos, u32)> {
        let next = schedule.next_time();
        let taken = if schedule.any_late() { schedule.pop_late() } else { schedule.pop() };
        assert_eq!(next, taken.map_or(Nanos::MAX, |packet| packet.at));
        taken.map(|packet| (packet.at, packet.seq))
    }

    const TIES: Ties = Ties::new(7);

    /// Identity of a stream or a flow in these tests.
    fn identity(number: u32) -> Identity {
        Identity::NONE.number(number.into())
    }

    /// A schedule with so many streams, and flows of the numbers below 8.
    fn with_streams(streams: u32) -> Schedule {
        let mut schedule = Schedule::new(TIES);
        (0..streams).for_each(|number| assert_eq!(schedule.add_stream(identity(number)), number));
        (0..8).for_each(|number| schedule.add_flow(identity(number)));
        schedule
    }

    /// At 4 ns packets of three streams, two of them of one: these keep their order.
    #[test]
    fn packets_come_in_time_order_and_ties_by_rank() {
        let mut schedule = with_streams(6);
        for (stream, times) in [(5, [1, 4]), (0, [3, 9]), (3, [4, 4]), (1, [4, 5])] {
            for (k, at) in (0..).zip(times) {
                schedule.push(stream, &packet(at, 10 * stream + k));
            }
        }
        let order: Vec<_> = std::iter::from_fn(|| take(&mut schedule)).collect();
        let mut tied = [10, 30, 31, 51];
        tied.sort_by_key(|seq| TIES.rank(4, identity(seq / 10)));
        let expected = [(1, 50), (3, 0)].into_iter().chain(tied.map(|seq| (4, seq))).chain([(5, 11), (9, 1)]);
        assert_eq!(order, expected.collect::<Vec<_>>());
    }

    /// 1000 moments at which three streams tie, pushed in one order: each stream is first a third of the times. The standard deviation
    /// is 15.
    #[test]
    fn no_stream_wins_ties_by_its_number() {
        let mut schedule = with_streams(3);
        let mut first = [0; 3];
        for moment in 1..=1000 {
            (0..3).for_each(|stream| schedule.push(stream, &packet(moment * 12_000, stream)));
            first[take(&mut schedule).expect("three").1 as usize] += 1;
            (0..2).for_each(|_| assert!(take(&mut schedule).is_some()));
        }
        assert!(first.iter().all(|won| (280..=390).contains(won)), "{first:?}");
    }

    /// Flows 7 and 2 are to be woken at a moment at which packets of a stream arrive, one of which is pushed last; one as soon as 100 ns, in the
    /// slice that is open, and one with too high a number, are no entries.
    #[test]
    fn flows_are_woken_after_all_packets_of_a_moment_by_rank() {
        let mut schedule = with_streams(1);
        let stream = 0;
        schedule.push(stream, &packet(50, 0));
        schedule.push(stream, &packet(MS, 1));
        assert!(schedule.push_pace(7, MS) && schedule.push_pace(2, MS));
        assert!(!schedule.push_pace(3, 100) && !schedule.push_pace(MOST_PACED, MS));
        schedule.push(stream, &packet(MS, 2));
        let order: Vec<_> = std::iter::from_fn(|| schedule.pop())
            .map(|packet| (packet.at, packet.kind, packet.flow, packet.seq))
            .collect();
        let arrives = |at, seq| (at, Kind::Data, 0, seq);
        let wakes = |flow| (MS, Kind::Pace, flow, 0);
        let mut woken = [2, 7];
        woken.sort_by_key(|&flow| TIES.rank(MS, identity(flow)));
        assert_eq!(order, [arrives(50, 0), arrives(MS, 1), arrives(MS, 2), wakes(woken[0]), wakes(woken[1])]);
    }

    /// Five million streams: keys have 22 bits for their number. A number beyond those would be taken for a later time.
    #[test]
    fn more_streams_than_numbers_keep_the_order_of_time() {
        let mut schedule = Schedule::new(TIES);
        let last = (0..5_000_000).map(|k| schedule.add_stream(identity(k))).last().expect("five million");
        schedule.push(0, &packet(2, 0));
        schedule.push(last, &packet(1, 1));
        schedule.push(0, &packet(1, 2));
        let order: Vec<_> = std::iter::from_fn(|| take(&mut schedule)).collect();
        let mut tied = [(1, 2), (1, 1)];
        tied.sort_by_key(|&(_, seq)| TIES.rank(1, identity(if seq == 1 { MOST_STREAMS - 1 } else { 0 })));
        assert_eq!(order, [tied[0], tied[1], (2, 0)]);
    }

    proptest! {
        /// Whatever the delays, near or far beyond the slices, the order is that of a plain list sorted by time, rank and push;
        /// long enough for the width to change. Delays are multiples of `unit`: with a large one most packets tie.
        #[test]
        fn the_order_is_that_of_a_sorted_list(
            delays in prop::collection::vec((0u32..30, 1u64..1000, 0u32..4), 1..40),
            rounds in 1usize..600,
            unit in prop::sample::select(vec![1u64, 1, 1_000, 1_000_000]),
        ) {
            let mut schedule = with_streams(4);
            let mut waiting = std::collections::BTreeSet::new();
            let mut last = [0; 4];
            let (mut now, mut pushed) = (0, 0u32);
            for _ in 0..rounds {
                for &(magnitude, factor, stream) in &delays {
                    let at = (now + (factor << magnitude)).next_multiple_of(unit).max(last[stream as usize]);
                    last[stream as usize] = at;
                    schedule.push(stream, &packet(at, pushed));
                    waiting.insert((at, TIES.rank(at, identity(stream)), pushed));
                    pushed += 1;
                }
                for _ in 0..delays.len() - usize::from(rounds % 3 == 0) {
                    let first = waiting.pop_first();
                    prop_assert_eq!(take(&mut schedule), first.map(|(at, _, seq)| (at, seq)));
                    now = first.map_or(now, |(at, ..)| at);
                }
            }
            prop_assert_eq!(schedule.packets().count(), waiting.len());
            while let Some((at, _, seq)) = waiting.pop_first() {
                prop_assert_eq!(take(&mut schedule), Some((at, seq)));
            }
            prop_assert_eq!(take(&mut schedule), None);
        }
    }

    /// So many packets under way, each sent again as soon as it arrives, for the delay that `delay` says by the number of packets so far:
    /// how many times the width changed, and how many packets were sorted anew for each that arrived.
    fn refilings(held: u32, packets: u32, delay: impl Fn(u32) -> Nanos) -> (usize, f64) {
        let mut schedule = with_streams(2);
        let streams = [0, 1];
        let mut last = [0; 2];
        for k in 0..packets + held {
            let now = if k < held { 0 } else { take(&mut schedule).expect("one under way").0 };
            let stream = k as usize % 2;
            last[stream] = last[stream].max(now + delay(k));
            schedule.push(streams[stream], &packet(last[stream], k));
        }
        let (times, moved) = schedule.refilings;
        (times, moved as f64 / f64::from(packets))
    }

    /// No load makes the calendar sort more packets anew than pass through it, nor go on changing its width: steady ones, a queue
    /// that swells and drains as a sawtooth does, and two paths of different lengths.
    #[test]
    fn the_width_settles_whatever_the_load() {
        const PACKETS: u32 = 400_000;
        for held in [10, 1_000, 30_000, 100_000] {
            for rtt in [MS / 10, 10 * MS, 100 * MS, 1000 * MS] {
                let spaced = |k: u32| rtt + rtt * Nanos::from(k.min(held)) / Nanos::from(held);
                let sawtooth = |k: u32| spaced(k) + rtt * Nanos::from(k % (3 * held)) / Nanos::from(3 * held);
                let paths = |k: u32| spaced(k) * if k % 2 == 0 { 1 } else { 7 };
                let loads: [(&str, &dyn Fn(u32) -> Nanos); 3] =
                    [("steady", &spaced), ("sawtooth", &sawtooth), ("paths", &paths)];
                for (name, load) in loads {
                    let (times, moved) = refilings(held, PACKETS, load);
                    assert!(moved <= 2.0, "{moved} moves a packet: {name}, {held} under way, {rtt} ns");
                    assert!(times <= 24, "{times} widths: {name}, {held} under way, {rtt} ns");
                }
            }
        }
    }

    /// Six hundred in the open slice, more than find a place there; then two of one stream at one moment, the second when there is room again.
    #[test]
    fn nothing_passes_what_the_open_slice_had_no_place_for() {
        let mut schedule = with_streams(2);
        let (many, two) = (0, 1);
        (0..600).for_each(|k| schedule.push(many, &packet(1000 + Nanos::from(k), k)));
        schedule.push(two, &packet(5000, 1000));
        (0..300).for_each(|k| assert_eq!(take(&mut schedule), Some((1000 + Nanos::from(k), k))));
        schedule.push(two, &packet(5000, 1001));
        (300..600).for_each(|k| assert_eq!(take(&mut schedule), Some((1000 + Nanos::from(k), k))));
        assert_eq!([take(&mut schedule), take(&mut schedule)], [Some((5000, 1000)), Some((5000, 1001))]);
    }

    /// Hosts that take up to 240 us at the ends of a path of 120 ms: whatever the width, what comes soon and what comes late has a place,
    /// and hardly a packet goes to a heap.
    #[test]
    fn short_waits_among_long_ones_need_no_heap() {
        const PACKETS: u64 = 200_000;
        let mut schedule = with_streams(2);
        let (path, host) = (0, 1);
        (0..500).for_each(|k| schedule.push(path, &packet(k * MS / 4, 0)));
        let mut awake = 0;
        for k in 0..PACKETS {
            let (now, in_host) = take(&mut schedule).expect("one under way");
            if in_host == 1 {
                schedule.push(path, &packet(now + 120 * MS, 0));
            } else {
                awake = awake.max(now + k * 7919 % 240_000);
                schedule.push(host, &packet(awake, 1));
            }
        }
        assert!(schedule.order < PACKETS / 20, "{} of {PACKETS}", schedule.order);
    }

    const MS: Nanos = 1_000_000;
}
