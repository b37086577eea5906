//! The packet-level simulator: a [`Scenario`] goes in, a [`Report`] comes out, the same bytes for the same scenario and seed.
#![forbid(unsafe_code)]

mod engine;
mod report;
pub mod scenario;

pub use engine::{Interrupted, run};
pub use report::{DirectionReport, FlowReport, LinkReport, Report, Series, TrafficReport};
pub use scenario::Scenario;
