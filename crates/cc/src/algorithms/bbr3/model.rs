//! The model of the path (section 5.5): rounds, bandwidth, round trip and aggregation.

use super::{Bbr3, Bbr3AckEvent, Bbr3Rules};
use crate::parts::number::{max, min, seconds};
use crate::parts::{RecentMax, WindowedMax};
use crate::time::Nanos;

/// Most cycles of ProbeBW that the filter of max_bw covers.
pub(super) const MAX_BW_CYCLES: usize = 5;

/// Factors for an interval of aggregation that continues, and for one that begins.
const GOES_ON: [f64; 2] = [1.0, 0.0];

/// The model of the path.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Bbr3Model {
    /// next_round_delivered.
    pub next_round_delivered: u64,
    /// C.delivered.
    pub delivered: u64,
    /// max_bw_filter, segments a second: of the ProbeBW cycles before, and of this one.
    max_bw: [f64; 2],
    /// bw_shortterm, segments a second; infinite where there is none.
    pub bw_shortterm: f64,
    /// inflight_longterm and inflight_shortterm, segments; infinite where there are none.
    pub inflight_longterm: f64,
    pub inflight_shortterm: f64,
    /// min_rtt in seconds; 0 where there is none.
    pub min_rtt_s: f64,
    /// min_rtt and its min_rtt_stamp.
    pub min_rtt: Option<Nanos>,
    pub min_rtt_stamp: Nanos,
    /// round_count, round_start.
    pub round_count: u32,
    pub round_start: bool,
    /// The pacing rate and the window's bounds have to follow a change of the model or the state; most ACKs change neither.
    pub has_changed: bool,
    pub aggregation: Aggregation,
    /// Largest rates of the cycles before, the latest first.
    cycles: [f64; MAX_BW_CYCLES - 1],
}

/// How much more is acknowledged than bw accounts for (section 5.5.9).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Aggregation {
    interval_start: Nanos,
    delivered: f64,
    filter: Filter,
}

#[derive(Clone, Debug, PartialEq)]
enum Filter {
    Window(WindowedMax),
    Bins(RecentMax),
}

impl Bbr3Model {
    /// OnInit.
    pub fn new(rtt: Option<Nanos>, linux: bool) -> Bbr3Model {
        let filter = if linux { Filter::Bins(RecentMax::default()) } else { Filter::Window(WindowedMax::default()) };
        Bbr3Model {
            round_count: 0,
            round_start: false,
            has_changed: true,
            next_round_delivered: 0,
            delivered: 0,
            max_bw: [0.0; 2],
            bw_shortterm: f64::INFINITY,
            min_rtt: rtt,
            min_rtt_stamp: 0,
            min_rtt_s: rtt.map_or(0.0, seconds),
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            aggregation: Aggregation { interval_start: 0, delivered: 0.0, filter },
            cycles: [0.0; MAX_BW_CYCLES - 1],
        }
    }

    /// The first segment leaves.
    pub fn begin(&mut self, now: Nanos) {
        self.min_rtt_stamp = now;
        self.aggregation.begin(now);
    }

    /// A rate of this cycle, for tests.
    #[cfg(test)]
    pub fn take(&mut self, rate: f64) {
        self.max_bw[1] = rate;
        self.has_changed = true;
    }

    /// BBR.max_bw, segments a second.
    pub fn max_bw(&self) -> f64 {
        max(self.max_bw[0], self.max_bw[1])
    }

    /// BBR.bw (BoundBWForModel).
    pub fn bw(&self) -> f64 {
        min(self.max_bw(), self.bw_shortterm)
    }

    /// StartRound (section 5.5.1).
    pub fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// AdvanceMaxBwFilter (section 5.5.6); the filter covers `length` cycles with the one that begins.
    pub fn advance_max_bw_filter(&mut self, length: u32) {
        if self.max_bw[1] > 0.0 {
            self.cycles.rotate_right(1);
            self.cycles[0] = self.max_bw[1];
            let before = self.cycles[..length as usize - 1].iter().copied().fold(0.0, max);
            self.max_bw = [before, 0.0];
            self.has_changed = true;
        }
    }

    /// ResetShortTermModel (section 5.5.10.3).
    pub fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
        self.has_changed = true;
    }

    /// UpdateRound (section 5.5.1).
    fn update_round(&mut self, news: &Bbr3AckEvent, linux: bool) {
        self.delivered = news.delivered_so_far();
        self.round_start = news.prior_delivered >= self.next_round_delivered && (!linux || news.tells_of_a_rate());
        if self.round_start {
            self.start_round();
            self.round_count += 1;
        }
    }
}

