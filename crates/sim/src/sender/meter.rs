//! What is measured of a sender: counters and averages outside the warm-up, and the series.

use crate::link::Window;
use fullpipe_cc::Nanos;

/// Measures one sender (for web traffic, one connection after another).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Meter {
    /// When the warm-up ends or the next sample is due, whichever comes first.
    next_mark: Nanos,
    /// Up to when the integrals reach, while the flow is active.
    last: Nanos,
    integrals: Integrals,
    /// Zero before the first.
    last_rtt: Nanos,
    /// When the flow became active, and how long it had been before.
    began: Nanos,
    active_before: Nanos,
    /// Since the beginning of the run.
    pub events: Events,
    /// What counters and integrals were at the end of the warm-up; they count from there.
    baseline: Option<Box<Baseline>>,
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
    /// Segments cumulatively acknowledged.
    pub acked: u64,
    /// Retransmits, timeouts and fast retransmits.
    pub events: Events,
}

#[derive(Clone, Debug)]
struct Baseline {
    counters: Counters,
    integrals: Integrals,
    active: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Integrals {
    /// cwnd over time, segments times nanoseconds.
    cwnd: f64,
    rtt_sum: u64,
    rtt_count: u64,
}

/// A flow's averages.
#[derive(Clone, Copy, Debug)]
pub struct Averages {
    /// Time average of cwnd while active, segments; NaN if never active.
    pub cwnd: f64,
    /// Mean RTT sample, seconds; NaN without any.
    pub rtt_s: f64,
}

impl Counters {
    /// After connections that sent (once each) and had acknowledged so many segments, one that has sent `high` and has `una`
    /// acknowledged.
    #[inline]
    pub fn since((sent, acked): (u64, u64), high: u64, una: u64, events: Events) -> Counters {
        Counters { sent: sent + high + events.retransmits, acked: acked + una, events }
    }
}

impl Meter {
    /// Measures in `window`; samples every `interval`, if any.
    pub fn new(window: Window, interval: Option<Nanos>) -> Self {
        Meter {
            events: Events::default(),
            began: Nanos::MAX,
            active_before: 0,
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
        if self.interval > 0 {
            self.next_sample = now.next_multiple_of(self.interval).max(self.interval);
        }
        self.next_mark = self.mark_after(now);
    }

    /// The flow is no longer active; averages stop here.
    pub fn stop(&mut self) {
        self.active_before = self.active();
        self.began = Nanos::MAX;
        self.last = Nanos::MAX;
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
        self.integrals.rtt_sum += rtt;
        self.integrals.rtt_count += 1;
    }

    /// Takes the baseline at the end of the warm-up, and the samples that are due by `now`: gives `sample` the last RTT, zero
    /// if unknown. The state has not changed since the last event.
    pub fn pass_marks(
        &mut self,
        now: Nanos,
        cwnd: f64,
        counters: impl Fn() -> Counters,
        mut sample: impl FnMut(Nanos),
    ) {
        while self.next_mark <= now {
            let mark = self.next_mark;
            self.integrate(mark, cwnd);
            if self.baseline.is_none() && mark >= self.window.from {
                self.take_baseline(&counters);
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
    fn take_baseline(&mut self, counters: impl Fn() -> Counters) {
        let (counters, integrals, active) = (counters(), self.integrals, self.active());
        self.baseline = Some(Box::new(Baseline { counters, integrals, active }));
    }

    /// Counts outside the warm-up.
    pub fn counted(&self, now: &Counters) -> Counters {
        let Some(Baseline { counters: before, .. }) = self.baseline.as_deref() else { return Counters::default() };
        Counters {
            sent: now.sent - before.sent,
            acked: now.acked - before.acked,
            events: Events {
                retransmits: now.events.retransmits - before.events.retransmits,
                timeouts: now.events.timeouts - before.events.timeouts,
                fast_recoveries: now.events.fast_recoveries - before.events.fast_recoveries,
            },
        }
    }

    /// Averages outside the warm-up.
    pub fn averages(&self) -> Averages {
        let Some(before) = self.baseline.as_deref() else { return Averages { cwnd: f64::NAN, rtt_s: f64::NAN } };
        let (now, before, active) = (&self.integrals, &before.integrals, self.active() - before.active);
        Averages {
            cwnd: (now.cwnd - before.cwnd) / active as f64,
            rtt_s: (now.rtt_sum - before.rtt_sum) as f64 / (now.rtt_count - before.rtt_count) as f64 / 1e9,
        }
    }

    /// How long the flow has been active.
    fn active(&self) -> Nanos {
        self.active_before + (self.last - self.began)
    }

    fn mark_after(&self, now: Nanos) -> Nanos {
        let warmup = if self.baseline.is_none() { self.window.from.max(now) } else { Nanos::MAX };
        self.next_sample.min(warmup)
    }
}
