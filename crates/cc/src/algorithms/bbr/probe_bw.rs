//! ProbeBW (section 4.3.4): eight phases of about a round trip each, one faster, one slower, six as fast as the path delivers.

use super::{Bbr, BbrAckEvent, BbrPhase};
use crate::time::Nanos;

/// BBRGainCycleLen phases' pacing gains (section 4.3.4.1).
pub(super) const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The phase that never is the first one.
const SLOW: u8 = 1;

impl Bbr {
    /// BBREnterProbeBW: any phase but the slow one.
    pub(super) fn enter_probe_bw(&mut self, now: Nanos) {
        let phases = GAINS.len() as u32;
        // From 0 to 6: the first one, or one of those after the slow one.
        let drawn = self.random.below(phases - 1) as u8;
        let index = if drawn >= SLOW { drawn + 1 } else { drawn };
        self.phase = BbrPhase::ProbeBw { index, since: now };
    }

    /// BBRCheckCyclePhase.
    pub(super) fn update_cycle_phase(&mut self, news: &BbrAckEvent) {
        let BbrPhase::ProbeBw { index, since } = self.phase else { return };
        if self.is_next_phase(news, since) {
            self.phase = BbrPhase::ProbeBw { index: (index + 1) % GAINS.len() as u8, since: news.now };
        }
    }

    /// BBRIsNextCyclePhase.
    fn is_next_phase(&self, news: &BbrAckEvent, since: Nanos) -> bool {
        let is_full_length = news.now - since > self.model.min_rtt.unwrap_or(0);
        let gain = self.pacing_gain();
        if gain == 1.0 {
            return is_full_length;
        }
        let bw = self.model.max_bw();
        let in_flight = self.at_departure(news.prior_in_flight(), news.now);
        if gain > 1.0 {
            let is_full = news.newly_lost > 0.0 || in_flight >= self.inflight(bw, gain);
            return is_full_length && is_full;
        }
        is_full_length || in_flight <= self.inflight(bw, 1.0)
    }
}
