//! Congestion window validation of RFC 7661, for `idle = "rfc7661"`.
//!
//! pipeACK is the largest amount of data that was acknowledged in a round trip of the last max(3 RTT, 1 s). A window of more than twice
//! pipeACK is not validated: it stays for five minutes, and a loss lowers it to the part in use.
//!
//! # Deviations and choices
//!
//! - Samples are taken one after another, each over at least a smoothed RTT. A time without ACKs has no sample.
//! - A CE mark lowers the window as the algorithm has it. Only a loss leads to the reduction of section 4.4.1.
//! - Proportional rate reduction and NewReno's inflation keep the window with which their recovery began. The window of section 4.4.1
//!   holds where the recovery reads it again, and after the recovery.
//! - Pacing (section 4.4.2) is the scenario's.

use super::progress::Phase;
use super::validation::Windows;
use fullpipe_cc::Nanos;
use fullpipe_cc::time::SECOND;
use std::collections::VecDeque;

/// Non-validated period (NVP).
const PERIOD: Nanos = 300 * SECOND;

/// State of a sender after an ACK or a timer, before it sends.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time.
    pub now: Nanos,
    /// First segment that is not acknowledged.
    pub una: u64,
    /// Segments sent and not acknowledged.
    pub flight: u64,
    /// Smoothed RTT; 0 if unknown.
    pub srtt: Nanos,
    /// Phase of the loss recovery.
    pub phase: Phase,
    /// Segments retransmitted so far.
    pub retransmits: u64,
    /// Windows in force.
    pub windows: Windows,
}

/// Amounts of data acknowledged per round trip, and the phase that follows from them.
#[derive(Debug)]
pub struct PipeAck {
    initial_window: f64,
    /// Begin of the sample at hand, and the segments acknowledged before.
    from: Option<(Nanos, u64)>,
    /// Samples with their times. No later sample is as large.
    samples: VecDeque<(Nanos, u64)>,
    /// pipeACK has a value.
    defined: bool,
    /// Window before the event at hand.
    cwnd: f64,
    /// Begin of the non-validated period, or of the next one.
    unvalidated_from: Nanos,
    validated: bool,
    recovery: Option<Recovery>,
}

/// Recovery of a loss.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// max(pipeACK, LossFlightSize) of a loss in the non-validated phase.
    used: Option<u64>,
    /// Segments retransmitted before it.
    retransmits: u64,
}

impl PipeAck {
    /// Record of a connection that begins at `begin`: pipeACK is undefined.
    pub fn new(initial_window: f64, begin: Nanos) -> PipeAck {
        PipeAck {
            initial_window,
            from: None,
            samples: VecDeque::new(),
            defined: false,
            cwnd: initial_window,
            unvalidated_from: begin,
            validated: true,
            recovery: None,
        }
    }

    /// Whether the window is validated, so that it grows by the rules of the algorithm.
    pub fn is_validated(&self) -> bool {
        self.validated
    }

    /// Brings the record up to `moment`. Returns the windows if the rules change them.
    pub fn update(&mut self, moment: &Moment) -> Option<Windows> {
        let changed = match moment.phase {
            Phase::Restart { .. } => {
                self.forget();
                None
            }
            Phase::Recovery { .. } => self.on_recovery(moment),
            Phase::Open | Phase::Reduction { .. } => self.on_open(moment),
        };
        self.cwnd = changed.unwrap_or(moment.windows).cwnd;
        changed
    }

    fn forget(&mut self) {
        self.samples.clear();
        (self.from, self.defined, self.validated, self.recovery) = (None, false, true, None);
    }

    /// Section 4.4.1, at the loss.
    fn on_recovery(&mut self, moment: &Moment) -> Option<Windows> {
        if self.recovery.is_some() {
            return None;
        }
        let pipe = self.pipe(moment.now, moment.srtt);
        let used = (self.defined && (pipe as f64) < self.cwnd / 2.0).then(|| pipe.max(moment.flight));
        self.recovery = Some(Recovery { used, retransmits: moment.retransmits });
        used.map(|used| both(used as f64 / 2.0))
    }

