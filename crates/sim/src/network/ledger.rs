//! Records of one direction of a link: its totals at both ends of the measuring window, and its series.

use crate::report::DirectionReport;
use crate::report::percentiles::{Histogram, Percentiles};
use crate::window::Window;
use fullpipe_cc::Nanos;

/// Sums since the beginning of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// How long packets have been in the system, together: the integral over time of their number.
    pub sojourn: u128,
    /// Packets that came.
    pub arrived: u64,
    /// Those of them that the queue dropped.
    pub dropped: u64,
    /// Those that it marked.
    pub marked: u64,
    /// Those that the wire loses.
    pub wire_lost: u64,
}

/// Work that a transmitter has done by some time, and its capacity until then: busy time where its rate never changes, else time times
/// rate, or bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    /// Work done.
    pub used: u128,
    /// Capacity.
    pub offered: u128,
}

impl Use {
    /// Fraction of the capacity since `before` that was used; 0 without capacity.
    fn since(self, before: Use) -> f64 {
        let offered = self.offered - before.offered;
        if offered == 0 { 0.0 } else { average(self.used - before.used, offered) }
    }
}

/// Records at certain times.
#[derive(Debug)]
pub struct Ledger {
    window: Window,
    /// Totals at the beginning and at the end of the window.
    begin: Option<(Totals, Use)>,
    end: Option<(Totals, Use, usize)>,
    /// How long packets waited that came in the window; the end of the window leaves them as they are.
    waits: Histogram,
    /// Those of them that did not.
    at_once: u64,
    /// Packets that came in the window and begin to be sent after it.
    unsent: u64,
    /// The last wait, where it could not be counted yet; otherwise 0.
    uncounted: Nanos,
    delays: Delays,
    samples: Option<Samples>,
}

/// Queueing delays of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    percentiles: Percentiles,
    /// Seconds.
    most_s: f64,
}

/// Series at a fixed interval.
#[derive(Debug)]
struct Samples {
    interval: Nanos,
    next: Nanos,
    before: Use,
    /// Packets that had come, been dropped and been marked by the sample before.
    counted: [u64; 3],
    columns: Sampled,
}

/// The columns of a direction's series.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Packets in the system.
    pub queue: Vec<f64>,
    /// Fraction of the capacity that was used since the sample before.
    pub utilization: Vec<f64>,
    /// Packets that came since the sample before.
    pub arrived: Vec<f64>,
    /// Those that the queue dropped since then.
    pub dropped: Vec<f64>,
    /// Those that it marked since then.
    pub marked: Vec<f64>,
}

impl Ledger {
    /// Nothing noted yet; `interval` is that of the series.
    pub fn new(window: Window, interval: Option<Nanos>) -> Ledger {
        Ledger {
            window,
            begin: None,
            end: None,
            waits: Histogram::default(),
            at_once: 0,
            unsent: 0,
            uncounted: 0,
            delays: Delays::default(),
            samples: interval.map(|i| Samples::new(i, window.to)),
        }
    }

    /// When [`Ledger::note`] is due: the next sample, or an end of the measuring window.
    pub fn next(&self) -> Nanos {
        let end = if self.end.is_none() { self.window.to } else { Nanos::MAX };
        let begin = if self.begin.is_none() { self.window.from } else { end };
        self.samples.as_ref().map_or(Nanos::MAX, |samples| samples.next).min(begin)
    }

    /// Counts the wait of a packet, above 0. Returns false where there is no room to count it: call [`Ledger::make_room`] first.
    #[inline(always)]
    pub fn note_wait(&mut self, waits: Nanos) -> bool {
        let counted = self.waits.count_if_room(waits as i64 as f64);
        if !counted {
            self.uncounted = waits;
        }
        counted
    }

    /// Counts the last wait, if there was no room for it.
    pub fn make_room(&mut self) {
        if self.uncounted > 0 {
            self.waits.count(std::mem::take(&mut self.uncounted));
        }
    }

    /// A packet that waits does not begin to be sent by the end of the window.
    pub fn note_unsent(&mut self) {
        self.unsent += 1;
    }

    /// A packet that came at `entered` begins to be sent now.
    #[inline]
    pub fn note_end_of_wait(&mut self, entered: Nanos, now: Nanos) {
        match now - entered {
            _ if entered < self.window.from => {}
            0 => self.at_once += 1,
            waited => self.waits.count(waited),
        }
    }

    /// Counts `accepted` packets since the beginning of the run, at the end of the window. Only those with a noted wait have waited.
    /// Returns whether one came in the window.
    pub fn note_accepted(&mut self, accepted: u64) -> bool {
        let accepted = accepted - self.begin.map_or(0, |(totals, _)| totals.arrived - totals.dropped);
        self.at_once = accepted - self.unsent - self.waits.len();
        accepted > 0
    }

