//! One record per outstanding segment: the send time, the transmission order, the counts at that moment, and the state of the segment.
//!
//! Loss recovery, the rate sampler, packet events, and the retransmission timer of Linux read these records. Senders whose recovery needs no
//! send times, and whose algorithm takes no rate samples, keep none: SACK and NewReno work with ranges and counters.
//!
//! Segments in flight form a list in the order of transmission, linked by segment number. A SACKed segment needs no place in that list; its
//! link leads to the next segment that may be missing instead.

use super::rate::Sampler;
use super::repair::undo::Undo;
use crate::ring::Ring;
use fullpipe_cc::{Lost, Nanos};
use std::ops::{Deref, DerefMut};

/// No segment.
const NONE: u64 = u64::MAX;

/// Records of all outstanding segments of a connection.
#[derive(Clone, Debug)]
pub struct Outstanding {
    /// Segment of the first record.
    base: u64,
    records: Ring<Record>,
    /// Of the segments in flight, the one sent first and the one sent last; [`NONE`] if none is in flight.
    oldest: u64,
    newest: u64,
    /// Transmissions of the connection so far.
    transmissions: u64,
    /// SACKed segments.
    sacked: u64,
    /// Lost segments that wait for retransmission.
    lost: u64,
    /// Retransmissions in flight.
    retransmissions: u64,
    /// The last cut of the window, and whether it was spurious.
    pub undo: Undo,
    /// Rate sampler, if the algorithm takes rate samples or packet events.
    pub rate: Option<Box<Sampler>>,
}

/// Records of a connection, on the heap. Senders that keep none take memory for them when they first leave the fast path.
#[derive(Clone, Debug, Default)]
pub struct Records(Option<Box<Outstanding>>);

/// Records of a connection that keeps none.
static EMPTY: Outstanding = Outstanding::new(None);

impl Records {
    /// Records of a sender that keeps them, and that undoes spurious cuts if `undoes`.
    pub fn new(rate: Option<Box<Sampler>>, undoes: bool) -> Records {
        Records(Some(Box::new(Outstanding { undo: Undo::new(undoes), ..Outstanding::new(rate) })))
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |outstanding| size_of::<Outstanding>() + outstanding.heap_bytes())
    }
}

impl Deref for Records {
    type Target = Outstanding;

    #[inline(always)]
    fn deref(&self) -> &Outstanding {
        self.0.as_deref().unwrap_or(&EMPTY)
    }
}

impl DerefMut for Records {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Outstanding {
        self.0.get_or_insert_with(|| Box::new(Outstanding::new(None)))
    }
}

/// A transmitted segment that is not cumulatively acknowledged. Counts are modulo 2^32, so that a record fits a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// Time of the last transmission.
    pub sent_at: Nanos,
    /// Start of the sending interval of its rate sample (P.first_send_time).
    pub first_sent_at: Nanos,
    /// Time of the last delivery before the transmission (P.delivered_time).
    pub delivered_at: Nanos,
    /// Segments delivered before the transmission (P.delivered).
    pub delivered: u32,
    /// Segments in flight after the transmission, this one included (P.tx_in_flight).
    pub in_flight: u32,
    /// Segments lost before the transmission (P.lost).
    pub lost: u32,
    /// Number of the transmission.
    order: u32,
    /// In flight: the segment in flight that was sent just before, and just after; the segment itself where there is none.
    /// SACKed: `newer` is a later segment, and all between are SACKed.
    older: u32,
    newer: u32,
    /// State.
    pub state: State,
    /// Transmitted more than once.
    pub retransmitted: bool,
    /// The algorithm has received the report that this transmission is lost.
    pub loss_reported: bool,
    /// The application limited the sender at the transmission (P.is_app_limited).
    pub app_limited: bool,
    /// The last transmission was a tail loss probe.
    pub is_probe: bool,
}

/// State of a segment that is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It may still arrive.
    #[default]
    InFlight,
    /// It has arrived.
    Sacked,
    /// It is lost and waits for retransmission.
    Lost,
}

/// Moment of a transmission: time and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time.
    pub at: Nanos,
    /// Number of the transmission, modulo 2^32.
    order: u32,
}

