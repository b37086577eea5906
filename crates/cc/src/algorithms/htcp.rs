//! H-TCP: the increase grows with the time since the last congestion event; the backoff just empties the queue.
//!
//! Source: D. Leith and R. Shorten, *H-TCP: TCP Congestion Control for High Bandwidth-Delay Product Paths*, Internet draft
//! draft-leith-tcp-htcp-06, 2008. With D the time since the last congestion event:
//!
//! - alpha(D) = 1 for D <= D_L, 1 + 10 (D - D_L) + ((D - D_L)/2)^2 beyond, D in seconds;
//! - beta = RTTmin/RTTmax within [0.5, 0.8], but 0.5 if the throughput at two events in a row differs by more than a fifth
//!   (adaptive backoff);
//! - per ACK, cwnd += 2 (1 - beta) alpha(D)/cwnd; at an event, cwnd = beta cwnd.
//!
//! RTT scaling, which makes the growth alike for flows of different RTT, multiplies alpha(D) by RTTmin/rtt_ref, with the factor
//! kept within 0.1 and 2 and the product at least 1.
//!
//! # Deviations and choices
//!
//! - **The draft** was not read, nor the PFLDnet 2004 paper of its authors. The rules are those that implementations quote.
//! - **Both options** (adaptive backoff, RTT scaling) are on, as in the implementations in use; the draft leaves them
//!   optional.
//! - **RTT scaling** keeps the factor RTTmin/rtt_ref within 0.1 and 2, as implementations do, and the product with
//!   alpha(D) at least 1, before the factor 2 (1 - beta): an increase may be as small as 0.4 segments in a round trip,
//!   at beta = 0.8.
//! - **RTTmax** fades by a twentieth of its distance to RTTmin at each event (`fading`), as in implementations; the
//!   draft speaks of a maximum only, which could never fall. RTTmax and RTTmin are of single samples, those of a
//!   recovery left out of RTTmax.
//! - **The throughput** at an event is that of the last whole round trip before it; rounds of data sent before the end
//!   of a recovery are not measured. Without a measurement at this event and the one before, the backoff is beta_min.
//! - **D** begins at the first event; before it alpha is 1. It includes recoveries, and leaves out the time in which the window does not
//!   limit the sender. The draft assumes a sender that always has data.
//! - **A timeout** and an ECN mark are events like any other.
//! - `beta_max` wins over a greater `beta_min`.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::{LastAck, RoundRate};
use crate::time::{Nanos, SECOND, seconds};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of H-TCP.
    pub struct HtcpParams for HTCP {
        delta_l: f64 = number(1.0, 0.0, 1e6), "s",
            "Time since the last congestion event up to which the increase is Reno's.",
            "draft-leith-tcp-htcp-06: Delta_L = 1 s";
        beta_min: f64 = number(0.5, 0.05, 0.99), "1",
            "Smallest multiplicative decrease factor.",
            "draft-leith-tcp-htcp-06: 0.5";
        beta_max: f64 = number(0.8, 0.05, 0.99), "1",
            "Largest multiplicative decrease factor; overrides a larger beta_min.",
            "draft-leith-tcp-htcp-06: 0.8";
        throughput_change: f64 = number(0.2, 0.0, 1e6), "1",
            "Relative change of throughput between events above which beta is beta_min.",
            "draft-leith-tcp-htcp-06: 0.2";
        fading: f64 = number(0.95, 0.0, 1.0), "1",
            "Fraction of RTTmax - RTTmin that is kept after a congestion event.",
            "not in the draft; 95 % in the Linux and FreeBSD implementations";
        rtt_ref: f64 = number(0.1, 1e-6, 1e3), "s",
            "RTT without effect of RTT scaling.",
            "Linux and FreeBSD implementations: 100 ms";
        adaptive_backoff: bool = flag(true), "1",
            "beta = RTTmin/RTTmax; otherwise beta_min.",
            "draft-leith-tcp-htcp-06, optional there";
        rtt_scaling: bool = flag(true), "1",
            "Scale the increase with RTTmin/rtt_ref.",
            "draft-leith-tcp-htcp-06, optional there";
        abe: bool = ABE;
    }
}

/// H-TCP.
pub const HTCP: Info = Info {
    name: "htcp",
    paper: "D. Leith, R. Shorten, H-TCP: TCP Congestion Control for High Bandwidth-Delay Product Paths, \
            draft-leith-tcp-htcp-06, 2008",
    group: Group::Both,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: HtcpParams::PARAMS,
};

