//! HyStart++: where the RTT of a round has risen over that of the round before, growth is a quarter as fast for five rounds
//! (conservative slow start, CSS), and slow start is over after that; where the RTT falls again, the rise was none, and slow start
//! continues.
//!
//! Source: RFC 9406 (P. Balasubramanian, Y. Huang, M. Olson, *HyStart++: Modified Slow Start for TCP*, 2023), sections 4.2 and 4.3.
//!
//! # Deviations and choices
//!
//! - **Rounds** are the sender's own: one ends when data sent after its beginning is acknowledged, which is when RFC 9406's
//!   windowEnd is. The ACK that ends the fifth round of CSS still grows the window as CSS does.
//! - **Growth** is by segments acknowledged, at most L = 8 per ACK (no limit where packets are paced), also where a scenario has
//!   other increases count ACKs: section 4.2 is RFC 3465's counting with another limit. An ACK worth no increase gives none.
//! - **The initial slow start only**, as section 4.3 recommends: after the first congestion event slow start is the standard
//!   one, which ends at the ssthresh found.
//! - An ACK without an RTT sample grows the window and counts as no sample. RTTs of a sender that its application limits count.
//! - **After a loss or an ECN mark** the algorithm's response sets the window; the RFC's ssthresh = cwnd is for
//!   the end of CSS.

use super::round::RoundRtt;
use super::{SAMPLES, Sight, rise_of_a_queue};
use crate::time::Nanos;

/// Segments of growth per ACK at most, without pacing: L (RFC 9406 section 4.3).
const LIMIT: u64 = 8;
/// RFC 9406 section 4.3: CSS_GROWTH_DIVISOR.
const GROWTH_DIVISOR: f64 = 4.0;
/// RFC 9406 section 4.3: CSS_ROUNDS.
const ROUNDS: u32 = 5;

/// HyStart++ at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HyStartPlusPlus {
    paced: bool,
    /// Least RTT of the round before; above all where it had no sample.
    last: Nanos,
    current: RoundRtt,
    phase: GrowthPhase,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum GrowthPhase {
    SlowStart,
    Conservative {
        /// Least RTT of the round in which it began (RFC 9406: cssBaselineMinRtt).
        baseline: Nanos,
        /// Rounds that have ended, the one in which it began included.
        rounds: u32,
    },
}

impl HyStartPlusPlus {
    pub fn new(paced: bool) -> HyStartPlusPlus {
        HyStartPlusPlus { paced, last: RoundRtt::NONE.least, current: RoundRtt::NONE, phase: GrowthPhase::SlowStart }
    }

    /// Increase of this ACK, segments; growth first, then the effect of its RTT (RFC 9406 section 4.2).
    pub fn gain(&mut self, sight: &Sight) -> f64 {
        if sight.round_start {
            self.end_round();
        }
        let growth = if self.paced { sight.acked } else { sight.acked.min(LIMIT) } as f64;
        let gain = if self.phase == GrowthPhase::SlowStart { growth } else { growth / GROWTH_DIVISOR };
        self.current.add(sight);
        self.look();
        gain
    }

