//! YeAH: Scalable TCP's growth while the path has no queue, Reno's while it has, and a window that empties its own queue before
//! the buffer overflows.
//!
//! Source: A. Baiocchi, A. P. Castellani, F. Vacirca, *YeAH-TCP: Yet Another Highspeed TCP*, PFLDnet 2007. The paper was not
//! read; the rules and constants are those of Linux, which quotes it. Once per RTT, with RTT the least of its samples and base the least of all:
//!
//! - Q = cwnd (1 - base/RTT) is the flow's own queue, L = (RTT - base)/base the network's congestion;
//! - Q <= alpha and L <= 1/phi: fast mode, 0.01 segments per ACK; otherwise slow mode, Reno's 1/cwnd;
//! - precautionary decongestion: Q > alpha takes Q from the window, but leaves at least cwnd_reno, the window of Reno;
//! - cwnd_reno: half of the window when slow mode begins, a segment more per RTT in it, half of itself at a loss; forgotten after
//!   zeta RTTs of fast mode;
//! - a loss takes Q, at least an eighth and at most half of the window; half, once slow mode has lasted rho RTTs, since others are
//!   greedy then.
//!
//! # Deviations and choices
//!
//! - **Three samples** of the RTT are needed to judge an RTT, as in Linux. Samples of a recovery do not count.
//! - **gamma** divides Q in decongestion, which takes at most 2^-epsilon of the window; **delta** gives the least cut at a
//!   loss, 2^-delta. The paper names the fractions, Linux has them as shifts.
//! - **Fast mode** adds 0.01 per ACK, or Reno's 1/cwnd below 100 segments, where that is more.
//! - **Decongestion** acts in slow start too, and ends it. It needs a window that limits the sender, as growth does:
//!   what a round has sent while the application limited it is not judged, and none of its samples counts later.
//! - **Every congestion event** has one response: loss, timeout, and ECN mark.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::Mark;
use crate::time::Nanos;
use crate::{ABE, Ack, Classic, CongestionControl, Flow, Response, Signal, Start};

params! {
    /// Parameters of YeAH.
    pub struct YeahParams for YEAH {
        alpha: f64 = number(80.0, 0.0, 1e6), "segments",
            "Queue above which decongestion reduces the window.",
            "Baiocchi et al. 2007: Q_max; Linux: 80";
        gamma: f64 = number(1.0, 1.0, 100.0), "1",
            "Decongestion reduces the window by the queue divided by this.",
            "Linux: 1";
        delta: f64 = number(3.0, 1.0, 10.0), "1",
            "A loss reduces the window by at least 2^-delta of it.",
            "Baiocchi et al. 2007: 1/8; Linux: 3";
        epsilon: f64 = number(1.0, 1.0, 10.0), "1",
            "Decongestion reduces the window by at most 2^-epsilon of it.",
            "Linux: 1";
        phi: f64 = number(8.0, 0.1, 1000.0), "1",
            "Queueing delay above which the path is congested: base RTT divided by this.",
            "Baiocchi et al. 2007; Linux: 8";
        rho: f64 = number(16.0, 0.0, 1e6), "RTTs",
            "RTTs of slow mode after which a loss halves the window.",
            "Linux: 16";
        zeta: f64 = number(50.0, 0.0, 1e6), "RTTs",
            "RTTs of fast mode after which cwnd_reno is reset.",
            "Linux: 50";
        abe: bool = ABE;
    }
}

/// YeAH.
pub const YEAH: Info = Info {
    name: "yeah",
    paper: "A. Baiocchi, A. P. Castellani, F. Vacirca, YeAH-TCP: Yet Another Highspeed TCP, PFLDnet 2007",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: YeahParams::PARAMS,
};

/// Samples of the RTT without which nothing is judged.
const SAMPLES: u32 = 3;
/// Scalable TCP's gain per ACK.
const FAST_GAIN: f64 = 0.01;
/// The least cwnd_reno, segments; it means that none is known.
const NO_RENO: f64 = 2.0;

