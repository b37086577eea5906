//! The sender: which segment goes next, and what an ACK says about the ones before. The window itself comes from the
//! congestion control; everything about losses, timers and round trips is here.
//!
//! Sources: RFC 5681 (fast retransmit and recovery), RFC 6582 (NewReno), RFC 6675 (SACK), RFC 3042 (limited transmit), RFC 6298
//! (timeout), RFC 7323 (timestamps), Brakmo and Peterson 1995 (Vegas's fine-grained check).
//!
//! Differences from a kernel's sender: connections begin established (the handshake's RTT sample sets the first timeout, see
//! `rto.rs`) and end without FIN; data is always there until the flow's end; the receiver never renegs; no pacing; losses of
//! retransmissions are found by the timer alone, and a needless timeout is not undone.
//!
//! A timeout cuts once: while the timer expires again for the same segment ssthresh stays (RFC 5681 section 3.1). Inside fast
//! recovery, which has cut already, it cuts once more, because it says that a retransmission was lost too, and RFC 5681 section 4.3
//! has both windows lowered twice then. What is cut is the window in force, which is never more than the FlightSize of equation 4.
//! Linux cuts once a window, whatever becomes of the retransmissions. With NewReno the timer may also expire because there are more
//! losses than round trips to repair them in (RFC 6582 section 4, "impatient"); this too is a second cut, as in ns-2.

#[cfg(test)]
mod tests;

use super::rto::RttEstimator;
use super::scoreboard::Scoreboard;
use crate::packet::SackBlocks;
use crate::report::log::SampleLog;
use crate::report::meter::{Counters, Meter};
use crate::scenario::Tcp;
use crate::transport::receiver::unwrap;
use fullpipe_cc::{Ack, CongestionControl, Controller, Flow, Nanos, Recovery, Signal};
use std::collections::VecDeque;
use std::ops::Range;

/// Duplicate ACKs that show a loss (RFC 5681 section 3.2).
const DUP_THRESH: u32 = 3;

/// Most segments outstanding: numbers travel modulo 2^32, and within half of that it is plain which is meant.
const MOST_OUTSTANDING: u64 = (1 << 31) - 1;

/// One connection's sending end. In the order of use: what every ACK touches comes first, together in memory.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    /// First segment not acknowledged.
    una: u64,
    /// Next segment to send; goes back at a timeout where recovery is without SACK.
    nxt: u64,
    /// One past the highest segment ever sent.
    high: u64,
    /// One past the last segment there is to send.
    end: u64,
    /// The policy's window, as it last said.
    cwnd: f64,
    /// When the retransmission timer expires; `Nanos::MAX` if it is off.
    deadline: Nanos,
    max_window: u64,
    /// Receiver's clock minus sender's; the clocks are not synchronised.
    clock_offset: Nanos,
    rtt: RttEstimator,
    /// A round ends when this is acknowledged.
    round_end: u64,
    round: u64,
    /// Nothing is lost or suspected: no duplicate ACK, no SACK, no repair.
    quiet: bool,
    /// The window, and not a lack of data, kept the last segment back.
    cwnd_limited: bool,
    byte_counting: bool,
    recovery: Recovery,
    /// What is measured.
    pub meter: Meter,
    /// The window policy.
    pub cc: Controller,
    phase: Phase,
    /// Without SACK, duplicate ACKs below this number of segments acknowledged may come from needless retransmissions and
    /// show no loss: one more than RFC 6582's recover covers (section 3.2, steps 2 and 4).
    trusted_from: u64,
    dupacks: u32,
    /// Segments that duplicate ACKs add to the window in fast recovery without SACK (RFC 5681 section 3.2, step 4).
    inflation: u64,
    /// Send the first segment again, whatever the window says: the fast retransmission.
    repeat_first: bool,
    /// The timer has expired and nothing has been acknowledged since.
    timed_out: bool,
    board: Scoreboard,
    fine: Option<Box<FineTimes>>,
    /// Segments sent (once each) in earlier connections.
    earlier: u64,
}

/// Where the sender is between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing lost.
    Open,
    /// Fast recovery, until `point` is acknowledged.
    Recovery {
        point: u64,
        /// An ACK below `point` has been seen.
        partial: bool,
    },
    /// Slow start after a timeout (or Tahoe's fast retransmit), until `point` is acknowledged.
    Restart { point: u64 },
}