impl Moment {
    /// Whether this transmission was before `other`. Of transmissions at one time, the order decides.
    #[inline]
    pub fn is_before(self, other: Moment) -> bool {
        // Without a branch: whether the times of two neighbors differ is unpredictable in bursts.
        let later = (self.order.wrapping_sub(other.order) as i32) >> 31;
        (self.at.wrapping_sub(other.at).wrapping_add_signed(i64::from(later)) as i64) < 0
    }
}

impl Record {
    /// Moment of the last transmission.
    #[inline]
    pub fn moment(&self) -> Moment {
        Moment { at: self.sent_at, order: self.order }
    }
}

impl Outstanding {
    /// Records of a connection that has sent nothing.
    pub const fn new(rate: Option<Box<Sampler>>) -> Outstanding {
        Outstanding {
            base: 0,
            records: Ring::new(),
            oldest: NONE,
            newest: NONE,
            transmissions: 0,
            sacked: 0,
            lost: 0,
            retransmissions: 0,
            undo: Undo::new(false),
            rate,
        }
    }

    /// Starts over for a new connection. Memory is kept.
    pub fn reset(&mut self) {
        self.records.clear();
        self.undo.reset();
        let mut rate = self.rate.take();
        if let Some(rate) = &mut rate {
            rate.reset();
        }
        *self = Outstanding { records: std::mem::take(&mut self.records), undo: self.undo, ..Outstanding::new(rate) };
    }

