//! CUBIC: the window as a cubic function of the time since the last congestion event, at least as large as Reno's.
//!
//! Source: RFC 9438 (L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, *CUBIC for Fast and Long-Distance Networks*, 2023):
//!
//! - W_cubic(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch)/C) (section 4.2, figures 1 and 2);
//! - per ACK, cwnd += (target - cwnd)/cwnd with target = W_cubic(t + RTT) kept within cwnd and 1.5 cwnd (4.2, 4.4, 4.5);
//! - W_est += alpha_cubic segments_acked/cwnd, alpha_cubic = 3(1 - beta)/(1 + beta), or 1 once W_est has reached the window
//!   before the cut; where W_cubic(t) < W_est, cwnd = W_est (Reno-friendly region, 4.3, figure 4);
//! - a congestion event keeps the part beta of the window (4.6); W_max is the window before it, or, if that is below the W_max
//!   before, the part (1 + beta)/2 of it (fast convergence, 4.7);
//! - after a timeout, and where W_max is not above the window, K = 0 and W_max is the window at the beginning (4.8, 4.10).
//!
//! t leaves out the time in which the application or the receiver limits the sender (sections 4.2 and 5.8).
//!
//! # Deviations and choices
//!
//! - **RTT** in the target is the smoothed RTT.
//! - **A stage that begins above W_max** has K = 0 and its plateau at its first window, as after a timeout. Fast convergence compares
//!   the next loss with that plateau.
//! - **Fast convergence** acts at losses, timeouts, and ECN marks: section 4.7 names congestion events.
//! - **t** begins with the first ACK of congestion avoidance. It leaves out the time before each ACK at which the window did not limit the
//!   sender (section 5.8). If nothing was in flight, it also leaves out the time until the next segment left, even if the segments after the
//!   pause fill the window. The RTT of the first ACK after the pause gives that moment; without an RTT sample, the smoothed RTT does.
//! - **W_est** counts segments acknowledged, as in its equation. In the Reno-friendly region each ACK sets the window to it, for any
//!   number of ACKs. The steps of the cubic are per ACK, unless the scenario counts segments.
//! - **alpha_cubic stays below 1** with `alpha_to_one` off, as in Linux, which never gives the Reno estimate the faster
//!   growth.
//! - **Whole segments** with `whole_segments` on, as in Linux: W_max, the distance of the cubic from it (rounded towards the plateau), and
//!   the window that it is compared with are whole numbers. A lone flow with losses at equal windows then never converges fast. With fractions
//!   it does at every other loss, since the window is a fraction below the last W_max.
//! - **An ECN mark** has the response to a loss, but the window may fall to 1 segment instead of 2 (section 4.6).
//! - **Spurious reductions** (section 4.9) are undone where the sender detects them, by DSACK or timestamps: with
//!   `recovery = "rack"`.
//! - **Slow start** is plain by default; section 4.10 recommends HyStart++, which is `slow_start = "hystart++"`.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::LastAck;
use crate::time::{Nanos, seconds};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of CUBIC.
    pub struct CubicParams for CUBIC {
        c: f64 = number(0.4, 1e-6, 1e3), "segments/s^3",
            "Scale of the cubic growth.",
            "RFC 9438 section 5: C = 0.4";
        beta: f64 = number(0.7, 0.1, 0.99), "1",
            "Multiplicative decrease factor.",
            "RFC 9438 section 4.6: beta_cubic = 0.7";
        fast_convergence: bool = flag(true), "1",
            "Fast convergence: release bandwidth if the window at a congestion event is below the previous one.",
            "RFC 9438 section 4.7";
        reno_friendly: bool = flag(true), "1",
            "Keep the window at least as large as Reno's estimate.",
            "RFC 9438 section 4.3";
        alpha_to_one: bool = flag(true), "1",
            "Let Reno's estimate grow by one segment per RTT after it has reached the window before the cut.",
            "RFC 9438 section 4.3; off in Linux";
        whole_segments: bool = flag(false), "1",
            "Compute the window, W_max, and their distance in whole segments.",
            "Linux";
        abe: bool = ABE;
    }
}

/// CUBIC.
pub const CUBIC: Info = Info {
    name: "cubic",
    paper: "RFC 9438: CUBIC for Fast and Long-Distance Networks (2023)",
    group: Group::Loss,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: CubicParams::PARAMS,
};

