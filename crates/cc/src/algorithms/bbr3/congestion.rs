//! The answer to losses and marks (sections 5.5.10 and 5.5.11): what they say of the long term in a probe, of the short term otherwise,
//! and what is brought back where a loss was none.

use super::{BETA, Bbr3, LOSS_THRESH, News, Phase};
use crate::parts::number::{float, max};
use crate::time::{MILLISECOND, Nanos};
use crate::{Flow, Lost};

/// Linux's answer to marks: the gain of alpha, what a round of nothing but marks takes, the part of a round that is too much, in
/// Startup so many rounds, and the longest round trip with which marks count.
const ALPHA_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
const ECN_THRESH: f64 = 0.5;
const STARTUP_ECN_ROUNDS: u8 = 2;
const ECN_MAX_RTT: Nanos = 5 * MILLISECOND;

/// What the last round tells of congestion.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Congestion {
    /// bw_latest, segments a second; inflight_latest, segments.
    bw_latest: f64,
    pub inflight_latest: f64,
    /// loss_round_delivered.
    round_delivered: u64,
    /// is_loss_in_round.
    is_loss_in_round: bool,
    /// Ranges of segments lost in this round, and the segment that would go on with the last of them.
    pub lost_ranges: u32,
    next_lost: u64,
    marks: Marks,
}

/// Marks, as Linux answers them.
#[derive(Clone, Debug, PartialEq)]
struct Marks {
    alpha: f64,
    /// Delivered, and marked of that, in this round.
    delivered: f64,
    marked: f64,
    startup_rounds: u8,
}

/// What is brought back where a loss was none (section 2.15).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Undo {
    /// Recovery is under way, or about to begin.
    pub in_episode: bool,
    /// undo_state.
    pub phase: Option<Phase>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Default for Congestion {
    fn default() -> Congestion {
        Congestion {
            is_loss_in_round: false,
            round_delivered: 0,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            lost_ranges: 0,
            next_lost: 0,
            marks: Marks { alpha: 1.0, delivered: 0.0, marked: 0.0, startup_rounds: 0 },
        }
    }
}

impl Congestion {
    /// ResetCongestionSignals.
    pub fn reset(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }
}

impl Bbr3 {
    /// UpdateLatestDeliverySignals (section 5.5.10.3); says loss_round_start.
    pub(super) fn update_latest_delivery_signals(&mut self, news: &News) -> bool {
        let congestion = &mut self.congestion;
        congestion.bw_latest = max(congestion.bw_latest, news.delivery_rate);
        congestion.inflight_latest = max(congestion.inflight_latest, float(news.delivered));
        let round_starts = news.prior_delivered >= congestion.round_delivered;
        if round_starts {
            congestion.round_delivered = news.delivered_so_far();
        }
        round_starts
    }

    /// AdvanceLatestDeliverySignals, where a round of losses starts.
    #[inline(never)]
    pub(super) fn advance_latest_delivery_signals(&mut self, news: &News) {
        self.congestion.bw_latest = news.delivery_rate;
        self.congestion.inflight_latest = float(news.delivered);
    }

    /// UpdateCongestionSignals, UpdateMaxBw included.
    pub(super) fn update_congestion_signals(&mut self, news: &News, round_starts: bool) {
        self.update_max_bw(news);
        if self.settings.linux {
            self.update_marks(news);
        }
        if round_starts {
            self.adapt_lower_bounds();
            self.congestion.is_loss_in_round = false;
        }
    }

    /// AdaptLowerBoundsFromCongestion, InitLowerBounds and LossLowerBounds.
    #[inline(never)]
    fn adapt_lower_bounds(&mut self) {
        if self.phase.is_probing() || !self.congestion.is_loss_in_round {
            return;
        }
        self.init_lower_bounds();
        let (model, latest) = (&mut self.model, &self.congestion);
        model.bw_shortterm = latest.bw_latest.max(BETA * model.bw_shortterm);
        model.inflight_shortterm = latest.inflight_latest.max(BETA * model.inflight_shortterm);
    }

    fn init_lower_bounds(&mut self) {
        let model = &mut self.model;
        model.has_changed = true;
        if model.bw_shortterm.is_infinite() {
            model.bw_shortterm = model.max_bw();
        }
        if model.inflight_shortterm.is_infinite() {
            model.inflight_shortterm = self.cwnd;
        }
    }