    /// Bytes that it takes on the heap, but for the series.
    pub fn heap_bytes(&self) -> usize {
        self.waits.heap_bytes()
    }

    /// The end of the measuring window, when the last note is due.
    pub fn end(&self) -> Nanos {
        self.window.to
    }

    /// Whether [`Ledger::note`] needs the sojourn at `mark`: at both ends of the window.
    pub fn needs_sojourn(&self, mark: Nanos) -> bool {
        mark == self.window.to || mark == self.window.from && self.begin.is_none()
    }

    /// Makes the records due at `mark`, when `queued` packets are in the system: the transmitter's `usage`, the `totals` up to then, of
    /// which the sojourn counts only where [`Ledger::needs_sojourn`], and the most packets there have been since the window began,
    /// whose count starts again where it begins now.
    pub fn note(&mut self, mark: Nanos, queued: usize, usage: Use, totals: Totals, most: &mut usize) {
        if mark == self.window.from && self.begin.is_none() {
            self.begin = Some((totals, usage));
            *most = queued;
            self.waits.clear();
            (self.at_once, self.unsent) = (0, 0);
        }
        if let Some(samples) = self.samples.as_mut().filter(|samples| samples.next == mark) {
            let counted = [totals.arrived, totals.dropped, totals.marked];
            samples.add(usage, queued, counted, self.window.to);
        }
        if mark == self.window.to {
            self.end = Some((totals, usage, *most));
            self.delays = Delays {
                percentiles: self.waits.percentiles(self.at_once),
                most_s: self.waits.percentile(100, self.at_once),
            };
        }
    }

    /// The figures of the measuring window, once all is noted.
    pub fn report(&self) -> DirectionReport {
        let (Some((begin, used_before)), Some((end, used, most))) = (self.begin, self.end) else {
            unreachable!("all marks have been passed")
        };
        let length = u128::from(self.window.length());
        let arrived = end.arrived - begin.arrived;
        // A packet may be dropped that had been counted as the wire's before the window began.
        let (dropped, wire_lost) = (end.dropped - begin.dropped, end.wire_lost.saturating_sub(begin.wire_lost));
        DirectionReport {
            utilization: used.since(used_before),
            // Packets that came before the window began may be dropped in it.
            loss_rate: match dropped + wire_lost {
                0 => 0.0,
                lost => lost as f64 / arrived.max(lost) as f64,
            },
            dropped_packets: dropped,
            marked_packets: end.marked - begin.marked,
            wire_lost_packets: wire_lost,
            arrived_packets: arrived,
            mean_queue_packets: average(end.sojourn - begin.sojourn, length),
            max_queue_packets: most as u64,
            queueing_delay: self.delays.percentiles,
            max_queueing_delay_s: self.delays.most_s,
            // Receivers know the goodput, and the network the shared queues.
            ..DirectionReport::default()
        }
    }

    /// The columns of the series.
    pub fn take_series(&mut self) -> Option<Sampled> {
        self.samples.take().map(|samples| samples.columns)
    }
}

impl Samples {
    fn new(interval: Nanos, end: Nanos) -> Self {
        let room = (end / interval) as usize;
        let next = if interval <= end { interval } else { Nanos::MAX };
        let column = || Vec::with_capacity(room);
        let [queue, utilization, arrived, dropped, marked] = std::array::from_fn(|_| column());
        let columns = Sampled { queue, utilization, arrived, dropped, marked };
        Samples { interval, next, before: Use::default(), counted: [0; 3], columns }
    }

    fn add(&mut self, usage: Use, queued: usize, counted: [u64; 3], end: Nanos) {
        self.columns.queue.push(queued as f64);
        self.columns.utilization.push(usage.since(self.before));
        let Sampled { arrived, dropped, marked, .. } = &mut self.columns;
        for (i, column) in [arrived, dropped, marked].into_iter().enumerate() {
            column.push((counted[i] - self.counted[i]) as f64);
        }
        (self.before, self.counted) = (usage, counted);
        let next = self.next + self.interval;
        self.next = if next <= end { next } else { Nanos::MAX };
    }
}

/// Mean of a quantity from its integral over a length, mostly of time. Integer division first keeps rounding from lifting it above the
/// quantity's maximum.
fn average(sum: u128, length: u128) -> f64 {
    (sum / length) as f64 + (sum % length) as f64 / length as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue that never changes is its own mean to the last bit, though the integral does not fit a float.
    #[test]
    fn an_average_does_not_exceed_what_is_averaged() {
        for queue in [3_u64, 49, 1_000_003, 999_999_999_999] {
            for length in [1, 49, 1_000_000_007, 999_999_999_999_989] {
                assert_eq!(average(u128::from(queue) * length, length), queue as f64);
            }
        }
    }
}
