//! ARED: RED that works out its thresholds from the link's rate and adapts max_p so that the average stays halfway
//! between them.
//!
//! Source: S. Floyd, R. Gummadi and S. Shenker, *Adaptive RED: An Algorithm for Increasing the Robustness of RED's
//! Active Queue Management*, 2001. With C the link's rate in packets per second:
//!
//! - w_q = 1 - exp(-1/C), min_th = max(5 packets, target C/2), max_th = 3 min_th;
//! - every interval: max_p += min(alpha, max_p/4) where avg is above min_th + 0.6 (max_th - min_th), max_p = beta max_p
//!   where it is below min_th + 0.4 (max_th - min_th), max_p staying within bottom and top.
//!
//! # Deviations and choices
//!
//! - **The text** of the paper was not read. Equations and constants are those that other texts and implementations quote.
//! - **RED itself** is that of `red`, with its choices (gaps, idle time, ECN, a full buffer).
//! - **max_p** is cut off at `bottom` and `top`; the paper's code tests it before a step, which may overshoot by one.
//! - **max_p begins** with RED's 1/50, as in ns-3.
//! - **Adaptation** takes place at multiples of `interval` whether packets come or not, with avg as an arrival at that
//!   instant would reckon it: an idle link lets max_p sink. ns-2, ns-3 and Linux adapt at arrivals only. Of more than a
//!   million without a packet between, those before the last are left out.
//! - **Packets** in C are of the scenario's packet size. When the link's rate changes, the values derived from it
//!   change; in an outage they stay.

use super::params::{Info, Param, Params, Settings, Unset};
use super::periodic::Periodic;
use super::red::{ECN, GAPS, GENTLE, Gaps, Red, RedLaw};
use super::{Discipline, Known, Stock};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::{MILLISECOND, SECOND, seconds};

/// Name, source, and parameters of ARED in scenarios.
pub static INFO: Info = Info {
    name: "ared",
    source: "S. Floyd, R. Gummadi, S. Shenker, Adaptive RED: An Algorithm for Increasing the Robustness of RED's \
             Active Queue Management, 2001",
    params: &[
        Param::time(
            "target",
            5 * MILLISECOND,
            0,
            1000 * SECOND,
            "Target of the average queueing delay, in the middle between the computed thresholds.",
        )
        .source("Floyd, Gummadi and Shenker 2001: 5 ms"),
        Param::time(
            "interval",
            500 * MILLISECOND,
            MILLISECOND,
            1000 * SECOND,
            "Interval of the adaptation of max_p.",
        )
        .source("Floyd, Gummadi and Shenker 2001: 0.5 s"),
        Param::number("alpha", 0.01, 0.0, 1.0, "Largest increase of max_p, at most a quarter of it.")
            .source("Floyd, Gummadi and Shenker 2001: min(0.01, max_p/4)"),
        Param::number("beta", 0.9, 0.0, 1.0, "Multiplicative decrease factor of max_p.")
            .source("Floyd, Gummadi and Shenker 2001: 0.9"),
        Param::number("bottom", 0.01, 0.0, 1.0, "Smallest max_p.").source("Floyd, Gummadi and Shenker 2001: 0.01"),
        Param::number("top", 0.5, 0.0, 1.0, "Largest max_p.").source("Floyd, Gummadi and Shenker 2001: 0.5"),
        Param::number("max_p", 0.02, 0.0, 1.0, "Initial max_p.")
            .source("Floyd and Jacobson 1993, section 5: 1/50; ns-3"),
        Param::number(
            "w_q",
            0.0,
            1e-6,
            1.0,
            "Weight of the newest sample in the average: 1 - exp(-1/C), where C is the link's rate in packets per second.",
        )
        .unset(Unset::Word("auto"))
        .source("Floyd, Gummadi and Shenker 2001"),
        Param::packets(
            "min_th",
            0,
            1,
            1_000_000_000,
            "Average queue below which no packet is dropped: 5 packets, or half of the packets that the link sends in target.",
        )
        .unset(Unset::Word("auto"))
        .source("Floyd, Gummadi and Shenker 2001"),
        Param::packets(
            "max_th",
            0,
            1,
            1_000_000_000,
            "Average queue at which p_b reaches max_p: three times min_th.",
        )
        .unset(Unset::Word("auto"))
        .source("Floyd, Gummadi and Shenker 2001"),
        GENTLE,
        GAPS,
        ECN,
    ],
    marks: |settings| settings.flag("ecn"),
    conflict: |settings| settings.not_below("min_th", "max_th").or_else(|| settings.above("bottom", "top")),
};

