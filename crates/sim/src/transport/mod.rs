//! TCP: what an end of a connection sends, and when.

pub mod ecn;
pub mod pacing;
pub mod policy;
mod progress;
pub mod ranges;
mod rate;
pub mod receiver;
pub mod recovery;
mod repair;
mod rto;
pub mod sender;
mod sent_log;
mod watch;

pub use policy::{Controller, Policy};
