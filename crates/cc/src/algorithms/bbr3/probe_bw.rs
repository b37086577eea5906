//! Rules common to the four ProbeBW states (section 5.3.3.9): the time to probe, and the long term as a probe's ACKs show it.

use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rule, Bbr3Rules};
use crate::parts::number::{float, max, min};
use crate::time::Nanos;

/// The relation of arriving ACKs to a probe (section 2.14: ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the cycle of probes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    pub ack_phase: AckPhase,
    /// is_bw_probe_sample.
    pub is_sample: bool,
    /// prev_probe_too_high, prev_probe_precautionary.
    pub was_too_high: bool,
    pub was_precautionary: bool,
    /// bw_probe_up_rounds, bw_probe_up_acked, probe_up_acked_per_inc; segments.
    pub up_rounds: u8,
    pub up_acked: f64,
    pub up_acked_per_inc: f64,
    /// rounds_since_probe_up.
    pub rounds_since: u32,
    /// bw_probe_wait, cycle_stamp.
    wait: Nanos,
    pub cycle_stamp: Nanos,
}

impl Default for Probe {
    /// OnInit.
    fn default() -> Probe {
        Probe {
            ack_phase: AckPhase::Init,
            is_sample: false,
            was_too_high: false,
            was_precautionary: false,
            up_rounds: 0,
            up_acked: 0.0,
            up_acked_per_inc: f64::INFINITY,
            rounds_since: 0,
            wait: 0,
            cycle_stamp: 0,
        }
    }
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// CheckStartupDone, CheckDrainDone and UpdateProbeBWCyclePhase.
    #[inline(always)]
    pub(super) fn update_probe_bw_cycle_phase(&mut self, news: &Bbr3AckEvent) {
        // The state of most ACKs, in which the pipe is full; a jump table would mispredict with many flows in different states.
        if self.phase != Bbr3Phase::Cruise {
            self.update_other_phase(news);
        } else if !self.adapt_long_term_model(news) {
            self.update_cruise(news);
        }
    }

    #[inline(never)]
    fn update_other_phase(&mut self, news: &Bbr3AckEvent) {
        if !self.phase.is_probe_bw() {
            self.check_startup_done();
            self.check_drain_done(news);
        }
        if !self.full_pipe.reached || self.adapt_long_term_model(news) {
            return;
        }
        if self.phase == Bbr3Phase::Down {
            self.update_down(news);
        } else if self.phase == Bbr3Phase::Up {
            self.update_up(news);
        } else if self.phase == Bbr3Phase::Refill {
            self.update_refill(news);
        }
    }

    /// IsTimeToProbeBW (section 5.3.3.8.3): it is, and REFILL has begun.
    #[inline(always)]
    pub(super) fn is_time_to_probe_bw(&mut self, news: &Bbr3AckEvent) -> bool {
        if self.settings.constants.linux && self.reprobes_after_marks(news) {
            return true;
        }
        let waited = news.now > self.probe.cycle_stamp + self.probe.wait;
        let due = waited
            || f64::from(self.probe.rounds_since) >= min(self.target_inflight(), self.settings.constants.probe_rounds);
        if due {
            self.start_refill();
        }
        due
    }

    /// PickProbeWait.
    pub(super) fn pick_probe_wait(&mut self) {
        self.probe.rounds_since = self.random.below(2);
        let constants = &self.settings.constants;
        let random = self.random.unit();
        let wait = constants.probe_wait + (constants.probe_wait_random * random) as Nanos;
        self.probe.wait = self.rules.apply(Bbr3Rule::ProbeWait, random, wait as f64) as Nanos;
    }

    /// AdaptLongTermModel at the start of a round: ACKs begin or cease to show a probe. Returns whether it has decided on a state.
    #[inline(never)]
    fn end_probe_round(&mut self, news: &Bbr3AckEvent) -> bool {
        match self.probe.ack_phase {
            AckPhase::ProbeStarting => self.probe.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.probe.is_sample = false;
                self.probe.ack_phase = AckPhase::Init;
                if self.phase.is_probe_bw() {
                    if !news.is_app_limited {
                        self.model.advance_max_bw_filter(self.settings.constants.max_bw_filter_len);
                    }
                    if self.probe.was_precautionary && !self.probe.was_too_high {
                        self.start_refill();
                        return true;
                    }
                }
            }
            _ => {}
        }
        false
    }

    /// AdaptLongTermModel; whether it has decided on a state.
    #[inline(always)]
    fn adapt_long_term_model(&mut self, news: &Bbr3AckEvent) -> bool {
        if self.model.round_start && self.end_probe_round(news) {
            return true;
        }
        if self.settings.constants.linux {
            self.answer_losses_of_sample(news);
        }
        // Elsewhere inflight_longterm is as it was, whatever has been lost.
        if float(news.tx_in_flight) > self.model.inflight_longterm || self.phase == Bbr3Phase::Up {
            self.raise_inflight_longterm(news);
        }
        false
    }

    /// An amount in flight without too many losses is safe.
    #[inline(never)]
    fn raise_inflight_longterm(&mut self, news: &Bbr3AckEvent) {
        let (lost, tx_in_flight) = (float(news.lost), float(news.tx_in_flight));
        if self.is_inflight_too_high(lost, tx_in_flight) {
            return;
        }
        self.model.inflight_longterm = max(self.model.inflight_longterm, tx_in_flight);
        self.model.has_changed = true;
        if self.phase == Bbr3Phase::Up && self.model.inflight_longterm.is_finite() {
            self.probe_inflight_longterm_upward(news);
        }
    }
}
