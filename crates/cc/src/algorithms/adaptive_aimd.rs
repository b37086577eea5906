//! Adaptive AIMD: the backoff just empties the queue, whatever its size, and the increase follows so that shares stay fair.
//!
//! Source: R. Shorten and D. Leith, *On Queue Provisioning, Network Efficiency and the Transmission Control Protocol*, IEEE/ACM
//! Transactions on Networking 15(4), 2007. At the congestion event k
//!
//! - beta = RTTmin/RTTmax, between `beta_min` and `beta_max` (equations 4 and 7); 0.5 at the first event (figure 5);
//! - alpha = 2(1 - beta) segments per round trip from then on (equation 5);
//! - RTTmax, the greatest smoothed RTT, is then drawn towards RTTmin: RTTmin + fading (RTTmax - RTTmin) (equation 9).
//!
//! With `estimator = "throughput"`: beta(k+1) = beta(k) B-(k)/B+(k), the flow's throughput in the last round trip before event
//! k over that in the first one after it (equation 10).
//!
//! # Deviations and choices
//!
//! - The text at hand lost the symbols of its equations. Equations 4, 5, 7 and 9 follow from the prose; H-TCP's code
//!   agrees with them.
//! - **Equation 10** needs the factor beta(k): before the event the flow has w/RTTmax, after it beta w/RTTmin, so B-/B+
//!   alone is RTTmin/(beta RTTmax), which can exceed 1.
//! - **The first event** halves the window (figure 5), within beta_min and beta_max, so that beta_min = beta_max gives
//!   a fixed AIMD.
//! - **fading**: the paper has "the fading memory already used in the smoothed RTT", 7/8; other code has 0.95. The
//!   results hardly depend on it.
//! - RTTs of segments acknowledged during recovery are not looked at, and throughput is measured over whole rounds of
//!   data sent after the recovery.
//! - The paper's flow halves the amount in flight; here it is cwnd, as for all algorithms.
//! - A timeout sets ssthresh with beta. After it equation 10 keeps its beta once, since B+ would be slow start's. An
//!   ECN mark is an event like a loss.
//! - H-TCP's additions (alpha that grows with time, switching to 0.5 when the throughput changes, RTT scaling) are not
//!   in this paper; `htcp` has them.

use crate::declare::{TypedParams, choices, params};
use crate::params::{Group, Info, Params};
use crate::parts::{Ewma, RoundRate};
use crate::time::{Nanos, SECOND};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of Adaptive AIMD.
    pub struct AdaptiveAimdParams for ADAPTIVE_AIMD {
        beta_min: f64 = number(0.5, 0.05, 0.99), "1",
            "Smallest multiplicative decrease factor.",
            "Shorten and Leith 2007, section III: no less than standard TCP's 0.5";
        beta_max: f64 = number(0.8, 0.05, 0.99), "1",
            "Largest multiplicative decrease factor; overrides a larger beta_min.",
            "Shorten and Leith 2007, section III: 0.8 fills a link with a quarter of a BDP of buffer";
        fading: f64 = number(0.875, 0.0, 1.0), "1",
            "Fraction of RTTmax - RTTmin that is kept after a congestion event.",
            "Shorten and Leith 2007, equation 9, with the memory of the smoothed RTT (RFC 6298: 7/8)";
        estimator: BetaEstimator = choice(&["rtt", "throughput"]), "1",
            "Measurement from which beta is computed.",
            "Shorten and Leith 2007, equation 7 (rtt) or 10 (throughput)";
        abe: bool = ABE;
    }
}

