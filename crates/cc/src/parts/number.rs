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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Both equal those of the standard library.
        #[test]
        fn they_are_the_plain_ones(a in -1e12..1e12, b in -1e12..1e12, n in 0u64..1 << 63) {
            prop_assert_eq!((max(a, b), min(a, b), float(n)), (f64::max(a, b), f64::min(a, b), n as f64));
            prop_assert_eq!(max(f64::INFINITY, a), f64::INFINITY);
            prop_assert_eq!(min(f64::INFINITY, a), a);
            prop_assert_eq!(seconds(n), crate::time::seconds(n));
        }
    }
}
