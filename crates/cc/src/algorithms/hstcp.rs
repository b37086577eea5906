//! HighSpeed TCP: the gain grows and the cut shrinks with the window, so that large windows survive realistic loss rates.
//!
//! Source: RFC 3649 (S. Floyd, *HighSpeed TCP for Large Congestion Windows*, 2003), section 5. The response function is a
//! straight line in log-log coordinates from (Low_P, Low_Window) to (High_P, High_Window):
//!
//! - b(w) = (High_Decrease - 0.5) (log w - log Low_Window) / (log High_Window - log Low_Window) + 0.5
//! - log p(w) = (log w - log Low_Window) / (log High_Window - log Low_Window) (log High_P - log Low_P) + log Low_P
//! - a(w) = w^2 p(w) 2 b(w) / (2 - b(w))
//!
//! and Reno's a = 1, b = 0.5 at or below Low_Window.
//!
//! # Deviations and choices
//!
//! - **Low_P** is 1.5/Low_Window^2 (0.00104), the loss rate at which Reno has that window, so that a is continuous at
//!   Low_Window and exactly 1 there; ns-2 does so too. The RFC's appendix rounds the line to p = 0.078/w^1.2, which
//!   makes its table's a(w) up to 5 % smaller. Tests hold a(w) to within 5 % of the table and b(w) to its two digits.
//! - **Closed forms, not a table.** Implementations that look the table up take the next greater row (a = 2 from 39 to
//!   118 segments, where the formula goes from 1 to 2.1); ours is the formula. a(w) is evaluated at the whole part of w
//!   and kept while that does not change, because a logarithm and an exponential per ACK would cost more than everything
//!   else: less than 2 % of a at 38 segments, falling as 0.8/w.
//! - **Beyond High_Window** the lines are continued, with b at least 0.01 (the RFC leaves this open).
//! - **a(w) is at most w**, which is slow start. The RFC's line is far below; one with High_P above Low_P would cross
//!   it.
//! - Limited slow start (RFC 3742) is a separate document and not included.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Param, Params};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};
use libm::log;

params! {
    /// Parameters of HighSpeed TCP.
    pub struct HstcpParams for HSTCP {
        low_window: f64 = LOW_WINDOW;
        high_window: f64 = HIGH_WINDOW;
        high_p: f64 = HIGH_P;
        high_decrease: f64 = HIGH_DECREASE;
        abe: bool = ABE;
    }
}

/// HighSpeed TCP.
pub const HSTCP: Info = Info {
    name: "hstcp",
    paper: "RFC 3649: HighSpeed TCP for Large Congestion Windows (2003)",
    group: Group::Loss,
    recovery: "sack",
    own_slow_start: false,
    ecn: None,
    params: HstcpParams::PARAMS,
};

pub(crate) const LOW_WINDOW: Param =
    Param::number("low_window", 38.0, 1.0, 1000.0, "Window up to which the algorithm is Reno.")
        .unit("segments")
        .source("RFC 3649 section 5: Low_Window = 38");
pub(crate) const HIGH_WINDOW: Param =
    Param::number("high_window", 83_000.0, 1001.0, 1e9, "Window at the loss rate high_p.")
        .unit("segments")
        .source("RFC 3649 section 5: High_Window = 83000");
pub(crate) const HIGH_P: Param =
    Param::number("high_p", 1e-7, 1e-12, 1e-2, "Loss rate at which the window is high_window.")
        .source("RFC 3649 section 5: High_P = 10^-7");
pub(crate) const HIGH_DECREASE: Param =
    Param::number("high_decrease", 0.1, 0.01, 0.5, "Fraction of the window cut at high_window.")
        .source("RFC 3649 section 5: High_Decrease = 0.1");

/// The response of HighSpeed TCP.
///
/// ```
/// use fullpipe_cc::algorithms::hstcp::{HSTCP, Hstcp};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{CongestionControl, Flow, Signal};
///
/// let mut cc = Hstcp::controller(&Params::defaults(&HSTCP), 83_000.0);
/// cc.on_congestion(&Flow::at(0).cwnd_limited(true), Signal::Loss);
/// assert!((cc.cwnd() - 74_700.0).abs() < 1e-6, "High_Decrease = 0.1 at High_Window (RFC 3649 section 5)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hstcp {
    low_window: f64,
    /// log Low_Window.
    log_low_window: f64,
    /// log High_Window - log Low_Window.
    log_span: f64,
    /// log Low_P.
    log_low_p: f64,
    /// log High_P - log Low_P.
    log_p_span: f64,
    /// High_Decrease - 0.5.
    b_span: f64,
    /// a(w) at w = `at`.
    a: f64,
    /// The integer part of the window that `a` belongs to.
    at: u32,
}

/// The least cut, far above High_Window.
const MIN_B: f64 = 0.01;

impl Hstcp {
    /// HighSpeed TCP in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Hstcp> {
        Classic::new(start, Hstcp::new(&HstcpParams::read(params))).with_abe(params)
    }

    /// The response alone.
    pub fn new(given: &HstcpParams) -> Hstcp {
        let low_window = given.low_window;
        let log_low_window = log(low_window);
        let log_low_p = log(1.5 / (low_window * low_window));
        Hstcp {
            low_window,
            log_low_window,
            log_span: log(given.high_window) - log_low_window,
            log_low_p,
            log_p_span: log(given.high_p) - log_low_p,
            b_span: given.high_decrease - 0.5,
            a: 1.0,
            at: 0,
        }
    }

    /// a(w), segments per round trip: RFC 3649 section 5.
    pub fn a(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let p = libm::exp(self.position(w) * self.log_p_span + self.log_low_p);
        let b = self.b(w);
        (w * w * p * 2.0 * b / (2.0 - b)).min(w)
    }

    /// b(w), the fraction cut: RFC 3649 section 5.
    pub fn b(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 0.5;
        }
        (0.5 + self.b_span * self.position(w)).max(MIN_B)
    }

    /// How far log w lies from log Low_Window (0) to log High_Window (1).
    fn position(&self, w: f64) -> f64 {
        (log(w) - self.log_low_window) / self.log_span
    }
}

