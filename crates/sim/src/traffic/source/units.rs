//! Units of data that a receiver waits for as a whole, for example video frames: when each was made and delivered.
//!
//! Over TCP a unit is delivered once it and all earlier data are at the receiver. Over QUIC each unit is a separate
//! stream, so only its packets count.

use crate::report::percentiles::Histogram;
use crate::window::Window;
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// Units of one flow that are written and not delivered.
#[derive(Debug, Default)]
pub struct Units {
    pending: VecDeque<Unit>,
    /// Number of packets of all units written.
    written: u64,
}

/// Unit of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Time at which the application made it, on the sender's clock.
    pub made: Nanos,
    /// One past the number of its last packet.
    end: u64,
    /// Its packets that have not arrived. Over TCP the number stays.
    missing: u64,
}

impl Units {
    /// Adds a unit of `packets` packets, which was made at `made`.
    pub fn write(&mut self, made: Nanos, packets: u64) {
        self.written = self.written.saturating_add(packets);
        self.pending.push_back(Unit { made, end: self.written, missing: packets });
    }

    /// Number of packets of all units written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Next unit that is delivered, where every packet below `next` has arrived.
    pub fn deliver_in_order(&mut self, next: u64) -> Option<Unit> {
        let unit = *self.pending.front()?;
        if unit.end > next {
            return None;
        }
        self.pending.pop_front()
    }

    /// Handles the arrival of packet `number`, which has not arrived before. Returns its unit if that is complete.
    pub fn deliver_packet(&mut self, number: u64) -> Option<Unit> {
        let place = self.pending.partition_point(|unit| unit.end <= number);
        let unit = self.pending.get_mut(place)?;
        unit.missing = unit.missing.saturating_sub(1);
        let complete = Some(*unit).filter(|unit| unit.missing == 0);
        while self.pending.front().is_some_and(|unit| unit.missing == 0) {
            self.pending.pop_front();
        }
        complete
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.pending.capacity() * size_of::<Unit>()
    }
}

/// Delays of frames from their creation to their delivery, and frames that are late.
#[derive(Debug)]
pub struct FrameDelays {
    window: Window,
    deadline: Option<Nanos>,
    delays: Histogram,
    /// Frames that had to be delivered in the measurement interval, and were delivered by their deadlines.
    on_time: u64,
}

impl FrameDelays {
    /// Delays in the interval `window`.
    pub fn new(window: Window, deadline: Option<Nanos>) -> FrameDelays {
        FrameDelays { window, deadline, delays: Histogram::default(), on_time: 0 }
    }

    /// Counts a frame that was made at `made` and delivered at `at`.
    pub fn count(&mut self, made: Nanos, at: Nanos) {
        let delay = at.saturating_sub(made);
        if self.window.contains(at) {
            self.delays.count(delay.max(1));
        }
        let Some((from, to)) = self.due() else { return };
        if self.deadline.is_some_and(|deadline| delay <= deadline) && (from..to).contains(&made) {
            self.on_time += 1;
        }
    }

    /// Creation times of frames whose deadlines end in the interval, as a half-open range; `None` without a deadline.
    pub fn due(&self) -> Option<(Nanos, Nanos)> {
        self.deadline.map(|deadline| (self.window.from, self.window.to.saturating_sub(deadline)))
    }

    /// Frames delivered by their deadlines, of those that were [due](FrameDelays::due).
    pub fn on_time(&self) -> u64 {
        self.on_time
    }

    /// Delays of the frames that were delivered in the interval.
    pub fn delays(&self) -> &Histogram {
        &self.delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn units() -> Units {
        let mut units = Units::default();
        units.write(0, 3);
        units.write(10 * MS, 2);
        units.write(20 * MS, 1);
        units
    }

    #[test]
    fn tcp_delivers_units_in_order() {
        let mut units = units();
        assert_eq!(units.written(), 6);
        let mut made =
            |next| std::iter::from_fn(|| units.deliver_in_order(next)).map(|unit| unit.made).collect::<Vec<_>>();
        assert_eq!(made(2), []);
        assert_eq!(made(3), [0]);
        assert_eq!(made(4), []);
        assert_eq!(made(6), [10 * MS, 20 * MS]);
    }

    /// The second unit (packets 3 and 4) is complete before the first one.
    #[test]
    fn quic_delivers_each_unit_with_its_own_packets() {
        let mut units = units();
        let made: Vec<_> = [0, 4, 3, 5, 2, 1].map(|number| units.deliver_packet(number).map(|unit| unit.made)).into();
        assert_eq!(made, [None, None, Some(10 * MS), Some(20 * MS), None, Some(0)]);
        assert_eq!(units.deliver_packet(6), None);
        assert!(units.pending.is_empty());
    }

    /// The interval is 100 ms to 200 ms, and the deadline 30 ms: frames made from 100 ms to before 170 ms are due.
    #[test]
    fn frames_count_where_their_deadlines_end_in_the_interval() {
        let window = Window { from: 100 * MS, to: 200 * MS };
        let mut delays = FrameDelays::new(window, Some(30 * MS));
        for (made, took) in [(90, 20), (100, 30), (110, 31), (169, 30), (170, 10), (180, 40)] {
            delays.count(made * MS, (made + took) * MS);
        }
        assert_eq!(delays.due(), Some((100 * MS, 170 * MS)));
        assert_eq!(delays.on_time(), 2, "those made at 100 ms and 169 ms");
        assert_eq!(delays.delays().len(), 5, "the last one is delivered after the interval");
    }
}
