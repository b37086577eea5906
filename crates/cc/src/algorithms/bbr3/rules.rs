//! Rules of BBRv3 that a caller may replace one at a time.

use core::fmt::Display;

/// Rule with one argument and one value.
///
/// Example: see [`Bbr3Rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bbr3Rule {
    /// Pacing gain of a state (section 5.6.1), by the number of the state: 0 Startup, 1 Drain, 2 DOWN, 3 CRUISE, 4 REFILL, 5 UP, 6 ProbeRTT.
    PacingGain,
    /// Most losses of an amount in flight with which it is not too high, segments (section 5.5.10.2).
    ToleratedLoss,
    /// Bound of the amount in flight after congestion that found this amount, segments (sections 5.5.10.2 and 5.5.10.3).
    InflightAfterLoss,
    /// Bound of the rate after a round with a loss at this rate, segments a second (section 5.5.10.3).
    BwAfterLoss,
    /// Time until the next probe for bandwidth, in nanoseconds, from a random number in [0, 1) (section 5.3.3.8.3).
    ProbeWait,
}

impl Bbr3Rule {
    /// All rules.
    pub const ALL: [Bbr3Rule; 5] = [
        Bbr3Rule::PacingGain,
        Bbr3Rule::ToleratedLoss,
        Bbr3Rule::InflightAfterLoss,
        Bbr3Rule::BwAfterLoss,
        Bbr3Rule::ProbeWait,
    ];
}

/// Rules of a connection. Equal arguments give equal values: the code may ask more than once.
///
/// ```
/// use fullpipe_cc::algorithms::bbr3::{BBR3, Bbr3, Bbr3Rule, Bbr3Rules};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{CongestionControl, Start};
///
/// #[derive(Clone, PartialEq)]
/// struct Slower;
/// impl Bbr3Rules for Slower {
///     fn apply(&self, rule: Bbr3Rule, _argument: f64, own: f64) -> f64 {
///         if rule == Bbr3Rule::PacingGain { own / 2.0 } else { own }
///     }
/// }
/// let start = Start::from(10.0).rtt(100_000_000);
/// let cc = Bbr3::with_rules(&Params::defaults(&BBR3), start, Slower);
/// assert_eq!(cc.pacing_rate(), Some(2.77 / 2.0 * 10.0 / 0.1));
/// ```
pub trait Bbr3Rules: Clone + PartialEq {
    /// Value of a rule; `own` is that of the draft.
    fn apply(&self, rule: Bbr3Rule, argument: f64, own: f64) -> f64;

    /// Failure that ends the run, if there is one.
    fn fault(&self) -> Option<&dyn Display> {
        None
    }
}

/// Rules of the draft, or of the variant.
///
/// ```
/// use fullpipe_cc::algorithms::bbr3::{Bbr3Rule, Bbr3Rules, DraftRules};
///
/// assert!(Bbr3Rule::ALL.iter().all(|&rule| DraftRules.apply(rule, 10.0, 7.0) == 7.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DraftRules;

impl Bbr3Rules for DraftRules {
    #[inline(always)]
    fn apply(&self, _: Bbr3Rule, _: f64, own: f64) -> f64 {
        own
    }
}