    /// SACKed segments.
    #[inline(always)]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Lost segments that wait for retransmission.
    #[inline(always)]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Retransmissions in flight.
    #[inline(always)]
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Record of outstanding segment `seq`.
    #[inline(always)]
    pub fn get(&self, seq: u64) -> Option<&Record> {
        self.records.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)
    }

    /// Transmissions of the connection so far.
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// Number of the last transmission of a segment, from 0.
    pub fn number(&self, record: &Record) -> u64 {
        self.transmissions - 1 - u64::from((self.transmissions as u32).wrapping_sub(1).wrapping_sub(record.order))
    }

    /// Records the transmission of segment `seq` at `now`: an outstanding segment, or the one after all of these.
    #[inline(always)]
    pub fn send(&mut self, seq: u64, now: Nanos) {
        if (seq - self.base) < self.records.len() as u64 {
            return self.send_again(seq, now);
        }
        let record = self.put_last(seq, now);
        self.records.push_back(record);
    }

    /// Records the retransmission of outstanding segment `seq`.
    fn send_again(&mut self, seq: u64, now: Nanos) {
        self.set_state(seq, State::Lost);
        self.lost -= 1;
        self.retransmissions += 1;
        let record = self.put_last(seq, now);
        *self.record_mut(seq) = Record { retransmitted: true, ..record };
    }

    /// Puts segment `seq` last in the order of transmission. Returns its record.
    #[inline(always)]
    fn put_last(&mut self, seq: u64, now: Nanos) -> Record {
        let (this, order) = (seq as u32, self.transmissions as u32);
        self.transmissions += 1;
        let newest = std::mem::replace(&mut self.newest, seq);
        let older = if newest == NONE {
            self.oldest = seq;
            this
        } else {
            self.record_mut(newest).newer = this;
            newest as u32
        };
        Record { sent_at: now, order, older, newer: this, ..Record::default() }
    }

    /// Adds the state of the rate sampler to segment `seq`, which has just been sent while `in_flight` others were in flight.
    #[inline(always)]
    pub fn add_rate_state(&mut self, seq: u64, in_flight: u64) {
        let Some(record) = self.records.get_mut((seq - self.base) as usize) else { return };
        if let Some(rate) = &mut self.rate {
            rate.on_sent(record, in_flight);
        }
    }

    /// Notes that the last transmission of segment `seq` is a tail loss probe.
    pub fn set_probe(&mut self, seq: u64) {
        self.record_mut(seq).is_probe = true;
    }

    /// Handles the SACK of segment `seq` at `now`. Returns the record before, unless the segment was SACKed already or is not outstanding.
    #[inline(always)]
    pub fn sack(&mut self, seq: u64, now: Nanos) -> Option<Record> {
        self.get(seq).filter(|record| record.state != State::Sacked)?;
        let record = self.set_state(seq, State::Sacked);
        if let Some(rate) = &mut self.rate {
            rate.deliver(seq, &record, now);
        }
        // The next ACK needs the next record, which has been out of use for a round trip.
        self.records.prefetch((seq + 1 - self.base) as usize);
        Some(record)
    }

    /// Declares outstanding segment `seq` lost.
    pub fn lose(&mut self, seq: u64) {
        self.set_state(seq, State::Lost);
        if let Some(rate) = &mut self.rate {
            rate.found.push(seq);
        }
    }

    /// Puts lost segment `seq` back in flight, before all others in the order of transmission.
    pub fn revive(&mut self, seq: u64) {
        let newer = self.oldest;
        if newer == NONE {
            self.newest = seq;
        } else {
            self.record_mut(newer).older = seq as u32;
        }
        self.oldest = seq;
        let record = self.record_mut(seq);
        (record.older, record.newer) = (seq as u32, if newer == NONE { seq } else { newer } as u32);
        record.state = State::InFlight;
        let retransmitted = record.retransmitted;
        self.lost -= 1;
        self.retransmissions += u64::from(retransmitted);
    }

    /// Removes the first segment below `una` that was not SACKed, and all before it. Returns the segment and its record.
    #[inline(always)]
    pub fn pop_below(&mut self, una: u64, now: Nanos) -> Option<(u64, Record)> {
        let most = una.saturating_sub(self.base) as usize;
        if self.sacked > 0 {
            let sacked = self.records.pop_while(most, |record| record.state == State::Sacked) as u64;
            self.base += sacked;
            self.sacked -= sacked;
        }
        if self.base >= una {
            return None;
        }
        let (seq, record) = (self.base, self.records.pop_front()?);
        self.base = seq + 1;
        if record.state == State::InFlight {
            self.retransmissions -= u64::from(record.retransmitted);
            self.unlink(seq, &record);
        } else {
            self.lost -= 1;
        }
        if let Some(rate) = &mut self.rate {
            rate.deliver(seq, &record, now);
        }
        Some((seq, record))
    }

    /// Whether all outstanding segments are in flight and were sent once: the order of transmission is that of the numbers.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.sacked == 0 && self.lost == 0 && self.retransmissions == 0
    }

    /// Removes the segments below `una` where [`Outstanding::is_in_order`]. Returns the send time of the first and the record of the last.
    #[inline(always)]
    pub fn pop_in_order(&mut self, una: u64, now: Nanos) -> Option<(Nanos, Record)> {
        let first = self.records.front()?.sent_at;
        let count = una - self.base;
        let last = self.records.pop_many(count as usize)?;
        self.base = una;
        match self.records.get_mut(0) {
            Some(next) => {
                next.older = una as u32;
                self.oldest = una;
            }
            None => (self.oldest, self.newest) = (NONE, NONE),
        }
        if let Some(rate) = &mut self.rate {
            rate.deliver_in_order(count, una - 1, &last, now);
        }
        // The next ACK needs the next record, which has been out of use for a round trip.
        self.records.prefetch(0);
        Some((first, last))
    }

    /// Removes all segments below `una`.
    #[inline]
    pub fn forget_below(&mut self, una: u64, now: Nanos) {
        while self.pop_below(una, now).is_some() {}
    }

    /// First segment from `seq` on that is not SACKed.
    #[inline(always)]
    pub fn next_missing(&mut self, seq: u64) -> u64 {
        if self.sacked == 0 {
            return seq;
        }
        let mut end = seq;
        while let Some(record) = self.get(end).filter(|record| record.state == State::Sacked) {
            end = self.full(record.newer);
        }
        // Path compression: later searches take one step.
        let mut next = seq;
        while next < end {
            let record = self.record_mut(next);
            let link = std::mem::replace(&mut record.newer, end as u32);
            next = self.full(link);
        }
        end
    }

    /// Segment in flight that was sent first, and the moment of its transmission.
    #[inline(always)]
    pub fn oldest(&self) -> Option<(u64, Moment)> {
        Some((self.oldest, self.get(self.oldest)?.moment()))
    }

    /// Segment in flight that was sent just after `seq`, which is in flight.
    #[inline]
    pub fn newer(&self, seq: u64) -> Option<u64> {
        self.neighbor(seq, self.get(seq)?.newer)
    }

    /// Segment in flight that was sent just before `seq`, of which `record` is the record while it was in flight.
    #[inline]
    pub fn older(&self, seq: u64, record: &Record) -> Option<u64> {
        self.neighbor(seq, record.older)
    }

    /// Send time of the first segment from `start` to `end` that was not SACKed; `None` if any of them was retransmitted.
    pub fn first_sent_once(&self, start: u64, end: u64) -> Option<Nanos> {
        let mut first = None;
        for seq in start..end {
            let record = self.get(seq).filter(|record| !record.retransmitted)?;
            first = first.or((record.state != State::Sacked).then_some(record.sent_at));
        }
        first
    }

    /// Counts segment `seq` as lost for the rate sampler. `None` without one, or if the loss of this transmission is counted already.
    pub fn report_loss(&mut self, seq: u64) -> Option<Lost> {
        let rate = self.rate.as_mut()?;
        let record = self.records.get_mut(usize::try_from(seq.checked_sub(self.base)?).ok()?)?;
        if std::mem::replace(&mut record.loss_reported, true) {
            return None;
        }
        Some(rate.on_lost(seq, record))
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        let rate = self.rate.as_ref().map_or(0, |rate| size_of::<Sampler>() + rate.heap_bytes());
        self.records.heap_bytes() + rate
    }

    /// Changes the state of outstanding segment `seq` to SACKed or lost. Returns the record before.
    #[inline(always)]
    fn set_state(&mut self, seq: u64, state: State) -> Record {
        let record = self.record_mut(seq);
        let before = *record;
        record.state = state;
        match before.state {
            State::InFlight => {
                self.retransmissions -= u64::from(before.retransmitted);
                self.unlink(seq, &before);
            }
            State::Sacked => self.sacked -= 1,
            State::Lost => self.lost -= 1,
        }
        if state == State::Sacked {
            self.record_mut(seq).newer = (seq + 1) as u32;
            self.sacked += 1;
        } else {
            self.lost += 1;
        }
        before
    }

    /// Removes segment `seq`, of which `record` is the record while it was in flight, from the order of transmission.
    #[inline(always)]
    fn unlink(&mut self, seq: u64, record: &Record) {
        let (this, Record { older, newer, .. }) = (seq as u32, *record);
        if older == this {
            self.oldest = self.neighbor(seq, newer).unwrap_or(NONE);
        } else {
            let end = if newer == this { older } else { newer };
            self.low_mut(older).newer = end;
        }
        if newer == this {
            self.newest = self.neighbor(seq, older).unwrap_or(NONE);
        } else {
            let end = if older == this { newer } else { older };
            self.low_mut(newer).older = end;
        }
    }

    #[inline(always)]
    fn neighbor(&self, seq: u64, low: u32) -> Option<u64> {
        (low != seq as u32).then(|| self.full(low))
    }

    /// Full number of an outstanding segment, from its low 32 bits.
    #[inline(always)]
    fn full(&self, low: u32) -> u64 {
        self.base + u64::from(low.wrapping_sub(self.base as u32))
    }

    /// Record of an outstanding segment, from the low 32 bits of its number.
    #[inline(always)]
    fn low_mut(&mut self, low: u32) -> &mut Record {
        self.records.get_mut(low.wrapping_sub(self.base as u32) as usize).expect("outstanding")
    }

    #[inline(always)]
    fn record_mut(&mut self, seq: u64) -> &mut Record {
        self.records.get_mut((seq - self.base) as usize).expect("outstanding")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Segments in flight, in the order of transmission, forwards and backwards.
    fn in_flight(log: &Outstanding) -> (Vec<u64>, Vec<u64>) {
        let some = |seq: u64| (seq != NONE).then_some(seq);
        let forwards = std::iter::successors(some(log.oldest), |&seq| log.newer(seq)).collect();
        let backwards = std::iter::successors(some(log.newest), |&seq| log.older(seq, log.get(seq)?)).collect();
        (forwards, backwards)
    }

    proptest! {
        /// The order of transmission, the counts, and the gaps agree with plain lists, also where segment numbers pass 2^32.
        #[test]
        fn records_agree_with_plain_lists(
            begin in prop_oneof![Just(0), Just((1 << 32) - 20)],
            steps in prop::collection::vec((0u8..6, 0u64..20), 1..200),
        ) {
            let mut log = Outstanding::new(None);
            log.base = begin;
            let (mut list, mut states, mut next, mut una) = (Vec::new(), Vec::new(), begin, begin);
            for (now, (step, offset)) in (0..).zip(steps) {
                let seq = una + offset;
                let known = states.get((seq - begin) as usize).copied();
                match step {
                    0 => { log.send(next, now); list.push(next); states.push(State::InFlight); next += 1; }
                    1 if known.is_some_and(|state| state != State::Sacked) => {
                        log.send(seq, now);
                        list.retain(|&x| x != seq);
                        list.push(seq);
                        states[(seq - begin) as usize] = State::InFlight;
                    }
                    2 if known.is_some() => {
                        let new = log.sack(seq, now).is_some();
                        prop_assert_eq!(new, known != Some(State::Sacked));
                        list.retain(|&x| x != seq);
                        states[(seq - begin) as usize] = State::Sacked;
                    }
                    3 if known == Some(State::InFlight) => {
                        log.lose(seq);
                        list.retain(|&x| x != seq);
                        states[(seq - begin) as usize] = State::Lost;
                    }
                    4 if seq <= next => { una = seq; log.forget_below(una, now); list.retain(|&x| x >= una); }
                    5 => {
                        let missing = (seq..next).find(|x| states[(x - begin) as usize] != State::Sacked);
                        prop_assert_eq!(log.next_missing(seq), missing.unwrap_or(next.max(seq)));
                    }
                    _ => {}
                }
                let (forwards, mut backwards) = in_flight(&log);
                backwards.reverse();
                prop_assert_eq!(&forwards, &list);
                prop_assert_eq!(&backwards, &list);
                let count = |state| states[(una - begin) as usize..].iter().filter(|&&s| s == state).count() as u64;
                prop_assert_eq!((log.sacked(), log.lost()), (count(State::Sacked), count(State::Lost)));
                let again = list.iter().filter(|&&seq| log.get(seq).is_some_and(|record| record.retransmitted)).count();
                prop_assert_eq!(log.retransmissions(), again as u64);
                let first = list.first().and_then(|&seq| Some((seq, log.get(seq)?.moment())));
                prop_assert_eq!(log.oldest(), first);
            }
        }
    }

    /// A lost segment that may still arrive was sent before all that are in flight.
    #[test]
    fn a_revived_segment_is_the_oldest() {
        let mut log = Outstanding::new(None);
        (0..4).for_each(|seq| log.send(seq, seq));
        log.lose(0);
        log.lose(1);
        log.revive(1);
        log.revive(0);
        assert_eq!(in_flight(&log), (vec![0, 1, 2, 3], vec![3, 2, 1, 0]));
        let record = log.get(0).expect("outstanding");
        assert_eq!((record.sent_at, record.retransmitted, record.state), (0, false, State::InFlight));
    }

    /// Of two transmissions at one time the first is before the other, also where their count passes 2^32.
    #[test]
    fn moments_follow_the_order_of_transmission() {
        let mut log = Outstanding { transmissions: u64::from(u32::MAX) - 1, ..Outstanding::new(None) };
        (0..3).for_each(|seq| log.send(seq, 7));
        log.send(0, 8);
        let last = |seq| log.get(seq).expect("outstanding").moment();
        assert!(last(1).is_before(last(2)) && !last(2).is_before(last(1)) && !last(1).is_before(last(1)));
        assert!(last(2).is_before(last(0)));
        let number = |seq| log.number(log.get(seq).expect("outstanding"));
        assert_eq!([1, 2, 0].map(number), [1 << 32, (1 << 32) + 1, (1 << 32) + 2].map(|number: u64| number - 1));
    }
}
