//! Westwood+: at a loss the window becomes the measured bandwidth times the least RTT, the amount that the path holds without a queue.
//!
//! Source: L. A. Grieco and S. Mascolo, *Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion
//! Control*, ACM SIGCOMM Computer Communication Review 34(2), 2004. The paper was not read; the rules are those that
//! implementations quote:
//!
//! - a bandwidth sample is the data delivered in an RTT over its time; a low-pass filter smooths the samples: BWE;
//! - at a loss ssthresh = BWE RTTmin, and cwnd is no more than that; at a timeout ssthresh likewise, and cwnd = 1;
//! - the increase is Reno's.
//!
//! One flow that keeps a link busy measures the link's rate: after a loss its window is the bandwidth-delay product, and the
//! queue is just empty, whatever the buffer.
//!
//! # Deviations and choices
//!
//! - **The filter** is Linux's: two in a row, each keeping 7/8 (`memory`), both beginning at the first sample. The paper
//!   has one that keeps 0.9.
//! - **A sample** takes longer than the newest RTT and longer than 50 ms (`min_interval`), as in Linux; the paper has
//!   an RTT. It counts segments as the cumulative ACK passes them, so that the one in which a recovery runs ends with it.
//! - **A sender that its window does not limit** gives no samples, so that its own rate does not replace that of the path. The paper
//!   assumes a sender that always has data.
//! - **RTTmin** is the least RTT of the flow. Linux resets it after a timeout.
//! - **ssthresh** at a loss or a mark is at most the window; at a timeout, where the window may be small because of the
//!   timeout before, it is the measured value.
//! - **Before the first sample** the cut is Reno's.
//! - **In fast recovery** the window already has its value for the time after it. Linux halves the window there, and sets it when
//!   recovery is over, as `halve_in_recovery` does. The burst that then leaves overflows a small buffer.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::LastAck;
use crate::time::{Nanos, SECOND, seconds};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of Westwood+.
    pub struct WestwoodParams for WESTWOOD {
        memory: f64 = number(0.875, 0.0, 0.99), "1",
            "Weight of the old value in each of the two filters.",
            "Linux: 7/8 (Grieco and Mascolo 2004: one filter, 0.9)";
        min_interval: f64 = number(0.05, 0.0, 10.0), "s",
            "Smallest duration of a bandwidth sample, which also lasts at least an RTT.",
            "Linux: 50 ms";
        halve_in_recovery: bool = flag(false), "1",
            "Halve the window in fast recovery, and set it from the bandwidth estimate only afterwards.",
            "Linux (Grieco and Mascolo 2004: from the estimate at once)";
        abe: bool = ABE;
    }
}

/// Westwood+.
pub const WESTWOOD: Info = Info {
    name: "westwood",
    paper: "L. A. Grieco, S. Mascolo, Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion \
            Control, ACM CCR 34(2), 2004",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: WestwoodParams::PARAMS,
};

/// The response of Westwood+.
///
/// ```
/// use fullpipe_cc::algorithms::westwood::{WESTWOOD, Westwood};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Westwood::controller(&Params::defaults(&WESTWOOD), 100.0);
/// let flow = |now, delivered| Flow::at(now).delivered(delivered).cwnd_limited(true).min_rtt(Some(80_000_000));
/// cc.on_ack(&flow(0, 0), &Ack::of(1, 0.0).rtt(Some(100_000_000)));
/// cc.on_ack(&flow(200_000_000, 100), &Ack::of(1, 0.0).rtt(Some(100_000_000)));
/// cc.on_congestion(&flow(200_000_000, 100), Signal::Loss);
/// assert_eq!(cc.cwnd(), 40.0, "BWE RTTmin = 100 / 0.2 s * 0.08 s");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Westwood {
    memory: f64,
    min_interval: Nanos,
    halve_in_recovery: bool,
    /// In a recovery that began with half of the window.
    halved: bool,
    rtt: Option<Nanos>,
    /// Start of the current sample, and segments delivered before it.
    sample: Option<(Nanos, u64)>,
    last_ack: LastAck,
    bandwidth: Option<Bandwidth>,
}

/// Segments a second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bandwidth {
    once_filtered: f64,
    filtered: f64,
}

