//! Recovery by time: RACK-TLP, RFC 8985. A segment is lost if one sent sufficiently later has arrived, be it new or sent again, so
//! that a retransmission lost as well is found like any other; where ACKs stay away, a probe brings one (`probe.rs`), and a timer
//! finds what is overdue. How long it waits for what was overtaken, `reordering.rs` says; how much it sends, `prr.rs`; which cuts
//! were needless, `undo.rs`.
//!
//! While nothing is suspected the times of sending are all that is noted (`Rest`); when something is, what is known of each segment
//! outstanding is made from them.
//!
//! Choices where the RFC leaves them, and deviations:
//! - Of two segments sent at the same time, the one sent first counts as before the other; the RFC has but their numbers to go by.
//! - The least RTT is that of the whole connection (section 6.2, step 1, allows for a windowed one too).
//! - Step 2 leaves out the ACK of a retransmission whose echoed timestamp is older. Here that is asked of cumulative ACKs alone: what
//!   a duplicate ACK echoes is not of the segment it SACKs (RFC 7323 section 4.3), and the probe of a tail of several lost segments
//!   could not show their loss.
//! - The loss of a retransmission that is found in recovery is no second cut, as in Linux. Section 9.3 leaves that to proportional rate
//!   reduction; where there is none (`prr = false`), it asks for one more, as RFC 5681 section 4.3 does.
//! - A segment sent after a recovery began that is lost and sent again within it belongs to another window, for whose loss RFC 5681
//!   section 4.3 has the window cut as well. As in Linux that cut comes when the recovery is over, unless the retransmissions of all
//!   such segments have arrived by then.
//! - Any DSACK widens the window of step 4, one that a probe has caused as well, as the RFC writes it.
//! - A cut that turns out needless counts as reordering seen.
//! - Section 7.4.2's third case, a duplicate ACK without SACK, cannot come: receivers tell of duplicates (RFC 2883).

use super::probe::Probe;
use super::prr::Prr;
use super::reordering::Reordering;
use super::undo::Undo;
use super::{Expiry, Loss, News, Repair, Verdict};
use crate::packet::{Block, SackBlocks, is_same};
use crate::ring::Ring;
use crate::scenario::Tcp;
use crate::transport::progress::{Phase, Progress};
use crate::transport::ranges::Ranges;
use crate::transport::rate::Sampler;
use crate::transport::receiver::unwrap;
use crate::transport::rto::{RtoRule, RttEstimator};
use crate::transport::sent_log::{Fate, Moment, Sent, SentLog};
use fullpipe_cc::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No segment: a number that none has.
const NONE: u64 = u64::MAX;
/// Linux adds this to the reordering timer (TCP_TIMEOUT_MIN_US).
const LINUX_MARGIN: Nanos = 2_000_000;

/// What the first loss calls for that is found in `phase`: RFC 3168 section 6.1.2 has the window cut once a window, for marks and losses
/// together.
fn first_loss(phase: Phase) -> Loss {
    if matches!(phase, Phase::Reduction { .. }) { Loss::Repair } else { Loss::Cut }
}

/// RACK-TLP. In the order of use, in whole lines of the cache: what is touched while nothing is suspected, what most ACKs behind a loss touch, the
/// rest.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Rack {
    rest: Rest,
    /// RACK.rtt.
    rtt: Nanos,
    /// RACK.min_RTT: of segments sent once, so that it is known before the first ACK of new data.
    min_rtt: Option<Nanos>,
    rto_at: Nanos,
    /// When something is overdue; `Nanos::MAX` if nothing can be.
    reorder_at: Nanos,
    probe: Probe,
    /// When the RFC's RACK.segment was sent: of the segments that have arrived the one sent last.
    latest: Option<Moment>,
    log: SentLog,
    /// Of the segments under way that were sent before it, the one sent last; [`NONE`] if there is none.
    overtaken: u64,
    /// How many are lost.
    lost_count: u64,
    /// How many retransmissions are under way.
    again_count: u64,
    /// RACK.fack: one past the highest segment that has arrived.
    fack: u64,
    /// The same before the ACK at hand. What it delivers counts in the order of the segments (section 6.2, step 3), however it tells:
    /// of what it acknowledges none has come after what it SACKs.
    fack_before: u64,
    /// How many segments the last ACK has delivered.
    delivered: u64,
    pub(in crate::transport) reordering: Reordering,
    /// The segment that the ACK at hand says has arrived twice.
    duplicate: Option<u64>,
    /// Earliest send time of the segments sent once that the last SACK blocks newly report.
    sacked_from: Option<Nanos>,
    /// Added to the reordering timer.
    timer_margin: Nanos,
    /// The first repair goes whatever the window says.
    repeat_first: bool,
    /// The last cut is to be undone.
    undoes: bool,
    /// What the last ACK with SACK blocks told.
    told: SackBlocks,
    sacked: Ranges,
    /// Those found lost of which nobody has been told, where somebody is to be.
    untold: Option<Vec<u64>>,
    prr: Option<Prr>,
    /// Zero before the first sample.
    srtt: Nanos,
    /// Lost segments to be sent again, lowest first; some may have arrived since.
    lost: BinaryHeap<Reverse<u64>>,
    undo: Undo,
    /// A cut may be undone (key `undo`).
    undo_allowed: bool,
}

