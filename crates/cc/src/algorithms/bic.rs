//! BIC: binary search for the window at which the last loss occurred, then a growing probe beyond it.
//!
//! Source: L. Xu, K. Harfoush, I. Rhee, *Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks*, INFOCOM
//! 2004. Above `low_window`, with `max` the window at the last loss, the increase per round trip is
//!
//! - below max: (max - w)/2, at most s_max (additive increase), at least s_min (binary search);
//! - beyond max: 1, 2, 4, ... up to s_max, as slow start would (max probing); then s_max.
//!
//! A loss cuts the window by the fraction beta and sets max to the window lost at; if that is lower than the max before,
//! max is set to the middle between it and the cut window (fast convergence). Below `low_window` everything is Reno's.
//!
//! # Deviations and choices
//!
//! - max is recorded at every loss. The pseudo-code leaves it alone below low_window, where it would keep a value from
//!   a much larger window.
//! - Fast convergence compares with the last max found. In the pseudo-code max probing has overwritten it with "default
//!   max", an arbitrarily large number, so that the comparison after probing would always hold.
//! - A timeout counts as a loss for max, and an ECN mark is answered as a loss is (the paper is silent).
//! - `search = "smooth"` gives the steps of the Linux module that ns-2 carries (`tcp_bic`), for comparison with it:
//!   below max floor((max - w)/divisor), at most s_max, and s_min where that is 1 or 0; beyond max s_min for the first
//!   `divisor` segments, then (w - max)/(divisor - 1), at most s_max. All times `gain`: the module divides by an
//!   estimate of segments per ACK that begins at 2 and, in whole sixteenths, sticks at 31/16 when every segment is
//!   acknowledged by itself, so that it grows nearly twice as fast as its constants imply (`gain = 1.9375`).

use crate::declare::{TypedParams, choices, params};
use crate::params::{Group, Info, Params};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of BIC.
    pub struct BicParams for BIC {
        s_max: f64 = number(32.0, 1.0, 1e6), "segments per round trip",
            "Largest increase.",
            "Xu et al. 2004, preset parameters: Smax = 32 (ns-2's Linux module: max_increment = 16)";
        s_min: f64 = number(0.01, 1e-6, 1.0), "segments per round trip",
            "Smallest increase.",
            "Xu et al. 2004, preset parameters: Smin = 0.01 (ns-2's Linux module: B/smooth_part = 4/20)";
        beta: f64 = number(0.125, 0.01, 0.9), "1",
            "Fraction of the window cut at a loss above low_window.",
            "Xu et al. 2004, preset parameters: beta = 0.125 (ns-2's Linux module: 1 - 819/1024 = 0.2002)";
        low_window: f64 = number(14.0, 1.0, 1e6), "segments",
            "Window below which the algorithm is Reno.",
            "Xu et al. 2004, preset parameters: low_window = 14";
        fast_convergence: bool = flag(true), "1",
            "Fast convergence: release bandwidth if the window at a loss is below the previous one.",
            "Xu et al. 2004, fast convergence";
        divisor: f64 = number(2.0, 2.0, 64.0), "1",
            "Fraction of the distance to the last maximum per RTT, as a divisor.",
            "Xu et al. 2004, binary search: the middle, 2 (ns-2's Linux module: B = 4)";
        gain: f64 = number(1.0, 0.01, 100.0), "1",
            "Factor on every increase above low_window.",
            "not in the paper; ns-2's Linux module: 31/16, its delayed-ACK ratio with an ACK per segment";
        search: BicSearch = choice(&["binary", "smooth"]), "1",
            "The paper's binary search and slow-start-like probing, or the smooth steps of ns-2's Linux module.",
            "Xu et al. 2004, binary search and max probing";
        abe: bool = ABE;
    }
}

/// Way in which BIC looks for the window.
///
/// ```
/// use fullpipe_cc::algorithms::bic::{BicParams, BicSearch};
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal, build_typed};
///
/// let flow = Flow::at(0).cwnd_limited(true);
/// for (search, step) in [(BicSearch::Binary, 6.25), (BicSearch::Smooth, 6.0)] {
///     let mut cc = build_typed(&BicParams { search, ..BicParams::default() }, 100.0)?;
///     cc.on_congestion(&flow, Signal::Loss);
///     cc.on_ack(&flow, &Ack::of(1, 1.0));
///     assert_eq!(cc.cwnd(), 87.5 + step / 87.5, "half of the distance to 100, whole where it is smooth");
/// }
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BicSearch {
    /// The paper's binary search, and beyond the last maximum probing like slow start.
    Binary,
    /// The smooth steps of ns-2's Linux module.
    Smooth,
}

