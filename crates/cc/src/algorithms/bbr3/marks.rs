//! Linux' answer to marks (ECN), where min_rtt is at most 5 ms. The draft has none.

use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};
use crate::time::{MILLISECOND, Nanos};

/// The gain of alpha, the part of inflight_shortterm that a round of nothing but marks takes, and the part of a round that is too much; in
/// parts of 256, as Linux has them.
const ALPHA_GAIN: f64 = 16.0 / 256.0;
const ECN_FACTOR: f64 = 85.0 / 256.0;
const ECN_THRESH: f64 = 0.5;
/// Rounds with too many marks that end Startup.
const STARTUP_ECN_ROUNDS: u8 = 2;
/// The longest min_rtt with which marks count.
const ECN_MAX_RTT: Nanos = 5 * MILLISECOND;
/// Once marks cease, the next probe begins with steps of this part of inflight_longterm.
const REPROBE_GAIN: f64 = 0.5;
/// The steps' exponent where there is no inflight_longterm: half of 2^32 segments, which 5 bits hold.
const MOST_EXPONENT: u8 = 30;

/// Counters of marks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marks {
    alpha: f64,
    /// Delivered, and marked of that, in this round.
    delivered: f64,
    marked: f64,
    startup_rounds: u8,
    /// min_rtt has been short enough.
    is_eligible: bool,
    /// There were some in this round of losses, and in this cycle of probes; and a loss in this cycle.
    pub is_in_round: bool,
    pub is_in_cycle: bool,
    pub is_loss_in_cycle: bool,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            alpha: 1.0,
            delivered: 0.0,
            marked: 0.0,
            startup_rounds: 0,
            is_eligible: false,
            is_in_round: false,
            is_in_cycle: false,
            is_loss_in_cycle: false,
        }
    }
}

impl Marks {
    /// A probe is over.
    pub fn start_cycle(&mut self) {
        self.is_in_round = false;
        self.is_in_cycle = false;
        self.is_loss_in_cycle = false;
    }
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// Counts them, and looks at a round's where the next one starts.
    pub(super) fn update_marks(&mut self, news: &Bbr3AckEvent) {
        let marks = &mut self.congestion.marks;
        marks.delivered += news.newly_acked();
        if news.ce > 0 {
            marks.marked += news.ce as f64;
            marks.is_in_round |= marks.is_eligible;
        }
        if self.model.round_start {
            self.judge_round_of_marks(news);
        }
    }

    #[inline(never)]
    fn judge_round_of_marks(&mut self, news: &Bbr3AckEvent) {
        let marks = &mut self.congestion.marks;
        marks.is_eligible |= self.model.min_rtt.is_some_and(|min_rtt| min_rtt <= ECN_MAX_RTT);
        let part = (marks.marked / marks.delivered.max(1.0)).min(1.0);
        let has_marks = marks.marked > 0.0;
        (marks.delivered, marks.marked) = (0.0, 0.0);
        if !marks.is_eligible {
            return;
        }
        marks.alpha += ALPHA_GAIN * (part - marks.alpha);
        marks.is_in_round |= has_marks;
        if !self.full_pipe.reached {
            marks.startup_rounds = if part >= ECN_THRESH { marks.startup_rounds + 1 } else { 0 };
            if marks.startup_rounds >= STARTUP_ECN_ROUNDS {
                self.startup_is_too_high();
            }
        } else if self.probe.is_sample && part > ECN_THRESH {
            self.handle_inflight_too_high(news.tx_in_flight as f64, news.is_app_limited, news.now);
        }
    }

    /// The inflight_shortterm that a round with marks leaves, if it had any.
    pub(super) fn inflight_for_marks(&mut self) -> Option<f64> {
        if !self.congestion.marks.is_in_round {
            return None;
        }
        self.init_inflight_shortterm();
        let cut = 1.0 - ECN_FACTOR * self.congestion.marks.alpha;
        Some(self.whole(self.model.inflight_shortterm * cut))
    }

    /// Whether this cycle has seen losses or marks, once the ACK has been answered.
    #[inline(always)]
    pub(super) fn note_cycle(&mut self, news: &Bbr3AckEvent) {
        let marks = &mut self.congestion.marks;
        marks.is_loss_in_cycle |= news.lost > 0;
        marks.is_in_cycle |= news.ce > 0;
    }

    /// Marks without losses have been seen in this cycle: the next probe begins at once, with large steps. Returns whether it has.
    pub(super) fn reprobes_after_marks(&mut self, news: &Bbr3AckEvent) -> bool {
        let marks = &self.congestion.marks;
        let calm = !news.in_recovery && !self.undo.in_episode;
        if !marks.is_eligible || !marks.is_in_cycle || marks.is_loss_in_cycle || !calm {
            return false;
        }
        let steps = self.model.inflight_longterm * REPROBE_GAIN;
        self.start_refill();
        self.probe.up_rounds = (libm::log2(steps.max(1.0)) as u8).min(MOST_EXPONENT);
        true
    }

    /// Startup ends by losses or marks.
    pub(super) fn startup_is_too_high(&mut self) {
        if self.phase == Bbr3Phase::Startup {
            let bdp = self.inflight(self.model.max_bw(), 1.0);
            self.full_pipe.reached = true;
            self.model.inflight_longterm = bdp.max(self.congestion.inflight_latest);
            self.model.has_changed = true;
        }
    }
}
