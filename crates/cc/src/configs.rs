//! Typed configurations: the parameters of each algorithm as the fields of a struct, beside the names and values that scenarios give.
//!
//! Defaults and ranges are those of the algorithm's [`Info`], and so is what is built: a [`Controller`] that no test can tell from the one of
//! the same names and values.
//!
//! ```
//! use fullpipe_cc::configs::{Bbr3, Config, Cubic, Variant};
//! use fullpipe_cc::params::{Error, Value};
//! use fullpipe_cc::{CongestionControl, Flow, Signal, build};
//!
//! let mut gentle = Cubic { beta: 0.85, ..Cubic::default() }.build(100.0)?;
//! let mut named = build("cubic", &[("beta", Value::Number(0.85))], 100.0)?;
//! for cubic in [&mut gentle, &mut named] {
//!     cubic.on_congestion(&Flow::at(0).flight_size(100).cwnd_limited(true), Signal::Loss);
//!     assert_eq!(cubic.cwnd(), 85.0);
//! }
//!
//! let refused = Cubic { beta: 1.5, ..Cubic::default() }.build(100.0).unwrap_err();
//! assert_eq!(refused.to_string(), "beta: not a number from 0.1 to 0.99");
//!
//! let linux = Bbr3 { variant: Variant::LinuxV3, ..Bbr3::default() }.build(10.0)?;
//! assert!(linux.pacing_rate().is_some());
//! # Ok::<(), Error>(())
//! ```
//!
//! A field that is an `Option` has another default with another field's value; `None` is that default.
//!
//! More parameters may come: a literal ends with `..Default::default()`.

use crate::algorithms::{
    adaptive_aimd, bbr, bbr3, bic, compound, copa, cubic, dctcp, ehstcp, hstcp, htcp, hybla, hyun_jang, illinois,
    ledbat, ledbat_plus_plus, prague, reno, scalable, vegas, veno, westwood, yeah,
};
use crate::params::{Error, Info, Kind, Param, Value};
use crate::registry::{self, Controller, Hold, Inline};
use crate::{Start, named};
use core::fmt::Debug;

/// The parameters of one algorithm.
pub trait Config: Clone + Debug + Default + PartialEq {
    /// What is known of the algorithm.
    const INFO: &'static Info;

    /// See [`Config::values`].
    type Values: AsRef<[(&'static str, Value)]>;

    /// Every parameter with its value, in the order of [`Info::params`]; without those left at a default that another decides on.
    fn values(&self) -> Self::Values;

    /// The algorithm with these parameters, to begin as `start` says.
    ///
    /// # Errors
    /// A value outside its range.
    fn build(&self, start: impl Into<Start>) -> Result<Controller, Error<'static>> {
        self.build_as::<Inline>(start)
    }

    /// [`Config::build`] of a controller whose large states are kept as `H` has it.
    ///
    /// # Errors
    /// As there.
    fn build_as<H: Hold>(&self, start: impl Into<Start>) -> Result<Controller<H>, Error<'static>> {
        registry::build_as(Self::INFO.name, self.values().as_ref(), start)
    }
}