/// Vegas's own clock: when each outstanding segment was last sent, for its RTT samples and its fine-grained timeout check.
#[derive(Clone, Debug, Default)]
struct FineTimes {
    /// The first segment that `sent` has a time of.
    base: u64,
    sent: VecDeque<SendTime>,
    /// ACKs of new data since the last fast retransmission, up to 2 checked.
    unchecked: u32,
    /// When the window was last cut: a segment sent before is no reason to cut again.
    cut_at: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
struct SendTime {
    last: Nanos,
    /// Sent more than once.
    again: bool,
}

/// An ACK as the sender gets it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Next segment expected, modulo 2^32.
    pub cumulative: u32,
    /// The sender's own timestamp, echoed.
    pub stamp: Nanos,
    /// The receiver's time when the ACK left.
    pub receiver_stamp: Nanos,
}

impl Sender {
    /// A connection that has sent nothing; `end` segments to send; the path's RTT without queues is `base_rtt`, and the receiver's
    /// clock is `clock_offset` ahead.
    pub fn new(tcp: &Tcp, cc: Controller, end: u64, base_rtt: Nanos, clock_offset: Nanos, meter: Meter) -> Self {
        let fine: Option<Box<FineTimes>> = (tcp.recovery == Recovery::Vegas).then(Box::default);
        Sender {
            una: 0,
            nxt: 0,
            high: 0,
            end,
            cwnd: cc.cwnd(),
            deadline: Nanos::MAX,
            max_window: tcp.max_window.map_or(MOST_OUTSTANDING, |window| window.min(MOST_OUTSTANDING)),
            clock_offset,
            rtt: RttEstimator::new(tcp.min_rto, tcp.timestamp_tick, base_rtt),
            round_end: 0,
            round: 0,
            quiet: fine.is_none(),
            cwnd_limited: false,
            byte_counting: tcp.byte_counting,
            recovery: tcp.recovery,
            meter,
            cc,
            phase: Phase::Open,
            trusted_from: 0,
            dupacks: 0,
            inflation: 0,
            repeat_first: false,
            timed_out: false,
            board: Scoreboard::default(),
            fine,
            earlier: 0,
        }
    }

    /// Starts over as a new connection with `end` segments to send; the meter goes on.
    pub fn reopen(&mut self, cc: Controller, end: u64) {
        self.earlier += self.high;
        self.una = 0;
        self.nxt = 0;
        self.high = 0;
        self.end = end;
        self.phase = Phase::Open;
        self.trusted_from = 0;
        self.dupacks = 0;
        self.inflation = 0;
        self.repeat_first = false;
        self.cwnd_limited = false;
        self.round_end = 0;
        self.round = 0;
        self.deadline = Nanos::MAX;
        self.rtt.reset();
        self.timed_out = false;
        self.board.reset();
        if let Some(fine) = &mut self.fine {
            **fine = FineTimes::default();
        }
        self.cc = cc;
        self.cwnd = self.cc.cwnd();
        self.quiet = self.fine.is_none();
    }

    /// Counts since the beginning.
    pub fn counters(&self) -> Counters {
        Counters::since(self.earlier + self.high, self.meter.events)
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        let times = self.fine.as_ref().map_or(0, |fine| fine.sent.capacity() * size_of::<SendTime>());
        self.board.heap_bytes() + times
    }

    /// When the retransmission timer expires; `Nanos::MAX` if it is off.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// Everything there was to send has been acknowledged.
    #[inline]
    pub fn finished(&self) -> bool {
        self.una >= self.end
    }

    /// No new data from now on; what has been sent is still repaired.
    pub fn stop(&mut self) {
        self.end = self.end.min(self.high);
    }

    /// Brings the meter up to `now`, and the series of flow `id`; call before anything changes.
    #[inline(always)]
    pub fn pass_time(&mut self, now: Nanos, id: u32, log: &mut SampleLog) {
        if now >= self.meter.next_mark() {
            self.pass_marks(now, id, log);
        }
        self.meter.integrate(now, self.cwnd);
    }

    #[cold]
    fn pass_marks(&mut self, now: Nanos, id: u32, log: &mut SampleLog) {
        let in_flight = self.in_network();
        let counters = self.counters();
        let Sender { ref mut meter, ref cc, cwnd, .. } = *self;
        meter.pass_marks(now, cwnd, &counters, |rtt| log.add(id, rtt, in_flight, cc));
    }