/// YeAH.
///
/// ```
/// use fullpipe_cc::algorithms::yeah::{YEAH, Yeah};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Yeah::controller(&Params::defaults(&YEAH), 128.0);
/// let flow = Flow::at(0).cwnd_limited(true);
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 112.0, "1/8 less while no queue is known");
/// cc.on_ack(&flow, &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 112.01, "fast mode adds 0.01 for each ACK");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Yeah {
    alpha: f64,
    gamma: f64,
    epsilon: f64,
    phi: f64,
    zeta: f64,
    frame: Classic<Modes>,
    round: Mark,
    /// The least RTT of the round, and how many there were.
    rtt: Nanos,
    samples: u32,
}

/// The two modes as a response.
#[derive(Clone, Debug, PartialEq)]
struct Modes {
    delta: f64,
    rho: f64,
    /// Q of the last round, segments.
    queue: f64,
    /// Window that Reno would have, segments.
    reno: f64,
    /// RTTs of slow mode; 0 in fast mode.
    slow_rounds: u32,
    /// RTTs of fast mode since the last loss, or since cwnd_reno was forgotten.
    fast_rounds: u32,
}

impl Yeah {
    /// YeAH that begins in slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Yeah {
        let given = YeahParams::read(params);
        let modes =
            Modes { delta: given.delta, rho: given.rho, queue: 0.0, reno: NO_RENO, slow_rounds: 0, fast_rounds: 0 };
        Yeah {
            alpha: given.alpha,
            gamma: given.gamma,
            epsilon: given.epsilon,
            phi: given.phi,
            zeta: given.zeta,
            frame: Classic::new(start, modes).with_abe(params),
            round: Mark::START,
            rtt: Nanos::MAX,
            samples: 0,
        }
    }

    /// End of an RTT: the part of the window in queues, and the mode that follows from it.
    fn end_round(&mut self, flow: &Flow) {
        if let (Some(base), SAMPLES..) = (flow.min_rtt, self.samples) {
            let (base, rtt) = (base as f64, self.rtt as f64);
            let queue = self.frame.cwnd() * (1.0 - base / rtt.max(1.0)).max(0.0);
            self.judge(queue, rtt - base > base / self.phi);
            self.frame.response.queue = queue;
        }
        self.begin_round(flow);
    }

    fn begin_round(&mut self, flow: &Flow) {
        self.round = Mark::now(flow);
        (self.rtt, self.samples) = (Nanos::MAX, 0);
    }

    fn judge(&mut self, queue: f64, network_is_congested: bool) {
        if queue <= self.alpha && !network_is_congested {
            return self.frame.response.fast_round(self.zeta);
        }
        let (window, reno) = (self.frame.cwnd(), self.frame.response.reno);
        if queue > self.alpha && window > reno {
            let excess = (queue / self.gamma).min(window * libm::exp2(-self.epsilon));
            self.frame.set_window((window - excess).max(reno));
        }
        self.frame.response.slow_round(self.frame.cwnd());
    }
}

impl Modes {
    fn fast_round(&mut self, zeta: f64) {
        self.slow_rounds = 0;
        self.fast_rounds += 1;
        if f64::from(self.fast_rounds) > zeta {
            (self.reno, self.fast_rounds) = (NO_RENO, 0);
        }
    }

    fn slow_round(&mut self, window: f64) {
        self.slow_rounds = self.slow_rounds.saturating_add(1);
        self.reno = if self.reno <= NO_RENO { (window / 2.0).max(NO_RENO) } else { self.reno + 1.0 };
    }
}

impl Response for Modes {
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        let reno = 1.0 / w;
        if self.slow_rounds == 0 { reno.max(FAST_GAIN) } else { reno }
    }

    fn decrease(&mut self, w: f64, _flow: &Flow, _signal: Signal) -> f64 {
        let half = w / 2.0;
        let is_alone = f64::from(self.slow_rounds) < self.rho;
        let cut = if is_alone { self.queue.max(w * libm::exp2(-self.delta)).min(half) } else { half };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2.0).max(NO_RENO);
        w - cut
    }
}

