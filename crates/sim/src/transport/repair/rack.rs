//! Loss recovery by time: RACK-TLP, RFC 8985. A segment is lost if one sent sufficiently later has arrived. Retransmissions are no
//! exception, so that a lost retransmission is found like any other loss. Where no ACK arrives, a probe causes one (`probe.rs`), and the
//! reordering timer finds overdue segments. `reordering.rs` has the wait for overtaken segments, `prr.rs` the number of segments to send,
//! and `undo.rs` the detection of spurious cuts.
//!
//! Choices and deviations:
//! - Of two segments sent at one time, the one sent first counts as earlier. The RFC compares segment numbers.
//! - The minimum RTT is that of the whole connection (section 6.2, step 1, allows a windowed one).
//! - Step 2 ignores the ACK of a retransmission whose echoed timestamp is older. Here this holds for cumulative ACKs only: a duplicate
//!   ACK does not echo the timestamp of the segment that it SACKs (RFC 7323 section 4.3), and the probe of a tail of several lost
//!   segments could not show their loss.
//! - The loss of a retransmission in recovery does not cut again, as in Linux. Section 9.3 leaves that to proportional rate reduction.
//!   Without it (`prr = false`), the section asks for one more cut, as RFC 5681 section 4.3 does.
//! - A segment sent after a recovery began that is lost and retransmitted within it belongs to another window, whose loss cuts again
//!   (RFC 5681 section 4.3). As in Linux that cut comes at the end of the recovery, unless the retransmissions of all such segments
//!   have arrived by then.
//! - Any DSACK widens the window of step 4, also one caused by a probe, as the RFC has it.
//! - A spurious cut counts as reordering.
//! - Section 7.4.2's third case, a duplicate ACK without SACK, cannot occur: receivers report duplicates (RFC 2883).

use super::probe::Probe;
use super::prr::Prr;
use super::reordering::Reordering;
use super::{AckEvent, Context, Expiry, Loss, Repair, Tally, Verdict};
use crate::packet::{SackBlocks, is_same};
use crate::scenario::Tcp;
use crate::transport::outstanding::{Moment, Outstanding, Record, State};
use crate::transport::progress::{Phase, Progress};
use crate::transport::receiver::unwrap;
use crate::transport::rto::RtoRule;
use fullpipe_cc::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No segment.
const NONE: u64 = u64::MAX;
/// Linux adds this to the reordering timer (TCP_TIMEOUT_MIN_US).
const LINUX_MARGIN: Nanos = 2_000_000;

/// State of RACK-TLP, in the order of use and in whole cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Rack {
    /// RACK.rtt.
    rtt: Nanos,
    /// RACK.min_RTT, of segments sent once; `Nanos::MAX` before the first. SACKed segments count, so that it may precede the first ACK of
    /// new data.
    min_rtt: Nanos,
    /// Expiry of the reordering timer; `Nanos::MAX` if no segment is overtaken.
    reorder_at: Nanos,
    probe: Probe,
    /// Send time of RACK.segment: of all segments that have arrived, the one sent last.
    latest: Option<Moment>,
    /// Of the segments in flight that were sent before `latest`, the one sent last, or an earlier one; [`NONE`] if there is none.
    overtaken: u64,
    /// RACK.fack: one past the highest segment that has arrived.
    fack: u64,
    /// `fack` before this ACK. Segments that one ACK delivers count in the order of their numbers (section 6.2, step 3): none of the
    /// acknowledged segments arrived after those that it SACKs.
    fack_before: u64,
    /// Smoothed RTT; 0 before the first sample.
    srtt: Nanos,
    /// Segments that the last ACK delivered.
    delivered: u64,
    pub(in crate::transport) reordering: Reordering,
    /// Segment that this ACK reports as a duplicate.
    duplicate: Option<u64>,
    /// Earliest send time of the segments sent once that the last SACK blocks newly reported.
    sacked_from: Option<Nanos>,
    /// Addition to the reordering timer.
    timer_margin: Nanos,
    /// The first retransmission leaves without regard to the window.
    repeat_first: bool,
    /// SACK blocks of the last ACK that had any.
    last_blocks: SackBlocks,
    prr: Option<Prr>,
    /// Lost segments that wait for retransmission, lowest first. Some may have arrived since.
    lost: BinaryHeap<Reverse<u64>>,
}

