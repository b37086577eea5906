//! Illinois: losses decide when the window falls. The queueing delay decides how fast it grows and how far it falls.
//!
//! The paper was not read. The rules are those that other texts and implementations quote.
//!
//! Source: S. Liu, T. Basar, R. Srikant, *TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for High-Speed
//! Networks*, Performance Evaluation 65, 2008 (VALUETOOLS 2006). Once per RTT, with d the mean queueing delay of its samples and
//! d_m the greatest ever seen:
//!
//! - alpha = alpha_max for d <= d_1, kappa_1/(kappa_2 + d) beyond, which is alpha_min at d_m;
//! - beta = beta_min for d <= d_2, beta_max for d >= d_3, a straight line between;
//! - below win_thresh segments alpha = 1 and beta = 1/2, as Reno;
//! - per ACK W += alpha/W, at a loss W -= beta W;
//! - once d has been above d_1, alpha returns to alpha_max only after theta RTTs in a row below it.
//!
//! d_1, d_2 and d_3 are 0.01, 0.1 and 0.8 of d_m. With x = d - d_1 and m = d_m - d_1 the curve of alpha is
//! alpha_max m/(m + x (alpha_max - alpha_min)/alpha_min).
//!
//! # Deviations and choices
//!
//! - **d_m** is the greatest single sample's delay, as in Linux; the paper speaks of the greatest average.
//! - **theta**: Linux counts RTTs below d_1 that need not be in a row. Here an RTT with d above d_1 between them
//!   restarts the count, as in the paper.
//! - **win_thresh** is asked at every ACK and at a loss; Linux asks once per RTT, and leaves alpha's memory (d_1, theta)
//!   alone meanwhile.
//! - **Samples** of a recovery, and of a sender that its window does not limit, are left out, and an RTT in which there were none changes nothing.
//! - **A timeout** takes beta of the window and then begins with alpha = 1, beta = 1/2 and no memory of d_1, as in Linux.
//! - **An ECN mark** has the response to a loss.
//! - **Before the first RTT has ended** alpha is alpha_max and beta is beta_max.
//! - `beta_max` and `alpha_max` win over greater minima.
//! - **Bursts**: below a bandwidth-delay product the delay is about zero, so the window grows by up to 10 segments in a round trip and a
//!   loss takes 1/8, also where the burst at the begin of a response overflows a small buffer. Responses of 100 kB over 20 Mbit/s, 40 ms and
//!   25 packets lose 6.0 %, those of NewReno .58 %; with `alpha_max = 1` and `beta_min = 0.5` .54 %.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::Mark;
use crate::time::Nanos;
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of Illinois.
    pub struct IllinoisParams for ILLINOIS {
        alpha_min: f64 = number(0.3, 0.01, 10.0), "segments/RTT",
            "Growth per RTT at the largest delay.",
            "Liu, Basar and Srikant 2008; Linux: 0.3";
        alpha_max: f64 = number(10.0, 0.01, 1000.0), "segments/RTT",
            "Growth per RTT without delay; overrides a larger alpha_min.",
            "Liu, Basar and Srikant 2008: 10";
        beta_min: f64 = number(0.125, 0.0, 0.9), "1",
            "Fraction of the window cut at a loss with a small delay.",
            "Liu, Basar and Srikant 2008: 1/8";
        beta_max: f64 = number(0.5, 0.0, 0.9), "1",
            "Fraction of the window cut at a loss with a large delay; overrides a larger beta_min.",
            "Liu, Basar and Srikant 2008: 1/2";
        win_thresh: f64 = number(15.0, 0.0, 1e6), "segments",
            "Window below which the algorithm is Reno.",
            "Linux: 15";
        theta: f64 = number(5.0, 1.0, 1000.0), "RTTs",
            "RTTs without delay until the growth is alpha_max again.",
            "Liu, Basar and Srikant 2008: 5";
        abe: bool = ABE;
    }
}

/// Illinois.
pub const ILLINOIS: Info = Info {
    name: "illinois",
    paper: "S. Liu, T. Basar, R. Srikant, TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for High-Speed Networks, \
            Performance Evaluation 65, 2008",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: IllinoisParams::PARAMS,
};

/// Parts of the greatest delay: d_1, d_2 and d_3.
const D1: f64 = 0.01;
const D2: f64 = 0.1;
const D3: f64 = 0.8;
/// Reno's growth and cut.
const RENO: Gains = Gains { alpha: 1.0, beta: 0.5 };

