//! Standard slow start, until the window reaches ssthresh or something is lost.
//!
//! Source: RFC 5681 section 3.1.

use crate::Ack;

/// One segment per unit of credit: equation 2 in segments.
#[inline(always)]
pub(super) fn gain(ack: &Ack) -> f64 {
    ack.credit
}
