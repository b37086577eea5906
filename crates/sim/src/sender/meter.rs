//! What is measured of a sender: counters and averages outside the warm-up, and the series.

use crate::link::Window;
use fullpipe_cc::{CongestionControl, Controller, Nanos, time::seconds};

/// Measures one sender (for web traffic, one connection after another).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Meter {
    /// When the warm-up ends or the next sample is due, whichever comes first.
    next_mark: Nanos,
    /// Up to when the integrals reach, while the flow is active.
    last: Nanos,
    integrals: Integrals,
    last_rtt: Option<Nanos>,
    /// Since the beginning of the run.
    pub counters: Counters,
    /// What `counters` and the integrals were at the end of the warm-up; they count from there.
    baseline: Option<Box<(Counters, Integrals)>>,
    window: Window,
    samples: Option<Box<FlowSamples>>,
}

/// Events since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Of those, sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_recoveries: u64,
    /// Segments cumulatively acknowledged.
    pub acked: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Integrals {
    /// cwnd over time, segments times nanoseconds.
    cwnd: f64,
    active: Nanos,
    rtt_sum: u64,
    rtt_count: u64,
}

/// A flow's series: rows of cwnd, ssthresh, RTT, segments thought to be in flight and the algorithm's internals.
#[derive(Clone, Debug)]
pub struct FlowSamples {
    interval: Nanos,
    next: Nanos,
    end: Nanos,
    /// Names of the internals.
    pub internals: Vec<&'static str>,
    /// Sample times and rows, one after another.
    pub times: Vec<Nanos>,
    /// Row by row: four values and the internals.
    pub values: Vec<f64>,
}

/// The columns every flow has.
pub const COMMON_COLUMNS: [&str; 4] = ["cwnd_packets", "ssthresh_packets", "rtt_s", "in_flight_packets"];

/// A flow's averages.
#[derive(Clone, Copy, Debug)]
pub struct Averages {
    /// Time average of cwnd while active, segments; NaN if never active.
    pub cwnd: f64,
    /// Mean RTT sample, seconds; NaN without any.
    pub rtt_s: f64,
}

impl Meter {
    /// Measures in `window`; samples every `interval`, if any.
    pub fn new(window: Window, interval: Option<Nanos>, cc: &Controller) -> Self {
        let samples = interval.map(|interval| Box::new(FlowSamples::new(interval, window.to, cc)));
        Meter {
            counters: Counters::default(),
            baseline: None,
            integrals: Integrals::default(),
            window,
            last: Nanos::MAX,
            next_mark: Nanos::MAX,
            last_rtt: None,
            samples,
        }
    }

    /// The flow becomes active at `now`.
    pub fn start(&mut self, now: Nanos) {
        self.last = now;
        if let Some(samples) = &mut self.samples {
            samples.next = now.next_multiple_of(samples.interval).max(samples.interval);
        }
        self.next_mark = self.mark_after(now);
    }

    /// The flow is no longer active; averages stop here.
    pub fn stop(&mut self) {
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
        self.integrals.active += span;
        self.last = now;
    }

    /// Counts an RTT sample.
    #[inline]
    pub fn sample_rtt(&mut self, rtt: Nanos) {
        self.last_rtt = Some(rtt);
        self.integrals.rtt_sum += rtt;
        self.integrals.rtt_count += 1;
    }

    /// Takes the samples, and the baseline at the end of the warm-up, that are due by `now`; the state has not changed since
    /// the last event.
    #[cold]
    pub fn pass_marks(&mut self, now: Nanos, in_flight: u64, cc: &Controller) {
        let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
        while self.next_mark <= now {
            let mark = self.next_mark;
            self.integrate(mark, cwnd);
            if self.baseline.is_none() && mark >= self.window.from {
                self.baseline = Some(Box::new((self.counters, self.integrals)));
            }
            if let Some(samples) = self.samples.as_mut().filter(|samples| samples.next == mark) {
                let rtt = self.last_rtt.map_or(f64::NAN, seconds);
                let ssthresh = if ssthresh.is_finite() { ssthresh } else { f64::NAN };
                samples.add(mark, [cwnd, ssthresh, rtt, in_flight as f64], cc);
            }
            self.next_mark = self.mark_after(mark);
        }
    }

    /// Events outside the warm-up.
    pub fn counted(&self) -> Counters {
        let Some((before, _)) = self.baseline.as_deref() else { return Counters::default() };
        let now = self.counters;
        Counters {
            sent: now.sent - before.sent,
            retransmits: now.retransmits - before.retransmits,
            timeouts: now.timeouts - before.timeouts,
            fast_recoveries: now.fast_recoveries - before.fast_recoveries,
            acked: now.acked - before.acked,
        }
    }

    /// Averages outside the warm-up.
    pub fn averages(&self) -> Averages {
        let Some((_, before)) = self.baseline.as_deref() else { return Averages { cwnd: f64::NAN, rtt_s: f64::NAN } };
        let now = &self.integrals;
        Averages {
            cwnd: (now.cwnd - before.cwnd) / (now.active - before.active) as f64,
            rtt_s: (now.rtt_sum - before.rtt_sum) as f64 / (now.rtt_count - before.rtt_count) as f64 / 1e9,
        }
    }

    /// The series, if one was asked for.
    pub fn take_samples(&mut self) -> Option<FlowSamples> {
        self.samples.take().map(|samples| *samples)
    }

    fn mark_after(&self, now: Nanos) -> Nanos {
        let warmup = if self.baseline.is_none() { self.window.from.max(now) } else { Nanos::MAX };
        self.samples.as_ref().map_or(Nanos::MAX, |samples| samples.next).min(warmup)
    }
}

impl FlowSamples {
    fn new(interval: Nanos, end: Nanos, cc: &Controller) -> Self {
        let mut internals = Vec::new();
        cc.inspect(&mut |name, _| internals.push(name));
        FlowSamples { interval, next: Nanos::MAX, end, internals, times: Vec::new(), values: Vec::new() }
    }

    fn add(&mut self, at: Nanos, common: [f64; 4], cc: &Controller) {
        if self.times.is_empty() {
            let rows = ((self.end - at) / self.interval) as usize + 1;
            self.times.reserve_exact(rows);
            self.values.reserve_exact(rows * (common.len() + self.internals.len()));
        }
        self.times.push(at);
        self.values.extend_from_slice(&common);
        cc.inspect(&mut |_, value| self.values.push(value));
        self.next = if at < self.end { at + self.interval } else { Nanos::MAX };
    }
}
