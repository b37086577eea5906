//! The model of the path (section 4.1): rounds, bandwidth, round trip, and how ACKs clump.

use super::{Bbr, BbrAckEvent};
use crate::parts::{RecentMax, WindowedMax};
use crate::time::{Nanos, SECOND, seconds};

/// BtlBwFilterLen, rounds (section 4.1.1.2).
const BW_ROUNDS: u32 = 10;
/// RTpropFilterLen (section 4.1.2.2).
pub(super) const MIN_RTT_WINDOW: Nanos = 10 * SECOND;
/// Linux: each of the bins of extra_acked, rounds; and segments after which its sampling restarts.
const EXTRA_ACKED_BIN: u32 = 5;
const EXTRA_ACKED_EPOCH: f64 = 1_048_576.0;

/// BbrModel of the path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BbrModel {
    /// Rounds, whether this ACK begins one, and its end.
    pub round_count: u32,
    pub round_start: bool,
    next_round_delivered: u64,
    /// Segments delivered of the whole flow.
    delivered: u64,
    /// Segments a second.
    max_bw: WindowedMax,
    /// The least round trip, and when it was seen.
    pub min_rtt: Option<Nanos>,
    pub min_rtt_stamp: Nanos,
    /// Segments acknowledged beyond the bandwidth's share.
    pub extra_acked: RecentMax,
    epoch_start: Nanos,
    epoch_acked: f64,
}

impl BbrModel {
    pub fn new(rtt: Option<Nanos>) -> BbrModel {
        BbrModel {
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            delivered: 0,
            max_bw: WindowedMax::default(),
            min_rtt: rtt,
            min_rtt_stamp: 0,
            extra_acked: RecentMax::default(),
            epoch_start: 0,
            epoch_acked: 0.0,
        }
    }

    /// The first segment leaves.
    pub fn begin(&mut self, now: Nanos) {
        self.min_rtt_stamp = now;
        self.epoch_start = now;
    }

    /// BBR.BtlBw, segments a second.
    pub fn max_bw(&self) -> f64 {
        self.max_bw.value()
    }

    /// BBRUpdateRound (section 4.1.1.3).
    pub fn update_round(&mut self, news: &BbrAckEvent) {
        self.delivered = news.delivered;
        self.round_start = news.rate.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
        }
    }

    /// A round begins with the data sent from now on.
    pub fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// BBRUpdateBtlBw (section 4.1.1.5).
    pub fn update_max_bw(&mut self, news: &BbrAckEvent) {
        let rate = news.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw() || !news.rate.is_app_limited) {
            self.max_bw.update(rate, self.round_count, BW_ROUNDS);
        }
    }

    /// The aggregation of ACKs is counted from now on.
    pub fn start_epoch(&mut self, now: Nanos) {
        self.epoch_start = now;
        self.epoch_acked = 0.0;
    }
}

impl Bbr {
    /// Linux: how much more is acknowledged than the bandwidth accounts for.
    pub(super) fn update_aggregation(&mut self, news: &BbrAckEvent) {
        let bw = self.bw();
        let model = &mut self.model;
        if model.round_start {
            model.extra_acked.on_round(EXTRA_ACKED_BIN);
        }
        let mut expected = bw * seconds(news.now - model.epoch_start);
        if model.epoch_acked <= expected || model.epoch_acked >= EXTRA_ACKED_EPOCH {
            model.start_epoch(news.now);
            expected = 0.0;
        }
        model.epoch_acked += news.newly_delivered();
        model.extra_acked.update((model.epoch_acked - expected).min(self.cwnd));
    }
}
