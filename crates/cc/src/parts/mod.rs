//! Pieces that several algorithms share.

mod ewma;
mod mark;

pub(crate) use ewma::Ewma;
pub(crate) use mark::Mark;
