//! eHSTCP: HighSpeed TCP while its backlog is small, Reno while it is not, and a cut that just empties the queue.
//!
//! Source: Y.-S. Choi, S.-H. Lee, Y.-Z. Cho, *Enhanced Congestion Control Algorithm for High-Speed TCP*, LNCS (2005).
//!
//! - eRTT = RTT - d_bq, d_bq = d_b - min d_b: the RTT without the queueing delay of the reverse path (equations 1, 2);
//! - N' = cwnd (eRTT - RTTmin)/eRTT, the flow's own backlog on the way forth (equation 3); N' < n_star: HighSpeed TCP's
//!   increase, otherwise Reno's;
//! - at a loss the window is cut by beta_e = 1 - RTTmin/eRTT (equation 4). If that is less than HighSpeed TCP's b(w), the
//!   safety check runs for safety_rtts RTTmax: the window does not grow, and if N' > n_star it falls to w (1 - b(w)).
//!
//! # Deviations and choices
//!
//! The paper leaves these open:
//!
//! - **When N' is computed**: once per round trip, from the newest sample. The paper uses it as a binary signal against
//!   noise.
//! - **The eRTT of equation 4**: the last sample before the loss was detected. Without any sample the cut is HighSpeed
//!   TCP's.
//! - **beta_e >= b(w)**: beta_e is used, as equation 4 reads, limited to 0.5; `cap_beta = true` takes the smaller of
//!   the two.
//! - **The safety check** starts with the loss and judges data sent after the recovery only, at the ends of round
//!   trips. When it ends either way, growth continues. A new loss replaces it; a timeout ends it. `safety_rtts = 0`
//!   leaves it out. Its purpose: `fullpipe reproduce ehstcp/safety-check`.
//! - **RTTmin** is the smallest RTT, including the reverse path; N' and beta_e are at least 0.
//! - **Without timestamps** d_bq is 0, and eRTT is the RTT.
//! - **A timeout** sets ssthresh by HighSpeed TCP's b(w): with beta_e near 0, slow start would run right back into the
//!   window that failed. An ECN mark is answered as a loss is.

use crate::algorithms::hstcp::{HIGH_DECREASE, HIGH_P, HIGH_WINDOW, Hstcp, HstcpParams, LOW_WINDOW};
use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::Mark;
use crate::time::Nanos;
use crate::{ABE, Ack, Classic, CongestionControl, Flow, Response, Signal, Start};

params! {
    /// Parameters of eHSTCP.
    pub struct EHstcpParams for EHSTCP {
        n_star: f64 = number(10.0, 0.0, 1e6), "segments",
            "Backlog from which the link counts as fully used.",
            "Choi et al., section 3: N* = 10";
        safety_rtts: f64 = number(5.0, 0.0, 1000.0), "RTTmax",
            "Length of the safety check; 0 disables it.",
            "Choi et al., section 3: 5 RTTmax";
        cap_beta: bool = flag(false), "1",
            "Never cut more than HighSpeed TCP would.",
            "not in the paper, which does not define the case that equation 4 exceeds b(w)";
        low_window: f64 = LOW_WINDOW;
        high_window: f64 = HIGH_WINDOW;
        high_p: f64 = HIGH_P;
        high_decrease: f64 = HIGH_DECREASE;
        abe: bool = ABE;
    }
}

/// eHSTCP.
pub const EHSTCP: Info = Info {
    name: "ehstcp",
    paper: "Y.-S. Choi, S.-H. Lee, Y.-Z. Cho, Enhanced Congestion Control Algorithm for High-Speed TCP, LNCS, 2005",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: EHstcpParams::PARAMS,
};

/// eHSTCP.
///
/// ```
/// use fullpipe_cc::algorithms::ehstcp::{EHSTCP, EHstcp};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = EHstcp::controller(&Params::defaults(&EHSTCP), 100.0);
/// let flow = Flow::at(0).cwnd_limited(true).min_rtt(Some(75_000_000));
/// cc.on_ack(&flow, &Ack::of(1, 0.0).rtt(Some(100_000_000)));
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 75.0, "beta_e = 1 - 75/100 (equation 4)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EHstcp {
    n_star: f64,
    safety_rtts: f64,
    frame: Classic<Regions>,
    delays: Delays,
    /// N', segments, at the end of the last round trip.
    backlog: f64,
    phase: SafetyPhase,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SafetyPhase {
    /// The window grows.
    Increase,
    /// The window is kept: it falls to `fallback` if the backlog exceeds N* before `until`.
    SafetyCheck {
        fallback: f64,
        until: Nanos,
        /// First data whose ACKs are measured; `None` until recovery is over.
        from: Option<Mark>,
    },
}

