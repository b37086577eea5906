//! The greater and the lesser of two numbers of which none is NaN: an instruction each, where `f64::max` and `f64::min` take six.

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
