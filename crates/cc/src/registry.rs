//! Names to controllers. It imports the algorithms; nothing below imports it.

use crate::algorithms::adaptive_aimd::{self, AdaptiveAimd};
use crate::algorithms::bbr::{self, Bbr};
use crate::algorithms::bbr3::{self, Bbr3};
use crate::algorithms::bic::{self, Bic};
use crate::algorithms::compound::{self, Compound};
use crate::algorithms::copa::{self, Copa};
use crate::algorithms::cubic::{self, Cubic};
use crate::algorithms::dctcp::{self, Dctcp};
use crate::algorithms::ehstcp::{self, EHstcp};
use crate::algorithms::hstcp::{self, Hstcp};
use crate::algorithms::htcp::{self, Htcp};
use crate::algorithms::hybla::{self, Hybla};
use crate::algorithms::hyun_jang::{self, HyunJang};
use crate::algorithms::illinois::{self, Illinois};
use crate::algorithms::ledbat::{self, Ledbat};
use crate::algorithms::ledbat_plus_plus::{self, LedbatPlusPlus};
use crate::algorithms::prague::{self, Prague};
use crate::algorithms::reno::{self, Reno};
use crate::algorithms::scalable::{self, Scalable};
use crate::algorithms::vegas::{self, Vegas};
use crate::algorithms::veno::{self, Veno};
use crate::algorithms::westwood::{self, Westwood};
use crate::algorithms::yeah::{self, Yeah};
use crate::declare::TypedParams;
use crate::params::{Error, Info, Params, Value};
use crate::{Ack, Classic, CongestionControl, Flow, Lost, Signal, Start};

/// Lists the algorithms once: their names, how they are built, and the enum that dispatches to them.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident($type:ty): $($info:path => $build:path),+;)+) => {
        /// Any algorithm, dispatched without a pointer.
        ///
        /// ```
        /// use fullpipe_cc::{CongestionControl, Controller, Flow, Signal, build};
        ///
        /// let mut flows: Vec<Controller> = vec![build("newreno", &[], 20.0)?, build("cubic", &[], 20.0)?];
        /// for cc in &mut flows {
        ///     cc.on_congestion(&Flow::at(0).cwnd_limited(true), Signal::Loss);
        /// }
        /// assert_eq!((flows[0].cwnd(), flows[1].cwnd()), (10.0, 14.0));
        /// assert!(matches!(flows[1], Controller::Cubic(_)));
        /// # Ok::<(), fullpipe_cc::params::Error>(())
        /// ```
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is no heap here; who needs small states boxes the large ones")]
        #[non_exhaustive]
        pub enum Controller { $($(#[$doc])* $variant($type),)+ }

        /// Every algorithm.
        pub const ALL: &[&Info] = &[$($(&$info,)+)+];

        /// Builds the algorithm called `name` with the parameters `given`, to begin as `start` has it.
        ///
        /// # Errors
        /// An unknown algorithm or parameter, or a value outside its range.
        pub fn build<'n>(name: &'n str, given: &[(&'n str, Value)], start: impl Into<Start>)
            -> Result<Controller, Error<'n>> {
            $($(if name == $info.name {
                return Ok(Controller::$variant($build(&Params::checked(&$info, given)?, start)));
            })+)+
            Err(Error::UnknownAlgorithm(name))
        }

        impl CongestionControl for Controller {
            #[inline]
            fn cwnd(&self) -> f64 { match self { $(Controller::$variant(c) => c.cwnd(),)+ } }
            #[inline]
            fn ssthresh(&self) -> f64 { match self { $(Controller::$variant(c) => c.ssthresh(),)+ } }
            #[inline]
            fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
                match self { $(Controller::$variant(c) => c.on_ack(flow, ack),)+ }
            }
            fn pacing_rate(&self) -> Option<f64> { match self { $(Controller::$variant(c) => c.pacing_rate(),)+ } }
            fn send_quantum(&self) -> u64 { match self { $(Controller::$variant(c) => c.send_quantum(),)+ } }
            fn takes_rate_samples(&self) -> bool {
                match self { $(Controller::$variant(c) => c.takes_rate_samples(),)+ }
            }
            fn rules_recovery(&self) -> bool { match self { $(Controller::$variant(c) => c.rules_recovery(),)+ } }
            fn holds_back(&self) -> bool { match self { $(Controller::$variant(c) => c.holds_back(),)+ } }
            fn on_sent(&mut self, flow: &Flow) { match self { $(Controller::$variant(c) => c.on_sent(flow),)+ } }
            fn on_lost(&mut self, flow: &Flow, lost: &Lost) {
                match self { $(Controller::$variant(c) => c.on_lost(flow, lost),)+ }
            }
            fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
                match self { $(Controller::$variant(c) => c.on_congestion(flow, signal),)+ }
            }
            fn on_recovered(&mut self, flow: &Flow) {
                match self { $(Controller::$variant(c) => c.on_recovered(flow),)+ }
            }
            fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
                match self { $(Controller::$variant(c) => c.on_undo(cwnd, ssthresh),)+ }
            }
            fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
                match self { $(Controller::$variant(c) => c.on_restart(cwnd, ssthresh),)+ }
            }
            fn on_limit(&mut self, cwnd: f64) {
                match self { $(Controller::$variant(c) => c.on_limit(cwnd),)+ }
            }
            fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Controller::$variant(c) => c.inspect(visit),)+ }
            }
        }
    };
}