/// The response of CUBIC.
///
/// ```
/// use fullpipe_cc::algorithms::cubic::{CUBIC, Cubic};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{CongestionControl, Flow, Signal};
///
/// let mut cc = Cubic::controller(&Params::defaults(&CUBIC), 100.0);
/// let flow = Flow::at(0).cwnd_limited(true);
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 70.0, "RFC 9438 section 4.6");
/// cc.on_congestion(&flow, Signal::Timeout);
/// assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 49.0), "section 4.8");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cubic {
    c: f64,
    beta: f64,
    /// alpha_cubic of the Reno-friendly region.
    alpha: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    alpha_to_one: bool,
    whole_segments: bool,
    memory: CubicMemory,
    /// CubicMemory before the last cut, for its undo.
    before: CubicMemory,
    last_ack: LastAck,
}

/// State that is kept from one congestion event to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CubicMemory {
    /// The plateau, segments: the window at which the cubic is flat. Fast convergence compares the next loss with it.
    w_max: f64,
    /// The window before the last cut.
    prior: f64,
    /// The last event was a timeout.
    after_timeout: bool,
    epoch: Option<Epoch>,
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// When t was 0.
    began: Nanos,
    /// Seconds.
    k: f64,
    /// Estimate of Reno's window, segments.
    w_est: f64,
}

impl Cubic {
    /// CUBIC in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Cubic> {
        let given = CubicParams::read(params);
        let beta = given.beta;
        let response = Cubic {
            c: given.c,
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: given.fast_convergence,
            reno_friendly: given.reno_friendly,
            alpha_to_one: given.alpha_to_one,
            whole_segments: given.whole_segments,
            memory: CubicMemory::default(),
            before: CubicMemory::default(),
            last_ack: LastAck::NONE,
        };
        Classic::new(start, response).with_abe(params)
    }

    /// A stage that begins at window `w` (sections 4.2, 4.8, 4.10).
    fn begin(&mut self, w: f64, now: Nanos) -> Epoch {
        if self.memory.after_timeout || self.memory.w_max <= w {
            self.memory.w_max = w;
        }
        Epoch { began: now, k: libm::cbrt((self.memory.w_max - w) / self.c), w_est: w }
    }

    /// W_cubic, `t` seconds after its plateau.
    #[inline]
    fn cubic(&self, t: f64) -> f64 {
        self.counted(self.c * t * t * t) + self.memory.w_max
    }

    /// Segments as they are counted: with their parts, or without.
    #[inline]
    fn counted(&self, segments: f64) -> f64 {
        if self.whole_segments { libm::trunc(segments) } else { segments }
    }
}

impl Response for Cubic {
    /// RFC 8511 section 3.1: 0.85 with CUBIC.
    const KEPT_WITH_ABE: f64 = 0.85;

