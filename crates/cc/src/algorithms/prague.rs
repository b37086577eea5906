//! Prague: DCTCP for the Internet, with rates that hang less on the round-trip time, paced.
//!
//! Source: K. De Schepper, O. Tilmans, B. Briscoe, V. Goel, *Prague Congestion Control*, draft-briscoe-iccrg-prague-congestion-control-04
//! (2024, expired), which was not read: section numbers and constants are those that a port of the reference implementation names. The
//! requirements are those of RFC 9331 section 4.3. With M the fraction of segments marked over a round trip, and a virtual
//! round-trip time R* = max(RTT, 25 ms):
//!
//! - alpha = (1 - g) alpha + g M, once in R*, g = 1/16; it begins with the first mark, at 1;
//! - a mark: cwnd = cwnd (1 - alpha/2), then none for R*;
//! - growth: (1/cwnd) (RTT/R*)^2 for each segment that was not marked;
//! - so a flow in the steady state has the rate of one whose RTT is R*: 2 / (p R*) segments a second at a marking probability p;
//! - a loss halves the window;
//! - packets leave at cwnd/RTT, below half of ssthresh at twice that, in bursts of at most 2^-12 s.
//!
//! # Deviations and choices
//!
//! - **R\*** governs from the 500th round trip on, and not in slow start, as in the reference implementation; before, alpha, cuts and growth
//!   go by the RTT. `virtual_rtt = 0` leaves it out.
//! - **The RTT** of R* is the smoothed one. A round trip of alpha and of cuts ends when everything outstanding at its beginning has
//!   been acknowledged, and R* has passed.
//! - **Growth** is by ACK where the sender counts ACKs. An ACK that reports a mark counts as marked whole; marked and unmarked segments
//!   share one only where ACKs are delayed, at a change from one to the other.
//! - **A loss** within R* of a cut takes half of the window before the cut, not half of the window after it.
//! - **Slow start** is the frame's and ends with the first mark, which halves the window.
//! - **Until the RTT is known** the first window leaves at once.
//! - **Fallback.** RFC 9331 section 4.3, requirement 3, asks for detection of a shared Classic queue that marks ECT(1), and for a response as
//!   Reno's there. This is not implemented. With `ecn = "off"` the algorithm is Reno but for pacing and R*. With `ecn = "classic"` each ACK
//!   counts as one mark until the sender has answered.
//! - Windows below two segments, which the draft lists as future work, are the frame's: at least one segment.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, MadeForEcn, Params};
use crate::parts::Mark;
use crate::time::{MILLISECOND, Nanos, seconds};
use crate::{Ack, Classic, CongestionControl, Flow, Response, Signal, Start};

params! {
    /// Parameters of Prague.
    pub struct PragueParams for PRAGUE {
        g: f64 = number(1.0 / 16.0, 0.0, 1.0), "1",
            "Weight of the newest fraction of marked segments in alpha, per virtual RTT.",
            "draft-04 section 2.4.1: 1/16";
        virtual_rtt: f64 = number(25.0, 0.0, 1000.0), "ms",
            "Virtual RTT: flows with a shorter RTT have the rate of a flow with this RTT; 0 disables it.",
            "draft-04 section 2.4.4: 25 ms";
        transition: f64 = number(500.0, 0.0, 1e6), "round trips",
            "Round trips after which virtual_rtt applies.",
            "draft-04 section 2.4.4: D = 500";
    }
}

/// Prague.
pub const PRAGUE: Info = Info {
    name: "prague",
    paper: "K. De Schepper et al., Prague Congestion Control, draft-briscoe-iccrg-prague-congestion-control-04, 2024",
    group: Group::Ecn,
    recovery: "rack",
    own_slow_start: false,
    ecn: Some(MadeForEcn { kind: "accurate", ect: 1 }),
    params: PragueParams::PARAMS,
};

/// Longest burst: 2^-12 s (draft-04 section 2.4.5).
const BURST_S: f64 = 1.0 / 4096.0;