    /// Whether conservative slow start has lasted its rounds.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, GrowthPhase::Conservative { rounds: ROUNDS.., .. })
    }

    fn end_round(&mut self) {
        self.last = self.current.least;
        self.current = RoundRtt::NONE;
        if let GrowthPhase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
        }
    }

    fn look(&mut self) {
        let Some(least) = self.current.least_of(SAMPLES) else { return };
        match self.phase {
            GrowthPhase::SlowStart => {
                if least >= self.last.saturating_add(rise_of_a_queue(self.last)) {
                    self.phase = GrowthPhase::Conservative { baseline: least, rounds: 0 };
                }
            }
            GrowthPhase::Conservative { baseline, .. } if least < baseline => self.phase = GrowthPhase::SlowStart,
            GrowthPhase::Conservative { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::{RENO, Reno};
    use crate::params::Params;
    use crate::testing::FLOW;
    use crate::time::SECOND;
    use crate::{Ack, Classic, CongestionControl, Flow, Signal, SlowStart, Start};

    fn reno(window: f64) -> Classic<Reno> {
        Reno::controller(&Params::defaults(&RENO), Start::from(window).slow_start(SlowStart::HyStartPlusPlus))
    }

    fn ack(cc: &mut Classic<Reno>, acked: u64, round_start: bool, rtt_us: Nanos) {
        let ack = Ack::of(acked, 1.0).round_start(round_start).rtt(Some(rtt_us * 1000));
        cc.on_ack(&Flow { now: SECOND, flight_size: 99, ..FLOW }, &ack);
    }

    /// A round of `acks` ACKs of one segment each, all with this RTT.
    fn round(cc: &mut Classic<Reno>, acks: u32, rtt_us: Nanos) {
        (0..acks).for_each(|i| ack(cc, 1, i == 0, rtt_us));
    }

    /// Increase of the next ACK of `acked` segments.
    fn growth(cc: &mut Classic<Reno>, acked: u64, rtt_us: Nanos) -> f64 {
        let before = cc.cwnd();
        ack(cc, acked, false, rtt_us);
        cc.cwnd() - before
    }

    /// Section 4.2: min(N, 8) per ACK, and any N where packets are paced.
    #[test]
    fn an_ack_adds_what_it_acknowledges_up_to_eight() {
        let mut cc = reno(10.0);
        assert_eq!([1, 2, 8, 9, 100].map(|acked| growth(&mut cc, acked, 100_000)), [1.0, 2.0, 8.0, 8.0, 8.0]);
        let mut paced = HyStartPlusPlus::new(true);
        assert_eq!(paced.gain(&Sight::of(&FLOW, &Ack::of(100, 1.0))), 100.0);
    }

    /// Section 4.2, thresholds for last rounds of 10, 32, 50, 100, 128 and 200 ms: 4, 4, 6.25, 12.5, 16 and 16 ms. A microsecond
    /// less is no sign; at the threshold growth falls to a quarter, with the eighth sample.
    #[test]
    fn a_rise_by_the_threshold_makes_it_conservative() {
        for (last, rise) in [(10, 4000), (32, 4000), (50, 6250), (100, 12_500), (128, 16_000), (200, 16_000)] {
            for (rise, gain) in [(rise - 1, 1.0), (rise, 0.25)] {
                let mut cc = reno(10.0);
                round(&mut cc, 8, last * 1000);
                round(&mut cc, 7, last * 1000 + rise);
                assert_eq!(growth(&mut cc, 1, last * 1000 + rise), 1.0, "the eighth");
                assert_eq!(growth(&mut cc, 1, last * 1000 + rise), gain, "{last} ms + {rise} us");
                assert_eq!(growth(&mut cc, 8, last * 1000 + rise), 8.0 * gain);
                assert_eq!(growth(&mut cc, 20, last * 1000 + rise), 8.0 * gain, "a quarter of min(N, 8)");
            }
        }
    }

    /// Section 4.2: the partial round in which it begins counts, and so the ACK that begins the fifth round after it ends slow
    /// start, with ssthresh = cwnd.
    #[test]
    fn five_conservative_rounds_end_slow_start() {
        let mut cc = reno(10.0);
        round(&mut cc, 10, 100_000);
        round(&mut cc, 10, 120_000);
        for _ in 0..4 {
            round(&mut cc, 10, 130_000);
            assert_eq!(cc.ssthresh(), f64::INFINITY);
        }
        // 10, + 10, + 8, + 2 and 40 quarters.
        assert_eq!(cc.cwnd(), 38.5);
        ack(&mut cc, 1, true, 130_000);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (38.75, 38.75));
        assert!((growth(&mut cc, 1, 130_000) - 1.0 / 38.75).abs() < 1e-12, "congestion avoidance");
    }

    /// Section 4.2: a round's minimum RTT below the baseline shows that there was no queue. Slow start continues, and
    /// may find one later.
    #[test]
    fn a_fall_below_the_baseline_resumes_slow_start() {
        let mut cc = reno(10.0);
        round(&mut cc, 10, 100_000);
        round(&mut cc, 10, 120_000);
        round(&mut cc, 10, 120_000);
        assert_eq!(growth(&mut cc, 1, 120_000), 0.25, "as low as the baseline is not below");
        round(&mut cc, 7, 119_999);
        assert_eq!(growth(&mut cc, 1, 119_999), 0.25, "the eighth sample");
        assert_eq!(growth(&mut cc, 1, 119_999), 1.0);
        round(&mut cc, 10, 140_000);
        assert_eq!(growth(&mut cc, 1, 140_000), 0.25, "119.999 + 15 ms is less than 140");
    }

    /// Section 4.2: loss and ECN end it, conservative or not; section 4.3: slow start after a timeout is the standard one.
    #[test]
    fn congestion_ends_it_for_good() {
        for signal in [Signal::Loss, Signal::Ecn, Signal::Timeout] {
            for conservative in [false, true] {
                let mut cc = reno(64.0);
                round(&mut cc, 8, 100_000);
                round(&mut cc, 8, if conservative { 120_000 } else { 100_000 });
                assert_eq!(growth(&mut cc, 4, 120_000), if conservative { 1.0 } else { 4.0 });
                let window = cc.cwnd();
                cc.on_congestion(&FLOW, signal);
                assert_eq!(cc.ssthresh(), window / 2.0);
                if signal == Signal::Timeout {
                    assert_eq!(growth(&mut cc, 4, 100_000), 1.0, "one per ACK");
                }
            }
        }
    }

    /// An application limits the round in which the RTT rises: the window stays, and then grows a quarter as fast.
    #[test]
    fn rtts_of_a_limited_round_count() {
        let mut cc = reno(10.0);
        round(&mut cc, 8, 100_000);
        let window = cc.cwnd();
        for i in 0..8 {
            let ack = Ack::of(1, 1.0).round_start(i == 0).rtt(Some(120_000_000));
            cc.on_ack(&Flow { now: SECOND, flight_size: 9, ..FLOW.cwnd_limited(false) }, &ack);
        }
        assert_eq!(cc.cwnd(), window);
        assert_eq!(growth(&mut cc, 1, 120_000), 0.25);
    }

    /// Seven samples are too few, however long the RTT.
    #[test]
    fn needs_eight_samples() {
        let mut cc = reno(10.0);
        round(&mut cc, 8, 100_000);
        round(&mut cc, 7, 900_000);
        round(&mut cc, 1, 100_000);
        assert_eq!(growth(&mut cc, 1, 100_000), 1.0);
    }
}
