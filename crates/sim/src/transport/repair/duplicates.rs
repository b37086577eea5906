//! Duplicate ACKs without SACK: RFC 5681 section 3.2 and RFC 3042. A timeout goes back to the first hole.

use super::{DUP_THRESH, Tally};
use crate::transport::progress::{Phase, Progress};

/// State that recoveries without SACK share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Duplicates {
    /// Duplicate ACKs since the last one of new data.
    count: u32,
    /// Segments that duplicate ACKs add to the window in fast recovery (RFC 5681 section 3.2, step 4).
    pub inflation: u64,
    /// The first segment is retransmitted next, without regard to the window: the fast retransmission.
    pub repeat_first: bool,
    /// Below this cumulative ACK number, duplicate ACKs may be caused by spurious retransmissions and show no loss: one more than
    /// `recover` of RFC 6582 (section 3.2, steps 2 and 4).
    trusted_from: u64,
}

impl Duplicates {
    /// Handles an ACK of new data.
    #[inline]
    pub fn end(&mut self) {
        self.count = 0;
    }

    /// Counts a duplicate ACK outside recovery. Returns whether it is trusted.
    pub fn count(&mut self, progress: &Progress) -> bool {
        let trusted = progress.una >= self.trusted_from;
        self.count += u32::from(trusted);
        trusted
    }

    /// Whether the duplicate ACKs show that a segment is lost.
    pub fn show_loss(&self) -> bool {
        self.count >= DUP_THRESH
    }

    /// Whether no duplicate ACK has arrived since the last ACK of new data, and nothing is to be retransmitted.
    pub fn is_idle(&self) -> bool {
        self.count == 0 && !self.repeat_first
    }

    /// Starts fast recovery: RFC 5681 section 3.2, steps 2 and 3.
    pub fn begin(&mut self) {
        self.repeat_first = true;
        self.inflation = u64::from(self.count);
    }

    /// RFC 6582 section 3.2, steps 2 and 4: every segment sent so far may be retransmitted and acknowledged twice.
    pub fn distrust(&mut self, progress: &Progress) {
        self.trusted_from = progress.high + 1;
    }

    /// Starts slow start from one segment: all outstanding segments are retransmitted.
    pub fn restart(&mut self, progress: &mut Progress) {
        *self = Duplicates::default();
        progress.nxt = progress.una;
        self.distrust(progress);
    }

    /// Next segment to send.
    #[inline]
    pub fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        if std::mem::take(&mut self.repeat_first) {
            progress.nxt = progress.nxt.max(progress.una + 1);
            return Some(progress.una);
        }
        // RFC 3042: the first two duplicate ACKs each release one new segment.
        let limited_transmit = if progress.phase == Phase::Open { u64::from(self.count) } else { 0 };
        if progress.flight_size() >= window + self.inflation + limited_transmit {
            progress.cwnd_limited = true;
            return None;
        }
        progress.next_new()
    }

    /// Each duplicate ACK counts as one segment that has arrived.
    pub fn tally(&self, progress: &Progress) -> Tally {
        let arrived = if progress.phase == Phase::Open { u64::from(self.count) } else { self.inflation };
        Tally { arrived: arrived.min(progress.flight_size()), lost: 0 }
    }
}