choices! { BicSearch { Binary = "binary", Smooth = "smooth" } }

/// BIC.
pub const BIC: Info = Info {
    name: "bic",
    paper: "L. Xu, K. Harfoush, I. Rhee, Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks, \
            INFOCOM 2004",
    group: Group::Loss,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: BicParams::PARAMS,
};

/// The response of BIC.
///
/// ```
/// use fullpipe_cc::algorithms::bic::{BIC, Bic};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Bic::controller(&Params::defaults(&BIC), 128.0);
/// let flow = Flow::at(0).cwnd_limited(true);
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 112.0, "1/8 less");
/// cc.on_ack(&flow, &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 112.0 + 8.0 / 112.0, "half of the distance to 128 in a round trip");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bic {
    s_max: f64,
    s_min: f64,
    beta: f64,
    low_window: f64,
    divisor: f64,
    gain: f64,
    fast_convergence: bool,
    smooth: bool,
    /// Window to search for: that at the last loss, less the part that fast convergence released.
    max: f64,
    phase: SearchPhase,
}

/// Stage of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SearchPhase {
    /// Towards the last maximum.
    Search,
    /// Beyond it: `step` segments in this round trip, until the window reaches `until`.
    Probe { step: f64, until: f64 },
}

impl Bic {
    /// BIC in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Bic> {
        let given = BicParams::read(params);
        let response = Bic {
            s_max: given.s_max,
            s_min: given.s_min,
            beta: given.beta,
            low_window: given.low_window,
            divisor: given.divisor,
            gain: given.gain,
            fast_convergence: given.fast_convergence,
            smooth: given.search == BicSearch::Smooth,
            max: 0.0,
            phase: SearchPhase::Search,
        };
        Classic::new(start, response).with_abe(params)
    }

    /// Segments to add in this round trip, at window `w`.
    fn step(&mut self, w: f64) -> f64 {
        if self.smooth { self.smooth_step(w) } else { self.binary_step(w) }
    }

    /// Xu et al.: binary search, additive increase, max probing.
    fn binary_step(&mut self, w: f64) -> f64 {
        if self.phase == SearchPhase::Search {
            if w < self.max {
                return ((self.max - w) / self.divisor).max(self.s_min).min(self.s_max);
            }
            self.phase = SearchPhase::Probe { step: 1.0, until: w + 1.0 };
        }
        let SearchPhase::Probe { step, until } = &mut self.phase else { unreachable!("set above") };
        if w >= *until {
            *step = (*step * 2.0).min(self.s_max);
            *until = w + *step;
        }
        *step
    }

    /// The steps of the Linux module.
    fn smooth_step(&self, w: f64) -> f64 {
        let beyond = w - self.max;
        if beyond < 0.0 {
            let parts = (-beyond / self.divisor) as u64 as f64;
            return if parts <= 1.0 { self.s_min } else { parts.min(self.s_max) };
        }
        if beyond < self.divisor { self.s_min } else { (beyond / (self.divisor - 1.0)).min(self.s_max) }
    }
}