    /// Leaves out of t the time in which the window did not limit the sender (section 5.8).
    #[inline]
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(epoch) = &mut self.memory.epoch {
            epoch.began += self.last_ack.unlimited(flow, ack, epoch.began);
        }
        self.last_ack.note(flow);
    }

    #[inline]
    fn increase(&mut self, w: f64, flow: &Flow, ack: &Ack) -> f64 {
        let mut epoch = match self.memory.epoch {
            Some(epoch) => epoch,
            None => self.begin(w, flow.now),
        };
        let per_window = 1.0 / w;
        let alpha = if self.alpha_to_one && epoch.w_est >= self.memory.prior { 1.0 } else { self.alpha };
        epoch.w_est += alpha * ack.acked as f64 * per_window;
        self.memory.epoch = Some(epoch);

        let t = seconds(flow.now - epoch.began) - epoch.k;
        if self.reno_friendly && self.cubic(t) < epoch.w_est {
            return ((epoch.w_est - w) / ack.credit).max(0.0);
        }
        let t = t + flow.srtt.map_or(0.0, seconds);
        let w = self.counted(w);
        let target = self.cubic(t).max(w).min(1.5 * w);
        (target - w) * per_window
    }

    fn decrease(&mut self, w: f64, _flow: &Flow, signal: Signal) -> f64 {
        self.before = self.memory;
        let lost_at = self.counted(w);
        let converges = self.fast_convergence && lost_at < self.memory.w_max;
        self.memory.w_max = if converges { self.counted(lost_at * (1.0 + self.beta) / 2.0) } else { lost_at };
        self.memory.prior = w;
        self.memory.after_timeout = signal == Signal::Timeout;
        self.memory.epoch = None;
        self.beta * w
    }

    /// Section 4.9.1: W_max, the start of the stage, K, and W_est return to their values before the cut.
    fn undo(&mut self) {
        self.memory = self.before;
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("w_max", self.memory.w_max);
        visit("w_est", self.memory.epoch.map_or(f64::NAN, |epoch| epoch.w_est));
        visit("k_s", self.memory.epoch.map_or(f64::NAN, |epoch| epoch.k));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::params::Value;
    use crate::testing::Driver;
    use crate::time::{MILLISECOND, SECOND};

    /// Lost at `w`, all else default but for `given`.
    fn after_loss_at(w: f64, given: &[(&str, Value)]) -> (Classic<Cubic>, Driver) {
        let mut cc = Cubic::controller(&Params::checked(&CUBIC, given).unwrap(), w);
        let mut sender = Driver::new();
        sender.lose(&mut cc);
        (cc, sender)
    }

    fn flow_at(now: Nanos, rtt: Nanos) -> Flow {
        Flow { now, srtt: Some(rtt), min_rtt: Some(rtt), cwnd_limited: true, ..Flow::default() }
    }

    /// Sections 4.2 and 4.6: lost at 1000: cwnd 700, K = cbrt(300/0.4) = 9.0856 s. At t = 4.0856 with RTT 0:
    /// W_cubic = 0.4 (-5)^3 + 1000 = 950, so an ACK at 900 adds 50/900. At K it is 1000; 5 s later 1050.
    #[test]
    fn follows_the_cubic() {
        let (mut cc, _) = after_loss_at(1000.0, &[]);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (700.0, 700.0));
        let ack = Ack { acked: 1, credit: 1.0, ..Ack::default() };
        let began = 3 * SECOND;
        cc.response.increase(700.0, &flow_at(began, 0), &ack);
        let k = cc.response.memory.epoch.unwrap().k;
        assert!((k - 9.085_6).abs() < 1e-4, "{k}");
        for (t, w, target) in [(k - 5.0, 900.0, 950.0), (k, 950.0, 1000.0), (k + 5.0, 1000.0, 1050.0)] {
            let gain = cc.response.increase(w, &flow_at(began + (t * SECOND as f64) as Nanos, 0), &ack);
            assert!((gain * w - (target - w)).abs() < 1e-5, "at {t} s: {}", gain * w);
        }
    }

    /// One whose stage began at time 0, with this W_est.
    fn with_estimate(w_est: f64) -> Classic<Cubic> {
        let (mut cc, _) = after_loss_at(1000.0, &[]);
        let epoch = cc.response.begin(700.0, 0);
        cc.response.memory.epoch = Some(Epoch { w_est, ..epoch });
        cc
    }

    /// Section 4.3: W_cubic governs, unless W_est is greater; 5 s before K it is 950 (above). An ACK then sets the window to W_est, in
    /// as many parts as its credit has.
    #[test]
    fn the_greater_of_both_governs() {
        let ack = Ack { acked: 0, credit: 2.0, ..Ack::default() };
        for (w_est, gain) in [(949.9, 50.0 / 900.0), (950.1, 50.1 / 2.0)] {
            let mut cc = with_estimate(w_est);
            let k = cc.response.memory.epoch.unwrap().k;
            let found = cc.response.increase(900.0, &flow_at(((k - 5.0) * SECOND as f64) as Nanos, 0), &ack);
            assert!((found - gain).abs() < 1e-6, "{w_est}: {found}");
        }
    }

    /// Section 4.3: W_est grows by alpha times the segments acknowledged over cwnd; alpha is 3 (0.3)/1.7 = 9/17 until W_est has reached
    /// the window before the cut, and 1 from there.
    #[test]
    fn the_estimate_counts_segments() {
        for (before, alpha) in [(999.0, 9.0 / 17.0), (1000.0, 1.0)] {
            let mut cc = with_estimate(before);
            cc.response.increase(900.0, &flow_at(0, 0), &Ack { acked: 3, credit: 1.0, ..Ack::default() });
            let grown = cc.response.memory.epoch.unwrap().w_est - before;
            assert!((grown - alpha * 3.0 / 900.0).abs() < 1e-9, "{before}: {grown}");
        }
    }

    /// W_max 1000; K and W_est once an ACK has begun the stage at 700: 700 + 9/17/700 = 700.00076.
    #[test]
    fn tells_its_variables() {
        let told = |cc: &Classic<Cubic>| {
            let mut found = std::vec::Vec::new();
            cc.response.inspect(&mut |name, value| found.push((name, (value * 1e5).round() / 1e5)));
            found
        };
        let (mut cc, _) = after_loss_at(1000.0, &[]);
        let before = told(&cc);
        assert!(before[0] == ("w_max", 1000.0) && before[1].1.is_nan() && before[2].1.is_nan(), "{before:?}");
        cc.response.increase(700.0, &flow_at(0, 0), &Ack { acked: 1, credit: 1.0, ..Ack::default() });
        assert_eq!(told(&cc), [("w_max", 1000.0), ("w_est", 700.00076), ("k_s", 9.0856)]);
    }

    /// Section 4.2: the target looks one RTT ahead, and is at most 1.5 cwnd, at least cwnd.
    #[test]
    fn target_is_one_rtt_ahead_and_bounded() {
        let (mut cc, _) = after_loss_at(1000.0, &[]);
        let ack = Ack { acked: 1, credit: 1.0, ..Ack::default() };
        cc.response.increase(700.0, &flow_at(0, 0), &ack);
        let at = (4.0 * SECOND as f64) as Nanos;
        // t - K + RTT = 4 - 9.085603 + 0.1 = -4.985603; 0.4 (-4.985603)^3 + 1000 = 950.4306
        let gain = cc.response.increase(900.0, &flow_at(at, 100 * MILLISECOND), &ack) * 900.0;
        assert!((gain - 50.4306).abs() < 1e-3, "{gain}");
        assert_eq!(cc.response.increase(400.0, &flow_at(at, 0), &ack), 0.5);
        assert_eq!(cc.response.increase(990.0, &flow_at(at, 0), &ack), 0.0);
    }

    /// Section 4.9.1: after a needless cut cwnd, ssthresh, W_max, K, t_epoch and W_est are as before it.
    #[test]
    fn a_needless_cut_is_undone() {
        let (mut cc, mut sender) = after_loss_at(1000.0, &[]);
        let ack = Ack { acked: 1, credit: 1.0, ..Ack::default() };
        cc.response.increase(700.0, &flow_at(7, 0), &ack);
        let (cwnd, ssthresh, memory) = (cc.cwnd(), cc.ssthresh(), cc.response.memory);
        sender.lose(&mut cc);
        assert!((cc.cwnd() - 490.0).abs() < 1e-9 && cc.response.memory.epoch.is_none());
        cc.on_undo(cwnd, ssthresh);
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.response.memory), (cwnd, ssthresh, memory));
    }

    /// Section 4.3: alpha_cubic = 3 (0.3)/1.7 = 0.5294; lost at 20 with an RTT of 10 ms the Reno estimate governs: about
    /// half a segment per round trip until it reaches the window before the cut, 20, and one per round trip from there.
    #[test]
    fn reno_friendly_region() {
        assert!((gain_beyond_the_cut(&[]) - 1.0).abs() < 0.06);
    }

    /// Linux goes on at half a segment per round trip.
    #[test]
    fn alpha_may_stay() {
        let slow = gain_beyond_the_cut(&[("alpha_to_one", Value::Flag(false))]);
        assert!((slow - 0.5294).abs() < 0.05, "{slow}");
    }

    /// Increase of a round trip above the window before the cut, 20.
    fn gain_beyond_the_cut(given: &[(&str, Value)]) -> f64 {
        let (mut cc, mut sender) = after_loss_at(20.0, given);
        assert_eq!(cc.cwnd(), 14.0);
        sender.round(&mut cc, 10.0);
        let gain = |cc: &mut Classic<Cubic>, sender: &mut Driver| {
            let before = cc.cwnd();
            sender.round(cc, 10.0);
            cc.cwnd() - before
        };
        let slow = gain(&mut cc, &mut sender);
        assert!((slow - 0.5294).abs() < 0.05, "{slow}");
        while cc.cwnd() < 21.0 {
            sender.ack(&mut cc, 10.0);
        }
        sender.round(&mut cc, 10.0);
        gain(&mut cc, &mut sender)
    }

    /// Lost at 126.4 after 126.9: both are 126 whole segments, so the window has not shrunk; at 125.9 it has, and
    /// 125 (1.7)/2 = 106.25. A second from the plateau the cubic is 0.4 segments away from it, two seconds 3.2.
    #[test]
    fn whole_segments() {
        for (whole, next, w_max) in [(true, 126.4, 126.0), (false, 126.4, 107.44), (true, 125.9, 106.0)] {
            let (mut cc, _) = after_loss_at(126.9, &[("whole_segments", Value::Flag(whole))]);
            cc.response.decrease(next, &Flow::default(), Signal::Loss);
            assert!((cc.response.memory.w_max - w_max).abs() < 1e-9, "{whole} {next}");
        }
        let (cc, _) = after_loss_at(126.9, &[("whole_segments", Value::Flag(true))]);
        assert_eq!([-2.0, -1.0, 1.0, 2.0].map(|t| cc.response.cubic(t)), [123.0, 126.0, 126.0, 129.0]);
    }

    /// Section 4.7: lost at 1000, then at 800 < 1000: W_max = 800 (1.7)/2 = 680.
    #[test]
    fn fast_convergence() {
        for (on, w_max) in [(true, 680.0), (false, 800.0)] {
            let (mut cc, _) = after_loss_at(1000.0, &[("fast_convergence", Value::Flag(on))]);
            assert!((cc.response.decrease(800.0, &Flow::default(), Signal::Loss) - 560.0).abs() < 1e-9);
            assert!((cc.response.memory.w_max - w_max).abs() < 1e-9);
        }
        let (mut cc, _) = after_loss_at(1000.0, &[]);
        cc.response.decrease(1000.0, &Flow::default(), Signal::Loss);
        assert_eq!(cc.response.memory.w_max, 1000.0, "not below W_max");
    }

    /// Section 4.8: after a timeout K = 0 and W_max is the window at the beginning of congestion avoidance.
    #[test]
    fn timeout_starts_a_new_plateau() {
        let (mut cc, sender) = after_loss_at(1000.0, &[]);
        cc.on_congestion(&sender.flow, Signal::Timeout);
        assert_eq!(cc.cwnd(), 1.0);
        assert!((cc.ssthresh() - 490.0).abs() < 1e-9);
        cc.response.increase(490.0, &flow_at(SECOND, 0), &Ack { acked: 1, credit: 1.0, ..Ack::default() });
        assert_eq!((cc.response.memory.epoch.unwrap().k, cc.response.memory.w_max), (0.0, 490.0));
    }

    /// Sections 4.7 and 4.8: the W_max that the next loss is compared with is the one set after the timeout. Lost at 1000, timeout at
    /// 700, congestion avoidance from 490: a loss at 600 is above it and keeps W_max = 600; compared with 1000 it would give 510.
    #[test]
    fn fast_convergence_after_a_timeout() {
        let (mut cc, sender) = after_loss_at(1000.0, &[]);
        cc.on_congestion(&sender.flow, Signal::Timeout);
        let ack = Ack { acked: 1, credit: 1.0, ..Ack::default() };
        cc.response.increase(490.0, &flow_at(SECOND, 0), &ack);
        cc.response.decrease(600.0, &flow_at(2 * SECOND, 0), Signal::Loss);
        assert_eq!(cc.response.memory.w_max, 600.0);
        cc.response.decrease(400.0, &flow_at(3 * SECOND, 0), Signal::Loss);
        assert!((cc.response.memory.w_max - 340.0).abs() < 1e-9, "400 (1.7)/2");
    }

    /// From a loss at `w` until the window is `w` again: segments acknowledged, and the mean window, segments.
    fn cycle(w: f64, rtt_ms: f64) -> (f64, f64) {
        let (mut cc, mut sender) = after_loss_at(w, &[]);
        while cc.cwnd() < w {
            sender.ack(&mut cc, rtt_ms);
        }
        let segments = sender.flow.delivered as f64;
        (segments, segments * rtt_ms / 1000.0 / seconds(sender.flow.now))
    }

    /// Section 5.1, table 1 (C = 0.4, RTT 0.1 s) and table 2 (0.01 s): the mean window by the rate of loss p. The model behind them is a
    /// cycle of 1/p segments in which the window comes back to where it was lost at. 1200 is the greater of Reno's and the cubic's; the
    /// window, which is the greater at every moment, is above both in the mean.
    #[test]
    fn mean_windows_are_those_of_the_tables() {
        let tables = [(100.0, [38.0, 187.0, 1054.0, 5926.0, 33_325.0]), (10.0, [38.0, 120.0, 379.0, 1200.0, 5926.0])];
        for (rtt_ms, windows) in tables {
            for (power, published) in (3..).zip(windows) {
                let (every, mut w) = (10f64.powi(power), published / 0.925);
                let found = loop {
                    let (segments, mean) = cycle(w, rtt_ms);
                    if (segments / every - 1.0).abs() < 0.01 {
                        break mean;
                    }
                    w *= libm::pow(every / segments, 0.6);
                };
                assert!((found / published - 1.0).abs() < 0.05, "{rtt_ms} ms, 1e-{power}: {found}, {published}");
            }
        }
    }

    /// Section 4.2: K = cbrt((W_max - cwnd)/C): 4.217 s from 70 to 100, 9.086 s from 700 to 1000.
    #[test]
    fn the_way_back_to_w_max_takes_k() {
        for (w, seconds) in [(100.0, 4.217), (1000.0, 9.086)] {
            let (mut cc, mut sender) = after_loss_at(w, &[]);
            sender.ack(&mut cc, 100.0);
            let k = cc.response.memory.epoch.unwrap().k;
            assert!((k - seconds).abs() < 5e-4, "{k}");
        }
    }

    /// Section 4.6: the window goes down to 1 segment at a mark and to 2 at a loss, ssthresh to 2; 0.7 (1.4) = 0.98.
    #[test]
    fn least_windows() {
        for (signal, cwnd) in [(Signal::Ecn, 1.0), (Signal::Loss, 2.0), (Signal::Timeout, 1.0)] {
            let mut cc = Cubic::controller(&Params::defaults(&CUBIC), 1.4);
            cc.on_congestion(&flow_at(0, 0), signal);
            assert_eq!((cc.cwnd(), cc.ssthresh()), (cwnd, 2.0), "{signal:?}");
        }
    }

    /// An ACK that is worth no increase leaves the window as it is, in the Reno-friendly region too, where W_est is set, not added.
    #[test]
    fn no_credit_no_growth() {
        let (mut cc, _) = after_loss_at(20.0, &[]);
        let mut acked = |credit| {
            cc.on_ack(&flow_at(SECOND, 10 * MILLISECOND), &Ack { acked: 1, credit, ..Ack::default() });
            cc.cwnd()
        };
        let before = acked(1.0);
        assert!(before > 14.0, "W_est governs: {before}");
        assert_eq!(acked(0.0), before);
    }

    /// Section 5.8: an application that pauses with nothing in flight. ACKs come at 1 s, the last of them empties the path; the application
    /// writes a full window at 10 s, whose first ACK comes at 10.1 s with an RTT of 100 ms, while the window limits the sender. The nine
    /// seconds from 1 to 10 s do not count, the round trip does: t = 0.1 s.
    #[test]
    fn a_pause_before_a_full_window_does_not_count() {
        for rtt in [Some(100 * MILLISECOND), None] {
            let (mut cc, _) = after_loss_at(1000.0, &[]);
            let ack = Ack { acked: 1, credit: 1.0, rtt, ..Ack::default() };
            let flow = |now| Flow { flight_size: 0, ..flow_at(now, 100 * MILLISECOND) };
            cc.on_ack(&flow(SECOND), &ack);
            cc.on_ack(&flow(10_100 * MILLISECOND).flight_size(699), &ack);
            assert_eq!(cc.response.memory.epoch.unwrap().began, 10 * SECOND, "{rtt:?}");
            cc.on_ack(&flow(10_101 * MILLISECOND).flight_size(698), &ack);
            assert_eq!(cc.response.memory.epoch.unwrap().began, 10 * SECOND, "time in use counts");
        }
    }

    /// A window of one segment empties the path at every ACK. The next segment leaves at once, and all the time counts.
    #[test]
    fn time_counts_where_each_ack_empties_the_path() {
        let (mut cc, _) = after_loss_at(1000.0, &[]);
        let ack = Ack { acked: 1, credit: 1.0, rtt: Some(100 * MILLISECOND), ..Ack::default() };
        for n in 10..=30 {
            cc.on_ack(&flow_at(n * 100 * MILLISECOND, 100 * MILLISECOND), &ack);
        }
        assert_eq!(cc.response.memory.epoch.unwrap().began, SECOND);
    }

    /// Section 5.8: nine seconds in which the application is the limit do not move t.
    #[test]
    fn time_without_need_of_the_window_does_not_count() {
        let (mut cc, _) = after_loss_at(1000.0, &[]);
        let ack = Ack { acked: 1, credit: 1.0, ..Ack::default() };
        cc.on_ack(&flow_at(SECOND, 0), &ack);
        cc.on_ack(&Flow { cwnd_limited: false, ..flow_at(10 * SECOND, 0) }, &ack);
        assert_eq!(cc.response.memory.epoch.unwrap().began, 10 * SECOND);
    }
}
