//! Time: unsigned nanoseconds, and the conversions at the edges.

/// A point in time or a length of time, in nanoseconds.
pub type Nanos = u64;

/// One microsecond.
pub const MICROSECOND: Nanos = 1_000;
/// One millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// One second.
pub const SECOND: Nanos = 1_000_000_000;

/// `nanos` in seconds.
pub fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / SECOND as f64
}
