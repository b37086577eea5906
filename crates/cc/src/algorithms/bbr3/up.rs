//! ProbeBW_UP (section 5.3.3.4): a quarter faster, until the rate of delivery grows no more, much is lost, or inflight_longterm, where the last
//! probe has met its bound, is reached.

use super::probe_bw::AckPhase;
use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};

impl<R: Bbr3Rules> Bbr3<R> {
    /// StartProbeBW_UP.
    #[inline(never)]
    pub(super) fn start_up(&mut self, news: &Bbr3AckEvent) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round();
        self.full_pipe.reset(news.delivery_rate);
        self.enter(Bbr3Phase::Up);
        self.raise_inflight_longterm_slope();
    }

    pub(super) fn update_up(&mut self, news: &Bbr3AckEvent) {
        if self.is_time_to_go_down(news) {
            self.probe.was_too_high = false;
            self.start_down(news.now);
        }
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, news: &Bbr3AckEvent) -> bool {
        if self.probe.was_too_high && self.reaches_long_term(news) {
            self.probe.was_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.model.inflight_longterm {
            self.full_pipe.reset(news.delivery_rate);
            return false;
        }
        self.full_pipe.now
    }

    /// The amount in flight reaches inflight_longterm. The window ends there, so that the amount before an ACK reaches it and the amount after
    /// never does. A fraction is reached if no whole segment more fits. Linux looks at the departure of the next quantum.
    fn reaches_long_term(&self, news: &Bbr3AckEvent) -> bool {
        let longterm = self.model.inflight_longterm;
        if self.settings.constants.linux {
            return self.at_departure(news.prior_in_flight(), news.now) >= longterm;
        }
        news.prior_in_flight() + 1.0 > longterm
    }

    /// RaiseInflightLongtermSlope.
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = f64::from(1u32 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.up_acked_per_inc = self.whole(self.cwnd / growth_this_round).max(1.0);
    }

    /// ProbeInflightLongtermUpward.
    pub(super) fn probe_inflight_longterm_upward(&mut self, news: &Bbr3AckEvent) {
        if !self.is_cwnd_limited() || self.cwnd < self.model.inflight_longterm {
            return;
        }
        let probe = &mut self.probe;
        probe.up_acked += news.newly_acked();
        if probe.up_acked >= probe.up_acked_per_inc {
            let delta = libm::floor(probe.up_acked / probe.up_acked_per_inc);
            probe.up_acked -= delta * probe.up_acked_per_inc;
            self.model.inflight_longterm += delta;
        }
        if self.model.round_start {
            self.raise_inflight_longterm_slope();
        }
    }
}