algorithms! {
    /// Tahoe, Reno and NewReno: one window policy.
    Reno(Classic<Reno>): reno::TAHOE => Reno::controller, reno::RENO => Reno::controller, reno::NEWRENO => Reno::controller;
    /// Vegas.
    Vegas(Vegas): vegas::VEGAS => Vegas::controller;
    /// HighSpeed TCP.
    Hstcp(Classic<Hstcp>): hstcp::HSTCP => Hstcp::controller;
    /// Scalable TCP.
    Scalable(Classic<Scalable>): scalable::SCALABLE => Scalable::controller;
    /// BIC.
    Bic(Classic<Bic>): bic::BIC => Bic::controller;
    /// Adaptive AIMD.
    AdaptiveAimd(Classic<AdaptiveAimd>): adaptive_aimd::ADAPTIVE_AIMD => AdaptiveAimd::controller;
    /// Hyun and Jang's Reno with extra segments.
    HyunJang(HyunJang): hyun_jang::HYUN_JANG => HyunJang::controller;
    /// eHSTCP.
    EHstcp(EHstcp): ehstcp::EHSTCP => EHstcp::controller;
    /// CUBIC.
    Cubic(Classic<Cubic>): cubic::CUBIC => Cubic::controller;
    /// H-TCP.
    Htcp(Classic<Htcp>): htcp::HTCP => Htcp::controller;
    /// Westwood+.
    Westwood(Classic<Westwood>): westwood::WESTWOOD => Westwood::controller;
    /// Illinois.
    Illinois(Classic<Illinois>): illinois::ILLINOIS => Illinois::controller;
    /// Veno.
    Veno(Classic<Veno>): veno::VENO => Veno::controller;
    /// YeAH.
    Yeah(Yeah): yeah::YEAH => Yeah::controller;
    /// Hybla.
    Hybla(Classic<Hybla>): hybla::HYBLA => Hybla::controller;
    /// DCTCP.
    Dctcp(Classic<Dctcp>): dctcp::DCTCP => Dctcp::controller;
    /// Prague.
    Prague(Prague): prague::PRAGUE => Prague::controller;
    /// LEDBAT.
    Ledbat(Ledbat): ledbat::LEDBAT => Ledbat::controller;
    /// LEDBAT++.
    LedbatPlusPlus(LedbatPlusPlus): ledbat_plus_plus::LEDBAT_PLUS_PLUS => LedbatPlusPlus::controller;
    /// Copa.
    Copa(Copa): copa::COPA => Copa::controller;
    /// Compound TCP.
    Compound(Compound): compound::COMPOUND => Compound::controller;
    /// BBR as Linux has it.
    Bbr(Bbr): bbr::BBR => Bbr::controller;
    /// BBRv3.
    Bbr3(Bbr3): bbr3::BBR3 => Bbr3::controller;
}

/// Builds the algorithm that `params` configure, to begin as `start` has it.
///
/// # Errors
/// A value outside its range.
pub fn build_typed<P: TypedParams>(params: &P, start: impl Into<Start>) -> Result<Controller, Error<'static>> {
    build(P::INFO.name, params.values().as_ref(), start)
}

/// The algorithm called `name`.
pub fn find(name: &str) -> Option<&'static Info> {
    ALL.iter().copied().find(|info| info.name == name)
}