    fn on_open(&mut self, moment: &Moment) -> Option<Windows> {
        let &Moment { now, una, srtt, windows, retransmits, .. } = moment;
        if let Some(recovery) = self.recovery {
            self.forget();
            let repaired = retransmits.saturating_sub(recovery.retransmits);
            return recovery.used.map(|used| both(used.saturating_sub(repaired) as f64 / 2.0));
        }
        self.sample(now, una, srtt);
        let pipe = self.pipe(now, srtt);
        let half = windows.cwnd / 2.0;
        self.validated = !self.defined || pipe as f64 >= half;
        if self.validated {
            let large = self.samples.iter().rfind(|(_, acked)| *acked as f64 >= half);
            self.unvalidated_from = large.map_or(now, |(at, _)| at + window(srtt));
            return None;
        }
        self.after_period(now, windows)
    }

    /// Section 4.4.3.
    fn after_period(&mut self, now: Nanos, windows: Windows) -> Option<Windows> {
        let Windows { mut cwnd, mut ssthresh } = windows;
        let periods = now.saturating_sub(self.unvalidated_from) / PERIOD;
        for _ in 0..periods {
            ssthresh = ssthresh.max(0.75 * cwnd);
            cwnd = cwnd.min((cwnd / 2.0).max(self.initial_window));
        }
        self.unvalidated_from += periods * PERIOD;
        (periods > 0).then_some(Windows { cwnd, ssthresh })
    }

    fn sample(&mut self, now: Nanos, una: u64, srtt: Nanos) {
        let (from, before) = *self.from.get_or_insert((now, una));
        let acked = una - before;
        if acked == 0 {
            // No data was acknowledged: a sample begins with the next one.
            self.from = Some((now, una));
        } else if now - from >= srtt.max(1) {
            while self.samples.back().is_some_and(|(_, known)| *known <= acked) {
                self.samples.pop_back();
            }
            self.samples.push_back((now, acked));
            (self.from, self.defined) = (Some((now, una)), true);
        }
    }

    /// pipeACK: the largest sample of the sampling period.
    fn pipe(&mut self, now: Nanos, srtt: Nanos) -> u64 {
        while self.samples.front().is_some_and(|(at, _)| at + window(srtt) < now) {
            self.samples.pop_front();
        }
        self.samples.front().map_or(0, |(_, acked)| *acked)
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.samples.capacity() * size_of::<(Nanos, u64)>()
    }
}

/// pipeACK sampling period (section 4.2).
fn window(srtt: Nanos) -> Nanos {
    (3 * srtt).max(SECOND)
}

