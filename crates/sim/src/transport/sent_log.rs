//! What is known of each outstanding segment: when it was last sent, whether more than once, and what has become of it; and in
//! which order those were sent that may still arrive.

use crate::ring::Ring;
use fullpipe_cc::Nanos;

/// All segments outstanding, by number and by time of sending. A segment takes [`Sent`] and no allocation of its own.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct SentLog {
    /// The first segment that `sent` knows.
    base: u64,
    sent: Ring<Sent>,
    /// Of those under way the one sent first, and when; and the one sent last.
    oldest: Option<(u64, Moment)>,
    newest: Option<u64>,
    /// How many have been sent, modulo 2^32.
    count: u32,
}

/// A moment of sending: of those at the same time, which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub at: Nanos,
    /// Modulo 2^32.
    order: u32,
}

impl Moment {
    /// Whether it is before `other`.
    #[inline]
    pub fn is_before(self, other: Moment) -> bool {
        // Without a branch: of segments that leave together nobody can guess whether their times differ.
        let later = (self.order.wrapping_sub(other.order) as i32) >> 31;
        (self.at.wrapping_sub(other.at).wrapping_add_signed(i64::from(later)) as i64) < 0
    }
}

/// A segment that has been sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// When, for the last time.
    pub at: Nanos,
    /// As [`Moment::order`].
    order: u32,
    /// The segment under way that was sent just before, and just after; itself where there is none. Modulo 2^32.
    older: u32,
    newer: u32,
    /// Sent more than once.
    pub again: bool,
    /// What has become of it.
    pub fate: Fate,
}

impl Sent {
    /// When it was sent, for the last time.
    #[inline]
    pub fn last(&self) -> Moment {
        Moment { at: self.at, order: self.order }
    }
}

/// What has become of a segment that is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It may still arrive.
    #[default]
    UnderWay,
    /// It is SACKed.
    Arrived,
    /// It is lost, and to be sent again.
    Lost,
}

impl SentLog {
    /// Forgets everything; segment `base` is the next to be sent.
    pub fn clear(&mut self, base: u64) {
        self.sent.clear();
        (self.base, self.oldest, self.newest) = (base, None, None);
    }

    /// A moment of sending after all that are known.
    pub fn moment(&mut self, at: Nanos) -> Moment {
        self.count = self.count.wrapping_add(1);
        Moment { at, order: self.count }
    }

    /// When each segment outstanding was last sent.
    pub fn times(&self) -> impl Iterator<Item = Nanos> {
        self.sent.iter().map(|sent| sent.at)
    }

    /// Those from `base` on are outstanding, sent once each, in their order and at these times.
    pub fn refill(&mut self, base: u64, times: impl Iterator<Item = Nanos>) {
        self.clear(base);
        for (seq, at) in (base..).zip(times) {
            let Moment { order, .. } = self.moment(at);
            let (older, newer) = (seq.saturating_sub(1).max(base) as u32, (seq + 1) as u32);
            self.sent.push_back(Sent { at, order, older, newer, again: false, fate: Fate::UnderWay });
            self.newest = Some(seq);
        }
        if let Some(newest) = self.newest {
            self.sent_mut(newest).newer = newest as u32;
            self.begin_with(Some(base));
        }
    }

    /// Segment `seq` is sent: one of those known, or the next one after them.
    #[inline]
    pub fn note(&mut self, seq: u64, now: Nanos) {
        if ((seq - self.base) as usize) >= self.sent.len() {
            return self.note_new(seq, now);
        }
        self.settle(seq, Fate::Lost);
        let sent = self.put_last(seq, now, true);
        *self.sent_mut(seq) = sent;
    }

    /// Segment `seq`, the next one after those known, is sent.
    #[inline]
    pub fn note_new(&mut self, seq: u64, now: Nanos) {
        let sent = self.put_last(seq, now, false);
        self.sent.push_back(sent);
    }

    /// The same of those from `first` to `end`.
    #[inline(always)]
    pub fn note_many(&mut self, first: u64, end: u64, now: Nanos) {
        debug_assert!(first < end);
        let mut before = match self.newest {
            Some(newest) => {
                self.sent_mut(newest).newer = first as u32;
                newest
            }
            None => {
                self.oldest = Some((first, Moment { at: now, order: self.count.wrapping_add(1) }));
                first
            }
        };
        for seq in first..end {
            self.count = self.count.wrapping_add(1);
            let newer = if seq + 1 < end { seq + 1 } else { seq } as u32;
            let (order, older) = (self.count, before as u32);
            self.sent.push_back(Sent { at: now, order, older, newer, again: false, fate: Fate::UnderWay });
            before = seq;
        }
        self.newest = Some(before);
    }

