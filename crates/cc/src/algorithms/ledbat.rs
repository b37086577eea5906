//! LEDBAT: a background transfer that keeps the queueing delay at a target and yields to other traffic.
//!
//! Source: RFC 6817 (S. Shalunov et al., *Low Extra Delay Background Transport (LEDBAT)*, 2012). With q the queueing delay, which is the
//! one-way delay minus the least of ten minutes (section 2.4.2):
//!
//! - off = (TARGET - q) / TARGET;
//! - cwnd += GAIN off acked / cwnd, at most flight size + ALLOWED_INCREASE, at least MIN_CWND = 2 segments;
//! - a loss: cwnd = min(cwnd, max(cwnd/2, MIN_CWND)), at most once per round trip;
//! - a congestion timeout: cwnd = 1.
//!
//! A flow that starts later measures the queue of an earlier flow as part of the path, and starves it: the latecomer's advantage.
//!
//! # Deviations and choices
//!
//! - **FILTER** is the minimum, one of the filters that section 2.4.2 names, over the last 4 samples of the last RTT (section 2.5: at least 4).
//! - **Segments** are counted, as the RFC counts bytes, whatever `byte_counting` is. An ACK that is worth no growth, because it echoes
//!   a mark, does not let the window grow.
//! - **No slow start**: section 2.2 lets a conservative implementation skip it. The window begins to grow by GAIN segments per round trip.
//! - **INIT_CWND** is the first window of the scenario; section 2.5 has 2 segments.
//! - **Flight size** is the amount outstanding before the ACK, as in the RFC.
//! - **A mark** (ECN) has the response to a loss (section 1.3).
//! - **A timeout** leaves one segment, and the next ACK two. The congestion timeout is the sender's retransmission timer (section 2.4.2).
//! - **In recovery**, and while the application or the receiver limits the sender, the window may fall but does not grow.
//! - **Parameters** may exceed the RFC's limits (TARGET 100 ms, GAIN 1), for experiments.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::Queueing;
use crate::time::{MILLISECOND, seconds};
use crate::{Ack, CongestionControl, Flow, Signal, Start};

params! {
    /// Parameters of LEDBAT.
    pub struct LedbatParams for LEDBAT {
        target: f64 = number(100.0, 1.0, 1000.0), "ms",
            "Target queueing delay.",
            "RFC 6817 section 2.5: TARGET, at most 100 ms";
        gain: f64 = number(1.0, 0.01, 10.0), "1",
            "Growth per round trip with an empty queue, in segments.",
            "RFC 6817 section 2.5: GAIN, at most 1 (RFC 7928 section 5.4 tests 10)";
        allowed_increase: f64 = number(1.0, 1.0, 1000.0), "segments",
            "Largest excess of the window over the data in flight.",
            "RFC 6817 section 2.5: ALLOWED_INCREASE, 1";
    }
}

/// LEDBAT.
pub const LEDBAT: Info = Info {
    name: "ledbat",
    paper: "RFC 6817: Low Extra Delay Background Transport (LEDBAT) (2012)",
    group: Group::Delay,
    recovery: "sack",
    own_slow_start: true,
    ecn: None,
    params: LedbatParams::PARAMS,
};

/// MIN_CWND (RFC 6817 section 2.5), segments.
const MIN_WINDOW: f64 = 2.0;

/// The window control of LEDBAT.
///
/// ```
/// use fullpipe_cc::algorithms::ledbat::{LEDBAT, Ledbat};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow};
///
/// let mut cc = Ledbat::controller(&Params::defaults(&LEDBAT), 10.0);
/// let flow = Flow::at(0).cwnd_limited(true).flight_size(9);
/// cc.on_ack(&flow, &Ack::of(1, 1.0).forward_delay(Some(20_000_000)));
/// assert_eq!(cc.cwnd(), 10.0 + 1.0 / 10.0, "an empty queue: GAIN segments in a round trip");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ledbat {
    target: f64,
    gain: f64,
    allowed_increase: f64,
    cwnd: f64,
    ssthresh: f64,
    queueing: Queueing,
}

impl Ledbat {
    /// LEDBAT without a delay sample.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Ledbat {
        let given = LedbatParams::read(params);
        Ledbat {
            target: given.target * MILLISECOND as f64,
            gain: given.gain,
            allowed_increase: given.allowed_increase,
            cwnd: start.into().window,
            ssthresh: f64::INFINITY,
            queueing: Queueing::new(),
        }
    }
}

