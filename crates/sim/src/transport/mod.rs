//! TCP and QUIC: both ends of a connection.

mod compression;
mod controller;
pub mod ecn;
pub mod growth;
mod outstanding;
pub mod pacing;
mod packet_log;
mod pipe_ack;
pub mod policy;
mod progress;
pub mod quic;
pub mod ranges;
mod rate;
pub mod receiver;
pub mod recovery;
mod repair;
pub mod rto;
pub mod sender;
pub mod validation;

pub use policy::{Controller, Policy};
