//! Compound TCP: Reno's window plus a second window, which grows while the queue is short and shrinks as the queue grows.
//!
//! The draft was not read beyond its abstract. The rules are those that other texts and implementations quote.
//!
//! Source: M. Sridharan, K. Tan, D. Bansal, D. Thaler, *Compound TCP: A New TCP Congestion Control for High-Speed and Long Distance
//! Networks*, draft-sridharan-tcpm-ctcp-02 (2008). With win = cwnd + dwnd, base the least RTT and rtt the round's mean (section 3):
//!
//! - cwnd is Reno's, with win ACKs in a round trip: cwnd += 1/win per ACK;
//! - diff = win (1 - base/rtt), the segments in the queue;
//! - once a round trip: diff < gamma: dwnd += max(alpha win^k - 1, 0); else dwnd = max(dwnd - zeta diff, 0);
//! - a loss: cwnd/2 and dwnd = max(win (1 - beta) - cwnd/2, 0), so that win (1 - beta) is left;
//! - a timeout: dwnd = 0.
//!
//! # Deviations and choices
//!
//! - **gamma** is fixed at 30 segments. The draft also tunes it to the queue seen at losses; that is left out.
//! - **dwnd begins to grow** from a window of 41 segments on, beyond slow start. It falls at any window.
//! - **The RTT** is the mean of the round trip's samples. In recovery there are no samples and dwnd does not change. The round trip in
//!   which recovery ends is not judged.
//! - **A sender that its window does not limit** keeps dwnd.
//! - **A mark** (ECN) has the response to a loss.
//! - **A timeout** takes cwnd to one segment, with ssthresh at half of cwnd, as Reno has it.
//! - **An undone cut** (a segment was late, not lost) returns to dwnd the decrease of both windows.

use crate::algorithms::reno::Reno;
use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::{ABE, Ack, Classic, CongestionControl, Flow, Response, Signal, Start};

params! {
    /// Parameters of Compound TCP.
    pub struct CompoundParams for COMPOUND {
        alpha: f64 = number(0.125, 0.0, 10.0), "1",
            "Factor of the second window's growth.",
            "draft-02 section 3: 1/8";
        beta: f64 = number(0.5, 0.01, 0.99), "1",
            "Fraction of the whole window cut at a loss.",
            "draft-02 section 3: 1/2";
        k: f64 = number(0.75, 0.0, 1.0), "1",
            "Exponent of the second window's growth.",
            "draft-02 section 3: 3/4";
        zeta: f64 = number(1.0, 0.0, 100.0), "1",
            "Decrease of the second window per segment in the queue.",
            "draft-02 section 3: 1";
        gamma: f64 = number(30.0, 0.0, 1e6), "segments",
            "Backlog from which the second window decreases.",
            "draft-02 section 3: 30";
        low_window: f64 = number(41.0, 1.0, 1e6), "segments",
            "Window below which the second window does not grow.",
            "draft-02 section 3: 41";
        abe: bool = ABE;
    }
}

/// Compound TCP.
pub const COMPOUND: Info = Info {
    name: "compound",
    paper: "M. Sridharan et al., Compound TCP, draft-sridharan-tcpm-ctcp-02, 2008",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: CompoundParams::PARAMS,
};

/// The window control of Compound TCP.
///
/// ```
/// use fullpipe_cc::algorithms::compound::{COMPOUND, Compound};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Compound::controller(&Params::defaults(&COMPOUND), 512.0);
/// let flow = Flow::at(0).cwnd_limited(true).min_rtt(Some(50_000_000));
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 256.0);
/// cc.on_ack(&flow, &Ack::of(1, 0.0).rtt(Some(50_000_000)));
/// cc.on_ack(&flow, &Ack::of(1, 1.0).round_start(true));
/// let dwnd = 0.125 * 64.0 - 1.0;
/// assert!((cc.cwnd() - (256.0 + dwnd + 1.0 / (256.0 + dwnd))).abs() < 1e-9, "256^(3/4) = 64, and Reno's 1/win");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Compound {
    alpha: f64,
    beta: f64,
    k: f64,
    zeta: f64,
    gamma: f64,
    low_window: f64,
    abe: bool,
    reno: Classic<Reno>,
    dwnd: f64,
    /// Sum and number of this round's RTT samples.
    rtt_sum: f64,
    rtt_count: u32,
}

