//! Growth of the window of a sender that does not use it: draft-ietf-ccwg-ratelimited-increase, section 3, in its working copy of August 2026
//! (commit 235b6eb).
//!
//! # Deviations and choices
//!
//! - The limit stops growth and does not lower a window. The draft requires a cap on the window (MUST); its examples need only this.
//! - The limit is the window after the ACKs of one window of maxFS: 2 · maxFS in slow start, and maxFS + 1 in congestion avoidance of
//!   Reno. The response of other algorithms is not evaluated from maxFS: their limit is 1.5 · maxFS, as the target of CUBIC has it (RFC
//!   9438 section 4.2).
//! - Flight size is all data not yet acknowledged cumulatively, as in RFC 5681. It is noted after each attempt to send.
//! - While a loss is repaired, the ACK that passes the limit keeps the whole of its increase. Later ones add nothing.
//! - An undone reduction restores the window, whatever the limit.
//! - **Rate-based algorithms** (BBR) must limit their sustained rate to what the rule permits. In Startup their window grows to at most
//!   2 · maxFS, or to the initial window if that is larger. Later no limit is needed: the rate is at most a quarter above a measured
//!   delivery rate, and thus above what a flight has carried in a round trip. Startup would double that.

use super::validation::Windows;

/// Rule for the growth of a window that the sender does not use.
///
/// Example: see [`Tcp`](crate::model::Tcp).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growth {
    /// The text of each algorithm: RFC 5681, RFC 9438, RFC 9002.
    #[default]
    Rfc,
    /// draft-ietf-ccwg-ratelimited-increase: upper limit of the window's growth, from the largest flight size.
    Validated,
}

fullpipe_cc::named! { Growth { Rfc = "rfc", Validated = "validated" } }

/// Largest flight size since the window was last lowered (maxFS).
#[derive(Clone, Copy, Debug)]
pub struct MaxFlight {
    most: f64,
    /// Window at the last update.
    cwnd: f64,
    /// Nothing was lost or suspected at the last update.
    open: bool,
    response: Response,
}

/// Growth by which an algorithm answers a round trip without congestion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Response {
    /// One segment per round trip in congestion avoidance.
    Additive,
    /// That of a window in Startup, which grows up to this initial window in any case.
    RateBased(f64),
    /// Any other.
    Other,
}

impl MaxFlight {
    /// Initial value of a connection with this initial window.
    pub fn new(initial_window: f64, response: Response) -> MaxFlight {
        MaxFlight { most: initial_window, cwnd: initial_window, open: true, response }
    }

    /// Takes note of the flight size and the windows after an attempt to send.
    pub fn update(&mut self, flight: u64, windows: Windows, open: bool) {
        if windows.cwnd < self.cwnd {
            self.most = 0.0;
        }
        self.most = self.most.max(flight as f64);
        (self.cwnd, self.open) = (windows.cwnd, open);
    }

    /// Largest window that growth may reach.
    fn limit(&self, windows: Windows) -> f64 {
        match self.response {
            Response::RateBased(initial_window) => initial_window.max(2.0 * self.most),
            _ if windows.cwnd < windows.ssthresh => 2.0 * self.most,
            Response::Additive => self.most + 1.0,
            Response::Other => 1.5 * self.most,
        }
    }

    /// Whether the window may grow.
    pub fn permits_growth(&self, windows: Windows) -> bool {
        windows.cwnd < self.limit(windows)
    }

    /// Congestion window of a sender whose last ACK has raised it above the limit.
    pub fn capped(&self, windows: Windows) -> Option<f64> {
        let before = Windows { cwnd: self.cwnd, ..windows };
        let cwnd = self.cwnd.max(self.limit(before));
        (self.open && windows.cwnd > cwnd).then_some(cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(cwnd: f64, ssthresh: f64) -> Windows {
        Windows { cwnd, ssthresh }
    }

    /// Rounds of `segments` segments, with an ACK each that raises the window by `gain` times the window. Returns the
    /// windows after the rounds.
    fn rounds(max: &mut MaxFlight, at: &mut Windows, flights: &[u64], gain: fn(f64) -> f64) -> Vec<f64> {
        let mut seen = Vec::new();
        for &flight in flights {
            (1..=flight).for_each(|sent| max.update(sent, *at, true));
            for _ in 0..flight {
                if max.permits_growth(*at) {
                    at.cwnd += gain(at.cwnd);
                    at.cwnd = max.capped(*at).unwrap_or(at.cwnd);
                }
                max.update(0, *at, true);
            }
            seen.push(at.cwnd);
        }
        seen
    }

    /// Appendix A of the draft: rounds of 4, 8, 4, and 20 segments from an initial window of 10.
    #[test]
    fn slow_start_grows_to_twice_the_largest_flight() {
        let (mut max, mut at) = (MaxFlight::new(10.0, Response::Additive), windows(10.0, f64::INFINITY));
        assert_eq!(rounds(&mut max, &mut at, &[4, 8, 4, 20], |_| 1.0), [14.0, 20.0, 20.0, 40.0]);
        assert_eq!(max.most, 20.0);
    }

    /// Section 3.1 of the draft: 10 segments, then 4.
    #[test]
    fn a_sender_that_pauses_stays_at_twice_its_flight() {
        let (mut max, mut at) = (MaxFlight::new(10.0, Response::Additive), windows(10.0, f64::INFINITY));
        assert_eq!(rounds(&mut max, &mut at, &[10, 4], |_| 1.0), [20.0, 20.0]);
    }

    /// Congestion avoidance at 20 with 5 in flight: 21 at most. After a loss the window is 10 and maxFS 0: flights of 4 permit nothing.
    #[test]
    fn congestion_avoidance_grows_by_one_segment_beyond_the_largest_flight() {
        let (mut max, mut at) = (MaxFlight::new(20.0, Response::Additive), windows(20.0, 10.0));
        let seen = rounds(&mut max, &mut at, &[5; 40], |cwnd| 1.0 / cwnd);
        assert!(seen[0] > 20.0 && seen.iter().all(|&cwnd| cwnd <= 21.0), "{seen:?}");
        assert_eq!(at.cwnd, 21.0);
        at = windows(10.0, 10.0);
        max.update(0, at, false);
        assert_eq!(rounds(&mut max, &mut at, &[4; 40], |cwnd| 1.0 / cwnd), [10.0; 40]);
        assert_eq!(max.most, 4.0);
    }

    #[test]
    fn an_undone_reduction_is_not_limited() {
        let mut max = MaxFlight::new(20.0, Response::Additive);
        max.update(4, windows(10.0, 10.0), false);
        assert_eq!(max.capped(windows(20.0, 40.0)), None);
    }

    /// Flights of 4 after a reduction permit a window of 8; Startup may grow to the initial window of 10, and flights of 6 permit 12.
    #[test]
    fn a_window_in_startup_grows_to_the_initial_window_in_any_case() {
        let (mut max, mut at) = (MaxFlight::new(10.0, Response::RateBased(10.0)), windows(5.0, f64::INFINITY));
        max.update(0, at, true);
        assert_eq!(rounds(&mut max, &mut at, &[4, 4, 4, 6], |_| 1.0), [9.0, 10.0, 10.0, 12.0]);
    }
}
