//! Drain (section 5.3.2): slowly, until the queue that Startup has built is gone.

use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};

impl<R: Bbr3Rules> Bbr3<R> {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self) {
        self.enter(Bbr3Phase::Drain);
        self.drain_start_round = self.model.round_count;
        if self.settings.constants.linux {
            self.congestion.reset();
        }
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, news: &Bbr3AckEvent) {
        if self.phase != Bbr3Phase::Drain {
            return;
        }
        let is_empty = if self.settings.constants.linux {
            self.at_departure(news.in_flight(), news.now) <= self.inflight(self.model.max_bw(), 1.0)
        } else {
            news.in_flight() <= self.inflight(self.model.bw(), 1.0)
        };
        let is_late = self.model.round_count - self.drain_start_round > self.settings.constants.drain_rounds;
        if is_late || is_empty {
            self.start_down(news.now);
        }
    }
}
