//! Pacing: segments leave at a rate instead of back to back.
//!
//! Sources: draft-ietf-ccwg-bbr, section 5.6.2 (next_send = max(now, next_send) + size/rate). For algorithms without a
//! rate: Linux's documentation of `tcp_pacing_ss_ratio` (200 %) and `tcp_pacing_ca_ratio` (120 %) in ip-sysctl.

use fullpipe_cc::time::{SECOND, seconds};
use fullpipe_cc::{CongestionControl, Nanos};

/// Whether a flow's segments leave at a rate.
///
/// Example: see [`Tcp`](crate::model::Tcp).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pacing {
    /// Only if the algorithm has a rate.
    #[default]
    Algorithm,
    /// Always: at the algorithm's rate, or at a rate computed from window and round-trip time.
    On,
    /// Never, even if the algorithm has a rate.
    Off,
}

fullpipe_cc::named! { Pacing { Algorithm = "algorithm", On = "on", Off = "off" } }

impl Pacing {
    /// Whether a flow under `cc` is paced.
    pub fn applies_to(self, cc: &impl CongestionControl) -> bool {
        match self {
            Pacing::Algorithm => cc.pacing_rate().is_some(),
            Pacing::On => true,
            Pacing::Off => false,
        }
    }
}

/// Windows per round-trip time far below ssthresh, and above (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_RATIO: f64 = 2.0;
const AVOIDANCE_RATIO: f64 = 1.2;

/// Pacing rate in segments per second: the algorithm's rate, or else windows per `srtt` (one ratio in slow start up to
/// half of ssthresh, another one above).
#[inline]
pub fn rate(cc: &impl CongestionControl, srtt: Nanos) -> f64 {
    cc.pacing_rate().unwrap_or_else(|| rate_of_window(cc, srtt))
}

fn rate_of_window(cc: &impl CongestionControl, srtt: Nanos) -> f64 {
    let ratio = if cc.cwnd() < cc.ssthresh() / 2.0 { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
    ratio * cc.cwnd() / seconds(srtt)
}

/// Fractions of a nanosecond in a time. Gaps are rounded up to one of them. The error is a nanosecond after 16 million
/// segments, below the precision of a rate.
const PARTS: u64 = 1 << 24;

/// Upper limit of a gap between two segments, so that the clock does not overflow.
const LONGEST_GAP: Nanos = 1_000_000 * SECOND;

/// Time at which the next segment may leave. Fractions of a nanosecond are carried over to later segments, so that the
/// average gap is exact for any number of segments.
#[derive(Clone, Debug)]
pub struct Pacer {
    next: Nanos,
    /// Fraction of a nanosecond of that time.
    part: u64,
    /// Remaining segments of the current burst.
    burst: u64,
    /// Time at which the sender has asked to be woken.
    wake: Nanos,
    /// Last rate, and its gap between segments.
    gap_of: (f64, Gap),
}

/// Time in nanoseconds and fractions of a nanosecond.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    whole: Nanos,
    part: u64,
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer { next: 0, part: 0, burst: 0, wake: 0, gap_of: (f64::NAN, Gap::default()) }
    }
}

impl Pacer {
    /// Whether a segment may leave at `now`.
    pub fn allows(&self, now: Nanos) -> bool {
        (now >= self.next) | (self.burst > 0)
    }

    /// Time from which a segment may leave.
    pub fn next(&self) -> Nanos {
        if self.burst > 0 { 0 } else { self.next }
    }

    /// Records that a segment leaves at `now`, at `rate` segments per second in bursts of `quantum`. `quantum` is
    /// called when a burst begins.
    pub fn on_sent(&mut self, now: Nanos, rate: f64, quantum: impl FnOnce() -> u64) {
        if now >= self.next {
            self.burst = quantum().max(1);
        }
        self.part = if now > self.next { 0 } else { self.part };
        self.next = self.next.max(now);
        self.burst -= 1;
        let gap = if rate == self.gap_of.0 { self.gap_of.1 } else { self.gap_at(rate) };
        let part = gap.part + self.part;
        self.next = self.next.saturating_add(gap.whole + part / PARTS);
        self.part = part % PARTS;
    }

    /// Gap after a segment at this rate. The last gap is cached, because the rate often stays constant.
    fn gap_at(&mut self, rate: f64) -> Gap {
        let parts = SECOND as f64 / rate * PARTS as f64;
        // The first branch is the common case. The second saturates if the rate is 0.
        let gap = if parts < i64::MAX as f64 {
            let whole = parts as i64 as u64;
            let rounded_up = whole + u64::from((whole as f64) < parts);
            Gap { whole: rounded_up / PARTS, part: rounded_up % PARTS }
        } else {
            let parts = (parts.ceil() as u128).min(u128::from(LONGEST_GAP) * u128::from(PARTS));
            Gap { whole: (parts / u128::from(PARTS)) as Nanos, part: (parts % u128::from(PARTS)) as u64 }
        };
        self.gap_of = (rate, gap);
        gap
    }