/// Quantities from which adaptive AIMD computes beta.
///
/// ```
/// use fullpipe_cc::algorithms::adaptive_aimd::{AdaptiveAimdParams, BetaEstimator};
/// use fullpipe_cc::params::Value;
/// use fullpipe_cc::{build, build_typed};
///
/// let params = AdaptiveAimdParams { estimator: BetaEstimator::Throughput, ..AdaptiveAimdParams::default() };
/// let typed = build_typed(&params, 10.0)?;
/// let named = build("adaptive-aimd", &[("estimator", Value::Name("throughput"))], 10.0)?;
/// assert_eq!(format!("{typed:?}"), format!("{named:?}"));
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BetaEstimator {
    /// Least and greatest RTT.
    Rtt,
    /// Throughput before a loss and the least RTT.
    Throughput,
}

choices! { BetaEstimator { Rtt = "rtt", Throughput = "throughput" } }

/// Adaptive AIMD.
pub const ADAPTIVE_AIMD: Info = Info {
    name: "adaptive-aimd",
    paper: "R. Shorten, D. Leith, On Queue Provisioning, Network Efficiency and the Transmission Control Protocol, \
            IEEE/ACM Transactions on Networking 15(4), 2007",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: AdaptiveAimdParams::PARAMS,
};

/// The response of adaptive AIMD.
///
/// ```
/// use fullpipe_cc::algorithms::adaptive_aimd::{ADAPTIVE_AIMD, AdaptiveAimd};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = AdaptiveAimd::controller(&Params::defaults(&ADAPTIVE_AIMD), 100.0);
/// let flow = Flow::at(0).cwnd_limited(true).min_rtt(Some(60_000_000));
/// cc.on_ack(&flow, &Ack::of(1, 0.0).rtt(Some(100_000_000)));
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 50.0, "the first event keeps 0.5");
/// cc.on_ack(&flow, &Ack::of(1, 0.0).rtt(Some(96_000_000)));
/// cc.on_congestion(&flow, Signal::Loss);
/// assert!((cc.cwnd() - 50.0 * 60.0 / 99.5).abs() < 1e-9, "RTTmin/RTTmax; the mean RTT is 100 - 4/8 ms");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveAimd {
    beta_min: f64,
    beta_max: f64,
    estimator: Estimator,
    /// Factor kept at the last congestion event.
    beta: f64,
    /// Segments per round trip.
    alpha: f64,
    /// No congestion event yet.
    first: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Estimator {
    Rtt(RttRatio),
    Throughput(ThroughputRatio),
}

impl AdaptiveAimd {
    /// Adaptive AIMD in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<AdaptiveAimd> {
        let given = AdaptiveAimdParams::read(params);
        let estimator = match given.estimator {
            BetaEstimator::Rtt => Estimator::Rtt(RttRatio::new(given.fading)),
            _ => Estimator::Throughput(ThroughputRatio::new()),
        };
        let response = AdaptiveAimd {
            beta_min: given.beta_min,
            beta_max: given.beta_max,
            estimator,
            beta: FIRST_BETA,
            alpha: 1.0,
            first: true,
        };
        Classic::new(start, response).with_abe(params)
    }
}

/// The factor kept at the first congestion event (figure 5).
const FIRST_BETA: f64 = 0.5;

impl Response for AdaptiveAimd {
    #[inline]
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if flow.in_recovery {
            return;
        }
        match &mut self.estimator {
            Estimator::Rtt(rtt) => rtt.observe(ack),
            Estimator::Throughput(throughput) => throughput.observe(flow, ack),
        }
    }

    /// alpha/w per ACK.
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        self.alpha / w
    }

    /// beta w.
    fn decrease(&mut self, w: f64, flow: &Flow, signal: Signal) -> f64 {
        let estimate = match &mut self.estimator {
            Estimator::Rtt(rtt) => rtt.on_event(flow.min_rtt),
            Estimator::Throughput(throughput) => throughput.on_event(signal).map(|ratio| self.beta * ratio),
        };
        if !self.first {
            self.beta = estimate.unwrap_or(self.beta);
        }
        self.first = false;
        self.beta = self.beta.max(self.beta_min).min(self.beta_max);
        self.alpha = 2.0 * (1.0 - self.beta);
        self.beta * w
    }

    fn recovered(&mut self, flow: &Flow) {
        if let Estimator::Throughput(throughput) = &mut self.estimator {
            throughput.rate.restart(flow);
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("beta", self.beta);
        visit("alpha", self.alpha);
        let rtt_max = match &self.estimator {
            Estimator::Rtt(rtt) => rtt.max,
            Estimator::Throughput(_) => None,
        };
        visit("rtt_max_s", rtt_max.map_or(f64::NAN, |nanos| nanos / SECOND as f64));
    }
}