impl EHstcp {
    /// eHSTCP that begins in slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> EHstcp {
        let given = EHstcpParams::read(params);
        let regions = Regions {
            hstcp: Hstcp::new(&HstcpParams::read(params)),
            cap_beta: given.cap_beta,
            region: Region::HighSpeed,
            beta: None,
            fallback: None,
        };
        EHstcp {
            n_star: given.n_star,
            safety_rtts: given.safety_rtts,
            frame: Classic::new(start, regions).with_abe(params),
            delays: Delays::default(),
            backlog: 0.0,
            phase: SafetyPhase::Increase,
        }
    }

    /// Once per round trip: the backlog, and the answer to it.
    fn end_round(&mut self, flow: &Flow) {
        self.backlog = self.delays.backlog(self.frame.cwnd(), flow.min_rtt);
        if !flow.in_recovery {
            self.check_safety(flow);
        }
        self.frame.response.region = match self.phase {
            SafetyPhase::SafetyCheck { .. } => Region::Hold,
            SafetyPhase::Increase if self.backlog < self.n_star => Region::HighSpeed,
            SafetyPhase::Increase => Region::Reno,
        };
    }

    fn check_safety(&mut self, flow: &Flow) {
        let SafetyPhase::SafetyCheck { fallback, until, from: Some(mark) } = self.phase else { return };
        if !mark.passed(flow) {
            return;
        }
        if self.backlog > self.n_star {
            self.frame.set_window(self.frame.cwnd().min(fallback));
            self.phase = SafetyPhase::Increase;
        } else if flow.now >= until {
            self.phase = SafetyPhase::Increase;
        }
    }
}

impl CongestionControl for EHstcp {
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
        self.delays.observe(ack);
        if ack.round_start {
            self.end_round(flow);
        }
        self.frame.on_ack(flow, ack);
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        self.frame.response.beta = self.delays.beta(flow.min_rtt);
        self.frame.on_congestion(flow, signal);
        self.phase = match self.frame.response.fallback {
            Some(fallback) if self.safety_rtts > 0.0 => SafetyPhase::SafetyCheck {
                fallback,
                until: flow.now.saturating_add((self.safety_rtts * self.delays.max_rtt as f64) as Nanos),
                from: None,
            },
            _ => SafetyPhase::Increase,
        };
        self.frame.response.region = if self.phase == SafetyPhase::Increase { Region::Reno } else { Region::Hold };
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        self.frame.on_restart(cwnd, ssthresh);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.frame.on_undo(cwnd, ssthresh);
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.frame.on_recovered(flow);
        if let SafetyPhase::SafetyCheck { from, .. } = &mut self.phase {
            *from = Some(Mark::now(flow));
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlog", self.backlog);
        visit("beta", self.frame.response.beta.unwrap_or(f64::NAN));
        visit("phase", if self.phase == SafetyPhase::Increase { 0.0 } else { 1.0 });
    }
}

/// Round-trip and one-way delays (equations 1 and 2).
#[derive(Clone, Debug, Default, PartialEq)]
struct Delays {
    /// Least delay of the reverse path; the clocks' offset included.
    min_backward: Option<i64>,
    /// The newest eRTT, nanoseconds.
    ertt: Option<f64>,
    /// The greatest RTT.
    max_rtt: Nanos,
}

impl Delays {
    #[inline]
    fn observe(&mut self, ack: &Ack) {
        let queueing = match ack.backward_delay {
            Some(delay) => {
                let least = self.min_backward.map_or(delay, |least| least.min(delay));
                self.min_backward = Some(least);
                delay - least
            }
            None => 0,
        };
        if let Some(rtt) = ack.rtt {
            self.max_rtt = self.max_rtt.max(rtt);
            self.ertt = Some(rtt as f64 - queueing as f64);
        }
    }

