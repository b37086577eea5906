//! The frame that loss-driven algorithms share: slow start, floors and the timeout around a [`Response`].

use crate::params::{Param, Params};
use crate::slow_start::{Policy, Sight};
use crate::{Ack, CongestionControl, Flow, Signal, Start};

/// Difference of one loss-driven algorithm from another: the increase of an ACK, and the reduction of a loss.
///
/// ```
/// use fullpipe_cc::{Ack, Classic, CongestionControl, Flow, Response, Signal};
///
/// struct Aimd;
///
/// impl Response for Aimd {
///     fn increase(&mut self, w: f64, _: &Flow, _: &Ack) -> f64 { 2.0 / w }
///     fn decrease(&mut self, w: f64, _: &Flow, _: Signal) -> f64 { 0.75 * w }
/// }
///
/// let (mut cc, flow) = (Classic::new(16.0, Aimd), Flow::at(0).cwnd_limited(true));
/// cc.on_congestion(&flow, Signal::Loss);
/// cc.on_ack(&flow, &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 12.0 + 2.0 / 12.0);
/// ```
pub trait Response {
    /// The part of the window that an ECN mark leaves with [`ABE`], if [`Response::decrease`] would leave less.
    const KEPT_WITH_ABE: f64 = 0.8;

    /// Sees every ACK of new data before the window changes, in slow start and recovery too.
    fn observe(&mut self, _flow: &Flow, _ack: &Ack) {}

    /// Slow start of the standard kind: the gain in segments, at window `w` below `ssthresh`.
    #[inline]
    fn start(&mut self, _w: f64, _ssthresh: f64, _flow: &Flow, ack: &Ack) -> f64 {
        ack.credit
    }

    /// Congestion avoidance: the gain in segments per unit of [`Ack::credit`], at window `w`.
    fn increase(&mut self, w: f64, flow: &Flow, ack: &Ack) -> f64;

    /// The window after a congestion event that found it at `w`; [`Classic`] applies the floor of two segments.
    fn decrease(&mut self, w: f64, flow: &Flow, signal: Signal) -> f64;

    /// Recovery is over (see [`CongestionControl::on_recovered`]).
    fn recovered(&mut self, _flow: &Flow) {}

    /// The window once recovery is over, segments, where it is not what [`Response::decrease`] left.
    fn window_after_recovery(&mut self, _flow: &Flow) -> Option<f64> {
        None
    }

    /// The last decrease was needless (see [`CongestionControl::on_undo`]); [`Classic`] restores the windows.
    fn undo(&mut self) {}

