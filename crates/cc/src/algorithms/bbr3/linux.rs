//! Rules of Linux only: whole segments, and states that end by the amount in flight at the next departure. Written from the behavior of
//! the module (github.com/google/bbr, branch v3).

use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};
use crate::parts::number::{max, min, seconds};
use crate::time::{Nanos, SECOND};

/// Bytes added to a burst of the pacing rate; halved for every 512 us of min_rtt.
const SHORT_PATH_BYTES: f64 = 65_536.0;
const HALVING: Nanos = 512_000;
/// extra_acked is at most bw times this time in seconds.
pub(super) const MOST_EXTRA_S: f64 = 0.1;

impl<R: Bbr3Rules> Bbr3<R> {
    /// Whole segments, rounded down; the draft's are fractions.
    pub(super) fn whole(&self, segments: f64) -> f64 {
        if self.settings.constants.linux { libm::floor(segments) } else { segments }
    }

    /// Whether the state ends by the amount in flight at the next departure.
    #[inline(always)]
    pub(super) fn is_ended_at_departure(&self) -> bool {
        matches!(self.phase, Bbr3Phase::Drain | Bbr3Phase::Down | Bbr3Phase::Up)
    }

    /// A segment departs. The next departure follows one interval of the pacing rate later, or after the quantum, its whole interval.
    #[inline(never)]
    pub(super) fn note_departure(&mut self, now: Nanos) {
        let gap = SECOND as f64 / self.pacing_rate;
        let longest = (self.send_quantum as f64 * gap) as Nanos;
        self.departure = (self.departure.max(now) + gap as Nanos).min(now + longest);
    }

    /// The amount of `in_flight` left at the next departure. With a pacing gain above 1 the quantum that departs then is added.
    pub(super) fn at_departure(&self, in_flight: f64, now: Nanos) -> f64 {
        let leaving = if self.pacing_gain() > 1.0 { self.quantum } else { 0.0 };
        let delivered = libm::floor(self.model.bw() * seconds(self.departure.saturating_sub(now)));
        max(in_flight + leaving - delivered, 0.0)
    }

    /// Bytes added to a burst on a short path.
    pub(super) fn short_path_bytes(&self) -> f64 {
        match self.model.min_rtt.map(|min_rtt| min_rtt / HALVING) {
            Some(halvings @ 0..32) => SHORT_PATH_BYTES / (1u64 << halvings) as f64,
            _ => 0.0,
        }
    }

    /// A timeout: the full-pipe estimator begins again, and without an inflight_shortterm the window before it is that.
    #[cold]
    pub(super) fn forget_at_timeout(&mut self) {
        self.full_pipe.reset(0.0);
        if !self.phase.is_probing() && self.model.inflight_shortterm.is_infinite() {
            self.model.inflight_shortterm = max(self.cwnd, self.prior_cwnd);
            self.model.has_changed = true;
        }
    }

    /// CRUISE begins with no more in flight than the long term allows.
    pub(super) fn bound_short_term(&mut self) {
        if self.model.inflight_shortterm.is_finite() {
            self.model.inflight_shortterm = min(self.model.inflight_shortterm, self.model.inflight_longterm);
        }
    }

    /// An ACK of a segment since whose departure too much was lost: in a probe that is an answer, as the loss itself is.
    #[inline(always)]
    pub(super) fn answer_losses_of_sample(&mut self, news: &Bbr3AckEvent) {
        if news.lost > 0 && self.probe.is_sample {
            let tx_in_flight = news.tx_in_flight as f64;
            if tx_in_flight > 0.0 && self.is_inflight_too_high(news.lost as f64, tx_in_flight) {
                self.handle_inflight_too_high(tx_in_flight, news.is_app_limited, news.now);
            }
        }
    }
}
