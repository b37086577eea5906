//! The greater and the lesser of two numbers of which none is NaN, and counts as numbers: an instruction each, where `f64::max`, `f64::min`
//! and `as` take six.

use crate::time::{Nanos, SECOND};

/// The greater one.
#[inline(always)]
pub(crate) fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The lesser one.
#[inline(always)]
pub(crate) fn min(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// A count below 2^63.
#[inline(always)]
pub(crate) fn float(count: u64) -> f64 {
    count as i64 as f64
}

/// A time below 2^63 ns, in seconds.
#[inline(always)]
pub(crate) fn seconds(nanos: Nanos) -> f64 {
    float(nanos) / SECOND as f64
}
