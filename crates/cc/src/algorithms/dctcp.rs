//! DCTCP: cuts the window by half of the fraction of segments that are marked, so that few marks take little.
//!
//! Source: RFC 8257 (S. Bensley et al., *Data Center TCP (DCTCP)*, 2017); M. Alizadeh et al., *Data Center TCP (DCTCP)*, SIGCOMM 2010.
//! Sections 3.1 to 3.6, 4.1 and 4.2 of the RFC were read. Once a window of data (section 3.3), with M the
//! fraction of the acknowledged segments that were marked:
//!
//! - alpha = (1 - g) alpha + g M, from 1 at the beginning;
//! - a mark: cwnd = cwnd (1 - alpha/2), once a window;
//! - growth (section 3.4), losses and timeouts (section 3.5) are those of Reno.
//!
//! The queue must mark early and sharply (section 3.1): `step`, or a `ce_threshold` in time.
//!
//! # Deviations and choices
//!
//! - **When it cuts.** Step 9 of section 3.3 cuts at the end of a window. Here the first mark of a window cuts, as in Linux, by the alpha
//!   of the windows before. This mark changes alpha for the next window.
//! - **The echo.** In section 3.2 the receiver echoes the mark of the last segment in ECE, and acknowledges at once when that changes.
//!   Here the ACK carries the number of marked segments (`ecn = "accurate"`), and leaves at once when marks change. The sender learns
//!   the same, and lost ACKs lose no marks. With `ecn = "classic"` each ACK counts as one mark until the sender has answered, so that
//!   alpha is no fraction of segments.
//! - **SACK** is ignored for the number of acknowledged segments, as step 1 of section 3.3 asks. Marks on duplicate ACKs count. Those
//!   of segments above a hole wait until the cumulative point has passed as many segments, so that M is at most 1.
//! - **Loss in a window that a mark has cut** cuts once more, unless `prr` still lowers the window. Section 3.5 allows one reduction
//!   for each window of data.
//! - **Alpha after a loss** stays as it is. Section 4.1 allows an implementation to reset it.
//! - **SYN and SYN-ACK** are not ECN-capable. Section 3.6 asks for ECT on them.
//! - **Without ECN**, or where no queue marks, it is Reno.
//! - **ECT(0)**, as in RFC 8257, which is older than the assignment of ECT(1) to L4S (RFC 9331). The L4S queue of DualPI2 takes ECT(1)
//!   alone. DCTCP enters it with `ect = 1`.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, MadeForEcn, Params};
use crate::parts::Mark;
use crate::{Ack, Classic, Flow, Response, Signal, Start};

params! {
    /// Parameters of DCTCP.
    pub struct DctcpParams for DCTCP {
        g: f64 = number(1.0 / 16.0, 0.0, 1.0), "1",
            "Weight of the newest fraction of marked segments in alpha, per window.",
            "RFC 8257 section 4.2: 1/16";
        first_alpha: f64 = number(1.0, 0.0, 1.0), "1",
            "Initial alpha; 1 halves the window at the first mark.",
            "RFC 8257 section 3.3: 1";
    }
}

/// DCTCP.
pub const DCTCP: Info = Info {
    name: "dctcp",
    paper: "RFC 8257: Data Center TCP (DCTCP): TCP Congestion Control for Data Centers (2017)",
    group: Group::Ecn,
    recovery: "sack",
    own_slow_start: false,
    ecn: Some(MadeForEcn { kind: "accurate", ect: 0 }),
    params: DctcpParams::PARAMS,
};

/// The response of DCTCP.
///
/// ```
/// use fullpipe_cc::algorithms::dctcp::{DCTCP, Dctcp};
/// use fullpipe_cc::params::{Params, Value};
/// use fullpipe_cc::{CongestionControl, Flow, Signal};
///
/// let given = [("first_alpha", Value::Number(0.25))];
/// let mut cc = Dctcp::controller(&Params::checked(&DCTCP, &given)?, 128.0);
/// cc.on_congestion(&Flow::at(0).cwnd_limited(true), Signal::Ecn);
/// assert_eq!(cc.cwnd(), 128.0 * (1.0 - 0.25 / 2.0), "RFC 8257 section 3.3");
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dctcp {
    alpha: MarkedFraction,
}