/// Window and threshold, not below one segment.
fn both(window: f64) -> Windows {
    let cwnd = window.max(1.0);
    Windows { cwnd, ssthresh: cwnd }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::time::MILLISECOND as MS;

    /// Segments of 1 kB, RTT 100 ms, window 100.
    fn moment(now: Nanos, una: u64) -> Moment {
        let windows = Windows { cwnd: 100.0, ssthresh: 50.0 };
        Moment { now, una, flight: 0, srtt: 100 * MS, phase: Phase::Open, retransmits: 0, windows }
    }

    /// Three rounds of 50 segments, an ACK each 2 ms, then 5 segments each 100 ms up to `end`.
    fn after_rounds(end: Nanos) -> PipeAck {
        let mut pipe = PipeAck::new(10.0, 0);
        let (mut now, mut una) = (0, 0);
        while now <= end {
            pipe.update(&moment(now, una));
            (now, una) = if una < 150 { (now + 2 * MS, una + 1) } else { (now + 100 * MS, una + 5) };
        }
        pipe
    }

    /// pipeACK is 50 for 1 s after the last large sample at 300 ms, then 5.
    #[test]
    fn pipe_ack_is_the_largest_sample_of_the_last_second() {
        assert_eq!(after_rounds(300 * MS).pipe(300 * MS, 100 * MS), 50);
        assert_eq!(after_rounds(1300 * MS).pipe(1300 * MS, 100 * MS), 50);
        assert_eq!(after_rounds(1400 * MS).pipe(1400 * MS, 100 * MS), 5);
    }

    /// A window of 100 is validated with pipeACK 50, and one of 102 is not.
    #[test]
    fn a_window_is_validated_by_half_of_it() {
        let mut pipe = after_rounds(300 * MS);
        assert!(pipe.is_validated());
        let windows = Windows { cwnd: 102.0, ssthresh: 50.0 };
        assert_eq!(pipe.update(&Moment { windows, ..moment(300 * MS, 150) }), None);
        assert!(!pipe.is_validated());
        assert!(PipeAck::new(10.0, 0).is_validated(), "undefined");
    }

    /// Window 100, pipeACK 20, LossFlightSize 30, 4 retransmitted: 15, then (30 - 4) / 2 = 13. Afterwards pipeACK is undefined.
    #[test]
    fn a_loss_lowers_a_window_that_is_not_validated_to_what_was_in_use() {
        let mut pipe = PipeAck::new(10.0, 0);
        for (now, una) in [(0, 0), (2, 1), (102, 21)] {
            pipe.update(&moment(now * MS, una));
        }
        assert!(!pipe.is_validated());
        let lost = |now, flight, retransmits| Moment {
            flight,
            phase: Phase::Recovery { point: 60 },
            retransmits,
            windows: Windows { cwnd: 50.0, ssthresh: 50.0 },
            ..moment(now * MS, 21)
        };
        assert_eq!(pipe.update(&lost(110, 30, 7)), Some(both(15.0)));
        assert_eq!(pipe.update(&lost(120, 40, 9)), None);
        assert_eq!(pipe.update(&Moment { retransmits: 11, ..moment(200 * MS, 60) }), Some(both(13.0)));
        assert!(pipe.is_validated() && !pipe.defined);
    }

    #[test]
    fn a_loss_in_the_validated_phase_is_that_of_the_algorithm() {
        let mut pipe = after_rounds(300 * MS);
        let lost = Moment { phase: Phase::Recovery { point: 200 }, flight: 50, ..moment(302 * MS, 150) };
        assert_eq!((pipe.update(&lost), pipe.update(&moment(400 * MS, 200))), (None, None));
    }

    /// Idle for 700 s from a window of 80: 40 after 300 s and 20 after 600 s. ssthresh keeps 3/4 of 80.
    #[test]
    fn an_unused_window_halves_each_five_minutes() {
        let windows = Windows { cwnd: 80.0, ssthresh: 40.0 };
        let after = |idle: Nanos| {
            let mut pipe = after_rounds(300 * MS);
            pipe.update(&Moment { windows, ..moment(300 * MS, 150) });
            pipe.update(&Moment { windows, ..moment(1300 * MS + idle, 150) })
        };
        assert_eq!(after(299 * SECOND), None);
        assert_eq!(after(300 * SECOND), Some(Windows { cwnd: 40.0, ssthresh: 60.0 }));
        assert_eq!(after(700 * SECOND), Some(Windows { cwnd: 20.0, ssthresh: 60.0 }));
        assert_eq!(after(1500 * SECOND).map(|windows| windows.cwnd), Some(10.0));
    }

    #[test]
    fn after_a_timeout_pipe_ack_is_undefined() {
        let mut pipe = after_rounds(1400 * MS);
        assert!(!pipe.is_validated());
        assert_eq!(pipe.update(&Moment { phase: Phase::Restart { point: 300 }, ..moment(1500 * MS, 200) }), None);
        assert!(pipe.is_validated());
    }
}
