//! The response to losses and marks (sections 5.5.10 and 5.5.11): in a probe they bound the long term, otherwise the short term. After a
//! spurious loss the state before it is restored.

use super::marks::Marks;
use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rule, Bbr3Rules};
use crate::parts::number::{float, max};
use crate::time::Nanos;
use crate::{Flow, Lost};

/// Signals of congestion from the last round.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Congestion {
    /// bw_latest, segments a second; inflight_latest, segments.
    bw_latest: f64,
    pub inflight_latest: f64,
    /// loss_round_delivered.
    round_delivered: u64,
    /// is_loss_in_round.
    pub is_loss_in_round: bool,
    /// Ranges of segments lost in this round, and the segment that would go on with the last of them.
    pub lost_ranges: u32,
    /// ACKs that have shown losses in this round, which Linux counts in their place.
    pub lossy_acks: u32,
    next_lost: u64,
    /// When a segment was last found lost.
    pub last_loss: Option<Nanos>,
    pub marks: Marks,
}

/// State to restore after a spurious loss (section 2.15).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Undo {
    /// Recovery is under way, or about to begin.
    pub in_episode: bool,
    /// A timeout has begun it.
    pub after_timeout: bool,
    /// undo_state.
    pub phase: Option<Bbr3Phase>,
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
            lossy_acks: 0,
            next_lost: 0,
            last_loss: None,
            marks: Marks::default(),
        }
    }
}

impl Congestion {
    /// ResetCongestionSignals.
    pub fn reset(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
        self.marks.start_cycle();
    }
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// UpdateLatestDeliverySignals (section 5.5.10.3); returns loss_round_start.
    pub(super) fn update_latest_delivery_signals(&mut self, news: &Bbr3AckEvent) -> bool {
        if self.settings.constants.linux && !news.tells_of_a_rate() {
            return false;
        }
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
    pub(super) fn advance_latest_delivery_signals(&mut self, news: &Bbr3AckEvent) {
        self.congestion.bw_latest = news.delivery_rate;
        self.congestion.inflight_latest = float(news.delivered);
    }

    /// UpdateCongestionSignals, UpdateMaxBw included.
    pub(super) fn update_congestion_signals(&mut self, news: &Bbr3AckEvent, round_starts: bool) {
        self.update_max_bw(news);
        if self.settings.constants.linux {
            self.update_marks(news);
            self.congestion.is_loss_in_round |= news.newly_lost > 0 && news.tells_of_a_rate();
        }
        if round_starts {
            self.adapt_lower_bounds();
            self.congestion.is_loss_in_round = false;
            self.congestion.marks.is_in_round = false;
        }
    }

    /// AdaptLowerBoundsFromCongestion, InitLowerBounds and LossLowerBounds.
    #[inline(never)]
    pub(super) fn adapt_lower_bounds(&mut self) {
        if self.phase.is_probing() {
            return;
        }
        let for_marks = self.inflight_for_marks();
        if self.congestion.is_loss_in_round {
            self.lower_bounds_for_loss();
        }
        if let Some(inflight) = for_marks {
            self.model.inflight_shortterm = self.model.inflight_shortterm.min(inflight);
            self.model.has_changed = true;
        }
    }

    /// InitLowerBounds and LossLowerBounds.
    fn lower_bounds_for_loss(&mut self) {
        self.init_inflight_shortterm();
        let beta = self.settings.constants.beta;
        let inflight = self.inflight_after_loss(self.model.inflight_shortterm);
        let (model, latest) = (&mut self.model, &self.congestion);
        if model.bw_shortterm.is_infinite() {
            model.bw_shortterm = model.max_bw();
        }
        let bw = self.rules.apply(Bbr3Rule::BwAfterLoss, model.bw_shortterm, beta * model.bw_shortterm);
        model.bw_shortterm = latest.bw_latest.max(bw);
        model.inflight_shortterm = latest.inflight_latest.max(inflight);
    }

    /// Beta times an amount in flight (sections 5.5.10.2 and 5.5.10.3).
    fn inflight_after_loss(&self, inflight: f64) -> f64 {
        let beta = self.settings.constants.beta;
        self.whole(self.rules.apply(Bbr3Rule::InflightAfterLoss, inflight, beta * inflight))
    }

    /// InitLowerBounds for the amount in flight.
    pub(super) fn init_inflight_shortterm(&mut self) {
        self.model.has_changed = true;
        if self.model.inflight_shortterm.is_infinite() {
            self.model.inflight_shortterm = self.cwnd;
        }
    }

    /// IsInflightTooHigh (section 5.5.10.2).
    pub(super) fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        if !self.settings.selective_acks {
            return lost > 0.0;
        }
        let tolerated = tx_in_flight * self.settings.constants.loss_threshold;
        lost > self.whole(self.rules.apply(Bbr3Rule::ToleratedLoss, tx_in_flight, tolerated))
    }

