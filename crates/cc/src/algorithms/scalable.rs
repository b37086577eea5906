//! Scalable TCP: a fixed gain per ACK and a small cut, so that recovery takes as many round trips at any rate.
//!
//! Source: T. Kelly, *Scalable TCP: Improving Performance in Highspeed Wide Area Networks*, ACM SIGCOMM Computer
//! Communication Review 33(2), 2003. Per ACK: cwnd += a; per congestion event: cwnd -= b cwnd; at or below the legacy
//! window `lwnd` both are Reno's. After a cut the window is back after log(1/(1-b)) / log(1+a) = 13.4 round trips.
//!
//! # Deviations and choices
//!
//! - None by default. Just above 16 segments a gain of 0.01 per ACK is less than Reno's, and so is the cut: in the
//!   relation of window to loss rate the two meet near there.
//! - `at_least_reno` gives the increase of the Linux module in ns-2, max(a, 1/w), for comparison with it (there a =
//!   0.02, and the cut is b at every window: `low_window = 1`).

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of Scalable TCP.
    pub struct ScalableParams for SCALABLE {
        a: f64 = number(0.01, 0.0, 1.0), "segments",
            "Gain per ACK above low_window.",
            "Kelly 2003: a = 0.01 (ns-2's Linux module: 0.02)";
        b: f64 = number(0.125, 0.0, 0.99), "1",
            "Fraction of the window cut at a congestion event above low_window.",
            "Kelly 2003: b = 1/8";
        low_window: f64 = number(16.0, 1.0, 1e6), "segments",
            "Legacy window: window up to which the algorithm is Reno.",
            "Kelly 2003: lwnd = 16 segments";
        at_least_reno: bool = flag(false), "1",
            "Gain per ACK never below Reno's 1/cwnd.",
            "not in the paper; the Linux module that ns-2 carries";
        abe: bool = ABE;
    }
}

/// Scalable TCP.
pub const SCALABLE: Info = Info {
    name: "scalable",
    paper: "T. Kelly, Scalable TCP: Improving Performance in Highspeed Wide Area Networks, ACM CCR 33(2), 2003",
    group: Group::Loss,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: ScalableParams::PARAMS,
};

/// The response of Scalable TCP.
///
/// ```
/// use fullpipe_cc::algorithms::scalable::{SCALABLE, Scalable};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Scalable::controller(&Params::defaults(&SCALABLE), 128.0);
/// let flow = Flow::at(0).cwnd_limited(true);
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 112.0, "b = 1/8");
/// cc.on_ack(&flow, &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 112.01, "a = 0.01");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scalable {
    a: f64,
    b: f64,
    low_window: f64,
    at_least_reno: bool,
}

impl Scalable {
    /// Scalable TCP in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Scalable> {
        let given = ScalableParams::read(params);
        let response =
            Scalable { a: given.a, b: given.b, low_window: given.low_window, at_least_reno: given.at_least_reno };
        Classic::new(start, response).with_abe(params)
    }
}

impl Response for Scalable {
    /// a per ACK; Reno's 1/w in the legacy region.
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        if w <= self.low_window {
            return 1.0 / w;
        }
        if self.at_least_reno && self.a * w < 1.0 { 1.0 / w } else { self.a }
    }

    /// w(1-b); Reno's w/2 in the legacy region.
    fn decrease(&mut self, w: f64, _flow: &Flow, _signal: Signal) -> f64 {
        if w <= self.low_window { w / 2.0 } else { w * (1.0 - self.b) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::params::Value;
    use crate::testing::FLOW;

    fn acks(cc: &mut Classic<Scalable>, count: u32) {
        for _ in 0..count {
            cc.on_ack(&FLOW, &Ack { acked: 1, credit: 1.0, ..Ack::default() });
        }
    }

    /// Kelly: from 1000, a loss leaves 875; then 100 ACKs give one segment.
    #[test]
    fn cut_of_an_eighth_then_a_segment_per_hundred_acks() {
        let mut cc = Scalable::controller(&Params::defaults(&SCALABLE), 1000.0);
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (875.0, 875.0));
        acks(&mut cc, 100);
        assert!((cc.cwnd() - 876.0).abs() < 1e-9);
    }

    /// Kelly: recovery takes log(1-b)/log(1+a) round trips, -ln(.875)/ln(1.01) = 13.42 with the defaults, whatever
    /// the window; with w ACKs in a round trip, 14 round trips suffice and 13 do not.
    #[test]
    fn recovers_in_about_thirteen_and_a_half_round_trips() {
        for peak in [100.0, 10_000.0] {
            let mut cc = Scalable::controller(&Params::defaults(&SCALABLE), peak);
            cc.on_congestion(&FLOW, Signal::Loss);
            for rtt in 1..=14 {
                let window = cc.cwnd();
                acks(&mut cc, window as u32);
                assert_eq!(cc.cwnd() >= peak, rtt == 14, "window {} after {rtt} round trips", cc.cwnd());
            }
        }
    }

    /// Kelly: at or below lwnd = 16 segments the legacy algorithm, Reno, holds: 16 to 8, then 1/8 per ACK.
    #[test]
    fn is_reno_at_the_legacy_window() {
        let mut cc = Scalable::controller(&Params::defaults(&SCALABLE), 16.0);
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!(cc.cwnd(), 8.0);
        acks(&mut cc, 1);
        assert_eq!(cc.cwnd(), 8.125);
    }

    /// ns-2's Linux module: 1/min(w, 50) per ACK, and 1/8 off at every window.
    #[test]
    fn can_be_set_like_the_linux_module() {
        let given =
            [("a", Value::Number(0.02)), ("low_window", Value::Number(1.0)), ("at_least_reno", Value::Flag(true))];
        let params = Params::checked(&SCALABLE, &given).unwrap();
        let mut response = Scalable::controller(&params, 16.0).response;
        assert_eq!(response.increase(25.0, &FLOW, &Ack::default()), 0.04);
        assert_eq!(response.increase(200.0, &FLOW, &Ack::default()), 0.02);
        assert_eq!(response.decrease(16.0, &FLOW, Signal::Loss), 14.0);
    }
}
