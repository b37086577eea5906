//! One direction of a link: a FIFO queue, a transmitter and a wire.
//!
//! First in, first out means that a packet's departure is known when it arrives, so a link is a function from arrivals to
//! departures and needs no events of its own. The queue holds the packet being sent too, as ns-2's limit counts it.

use crate::report::DirectionReport;
use crate::rng::{Purpose, Rng};
use crate::scenario::{Buffer, Link};
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// Fractional bits of transmission times: rounding errors do not add up to a wrong rate.
const FRACTION_BITS: u32 = 20;

/// A span of simulated time, from just after `from` to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Beginning.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
}

impl Window {
    /// How much of the span from `start` to `end` lies inside.
    #[inline]
    pub fn overlap(&self, start: Nanos, end: Nanos) -> Nanos {
        end.min(self.to).saturating_sub(start.max(self.from))
    }

    /// Whether the moment lies inside.
    #[inline]
    pub fn contains(&self, at: Nanos) -> bool {
        self.from < at && at <= self.to
    }

    /// How long it is.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// One direction of a link.
#[derive(Debug)]
pub struct Direction {
    /// One-way propagation delay.
    pub delay: Nanos,
    rate_bps: u64,
    /// The last two packet sizes seen, bytes, and their transmission times in 2^-20 ns.
    sizes: [(u32, u64); 2],
    buffer: Buffer,
    /// The transmitter is busy until then: whole nanoseconds and fraction.
    free: Nanos,
    free_fraction: u64,
    /// Departures (end of transmission) of the packets in the system, and the sizes of those.
    departures: VecDeque<Nanos>,
    queued_sizes: VecDeque<u32>,
    queued_bytes: u64,
    /// Random loss on the wire.
    wire: Option<(f64, Rng)>,
    window: Window,
    counters: Counters,
    samples: Option<Samples>,
}

#[derive(Debug, Default)]
struct Counters {
    busy: Nanos,
    sojourn: u128,
    arrived: u64,
    dropped: u64,
    wire_lost: u64,
    max_queue: u64,
}

/// Series of the queue and of the utilization at a fixed interval.
#[derive(Debug)]
struct Samples {
    interval: Nanos,
    end: Nanos,
    /// Packets in the system at each sample time.
    queue: Vec<f64>,
    next_queue: Nanos,
    /// Busy time in the interval that ends at each sample time, over the interval.
    utilization: Vec<f64>,
    next_busy: Nanos,
    busy: Nanos,
}

impl Direction {
    /// An idle link. `index` numbers all directions, for their random streams; `interval` is that of the series.
    pub fn new(link: &Link, seed: u64, index: u64, window: Window, interval: Option<Nanos>) -> Self {
        Direction {
            delay: link.delay,
            rate_bps: link.rate_bps,
            sizes: [(0, 0); 2],
            buffer: link.buffer,
            free: 0,
            free_fraction: 0,
            departures: VecDeque::new(),
            queued_sizes: VecDeque::new(),
            queued_bytes: 0,
            wire: (link.loss > 0.0).then(|| (link.loss, Rng::new(seed, Purpose::Wire, index))),
            window,
            counters: Counters::default(),
            samples: interval.map(|interval| Samples::new(interval, window.to)),
        }
    }

    /// A packet of `size` bytes arrives at `now`, not before the one ahead of it. Says when it will have been sent; `None` if
    /// it is lost.
    #[inline]
    pub fn accept(&mut self, now: Nanos, size: u32) -> Option<Nanos> {
        if self.samples.as_ref().is_some_and(|samples| samples.next_queue <= now) {
            self.sample_queue(now);
        }
        self.release(now);
        let counted = self.window.contains(now);
        self.counters.arrived += u64::from(counted);
        if !self.fits(size) {
            self.counters.dropped += u64::from(counted);
            return None;
        }
        let (start, departure) = self.transmit(now, size);
        self.departures.push_back(departure);
        if let Buffer::Bytes(_) = self.buffer {
            self.queued_sizes.push_back(size);
            self.queued_bytes += u64::from(size);
        }
        if counted {
            self.counters.max_queue = self.counters.max_queue.max(self.departures.len() as u64);
        }
        self.counters.busy += self.window.overlap(start, departure);
        self.counters.sojourn += u128::from(self.window.overlap(now, departure));
        if let Some(samples) = &mut self.samples {
            samples.add_busy(start, departure);
        }
        if let Some((loss, rng)) = &mut self.wire {
            if rng.unit() <= *loss {
                self.counters.wire_lost += u64::from(counted);
                return None;
            }
        }
        Some(departure)
    }