/// What is noted while nothing is suspected.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct Rest {
    /// When each segment outstanding was sent, in their order; nothing where the rate of delivery is measured, which takes that too.
    times: Ring<Nanos>,
    /// When the last one acknowledged in this rest was sent.
    acked: Option<Nanos>,
    /// There is none before this is acknowledged: what was outstanding when the last one ended.
    from: u64,
}

impl Repair for Rack {
    fn reset(&mut self) {
        self.log.clear(0);
        self.rest.times.clear();
        self.sacked.clear();
        self.lost.clear();
        self.probe.reset();
        let Rack { rest, log, sacked, lost, untold, .. } = self;
        let rest = Rest { times: std::mem::take(&mut rest.times), ..Rest::default() };
        let (log, sacked, lost) = (std::mem::take(log), std::mem::take(sacked), std::mem::take(lost));
        let untold = untold.take().map(|mut untold| {
            untold.clear();
            untold
        });
        *self =
            Rack { rest, log, sacked, lost, untold, ..Rack::new(self.probe, self.prr.is_some(), self.timer_margin) };
    }

    fn on_sack(
        &mut self,
        blocks: &SackBlocks,
        cumulative: u64,
        now: Nanos,
        progress: &Progress,
        mut news: Option<&mut Vec<u64>>,
    ) -> u64 {
        self.fack_before = self.fack;
        self.sacked_from = None;
        let number = |edge: u32| unwrap(edge, progress.una);
        let told = |&(start, end): &Block| (number(start), number(end));
        let [first, second, _] = blocks.each_ref().map(told);
        // RFC 2883 section 4: the first block tells of a duplicate if it is below the cumulative point or inside the second.
        if first.0 < first.1 && (first.1 <= cumulative || (second.0 <= first.0 && first.1 <= second.1)) {
            self.duplicate = Some(first.0);
            self.undoes |= self.undo.on_duplicate();
        }
        // An ACK that a later one has overtaken tells of what lies below the cumulative point now.
        let floor = cumulative.max(progress.una);
        let before = std::mem::replace(&mut self.told, *blocks);
        // Most blocks are told again and again, and most ACKs tell of one that has grown.
        if blocks[1..] == before[1..] && !before.contains(&blocks[0]) {
            return self.take_sacked(first.0.max(floor), first.1, now, &mut news);
        }
        let mut new = 0;
        for block in blocks.iter().filter(|block| !before.contains(block)) {
            let (start, end) = told(block);
            new += self.take_sacked(start.max(floor), end, now, &mut news);
        }
        new
    }

    fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict {
        self.delivered = news.sacked;
        self.srtt = news.rtt.smoothed().unwrap_or(0);
        while let Some((seq, sent)) = self.log.pop_below(progress.una) {
            self.take_acked(seq, sent, news);
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(progress.una);
            if self.sacked.is_empty() {
                self.told = SackBlocks::default();
            }
        }
        self.probe.on_sample();
        let over = progress.past_point();
        let repairing = progress.phase.is_repairing() && !over;
        let original = self.undo.is_of_original(news.stamp, news.rtt.timestamp_tick());
        self.undoes |= match progress.phase {
            Phase::Open | Phase::Reduction { .. } => false,
            // Others may have been lost indeed: what their retransmissions bring is waited for.
            Phase::Recovery { .. } => original && self.again_count == 0,
            Phase::Restart { .. } => original,
        };
        let loss = self.on_ack(news, repairing, over, progress);
        if loss.is_none() && !repairing && self.sacked.is_empty() && progress.flight_size() > 0 {
            self.probe.schedule(news.now, news.rtt, progress);
        } else {
            self.probe.cancel();
        }
        Verdict { over, loss, ..Verdict::default() }
    }

    fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss> {
        self.on_told(news, progress)
    }

    fn begin(&mut self, window: u64, progress: &Progress) {
        self.probe.abandon();
        self.repeat_first = self.lost_count > 0;
        let in_flight = self.in_network(progress);
        if let Some(prr) = &mut self.prr {
            let outstanding = progress.flight_size() - self.sacked.count();
            prr.deliver(self.delivered);
            match progress.phase {
                Phase::Reduction { .. } => prr.go_on(in_flight, false),
                _ => prr.begin(window, outstanding, in_flight),
            }
        }
    }

    fn sinks(&mut self, from: u64, to: u64, progress: &Progress) -> bool {
        if let Some(prr) = &mut self.prr {
            prr.sink(from, to, progress.flight_size() - self.sacked.count());
        }
        self.prr.is_some()
    }

    /// Section 6.3: the first segment is lost, and all that are overdue.
    fn restart(&mut self, now: Nanos, progress: &mut Progress) {
        self.probe.abandon();
        self.repeat_first = true;
        if self.log.get(progress.una).is_some_and(|sent| sent.fate == Fate::UnderWay) {
            self.lose(progress.una);
        }
        self.lose_overdue(None, self.wait(true), now);
        self.reorder_at = Nanos::MAX;
    }

    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        if self.probe.due {
            return self.probe.next_segment(progress);
        }
        let window = match &self.prr {
            Some(prr) if progress.phase.is_reducing() => prr.window(),
            _ => window,
        };
        if !std::mem::take(&mut self.repeat_first) && self.in_network(progress) >= window {
            progress.cwnd_limited = true;
            return None;
        }
        let lost = if self.lost_count > 0 { self.next_lost() } else { None };
        lost.or_else(|| progress.next_new())
    }

    #[inline]
    fn sends_only_new(&self, progress: &Progress) -> bool {
        let by_window = self.prr.is_none() || !progress.phase.is_reducing();
        self.lost_count == 0 && by_window && !self.probe.due && !self.repeat_first
    }

    #[inline(always)]
    fn on_new(&mut self, first: u64, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        self.log.note_many(first, progress.nxt, now);
        if let Some(prr) = &mut self.prr {
            (first..progress.nxt).for_each(|_| prr.on_sent());
        }
        if !progress.phase.is_repairing() && self.sacked.is_empty() {
            self.probe.schedule(now, rtt, progress);
        }
    }

    fn on_sent(&mut self, seq: u64, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
        if self.settle(seq, Fate::Lost).is_none() {
            self.log.note_new(seq, now);
            if !progress.phase.is_repairing() && self.sacked.is_empty() && !self.probe.is_out(progress.nxt) {
                self.probe.schedule(now, rtt, progress);
            }
            return;
        }
        self.again_count += 1;
        self.undo.on_sent_again(now);
        self.log.note(seq, now);
    }

    fn wake_at(&mut self, rto_at: Nanos) -> Nanos {
        self.rto_at = rto_at;
        self.rewake_at(rto_at)
    }

    fn rewake_at(&self, _wake_at: Nanos) -> Nanos {
        self.rto_at.min(self.probe.at).min(self.reorder_at)
    }

    /// Section 7.2: the probe never comes after the retransmission timer, but in its place.
    fn on_timer(&mut self, now: Nanos, progress: &Progress) -> Expiry {
        if self.reorder_at <= now {
            self.delivered = 0;
            let repairing = progress.phase.is_repairing();
            self.look(repairing, now);
            return Expiry::Looked((!repairing && self.lost_count > 0).then_some(first_loss(progress.phase)));
        }
        if self.probe.at == Nanos::MAX {
            return Expiry::Timeout;
        }
        self.probe.expire();
        Expiry::Probe
    }

    fn on_cut(&mut self, before: Option<(f64, f64)>) {
        self.undo.on_cut(before.filter(|_| self.undo_allowed));
    }

    #[inline]
    fn undoes(&mut self) -> Option<(f64, f64)> {
        if !self.undoes {
            return None;
        }
        self.take_back()
    }

    #[inline]
    fn has_found(&self) -> bool {
        self.untold.as_ref().is_some_and(|untold| !untold.is_empty())
    }

    fn take_found(&mut self, found: &mut Vec<u64>) {
        if let Some(untold) = &mut self.untold {
            found.append(untold);
        }
    }

    /// The RFC's pipe: what is neither acknowledged nor SACKed nor lost.
    fn in_network(&self, progress: &Progress) -> u64 {
        progress.flight_size() - self.sacked.count() - self.lost_count
    }

    fn arrived(&self, _progress: &Progress) -> u64 {
        self.sacked.count()
    }

    fn is_calm(&self) -> bool {
        self.sacked.is_empty() && self.lost_count == 0
    }

    /// The times of all segments are noted.
    fn watches_all(&self) -> bool {
        true
    }

    fn rest(&mut self, progress: &Progress) -> bool {
        let in_order = match (self.latest, self.log.oldest()) {
            (Some(latest), Some((_, oldest))) => !oldest.is_before(latest),
            _ => true,
        };
        let nothing_open =
            !self.repeat_first && self.again_count == 0 && self.reorder_at == Nanos::MAX && self.probe.is_idle();
        if progress.una < self.rest.from || !nothing_open || !in_order || !self.is_calm() {
            return false;
        }
        self.rest.times.clear();
        if self.untold.is_none() {
            self.log.times().for_each(|at| self.rest.times.push_back(at));
        }
        self.log.clear(0);
        self.lost.clear();
        self.overtaken = NONE;
        true
    }

    #[inline(always)]
    fn note_sent(&mut self, count: u64, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        (0..count).for_each(|_| self.rest.times.push_back(now));
        self.probe.schedule(now, rtt, progress);
    }

    #[inline(always)]
    fn note_acked(&mut self, acked: u64, sent: Option<Nanos>, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        self.rest.acked = sent.or_else(|| self.rest.times.pop_many(acked as usize));
        let Some(sent) = self.rest.acked else { return };
        self.rtt = now - sent;
        self.min_rtt = Some(self.min_rtt.map_or(self.rtt, |least| least.min(self.rtt)));
        if progress.flight_size() > 0 {
            self.probe.schedule(now, rtt, progress);
        } else {
            self.probe.cancel();
        }
    }

    fn rouse(&mut self, rtt: &RttEstimator, progress: &Progress, known: Option<&Sampler>) {
        self.rest.from = progress.nxt;
        if let Some(at) = self.rest.acked.take() {
            self.latest = Some(self.log.moment(at));
            (self.fack, self.fack_before) = (progress.una, progress.una);
            self.srtt = rtt.smoothed().unwrap_or(0);
            self.probe.on_sample();
            self.reordering.on_ack(false, progress.una, progress.nxt, false);
        }
        match known {
            Some(sampler) => self.log.refill(progress.una, sampler.times()),
            None => self.log.refill(progress.una, self.rest.times.iter().copied()),
        }
    }

    fn heap_bytes(&self) -> usize {
        let untold = self.untold.as_ref().map_or(0, Vec::capacity);
        size_of::<Rack>()
            + self.rest.times.heap_bytes()
            + self.log.heap_bytes()
            + self.sacked.heap_bytes()
            + (self.lost.capacity() + untold) * size_of::<u64>()
    }
}

