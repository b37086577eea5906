//! Vegas: keeps between alpha and beta segments of its own in the queue, from the difference of expected and actual rate.
//!
//! Source: L. Brakmo and L. Peterson, *TCP Vegas: End to End Congestion Avoidance on a Global Internet*, IEEE JSAC 13(8),
//! 1995. Once per round trip, with W the segments in transit, base_rtt the least RTT and rtt the round's mean RTT:
//!
//! - Expected = W/base_rtt, Actual = W/rtt, Diff = (Expected - Actual) base_rtt = W (1 - base_rtt/rtt) (section 3.2);
//! - Diff < alpha: one segment more over the next round trip; Diff > beta: one segment less at once; otherwise hold;
//! - slow start grows in every other round trip only, and ends when Diff > gamma (section 3.3).
//!
//! The fine-grained retransmission check (section 3.1) is the sender's (recovery `vegas`). A sender should report a loss
//! only if the segment was sent after the last cut, as section 3.1 asks.
//!
//! # Deviations and choices
//!
//! The authors' implementation, as it came into ns-2 (`Agent/TCP/Vegas`), is followed where the paper has words but no
//! number.
//!
//! - **Rounding.** The implementation rounds Diff to whole segments before it compares it, so the window rests where
//!   Diff lies between alpha - 1/2 and beta + 1/2. With windows of about ten segments this is worth several per cent of
//!   the mean window, so it is on by default; `whole_segments = false` compares real numbers as the paper's text does.
//! - **W** is the data in transit and the segments just acknowledged: the whole part of cwnd for a sender with data. It is at most cwnd:
//!   after a timeout an ACK may cover segments that arrived long before.
//! - **Leaving slow start** takes an eighth of the window, and sets ssthresh to 2: slow start only returns after a timeout. A decrease in
//!   congestion avoidance lowers ssthresh with the window, so that slow start after a timeout ends once, too.
//! - **A loss** takes a quarter (`loss_cut`). The implementation takes half if the segment had been sent more than once
//!   before. The algorithm does not know that, and first retransmissions are by far more frequent. The sender
//!   reports a loss only if the segment was sent after the last cut (section 3.1).
//! - **A loss of a sender that its window does not limit** takes a quarter of cwnd, as the authors' code does. RFC 5681 (equation 4) would
//!   have the flight as the base, also for Vegas; RFC 9438 (section 4.6) warns that this cuts too much. With `idle = "rfc7661"` a loss leaves
//!   half of what was in use.
//! - **An ECN mark** has the response to a loss; the paper has no ECN.
//! - **A timeout** restarts at 2 segments, not 1, with ssthresh at half the window: 2 is the least window everywhere in
//!   Vegas, since with one segment in transit there is nothing to compare, and half of the slow-start rounds do not
//!   grow. It forgets the round.
//! - **base_rtt** is the least RTT of the whole flow. ns-2 also takes the RTT as base_rtt whenever at most one segment
//!   is in transit.
//! - **Recovery.** The round in which recovery runs is judged like any other, at the ACK that ends it, from the samples
//!   before the loss; ACKs that arrive in recovery give none, and the window does not grow before recovery is over.
//! - **Growth and decrease** need a cwnd that limits the sender: a round that the application limits leaves the window and slow start as they
//!   are. ns-2 has another test for growth, at most two unused segments of the window, and lowers the window in any round.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::{Ack, CongestionControl, Flow, Signal, Start};