impl CongestionControl for Ledbat {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Window after the last loss. There is no slow start.
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(delay) = ack.forward_delay {
            self.queueing.sample(flow.now, delay, flow.srtt);
        }
        let Some(delay) = self.queueing.delay() else { return };
        let off_target = (self.target - delay as f64) / self.target;
        let gain = self.gain * off_target * ack.acked as f64 / self.cwnd;
        let may_grow = flow.may_grow(ack);
        if gain > 0.0 && !may_grow {
            return;
        }
        let allowed = (flow.flight_size + ack.acked) as f64 + self.allowed_increase;
        let least = if may_grow { MIN_WINDOW } else { MIN_WINDOW.min(self.cwnd) };
        self.cwnd = (self.cwnd + gain).min(allowed).max(least);
    }

    fn on_congestion(&mut self, _flow: &Flow, signal: Signal) {
        self.ssthresh = (self.cwnd / 2.0).max(MIN_WINDOW);
        self.cwnd = if signal == Signal::Timeout { 1.0 } else { self.cwnd.min(self.ssthresh) };
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("queueing_delay_s", self.queueing.delay().map_or(f64::NAN, |delay| seconds(delay.unsigned_abs())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FLOW;

    /// Four ACKs of one segment with this delay each, milliseconds, on a clock that is a second behind.
    fn acks(cc: &mut Ledbat, delay_ms: i64) {
        for _ in 0..4 {
            let delay = (delay_ms - 1000) * MILLISECOND as i64;
            cc.on_ack(&FLOW.flight_size(19), &Ack::of(1, 1.0).forward_delay(Some(delay)));
        }
    }

    /// A base of 50 ms is known, and the window is 20.
    fn ledbat() -> Ledbat {
        let mut cc = Ledbat::controller(&Params::defaults(&LEDBAT), 2.0);
        acks(&mut cc, 50);
        cc.cwnd = 20.0;
        cc
    }

    /// RFC 6817 section 2.4.2 at a window of 20: a queue of 0, 50, 100 and 150 ms is off target by 1, 1/2, 0 and -1/2: an ACK adds 1/20,
    /// 1/40, nothing, and takes 1/40. At 300 ms, -2: 1/10.
    #[test]
    fn the_window_moves_by_how_far_the_queue_is_off_the_target() {
        for (queue_ms, gain) in [(0, 0.05), (50, 0.025), (100, 0.0), (150, -0.025), (300, -0.1)] {
            let mut cc = ledbat();
            acks(&mut cc, 50 + queue_ms);
            cc.cwnd = 20.0;
            let delay = (50 + queue_ms - 1000) * MILLISECOND as i64;
            cc.on_ack(&FLOW.flight_size(19), &Ack::of(1, 1.0).forward_delay(Some(delay)));
            assert!((cc.cwnd() - 20.0 - gain).abs() < 1e-12, "{queue_ms} ms: {}", cc.cwnd());
        }
    }

    /// Section 2.4.2: 7 segments outstanding before the ACK allow a window of 8.
    #[test]
    fn the_window_is_no_more_than_what_is_in_flight_and_one() {
        let mut cc = ledbat();
        cc.on_ack(&FLOW.flight_size(6), &Ack::of(1, 1.0).forward_delay(Some(-950 * MILLISECOND as i64)));
        assert_eq!(cc.cwnd(), 8.0);
    }

    /// Section 2.4.2: a loss leaves min(cwnd, max(cwnd/2, 2)): 10 of 20, 2 of 3, and the 1 segment that a timeout left.
    #[test]
    fn losses_and_timeouts() {
        let mut cc = ledbat();
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        cc.cwnd = 3.0;
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!(cc.cwnd(), 2.0);
        cc.on_congestion(&FLOW, Signal::Timeout);
        assert_eq!(cc.cwnd(), 1.0);
        for signal in [Signal::Loss, Signal::Ecn] {
            cc.on_congestion(&FLOW, signal);
            assert_eq!(cc.cwnd(), 1.0, "{signal:?}");
        }
        acks(&mut cc, 50);
        assert!(cc.cwnd() >= 2.0);
    }

    /// The window never falls below two segments, however long the queue.
    #[test]
    fn two_segments_are_the_least() {
        let mut cc = ledbat();
        for _ in 0..1000 {
            acks(&mut cc, 5000);
        }
        assert_eq!(cc.cwnd(), 2.0);
    }
}