/// RTTmin/RTTmax (equations 7 and 9).
#[derive(Clone, Debug, PartialEq)]
struct RttRatio {
    fading: f64,
    srtt: Ewma,
    /// RTTmax, nanoseconds.
    max: Option<f64>,
}

impl RttRatio {
    fn new(fading: f64) -> RttRatio {
        RttRatio { fading, srtt: Ewma::default(), max: None }
    }

    #[inline]
    fn observe(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let srtt = self.srtt.update(rtt as f64);
        self.max = Some(self.max.map_or(srtt, |max| max.max(srtt)));
    }

    /// The ratio at this event; the memory of RTTmax then fades. `None` without samples.
    fn on_event(&mut self, min_rtt: Option<Nanos>) -> Option<f64> {
        let (min, max) = (min_rtt? as f64, self.max?);
        self.max = Some(min + self.fading * (max - min));
        Some(min / max)
    }
}

/// B-/B+ (equation 10), each over one round trip; segments per nanosecond.
#[derive(Clone, Debug, PartialEq)]
struct ThroughputRatio {
    rate: RoundRate,
    /// Throughput in the last whole round trip.
    last: Option<f64>,
    /// B- and B+: throughput in the round trip before the last event, and in the first one after it.
    before: Option<f64>,
    after: Option<f64>,
}

impl ThroughputRatio {
    fn new() -> ThroughputRatio {
        ThroughputRatio { rate: RoundRate::new(), last: None, before: None, after: None }
    }