    /// Whether a wake-up of the waiting sender is already scheduled.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.wake == self.next
    }

    /// Time at which to wake the waiting sender; `None` if a wake-up is already scheduled.
    pub fn wake(&mut self) -> Option<Nanos> {
        let due = self.next;
        (std::mem::replace(&mut self.wake, due) != due).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Nanos = 1_000_000;

    /// Departure times of `segments` segments that each leave as soon as the pacer allows.
    fn departures(rate: f64, quantum: u64, segments: usize) -> Vec<Nanos> {
        let mut pacer = Pacer::default();
        let mut now = 0;
        (0..segments)
            .map(|_| {
                now = if pacer.allows(now) { now } else { pacer.next };
                pacer.on_sent(now, rate, || quantum);
                now
            })
            .collect()
    }

    /// 10 Mbit/s of 1500 bytes: 1.2 ms per segment, so the millionth segment after the first leaves at 1200 s.
    #[test]
    fn gaps_are_exact_and_do_not_drift() {
        let at = departures(10e6 / 12_000.0, 1, 1_000_001);
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] == 1_200_000));
        assert_eq!(at[1_000_000], 1200 * SECOND);
        // 7 segments per microsecond: 1000/7 ns each, which is not exact in binary.
        assert_eq!(departures(7e6, 1, 7_000_001)[7_000_000], SECOND);
    }

    /// First window of 10 at 40 ms, paced by 2.77 windows per round trip: 692.5 segments per second, 1.444 ms.
    #[test]
    fn a_first_window_is_spread() {
        let at = departures(2.77 * 10.0 / 0.040, 1, 10);
        assert_eq!(at[1] / 1000, 1444);
        assert!((at[9] as f64 - 9.0 * 40e6 / 27.7).abs() <= 1.0);
    }

    /// Bursts of four: 0, 0, 0, 0, and the next four after four gaps.
    #[test]
    fn a_quantum_leaves_at_once() {
        assert_eq!(departures(1000.0, 4, 9), [0, 0, 0, 0, 4 * MS, 4 * MS, 4 * MS, 4 * MS, 8 * MS]);
    }

    /// After a pause the next segment leaves at once, and the pacer does not make up for the pause.
    #[test]
    fn a_pause_saves_nothing() {
        let mut pacer = Pacer::default();
        pacer.on_sent(0, 1000.0, || 1);
        assert!(!pacer.allows(MS - 1) && pacer.allows(MS));
        pacer.on_sent(50 * MS, 1000.0, || 1);
        assert!(!pacer.allows(51 * MS - 1) && pacer.allows(51 * MS));
        assert_eq!([pacer.wake(), pacer.wake()], [Some(51 * MS), None]);
    }

    /// At a rate of 0 no segment leaves, not even the first. When the rate rises again, an older gap has no effect.
    #[test]
    fn a_rate_of_zero_holds_all_back() {
        let mut pacer = Pacer::default();
        pacer.on_sent(0, 0.0, || 1);
        assert!(!pacer.allows(LONGEST_GAP - 1) && pacer.allows(LONGEST_GAP));
        let mut pacer = Pacer::default();
        let mut due = 0;
        for (rate, gap) in [(1000.0, MS), (1000.0, MS), (500.0, 2 * MS), (1000.0, MS)] {
            pacer.on_sent(due, rate, || 1);
            due += gap;
            assert!(!pacer.allows(due - 1) && pacer.allows(due), "{rate}");
        }
    }

    /// Slow start below half of ssthresh: 2 windows per round trip, 1.2 otherwise. 10 segments at 100 ms are 200 and
    /// 120 per second. After a loss at 10, cwnd = ssthresh = 5: 60.
    #[test]
    fn windows_per_round_trip_without_a_rate_of_the_algorithm() {
        let mut cc: crate::transport::Controller = fullpipe_cc::build("reno", &[], 10.0).expect("reno").into();
        assert_eq!(rate(&cc, 100 * MS), 200.0);
        cc.on_congestion(&fullpipe_cc::Flow::at(0).cwnd_limited(true), fullpipe_cc::Signal::Loss);
        assert_eq!(rate(&cc, 100 * MS), 60.0);
        assert!(!Pacing::Algorithm.applies_to(&cc) && Pacing::On.applies_to(&cc) && !Pacing::Off.applies_to(&cc));
    }

    /// Linux (`tcp_update_pacing_rate`): 2 windows per round trip while cwnd is below ssthresh/2, 1.2 above. A timeout
    /// at 20 segments leaves ssthresh 10 and cwnd 1. In slow start, 4 segments at 100 ms are 80 per second, and 5 are
    /// 60 per second.
    #[test]
    fn the_higher_ratio_ends_at_half_of_ssthresh() {
        let mut cc: crate::transport::Controller = fullpipe_cc::build("reno", &[], 20.0).expect("reno").into();
        let flow = fullpipe_cc::Flow::at(0).cwnd_limited(true);
        cc.on_congestion(&flow, fullpipe_cc::Signal::Timeout);
        (0..3).for_each(|_| cc.on_ack(&flow, &fullpipe_cc::Ack::of(1, 1.0)));
        assert_eq!((cc.cwnd(), cc.ssthresh(), rate(&cc, 100 * MS)), (4.0, 10.0, 80.0));
        cc.on_ack(&flow, &fullpipe_cc::Ack::of(1, 1.0));
        assert_eq!((cc.cwnd(), rate(&cc, 100 * MS)), (5.0, 60.0));
    }

    proptest! {
        /// For every rate and quantum, n segments take at least n - quantum gaps, except for one nanosecond of the
        /// clock.
        #[test]
        fn nothing_leaves_faster_than_the_rate(rate in 0.01..1e9, quantum in 1u64..50, segments in 2usize..500) {
            let at = departures(rate, quantum, segments);
            for (index, &first) in at.iter().enumerate() {
                let last = at[(index + 100).min(segments - 1)];
                let gaps = ((index + 100).min(segments - 1) - index) as f64 + 1.0 - quantum as f64;
                prop_assert!((last - first) as f64 >= gaps * 1e9 / rate * (1.0 - 1e-9) - 1.001, "{index}");
            }
        }
    }
}
