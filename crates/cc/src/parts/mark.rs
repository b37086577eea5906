//! Point in the data sent, which separates ACKs of later data from ACKs of earlier data.

use crate::Flow;

/// All data sent up to a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark(u64);

impl Mark {
    /// Before the first segment.
    pub const START: Mark = Mark(0);

    /// All data sent so far.
    pub fn now(flow: &Flow) -> Mark {
        Mark(flow.delivered + flow.flight_size)
    }

    /// Whether data sent after the mark has been acknowledged.
    #[inline]
    pub fn passed(&self, flow: &Flow) -> bool {
        flow.delivered > self.0
    }
}
