//! LEDBAT++: LEDBAT with round-trip times, smaller gains on short paths, and periodic slowdowns that empty the queue to measure the path.
//!
//! Source: P. Balasubramanian, O. Ertugay, D. Havey, M. Bagnulo, *LEDBAT++: Congestion Control for Background Traffic*,
//! draft-irtf-iccrg-ledbat-plus-plus-06 (2026). With q the queueing delay (RTT above the least of ten minutes) and W the window:
//!
//! - GAIN = 1 / min(16, ceil(2 TARGET / base)), TARGET 60 ms (section 4.2);
//! - q below the target: W += GAIN per round trip; above: W += max(GAIN - W (q/TARGET - 1), -W/2) (section 4.3);
//! - slow start grows by GAIN per segment acknowledged; the first one ends when q > 3/4 TARGET (section 4.1);
//! - a slowdown, two round trips after that: ssthresh = W, two segments for two round trips, then slow start up to ssthresh. The next one
//!   begins after nine times the duration of the last (section 4.4), so that slowdowns take a tenth of the time.
//!
//! # Deviations and choices
//!
//! - **By ACK**: the change that the draft has per round trip is spread over the ACKs, in proportion to the segments acknowledged / W. The
//!   largest decrease of a round trip then leaves e^(-1/2) = .61 of the window, not half.
//! - **Segments** are counted, whatever `byte_counting` is. An ACK that is worth no growth, because it echoes a mark, adds nothing.
//! - **The filter** of delays is the minimum of the last 4 samples of the last RTT, the base that of ten minutes, as in LEDBAT.
//! - **The first window** is that of the scenario; the draft has two segments.
//! - **Round trips** are smoothed RTTs. Before the base is known GAIN is 1/16.
//! - **Slow start after a slowdown** grows by GAIN too, as in Apple's kernel (xnu, `tcp_ledbat.c`) and in an implementation for ns-3. Section 4.4
//!   names "the slow start algorithm" only, and one implementation grows by a segment per segment acknowledged there.
//! - **A loss** halves the window and ends slow start, also that of a slowdown; the time of the next slowdown is set then. A loss during
//!   the two quiet round trips halves ssthresh.
//! - **A mark** (ECN) has the response to a loss. **A timeout** leaves one segment, from which slow start grows to half the window. If it was
//!   spurious and came in the first slow start, that slow start continues.
//! - Slowdowns follow the clock, with or without a queue of other flows, and while the application limits the sender.
//! - **Idle time** of two round trips or more empties the queue as a slowdown does, and counts as one of two round trips: the next one begins
//!   nine times as long after it, or when it is due, if that is later. The draft has no word on it.
//! - **Delayed ACKs**: with an odd window, the last segment's ACK waits for the first one of the next round trip. At 3 segments every
//!   sample is therefore two round trips long, which the filter cannot know: a path with more than TARGET of RTT holds the window at 2 to 3
//!   segments. Next to bulk CUBIC over 20 Mbit/s and 40 ms, frames of 1.5 Mbit/s are then up to 93 s late; with an ACK for each segment 1.5 s.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::{LastAck, Queueing};
use crate::time::{MILLISECOND, Nanos, seconds};
use crate::{Ack, CongestionControl, Flow, Signal, Start};

params! {
    /// Parameters of LEDBAT++.
    pub struct LedbatPlusPlusParams for LEDBAT_PLUS_PLUS {
        target: f64 = number(60.0, 1.0, 1000.0), "ms",
            "Target queueing delay.",
            "draft-06 section 4: 60 ms";
        constant: f64 = number(1.0, 0.0, 10.0), "1",
            "Gain of the decrease above the target.",
            "draft-06 section 4.3: 1";
        slowdowns: bool = flag(true), "1",
            "Periodic slowdowns that empty the queue.",
            "draft-06 section 4.4";
    }
}

/// LEDBAT++.
pub const LEDBAT_PLUS_PLUS: Info = Info {
    name: "ledbat++",
    paper: "P. Balasubramanian et al., LEDBAT++: Congestion Control for Background Traffic, draft-irtf-iccrg-ledbat-plus-plus-06",
    group: Group::Delay,
    recovery: "sack",
    own_slow_start: true,
    ecn: None,
    params: LedbatPlusPlusParams::PARAMS,
};

/// Section 4.2: the least gain is 1/16.
const MOST_DIVISOR: f64 = 16.0;
/// Section 4.1: the part of the target that ends the first slow start.
const SLOW_START_END: f64 = 0.75;
/// Section 4.4: the window of a slowdown in segments, its round trips, and how many times its length the next one waits.
const MIN_WINDOW: f64 = 2.0;
const QUIET_ROUND_TRIPS: Nanos = 2;
const WAIT: Nanos = 9;

