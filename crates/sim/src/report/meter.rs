//! What is measured of a sender: counters and averages in the measuring window, and the series.

use crate::window::Window;
use fullpipe_cc::Nanos;

/// Measures one sender (for web traffic, one connection after another: counters go on, averages are the last one's).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Meter {
    /// When the warm-up ends or the next sample is due, whichever comes first.
    next_mark: Nanos,
    /// Up to when the integrals reach.
    last: Nanos,
    integrals: Integrals,
    /// Zero before the first.
    last_rtt: Nanos,
    /// From when: when the flow became active, or the window began after that.
    began: Nanos,
    /// Since the beginning of the run.
    pub events: Events,
    /// What counters were when the window began; they count from there.
    baseline: Option<Box<Counters>>,
    window: Window,
    /// Time between samples, and when the next is due; zero and never without series.
    interval: Nanos,
    next_sample: Nanos,
}

/// What happens seldom, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_recoveries: u64,
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
    rtt_count: u64,
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
    /// So many segments sent, once each, and `events`.
    #[inline]
    pub fn since(sent_once: u64, events: Events) -> Counters {
        Counters { sent: sent_once + events.retransmits, events }
    }
}

impl Meter {
    /// Measures in `window`; samples every `interval`, if any.
    pub fn new(window: Window, interval: Option<Nanos>) -> Self {
        Meter {
            events: Events::default(),
            began: Nanos::MAX,
            baseline: None,
            integrals: Integrals::default(),
            window,
            last: Nanos::MAX,
            next_mark: Nanos::MAX,
            last_rtt: 0,
            interval: interval.unwrap_or(0),
            next_sample: Nanos::MAX,
        }
    }

    /// The flow becomes active at `now`.
    pub fn start(&mut self, now: Nanos) {
        self.last = now;
        self.began = now;
        self.integrals = Integrals::default();
        if self.interval > 0 {
            self.next_sample = now.next_multiple_of(self.interval).max(self.interval);
        }
        self.next_mark = self.mark_after(now);
    }

    /// The flow is no longer active; averages stop here.
    pub fn stop(&mut self) {
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

    /// Counts an RTT sample.
    #[inline]
    pub fn sample_rtt(&mut self, rtt: Nanos) {
        self.last_rtt = rtt;
        self.integrals.rtt_sum += rtt as i64 as f64;
        self.integrals.rtt_count += 1;
    }

    /// Begins to measure where the window begins, and takes the samples that are due by `now`: gives `sample` the last RTT, zero
    /// if unknown. The state has not changed since the last event.
    pub fn pass_marks(&mut self, now: Nanos, cwnd: f64, counters: &Counters, mut sample: impl FnMut(Nanos)) {
        while self.next_mark <= now {
            let mark = self.next_mark;
            self.integrate(mark, cwnd);
            if self.baseline.is_none() && mark >= self.window.from {
                self.take_baseline(counters);
            }
            if mark == self.next_sample {
                sample(self.last_rtt);
                self.next_sample = if mark < self.window.to { mark + self.interval } else { Nanos::MAX };
            }
            self.next_mark = self.mark_after(mark);
        }
    }

    /// A call, lest what only this needs be fetched for every sample.
    #[inline(never)]
    fn take_baseline(&mut self, counters: &Counters) {
        self.baseline = Some(Box::new(*counters));
        self.began = self.last;
        self.integrals = Integrals::default();
    }

    /// Counts in the window.
    pub fn counted(&self, now: &Counters) -> Counters {
        let Some(before) = self.baseline.as_deref() else { return Counters::default() };
        Counters {
            sent: now.sent - before.sent,
            events: Events {
                retransmits: now.events.retransmits - before.events.retransmits,
                timeouts: now.events.timeouts - before.events.timeouts,
                fast_recoveries: now.events.fast_recoveries - before.events.fast_recoveries,
            },
        }
    }

    /// Averages in the window.
    pub fn averages(&self) -> Averages {
        if self.baseline.is_none() {
            return Averages { active: 0, cwnd: f64::NAN, rtt_s: f64::NAN };
        }
        let (Integrals { cwnd, rtt_sum, rtt_count }, active) = (self.integrals, self.last - self.began);
        Averages { active, cwnd: cwnd / active as f64, rtt_s: rtt_sum / rtt_count as f64 / 1e9 }
    }

    fn mark_after(&self, now: Nanos) -> Nanos {
        let warmup = if self.baseline.is_none() { self.window.from.max(now) } else { Nanos::MAX };
        self.next_sample.min(warmup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    /// A meter of a flow that has begun at 0 and sent a segment each second, `cwnd` all the time.
    fn at_work(window: Window, until: Nanos, cwnd: f64) -> Meter {
        let mut meter = Meter::new(window, None);
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
        (0..20_000).for_each(|_| meter.sample_rtt(1_000_000 * SECOND));
        assert_eq!(meter.averages().rtt_s, 1e6);
    }

    #[test]
    fn a_flow_that_ends_in_the_warmup_has_no_averages() {
        let mut meter = at_work(Window { from: 3 * SECOND, to: 9 * SECOND }, 2 * SECOND, 4.0);
        meter.stop();
        let averages = meter.averages();
        assert!(averages.active == 0 && averages.cwnd.is_nan() && averages.rtt_s.is_nan());
    }
}
