//! One direction of a link: a FIFO queue, a transmitter, and a wire.
//!
//! In a FIFO queue, a packet's departure is known when it arrives. A link is therefore a function from arrivals to
//! departures and needs no events. The queue includes the packet being sent, as ns-2's limit does. The transmitter has
//! a constant rate (`line.rs`) or follows a trace (`change/trace.rs`).

use super::change::trace::Traced;
use super::ledger::{Ledger, Sampled, Totals};
use super::line::Steady;
use super::transmits::Transmits;
use crate::report::DirectionReport;
use crate::ring::Ring;
use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::{Buffer, Link, Loss};
use crate::window::Window;
use fullpipe_cc::Nanos;

/// One direction of a link, whose transmitter is `T`.
#[derive(Debug)]
pub struct Fifo<T = Steady> {
    /// One-way propagation delay.
    pub delay: Nanos,
    transmitter: T,
    /// When [`Fifo::pass_marks`] is due: the next sample, or an end of the measuring window.
    next_mark: Nanos,
    /// Time from which packets take the slow path [`Fifo::take_with_care`]: the end of the warm-up, or 0 if a sample or
    /// Time from which packets take the slow path [`Fifo::take_with_care`]: the next sample or end of the measurement
    /// interval; 0 if the link has random loss, or a limit in bytes or time.
    next_care: Nanos,
    /// Whether the link has neither a limit in bytes or time nor random loss, as most links.
    plain: bool,
    limit_packets: usize,
    /// Maximum waiting time of a packet.
    limit_time: Option<Nanos>,
    /// Maximum number of packets in the system, after the warm-up once it is over. Values of 1 and more are known when
    /// a packet waits.
    max_queue: usize,
    totals: Totals,
    /// Sum of the packets' waiting times.
    waited: u128,
    /// Departure times (end of transmission) of the packets in the system except the last, which leaves when the
    /// transmitter is free. Times of packets that have left stay until the next check. In the transmitter's unit of
    /// time.
    departures: Ring<u64>,
    bytes: Option<Box<QueuedBytes>>,
    /// Random loss on the wire.
    wire: Option<Box<(f64, Rng)>>,
    ledger: Ledger,
}

/// A queue limited in bytes: the sizes of the packets in the system.
#[derive(Debug)]
struct QueuedBytes {
    limit: u64,
    queued: u64,
    sizes: Ring<u32>,
}

impl Fifo<Traced> {
    /// Advances the time to `now`, after the departures at that time.
    pub fn pass(&mut self, now: Nanos) {
        if now >= self.next_mark {
            self.pass_marks(now);
        }
        self.transmitter.pass(now);
    }
}