    /// N' (equation 3); 0 without samples.
    fn backlog(&self, cwnd: f64, min_rtt: Option<Nanos>) -> f64 {
        cwnd * self.queueing_share(min_rtt).unwrap_or(0.0)
    }

    /// beta_e (equation 4), at most one half.
    fn beta(&self, min_rtt: Option<Nanos>) -> Option<f64> {
        self.queueing_share(min_rtt).map(|share| share.min(0.5))
    }

    /// (eRTT - RTTmin)/eRTT, at least 0.
    fn queueing_share(&self, min_rtt: Option<Nanos>) -> Option<f64> {
        let (ertt, min_rtt) = (self.ertt?, min_rtt? as f64);
        Some(if ertt > min_rtt { (ertt - min_rtt) / ertt } else { 0.0 })
    }
}

/// HighSpeed TCP with its increase switched by region and its cut by the queue.
#[derive(Clone, Debug, PartialEq)]
struct Regions {
    hstcp: Hstcp,
    cap_beta: bool,
    region: Region,
    /// beta_e for the coming cut; `None` if unknown.
    beta: Option<f64>,
    /// After a cut below HighSpeed TCP's: the window HighSpeed TCP would have.
    fallback: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Region {
    HighSpeed,
    Reno,
    Hold,
}

impl Response for Regions {
    #[inline]
    fn increase(&mut self, w: f64, flow: &Flow, ack: &Ack) -> f64 {
        match self.region {
            Region::HighSpeed => self.hstcp.increase(w, flow, ack),
            Region::Reno => 1.0 / w,
            Region::Hold => 0.0,
        }
    }