impl Compound {
    /// Compound TCP in slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Compound {
        let given = CompoundParams::read(params);
        Compound {
            alpha: given.alpha,
            beta: given.beta,
            k: given.k,
            zeta: given.zeta,
            gamma: given.gamma,
            low_window: given.low_window,
            abe: params.flag(ABE.name),
            reno: Classic::new(start, Reno::default()).with_abe(params),
            dwnd: 0.0,
            rtt_sum: 0.0,
            rtt_count: 0,
        }
    }

    /// The second window, once a round trip.
    fn judge(&mut self, flow: &Flow, may_grow: bool) {
        let Some(base) = flow.min_rtt.filter(|_| self.rtt_count > 0 && self.rtt_sum > 0.0) else { return };
        let win = self.cwnd();
        let diff = win * (1.0 - base as f64 * f64::from(self.rtt_count) / self.rtt_sum);
        if diff >= self.gamma {
            self.dwnd = (self.dwnd - self.zeta * diff.max(0.0)).max(0.0);
        } else if may_grow && win >= self.low_window {
            self.dwnd += (self.alpha * libm::pow(win, self.k) - 1.0).max(0.0);
        }
    }
}

impl CongestionControl for Compound {
    fn cwnd(&self) -> f64 {
        self.reno.cwnd() + self.dwnd
    }