params! {
    /// Parameters of Vegas.
    pub struct VegasParams for VEGAS {
        alpha: f64 = number(1.0, 0.0, 1e6), "segments",
            "Backlog below which the window grows.",
            "ns-2 v_alpha_ = 1 (Brakmo and Peterson 1995, section 3.2, use 2 and, in figure 8, 1)";
        beta: f64 = number(3.0, 0.0, 1e6), "segments",
            "Backlog above which the window shrinks; at least alpha.",
            "Brakmo and Peterson 1995, section 3.2; ns-2 v_beta_ = 3";
        gamma: f64 = number(1.0, 0.0, 1e6), "segments",
            "Backlog above which slow start ends.",
            "Brakmo and Peterson 1995, section 3.3; ns-2 v_gamma_ = 1";
        loss_cut: f64 = number(0.25, 0.0, 0.9), "1",
            "Fraction of the window cut at a loss.",
            "the authors' code in ns-2: a quarter at a first retransmission";
        whole_segments: bool = flag(true), "1",
            "Round Diff to whole segments before comparing it.",
            "the authors' code in ns-2; the paper compares real numbers";
    }
}

/// Vegas.
pub const VEGAS: Info = Info {
    name: "vegas",
    paper: "L. Brakmo, L. Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE JSAC 13(8), 1995",
    group: Group::Delay,
    recovery: "vegas",
    own_slow_start: true,
    ecn: None,
    params: VegasParams::PARAMS,
};

/// The least window Vegas cuts to, in segments.
const MIN_WINDOW: f64 = 2.0;

/// The window control of Vegas.
///
/// ```
/// use fullpipe_cc::algorithms::vegas::{VEGAS, Vegas};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Vegas::controller(&Params::defaults(&VEGAS), 40.0);
/// let flow = Flow::at(0).cwnd_limited(true).flight_size(29).min_rtt(Some(50_000_000));
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 30.0, "a loss takes a quarter");
/// cc.on_ack(&flow, &Ack::of(1, 1.0).round_start(true).rtt(Some(60_000_000)));
/// assert_eq!(cc.cwnd(), 29.0, "Diff = 30 (1 - 50/60) = 5, above beta = 3");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    loss_cut: f64,
    whole_segments: bool,
    cwnd: f64,
    ssthresh: f64,
    /// Gain per unit of credit, until the next decision.
    gain: f64,
    /// Slow start: whether this is a round trip that grows.
    growing_round: bool,
    /// Sum and number of this round's RTT samples.
    rtt_sum: f64,
    rtt_count: u32,
    /// The last Diff, unrounded; segments in the queue.
    diff: f64,
}

impl Vegas {
    /// Vegas that begins in slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Vegas {
        let given = VegasParams::read(params);
        let alpha = given.alpha;
        Vegas {
            alpha,
            beta: given.beta.max(alpha),
            gamma: given.gamma,
            loss_cut: given.loss_cut,
            whole_segments: given.whole_segments,
            cwnd: start.into().window,
            ssthresh: f64::INFINITY,
            gain: 0.0,
            growing_round: true,
            rtt_sum: 0.0,
            rtt_count: 0,
            diff: f64::NAN,
        }
    }

    /// The decision at the end of a round trip.
    fn decide(&mut self, flow: &Flow, ack: &Ack) {
        self.gain = 0.0;
        let Some(diff) = self.measure(flow, ack) else { return };
        if !flow.cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh { self.slow_start(diff) } else { self.avoid_congestion(diff) }
    }

    /// Diff of the round that ends; `None` if it gave no RTT sample.
    fn measure(&mut self, flow: &Flow, ack: &Ack) -> Option<f64> {
        let base_rtt = flow.min_rtt? as f64;
        let rtt = if self.rtt_count > 0 { self.rtt_sum / f64::from(self.rtt_count) } else { ack.rtt? as f64 };
        let in_transit = ((flow.flight_size + ack.acked) as f64).min(self.cwnd);
        self.diff = in_transit * (1.0 - base_rtt / rtt);
        Some(if self.whole_segments { (self.diff + 0.5) as i64 as f64 } else { self.diff })
    }

    fn slow_start(&mut self, diff: f64) {
        self.growing_round = !self.growing_round;
        if !self.growing_round {
            return;
        }
        if diff > self.gamma {
            self.ssthresh = MIN_WINDOW;
            self.cwnd = (self.cwnd * 0.875).max(MIN_WINDOW);
        } else {
            self.gain = 1.0;
        }
    }

    fn avoid_congestion(&mut self, diff: f64) {
        if diff > self.beta {
            self.cwnd = (self.cwnd - 1.0).max(MIN_WINDOW);
            self.ssthresh = self.ssthresh.min(self.cwnd);
        } else if diff < self.alpha {
            self.gain = 1.0 / self.cwnd;
        }
    }

    fn forget_round(&mut self) {
        self.gain = 0.0;
        self.rtt_sum = 0.0;
        self.rtt_count = 0;
    }
}