/// The window control of Prague.
///
/// ```
/// use fullpipe_cc::algorithms::prague::{PRAGUE, Prague};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow};
///
/// let mut cc = Prague::controller(&Params::defaults(&PRAGUE), 100.0);
/// let flow = Flow::at(0).cwnd_limited(true).delivered(1).srtt(Some(50_000_000));
/// cc.on_ack(&flow, &Ack::of(1, 0.0).ce(1));
/// assert_eq!(cc.cwnd(), 50.0, "alpha is 1 at the first mark, which takes alpha/2");
/// assert_eq!(cc.pacing_rate(), Some(50.0 / 0.05));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prague {
    frame: Classic<Answer>,
    srtt: Option<Nanos>,
    /// The sender has signaled a mark; the next ACK counts it.
    signaled: bool,
}

/// Growth, and reductions for marks and losses.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    g: f64,
    virtual_rtt: Nanos,
    transition: u64,
    /// `None` before the first mark.
    alpha: Option<f64>,
    /// Over which alpha is measured, and segments acknowledged and marked in it.
    measured: RoundTrip,
    acked: u64,
    marked: u64,
    /// Since the last cut, and the window before it.
    since_cut: RoundTrip,
    before_cut: f64,
}

/// A round trip of at least the virtual length.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RoundTrip {
    outstanding: Mark,
    began: Nanos,
}

impl RoundTrip {
    const NONE: RoundTrip = RoundTrip { outstanding: Mark::START, began: 0 };

    fn now(flow: &Flow) -> RoundTrip {
        RoundTrip { outstanding: Mark::now(flow), began: flow.now }
    }

    fn is_over(&self, flow: &Flow, least: Nanos) -> bool {
        self.outstanding.passed(flow) && flow.now - self.began >= least
    }
}

impl Prague {
    /// Prague in slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Prague {
        let given = PragueParams::read(params);
        let answer = Answer {
            g: given.g,
            virtual_rtt: (given.virtual_rtt * MILLISECOND as f64) as Nanos,
            transition: given.transition as u64,
            alpha: None,
            measured: RoundTrip::NONE,
            acked: 0,
            marked: 0,
            since_cut: RoundTrip::NONE,
            before_cut: 0.0,
        };
        Prague { frame: Classic::new(start, answer), srtt: None, signaled: false }
    }

    /// A mark cuts the window, unless one has within the last virtual round trip.
    fn answer_marks(&mut self, flow: &Flow, least: Nanos) {
        if flow.in_recovery || !self.frame.response.since_cut.is_over(flow, least) {
            return;
        }
        self.frame.response.before_cut = self.frame.cwnd();
        self.frame.response.since_cut = RoundTrip::now(flow);
        self.frame.on_congestion(flow, Signal::Ecn);
    }
}

impl CongestionControl for Prague {
    fn cwnd(&self) -> f64 {
        self.frame.cwnd()
    }

    fn ssthresh(&self) -> f64 {
        self.frame.ssthresh()
    }

    fn pacing_rate(&self) -> Option<f64> {
        let windows = if self.cwnd() < self.ssthresh() / 2.0 { 2.0 } else { 1.0 };
        Some(self.srtt.map_or(f64::INFINITY, |srtt| windows * self.cwnd() / seconds(srtt)))
    }

    fn send_quantum(&self) -> u64 {
        self.pacing_rate().filter(|rate| rate.is_finite()).map_or(1, |rate| (rate * BURST_S).max(1.0) as u64)
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.srtt = flow.srtt.or(self.srtt);
        let least = if self.frame.in_slow_start() { 0 } else { self.frame.response.least(flow) };
        let marked = ack.ce.max(u64::from(core::mem::take(&mut self.signaled)));
        self.frame.response.measure(flow, ack.acked, marked, least);
        if marked > 0 {
            self.answer_marks(flow, least);
        }
        self.frame.on_ack(flow, ack);
    }

    /// A mark is answered with its ACK, which follows: alpha counts it first ([`CongestionControl::on_ack`]).
    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        match signal {
            Signal::Ecn => self.signaled = true,
            Signal::Loss | Signal::Timeout => self.frame.on_congestion(flow, signal),
        }
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        self.frame.on_restart(cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.frame.on_undo(cwnd, ssthresh);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.frame.response.alpha.unwrap_or(f64::NAN));
    }
}

