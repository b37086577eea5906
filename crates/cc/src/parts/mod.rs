//! Pieces that several algorithms share.

mod ewma;
mod last_ack;
mod mark;
pub(crate) mod number;
mod queueing;
mod recent;
mod recent_max;
mod round_rate;
mod windowed_max;

pub(crate) use ewma::Ewma;
pub(crate) use last_ack::LastAck;
pub(crate) use mark::Mark;
pub(crate) use queueing::Queueing;
pub(crate) use recent::RecentLeast;
pub(crate) use recent_max::RecentMax;
pub(crate) use round_rate::RoundRate;
pub(crate) use windowed_max::WindowedMax;
