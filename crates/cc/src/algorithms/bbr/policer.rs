//! The rate of a policer, as Linux finds it: intervals with many losses and equal rates of delivery. While it is in force it replaces the
//! bandwidth, and nothing is probed.

use super::{Bbr, BbrAckEvent, BbrPhase};
use crate::time::{MILLISECOND, Nanos, seconds};

/// An interval's least and most rounds.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Losses of an interval that show a policer: 50 for each 256 segments delivered.
const LOSS_RATIO: f64 = 50.0 / 256.0;
/// Two rates are one within this part, or within this many bit/s.
const RATE_RATIO: f64 = 1.0 / 8.0;
const RATE_DIFF_BPS: f64 = 4000.0;
/// Rounds that it is in force.
const ROUNDS_IN_FORCE: u32 = 48;
const LEAST_INTERVAL: Nanos = MILLISECOND;

/// Rate of a policer, and the search for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Policer {
    /// The rate of the last interval, segments a second; 0 before one.
    bw: f64,
    /// Whether it is in force.
    in_use: bool,
    /// Rounds of the interval, or in force.
    rounds: u32,
    interval: Option<Interval>,
}

/// Delivered and lost segments at the beginning of the present interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    since: Nanos,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The rate in force, segments a second.
    pub fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.bw)
    }

    /// Looks for one from the beginning.
    pub fn reset_sampling(&mut self) {
        *self = Policer::default();
    }

    fn start_interval(&mut self, news: &BbrAckEvent) {
        self.rounds = 0;
        self.interval = Some(Interval { since: news.now, delivered: news.delivered, lost: news.flow.lost });
    }

    /// An interval has ended with this rate, segments a second.
    fn end_interval(&mut self, bw: f64, segment_bits: f64, news: &BbrAckEvent) {
        let apart = (bw - self.bw).abs();
        if self.bw > 0.0 && (apart <= RATE_RATIO * self.bw || apart * segment_bits <= RATE_DIFF_BPS) {
            *self = Policer { bw: (bw + self.bw) / 2.0, in_use: true, rounds: 0, interval: None };
            return;
        }
        self.bw = bw;
        self.start_interval(news);
    }
}

impl Bbr {
    /// Takes an ACK in.
    pub(super) fn update_policer(&mut self, news: &BbrAckEvent) {
        if self.policer.in_use {
            self.age_policer(news);
            return;
        }
        let Some(interval) = self.policer.interval else {
            if news.newly_lost > 0.0 {
                self.policer.start_interval(news);
            }
            return;
        };
        if news.rate.is_app_limited {
            self.policer.reset_sampling();
            return;
        }
        self.policer.rounds += u32::from(self.model.round_start);
        if self.policer.rounds < LEAST_ROUNDS {
            return;
        }
        if self.policer.rounds > MOST_ROUNDS {
            self.policer.reset_sampling();
            return;
        }
        let delivered = (news.delivered - interval.delivered) as f64;
        let lost = (news.flow.lost - interval.lost) as f64;
        let took = news.now - interval.since;
        // The interval ends with a loss, when the policer's tokens are used up.
        if news.newly_lost == 0.0 || delivered == 0.0 || lost < LOSS_RATIO * delivered || took < LEAST_INTERVAL {
            return;
        }
        let segment_bits = 8.0 * f64::from(self.segment_bytes);
        self.policer.end_interval(delivered / seconds(took), segment_bits, news);
    }

    /// Rounds of ProbeBW for which the rate is in force; then bandwidth is probed for again.
    fn age_policer(&mut self, news: &BbrAckEvent) {
        if !matches!(self.phase, BbrPhase::ProbeBw { .. }) || !self.model.round_start {
            return;
        }
        self.policer.rounds += 1;
        if self.policer.rounds >= ROUNDS_IN_FORCE {
            self.policer.reset_sampling();
            self.enter_probe_bw(news.now);
        }
    }
}