impl Rack {
    /// As `tcp` asks for; with proportional rate reduction or without, and telling of losses one by one or not.
    pub fn of(tcp: &Tcp, prr: bool, tells_losses: bool) -> Rack {
        let max_ack_delay = if tcp.delayed_ack { tcp.delayed_ack_timeout } else { 0 };
        let timer_margin = if tcp.rto == RtoRule::Linux { LINUX_MARGIN } else { 0 };
        Rack {
            undo_allowed: tcp.undo,
            untold: tells_losses.then(Vec::new),
            ..Rack::new(Probe::new(max_ack_delay), prr, timer_margin)
        }
    }

    fn new(probe: Probe, prr: bool, timer_margin: Nanos) -> Rack {
        Rack {
            rest: Rest::default(),
            log: SentLog::default(),
            sacked: Ranges::default(),
            told: SackBlocks::default(),
            lost: BinaryHeap::new(),
            lost_count: 0,
            untold: None,
            again_count: 0,
            latest: None,
            overtaken: NONE,
            rtt: 0,
            min_rtt: None,
            srtt: 0,
            fack: 0,
            fack_before: 0,
            reordering: Reordering::default(),
            reorder_at: Nanos::MAX,
            probe,
            rto_at: Nanos::MAX,
            repeat_first: false,
            prr: prr.then(Prr::default),
            delivered: 0,
            undo: Undo::default(),
            undo_allowed: true,
            undoes: false,
            duplicate: None,
            sacked_from: None,
            timer_margin,
        }
    }

