//! Hybla: a sender whose window grows per second as fast as that of a Reno flow with a short round trip.
//!
//! The paper was not read. The rules are those that other texts and implementations quote.
//!
//! Source: C. Caini and R. Firrincieli, *TCP Hybla: a TCP Enhancement for Heterogeneous Networks*, International Journal of
//! Satellite Communications and Networking 22(5), 2004. With rho = RTT/RTT0, at least 1, per ACK:
//!
//! - slow start: W += 2^rho - 1;
//! - congestion avoidance: W += rho^2/W, and so rho^2 per RTT;
//! - a loss halves, as Reno's does.
//!
//! # Deviations and choices
//!
//! - **RTT** in rho is the flow's least, so that a queue does not make it grow faster. (Linux: the least smoothed RTT.)
//! - **RTT0** is 25 ms, as in the paper's tests and in Linux; `rtt_ref` changes it (ns-3: 50 ms).
//! - **Slow start** adds at most 2^16 - 1 segments per ACK (rho up to 16 in the exponent), as in Linux, and does not
//!   go beyond ssthresh. It is Hybla's own: `slow_start` does not act.
//! - **The first window** and ssthresh, which the paper has rho times as large, are the scenario's. Linux begins with rho
//!   segments.
//! - **Packet spacing** is the sender's: `pacing = "on"`.
//! - **Before the first RTT sample** rho is 1.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::time::seconds;
use crate::{ABE, Ack, Classic, Flow, Response, Signal, SlowStart, Start};

params! {
    /// Parameters of Hybla.
    pub struct HyblaParams for HYBLA {
        rtt_ref: f64 = number(0.025, 1e-3, 10.0), "s",
            "Reference RTT, RTT0: flows with longer RTTs grow as a flow with RTT0.",
            "Caini and Firrincieli 2004; Linux: 25 ms";
        abe: bool = ABE;
    }
}

/// Hybla.
pub const HYBLA: Info = Info {
    name: "hybla",
    paper: "C. Caini, R. Firrincieli, TCP Hybla: a TCP Enhancement for Heterogeneous Networks, \
            Int. J. of Satellite Communications and Networking 22(5), 2004",
    group: Group::Loss,
    recovery: "sack",
    own_slow_start: true,
    ecn: None,
    params: HyblaParams::PARAMS,
};

/// Slow start's gain is at most 2^16 - 1 per ACK.
const MOST_DOUBLINGS: f64 = 16.0;

/// The response of Hybla.
///
/// ```
/// use fullpipe_cc::algorithms::hybla::{HYBLA, Hybla};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow};
///
/// let mut cc = Hybla::controller(&Params::defaults(&HYBLA), 10.0);
/// cc.on_ack(&Flow::at(0).cwnd_limited(true).min_rtt(Some(50_000_000)), &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 13.0, "rho = 50 ms / 25 ms, and 2^rho - 1 = 3");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hybla {
    rtt_ref: f64,
    rho: f64,
}

impl Hybla {
    /// Hybla in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Hybla> {
        let given = HyblaParams::read(params);
        let start = Start { slow_start: SlowStart::Standard, ..start.into() };
        Classic::new(start, Hybla { rtt_ref: given.rtt_ref, rho: 1.0 }).with_abe(params)
    }
}

impl Response for Hybla {
    #[inline]
    fn observe(&mut self, flow: &Flow, _ack: &Ack) {
        if let Some(rtt) = flow.min_rtt {
            self.rho = (seconds(rtt) / self.rtt_ref).max(1.0);
        }
    }

    #[inline]
    fn start(&mut self, w: f64, ssthresh: f64, _flow: &Flow, ack: &Ack) -> f64 {
        let gain = libm::exp2(self.rho.min(MOST_DOUBLINGS)) - 1.0;
        (ack.credit * gain).min(ssthresh - w)
    }

    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        self.rho * self.rho / w
    }

    fn decrease(&mut self, w: f64, _flow: &Flow, _signal: Signal) -> f64 {
        w / 2.0
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("rho", self.rho);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::params::Value;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND;

    /// Increase of an ACK at 100 segments, in slow start and above ssthresh.
    fn gains(rtt_ms: u64, given: &[(&str, Value)]) -> (f64, f64) {
        let params = Params::checked(&HYBLA, given).unwrap();
        let gain = |settled: bool| {
            let mut cc = Hybla::controller(&params, 100.0);
            if settled {
                cc.set_window(100.0);
            }
            cc.on_ack(&FLOW.min_rtt(Some(rtt_ms * MILLISECOND)), &Ack::of(1, 1.0));
            cc.cwnd() - 100.0
        };
        (gain(false), gain(true))
    }

    fn assert_near(found: (f64, f64), expected: (f64, f64)) {
        assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
    }

    /// 100 ms: rho 4, 2^4 - 1 = 15 per ACK and 16 per RTT, 16/100 per ACK of 100; with RTT0 = 50 ms rho 2, 3 and 4. At 25 ms and
    /// below it is Reno.
    #[test]
    fn grows_with_the_round_trip() {
        assert_near(gains(100, &[]), (15.0, 0.16));
        assert_near(gains(100, &[("rtt_ref", Value::Number(0.05))]), (3.0, 0.04));
        assert_near(gains(25, &[]), (1.0, 0.01));
        assert_near(gains(10, &[]), (1.0, 0.01));
        // rho 1.5: 2^1.5 - 1 = 1.828427..., 2.25/100.
        assert_near(gains(50, &[("rtt_ref", Value::Number(0.1 / 3.0))]), (1.828_427_124_746_19, 0.0225));
        // A satellite: rho 24; 2^16 - 1, and 576/100.
        assert_near(gains(600, &[]), (65_535.0, 5.76));
    }

    /// With ssthresh 105 the seventh ACK adds 14, not 15, and the eighth 16/105.
    #[test]
    fn slow_start_ends_at_ssthresh() {
        let mut cc = Hybla::controller(&Params::defaults(&HYBLA), 210.0);
        let flow = FLOW.min_rtt(Some(100 * MILLISECOND));
        cc.on_congestion(&flow, Signal::Timeout);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 105.0));
        let windows: [f64; 8] = core::array::from_fn(|_| {
            cc.on_ack(&flow, &Ack::of(1, 1.0));
            cc.cwnd()
        });
        assert_eq!(windows[..7], [16.0, 31.0, 46.0, 61.0, 76.0, 91.0, 105.0]);
        assert!((windows[7] - (105.0 + 16.0 / 105.0)).abs() < 1e-12);
    }

    #[test]
    fn a_loss_halves() {
        let mut cc = Hybla::controller(&Params::defaults(&HYBLA), 210.0);
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!(cc.cwnd(), 105.0);
    }
}