impl CongestionControl for Yeah {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.frame.cwnd()
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.frame.ssthresh()
    }

    #[inline]
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.frame.on_ack(flow, ack);
        if flow.in_recovery {
            return;
        }
        if !flow.cwnd_limited {
            return self.begin_round(flow);
        }
        if let Some(rtt) = ack.rtt {
            self.rtt = self.rtt.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if self.round.passed(flow) {
            self.end_round(flow);
        }
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        self.frame.on_congestion(flow, signal);
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.frame.on_recovered(flow);
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        self.frame.on_restart(cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.frame.on_undo(cwnd, ssthresh);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlog", self.frame.response.queue);
        visit("cwnd_reno", self.frame.response.reno);
        visit("fast", if self.frame.response.slow_rounds == 0 { 1.0 } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Driver;
    use crate::time::MILLISECOND;

    /// Above ssthresh, with a base RTT of 100 ms.
    fn settled(window: f64) -> (Yeah, Driver) {
        let mut cc = Yeah::controller(&Params::defaults(&YEAH), window);
        cc.frame.set_window(window);
        let mut sender = Driver::new();
        sender.flow.min_rtt = Some(100 * MILLISECOND);
        (cc, sender)
    }

    /// A round with this RTT at this window, judged.
    fn round(cc: &mut Yeah, sender: &Driver, window: f64, rtt_ms: u64) {
        cc.frame.set_window(window);
        (cc.rtt, cc.samples) = (rtt_ms * MILLISECOND, SAMPLES);
        cc.end_round(&sender.flow);
    }

    fn gain(cc: &mut Yeah, sender: &mut Driver, rtt_ms: f64) -> f64 {
        let before = cc.cwnd();
        sender.ack(cc, rtt_ms);
        cc.cwnd() - before
    }

    /// At 400 segments 0.01 per ACK while there is no queue, 1/400 while there is one; at 50 1/50 in both. 112 ms is not beyond
    /// 9/8 of 100 ms, 113 ms is.
    #[test]
    fn fast_without_a_queue_slow_with() {
        for (window, rtt_ms, per_ack) in
            [(400.0, 112, 0.01), (400.0, 113, 0.0025), (50.0, 112, 0.02), (50.0, 113, 0.02)]
        {
            let (mut cc, mut sender) = settled(window);
            round(&mut cc, &sender, window, rtt_ms);
            let gained = gain(&mut cc, &mut sender, 100.0);
            assert!((gained - per_ack).abs() < 1e-9, "{window}, {rtt_ms} ms: {gained}");
        }
    }

    /// 1000 segments at 110 ms: Q = 1000/11 = 90.91 > 80, so 909.09 are left, and cwnd_reno is half of that. At 108 ms Q = 74.07.
    /// At 400 ms Q = 750, but half is the most.
    #[test]
    fn a_long_queue_is_taken_from_the_window() {
        let (mut cc, sender) = settled(1000.0);
        round(&mut cc, &sender, 1000.0, 108);
        assert_eq!(cc.cwnd(), 1000.0);
        round(&mut cc, &sender, 1000.0, 110);
        assert!((cc.cwnd() - 909.0909).abs() < 1e-3 && (cc.ssthresh() - 909.0909).abs() < 1e-3);
        assert!((cc.frame.response.reno - 454.5454).abs() < 1e-3);
        let (mut cc, sender) = settled(1000.0);
        round(&mut cc, &sender, 1000.0, 400);
        assert_eq!((cc.cwnd(), cc.frame.response.reno), (500.0, 250.0));
        // cwnd_reno goes up by a segment per RTT, and what is left is never less.
        round(&mut cc, &sender, 260.0, 400);
        assert_eq!((cc.cwnd(), cc.frame.response.reno), (250.0, 251.0));
        round(&mut cc, &sender, 240.0, 400);
        assert_eq!((cc.cwnd(), cc.frame.response.reno), (240.0, 252.0));
    }

    /// A loss at 200 takes the queue: 40 at 125 ms; an eighth, 25, at 105 ms (Q = 9.5); half, 100, at 240 ms (Q = 116.7, of which 100 is
    /// the most decongestion takes, too). cwnd_reno is halved.
    #[test]
    fn a_loss_takes_the_queue() {
        for (rtt_ms, kept) in [(125, 160.0), (105, 175.0), (240, 100.0)] {
            let (mut cc, mut sender) = settled(200.0);
            round(&mut cc, &sender, 200.0, rtt_ms);
            cc.frame.set_window(200.0);
            cc.frame.response.reno = 64.0;
            sender.lose(&mut cc);
            assert!((cc.cwnd() - kept).abs() < 1e-9, "{rtt_ms} ms: {}", cc.cwnd());
            assert_eq!(cc.frame.response.reno, 32.0);
        }
    }

    /// After 15 RTTs of slow mode a loss at 200 with a queue of 40 takes 40, after 16 it takes half.
    #[test]
    fn beside_greedy_flows_a_loss_halves() {
        for (rounds, kept) in [(15, 160.0), (16, 100.0)] {
            let (mut cc, mut sender) = settled(200.0);
            (0..rounds).for_each(|_| round(&mut cc, &sender, 200.0, 125));
            sender.lose(&mut cc);
            assert!((cc.cwnd() - kept).abs() < 1e-9, "{rounds}: {}", cc.cwnd());
        }
    }

    /// cwnd_reno outlives 50 RTTs of fast mode, not 51; two samples of the RTT are not enough to judge by.
    #[test]
    fn reno_is_forgotten_after_a_long_time_without_queue() {
        let (mut cc, sender) = settled(200.0);
        round(&mut cc, &sender, 200.0, 125);
        assert_eq!(cc.frame.response.reno, 100.0);
        (0..50).for_each(|_| round(&mut cc, &sender, 200.0, 101));
        assert_eq!(cc.frame.response.reno, 100.0);
        round(&mut cc, &sender, 200.0, 101);
        assert_eq!(cc.frame.response.reno, NO_RENO);
        (cc.rtt, cc.samples) = (125 * MILLISECOND, SAMPLES - 1);
        cc.end_round(&sender.flow);
        assert_eq!(cc.frame.response.slow_rounds, 0);
    }

    /// At 500 segments, 100 of them in use, 200 ms would be Q = 250 > 80. The window stays, also at the first ACK that finds it full, by
    /// which two limited rounds have ended. A full round at 200 ms then takes 250.
    #[test]
    fn a_limited_round_is_not_judged() {
        let (mut cc, mut sender) = settled(500.0);
        sender.flow.cwnd_limited = false;
        for _ in 0..1000 {
            sender.ack(&mut cc, 200.0);
        }
        sender.flow.cwnd_limited = true;
        sender.ack(&mut cc, 200.0);
        assert!((cc.cwnd() - 500.0).abs() < 0.02 && cc.frame.response.queue == 0.0, "{}", cc.cwnd());
        sender.round(&mut cc, 200.0);
        sender.round(&mut cc, 200.0);
        assert!(cc.cwnd() < 260.0, "{}", cc.cwnd());
    }

    /// Rounds end with ACKs: two of 125 ms at 200 segments, and it is in slow mode, with Q = 40.
    #[test]
    fn judges_once_per_round_trip() {
        let (mut cc, mut sender) = settled(200.0);
        sender.round(&mut cc, 125.0);
        sender.round(&mut cc, 125.0);
        sender.round(&mut cc, 125.0);
        assert_eq!(cc.frame.response.slow_rounds, 2);
        assert!((cc.frame.response.queue - 40.0).abs() < 1.0, "{}", cc.frame.response.queue);
    }
}
