//! Startup (section 5.3.1): twice as fast every round, until the rate of delivery grows no more or much is lost.

use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};

/// The estimator of a full pipe, which ProbeBW_UP has too.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bbr3FullPipe {
    /// full_bw, segments a second.
    pub bw: f64,
    /// full_bw_count.
    pub count: u8,
    /// full_bw_now, full_bw_reached.
    pub now: bool,
    pub reached: bool,
}

impl Bbr3FullPipe {
    /// ResetFullBW, then the rate to compare with.
    pub fn reset(&mut self, bw: f64) {
        *self = Bbr3FullPipe { bw, reached: self.reached, ..Bbr3FullPipe::default() };
    }
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// EnterStartup.
    pub(super) fn enter_startup(&mut self) {
        self.enter(Bbr3Phase::Startup);
    }

    /// The rest of CheckStartupDone, after the check of losses.
    pub(super) fn check_startup_done(&mut self) {
        if self.phase == Bbr3Phase::Startup && self.full_pipe.reached {
            self.enter_drain();
        }
    }

    /// CheckFullBWReached (section 5.3.1.2), where a round starts; with Linux any ACK may show that the rate grows.
    #[inline(never)]
    pub(super) fn check_full_bw_reached(&mut self, news: &Bbr3AckEvent) {
        let rate = news.delivery_rate;
        if self.full_pipe.now || news.is_app_limited || rate == 0.0 {
            return;
        }
        if rate >= self.full_pipe.bw * self.settings.constants.full_bw_growth {
            self.full_pipe.reset(rate);
            return;
        }
        if !self.model.round_start {
            return;
        }
        self.full_pipe.count += 1;
        if u32::from(self.full_pipe.count) >= self.settings.constants.full_bw_rounds {
            self.pipe_is_full();
        }
    }

    /// CheckStartupHighLoss (section 5.3.1.3), at the end of a round that began with a loss.
    #[inline(never)]
    pub(super) fn check_startup_high_loss(&mut self, news: &Bbr3AckEvent, round_ends: bool) {
        if self.settings.constants.linux && !self.full_pipe.reached && news.newly_lost > 0 {
            self.congestion.lossy_acks += 1;
        }
        if !round_ends {
            return;
        }
        let ranges = core::mem::take(&mut self.congestion.lost_ranges);
        let acks = core::mem::take(&mut self.congestion.lossy_acks);
        if self.phase != Bbr3Phase::Startup || !news.in_recovery {
            return;
        }
        let ranges = if self.settings.constants.linux { acks } else { ranges };
        let is_lossy = if self.settings.selective_acks {
            ranges >= self.settings.constants.full_loss_count
                && self.is_inflight_too_high(news.lost as f64, news.tx_in_flight as f64)
        } else {
            ranges > 0
        };
        if is_lossy && self.settings.constants.linux {
            self.startup_is_too_high();
        } else if is_lossy {
            self.undo.phase = Some(Bbr3Phase::Startup);
            self.pipe_is_full();
            self.model.inflight_longterm = self.bdp().max(self.congestion.inflight_latest);
        }
    }

    /// The pipe is full.
    pub(super) fn pipe_is_full(&mut self) {
        self.full_pipe.now = true;
        self.full_pipe.reached = true;
        self.model.has_changed = true;
    }
}
