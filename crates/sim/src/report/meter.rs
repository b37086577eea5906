//! Metrics of a sender: counters and averages in the measurement interval, and the series.

use super::percentiles::Histogram;
use crate::window::Window;
use fullpipe_cc::Nanos;
use std::sync::Arc;

/// A mark that is due at once: the last RTT sample waits for its room.
const MAKE_ROOM: Nanos = 0;

/// Measures one sender (for web traffic, one connection after another: counters go on, averages are the last one's).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Meter {
    /// End of the warm-up or time of the next sample, the earlier of the two.
    next_mark: Nanos,
    /// Up to when the integrals reach.
    last: Nanos,
    integrals: Integrals,
    /// RTT samples.
    rtts: Histogram,
    /// Zero before the first.
    last_rtt: Nanos,
    /// From when: when the flow became active, or the window began after that.
    began: Nanos,
    /// Since the beginning of the run.
    pub events: Events,
    /// Counters at the beginning of the measurement interval; they count from there.
    baseline: Option<Box<Counters>>,
    /// When the next sample is due; never without series.
    next_sample: Nanos,
    terms: Arc<Terms>,
}

/// Metrics and their times, shared by many meters.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Measurement interval.
    pub window: Window,
    /// Time between samples of the series, if there are any.
    pub interval: Option<Nanos>,
    /// Whether the distribution of the RTT is kept, and not only its mean.
    pub distributes: bool,
}

/// Counters of rare events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_recoveries: u64,
}

impl Events {
    /// Those since `before`.
    pub fn since(self, before: Events) -> Events {
        Events {
            retransmits: self.retransmits - before.retransmits,
            timeouts: self.timeouts - before.timeouts,
            fast_recoveries: self.fast_recoveries - before.fast_recoveries,
        }
    }
}

/// Counts since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmits, timeouts and fast retransmits.
    pub events: Events,
}

#[derive(Clone, Copy, Debug, Default)]
struct Integrals {
    /// cwnd over time, segments times nanoseconds.
    cwnd: f64,
    /// Nanoseconds; exact up to 2^53 of them.
    rtt_sum: f64,
}

/// A flow's averages over its life in the measuring window.
#[derive(Clone, Copy, Debug)]
pub struct Averages {
    /// How long that is.
    pub active: Nanos,
    /// Time average of cwnd, segments; NaN if never active.
    pub cwnd: f64,
    /// Mean RTT sample, seconds; NaN without any.
    pub rtt_s: f64,
}

impl Counters {
    /// Counters of `sent_once` segments sent once, and of `events`.
    #[inline]
    pub fn since(sent_once: u64, events: Events) -> Counters {
        Counters { sent: sent_once + events.retransmits, events }
    }
}

impl Meter {
    /// Has measured nothing.
    pub fn new(terms: Arc<Terms>) -> Self {
        Meter {
            events: Events::default(),
            began: Nanos::MAX,
            baseline: None,
            integrals: Integrals::default(),
            rtts: Histogram::default(),
            terms,
            last: Nanos::MAX,
            next_mark: Nanos::MAX,
            last_rtt: 0,
            next_sample: Nanos::MAX,
        }
    }

    /// The flow becomes active at `now`.
    pub fn start(&mut self, now: Nanos) {
        self.last = now;
        self.began = now;
        self.forget();
        if let Some(interval) = self.terms.interval {
            self.next_sample = now.next_multiple_of(interval).max(interval);
        }
        self.next_mark = self.mark_after(now);
    }

    /// The flow is no longer active; averages stop here.
    pub fn stop(&mut self) {
        self.make_room();
        self.next_mark = Nanos::MAX;
    }

    /// When [`Meter::pass_marks`] must be called next.
    #[inline]
    pub fn next_mark(&self) -> Nanos {
        self.next_mark
    }

    /// Integrates `cwnd`, in force since the last call, up to `now`.
    #[inline]
    pub fn integrate(&mut self, now: Nanos, cwnd: f64) {
        let span = now - self.last;
        self.integrals.cwnd += cwnd * span as i64 as f64;
        self.last = now;
    }

    /// Counts an RTT sample. Inlined, since a call would cost more than its body.
    #[inline(always)]
    pub fn sample_rtt(&mut self, rtt: Nanos) {
        let time = rtt as i64 as f64;
        if self.rtts.count_if_room(time) {
            self.last_rtt = rtt;
            self.integrals.rtt_sum += time;
        } else if self.terms.distributes {
            // A call from here costs every sample: room is made before anything else happens.
            self.last_rtt = rtt;
            self.integrals.rtt_sum += time;
            self.next_mark = MAKE_ROOM;
        }
    }

    /// Last RTT sample, if there is one.
    pub fn last_rtt(&self) -> Option<Nanos> {
        Some(self.last_rtt).filter(|&rtt| rtt > 0)
    }

    fn lacks_room(&self) -> bool {
        self.next_mark == MAKE_ROOM && self.last_rtt > 0
    }

    /// Counts the last sample, for which there was no room.
    fn make_room(&mut self) {
        if self.lacks_room() {
            self.rtts.count(self.last_rtt);
            self.next_mark = self.mark_after(self.last);
        }
    }

    /// Restarts the averages.
    fn forget(&mut self) {
        self.integrals = Integrals::default();
        self.rtts.clear();
    }

    /// RTT samples in the window.
    pub fn rtts(&mut self) -> &Histogram {
        self.make_room();
        if self.baseline.is_none() {
            self.rtts.clear();
        }
        &self.rtts
    }

