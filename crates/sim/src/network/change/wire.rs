//! Path from the transmitter to the far end: the propagation delay and its variations.
//!
//! Packets leave at once, or at multiples of an aggregation time, counted from a phase. Their delay is the one in force
//! when they were sent, plus jitter. No packet arrives before one that was sent earlier, unless the jitter
//! reorders. A reordered packet waits longer, and others do not wait for it.

use super::jitter::Jitter;
use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::{Link, Reorder, Samples};
use fullpipe_cc::Nanos;

/// See the head of the file.
#[derive(Debug)]
pub struct Wire {
    delay: Nanos,
    /// There is any of the following.
    varies: bool,
    /// Delays over time, in the place of `delay`.
    trace: Option<Samples>,
    /// Interval and phase.
    aggregation: Option<(Nanos, Nanos)>,
    jitter: Option<Jitter>,
    /// Packets take their delays whatever others do.
    overtakes: bool,
    reorder: Option<(Reorder, Rng)>,
    /// No packet in order arrives before this.
    latest: Nanos,
}

impl Wire {
    /// `identity` is that of the direction.
    pub fn new(link: &Link, seed: u64, identity: Identity) -> Wire {
        Wire {
            delay: link.delay,
            varies: (link.aggregation, link.jitter, link.reorder) != (None, None, None) || link.delay_trace.is_some(),
            trace: link.delay_trace.clone(),
            aggregation: link.aggregation.map(|every| (every, link.phase.unwrap_or(0))),
            jitter: link.jitter.map(|settings| Jitter::new(settings, seed, identity)),
            overtakes: link.jitter.is_some_and(|settings| settings.reorder),
            reorder: link.reorder.map(|settings| (settings, Rng::new(seed, Purpose::Reorder, identity))),
            latest: 0,
        }
    }

    /// The propagation delay of packets sent from now on.
    pub fn set_delay(&mut self, delay: Nanos) {
        self.delay = delay;
    }

    /// Whether packets take more or less than the propagation delay.
    pub fn varies(&self) -> bool {
        self.varies
    }

    /// As [`Wire::arrival`] where nothing varies and the delay never changes.
    #[inline(always)]
    pub fn steady_arrival(&self, sent: Nanos) -> Nanos {
        sent + self.delay
    }

    /// When a packet reaches the far end that has been sent at `sent`, not before the one ahead of it.
    #[inline(always)]
    pub fn arrival(&mut self, sent: Nanos) -> Nanos {
        if self.varies {
            return self.varied_arrival(sent);
        }
        self.latest = self.latest.max(sent + self.delay);
        self.latest
    }

    #[inline(never)]
    fn varied_arrival(&mut self, sent: Nanos) -> Nanos {
        let leaves =
            self.aggregation.map_or(sent, |(every, phase)| phase + sent.saturating_sub(phase).next_multiple_of(every));
        let jitter = self.jitter.as_mut().map_or(0, Jitter::draw);
        let delay = self.trace.as_ref().map_or(self.delay, |trace| trace.at(leaves).round() as Nanos);
        let mut arrival = leaves + delay + jitter;
        if !self.overtakes {
            self.latest = self.latest.max(arrival);
            arrival = self.latest;
        }
        let Some((Reorder { probability, delay }, rng)) = &mut self.reorder else { return arrival };
        if rng.unit() <= *probability { arrival + *delay } else { arrival }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, Interpolation, JitterModel};
    use fullpipe_cc::time::MILLISECOND as MS;

    fn wire(link: &Link) -> Wire {
        Wire::new(link, 1, Identity::NONE)
    }

    /// 1500 bytes take 0.24 ms at 50 Mbit/s: 16 or 17 leave together each 4 ms, 50 in three times 4 ms.
    #[test]
    fn aggregation_makes_clumps() {
        let mut wire = wire(&Link { aggregation: Some(4 * MS), delay: MS, ..Link::default() });
        let arrivals: Vec<Nanos> = (1..=1000).map(|n| wire.arrival(n * 240_000)).collect();
        assert!(arrivals.iter().all(|at| (at - MS) % (4 * MS) == 0));
        let clumps: Vec<usize> = arrivals.chunk_by(|a, b| a == b).map(<[Nanos]>::len).collect();
        assert_eq!(clumps[..6], [16, 17, 17, 16, 17, 17]);
    }

