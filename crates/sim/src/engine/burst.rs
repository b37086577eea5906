//! Bursts: the segments that one event sends. A long burst is sent in parts, so that the run looks at memory and watch between them. No
//! other event comes in between, and no figure depends on the parts.

use super::WATCH_EVERY;
use super::transit::Transit;
use crate::traffic::connection::Connection;
use crate::transport::policy::Policy;
use fullpipe_cc::Nanos;
use std::ops::Range;

/// Segments of a part, which take about 400 kB of memory.
pub const PART: u64 = WATCH_EVERY as u64 / 4;

/// Segments that are sent without a count: most events send one or two.
pub const SMALL: u64 = 8;

/// Rest of a burst.
#[derive(Clone, Debug)]
pub struct Rest {
    /// The flow that sends it.
    pub flow: u32,
    /// The loop's time.
    at: Nanos,
    /// The event was a timer.
    by_timer: bool,
    /// New segments that the sender has counted as sent; `None` where the sender decides on each segment.
    segments: Option<Range<u64>>,
}

impl Transit {
    /// Cuts a burst of new segments after its first part, which is returned.
    #[cold]
    #[inline(never)]
    pub fn cut(&mut self, flow: u32, at: Nanos, segments: Range<u64>) -> Range<u64> {
        self.count_burst(segments.end - segments.start);
        if segments.end - segments.start <= PART {
            return segments;
        }
        self.left = 0;
        let middle = segments.start + PART;
        self.rest = Some(Rest { flow, at, by_timer: self.by_timer, segments: Some(middle..segments.end) });
        segments.start..middle
    }

    /// A burst that the sender decides on segment by segment has reached the end of a part.
    #[cold]
    #[inline(never)]
    pub fn cut_here(&mut self, flow: u32, at: Nanos) {
        self.rest = Some(Rest { flow, at, by_timer: self.by_timer, segments: None });
        self.left = 0;
    }

    /// Counts a burst as that many events, so that the next look comes sooner.
    #[cold]
    #[inline(never)]
    pub fn count_burst(&mut self, segments: u64) {
        self.left = self.left.saturating_sub(u32::try_from(segments).unwrap_or(u32::MAX));
    }

    /// Sends the next part of a burst.
    pub fn send_rest<P: Policy>(&mut self, flow: &mut Connection<P>, rest: Rest) {
        let Rest { at, by_timer, segments, .. } = rest;
        let now = at - flow.access;
        self.by_timer = by_timer;
        match segments {
            Some(segments) => {
                for seq in self.cut(flow.id, at, segments) {
                    self.send(flow, seq, at, now, true);
                }
            }
            None => self.pump_one_by_one(flow, at, now),
        }
        self.arm(flow);
        self.by_timer = false;
    }
}