    /// Bytes it takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.rtts.heap_bytes() + self.baseline.as_deref().map_or(0, size_of_val)
    }

    /// Begins to measure where the window begins, and takes the samples that are due by `now`: gives `sample` the last RTT, zero
    /// if unknown. The state has not changed since the last event.
    pub fn pass_marks(&mut self, now: Nanos, cwnd: f64, counters: &Counters, mut sample: impl FnMut(Nanos)) {
        self.make_room();
        while self.next_mark <= now {
            let mark = self.next_mark;
            self.integrate(mark, cwnd);
            if self.baseline.is_none() && mark >= self.terms.window.from {
                self.take_baseline(counters);
            }
            if mark == self.next_sample {
                sample(self.last_rtt);
                let next = self.terms.interval.filter(|_| mark < self.terms.window.to);
                self.next_sample = next.map_or(Nanos::MAX, |interval| mark + interval);
            }
            self.next_mark = self.mark_after(mark);
        }
    }

    /// Not inlined, so that its data are not loaded for every sample.
    #[inline(never)]
    fn take_baseline(&mut self, counters: &Counters) {
        self.baseline = Some(Box::new(*counters));
        self.began = self.last;
        self.forget();
    }

    /// Counts in the window.
    pub fn counted(&self, now: &Counters) -> Counters {
        let Some(before) = self.baseline.as_deref() else { return Counters::default() };
        Counters { sent: now.sent - before.sent, events: now.events.since(before.events) }
    }

    /// Averages in the window.
    pub fn averages(&self) -> Averages {
        if self.baseline.is_none() {
            return Averages { active: 0, cwnd: f64::NAN, rtt_s: f64::NAN };
        }
        let (Integrals { cwnd, rtt_sum }, active) = (self.integrals, self.last - self.began);
        let samples = self.rtts.len() + u64::from(self.lacks_room());
        Averages { active, cwnd: cwnd / active as f64, rtt_s: rtt_sum / samples as f64 / 1e9 }
    }

    fn mark_after(&self, now: Nanos) -> Nanos {
        let warmup = if self.baseline.is_none() { self.terms.window.from.max(now) } else { Nanos::MAX };
        self.next_sample.min(warmup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    /// A meter of a flow that has begun at 0 and sent a segment each second, `cwnd` all the time.
    fn at_work(window: Window, until: Nanos, cwnd: f64) -> Meter {
        let mut meter = Meter::new(Arc::new(Terms { window, interval: None, distributes: true }));
        meter.start(0);
        meter.pass_marks(until, cwnd, &Counters { sent: until / SECOND, ..Counters::default() }, |_| {});
        meter.integrate(until, cwnd);
        meter
    }

    /// What happens at the first instant is not yet done when the window begins.
    #[test]
    fn counts_begin_before_what_the_first_instant_brings() {
        let mut meter = at_work(Window { from: 3 * SECOND, to: 9 * SECOND }, 3 * SECOND, 4.0);
        meter.sample_rtt(SECOND);
        let now = Counters { sent: 4, events: Events { retransmits: 1, timeouts: 1, fast_recoveries: 0 } };
        let counted = meter.counted(&now);
        assert_eq!((counted.sent, counted.events.retransmits, counted.events.timeouts), (1, 1, 1));
        assert_eq!(meter.averages().rtt_s, 1.0);
    }

    /// 1 us with a window of 1 segment after eleven days with a million: no difference of two floats shows it.
    #[test]
    fn a_short_window_after_a_long_warmup_has_its_own_mean() {
        let days = 1_000_000 * SECOND;
        let mut meter = at_work(Window { from: days, to: days + 1000 }, days, 1e6);
        meter.integrate(days + 1000, 1.0);
        assert_eq!((meter.averages().active, meter.averages().cwnd), (1000, 1.0));
    }

    /// 20,000 samples of 10^6 s are 2e19 ns, more than 64 bits hold.
    #[test]
    fn long_round_trips_are_summed_whole() {
        let mut meter = at_work(Window { from: 0, to: SECOND }, 0, 1.0);
        for _ in 0..20_000 {
            meter.sample_rtt(1_000_000 * SECOND);
            meter.pass_marks(SECOND, 1.0, &Counters::default(), |_| {});
        }
        assert_eq!(meter.averages().rtt_s, 1e6);
    }

    /// Those of the warm-up are forgotten; the last one may have come with nothing after it.
    #[test]
    fn percentiles_are_of_the_window() {
        let mut meter = at_work(Window { from: 3 * SECOND, to: 9 * SECOND }, 2 * SECOND, 4.0);
        let mut sample = |at, rtt| {
            meter.pass_marks(at, 4.0, &Counters::default(), |_| {});
            meter.sample_rtt(rtt);
        };
        [(2, 7), (3, 20), (4, 30), (5, 40), (6, 5)].iter().for_each(|(at, rtt)| sample(at * SECOND, *rtt));
        let exact = |percent| (meter.rtts().percentile(percent, 0) * 1e9).round();
        assert_eq!([25, 50, 75, 100].map(exact), [5.0, 20.0, 30.0, 40.0]);
        assert_eq!(meter.rtts().len(), 4);
    }

    #[test]
    fn a_flow_that_ends_in_the_warmup_has_no_averages() {
        let mut meter = at_work(Window { from: 3 * SECOND, to: 9 * SECOND }, 2 * SECOND, 4.0);
        meter.stop();
        let averages = meter.averages();
        assert!(averages.active == 0 && averages.cwnd.is_nan() && averages.rtt_s.is_nan());
    }
}