    #[inline]
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        let Some(rate) = self.rate.observe(flow, ack) else { return };
        self.after.get_or_insert(rate);
        self.last = Some(rate);
    }

    /// B-/B+ of the event before this one; `None` where it could not be measured.
    fn on_event(&mut self, signal: Signal) -> Option<f64> {
        let ratio = self.before.zip(self.after).map(|(before, after)| before / after);
        self.before = if signal == Signal::Timeout { None } else { self.last };
        self.after = None;
        self.last = None;
        ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::params::Value;
    use crate::testing::Driver;

    fn controller(window: f64, given: &[(&str, Value)]) -> Classic<AdaptiveAimd> {
        AdaptiveAimd::controller(&Params::checked(&ADAPTIVE_AIMD, given).unwrap(), window)
    }

    /// Before an event beta is 0.5 and alpha, which goes with it, 1; RTTmax is the greatest of the smoothed RTTs, in seconds.
    #[test]
    fn tells_beta_alpha_and_rtt_max() {
        let mut cc = controller(100.0, &[]);
        let told = |cc: &Classic<AdaptiveAimd>| {
            let (mut found, mut count) = ([("", 0.0); 3], 0);
            cc.inspect(&mut |name, value| {
                found[count] = (name, value);
                count += 1;
            });
            found
        };
        assert_eq!(told(&cc)[..2], [("beta", 0.5), ("alpha", 1.0)]);
        assert!(told(&cc)[2].1.is_nan());
        Driver::new().ack(&mut cc, 100.0);
        assert_eq!(told(&cc)[2], ("rtt_max_s", 0.1));
    }

    /// Equations 4, 5, 7: the first event halves; RTT 100 ms empty, 130 ms full: beta = 100/130 = 0.769, alpha = 0.462.
    #[test]
    fn backoff_empties_the_queue() {
        let mut cc = controller(100.0, &[]);
        let mut sender = Driver::new();
        sender.ack(&mut cc, 100.0);
        sender.lose(&mut cc);
        assert_eq!(cc.cwnd(), 50.5, "one ACK of slow start, then half");
        for _ in 0..300 {
            sender.ack(&mut cc, 130.0);
        }
        let before = cc.cwnd();
        sender.lose(&mut cc);
        assert!((cc.cwnd() / before - 100.0 / 130.0).abs() < 1e-9);
        let after = cc.cwnd();
        sender.ack(&mut cc, 100.0);
        assert!((cc.cwnd() - after - 2.0 * (1.0 - 100.0 / 130.0) / after).abs() < 1e-9);
    }

    /// Section III: beta stays in [0.5, 0.8]: 100/110 = 0.91 gives 0.8, 100/300 gives 0.5.
    #[test]
    fn backoff_is_limited() {
        for (full_ms, beta) in [(110.0, 0.8), (300.0, 0.5)] {
            let mut cc = controller(100.0, &[]);
            let mut sender = Driver::new();
            sender.ack(&mut cc, 100.0);
            sender.lose(&mut cc);
            for _ in 0..300 {
                sender.ack(&mut cc, full_ms);
            }
            let before = cc.cwnd();
            sender.lose(&mut cc);
            assert!((cc.cwnd() / before - beta).abs() < 1e-9, "{full_ms} ms");
        }
    }

    /// Equation 9 with 7/8: RTTmin 100, RTTmax 180: after an event 170, after two 161.25, so beta = 100/170, 100/161.25.
    #[test]
    fn memory_of_the_maximum_fades() {
        let mut ratio = RttRatio { fading: 0.875, srtt: Ewma::default(), max: Some(180.0) };
        let betas = [0; 3].map(|_| ratio.on_event(Some(100)).unwrap());
        for (beta, max) in betas.iter().zip([180.0, 170.0, 161.25]) {
            assert!((beta - 100.0 / max).abs() < 1e-12);
        }
    }

    /// Equation 10: first beta 0.5; 200 segments in 130 ms before the event, 100 in 100 ms after it:
    /// beta = 0.5 (200/130)/(100/100) = 0.769 = RTTmin/RTTmax.
    #[test]
    fn throughput_ratio_gives_the_same_backoff() {
        let mut cc = controller(200.0, &[("estimator", Value::Name("throughput"))]);
        cc.set_window(200.0);
        let mut time = 0;
        let mut delivered = 0;
        let mut round = |cc: &mut Classic<AdaptiveAimd>, segments: u64, ms: Nanos| {
            time += ms * 1_000_000;
            delivered += segments;
            let flow = Flow { now: time, delivered, flight_size: segments, cwnd_limited: true, ..Flow::default() };
            cc.on_ack(&flow, &Ack { acked: 1, credit: 0.0, round_start: true, ..Ack::default() });
            flow
        };
        round(&mut cc, 200, 130);
        let flow = round(&mut cc, 200, 130);
        cc.on_congestion(&flow, Signal::Loss);
        assert_eq!(cc.cwnd(), 100.0);
        cc.on_recovered(&flow);
        round(&mut cc, 150, 115); // in part sent before the event: not measured
        round(&mut cc, 100, 100);
        let flow = round(&mut cc, 100, 100);
        cc.on_congestion(&flow, Signal::Loss);
        assert!((cc.cwnd() - 100.0 * 100.0 / 130.0).abs() < 1e-9, "{}", cc.cwnd());
    }

    /// Section V: with beta fixed at 0.75 (figure 18), alpha = 0.5.
    #[test]
    fn can_be_a_fixed_aimd() {
        let mut cc = controller(100.0, &[("beta_min", Value::Number(0.75)), ("beta_max", Value::Number(0.75))]);
        let mut sender = Driver::new();
        sender.lose(&mut cc);
        assert_eq!(cc.cwnd(), 75.0);
        sender.ack(&mut cc, 100.0);
        assert_eq!(cc.cwnd(), 75.0 + 0.5 / 75.0);
    }
}
