//! Control parameters (section 5.6): pacing rate, send quantum and window.

use super::linux::MOST_EXTRA_S;
use super::params::Constants;
use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rule, Bbr3Rules};
use crate::Start;
use crate::parts::number::{float, max, min};
use crate::time::{Nanos, seconds};

/// The bounds of the window, as they follow from model and state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    /// BBR.max_inflight.
    max_inflight: f64,
    /// Upper bound by BoundCwndForProbeRTT and BoundCwndForModel.
    most_in_flight: f64,
}

/// InitPacingRate (section 5.6.2), segments a second; `rtt` is for a connection without a sample from its handshake.
pub(super) fn initial_pacing_rate(start: &Start, constants: &Constants, rtt: Nanos, rules: &impl Bbr3Rules) -> f64 {
    let margin = if constants.linux { constants.paced_fraction } else { 1.0 };
    let gain = rules.apply(Bbr3Rule::PacingGain, 0.0, constants.pacing_gains[Bbr3Phase::Startup as usize]) * margin;
    gain * start.window / seconds(start.rtt.filter(|&rtt| rtt > 0).unwrap_or(rtt))
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// BBR.pacing_gain.
    pub(super) fn pacing_gain(&self) -> f64 {
        let gain = self.settings.constants.pacing_gains[self.phase as usize];
        self.rules.apply(Bbr3Rule::PacingGain, self.phase.number(), gain)
    }

    /// BBR.cwnd_gain.
    pub(super) fn cwnd_gain(&self) -> f64 {
        let constants = &self.settings.constants;
        match self.phase {
            Bbr3Phase::Up => constants.up_cwnd_gain,
            Bbr3Phase::ProbeRtt => constants.probe_rtt_cwnd_gain,
            _ => constants.cwnd_gain,
        }
    }

    /// SetPacingRate (section 5.6.2), and the bounds of the window. Their inputs set [`Bbr3Model::has_changed`](super::Bbr3Model).
    #[inline(never)]
    pub(super) fn follow_model(&mut self) {
        self.model.has_changed = false;
        self.set_pacing_rate_with_gain(self.pacing_gain());
        if self.settings.constants.linux {
            // With min_rtt it changes, even where the rate is kept.
            self.set_send_quantum();
        }
        self.bounds = Bounds { max_inflight: self.max_inflight(), most_in_flight: self.most_in_flight() };
    }

    /// Whether the bounds follow the model.
    pub(super) fn follows_model(&self) -> bool {
        let mut anew = self.clone();
        anew.follow_model();
        anew == *self
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.model.bw() * self.settings.constants.paced_fraction;
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing_rate) {
            self.pace_at(rate);
        }
    }

    /// Paces at `rate`, segments a second.
    pub(super) fn pace_at(&mut self, rate: f64) {
        self.pacing_rate = rate;
        self.set_send_quantum();
    }

    /// SetSendQuantum (section 5.6.3).
    fn set_send_quantum(&mut self) {
        self.quantum = self.quantum_goal();
        self.send_quantum = self.quantum as u64;
    }

    /// C.send_quantum (section 5.6.3), segments; whole ones with Linux.
    fn quantum_goal(&self) -> f64 {
        let constants = &self.settings.constants;
        let quantum = if constants.linux {
            let bytes = f64::from(self.settings.segment_bytes);
            let more = self.pacing_rate * bytes * constants.quantum_s + self.short_path_bytes();
            libm::floor(min(more, constants.quantum_bytes) / bytes)
        } else {
            min(self.pacing_rate * constants.quantum_s, constants.most_quantum)
        };
        max(quantum, constants.least_quantum)
    }

    /// BBR.bdp, segments; the first window where there is no RTT.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_multiple(self.model.bw(), 1.0)
    }

    /// TargetInflight (section 5.3.3.8.3); with room for whole quanta, as Linux has it.
    pub(super) fn target_inflight(&self) -> f64 {
        let bdp = if self.settings.constants.linux { self.inflight(self.model.bw(), 1.0) } else { self.bdp() };
        min(bdp, self.cwnd)
    }

    /// Inflight (section 5.6.4.2).
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// SetCwnd (section 5.6.4.6), BoundCwndForProbeRTT and BoundCwndForModel included.
    pub(super) fn set_cwnd(&mut self, news: &Bbr3AckEvent) {
        let Bounds { max_inflight, most_in_flight } = self.bounds;
        if self.full_pipe.reached {
            self.cwnd = min(self.cwnd + news.newly_acked(), max_inflight);
        } else if self.cwnd < max_inflight || self.is_young(news) {
            self.cwnd += news.newly_acked();
        }
        self.cwnd = min(max(self.cwnd, self.settings.constants.min_pipe_cwnd), most_in_flight);
    }

    /// Too little has been delivered for the model to bound the window: less than the first window (section 5.6.4.6); with Linux, as long as
    /// the window is less than twice the first one.
    fn is_young(&self, news: &Bbr3AckEvent) -> bool {
        let first = self.settings.initial_cwnd;
        if self.settings.constants.linux { self.cwnd < 2.0 * first } else { float(news.delivered_so_far()) < first }
    }

    /// The window bounded by the model, where an ACK's other steps are over.
    pub(super) fn bound_cwnd(&mut self) {
        if self.model.has_changed {
            self.follow_model();
        }
        let Bounds { max_inflight, most_in_flight } = self.bounds;
        if self.full_pipe.reached {
            self.cwnd = max(min(self.cwnd, max_inflight), self.settings.constants.min_pipe_cwnd);
        }
        self.cwnd = min(self.cwnd, most_in_flight);
    }

    /// ProbeRTTCwnd (section 5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        max(
            self.bdp_multiple(self.model.bw(), self.settings.constants.probe_rtt_cwnd_gain),
            self.settings.constants.min_pipe_cwnd,
        )
    }

    /// SaveCwnd (section 5.6.4.4).
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if !self.undo.in_episode && self.phase != Bbr3Phase::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// RestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// BDPMultiple (section 5.6.4.2).
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        match self.model.min_rtt {
            Some(_) if self.settings.constants.linux => libm::ceil(gain * bw * self.model.min_rtt_s),
            Some(_) => gain * bw * self.model.min_rtt_s,
            None => self.settings.initial_cwnd,
        }
    }

    /// QuantizationBudget.
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let constants = &self.settings.constants;
        let cap = max(max(inflight_cap, constants.offload_quanta * self.quantum), constants.min_pipe_cwnd);
        if self.phase == Bbr3Phase::Up { cap + constants.up_extra_segments } else { cap }
    }

    /// UpdateMaxInflight.
    fn max_inflight(&self) -> f64 {
        let mut extra = self.model.aggregation.extra_acked();
        if self.settings.constants.linux {
            extra = min(libm::floor(extra), libm::floor(self.model.bw() * MOST_EXTRA_S));
        }
        let cap = self.bdp_multiple(self.model.bw(), self.cwnd_gain()) + extra;
        self.quantization_budget(cap)
    }

    /// BoundCwndForProbeRTT and BoundCwndForModel (sections 5.6.4.5 and 5.6.4.7).
    fn most_in_flight(&self) -> f64 {
        let cap = match self.phase {
            Bbr3Phase::Startup => f64::INFINITY,
            Bbr3Phase::Drain if self.settings.constants.linux => f64::INFINITY,
            Bbr3Phase::Drain | Bbr3Phase::Down | Bbr3Phase::Refill | Bbr3Phase::Up => self.model.inflight_longterm,
            Bbr3Phase::Cruise | Bbr3Phase::ProbeRtt => self.inflight_with_headroom(),
        };
        let most = max(min(cap, self.model.inflight_shortterm), self.settings.constants.min_pipe_cwnd);
        if self.phase == Bbr3Phase::ProbeRtt { min(self.probe_rtt_cwnd(), most) } else { most }
    }
}
