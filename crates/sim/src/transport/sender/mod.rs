//! Sender of a connection: windows, timers, measurements. The window comes from the congestion control. The loss recovery decides which
//! segments are lost and retransmitted (see [`repair`](super::repair)).
//!
//! `ack.rs` handles ACKs, `send.rs` sends, `timer.rs` has the retransmission timer. An ACK takes one of two paths: the fast path, while
//! nothing is lost or suspected, or the general path. Likewise, a plain sender on the fast path sends ranges of new segments, and all
//! others send segment by segment.
//!
//! Sources: RFC 5681 (sending, restart after a timeout), RFC 6298 (timeout), RFC 7323 (timestamps).
//!
//! Differences from a kernel's sender: connections begin established (an earlier handshake over an idle path sets the first timeout, see
//! `rto.rs`) unless the scenario has a handshake, and end without FIN. Data is available until the flow's end. The receiver never reneges.
//! Except with RACK, only the timer finds lost retransmissions, and spurious cuts are not undone.
//!
//! A timeout cuts once: while the timer expires again for one segment ssthresh stays (RFC 5681 section 3.1). Inside fast
//! recovery, which has cut already, it cuts once more, because a retransmission was lost too, and RFC 5681 section 4.3
//! has both windows lowered twice then. The cut is of the window in force, which is never more than the FlightSize of equation 4.
//! Linux cuts once a window, however many retransmissions are lost. With NewReno the timer may also expire because there are more
//! losses than round trips to repair them in (RFC 6582 section 4, "impatient"). This too is a second cut, as in ns-2.

mod ack;
#[cfg(test)]
mod bbr_tests;
mod events;
mod linux;
#[cfg(test)]
mod linux_tests;
mod packets;
#[cfg(test)]
mod path_tests;
mod quic;
mod send;
mod snapshot;
mod source;
#[cfg(test)]
mod tests;
mod timer;

pub use events::Events;
pub use snapshot::Snapshot;

use super::ecn::{self, EcnMode};
use super::outstanding::Records;
use super::pacing::Pacer;
use super::packet_log::PacketLog;
use super::progress::{Phase, Progress};
use super::quic::{Connection as Quic, EcnState};
use super::rate::Sampler;
use super::repair::{self, Context, Loss, Repair};
use super::rto::RttEstimator;
use crate::packet::{Ecn, Marks};
use crate::report::log::SampleLog;
use crate::report::meter::{Counters, Meter};
use crate::scenario::Tcp;
use crate::transport::policy::{Controller, MOST_SEGMENTS, Policy};
use fullpipe_cc::{Flow, Nanos, Signal};

/// Sending end of a connection. Fields that every ACK touches come first, together in memory.
#[derive(Debug)]
#[repr(C)]
pub struct Sender<P = Controller> {
    progress: Progress,
    /// Congestion window after the last event, segments.
    cwnd: f64,
    /// Expiry of the retransmission timer; `Nanos::MAX` if it is off.
    rto_at: Nanos,
    /// Expiry of the recovery's own timers; `Nanos::MAX` if they are off.
    repair_at: Nanos,
    /// Receiver's clock minus sender's; the clocks are not synchronized.
    clock_offset: Nanos,
    rtt: RttEstimator,
    /// The round ends when this segment is acknowledged.
    round_end: u64,
    round: u64,
    /// The fast path is open: nothing is lost or suspected.
    fast_path: bool,
    /// The sender keeps no records and has no pacer.
    plain: bool,
    /// The sender keeps a record of each outstanding segment.
    keeps_records: bool,
    byte_counting: bool,
    /// The timer has expired and nothing has been acknowledged since.
    timed_out: bool,
    /// Lost segments that have been reported to the algorithm, modulo 2^32.
    lost_reported: u32,
    /// Measurements.
    pub meter: Meter,
    /// Congestion control.
    pub cc: P,
    repair: repair::Any,
    outstanding: Records,
    /// ECN of TCP, if it is on.
    ecn: Option<Box<ecn::Sending>>,
    /// Segments sent (once each) in earlier connections.
    earlier: u64,
    pacer: Option<Box<Pacer>>,
    /// Sizes and codepoints, if the algorithm asks for packet events.
    packets: Option<Box<PacketLog>>,
    /// QUIC in the place of TCP.
    quic: Option<Box<Quic>>,
    /// Test only: disables the fast path, so that tests can compare both paths.
    #[cfg(test)]
    general_only: bool,
}

