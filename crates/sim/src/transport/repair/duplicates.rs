//! What duplicate ACKs tell where there is no SACK: RFC 5681 section 3.2, RFC 3042, and that a sender goes back to the first hole
//! when it starts over.

use super::DUP_THRESH;
use crate::transport::progress::{Phase, Progress};

/// The state that recoveries without SACK share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Duplicates {
    /// Duplicate ACKs since the last one of new data.
    count: u32,
    /// Segments that duplicate ACKs add to the window in fast recovery (RFC 5681 section 3.2, step 4).
    pub inflation: u64,
    /// Send the first segment again, whatever the window says: the fast retransmission.
    pub repeat_first: bool,
    /// Below this number of segments acknowledged duplicate ACKs may come from needless retransmissions and show no loss: one
    /// more than RFC 6582's recover covers (section 3.2, steps 2 and 4).
    trusted_from: u64,
}

impl Duplicates {
    /// New data is acknowledged.
    #[inline]
    pub fn end(&mut self) {
        self.count = 0;
    }

    /// None has come since the last ACK of new data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One comes while nothing is known to be lost; says whether it tells anything.
    pub fn count(&mut self, progress: &Progress) -> bool {
        let tells = progress.una >= self.trusted_from;
        self.count += u32::from(tells);
        tells
    }

    /// So many have come that a segment is lost.
    pub fn show_loss(&self) -> bool {
        self.count >= DUP_THRESH
    }

    /// Fast recovery begins: RFC 5681 section 3.2, steps 2 and 3.
    pub fn begin(&mut self) {
        self.repeat_first = true;
        self.inflation = u64::from(self.count);
    }

    /// RFC 6582 section 3.2, steps 2 and 4: all that has been sent may be sent again, and be acknowledged twice then.
    pub fn distrust(&mut self, progress: &Progress) {
        self.trusted_from = progress.high + 1;
    }

    /// Slow start from one segment: all that is outstanding is sent again.
    pub fn restart(&mut self, progress: &mut Progress) {
        *self = Duplicates::default();
        progress.nxt = progress.una;
        self.distrust(progress);
    }

    /// The next segment that goes.
    #[inline]
    pub fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        if std::mem::take(&mut self.repeat_first) {
            progress.nxt = progress.nxt.max(progress.una + 1);
            return Some(progress.una);
        }
        // RFC 3042: the first two duplicate ACKs each let one new segment go.
        let limited_transmit = if progress.phase == Phase::Open { u64::from(self.count) } else { 0 };
        if progress.flight_size() >= window + self.inflation + limited_transmit {
            progress.cwnd_limited = true;
            return None;
        }
        progress.next_new()
    }

    /// Each duplicate ACK stands for one segment that has left the network.
    pub fn in_network(&self, progress: &Progress) -> u64 {
        progress.flight_size() - self.arrived(progress)
    }

    /// That segment has arrived.
    pub fn arrived(&self, progress: &Progress) -> u64 {
        let left = if progress.phase == Phase::Open { u64::from(self.count) } else { self.inflation };
        left.min(progress.flight_size())
    }
}