/// The response of Illinois.
///
/// ```
/// use fullpipe_cc::algorithms::illinois::{ILLINOIS, Illinois};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Illinois::controller(&Params::defaults(&ILLINOIS), 128.0);
/// let flow = Flow::at(0).cwnd_limited(true).delivered(1).min_rtt(Some(50_000_000));
/// cc.on_ack(&flow, &Ack::of(1, 0.0).rtt(Some(50_000_000)));
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 112.0, "beta_min = 1/8 without a queue");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Illinois {
    /// Bounds of alpha and beta.
    least: Gains,
    most: Gains,
    win_thresh: f64,
    theta: f64,
    gains: Gains,
    /// RTTs without delay since the last with; `None` while there was none with.
    calm: Option<u32>,
    max_rtt: Nanos,
    round: Mark,
    rtt_sum: Nanos,
    samples: u32,
}

/// Gain per RTT, segments, and fraction that a loss takes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gains {
    alpha: f64,
    beta: f64,
}

impl Illinois {
    /// Illinois in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Illinois> {
        let given = IllinoisParams::read(params);
        let most = Gains { alpha: given.alpha_max, beta: given.beta_max };
        let least = Gains { alpha: given.alpha_min.min(most.alpha), beta: given.beta_min.min(most.beta) };
        let response = Illinois {
            least,
            most,
            win_thresh: given.win_thresh,
            theta: given.theta,
            gains: most,
            calm: None,
            max_rtt: 0,
            round: Mark::START,
            rtt_sum: 0,
            samples: 0,
        };
        Classic::new(start, response).with_abe(params)
    }

    fn at(&self, w: f64) -> Gains {
        if w < self.win_thresh { RENO } else { self.gains }
    }

    /// An RTT is over.
    fn end_round(&mut self, flow: &Flow) {
        if let (Some(base), 1..) = (flow.min_rtt, self.samples) {
            let mean = self.rtt_sum as f64 / f64::from(self.samples);
            let delay = (mean - base as f64).max(0.0);
            let most = self.max_rtt.saturating_sub(base) as f64;
            self.gains = Gains { alpha: self.alpha(delay, most), beta: self.beta(delay, most) };
        }
        self.round = Mark::now(flow);
        (self.rtt_sum, self.samples) = (0, 0);
    }

    fn alpha(&mut self, delay: f64, most: f64) -> f64 {
        if delay > D1 * most {
            self.calm = Some(0);
            let (x, m) = (delay - D1 * most, most - D1 * most);
            return self.most.alpha * m / (m + x * (self.most.alpha - self.least.alpha) / self.least.alpha);
        }
        if let Some(rounds) = &mut self.calm {
            *rounds += 1;
            if f64::from(*rounds) < self.theta {
                return self.gains.alpha;
            }
        }
        self.calm = None;
        self.most.alpha
    }

    fn beta(&self, delay: f64, most: f64) -> f64 {
        let part = ((delay - D2 * most) / ((D3 - D2) * most)).clamp(0.0, 1.0);
        if delay <= D2 * most { self.least.beta } else { self.least.beta + (self.most.beta - self.least.beta) * part }
    }
}

impl Response for Illinois {
    #[inline]
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if flow.in_recovery {
            return;
        }
        if let Some(rtt) = ack.rtt.filter(|_| flow.cwnd_limited) {
            self.max_rtt = self.max_rtt.max(rtt);
            self.rtt_sum = self.rtt_sum.saturating_add(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if self.round.passed(flow) {
            self.end_round(flow);
        }
    }

    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        self.at(w).alpha / w
    }