/// Numbers of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Next segment expected, modulo 2^32.
    pub cumulative: u32,
    /// The sender's own timestamp, echoed.
    pub stamp: Nanos,
    /// The receiver's time when the ACK left.
    pub receiver_stamp: Nanos,
}

impl<P: Policy> Sender<P> {
    /// Sender of a connection with `end` segments to send. The RTT without queues is `base_rtt`, and the receiver's clock is
    /// `clock_offset` ahead.
    pub fn new(
        tcp: &Tcp,
        cc: P,
        end: u64,
        base_rtt: Nanos,
        clock_offset: Nanos,
        packet_bytes: u32,
        meter: Meter,
    ) -> Self {
        let most = u64::from(MOST_SEGMENTS);
        let max_window = tcp.max_window.map_or(MOST_SEGMENTS, |window| window.min(most) as u32);
        let repair = repair::Any::new(tcp, &cc);
        let pacer = (tcp.pacing.applies_to(&cc) && tcp.quic.is_none()).then(Box::default);
        let quic = tcp.quic.map(|rules| {
            let mut quic = Box::new(Quic::new(rules, tcp, packet_bytes, ect_of(tcp)));
            quic.open(0, base_rtt);
            quic
        });
        let mut sampler = (cc.takes_rate_samples() || cc.records_packets()).then(Box::<Sampler>::default);
        let ect = ect_of(tcp);
        let mut packets = cc.records_packets().then(|| Box::new(PacketLog::new(packet_bytes, ect)));
        if let (true, Some(packets), Some(sampler)) = (cc.is_packet_level(), &mut packets, &mut sampler) {
            events::collect(packets, sampler);
        }
        let reports_events = packets.as_ref().is_some_and(|packets| packets.events.is_some());
        let keeps_records = repair.needs_records() || sampler.is_some();
        let plain = !keeps_records && pacer.is_none() && quic.is_none();
        Sender {
            progress: Progress::new(end, max_window),
            cwnd: cc.cwnd(),
            rto_at: Nanos::MAX,
            repair_at: Nanos::MAX,
            clock_offset,
            rtt: RttEstimator::new(tcp.min_rto, tcp.rtt_tick, base_rtt)
                .with_timestamps(tcp.timestamp_tick)
                .with_rule(tcp.rto),
            round_end: 0,
            round: 0,
            fast_path: !matches!(repair, repair::Any::Vegas(_)) && !reports_events && quic.is_none(),
            plain,
            keeps_records,
            byte_counting: tcp.byte_counting,
            timed_out: false,
            lost_reported: 0,
            meter,
            cc,
            repair,
            outstanding: if keeps_records { Records::new(sampler, tcp.undo) } else { Records::default() },
            ecn: (tcp.ecn != EcnMode::Off && tcp.quic.is_none()).then(|| Box::new(ecn::Sending::new(tcp.ecn, tcp.ect))),
            earlier: 0,
            pacer,
            packets,
            quic,
            #[cfg(test)]
            general_only: false,
        }
    }

