//! Hyun and Jang: Reno untouched, plus `extra` segments that fill an under-buffered link while Reno's window is too small to.
//!
//! Source: D. Hyun and J. W. Jang, *Enhanced TCP Congestion Control with Higher Utilization in Under-Buffered Links*, IEICE
//! Transactions on Communications E95-B(4), 2012. In each congestion avoidance cycle i:
//!
//! - C = LSRTT/RTTmin > alpha means congestion (equation 1);
//! - W_full(i) = beta (cwnd + extra) when C first exceeds alpha (equation 2): the least window that fills the link;
//! - the window is cwnd + extra (equation 3), cwnd being Reno's;
//! - extra grows quickly while cwnd + extra < W_full(i-1), then holds the sum at W_full(i-1), and is 0 once C > alpha or cwnd
//!   has reached W_full(i-1) (equation 4).
//!
//! # Deviations and choices
//!
//! The letter contradicts itself in places. The choices follow from the effect of each reading in the experiment of the
//! letter (100 Mbit/s, 80 ms, k = 1/8, 1/4, 1/2, 3/4; published 0.995, 0.997, 0.999, 0.999), tried in ns-2.
//!
//! - **Growth of extra.** Equation 4 read literally, extra = a cwnd, makes the window 2.1 times as large within a round
//!   trip: it overflows the buffer at small k (0.808, 0.860, 0.998, 0.999). Going to W_full at once is worse. The text
//!   has "like a slow start", and "the first several rounds"; here cwnd + extra grows by the factor a per round trip,
//!   ACK by ACK (a - 1 segments per ACK). From 562 to 970 segments that takes ln(970/562)/ln 1.1 = 6 round trips.
//! - **LSRTT.** "Smoothed RTT using log-likelihood" refers to a paper of which no copy was found. Here it is the
//!   average, with gain 1/8, of each round trip's least RTT, restarted at each backoff. Without the restart it
//!   never falls below alpha in time and the scheme is Reno; with the mean RTT of a round instead of the least, the
//!   ramp's own bursts look like congestion; with the raw RTT, congestion is seen a few rounds earlier and W_full is 1
//!   % lower.
//! - **`lsrtt = "likelihood"`** is a two-sided CUSUM test on the Gaussian log-likelihood ratio: LSRTT is the mean since
//!   the last change found. Its constants are ours: a shift of alpha - 1, a standard deviation of half of it, and odds
//!   of e^5.
//! - **Rounds that are not looked at**: ACKs of data sent before the end of a recovery, and, after a timeout, before
//!   the end of slow start. They show the queue of the time before the loss. extra begins to grow after them.
//! - **Case 3.** "cwnd > cwnd + extra" cannot be; "cwnd + extra >= W_full" of the text contradicts case 2, which holds
//!   it there. Here cwnd >= W_full. Once 0, extra stays 0 until the next backoff.
//! - **A cycle without congestion** (C never above alpha) keeps the last W_full. In the first cycle there is none, and
//!   the scheme is Reno.
//! - **Reno's increase** is one segment per round trip; with cwnd + extra ACKs in one, each gives 1/(cwnd + extra).
//! - **Backoff**: "halves its congestion window cwnd_proposed": the sum. At a loss from congestion extra is 0 and the
//!   two agree. An ECN mark is a backoff too.

use crate::algorithms::lsrtt::{Likelihood, Lsrtt};
use crate::algorithms::reno::Reno;
use crate::declare::{TypedParams, choices, params};
use crate::params::{Group, Info, Params};
use crate::parts::{Ewma, Mark};
use crate::time::Nanos;
use crate::{ABE, Ack, Classic, CongestionControl, Flow, Signal, Start};

