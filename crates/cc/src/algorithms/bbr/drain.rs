//! Drain (section 4.3.3): as slowly as Startup was fast, until no more than a BDP is in flight.

use super::startup::HIGH_GAIN;
use super::{Bbr, BbrAckEvent, BbrPhase};

/// Pacing gain.
pub(super) const GAIN: f64 = 1.0 / HIGH_GAIN;

impl Bbr {
    /// BBRCheckDrain.
    pub(super) fn check_drain(&mut self, news: &BbrAckEvent) {
        if self.phase == BbrPhase::Startup && self.full_pipe.reached {
            self.phase = BbrPhase::Drain;
        }
        let in_flight = self.at_departure(news.in_flight(), news.now);
        if self.phase == BbrPhase::Drain && in_flight <= self.inflight(self.model.max_bw(), 1.0) {
            self.enter_probe_bw(news.now);
        }
    }
}
