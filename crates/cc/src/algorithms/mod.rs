//! One file per algorithm; each opens with its paper, its model and its deviations.

pub mod reno;
