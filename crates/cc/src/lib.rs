//! TCP congestion control: the window policies, and nothing else.
//!
//! An algorithm sees three things: the sender's state ([`Flow`]), what one acknowledgement adds ([`Ack`]), and, once per
//! episode, that something went wrong ([`Signal`]). It answers with a window. It knows no packets, no sockets and no
//! clock: whoever drives it (the simulator, a test, a kernel) passes the time in. Loss *recovery*, which segments to send
//! again and when, is the sender's business; an algorithm only names the kind its paper assumes ([`Recovery`]).
//!
//! Units: windows are `f64` segments, times are `u64` nanoseconds ([`Nanos`]), what is unknown is `None`.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod algorithms;
mod classic;
mod parts;
pub mod registry;
mod signal;
#[cfg(test)]
mod testing;
pub mod time;

pub use classic::{Classic, Response};
pub use registry::{Controller, build};
pub use signal::{Ack, Flow, Signal};
pub use time::Nanos;

/// A congestion control algorithm: what [`registry`] builds and a sender drives.
pub trait CongestionControl {
    /// The congestion window in segments; at least 1.
    ///
    /// Excludes what recovery adds on top of it (the inflation of RFC 5681 section 3.2, step 4).
    fn cwnd(&self) -> f64;

    /// The slow-start threshold in segments; `f64::INFINITY` until the first congestion event.
    fn ssthresh(&self) -> f64;

    /// An ACK acknowledged new data (its cumulative point moved).
    ///
    /// Called in recovery too, with `flow.in_recovery` set, so that RTT filters stay fed; windows do not grow then.
    fn on_ack(&mut self, flow: &Flow, ack: &Ack);

    /// Congestion was found; called once per episode, before anything is sent again.
    fn on_congestion(&mut self, flow: &Flow, signal: Signal);

    /// The episode is over: all data outstanding when it began has been acknowledged.
    fn on_recovered(&mut self, _flow: &Flow) {}

    /// Shows the algorithm's named internals (such as `beta` or `extra`) to `visit`, for traces and plots.
    ///
    /// The same names in the same order at every call; an unknown value is `f64::NAN`.
    fn inspect(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// How a sender finds and repairs losses. An axis of its own: any algorithm runs over any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment, going back to the first hole (Jacobson 1988).
    Tahoe,
    /// Fast retransmit and fast recovery, left at the first ACK of new data (RFC 2581).
    Reno,
    /// Fast recovery kept until all data outstanding at its start is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgement with a pipe estimate (RFC 6675).
    Sack,
    /// Reno's, with the fine-grained timeout check on duplicate ACKs (Brakmo and Peterson 1995, section 3.1).
    Vegas,
}

impl Recovery {
    /// Every kind, in the order of their papers.
    pub const ALL: [Recovery; 5] =
        [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Vegas];

    /// The name scenarios use.
    pub fn name(self) -> &'static str {
        match self {
            Recovery::Tahoe => "tahoe",
            Recovery::Reno => "reno",
            Recovery::NewReno => "newreno",
            Recovery::Sack => "sack",
            Recovery::Vegas => "vegas",
        }
    }
}
