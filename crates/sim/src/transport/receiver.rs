//! The receiver: cumulative and selective acknowledgement, delayed ACKs, timestamps.
//!
//! Sources: RFC 5681 section 4.2 (when to acknowledge), RFC 1122 section 4.2.3.2 (delayed ACKs), RFC 2018 (SACK), RFC 7323
//! section 4.3 (which timestamp to echo).
//!
//! A segment that was acknowledged before updates the timestamp too (RFC 7323 section 4.3, rule 2). Linux discards such a segment
//! without this update, unless it is the last one acknowledged (tcp_sequence, tcp_replace_ts_recent in net/ipv4/tcp_input.c of 6.8, by
//! behavior). Its ACK therefore looks like that of an original. The receiver of `host = "linux"` follows Linux.

use super::compression::Compression;
use crate::packet::{Block, SackBlocks};
use crate::scenario::Tcp;
use crate::transport::ranges::Ranges;
use fullpipe_cc::Nanos;

/// One connection's receiving end.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Receiver {
    /// The next segment expected.
    next: u64,
    /// RFC 7323's TS.Recent: the timestamp to echo.
    stamp: Nanos,
    /// In-order segments received since the last ACK.
    held: u16,
    telling: Telling,
    /// `duplicate` has arrived again since the last ACK.
    again: bool,
    duplicate: u32,
    /// SACK compression of Linux, if it is on.
    compression: Compression,
    /// Time at which a held ACK must leave; 0 if none is held.
    due: Nanos,
    /// Segments beyond the first hole.
    beyond: Ranges,
    /// Ranges that grew most recently, latest first (RFC 2018 section 4).
    recent: SackBlocks,
}

/// Information in ACKs besides the cumulative ACK number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// Nothing.
    #[default]
    Nothing,
    /// Ranges received beyond a hole (RFC 2018).
    Blocks,
    /// Ranges received beyond a hole, and duplicates (RFC 2883).
    Duplicates,
}

/// Response of the receiver to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Acknowledges at once.
    Ack,
    /// Acknowledges a duplicate at once.
    AckAgain,
    /// Holds the ACK back.
    Hold,
}

impl Receiver {
    /// Receiver of a new connection, as `tcp` configures it, on a path with the given RTT.
    pub fn of(tcp: &Tcp, rtt: Nanos) -> Receiver {
        let receiver = Receiver::new(tcp.recovery.telling());
        if tcp.sack_compression && tcp.delayed_ack { receiver.compressing(rtt) } else { receiver }
    }

    /// Receiver of a new connection.
    pub fn new(telling: Telling) -> Receiver {
        Receiver { telling, ..Receiver::default() }
    }

    /// Receiver with Linux's SACK compression on a path with the given RTT.
    fn compressing(self, rtt: Nanos) -> Receiver {
        Receiver { compression: Compression::of(rtt), ..self }
    }

    /// Initial state for another connection.
    pub fn reset(&mut self) {
        *self = Receiver { compression: self.compression.reset(), ..Receiver::new(self.telling) };
    }

    /// Takes segment `seq` (modulo 2^32) if it is the next one expected and no segment is missing. Returns the ACK's number. If every segment
    /// is acknowledged at once, no call of [`Receiver::acknowledge`] is needed.
    #[inline(always)]
    pub fn take_expected(&mut self, seq: u32, stamp: Nanos) -> Option<u64> {
        if seq != self.next as u32 || !self.beyond.is_empty() {
            return None;
        }
        self.next += 1;
        self.stamp = stamp;
        Some(self.next)
    }

