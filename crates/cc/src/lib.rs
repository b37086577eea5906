//! TCP congestion control: the window policies, and nothing else.
//!
//! An algorithm sees three things: the sender's state ([`Flow`]), each acknowledgement ([`Ack`]), and, once per episode, a
//! congestion signal ([`Signal`]). It answers with a window. It has no packets, no sockets and no clock: its caller (the
//! simulator, a test, a kernel) passes the time in. Loss *recovery* is part of the sender. An algorithm only names the kind
//! that its paper assumes ([`params::Info::recovery`]).
//!
//! ```
//! use fullpipe_cc::{Ack, CongestionControl, Flow, Signal, build};
//!
//! let mut cubic = build("cubic", &[], 10.0)?;
//! let flow = Flow::at(1_000_000).flight_size(10).cwnd_limited(true);
//! cubic.on_ack(&flow, &Ack::of(1, 1.0));
//! assert_eq!(cubic.cwnd(), 11.0, "slow start");
//! cubic.on_congestion(&flow, Signal::Loss);
//! assert_eq!(cubic.cwnd(), 0.7 * 11.0, "RFC 9438 section 4.6");
//! # Ok::<(), fullpipe_cc::params::Error>(())
//! ```
//!
//! Parameters are also the fields of a struct in the file of each algorithm, for example [`CubicParams`](algorithms::cubic::CubicParams):
//!
//! ```
//! use fullpipe_cc::algorithms::cubic::CubicParams;
//! use fullpipe_cc::params::{Error, Value};
//! use fullpipe_cc::{CongestionControl, Flow, Signal, build, build_typed};
//!
//! let mut typed = build_typed(&CubicParams { beta: 0.85, ..CubicParams::default() }, 100.0)?;
//! let mut named = build("cubic", &[("beta", Value::Number(0.85))], 100.0)?;
//! for cubic in [&mut typed, &mut named] {
//!     cubic.on_congestion(&Flow::at(0).flight_size(100).cwnd_limited(true), Signal::Loss);
//!     assert_eq!(cubic.cwnd(), 85.0);
//! }
//! let refused = build_typed(&CubicParams { beta: 1.5, ..CubicParams::default() }, 100.0).unwrap_err();
//! assert_eq!(refused.to_string(), "beta must be in [0.1, 0.99]");
//! # Ok::<(), Error>(())
//! ```
//!
//! Units: windows are `f64` segments, times are `u64` nanoseconds ([`Nanos`]), unknown values are `None`.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

/// The examples of the page that package indexes show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod algorithms;
mod at_least;
mod classic;
mod control;
mod declare;
mod flow;
mod named;
pub mod packets;
pub mod params;
mod parts;
pub mod random;
pub mod registry;
pub mod slow_start;
mod started;
#[cfg(test)]
mod testing;
pub mod time;

pub use at_least::AtLeast;
pub use classic::{ABE, Classic, Response};
pub use control::{CongestionControl, Start};
pub use declare::TypedParams;
pub use flow::{Ack, Flow, Lost, RateSample, Signal};
pub use registry::{Controller, build, build_typed};
pub use slow_start::SlowStart;
pub use started::Started;
pub use time::Nanos;
