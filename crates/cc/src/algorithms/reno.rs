//! Reno: additive increase of one segment per round trip, halving at a loss.
//!
//! Source: RFC 5681 (M. Allman, V. Paxson, E. Blanton, *TCP Congestion Control*, 2009); the window policy of Tahoe
//! (V. Jacobson, *Congestion Avoidance and Control*, SIGCOMM 1988), Reno and NewReno (RFC 6582) is this one file; they differ
//! in loss recovery.
//!
//! # Deviations and choices
//!
//! - Those that all algorithms share. The increase is equation 3 counted per ACK, as in ns-2; scenarios can choose to count segments.
//! - **Whole segments** with `whole_segments` on, as in Linux: RFC 5681 recommends counting acknowledged data, and one more segment when
//!   the count reaches the window. A reduction sets the count to 0, and half of the window is rounded down.

use crate::declare::params;
use crate::params::{Group, Info, Param, Params};
use crate::{ABE, Ack, Classic, Flow, Response, Signal, Start};

const WHOLE_SEGMENTS: Param =
    Param::flag("whole_segments", false, "Grow by a segment once a window is acknowledged; round halves down.")
        .source("RFC 5681 section 3.1, the recommended way; on in Linux");

params! {
    /// Parameters of Tahoe.
    pub struct TahoeParams for TAHOE {
        whole_segments: bool = WHOLE_SEGMENTS;
        abe: bool = ABE;
    }
}

/// Tahoe: this window policy over Tahoe's recovery.
pub const TAHOE: Info = Info {
    name: "tahoe",
    paper: "V. Jacobson, Congestion Avoidance and Control, SIGCOMM 1988; RFC 5681",
    group: Group::Loss,
    recovery: "tahoe",
    own_slow_start: false,
    ecn: None,
    params: TahoeParams::PARAMS,
};

params! {
    /// Parameters of Reno.
    pub struct RenoParams for RENO {
        whole_segments: bool = WHOLE_SEGMENTS;
        abe: bool = ABE;
    }
}

/// Reno: this window policy over Reno's fast recovery.
pub const RENO: Info = Info {
    name: "reno",
    paper: "RFC 5681: TCP Congestion Control (2009), with the fast recovery of RFC 2581",
    group: Group::Loss,
    recovery: "reno",
    own_slow_start: false,
    ecn: None,
    params: RenoParams::PARAMS,
};

params! {
    /// Parameters of NewReno.
    pub struct NewRenoParams for NEWRENO {
        whole_segments: bool = WHOLE_SEGMENTS;
        abe: bool = ABE;
    }
}

/// NewReno: this window policy over NewReno's fast recovery.
pub const NEWRENO: Info = Info {
    name: "newreno",
    paper: "RFC 6582: The NewReno Modification to TCP's Fast Recovery Algorithm (2012)",
    group: Group::Loss,
    recovery: "newreno",
    own_slow_start: false,
    ecn: None,
    params: NewRenoParams::PARAMS,
};

/// The response of RFC 5681.
///
/// ```
/// use fullpipe_cc::algorithms::reno::{NEWRENO, Reno};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
///
/// let mut cc = Reno::controller(&Params::defaults(&NEWRENO), 20.0);
/// let flow = Flow::at(0).cwnd_limited(true);
/// cc.on_congestion(&flow, Signal::Loss);
/// assert_eq!(cc.cwnd(), 10.0, "RFC 5681 equation 4");
/// cc.on_ack(&flow, &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 10.1, "equation 3");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reno {
    /// Segments acknowledged towards the next growth, with [`WHOLE_SEGMENTS`].
    acked: Option<f64>,
}

impl Reno {
    /// Reno in its frame.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Classic<Reno> {
        let acked = params.flag(WHOLE_SEGMENTS.name).then_some(0.0);
        Classic::new(start, Reno { acked }).with_abe(params)
    }
}