impl Repair for Rack {
    fn reset(&mut self) {
        self.probe.reset();
        self.lost.clear();
        let (probe, lost) = (self.probe, std::mem::take(&mut self.lost));
        *self = Rack { lost, ..Rack::new(probe, self.prr.is_some(), self.timer_margin) };
    }

    fn on_sack(&mut self, blocks: &SackBlocks, cumulative: u64, context: &mut Context) -> u64 {
        self.fack_before = self.fack;
        self.sacked_from = None;
        let una = context.progress.una;
        let number = |edge: u32| unwrap(edge, una);
        let (first, second) = ((number(blocks[0].0), number(blocks[0].1)), (number(blocks[1].0), number(blocks[1].1)));
        // RFC 2883 section 4: the first block reports a duplicate if it is below the cumulative ACK or inside the second block.
        if first.0 < first.1 && (first.1 <= cumulative || (second.0 <= first.0 && first.1 <= second.1)) {
            self.duplicate = Some(first.0);
            context.outstanding.undo.on_duplicate();
        }
        if context.outstanding.sacked() == 0 {
            self.last_blocks = SackBlocks::default();
        }
        // An ACK that was overtaken by a later one may report segments below the cumulative ACK.
        let floor = cumulative.max(una);
        let last = std::mem::replace(&mut self.last_blocks, *blocks);
        let mut new = 0;
        for (&block, before) in blocks.iter().zip(last) {
            if is_same(block, before) {
                continue;
            }
            // A block that has grown reports nothing new below its earlier end.
            let start = if block.0 == before.0 { before.1 } else { block.0 };
            new += self.take_sacked(number(start).max(floor), number(block.1), context);
        }
        new
    }

    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        self.delivered = ack.sacked;
        if ack.acked > 0 { self.on_new_ack(ack, context) } else { self.on_duplicate_ack(ack, context) }
    }

    fn begin(&mut self, window: u64, context: &mut Context) {
        self.probe.abandon();
        self.repeat_first = context.outstanding.lost() > 0;
        if let Some(prr) = &mut self.prr {
            let outstanding = context.progress.flight_size() - context.outstanding.sacked();
            let in_flight = outstanding - context.outstanding.lost();
            prr.deliver(self.delivered);
            match context.progress.phase {
                Phase::Reduction { .. } => prr.go_on(in_flight, false),
                _ => prr.begin(window, outstanding, in_flight),
            }
        }
    }

    fn sink(&mut self, from: u64, to: u64, context: &mut Context) -> bool {
        if let Some(prr) = &mut self.prr {
            prr.sink(from, to, context.progress.flight_size() - context.outstanding.sacked());
        }
        self.prr.is_some()
    }

    /// Section 6.3: the first segment and all that are overdue are lost.
    fn restart(&mut self, context: &mut Context) {
        self.probe.abandon();
        self.repeat_first = true;
        let una = context.progress.una;
        if context.outstanding.get(una).is_some_and(|record| record.state == State::InFlight) {
            self.lose(una, context.outstanding);
        }
        let wait = self.wait(true, context.outstanding.sacked());
        self.lose_overdue(None, wait, context);
        self.reorder_at = Nanos::MAX;
    }

    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64> {
        // Section 7.2: no probe while segments are SACKed. One that waits for the pacer is dropped.
        if std::mem::take(&mut self.probe.due) && context.outstanding.sacked() == 0 {
            return self.probe.next_segment(context.progress);
        }
        let window = match &self.prr {
            Some(prr) if context.progress.phase.is_reducing() => prr.window(),
            _ => window,
        };
        if !std::mem::take(&mut self.repeat_first) && in_network(context.progress, context.outstanding) >= window {
            context.progress.cwnd_limited = true;
            return None;
        }
        let lost = if context.outstanding.lost() > 0 { self.next_lost(context.outstanding) } else { None };
        lost.or_else(|| context.progress.next_new())
    }

    #[inline]
    fn on_sent(&mut self, seq: u64, again: bool, context: &mut Context) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
        if again {
            self.pass_over(seq, context.outstanding);
            context.outstanding.undo.on_retransmission(context.now);
        } else if !context.progress.phase.is_repairing()
            && context.outstanding.sacked() == 0
            && !self.probe.is_out(context.progress.nxt)
        {
            self.probe.schedule(context.now, context.rtt, context.progress);
        }
    }

    #[inline(always)]
    fn timer_at(&self) -> Nanos {
        self.probe.at.min(self.reorder_at)
    }

    /// Section 7.2: the probe never comes after the retransmission timer, but in its place.
    fn on_timer(&mut self, context: &mut Context) -> Expiry {
        if self.reorder_at <= context.now {
            self.delivered = 0;
            let repairing = context.progress.phase.is_repairing();
            self.detect_losses(repairing, context);
            let lost = !repairing && context.outstanding.lost() > 0;
            return Expiry::Looked(lost.then_some(first_loss(context.progress.phase)));
        }
        if self.probe.at == Nanos::MAX {
            return Expiry::Timeout;
        }
        self.probe.expire();
        Expiry::Probe
    }

    #[cold]
    fn on_undo(&mut self, context: &mut Context) {
        let outstanding = &mut *context.outstanding;
        self.reordering.seen = true;
        let mut lost: Vec<u64> = std::iter::from_fn(|| self.next_lost(outstanding)).collect();
        lost.dedup();
        lost.sort_by_key(|&seq| Reverse((outstanding.get(seq).map(|record| record.sent_at), seq)));
        lost.into_iter().for_each(|seq| outstanding.revive(seq));
        self.overtaken = NONE;
        self.repeat_first = false;
    }

    /// Pipe of RFC 6675: segments that are neither acknowledged nor SACKed nor lost are in the network.
    fn tally(&self, _progress: &Progress, outstanding: &Outstanding) -> Tally {
        Tally { arrived: outstanding.sacked(), lost: outstanding.lost() }
    }

    fn is_idle(&self, outstanding: &Outstanding) -> bool {
        let in_order = match (self.latest, outstanding.oldest()) {
            (Some(latest), Some((_, oldest))) => !oldest.is_before(latest),
            _ => true,
        };
        in_order && self.reorder_at == Nanos::MAX && self.probe.is_idle() && !self.repeat_first
    }
}