    /// An ACK arrives, with the SACK blocks it carries; [`Sender::pass_time`] first.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Nanos, arrival: &Arrival, sack: Option<&SackBlocks>) {
        let cumulative = unwrap(arrival.cumulative, self.una);
        if self.quiet && sack.is_none() && cumulative > self.una {
            self.on_expected_ack(now, cumulative, arrival);
        } else {
            self.on_any_ack(now, cumulative, arrival, sack);
            self.cwnd = self.cc.cwnd();
        }
    }

    /// The retransmission timer expires; [`Sender::pass_time`] first.
    pub fn on_timeout(&mut self, now: Nanos) {
        self.meter.events.timeouts += 1;
        self.rtt.back_off();
        self.restart(now);
        self.deadline = now + self.rtt.timeout();
        self.quiet = false;
        self.cwnd = self.cc.cwnd();
    }

    /// Nothing is lost or suspected: [`Sender::new_segments`] says all there is to send.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The new segments that may be sent at `now` where nothing is lost or suspected. The caller sends them.
    #[inline(always)]
    pub fn new_segments(&mut self, now: Nanos) -> Range<u64> {
        let (flight_size, window) = (self.flight_size(), self.window());
        let room = window.min(self.max_window).saturating_sub(flight_size);
        let count = room.min(self.end.saturating_sub(self.nxt));
        self.cwnd_limited = flight_size + count >= window;
        let first = self.nxt;
        if count > 0 {
            self.nxt += count;
            self.high = self.nxt;
            if self.deadline == Nanos::MAX {
                self.deadline = now + self.rtt.timeout();
            }
        }
        first..self.nxt
    }

    /// The next segment that may be sent at `now` where something is lost or suspected; call until it says `None`. The caller
    /// sends it.
    pub fn next_segment(&mut self, now: Nanos) -> Option<u64> {
        let seq = match self.recovery {
            Recovery::Sack => self.next_with_sack(),
            _ => self.next_without_sack(),
        }?;
        if seq < self.high {
            self.meter.events.retransmits += 1;
        } else {
            self.high = seq + 1;
        }
        if let Some(fine) = &mut self.fine {
            fine.note(seq, now);
        }
        if self.deadline == Nanos::MAX {
            self.deadline = now + self.rtt.timeout();
        }
        Some(seq)
    }

    /// The window's whole segments.
    #[inline(always)]
    fn window(&self) -> u64 {
        // Through i64, for which processors have an instruction.
        self.cwnd as i64 as u64
    }

    /// New data is acknowledged where nothing is lost or suspected: the case of nearly every ACK.
    #[inline(always)]
    fn on_expected_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival) {
        let acked = cumulative - self.una;
        self.una = cumulative;
        let ack = self.measure(now, acked, arrival);
        self.deadline = if cumulative == self.high { Nanos::MAX } else { now + self.rtt.timeout() };
        // As `Sender::flow` has it, but put together once the algorithm is known: a packet costs 3 % more otherwise.
        let Sender { una, nxt, round, cwnd_limited, ref rtt, ref meter, ref mut cc, .. } = *self;
        let lost = meter.events.retransmits;
        let flow = || Flow {
            now,
            delivered: una,
            lost,
            in_flight: nxt - una,
            srtt: rtt.smoothed(),
            min_rtt: rtt.least(),
            round,
            in_recovery: false,
            cwnd_limited,
        };
        let cwnd = cc.acked(|| (flow(), ack));
        #[cfg(feature = "record")]
        crate::record::ack(&flow(), &ack, cc);
        self.cwnd = cwnd;
    }

    #[inline(never)]
    fn on_any_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival, sack: Option<&SackBlocks>) {
        let newly_sacked = sack.map_or(0, |blocks| self.add_sack(cumulative, blocks));
        if cumulative > self.una {
            self.on_new_ack(now, cumulative, arrival);
        } else if cumulative == self.una && self.flight_size() > 0 {
            self.on_duplicate_ack(now, newly_sacked);
        }
        self.quiet = self.phase == Phase::Open && self.dupacks == 0 && self.board.is_empty() && self.fine.is_none();
    }

    /// New data is acknowledged.
    fn on_new_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival) {
        let acked = cumulative - self.una;
        self.una = cumulative;
        self.nxt = self.nxt.max(cumulative);
        self.dupacks = 0;
        self.timed_out = false;
        self.board.advance(cumulative);
        let ack = self.measure(now, acked, arrival);
        let before = self.phase;
        let restart_timer = self.leave_or_repair(acked);
        // RFC 6298 rules 5.2 and 5.3.
        if self.una == self.high {
            self.deadline = Nanos::MAX;
        } else if restart_timer {
            self.deadline = now + self.rtt.timeout();
        }
        let flow = self.flow(now, matches!(before, Phase::Recovery { .. }));
        self.cc.on_ack(&flow, &ack);
        #[cfg(feature = "record")]
        crate::record::ack(&flow, &ack, &self.cc);
        if before != Phase::Open && self.phase == Phase::Open {
            self.cc.on_recovered(&flow);
            #[cfg(feature = "record")]
            crate::record::recovered(&flow, &self.cc);
        }
        if self.fine.is_some() {
            self.check_fine_times(now);
        }
    }

    /// What this ACK tells about round trips and one-way delays.
    #[inline(always)]
    fn measure(&mut self, now: Nanos, acked: u64, arrival: &Arrival) -> Ack {
        let tick = self.rtt.granularity();
        let (sent, received) = (quantized(arrival.stamp, tick), quantized(now, tick));
        let turned = quantized(arrival.receiver_stamp + self.clock_offset, tick);
        let echoed = (received - sent).max(1);
        self.meter.sample_rtt(echoed);
        // Without looking whether there are fine times where it is known that there are none: they lie far off.
        let rtt = match &self.fine {
            Some(fine) if !self.quiet => {
                fine.sent_once_at(self.una - 1).map(|sent| (received - quantized(sent, tick)).max(1))
            }
            _ => Some(echoed),
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
        }
        let round_start = self.una > self.round_end;
        if round_start {
            self.round += 1;
            self.round_end = self.nxt;
        }
        Ack {
            acked,
            credit: self.credit(acked),
            round_start,
            rtt,
            forward_delay: Some(turned as i64 - sent as i64),
            backward_delay: Some(received as i64 - turned as i64),
        }
    }

    /// Window increases an ACK of `acked` segments is worth. Counting segments, slow start takes at most 2 from one ACK, and 1
    /// after a timeout, where an ACK may cover what arrived long before (RFC 3465 section 2.3).
    #[inline(always)]
    fn credit(&self, acked: u64) -> f64 {
        if !self.byte_counting {
            return 1.0;
        }
        let limit = match self.phase {
            _ if self.cwnd >= self.cc.ssthresh() => acked,
            Phase::Restart { .. } => 1,
            _ => 2,
        };
        acked.min(limit) as f64
    }

    /// New data is acknowledged: an episode ends, or its next hole is sent again. Says whether the timer starts anew.
    #[inline]
    fn leave_or_repair(&mut self, acked: u64) -> bool {
        match self.phase {
            Phase::Open => true,
            Phase::Recovery { point, .. } if self.una >= point => {
                self.settle();
                true
            }
            Phase::Restart { point } => {
                if self.una >= point {
                    self.settle();
                }
                true
            }
            Phase::Recovery { point, partial } => match self.recovery {
                Recovery::Sack => {
                    self.board.find_losses();
                    true
                }
                Recovery::NewReno => {
                    // RFC 6582 section 3.2, step 3: repair, deflate by what was acknowledged, add one back; only the first
                    // partial ACK restarts the timer.
                    self.repeat_first = true;
                    self.inflation = (self.inflation + 1).saturating_sub(acked);
                    self.phase = Phase::Recovery { point, partial: true };
                    !partial
                }
                _ => {
                    // RFC 5681 section 3.2, step 6: any ACK of new data ends it.
                    self.settle();
                    true
                }
            },
        }
    }

    fn settle(&mut self) {
        self.phase = Phase::Open;
        self.inflation = 0;
        self.board.settle(self.una);
    }

    fn on_duplicate_ack(&mut self, now: Nanos, newly_sacked: u64) {
        let with_sack = self.recovery == Recovery::Sack;
        match self.phase {
            Phase::Open => {
                // RFC 6675 section 2: with SACK, a duplicate ACK is one that brings news.
                let news = if with_sack { newly_sacked > 0 } else { self.una >= self.trusted_from };
                if !news {
                    return;
                }
                self.dupacks += 1;
                let lost = self.dupacks >= DUP_THRESH || (with_sack && self.board.is_lost(self.una));
                if lost || self.fine_timeout_expired(now) {
                    self.begin_recovery(now);
                }
            }
            Phase::Recovery { .. } if with_sack => self.board.find_losses(),
            Phase::Recovery { .. } => {
                self.inflation += 1;
                if self.fine_timeout_expired(now) {
                    self.repeat_first = true;
                }
            }
            Phase::Restart { .. } => {}
        }
    }

    fn begin_recovery(&mut self, now: Nanos) {
        self.meter.events.fast_recoveries += 1;
        if self.recovery == Recovery::Tahoe {
            self.restart(now);
            self.deadline = now + self.rtt.timeout();
            return;
        }
        if self.may_cut() {
            let flow = self.flow(now, true);
            self.cc.on_congestion(&flow, Signal::Loss);
            #[cfg(feature = "record")]
            crate::record::congestion(&flow, Signal::Loss, &self.cc);
            if let Some(fine) = &mut self.fine {
                fine.cut_at = Some(now);
            }
        }
        self.phase = Phase::Recovery { point: self.high, partial: false };
        if self.recovery == Recovery::Sack {
            self.board.begin_recovery(self.una);
            self.repeat_first = self.board.next_lost().is_some();
        } else {
            self.repeat_first = true;
            self.inflation = u64::from(self.dupacks);
            if self.recovery == Recovery::NewReno {
                self.trusted_from = self.high + 1;
            }
        }
        if let Some(fine) = &mut self.fine {
            fine.unchecked = 2;
        }
        self.deadline = now + self.rtt.timeout();
    }

    /// Slow start from one segment: after a timeout, or Tahoe's fast retransmit.
    fn restart(&mut self, now: Nanos) {
        // RFC 5681 section 3.1: ssthresh is not cut again for a segment that the timer has already sent again. One that fast
        // recovery has sent again is lost for the second time: section 4.3 has the windows lowered for it as well.
        if !self.timed_out {
            let flow = self.flow(now, false);
            self.cc.on_congestion(&flow, Signal::Timeout);
            #[cfg(feature = "record")]
            crate::record::congestion(&flow, Signal::Timeout, &self.cc);
        }
        self.timed_out = true;
        self.phase = Phase::Restart { point: self.high };
        self.dupacks = 0;
        self.inflation = 0;
        self.repeat_first = false;
        if self.recovery == Recovery::Sack {
            self.board.lose_all(self.una, self.high);
        } else {
            self.nxt = self.una;
            self.trusted_from = self.high + 1;
        }
        if let Some(fine) = &mut self.fine {
            fine.cut_at = Some(now);
        }
    }

    #[inline]
    fn next_with_sack(&mut self) -> Option<u64> {
        if std::mem::take(&mut self.repeat_first) {
            return Some(self.una);
        }
        if self.board.pipe(self.una, self.nxt) >= self.window() {
            self.cwnd_limited = true;
            return None;
        }
        if self.phase != Phase::Open {
            if let Some(seq) = self.board.next_lost() {
                return Some(seq);
            }
        }
        if self.has_new_data() {
            self.nxt += 1;
            return Some(self.nxt - 1);
        }
        self.cwnd_limited = false;
        match self.phase {
            Phase::Recovery { .. } => self.board.next_rescue(self.una, self.nxt),
            _ => None,
        }
    }

    #[inline]
    fn next_without_sack(&mut self) -> Option<u64> {
        if std::mem::take(&mut self.repeat_first) {
            self.nxt = self.nxt.max(self.una + 1);
            return Some(self.una);
        }
        // RFC 3042: the first two duplicate ACKs each let one new segment go.
        let limited_transmit = if self.phase == Phase::Open { u64::from(self.dupacks) } else { 0 };
        if self.flight_size() >= self.window() + self.inflation + limited_transmit {
            self.cwnd_limited = true;
            return None;
        }
        if !self.has_new_data() {
            self.cwnd_limited = false;
            return None;
        }
        self.nxt += 1;
        Some(self.nxt - 1)
    }

    #[inline]
    fn has_new_data(&self) -> bool {
        self.nxt < self.end && self.flight_size() < self.max_window
    }

    /// RFC 5681's FlightSize: segments sent and not cumulatively acknowledged.
    #[inline]
    fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// Segments thought to be in the network: RFC 6675's pipe; without SACK each duplicate ACK stands for one that has left.
    fn in_network(&self) -> u64 {
        if self.quiet {
            return self.flight_size();
        }
        match (self.recovery, self.phase) {
            (Recovery::Sack, _) => self.board.pipe(self.una, self.nxt),
            (_, Phase::Open) => self.flight_size().saturating_sub(u64::from(self.dupacks)),
            _ => self.flight_size().saturating_sub(self.inflation),
        }
    }

    /// The state the congestion control sees.
    #[inline]
    fn flow(&self, now: Nanos, in_recovery: bool) -> Flow {
        Flow {
            now,
            delivered: self.una,
            lost: self.meter.events.retransmits,
            in_flight: self.flight_size(),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.least(),
            round: self.round,
            in_recovery,
            cwnd_limited: self.cwnd_limited,
        }
    }

    /// Adds SACK blocks to the scoreboard; says how many segments they newly report.
    fn add_sack(&mut self, cumulative: u64, blocks: &SackBlocks) -> u64 {
        let near = self.una;
        // An ACK that a later one has overtaken tells of what lies below the cumulative point now.
        let known = |edge: u32| unwrap(edge, near).max(cumulative).max(near);
        blocks
            .iter()
            .filter(|(start, end)| start != end)
            .map(|&(start, end)| self.board.add(known(start), known(end)))
            .sum()
    }

    /// Brakmo and Peterson 1995, section 3.1: several losses in a window cut it once; a segment sent before the last cut says
    /// nothing new.
    fn may_cut(&self) -> bool {
        self.fine.as_ref().is_none_or(|fine| fine.sent_at(self.una) > fine.cut_at)
    }

    /// Brakmo and Peterson 1995, section 3.1: at a duplicate ACK the first segment is sent again if it is older than the fine
    /// timeout, without waiting for a third.
    fn fine_timeout_expired(&self, now: Nanos) -> bool {
        let Some(fine) = &self.fine else { return false };
        let (Some(sent), Some(timeout)) = (fine.sent_at(self.una), self.rtt.fine_timeout()) else { return false };
        now - sent > timeout
    }

    /// Brakmo and Peterson 1995, section 3.1: the same check at the first and second ACK of new data after a retransmission.
    fn check_fine_times(&mut self, now: Nanos) {
        let una = self.una;
        let Some(fine) = &mut self.fine else { return };
        fine.forget_below(una);
        if fine.unchecked == 0 {
            return;
        }
        fine.unchecked -= 1;
        if self.flight_size() > 0 && self.fine_timeout_expired(now) {
            self.repeat_first = true;
            self.phase = Phase::Recovery { point: self.high, partial: false };
        }
    }
}

impl FineTimes {
    fn note(&mut self, seq: u64, now: Nanos) {
        let at = (seq - self.base) as usize;
        if at < self.sent.len() {
            self.sent[at] = SendTime { last: now, again: true };
        } else {
            self.sent.push_back(SendTime { last: now, again: false });
        }
    }

    fn sent_at(&self, seq: u64) -> Option<Nanos> {
        self.sent.get((seq - self.base) as usize).map(|time| time.last)
    }

    /// Brakmo and Peterson 1995, section 3.1: the RTT is taken from the recorded time of the segment acknowledged, which has
    /// waited at the receiver if one before it was lost. `None` if it was sent again, when the ACK may be of either (Karn).
    fn sent_once_at(&self, seq: u64) -> Option<Nanos> {
        self.sent.get((seq - self.base) as usize).filter(|time| !time.again).map(|time| time.last)
    }

    fn forget_below(&mut self, una: u64) {
        while self.base < una && self.sent.pop_front().is_some() {
            self.base += 1;
        }
        self.base = una;
    }
}

/// A clock of the given tick, read at `now`; one of a nanosecond is exact.
#[inline]
fn quantized(now: Nanos, tick: Nanos) -> Nanos {
    if tick == 1 { now } else { now - now % tick }
}