params! {
    /// Parameters of Hyun and Jang's scheme.
    pub struct HyunJangParams for HYUN_JANG {
        a: f64 = number(1.1, 1.0, 2.0), "1",
            "Factor by which cwnd + extra grows per round trip towards W_full.",
            "Hyun and Jang 2012, section 4: a = 1.1";
        alpha: f64 = number(1.02, 1.0, 10.0), "1",
            "LSRTT/RTTmin above which the path is congested.",
            "Hyun and Jang 2012, equation 1 and section 4: alpha = 1.02";
        beta: f64 = number(0.97, 0.01, 1.0), "1",
            "W_full as a fraction of the window at the onset of congestion.",
            "Hyun and Jang 2012, equation 2 and section 4: beta = 0.97";
        lsrtt: LsrttFilter = choice(&["ewma", "likelihood"]), "1",
            "Smoothing of the RTT: exponential, or the mean since a detected change.",
            "Hyun and Jang 2012, section 2.1, cite Ngwenya and Hancke 2004 without a definition; ours";
        lsrtt_shift: f64 = number(0.02, 1e-6, 10.0), "1",
            "Relative change of the RTT to detect; for lsrtt = \"likelihood\".",
            "ours: alpha - 1";
        lsrtt_sigma: f64 = number(0.01, 1e-6, 10.0), "1",
            "Relative standard deviation of the RTT; for lsrtt = \"likelihood\".",
            "ours: half the shift";
        lsrtt_threshold: f64 = number(5.0, 0.0, 1e6), "1",
            "Log-likelihood ratio beyond which the RTT has changed; for lsrtt = \"likelihood\".",
            "ours: odds of e^5, 148 to 1";
        abe: bool = ABE;
    }
}

/// Filter of the RTT in Hyun and Jang's scheme.
///
/// ```
/// use fullpipe_cc::algorithms::hyun_jang::{HYUN_JANG, HyunJangParams, LsrttFilter};
/// use fullpipe_cc::params::{Params, Value};
/// use fullpipe_cc::TypedParams;
///
/// let given = [("lsrtt", Value::Name("likelihood"))];
/// assert_eq!(HyunJangParams::read(&Params::checked(&HYUN_JANG, &given)?).lsrtt, LsrttFilter::Likelihood);
/// assert_eq!(HyunJangParams::default().lsrtt, LsrttFilter::Ewma);
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LsrttFilter {
    /// Exponential average.
    Ewma,
    /// Mean since a change that a likelihood ratio detects.
    Likelihood,
}

choices! { LsrttFilter { Ewma = "ewma", Likelihood = "likelihood" } }

/// Hyun and Jang's scheme.
pub const HYUN_JANG: Info = Info {
    name: "hyun-jang",
    paper: "D. Hyun, J. W. Jang, Enhanced TCP Congestion Control with Higher Utilization in Under-Buffered Links, \
            IEICE Transactions on Communications E95-B(4), 2012",
    group: Group::Both,
    recovery: "reno",
    own_slow_start: false,
    ecn: None,
    params: HyunJangParams::PARAMS,
};

/// Reno with extra segments.
///
/// ```
/// use fullpipe_cc::algorithms::hyun_jang::{HYUN_JANG, HyunJang};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = HyunJang::controller(&Params::defaults(&HYUN_JANG), 100.0);
/// let flow = Flow::at(0).cwnd_limited(true);
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 50.0);
/// cc.on_ack(&flow, &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 50.0 + 1.0 / 50.0, "Reno's window until W_full is known");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HyunJang {
    a: f64,
    alpha: f64,
    beta: f64,
    /// Reno, with its own window.
    reno: Classic<Reno>,
    /// Segments on top of Reno's window.
    extra: f64,
    /// W_full of the cycle before, segments.
    w_full: Option<f64>,
    /// W_full found in this cycle.
    next_w_full: Option<f64>,
    lsrtt: Lsrtt,
    /// The round's least RTT.
    round_rtt: Option<Nanos>,
    /// C, LSRTT/RTTmin.
    congestion: f64,
    stage: Stage,
}

/// Stage of a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Slow start, in which nothing is measured.
    SlowStart,
    /// Fast recovery, likewise.
    Recovery,
    /// ACKs of data sent before the mark, likewise.
    Settling(Mark),
    /// extra grows.
    Ramp,
    /// extra holds the window at W_full.
    Hold,
    /// Plain Reno until the next backoff.
    Reno,
}