impl Response for Reno {
    /// 1/w per ACK (RFC 5681 equation 3 in segments), or 1 for the ACK that completes a window.
    #[inline]
    fn increase(&mut self, w: f64, _flow: &Flow, ack: &Ack) -> f64 {
        let Some(acked) = &mut self.acked else { return 1.0 / w };
        *acked += ack.credit;
        if *acked < w {
            return 0.0;
        }
        *acked -= w;
        1.0 / ack.credit
    }

    /// w/2: RFC 5681 equation 4.
    fn decrease(&mut self, w: f64, _flow: &Flow, _signal: Signal) -> f64 {
        let Some(acked) = &mut self.acked else { return w / 2.0 };
        *acked = 0.0;
        libm::trunc(w / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::params::Value;
    use std::vec::Vec;

    fn acked(cc: &mut Classic<Reno>, in_recovery: bool) {
        let flow = Flow { cwnd_limited: true, in_recovery, ..Flow::default() };
        cc.on_ack(&flow, &Ack { acked: 1, credit: 1.0, ..Ack::default() });
    }

    /// RFC 5681 section 3.1: slow start adds a segment per ACK; after a loss at 16 the window is 8 and grows by 1/8, then
    /// 1/8.125 per ACK.
    #[test]
    fn slow_start_then_halving_then_one_segment_per_window() {
        let mut cc = Reno::controller(&Params::defaults(&RENO), 2.0);
        for _ in 0..14 {
            acked(&mut cc, false);
        }
        assert_eq!(cc.cwnd(), 16.0);
        let flow = Flow { cwnd_limited: true, flight_size: 16, ..Flow::default() };
        cc.on_congestion(&flow, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (8.0, 8.0));
        acked(&mut cc, true);
        assert_eq!(cc.cwnd(), 8.0, "no growth in recovery");
        acked(&mut cc, false);
        assert_eq!(cc.cwnd(), 8.125);
        acked(&mut cc, false);
        assert_eq!(cc.cwnd(), 8.125 + 1.0 / 8.125);
    }

    /// RFC 5681 section 3.1, counting: after a loss at 9 segments the window is 4. It is 5 after 4 segments, and 6 after 5 more. An ACK for
    /// two segments that completes a window adds one segment, and leaves one of the two for the next.
    #[test]
    fn whole_segments_grow_once_per_window() {
        let given = [("whole_segments", Value::Flag(true))];
        let mut cc = Reno::controller(&Params::checked(&RENO, &given).unwrap(), 9.0);
        let flow = Flow { cwnd_limited: true, flight_size: 9, ..Flow::default() };
        cc.on_congestion(&flow, Signal::Loss);
        let windows: Vec<f64> = (0..9).map(|_| (acked(&mut cc, false), cc.cwnd()).1).collect();
        assert_eq!(windows, [4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0]);
        acked(&mut cc, false);
        let mut twice = || (cc.on_ack(&flow, &Ack { acked: 2, credit: 2.0, ..Ack::default() }), cc.cwnd()).1;
        let windows: Vec<f64> = (0..6).map(|_| twice()).collect();
        assert_eq!(windows, [6.0, 6.0, 7.0, 7.0, 7.0, 8.0]);
        acked(&mut cc, false);
        cc.on_congestion(&flow, Signal::Loss);
        let windows: Vec<f64> = (0..4).map(|_| (acked(&mut cc, false), cc.cwnd()).1).collect();
        assert_eq!(windows, [4.0, 4.0, 4.0, 5.0], "the reduction sets the count to 0");
    }

    /// RFC 5681 section 3.1: a timeout sets cwnd to one segment and ssthresh to half, at least two segments (equation 4).
    #[test]
    fn timeout_restarts_from_one_segment() {
        let mut cc = Reno::controller(&Params::defaults(&RENO), 3.0);
        cc.on_congestion(&Flow { cwnd_limited: true, flight_size: 3, ..Flow::default() }, Signal::Timeout);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 2.0));
    }
}
