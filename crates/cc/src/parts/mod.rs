//! Pieces that several algorithms share.

mod ewma;
mod mark;
mod queueing;
mod recent;
mod round_rate;

pub(crate) use ewma::Ewma;
pub(crate) use mark::Mark;
pub(crate) use queueing::Queueing;
pub(crate) use recent::RecentLeast;
pub(crate) use round_rate::RoundRate;
