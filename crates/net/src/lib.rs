//! Simulated links for whole protocol stacks, in virtual time: [`Links`], and its calls for C (`include/fullpipe_net.h`).

/// The example of the page that package indexes show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod c;

pub use fullpipe_sim::Scenario;
pub use fullpipe_sim::links::{Delivered, Direction, Ecn, Links};
