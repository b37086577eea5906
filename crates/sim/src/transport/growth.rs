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
//! - **BBR** is not limited. The draft requires of rate-based algorithms that their sustained rate does not exceed what the rule permits; BBR
//!   has its own rules for samples of limited senders.

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
    /// The algorithm adds one segment per round trip in congestion avoidance.
    additive: bool,
}

impl MaxFlight {
    /// Initial value of a connection with this initial window.
    pub fn new(initial_window: f64, additive: bool) -> MaxFlight {
        MaxFlight { most: initial_window, cwnd: initial_window, open: true, additive }
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
        match self.additive {
            _ if windows.cwnd < windows.ssthresh => 2.0 * self.most,
            true => self.most + 1.0,
            false => 1.5 * self.most,
        }
    }

    /// Whether the window may grow.
    pub fn permits_growth(&self, windows: Windows) -> bool {
        windows.cwnd < self.limit(windows)
    }

    /// Window of a sender whose last ACK has raised it above the limit.
    pub fn capped(&self, windows: Windows) -> Option<Windows> {
        let before = Windows { cwnd: self.cwnd, ..windows };
        let cwnd = self.cwnd.max(self.limit(before));
        (self.open && windows.cwnd > cwnd).then_some(Windows { cwnd, ..windows })
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
                    *at = max.capped(*at).unwrap_or(*at);
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
        let (mut max, mut at) = (MaxFlight::new(10.0, true), windows(10.0, f64::INFINITY));
        assert_eq!(rounds(&mut max, &mut at, &[4, 8, 4, 20], |_| 1.0), [14.0, 20.0, 20.0, 40.0]);
        assert_eq!(max.most, 20.0);
    }

    /// Section 3.1 of the draft: 10 segments, then 4.
    #[test]
    fn a_sender_that_pauses_stays_at_twice_its_flight() {
        let (mut max, mut at) = (MaxFlight::new(10.0, true), windows(10.0, f64::INFINITY));
        assert_eq!(rounds(&mut max, &mut at, &[10, 4], |_| 1.0), [20.0, 20.0]);
    }

    /// Congestion avoidance at 20 with 5 in flight: 21 at most. After a loss the window is 10 and maxFS 0: flights of 4 permit nothing.
    #[test]
    fn congestion_avoidance_grows_by_one_segment_beyond_the_largest_flight() {
        let (mut max, mut at) = (MaxFlight::new(20.0, true), windows(20.0, 10.0));
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
        let mut max = MaxFlight::new(20.0, true);
        max.update(4, windows(10.0, 10.0), false);
        assert_eq!(max.capped(windows(20.0, 40.0)), None);
    }
}