impl Dctcp {
    /// DCTCP in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Dctcp> {
        let given = DctcpParams::read(params);
        let alpha = MarkedFraction::new(given.g, given.first_alpha);
        Classic::new(start, Dctcp { alpha })
    }
}

impl Response for Dctcp {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.alpha.count(ack);
        self.alpha.end_window(flow);
    }

    /// 1/w per ACK: section 3.4, RFC 5681 equation 3.
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, _ack: &Ack) -> f64 {
        1.0 / w
    }

    /// w (1 - alpha/2) at a mark, section 3.3; w/2 at a loss, section 3.5.
    fn decrease(&mut self, w: f64, _flow: &Flow, signal: Signal) -> f64 {
        match signal {
            Signal::Ecn => w * (1.0 - self.alpha.value / 2.0),
            Signal::Loss | Signal::Timeout => w / 2.0,
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha.value);
    }
}

/// RFC 8257 section 3.3: an average of the fraction that is marked, window by window.
#[derive(Clone, Debug, PartialEq)]
struct MarkedFraction {
    value: f64,
    g: f64,
    /// DCTCP.WindowEnd.
    window_end: Mark,
    /// Segments acknowledged in this window, and marks that no window has counted yet.
    acked: u64,
    marked: u64,
}

impl MarkedFraction {
    fn new(g: f64, first: f64) -> MarkedFraction {
        MarkedFraction { value: first, g, window_end: Mark::START, acked: 0, marked: 0 }
    }

    /// Steps 1 to 3, with the number of marks instead of the ECE flag.
    #[inline]
    fn count(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += ack.ce;
    }

