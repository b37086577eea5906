//! ProbeRTT (section 4.3.5): four segments in flight for 200 ms and a round, so that the queue empties and the round trip shows.

use super::model::MIN_RTT_WINDOW;
use super::{Bbr, BbrAckEvent, BbrPhase, MIN_PIPE_CWND};
use crate::time::{MILLISECOND, Nanos};

/// ProbeRTTDuration.
const DURATION: Nanos = 200 * MILLISECOND;

impl Bbr {
    /// BBRUpdateRTprop and BBRCheckProbeRTT.
    pub(super) fn update_min_rtt(&mut self, news: &BbrAckEvent) {
        let expired = news.now > self.model.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = news.rate.rtt.filter(|&rtt| expired || self.model.min_rtt.is_none_or(|least| rtt < least)) {
            self.model.min_rtt = Some(rtt);
            self.model.min_rtt_stamp = news.now;
        }
        if expired && !self.idle_restart && !matches!(self.phase, BbrPhase::ProbeRtt { .. }) {
            self.phase = BbrPhase::ProbeRtt { until: None, round_done: false };
            self.save_cwnd();
        }
        self.handle_probe_rtt(news);
        if news.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// BBRHandleProbeRTT.
    fn handle_probe_rtt(&mut self, news: &BbrAckEvent) {
        let BbrPhase::ProbeRtt { until, round_done } = self.phase else { return };
        if until.is_none() {
            if news.in_flight() <= MIN_PIPE_CWND {
                self.phase = BbrPhase::ProbeRtt { until: Some(news.now + DURATION), round_done: false };
                self.model.start_round();
            }
            return;
        }
        let round_done = round_done || self.model.round_start;
        self.phase = BbrPhase::ProbeRtt { until, round_done };
        if round_done {
            self.check_probe_rtt_done(news.now);
        }
    }

    /// Leaves it if it has lasted long enough.
    pub(super) fn check_probe_rtt_done(&mut self, now: Nanos) {
        let BbrPhase::ProbeRtt { until: Some(until), .. } = self.phase else { return };
        if now <= until {
            return;
        }
        self.model.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.enter_startup();
        }
    }

    /// BBRHandleRestartFromIdle (section 4.3.4.4).
    pub(super) fn restart_from_idle(&mut self, now: Nanos) {
        self.idle_restart = true;
        self.model.start_epoch(now);
        match self.phase {
            BbrPhase::ProbeBw { .. } => self.set_pacing_rate_with_gain(1.0),
            BbrPhase::ProbeRtt { .. } => self.check_probe_rtt_done(now),
            BbrPhase::Startup | BbrPhase::Drain => {}
        }
    }
}
