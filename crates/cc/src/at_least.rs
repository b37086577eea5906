//! A least window, for senders whose own is not RFC 5681's.

use crate::{Ack, CongestionControl, Flow, Lost, Signal};
use core::fmt::Display;

/// Algorithm whose window and threshold have a minimum in segments, such as the 2 of QUIC (RFC 9002 section 7.2:
/// `kMinimumWindow`), where RFC 5681 section 3.1 has 1 after a timeout.
///
/// The algorithm itself is as it is without: after a timeout it grows from its own window, and the sender has the least one until that is
/// more.
///
/// ```
/// use fullpipe_cc::{AtLeast, CongestionControl, Flow, Signal, build};
///
/// let mut cc = AtLeast::new(2.0, build("newreno", &[], 10.0)?);
/// cc.on_congestion(&Flow::at(0).flight_size(10).cwnd_limited(true), Signal::Timeout);
/// assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 5.0));
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AtLeast<C> {
    segments: f64,
    policy: C,
}

impl<C: CongestionControl> AtLeast<C> {
    /// Minimum in segments; at least 1.
    pub fn new(segments: f64, policy: C) -> AtLeast<C> {
        AtLeast { segments: segments.max(1.0), policy }
    }
}

impl<C: CongestionControl> CongestionControl for AtLeast<C> {
    fn cwnd(&self) -> f64 {
        self.policy.cwnd().max(self.segments)
    }

    fn ssthresh(&self) -> f64 {
        self.policy.ssthresh().max(self.segments)
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.policy.pacing_rate()
    }

    fn send_quantum(&self) -> u64 {
        self.policy.send_quantum()
    }

    fn takes_rate_samples(&self) -> bool {
        self.policy.takes_rate_samples()
    }

    fn rules_recovery(&self) -> bool {
        self.policy.rules_recovery()
    }

    fn holds_back(&self) -> bool {
        self.policy.holds_back()
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.policy.on_ack(flow, ack);
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        self.policy.on_congestion(flow, signal);
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.policy.on_recovered(flow);
    }

    fn on_sent(&mut self, flow: &Flow) {
        self.policy.on_sent(flow);
    }

    fn on_lost(&mut self, flow: &Flow, lost: &Lost) {
        self.policy.on_lost(flow, lost);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.policy.on_undo(cwnd, ssthresh);
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        self.policy.on_restart(cwnd, ssthresh);
    }

    fn on_limit(&mut self, cwnd: f64) {
        self.policy.on_limit(cwnd);
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.policy.fault()
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.policy.inspect(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::{NEWRENO, Reno};
    use crate::params::Params;

    /// RFC 9002 section 7.2 has 2 segments. A timeout at 3 leaves Reno 1 and a threshold of 2 (RFC 5681 equation 4): slow
    /// start goes to 2, congestion avoidance on from there by 1/2. The sender has 2, 2, 2.5.
    #[test]
    fn the_window_is_never_less() {
        let mut cc = AtLeast::new(2.0, Reno::controller(&Params::defaults(&NEWRENO), 3.0));
        let flow = Flow::at(0).cwnd_limited(true);
        assert_eq!(cc.cwnd(), 3.0);
        cc.on_congestion(&flow, Signal::Timeout);
        let mut seen = std::vec![cc.cwnd()];
        for _ in 0..2 {
            cc.on_ack(&flow, &Ack::of(1, 1.0));
            seen.push(cc.cwnd());
        }
        assert_eq!(seen, [2.0, 2.0, 2.5]);
        assert_eq!(AtLeast::new(0.0, Reno::controller(&Params::defaults(&NEWRENO), 1.0)).cwnd(), 1.0);
    }
}
