//! Control parameters (section 4.2): pacing rate, send quantum, and window, computed from the model.

use super::probe_bw::GAINS;
use super::startup::HIGH_GAIN;
use super::{Bbr, BbrAckEvent, BbrPhase, MIN_PIPE_CWND, drain};
use crate::Flow;
use crate::time::{MILLISECOND, Nanos, SECOND, seconds};

/// Pacing margin of Linux: the pacing rate is 1 % below the bandwidth.
const PACING_MARGIN: f64 = 0.99;
/// Window gain in ProbeBW (section 4.2.3.2).
const CWND_GAIN: f64 = 2.0;
/// Limit of extra_acked in Linux: the segments that arrive in this time, seconds.
const MOST_EXTRA_S: f64 = 0.1;
/// Send quantum (section 4.2.2): the segments that leave in `QUANTUM_S`, limited to `MOST_QUANTUM_BYTES`. The minimum is one segment below
/// `LOW_RATE_BPS` and two above.
const QUANTUM_S: f64 = 1e-3;
const MOST_QUANTUM_BYTES: f64 = 65_536.0;
const LOW_RATE_BPS: f64 = 1.2e6;
/// Send quanta added to the BDP (section 4.2.3.2).
const QUANTA: f64 = 3.0;

/// Loss recovery (section 4.2.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Recovery {
    kind: RecoveryKind,
    /// Packet conservation, in the first round of fast recovery: the sender sends one segment for each segment delivered.
    is_conservative: bool,
    /// Segments delivered by the last ACK.
    newly_delivered: f64,
    /// Fast recovery that the current ACK has ended.
    ended: Option<Ended>,
}

/// RecoveryKind of recovery in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum RecoveryKind {
    #[default]
    None,
    Fast,
    Timeout,
}

/// State at the end of a fast recovery, so that a new one in the same ACK can continue it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ended {
    at: Nanos,
    cwnd: f64,
    is_conservative: bool,
}

/// Initial pacing rate, segments per second.
pub(super) fn initial_pacing_rate(window: f64, rtt: Option<Nanos>) -> f64 {
    HIGH_GAIN * window * PACING_MARGIN / seconds(rtt.filter(|&rtt| rtt > 0).unwrap_or(MILLISECOND))
}

impl Bbr {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.phase {
            BbrPhase::Startup => HIGH_GAIN,
            BbrPhase::Drain => drain::GAIN,
            BbrPhase::ProbeBw { .. } if self.policer.rate().is_some() => 1.0,
            BbrPhase::ProbeBw { index, .. } => GAINS[usize::from(index)],
            BbrPhase::ProbeRtt { .. } => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.phase {
            BbrPhase::Startup | BbrPhase::Drain => HIGH_GAIN,
            BbrPhase::ProbeBw { .. } => CWND_GAIN,
            BbrPhase::ProbeRtt { .. } => 1.0,
        }
    }

    /// BBRSetPacingRate (section 4.2.1).
    pub(super) fn set_pacing_rate(&mut self, news: &BbrAckEvent) {
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

    /// BBRInflight (section 4.2.3.2): a multiple of the BDP, plus the send quanta.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_quanta(self.bdp(bw, gain))
    }

    /// Updates the next departure time when a segment leaves. The gap is that of the pacing rate, at most that of a whole quantum.
    pub(super) fn note_departure(&mut self, now: Nanos) {
        let gap = SECOND as f64 / self.pacing_rate;
        let longest = (self.quantum() * gap) as Nanos;
        self.departure = (self.departure.max(now) + gap as Nanos).min(now + longest);
    }

    /// Segments in flight at the next departure time, as in Linux. The quantum that leaves then counts while the pacing gain is above 1.
    pub(super) fn at_departure(&self, in_flight: f64, now: Nanos) -> f64 {
        let leaving = if self.pacing_gain() > 1.0 { self.quantum() } else { 0.0 };
        let delivered = libm::floor(self.bw() * seconds(self.departure.saturating_sub(now)));
        (in_flight + leaving - delivered).max(0.0)
    }

    /// BBRSetCwnd (section 4.2.3.6).
    pub(super) fn set_cwnd(&mut self, news: &BbrAckEvent) {
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
        if matches!(self.phase, BbrPhase::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(MIN_PIPE_CWND);
        }
    }

    /// BBRModulateCwndForRecovery (section 4.2.3.4).
    fn modulate_for_recovery(&mut self, news: &BbrAckEvent) {
        if news.newly_lost > 0.0 {
            self.cwnd = (self.cwnd - news.newly_lost).max(1.0);
        }
        self.recovery.is_conservative &= !self.model.round_start;
        if self.recovery.is_conservative {
            self.cwnd = self.cwnd.max(news.in_flight() + news.newly_delivered());
        }
    }

    /// Fast recovery begins. The window shrinks to the segments in flight, plus those that this ACK has delivered.
    ///
    /// A recovery that begins in the ACK that ended the previous one continues it. Linux compares the states before and after an ACK: it
    /// starts packet conservation only if the state before was not Recovery, and restores the window only if the state after is not.
    pub(super) fn enter_fast_recovery(&mut self, flow: &Flow) {
        if let Some(Ended { cwnd, is_conservative, .. }) =
            self.recovery.ended.take().filter(|ended| ended.at == flow.now)
        {
            self.cwnd = cwnd;
            self.recovery.kind = RecoveryKind::Fast;
            self.recovery.is_conservative = is_conservative;
            self.save_cwnd();
            return;
        }
        self.save_cwnd();
        let cwnd = flow.in_flight as f64 + self.recovery.newly_delivered.max(1.0);
        self.cwnd = cwnd.min(self.cwnd).max(1.0);
        self.recovery.kind = RecoveryKind::Fast;
        self.recovery.is_conservative = true;
        self.model.start_round();
    }

    /// Retransmission timeout: the window shrinks to the segments in flight and one more.
    pub(super) fn enter_timeout(&mut self, flow: &Flow) {
        self.save_cwnd();
        self.cwnd = (flow.in_flight as f64 + 1.0).min(self.cwnd).max(1.0);
        self.recovery.kind = RecoveryKind::Timeout;
        self.recovery.is_conservative = false;
        self.full_pipe.look_anew();
    }

    /// Recovery ends at `now`: the window is restored to at least its value before.
    pub(super) fn end_recovery(&mut self, now: Nanos) {
        let Recovery { kind, is_conservative, .. } = self.recovery;
        self.recovery.ended =
            (kind == RecoveryKind::Fast).then_some(Ended { at: now, cwnd: self.cwnd, is_conservative });
        self.leave_recovery();
    }

    /// Restores the window at the end of a recovery, or when its cut is undone.
    pub(super) fn leave_recovery(&mut self) {
        self.recovery.kind = RecoveryKind::None;
        self.recovery.is_conservative = false;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// BBRSaveCwnd (section 4.2.3.4).
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd =
            if self.recovery.kind == RecoveryKind::None && !matches!(self.phase, BbrPhase::ProbeRtt { .. }) {
                self.cwnd
            } else {
                self.prior_cwnd.max(self.cwnd)
            };
    }

    /// BDP times `gain` in whole segments, or the initial window before the first RTT sample.
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
        matches!(self.phase, BbrPhase::ProbeBw { index: 0, .. })
    }
}
