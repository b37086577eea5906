//! ProbeBW_REFILL (section 5.3.3.3): a round at full bandwidth, so that the probe that follows begins with a full pipe.

use super::probe_bw::AckPhase;
use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};

impl<R: Bbr3Rules> Bbr3<R> {
    /// StartProbeBW_REFILL.
    #[inline(never)]
    pub(super) fn start_refill(&mut self) {
        self.model.reset_short_term();
        self.probe.up_rounds = 0;
        self.probe.up_acked = 0.0;
        self.probe.was_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.model.start_round();
        self.enter(Bbr3Phase::Refill);
    }

    pub(super) fn update_refill(&mut self, news: &Bbr3AckEvent) {
        if self.model.round_start {
            self.probe.is_sample = true;
            self.start_up(news);
        }
    }
}