    /// Named internals (see [`CongestionControl::inspect`]).
    fn inspect(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// Slow start, congestion avoidance and backoff (RFC 5681) around a [`Response`].
///
/// Example: see [`Response`].
///
/// - Slow start while cwnd < ssthresh, of the kind chosen at construction ([`SlowStart`](crate::SlowStart)); the standard kind
///   adds one segment per unit of credit (RFC 5681 equation 2).
/// - Above it: [`Response::increase`].
/// - Loss: cwnd = ssthresh = [`Response::decrease`], at least 2 segments (RFC 5681 equation 4).
/// - ECN mark: as for a loss, but cwnd may go down to 1 segment (RFC 3168 section 6.1.2, RFC 9438 section 4.6).
/// - ECN mark with [`ABE`]: at least [`Response::KEPT_WITH_ABE`] of the window is left, and at least 2 segments (RFC 8511 section 3).
/// - Timeout: ssthresh as for a loss, cwnd = 1 (RFC 5681 section 3.1).
/// - No growth in recovery, nor while something other than the window limits the sender (RFC 7661 section 4.1).
///
/// # Deviations and choices of all
///
/// - Equation 4 takes the data in flight (FlightSize). Here it is cwnd while the window limits the sender: outside fast
///   recovery the two differ by less than a segment, inside it FlightSize is greater, which the RFC's "no more than"
///   allows for. Otherwise it is the smaller of the two.
/// - An ACK counts once however much it acknowledges, as in ns-2; a scenario can count segments (RFC 3465). With delayed
///   ACKs every gain that is stated per round trip is therefore about half as large, unless segments are counted.
/// - A timeout sets ssthresh by the algorithm's own response, as a loss does. Inside fast recovery, which has cut
///   already, it is a second cut: a retransmission was lost too, and RFC 5681 section 4.3 has cwnd and
///   ssthresh lowered twice then. From 1015 segments Reno goes to 507.5 and, by such a timeout, to 253.75. Linux cuts
///   once a window. While the timer expires again for one segment, ssthresh stays (RFC 5681 section 3.1).
/// - ABE is specified for Reno (0.8 of the window is left); for CUBIC its document reports tests with 0.85. Every other
///   response with `abe` leaves 0.8 too, or more if it does so anyway. Its memory of the event and its increase
///   are as without `abe`.
#[derive(Clone, Debug, PartialEq)]
pub struct Classic<R> {
    cwnd: f64,
    ssthresh: f64,
    /// The algorithm itself.
    pub response: R,
    slow_start: Policy,
    abe: bool,
}

/// Alternative backoff with ECN, an option of every response.
pub const ABE: Param = Param::flag("abe", false, "Decrease factor of at least 0.8 for a CE mark (0.85 with CUBIC).")
    .source("RFC 8511 section 3.1: beta_ecn; off as in RFC 3168 section 5: a mark has the decrease of a loss");

/// The least ssthresh, in segments (RFC 5681 equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

impl<R: Response> Classic<R> {
    /// Controller that begins in slow start, with the window of `start`.
    pub fn new(start: impl Into<Start>, response: R) -> Self {
        let Start { window, slow_start, paced, .. } = start.into();
        Classic {
            cwnd: window,
            ssthresh: f64::INFINITY,
            response,
            slow_start: Policy::new(slow_start, paced),
            abe: false,
        }
    }

    /// Copy with the parameter [`ABE`].
    #[must_use]
    pub fn with_abe(self, params: &Params) -> Self {
        Classic { abe: params.flag(ABE.name), ..self }
    }

    /// Whether slow start governs the window.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// An ACK in a slow start that looks at more than losses.
    #[cold]
    #[inline(never)]
    fn look_around(&mut self, sight: Sight, may_grow: bool) {
        let gain = self.slow_start.gain(self.cwnd, &sight);
        self.cwnd += if may_grow { gain } else { 0.0 };
        if self.slow_start.is_over() {
            self.ssthresh = self.cwnd.max(MIN_SSTHRESH);
        }
    }

    /// Sets both the window and the threshold; for algorithms that leave the frame's path (a second cut, an early exit).
    pub fn set_window(&mut self, segments: f64) {
        self.cwnd = segments.max(1.0);
        self.ssthresh = segments.max(MIN_SSTHRESH);
    }
}

impl<R: Response> CongestionControl for Classic<R> {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    // Always inlined: the arguments are then never stored to memory. A packet costs 5 % more otherwise.
    #[inline(always)]
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.response.observe(flow, ack);
        let may_grow = flow.may_grow(ack);
        if self.in_slow_start() && !self.slow_start.is_standard() {
            return self.look_around(Sight::of(flow, ack), may_grow);
        }
        if !may_grow {
            return;
        }
        if self.in_slow_start() {
            self.cwnd += self.response.start(self.cwnd, self.ssthresh, flow, ack);
        } else {
            self.cwnd += ack.credit * self.response.increase(self.cwnd, flow, ack);
        }
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        let w = if flow.cwnd_limited { self.cwnd } else { self.cwnd.min(flow.flight_size as f64) };
        let kept = match (self.response.decrease(w, flow, signal), signal) {
            (kept, Signal::Ecn) if self.abe => kept.max(R::KEPT_WITH_ABE * w).max(MIN_SSTHRESH),
            (kept, _) => kept,
        };
        self.slow_start.end();
        self.ssthresh = kept.max(MIN_SSTHRESH);
        self.cwnd = match signal {
            Signal::Loss => self.ssthresh,
            Signal::Ecn => kept.max(1.0),
            Signal::Timeout => 1.0,
        };
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.response.recovered(flow);
        if let Some(window) = self.response.window_after_recovery(flow) {
            self.set_window(window);
        }
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.response.undo();
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.response.inspect(visit);
    }
}

#[cfg(test)]
mod tests {
    use crate::algorithms::cubic::{CUBIC, Cubic};
    use crate::algorithms::reno::{NEWRENO, Reno};
    use crate::algorithms::scalable::{SCALABLE, Scalable};
    use crate::params::{Params, Value};
    use crate::testing::FLOW;
    use crate::{CongestionControl, Flow, Signal};