    /// Takes segment `seq` (modulo 2^32) with timestamp `stamp` at `now`. `hold` has the number of segments for an ACK, and how long it may be
    /// held; `None` acknowledges every segment.
    #[inline(always)]
    pub fn take(&mut self, seq: u32, stamp: Nanos, now: Nanos, hold: Option<(u16, Nanos)>) -> Reply {
        let seq = unwrap(seq, self.next);
        if seq != self.next || !self.beyond.is_empty() {
            return self.take_out_of_order(seq, stamp, now);
        }
        self.next += 1;
        self.held += 1;
        if self.held == 1 {
            self.stamp = stamp;
        }
        match hold {
            Some((every, delay)) if self.held < every && !self.compression.is_quick() => {
                if self.held == 1 {
                    self.due = now + delay;
                }
                Reply::Hold
            }
            _ => Reply::Ack,
        }
    }

    /// Next segment expected.
    pub fn expected(&self) -> u64 {
        self.next
    }

    /// Whether a compressed ACK must leave before segment `seq` (modulo 2^32) is taken, because `seq` would displace a SACK block.
    #[inline(always)]
    pub fn must_report_before(&self, seq: u32) -> bool {
        self.compression.has_compressed() && self.would_displace(seq)
    }

    fn would_displace(&self, seq: u32) -> bool {
        let full = unwrap(seq, self.next);
        let extends = |&(start, end): &Block| start != end && (seq == end || seq.wrapping_add(1) == start);
        let [first, second, _] = &self.recent;
        let has_two = first.0 != first.1 && second.0 != second.1;
        full > self.next && has_two && !extends(first) && !extends(second) && self.beyond.containing(full).is_none()
    }

    /// Fields of the ACK that is sent now: the next segment expected, and the echoed timestamp.
    #[inline]
    pub fn acknowledge(&mut self) -> (u64, Nanos) {
        self.compression.on_ack();
        self.held = 0;
        self.due = 0;
        (self.next, self.stamp)
    }

    /// The SACK blocks of the ACK that is now sent: first the range that grew last, then the ones that grew before it.
    /// `None` if no segment is held beyond a hole. With DSACK, a duplicate comes first.
    #[inline]
    pub fn sack_blocks(&mut self) -> Option<SackBlocks> {
        if self.telling == Telling::Nothing {
            return None;
        }
        let known = !self.beyond.is_empty();
        if std::mem::take(&mut self.again) {
            let [first, second, _] = if known { self.recent } else { SackBlocks::default() };
            return Some([(self.duplicate, self.duplicate.wrapping_add(1)), first, second]);
        }
        known.then_some(self.recent)
    }

    /// Time at which a held ACK must leave; `None` if none is held.
    #[inline(always)]
    pub fn deadline(&self) -> Option<Nanos> {
        (self.due != 0).then_some(self.due)
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.beyond.heap_bytes()
    }

    /// RFC 5681 section 4.2: segments out of order, and those that fill a hole, are acknowledged at once. With SACK compression most of the
    /// former wait.
    #[inline(never)]
    fn take_out_of_order(&mut self, seq: u64, stamp: Nanos, now: Nanos) -> Reply {
        if seq > self.next {
            let new = self.beyond.insert(seq, seq + 1);
            self.remember(seq);
            if new == 0 {
                return self.take_again(seq);
            }
            let Some(delay) = self.compression.delay() else { return Reply::Ack };
            if self.due == 0 {
                self.due = now + delay;
            }
            return Reply::Hold;
        }
        if seq < self.next {
            let acknowledged = self.next - u64::from(self.held);
            let discarded = self.compression.is_on() && seq + 1 < acknowledged;
            if seq <= acknowledged && !discarded {
                self.stamp = self.stamp.max(stamp);
            }
            self.compression.on_duplicate();
            return self.take_again(seq);
        }
        if self.held == 0 {
            self.stamp = stamp;
        }
        self.next = self.beyond.next_missing(seq + 1);
        self.beyond.remove_below(self.next);
        self.compression.on_advance(self.next == seq + 1 && self.held == 0 && !self.beyond.is_empty());
        let next = self.next as u32;
        self.forget(|(_, end)| next.wrapping_sub(end) as i32 >= 0);
        Reply::Ack
    }

    /// RFC 2883 section 4: the ACK reports the duplicate segment.
    fn take_again(&mut self, seq: u64) -> Reply {
        (self.again, self.duplicate) = (self.telling == Telling::Duplicates, seq as u32);
        Reply::AckAgain
    }