impl Westwood {
    /// Westwood+ in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Westwood> {
        let given = WestwoodParams::read(params);
        let response = Westwood {
            memory: given.memory,
            min_interval: (given.min_interval * SECOND as f64) as Nanos,
            halve_in_recovery: given.halve_in_recovery,
            halved: false,
            rtt: None,
            sample: None,
            last_ack: LastAck::NONE,
            bandwidth: None,
        };
        Classic::new(start, response).with_abe(params)
    }

    fn take_in(&mut self, sample: f64) {
        let filter = |value: f64, sample: f64| self.memory * value + (1.0 - self.memory) * sample;
        self.bandwidth = Some(match self.bandwidth {
            None => Bandwidth { once_filtered: sample, filtered: sample },
            Some(Bandwidth { once_filtered, filtered }) => {
                let once_filtered = filter(once_filtered, sample);
                Bandwidth { once_filtered, filtered: filter(filtered, once_filtered) }
            }
        });
    }

    /// Whether the application has limited the sender since the last ACK: it did not use its window, or was idle.
    fn is_limited(&self, flow: &Flow) -> bool {
        let idle = self.rtt.is_some_and(|rtt| self.last_ack.idle(flow) > 2 * rtt);
        idle || !(flow.cwnd_limited || flow.in_recovery)
    }

    /// BWE RTTmin, segments.
    fn capacity(&self, min_rtt: Option<Nanos>) -> Option<f64> {
        Some(self.bandwidth?.filtered * seconds(min_rtt?))
    }
}