impl Rack {
    /// Recovery as `tcp` configures it, with or without proportional rate reduction.
    pub fn of(tcp: &Tcp, prr: bool) -> Rack {
        let max_ack_delay = tcp.held_acks().map_or(0, |(_, delay)| delay.get());
        let timer_margin = if tcp.rto == RtoRule::Linux { LINUX_MARGIN } else { 0 };
        Rack::new(Probe::new(max_ack_delay), prr, timer_margin)
    }

    fn new(probe: Probe, prr: bool, timer_margin: Nanos) -> Rack {
        Rack {
            last_blocks: SackBlocks::default(),
            lost: BinaryHeap::new(),
            latest: None,
            overtaken: NONE,
            rtt: 0,
            min_rtt: Nanos::MAX,
            srtt: 0,
            fack: 0,
            fack_before: 0,
            reordering: Reordering::default(),
            reorder_at: Nanos::MAX,
            probe,
            repeat_first: false,
            prr: prr.then(Prr::default),
            delivered: 0,
            duplicate: None,
            sacked_from: None,
            timer_margin,
        }
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Rack>() + self.lost.capacity() * size_of::<u64>()
    }

    /// Fast path of [`Repair::on_ack`]: `acked` segments, the last one with record `last`, are acknowledged in order, where
    /// [`Repair::is_idle`].
    #[inline(always)]
    pub fn on_ack_in_order(&mut self, acked: u64, last: &Record, context: &mut Context) {
        let Progress { una, nxt, .. } = *context.progress;
        self.delivered = acked;
        self.rtt = context.now - last.sent_at;
        self.min_rtt = self.min_rtt.min(self.rtt);
        self.latest = Some(last.moment());
        self.fack = una;
        self.srtt = context.rtt.smoothed().unwrap_or(0);
        self.probe.on_sample();
        if nxt > una {
            self.probe.schedule(context.now, context.rtt, context.progress);
        } else {
            self.probe.cancel();
        }
    }

    /// Fast path of [`Repair::on_sent`], where [`Repair::is_idle`].
    #[inline(always)]
    pub fn on_sent_in_order(&mut self, context: &Context) {
        self.probe.schedule(context.now, context.rtt, context.progress);
    }

    /// Earliest send time of the segments sent once that the last SACK blocks newly reported.
    pub fn sacked_from(&self) -> Option<Nanos> {
        self.sacked_from
    }

    /// Whether the expired timer sends a probe.
    pub fn sends_probe(&self) -> bool {
        self.probe.due
    }

