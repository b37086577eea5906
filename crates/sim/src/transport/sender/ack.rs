//! ACKs: the fast path, and the general path.

use super::{Arrival, Sender, quantized};
use crate::packet::{AckNote, Echo, SackBlocks};
use crate::transport::policy::{Input, Policy};
use crate::transport::progress::{Phase, Progress};
use crate::transport::rate::Sampler;
use crate::transport::receiver::unwrap;
use crate::transport::repair::{AckEvent, Any, Context, Repair};
use crate::transport::rto::RttEstimator;
use fullpipe_cc::{Ack, Flow, Nanos, Signal};

impl<P: Policy> Sender<P> {
    /// Handles an ACK without SACK blocks and marks. Call [`Sender::pass_time`] first.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Nanos, arrival: &Arrival) {
        let cumulative = unwrap(arrival.cumulative, self.progress.una);
        if !self.fast_path || cumulative <= self.progress.una {
            self.on_any_ack(now, cumulative, arrival, None, 0);
        } else if self.keeps_records {
            self.on_recorded_ack_in_order(now, cumulative, arrival);
        } else {
            self.on_ack_in_order::<false>(now, cumulative, arrival);
        }
    }

    #[inline(never)]
    fn on_recorded_ack_in_order(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival) {
        self.on_ack_in_order::<true>(now, cumulative, arrival);
    }

    /// Handles an ACK with a note. Call [`Sender::pass_time`] first.
    #[inline(never)]
    pub fn on_noted_ack(&mut self, now: Nanos, arrival: &Arrival, note: &AckNote) {
        let sack = note.sack();
        let marked = note.echo.map_or(0, |echo| self.on_echo(now, arrival, echo, sack.is_some()));
        if marked == 0 && sack.is_none() {
            return self.on_ack(now, arrival);
        }
        let cumulative = unwrap(arrival.cumulative, self.progress.una);
        self.on_any_ack(now, cumulative, arrival, sack, marked);
    }

    /// Handles the ECN echo of an ACK. Returns the number of newly reported marks, and cuts the window if one calls for it.
    pub(super) fn on_echo(&mut self, now: Nanos, arrival: &Arrival, echo: Echo, sacks: bool) -> u64 {
        let calm = self.is_calm();
        let Some(ecn) = &mut self.ecn else { return 0 };
        let cumulative = unwrap(arrival.cumulative, self.progress.una);
        let stamp = quantized(arrival.receiver_stamp + self.clock_offset, self.rtt.timestamp_tick());
        let may_be_newest = ecn.may_be_newest(stamp, sacks || cumulative > self.progress.una);
        if cumulative < self.progress.una || !may_be_newest {
            // A later ACK has overtaken this one, and has reported more.
            return 0;
        }
        // Where segments are missing, the cumulative ACK does not show how many have arrived.
        let repairing = self.progress.phase.is_repairing();
        let acked = if calm && !repairing { cumulative.saturating_sub(self.progress.una) } else { 0 };
        let marked = ecn.news(echo, acked);
        if marked > 0 && !repairing && ecn.answers(cumulative, self.progress.high) {
            self.on_mark(now);
        }
        marked
    }

    /// Cuts the window for a CE mark. The window sinks over a round trip with proportional rate reduction.
    fn on_mark(&mut self, now: Nanos) {
        let from = self.window();
        self.signal(Signal::Ecn, now);
        self.cwnd = self.cc.cwnd();
        let to = self.window();
        let (repair, mut context) = self.recovery(now);
        if to < from && repair.sink(from, to, &mut context) {
            self.progress.phase = Phase::Reduction { point: self.progress.high };
        }
    }

    /// Fast path: new data is acknowledged while nothing is lost or suspected.
    #[inline(always)]
    fn on_ack_in_order<const RECORDED: bool>(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival) {
        let acked = cumulative - self.progress.una;
        self.progress.una = cumulative;
        let popped = if RECORDED { self.outstanding.pop_in_order(cumulative, now) } else { None };
        let sent = match popped {
            // Linux samples the RTT of the first acknowledged segment.
            Some((first, _)) if self.rtt.is_linux() && self.repair.needs_records() => first,
            _ => arrival.stamp,
        };
        let rtt = Some(self.elapsed(sent, now));
        let mut ack = self.measure(now, acked, arrival, rtt);
        self.rto_at = if cumulative == self.progress.high { Nanos::MAX } else { now + self.rtt.timeout() };
        if let Some((_, last)) = &popped {
            let Sender { repair, rtt, progress, outstanding, .. } = self;
            if let Any::Rack(rack) = repair {
                rack.on_ack_in_order(acked, last, &mut Context { now, rtt, progress, outstanding });
                self.repair_at = rack.timer_at();
            }
            ack.rate = outstanding.rate.as_mut().and_then(|sampler| sampler.sample(now));
        }
        let Sender { ref progress, round, ref rtt, ref meter, ref mut cc, ref outstanding, .. } = *self;
        let sampler = if RECORDED { outstanding.rate.as_deref() } else { None };
        let in_order = InOrder { now, progress, round, lost: meter.events.retransmits, rtt, sampler, ack };
        let cwnd = cc.acked(in_order);
        #[cfg(feature = "record")]
        {
            let (flow, ack) = in_order.put_together();
            crate::record::ack(&flow, &ack, cc);
        }
        self.cwnd = cwnd;
        if RECORDED && self.sampler().is_some() && self.cc.holds_back() {
            self.note_app_limited();
        }
    }

    /// General path.
    #[inline(never)]
    fn on_any_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival, sack: Option<&SackBlocks>, marked: u64) {
        if self.quic.is_some() {
            return self.on_quic_ack(now, arrival);
        }
        self.fast_path = false;
        if let Some(sampler) = &mut self.outstanding.rate {
            sampler.begin_ack();
        }
        let (repair, mut context) = self.recovery(now);
        let sacked = sack.map_or(0, |blocks| repair.on_sack(blocks, cumulative, &mut context));
        if cumulative > self.progress.una {
            self.on_new_ack(now, cumulative, arrival, sacked, marked);
        } else if cumulative == self.progress.una && self.progress.flight_size() > 0 {
            self.on_duplicate_ack(now, arrival, sacked, marked);
        } else if marked > 0 {
            // A late original of a segment whose retransmission has been acknowledged: its mark counts.
            let flow = self.flow(now);
            self.cc.on_ack(&flow, &Ack::of(0, 0.0).ce(marked));
        }
        self.undo(now);
        if self.reports_events() {
            self.report_events(now, marked, false);
        }
        if self.newly_delivered() > 0 && self.cc.holds_back() {
            self.note_app_limited();
        }
        self.repair_at = self.repair.timer_at();
        self.update_fast_path();
        self.cwnd = self.cc.cwnd();
    }

    /// Handles an ACK of new data.
    #[inline(always)]
    fn on_new_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival, sacked: u64, marked: u64) {
        let acked = cumulative - self.progress.una;
        self.progress.una = cumulative;
        self.progress.nxt = self.progress.nxt.max(cumulative);
        self.timed_out = false;
        let rtt = if self.rtt.is_linux() {
            Some(self.linux_rtt(now, acked, sacked, arrival.stamp))
        } else {
            self.sample_from(cumulative - 1, arrival.stamp).map(|sent| self.elapsed(sent, now))
        };
        let mut ack = self.measure(now, acked, arrival, rtt);
        if marked > 0 {
            ack = ack.ce(marked).credit(0.0);
        }
        let (repair, mut context) = self.recovery(now);
        let verdict = repair.on_ack(&AckEvent { stamp: arrival.stamp, acked, sacked }, &mut context);
        if self.keeps_records {
            self.outstanding.forget_below(cumulative, now);
        }
        self.report_losses(now);
        self.add_rate(&mut ack, now);
        // RFC 6298 rules 5.2 and 5.3.
        if cumulative == self.progress.high {
            self.rto_at = Nanos::MAX;
            self.repair_at = self.repair.timer_at();
        } else if !verdict.keeps_timer {
            self.start_timer(now);
        }
        let flow = self.flow(now);
        self.cc.on_ack(&flow, &ack);
        #[cfg(feature = "record")]
        crate::record::ack(&flow, &ack, &self.cc);
        if verdict.over {
            self.progress.phase = Phase::Open;
            self.end_recovery(&flow);
        }
        if let Some(loss) = verdict.loss {
            self.act_on(loss, now);
        }
    }

    /// Handles an ACK that acknowledges no new data while segments are outstanding.
    #[inline(always)]
    fn on_duplicate_ack(&mut self, now: Nanos, arrival: &Arrival, sacked: u64, marked: u64) {
        if sacked > 0 && self.rtt.is_linux() {
            self.sample_sacked(now);
        }
        let (repair, mut context) = self.recovery(now);
        let verdict = repair.on_ack(&AckEvent { stamp: arrival.stamp, acked: 0, sacked }, &mut context);
        self.report_losses(now);
        if (self.newly_delivered() > 0 && self.cc.takes_rate_samples()) || marked > 0 {
            let mut ack = Ack::of(0, 0.0).ce(marked);
            self.add_rate(&mut ack, now);
            let flow = self.flow(now);
            self.cc.on_ack(&flow, &ack);
        }
        if let Some(loss) = verdict.loss {
            self.act_on(loss, now);
        }
    }

    /// Undoes the last cut if this ACK shows that it was spurious.
    #[inline(always)]
    fn undo(&mut self, now: Nanos) {
        if !self.outstanding.undo.is_due() {
            return;
        }
        let (repair, mut context) = self.recovery(now);
        repair.on_undo(&mut context);
        let Some((cwnd, ssthresh)) = self.outstanding.undo.take() else { return };
        self.progress.phase = Phase::Open;
        self.timed_out = false;
        self.cc.on_undo(cwnd, ssthresh);
        if self.reports_events() {
            self.report_spurious(now);
        }
    }

    /// Segments that this ACK delivers, for the rate sampler; 0 without one.
    #[inline(always)]
    fn newly_delivered(&self) -> u64 {
        self.outstanding.rate.as_ref().map_or(0, |sampler| sampler.newly_delivered())
    }

    /// Adds losses and delivery rate to an ACK.
    #[inline(always)]
    fn add_rate(&mut self, ack: &mut Ack, now: Nanos) {
        if let Some(sampler) = &mut self.outstanding.rate {
            ack.newly_lost = sampler.newly_lost();
            ack.rate = sampler.sample(now);
            return;
        }
        let lost = self.meter.events.retransmits as u32;
        ack.newly_lost = lost.wrapping_sub(std::mem::replace(&mut self.lost_reported, lost)).into();
    }

    /// Start of the RTT sample that the ACK of segment `seq` ends: the echoed timestamp. Vegas takes the recorded send time, and no sample
    /// of a retransmitted segment, whose ACK may be for either transmission (Karn's algorithm).
    fn sample_from(&self, seq: u64, stamp: Nanos) -> Option<Nanos> {
        match self.repair {
            Any::Vegas(_) => {
                self.outstanding.get(seq).filter(|record| !record.retransmitted).map(|record| record.sent_at)
            }
            _ => Some(stamp),
        }
    }

    /// Updates RTT, round, and one-way delays. Returns the ACK without losses and rate.
    #[inline(always)]
    pub(super) fn measure(&mut self, now: Nanos, acked: u64, arrival: &Arrival, rtt: Option<Nanos>) -> Ack {
        self.meter.sample_rtt(self.elapsed(arrival.stamp, now));
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, self.progress.una, self.progress.nxt);
        }
        let round_start = self.progress.una > self.round_end;
        if round_start {
            self.round += 1;
            self.round_end = self.progress.nxt;
        }
        let stamps = self.rtt.timestamp_tick();
        let (sent, received) = (quantized(arrival.stamp, stamps), quantized(now, stamps));
        let turned = quantized(arrival.receiver_stamp + self.clock_offset, stamps);
        let mut ack = Ack::of(acked, self.credit(acked));
        ack.round_start = round_start;
        ack.rtt = rtt;
        ack.forward_delay = Some(turned as i64 - sent as i64);
        ack.backward_delay = Some(received as i64 - turned as i64);
        ack
    }

    /// Time from `sent` to `now` by the clock that measures round trips.
    #[inline(always)]
    pub(super) fn elapsed(&self, sent: Nanos, now: Nanos) -> Nanos {
        let tick = self.rtt.granularity();
        (quantized(now, tick) - quantized(sent, tick)).max(1)
    }

    /// Window increases that an ACK of `acked` segments is worth. With byte counting, slow start takes at most 2 from one ACK, and 1
    /// after a timeout, where an ACK may cover segments that arrived long before (RFC 3465 section 2.3).
    #[inline(always)]
    fn credit(&self, acked: u64) -> f64 {
        if !self.byte_counting {
            return 1.0;
        }
        let limit = match self.progress.phase {
            _ if self.cwnd >= self.cc.ssthresh() => acked,
            Phase::Restart { .. } => 1,
            _ => 2,
        };
        acked.min(limit) as f64
    }
}

/// ACK on the fast path. The state is put together once the algorithm is known: most algorithms read little of it.
#[derive(Clone, Copy)]
struct InOrder<'a> {
    now: Nanos,
    progress: &'a Progress,
    round: u64,
    lost: u64,
    rtt: &'a RttEstimator,
    sampler: Option<&'a Sampler>,
    ack: Ack,
}

impl Input for InOrder<'_> {
    #[inline(always)]
    fn put_together(self) -> (Flow, Ack) {
        let Progress { una, nxt, end, cwnd_limited, .. } = *self.progress;
        let mut flow = Flow::at(self.now);
        flow.delivered = una;
        flow.lost = self.lost;
        flow.flight_size = nxt - una;
        flow.in_flight = nxt - una;
        flow.srtt = self.rtt.smoothed();
        flow.min_rtt = self.rtt.least();
        flow.round = self.round;
        flow.cwnd_limited = cwnd_limited;
        flow.app_limited = nxt >= end && !cwnd_limited;
        if let Some(sampler) = self.sampler {
            (flow.lost, flow.app_limited) = (sampler.lost(), sampler.is_app_limited());
        }
        (flow, self.ack)
    }
}