    /// An ACK with SACK blocks has not moved the cumulative point, and has delivered so many segments.
    #[inline(always)]
    pub fn on_told(&mut self, news: &News, progress: &Progress) -> Option<Loss> {
        self.delivered = news.sacked;
        if news.rtt.is_linux() {
            self.srtt = news.rtt.smoothed().unwrap_or(0);
        }
        let loss = self.on_ack(news, progress.phase.is_repairing(), false, progress);
        if !self.sacked.is_empty() {
            self.probe.cancel();
        }
        loss
    }

    /// What an ACK means once all that it delivers is noted; `repairing` and `over` tell of the phase after it.
    #[inline(always)]
    fn on_ack(&mut self, news: &News, repairing: bool, over: bool, progress: &Progress) -> Option<Loss> {
        self.fack_before = self.fack;
        let duplicate = self.duplicate.take();
        self.reordering.on_ack(duplicate.is_some(), progress.una, progress.nxt, over && progress.phase.is_repairing());
        let found = self.look(repairing, news.now);
        let in_flight = self.in_network(progress);
        // Where a loss ends the reduction after a mark, its repair goes on with that.
        let reducing = !over && progress.phase.is_reducing() && (repairing || self.lost_count == 0);
        if let (true, Some(prr)) = (reducing, &mut self.prr) {
            prr.deliver(self.delivered);
            prr.go_on(in_flight, news.acked > 0 && !found);
        }
        let repaired = self.probe.on_ack(progress, duplicate);
        // What is being sent again when a recovery is over was sent after it began: another window's loss.
        let next_window = over && progress.phase.is_repairing() && self.again_count > 0 && !self.undoes;
        if next_window {
            self.undo.keep(self.again_count);
        }
        match (repairing, self.lost_count > 0 || next_window) {
            (false, true) => Some(first_loss(progress.phase)),
            (false, false) if repaired => Some(Loss::Repaired),
            _ => None,
        }
    }

    /// Send time of the first segment from `una` to `end` that was not known to have arrived; `None` if any of them was sent again.
    pub fn sent_once(&self, una: u64, end: u64) -> Option<Nanos> {
        let mut first = None;
        for seq in una..end {
            let sent = self.log.get(seq).filter(|sent| !sent.again)?;
            first = first.or((sent.fate != Fate::Arrived).then_some(sent.at));
        }
        first
    }

    /// Earliest send time of the segments sent once that the last SACK blocks newly reported.
    pub fn sacked_from(&self) -> Option<Nanos> {
        self.sacked_from
    }

    /// Time at which outstanding segment `seq` was last sent.
    pub fn sent_at(&self, seq: u64) -> Option<Nanos> {
        self.log.get(seq).map(|sent| sent.at)
    }

    /// Whether the expired timer sends a probe.
    pub fn sends_probe(&self) -> bool {
        self.probe.due
    }

    /// Segment SACKed by an ACK whose blocks are the last ones, except that the first has grown by the segment after all SACKed ones. Most
    /// ACKs behind a loss are of this kind. The result is that of [`Repair::on_sack`]; [`Rack::on_told`] follows. `None` for another ACK,
    /// which changes nothing.
    #[inline(always)]
    pub fn take_grown(&mut self, blocks: &SackBlocks, now: Nanos) -> Option<u64> {
        let (start, seq) = self.sacked.highest();
        let [first, second, third] = *blocks;
        let [before, beside, other] = self.told;
        // All that has been told is SACKed, so that the segment can be in no other block, nor have come before.
        let grown =
            is_same(first, (before.0, (seq as u32).wrapping_add(1))) & is_same(second, beside) & is_same(third, other);
        if !grown || before.1 != seq as u32 || start == seq {
            return None;
        }
        let sent = self.settle(seq, Fate::Arrived)?;
        self.sacked.grow(seq)?;
        self.told[0] = first;
        // None that has arrived was sent for the first time after it.
        self.fack = seq + 1;
        self.sacked_from = (!sent.again).then_some(sent.at);
        self.measure(&sent, None, now);
        Some(seq)
    }