/// The window control of LEDBAT++.
///
/// ```
/// use fullpipe_cc::algorithms::ledbat_plus_plus::{LEDBAT_PLUS_PLUS, LedbatPlusPlus};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow};
///
/// let mut cc = LedbatPlusPlus::controller(&Params::defaults(&LEDBAT_PLUS_PLUS), 10.0);
/// let flow = Flow::at(0).cwnd_limited(true).flight_size(9);
/// cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(30_000_000)));
/// assert_eq!(cc.cwnd(), 10.25, "GAIN = 1/ceil(2 * 60 ms / 30 ms)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LedbatPlusPlus {
    target: f64,
    constant: f64,
    slowdowns: bool,
    cwnd: f64,
    ssthresh: f64,
    queueing: Queueing,
    gain: f64,
    phase: SlowdownPhase,
    last_ack: LastAck,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SlowdownPhase {
    /// Slow start that a queue ends.
    FirstSlowStart,
    /// By the target, until the next slowdown is due; `None` where there will be none.
    Avoidance { slowdown_at: Option<Nanos> },
    /// Two segments until `until`.
    Quiet { began: Nanos, until: Nanos },
    /// Slow start up to ssthresh, after a slowdown that began then, or after a timeout.
    SlowStart { slowdown_began: Option<Nanos> },
}

