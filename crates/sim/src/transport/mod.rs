//! TCP: what an end of a connection sends, and when.

pub mod ranges;
pub mod receiver;
pub mod recovery;
mod rto;
mod scoreboard;
pub mod sender;