    /// The figures of the measuring window.
    pub fn report(&self) -> DirectionReport {
        let c = &self.counters;
        let lost = c.dropped + c.wire_lost;
        DirectionReport {
            utilization: c.busy as f64 / self.window.length() as f64,
            loss_rate: if c.arrived == 0 { 0.0 } else { lost as f64 / c.arrived as f64 },
            dropped_packets: c.dropped,
            wire_lost_packets: c.wire_lost,
            arrived_packets: c.arrived,
            mean_queue_packets: c.sojourn as f64 / self.window.length() as f64,
            max_queue_packets: c.max_queue,
        }
    }

    /// Ends the series, and hands over its columns: packets in the system, utilization.
    pub fn take_series(&mut self) -> Option<(Vec<f64>, Vec<f64>)> {
        let end = self.samples.as_ref()?.end;
        self.sample_queue(end);
        let mut samples = self.samples.take()?;
        samples.add_busy(end, end);
        samples.utilization.resize(samples.queue.len(), 0.0);
        Some((samples.queue, samples.utilization))
    }

    #[inline]
    fn fits(&self, size: u32) -> bool {
        match self.buffer {
            Buffer::Packets(limit) => (self.departures.len() as u64) < limit,
            Buffer::Bytes(limit) => self.queued_bytes + u64::from(size) <= limit,
            Buffer::Unlimited => true,
        }
    }

    /// Forgets the packets that have left by `now`; one that leaves at `now` makes room for one that arrives at `now`.
    #[inline]
    fn release(&mut self, now: Nanos) {
        while self.departures.front().is_some_and(|&departure| departure <= now) {
            self.departures.pop_front();
            if let Some(size) = self.queued_sizes.pop_front() {
                self.queued_bytes -= u64::from(size);
            }
        }
    }

    /// Occupies the transmitter; says from when to when.
    #[inline]
    fn transmit(&mut self, now: Nanos, size: u32) -> (Nanos, Nanos) {
        if now > self.free {
            self.free = now;
            self.free_fraction = 0;
        }
        let start = self.free;
        let sum = self.free_fraction + self.transmission_time(size);
        self.free += sum >> FRACTION_BITS;
        self.free_fraction = sum & ((1 << FRACTION_BITS) - 1);
        (start, self.free)
    }

    /// In 2^-20 ns. Most links carry two sizes, data and ACKs.
    #[inline]
    fn transmission_time(&mut self, size: u32) -> u64 {
        if self.sizes[0].0 != size {
            self.sizes.swap(0, 1);
            if self.sizes[0].0 != size {
                let bits = u128::from(size) * 8;
                let time = ((bits * 1_000_000_000) << FRACTION_BITS) / u128::from(self.rate_bps);
                self.sizes[0] = (size, u64::try_from(time).expect("a packet takes under hours"));
            }
        }
        self.sizes[0].1
    }

    #[cold]
    fn sample_queue(&mut self, now: Nanos) {
        while let Some(at) = self.samples.as_ref().map(|s| s.next_queue).filter(|&at| at <= now) {
            self.release(at);
            let samples = self.samples.as_mut().expect("just seen");
            if at <= samples.end {
                samples.queue.push(self.departures.len() as f64);
            }
            samples.next_queue = if at < samples.end { at + samples.interval } else { Nanos::MAX };
        }
    }
}

impl Samples {
    fn new(interval: Nanos, end: Nanos) -> Self {
        let room = (end / interval) as usize;
        Samples {
            interval,
            end,
            queue: Vec::with_capacity(room),
            next_queue: interval,
            utilization: Vec::with_capacity(room),
            next_busy: interval,
            busy: 0,
        }
    }