    /// Segment `seq` is the one sent last; what is to be known of it.
    #[inline]
    fn put_last(&mut self, seq: u64, now: Nanos, again: bool) -> Sent {
        let moment @ Moment { at, order } = self.moment(now);
        let older = self.newest.replace(seq);
        match older {
            Some(older) => self.sent_mut(older).newer = seq as u32,
            None => self.oldest = Some((seq, moment)),
        }
        let older = older.unwrap_or(seq) as u32;
        Sent { at, order, older, newer: seq as u32, again, fate: Fate::UnderWay }
    }

    /// Segment `seq`, if it is outstanding.
    #[inline(always)]
    pub fn get(&self, seq: u64) -> Option<&Sent> {
        self.sent.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)
    }

    /// Segment `seq` is no longer under way: it has met its `fate`. What was known of it; `None` if it is not outstanding.
    #[inline(always)]
    pub fn settle(&mut self, seq: u64, fate: Fate) -> Option<Sent> {
        let sent = self.sent.get_mut(usize::try_from(seq.checked_sub(self.base)?).ok()?)?;
        let before = *sent;
        sent.fate = fate;
        if before.fate == Fate::UnderWay {
            self.unlink(seq, &before);
        }
        Some(before)
    }

    /// Takes segment `seq`, of which so much was known while it was under way, out of the order of sending.
    #[inline(always)]
    fn unlink(&mut self, seq: u64, sent: &Sent) {
        let this = seq as u32;
        if sent.older == this && sent.newer != this {
            // The case of nearly all that arrive.
            let newer = self.low_mut(sent.newer);
            newer.older = sent.newer;
            let moment = newer.last();
            self.oldest = Some((self.full(sent.newer), moment));
            return;
        }
        self.unlink_any(seq, sent);
    }

    /// The same wherever it stands.
    #[inline(never)]
    fn unlink_any(&mut self, seq: u64, sent: &Sent) {
        let (this, Sent { older, newer, .. }) = (seq as u32, *sent);
        match older == this {
            false => self.low_mut(older).newer = if newer == this { older } else { newer },
            true => self.begin_with(self.neighbour(seq, newer)),
        }
        match newer == this {
            false => self.low_mut(newer).older = if older == this { newer } else { older },
            true => self.newest = self.neighbour(seq, older),
        }
    }

    /// Segment `oldest` is the one under way that was sent first.
    fn begin_with(&mut self, oldest: Option<u64>) {
        self.oldest = oldest.and_then(|seq| Some((seq, self.get(seq)?.last())));
    }

    /// Segment `seq`, which was thought lost, may still arrive: it goes before all others, which were sent later.
    pub fn hope(&mut self, seq: u64) {
        let newer = self.oldest().map(|(newer, _)| newer);
        match newer {
            Some(newer) => self.sent_mut(newer).older = seq as u32,
            None => self.newest = Some(seq),
        }
        let sent = self.sent_mut(seq);
        (sent.older, sent.newer) = (seq as u32, newer.unwrap_or(seq) as u32);
        sent.fate = Fate::UnderWay;
        self.begin_with(Some(seq));
    }

    /// The segment under way that was sent first, and when.
    #[inline(always)]
    pub fn oldest(&self) -> Option<(u64, Moment)> {
        self.oldest
    }

    /// The segment under way that was sent just after `seq`, which is under way too.
    #[inline]
    pub fn newer(&self, seq: u64) -> Option<u64> {
        self.neighbour(seq, self.get(seq)?.newer)
    }

    /// The segment under way that was sent just before `seq`, which is under way too.
    #[inline]
    pub fn older(&self, seq: u64) -> Option<u64> {
        self.before(seq, self.get(seq)?)
    }

    /// The same of one of which so much is known, or was while it was under way.
    #[inline]
    pub fn before(&self, seq: u64, sent: &Sent) -> Option<u64> {
        self.neighbour(seq, sent.older)
    }

    /// Of the segments below `una`, which have been acknowledged, the first that was not known to have arrived, and what was known of it;
    /// nothing is known of those up to it any more.
    #[inline(always)]
    pub fn pop_below(&mut self, una: u64) -> Option<(u64, Sent)> {
        // Nearly all behind a loss.
        let arrived = |sent: &Sent| sent.fate == Fate::Arrived;
        self.base += self.sent.pop_while(una.saturating_sub(self.base) as usize, arrived) as u64;
        if self.base >= una {
            return None;
        }
        let (seq, sent) = (self.base, self.sent.pop_front()?);
        self.base = seq + 1;
        if sent.fate == Fate::UnderWay {
            self.unlink(seq, &sent);
        }
        Some((seq, sent))
    }

    /// Segments below `una` have been acknowledged.
    pub fn forget_below(&mut self, una: u64) {
        while self.pop_below(una).is_some() {}
        self.base = una;
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.sent.heap_bytes()
    }

    #[inline]
    fn neighbour(&self, seq: u64, low: u32) -> Option<u64> {
        (low != seq as u32).then(|| self.full(low))
    }

    /// The full number of an outstanding segment.
    #[inline]
    fn full(&self, low: u32) -> u64 {
        self.base + u64::from(low.wrapping_sub(self.base as u32))
    }

    /// An outstanding segment by its number modulo 2^32.
    #[inline]
    fn low_mut(&mut self, low: u32) -> &mut Sent {
        self.sent.get_mut(low.wrapping_sub(self.base as u32) as usize).expect("outstanding")
    }

    #[inline]
    fn sent_mut(&mut self, seq: u64) -> &mut Sent {
        self.sent.get_mut((seq - self.base) as usize).expect("outstanding")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The segments under way, in the order of sending and against it.
    fn under_way(log: &SentLog) -> (Vec<u64>, Vec<u64>) {
        let forwards = std::iter::successors(log.oldest.map(|(seq, _)| seq), |&seq| log.newer(seq)).collect();
        let backwards = std::iter::successors(log.newest, |&seq| log.older(seq)).collect();
        (forwards, backwards)
    }

    proptest! {
        /// Its two orders agree with a plain list from which segments are taken and to whose end they are put; also where numbers
        /// pass 2^32.
        #[test]
        fn behaves_like_a_list(
            begin in prop_oneof![Just(0), Just((1 << 32) - 20)],
            steps in prop::collection::vec((0u8..5, 0u64..20), 1..200),
        ) {
            let mut log = SentLog::default();
            log.forget_below(begin);
            let (mut list, mut next, mut una) = (Vec::new(), begin, begin);
            for (now, (step, offset)) in (0..).zip(steps) {
                let seq = una + offset;
                match step {
                    0 => { log.note(next, now); list.push(next); next += 1; }
                    4 => { log.note_many(next, next + 1 + offset % 3, now); list.extend(next..next + 1 + offset % 3); next += 1 + offset % 3; }
                    1 if seq < next => { log.note(seq, now); list.retain(|&x| x != seq); list.push(seq); }
                    2 if seq < next => { log.settle(seq, Fate::Arrived); list.retain(|&x| x != seq); }
                    3 if seq < next => { una = seq; log.forget_below(una); list.retain(|&x| x >= una); }
                    _ => {}
                }
                let (forwards, mut backwards) = under_way(&log);
                backwards.reverse();
                prop_assert_eq!(&forwards, &list);
                prop_assert_eq!(&backwards, &list);
                let first = list.first().and_then(|&seq| Some((seq, log.get(seq)?.last())));
                prop_assert_eq!(log.oldest(), first);
            }
        }
    }

    /// A segment thought lost that may still arrive was sent before all that are under way.
    #[test]
    fn hope_puts_it_first() {
        let mut log = SentLog::default();
        (0..4).for_each(|seq| log.note(seq, seq));
        log.settle(0, Fate::Lost);
        log.settle(1, Fate::Lost);
        log.hope(1);
        log.hope(0);
        assert_eq!(under_way(&log), (vec![0, 1, 2, 3], vec![3, 2, 1, 0]));
        assert_eq!(log.get(0).map(|sent| (sent.at, sent.again, sent.fate)), Some((0, false, Fate::UnderWay)));
    }

    /// Of two at the same time the one sent first is before the other, also where their count passes 2^32.
    #[test]
    fn moments_are_in_the_order_of_sending() {
        let mut log = SentLog { count: u32::MAX - 1, ..SentLog::default() };
        (0..3).for_each(|seq| log.note(seq, 7));
        log.note(0, 8);
        let last = |seq| log.get(seq).expect("outstanding").last();
        assert!(last(1).is_before(last(2)) && !last(2).is_before(last(1)) && !last(1).is_before(last(1)));
        assert!(last(2).is_before(last(0)));
    }
}