    /// Times of 3 ms + k 10 ms, the first of them for all before it.
    #[test]
    fn packets_leave_at_their_phase_and_whole_intervals_after_it() {
        let mut wire = wire(&Link { aggregation: Some(10 * MS), phase: Some(3 * MS), ..Link::default() });
        let arrivals = [0, 3 * MS, 3 * MS + 1, 12 * MS, 13 * MS, 13 * MS + 1].map(|sent| wire.arrival(sent));
        assert_eq!(arrivals, [3, 3, 13, 13, 13, 23].map(|ms| ms * MS));
    }

    #[test]
    fn a_shorter_delay_overtakes_nobody() {
        let mut wire = wire(&Link { delay: 50, ..Link::default() });
        assert_eq!([10, 20].map(|sent| wire.arrival(sent)), [60, 70]);
        wire.set_delay(5);
        assert_eq!([30, 40, 80].map(|sent| wire.arrival(sent)), [70, 70, 85]);
    }

    #[test]
    fn jitter_keeps_the_order() {
        let jitter = scenario::Jitter::of(JitterModel::Wifi, 7 * MS);
        let mut wire = wire(&Link { jitter: Some(jitter), delay: MS, ..Link::default() });
        let arrivals: Vec<Nanos> = (0..10_000).map(|n| wire.arrival(n * MS)).collect();
        assert!(arrivals.is_sorted());
        assert!(arrivals.iter().zip(0..).all(|(&at, n)| at >= (n + 1) * MS));
    }

    /// 40 ms at 0 and none at 10 ms, on a line: a packet sent at 5 ms would take 20 ms, and arrives with the one before it, at 40 ms.
    #[test]
    fn delays_follow_a_trace_and_keep_the_order() {
        let trace = Samples::delays(&[(0.0, 0.04), (0.01, 0.0)], Interpolation::Linear, false).expect("samples");
        let mut wire = wire(&Link { delay_trace: Some(trace), delay: MS, ..Link::default() });
        assert_eq!([0, 5, 10, 39, 41].map(|sent| wire.arrival(sent * MS)), [40, 40, 40, 40, 41].map(|ms| ms * MS));
    }

    /// Packets each millisecond with a delay from 0 to 10 ms. One with a delay of x ms is overtaken by none of those behind it with probability
    /// (1 - (x - 1)/10) (1 - (x - 2)/10) ..., which is 0.413 in the mean over x.
    #[test]
    fn reordering_jitter_lets_packets_overtake() {
        let model = JitterModel::Uniform { spread: 5 * MS };
        let jitter = scenario::Jitter { reorder: true, ..scenario::Jitter::of(model, 5 * MS) };
        let mut wire = wire(&Link { jitter: Some(jitter), delay: MS, ..Link::default() });
        let arrivals: Vec<Nanos> = (0..100_000).map(|n| wire.arrival(n * MS)).collect();
        let overtaken =
            arrivals.windows(11).filter(|window| window[1..].iter().any(|later| *later < window[0])).count();
        assert!((58_200..=59_200).contains(&overtaken), "{overtaken}");
        let late = arrivals.iter().zip(0..).map(|(&at, n)| at - (n + 1) * MS);
        assert!(late.clone().all(|late| late <= 10 * MS) && late.max() > Some(9_990_000));
    }

    /// Packets each millisecond, and a tenth of them 2.5 ms late: those two behind overtake, the one three behind does not.
    #[test]
    fn reordered_packets_are_late_and_the_others_are_not() {
        let reorder = Reorder { probability: 0.1, delay: 2_500_000 };
        let mut wire = wire(&Link { reorder: Some(reorder), delay: MS, ..Link::default() });
        let late: Vec<Nanos> = (0..100_000).map(|n| wire.arrival(n * MS) - (n + 1) * MS).collect();
        assert!(late.iter().all(|&late| late == 0 || late == 2_500_000));
        let many = late.iter().filter(|&&late| late > 0).count();
        assert!((9_600..=10_400).contains(&many), "{many}");
    }
}
