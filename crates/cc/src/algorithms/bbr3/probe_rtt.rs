//! ProbeRTT (section 5.3.4): half a BDP in flight for 200 ms and a round, so that the queue empties and the round trip shows.

use super::probe_bw::AckPhase;
use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};
use crate::time::Nanos;

/// When the round trip is probed for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProbeRtt {
    /// probe_rtt_min_delay, [`Nanos::MAX`] where there is none; probe_rtt_min_stamp.
    pub min_delay: Nanos,
    pub min_stamp: Nanos,
    /// probe_rtt_done_stamp, once enough has left; probe_rtt_round_done.
    done_stamp: Option<Nanos>,
    round_done: bool,
}

impl ProbeRtt {
    pub fn new(rtt: Option<Nanos>) -> ProbeRtt {
        ProbeRtt { min_delay: rtt.unwrap_or(Nanos::MAX), min_stamp: 0, done_stamp: None, round_done: false }
    }

    /// The first segment leaves.
    pub fn begin(&mut self, now: Nanos) {
        self.min_stamp = now;
    }
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// CheckProbeRTT (section 5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, news: &Bbr3AckEvent, expired: bool) {
        if self.phase != Bbr3Phase::ProbeRtt && expired && !self.usage.idle_restart {
            self.enter(Bbr3Phase::ProbeRtt);
            self.save_cwnd();
            self.probe_rtt.done_stamp = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round();
        }
        if self.phase == Bbr3Phase::ProbeRtt {
            self.handle_probe_rtt(news);
        }
        if news.delivered > 0 {
            self.usage.idle_restart = false;
        }
    }

    /// HandleProbeRTT; its MarkConnectionAppLimited is [`holds_back`](crate::CongestionControl::holds_back).
    #[inline(never)]
    fn handle_probe_rtt(&mut self, news: &Bbr3AckEvent) {
        if self.probe_rtt.done_stamp.is_none() {
            if news.in_flight() <= self.probe_rtt_cwnd() {
                self.probe_rtt.done_stamp = Some(news.now + self.settings.constants.probe_rtt_duration);
                self.probe_rtt.round_done = false;
                self.model.start_round();
            }
            return;
        }
        self.probe_rtt.round_done |= self.model.round_start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(news.now);
        }
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, now: Nanos) {
        if self.probe_rtt.done_stamp.is_some_and(|done| now > done) {
            self.probe_rtt.min_stamp = now;
            // With Linux min_rtt is as old as the least RTT that equals it.
            if self.settings.constants.linux && self.model.min_rtt == Some(self.probe_rtt.min_delay) {
                self.model.min_rtt_stamp = now;
            }
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    /// ExitProbeRTT (section 5.3.4.4).
    fn exit_probe_rtt(&mut self, now: Nanos) {
        self.model.reset_short_term();
        if self.full_pipe.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }
}
