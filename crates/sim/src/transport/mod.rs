//! TCP: what an end of a connection sends, and when.

pub mod ecn;
pub mod pacing;
mod progress;
pub mod ranges;
mod rate;
pub mod receiver;
pub mod recovery;
mod repair;
mod rto;
pub mod sender;
mod sent_log;

use fullpipe_cc::Hold;
use std::fmt::Debug;

/// Any congestion control; large states on the heap, so that flows of others are no larger for them.
pub type Controller = fullpipe_cc::Controller<Boxed>;

/// On the heap.
#[derive(Clone, Copy, Debug)]
pub struct Boxed;

impl Hold for Boxed {
    type Of<T: Clone + Debug> = Box<T>;
}
