//! Receiver of a QUIC connection: when it acknowledges, and what its ACKs report.
//!
//! Sources: RFC 9000 section 13.2, draft-ietf-quic-ack-frequency-14 sections 4 and 6.
//!
//! An ACK frame reports the newest 32 ranges of packet numbers. The simulator has both ends in one place: an ACK carries the number of
//! packets that had arrived when it left, and [`Receiver::receipts`] has the packets themselves. So no ACK copies its ranges.

use super::ecn::Counts;
use crate::model::Quic;
use crate::packet::Ecn;
use crate::transport::ranges::Ranges;
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// Ranges of an ACK frame.
const MOST_RANGES: usize = 32;

/// Receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    rules: Quic,
    /// Arrivals that no processed ACK has reported, and the number of those before.
    receipts: VecDeque<Receipt>,
    before: u64,
    /// Ranges that an ACK reports, ascending; ends are exclusive.
    ranges: VecDeque<(u64, u64)>,
    /// Numbers below this are not reported any more.
    floor: u64,
    /// Largest number that has arrived, and its time of arrival.
    newest: Option<(u64, Nanos)>,
    /// Largest number that an ACK has reported.
    largest_acked: Option<u64>,
    /// Packets since the last ACK.
    held: u32,
    /// Time at which an ACK must leave; `None` if none is due.
    due: Option<Nanos>,
    /// Packets by their ECN fields, and whether the last one was marked CE.
    counts: Counts,
    last_ce: bool,
    /// Data that has arrived.
    chunks: Ranges,
}

/// Arrival of a packet, with the state of the receiver just after it.
#[derive(Clone, Copy, Debug)]
pub struct Receipt {
    /// Packet number.
    pub number: u64,
    /// Time of arrival.
    pub at: Nanos,
    /// Largest packet number so far, and its time of arrival.
    pub largest: (u64, Nanos),
    /// Packets so far, by their ECN fields.
    pub counts: Counts,
    /// Packet numbers below this are not reported.
    pub floor: u64,
}

impl Receiver {
    /// Receiver to which nothing has come.
    pub fn new(rules: Quic) -> Receiver {
        Receiver {
            rules,
            receipts: VecDeque::new(),
            before: 0,
            ranges: VecDeque::new(),
            floor: 0,
            newest: None,
            largest_acked: None,
            held: 0,
            due: None,
            counts: Counts::default(),
            last_ce: false,
            chunks: Ranges::default(),
        }
    }

    /// Handles packet `number` with datagram `chunk` of the data, which arrives at `at`. Returns whether the data is new.
    pub fn take(&mut self, number: u64, chunk: u64, at: Nanos, ecn: Ecn) -> bool {
        let largest = self.largest();
        let ce = ecn == Ecn::Ce;
        self.counts.add(ecn);
        let newest = self.newest.filter(|newest| newest.0 > number).unwrap_or((number, at));
        self.newest = Some(newest);
        if self.insert(number) {
            self.receipts.push_back(Receipt { number, at, largest: newest, counts: self.counts, floor: self.floor });
        }
        self.held += 1;
        let changed = std::mem::replace(&mut self.last_ce, ce) != ce;
        // Section 6.3 of the draft: with a threshold above 1 only the first of several marks is reported at once.
        let marked = ce && (changed || self.rules.ack_every <= 2);
        if self.held >= self.rules.ack_every || marked || self.is_reordered(number, largest) {
            self.due = Some(at);
        } else {
            self.due = self.due.or(Some(at + self.rules.ack_delay));
        }
        self.chunks.insert(chunk, chunk + 1) > 0
    }

    /// Whether an ACK must leave at `at`.
    pub fn is_due(&self, at: Nanos) -> bool {
        self.due.is_some_and(|due| due <= at)
    }

    /// Time at which a held ACK must leave; `None` if none is held.
    pub fn deadline(&self) -> Option<Nanos> {
        self.due
    }

    /// Content of the ACK that is now sent: the number of arrivals.
    pub fn acknowledge(&mut self) -> u64 {
        (self.held, self.due) = (0, None);
        self.largest_acked = self.largest();
        self.before + self.receipts.len() as u64
    }

