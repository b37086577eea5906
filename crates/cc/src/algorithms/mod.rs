//! One file per algorithm; each opens with its paper, its model and its deviations.

pub mod adaptive_aimd;
pub mod bic;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod ehstcp;
pub mod hstcp;
pub mod htcp;
pub mod hybla;
pub mod hyun_jang;
pub mod illinois;
pub mod ledbat;
pub mod ledbat_plus_plus;
mod lsrtt;
pub mod prague;
pub mod reno;
pub mod scalable;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod yeah;
