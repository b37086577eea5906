//! Veno: Reno that asks Vegas's backlog at a loss whether the loss was of congestion, and grows half as fast once there is one.
//!
//! Source: C. P. Fu and S. C. Liew, *TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks*, IEEE JSAC 21(2),
//! 2003. The paper was not read beyond its abstract; the rules are those that implementations quote. With the backlog
//! N = Actual (RTT - BaseRTT) = cwnd (1 - BaseRTT/RTT):
//!
//! - N < beta: a segment more per RTT; otherwise one in every second RTT;
//! - at a loss with N < beta, taken for a random one, 4/5 of the window are kept; otherwise half.
//!
//! # Deviations and choices
//!
//! - **RTT** in N is the smoothed RTT; Linux takes the newest sample. **BaseRTT** is the least RTT of the flow.
//! - **N at a loss** is that of the moment, with the window lost at.
//! - **One segment in every second RTT** is half of Reno's gain at every ACK, where the paper and Linux leave out every
//!   other one; the windows differ by half a segment.
//! - **A timeout** halves, as Reno does: the paper changes fast retransmit only. Linux keeps 4/5 there too where N < beta.
//! - **An ECN mark** is never a random loss, and takes half.
//! - **Without an RTT sample** N is 0.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of Veno.
    pub struct VenoParams for VENO {
        beta: f64 = number(3.0, 0.0, 1e6), "segments",
            "Backlog below which a loss counts as random.",
            "Fu and Liew 2003: beta = 3";
        random_kept: f64 = number(0.8, 0.1, 0.99), "1",
            "Multiplicative decrease factor of a random loss.",
            "Fu and Liew 2003: 4/5";
        abe: bool = ABE;
    }
}

/// Veno.
pub const VENO: Info = Info {
    name: "veno",
    paper: "C. P. Fu, S. C. Liew, TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks, IEEE JSAC 21(2), 2003",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: VenoParams::PARAMS,
};

/// The response of Veno.
///
/// ```
/// use fullpipe_cc::algorithms::veno::{VENO, Veno};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{CongestionControl, Flow, Signal};
///
/// let mut cc = Veno::controller(&Params::defaults(&VENO), 100.0);
/// let flow = Flow::at(0).cwnd_limited(true).min_rtt(Some(50_000_000));
/// cc.on_congestion(&flow.srtt(Some(51_000_000)), Signal::Loss);
/// assert_eq!(cc.cwnd(), 80.0, "N = 100 (1 - 50/51) is below 3: a random loss");
/// cc.on_congestion(&flow.srtt(Some(60_000_000)), Signal::Loss);
/// assert_eq!(cc.cwnd(), 40.0, "N = 80 (1 - 50/60) = 13: congestion");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Veno {
    beta: f64,
    random_kept: f64,
    /// N, segments, when it was last asked for.
    backlog: f64,
}

impl Veno {
    /// Veno in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Veno> {
        let given = VenoParams::read(params);
        let response = Veno { beta: given.beta, random_kept: given.random_kept, backlog: 0.0 };
        Classic::new(start, response).with_abe(params)
    }

    /// Whether there is a backlog, at window `w`.
    #[inline]
    fn is_congested(&mut self, w: f64, flow: &Flow) -> bool {
        let rtts = flow.min_rtt.zip(flow.srtt);
        self.backlog = rtts.map_or(0.0, |(base, rtt)| w * (1.0 - base as f64 / rtt.max(base).max(1) as f64));
        self.backlog >= self.beta
    }
}

impl Response for Veno {
    #[inline]
    fn increase(&mut self, w: f64, flow: &Flow, _ack: &Ack) -> f64 {
        if self.is_congested(w, flow) { 0.5 / w } else { 1.0 / w }
    }

    fn decrease(&mut self, w: f64, flow: &Flow, signal: Signal) -> f64 {
        let is_random = signal == Signal::Loss && !self.is_congested(w, flow);
        w * if is_random { self.random_kept } else { 0.5 }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlog", self.backlog);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND;

    fn flow(rtt_ms: u64) -> Flow {
        FLOW.min_rtt(Some(100 * MILLISECOND)).srtt(Some(rtt_ms * MILLISECOND))
    }

    fn after(window: f64, rtt_ms: u64, signal: Signal) -> (f64, f64) {
        let mut cc = Veno::controller(&Params::defaults(&VENO), window);
        cc.on_congestion(&flow(rtt_ms), signal);
        (cc.ssthresh(), cc.response.backlog)
    }

    /// 40 segments, 100 ms: at 105 ms N = 40 (1 - 100/105) = 1.905, and 32 are left; at 110 ms 3.636, and 20.
    #[test]
    fn a_loss_without_a_backlog_takes_a_fifth() {
        let (kept, backlog) = after(40.0, 105, Signal::Loss);
        assert!((backlog - 1.9048).abs() < 1e-4 && kept == 32.0, "{kept} {backlog}");
        let (kept, backlog) = after(40.0, 110, Signal::Loss);
        assert!((backlog - 3.6364).abs() < 1e-4 && kept == 20.0, "{kept} {backlog}");
    }

    /// N = 60 (1 - 100/105) = 2.857 is none, 64 (1 - 100/105) = 3.048 is one; a timeout and a mark halve without one.
    #[test]
    fn from_three_segments_there_is_a_backlog() {
        assert_eq!(after(60.0, 105, Signal::Loss).0, 48.0);
        assert_eq!(after(64.0, 105, Signal::Loss).0, 32.0);
        assert_eq!((after(40.0, 105, Signal::Timeout).0, after(40.0, 105, Signal::Ecn).0), (20.0, 20.0));
    }

    /// An ACK at 40 segments adds 1/40, and half of that with a backlog.
    #[test]
    fn grows_half_as_fast_with_a_backlog() {
        for (rtt_ms, gain) in [(105, 0.025), (110, 0.0125)] {
            let mut cc = Veno::controller(&Params::defaults(&VENO), 40.0);
            cc.set_window(40.0);
            cc.on_ack(&flow(rtt_ms), &Ack::of(1, 1.0));
            assert_eq!(cc.cwnd(), 40.0 + gain);
        }
    }
}