    /// HandleLostPacket.
    pub(super) fn handle_lost_segment(&mut self, flow: &Flow, lost: &Lost) {
        self.congestion.last_loss = Some(flow.now);
        self.note_loss(lost.delivered);
        if core::mem::replace(&mut self.congestion.next_lost, lost.segment + 1) != lost.segment {
            self.congestion.lost_ranges += 1;
        }
        if !self.probe.is_sample {
            return;
        }
        let (tx_in_flight, lost_since) = (lost.tx_in_flight as f64, lost.lost as f64);
        if self.is_inflight_too_high(lost_since, tx_in_flight) {
            let inflight = self.inflight_at_loss(tx_in_flight, lost_since);
            self.handle_inflight_too_high(inflight, lost.is_app_limited, flow.now);
        }
    }

    /// NoteLoss; C.delivered is the greater of `delivered` and the last ACK's count.
    pub(super) fn note_loss(&mut self, delivered: u64) {
        if !self.congestion.is_loss_in_round {
            self.congestion.round_delivered = delivered.max(self.model.delivered);
        }
        self.congestion.is_loss_in_round = true;
        if self.settings.constants.linux {
            self.congestion.marks.is_loss_in_cycle = true;
        } else {
            self.enter_recovery();
        }
    }

    /// A tail loss probe has repaired a loss that was not reported (section 5.5.10.3: "TLP recovery").
    pub(super) fn handle_repaired_tail(&mut self, flow: &Flow) {
        self.note_loss(self.model.delivered);
        let tx_in_flight = self.congestion.inflight_latest + 1.0;
        if self.settings.constants.linux && self.probe.is_sample && self.is_inflight_too_high(1.0, tx_in_flight) {
            self.handle_inflight_too_high(tx_in_flight, flow.app_limited, flow.now);
        }
    }

    /// HandleInflightTooHigh.
    pub(super) fn handle_inflight_too_high(&mut self, tx_in_flight: f64, is_app_limited: bool, now: Nanos) {
        self.probe.was_too_high = true;
        self.probe.is_sample = false;
        if !is_app_limited {
            let least = self.inflight_after_loss(self.target_inflight());
            self.model.inflight_longterm = tx_in_flight.max(least);
            self.model.has_changed = true;
        }
        if self.phase == Bbr3Phase::Up {
            self.undo.phase = Some(Bbr3Phase::Up);
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
            after_timeout: self.undo.after_timeout,
            phase: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    /// OnEnterRTO (section 5.6.4.4).
    pub(super) fn enter_timeout(&mut self, flow: &Flow) {
        self.enter_recovery();
        self.undo.after_timeout = true;
        self.cwnd = (flow.in_flight as f64 + 1.0).min(self.cwnd).max(1.0);
        if self.settings.constants.linux {
            self.forget_at_timeout();
        }
    }

    /// HandleSpuriousLossDetection (section 5.5.11.2).
    pub(super) fn handle_spurious_loss(&mut self) {
        self.undo.in_episode = false;
        self.undo.after_timeout = false;
        self.restore_cwnd();
        self.congestion.is_loss_in_round = false;
        self.full_pipe.reset(0.0);
        let (model, undo) = (&mut self.model, &self.undo);
        model.has_changed = true;
        model.bw_shortterm = model.bw_shortterm.max(undo.bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(undo.inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(undo.inflight_longterm);
        self.return_to_undone_phase();
        self.bound_cwnd();
    }

    /// Back to the state that the loss has ended; Linux does not.
    fn return_to_undone_phase(&mut self) {
        match self.undo.phase.take().filter(|_| !self.settings.constants.linux) {
            Some(Bbr3Phase::Startup) if self.phase != Bbr3Phase::Startup => {
                self.full_pipe.reached = false;
                if self.phase != Bbr3Phase::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(Bbr3Phase::Up) if !matches!(self.phase, Bbr3Phase::Up | Bbr3Phase::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }

    /// A window with marks counts as one with too many losses: the draft asks for a response and leaves it open. Linux counts marks.
    pub(super) fn on_mark(&mut self, flow: &Flow) {
        if self.settings.constants.linux {
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

    /// InflightAtLoss: at how much in flight the losses crossed LossThresh.
    pub(super) fn inflight_at_loss(&self, tx_in_flight: f64, lost: f64) -> f64 {
        let thresh = self.settings.constants.loss_threshold;
        let (inflight_prev, lost_prev) = (tx_in_flight - 1.0, lost - 1.0);
        if !self.settings.constants.linux {
            return inflight_prev + (thresh * inflight_prev - lost_prev) / (1.0 - thresh);
        }
        let budget = libm::ceil(thresh * inflight_prev);
        inflight_prev + libm::floor((budget - lost_prev).max(0.0) / (1.0 - thresh))
    }
}