    fn decrease(&mut self, w: f64, flow: &Flow, signal: Signal) -> f64 {
        let kept = w - self.at(w).beta * w;
        if signal == Signal::Timeout {
            (self.gains, self.calm) = (RENO, None);
            self.round = Mark::now(flow);
            (self.rtt_sum, self.samples) = (0, 0);
        }
        kept
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.gains.alpha);
        visit("beta", self.gains.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::testing::{Driver, FLOW};
    use crate::time::MILLISECOND;

    /// Above ssthresh, of which an RTT of 200 ms (`d_m` = 100 ms) and one of 100 ms are known.
    fn settled(window: f64) -> (Classic<Illinois>, Driver) {
        let mut cc = Illinois::controller(&Params::defaults(&ILLINOIS), window);
        cc.set_window(window);
        cc.response.max_rtt = 200 * MILLISECOND;
        let mut sender = Driver::new();
        sender.flow.min_rtt = Some(100 * MILLISECOND);
        (cc, sender)
    }

    /// Gains after a whole RTT at this one.
    fn after_round(cc: &mut Classic<Illinois>, sender: &mut Driver, rtt_ms: f64) -> Gains {
        cc.response.end_round(&sender.flow);
        while cc.response.samples == 0 || !cc.response.round.passed(&sender.flow.delivered(sender.flow.delivered + 1)) {
            sender.ack(cc, rtt_ms);
        }
        sender.ack(cc, rtt_ms);
        assert_eq!(cc.response.samples, 0, "the round is over");
        cc.response.gains
    }

    /// d/d_m = 0.1: 10 (0.99)/(0.99 + 0.09 (9.7/0.3)) = 9.9/3.9 = 2.538; likewise 0.955, 0.588, 0.373 and 0.3. beta = 1/8 up to
    /// 0.1; at 0.3 0.125 + 0.375 (0.2/0.7) = 0.232; 0.339 at 0.5; 1/2 from 0.8.
    #[test]
    fn delay_sets_growth_and_cut() {
        let by_delay =
            [(10.0, 2.538, 0.125), (30.0, 0.955, 0.232), (50.0, 0.588, 0.339), (80.0, 0.373, 0.5), (100.0, 0.3, 0.5)];
        for (delay_ms, alpha, beta) in by_delay {
            let (mut cc, mut sender) = settled(100.0);
            let gains = after_round(&mut cc, &mut sender, 100.0 + delay_ms);
            assert!((gains.alpha - alpha).abs() < 6e-4, "{delay_ms}: {gains:?}");
            assert!((gains.beta - beta).abs() < 6e-4, "{delay_ms}: {gains:?}");
            let window = cc.cwnd();
            sender.ack(&mut cc, 100.0 + delay_ms);
            assert!((cc.cwnd() - window - gains.alpha / window).abs() < 1e-12);
            sender.lose(&mut cc);
            assert!((cc.cwnd() - (1.0 - beta) * window).abs() < 0.2, "{delay_ms}: {}", cc.cwnd());
        }
    }

    /// Without delay 10 segments per RTT, and 1/8 at a loss: 100 to 87.5. Below 15 segments 1 and 1/2.
    #[test]
    fn without_delay_it_is_fast() {
        let (mut cc, mut sender) = settled(100.0);
        let gains = after_round(&mut cc, &mut sender, 101.0);
        assert_eq!(gains, Gains { alpha: 10.0, beta: 0.125 });
        cc.set_window(100.0);
        sender.lose(&mut cc);
        assert_eq!(cc.cwnd(), 87.5);
        cc.set_window(14.0);
        sender.ack(&mut cc, 101.0);
        assert!((cc.cwnd() - (14.0 + 1.0 / 14.0)).abs() < 1e-12);
        cc.set_window(14.0);
        sender.lose(&mut cc);
        assert_eq!(cc.cwnd(), 7.0);
    }

    /// After delay, four RTTs without leave alpha; the fifth makes it 10. One with delay among them begins the count again.
    #[test]
    fn five_calm_round_trips_make_it_fast_again() {
        let (mut cc, mut sender) = settled(100.0);
        for _ in 0..2 {
            let slow = after_round(&mut cc, &mut sender, 150.0).alpha;
            assert!((slow - 0.588).abs() < 6e-4);
            for _ in 0..4 {
                assert_eq!(after_round(&mut cc, &mut sender, 100.5).alpha, slow);
            }
        }
        assert_eq!(after_round(&mut cc, &mut sender, 100.5).alpha, 10.0);
    }

    /// A timeout at 100 with a delay of half of the greatest leaves 66.1 (beta 0.339); then it is Reno until an RTT has passed.
    #[test]
    fn a_timeout_begins_anew() {
        let (mut cc, mut sender) = settled(100.0);
        after_round(&mut cc, &mut sender, 150.0);
        cc.set_window(100.0);
        sender.flow.flight_size = 100;
        cc.on_congestion(&sender.flow, Signal::Timeout);
        assert!((cc.ssthresh() - 66.07).abs() < 0.01, "{}", cc.ssthresh());
        assert_eq!((cc.response.gains, cc.response.calm), (RENO, None));
    }

    /// ACKs in recovery are not measured.
    #[test]
    fn recovery_gives_no_samples() {
        let (mut cc, _) = settled(100.0);
        cc.on_ack(&FLOW.in_recovery(true).delivered(1), &Ack::of(1, 1.0).rtt(Some(900 * MILLISECOND)));
        assert_eq!((cc.response.samples, cc.response.max_rtt), (0, 200 * MILLISECOND));
    }

    #[test]
    fn the_gains_of_a_limited_sender_stay() {
        let (mut cc, mut sender) = settled(100.0);
        let before = after_round(&mut cc, &mut sender, 130.0);
        sender.flow.cwnd_limited = false;
        for _ in 0..300 {
            sender.ack(&mut cc, 101.0);
        }
        assert_eq!((cc.response.gains, cc.response.samples), (before, 0));
    }
}
