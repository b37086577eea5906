//! One file per algorithm; each opens with its paper, its model and its deviations.

pub mod bic;
pub mod hstcp;
pub mod reno;
pub mod scalable;
pub mod vegas;