    /// IsInflightTooHigh (section 5.5.10.2).
    pub(super) fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * self.settings.loss_thresh
    }

    /// HandleLostPacket.
    pub(super) fn handle_lost_segment(&mut self, flow: &Flow, lost: &Lost) {
        self.note_loss();
        if core::mem::replace(&mut self.congestion.next_lost, lost.segment + 1) != lost.segment {
            self.congestion.lost_ranges += 1;
        }
        if !self.probe.is_sample {
            return;
        }
        let (tx_in_flight, lost_since) = (lost.tx_in_flight as f64, lost.lost as f64);
        if self.is_inflight_too_high(lost_since, tx_in_flight) {
            let inflight = inflight_at_loss(tx_in_flight, lost_since);
            self.handle_inflight_too_high(inflight, lost.is_app_limited, flow.now);
        }
    }

    /// NoteLoss.
    fn note_loss(&mut self) {
        if !self.congestion.is_loss_in_round {
            self.congestion.round_delivered = self.model.delivered;
        }
        self.congestion.is_loss_in_round = true;
        self.enter_recovery();
    }

    /// HandleInflightTooHigh.
    fn handle_inflight_too_high(&mut self, tx_in_flight: f64, is_app_limited: bool, now: Nanos) {
        self.probe.was_too_high = true;
        self.probe.is_sample = false;
        if !is_app_limited {
            self.model.inflight_longterm = tx_in_flight.max(self.target_inflight() * BETA);
            self.model.has_changed = true;
        }
        if self.phase == Phase::Up {
            self.undo.phase = Some(Phase::Up);
            self.start_down(now);
        }
    }

    /// SaveStateUponLoss (section 5.5.11.1), once an episode.
    pub(super) fn enter_recovery(&mut self) {
        if self.undo.in_episode {
            return;
        }
        self.save_cwnd();
        self.undo = Undo {
            in_episode: true,
            phase: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection (section 5.5.11.2).
    pub(super) fn handle_spurious_loss(&mut self) {
        self.undo.in_episode = false;
        self.restore_cwnd();
        self.congestion.is_loss_in_round = false;
        self.full_pipe.reset(0.0);
        let (model, undo) = (&mut self.model, &self.undo);
        model.has_changed = true;
        model.bw_shortterm = model.bw_shortterm.max(undo.bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(undo.inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(undo.inflight_longterm);
        match self.undo.phase.take() {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.full_pipe.reached = false;
                if self.phase != Phase::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(Phase::Up) if !matches!(self.phase, Phase::Up | Phase::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }

    /// A window with marks, of which the draft says that it be answered: as one with too many losses. Linux's are counted.
    pub(super) fn on_mark(&mut self, flow: &Flow) {
        if self.settings.linux {
            return;
        }
        if !self.congestion.is_loss_in_round {
            self.congestion.round_delivered = self.model.delivered;
        }
        self.congestion.is_loss_in_round = true;
        if self.probe.is_sample {
            self.handle_inflight_too_high(flow.in_flight as f64, flow.app_limited, flow.now);
        }
    }

    /// Linux's answer to marks, once a round.
    #[inline(never)]
    fn update_marks(&mut self, news: &News) {
        let marks = &mut self.congestion.marks;
        marks.delivered += news.newly_acked();
        marks.marked += news.ce as f64;
        if !self.model.round_start {
            return;
        }
        let part = (marks.marked / marks.delivered.max(1.0)).min(1.0);
        let rounds = if part >= ECN_THRESH { (marks.startup_rounds + 1).min(STARTUP_ECN_ROUNDS) } else { 0 };
        let alpha = marks.alpha + ALPHA_GAIN * (part - marks.alpha);
        *marks = Marks { alpha, delivered: 0.0, marked: 0.0, startup_rounds: rounds };
        if self.model.min_rtt.is_none_or(|min_rtt| min_rtt > ECN_MAX_RTT) {
            return;
        }
        if self.phase == Phase::Startup && rounds >= STARTUP_ECN_ROUNDS {
            self.pipe_is_full();
        }
        if self.probe.is_sample && part >= ECN_THRESH {
            self.handle_inflight_too_high(news.tx_in_flight as f64, news.is_app_limited, news.now);
        } else if part > 0.0 && !self.phase.is_probing() {
            self.init_lower_bounds();
            self.model.inflight_shortterm *= 1.0 - ECN_FACTOR * alpha;
        }
    }
}

/// InflightAtLoss: at how much in flight the losses crossed LossThresh.
pub(super) fn inflight_at_loss(tx_in_flight: f64, lost: f64) -> f64 {
    let (inflight_prev, lost_prev) = (tx_in_flight - 1.0, lost - 1.0);
    inflight_prev + (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH)
}