    /// Starts over as a new connection with `end` segments to send. The meter is kept.
    pub fn reopen(&mut self, cc: P, end: u64) {
        self.earlier += self.progress.high;
        self.progress = Progress::new(end, self.progress.max_window);
        self.round_end = 0;
        self.round = 0;
        (self.rto_at, self.repair_at) = (Nanos::MAX, Nanos::MAX);
        self.rtt.reset();
        self.timed_out = false;
        self.repair.reset();
        if self.keeps_records {
            self.outstanding.reset();
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.reset();
        }
        self.begin_with(cc);
        if let Some(pacer) = &mut self.pacer {
            **pacer = Pacer::default();
        }
        if let Some(packets) = &mut self.packets {
            packets.reset();
        }
        if let Some(quic) = &mut self.quic {
            quic.reset();
            quic.open(0, self.rtt.handshake());
        }
        self.update_fast_path();
    }

    /// Replaces the congestion control of a connection that has sent no data.
    pub fn begin_with(&mut self, cc: P) {
        self.cc = cc;
        self.cwnd = self.cc.cwnd();
    }

    /// Counts since the beginning.
    pub fn counters(&self) -> Counters {
        Counters::since(self.earlier + self.progress.high, self.meter.events)
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        let pacer = self.pacer.as_ref().map_or(0, |_| size_of::<Pacer>());
        let packets = self.packets.as_ref().map_or(0, |packets| packets.heap_bytes());
        let ecn = self.ecn.as_deref().map_or(0, size_of_val);
        let quic = self.quic.as_ref().map_or(0, |quic| quic.heap_bytes());
        let parts = quic
            + self.repair.heap_bytes()
            + self.outstanding.heap_bytes()
            + self.rtt.heap_bytes()
            + pacer
            + packets
            + ecn;
        parts + self.meter.heap_bytes() + self.cc.heap_bytes()
    }

    /// Whether all data has been acknowledged.
    #[inline]
    pub fn finished(&self) -> bool {
        self.progress.una >= self.progress.end
    }

    /// Segments to send, if there is a limit.
    pub fn to_send(&self) -> Option<u64> {
        Some(self.progress.end).filter(|&end| end < u64::MAX)
    }

    /// Ends the data here. Losses are still repaired. Returns whether any data was left to send.
    pub fn stop(&mut self) -> bool {
        let left = self.progress.high < self.progress.end;
        self.progress.end = self.progress.end.min(self.progress.high);
        left
    }

    /// Brings the meter and the series of flow `id` up to `now`. Call it before any other event.
    #[inline(always)]
    pub fn pass_time(&mut self, now: Nanos, id: u32, log: &mut SampleLog) {
        if now >= self.meter.next_mark() {
            self.pass_marks(now, id, log);
        }
        self.meter.integrate(now, self.cwnd);
    }

    #[cold]
    fn pass_marks(&mut self, now: Nanos, id: u32, log: &mut SampleLog) {
        let (in_flight, arrived) = (self.in_network(), self.arrived());
        let counters = self.counters();
        let Sender { ref mut meter, ref cc, cwnd, .. } = *self;
        meter.pass_marks(now, cwnd, &counters, |rtt| log.add(id, rtt, in_flight, arrived, cc));
    }

    /// ECN bits of the segment that was just sent, `new` or not.
    #[inline]
    pub fn marks(&mut self, new: bool) -> Marks {
        match (&mut self.ecn, &self.quic) {
            (Some(ecn), _) => ecn.marks(new),
            (None, Some(quic)) => quic.marks(),
            (None, None) => Marks::NONE,
        }
    }

    /// State of the path for ECN at a QUIC sender; `None` for TCP, which does not validate it, and without ECN.
    pub fn ecn_state(&self) -> Option<EcnState> {
        self.quic.as_ref()?.ecn_state()
    }

    /// Segments acknowledged cumulatively.
    pub fn acknowledged(&self) -> u64 {
        self.progress.una
    }

    /// One past the highest segment ever sent.
    pub fn high(&self) -> u64 {
        self.progress.high
    }

    /// Whether [`Sender::new_segments`] has all segments to send: the sender is plain and on the fast path.
    #[inline(always)]
    pub fn sends_ranges(&self) -> bool {
        self.fast_path && self.plain
    }

