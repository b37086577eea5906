//! Use of the congestion window by a sender whose application does not always have data: whether the window limited the last round trip,
//! and the rules that lower a window that was not used.
//!
//! Other rules are in [`growth`](super::growth) and `pipe_ack.rs`.
//!
//! Sources: RFC 5681 section 4.1; Linux's `tcp_cwnd_validate`, `tcp_cwnd_restart`, and `tcp_is_cwnd_limited`, after descriptions and
//! copies of several versions, which do not include the virtual machine's.
//!
//! # Deviations and choices
//!
//! - Flows that always have data do not have this record: they test at each ACK alone.
//! - Linux's `tcp_cwnd_application_limited` would lower the window of a sender that its window has not limited for an RTO. Each ACK of new data
//!   restarts this time (`tcp_cong_avoid`), and without ACKs for an RTO the sender was idle. So it never does, as in the virtual machine.
//! - A sender that waits for its pacer with data to send counts as limited by its window, as elsewhere in the simulator.

use super::growth::MaxFlight;
use super::pipe_ack::{Moment, PipeAck};
use fullpipe_cc::Nanos;

/// Rule for a window that was not used for a while.
///
/// Example: see [`Tcp`](crate::model::Tcp).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleRule {
    /// The window stays.
    #[default]
    None,
    /// RFC 5681 section 4.1: after an idle time of more than one RTO, the window is at most the initial window.
    Rfc5681,
    /// Linux: the window halves with each RTO of idle time.
    Linux,
    /// RFC 7661: an unused window stays for five minutes, and a loss lowers it to the part in use.
    Rfc7661,
}

fullpipe_cc::named! { IdleRule { None = "none", Rfc5681 = "rfc5681", Linux = "linux", Rfc7661 = "rfc7661" } }

/// Congestion window and slow-start threshold, segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold.
    pub ssthresh: f64,
}

/// Attempt to send, after it.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// When.
    pub now: Nanos,
    /// First segment that is not acknowledged.
    pub una: u64,
    /// Next segment to send.
    pub nxt: u64,
    /// Something was sent.
    pub sent: bool,
    /// The window, and not a lack of data, keeps the sender back.
    pub limited: bool,
    /// Nothing is lost or suspected.
    pub open: bool,
    /// The windows in force.
    pub windows: Windows,
}

/// Record of the use of the window.
#[derive(Debug)]
pub struct Validation {
    rule: IdleRule,
    initial_window: f64,
    last_send: Option<Nanos>,
    /// Record of the last round trip: whether the window limited it, its flight size, and the segment that ends it.
    was_limited: bool,
    flight: u64,
    round_end: u64,
    /// Largest flight size, with `growth = "validated"`.
    max_flight: Option<MaxFlight>,
    /// Amounts of data acknowledged, with `idle = "rfc7661"`.
    pipe_ack: Option<PipeAck>,
}

impl Validation {
    /// Record of a connection that begins at `begin`.
    pub fn new(rule: IdleRule, initial_window: u32, begin: Nanos) -> Validation {
        Validation {
            rule,
            initial_window: initial_window.into(),
            last_send: None,
            was_limited: false,
            flight: 0,
            round_end: 0,
            max_flight: None,
            pipe_ack: (rule == IdleRule::Rfc7661).then(|| PipeAck::new(initial_window.into(), begin)),
        }
    }

    /// Record with a limit of the growth.
    pub fn limited_to(self, max_flight: Option<MaxFlight>) -> Validation {
        Validation { max_flight, ..self }
    }

    /// Whether the growth has the limit of `growth = "validated"`.
    pub fn limits_to_flight(&self) -> bool {
        self.max_flight.is_some()
    }

    /// Whether an event, and not an attempt to send, can change the windows.
    pub fn looks_at_events(&self) -> bool {
        self.max_flight.is_some() || self.pipe_ack.is_some()
    }

    /// Whether idle time can change the windows.
    pub fn looks_at_idle_time(&self) -> bool {
        matches!(self.rule, IdleRule::Rfc5681 | IdleRule::Linux)
    }

    /// Windows of a sender after an ACK or a timer, before it sends, if the rules change them.
    pub fn after_event(&mut self, moment: &Moment) -> Option<Windows> {
        self.pipe_ack.as_mut().and_then(|pipe| pipe.update(moment))
    }

    /// Congestion window of a sender whose last ACK has raised it above the limit of its growth.
    pub fn capped(&self, windows: Windows) -> Option<f64> {
        self.max_flight.and_then(|max| max.capped(windows))
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.pipe_ack.as_ref().map_or(0, PipeAck::heap_bytes)
    }

    /// Windows of a sender that is about to send at `now` with `flight` segments outstanding, if idle time changes them.
    pub fn before_send(&mut self, now: Nanos, flight: u64, rto: Nanos, windows: Windows) -> Option<Windows> {
        let idle = now - self.last_send?;
        if idle <= rto {
            return None;
        }
        let Windows { cwnd, ssthresh } = windows;
        let restart = self.initial_window.min(cwnd);
        match self.rule {
            IdleRule::Rfc5681 if restart < cwnd => Some(Windows { cwnd: restart, ssthresh }),
            IdleRule::Linux if flight == 0 => {
                let halved = halved(cwnd, restart, (idle - 1) / rto.max(1));
                Some(Windows { cwnd: halved, ssthresh: ssthresh.max(0.75 * cwnd) })
            }
            _ => None,
        }
    }