    fn decrease(&mut self, w: f64, _flow: &Flow, signal: Signal) -> f64 {
        let b = self.hstcp.b(w);
        let beta = self.beta.filter(|_| signal != Signal::Timeout).unwrap_or(b);
        self.fallback = (beta < b).then_some(w * (1.0 - b));
        w * (1.0 - if self.cap_beta { beta.min(b) } else { beta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::Driver;

    /// In congestion avoidance at `window`, all RTTs 100 ms so far.
    fn avoiding(window: f64, given: &[(&str, Value)]) -> (EHstcp, Driver) {
        let mut cc = EHstcp::controller(&Params::checked(&EHSTCP, given).unwrap(), window);
        let mut sender = Driver::new();
        sender.ack(&mut cc, 100.0);
        cc.frame.set_window(window);
        (cc, sender)
    }

    /// Equations 1-3: RTT 130 ms, of which 20 ms are queueing on the reverse path (clocks 1 s apart): eRTT = 110 ms, and with
    /// cwnd = 1100 and RTTmin = 100 ms, N' = 1100 10/110 = 100.
    #[test]
    fn backlog_leaves_out_the_way_back() {
        let mut delays = Delays::default();
        delays.observe(&Ack { rtt: Some(100_000_000), backward_delay: Some(-950_000_000), ..Ack::default() });
        delays.observe(&Ack { rtt: Some(130_000_000), backward_delay: Some(-930_000_000), ..Ack::default() });
        assert!((delays.backlog(1100.0, Some(100_000_000)) - 100.0).abs() < 1e-9);
        assert!((delays.beta(Some(100_000_000)).unwrap() - 10.0 / 110.0).abs() < 1e-12, "equation 4");
    }

    /// Section 2: below N* = 10 HighSpeed TCP's increase, a(1058) = 8 or so in a round trip; beyond, Reno's 1.
    #[test]
    fn increase_depends_on_the_backlog() {
        for (rtt_ms, low, high) in [(100.0, 7.9, 8.6), (100.5, 7.9, 8.6), (101.5, 0.9, 1.1)] {
            let (mut cc, mut sender) = avoiding(1058.0, &[]);
            sender.round(&mut cc, rtt_ms);
            let before = cc.cwnd();
            sender.round(&mut cc, rtt_ms);
            let gain = cc.cwnd() - before;
            assert!((low..high).contains(&gain), "{rtt_ms} ms: {gain}, backlog {}", cc.backlog);
        }
    }

    /// With eRTT = 125 ms: before a loss no beta, increasing; after one equation 4's 1 - 100/125 = 0.2, and the check begins.
    #[test]
    fn tells_beta_and_phase() {
        let told = |cc: &EHstcp| {
            let mut found = [f64::NAN; 2];
            cc.inspect(&mut |name, value| match name {
                "beta" => found[0] = value,
                "phase" => found[1] = value,
                _ => {}
            });
            found
        };
        let (mut cc, mut sender) = avoiding(1000.0, &[]);
        sender.round(&mut cc, 125.0);
        cc.frame.set_window(1000.0);
        assert!(told(&cc)[0].is_nan());
        assert_eq!(told(&cc)[1], 0.0);
        sender.lose(&mut cc);
        assert!((told(&cc)[0] - 0.2).abs() < 1e-9, "{:?}", told(&cc));
        assert_eq!(told(&cc)[1], 1.0);
    }

    /// Equation 4 and the safety check: lost at 1000 with eRTT = 125 ms: beta_e = 0.2, less than b(1000) = 0.3299, so the
    /// window is 800 and stands still. An empty queue for 5 RTTmax = 625 ms: growth again from 800.
    #[test]
    fn safety_check_passes() {
        let (mut cc, mut sender) = avoiding(1000.0, &[]);
        sender.round(&mut cc, 125.0);
        cc.frame.set_window(1000.0);
        sender.lose(&mut cc);
        assert!((cc.cwnd() - 800.0).abs() < 1e-9, "{}", cc.cwnd());
        assert_eq!(cc.ssthresh(), cc.cwnd());
        let lost_at = sender.flow.now;
        while cc.cwnd() <= 800.0 + 1e-9 {
            sender.ack(&mut cc, 100.0);
        }
        let waited_ms = (sender.flow.now - lost_at) / 1_000_000;
        assert!((625..=725).contains(&waited_ms), "{waited_ms} ms");
    }

    /// With 102 ms after the cut: N' = 800 2/102 = 15.7 > 10: the window falls to w_desg = 1000 (1 - 0.3299).
    #[test]
    fn safety_check_trips() {
        let (mut cc, mut sender) = avoiding(1000.0, &[]);
        sender.round(&mut cc, 125.0);
        cc.frame.set_window(1000.0);
        sender.lose(&mut cc);
        let (mut rounds, outstanding) = (0, sender.flow.delivered + sender.flow.flight_size);
        while cc.cwnd() > 799.0 {
            rounds += u32::from(sender.ack(&mut cc, 102.0));
        }
        assert!((cc.cwnd() - 670.1).abs() < 0.1, "{}", cc.cwnd());
        assert!(sender.flow.delivered > outstanding && rounds <= 3, "on data sent after the cut, without delay");
    }

    /// Without a safety check the window grows from 800 at once, whatever the queue.
    #[test]
    fn safety_check_can_be_left_out() {
        let (mut cc, mut sender) = avoiding(1000.0, &[("safety_rtts", Value::Number(0.0))]);
        sender.round(&mut cc, 125.0);
        cc.frame.set_window(1000.0);
        sender.lose(&mut cc);
        for _ in 0..4 {
            let before = cc.cwnd();
            sender.round(&mut cc, 102.0);
            assert!(before >= 800.0 - 1e-9 && cc.cwnd() > before, "{}", cc.cwnd());
        }
    }

    #[test]
    fn a_needless_cut_is_undone() {
        let (mut cc, mut sender) = avoiding(1000.0, &[]);
        sender.round(&mut cc, 125.0);
        sender.lose(&mut cc);
        assert!(cc.cwnd() < 1000.0);
        cc.on_undo(1000.0, 900.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1000.0, 900.0));
    }

    /// beta_e = 0.4 (eRTT 166.7 ms) against b(1000) = 0.3299: used as it is, without a safety check, unless capped.
    #[test]
    fn a_deeper_cut_needs_no_check() {
        for (cap, window) in [(false, 600.0), (true, 670.1)] {
            let (mut cc, mut sender) = avoiding(1000.0, &[("cap_beta", Value::Flag(cap))]);
            sender.round(&mut cc, 100.0 / 0.6);
            cc.frame.set_window(1000.0);
            sender.lose(&mut cc);
            assert!((cc.cwnd() - window).abs() < 0.1, "{}", cc.cwnd());
            assert_eq!(cc.phase, SafetyPhase::Increase);
        }
    }
}
