//! Pieces that several algorithms share.

mod ewma;
mod mark;
mod round_rate;

pub(crate) use ewma::Ewma;
pub(crate) use mark::Mark;
pub(crate) use round_rate::RoundRate;