    /// Opens or closes the fast path.
    fn update_fast_path(&mut self) {
        #[cfg(test)]
        if self.general_only {
            return;
        }
        let idle =
            self.progress.phase == Phase::Open && !self.reports_events() && self.repair.is_idle(&self.outstanding);
        self.fast_path = idle && (self.plain || (self.outstanding.is_in_order() && self.has_reported_losses()));
    }

    /// Whether all lost segments have been reported to the algorithm with an ACK.
    fn has_reported_losses(&self) -> bool {
        self.sampler().map_or(self.lost_reported == self.lost() as u32, Sampler::has_reported_all)
    }

    /// The recovery, and the state that it works on.
    #[inline(always)]
    fn recovery(&mut self, now: Nanos) -> (&mut repair::Any, Context<'_>) {
        let Sender { repair, rtt, progress, outstanding, .. } = self;
        (repair, Context { now, rtt, progress, outstanding })
    }

    /// Acts on a loss.
    #[inline(never)]
    fn act_on(&mut self, loss: Loss, now: Nanos) {
        match loss {
            Loss::RepairNext => self.progress.phase = Phase::Recovery { point: self.progress.high },
            Loss::Restart => {
                self.meter.events.fast_recoveries += 1;
                self.restart(now);
                self.start_timer(now);
            }
            Loss::Cut | Loss::Repair => {
                self.meter.events.fast_recoveries += 1;
                if loss == Loss::Cut {
                    self.signal(Signal::Loss, now);
                }
                self.cwnd = self.cc.cwnd();
                let window = self.window();
                let (repair, mut context) = self.recovery(now);
                repair.begin(window, &mut context);
                self.progress.phase = Phase::Recovery { point: self.progress.high };
                self.start_timer(now);
            }
            Loss::Repaired => {
                self.signal(Signal::Loss, now);
                self.end_recovery(&self.flow_in(now, false));
            }
        }
    }

    /// Slow start from one segment: after a timeout, or Tahoe's fast retransmit.
    fn restart(&mut self, now: Nanos) {
        // RFC 5681 section 3.1: ssthresh is not cut again for a segment that the timer has already retransmitted. A segment that fast
        // recovery has retransmitted is lost for the second time: section 4.3 lowers the windows for it as well.
        let cuts = !self.timed_out;
        let reports_losses = self.sampler().is_some();
        if cuts && !reports_losses {
            self.signal(Signal::Timeout, now);
        }
        self.timed_out = true;
        self.progress.phase = Phase::Restart { point: self.progress.high };
        let (repair, mut context) = self.recovery(now);
        repair.restart(&mut context);
        if reports_losses {
            self.report_losses(now);
            if cuts {
                self.signal(Signal::Timeout, now);
            }
        }
    }

    /// Reports congestion to the algorithm.
    fn signal(&mut self, signal: Signal, now: Nanos) {
        let flow = self.flow_in(now, signal == Signal::Loss);
        if self.keeps_records {
            let before = (self.cc.cwnd(), self.cc.ssthresh());
            self.outstanding.undo.on_cut((signal != Signal::Ecn).then_some(before));
        }
        self.cc.on_congestion(&flow, signal);
        #[cfg(feature = "record")]
        crate::record::congestion(&flow, signal, &self.cc);
    }

    /// Reports the end of a recovery to the algorithm.
    fn end_recovery(&mut self, flow: &Flow) {
        self.cc.on_recovered(flow);
        self.end_episode();
        #[cfg(feature = "record")]
        crate::record::recovered(flow, &self.cc);
    }

    /// Reports segments that the recovery has found lost to an algorithm that takes rate samples.
    #[inline(always)]
    fn report_losses(&mut self, now: Nanos) {
        if self.sampler().is_some_and(|sampler| !sampler.found.is_empty()) {
            self.report_found(now);
        }
    }

    #[inline(never)]
    fn report_found(&mut self, now: Nanos) {
        let Some(sampler) = &mut self.outstanding.rate else { return };
        let mut found = std::mem::take(&mut sampler.found);
        for seq in found.drain(..) {
            self.report_loss(seq, now);
        }
        if let Some(sampler) = &mut self.outstanding.rate {
            sampler.found = found;
        }
    }

