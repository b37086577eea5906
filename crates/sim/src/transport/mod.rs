//! TCP: what an end of a connection sends, and when.

mod compression;
mod controller;
pub mod ecn;
pub mod pacing;
mod packet_log;
pub mod policy;
mod progress;
pub mod ranges;
mod rate;
pub mod receiver;
pub mod recovery;
mod repair;
pub mod rto;
pub mod sender;
mod sent_log;
mod watch;

pub use policy::{Controller, Policy};
