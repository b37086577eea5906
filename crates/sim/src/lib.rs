//! The packet-level simulator: a [`Scenario`] goes in, a [`Report`] comes out, the same bytes for the same scenario and seed.
#![deny(unsafe_code)]

pub mod catalogue;
mod engine;
mod memory;
mod network;
mod packet;
mod pool;
mod prefetch;
#[cfg(feature = "record")]
pub mod record;
mod report;
mod ring;
mod rng;
pub mod scenario;
mod traffic;
mod transport;
mod window;

/// Queueing disciplines by name, with their parameters.
pub mod queues {
    pub use crate::network::discipline::params::{Info, Kind, Param, Settings, Value};
    pub use crate::network::discipline::{ALL, find};
    pub use crate::scenario::queue::written;
}

pub use catalogue::Catalogue;
#[doc(hidden)]
pub use engine::run_served;
pub use engine::{Simulation, Stopped, run, run_within};
pub use report::{
    DirectionReport, FlowReport, GroupReport, LinkReport, PacketCount, Percentiles, Report, Series, TrafficReport,
};
pub use scenario::Scenario;
pub use transport::policy::Fault;
