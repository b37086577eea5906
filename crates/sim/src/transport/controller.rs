//! Algorithm of the registry as a connection of the simulator holds it.
//!
//! Two things differ from [`fullpipe_cc::Controller`]. Large states are on the heap: a run may have a hundred thousand flows, and the memory of
//! an idle one would be 1.5 kB instead of 1.1 kB. And the arguments of an ACK are built after the dispatch, so that the compiler leaves out
//! fields that the algorithm does not read.

use super::policy::{Guard, Input, Policy};
use crate::scenario::Algorithm;
use fullpipe_cc::algorithms::{
    adaptive_aimd::AdaptiveAimd, bbr::Bbr, bbr3::Bbr3, bic::Bic, compound::Compound, copa::Copa, cubic::Cubic,
    dctcp::Dctcp, ehstcp::EHstcp, hstcp::Hstcp, htcp::Htcp, hybla::Hybla, hyun_jang::HyunJang, illinois::Illinois,
    ledbat::Ledbat, ledbat_plus_plus::LedbatPlusPlus, prague::Prague, reno::Reno, scalable::Scalable, vegas::Vegas,
    veno::Veno, westwood::Westwood, yeah::Yeah,
};
use fullpipe_cc::{Ack, Classic, CongestionControl, Flow, Lost, Signal, Start, Started, build};

/// Declares the enum, its conversion from the registry's controller, and its dispatch.
macro_rules! controllers {
    ($($variant:ident($type:ty)),+ $(,)?) => {
        /// Algorithm of the registry, dispatched without a pointer.
        ///
        /// The tag is a separate byte. A tag that the compiler hides in a field costs a packet 1 % more to read.
        #[derive(Debug)]
        #[repr(u8)]
        pub enum Controller {
            $(#[doc = "See its file in `fullpipe_cc::algorithms`."] $variant($type),)+
            /// Algorithm behind one of the slow starts around it.
            Started(Box<Started<fullpipe_cc::Controller>>),
            /// Algorithm that is not listed here.
            Other(Box<fullpipe_cc::Controller>),
        }

        impl From<fullpipe_cc::Controller> for Controller {
            fn from(controller: fullpipe_cc::Controller) -> Controller {
                match controller {
                    $(fullpipe_cc::Controller::$variant(cc) => Controller::$variant(cc.into()),)+
                    other => Controller::Other(Box::new(other)),
                }
            }
        }

        macro_rules! dispatched {
            ($controller:expr, $cc:ident => $call:expr) => {
                match $controller {
                    $(Controller::$variant($cc) => $call,)+
                    Controller::Started($cc) => $call,
                    Controller::Other($cc) => $call,
                }
            };
        }
    };
}

controllers! {
    Reno(Classic<Reno>),
    Vegas(Vegas),
    Hstcp(Classic<Hstcp>),
    Scalable(Classic<Scalable>),
    Bic(Classic<Bic>),
    AdaptiveAimd(Classic<AdaptiveAimd>),
    HyunJang(HyunJang),
    EHstcp(Box<EHstcp>),
    Cubic(Classic<Cubic>),
    Htcp(Classic<Htcp>),
    Westwood(Classic<Westwood>),
    Illinois(Classic<Illinois>),
    Veno(Classic<Veno>),
    Yeah(Yeah),
    Hybla(Classic<Hybla>),
    Dctcp(Classic<Dctcp>),
    Prague(Prague),
    Ledbat(Ledbat),
    LedbatPlusPlus(LedbatPlusPlus),
    Copa(Copa),
    Compound(Compound),
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
}

impl Policy for Controller {
    const MAY_FAIL: bool = false;

    fn begin(algorithm: &Algorithm, start: Start, _: Guard) -> Controller {
        let cc = build(&algorithm.name, &algorithm.params, start).expect("a checked scenario");
        let own = algorithm.info().is_some_and(|info| info.own_slow_start);
        if Started::is_for(&start) && !own {
            return Controller::Started(Box::new(Started::new(cc, &start)));
        }
        cc.into()
    }

    #[inline(always)]
    fn acked(&mut self, input: impl Input) -> f64 {
        dispatched!(self, cc => {
            let (flow, ack) = input.put_together();
            cc.on_ack(&flow, &ack);
            cc.cwnd()
        })
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Controller::EHstcp(state) => size_of_val(&**state),
            Controller::Bbr(state) => size_of_val(&**state),
            Controller::Bbr3(state) => size_of_val(&**state),
            Controller::Started(state) => size_of_val(&**state),
            Controller::Other(state) => size_of_val(&**state),
            _ => 0,
        }
    }
}

impl CongestionControl for Controller {
    #[inline]
    fn cwnd(&self) -> f64 {
        dispatched!(self, cc => cc.cwnd())
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        dispatched!(self, cc => cc.ssthresh())
    }

    fn pacing_rate(&self) -> Option<f64> {
        dispatched!(self, cc => cc.pacing_rate())
    }

    fn send_quantum(&self) -> u64 {
        dispatched!(self, cc => cc.send_quantum())
    }

    fn takes_rate_samples(&self) -> bool {
        dispatched!(self, cc => cc.takes_rate_samples())
    }

    fn rules_recovery(&self) -> bool {
        dispatched!(self, cc => cc.rules_recovery())
    }

    fn holds_back(&self) -> bool {
        dispatched!(self, cc => cc.holds_back())
    }

    #[inline]
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        dispatched!(self, cc => cc.on_ack(flow, ack));
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        dispatched!(self, cc => cc.on_congestion(flow, signal));
    }

    fn on_recovered(&mut self, flow: &Flow) {
        dispatched!(self, cc => cc.on_recovered(flow));
    }

    /// Inlined, so that the compiler computes only the fields of `flow` that the algorithm reads.
    #[inline(always)]
    fn on_sent(&mut self, flow: &Flow) {
        dispatched!(self, cc => cc.on_sent(flow));
    }

    fn on_lost(&mut self, flow: &Flow, lost: &Lost) {
        dispatched!(self, cc => cc.on_lost(flow, lost));
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        dispatched!(self, cc => cc.on_undo(cwnd, ssthresh));
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        dispatched!(self, cc => cc.on_restart(cwnd, ssthresh));
    }

    fn on_limit(&mut self, cwnd: f64) {
        dispatched!(self, cc => cc.on_limit(cwnd));
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        dispatched!(self, cc => cc.inspect(visit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::registry;

    /// A flow's state is mostly this; ten thousand flows should stay in cache.
    #[test]
    fn controllers_are_small() {
        let size = size_of::<Controller>();
        assert!(size <= 320, "{size} bytes");
    }

    #[test]
    fn every_algorithm_of_the_registry_is_listed() {
        for info in registry::ALL {
            let controller = Controller::from(build(info.name, &[], 10.0).expect("defaults"));
            assert!(!matches!(controller, Controller::Other(_)), "{}", info.name);
        }
    }
}