    /// The segments `start..end` are SACKed; says how many of them newly.
    fn take_sacked(&mut self, start: u64, end: u64, now: Nanos, news: &mut Option<&mut Vec<u64>>) -> u64 {
        let mut new = 0;
        let mut seq = self.sacked.next_missing(start);
        while seq < end {
            if let Some(sent) = self.settle(seq, Fate::Arrived) {
                if !sent.again {
                    self.sacked_from = Some(self.sacked_from.map_or(sent.at, |at| at.min(sent.at)));
                }
                self.arrive(seq, sent, None, now);
            }
            new += self.sacked.insert(seq, seq + 1);
            if let Some(news) = news {
                news.push(seq);
            }
            seq = self.sacked.next_missing(seq + 1);
        }
        new
    }

    /// Segment `seq`, which was not known to have arrived, is acknowledged cumulatively.
    fn take_acked(&mut self, seq: u64, sent: Sent, news: &News) {
        if self.overtaken == seq {
            self.overtaken = self.log.before(seq, &sent).unwrap_or(NONE);
        }
        if sent.fate == Fate::Lost {
            self.lost_count -= 1;
        } else {
            self.again_count -= u64::from(sent.again);
        }
        self.delivered += 1;
        self.arrive(seq, sent, Some(news.stamp), news.now);
    }

    /// Section 6.2, steps 2 and 3: segment `seq` has arrived, by an ACK that echoes `stamp` where it is cumulative.
    #[inline(always)]
    fn arrive(&mut self, seq: u64, sent: Sent, stamp: Option<Nanos>, now: Nanos) {
        self.reordering.seen |= seq + 1 < self.fack_before && !sent.again;
        self.fack = self.fack.max(seq + 1);
        self.measure(&sent, stamp, now);
    }