/// Bounds of the RTT scaling factor (Linux and FreeBSD implementations).
const MIN_SCALE: f64 = 0.1;
const MAX_SCALE: f64 = 2.0;

/// The response of H-TCP.
///
/// ```
/// use fullpipe_cc::algorithms::htcp::{HTCP, Htcp};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Htcp::controller(&Params::defaults(&HTCP), 100.0);
/// cc.on_congestion(&Flow::at(0).cwnd_limited(true), Signal::Loss);
/// assert_eq!(cc.cwnd(), 50.0);
/// cc.on_ack(&Flow::at(3_000_000_000).cwnd_limited(true), &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 50.0 + 22.0 / 50.0, "alpha = 1 + 10 (3 - 1) + ((3 - 1)/2)^2");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Htcp {
    delta_l: f64,
    beta_min: f64,
    beta_max: f64,
    throughput_change: f64,
    fading: f64,
    /// Seconds; `None` without RTT scaling.
    rtt_ref: Option<f64>,
    adaptive_backoff: bool,
    /// Part of the window kept at the last event.
    beta: f64,
    /// alpha(D) scaled, without 2(1 - beta); for traces.
    alpha: f64,
    last_event: Option<Nanos>,
    last_ack: LastAck,
    /// RTTmax, nanoseconds.
    max_rtt: Option<f64>,
    rate: RoundRate,
    /// Throughput in the last whole round, and at the last event; segments per nanosecond.
    throughput: Option<f64>,
    event_throughput: Option<f64>,
}

impl Htcp {
    /// H-TCP in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Htcp> {
        let given = HtcpParams::read(params);
        let beta_min = given.beta_min;
        let response = Htcp {
            delta_l: given.delta_l,
            beta_min,
            beta_max: given.beta_max,
            throughput_change: given.throughput_change,
            fading: given.fading,
            rtt_ref: given.rtt_scaling.then_some(given.rtt_ref),
            adaptive_backoff: given.adaptive_backoff,
            beta: beta_min,
            alpha: 1.0,
            last_event: None,
            last_ack: LastAck::NONE,
            max_rtt: None,
            rate: RoundRate::new(),
            throughput: None,
            event_throughput: None,
        };
        Classic::new(start, response).with_abe(params)
    }

    /// alpha(D), scaled.
    #[inline]
    fn alpha(&self, flow: &Flow) -> f64 {
        let late = self.last_event.map_or(0.0, |event| seconds(flow.now - event) - self.delta_l);
        let alpha = if late > 0.0 { 1.0 + late * (10.0 + 0.25 * late) } else { 1.0 };
        let (Some(rtt_ref), Some(min_rtt)) = (self.rtt_ref, flow.min_rtt) else { return alpha };
        let scale = (seconds(min_rtt) / rtt_ref).clamp(MIN_SCALE, MAX_SCALE);
        (alpha * scale).max(1.0)
    }

    /// beta for the event that is being reported.
    fn backoff(&mut self, min_rtt: Option<Nanos>) -> f64 {
        let before = core::mem::replace(&mut self.event_throughput, self.throughput);
        let steady = self.event_throughput.zip(before).is_some_and(|(now, before)| {
            let change = (now - before) / before;
            change <= self.throughput_change && -change <= self.throughput_change
        });
        let Some((min, max)) = min_rtt.zip(self.max_rtt) else { return self.beta_min };
        let min = min as f64;
        self.max_rtt = Some(min + self.fading * (max - min));
        if !(self.adaptive_backoff && steady) {
            return self.beta_min;
        }
        (min / max).max(self.beta_min)
    }
}

