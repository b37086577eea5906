//! Drain (section 5.3.2): slowly, until the queue that Startup has built is gone.

use super::{Bbr3, News, Phase};

/// Rounds it may last.
const ROUNDS: u32 = 3;

impl Bbr3 {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self) {
        self.enter(Phase::Drain);
        self.drain_start_round = self.model.round_count;
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, news: &News) {
        if self.phase != Phase::Drain {
            return;
        }
        let is_late = self.model.round_count > self.drain_start_round + ROUNDS;
        if is_late || news.in_flight() <= self.inflight(self.model.bw(), 1.0) {
            self.start_down(news.now);
        }
    }
}