    /// The same of the round trip, and of the segment that was sent last.
    #[inline(always)]
    fn measure(&mut self, sent: &Sent, stamp: Option<Nanos>, now: Nanos) {
        let rtt = now - sent.at;
        if !sent.again {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let of_original = stamp.is_some_and(|stamp| stamp < sent.at) || self.min_rtt.is_some_and(|least| rtt < least);
        if sent.again && of_original {
            return;
        }
        self.rtt = rtt;
        self.latest = self.latest.filter(|&latest| sent.last().is_before(latest)).or(Some(sent.last()));
    }

    /// Section 6.2, steps 4 and 5: looks for what is lost, and when to look again. Says whether anything is found.
    #[inline(always)]
    fn look(&mut self, repairing: bool, now: Nanos) -> bool {
        let Some(latest) = self.latest else { return false };
        if self.log.oldest().is_none_or(|(_, oldest)| !oldest.is_before(latest)) {
            // Nothing is overtaken: the case of nearly every ACK.
            self.reorder_at = Nanos::MAX;
            return false;
        }
        self.look_at_overtaken(latest, repairing, now)
    }

    /// The same where something is.
    #[inline(never)]
    fn look_at_overtaken(&mut self, latest: Moment, repairing: bool, now: Nanos) -> bool {
        let before = self.lost_count;
        let wait = self.wait(repairing);
        self.lose_overdue(Some(latest), wait, now);
        self.reorder_at = self.overtaken_by(latest).map_or(Nanos::MAX, |at| at + wait + self.timer_margin);
        self.lost_count > before
    }

    /// How long after its sending an overtaken segment counts as lost.
    fn wait(&self, repairing: bool) -> Nanos {
        let srtt = if self.srtt == 0 { self.rtt } else { self.srtt };
        self.rtt + self.reordering.window(repairing, self.sacked.count(), self.min_rtt.unwrap_or(self.rtt), srtt)
    }

    /// Those sent before `latest`, or at any time, that have been under way for `wait` are lost.
    fn lose_overdue(&mut self, latest: Option<Moment>, wait: Nanos, now: Nanos) {
        while let Some((seq, last)) = self.log.oldest() {
            if latest.is_some_and(|latest| !last.is_before(latest)) || last.at + wait > now {
                return;
            }
            self.lose(seq);
        }
    }

    /// When the one sent last was sent of those under way that were sent before `latest`.
    fn overtaken_by(&mut self, latest: Moment) -> Option<Nanos> {
        let last = |seq| self.log.get(seq).map(Sent::last);
        loop {
            let next = match self.overtaken {
                NONE => self.log.oldest().map(|(seq, _)| seq),
                seq => self.log.newer(seq),
            };
            match next.filter(|&seq| last(seq).is_some_and(|last| last.is_before(latest))) {
                Some(seq) => self.overtaken = seq,
                None => return Some(last(self.overtaken)?.at),
            }
        }
    }

    fn lose(&mut self, seq: u64) {
        self.settle(seq, Fate::Lost);
        if let Some(untold) = &mut self.untold {
            untold.push(seq);
        }
        self.lost.push(Reverse(seq));
        self.lost_count += 1;
    }

    /// Segment `seq` meets its `fate`; what was known of it, if it is outstanding.
    #[inline(always)]
    fn settle(&mut self, seq: u64, fate: Fate) -> Option<Sent> {
        if self.overtaken == seq {
            self.overtaken = self.log.older(seq).unwrap_or(NONE);
        }
        let sent = self.log.settle(seq, fate)?;
        match sent.fate {
            Fate::UnderWay => self.again_count -= u64::from(sent.again),
            Fate::Lost => self.lost_count -= 1,
            Fate::Arrived => {}
        }
        Some(sent)
    }

    /// The lowest lost segment; it is about to be sent.
    fn next_lost(&mut self) -> Option<u64> {
        while let Some(Reverse(seq)) = self.lost.pop() {
            if self.log.get(seq).is_some_and(|sent| sent.fate == Fate::Lost) {
                return Some(seq);
            }
        }
        None
    }

    /// The last cut was needless; what cwnd and ssthresh were before it.
    #[cold]
    fn take_back(&mut self) -> Option<(f64, f64)> {
        self.undoes = false;
        self.reordering.seen = true;
        self.hope();
        self.undo.take()
    }

    /// What was thought lost and has not been sent again may still arrive.
    fn hope(&mut self) {
        let mut still_lost: Vec<u64> = std::iter::from_fn(|| self.next_lost()).collect();
        still_lost.dedup();
        still_lost.sort_by_key(|&seq| Reverse((self.log.get(seq).map(|sent| sent.at), seq)));
        for seq in still_lost {
            self.again_count += u64::from(self.log.get(seq).is_some_and(|sent| sent.again));
            self.log.hope(seq);
        }
        self.lost_count = 0;
        self.overtaken = NONE;
        self.repeat_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::receiver::{Receiver, Telling};
    use proptest::prelude::*;

    /// These segments come one after another, and their ACKs are heard or lost: those of a block that has grown change the same by either way.
    /// How many there are.
    fn grown(arrivals: impl IntoIterator<Item = (u64, bool)>) -> usize {
        let rtt = RttEstimator::new(200, 0, 100);
        let mut progress = Progress { nxt: 200, ..Progress::new(200, 200) };
        let mut rack = Rack { untold: Some(Vec::new()), ..Rack::new(Probe::new(0), false, 0) };
        rack.on_new(0, 0, &rtt, &progress);
        let mut receiver = Receiver::new(Telling::Duplicates);
        let mut count = 0;
        for (now, (seq, heard)) in (100..).zip(arrivals) {
            receiver.take(seq as u32, 0, now, None);
            let (next, stamp) = receiver.acknowledge();
            let Some(blocks) = receiver.sack_blocks().filter(|_| heard) else { continue };
            let mut short = rack.clone();
            let sacked = rack.on_sack(&blocks, next, now, &progress, None);
            let acked = next - std::mem::replace(&mut progress.una, next);
            let news = News { now, stamp, acked, sacked, rtt: &rtt };
            if acked > 0 {
                rack.on_new_ack(&news, &progress);
                continue;
            }
            let loss = rack.on_duplicate_ack(&news, &progress);
            if short.take_grown(&blocks, now).is_some() {
                let found = short.on_told(&News { now, stamp, acked: 0, sacked: 1, rtt: &rtt }, &progress);
                assert_eq!((found, 1), (loss, sacked));
                assert_eq!(format!("{short:?}"), format!("{rack:?}"));
                count += 1;
            }
        }
        count
    }

    proptest! {
        /// Whatever has come late, and whichever ACKs are lost.
        #[test]
        fn a_grown_block_changes_the_same_either_way(
            arrivals in prop::collection::vec(
                (prop::sample::select(vec![1, 1, 1, 2]), prop::option::weighted(0.2, 0u64..60), prop::bool::weighted(0.7)),
                1..60,
            ),
        ) {
            let mut highest = 0;
            grown(arrivals.into_iter().map(|(step, late, heard)| {
                highest += if late.is_some() { 0 } else { step };
                (late.map_or(highest, |late| late % (highest + 1)), heard)
            }));
        }
    }

    /// Of 20 to 22 the last comes to a block that begins at 14, since ACKs that told of those between were lost: it has grown by more than one
    /// segment, though it ends at the one after all that are SACKed. Only 21 is the next one when it comes.
    #[test]
    fn a_block_that_has_grown_by_more_is_no_such() {
        let heard = [20, 21, 6, 10, 14, 15].map(|seq| (seq, true));
        let unheard = [16, 17, 18, 19].map(|seq| (seq, false));
        assert_eq!(grown(heard.into_iter().chain(unheard).chain([(22, true)])), 1);
    }

    /// RTT estimator, a connection with ten segments sent at time 0, and its RACK.
    fn ten_sent() -> (RttEstimator, Progress, Rack) {
        let rtt = RttEstimator::new(200, 0, 100);
        let progress = Progress { nxt: 10, high: 10, ..Progress::new(10, 200) };
        let mut rack = Rack::new(Probe::new(0), false, 0);
        rack.on_new(0, 0, &rtt, &progress);
        (rtt, progress, rack)
    }

    /// RFC 2883 section 4: a first block inside the second is a DSACK. Both may start at one segment: 5 of 5 to 8. A first block that starts
    /// below the second is none.
    #[test]
    fn a_dsack_may_start_where_its_block_starts() {
        for (first, duplicate) in [((5, 6), Some(5)), ((7, 9), Some(7)), ((4, 6), None)] {
            let (_, progress, mut rack) = ten_sent();
            rack.on_sack(&[first, (5, 9), (0, 0)], 3, 100, &progress, None);
            assert_eq!(rack.duplicate, duplicate, "{first:?}");
        }
    }

    /// RFC 5681 section 3.2, step 3, and RFC 6675 section 5, step 4.3: the first retransmission of a recovery leaves at once, though the
    /// window has no room. The next one waits for room.
    #[test]
    fn only_the_first_retransmission_of_a_recovery_ignores_the_window() {
        let (rtt, mut progress, mut rack) = ten_sent();
        let sacked = rack.on_sack(&[(4, 10), (0, 0), (0, 0)], 0, 100, &progress, None);
        let news = News { now: 100, stamp: 0, acked: 0, sacked, rtt: &rtt };
        assert!(rack.on_duplicate_ack(&news, &progress).is_some());
        progress.phase = Phase::Recovery { point: 10 };
        rack.begin(0, &progress);
        assert_eq!(rack.next_segment(0, &mut progress), Some(0));
        rack.on_sent(0, 100, &rtt, &progress);
        assert_eq!((rack.next_segment(0, &mut progress), rack.next_segment(2, &mut progress)), (None, Some(1)));
    }

    /// RFC 3522, with two segments retransmitted at 100: an ACK of segment 0 echoes time 0, so that its original has arrived. The cut is
    /// not undone while the retransmission of 1 is under way, since 1 may be lost. It is once the original of 1 has arrived, too.
    #[test]
    fn a_cut_is_not_undone_while_retransmissions_are_under_way() {
        let (rtt, mut progress, mut rack) = ten_sent();
        let sacked = rack.on_sack(&[(2, 10), (0, 0), (0, 0)], 0, 100, &progress, None);
        rack.on_duplicate_ack(&News { now: 100, stamp: 0, acked: 0, sacked, rtt: &rtt }, &progress);
        progress.phase = Phase::Recovery { point: 10 };
        rack.on_cut(Some((10.0, 20.0)));
        rack.begin(0, &progress);
        for seq in [0, 1] {
            assert_eq!(rack.next_segment(9, &mut progress), Some(seq));
            rack.on_sent(seq, 100, &rtt, &progress);
        }
        progress.una = 1;
        rack.on_new_ack(&News { now: 120, stamp: 0, acked: 1, sacked: 0, rtt: &rtt }, &progress);
        assert_eq!(rack.undoes(), None);
        progress.una = 10;
        rack.on_new_ack(&News { now: 130, stamp: 0, acked: 9, sacked: 0, rtt: &rtt }, &progress);
        assert_eq!(rack.undoes(), Some((10.0, 20.0)));
    }
}
