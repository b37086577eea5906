//! What happens next: ordered streams of packets, of which only the heads compete.
//!
//! A FIFO link delivers in the order it accepted, so packets that follow one another over the same stretch form a stream
//! that is already sorted. Only the head of each stream sits in a 4-ary heap; ties go to the lower stream number.

use crate::packet::Packet;
use crate::prefetch::prefetch;
use crate::ring::Ring;
use fullpipe_cc::Nanos;

/// What the packets of a stream are on their way to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The next link of their route, or the receiver at its end.
    NextHop,
    /// The sender that awaits these ACKs.
    Sender,
}

/// The number of a stream.
pub type StreamId = u32;

/// All streams, and the order of their heads.
#[derive(Debug, Default)]
pub struct Schedule {
    streams: Vec<Stream>,
    /// A 4-ary heap of the heads of all streams that have any, filled up with [`NOBODY`] so that a place has four children or
    /// none.
    heap: Vec<Head>,
    heads: usize,
}

/// The head of a stream.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// When it arrives, then its stream: one comparison orders two.
    key: u64,
    stream: StreamId,
    flow: u32,
}

/// Bits of a key that hold the stream; the rest, 50 bits of nanoseconds, is 13 days, and the longest run takes 12. Streams whose
/// numbers agree in these bits settle ties by their places in the heap, which are the same in every run.
const STREAM_BITS: u32 = 14;

/// The latest time a key can hold.
const LATEST: Nanos = Nanos::MAX >> STREAM_BITS;

/// What stands in the heap where there is no stream.
const NOBODY: Head = Head { key: u64::MAX, stream: u32::MAX, flow: u32::MAX };

impl Head {
    #[inline(always)]
    fn new(packet: &Packet, stream: StreamId) -> Head {
        let low = u64::from(stream) & ((1 << STREAM_BITS) - 1);
        Head { key: packet.at.min(LATEST) << STREAM_BITS | low, stream, flow: packet.flow }
    }
}

#[derive(Debug)]
struct Stream {
    packets: Ring<Packet>,
    destination: Destination,
}

impl Schedule {
    /// A new, empty stream.
    pub fn add_stream(&mut self, destination: Destination) -> StreamId {
        self.streams.push(Stream { packets: Ring::default(), destination });
        self.streams.len() as StreamId - 1
    }

    /// Makes room for so many more streams.
    pub fn reserve(&mut self, streams: usize) {
        self.streams.reserve_exact(streams);
        self.heap.reserve_exact(streams + 4);
    }

    /// Appends to a stream; `packet.at` is not before that of the packet ahead of it.
    #[inline(always)]
    pub fn push(&mut self, id: StreamId, packet: Packet) {
        let stream = &mut self.streams[id as usize];
        debug_assert!(stream.packets.back().is_none_or(|last| last.at <= packet.at));
        let was_empty = stream.packets.len() == 0;
        stream.packets.push_back(packet);
        if was_empty {
            self.rise(Head::new(&packet, id));
        }
    }

    /// When the next packet arrives; beyond every run if none is under way.
    #[inline]
    pub fn next_time(&self) -> Nanos {
        self.heap.first().map_or(Nanos::MAX, |head| head.key >> STREAM_BITS)
    }

    /// Which flow the next packet is of. Asks for that packet, and for the streams that may come after it.
    #[inline]
    pub fn next_flow(&self) -> Option<u32> {
        let head = self.heap.first()?;
        for later in self.heap.iter().skip(1).take(4) {
            if let Some(stream) = self.streams.get(later.stream as usize) {
                prefetch(stream, size_of::<Stream>());
            }
        }
        if let Some(packet) = self.streams.get(head.stream as usize).and_then(|stream| stream.packets.front()) {
            prefetch(packet, size_of::<Packet>());
        }
        Some(head.flow)
    }

    /// Takes the next packet to arrive.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Packet, Destination)> {
        let id = self.heap.first()?.stream;
        let stream = self.streams.get_mut(id as usize)?;
        let packet = stream.packets.pop_front()?;
        let destination = stream.destination;
        match stream.packets.front().map(|next| Head::new(next, id)) {
            Some(next) => self.sink(next),
            None => self.remove_first(),
        }
        Some((packet, destination))
    }

    /// All packets still under way.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.streams.iter().flat_map(|stream| stream.packets.iter())
    }

    fn rise(&mut self, head: Head) {
        if self.heads == self.heap.len() {
            // One more place of children, or the first of all.
            self.heap.extend_from_slice(if self.heads == 0 { &[NOBODY] } else { &[NOBODY; 4] });
        }
        let mut hole = self.heads;
        self.heads += 1;
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent].key <= head.key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = head;
    }

    fn remove_first(&mut self) {
        self.heads -= 1;
        let last = std::mem::replace(&mut self.heap[self.heads], NOBODY);
        if self.heads > 0 {
            self.sink(last);
        }
    }

    /// Puts `head` in the place of the first one and restores the order.
    #[inline]
    fn sink(&mut self, head: Head) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        while let Some(&[a, b, c, d]) = heap.get(4 * hole + 1..).and_then(|rest| rest.first_chunk()) {
            let (low, high) = (a.key.min(b.key), c.key.min(d.key));
            let least = low.min(high);
            if head.key <= least {
                break;
            }
            let of_low = usize::from(b.key < a.key);
            let of_high = 2 + usize::from(d.key < c.key);
            let child = 4 * hole + 1 + if high < low { of_high } else { of_low };
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = head;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Kind, SackSlot};

    fn packet(at: Nanos, seq: u32) -> Packet {
        let sack = SackSlot::NONE;
        Packet { at, stamp: 0, receiver_stamp: 0, flow: 0, seq, sack, incarnation: 0, hop: 0, kind: Kind::Data }
    }

    #[test]
    fn heads_come_in_time_order_and_ties_by_stream() {
        let mut schedule = Schedule::default();
        let ids: Vec<_> = (0..6).map(|_| schedule.add_stream(Destination::NextHop)).collect();
        for (stream, times) in [(5, [1, 4]), (0, [3, 9]), (3, [4, 4]), (1, [4, 5])] {
            for (k, at) in times.into_iter().enumerate() {
                schedule.push(ids[stream], packet(at, (10 * stream + k) as u32));
            }
        }
        let order: Vec<_> = std::iter::from_fn(|| schedule.pop()).map(|(p, _)| (p.at, p.seq)).collect();
        assert_eq!(order, [(1, 50), (3, 0), (4, 10), (4, 30), (4, 31), (4, 51), (5, 11), (9, 1)]);
    }
}
