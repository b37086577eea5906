//! Rapid Start: the window triples each round trip while no queue shows, and the first recovery lowers it by
//! losses and arrivals.
//!
//! Source: draft-kazuho-ccwg-rapid-start, section 3 (K. Oku, working copy of November 2025, commit 3d0bd41). Of revision 02, March 2026, only
//! the abstract was read.
//!
//! # Deviations and choices
//!
//! - **Pacing**: the first window leaves over one RTT, the handshake's where it is known. The draft allows twice the initial window; here
//!   it is the initial window. Afterwards packets leave at three windows per smoothed RTT while the window triples, and at the rate of
//!   any other paced sender otherwise.
//! - **The floor** is the least RTT of the last least RTT of time, by three samples (Nichols' algorithm).
//! - **Growth** is by segments acknowledged, as the draft counts bytes. HyStart++ does not run with it.
//! - **Beta** is the part of the window that the algorithm's own response leaves at the first loss or mark. ssthresh is the algorithm's until the
//!   recovery ends, and then the window.
//! - **The window** comes down no further than the draft's floor, the initial window times beta (the draft's MAY), and two segments.
//! - Proportional rate reduction does not run. A timeout has the algorithm's own response, and standard slow start after it.

use crate::classic::MIN_SSTHRESH;
use crate::parts::WindowedMax;
use crate::parts::number::{float, seconds};
use crate::time::{MILLISECOND, Nanos};
use crate::{Ack, Flow};

/// How far above the least RTT a round trip shows a queue: the less of a time and a tenth of the least RTT.
const TOLERANCE: Nanos = 4 * MILLISECOND;
/// K of the draft.
const K: f64 = 11.0 / 18.0;
/// Windows per round trip at which packets leave while the window triples.
const TRIPLE: f64 = 3.0;

/// Rapid Start at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rapid {
    initial_window: f64,
    /// When the first RTT sample came.
    began: Option<Nanos>,
    /// Inverse RTTs, per second, of the last least RTT of time.
    floor: WindowedMax,
    rate: Option<f64>,
}

impl Rapid {
    /// Rapid Start with the first window, after a handshake of `rtt`.
    pub fn new(initial_window: f64, rtt: Option<Nanos>) -> Rapid {
        let rate = rtt.map(|rtt| initial_window / seconds(rtt));
        Rapid { initial_window, began: None, floor: WindowedMax::default(), rate }
    }

    /// Pacing rate, segments per second, where it sets one.
    pub fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    /// Increase of an ACK in slow start at window `cwnd`, segments.
    pub fn gain(&mut self, cwnd: f64, flow: &Flow, ack: &Ack) -> f64 {
        let queue = flow.min_rtt.zip(ack.rtt).is_some_and(|(least, rtt)| self.shows_queue(flow.now, least, rtt));
        if float(flow.delivered) >= self.initial_window {
            self.rate = flow.srtt.filter(|_| !queue).map(|srtt| TRIPLE * cwnd / seconds(srtt));
        }
        if queue { float(ack.acked) } else { 2.0 * float(ack.acked) }
    }

    /// Whether the floor of the RTT is above the threshold.
    fn shows_queue(&mut self, now: Nanos, least: Nanos, rtt: Nanos) -> bool {
        let began = *self.began.get_or_insert(now);
        // A unit of time is a thousandth of the least RTT, so that a window is as long for all.
        let time = u32::try_from((now - began) / (least / 1000).max(1)).unwrap_or(u32::MAX);
        let floor = 1.0 / self.floor.update(1.0 / seconds(rtt), time, 1000);
        floor > seconds(threshold(least))
    }
}

/// Largest floor of the RTT that shows no queue.
fn threshold(least: Nanos) -> Nanos {
    least + TOLERANCE.min(least / 10)
}

/// The first recovery: how arrivals and losses lower the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Retreat {
    /// Of the window before it, at once.
    pub silence: f64,
    per_arrival: f64,
    per_loss: f64,
    least: f64,
}

impl Retreat {
    /// Recovery of a sender whose algorithm leaves `beta` of the window `cwnd` at a loss.
    pub fn new(cwnd: f64, beta: f64, initial_window: f64) -> Retreat {
        let per_arrival = K * (1.0 - beta);
        let silence = beta + per_arrival;
        let floor = cwnd * (silence - per_arrival / 3.0 - silence * 2.0 / 3.0);
        let least = floor.max(initial_window * beta).max(MIN_SSTHRESH);
        Retreat { silence, per_arrival, per_loss: silence, least }
    }

