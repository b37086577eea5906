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
    /// A 4-ary heap of the heads of all streams that have any.
    heap: Vec<Key>,
}

/// The head of a stream: when it arrives, the stream, and which flow it is of; as one number, so that one comparison without a
/// branch orders time and stream.
type Key = u128;

#[inline]
fn key(head: &Packet, id: StreamId) -> Key {
    u128::from(head.at) << 64 | u128::from(id) << 32 | u128::from(head.flow)
}

#[inline]
fn stream_of(key: Key) -> StreamId {
    (key >> 32) as StreamId
}

#[inline]
fn time_of(key: Key) -> Nanos {
    (key >> 64) as Nanos
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
        self.heap.reserve_exact(streams);
    }

    /// Appends to a stream; `packet.at` is not before that of the packet ahead of it.
    #[inline]
    pub fn push(&mut self, id: StreamId, packet: Packet) {
        let stream = &mut self.streams[id as usize];
        debug_assert!(stream.packets.back().is_none_or(|last| last.at <= packet.at));
        let was_empty = stream.packets.len() == 0;
        stream.packets.push_back(packet);
        if was_empty {
            self.heap.push(key(&packet, id));
            self.rise(self.heap.len() - 1);
        }
    }

    /// When the next packet arrives; `Nanos::MAX` if none is under way.
    #[inline]
    pub fn next_time(&self) -> Nanos {
        self.heap.first().map_or(Nanos::MAX, |&head| time_of(head))
    }

    /// Which flow the next packet is of. Asks for its stream meanwhile.
    #[inline]
    pub fn next_flow(&self) -> Option<u32> {
        let &head = self.heap.first()?;
        prefetch(&self.streams[stream_of(head) as usize], size_of::<Stream>());
        Some(head as u32)
    }

    /// Takes the next packet to arrive.
    #[inline]
    pub fn pop(&mut self) -> Option<(Packet, Destination)> {
        let id = stream_of(*self.heap.first()?);
        let stream = &mut self.streams[id as usize];
        let packet = stream.packets.pop_front().expect("a head in the heap has a packet");
        let destination = stream.destination;
        match stream.packets.front().map(|next| key(next, id)) {
            Some(next) => self.sink(next),
            None => {
                let last = self.heap.pop().expect("just seen");
                if !self.heap.is_empty() {
                    self.sink(last);
                }
            }
        }
        Some((packet, destination))
    }

    /// All packets still under way.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.streams.iter().flat_map(|stream| stream.packets.iter())
    }

    fn rise(&mut self, mut child: usize) {
        while child > 0 {
            let parent = (child - 1) / 4;
            if self.heap[parent] <= self.heap[child] {
                return;
            }
            self.heap.swap(parent, child);
            child = parent;
        }
    }

    /// Puts `key` in the place of the first one and restores the order.
    #[inline]
    fn sink(&mut self, key: Key) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            let (child, least) = if let Some(&[a, b, c, d]) = heap.get(first..).and_then(|rest| rest.first_chunk()) {
                let (low, high) = (a.min(b), c.min(d));
                let low_at = first + usize::from(b < a);
                let high_at = first + 2 + usize::from(d < c);
                (if high < low { high_at } else { low_at }, low.min(high))
            } else if let Some(least) = heap.get(first..).and_then(|rest| rest.iter().min().copied()) {
                let offset = heap[first..].iter().position(|&k| k == least).expect("the least is there");
                (first + offset, least)
            } else {
                break;
            };
            if key <= least {
                break;
            }
            heap[hole] = least;
            hole = child;
        }
        heap[hole] = key;
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
