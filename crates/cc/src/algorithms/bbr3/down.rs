//! ProbeBW_DOWN (section 5.3.3.1): a little slower than the path delivers, until the queue is gone and there is headroom.

use super::probe_bw::AckPhase;
use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};
use crate::parts::number::max;

impl<R: Bbr3Rules> Bbr3<R> {
    /// StartProbeBW_DOWN.
    #[inline(never)]
    pub(super) fn start_down(&mut self, now: super::Nanos) {
        self.congestion.reset();
        self.probe.up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.probe.cycle_stamp = now;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round();
        self.enter(Bbr3Phase::Down);
    }

    pub(super) fn update_down(&mut self, news: &Bbr3AckEvent) {
        if !self.is_time_to_probe_bw(news) && self.is_time_to_cruise(news) {
            self.start_cruise();
        }
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self, news: &Bbr3AckEvent) -> bool {
        let in_flight = if self.settings.constants.linux {
            self.at_departure(news.prior_in_flight(), news.now)
        } else {
            news.in_flight()
        };
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.model.max_bw(), 1.0)
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.model.inflight_longterm;
        if longterm.is_infinite() {
            return longterm;
        }
        let headroom = self.whole(self.settings.constants.headroom * longterm);
        max(longterm - max(headroom, 1.0), self.settings.constants.min_pipe_cwnd)
    }
}
