//! What happens next: ordered streams of packets, of which only the heads compete.
//!
//! A FIFO link delivers in the order it accepted, so packets that follow one another over the same stretch form a stream
//! that is already sorted. Only the head of each stream sits in a 4-ary heap; ties go to the lower stream number.

use crate::packet::Packet;
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

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
    heap: Vec<(Nanos, StreamId)>,
}

#[derive(Debug)]
struct Stream {
    packets: VecDeque<Packet>,
    destination: Destination,
}

impl Schedule {
    /// A new, empty stream.
    pub fn add_stream(&mut self, destination: Destination) -> StreamId {
        self.streams.push(Stream { packets: VecDeque::new(), destination });
        self.streams.len() as StreamId - 1
    }

    /// Appends to a stream; `packet.at` is not before that of the packet ahead of it.
    #[inline]
    pub fn push(&mut self, id: StreamId, packet: Packet) {
        let stream = &mut self.streams[id as usize];
        debug_assert!(stream.packets.back().is_none_or(|last| last.at <= packet.at));
        let was_empty = stream.packets.is_empty();
        stream.packets.push_back(packet);
        if was_empty {
            self.heap.push((packet.at, id));
            self.rise(self.heap.len() - 1);
        }
    }

    /// When the next packet arrives; `Nanos::MAX` if none is under way.
    #[inline]
    pub fn next_time(&self) -> Nanos {
        self.heap.first().map_or(Nanos::MAX, |head| head.0)
    }

    /// Takes the next packet to arrive.
    #[inline]
    pub fn pop(&mut self) -> Option<(Packet, Destination)> {
        let &(_, id) = self.heap.first()?;
        let stream = &mut self.streams[id as usize];
        let packet = stream.packets.pop_front().expect("a head in the heap has a packet");
        let destination = stream.destination;
        match stream.packets.front() {
            Some(next) => self.heap[0].0 = next.at,
            None => {
                self.heap.swap_remove(0);
            }
        }
        self.sink();
        Some((packet, destination))
    }

    /// All packets still under way.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.streams.iter().flat_map(|stream| &stream.packets)
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

    #[inline]
    fn sink(&mut self) {
        let mut parent = 0;
        loop {
            let first = 4 * parent + 1;
            let last = (first + 4).min(self.heap.len());
            let Some(least) = (first..last).min_by_key(|&i| self.heap[i]) else { return };
            if self.heap[parent] <= self.heap[least] {
                return;
            }
            self.heap.swap(parent, least);
            parent = least;
        }
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
