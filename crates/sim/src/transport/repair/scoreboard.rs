//! SACK scoreboard of RFC 6675: outstanding segments that have arrived, lost segments, and the next retransmission.
//!
//! The scoreboard keeps ranges instead of a record per segment. Every quantity of the RFC is a count over them. During a recovery, segments
//! split at `repaired` (the RFC's HighRxt) and `lost_end`:
//!
//! ```text
//!   una ........ repaired ........ lost_end ........ nxt
//!   retransmitted (or arrived) | lost, not yet retransmitted | in flight (or arrived)
//! ```
//!
//! Rule 4 of NextSeg (the rescue of the last segment) leaves out retransmitted segments. Read literally, it would send the only hole twice
//! within a round trip without new data.

use crate::transport::ranges::Ranges;

/// Segments SACKed above a hole that make it lost (RFC 6675 section 2).
const DUP_THRESH: u64 = super::DUP_THRESH as u64;

/// State of the segments above the cumulative ACK.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sacked: Ranges,
    /// RFC 6675's HighRxt, plus one: all segments below have been retransmitted or have arrived.
    repaired: u64,
    /// Every segment below that has not arrived is lost.
    lost_end: u64,
    /// Lost segments not yet retransmitted: those missing in `repaired..lost_end`.
    pending: u64,
    /// A rescue retransmission has been made in this episode (RFC 6675 section 4, NextSeg rule 4).
    rescued: bool,
}

impl Scoreboard {
    /// Starts over for a new connection.
    pub fn reset(&mut self) {
        self.sacked.clear();
        self.settle(0);
        self.rescued = false;
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.sacked.heap_bytes()
    }

    /// Lost segments that wait for retransmission.
    #[inline]
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// Segments known to have arrived beyond the cumulative ACK.
    pub fn sacked(&self) -> u64 {
        self.sacked.count()
    }

    /// Moves the cumulative ACK to `una`.
    #[inline]
    pub fn advance(&mut self, una: u64) {
        if self.repaired < una {
            if self.pending > 0 {
                self.pending -= self.sacked.missing_in(self.repaired, una.min(self.lost_end));
            }
            self.repaired = una;
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(una);
        }
    }

    /// Segments of `start..end` that are not known to have arrived.
    pub fn missing(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        let below_end = move |seq: u64| (seq < end).then_some(seq);
        let first = below_end(self.sacked.next_missing(start));
        std::iter::successors(first, move |seq| below_end(self.sacked.next_missing(seq + 1)))
    }

    /// Adds the reported segments `start..end`. Returns the number of new ones.
    pub fn add(&mut self, start: u64, end: u64) -> u64 {
        if self.pending == 0 || end <= self.repaired || start >= self.lost_end {
            return self.sacked.insert(start, end);
        }
        if self.repaired <= start && end <= self.lost_end {
            let new = self.sacked.insert(start, end);
            self.pending -= new;
            return new;
        }
        self.pending -= self.sacked.missing_in(start.max(self.repaired), end.min(self.lost_end));
        self.sacked.insert(start, end)
    }

    /// Whether RFC 6675's IsLost holds for the segment at the cumulative ACK.
    #[inline]
    pub fn is_lost(&self, una: u64) -> bool {
        self.sacked.count() >= DUP_THRESH && self.sacked.nth_highest(DUP_THRESH).is_some_and(|third| una < third)
    }

    /// Starts fast recovery at `una`, before any retransmission.
    pub fn begin_recovery(&mut self, una: u64) {
        self.repaired = una;
        self.lost_end = una;
        self.pending = 0;
        self.rescued = false;
        self.find_losses();
        // Duplicate ACKs alone show that the first segment is lost (RFC 6675 section 5, step 4).
        if self.lost_end == una {
            self.lost_end = una + 1;
            self.pending = 1;
        }
    }

    /// Ends the recovery at `una`.
    pub fn settle(&mut self, una: u64) {
        self.repaired = una;
        self.lost_end = una;
        self.pending = 0;
    }