    /// Steps 4 to 8, once everything that was outstanding at the last time is acknowledged.
    #[inline]
    fn end_window(&mut self, flow: &Flow) {
        if !self.window_end.passed(flow) || self.acked == 0 {
            return;
        }
        let counted = self.marked.min(self.acked);
        let m = counted as f64 / self.acked as f64;
        self.value += self.g * (m - self.value);
        self.window_end = Mark::now(flow);
        (self.acked, self.marked) = (0, self.marked - counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::testing::FLOW;

    fn dctcp(window: f64) -> Classic<Dctcp> {
        Dctcp::controller(&Params::defaults(&DCTCP), window)
    }

    /// A window of ten segments, so many of them marked, one ACK each; the next ten are outstanding when it ends.
    fn window_of_ten(cc: &mut Classic<Dctcp>, delivered: &mut u64, marked: u64) {
        for segment in 1..=10 {
            *delivered += 1;
            let ack = Ack::of(1, 0.0).ce(u64::from(segment <= marked));
            cc.on_ack(&FLOW.delivered(*delivered).flight_size(9), &ack);
        }
    }

    fn alpha(cc: &Classic<Dctcp>) -> f64 {
        cc.response.alpha.value
    }

    /// RFC 8257 section 3.3: n clean windows leave (15/16)^n: .356 of 1 after 16. Linux counts in 1/1024 and takes whole sixteenths: 1024, 960,
    /// 900, 844, 792, 743, 697, 654, 614, 576, above ours by less than one for each window.
    #[test]
    fn alpha_falls_by_a_sixteenth_each_clean_window() {
        let linux = [1024.0, 960.0, 900.0, 844.0, 792.0, 743.0, 697.0, 654.0, 614.0, 576.0];
        let (mut cc, mut delivered) = (dctcp(100.0), 0);
        for (n, expected) in linux.into_iter().enumerate() {
            let ours = 1024.0 * alpha(&cc);
            assert!(expected >= ours && expected - ours <= n as f64, "{n}: {ours}");
            window_of_ten(&mut cc, &mut delivered, 0);
        }
        for _ in 10..16 {
            window_of_ten(&mut cc, &mut delivered, 0);
        }
        assert!((alpha(&cc) - 0.3561).abs() < 5e-5, "{}", alpha(&cc));
    }

    /// Section 3.3: the first ACK ends a window of one unmarked segment, alpha = 15/16. Ten more are outstanding then; the ACK beyond
    /// them ends a window of eleven, of which four are marked: alpha = (15/16) (15/16) + (1/16) (4/11).
    #[test]
    fn alpha_moves_a_sixteenth_of_the_way_to_the_fraction_marked() {
        let mut cc = dctcp(100.0);
        cc.on_ack(&FLOW.delivered(1).flight_size(10), &Ack::of(1, 0.0));
        assert_eq!(alpha(&cc), 0.9375);
        for delivered in 2..=11 {
            let ack = Ack::of(1, 0.0).ce(u64::from(delivered <= 5));
            cc.on_ack(&FLOW.delivered(delivered).flight_size(10), &ack);
        }
        assert_eq!(alpha(&cc), 0.9375, "segment 11 was outstanding when the window began");
        cc.on_ack(&FLOW.delivered(12).flight_size(10), &Ack::of(1, 0.0));
        assert!((alpha(&cc) - (0.9375 * 15.0 + 4.0 / 11.0) / 16.0).abs() < 1e-12, "{}", alpha(&cc));
    }

    /// Section 3.3 has no exception for a sender that its application limits. Ten windows of one segment each leave (15/16)^10.
    #[test]
    fn alpha_moves_in_limited_windows() {
        let mut cc = dctcp(100.0);
        for delivered in 1..=10 {
            cc.on_ack(&FLOW.cwnd_limited(false).delivered(delivered), &Ack::of(1, 1.0));
        }
        assert!((alpha(&cc) - 0.9375_f64.powi(10)).abs() < 1e-12, "{}", alpha(&cc));
        assert_eq!(cc.cwnd(), 100.0);
    }

    /// Section 3.3: 100 segments at alpha = 1 become 50, at .2 90; section 3.5: a loss leaves 50 whatever alpha is.
    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        for (first, signal, expected) in
            [(1.0, Signal::Ecn, 50.0), (0.2, Signal::Ecn, 90.0), (0.2, Signal::Loss, 50.0), (0.0, Signal::Ecn, 100.0)]
        {
            let given = [("first_alpha", crate::params::Value::Number(first))];
            let mut cc = Dctcp::controller(&Params::checked(&DCTCP, &given).unwrap(), 100.0);
            cc.on_congestion(&FLOW, signal);
            assert_eq!((cc.cwnd(), cc.ssthresh()), (expected, expected), "{first} {signal:?}");
        }
    }

    /// Marks of segments above a hole come before the cumulative point passes them: M is at most 1, and the others count later. Nine
    /// marks with one segment: M = 1, alpha stays 1. The next ten segments have the other eight: alpha = 15/16 + (1/16) (8/10).
    #[test]
    fn marks_above_a_hole_count_with_later_segments() {
        let mut cc = dctcp(100.0);
        cc.on_ack(&FLOW.delivered(1).flight_size(9), &Ack::of(1, 0.0).ce(9));
        assert_eq!(alpha(&cc), 1.0);
        cc.on_ack(&FLOW.delivered(11).flight_size(9), &Ack::of(10, 0.0));
        assert!((alpha(&cc) - (15.0 + 0.8) / 16.0).abs() < 1e-12, "{}", alpha(&cc));
    }

    /// Four duplicate ACKs with a mark each, then one ACK of ten segments without: M = 4/10 and alpha = 15/16 + (1/16) (4/10).
    #[test]
    fn marks_on_duplicate_acks_count() {
        let mut cc = dctcp(100.0);
        for _ in 0..4 {
            cc.on_ack(&FLOW.flight_size(10), &Ack::of(0, 0.0).ce(1));
        }
        assert_eq!(alpha(&cc), 1.0, "no segment of the window is acknowledged");
        cc.on_ack(&FLOW.delivered(10).flight_size(10), &Ack::of(10, 0.0));
        assert!((alpha(&cc) - (15.0 + 0.4) / 16.0).abs() < 1e-12, "{}", alpha(&cc));
    }
}