impl Response for Bic {
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        if w < self.low_window {
            return 1.0 / w;
        }
        self.gain * self.step(w) / w
    }

    fn decrease(&mut self, w: f64, _flow: &Flow, _signal: Signal) -> f64 {
        self.max = if self.fast_convergence && w < self.max { w * (2.0 - self.beta) / 2.0 } else { w };
        self.phase = SearchPhase::Search;
        if w < self.low_window { w / 2.0 } else { w * (1.0 - self.beta) }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("max_window", self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::params::Value;
    use crate::testing::FLOW;

    fn after_loss_at(w: f64, given: &[(&str, Value)]) -> Classic<Bic> {
        let mut cc = Bic::controller(&Params::checked(&BIC, given).unwrap(), w);
        cc.on_congestion(&FLOW, Signal::Loss);
        cc
    }

    fn step_at(cc: &mut Classic<Bic>, w: f64) -> f64 {
        cc.response.increase(w, &FLOW, &Ack::default()) * w
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// Binary search and additive increase: lost at 1000, cut by 1/8 to 875. The middle, 62.5 away, is further than Smax: +32 a round trip.
    /// At 960 the middle is 20 away; at 999.99 Smin = 0.01 holds.
    #[test]
    fn additive_increase_then_binary_search() {
        let mut cc = after_loss_at(1000.0, &[]);
        assert_eq!(cc.cwnd(), 875.0);
        for (w, step) in [(875.0, 32.0), (936.0, 32.0), (960.0, 20.0), (990.0, 5.0), (999.99, 0.01)] {
            assert!(close(step_at(&mut cc, w), step), "at {w}: {}", step_at(&mut cc, w));
        }
    }

    /// Max probing: beyond the maximum 1, 2, 4, 8, 16, 32, then 32 for ever; a step lasts until it has been taken.
    #[test]
    fn max_probing_doubles_up_to_s_max() {
        let mut cc = after_loss_at(1000.0, &[]);
        for (w, step) in [(1000.0, 1.0), (1001.0, 2.0), (1003.0, 4.0), (1007.0, 8.0), (1015.0, 16.0), (1031.0, 32.0)] {
            for within in [w, w + 0.5 * step, w + 0.99 * step] {
                assert!(close(step_at(&mut cc, within), step), "at {within}");
            }
        }
        assert!(close(step_at(&mut cc, 1062.9), 32.0));
        assert!(close(step_at(&mut cc, 1063.0), 32.0), "no more than Smax");
    }

    /// Fast convergence: lost at 1000, then at 800: the new search ends at the middle of 800 and 700, 750.
    #[test]
    fn fast_convergence_gives_up_half_of_the_cut() {
        let mut cc = after_loss_at(1000.0, &[]);
        assert_eq!(cc.response.decrease(800.0, &FLOW, Signal::Loss), 700.0);
        assert_eq!(cc.response.max, 750.0);
        let mut off = after_loss_at(1000.0, &[("fast_convergence", Value::Flag(false))]);
        off.response.decrease(800.0, &FLOW, Signal::Loss);
        assert_eq!(off.response.max, 800.0);
        let mut again = after_loss_at(1000.0, &[]);
        again.response.decrease(1000.0, &FLOW, Signal::Loss);
        assert_eq!(again.response.max, 1000.0, "no lower than before");
        let mut told = None;
        again.response.inspect(&mut |name, value| told = Some((name, value)));
        assert_eq!(told, Some(("max_window", 1000.0)));
    }

    /// Reno mode: below low_window = 14 Reno: 12 to 6, then 1/6 per ACK.
    #[test]
    fn is_reno_below_low_window() {
        let mut cc = after_loss_at(12.0, &[]);
        assert_eq!(cc.cwnd(), 6.0);
        assert!(close(step_at(&mut cc, 6.0), 1.0));
    }

    /// ns-2's Linux module (max_increment 16, B 4, smooth_part 20, beta 819/1024), lost at 1000: at 840 the distance over 4
    /// is 40, so 16; at 952, 12; at 993, 1.75 rounds to 1 and the step is B/smooth_part = 0.2. Beyond: 0.2 below 1004;
    /// there 4/3, at 1012, 12/3 = 4; from 1048 on, 16. All times 31/16.
    #[test]
    fn can_be_set_like_the_linux_module() {
        let given = [
            ("s_max", Value::Number(16.0)),
            ("s_min", Value::Number(0.2)),
            ("beta", Value::Number(1.0 - 819.0 / 1024.0)),
            ("divisor", Value::Number(4.0)),
            ("gain", Value::Number(31.0 / 16.0)),
            ("search", Value::Name("smooth")),
        ];
        let mut cc = after_loss_at(1000.0, &given);
        assert!(close(cc.cwnd(), 1000.0 * 819.0 / 1024.0));
        let below = [(840.0, 16.0), (952.0, 12.0), (993.0, 0.2)];
        let beyond = [(1000.0, 0.2), (1003.9, 0.2), (1004.0, 4.0 / 3.0), (1012.0, 4.0), (1048.0, 16.0)];
        for (w, step) in below.into_iter().chain(beyond) {
            assert!(close(step_at(&mut cc, w), step * 1.9375), "at {w}: {}", step_at(&mut cc, w));
        }
    }
}