    const WITH_ABE: &[(&str, Value)] = &[("abe", Value::Flag(true))];

    /// RFC 8511 section 3: a mark at 20 segments leaves Reno 16 (10 without), CUBIC 17 (14). Scalable always leaves
    /// 7/8, 17.5. The cut at a loss or a timeout is unchanged.
    #[test]
    fn a_mark_takes_less_with_abe() {
        fn after(mut cc: impl CongestionControl, signal: Signal) -> (f64, f64) {
            cc.on_congestion(&FLOW, signal);
            (cc.cwnd(), cc.ssthresh())
        }
        let reno = |signal| after(Reno::controller(&Params::checked(&NEWRENO, WITH_ABE).unwrap(), 20.0), signal);
        let cubic = |signal| after(Cubic::controller(&Params::checked(&CUBIC, WITH_ABE).unwrap(), 20.0), signal);
        let scalable =
            |signal| after(Scalable::controller(&Params::checked(&SCALABLE, WITH_ABE).unwrap(), 20.0), signal);
        assert_eq!((reno(Signal::Ecn), cubic(Signal::Ecn)), ((16.0, 16.0), (17.0, 17.0)));
        assert_eq!(scalable(Signal::Ecn), (17.5, 17.5));
        assert_eq!((reno(Signal::Loss), cubic(Signal::Loss)), ((10.0, 10.0), (14.0, 14.0)));
        assert_eq!(reno(Signal::Timeout), (1.0, 10.0));
        assert_eq!(after(Reno::controller(&Params::defaults(&NEWRENO), 20.0), Signal::Ecn), (10.0, 10.0));
    }

    /// RFC 8511 section 3: the threshold is at least two segments, and so is the window; 0.8 of 2 is 1.6. Without, a mark may leave 1.
    #[test]
    fn a_mark_leaves_two_segments_with_abe() {
        for (given, cwnd) in [(WITH_ABE, 2.0), (&[], 1.0)] {
            let mut cc = Reno::controller(&Params::checked(&NEWRENO, given).unwrap(), 2.0);
            cc.on_congestion(&FLOW, Signal::Ecn);
            assert_eq!((cc.cwnd(), cc.ssthresh()), (cwnd, 2.0));
        }
    }

    /// RFC 4015 section 3.2: at 20 in slow start, a loss takes 10. After an undo, both windows are as before. A window
    /// that has grown beyond that stays.
    #[test]
    fn a_needless_cut_is_undone() {
        let mut cc = Reno::controller(&Params::defaults(&NEWRENO), 20.0);
        let flow = Flow::at(0).cwnd_limited(true);
        cc.on_congestion(&flow, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        cc.on_undo(20.0, f64::INFINITY);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (20.0, f64::INFINITY));
        cc.on_congestion(&flow, Signal::Timeout);
        cc.set_window(30.0);
        cc.on_undo(20.0, f64::INFINITY);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (30.0, f64::INFINITY));
    }
}