impl Response for Westwood {
    #[inline]
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.rtt = ack.rtt.or(self.rtt);
        if self.is_limited(flow) {
            self.sample = None;
        }
        self.last_ack.note(flow);
        let (began, delivered) = *self.sample.get_or_insert((flow.now, flow.delivered));
        let elapsed = flow.now - began;
        if self.rtt.is_some_and(|rtt| elapsed > rtt.max(self.min_interval)) {
            self.take_in((flow.delivered - delivered) as f64 / seconds(elapsed));
            self.sample = Some((flow.now, flow.delivered));
        }
    }

    /// Reno's.
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        1.0 / w
    }

    fn decrease(&mut self, w: f64, flow: &Flow, signal: Signal) -> f64 {
        self.halved = self.halve_in_recovery && signal == Signal::Loss;
        match (self.capacity(flow.min_rtt), signal) {
            (None, _) => w / 2.0,
            (Some(_), Signal::Loss) if self.halved => w / 2.0,
            (Some(capacity), Signal::Timeout) => capacity,
            (Some(capacity), _) => capacity.min(w),
        }
    }

    fn window_after_recovery(&mut self, flow: &Flow) -> Option<f64> {
        if core::mem::take(&mut self.halved) { self.capacity(flow.min_rtt) } else { None }
    }

    fn undo(&mut self) {
        self.halved = false;
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("bandwidth_segments_per_s", self.bandwidth.map_or(f64::NAN, |bandwidth| bandwidth.filtered));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::testing::{Driver, FLOW};
    use crate::time::MILLISECOND;

    /// 80 ms after 80 ms a window of `segments`, with this RTT.
    fn windows(cc: &mut Classic<Westwood>, flow: &mut Flow, rtt_ms: u64, segments: &[u64]) {
        for &segments in segments {
            flow.now += 80 * MILLISECOND;
            flow.delivered += segments;
            let rtt = rtt_ms * MILLISECOND;
            flow.min_rtt = Some(flow.min_rtt.map_or(rtt, |least| least.min(rtt)));
            cc.on_ack(flow, &Ack::of(segments, 1.0).rtt(Some(rtt)));
        }
    }

    fn bandwidth(cc: &Classic<Westwood>) -> f64 {
        cc.response.bandwidth.unwrap().filtered
    }

    /// 80 segments in 80 ms are 1000/s, which both filters begin with; then 40 segments, 500/s: 7/8 1000 + 1/8 500 = 937.5, and
    /// 7/8 1000 + 1/8 937.5 = 992.1875.
    #[test]
    fn two_filters_smooth_the_samples() {
        let (mut cc, mut flow) = (Westwood::controller(&Params::defaults(&WESTWOOD), 100.0), FLOW);
        windows(&mut cc, &mut flow, 79, &[1, 80]);
        assert_eq!(bandwidth(&cc), 1000.0);
        windows(&mut cc, &mut flow, 79, &[40]);
        assert!((bandwidth(&cc) - 992.1875).abs() < 1e-9);
    }

    /// A sample takes longer than an RTT, and than 50 ms.
    #[test]
    fn samples_take_longer_than_a_round_trip() {
        for (rtt_ms, acks) in [(79, 2), (80, 3), (159, 3), (160, 4)] {
            let (mut cc, mut flow) = (Westwood::controller(&Params::defaults(&WESTWOOD), 100.0), FLOW);
            windows(&mut cc, &mut flow, rtt_ms, &[80; 3][..acks - 1]);
            assert_eq!(cc.response.bandwidth, None, "{rtt_ms} ms");
            windows(&mut cc, &mut flow, rtt_ms, &[80]);
            assert!((bandwidth(&cc) - 1000.0).abs() < 1e-9, "{rtt_ms} ms");
        }
        let mut cc = Westwood::controller(&Params::defaults(&WESTWOOD), 100.0);
        let mut flow = Flow { flight_size: 1, ..FLOW };
        for ms in [0, 50, 51] {
            flow.now = ms * MILLISECOND;
            assert_eq!(cc.response.bandwidth, None);
            cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(MILLISECOND)));
        }
        assert!(cc.response.bandwidth.is_some());
    }

    /// 1000 segments/s and a least RTT of 70 ms: 70 segments are left of 100 at a loss or a mark, and are the threshold after a
    /// timeout; of 60 all are left at a loss, and a second timeout, at a window of 1, still leaves 70.
    #[test]
    fn a_loss_leaves_what_the_path_carries() {
        for (signal, cwnd) in [(Signal::Loss, 70.0), (Signal::Ecn, 70.0), (Signal::Timeout, 1.0)] {
            let (mut cc, mut flow) = (Westwood::controller(&Params::defaults(&WESTWOOD), 2.0), FLOW);
            windows(&mut cc, &mut flow, 70, &[1, 80]);
            cc.set_window(100.0);
            cc.on_congestion(&flow, signal);
            assert!((cc.cwnd() - cwnd).abs() < 1e-9 && (cc.ssthresh() - 70.0).abs() < 1e-9, "{signal:?}");
            cc.set_window(60.0);
            cc.on_congestion(&flow, signal);
            let left = if signal == Signal::Timeout { 70.0 } else { 60.0 };
            assert!((cc.ssthresh() - left).abs() < 1e-9, "{signal:?} {}", cc.ssthresh());
        }
    }

    /// Linux: 50 of 100 in recovery, and 70 after it.
    #[test]
    fn recovery_may_halve() {
        let params = Params::checked(&WESTWOOD, &[("halve_in_recovery", crate::params::Value::Flag(true))]).unwrap();
        let (mut cc, mut flow) = (Westwood::controller(&params, 2.0), FLOW);
        windows(&mut cc, &mut flow, 70, &[1, 80]);
        cc.set_window(100.0);
        cc.on_congestion(&flow, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (50.0, 50.0));
        cc.on_recovered(&flow);
        assert!((cc.cwnd() - 70.0).abs() < 1e-9 && (cc.ssthresh() - 70.0).abs() < 1e-9);
        cc.on_congestion(&flow, Signal::Timeout);
        cc.on_recovered(&flow);
        assert_eq!(cc.cwnd(), 1.0);
    }

    /// Without a sample half is left; and the increase is a segment per window: 50 and 1/50.
    #[test]
    fn otherwise_it_is_reno() {
        let mut cc = Westwood::controller(&Params::defaults(&WESTWOOD), 100.0);
        let mut sender = Driver::new();
        sender.lose(&mut cc);
        assert_eq!(cc.cwnd(), 50.0);
        sender.ack(&mut cc, 100.0);
        assert_eq!(cc.cwnd(), 50.02);
    }

    /// 1000 segments/s stay the estimate of a sender that is limited to 125/s for 0.8 s, or idle for 0.8 s, and full again for an RTT.
    #[test]
    fn limited_senders_give_no_samples() {
        for idle in [false, true] {
            let (mut cc, mut flow) = (Westwood::controller(&Params::defaults(&WESTWOOD), 100.0), FLOW);
            windows(&mut cc, &mut flow, 79, &[1, 80]);
            if idle {
                cc.on_ack(&Flow { flight_size: 0, ..flow }, &Ack::of(0, 0.0));
                flow.now += 800 * MILLISECOND;
            } else {
                flow.cwnd_limited = false;
                windows(&mut cc, &mut flow, 79, &[10; 10]);
                flow.cwnd_limited = true;
            }
            flow.flight_size = 79;
            cc.on_ack(&flow, &Ack::of(1, 1.0));
            windows(&mut cc, &mut flow, 79, &[80]);
            assert_eq!(bandwidth(&cc), 1000.0, "{idle}");
        }
    }
}