/// See the head of the file.
#[derive(Debug)]
pub struct Ared {
    red: Red,
    adaptations: Periodic,
    alpha: f64,
    beta: f64,
    bottom: f64,
    top: f64,
    target_s: f64,
    /// Parameters of the scenario; those that it leaves out follow from the link's rate.
    w_q: Option<f64>,
    min_th: Option<f64>,
    max_th: Option<f64>,
    packet_size: u32,
}

impl Ared {
    /// An empty one.
    pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Self {
        let law = RedLaw {
            min_th: LEAST_MIN_TH,
            max_th: 3.0 * LEAST_MIN_TH,
            max_p: settings.number("max_p"),
            w_q: 1.0,
            gentle: settings.flag("gentle"),
            gaps: Gaps::new(settings),
            ecn: settings.flag("ecn"),
        };
        let given = |name| settings.params().optional(name, Params::number);
        Ared {
            red: Red::with(law, seed, packet_size),
            adaptations: Periodic::new(settings.time("interval")),
            alpha: settings.number("alpha"),
            beta: settings.number("beta"),
            bottom: settings.number("bottom"),
            top: settings.number("top"),
            target_s: seconds(settings.time("target")),
            w_q: given("w_q"),
            min_th: given("min_th"),
            max_th: given("max_th"),
            packet_size,
        }
    }

    /// The adaptations that have come by `now`.
    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        while let Some(at) = self.adaptations.due(now) {
            if self.adapt(at) {
                self.adaptations.skip(now);
            }
        }
    }

    /// One adaptation; whether those that follow it change nothing, before a packet comes or goes.
    fn adapt(&mut self, at: Nanos) -> bool {
        let average = self.red.average_at(at);
        let RedLaw { min_th, max_th, max_p, .. } = self.red.law;
        let (low, high) = (min_th + 0.4 * (max_th - min_th), min_th + 0.6 * (max_th - min_th));
        if average > high && max_p < self.top {
            self.red.law.max_p = (max_p + self.alpha.min(max_p / 4.0)).min(self.top);
        } else if average < low && max_p > self.bottom {
            self.red.law.max_p = (max_p * self.beta).max(self.bottom);
        }
        self.red.law.max_p == max_p && (average < low || self.red.holds_packets())
    }
}

/// Least threshold worked out from a rate, packets.
const LEAST_MIN_TH: f64 = 5.0;

