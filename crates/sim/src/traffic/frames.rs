//! A source of datagrams that sends frames, as a camera makes them: which packets belong to which, and how long a frame takes until all
//! of it has arrived.

use crate::report::percentiles::{Histogram, Percentiles};
use crate::scenario::Frames;
use crate::traffic::source::frames;
use crate::window::Window;
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// Most incomplete frames at the receiver. When one more begins to arrive, the rest of the oldest of them is no longer
/// waited for: it is lost.
pub const MOST_OPEN: usize = 64;

/// The frames of one source.
pub struct FrameSource {
    law: Frames,
    packet_size: u32,
    /// When the first is made, by the sender's time.
    begin: Nanos,
    /// The frame that is being sent, or will be next.
    number: u64,
    /// Its packets that are not sent yet; 0 where it has not begun.
    left: u64,
    /// Frames begun in the measuring window.
    sent: u64,
    /// Frames of which the last packet arrived in it.
    received: u64,
    /// How long these took.
    delays: Histogram,
    /// Of which some packets have arrived.
    open: VecDeque<Open>,
    /// Frames before this one are not waited for.
    first_open: u64,
}

/// A frame of which some packets have arrived.
struct Open {
    number: u64,
    /// Packets that have not.
    left: u64,
    /// When the last of the others did.
    last: Nanos,
}

impl FrameSource {
    /// One that makes its first frame at `begin`.
    pub fn new(law: Frames, packet_size: u32, begin: Nanos) -> FrameSource {
        FrameSource {
            law,
            packet_size,
            begin,
            number: 0,
            left: 0,
            sent: 0,
            received: 0,
            delays: Histogram::default(),
            open: VecDeque::new(),
            first_open: 0,
        }
    }

    /// Whether a frame has been begun and not been sent whole.
    pub fn in_the_middle(&self) -> bool {
        self.left > 0
    }

    /// A packet leaves. Returns its frame, and the time of the next frame if this one is complete.
    pub fn send(&mut self, counts: bool) -> (u64, Option<Nanos>) {
        let number = self.number;
        if self.left == 0 {
            self.left = self.law.packets(number, self.packet_size);
            self.sent += u64::from(counts);
        }
        self.left -= 1;
        if self.left > 0 {
            return (number, None);
        }
        self.number += 1;
        (number, Some(self.made(self.number)))
    }

    /// A packet of a frame arrives at `at`.
    pub fn arrive(&mut self, number: u64, at: Nanos, window: Window) {
        if number < self.first_open {
            return;
        }
        let place =
            self.open.iter().rposition(|frame| frame.number == number).unwrap_or_else(|| self.begin_frame(number));
        let frame = &mut self.open[place];
        frame.left -= 1;
        frame.last = frame.last.max(at);
        if frame.left > 0 {
            return;
        }
        let last = frame.last;
        self.open.remove(place);
        if window.contains(last) {
            self.received += 1;
            self.delays.count((last - self.made(number)).max(1));
        }
    }

    /// Frames begun in the measuring window.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Frames of which the last packet arrived in it.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// How long these took, from when they were made.
    pub fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.open.capacity() * size_of::<Open>() + self.delays.heap_bytes()
    }

    /// The first packet of a frame arrives. Returns the place of the frame.
    fn begin_frame(&mut self, number: u64) -> usize {
        if self.open.len() == MOST_OPEN {
            let lost = self.open.pop_front().map_or(0, |frame| frame.number + 1);
            self.first_open = self.first_open.max(lost);
        }
        self.open.push_back(Open { number, left: self.law.packets(number, self.packet_size), last: 0 });
        self.open.len() - 1
    }

    /// When a frame is made, by the sender's time: as exact as a double is, to a nanosecond in the first 100 days.
    fn made(&self, number: u64) -> Nanos {
        frames::made(self.begin, number, self.law.per_second)
    }
}