    /// Handles a timeout: all segments below `nxt` that have not arrived are lost (RFC 6675 section 5.1).
    pub fn lose_all(&mut self, una: u64, nxt: u64) {
        self.repaired = una;
        self.lost_end = nxt;
        self.rescued = false;
        self.pending = nxt - una - self.sacked.count();
    }

    /// Finds new losses: segments with [`DUP_THRESH`] SACKed segments above. Returns whether there are any.
    pub fn find_losses(&mut self) -> bool {
        let Some(third) = self.sacked.nth_highest(DUP_THRESH) else { return false };
        if third <= self.lost_end {
            return false;
        }
        let (from, before) = (self.lost_end.max(self.repaired), self.pending);
        if third > from {
            self.pending += self.sacked.missing_high_in(from, third);
        }
        self.lost_end = third;
        self.pending > before
    }

    /// RFC 6675's pipe: segments thought to be in the network, of those in `una..nxt`.
    #[inline]
    pub fn pipe(&self, una: u64, nxt: u64) -> u64 {
        nxt - una - self.sacked.count() - self.pending
    }

    /// Next lost segment to retransmit (NextSeg rule 1).
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.pending == 0 {
            return None;
        }
        let seq = self.sacked.next_missing(self.repaired);
        self.repaired = seq + 1;
        self.pending -= 1;
        Some(seq)
    }

    /// Segment to retransmit without new data although it is not known to be lost: any hole below the highest SACKed segment (NextSeg
    /// rule 3), else, once per recovery, the highest outstanding segment (rule 4).
    pub fn next_rescue(&mut self, una: u64, nxt: u64) -> Option<u64> {
        let hole = self.sacked.next_missing(self.repaired.max(una));
        if self.sacked.end().is_some_and(|end| hole < end) {
            self.repaired = hole + 1;
            return Some(hole);
        }
        if self.rescued || self.repaired >= nxt || self.sacked.end() == Some(nxt) {
            return None;
        }
        self.rescued = true;
        Some(nxt - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ranges::STEPS;
    use crate::transport::receiver::{Receiver, Telling};

    /// Segments 10..30 outstanding; 10 and 15 lost. RFC 6675 section 4 by hand.
    #[test]
    fn two_losses_in_a_window() {
        let mut board = Scoreboard::default();
        board.advance(10);
        board.add(11, 13);
        assert!(!board.is_lost(10), "two SACKed segments are not enough");
        board.add(11, 14);
        assert!(board.is_lost(10));
        board.begin_recovery(10);
        // 20 outstanding, 3 arrived, 1 lost.
        assert_eq!(board.pipe(10, 30), 16);
        assert_eq!(board.next_lost(), Some(10));
        assert_eq!(board.pipe(10, 30), 17, "the retransmission is in flight");
        assert_eq!(board.next_lost(), None);
        board.add(11, 15);
        board.add(16, 18);
        board.find_losses();
        assert_eq!(board.next_lost(), None, "only two SACKed segments above 15");
        board.add(16, 19);
        board.find_losses();
        assert_eq!(board.pipe(10, 30), 20 - 7 - 1);
        assert_eq!(board.next_lost(), Some(15));
        board.advance(15);
        board.advance(19);
        assert_eq!(board.pipe(19, 30), 11);
    }

    /// A timeout retransmits the segments that have not arrived, in order.
    #[test]
    fn a_timeout_loses_all_that_has_not_arrived() {
        let mut board = Scoreboard::default();
        board.add(3, 5);
        board.add(7, 8);
        board.lose_all(0, 10);
        assert_eq!(board.pipe(0, 10), 0);
        let again: Vec<_> = std::iter::from_fn(|| board.next_lost()).collect();
        assert_eq!(again, [0, 1, 2, 5, 6, 8, 9]);
        assert_eq!(board.pipe(0, 10), 7);
    }

    /// A segment believed lost that arrives after all no longer waits for its repair.
    #[test]
    fn late_arrivals_are_not_sent_again() {
        let mut board = Scoreboard::default();
        board.add(5, 9);
        board.begin_recovery(0);
        assert_eq!(board.next_lost(), Some(0));
        board.add(2, 3);
        let again: Vec<_> = std::iter::from_fn(|| board.next_lost()).collect();
        assert_eq!(again, [1, 3, 4]);
    }

    /// Rules 3 and 4: a hole below the highest SACKed segment first, then one rescue of the last segment.
    #[test]
    fn rescue_when_there_is_nothing_else() {
        let mut board = Scoreboard::default();
        board.add(1, 4);
        board.add(5, 6);
        board.begin_recovery(0);
        assert_eq!(board.next_lost(), Some(0));
        assert_eq!(board.next_lost(), None);
        assert_eq!(board.next_rescue(0, 8), Some(4));
        assert_eq!(board.next_rescue(0, 8), Some(7));
        assert_eq!(board.next_rescue(0, 8), None);
    }

    /// Rule 4 counts only outstanding data, not SACKed data: 0 is repaired, 4..8 are outstanding, and no ACK reports
    /// more.
    #[test]
    fn rescue_when_nothing_is_sacked() {
        let mut board = Scoreboard::default();
        board.add(1, 4);
        board.begin_recovery(0);
        assert_eq!(board.next_lost(), Some(0));
        board.advance(4);
        assert_eq!(board.sacked(), 0);
        assert_eq!(board.next_rescue(4, 8), Some(7));
        assert_eq!(board.next_rescue(4, 8), None, "once");
        assert_eq!(board.pipe(4, 8), 4);
    }

    /// A retransmitted segment is not rescued.
    #[test]
    fn no_rescue_of_a_retransmission() {
        let mut board = Scoreboard::default();
        board.add(1, 4);
        board.begin_recovery(0);
        assert_eq!(board.next_lost(), Some(0));
        assert_eq!(board.next_rescue(0, 4), None);
    }

    /// Steps (ranges visited or moved) per segment of a window. Every fiftieth segment is lost, and every seventh
    /// retransmission. SACK blocks come as from a receiver, repairs leave when there is room, and a timeout repairs the
    /// rest.
    fn steps_per_segment(window: u64) -> f64 {
        let before = STEPS.get();
        let mut board = Scoreboard::default();
        board.advance(1);
        let mut receiver = Receiver::new(Telling::Blocks);
        let arrive = |board: &mut Scoreboard, receiver: &mut Receiver, seq: u64| {
            receiver.take(seq as u32, 0, 0, None);
            let next = receiver.acknowledge().0;
            for (start, end) in receiver.sack_blocks().into_iter().flatten().filter(|block| block.0 != block.1) {
                board.add(u64::from(start).max(next), u64::from(end));
            }
            board.advance(next);
            next
        };
        let (mut repairs, mut una) = (Vec::new(), 0);
        for seq in (0..window).filter(|seq| seq % 50 != 0) {
            una = arrive(&mut board, &mut receiver, seq);
            match seq {
                4 => board.begin_recovery(una),
                _ if seq > 4 => drop(board.find_losses()),
                _ => {}
            }
            // Half the window has to leave before there is room.
            if seq > window / 2 {
                repairs.extend(board.next_lost());
            }
        }
        repairs.extend(std::iter::from_fn(|| board.next_lost()));
        for (_, &seq) in repairs.iter().enumerate().filter(|(k, _)| k % 7 != 0) {
            una = arrive(&mut board, &mut receiver, seq);
            board.find_losses();
        }
        board.lose_all(una, window);
        while let Some(seq) = board.next_lost() {
            una = arrive(&mut board, &mut receiver, seq);
        }
        assert_eq!((una, board.pipe(una, window)), (window, 0));
        (STEPS.get() - before) as f64 / window as f64
    }

    /// Looking at every range whenever a SACK brings news would take a hundred times as long for each segment of the largest.
    #[test]
    fn losses_in_large_windows_cost_no_more_a_segment() {
        let small = steps_per_segment(10_000);
        for window in [100_000, 1_000_000] {
            let steps = steps_per_segment(window);
            assert!(steps < 2.0 * small, "{steps} steps a segment in a window of {window}, {small} in one of 10,000");
        }
    }
}
