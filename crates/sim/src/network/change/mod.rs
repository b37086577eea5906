//! What makes a link's direction vary, a file each. A direction that has any of it is served (`served.rs`), but for a trace alone, which is
//! known beforehand.

pub mod delay_line;
pub mod ecn;
pub mod loss;
pub mod policer;
pub mod schedule;
pub mod trace;
pub mod wire;

mod jitter;