impl<T: Transmits> Fifo<T> {
    /// Idle link. `identity` is that of the direction, for its random streams; `interval` is that of the series.
    pub fn new(link: &Link, seed: u64, identity: Identity, window: Window, interval: Option<Nanos>) -> Self {
        let limit_packets = match link.buffer {
            Buffer::Packets(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let limit_bytes = if let Buffer::Bytes(limit) = link.buffer { Some(limit) } else { None };
        let limit_time = if let Buffer::Time(limit) = link.buffer { Some(limit) } else { None };
        let bytes = limit_bytes.map(|limit| Box::new(QueuedBytes { limit, queued: 0, sizes: Ring::default() }));
        let ledger = Ledger::new(window, interval);
        let Loss::Independent(loss) = link.loss else { unreachable!("losses in bursts are a served link's") };
        let plain = (limit_bytes, limit_time) == (None, None) && loss == 0.0;
        Fifo {
            delay: link.delay,
            transmitter: T::new(link),
            next_mark: ledger.next(),
            next_care: if plain { ledger.next() } else { 0 },
            plain,
            limit_packets,
            limit_time,
            max_queue: 0,
            totals: Totals::default(),
            waited: 0,
            departures: Ring::default(),
            bytes,
            wire: (loss > 0.0).then(|| Box::new((loss, Rng::new(seed, Purpose::Wire, identity)))),
            ledger,
        }
    }

    /// Takes a packet of `size` bytes that arrives at `now`, not before the one ahead of it. Returns its departure
    /// time; `None` if it is lost.
    #[inline(always)]
    pub fn accept(&mut self, now: Nanos, size: u32) -> Option<Nanos> {
        self.take::<true, true>(now, size)
    }

    /// Slow path of the function above: a sample is due, or the link is not plain.
    #[cold]
    #[inline(never)]
    fn take_with_care(&mut self, now: Nanos, size: u32) -> Option<Nanos> {
        if now >= self.next_mark || self.next_care == 0 {
            self.pass_marks(now);
        }
        if self.plain { self.take::<false, true>(now, size) } else { self.take::<false, false>(now, size) }
    }

    /// `LOOKS`: whether to check for samples and the window's end here. Otherwise the caller has done so, except for
    /// the window's end.
    #[inline(always)]
    fn take<const LOOKS: bool, const PLAIN: bool>(&mut self, now: Nanos, size: u32) -> Option<Nanos> {
        let free = self.transmitter.free();
        if free <= self.transmitter.moment(now) {
            if LOOKS && now >= self.next_care {
                return self.take_with_care(now, size);
            }
            self.totals.arrived += 1;
            let start = self.transmitter.start_idle(now);
            self.departures.clear();
            if !PLAIN && !self.takes_only(size) {
                self.totals.dropped += 1;
                return None;
            }
            if start > now {
                self.note_wait::<false>(now, start);
            }
        } else {
            let start = self.transmitter.start();
            // Transmission begins after the arrival, so one check finds a sample before either.
            if LOOKS && start >= self.next_care {
                return self.take_with_care(now, size);
            }
            self.totals.arrived += 1;
            // Departures are removed only if needed: when the entries outnumber the largest queue so far.
            let at_most = self.departures.len() + 1;
            if (at_most >= self.max_queue || !PLAIN) && !self.finds_room(now, size) {
                self.totals.dropped += 1;
                return None;
            }
            self.departures.push_back(free);
            if !T::MAY_WAIT_NO_TIME || start > now {
                self.note_wait::<LOOKS>(now, start);
            }
        }
        let departure = self.transmitter.send(size);
        if !PLAIN && self.lost_on_the_wire() {
            return None;
        }
        Some(departure)
    }

    /// Records that a packet that arrives at `now` begins to be sent at `start`, later. `IN_TIME`: before the window's
    /// end.
    #[inline(always)]
    fn note_wait<const IN_TIME: bool>(&mut self, now: Nanos, start: Nanos) {
        let waits = start - now;
        if !IN_TIME && start >= self.ledger.end() {
            self.ledger.note_unsent();
        } else if !self.ledger.note_wait(waits) {
            self.next_care = 0;
        }
        self.waited += u128::from(waits);
    }

    /// Packets in the queue, including some that have left but are not removed yet.
    pub fn waiting_packets(&self) -> usize {
        self.departures.len()
    }

    /// Packets in the system at `now`, including the one being sent.
    pub fn queued_packets(&self, now: Nanos) -> usize {
        let now = self.transmitter.moment(now);
        if self.transmitter.free() <= now {
            return 0;
        }
        self.departures.iter().filter(|&&departure| departure > now).count() + 1
    }

    /// Heap memory of the queue in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.departures.heap_bytes()
            + self.ledger.heap_bytes()
            + self.transmitter.heap_bytes()
            + self.bytes.as_ref().map_or(0, |bytes| bytes.sizes.heap_bytes())
    }

    /// Metrics of the measurement interval. Call it after the run.
    pub fn report(&mut self) -> DirectionReport {
        self.pass_marks(self.ledger.end());
        self.ledger.report()
    }

    /// Ends the series and returns its columns.
    pub fn take_series(&mut self) -> Option<Sampled> {
        self.pass_marks(self.ledger.end());
        self.ledger.take_series()
    }

    /// Whether a packet that finds the transmitter busy at `now` may wait. If so, takes its room.
    #[inline(never)]
    fn finds_room(&mut self, now: Nanos, size: u32) -> bool {
        let queued = self.queued(now);
        let fits = queued < self.limit_packets && (self.plain || self.waits_short(now) && self.take_bytes(size));
        if fits {
            self.max_queue = self.max_queue.max(queued + 1);
        }
        fits
    }

    /// Packets in the system at `now`; removes those that have left. A packet that leaves at `now` makes room for one
    /// that arrives at `now`.
    fn queued(&mut self, now: Nanos) -> usize {
        let now = self.transmitter.moment(now);
        if self.transmitter.free() <= now {
            self.forget_departed();
            return 0;
        }
        while self.departures.pop_front_if(|&departure| departure <= now).is_some() {
            if !self.plain {
                self.release_bytes();
            }
        }
        self.departures.len() + 1
    }

    /// Records that all packets have left.
    #[inline(always)]
    fn forget_departed(&mut self) {
        self.departures.clear();
        if !self.plain {
            self.release_all_bytes();
        }
    }

    #[cold]
    fn release_bytes(&mut self) {
        if let Some(bytes) = &mut self.bytes {
            bytes.queued -= u64::from(bytes.sizes.pop_front().expect("a size for every packet"));
        }
    }

    #[cold]
    fn release_all_bytes(&mut self) {
        if let Some(bytes) = &mut self.bytes {
            bytes.queued = 0;
            bytes.sizes.clear();
        }
    }

    /// Whether a packet that arrives at `now` behind others waits less than the limit.
    #[cold]
    fn waits_short(&mut self, now: Nanos) -> bool {
        self.limit_time.is_none_or(|limit| self.transmitter.wait(now) < limit)
    }

    /// Takes room for a packet in a queue limited in bytes, if there is enough.
    #[cold]
    fn take_bytes(&mut self, size: u32) -> bool {
        let Some(bytes) = &mut self.bytes else { return true };
        let fits = bytes.queued + u64::from(size) <= bytes.limit;
        if fits {
            bytes.queued += u64::from(size);
            bytes.sizes.push_back(size);
        }
        fits
    }

    /// Variant for an empty system.
    #[cold]
    fn takes_only(&mut self, size: u32) -> bool {
        self.release_all_bytes();
        self.take_bytes(size)
    }

    #[cold]
    fn lost_on_the_wire(&mut self) -> bool {
        let Some((loss, rng)) = self.wire.as_deref_mut() else { return false };
        let lost = rng.unit() <= *loss;
        self.totals.wire_lost += u64::from(lost);
        lost
    }

    /// Records samples that are due by `now`, before other events at that time.
    #[cold]
    fn pass_marks(&mut self, now: Nanos) {
        self.ledger.make_room();
        while self.next_mark <= now {
            let mark = self.next_mark;
            let queued = self.queued(mark);
            let usage = self.transmitter.use_at(mark);
            let totals = if self.ledger.needs_sojourn(mark) { self.totals_at(mark) } else { self.totals };
            if mark == self.ledger.end() && self.ledger.note_accepted(self.totals.arrived - self.totals.dropped) {
                self.max_queue = self.max_queue.max(1);
            }
            self.ledger.note(mark, queued, usage, totals, &mut self.max_queue);
            self.next_mark = self.ledger.next();
        }
        self.next_care = if self.plain { self.next_mark } else { 0 };
    }

    /// Totals without the part after `mark`. Departures up to `mark` have been removed.
    fn totals_at(&self, mark: Nanos) -> Totals {
        let last = T::time(self.transmitter.free()).saturating_sub(mark);
        let waiting = self.departures.iter().map(|&departure| T::time(departure) - mark).chain([last]);
        let ahead: u128 = waiting.map(u128::from).sum();
        Totals { sojourn: self.waited + u128::from(self.transmitter.busy()) - ahead, ..self.totals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Percentiles;
    use proptest::prelude::*;

    fn direction(rate_bps: u64, buffer: Buffer, window: Window, interval: Option<Nanos>) -> Fifo {
        let link = Link { name: "l".into(), rate_bps, delay: 5, buffer, ..Link::default() };
        Fifo::new(&link, 1, Identity::NONE, window, interval)
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

    /// 1000 bytes at 1 bit/s take 8000 s: of 3000 packets at once 125 leave in 10^6 s, and on average 2938 are there. Together they
    /// stay for 3.6e19 ns, which is beyond 64 bits.
    #[test]
    fn a_long_queue_is_summed_whole() {
        let mut link = direction(1, Buffer::Unlimited, Window { from: 0, to: 1_000_000_000_000_000 }, None);
        (0..3000).for_each(|_| assert!(link.accept(0, 1000).is_some()));
        let report = link.report();
        assert_eq!((report.mean_queue_packets, report.max_queue_packets), (2938.0, 3000));
    }

    /// An event at the border of two intervals belongs to the later one: the packets at 100 and 200 us count, the one
    /// at 300 does not.
    #[test]
    fn the_window_has_its_first_instant_and_not_its_last() {
        let mut link = direction(8_000_000, Buffer::Packets(1), Window { from: 100_000, to: 300_000 }, None);
        for at in [0, 100_000, 100_000, 200_000, 300_000, 300_000] {
            link.accept(at, 100);
        }
        let report = link.report();
        assert_eq!((report.arrived_packets, report.dropped_packets), (3, 1));
        assert_eq!((report.utilization, report.mean_queue_packets), (1.0, 1.0));
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

    /// Packets of 100 us at 0, 0, 0, 240 us: they wait 0, 100, 200 and 60 us. Of those that came at 0, the third begins to be sent at
    /// 200 us: not in a window that ends there.
    #[test]
    fn waits_are_of_packets_that_came_in_the_window_and_were_sent_in_it() {
        let report = |from, to| {
            let mut link = direction(8_000_000, Buffer::Unlimited, Window { from, to }, None);
            assert!([0, 0, 0, 240_000].map(|at| link.accept(at, 100)).iter().all(Option::is_some));
            let DirectionReport { queueing_delay: Percentiles { p50_s, p99_s, .. }, max_queueing_delay_s, .. } =
                link.report();
            [p50_s, p99_s, max_queueing_delay_s].map(|time| (time * 1e5).round())
        };
        assert_eq!(report(0, 1_000_000), [6.0, 20.0, 20.0]);
        assert_eq!(report(0, 200_000), [0.0, 10.0, 10.0]);
        assert_eq!(report(100_000, 1_000_000), [6.0, 6.0, 6.0]);
        let mut idle = direction(8_000_000, Buffer::Unlimited, RUN, None);
        assert!(idle.report().queueing_delay.p50_s.is_nan() && idle.report().max_queueing_delay_s.is_nan());
    }

    proptest! {
        /// Against every packet's wait, from the times at which those before it leave (a byte takes a microsecond).
        #[test]
        fn percentiles_of_waits_agree_with_the_full_trace(
            arrivals in prop::collection::vec((0u64..3_000_000, prop_oneof![Just(40u32), Just(1000)]), 1..300),
            limit in 1usize..30,
            from in 0u64..100_000_000,
            length in 1u64..300_000_000,
        ) {
            let window = Window { from, to: from + length };
            let mut link = direction(8_000_000, Buffer::Packets(limit as u64), window, None);
            let (mut now, mut departures, mut waits) = (0, Vec::new(), Vec::new());
            for (gap, size) in arrivals {
                now += gap;
                link.accept(now, size);
                departures.retain(|&departure| departure > now);
                if departures.len() < limit {
                    let start = departures.last().copied().unwrap_or(now);
                    departures.push(start + 1000 * u64::from(size));
                    if window.contains(now) && start < window.to {
                        waits.push((start - now) as f64 / 1e9);
                    }
                }
            }
            waits.sort_by(f64::total_cmp);
            let exact = |percent: usize| match waits.len() {
                0 => f64::NAN,
                n => waits[(n * percent).div_ceil(100) - 1],
            };
            let report = link.report();
            let Percentiles { p50_s, p95_s, p99_s } = report.queueing_delay;
            for (found, percent) in [(p50_s, 50), (p95_s, 95), (p99_s, 99), (report.max_queueing_delay_s, 100)] {
                let exact = exact(percent);
                let agree = (found - exact).abs() <= 0.01 * exact || found.is_nan() && exact.is_nan();
                prop_assert!(agree, "{} % of {:?}: {}", percent, waits, found);
            }
        }
    }

    #[test]
    fn series_tell_queue_and_utilization_at_each_interval() {
        let mut link = direction(8_000_000, Buffer::Unlimited, Window { from: 0, to: 500_000 }, Some(100_000));
        for at in [50_000, 50_000, 50_000] {
            link.accept(at, 100);
        }
        let series = link.take_series().expect("asked for");
        assert_eq!(series.queue, [3.0, 2.0, 1.0, 0.0, 0.0]);
        assert_eq!(series.utilization, [0.5, 1.0, 1.0, 0.5, 0.0]);
    }

    /// One is being sent and one waits: of three at a time one is dropped, and two of those that come while the second is sent.
    #[test]
    fn series_tell_what_came_and_what_was_dropped_since_the_sample_before() {
        let mut link = direction(8_000_000, Buffer::Packets(2), Window { from: 150_000, to: 300_000 }, Some(100_000));
        for at in [50_000, 50_000, 50_000, 160_000, 170_000, 180_000] {
            link.accept(at, 100);
        }
        let series = link.take_series().expect("asked for");
        assert_eq!(series.arrived, [3.0, 3.0, 0.0]);
        assert_eq!(series.dropped, [1.0, 2.0, 0.0]);
    }
}