/// Parameters that are given, `N` at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given<const N: usize> {
    values: [(&'static str, Value); N],
    count: usize,
}

impl<const N: usize> Given<N> {
    /// Those that have a value.
    fn of(fields: [(&'static str, Option<Value>); N]) -> Given<N> {
        let mut given = Given { values: [("", Value::Flag(false)); N], count: 0 };
        for (name, value) in fields {
            if let Some(value) = value {
                given.values[given.count] = (name, value);
                given.count += 1;
            }
        }
        given
    }
}

impl<const N: usize> AsRef<[(&'static str, Value)]> for Given<N> {
    fn as_ref(&self) -> &[(&'static str, Value)] {
        &self.values[..self.count]
    }
}

/// Lists the structs once: the algorithm that each configures, and its parameters.
macro_rules! configs {
    ($($(#[doc = $title:literal])+ $config:ident = $info:path { $($(#[doc = $doc:literal])+ $field:ident: $type:ty,)* })+) => {
        $(
            $(#[doc = $title])+
            #[derive(Clone, Debug, PartialEq)]
            pub struct $config {
                $($(#[doc = $doc])+ pub $field: $type,)*
                /// Has a literal end with `..Default::default()`, so that more parameters may come.
                #[doc(hidden)]
                pub more_may_come: (),
            }

            impl Default for $config {
                fn default() -> $config {
                    $config { $($field: Field::first(declared(&$info, stringify!($field))),)* more_may_come: () }
                }
            }

            impl Config for $config {
                const INFO: &'static Info = &$info;

                type Values = Given<{ <[&str]>::len(&[$(stringify!($field)),*]) }>;

                fn values(&self) -> Self::Values {
                    Given::of([$((stringify!($field), self.$field.value())),*])
                }
            }
        )+

        #[cfg(test)]
        const CHECKS: &[fn() -> &'static Info] = &[$(|| tests::check::<$config>(&[$(tests::Member {
            name: stringify!($field),
            doc: concat!($($doc),+),
            set: |config, which| Field::other(declared(&$info, stringify!($field)), which).map(|other| config.$field = other),
        }),*])),+];
    };
}

configs! {
    /// [Tahoe](crate::algorithms::reno).
    Tahoe = reno::TAHOE {
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Reno](crate::algorithms::reno).
    Reno = reno::RENO {
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [NewReno](crate::algorithms::reno).
    NewReno = reno::NEWRENO {
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Vegas](crate::algorithms::vegas).
    Vegas = vegas::VEGAS {
        /// Fewer than this in the queue: the window grows. 0 to 1000000 segments; 1 by default.
        alpha: f64,
        /// More than this in the queue: the window shrinks; not below alpha. 0 to 1000000 segments; 3 by default.
        beta: f64,
        /// More than this in the queue: slow start ends. 0 to 1000000 segments; 1 by default.
        gamma: f64,
        /// Fraction of the window cut at a loss. 0 to 0.9; 0.25 by default.
        loss_cut: f64,
        /// Round Diff to whole segments before comparing it. On by default.
        whole_segments: bool,
    }
    /// [HighSpeed TCP](crate::algorithms::hstcp).
    Hstcp = hstcp::HSTCP {
        /// At or below this window the algorithm is Reno. 1 to 1000 segments; 38 by default.
        low_window: f64,
        /// The window that the loss rate high_p sustains. 1001 to 1000000000 segments; 83000 by default.
        high_window: f64,
        /// The loss rate at which the window is high_window. 0.000000000001 to 0.01; 0.0000001 by default.
        high_p: f64,
        /// Fraction of the window cut at high_window. 0.01 to 0.5; 0.1 by default.
        high_decrease: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Scalable TCP](crate::algorithms::scalable).
    Scalable = scalable::SCALABLE {
        /// Gain per ACK above low_window. 0 to 1 segments; 0.01 by default.
        a: f64,
        /// Fraction of the window cut at a congestion event above low_window. 0 to 0.99; 0.125 by default.
        b: f64,
        /// Legacy window: at or below it the algorithm is Reno. 1 to 1000000 segments; 16 by default.
        low_window: f64,
        /// Gain per ACK never below Reno's 1/cwnd. Off by default.
        at_least_reno: bool,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [BIC](crate::algorithms::bic).
    Bic = bic::BIC {
        /// Largest increase. 1 to 1000000 segments per round trip; 32 by default.
        s_max: f64,
        /// Smallest increase. 0.000001 to 1 segments per round trip; 0.01 by default.
        s_min: f64,
        /// Fraction of the window cut at a loss above low_window. 0.01 to 0.9; 0.125 by default.
        beta: f64,
        /// Below this window the algorithm is Reno. 1 to 1000000 segments; 14 by default.
        low_window: f64,
        /// Release bandwidth when the window at a loss is below the one before. On by default.
        fast_convergence: bool,
        /// The search goes this part of the distance to the last maximum in a round trip. 2 to 64; 2 by default.
        divisor: f64,
        /// Factor on every increase above low_window. 0.01 to 100; 1 by default.
        gain: f64,
        /// The paper's binary search and slow-start-like probing, or the smooth steps of ns-2's Linux module.
        /// "binary" by default.
        search: Search,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Adaptive AIMD](crate::algorithms::adaptive_aimd).
    AdaptiveAimd = adaptive_aimd::ADAPTIVE_AIMD {
        /// Least factor kept of the window at a congestion event. 0.05 to 0.99; 0.5 by default.
        beta_min: f64,
        /// Greatest factor kept of the window; wins over a larger beta_min. 0.05 to 0.99; 0.8 by default.
        beta_max: f64,
        /// Part of RTTmax - RTTmin remembered past a congestion event. 0 to 1; 0.875 by default.
        fading: f64,
        /// What beta is computed from. "rtt" by default.
        estimator: Estimator,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Hyun and Jang's Reno with extra segments](crate::algorithms::hyun_jang).
    HyunJang = hyun_jang::HYUN_JANG {
        /// Factor by which cwnd + extra grows per round trip towards W_full. 1 to 2; 1.1 by default.
        a: f64,
        /// LSRTT/RTTmin above this means congestion. 1 to 10; 1.02 by default.
        alpha: f64,
        /// Part of the window at the onset of congestion that is taken as W_full. 0.01 to 1; 0.97 by default.
        beta: f64,
        /// The smoothing of the RTT: exponential, or the mean since a detected change. "ewma" by default.
        lsrtt: Lsrtt,
        /// Change of the RTT to detect, as a part of it; for lsrtt = "likelihood". 0.000001 to 10; 0.02 by default.
        lsrtt_shift: f64,
        /// Standard deviation of the RTT, as a part of it; for lsrtt = "likelihood". 0.000001 to 10; 0.01 by
        /// default.
        lsrtt_sigma: f64,
        /// Log-likelihood ratio beyond which the RTT has changed; for lsrtt = "likelihood". 0 to 1000000; 5 by
        /// default.
        lsrtt_threshold: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [eHSTCP](crate::algorithms::ehstcp).
    EHstcp = ehstcp::EHSTCP {
        /// Backlog from which the link counts as fully used. 0 to 1000000 segments; 10 by default.
        n_star: f64,
        /// Length of the safety check; 0 leaves it out. 0 to 1000 RTTmax; 5 by default.
        safety_rtts: f64,
        /// Never cut more than HighSpeed TCP would. Off by default.
        cap_beta: bool,
        /// At or below this window the algorithm is Reno. 1 to 1000 segments; 38 by default.
        low_window: f64,
        /// The window that the loss rate high_p sustains. 1001 to 1000000000 segments; 83000 by default.
        high_window: f64,
        /// The loss rate at which the window is high_window. 0.000000000001 to 0.01; 0.0000001 by default.
        high_p: f64,
        /// Fraction of the window cut at high_window. 0.01 to 0.5; 0.1 by default.
        high_decrease: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [CUBIC](crate::algorithms::cubic).
    Cubic = cubic::CUBIC {
        /// Steepness of the cubic. 0.000001 to 1000 segments/s^3; 0.4 by default.
        c: f64,
        /// Part of the window kept at a congestion event. 0.1 to 0.99; 0.7 by default.
        beta: f64,
        /// Release bandwidth when the window at a congestion event is below the one before. On by default.
        fast_convergence: bool,
        /// Keep the window at least as large as Reno's estimate. On by default.
        reno_friendly: bool,
        /// Let Reno's estimate grow by a segment a round trip once it has reached the window before the cut. On by
        /// default.
        alpha_to_one: bool,
        /// Count the window, W_max, and what the cubic is away from it in whole segments. Off by default.
        whole_segments: bool,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [H-TCP](crate::algorithms::htcp).
    Htcp = htcp::HTCP {
        /// Time since the last congestion event up to which the increase is Reno's. 0 to 1000000 s; 1 by default.
        delta_l: f64,
        /// Least part of the window kept at a congestion event. 0.05 to 0.99; 0.5 by default.
        beta_min: f64,
        /// Greatest part of the window kept; wins over a larger beta_min. 0.05 to 0.99; 0.8 by default.
        beta_max: f64,
        /// A relative change of throughput between events above this sets beta to beta_min. 0 to 1000000; 0.2 by
        /// default.
        throughput_change: f64,
        /// Part of RTTmax - RTTmin remembered past a congestion event. 0 to 1; 0.95 by default.
        fading: f64,
        /// The RTT at which RTT scaling changes nothing. 0.000001 to 1000 s; 0.1 by default.
        rtt_ref: f64,
        /// beta = RTTmin/RTTmax; otherwise beta_min. On by default.
        adaptive_backoff: bool,
        /// Scale the increase with RTTmin/rtt_ref. On by default.
        rtt_scaling: bool,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Westwood+](crate::algorithms::westwood).
    Westwood = westwood::WESTWOOD {
        /// What each of the two filters keeps at a sample. 0 to 0.99; 0.875 by default.
        memory: f64,
        /// A sample of the bandwidth takes longer than this, and than an RTT. 0 to 10 s; 0.05 by default.
        min_interval: f64,
        /// In fast recovery the window is half of what it was, and what was measured only after it. Off by default.
        halve_in_recovery: bool,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Illinois](crate::algorithms::illinois).
    Illinois = illinois::ILLINOIS {
        /// Growth per RTT at the greatest delay. 0.01 to 10 segments/RTT; 0.3 by default.
        alpha_min: f64,
        /// Growth per RTT without delay; wins over a larger alpha_min. 0.01 to 1000 segments/RTT; 10 by default.
        alpha_max: f64,
        /// Part of the window cut at a loss with little delay. 0 to 0.9; 0.125 by default.
        beta_min: f64,
        /// Part of the window cut at a loss with great delay; wins over a larger beta_min. 0 to 0.9; 0.5 by
        /// default.
        beta_max: f64,
        /// Below this window it is Reno. 0 to 1000000 segments; 15 by default.
        win_thresh: f64,
        /// RTTs without delay before the growth is alpha_max again. 1 to 1000 RTTs; 5 by default.
        theta: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Veno](crate::algorithms::veno).
    Veno = veno::VENO {
        /// A backlog below this is none. 0 to 1000000 segments; 3 by default.
        beta: f64,
        /// Part of the window kept at a loss without a backlog. 0.1 to 0.99; 0.8 by default.
        random_kept: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [YeAH](crate::algorithms::yeah).
    Yeah = yeah::YEAH {
        /// A queue above this is taken from the window. 0 to 1000000 segments; 80 by default.
        alpha: f64,
        /// Decongestion takes the queue divided by this. 1 to 100; 1 by default.
        gamma: f64,
        /// A loss takes at least 2^-delta of the window. 1 to 10; 3 by default.
        delta: f64,
        /// Decongestion takes at most 2^-epsilon of the window. 1 to 10; 1 by default.
        epsilon: f64,
        /// Queueing delay above the base RTT divided by this is congestion. 0.1 to 1000; 8 by default.
        phi: f64,
        /// After so long a slow mode a loss halves. 0 to 1000000 RTTs; 16 by default.
        rho: f64,
        /// After more than so many RTTs of fast mode cwnd_reno is forgotten. 0 to 1000000 RTTs; 50 by default.
        zeta: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [Hybla](crate::algorithms::hybla).
    Hybla = hybla::HYBLA {
        /// RTT0, whose growth in time is that of every longer round trip. 0.001 to 10 s; 0.025 by default.
        rtt_ref: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [DCTCP](crate::algorithms::dctcp).
    Dctcp = dctcp::DCTCP {
        /// How far alpha moves towards the fraction marked, once a window. 0 to 1; 0.0625 by default.
        g: f64,
        /// Alpha at the beginning; 1 halves the window at the first mark. 0 to 1; 1 by default.
        first_alpha: f64,
    }
    /// [Prague](crate::algorithms::prague).
    Prague = prague::PRAGUE {
        /// How far alpha moves towards the fraction marked, once a virtual round trip. 0 to 1; 0.0625 by default.
        g: f64,
        /// Flows with a shorter RTT have the rate of one with this; 0 leaves it out. 0 to 1000 ms; 25 by default.
        virtual_rtt: f64,
        /// Round trips after which virtual_rtt governs. 0 to 1000000 round trips; 500 by default.
        transition: f64,
    }
    /// [LEDBAT](crate::algorithms::ledbat).
    Ledbat = ledbat::LEDBAT {
        /// Target queueing delay. 1 to 1000 ms; 100 by default.
        target: f64,
        /// Growth per round trip with an empty queue, in segments. 0.01 to 10; 1 by default.
        gain: f64,
        /// Largest excess of the window over the data in flight. 1 to 1000 segments; 1 by default.
        allowed_increase: f64,
    }
    /// [LEDBAT++](crate::algorithms::ledbat_plus_plus).
    LedbatPlusPlus = ledbat_plus_plus::LEDBAT_PLUS_PLUS {
        /// Target queueing delay. 1 to 1000 ms; 60 by default.
        target: f64,
        /// How strongly the window falls above the target. 0 to 10; 1 by default.
        constant: f64,
        /// Empty the queue periodically. On by default.
        slowdowns: bool,
    }
    /// [Copa](crate::algorithms::copa).
    Copa = copa::COPA {
        /// About 1/delta segments stay in the queue. 0.001 to 10 1/segments; 0.5 by default.
        delta: f64,
        /// Decrease delta while other flows fill the queue. Off by default.
        competitive: bool,
    }
    /// [Compound TCP](crate::algorithms::compound).
    Compound = compound::COMPOUND {
        /// Factor of the second window's growth. 0 to 10; 0.125 by default.
        alpha: f64,
        /// Fraction of the whole window cut at a loss. 0.01 to 0.99; 0.5 by default.
        beta: f64,
        /// Exponent of the second window's growth. 0 to 1; 0.75 by default.
        k: f64,
        /// How fast the second window falls, per segment in the queue. 0 to 100; 1 by default.
        zeta: f64,
        /// From so many segments in the queue on the second window falls. 0 to 1000000 segments; 30 by default.
        gamma: f64,
        /// Below it the second window does not grow. 1 to 1000000 segments; 41 by default.
        low_window: f64,
        /// An ECN mark leaves at least 0.8 of the window (0.85 with CUBIC). Off by default.
        abe: bool,
    }
    /// [BBR as Linux has it](crate::algorithms::bbr).
    Bbr = bbr::BBR {}
    /// [BBRv3](crate::algorithms::bbr3).
    Bbr3 = bbr3::BBR3 {
        /// Whose rules: the draft's, or those of Google's Linux module. "draft-06" by default.
        variant: Variant,
        /// Time without a lower RTT after which it is probed for. 0.1 to 1000 s; 5 by default.
        probe_rtt_interval: f64,
        /// Pacing gain of Drain. 0.01 to 1; 0.5 by default.
        drain_pacing_gain: Option<f64>,
        /// Pacing gain of ProbeBW_DOWN. 0.01 to 1; 0.9 by default.
        down_pacing_gain: Option<f64>,
    }
}

/// How a connection with BIC looks for the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Search {
    /// The paper's binary search, and beyond the last maximum probing like slow start.
    Binary,
    /// The smooth steps of ns-2's Linux module.
    Smooth,
}

/// What adaptive AIMD computes beta from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Estimator {
    /// The least RTT and the greatest.
    Rtt,
    /// The throughput before a loss and the least RTT.
    Throughput,
}

/// How Hyun and Jang's scheme smooths the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lsrtt {
    /// Exponentially.
    Ewma,
    /// The mean since a change that a likelihood ratio detects.
    Likelihood,
}

/// Whose rules BBRv3 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variant {
    /// draft-ietf-ccwg-bbr-06's.
    Draft06,
    /// Those of Google's Linux module (branch v3).
    LinuxV3,
}

named!(Search { Binary = "binary", Smooth = "smooth" });
named!(Estimator { Rtt = "rtt", Throughput = "throughput" });
named!(Lsrtt { Ewma = "ewma", Likelihood = "likelihood" });
named!(Variant { Draft06 = "draft-06", LinuxV3 = "linux-v3" });

/// The type of a field.
trait Field: Sized {
    /// The parameter's default.
    fn first(param: &'static Param) -> Self;

    /// As it is given; `None` where the default holds, on which another field decides.
    fn value(&self) -> Option<Value>;

    /// Another value, in the parameter's range or out of it, if there is one.
    #[cfg(test)]
    fn other(param: &'static Param, which: tests::Which) -> Option<Self>;
}

impl Field for f64 {
    fn first(param: &'static Param) -> f64 {
        let Some(Value::Number(default)) = param.default else { unfit(param) };
        default
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Number(*self))
    }

    #[cfg(test)]
    fn other(param: &'static Param, which: tests::Which) -> Option<f64> {
        let (Kind::Number { min, max }, Some(Value::Number(default))) = (param.kind, param.default) else {
            unfit(param)
        };
        Some(match which {
            tests::Which::Allowed if default == max => min,
            tests::Which::Allowed => default + (max - default).min(1.0) / 2.0,
            tests::Which::Refused => max + max.abs() + 1.0,
        })
    }
}

/// A number whose default another field decides on.
impl Field for Option<f64> {
    fn first(_: &'static Param) -> Option<f64> {
        None
    }

    fn value(&self) -> Option<Value> {
        self.map(Value::Number)
    }

    #[cfg(test)]
    fn other(param: &'static Param, which: tests::Which) -> Option<Option<f64>> {
        f64::other(param, which).map(Some)
    }
}

impl Field for bool {
    fn first(param: &'static Param) -> bool {
        let Some(Value::Flag(default)) = param.default else { unfit(param) };
        default
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Flag(*self))
    }

    #[cfg(test)]
    fn other(param: &'static Param, which: tests::Which) -> Option<bool> {
        (which == tests::Which::Allowed).then(|| !bool::first(param))
    }
}

/// The fields that are one of several names.
macro_rules! choices {
    ($($choice:ident),*) => {
        $(impl Field for $choice {
            fn first(param: &'static Param) -> $choice {
                let Kind::Choice([first, ..]) = param.kind else { unfit(param) };
                $choice::find(first).unwrap_or_else(|| unfit(param))
            }

            fn value(&self) -> Option<Value> {
                Some(Value::Name(self.name()))
            }

            #[cfg(test)]
            fn other(param: &'static Param, which: tests::Which) -> Option<$choice> {
                let Kind::Choice(names) = param.kind else { unfit(param) };
                assert_eq!(names, $choice::ALL.map($choice::name));
                (which == tests::Which::Allowed).then(|| $choice::ALL[1])
            }
        })*
    };
}

choices!(Search, Estimator, Lsrtt, Variant);

/// The parameter called `name`.
fn declared(info: &'static Info, name: &str) -> &'static Param {
    info.params.iter().find(|param| param.name == name).unwrap_or_else(|| panic!("{} has no {name}", info.name))
}

/// A field of the wrong type: a fault of this file.
fn unfit(param: &Param) -> ! {
    panic!("{} is {:?}", param.name, param.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::registry::ALL;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    /// Parameters whose default another one decides on.
    const DECIDED_BY_ANOTHER: [&str; 2] = ["drain_pacing_gain", "down_pacing_gain"];

    /// A value of a field that is not its default.
    #[derive(Clone, Copy, PartialEq)]
    pub(super) enum Which {
        Allowed,
        Refused,
    }

    /// A field of `C`.
    pub(super) struct Member<C> {
        pub name: &'static str,
        pub doc: &'static str,
        pub set: fn(&mut C, Which) -> Option<()>,
    }

    /// Holds one struct against its algorithm: fields, their documentation, defaults, and what is built of each.
    pub(super) fn check<C: Config>(members: &[Member<C>]) -> &'static Info {
        let info = C::INFO;
        let names: Vec<_> = members.iter().map(|member| member.name).collect();
        assert_eq!(names, info.params.iter().map(|param| param.name).collect::<Vec<_>>(), "{}", info.name);
        let is_given = |param: &&Param| !DECIDED_BY_ANOTHER.contains(&param.name);
        let defaults: Vec<_> = info.params.iter().filter(is_given).map(|param| (param.name, default(param))).collect();
        assert_eq!(C::default().values().as_ref(), defaults, "{}", info.name);
        assert_eq!(built(&C::default()), Ok(named(info, &[])));
        for (place, (member, param)) in members.iter().zip(info.params).enumerate() {
            assert_eq!(member.doc.trim(), documented(param), "{}", info.name);
            let mut config = C::default();
            (member.set)(&mut config, Which::Allowed).expect("another value");
            let changed = *config.values().as_ref().iter().find(|value| value.0 == param.name).expect("it is given");
            let mut expected = defaults.clone();
            match expected.iter().position(|value| value.0 == param.name) {
                Some(at) => {
                    assert_ne!(changed, defaults[at], "{}", info.name);
                    expected[at] = changed;
                }
                None => expected.insert(place.min(expected.len()), changed),
            }
            assert_eq!(config.values().as_ref(), expected, "{}", info.name);
            assert_eq!(built(&config), Ok(named(info, &[changed])), "{} {}", info.name, param.name);
            if (member.set)(&mut config, Which::Refused).is_some() {
                assert_eq!(built(&config), Err(Error::BadValue(param)));
            }
        }
        info
    }

    fn default(param: &Param) -> Value {
        param.default.expect("a default")
    }

    /// All of a controller's state.
    fn built(config: &impl Config) -> Result<String, Error<'static>> {
        config.build(10.0).map(|controller| format!("{controller:?}"))
    }

    fn named(info: &Info, given: &[(&str, Value)]) -> String {
        format!("{:?}", build(info.name, given, 10.0).expect("a controller"))
    }

    /// What a field's documentation has to be.
    fn documented(param: &Param) -> String {
        let unit = if param.unit == "1" { String::new() } else { format!(" {}", param.unit) };
        match (param.kind, default(param)) {
            (Kind::Number { min, max }, Value::Number(default)) => {
                format!("{} {min} to {max}{unit}; {default} by default.", param.doc)
            }
            (_, Value::Flag(default)) => format!("{} {} by default.", param.doc, if default { "On" } else { "Off" }),
            (_, Value::Name(name)) => format!("{} {name:?} by default.", param.doc),
            (kind, _) => panic!("{kind:?}"),
        }
    }

    #[test]
    fn every_algorithm_has_one() {
        let configured: Vec<_> = CHECKS.iter().map(|check| check().name).collect();
        assert_eq!(configured, ALL.iter().map(|info| info.name).collect::<Vec<_>>());
    }

    /// A default of the draft's that is given holds with Linux' rules too; one that is not given is Linux'.
    #[test]
    fn what_is_given_wins_over_the_variants_default() {
        let linux = Bbr3 { variant: Variant::LinuxV3, ..Bbr3::default() };
        let given = Bbr3 { drain_pacing_gain: Some(0.5), ..linux.clone() };
        let variant = ("variant", Value::Name("linux-v3"));
        assert_eq!(built(&linux), Ok(named(Bbr3::INFO, &[variant])));
        assert_eq!(built(&given), Ok(named(Bbr3::INFO, &[variant, ("drain_pacing_gain", Value::Number(0.5))])));
        assert_ne!(built(&linux), built(&given));
    }

    /// What a parameter does shows in what is built: typed and named could otherwise agree by both dropping it.
    #[test]
    fn a_field_reaches_the_controller() {
        assert_ne!(built(&Cubic { c: 1.0, ..Cubic::default() }), built(&Cubic::default()));
        assert_ne!(built(&Bic { search: Search::Smooth, ..Bic::default() }), built(&Bic::default()));
        assert_ne!(built(&Reno { abe: true, ..Reno::default() }), built(&Reno::default()));
    }
}