impl HyunJang {
    /// The scheme that begins in slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> HyunJang {
        let given = HyunJangParams::read(params);
        let lsrtt = match given.lsrtt {
            LsrttFilter::Ewma => Lsrtt::Ewma(Ewma::default()),
            _ => Lsrtt::Likelihood(Likelihood::new(given.lsrtt_shift, given.lsrtt_sigma, given.lsrtt_threshold)),
        };
        HyunJang {
            a: given.a,
            alpha: given.alpha,
            beta: given.beta,
            reno: Classic::new(start, Reno::default()).with_abe(params),
            extra: 0.0,
            w_full: None,
            next_w_full: None,
            lsrtt,
            round_rtt: None,
            congestion: f64::NAN,
            stage: Stage::SlowStart,
        }
    }

    /// Lets Reno see the ACK; its increase is per round trip of cwnd + extra ACKs.
    #[inline]
    fn grow_reno(&mut self, flow: &Flow, ack: &Ack) {
        if self.extra == 0.0 {
            return self.reno.on_ack(flow, ack);
        }
        let share = self.reno.cwnd() / (self.reno.cwnd() + self.extra);
        self.reno.on_ack(flow, &Ack { credit: ack.credit * share, ..*ack });
    }

    /// Skips ACKs of data from before this cycle; returns whether the ACK may be measured.
    #[inline]
    fn settled(&mut self, flow: &Flow) -> bool {
        match self.stage {
            Stage::SlowStart if !self.reno.in_slow_start() => self.stage = Stage::Settling(Mark::now(flow)),
            Stage::Settling(mark) if mark.passed(flow) => {
                self.stage = match self.w_full {
                    Some(w_full) if w_full > self.reno.cwnd() => Stage::Ramp,
                    _ => Stage::Reno,
                };
            }
            _ => {}
        }
        matches!(self.stage, Stage::Ramp | Stage::Hold | Stage::Reno)
    }

    /// Equations 1 and 2, once per round trip.
    fn end_round(&mut self, flow: &Flow) {
        let (Some(rtt), Some(min_rtt)) = (self.round_rtt.take(), flow.min_rtt) else { return };
        self.congestion = self.lsrtt.update(rtt as f64) / min_rtt as f64;
        if self.congestion > self.alpha {
            self.next_w_full.get_or_insert(self.beta * (self.reno.cwnd() + self.extra));
            self.extra = 0.0;
            self.stage = Stage::Reno;
        }
    }

    /// Equation 4.
    #[inline]
    fn adjust_extra(&mut self, ack: &Ack) {
        let (Stage::Ramp | Stage::Hold, Some(w_full)) = (self.stage, self.w_full) else { return };
        let room = w_full - self.reno.cwnd();
        if room <= 0.0 {
            self.extra = 0.0;
            self.stage = Stage::Reno;
        } else if self.stage == Stage::Ramp {
            self.extra += (self.a - 1.0) * ack.credit;
            if self.extra >= room {
                self.extra = room;
                self.stage = Stage::Hold;
            }
        } else {
            self.extra = room;
        }
    }
}

impl CongestionControl for HyunJang {
    /// Equation 3.
    #[inline]
    fn cwnd(&self) -> f64 {
        self.reno.cwnd() + self.extra
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.reno.ssthresh()
    }