impl Aggregation {
    /// The interval begins again, as at a restart from idle.
    pub fn begin(&mut self, now: Nanos) {
        self.interval_start = now;
    }

    /// Deliveries so far no longer count.
    pub fn forget(&mut self) {
        self.delivered = 0.0;
    }

    /// BBR.extra_acked, segments.
    pub fn extra_acked(&self) -> f64 {
        match &self.filter {
            Filter::Window(max) => max.value(),
            Filter::Bins(max) => max.value(),
        }
    }

    /// Adds a sample to the filter, which is `length` rounds long, and returns whether extra_acked has changed.
    #[inline(always)]
    pub fn remember(&mut self, extra: f64, (round_count, round_start): (u32, bool), length: u32) -> bool {
        match &mut self.filter {
            Filter::Window(max) => max.is_moved_by(extra, round_count, length),
            Filter::Bins(max) => {
                let before = max.value();
                if round_start {
                    max.on_round((length / 2).max(1));
                }
                max.update(extra);
                max.value() != before
            }
        }
    }
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// UpdateMaxBw (section 5.5.5), UpdateRound included.
    pub(super) fn update_max_bw(&mut self, news: &Bbr3AckEvent) {
        self.model.update_round(news, self.settings.constants.linux);
        if self.model.round_start {
            self.probe.rounds_since += 1;
            self.usage.full_before = core::mem::take(&mut self.usage.full_now);
        }
        let rate = news.delivery_rate;
        // A branch that is seldom taken: values from max_bw need not wait for this ACK's rate.
        if rate > self.model.max_bw[1] && (rate >= self.model.max_bw() || !news.is_app_limited) {
            self.model.max_bw[1] = rate;
            self.model.has_changed = true;
        }
    }

    /// UpdateACKAggregation (section 5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, news: &Bbr3AckEvent) {
        let bw = self.model.bw();
        let aggregation = &mut self.model.aggregation;
        let expected = bw * seconds(news.now - aggregation.interval_start);
        // Chosen by a factor instead of a branch, which would mispredict.
        let begins = aggregation.delivered <= expected;
        let goes_on = GOES_ON[usize::from(begins)];
        let expected = expected * goes_on;
        aggregation.interval_start = [aggregation.interval_start, news.now][usize::from(begins)];
        aggregation.delivered = aggregation.delivered * goes_on + news.newly_acked();
        let extra = min(aggregation.delivered - expected, self.cwnd);
        let rounds = (self.model.round_count, self.model.round_start);
        let length = if self.full_pipe.reached { self.settings.constants.extra_acked_filter_len } else { 1 };
        if aggregation.remember(extra, rounds, length) {
            self.model.has_changed = true;
        }
    }

    /// UpdateMinRTT (section 5.3.4.3); returns probe_rtt_expired.
    pub(super) fn update_min_rtt(&mut self, news: &Bbr3AckEvent) -> bool {
        let probe_rtt_expired = news.now > self.probe_rtt.min_stamp + self.settings.constants.probe_rtt_interval;
        let expired = news.now > self.model.min_rtt_stamp + self.settings.constants.min_rtt_filter_len;
        // min_rtt follows probe_rtt_min_delay, so that neither changes by a greater one.
        if probe_rtt_expired || expired || news.rtt <= self.probe_rtt.min_delay {
            self.change_min_rtt(news, probe_rtt_expired, expired);
        }
        probe_rtt_expired
    }

    #[inline(never)]
    fn change_min_rtt(&mut self, news: &Bbr3AckEvent, probe_rtt_expired: bool, expired: bool) {
        let (probe, model) = (&mut self.probe_rtt, &mut self.model);
        if news.rtt < Nanos::MAX && (probe_rtt_expired || news.rtt < probe.min_delay) {
            (probe.min_delay, probe.min_stamp) = (news.rtt, news.now);
        }
        let as_low =
            |min_rtt| probe.min_delay < min_rtt || (self.settings.constants.linux && probe.min_delay == min_rtt);
        if expired || model.min_rtt.is_none_or(as_low) {
            model.min_rtt = Some(probe.min_delay).filter(|&delay| delay < Nanos::MAX);
            model.min_rtt_stamp = probe.min_stamp;
            model.min_rtt_s = model.min_rtt.map_or(0.0, seconds);
            model.has_changed = true;
        }
    }
}