    fn on_new_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        self.srtt = context.rtt.smoothed().unwrap_or(0);
        while let Some((seq, record)) = context.outstanding.pop_below(context.progress.una, context.now) {
            if self.overtaken == seq {
                self.overtaken = context.outstanding.older(seq, &record).unwrap_or(NONE);
            }
            self.delivered += 1;
            self.on_delivered(seq, &record, Some(ack.stamp), context.now);
        }
        self.probe.on_sample();
        let phase = context.progress.phase;
        let over = context.progress.past_point();
        let repairing = phase.is_repairing() && !over;
        if phase.is_repairing() {
            // In fast recovery other segments may be lost indeed: wait for all retransmissions in flight.
            let waits = matches!(phase, Phase::Recovery { .. }) && context.outstanding.retransmissions() > 0;
            if !waits {
                context.outstanding.undo.on_new_ack(ack.stamp, context.rtt.timestamp_tick());
            }
        }
        let loss = self.respond(ack, repairing, over, context);
        let calm = loss.is_none() && !repairing && context.outstanding.sacked() == 0;
        if calm && context.progress.flight_size() > 0 {
            self.probe.schedule(context.now, context.rtt, context.progress);
        } else {
            self.probe.cancel();
        }
        Verdict { over, loss, ..Verdict::default() }
    }

    /// Handles an ACK with SACK blocks that does not move the cumulative ACK number.
    fn on_duplicate_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        if context.rtt.is_linux() {
            self.srtt = context.rtt.smoothed().unwrap_or(0);
        }
        let loss = self.respond(ack, context.progress.phase.is_repairing(), false, context);
        if context.outstanding.sacked() > 0 {
            self.probe.cancel();
        }
        Verdict { loss, ..Verdict::default() }
    }

    /// Response to an ACK once all segments that it delivers are noted. `repairing` and `over` are the state after it.
    #[inline(always)]
    fn respond(&mut self, ack: &AckEvent, repairing: bool, over: bool, context: &mut Context) -> Option<Loss> {
        self.fack_before = self.fack;
        let duplicate = self.duplicate.take();
        let Progress { una, nxt, phase, .. } = *context.progress;
        let ends_recovery = over && phase.is_repairing();
        self.reordering.on_ack(duplicate.is_some(), una, nxt, ends_recovery);
        let found = self.detect_losses(repairing, context);
        let lost = context.outstanding.lost() > 0;
        // A loss during a reduction after a CE mark ends it, and recovery continues its window.
        let reducing = !over && phase.is_reducing() && (repairing || !lost);
        if let (true, Some(prr)) = (reducing, &mut self.prr) {
            prr.deliver(self.delivered);
            prr.go_on(in_network(context.progress, context.outstanding), ack.acked > 0 && !found);
        }
        let repaired = self.probe.on_ack(context.progress, duplicate);
        // Retransmissions in flight at the end of a recovery were first sent after it began: losses of another window.
        let retransmissions = context.outstanding.retransmissions();
        let next_window = ends_recovery && retransmissions > 0 && !context.outstanding.undo.is_due();
        if next_window {
            context.outstanding.undo.keep(retransmissions);
        }
        match (repairing, lost || next_window) {
            (false, true) => Some(first_loss(phase)),
            (false, false) if repaired => Some(Loss::Repaired),
            _ => None,
        }
    }

    /// Handles the SACK of segments `start..end`. Returns how many of them are new.
    #[inline(always)]
    fn take_sacked(&mut self, start: u64, end: u64, context: &mut Context) -> u64 {
        let (mut new, mut seq) = (0, start);
        while seq < end {
            seq = context.outstanding.next_missing(seq);
            if seq >= end {
                break;
            }
            self.pass_over(seq, context.outstanding);
            let Some(record) = context.outstanding.sack(seq, context.now) else { break };
            if !record.retransmitted {
                self.sacked_from = Some(self.sacked_from.map_or(record.sent_at, |at| at.min(record.sent_at)));
            }
            self.on_delivered(seq, &record, None, context.now);
            new += 1;
            seq += 1;
        }
        new
    }

    /// Section 6.2, steps 1 to 3: segment `seq` has arrived, by an ACK that echoes `stamp` if it is cumulative.
    #[inline(always)]
    fn on_delivered(&mut self, seq: u64, record: &Record, stamp: Option<Nanos>, now: Nanos) {
        self.reordering.seen |= seq + 1 < self.fack_before && !record.retransmitted;
        self.fack = self.fack.max(seq + 1);
        let rtt = now - record.sent_at;
        if record.retransmitted {
            let too_short = self.min_rtt < Nanos::MAX && rtt < self.min_rtt;
            if too_short || stamp.is_some_and(|stamp| stamp < record.sent_at) {
                return;
            }
        } else {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        self.rtt = rtt;
        if self.latest.is_none_or(|latest| latest.is_before(record.moment())) {
            self.latest = Some(record.moment());
        }
    }

    /// Section 6.2, steps 4 and 5: finds losses and sets the reordering timer. Returns whether there are new losses.
    #[inline(always)]
    fn detect_losses(&mut self, repairing: bool, context: &mut Context) -> bool {
        let Some(latest) = self.latest else { return false };
        if context.outstanding.oldest().is_none_or(|(_, oldest)| !oldest.is_before(latest)) {
            self.reorder_at = Nanos::MAX;
            return false;
        }
        let wait = self.wait(repairing, context.outstanding.sacked());
        let found = self.lose_overdue(Some(latest), wait, context);
        let overtaken = self.last_overtaken_by(latest, context.outstanding);
        self.reorder_at = overtaken.map_or(Nanos::MAX, |at| at + wait + self.timer_margin);
        found
    }

    /// Time after its transmission at which an overtaken segment counts as lost, while `sacked` segments are SACKed.
    fn wait(&self, repairing: bool, sacked: u64) -> Nanos {
        let srtt = if self.srtt == 0 { self.rtt } else { self.srtt };
        let min_rtt = if self.min_rtt == Nanos::MAX { self.rtt } else { self.min_rtt };
        self.rtt + self.reordering.window(repairing, sacked, min_rtt, srtt)
    }

    /// Declares segments lost that were sent before `latest`, or at any time, and have been in flight for `wait`. Returns whether there are any.
    fn lose_overdue(&mut self, latest: Option<Moment>, wait: Nanos, context: &mut Context) -> bool {
        let mut found = false;
        while let Some((seq, sent)) = context.outstanding.oldest() {
            if latest.is_some_and(|latest| !sent.is_before(latest)) || sent.at + wait > context.now {
                break;
            }
            self.lose(seq, context.outstanding);
            found = true;
        }
        found
    }

    /// Send time of the segment in flight that was sent last before `latest`.
    fn last_overtaken_by(&mut self, latest: Moment, outstanding: &Outstanding) -> Option<Nanos> {
        let moment = |seq| outstanding.get(seq).map(Record::moment);
        loop {
            let next = match self.overtaken {
                NONE => outstanding.oldest().map(|(seq, _)| seq),
                seq => outstanding.newer(seq),
            };
            match next.filter(|&seq| moment(seq).is_some_and(|moment| moment.is_before(latest))) {
                Some(seq) => self.overtaken = seq,
                None => return Some(moment(self.overtaken)?.at),
            }
        }
    }

    fn lose(&mut self, seq: u64, outstanding: &mut Outstanding) {
        self.pass_over(seq, outstanding);
        outstanding.lose(seq);
        self.lost.push(Reverse(seq));
    }

    /// Moves `overtaken` off segment `seq`, which is about to leave its place in the order of transmission.
    #[inline(always)]
    fn pass_over(&mut self, seq: u64, outstanding: &Outstanding) {
        if self.overtaken == seq {
            let older = outstanding.get(seq).and_then(|record| outstanding.older(seq, record));
            self.overtaken = older.unwrap_or(NONE);
        }
    }

    /// Lowest lost segment, which is about to be sent.
    fn next_lost(&mut self, outstanding: &Outstanding) -> Option<u64> {
        while let Some(Reverse(seq)) = self.lost.pop() {
            if outstanding.get(seq).is_some_and(|record| record.state == State::Lost) {
                return Some(seq);
            }
        }
        None
    }
}

/// Segments in the network.
#[inline(always)]
fn in_network(progress: &Progress, outstanding: &Outstanding) -> u64 {
    progress.flight_size() - outstanding.sacked() - outstanding.lost()
}

/// Response to the first loss found in `phase`. RFC 3168 section 6.1.2 cuts once a window, for CE marks and losses together.
fn first_loss(phase: Phase) -> Loss {
    if matches!(phase, Phase::Reduction { .. }) { Loss::Repair } else { Loss::Cut }
}

#[cfg(test)]
mod tests;