impl Answer {
    /// How long a round trip is taken to be at least.
    fn least(&self, flow: &Flow) -> Nanos {
        if flow.round < self.transition { 0 } else { self.virtual_rtt }
    }

    fn measure(&mut self, flow: &Flow, acked: u64, marked: u64, least: Nanos) {
        let Some(alpha) = self.alpha else {
            if marked > 0 {
                self.alpha = Some(1.0);
                self.measured = RoundTrip::now(flow);
            }
            return;
        };
        self.acked += acked;
        self.marked += marked;
        if self.acked > 0 && self.measured.is_over(flow, least) {
            let counted = self.marked.min(self.acked);
            let m = counted as f64 / self.acked as f64;
            self.alpha = Some(alpha + self.g * (m - alpha));
            self.measured = RoundTrip::now(flow);
            (self.acked, self.marked) = (0, self.marked - counted);
        }
    }
}

impl Response for Answer {
    /// (1/w) (RTT/R*)^2 per unmarked segment: draft-04 sections 2.4.3 and 2.4.4.
    fn increase(&mut self, w: f64, flow: &Flow, _ack: &Ack) -> f64 {
        let least = self.least(flow);
        let ratio = flow.srtt.filter(|srtt| *srtt < least).map_or(1.0, |srtt| srtt as f64 / least as f64);
        ratio * ratio / w
    }