impl LedbatPlusPlus {
    /// LEDBAT++ in its first slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> LedbatPlusPlus {
        let given = LedbatPlusPlusParams::read(params);
        LedbatPlusPlus {
            target: given.target * MILLISECOND as f64,
            constant: given.constant,
            slowdowns: given.slowdowns,
            cwnd: start.into().window,
            ssthresh: f64::INFINITY,
            queueing: Queueing::new(),
            gain: 1.0 / MOST_DIVISOR,
            phase: SlowdownPhase::FirstSlowStart,
            last_ack: LastAck::NONE,
        }
    }

    /// Idle time before the segments of this ACK counts as a slowdown of two round trips, if it took as long.
    fn rest(&mut self, flow: &Flow, ack: &Ack) {
        let (idle, srtt) = (self.last_ack.idle(flow), flow.srtt.unwrap_or(0));
        let slowdown = QUIET_ROUND_TRIPS * srtt;
        if let SlowdownPhase::Avoidance { slowdown_at: Some(at) } = &mut self.phase
            && idle.saturating_sub(ack.rtt.unwrap_or(srtt)) >= slowdown.max(1)
        {
            *at = (*at).max(flow.now + WAIT * slowdown);
        }
        self.last_ack.note(flow);
    }

    /// Section 4.2, from the least RTT.
    fn find_gain(&mut self) {
        if let Some(base) = self.queueing.base() {
            let divisor = libm::ceil(2.0 * self.target / base.max(1) as f64);
            self.gain = 1.0 / divisor.clamp(1.0, MOST_DIVISOR);
        }
    }

    /// Sections 4.1 and 4.4: next phase.
    fn move_on(&mut self, flow: &Flow, delay: f64) {
        let srtt = flow.srtt.unwrap_or(0);
        match self.phase {
            SlowdownPhase::FirstSlowStart if delay > SLOW_START_END * self.target => {
                self.ssthresh = self.cwnd.max(MIN_WINDOW);
                self.avoid(flow.now + QUIET_ROUND_TRIPS * srtt);
            }
            SlowdownPhase::Avoidance { slowdown_at: Some(at) } if flow.now >= at && !flow.in_recovery => {
                self.ssthresh = self.cwnd.max(MIN_WINDOW);
                self.cwnd = self.cwnd.min(MIN_WINDOW);
                self.phase = SlowdownPhase::Quiet { began: flow.now, until: flow.now + QUIET_ROUND_TRIPS * srtt };
            }
            SlowdownPhase::Quiet { began, until } if flow.now >= until => {
                self.phase = SlowdownPhase::SlowStart { slowdown_began: Some(began) };
            }
            SlowdownPhase::SlowStart { slowdown_began } if self.cwnd >= self.ssthresh => {
                let took = slowdown_began.map_or(QUIET_ROUND_TRIPS * srtt, |began| flow.now - began);
                self.avoid(flow.now + WAIT * took);
            }
            _ => {}
        }
    }

    fn avoid(&mut self, slowdown_at: Nanos) {
        self.phase = SlowdownPhase::Avoidance { slowdown_at: self.slowdowns.then_some(slowdown_at) };
    }

    /// Section 4.3: growth per round trip.
    fn per_round_trip(&self, delay: f64) -> f64 {
        if delay < self.target {
            return self.gain;
        }
        (self.gain - self.constant * self.cwnd * (delay / self.target - 1.0)).max(-self.cwnd / 2.0)
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.rest(flow, ack);
        if let Some(rtt) = ack.rtt {
            self.queueing.sample(flow.now, rtt as i64, flow.srtt);
            self.find_gain();
        }
        let Some(delay) = self.queueing.delay().map(|delay| delay as f64) else { return };
        self.move_on(flow, delay);
        let gain = match self.phase {
            SlowdownPhase::FirstSlowStart | SlowdownPhase::SlowStart { .. } => self.gain * ack.acked as f64,
            SlowdownPhase::Avoidance { .. } => self.per_round_trip(delay) * (ack.acked as f64 / self.cwnd).min(1.0),
            SlowdownPhase::Quiet { .. } => 0.0,
        };
        let may_grow = flow.may_grow(ack);
        if gain > 0.0 && may_grow {
            self.cwnd += gain;
            if matches!(self.phase, SlowdownPhase::SlowStart { .. }) {
                self.cwnd = self.cwnd.min(self.ssthresh);
            }
        } else if gain < 0.0 {
            self.cwnd = (self.cwnd + gain).max(MIN_WINDOW.min(self.cwnd));
        }
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        let quiet = matches!(self.phase, SlowdownPhase::Quiet { .. });
        let w = if quiet { self.ssthresh } else { self.cwnd };
        self.ssthresh = (w / 2.0).max(MIN_WINDOW);
        if signal == Signal::Timeout {
            self.cwnd = 1.0;
            self.phase = SlowdownPhase::SlowStart { slowdown_began: None };
        } else if !quiet {
            self.cwnd = self.ssthresh.min(self.cwnd.max(MIN_WINDOW));
            match self.phase {
                SlowdownPhase::FirstSlowStart => self.avoid(flow.now + QUIET_ROUND_TRIPS * flow.srtt.unwrap_or(0)),
                SlowdownPhase::SlowStart { .. } => self.move_on(flow, 0.0),
                _ => {}
            }
        }
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        if ssthresh.is_infinite() {
            self.phase = SlowdownPhase::FirstSlowStart;
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("queueing_delay_s", self.queueing.delay().map_or(f64::NAN, |delay| seconds(delay.unsigned_abs())));
        visit("gain", self.gain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FLOW;

    fn ledbat_pp(window: f64) -> LedbatPlusPlus {
        LedbatPlusPlus::controller(&Params::defaults(&LEDBAT_PLUS_PLUS), window)
    }

    /// ACKs of one segment each with this RTT at this time.
    fn acks(cc: &mut LedbatPlusPlus, now_ms: u64, rtt_ms: u64, count: u32) {
        for _ in 0..count {
            let rtt = rtt_ms * MILLISECOND;
            let flow = Flow { now: now_ms * MILLISECOND, ..FLOW.srtt(Some(rtt)).flight_size(9) };
            cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(rtt)));
        }
    }

    /// By the target: no slow start, no slowdown, a base RTT of 100 ms, a window of 20.
    fn avoiding() -> LedbatPlusPlus {
        let mut cc = ledbat_pp(2.0);
        acks(&mut cc, 0, 100, 4);
        cc.phase = SlowdownPhase::Avoidance { slowdown_at: None };
        cc.cwnd = 20.0;
        cc
    }

    /// Section 4.2: 120/base rounded up, at most 16: 1/16 at 7 and 7.5 ms, 1/12 at 10, 1/6 at 20, 1/2 at 60 ms; 1 from 120 ms on.
    #[test]
    fn the_gain_goes_by_the_base_rtt() {
        for (base_us, divisor) in
            [(7000, 16.0), (7500, 16.0), (10_000, 12.0), (20_000, 6.0), (60_000, 2.0), (120_000, 1.0), (500_000, 1.0)]
        {
            let mut cc = ledbat_pp(2.0);
            cc.on_ack(&FLOW, &Ack::of(1, 1.0).rtt(Some(base_us * 1000)));
            assert_eq!(cc.gain, 1.0 / divisor, "{base_us} us");
        }
    }

    /// Section 4.3 at a window of 20 and a base of 100 ms, GAIN = 1/2: below 60 ms of queue a round trip adds 1/2; at 63 ms
    /// 1/2 - 20 (.05) = -1/2; at 120 ms 1/2 - 20 = -19.5, of which -10 is the most.
    #[test]
    fn above_the_target_the_window_falls_by_the_excess() {
        for (queue_ms, change) in [(30, 0.5), (59, 0.5), (63, -0.5), (120, -10.0)] {
            let mut cc = avoiding();
            acks(&mut cc, 0, 100 + queue_ms, 4);
            cc.cwnd = 20.0;
            acks(&mut cc, 0, 100 + queue_ms, 1);
            assert!((cc.cwnd() - 20.0 - change / 20.0).abs() < 1e-12, "{queue_ms} ms: {}", cc.cwnd());
        }
    }

    /// Section 4.1 at a base of 60 ms, GAIN = 1/2: each ACK adds half a segment, until four samples in turn are more than 45 ms above it.
    #[test]
    fn slow_start_grows_by_the_gain_and_ends_at_three_quarters_of_the_target() {
        let mut cc = ledbat_pp(2.0);
        acks(&mut cc, 0, 60, 8);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (6.0, f64::INFINITY));
        acks(&mut cc, 0, 105, 4);
        assert_eq!((cc.cwnd(), cc.phase), (8.0, SlowdownPhase::FirstSlowStart));
        acks(&mut cc, 0, 106, 3);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (9.5, f64::INFINITY));
        acks(&mut cc, 0, 106, 1);
        assert_eq!(cc.ssthresh(), 9.5);
        assert_eq!(
            cc.phase,
            SlowdownPhase::Avoidance { slowdown_at: Some(212 * MILLISECOND) },
            "two round trips of 106 ms"
        );
    }

    /// Section 4.4 at 100 ms: a slowdown at 1000 ms leaves 2 of 6 segments up to 1200 ms; slow start adds 1/2 per ACK, so that with the
    /// eighth ACK ssthresh = 6 is reached; at 1500 ms it has taken 500 ms, and the next comes 4500 ms later.
    #[test]
    fn a_slowdown_takes_a_tenth_of_the_time() {
        let mut cc = avoiding();
        (cc.cwnd, cc.phase) = (6.0, SlowdownPhase::Avoidance { slowdown_at: Some(1000 * MILLISECOND) });
        acks(&mut cc, 1000, 100, 1);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 6.0));
        acks(&mut cc, 1199, 100, 4);
        assert_eq!(cc.cwnd(), 2.0);
        acks(&mut cc, 1200, 100, 7);
        assert_eq!(cc.cwnd(), 5.5);
        acks(&mut cc, 1500, 100, 1);
        assert_eq!(cc.cwnd(), 6.0);
        acks(&mut cc, 1500, 100, 1);
        assert_eq!(cc.phase, SlowdownPhase::Avoidance { slowdown_at: Some(6000 * MILLISECOND) });
    }

    /// At 100 ms. A slowdown is due at 1000 ms, also for a sender that its application limits. If the flight is empty from 500 ms on, an ACK at
    /// 800 ms ends 200 ms of idle time, so that the next slowdown comes at 2600 ms; one at 799 ms does not. One that is due at 9000 ms stays.
    #[test]
    fn idle_time_counts_as_a_slowdown_and_a_limited_round_does_not() {
        for (due, ends, expected) in [(1000, 800, 2600), (1000, 799, 1000), (9000, 800, 9000)] {
            let mut cc = avoiding();
            cc.phase = SlowdownPhase::Avoidance { slowdown_at: Some(due * MILLISECOND) };
            let limited = |now_ms: u64, flight| Flow {
                now: now_ms * MILLISECOND,
                ..FLOW.cwnd_limited(false).flight_size(flight).srtt(Some(100 * MILLISECOND))
            };
            let ack = Ack::of(1, 1.0).rtt(Some(100 * MILLISECOND));
            cc.on_ack(&limited(500, 0), &ack);
            cc.on_ack(&limited(ends, 5), &ack);
            assert_eq!(
                cc.phase,
                SlowdownPhase::Avoidance { slowdown_at: Some(expected * MILLISECOND) },
                "{due} {ends}"
            );
            cc.on_ack(&limited(expected - 1, 5), &ack);
            assert_eq!(cc.cwnd(), 20.0);
            cc.on_ack(&limited(expected, 5), &ack);
            assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 20.0));
        }
    }

    /// A loss halves 20 segments; in the quiet of a slowdown, ssthresh.
    #[test]
    fn losses() {
        let mut cc = avoiding();
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        cc.phase = SlowdownPhase::Quiet { began: 0, until: 1 };
        (cc.cwnd, cc.ssthresh) = (2.0, 20.0);
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 10.0));
        cc.on_congestion(&FLOW, Signal::Timeout);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 5.0));
    }

    /// A spurious timeout in the first slow start: after the undo that slow start goes on, and ends at 3/4 of the target. ssthresh is
    /// infinite, so that a slow start up to ssthresh would never end.
    #[test]
    fn an_undone_timeout_returns_to_the_first_slow_start() {
        let mut cc = LedbatPlusPlus::controller(&Params::defaults(&LEDBAT_PLUS_PLUS), 10.0);
        cc.on_congestion(&FLOW, Signal::Timeout);
        assert!(matches!(cc.phase, SlowdownPhase::SlowStart { .. }));
        cc.on_undo(10.0, f64::INFINITY);
        assert_eq!((cc.cwnd(), cc.phase), (10.0, SlowdownPhase::FirstSlowStart));
    }
}