    fn ssthresh(&self) -> f64 {
        self.reno.ssthresh()
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        if ack.round_start {
            if flow.cwnd_limited && !flow.in_recovery && !self.reno.in_slow_start() {
                self.judge(flow, ack.credit != 0.0);
            }
            (self.rtt_sum, self.rtt_count) = (0.0, 0);
        }
        if let Some(rtt) = ack.rtt.filter(|_| !flow.in_recovery) {
            self.rtt_sum += rtt as f64;
            self.rtt_count += 1;
        }
        let share = if self.reno.in_slow_start() { 1.0 } else { self.reno.cwnd() / self.cwnd() };
        self.reno.on_ack(flow, &Ack { credit: ack.credit * share, ..*ack });
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        let win = if flow.cwnd_limited { self.cwnd() } else { self.cwnd().min(flow.flight_size as f64) };
        self.reno.on_congestion(flow, signal);
        let kept = match signal {
            Signal::Ecn if self.abe => Reno::KEPT_WITH_ABE.max(1.0 - self.beta),
            Signal::Loss | Signal::Ecn => 1.0 - self.beta,
            Signal::Timeout => 0.0,
        };
        self.dwnd = (win * kept - self.reno.cwnd()).max(0.0);
        (self.rtt_sum, self.rtt_count) = (0.0, 0);
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        self.dwnd = 0.0;
        self.reno.on_restart(cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.dwnd = self.dwnd.max(cwnd - self.reno.cwnd());
        self.reno.on_undo(self.reno.cwnd(), ssthresh);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("dwnd", self.dwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND;

    /// Beyond slow start, with these two windows.
    fn compound(cwnd: f64, dwnd: f64) -> Compound {
        let mut cc = Compound::controller(&Params::defaults(&COMPOUND), 2.0);
        cc.reno.set_window(cwnd);
        cc.dwnd = dwnd;
        cc
    }

    /// A round trip of one sample; the ACK that ends it carries no credit but may let dwnd grow.
    fn round(cc: &mut Compound, rtt_ms: u64) {
        let flow = FLOW.min_rtt(Some(100 * MILLISECOND));
        cc.on_ack(&Flow { in_recovery: false, ..flow }, &Ack::of(1, 1e-300).rtt(Some(rtt_ms * MILLISECOND)));
        cc.on_ack(&flow, &Ack::of(1, 1e-300).round_start(true));
    }

    /// Draft-02 section 3, win^(3/4)/8 - 1: 1.03 at 41, 2.95 at 100, 21.2 at 1000, 124 at 10,000 segments; nothing below 41.
    #[test]
    fn the_second_window_grows_by_the_whole_to_the_three_quarters() {
        for (win, expected, within) in
            [(40.9, 0.0, 1e-9), (41.0, 1.03, 0.005), (100.0, 2.95, 0.005), (1000.0, 21.2, 0.05), (10_000.0, 124.0, 0.5)]
        {
            let mut cc = compound(win, 0.0);
            round(&mut cc, 100);
            assert!((cc.dwnd - expected).abs() <= within, "{win}: {}", cc.dwnd);
        }
    }

    /// Section 3: 300 segments of which 200 are dwnd, at 125 ms over 100: diff = 300 (1 - .8) = 60 >= 30 are taken, 140 left; at 110 ms
    /// 27.3 in the queue let it grow by 300^(3/4)/8 - 1 = 8.01.
    #[test]
    fn the_second_window_gives_way_to_a_queue() {
        let mut cc = compound(100.0, 200.0);
        round(&mut cc, 125);
        assert!((cc.dwnd - 140.0).abs() < 1e-9, "{}", cc.dwnd);
        let mut cc = compound(100.0, 200.0);
        round(&mut cc, 110);
        assert!((cc.dwnd - 208.01).abs() < 0.005, "{}", cc.dwnd);
        let mut cc = compound(290.0, 10.0);
        round(&mut cc, 125);
        assert_eq!(cc.dwnd, 0.0);
    }

    /// Section 3: of 100 + 200 a loss leaves 50 + 100; of 100 + 0, 50; a timeout 1, with half of the 100 as threshold.
    #[test]
    fn a_loss_halves_the_whole() {
        let mut cc = compound(100.0, 200.0);
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!((cc.reno.cwnd(), cc.dwnd, cc.ssthresh()), (50.0, 100.0, 50.0));
        let mut cc = compound(100.0, 0.0);
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.dwnd), (50.0, 0.0));
        let mut cc = compound(100.0, 200.0);
        cc.on_congestion(&FLOW, Signal::Timeout);
        assert_eq!((cc.cwnd(), cc.dwnd, cc.ssthresh()), (1.0, 0.0, 50.0));
    }

    /// RFC 8511 section 3.1: of 100 + 200 a mark leaves 80 + 160 with `abe`, and 50 + 100 without.
    #[test]
    fn a_mark_takes_a_fifth_with_abe() {
        for (abe, windows) in [(true, (80.0, 160.0)), (false, (50.0, 100.0))] {
            let given = [("abe", crate::params::Value::Flag(abe))];
            let mut cc = Compound::controller(&Params::checked(&COMPOUND, &given).unwrap(), 2.0);
            cc.reno.set_window(100.0);
            cc.dwnd = 200.0;
            cc.on_congestion(&FLOW, Signal::Ecn);
            assert_eq!((cc.reno.cwnd(), cc.dwnd), windows);
        }
    }

    /// Section 3: with 100 + 300 an ACK adds 1/400 to cwnd.
    #[test]
    fn reno_grows_by_a_segment_in_a_round_trip_of_both() {
        let mut cc = compound(100.0, 300.0);
        cc.on_ack(&FLOW, &Ack::of(1, 1.0));
        assert!((cc.reno.cwnd() - 100.0025).abs() < 1e-12 && cc.dwnd == 300.0);
    }

    #[test]
    fn the_second_window_of_a_limited_sender_stays() {
        let mut cc = compound(100.0, 200.0);
        let flow = FLOW.min_rtt(Some(100 * MILLISECOND)).cwnd_limited(false);
        cc.on_ack(&flow, &Ack::of(1, 1e-300).rtt(Some(125 * MILLISECOND)));
        cc.on_ack(&flow, &Ack::of(1, 1e-300).round_start(true));
        assert_eq!(cc.dwnd, 200.0);
    }
}