    /// Puts the range of `seq` first among the recent ones, each range once.
    fn remember(&mut self, seq: u64) {
        let (start, end) = self.beyond.containing(seq).expect("just inserted");
        let grown = (start as u32, end as u32);
        let inside = |block: Block| block.0 != block.1 && block.0.wrapping_sub(grown.0) < grown.1.wrapping_sub(grown.0);
        let [first, second, _] = self.recent;
        if !inside(first) {
            self.recent[1] = first;
            if !inside(second) {
                self.recent[2] = second;
            }
        }
        // A range that has merged into the first is not reported twice.
        self.forget(inside);
        self.recent[0] = grown;
    }

    /// Empties the recent ranges that are `gone`.
    fn forget(&mut self, gone: impl Fn(Block) -> bool) {
        for block in &mut self.recent {
            if gone(*block) {
                *block = (0, 0);
            }
        }
    }
}

/// The full number of which `low` is the residue modulo 2^32, nearest to `near`.
#[inline]
pub fn unwrap(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn take_all(receiver: &mut Receiver, segments: impl IntoIterator<Item = u32>) {
        for seq in segments {
            assert_eq!(receiver.take(seq, 100 + u64::from(seq), 0, None), Reply::Ack);
            receiver.acknowledge();
        }
    }

    /// RFC 2018 section 4, case 2 of its example: the first segment of eight is lost, the rest arrives: one block that grows.
    #[test]
    fn first_segment_lost_gives_one_growing_block() {
        let mut receiver = Receiver::new(Telling::Blocks);
        take_all(&mut receiver, 1..8);
        assert_eq!(receiver.sack_blocks(), Some([(1, 8), (0, 0), (0, 0)]));
        assert_eq!(receiver.acknowledge().0, 0);
        take_all(&mut receiver, [0]);
        assert_eq!((receiver.acknowledge().0, receiver.sack_blocks()), (8, None));
    }

    /// RFC 2018 section 4, case 3: segments 2, 4, 6 and 8 of 1..8 are lost (here 1, 3, 5, 7 of 0..8): the latest three blocks,
    /// latest first.
    #[test]
    fn every_second_segment_lost_gives_the_latest_blocks_first() {
        let mut receiver = Receiver::new(Telling::Blocks);
        take_all(&mut receiver, [0, 2, 4, 6]);
        assert_eq!(receiver.sack_blocks(), Some([(6, 7), (4, 5), (2, 3)]));
        // RFC 2018 continues: the fourth segment arrives and joins two blocks.
        take_all(&mut receiver, [3]);
        assert_eq!(receiver.sack_blocks(), Some([(2, 5), (6, 7), (0, 0)]));
        // The second arrives: everything below the sixth is acknowledged.
        take_all(&mut receiver, [1]);
        assert_eq!(receiver.acknowledge().0, 5);
    }

    /// RFC 2883 section 4.1.1: a duplicate below the cumulative ACK is reported as one block. Section 4.2.1: a duplicate beyond a hole is
    /// followed by the range that holds it, and others. Each is reported once, and without DSACK only the ranges are.
    #[test]
    fn duplicates_are_told_first() {
        let mut receiver = Receiver::new(Telling::Duplicates);
        take_all(&mut receiver, [0, 1]);
        assert_eq!(receiver.take(0, 0, 0, None), Reply::AckAgain);
        assert_eq!(receiver.sack_blocks(), Some([(0, 1), (0, 0), (0, 0)]));
        assert_eq!(receiver.sack_blocks(), None);
        take_all(&mut receiver, [3, 4, 6, 8]);
        assert_eq!(receiver.take(4, 0, 0, None), Reply::AckAgain);
        let mut plain = Receiver { again: false, ..receiver.clone() };
        assert_eq!(plain.sack_blocks(), Some([(3, 5), (8, 9), (6, 7)]));
        assert_eq!(receiver.sack_blocks(), Some([(4, 5), (3, 5), (8, 9)]));
        assert_eq!(receiver.sack_blocks(), Some([(3, 5), (8, 9), (6, 7)]));
    }

    /// RFC 1122 section 4.2.3.2: an ACK at least for every second segment, else after the delay; RFC 7323 section 4.3 (A): it
    /// echoes the earlier segment's timestamp.
    #[test]
    fn delayed_acks_answer_every_second_segment() {
        let mut receiver = Receiver::new(Telling::Blocks);
        assert_eq!(receiver.take(0, 7, 1000, Some((2, 500))), Reply::Hold);
        assert_eq!(receiver.deadline(), Some(1500));
        assert_eq!(receiver.take(1, 9, 1100, Some((2, 500))), Reply::Ack);
        assert_eq!(receiver.acknowledge(), (2, 7));
        assert_eq!(receiver.deadline(), None);
    }

    /// RFC 7323 section 4.3 rule 2: segment 1 is retransmitted at 150 after segments 0 to 3 were acknowledged: SEG.SEQ is at most
    /// Last.ACK.sent, so its timestamp is echoed. A late copy with an older timestamp changes nothing. Segment 4 is held; it is the one at Last.ACK.sent, so its
    /// copy is echoed too.
    #[test]
    fn a_duplicate_updates_the_echoed_timestamp() {
        let mut receiver = Receiver::new(Telling::Duplicates);
        take_all(&mut receiver, 0..4);
        assert_eq!(receiver.acknowledge(), (4, 103));
        receiver.take(1, 150, 160, None);
        assert_eq!(receiver.acknowledge(), (4, 150));
        receiver.take(2, 102, 170, None);
        assert_eq!(receiver.acknowledge(), (4, 150));
        assert_eq!(receiver.take(4, 180, 190, Some((2, 500))), Reply::Hold);
        receiver.take(4, 185, 195, Some((2, 500)));
        assert_eq!(receiver.acknowledge(), (5, 185));
    }

    /// Linux discards a segment whose end is before the last ACK sent, and keeps the old timestamp. The end of segment 3 is not before it.
    #[test]
    fn linux_ignores_the_timestamp_of_an_old_segment() {
        let mut receiver = Receiver::new(Telling::Duplicates).compressing(100_000_000);
        take_all(&mut receiver, 0..4);
        receiver.take(2, 150, 160, None);
        assert_eq!(receiver.acknowledge().1, 103);
        receiver.take(3, 155, 165, None);
        assert_eq!(receiver.acknowledge().1, 155);
    }

    /// SACK compression: of ten segments behind a hole, after the quick ACKs, three are acknowledged at once; the fourth sets a timer of 1.1 ms, and one
    /// ACK reports the others. The segment that fills the hole is acknowledged at once.
    #[test]
    fn acks_behind_a_hole_are_compressed() {
        let mut receiver = Receiver::new(Telling::Duplicates).compressing(100_000_000);
        for seq in 0..1080 {
            assert_eq!(receiver.take(seq, 0, 0, Some((2, 500))), Reply::Ack, "a quick ACK");
            receiver.acknowledge();
        }
        let mut replies = Vec::new();
        for seq in 1081..1091 {
            replies.push(receiver.take(seq, 0, u64::from(seq), Some((2, 500))));
            if replies.last() == Some(&Reply::Ack) {
                receiver.acknowledge();
            }
        }
        assert_eq!(replies, [[Reply::Ack; 3].as_slice(), &[Reply::Hold; 7]].concat());
        assert_eq!(receiver.deadline(), Some(1084 + 1_100_000));
        assert_eq!(receiver.sack_blocks(), Some([(1081, 1091), (0, 0), (0, 0)]));
        receiver.acknowledge();
        assert_eq!(receiver.deadline(), None);
        assert_eq!(receiver.take(1080, 0, 0, Some((2, 500))), Reply::Ack);
        assert_eq!((receiver.acknowledge().0, receiver.sack_blocks()), (1091, None));
    }

    /// Blocks 1081, 1083, and 1085 are reported at once, and 1085 to 1086 waits. Segment 1089 would be a fourth block: an ACK
    /// leaves first. This also holds for 1082, which extends the third block. Segment 1087 extends the first.
    #[test]
    fn compressed_acks_leave_before_a_block_is_displaced() {
        let mut receiver = Receiver::new(Telling::Duplicates).compressing(100_000_000);
        for seq in (0..1080).chain([1081, 1083, 1085]) {
            assert_eq!(receiver.take(seq, 0, 0, Some((2, 500))), Reply::Ack);
            receiver.acknowledge();
        }
        assert!(!receiver.must_report_before(1089), "nothing is compressed");
        assert_eq!(receiver.take(1086, 0, 0, Some((2, 500))), Reply::Hold);
        assert_eq!(
            [1089, 1080, 1087, 1086, 1084].map(|seq| receiver.must_report_before(seq)),
            [true, false, false, false, false]
        );
        assert!(receiver.must_report_before(15_000));
        let blocks = [(1085, 1087), (1083, 1084), (1081, 1082)];
        assert_eq!(receiver.sack_blocks(), Some(blocks));
    }

    /// RFC 7323 section 4.3 (B, C): duplicate ACKs echo the last segment that advanced the window; the segment that fills the
    /// hole is echoed itself.
    #[test]
    fn timestamps_echoed_around_a_hole() {
        let mut receiver = Receiver::new(Telling::Blocks);
        take_all(&mut receiver, [0, 2]);
        assert_eq!(receiver.acknowledge(), (1, 100));
        receiver.take(1, 555, 0, None);
        assert_eq!(receiver.acknowledge(), (3, 555));
    }

    proptest! {
        /// RFC 2018 section 4: the first block holds the segment that caused the ACK, every block is a whole range of
        /// arrived segments, and none is reported twice, also beyond 2^32. A duplicate is recognized.
        #[test]
        fn blocks_are_whole_ranges_latest_first(
            begin in prop_oneof![Just(0), Just((1 << 32) - 20)],
            arrivals in prop::collection::vec(0u64..40, 1..80),
        ) {
            let mut receiver = Receiver { next: begin, ..Receiver::new(Telling::Blocks) };
            let mut arrived = BTreeSet::new();
            // Each segment, and the one behind it.
            for seq in arrivals.into_iter().flat_map(|offset| [begin + offset, begin + offset + 1]) {
                let known = !arrived.insert(seq);
                let reply = receiver.take(seq as u32, 0, 0, None);
                prop_assert_eq!(reply, if known { Reply::AckAgain } else { Reply::Ack });
                let next = (begin..).find(|seq| !arrived.contains(seq)).expect("an end");
                prop_assert_eq!(receiver.acknowledge().0, next);
                let Some(blocks) = receiver.sack_blocks() else {
                    prop_assert!(arrived.range(next..).next().is_none());
                    continue;
                };
                let range = |member: u64| {
                    let start = (0..=member).rev().take_while(|seq| arrived.contains(seq)).last().expect("itself");
                    (start as u32, (member..).find(|seq| !arrived.contains(seq)).expect("an end") as u32)
                };
                let held: BTreeSet<_> = arrived.range(next..).map(|&member| range(member)).collect();
                let told: Vec<_> = blocks.into_iter().filter(|block| block.0 != block.1).collect();
                prop_assert!(told.iter().all(|block| held.contains(block)), "{:?} of {:?}", told, held);
                prop_assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), told.len());
                if seq > next {
                    prop_assert_eq!(blocks[0], range(seq));
                }
            }
        }
    }

    #[test]
    fn numbers_unwrap_on_both_sides() {
        let near = (5 << 32) + 3;
        assert_eq!(unwrap(10, near), (5 << 32) + 10);
        assert_eq!(unwrap(u32::MAX, near), (5 << 32) - 1);
    }
}