impl Response for Htcp {
    #[inline]
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(event) = self.last_event.as_mut().filter(|_| !flow.in_recovery) {
            *event += self.last_ack.unlimited(flow, ack, *event);
        }
        self.last_ack.note(flow);
        if flow.in_recovery {
            return;
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt as f64;
            self.max_rtt = Some(self.max_rtt.map_or(rtt, |max| max.max(rtt)));
        }
        if let Some(rate) = self.rate.observe(flow, ack) {
            self.throughput = Some(rate);
        }
    }

    #[inline]
    fn increase(&mut self, w: f64, flow: &Flow, _ack: &Ack) -> f64 {
        self.alpha = self.alpha(flow);
        2.0 * (1.0 - self.beta) * self.alpha / w
    }

    fn decrease(&mut self, w: f64, flow: &Flow, _signal: Signal) -> f64 {
        self.beta = self.backoff(flow.min_rtt).min(self.beta_max);
        self.last_event = Some(flow.now);
        self.throughput = None;
        self.beta * w
    }

    fn recovered(&mut self, flow: &Flow) {
        self.rate.restart(flow);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("beta", self.beta);
        visit("alpha", 2.0 * (1.0 - self.beta) * self.alpha);
        visit("rtt_max_s", self.max_rtt.map_or(f64::NAN, |nanos| nanos / SECOND as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::params::Value;
    use crate::testing::Driver;
    use crate::time::MILLISECOND;

    fn controller(given: &[(&str, Value)]) -> Classic<Htcp> {
        Htcp::controller(&Params::checked(&HTCP, given).unwrap(), 100.0)
    }

    fn alpha_after(cc: &mut Classic<Htcp>, ms: Nanos, rtt_ms: Nanos) -> f64 {
        cc.response.last_event = Some(0);
        let flow = Flow { now: ms * MILLISECOND, min_rtt: Some(rtt_ms * MILLISECOND), ..Flow::default() };
        cc.response.increase(100.0, &flow, &Ack::default()) * 100.0
    }

    /// The draft's increase at beta = 0.5 and the reference RTT of 100 ms: 1 up to 1 s; at 2 s 1 + 10 + 0.25 = 11.25; at 3 s
    /// 1 + 20 + 1 = 22.
    #[test]
    fn increase_grows_with_time() {
        for (ms, alpha) in [(500, 1.0), (1000, 1.0), (2000, 11.25), (3000, 22.0)] {
            assert!((alpha_after(&mut controller(&[]), ms, 100) - alpha).abs() < 1e-9, "{ms} ms");
        }
    }

    /// RTT scaling at 3 s (22): 50 ms 11; 1 ms, factor 0.1, 2.2; 400 ms, factor 2, 44; in the Reno phase never below 1.
    #[test]
    fn increase_scales_with_the_rtt() {
        for (ms, rtt_ms, alpha) in [(3000, 50, 11.0), (3000, 1, 2.2), (3000, 400, 44.0), (500, 50, 1.0)] {
            assert!((alpha_after(&mut controller(&[]), ms, rtt_ms) - alpha).abs() < 1e-9, "{ms} ms, RTT {rtt_ms} ms");
        }
        let mut unscaled = controller(&[("rtt_scaling", Value::Flag(false))]);
        assert!((alpha_after(&mut unscaled, 3000, 50) - 22.0).abs() < 1e-9);
    }

    /// Adaptive backoff: RTT 100 ms empty, 140 ms full: beta = 100/140 = 0.714 once the throughput at two events agrees
    /// within a fifth; 0.5 at the first event, at a change, or without adaptive backoff.
    #[test]
    fn backoff_empties_the_queue_in_steady_state() {
        let keep = |given: &[(&str, Value)], throughputs: [f64; 2]| {
            let mut response = controller(given).response;
            response.max_rtt = Some(140e6);
            let flow = Flow { min_rtt: Some(100 * MILLISECOND), ..Flow::default() };
            throughputs.map(|throughput| {
                response.max_rtt = Some(140e6);
                // Segments per nanosecond, 10,000 a second and thereabouts.
                response.throughput = Some(throughput * 1e-5);
                response.decrease(100.0, &flow, Signal::Loss)
            })
        };
        let adaptive = 100.0 * 100.0 / 140.0;
        for (throughputs, second) in
            [([1.0, 1.1], adaptive), ([1.0, 0.85], adaptive), ([1.0, 1.3], 50.0), ([1.0, 0.7], 50.0)]
        {
            let kept = keep(&[], throughputs);
            assert_eq!(kept[0], 50.0);
            assert!((kept[1] - second).abs() < 1e-9, "{throughputs:?}: {}", kept[1]);
        }
        assert_eq!(keep(&[("adaptive_backoff", Value::Flag(false))], [1.0, 1.0]), [50.0, 50.0]);
    }

    /// At beta = 100/140 and 3 s after the event (alpha 22): 2 (1 - 5/7) 22 = 88/7.
    #[test]
    fn tells_its_variables() {
        let mut cc = controller(&[]);
        cc.response.beta = 5.0 / 7.0;
        cc.response.max_rtt = Some(140e6);
        alpha_after(&mut cc, 3000, 100);
        let mut told = std::vec::Vec::new();
        cc.response.inspect(&mut |name, value| told.push((name, value)));
        assert_eq!(told.iter().map(|(name, _)| *name).collect::<std::vec::Vec<_>>(), ["beta", "alpha", "rtt_max_s"]);
        for ((name, value), expected) in told.into_iter().zip([5.0 / 7.0, 88.0 / 7.0, 0.14]) {
            assert!((value - expected).abs() < 1e-9, "{name} = {value}");
        }
    }

    /// RTTmax is followed: 140 ms, then three events later RTTs of 110 ms: 100 + 0.95^2 40 = 136.1 at the third event.
    #[test]
    fn memory_of_the_maximum_fades() {
        let mut response = controller(&[]).response;
        response.max_rtt = Some(140e6);
        let flow = Flow { min_rtt: Some(100 * MILLISECOND), ..Flow::default() };
        let kept = [0; 3].map(|_| {
            response.throughput = Some(1.0);
            response.decrease(1.0, &flow, Signal::Loss)
        });
        for (kept, expected) in kept.iter().zip([0.5, 100.0 / 138.0, 100.0 / 136.1]) {
            assert!((kept - expected).abs() < 1e-9, "{kept}");
        }
    }

    /// After a recovery nothing counts before data sent since is acknowledged: 150 segments are delivered or outstanding at its end, so
    /// that the round from 160 on is the first; it delivers 50 in 100 ms.
    #[test]
    fn a_round_of_a_recovery_is_not_measured() {
        let mut response = controller(&[]).response;
        let flow = |ms: Nanos, delivered, flight_size| Flow {
            now: ms * MILLISECOND,
            delivered,
            flight_size,
            min_rtt: Some(100 * MILLISECOND),
            ..Flow::default()
        };
        let round = Ack { acked: 1, credit: 1.0, round_start: true, ..Ack::default() };
        response.observe(&flow(100, 100, 50), &round);
        response.decrease(100.0, &flow(150, 100, 50), Signal::Loss);
        response.recovered(&flow(200, 100, 50));
        for (ms, delivered, expected) in [(300, 120, None), (400, 160, None), (500, 210, Some(50.0 / 1e8))] {
            response.observe(&flow(ms, delivered, 50), &round);
            assert_eq!(response.throughput, expected, "{ms} ms");
        }
    }

    /// A whole run: throughput measured by the round gives an adaptive backoff at the second event.
    #[test]
    fn measures_its_throughput() {
        let mut cc = controller(&[]);
        cc.set_window(100.0);
        let mut sender = Driver::new();
        sender.ack(&mut cc, 100.0);
        for expected in [0.5, 100.0 / 140.0] {
            for _ in 0..4 {
                sender.round(&mut cc, 140.0);
            }
            cc.set_window(140.0);
            for _ in 0..3 {
                sender.round(&mut cc, 140.0);
            }
            let before = cc.cwnd();
            sender.lose(&mut cc);
            let kept = cc.cwnd() / before;
            assert!((kept - expected).abs() < 0.02, "{kept}");
        }
    }

    /// A flow that is limited, or idle, from 3 s to 13 s has alpha(3 s) = 22 at 13 s.
    #[test]
    fn the_clock_stops_while_the_application_limits_the_sender() {
        for idle in [false, true] {
            let mut cc = controller(&[]);
            let flow =
                |ms: Nanos| Flow { now: ms * MILLISECOND, flight_size: 50, cwnd_limited: true, ..Flow::default() };
            cc.response.last_event = Some(0);
            for ms in (100..=3000).step_by(100) {
                cc.on_ack(&Flow { flight_size: if idle && ms == 3000 { 0 } else { 50 }, ..flow(ms) }, &Ack::default());
            }
            if !idle {
                for ms in (3100..=13_000).step_by(100) {
                    cc.on_ack(&Flow { cwnd_limited: false, ..flow(ms) }, &Ack::default());
                }
            }
            let now = if idle { 13_100 } else { 13_000 };
            cc.on_ack(&flow(now), &Ack::default().rtt(Some(100 * MILLISECOND)));
            let alpha = cc.response.increase(100.0, &flow(now), &Ack::default()) * 100.0;
            let expected = if idle { 1.0 + 2.1 * (10.0 + 0.25 * 2.1) } else { 22.0 };
            assert!((alpha - expected).abs() < 1e-9, "{idle} {alpha}");
        }
    }

    /// An event between two ACKs of a limited sender is not moved beyond the second one.
    #[test]
    fn the_clock_of_a_limited_sender_begins_at_the_event() {
        let mut cc = controller(&[]);
        let flow = |ms: Nanos| Flow { now: ms * MILLISECOND, flight_size: 50, ..Flow::default() };
        cc.on_ack(&flow(100), &Ack::default());
        cc.on_congestion(&flow(900), Signal::Timeout);
        cc.on_ack(&flow(1000), &Ack::default());
        assert_eq!(cc.response.last_event, Some(1000 * MILLISECOND));
    }
}