impl Response for Hstcp {
    /// a(w)/w per ACK.
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        let whole = w as u32;
        if whole != self.at {
            self.at = whole;
            self.a = self.a(f64::from(whole));
        }
        self.a / w
    }

    /// w(1 - b(w)).
    fn decrease(&mut self, w: f64, _flow: &Flow, _signal: Signal) -> f64 {
        w * (1.0 - self.b(w))
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("a", self.a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;

    fn hstcp() -> Hstcp {
        Hstcp::new(&HstcpParams::default())
    }

    /// Rows (w, a, b) of RFC 3649 appendix B, table 12. A row is where a(w) reaches a whole number by the appendix's rounded
    /// p = 0.078/w^1.2, hence 5 % on a; b is printed to two digits.
    #[test]
    fn appendix_b_table() {
        let rows = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1058.0, 8.0, 0.33),
            (1284.0, 9.0, 0.32),
            (1529.0, 10.0, 0.31),
            (2699.0, 14.0, 0.28),
            (5036.0, 20.0, 0.25),
            (10661.0, 30.0, 0.21),
            (83981.0, 71.0, 0.10),
        ];
        for (w, a, b) in rows {
            assert!((hstcp().a(w) / a - 1.0).abs() < 0.05, "a({w}) = {}", hstcp().a(w));
            assert!((hstcp().b(w) - b).abs() <= 0.005, "b({w}) = {}", hstcp().b(w));
        }
    }

    /// RFC 3649 section 5: the line's ends. At Low_Window Reno; at High_Window b = 0.1 and, with p = 1e-7,
    /// a = 83000^2 1e-7 0.2/1.9 = 72.5158.
    #[test]
    fn ends_of_the_line() {
        assert_eq!((hstcp().a(38.0), hstcp().b(38.0)), (1.0, 0.5));
        assert!((hstcp().a(38.0 + 1e-9) - 1.0).abs() < 1e-6, "a is continuous at Low_Window");
        assert!((hstcp().a(83_000.0) - 72.515_789).abs() < 1e-5);
        assert!((hstcp().b(83_000.0) - 0.1).abs() < 1e-12);
    }

    /// A line that rises (High_P = 0.01 at 83000 above Low_P = 1.5/38^2) has p = 1 at 5e11 segments and would have a(w) above w
    /// far below; a(w) = w is slow start.
    #[test]
    fn is_never_faster_than_slow_start() {
        let given = [("high_p", crate::params::Value::Number(1e-2))];
        let rising = Hstcp::new(&HstcpParams::read(&Params::checked(&HSTCP, &given).unwrap()));
        for w in [1e6, 1e12, 1e300] {
            assert_eq!(rising.a(w), w);
        }
        assert!([39.0, 1e3, 1e6, 1e12].iter().all(|&w| hstcp().a(w) < 0.03 * w), "the RFC's own line is far from it");
    }

    /// RFC 3649 section 5: at p = 1e-7 the average window is High_Window: with one loss per 1e7 segments the sawtooth's mean
    /// must be 83000, within 3 %, since section 5 takes a and b as constant over a cycle.
    #[test]
    fn sawtooth_at_high_p_averages_high_window() {
        let flow = Flow { cwnd_limited: true, ..Flow::default() };
        let mut cc = Hstcp::controller(&Params::defaults(&HSTCP), 87_368.0);
        let (mut segments, mut round_trips) = (0.0, 0.0);
        for _ in 0..20 {
            cc.on_congestion(&flow, Signal::Loss);
            (segments, round_trips) = (0.0, 0.0);
            while segments < 1e7 {
                let w = cc.cwnd();
                cc.on_ack(&flow, &Ack { acked: 100, credit: 100.0, ..Ack::default() });
                segments += 100.0;
                round_trips += 100.0 / w;
            }
        }
        let mean = segments / round_trips;
        assert!((mean / 83_000.0 - 1.0).abs() < 0.03, "mean window {mean}");
    }

    /// RFC 3649 section 5, equation 1: cwnd += a(cwnd)/cwnd per ACK; equation 2: cwnd = (1 - b(cwnd)) cwnd.
    #[test]
    fn window_follows_a_and_b() {
        let flow = Flow { cwnd_limited: true, ..Flow::default() };
        let mut cc = Hstcp::controller(&Params::defaults(&HSTCP), 1000.0);
        cc.on_congestion(&flow, Signal::Loss);
        // b(1000) = 0.5 - 0.4 ln(1000/38)/ln(83000/38) = 0.5 - 0.4 3.27017/7.68897 = 0.329877
        assert!((cc.cwnd() - 670.123).abs() < 1e-2, "{}", cc.cwnd());
        let before = cc.cwnd();
        cc.on_ack(&flow, &Ack { acked: 1, credit: 1.0, ..Ack::default() });
        // a(663) is 6 in table 12, so a(670) lies between 6 and 6.4
        let a = (cc.cwnd() - before) * before;
        assert!((6.0..6.4).contains(&a), "{a}");
        let mut told = None;
        cc.response.inspect(&mut |name, value| told = Some((name, value)));
        assert!(told.is_some_and(|(name, value)| name == "a" && (value - a).abs() < 1e-6), "{told:?}");
    }
}