    /// Reports that segment `seq` is lost, unless that has been reported. A retransmission shows it where the recovery has not.
    fn report_loss(&mut self, seq: u64, now: Nanos) {
        let Some(lost) = self.outstanding.report_loss(seq) else { return };
        let flow = self.flow(now);
        self.cc.on_lost(&flow, &lost);
        if self.cc.records_packets() {
            self.report_packet_lost(seq, lost.lost, &flow);
        }
    }

    /// Rate sampler, if there is one.
    #[inline(always)]
    fn sampler(&self) -> Option<&Sampler> {
        self.outstanding.rate.as_deref()
    }

    /// Rate samples of segments sent from now on are limited by the application, until everything in the network has arrived.
    fn note_app_limited(&mut self) {
        let in_flight = self.in_network();
        if let Some(quic) = &mut self.quic {
            return quic.mark_app_limited();
        }
        if let Some(sampler) = &mut self.outstanding.rate {
            sampler.on_app_limited(in_flight);
        }
    }

    /// Lost segments: retransmitted ones, for an algorithm without rate samples.
    #[inline(always)]
    fn lost(&self) -> u64 {
        self.sampler().map_or(self.meter.events.retransmits, Sampler::lost)
    }

    /// Whole segments of the window.
    #[inline(always)]
    fn window(&self) -> u64 {
        // Through i64, for which processors have an instruction.
        self.cwnd as i64 as u64
    }

    /// Whether nothing is lost or suspected.
    #[inline]
    fn is_calm(&self) -> bool {
        self.repair.tally(&self.progress, &self.outstanding) == repair::Tally::default()
    }

    /// Segments thought to be in the network: pipe of RFC 6675. Without SACK each duplicate ACK counts as one that has left.
    #[inline(always)]
    fn in_network(&self) -> u64 {
        if self.fast_path {
            return self.progress.flight_size();
        }
        if let Some(quic) = &self.quic {
            return quic.flight.in_flight;
        }
        let tally = self.repair.tally(&self.progress, &self.outstanding);
        self.progress.flight_size() - tally.arrived - tally.lost
    }

    /// Segments known to have arrived: acknowledged, or SACKed. Without SACK each duplicate ACK counts as one.
    fn arrived(&self) -> u64 {
        self.progress.una + self.repair.tally(&self.progress, &self.outstanding).arrived
    }

    /// State that the congestion control receives.
    #[inline(always)]
    fn flow(&self, now: Nanos) -> Flow {
        self.flow_in(now, self.progress.phase.is_reducing())
    }

    /// State at a turning point, where the window has yet to come down, or no longer does.
    #[inline(always)]
    fn flow_in(&self, now: Nanos, in_recovery: bool) -> Flow {
        let Progress { una, nxt, end, cwnd_limited, .. } = self.progress;
        let mut flow = Flow::at(now);
        flow.delivered = una;
        flow.lost = self.lost();
        flow.flight_size = nxt - una;
        flow.in_flight = self.in_network();
        flow.srtt = self.rtt.smoothed();
        flow.min_rtt = self.rtt.least();
        flow.round = self.round;
        flow.cwnd_limited = cwnd_limited;
        flow.app_limited = self.sampler().map_or(nxt >= end && !cwnd_limited, Sampler::is_app_limited);
        flow.in_recovery(in_recovery)
    }
}

/// ECN codepoint of a flow's data.
fn ect_of(tcp: &Tcp) -> Ecn {
    if tcp.ecn == EcnMode::Off { Ecn::NotEct } else { tcp.ect }
}

/// Time `now` on a clock of the given tick. A tick of 1 ns is exact.
#[inline]
fn quantized(now: Nanos, tick: Nanos) -> Nanos {
    if tick == 1 { now } else { now - now % tick }
}
