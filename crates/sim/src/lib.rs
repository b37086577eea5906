//! Packet-level simulator: a [`Scenario`] goes in, and a [`Report`] results. Equal scenarios and seeds give identical bytes.
//!
//! Without the feature `toml`, you build the scenario from the types of [`model`], whose page has an example. With it, from text:
//!
//! ```
//! use fullpipe_sim::{Scenario, Simulation};
//!
//! let scenario = Scenario::from_toml(
//!     r#"
//!     duration = "20 s"
//!     warmup = "5 s"
//!     links = [{ name = "bottleneck", rate = "10 Mbit/s", delay = "20 ms", buffer = "0.5 BDP" }]
//!     flows = [{ algorithm = "newreno", count = 2 }]
//!     "#,
//! )?;
//! let report = Simulation::new(scenario)?.report()?;
//! assert!(report.links[0].forward.utilization > 0.9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A custom algorithm joins the built-in ones in a [`Catalogue`].
#![deny(unsafe_code)]

pub mod catalogue;
mod engine;
#[doc(hidden)]
pub mod files;
pub mod links;
mod memory;
pub mod model;
mod network;
mod packet;
mod prefetch;
#[cfg(feature = "record")]
pub mod record;
mod report;
mod ring;
mod rng;
pub mod scenario;
mod trace;
mod traffic;
mod transport;
mod window;

/// Queueing disciplines by name, with their parameters.
pub mod queues {
    pub use crate::network::discipline::params::{Info, Kind, Param, Params, Settings, Unset, Value};
    pub use crate::network::discipline::{ALL, find};
    pub use crate::scenario::params::written;
}

pub use catalogue::Catalogue;
#[doc(hidden)]
pub use engine::run_served;
pub use engine::{Simulation, Stopped, run, run_within};
pub use model::Invalid;
#[doc(hidden)]
pub use network::Serving;
pub use report::metrics;
pub use report::{
    Column, DirectionReport, FlowFrames, FlowReport, FramesReport, GroupReport, LinkReport, PacketCount, Percentiles,
    Report, Series, Table, TrafficReport, TransferReport, TransferState, Values, VideoFigures,
};
pub use scenario::Scenario;
pub use trace::{Destinations, QlogVersion, Vantage};
pub use transport::policy::Fault;
#[doc(hidden)]
pub use transport::quic::{Declared, Replay};
