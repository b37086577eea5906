//! What follows from the model (section 4.2): pacing rate, send quantum and window.

use super::probe_bw::GAINS;
use super::startup::HIGH_GAIN;
use super::{Bbr, MIN_PIPE_CWND, News, Phase, drain};
use crate::Flow;
use crate::time::{MILLISECOND, Nanos, SECOND, seconds};

/// Linux: what is left of the bandwidth for the pacing rate.
const PACING_MARGIN: f64 = 0.99;
/// The window's gain in ProbeBW (section 4.2.3.2).
const CWND_GAIN: f64 = 2.0;
/// Linux: extra_acked is at most what so many seconds bring.
const MOST_EXTRA_S: f64 = 0.1;
/// The send quantum (section 4.2.2): as much as leaves in this time, at most so many bytes, at least one segment below this rate and two
/// above.
const QUANTUM_S: f64 = 1e-3;
const MOST_QUANTUM_BYTES: f64 = 65_536.0;
const LOW_RATE_BPS: f64 = 1.2e6;
/// Quanta on top of the BDP (section 4.2.3.2).
const QUANTA: f64 = 3.0;

/// Loss recovery (section 4.2.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Recovery {
    /// Fast recovery or a timeout's is under way.
    is_on: bool,
    /// No more leaves than arrives: recovery's first round.
    is_conservative: bool,
    /// Segments that the last ACK has delivered.
    newly_delivered: f64,
}

/// The first rate, segments a second.
pub(super) fn initial_pacing_rate(window: f64, rtt: Option<Nanos>) -> f64 {
    HIGH_GAIN * window * PACING_MARGIN / seconds(rtt.filter(|&rtt| rtt > 0).unwrap_or(MILLISECOND))
}

impl Bbr {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => HIGH_GAIN,
            Phase::Drain => drain::GAIN,
            Phase::ProbeBw { .. } if self.policer.rate().is_some() => 1.0,
            Phase::ProbeBw { index, .. } => GAINS[usize::from(index)],
            Phase::ProbeRtt { .. } => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup | Phase::Drain => HIGH_GAIN,
            Phase::ProbeBw { .. } => CWND_GAIN,
            Phase::ProbeRtt { .. } => 1.0,
        }
    }

    /// BBRSetPacingRate (section 4.2.1).
    pub(super) fn set_pacing_rate(&mut self, news: &News) {
        if !self.has_seen_rtt && news.flow.srtt.is_some() {
            self.has_seen_rtt = true;
            self.pacing_rate = initial_pacing_rate(self.cwnd, news.flow.srtt);
        }
        self.set_pacing_rate_with_gain(self.pacing_gain());
    }

    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw() * PACING_MARGIN;
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// BBRSetSendQuantum (section 4.2.2), segments.
    pub(super) fn quantum(&self) -> f64 {
        let bytes = f64::from(self.segment_bytes);
        let least = if self.pacing_rate * bytes * 8.0 < LOW_RATE_BPS { 1.0 } else { 2.0 };
        let most = libm::floor(MOST_QUANTUM_BYTES / bytes);
        libm::floor(self.pacing_rate * QUANTUM_S).min(most).max(least)
    }

    /// BBRInflight (section 4.2.3.2): so many BDP, and what hosts need on top.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_quanta(self.bdp(bw, gain))
    }

    /// A segment leaves: as long after it as the rate says the next one may, or a quantum of them after a whole quantum.
    pub(super) fn note_departure(&mut self, now: Nanos) {
        let gap = SECOND as f64 / self.pacing_rate;
        let longest = (self.quantum() * gap) as Nanos;
        self.departure = (self.departure.max(now) + gap as Nanos).min(now + longest);
    }

    /// Linux: what will be of `in_flight` when the next segment may leave, and what leaves then where it goes faster than the path delivers.
    pub(super) fn at_departure(&self, in_flight: f64, now: Nanos) -> f64 {
        let leaving = if self.pacing_gain() > 1.0 { self.quantum() } else { 0.0 };
        let delivered = libm::floor(self.bw() * seconds(self.departure.saturating_sub(now)));
        (in_flight + leaving - delivered).max(0.0)
    }

    /// BBRSetCwnd (section 4.2.3.6).
    pub(super) fn set_cwnd(&mut self, news: &News) {
        let acked = news.newly_delivered();
        self.recovery.newly_delivered = acked;
        let extra = self.model.extra_acked.value().min(self.bw() * MOST_EXTRA_S);
        let extra = if self.full_pipe.reached { extra } else { 0.0 };
        let target = self.with_quanta(self.bdp(self.bw(), self.cwnd_gain()) + libm::floor(extra));
        self.modulate_for_recovery(news);
        if !self.recovery.is_conservative {
            if self.full_pipe.reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || (news.delivered as f64) < self.initial_cwnd {
                self.cwnd += acked;
            }
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_CWND);
        if matches!(self.phase, Phase::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(MIN_PIPE_CWND);
        }
    }

    /// BBRModulateCwndForRecovery (section 4.2.3.4).
    fn modulate_for_recovery(&mut self, news: &News) {
        if news.newly_lost > 0.0 {
            self.cwnd = (self.cwnd - news.newly_lost).max(1.0);
        }
        self.recovery.is_conservative &= !self.model.round_start;
        if self.recovery.is_conservative {
            self.cwnd = self.cwnd.max(news.in_flight() + news.newly_delivered());
        }
    }

    /// Fast recovery begins: no more in flight than there is, and what this ACK has brought.
    pub(super) fn enter_fast_recovery(&mut self, flow: &Flow) {
        self.save_cwnd();
        let cwnd = flow.in_flight as f64 + self.recovery.newly_delivered.max(1.0);
        self.cwnd = cwnd.min(self.cwnd).max(1.0);
        self.recovery.is_on = true;
        self.recovery.is_conservative = true;
        self.model.start_round();
    }

    /// The retransmission timer has expired: one segment may leave.
    pub(super) fn enter_timeout(&mut self, flow: &Flow) {
        self.save_cwnd();
        self.cwnd = (flow.in_flight as f64 + 1.0).min(self.cwnd).max(1.0);
        self.recovery.is_on = true;
        self.recovery.is_conservative = false;
        self.full_pipe.look_anew();
    }

    /// Recovery is over: the window is at least what it was before.
    pub(super) fn leave_recovery(&mut self) {
        self.recovery.is_on = false;
        self.recovery.is_conservative = false;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// BBRSaveCwnd (section 4.2.3.4).
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if !self.recovery.is_on && !matches!(self.phase, Phase::ProbeRtt { .. }) {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// The BDP times `gain`, whole segments; the first window where there is no round trip.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        match self.model.min_rtt {
            Some(min_rtt) => libm::ceil(gain * bw * seconds(min_rtt)),
            None => self.initial_cwnd,
        }
    }

    fn with_quanta(&self, segments: f64) -> f64 {
        let even = 2.0 * libm::ceil((segments + QUANTA * self.quantum()) / 2.0);
        if self.phase_is_fast() { even + 2.0 } else { even }
    }

    fn phase_is_fast(&self) -> bool {
        matches!(self.phase, Phase::ProbeBw { index: 0, .. })
    }
}