    #[inline]
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.grow_reno(flow, ack);
        if flow.in_recovery || !self.settled(flow) {
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if flow.cwnd_limited {
            self.adjust_extra(ack);
        }
        if ack.round_start {
            self.end_round(flow);
        }
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        if self.extra > 0.0 {
            self.reno.set_window(self.cwnd());
            self.extra = 0.0;
        }
        self.reno.on_congestion(flow, signal);
        self.w_full = self.next_w_full.take().or(self.w_full);
        self.lsrtt.reset();
        self.round_rtt = None;
        self.stage = if signal == Signal::Timeout { Stage::SlowStart } else { Stage::Recovery };
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        self.extra = 0.0;
        self.reno.on_restart(cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.reno.on_undo(cwnd - self.extra, ssthresh);
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.reno.on_recovered(flow);
        if self.stage == Stage::Recovery {
            self.stage = Stage::Settling(Mark::now(flow));
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("cwnd_reno", self.reno.cwnd());
        visit("extra", self.extra);
        visit("w_full", self.w_full.unwrap_or(f64::NAN));
        visit("lsrtt_ratio", self.congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Driver;

    /// A sender after its first loss, at 1250 segments with an RTT of 80 ms, so that Reno's window is 625.
    fn after_first_loss() -> (HyunJang, Driver) {
        let mut cc = HyunJang::controller(&Params::defaults(&HYUN_JANG), 1249.0);
        let mut sender = Driver::new();
        sender.ack(&mut cc, 80.0);
        sender.lose(&mut cc);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (625.0, 625.0));
        (cc, sender)
    }

    /// The window as a whole is what it was, extra segments that it has by then included.
    #[test]
    fn a_needless_cut_is_undone() {
        let (mut cc, _) = after_first_loss();
        cc.extra = 3.0;
        cc.on_undo(1250.0, 800.0);
        assert_eq!((cc.cwnd(), cc.reno.cwnd(), cc.ssthresh()), (1250.0, 1247.0, 800.0));
    }

    /// Sets the window of `cc` as if the cycle had brought it there.
    fn at(cc: &mut HyunJang, cwnd: f64) {
        cc.reno.set_window(cwnd);
    }

    /// Equations 1 and 2: RTT 80 ms, then 90 ms. LSRTT moves an eighth a round: 81.25 (C = 1.0156), 82.34 (C = 1.029 >
    /// 1.02). W_full = 0.97 times the window there.
    #[test]
    fn finds_w_full_when_the_rtt_rises() {
        let (mut cc, mut sender) = after_first_loss();
        for _ in 0..4 {
            sender.round(&mut cc, 80.0);
        }
        assert_eq!(cc.congestion, 1.0);
        at(&mut cc, 1000.0);
        sender.round(&mut cc, 80.0);
        let flow = sender.flow;
        let end_round = |cc: &mut HyunJang| {
            let ack = Ack { acked: 1, credit: 0.0, round_start: true, rtt: Some(90_000_000), ..Ack::default() };
            cc.on_ack(&flow, &ack);
        };
        end_round(&mut cc);
        assert!((cc.congestion - 81.25 / 80.0).abs() < 1e-9, "{}", cc.congestion);
        assert_eq!(cc.next_w_full, None);
        end_round(&mut cc);
        let window = cc.cwnd();
        assert_eq!(cc.next_w_full, Some(0.97 * window));
        end_round(&mut cc);
        at(&mut cc, 1200.0);
        end_round(&mut cc);
        assert_eq!(cc.next_w_full, Some(0.97 * window), "the first time C exceeds alpha counts");
    }

    /// Equation 2 takes what is in flight: Reno at 900 with 100 extra, RTT 80 ms and then 200. LSRTT = 80 + 120/8 = 95, C = 1.1875, and
    /// W_full = 0.97 times 1000, not 900 or 800.
    #[test]
    fn w_full_counts_the_extra_window() {
        let (mut cc, mut sender) = after_first_loss();
        for _ in 0..4 {
            sender.round(&mut cc, 80.0);
        }
        at(&mut cc, 900.0);
        cc.extra = 100.0;
        cc.round_rtt = Some(200_000_000);
        cc.end_round(&sender.flow);
        assert!((cc.congestion - 1.1875).abs() < 1e-9, "{}", cc.congestion);
        assert_eq!((cc.next_w_full, cc.extra), (Some(970.0), 0.0));
    }

    /// Equation 4: a - 1 = 0.1 segments for each segment that an ACK's credit counts.
    #[test]
    fn extra_counts_credit() {
        let (mut cc, _) = after_first_loss();
        (cc.stage, cc.w_full) = (Stage::Ramp, Some(970.0));
        for (credit, extra) in [(2.0, 0.2), (0.5, 0.25)] {
            cc.adjust_extra(&Ack { acked: 2, credit, ..Ack::default() });
            assert!((cc.extra - extra).abs() < 1e-9, "{}", cc.extra);
        }
    }

    /// Equation 4 over one cycle with W_full = 970 and Reno at 625: the sum grows by the factor 1.1 a round trip, 970/625
    /// needs ln 1.552/ln 1.1 = 4.6 of them; then it holds 970 while Reno gains a segment a round trip; at cwnd >= 970, extra
    /// is 0. All the while Reno's window is what plain Reno's would be.
    #[test]
    fn extra_ramps_holds_and_vanishes() {
        let (mut cc, mut sender) = after_first_loss();
        cc.w_full = Some(970.0);
        let settled_at = sender.flow.delivered + sender.flow.flight_size;
        while sender.flow.delivered < settled_at {
            sender.ack(&mut cc, 80.0);
            assert_eq!(cc.extra, 0.0, "nothing is added before data sent after recovery is acknowledged");
        }
        let (mut rounds, reno_before) = (0, cc.reno.cwnd());
        while cc.stage != Stage::Hold {
            let before = cc.cwnd();
            sender.round(&mut cc, 80.0);
            rounds += 1;
            let growth = cc.cwnd() / before;
            assert!(growth < 1.11 && (rounds == 1 || growth > 1.09 || cc.stage == Stage::Hold), "{rounds}: {growth}");
        }
        assert!((5..=6).contains(&rounds), "{rounds} round trips");
        assert!((cc.reno.cwnd() - reno_before - f64::from(rounds)).abs() < 1.0, "Reno gains one segment a round trip");
        sender.round(&mut cc, 80.0);
        assert!((cc.cwnd() - 970.0).abs() < 1e-9);
        at(&mut cc, 970.5);
        sender.ack(&mut cc, 80.0);
        assert_eq!((cc.extra, cc.stage), (0.0, Stage::Reno));
    }

    /// Equation 4, case 3: congestion takes extra away; "halves its congestion window cwnd_proposed": a loss while
    /// extra = 300 on 700 leaves 500.
    #[test]
    fn congestion_and_loss() {
        let (mut cc, mut sender) = after_first_loss();
        at(&mut cc, 700.0);
        cc.extra = 300.0;
        let mut lossy = cc.clone();
        sender.flow.flight_size = 1000;
        lossy.on_congestion(&sender.flow, Signal::Loss);
        assert_eq!((lossy.cwnd(), lossy.ssthresh(), lossy.extra), (500.0, 500.0, 0.0));

        cc.stage = Stage::Hold;
        cc.w_full = Some(1000.0);
        let ack = Ack { acked: 1, credit: 1.0, round_start: true, rtt: Some(90_000_000), ..Ack::default() };
        cc.on_ack(&sender.flow, &ack);
        assert_eq!((cc.extra, cc.stage), (0.0, Stage::Reno));
    }

    /// Data that is not looked at after a timeout: all of slow start, here up to 5 segments, then ACKs of the 110 segments sent by its end.
    /// Then extra grows if W_full is above Reno's window, which is case 3 where the two are equal.
    #[test]
    fn settles_after_slow_start() {
        let flow = |delivered| Flow { delivered, flight_size: 10, ..crate::testing::FLOW };
        for (w_full, stage) in [(Some(5.5), Stage::Ramp), (Some(5.0), Stage::Reno), (None, Stage::Reno)] {
            let mut cc = HyunJang::controller(&Params::defaults(&HYUN_JANG), 10.0);
            cc.on_congestion(&flow(90), Signal::Timeout);
            cc.w_full = w_full;
            assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 5.0));
            assert_eq!((cc.settled(&flow(99)), cc.stage), (false, Stage::SlowStart));
            at(&mut cc, 5.0);
            let ends = Mark::now(&flow(100));
            assert_eq!((cc.settled(&flow(100)), cc.stage), (false, Stage::Settling(ends)));
            assert_eq!((cc.settled(&flow(110)), cc.stage), (false, Stage::Settling(ends)));
            assert_eq!((cc.settled(&flow(111)), cc.stage), (true, stage));
        }
    }

    /// Equation 1 with alpha = 1.25 and RTTmin = 80 ms: 100 ms is C = 1.25, no congestion; then 108 ms makes LSRTT = 101 ms, C = 1.2625.
    #[test]
    fn congestion_is_above_alpha() {
        let mut cc = HyunJang::controller(&Params::defaults(&HYUN_JANG), 200.0);
        cc.alpha = 1.25;
        cc.extra = 100.0;
        cc.stage = Stage::Hold;
        let flow = Flow { min_rtt: Some(80_000_000), ..crate::testing::FLOW };
        cc.round_rtt = Some(100_000_000);
        cc.end_round(&flow);
        assert_eq!((cc.congestion, cc.next_w_full, cc.extra, cc.stage), (1.25, None, 100.0, Stage::Hold));
        cc.round_rtt = Some(108_000_000);
        cc.end_round(&flow);
        assert_eq!((cc.congestion, cc.next_w_full, cc.extra, cc.stage), (1.2625, Some(0.97 * 300.0), 0.0, Stage::Reno));
    }

    /// Section 2.2: in the first cycle, with no W_full before it, the scheme is Reno.
    #[test]
    fn first_cycle_is_reno() {
        let (mut cc, mut sender) = after_first_loss();
        let mut reno = cc.reno.clone();
        for _ in 0..5000 {
            sender.ack(&mut cc, 80.0);
            reno.on_ack(&sender.flow, &Ack { acked: 1, credit: 1.0, ..Ack::default() });
        }
        assert_eq!(cc.cwnd(), reno.cwnd());
    }
}