impl Discipline for Ared {
    fn enqueue(&mut self, known: Known, class: u32, full: bool, stock: &mut Stock) {
        self.catch_up(known.entered);
        self.red.enqueue(known, class, full, stock);
    }

    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        self.catch_up(now);
        self.red.dequeue(now, stock)
    }

    fn set_rate(&mut self, now: Nanos, rate_bps: u64) {
        self.catch_up(now);
        self.red.set_rate(now, rate_bps);
        if rate_bps == 0 {
            return;
        }
        let packets_per_s = rate_bps as f64 / (8.0 * f64::from(self.packet_size));
        let law = &mut self.red.law;
        law.w_q = self.w_q.unwrap_or(-libm::expm1(-1.0 / packets_per_s));
        law.min_th = self.min_th.unwrap_or(LEAST_MIN_TH.max(self.target_s * packets_per_s / 2.0));
        law.max_th = self.max_th.unwrap_or(3.0 * law.min_th);
    }

    fn heap_bytes(&self) -> usize {
        self.red.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{come, queued, settings};
    use super::*;
    use crate::network::discipline::params::Value;
    use crate::packet::Ecn;

    fn ared(rate_bps: u64, given: &[(&'static str, Value)]) -> Ared {
        let mut ared = Ared::new(&settings(&INFO, given), 1, 1000);
        ared.set_rate(0, rate_bps);
        ared
    }

    fn assert_near(values: [f64; 3], expected: [f64; 3]) {
        for (value, expected) in values.into_iter().zip(expected) {
            assert!((value / expected - 1.0).abs() < 1e-3, "{values:?}, expected {expected:?}");
        }
    }

    fn derived(ared: &Ared) -> [f64; 3] {
        [ared.red.law.w_q, ared.red.law.min_th, ared.red.law.max_th]
    }

    /// 10 Mbit/s are 1250 packets per second: 1 - exp(-1/1250) = 0.0008, and 5 ms are 6.25 packets; 100 Mbit/s are ten
    /// times that.
    #[test]
    fn weight_and_thresholds_follow_from_the_rate() {
        let mut ared = ared(10_000_000, &[]);
        assert_near(derived(&ared), [8.00e-4, 5.0, 15.0]);
        ared.set_rate(0, 100_000_000);
        assert_near(derived(&ared), [8.00e-5, 31.25, 93.75]);
        ared.set_rate(0, 0);
        assert_near(derived(&ared), [8.00e-5, 31.25, 93.75]);
    }

    #[test]
    fn what_a_scenario_gives_holds_at_any_rate() {
        let (w_q, min_th, max_th) = (Value::Number(0.01), Value::Packets(7), Value::Packets(50));
        let given = ared(100_000_000, &[("w_q", w_q), ("min_th", min_th), ("max_th", max_th)]);
        assert_near(derived(&given), [0.01, 7.0, 50.0]);
        let longer = ared(100_000_000, &[("target", Value::Time(20 * MILLISECOND))]);
        assert_near(derived(&longer), [8.00e-5, 125.0, 375.0]);
        assert_near(derived(&ared(100_000_000, &[("min_th", min_th)])), [8.00e-5, 7.0, 21.0]);
    }

    /// Thresholds 5 and 15, so that max_p is left alone from 9 to 11; a packet waits, so that the link is not idle.
    fn held_at(average: f64) -> Ared {
        let mut ared = ared(10_000_000, &[]);
        come(&mut ared, queued(0, 0, 1000, Ecn::NotEct, 0), false, &mut Stock::default());
        ared.red.hold(average);
        ared
    }

    /// max_p after each of the first adaptations.
    fn adaptations(ared: &mut Ared, count: u64) -> Vec<f64> {
        let half_seconds = 1..=count;
        half_seconds
            .map(|n| {
                ared.catch_up(n * SECOND / 2);
                ared.red.law.max_p
            })
            .collect()
    }

    /// By a quarter up to 0.04, by 0.01 from there on.
    #[test]
    fn above_the_band_max_p_grows() {
        let expected = [0.025, 0.03125, 0.039_062_5, 0.048_828_125, 0.058_828_125, 0.068_828_125];
        let found = adaptations(&mut held_at(11.1), 6);
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
        assert_eq!(adaptations(&mut held_at(11.1), 1000).last(), Some(&0.5));
    }

    #[test]
    fn below_the_band_max_p_shrinks() {
        let found = adaptations(&mut held_at(8.9), 7);
        let expected = [0.018, 0.0162, 0.014_58, 0.013_122, 0.011_809_8, 0.010_628_82, 0.01];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn within_the_band_max_p_stays() {
        assert_eq!(adaptations(&mut held_at(9.1), 9), [0.02; 9]);
        assert_eq!(adaptations(&mut held_at(10.9), 9), [0.02; 9]);
    }

    /// In half a second the link could have sent 625 packets: 0.9992^625 = 0.6065, which takes 18 to 10.9, within the
    /// band, and 14 to 8.5, below it.
    #[test]
    fn an_idle_link_adapts_as_its_average_sinks() {
        for (average, expected) in [(19.0, [0.025, 0.0225]), (18.0, [0.02, 0.018]), (14.0, [0.018, 0.0162])] {
            let mut ared = held_at(0.0);
            while ared.dequeue(0, &mut Stock::default()).is_some() {}
            ared.red.hold(average);
            let found = adaptations(&mut ared, 2);
            assert!(
                found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12),
                "{average}: {found:?}"
            );
        }
    }

    /// A year has 63 million adaptations.
    #[test]
    fn years_without_packets_take_no_time() {
        let mut ared = held_at(1e9);
        while ared.dequeue(0, &mut Stock::default()).is_some() {}
        (ared.red.law.w_q, ared.red.law.max_p) = (1e-6, 0.5);
        ared.red.hold(1e9);
        ared.catch_up(Nanos::MAX / 2);
        assert_eq!(ared.red.law.max_p, 0.01);
    }
}