    /// The transmitter is busy from `start` to `end`; spans come in order.
    #[inline]
    fn add_busy(&mut self, mut start: Nanos, end: Nanos) {
        while self.next_busy <= end {
            self.busy += self.next_busy.saturating_sub(start);
            self.utilization.push(self.busy as f64 / self.interval as f64);
            start = start.max(self.next_busy);
            self.busy = 0;
            self.next_busy += self.interval;
        }
        self.busy += end - start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Queue;

    fn direction(rate_bps: u64, buffer: Buffer, window: Window, interval: Option<Nanos>) -> Direction {
        let link = Link { name: "l".into(), rate_bps, delay: 5, buffer, queue: Queue::DropTail, loss: 0.0 };
        Direction::new(&link, 1, 0, window, interval)
    }

    const RUN: Window = Window { from: 0, to: 1_000_000 };

    /// 8 Mbit/s sends 100 bytes in 100 us. Three packets at once into a buffer of two: the third is lost; 100 us later there is
    /// room again.
    #[test]
    fn a_full_buffer_drops_and_a_departure_makes_room() {
        let mut link = direction(8_000_000, Buffer::Packets(2), RUN, None);
        assert_eq!(link.accept(10, 100), Some(100_010));
        assert_eq!(link.accept(10, 100), Some(200_010));
        assert_eq!(link.accept(10, 100), None);
        assert_eq!(link.accept(100_010, 100), Some(300_010));
        let report = link.report();
        assert_eq!((report.arrived_packets, report.dropped_packets, report.max_queue_packets), (4, 1, 2));
        assert_eq!(report.loss_rate, 0.25);
        assert_eq!(report.utilization, 0.3, "three packets of 100 us in 1 ms");
        // Sojourns of 100, 200 and 200 us over 1 ms.
        assert_eq!(report.mean_queue_packets, 0.5);
    }

    #[test]
    fn a_buffer_in_bytes_counts_bytes() {
        let mut link = direction(8_000_000, Buffer::Bytes(1000), RUN, None);
        assert!(link.accept(1, 900).is_some());
        assert!(link.accept(1, 101).is_none());
        assert!(link.accept(1, 100).is_some());
    }

    /// 3 Gbit/s sends 1 byte in 2.666... ns: a thousand bytes one by one take 2666 ns, not 2000 or 3000.
    #[test]
    fn rounding_does_not_change_the_rate() {
        let mut link = direction(3_000_000_000, Buffer::Unlimited, RUN, None);
        let last = (0..1000).map(|_| link.accept(0, 1).expect("no limit")).last();
        assert_eq!(last, Some(2666));
    }

    #[test]
    fn averages_count_only_the_window() {
        let window = Window { from: 150_000, to: 250_000 };
        let mut link = direction(8_000_000, Buffer::Unlimited, window, None);
        for at in [0, 0, 240_000] {
            link.accept(at, 100);
        }
        // Busy 150-200 and 240-250 of the 100 us.
        assert_eq!(link.report().utilization, 0.6);
        assert_eq!(link.report().arrived_packets, 1);
    }

    #[test]
    fn series_tell_queue_and_utilization_at_each_interval() {
        let mut link = direction(8_000_000, Buffer::Unlimited, Window { from: 0, to: 500_000 }, Some(100_000));
        for at in [50_000, 50_000, 50_000] {
            link.accept(at, 100);
        }
        let (queue, utilization) = link.take_series().expect("asked for");
        assert_eq!(queue, [3.0, 2.0, 1.0, 0.0, 0.0]);
        assert_eq!(utilization, [0.5, 1.0, 1.0, 0.5, 0.0]);
    }
}