impl CongestionControl for Vegas {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        if ack.round_start {
            self.decide(flow, ack);
            self.rtt_sum = 0.0;
            self.rtt_count = 0;
        }
        if flow.in_recovery {
            return;
        }
        if self.gain == 1.0 && self.cwnd >= self.ssthresh {
            self.gain = 0.0;
        }
        if flow.cwnd_limited {
            self.cwnd += self.gain * ack.credit;
        }
        if let Some(rtt) = ack.rtt {
            self.rtt_sum += rtt as f64;
            self.rtt_count += 1;
        }
    }

    fn on_congestion(&mut self, _flow: &Flow, signal: Signal) {
        self.gain = 0.0;
        if signal == Signal::Timeout {
            self.forget_round();
            self.ssthresh = (self.cwnd / 2.0).max(MIN_WINDOW);
            self.cwnd = MIN_WINDOW;
            return;
        }
        self.cwnd = (self.cwnd * (1.0 - self.loss_cut)).max(MIN_WINDOW);
        self.ssthresh = MIN_WINDOW;
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlog", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::time::MILLISECOND;

    /// `acks` ACKs with `window` segments in transit and the RTT `rtt_ms` over a base of 100 ms; the first begins a round.
    fn round(cc: &mut Vegas, window: u64, acks: u64, rtt_ms: u64) {
        let rtt = rtt_ms * MILLISECOND;
        for i in 0..acks {
            let flow = Flow {
                flight_size: window - 1,
                min_rtt: Some(100 * MILLISECOND),
                cwnd_limited: true,
                ..Flow::default()
            };
            cc.on_ack(&flow, &Ack { acked: 1, credit: 1.0, round_start: i == 0, rtt: Some(rtt), ..Ack::default() });
        }
    }

    /// In congestion avoidance at `window` segments.
    fn avoiding(window: f64, given: &[(&str, Value)]) -> Vegas {
        let mut cc = Vegas::controller(&Params::checked(&VEGAS, given).unwrap(), window);
        cc.ssthresh = 2.0;
        cc
    }

    /// Section 3.2, the three cases with alpha = 1, beta = 3, window 20, base RTT 100 ms:
    /// 100 ms: Diff = 0 < 1: +1/20 per ACK, 20 ACKs, +1.
    /// 110 ms: Diff = 20 (1 - 100/110) = 1.82: hold.
    /// 125 ms: Diff = 20 (1 - 100/125) = 4 > 3: -1 at once.
    #[test]
    fn three_cases() {
        for (rtt_ms, expected) in [(100, 21.0), (110, 20.0), (125, 19.0)] {
            let mut cc = avoiding(20.0, &[]);
            round(&mut cc, 20, 20, rtt_ms);
            assert!((cc.cwnd() - expected).abs() < 1e-9, "RTT {rtt_ms} ms: {}", cc.cwnd());
        }
    }

    /// Both windows are what they were before a needless cut, unless they are larger by then.
    #[test]
    fn a_needless_cut_is_undone() {
        for (now, expected) in [((15.0, 2.0), (20.0, 9.0)), ((25.0, 12.0), (25.0, 12.0))] {
            let mut cc = avoiding(20.0, &[]);
            (cc.cwnd, cc.ssthresh) = now;
            cc.on_undo(20.0, 9.0);
            assert_eq!((cc.cwnd(), cc.ssthresh()), expected);
        }
    }

    /// Section 3.2: the RTT judged is the mean of the round: half at 100 ms, half at 150 ms, 125 ms, Diff = 4.
    #[test]
    fn judges_the_mean_rtt_of_the_round() {
        let mut cc = avoiding(20.0, &[]);
        round(&mut cc, 20, 10, 100);
        cc.cwnd = 20.0;
        cc.gain = 0.0;
        let flow = Flow { flight_size: 19, min_rtt: Some(100 * MILLISECOND), cwnd_limited: true, ..Flow::default() };
        let late = Ack { acked: 1, credit: 1.0, rtt: Some(150 * MILLISECOND), ..Ack::default() };
        for _ in 0..10 {
            cc.on_ack(&flow, &late);
        }
        cc.on_ack(&flow, &Ack { round_start: true, ..late });
        assert_eq!(cc.cwnd(), 19.0);
        let mut told = None;
        cc.inspect(&mut |name, value| told = Some((name, value)));
        assert!(told.is_some_and(|(name, value)| name == "backlog" && (value - 4.0).abs() < 1e-9), "{told:?}");
    }

    /// Diff = 20 (1 - 100/104) = 0.77 and 20 (1 - 100/120) = 3.33: rounded, 1 and 3 hold (ns-2); unrounded, the window moves.
    #[test]
    fn rounding_widens_the_band_by_half_a_segment() {
        for (rtt_ms, unrounded) in [(104, 21.0), (120, 19.0)] {
            for (whole, expected) in [(true, 20.0), (false, unrounded)] {
                let mut cc = avoiding(20.0, &[("whole_segments", Value::Flag(whole))]);
                round(&mut cc, 20, 20, rtt_ms);
                assert!((cc.cwnd() - expected).abs() < 1e-9, "RTT {rtt_ms} ms, {whole}: {}", cc.cwnd());
            }
        }
    }

    /// Section 3.3: slow start doubles in every other round trip: 2, 2, 4, 4, 8, 8, 16.
    #[test]
    fn slow_start_grows_every_other_round_trip() {
        let mut cc = Vegas::controller(&Params::defaults(&VEGAS), 2.0);
        let windows: [f64; 6] = core::array::from_fn(|_| {
            let window = cc.cwnd();
            round(&mut cc, window as u64, window as u64, 100);
            cc.cwnd()
        });
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0]);
    }

    /// Section 3.3: 16 segments at 115 ms: Diff = 16 (1 - 100/115) = 2.1 > gamma ends slow start; an eighth is taken.
    #[test]
    fn slow_start_ends_beyond_gamma() {
        let mut cc = Vegas::controller(&Params::defaults(&VEGAS), 16.0);
        round(&mut cc, 16, 16, 115);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (16.0, f64::INFINITY), "a round that does not grow does not judge");
        round(&mut cc, 16, 1, 115);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (14.0, 2.0));
    }

    /// At 110 ms Diff = 16 (1 - 100/110) = 1.45, 1 in whole segments: gamma, and not beyond it. The window doubles in the round.
    #[test]
    fn slow_start_goes_on_at_gamma() {
        let mut cc = Vegas::controller(&Params::defaults(&VEGAS), 16.0);
        round(&mut cc, 16, 16, 110);
        round(&mut cc, 16, 16, 110);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (32.0, f64::INFINITY));
    }

    /// A round that the application limits, 15 of 20 segments in transit, at 150 ms over 100: Diff = 5 is above beta and gamma, but neither
    /// lowers the window nor ends slow start.
    #[test]
    fn a_limited_round_changes_nothing() {
        let flow = Flow::at(0).flight_size(14).min_rtt(Some(100 * MILLISECOND));
        let ack = Ack::of(1, 1.0).round_start(true).rtt(Some(150 * MILLISECOND));
        for mut cc in [avoiding(20.0, &[]), Vegas::controller(&Params::defaults(&VEGAS), 20.0)] {
            let ssthresh = cc.ssthresh();
            (0..4).for_each(|_| cc.on_ack(&flow, &ack));
            assert_eq!((cc.cwnd(), cc.ssthresh()), (20.0, ssthresh));
            assert!((cc.diff - 5.0).abs() < 1e-9, "of what is in transit: {}", cc.diff);
        }
    }

    /// After a timeout at 60 segments the window is 2. The ACK that fills the hole covers 40 that had arrived before it, at
    /// 105 ms over 100: Diff = 2 (1 - 100/105) = 0.1, and slow start goes on; of 41 it would be 1.95 and end it.
    #[test]
    fn what_had_arrived_before_a_timeout_is_not_in_transit() {
        let mut cc = avoiding(60.0, &[]);
        cc.on_congestion(&Flow::default(), Signal::Timeout);
        cc.growing_round = false;
        let flow = Flow { flight_size: 1, min_rtt: Some(100 * MILLISECOND), cwnd_limited: true, ..Flow::default() };
        let rtt = Some(105 * MILLISECOND);
        cc.on_ack(&flow, &Ack { acked: 40, credit: 1.0, round_start: true, rtt, ..Ack::default() });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (3.0, 30.0));
    }

    /// The round in which a loss is repaired: 10 ACKs at 125 ms over 100, a loss at 20 segments (15 remain), and the ACK that
    /// ends recovery: Diff = 15 (1 - 100/125) = 3 holds; at 140 ms, 15 (1 - 100/140) = 4.3 takes one more. Neither grows then.
    #[test]
    fn the_round_of_a_recovery_is_judged() {
        for (rtt_ms, expected) in [(125, 15.0), (140, 14.0), (100, 15.0)] {
            let mut cc = avoiding(20.0, &[]);
            round(&mut cc, 20, 1, 110);
            let flow =
                Flow { flight_size: 19, min_rtt: Some(100 * MILLISECOND), cwnd_limited: true, ..Flow::default() };
            let rtt = Some(rtt_ms * MILLISECOND);
            cc.rtt_sum = 0.0;
            cc.rtt_count = 0;
            for _ in 0..10 {
                cc.on_ack(&flow, &Ack { acked: 1, credit: 1.0, rtt, ..Ack::default() });
            }
            cc.on_congestion(&flow, Signal::Loss);
            let end = Ack { acked: 10, credit: 1.0, round_start: true, rtt, ..Ack::default() };
            cc.on_ack(&Flow { in_recovery: true, flight_size: 10, ..flow }, &end);
            cc.on_recovered(&flow);
            assert_eq!(cc.cwnd(), expected, "{rtt_ms} ms");
        }
    }

    /// Slow start that follows a timeout ends at ssthresh and does not return: at 30 of ssthresh 30, Diff = 30 (1 - 100/125) = 6 > 3 takes one
    /// segment, and in the next round trip, with Diff = 0, an ACK adds 1/29, not 1.
    #[test]
    fn a_decrease_does_not_start_slow_start_again() {
        let mut cc = avoiding(30.0, &[]);
        cc.ssthresh = 30.0;
        round(&mut cc, 30, 1, 125);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (29.0, 29.0));
        for _ in 0..4 {
            let before = cc.cwnd();
            cc.rtt_count = 0;
            round(&mut cc, 29, 1, 100);
            assert!((cc.cwnd() - before - 1.0 / before).abs() < 1e-12, "{} {before}", cc.cwnd());
        }
    }

    /// A quarter off at a loss, no slow start after it; a timeout restarts at 2 with half the window as threshold.
    #[test]
    fn loss_and_timeout() {
        let mut cc = avoiding(20.0, &[]);
        cc.on_congestion(&Flow::default(), Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (15.0, 2.0));
        cc.on_congestion(&Flow::default(), Signal::Timeout);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 7.5));
    }
}