/// Of all frames together.
pub fn percentiles<'a>(sources: impl Iterator<Item = &'a FrameSource>) -> Percentiles {
    let mut all = Histogram::default();
    sources.for_each(|source| all.add(source.delays()));
    all.percentiles(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::KeyFrames;

    const ALWAYS: Window = Window { from: 0, to: Nanos::MAX };

    /// Four a second of 3 packets, from 1 s; every third one, the first included, has 5.
    fn source() -> FrameSource {
        let law = Frames { per_second: 4.0, size: 250, key: Some(KeyFrames { size: 401, every: 3 }) };
        FrameSource::new(law, 100, 1_000_000_000)
    }

    /// What is sent: which frame each packet is of, and when the next frame is due.
    fn sent(source: &mut FrameSource, packets: usize) -> Vec<(u64, Option<Nanos>)> {
        (0..packets).map(|_| source.send(true)).collect()
    }

    #[test]
    fn frames_are_cut_into_whole_packets() {
        let mut source = source();
        let numbers: Vec<u64> = sent(&mut source, 17).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 4]);
        assert_eq!(source.sent(), 5);
        assert!(source.in_the_middle());
    }

    #[test]
    fn the_next_frame_is_due_when_it_is_made() {
        let mut source = source();
        let due: Vec<_> = sent(&mut source, 8).into_iter().filter_map(|(_, due)| due).collect();
        assert_eq!(due, [1_250_000_000, 1_500_000_000]);
        // 30 a second: a third of a nanosecond a frame is not lost; frame 3,000,000 is made after 100,000 s.
        let source = FrameSource::new(Frames { per_second: 30.0, size: 1, key: None }, 100, 0);
        assert_eq!(
            [1, 2, 3, 3_000_000].map(|n| source.made(n)),
            [33_333_333, 66_666_666, 100_000_000, 100_000_000_000_000]
        );
    }

    /// Frame 1 is made at 1.25 s and has 3 packets, of which the last comes at 1.75 s, half a second later, and not last.
    #[test]
    fn a_frame_has_arrived_with_its_last_packet() {
        let mut source = source();
        for at in [1_300_000_000, 1_750_000_000] {
            source.arrive(1, at, ALWAYS);
        }
        assert_eq!(source.received(), 0);
        source.arrive(1, 1_400_000_000, ALWAYS);
        assert_eq!(source.received(), 1);
        let p50_s = percentiles(std::iter::once(&source)).p50_s;
        assert!((p50_s / 0.5 - 1.0).abs() < 0.01, "{p50_s}");
    }

    #[test]
    fn a_frame_counts_in_the_window_that_its_last_packet_comes_in() {
        let window = Window { from: 2_000_000_000, to: 3_000_000_000 };
        for (last, received) in [(1_999_999_999, 0), (2_000_000_000, 1), (2_999_999_999, 1)] {
            let mut source = source();
            for at in [1_900_000_000, 1_900_000_000, last] {
                source.arrive(2, at, window);
            }
            assert_eq!(source.received(), received, "{last}");
        }
    }

    #[test]
    fn frames_in_parts_are_told_apart_until_too_many_are() {
        let mut source = source();
        // One packet each of frames 1 to 64, of which the multiples of three have 5: none is whole.
        (1..=64).for_each(|number| source.arrive(number, 2_000_000_000, ALWAYS));
        // The rest of the first, in turn with that of the second.
        for number in [1, 2, 1, 2] {
            source.arrive(number, 2_100_000_000, ALWAYS);
        }
        assert_eq!(source.received(), 2);
        // Two more have room; the third takes the place of frame 3, which never becomes whole, however late the rest comes.
        (65..=67).for_each(|number| source.arrive(number, 2_200_000_000, ALWAYS));
        (0..4).for_each(|_| source.arrive(3, 2_300_000_000, ALWAYS));
        assert_eq!(source.received(), 2);
        (0..2).for_each(|_| source.arrive(4, 2_300_000_000, ALWAYS));
        assert_eq!(source.received(), 3);
        assert_eq!(source.open.len(), MOST_OPEN - 1);
    }
}