    /// w (1 - alpha/2) at a mark; half at a loss, of the window before a cut that is younger than a round trip.
    fn decrease(&mut self, w: f64, flow: &Flow, signal: Signal) -> f64 {
        match signal {
            Signal::Ecn => w * (1.0 - self.alpha.unwrap_or(1.0) / 2.0),
            Signal::Loss if !self.since_cut.is_over(flow, self.least(flow)) => w.min(self.before_cut / 2.0),
            Signal::Loss | Signal::Timeout => w / 2.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::FLOW;

    fn prague(window: f64, given: &[(&str, Value)]) -> Prague {
        Prague::controller(&Params::checked(&PRAGUE, given).unwrap(), window)
    }

    /// A sender with so many milliseconds of RTT, past the transition.
    fn flow(rtt_ms: u64) -> Flow {
        Flow { now: 1000 * MILLISECOND, ..FLOW.round(500).srtt(Some(rtt_ms * MILLISECOND)) }
    }

    /// Draft-04 section 2.4.4: growth is scaled by (RTT / 25 ms)^2: .04 at 5 ms, .16 at 10, 1 from 25 ms on, and by nothing before the
    /// 500th round trip.
    #[test]
    fn growth_goes_by_the_square_of_the_rtt_below_25_ms() {
        for (rtt_ms, scale) in [(5, 0.04), (10, 0.16), (25, 1.0), (100, 1.0)] {
            let mut cc = prague(20.0, &[]);
            cc.frame.set_window(10.0);
            cc.on_ack(&flow(rtt_ms).round(499), &Ack::of(1, 1.0));
            assert!((cc.cwnd() - 10.1).abs() < 1e-12, "{rtt_ms} ms, before");
            cc.frame.set_window(10.0);
            cc.on_ack(&flow(rtt_ms), &Ack::of(1, 1.0));
            assert!((cc.cwnd() - 10.0 - scale / 10.0).abs() < 1e-12, "{rtt_ms} ms: {}", cc.cwnd());
        }
    }

    /// Draft-04 sections 2.4.1 and 2.4.2: the first mark sets alpha to 1 and halves 40; slow start is over. At 10 ms no other cuts before
    /// 25 ms have passed, and alpha stays as long; then, of 20 segments acknowledged 5 marked, alpha = 15/16 + (1/16) (1/4), and
    /// 20 (1 - .953125/2) = 10.46875 are left.
    #[test]
    fn marks_cut_by_alpha_once_a_virtual_round_trip() {
        let mut cc = prague(40.0, &[]);
        let at = |ms: u64, delivered: u64| Flow {
            now: (1000 + ms) * MILLISECOND,
            ..flow(10).delivered(delivered).flight_size(10)
        };
        cc.on_ack(&at(0, 100), &Ack::of(1, 0.0).ce(1));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (20.0, 20.0));
        cc.on_ack(&at(12, 115), &Ack::of(15, 0.0).ce(4));
        assert_eq!((cc.cwnd(), cc.frame.response.alpha), (20.0, Some(1.0)), "12 ms later");
        cc.on_ack(&at(25, 120), &Ack::of(5, 0.0).ce(1));
        assert_eq!((cc.cwnd(), cc.frame.response.alpha), (10.46875, Some(0.953125)), "25 ms later");
    }

    /// An application that writes a segment each 25 ms: the first one's mark sets alpha to 1, and ten without a mark leave (15/16)^10. The
    /// window stays at what the mark has left.
    #[test]
    fn alpha_moves_in_limited_round_trips() {
        let mut cc = prague(40.0, &[]);
        for i in 0..=10 {
            let flow = Flow { now: (1000 + 25 * i) * MILLISECOND, ..flow(10).delivered(100 + i).cwnd_limited(false) };
            cc.on_ack(&flow.flight_size(0), &Ack::of(1, 1.0).ce(u64::from(i == 0)));
        }
        assert!((cc.frame.response.alpha.unwrap() - 0.9375_f64.powi(10)).abs() < 1e-12);
        assert_eq!(cc.ssthresh(), 2.0, "of a flight of 0");
    }

    /// At 10 ms without a virtual RTT: the data outstanding, up to segment 110, is acknowledged 12 ms later, which is enough.
    #[test]
    fn without_a_virtual_rtt_a_round_trip_is_one() {
        let mut cc = prague(40.0, &[("virtual_rtt", Value::Number(0.0))]);
        let at = |ms: u64, delivered: u64| Flow {
            now: (1000 + ms) * MILLISECOND,
            ..flow(10).delivered(delivered).flight_size(10)
        };
        cc.on_ack(&at(0, 100), &Ack::of(1, 0.0).ce(1));
        cc.on_ack(&at(6, 110), &Ack::of(10, 0.0).ce(10));
        assert_eq!(cc.cwnd(), 20.0);
        cc.on_ack(&at(12, 111), &Ack::of(1, 0.0).ce(1));
        assert_eq!((cc.cwnd(), cc.frame.response.alpha), (10.0, Some(1.0)));
    }

    /// A loss halves 40. One within a round trip of a cut takes half of what was before the cut: from 40 at alpha = 1/2 to 30, and to 20.
    #[test]
    fn a_loss_halves_what_was_before_a_cut_of_the_same_round_trip() {
        let now = flow(50).delivered(100).flight_size(40);
        let mut cc = prague(40.0, &[]);
        cc.on_congestion(&now, Signal::Ecn);
        assert_eq!(cc.cwnd(), 40.0, "it is the ACK that tells");
        cc.on_congestion(&now, Signal::Loss);
        assert_eq!(cc.cwnd(), 20.0);
        cc.frame.set_window(40.0);
        cc.frame.response.alpha = Some(0.5);
        cc.frame.response.g = 0.0;
        cc.on_ack(&now, &Ack::of(1, 0.0).ce(1));
        assert_eq!(cc.cwnd(), 30.0);
        cc.on_congestion(&now, Signal::Loss);
        assert_eq!(cc.cwnd(), 20.0);
    }

    /// 100 segments at 10 ms: 10,000 a second, twice that far below ssthresh; 2^-12 s of them are 2.4, and 4.9.
    #[test]
    fn it_is_paced_at_a_window_per_round_trip() {
        let mut cc = prague(10.0, &[]);
        assert_eq!((cc.pacing_rate(), cc.send_quantum()), (Some(f64::INFINITY), 1));
        cc.frame.set_window(100.0);
        cc.on_ack(&flow(10), &Ack::of(1, 0.0));
        assert_eq!((cc.pacing_rate(), cc.send_quantum()), (Some(10_000.0), 2));
        cc.frame.set_window(2.0);
        assert_eq!(cc.send_quantum(), 1, "200 a second, .05 in 2^-12 s");
        cc.frame.set_window(100.0);
        cc.on_undo(100.0, 200.0);
        assert_eq!(cc.pacing_rate(), Some(10_000.0), "at half of ssthresh");
        cc.on_undo(100.0, 300.0);
        assert_eq!((cc.pacing_rate(), cc.send_quantum()), (Some(20_000.0), 4));
    }
}