    /// Arrivals that an ACK of `count` arrivals reports first; none if a later ACK has overtaken it. The sender processes them once.
    pub fn receipts(&mut self, count: u64) -> impl Iterator<Item = Receipt> + '_ {
        let new = count.saturating_sub(self.before).min(self.receipts.len() as u64);
        self.before += new;
        self.receipts.drain(..new as usize)
    }

    /// Full number of a packet of which `low` is the residue modulo 2^32.
    pub fn number(&self, low: u32) -> u64 {
        crate::transport::receiver::unwrap(low, self.largest().unwrap_or(0))
    }

    fn largest(&self) -> Option<u64> {
        self.newest.map(|newest| newest.0)
    }

    /// Adds a number to the ranges. Returns whether ACKs report it.
    fn insert(&mut self, number: u64) -> bool {
        let place = self.ranges.iter().rposition(|range| range.0 <= number);
        match place {
            Some(place) if number < self.ranges[place].1 => return false,
            Some(place) if number == self.ranges[place].1 => self.ranges[place].1 += 1,
            None if number < self.floor => return false,
            _ => self.ranges.insert(place.map_or(0, |place| place + 1), (number, number + 1)),
        }
        self.join(place.unwrap_or(0));
        if self.ranges.len() > MOST_RANGES {
            self.ranges.pop_front();
            self.floor = self.ranges[0].0;
        }
        number >= self.floor
    }

    /// Joins neighboring ranges at `place` and after it.
    fn join(&mut self, place: usize) {
        for place in (place..(place + 2).min(self.ranges.len())).rev() {
            if place + 1 < self.ranges.len() && self.ranges[place].1 == self.ranges[place + 1].0 {
                self.ranges[place].1 = self.ranges[place + 1].1;
                self.ranges.remove(place + 1);
            }
        }
    }

    /// Whether packet `number` shows reordering that is reported at once; `largest` is the largest number before it.
    fn is_reordered(&self, number: u64, largest: Option<u64>) -> bool {
        match self.rules.ack_reorder {
            0 => false,
            1 => largest.map_or(number > 0, |largest| number != largest + 1),
            threshold => {
                let threshold = u64::from(threshold);
                let newest = self.largest().unwrap_or(number);
                let reported = self.largest_acked.and_then(|largest| largest.checked_sub(threshold));
                let missing = self.first_missing(reported.map_or(0, |reported| reported + 1));
                newest >= missing + threshold || reported.is_some_and(|reported| number <= reported)
            }
        }
    }

    /// First number from `start` on that has not arrived.
    fn first_missing(&self, start: u64) -> u64 {
        let holds = self.ranges.iter().find(|range| range.0 <= start && start < range.1);
        holds.map_or(start, |range| range.1)
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.receipts.capacity() * size_of::<Receipt>()
            + self.ranges.capacity() * size_of::<(u64, u64)>()
            + self.chunks.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::time::MILLISECOND as MS;

    fn receiver(ack_every: u32, ack_reorder: u32) -> Receiver {
        Receiver::new(Quic { ack_every, ack_delay: 25 * MS, ack_reorder, ..Quic::default() })
    }

    /// Numbers, one per millisecond, at whose arrival an ACK leaves.
    fn acks(receiver: &mut Receiver, numbers: &[u64]) -> Vec<u64> {
        let mut sent = Vec::new();
        for (at, &number) in (0..).zip(numbers) {
            receiver.take(number, number, at * MS, Ecn::NotEct);
            if receiver.is_due(at * MS) {
                receiver.acknowledge();
                sent.push(number);
            }
        }
        sent
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once() {
        assert_eq!(acks(&mut receiver(2, 1), &[0, 1, 2, 3, 4]), [1, 3]);
        assert_eq!(acks(&mut receiver(10, 1), &(0..25).collect::<Vec<_>>()), [9, 19]);
        let mut held = receiver(2, 1);
        held.take(0, 0, 7 * MS, Ecn::NotEct);
        assert_eq!(held.deadline(), Some(32 * MS), "ack_delay later");
    }

    /// RFC 9000 section 13.2.1: a gap above the highest number, and a number below it.
    #[test]
    fn reordering_is_reported_at_once() {
        assert_eq!(acks(&mut receiver(10, 1), &[0, 2, 1, 3]), [2, 1]);
        assert!(acks(&mut receiver(10, 0), &[0, 2, 1, 3]).is_empty());
    }

    /// Tables of section 6.2.1 of draft-ietf-quic-ack-frequency.
    #[test]
    fn a_reordering_threshold_delays_the_report() {
        assert_eq!(acks(&mut receiver(100, 3), &[0, 1, 3, 4, 5, 8, 9, 10]), [5, 9, 10]);
        assert_eq!(acks(&mut receiver(100, 5), &[0, 1, 3, 5, 6, 7, 8, 9]), [7, 9]);
    }

    #[test]
    fn a_mark_is_reported_at_once() {
        let mut receiver = receiver(10, 1);
        for (number, ce, due) in
            [(0, false, false), (1, true, true), (2, true, false), (3, false, false), (4, true, true)]
        {
            receiver.take(number, number, MS, if ce { Ecn::Ce } else { Ecn::Ect0 });
            assert_eq!(receiver.is_due(MS), due, "{number}");
            if due {
                receiver.acknowledge();
            }
        }
    }

    /// Each arrival is reported once, whatever ACK comes first, with the time of the largest number.
    #[test]
    fn an_overtaken_ack_reports_nothing() {
        let mut receiver = receiver(1, 1);
        let counts: Vec<u64> = [0, 1, 3, 2]
            .map(|number| {
                receiver.take(number, number, 10 * number, Ecn::NotEct);
                receiver.acknowledge()
            })
            .to_vec();
        assert_eq!(counts, [1, 2, 3, 4]);
        let numbers = |receiver: &mut Receiver, count| -> Vec<(u64, u64)> {
            receiver.receipts(count).map(|receipt| (receipt.number, receipt.largest.1)).collect()
        };
        assert_eq!(numbers(&mut receiver, 2), [(0, 0), (1, 10)]);
        assert_eq!(numbers(&mut receiver, 4), [(3, 30), (2, 30)]);
        assert!(numbers(&mut receiver, 3).is_empty());
    }

    /// Of 40 ranges the newest 32 are reported.
    #[test]
    fn an_ack_has_at_most_32_ranges() {
        let mut receiver = receiver(1, 1);
        (0..40).for_each(|number| {
            receiver.take(2 * number, number, MS, Ecn::NotEct);
        });
        let floor = receiver.receipts(40).last().map(|receipt| receipt.floor);
        assert_eq!(floor, Some(16));
        assert!(receiver.take(1, 40, MS, Ecn::NotEct), "its data counts");
        assert_eq!(receiver.receipts(100).count(), 0, "its number does not");
    }
}
