//! One file per algorithm; each opens with its paper, its model and its deviations.

pub mod adaptive_aimd;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod cubic;
pub mod ehstcp;
pub mod hstcp;
pub mod htcp;
pub mod hyun_jang;
mod lsrtt;
pub mod reno;
pub mod scalable;
pub mod vegas;