    /// The window after more arrivals and losses.
    pub fn lowered(&self, cwnd: f64, arrived: u64, lost: u64) -> f64 {
        let lower = self.per_arrival * float(arrived) + self.per_loss * float(lost);
        (cwnd - lower).max(self.least.min(cwnd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND as MS;

    /// Section 3.3.1: 29/36, 11/36 and 29/36 with 0.5; 53/60, 11/60 and 53/60 with 0.7.
    #[test]
    fn factors_of_the_draft() {
        for (beta, silence, arrival) in [(0.5, 29.0 / 36.0, 11.0 / 36.0), (0.7, 53.0 / 60.0, 11.0 / 60.0)] {
            let retreat = Retreat::new(300.0, beta, 10.0);
            for (found, expected) in
                [(retreat.silence, silence), (retreat.per_arrival, arrival), (retreat.per_loss, silence)]
            {
                assert!((found - expected).abs() < 1e-12, "{beta}");
            }
        }
    }

    /// Beta 0.7, window 300: 265 at once. With 200 arrivals and 100 losses it is 140, 0.7 of what arrived; with 100 and 200 it is 70,
    /// which is the floor of the draft. More losses leave it there. A small window stays at the initial one times beta.
    #[test]
    fn the_window_becomes_beta_of_what_arrived() {
        let retreat = Retreat::new(300.0, 0.7, 10.0);
        let begun = 300.0 * retreat.silence;
        let after = |arrived, lost| retreat.lowered(begun, arrived, lost);
        for (found, expected) in
            [(begun, 265.0), (after(200, 100), 140.0), (after(100, 200), 70.0), (after(0, 300), 70.0)]
        {
            assert!((found - expected).abs() < 1e-9, "{found}");
        }
        assert_eq!(Retreat::new(12.0, 0.5, 10.0).lowered(10.0, 12, 12), 5.0);
        assert_eq!(Retreat::new(2.0, 0.5, 1.0).lowered(1.5, 9, 9), 1.5, "it never rises");
    }

    /// min(least + 4 ms, 1.1 least): 22 ms at 20, 104 at 100.
    #[test]
    fn thresholds_of_the_draft() {
        assert_eq!([20, 100].map(|ms| threshold(ms * MS)), [22 * MS, 104 * MS]);
    }

    /// Gain of an ACK of one segment at `now`, ms, with an RTT of `rtt`, us, over a least RTT of 20 ms.
    fn gain(rapid: &mut Rapid, now: Nanos, rtt: Nanos) -> f64 {
        let flow = FLOW.min_rtt(Some(20 * MS)).srtt(Some(20 * MS)).delivered(10);
        rapid.gain(30.0, &Flow { now: now * MS, ..flow }, &Ack::of(1, 1.0).rtt(Some(rtt * 1000)))
    }

    /// The floor of the last 20 ms counts: an RTT of 23 ms shows a queue once no sample of 22 ms or less is in it.
    #[test]
    fn growth_is_twice_as_fast_without_a_queue() {
        let mut rapid = Rapid::new(10.0, None);
        assert_eq!([(100, 22_000), (110, 23_000), (119, 23_000)].map(|(at, rtt)| gain(&mut rapid, at, rtt)), [2.0; 3]);
        assert_eq!([(125, 23_000), (160, 30_000)].map(|(at, rtt)| gain(&mut rapid, at, rtt)), [1.0; 2]);
        assert_eq!(gain(&mut rapid, 190, 21_000), 2.0);
        assert_eq!(rapid.gain(30.0, &FLOW, &Ack::of(3, 1.0)), 6.0, "an ACK without an RTT shows no queue");
    }

    /// Ten segments leave over 100 ms, 100 per second. Later it is three windows per RTT, and none of its own where a queue shows.
    #[test]
    fn the_first_window_takes_a_round_trip() {
        let mut rapid = Rapid::new(10.0, Some(100 * MS));
        assert_eq!(rapid.pacing_rate(), Some(100.0));
        rapid.gain(10.0, &FLOW.delivered(9).srtt(Some(100 * MS)), &Ack::of(1, 1.0));
        assert_eq!(rapid.pacing_rate(), Some(100.0));
        gain(&mut rapid, 0, 20_000);
        assert_eq!(rapid.pacing_rate(), Some(3.0 * 30.0 / 0.02));
        gain(&mut rapid, 90, 30_000);
        assert_eq!(rapid.pacing_rate(), None);
    }
}