    /// Takes note of an attempt to send.
    pub fn after_attempt(&mut self, attempt: &Attempt) {
        let &Attempt { now, una, nxt, sent, limited, .. } = attempt;
        if let Some(max) = &mut self.max_flight {
            max.update(nxt - una, attempt.windows, attempt.open);
        }
        if sent {
            self.last_send = Some(now);
        } else if !limited {
            return;
        }
        let flight = nxt - una;
        if una >= self.round_end || limited || (!self.was_limited && flight > self.flight) {
            (self.was_limited, self.flight, self.round_end) = (limited, flight, nxt);
        }
    }

    /// Whether the window limits the sender, so that it may grow.
    pub fn limits_growth(&self, windows: Windows) -> bool {
        let Windows { cwnd, ssthresh } = windows;
        if self.pipe_ack.as_ref().is_some_and(|pipe| !pipe.is_validated()) && !self.was_limited {
            return false;
        }
        match &self.max_flight {
            Some(max) => max.permits_growth(windows),
            None => self.was_limited || (cwnd < ssthresh && cwnd < 2.0 * self.flight as f64),
        }
    }
}

/// `cwnd`, halved `times` times while it is above `least`, and at least `least`.
fn halved(cwnd: f64, least: f64, times: Nanos) -> f64 {
    let mut halved = cwnd;
    for _ in 0..times {
        if halved <= least {
            break;
        }
        halved = (halved / 2.0).floor();
    }
    halved.max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;
    const RTO: Nanos = 300 * MS;

    fn windows(cwnd: f64, ssthresh: f64) -> Windows {
        Windows { cwnd, ssthresh }
    }

    /// Windows after an idle time, from 80 segments, ssthresh 40, and an initial window of 10.
    fn after_idle(rule: IdleRule, idle: Nanos, flight: u64) -> Option<Windows> {
        let mut validation = Validation::new(rule, 10, 0);
        validation.last_send = Some(5 * MS);
        validation.before_send(5 * MS + idle, flight, RTO, windows(80.0, 40.0))
    }

    #[test]
    fn linux_halves_the_window_with_each_timeout_of_idle_time() {
        let linux = |idle| after_idle(IdleRule::Linux, idle, 0);
        assert_eq!(linux(700 * MS), Some(windows(20.0, 60.0)));
        assert_eq!(linux(300 * MS), None);
        assert_eq!(linux(301 * MS), Some(windows(40.0, 60.0)));
        assert_eq!(linux(600 * MS), Some(windows(40.0, 60.0)));
        assert_eq!(linux(1300 * MS), Some(windows(10.0, 60.0)));
        assert_eq!(after_idle(IdleRule::Linux, 700 * MS, 1), None, "data is outstanding");
    }

    /// RFC 5681 section 4.1: RW = min(IW, cwnd), and ssthresh stays.
    #[test]
    fn rfc_5681_restarts_with_the_initial_window() {
        let rfc = |idle| after_idle(IdleRule::Rfc5681, idle, 0);
        assert_eq!((rfc(300 * MS), rfc(301 * MS)), (None, Some(windows(10.0, 40.0))));
        let mut small = Validation::new(IdleRule::Rfc5681, 10, 0);
        small.last_send = Some(0);
        assert_eq!(small.before_send(700 * MS, 0, RTO, windows(4.0, 40.0)), None);
        assert_eq!(after_idle(IdleRule::None, 700 * MS, 0), None);
    }

    /// 20 of 80 segments in each RTT of 100 ms, for 2 s: the window stays, and does not grow.
    #[test]
    fn linux_keeps_a_window_that_the_application_does_not_use() {
        let (mut validation, at) = (Validation::new(IdleRule::Linux, 10, 0), windows(80.0, 40.0));
        for round in 0..20 {
            let now = round * 100 * MS;
            assert_eq!(validation.before_send(now, 0, RTO, at), None);
            let nxt = 20 * (round + 1);
            validation.after_attempt(&Attempt {
                now,
                una: nxt - 20,
                nxt,
                sent: true,
                limited: false,
                open: true,
                windows: at,
            });
            assert!(!validation.limits_growth(at));
        }
    }

    /// A burst ends: the ACKs of its last round were limited, up to the segment that was next when the window was full.
    #[test]
    fn a_limited_round_counts_to_its_end() {
        let mut validation = Validation::new(IdleRule::None, 10, 0);
        let at = windows(20.0, 10.0);
        let attempt = Attempt { now: 0, una: 0, nxt: 20, sent: true, limited: true, open: true, windows: at };
        validation.after_attempt(&attempt);
        // The application has no more: 15 are left in flight, then 5 more are sent.
        validation.after_attempt(&Attempt { una: 10, nxt: 25, limited: false, ..attempt });
        assert!(validation.limits_growth(at), "data of the limited round is outstanding");
        validation.after_attempt(&Attempt { una: 20, nxt: 26, limited: false, ..attempt });
        assert!(!validation.limits_growth(at));
    }
}
