//! The span of a run that figures count.

use fullpipe_cc::Nanos;

/// Span of simulated time, `from` included, `to` excluded, so that an event belongs to one span only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Beginning.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
}

impl Window {
    /// Whether the moment lies inside.
    #[inline]
    pub fn contains(&self, at: Nanos) -> bool {
        self.from <= at && at < self.to
    }

    /// How long it is.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}
