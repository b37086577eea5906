//! The sender: windows, timer, measurements. The window itself comes from the congestion control. The loss recovery decides which segments
//! are lost and retransmitted (see [`repair`](super::repair)).
//!
//! Sources: RFC 5681 (sending, restart after a timeout), RFC 6298 (timeout), RFC 7323 (timestamps).
//!
//! Differences from a kernel's sender: connections begin established (their handshake was over an idle path and sets the first timeout,
//! see `rto.rs`), unless a handshake is asked for, and end without FIN; data is always there until the flow's end; the receiver never renegs; losses of retransmissions
//! are found by the timer alone, and needless cuts are not undone, except with RACK.
//!
//! A timeout cuts once: while the timer expires again for one segment ssthresh stays (RFC 5681 section 3.1). Inside fast
//! recovery, which has cut already, it cuts once more, because a retransmission was lost too, and RFC 5681 section 4.3
//! has both windows lowered twice then. The cut is of the window in force, which is never more than the FlightSize of equation 4.
//! Linux cuts once a window, whatever becomes of the retransmissions. With NewReno the timer may also expire because there are more
//! losses than round trips to repair them in (RFC 6582 section 4, "impatient"); this too is a second cut, as in ns-2.

#[cfg(test)]
mod bbr_tests;
mod linux;
#[cfg(test)]
mod linux_tests;
mod packets;
#[cfg(test)]
mod path_tests;
mod sacked;
#[cfg(test)]
mod tests;

use super::ecn::{self, EcnMode};
use super::pacing::{self, Pacer};
use super::packet_log::PacketLog;
use super::progress::{Phase, Progress};
use super::rate::Sampler;
use super::repair::{self, Expiry, Loss, News, Repair};
use super::rto::RttEstimator;
use super::watch::Watch;
use crate::packet::{AckNote, Echo, Marks, SackBlocks};
use crate::report::log::SampleLog;
use crate::report::meter::{Counters, Meter};
use crate::scenario::Tcp;
use crate::transport::policy::{Controller, MOST_SEGMENTS, Policy};
use crate::transport::receiver::unwrap;
use fullpipe_cc::{Ack, Flow, Input, Nanos, Signal};
use std::ops::Range;

/// Segments that [`Sender::noted_segments`] hands out at a time, at most: a window may have billions.
pub const MOST_NOTED: u64 = 1 << 14;

/// One connection's sending end. In the order of use: fields that every ACK touches come first, together in memory.
#[derive(Debug)]
#[repr(C)]
pub struct Sender<P = Controller> {
    progress: Progress,
    /// The policy's window after its last event.
    cwnd: f64,
    /// When the retransmission timer expires; `Nanos::MAX` if it is off.
    deadline: Nanos,
    /// Receiver's clock minus sender's; the clocks are not synchronised.
    clock_offset: Nanos,
    rtt: RttEstimator,
    /// A round ends when this is acknowledged.
    round_end: u64,
    round: u64,
    /// Nothing is lost or suspected: no duplicate ACK, no SACK, no repair.
    quiet: bool,
    /// As `quiet`, for a sender whose recovery keeps send times, or that has a pacer or a sampler.
    noting: bool,
    byte_counting: bool,
    /// The timer has expired and nothing has been acknowledged since.
    timed_out: bool,
    /// Lost segments that the policy has heard of, modulo 2^32.
    lost_told: u32,
    /// Measurements.
    pub meter: Meter,
    /// The window policy.
    pub cc: P,
    repair: repair::Any,
    /// ECN, if it is on.
    ecn: Option<Box<ecn::Sending>>,
    /// Segments sent (once each) in earlier connections.
    earlier: u64,
    /// Pacer and rate sampler; `None` for most.
    watch: Option<Box<Watch>>,
    /// It never rests, and takes no short cut: to see that these change nothing.
    #[cfg(test)]
    awake: bool,
}

/// New segments that leave a sender that is watched at one moment, as far as its pacer lets them go.
#[derive(Debug)]
pub struct Train {
    first: u64,
    window: u64,
    /// Outstanding, but in the network no more.
    gone: u64,
    /// The repair rests.
    rests: bool,
    in_recovery: bool,
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

impl<P: Policy> Sender<P> {
    /// A connection that has sent nothing; `end` segments to send; the path's RTT without queues is `base_rtt`, and the receiver's
    /// clock is `clock_offset` ahead.
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
        let mut repair = repair::Any::new(tcp, &cc);
        let pacer = tcp.pacing.applies_to(&cc).then(Pacer::default);
        let sampler = (cc.takes_rate_samples() || cc.records_packets()).then(Sampler::default);
        let ect = Some(tcp.ect).filter(|_| tcp.ecn != EcnMode::Off);
        let packets = cc.records_packets().then(|| Box::new(PacketLog::new(packet_bytes, ect)));
        let watched = pacer.is_some() || sampler.is_some();
        let watch = watched.then(|| Box::new(Watch { pacer, sampler, packets, ..Watch::default() }));
        let progress = Progress::new(end, max_window);
        let quiet = !watched && !repair.watches_all();
        Sender {
            progress,
            cwnd: cc.cwnd(),
            deadline: Nanos::MAX,
            clock_offset,
            rtt: RttEstimator::new(tcp.min_rto, tcp.rtt_tick, base_rtt)
                .with_timestamps(tcp.timestamp_tick)
                .with_rule(tcp.rto),
            round_end: 0,
            round: 0,
            quiet,
            noting: !quiet && repair.rest(&progress),
            byte_counting: tcp.byte_counting,
            timed_out: false,
            lost_told: 0,
            meter,
            cc,
            repair,
            ecn: (tcp.ecn != EcnMode::Off).then(|| Box::new(ecn::Sending::new(tcp.ecn, tcp.ect))),
            earlier: 0,
            watch,
            #[cfg(test)]
            awake: false,
        }
    }

    /// Starts over as a new connection with `end` segments to send; the meter is kept.
    pub fn reopen(&mut self, cc: P, end: u64) {
        self.earlier += self.progress.high;
        self.progress = Progress::new(end, self.progress.max_window);
        self.round_end = 0;
        self.round = 0;
        self.deadline = Nanos::MAX;
        self.rtt.reset();
        self.timed_out = false;
        self.repair.reset();
        if let Some(ecn) = &mut self.ecn {
            ecn.reset();
        }
        self.cc = cc;
        self.cwnd = self.cc.cwnd();
        if let Some(watch) = &mut self.watch {
            watch.reset();
        }
        self.rest();
    }

    /// Round trip of the handshake, or of the idle path for a connection that begins established.
    pub fn handshake_rtt(&self) -> Nanos {
        self.rtt.handshake()
    }

    /// The connection's SYN leaves at `now`, the first one.
    pub fn open(&mut self, now: Nanos) {
        self.rtt.open();
        self.deadline = now + self.rtt.timeout();
    }

    /// No answer has come to it; another one leaves.
    pub fn on_syn_timeout(&mut self, now: Nanos) {
        self.rtt.back_off();
        self.deadline = now + self.rtt.timeout();
    }

    /// The answer comes to the one sent at `stamp`: the connection is established. Returns how often the timer has expired.
    pub fn on_syn_ack(&mut self, now: Nanos, stamp: Nanos) -> u32 {
        let by_timestamp = self.rtt.is_linux() && self.rtt.has_backed_off();
        let tick = if by_timestamp { self.rtt.timestamp_tick() } else { self.rtt.granularity() };
        self.deadline = Nanos::MAX;
        self.rtt.opened((quantized(now, tick) - quantized(stamp, tick)).max(if by_timestamp { tick } else { 1 }))
    }

    /// Replaces the window policy of a connection that has sent no data.
    pub fn begin_with(&mut self, cc: P) {
        self.cc = cc;
        self.cwnd = self.cc.cwnd();
    }

    /// Counts since the beginning.
    pub fn counters(&self) -> Counters {
        Counters::since(self.earlier + self.progress.high, self.meter.events)
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        let watch = self.watch.as_ref().map_or(0, |watch| size_of::<Watch>() + watch.heap_bytes());
        self.repair.heap_bytes() + self.meter.heap_bytes() + watch + self.cc.heap_bytes()
    }

    /// When the retransmission timer expires; `Nanos::MAX` if it is off.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// Everything there was to send has been acknowledged.
    #[inline]
    pub fn finished(&self) -> bool {
        self.progress.una >= self.progress.end
    }

    /// Segments to send, if they are counted.
    pub fn to_send(&self) -> Option<u64> {
        Some(self.progress.end).filter(|&end| end < u64::MAX)
    }

    /// Ends the data here; segments that have been sent are still repaired. Returns whether any were left to send.
    pub fn stop(&mut self) -> bool {
        let left = self.progress.high < self.progress.end;
        self.progress.end = self.progress.end.min(self.progress.high);
        left
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
        let (in_flight, arrived) = (self.in_network(), self.arrived());
        let counters = self.counters();
        let Sender { ref mut meter, ref cc, cwnd, .. } = *self;
        meter.pass_marks(now, cwnd, &counters, |rtt| log.add(id, rtt, in_flight, arrived, cc));
    }

    /// An ACK arrives, with the SACK blocks it carries; [`Sender::pass_time`] first.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Nanos, arrival: &Arrival, sack: Option<&SackBlocks>) {
        let cumulative = unwrap(arrival.cumulative, self.progress.una);
        if self.quiet && sack.is_none() && cumulative > self.progress.una {
            self.on_expected_ack::<false>(now, cumulative, arrival);
        } else {
            self.on_other_ack(now, cumulative, arrival, sack);
        }
    }

    #[inline(never)]
    fn on_other_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival, sack: Option<&SackBlocks>) {
        if self.noting && sack.is_none() && cumulative > self.progress.una {
            self.on_expected_ack::<true>(now, cumulative, arrival);
        } else {
            self.on_any_ack(now, cumulative, arrival, sack, 0);
            self.cwnd = self.cc.cwnd();
        }
    }

    /// An ACK arrives with a note.
    #[inline(never)]
    pub fn on_noted_ack(&mut self, now: Nanos, arrival: &Arrival, note: &AckNote) {
        let sack = note.sack();
        let marked = note.echo.map_or(0, |echo| self.news_of_marks(now, arrival, echo, sack.is_some()));
        if marked == 0 && sack.is_none() {
            return self.on_ack(now, arrival, None);
        }
        let cumulative = unwrap(arrival.cumulative, self.progress.una);
        if !self.on_grown_block(now, cumulative, arrival, sack, marked) {
            self.on_any_ack(now, cumulative, arrival, sack, marked);
            self.cwnd = self.cc.cwnd();
        }
    }

    /// An ACK reports marks. Returns how many of them are new, and reduces the window if one calls for it.
    fn news_of_marks(&mut self, now: Nanos, arrival: &Arrival, echo: Echo, sacks: bool) -> u64 {
        let Some(ecn) = &mut self.ecn else { return 0 };
        let cumulative = unwrap(arrival.cumulative, self.progress.una);
        let stamp = quantized(arrival.receiver_stamp + self.clock_offset, self.rtt.timestamp_tick());
        let may_be_newest = ecn.may_be_newest(stamp, sacks || cumulative > self.progress.una);
        if cumulative < self.progress.una || !may_be_newest {
            // A later one has overtaken it, and has reported more.
            return 0;
        }
        // Where segments are missing, the cumulative point does not show how many have arrived.
        let repairing = self.progress.phase.is_repairing();
        let calm = !repairing && self.repair.is_calm();
        let acked = if calm { cumulative.saturating_sub(self.progress.una) } else { 0 };
        let marked = ecn.news(echo, acked);
        if marked > 0 && !repairing && ecn.answers(cumulative, self.progress.high) {
            self.answer_mark(now);
        }
        marked
    }

    /// The window is cut for a mark; it sinks over a round trip where that is asked for.
    fn answer_mark(&mut self, now: Nanos) {
        let from = self.window();
        self.tell(Signal::Ecn, now);
        self.cwnd = self.cc.cwnd();
        let to = self.window();
        if to < from && self.repair.sinks(from, to, &self.progress) {
            self.progress.phase = Phase::Reduction { point: self.progress.high };
        }
    }

    /// ECN bits of the segment just taken from [`Sender::new_segments`] (`new`) or [`Sender::next_segment`].
    #[inline]
    pub fn marks(&mut self, new: bool) -> Marks {
        self.ecn.as_mut().map_or(Marks::NONE, |ecn| ecn.marks(new))
    }

    /// One past the highest segment ever sent.
    pub fn high(&self) -> u64 {
        self.progress.high
    }

    /// The retransmission timer expires; [`Sender::pass_time`] first.
    pub fn on_timeout(&mut self, now: Nanos) {
        self.rouse();
        let expiry = self.repair.on_timer(now, &self.progress);
        if expiry == Expiry::Probe {
            self.expect_probe();
        }
        match expiry {
            Expiry::Timeout => {
                self.meter.events.timeouts += 1;
                self.rtt.back_off();
                self.restart(now);
                self.start_timer(now);
            }
            Expiry::Probe if self.rtt.is_linux() => self.restart_after_probe(now),
            Expiry::Probe => self.start_timer(now),
            Expiry::Looked(loss) => {
                self.tell_losses(now);
                if let Some(loss) = loss {
                    self.act_on(loss, now);
                }
                if self.rtt.is_linux() {
                    self.restart_from_first(now);
                }
                self.deadline = self.repair.rewake_at(self.deadline);
            }
        }
        self.quiet = false;
        self.cwnd = self.cc.cwnd();
    }

    /// Nothing is lost or suspected: [`Sender::new_segments`] has everything to send.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Nothing is lost or suspected: [`Sender::noted_segments`] has everything to send.
    #[inline(always)]
    pub fn is_noting(&self) -> bool {
        self.noting
    }

    /// Its pacer lets nothing leave at `now`, and its wake-up is set already.
    #[inline(always)]
    pub fn is_kept_waiting(&mut self, now: Nanos) -> bool {
        let pacer = self.watch.as_ref().and_then(|watch| watch.pacer.as_ref());
        pacer.is_some_and(Pacer::is_awaited) && self.held_back(now)
    }

    /// The new segments that may be sent at `now` where nothing is lost or suspected. The caller sends them.
    #[inline(always)]
    pub fn new_segments(&mut self, now: Nanos) -> Range<u64> {
        self.take_new::<false>(now)
    }

    /// New segments that may be sent at `now`, where the loss recovery keeps their send times: at most [`MOST_NOTED`]; call again then.
    #[inline(always)]
    pub fn noted_segments(&mut self, now: Nanos) -> Range<u64> {
        self.take_new::<true>(now)
    }

    /// It is paced, or its rate of delivery is measured.
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// It is watched, and nothing waits for retransmission: it sends a [`Train`].
    #[inline(always)]
    pub fn sends_train(&self) -> bool {
        #[cfg(test)]
        if self.awake {
            return false;
        }
        self.watch.is_some() && (self.noting || self.repair.sends_only_new(&self.progress))
    }

    /// A train begins; [`Sender::end_train`] once [`Sender::next_of_train`] is `None`.
    #[inline(always)]
    pub fn begin_train(&self) -> Train {
        let rests = self.noting;
        let gone = if rests { 0 } else { self.progress.flight_size() - self.repair.in_network(&self.progress) };
        let in_recovery = !rests && self.progress.phase.is_reducing();
        Train { first: self.progress.nxt, window: self.window(), gone, rests, in_recovery }
    }

    /// The next segment of a train, if window and pacer let it go at `now`. The caller sends it.
    #[inline(always)]
    pub fn next_of_train(&mut self, train: &Train, now: Nanos) -> Option<u64> {
        let Sender { ref mut progress, round, ref meter, ref rtt, ref mut cc, ref mut watch, .. } = *self;
        let Watch { pacer, sampler, packets, .. } = watch.as_deref_mut()?;
        if pacer.as_ref().is_some_and(|pacer| !pacer.allows(now)) {
            progress.cwnd_limited = progress.has_new() || progress.flight_size() - train.gone >= train.window;
            return None;
        }
        let in_network = progress.flight_size() - train.gone;
        if in_network >= train.window {
            progress.cwnd_limited = true;
            return None;
        }
        let Some(seq) = progress.next_new() else {
            if let Some(sampler) = sampler.as_mut().filter(|_| progress.is_app_limited()) {
                sampler.on_app_limited(in_network);
            }
            return None;
        };
        #[cfg(feature = "record")]
        crate::record::sent(now, seq);
        progress.high = seq + 1;
        if let Some(sampler) = sampler {
            let resting = Resting::of(now, progress, round, meter.events.retransmits, rtt, Some(sampler));
            let (in_flight, in_recovery) = (in_network + 1, train.in_recovery);
            let told = Told { resting, in_flight, in_recovery, ack: Ack::of(0, 0.0) };
            let flow = cc.records_packets().then(|| told.put_together().0);
            cc.sent(told);
            sampler.on_new(now, in_network);
            if let (Some(flow), Some(packets)) = (flow, packets) {
                self::packets::report_sent(cc, packets, sampler, seq, progress.una, &flow);
            }
        }
        if let Some(pacer) = pacer {
            let rate = pacing::rate(cc, rtt.smoothed().unwrap_or(rtt.handshake()));
            pacer.on_sent(now, rate, || cc.send_quantum());
        }
        Some(seq)
    }

    /// A train has left at `now`: the others hear of it.
    #[inline(always)]
    pub fn end_train(&mut self, train: &Train, now: Nanos) {
        let count = self.progress.nxt - train.first;
        if count == 0 {
            return;
        }
        if train.rests {
            let kept = self.sampler().is_some();
            self.set_timer::<true>(count, now, kept);
        } else {
            self.repair.on_new(train.first, now, &self.rtt, &self.progress);
            self.restart_timer(now);
        }
    }

    /// The segments of a train.
    #[cfg(test)]
    fn train(&mut self, now: Nanos) -> Vec<u64> {
        let train = self.begin_train();
        let segments = std::iter::from_fn(|| self.next_of_train(&train, now)).collect();
        self.end_train(&train, now);
        segments
    }

    #[inline(always)]
    fn take_new<const NOTING: bool>(&mut self, now: Nanos) -> Range<u64> {
        let window = self.window();
        let progress = &mut self.progress;
        let flight_size = progress.flight_size();
        let room = window.min(u64::from(progress.max_window)).saturating_sub(flight_size);
        let mut count = room.min(progress.end.saturating_sub(progress.nxt));
        if NOTING {
            count = count.min(MOST_NOTED);
        }
        progress.cwnd_limited = flight_size + count >= window;
        let first = progress.nxt;
        if count > 0 {
            progress.nxt += count;
            progress.high = progress.nxt;
            self.set_timer::<NOTING>(count, now, false);
        }
        #[cfg(feature = "record")]
        (first..self.progress.nxt).for_each(|seq| crate::record::sent(now, seq));
        first..self.progress.nxt
    }

    /// `count` new segments leave; the rate sampler has their send times if `kept`.
    #[inline(always)]
    fn set_timer<const NOTING: bool>(&mut self, count: u64, now: Nanos, kept: bool) {
        let running = self.deadline != Nanos::MAX;
        if !running {
            self.deadline = now + self.rtt.timeout();
        }
        if NOTING {
            self.repair.note_sent(if kept { 0 } else { count }, now, &self.rtt, &self.progress);
            self.deadline =
                if running { self.repair.rewake_at(self.deadline) } else { self.repair.wake_at(self.deadline) };
        }
    }

    /// The next segment that may be sent at `now` where something is lost or suspected; call until it is `None`. The caller
    /// sends it.
    pub fn next_segment(&mut self, now: Nanos) -> Option<u64> {
        if self.watch.is_some() && self.held_back(now) {
            return None;
        }
        let Some(seq) = self.repair.next_segment(self.window(), &mut self.progress) else {
            self.look_whether_app_limited();
            return None;
        };
        #[cfg(feature = "record")]
        crate::record::sent(now, seq);
        let again = seq < self.progress.high;
        if again {
            self.meter.events.retransmits += 1;
            self.tell_loss(seq, now);
        } else {
            self.progress.high = seq + 1;
        }
        self.repair.on_sent(seq, now, &self.rtt, &self.progress);
        if self.watch.is_some() {
            self.note_sent(seq, now);
        }
        if again && seq == self.progress.una && self.rtt.is_linux() {
            self.start_timer(now);
        } else {
            self.restart_timer(now);
        }
        Some(seq)
    }

    /// Something has been sent: the retransmission timer runs.
    #[inline(always)]
    fn restart_timer(&mut self, now: Nanos) {
        if self.deadline == Nanos::MAX {
            self.start_timer(now);
        } else {
            self.deadline = self.repair.rewake_at(self.deadline);
        }
    }

    /// When a sender that its pacer holds back at `now` wants to be woken, if that has changed.
    #[inline]
    pub fn wake(&mut self, now: Nanos) -> Option<Nanos> {
        let pacer = self.watch.as_ref()?.pacer.as_ref()?;
        if pacer.is_awaited() || pacer.allows(now) || !self.has_more_to_send() {
            return None;
        }
        self.watch.as_mut()?.pacer.as_mut()?.wake()
    }

    /// Whether the pacer lets nothing leave yet. The sender is limited by its pacer then, as by a window, and not by a lack of data.
    #[inline(always)]
    fn held_back(&mut self, now: Nanos) -> bool {
        let held = self.watch.as_ref().and_then(|watch| watch.pacer.as_ref()).is_some_and(|pacer| !pacer.allows(now));
        if held {
            self.progress.cwnd_limited = self.progress.has_new() || self.in_network() >= self.window();
        }
        held
    }

    /// Whether the window, or a repair, would let something leave without the pacer.
    fn has_more_to_send(&self) -> bool {
        self.progress.phase != Phase::Open || (self.progress.has_new() && self.in_network() < self.window())
    }

    /// A segment leaves a sender that is watched.
    #[inline(always)]
    fn note_sent(&mut self, seq: u64, now: Nanos) {
        if self.sampler().is_some() {
            let flow = self.put_together(now, self.progress.phase.is_reducing());
            self.cc.on_sent(&flow);
            if let Some(sampler) = self.watch.as_mut().and_then(|watch| watch.sampler.as_mut()) {
                sampler.on_sent(seq, now, flow.in_flight.saturating_sub(1));
            }
            if self.cc.records_packets() {
                self.report_sent(seq, &flow);
            }
        }
        let Some(watch) = &mut self.watch else { return };
        if let Some(pacer) = &mut watch.pacer {
            let rate = pacing::rate(&self.cc, self.rtt.smoothed().unwrap_or(self.rtt.handshake()));
            pacer.on_sent(now, rate, || self.cc.send_quantum());
        }
    }

    /// Reports segments that the recovery has found lost to an algorithm that takes rate samples.
    #[inline(always)]
    fn tell_losses(&mut self, now: Nanos) {
        if self.repair.has_found() {
            self.tell_found(now);
        }
    }

    #[inline(never)]
    fn tell_found(&mut self, now: Nanos) {
        let Some(watch) = self.watch.as_mut().filter(|watch| watch.sampler.is_some()) else { return };
        self.repair.take_found(&mut watch.found);
        let mut found = std::mem::take(&mut watch.found);
        for seq in found.drain(..) {
            self.tell_loss(seq, now);
        }
        if let Some(watch) = &mut self.watch {
            watch.found = found;
        }
    }

    /// Segment `seq` is lost. A retransmission shows that where the recovery has not reported it.
    fn tell_loss(&mut self, seq: u64, now: Nanos) {
        let sampler = self.watch.as_mut().and_then(|watch| watch.sampler.as_mut());
        let Some(lost) = sampler.and_then(|sampler| sampler.on_lost(seq)) else { return };
        let flow = self.flow(now);
        self.cc.on_lost(&flow, &lost);
        if self.cc.records_packets() {
            self.report_lost(seq, lost.lost, &flow);
        }
    }

    /// Rate sampler, if there is one.
    fn sampler(&self) -> Option<&Sampler> {
        self.watch.as_ref()?.sampler.as_ref()
    }

    fn look_whether_app_limited(&mut self) {
        if self.progress.is_app_limited() {
            self.call_app_limited();
        }
    }

    /// Rate samples of packets sent from now on are limited by the application, until everything in the network has arrived.
    fn call_app_limited(&mut self) {
        let in_flight = self.in_network();
        if let Some(sampler) = self.watch.as_mut().and_then(|watch| watch.sampler.as_mut()) {
            sampler.on_app_limited(in_flight);
        }
    }

    /// Enters the fast path: at once if only repairs concern the recovery, otherwise once the policy has heard of all losses.
    fn rest(&mut self) {
        #[cfg(test)]
        if self.awake {
            return;
        }
        let calm = self.progress.phase == Phase::Open && self.repair.is_calm();
        self.quiet = calm && self.watch.is_none() && !self.repair.watches_all();
        self.noting = calm && !self.quiet && self.has_told_all() && self.repair.rest(&self.progress);
    }

    /// The policy has heard of all losses.
    fn has_told_all(&self) -> bool {
        self.sampler().map_or(self.lost_told == self.lost() as u32, Sampler::has_told_all)
    }

    /// The repair's rest is over.
    #[inline(always)]
    fn rouse(&mut self) {
        if std::mem::take(&mut self.noting) {
            let sampler = self.watch.as_ref().and_then(|watch| watch.sampler.as_ref());
            self.repair.rouse(&self.rtt, &self.progress, sampler);
        }
    }

    /// Segments found lost: those sent again, for an algorithm that gets no report of each.
    fn lost(&self) -> u64 {
        self.sampler().map_or(self.meter.events.retransmits, Sampler::lost)
    }

    /// The window's whole segments.
    #[inline(always)]
    fn window(&self) -> u64 {
        // Through i64, for which processors have an instruction.
        self.cwnd as i64 as u64
    }

    /// New data is acknowledged where nothing is lost or suspected: the case of nearly every ACK.
    #[inline(always)]
    fn on_expected_ack<const NOTING: bool>(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival) {
        let acked = cumulative - self.progress.una;
        self.progress.una = cumulative;
        let rtt = Some(self.elapsed(arrival.stamp, now));
        let mut ack = self.measure(now, acked, arrival, rtt);
        self.deadline = if cumulative == self.progress.high { Nanos::MAX } else { now + self.rtt.timeout() };
        if NOTING {
            let sampler = self.watch.as_mut().and_then(|watch| watch.sampler.as_mut());
            let (rate, sent) = sampler.and_then(|sampler| sampler.on_expected_ack(now, cumulative)).unzip();
            ack.rate = rate;
            self.repair.note_acked(acked, sent, now, &self.rtt, &self.progress);
            self.deadline = self.repair.wake_at(self.deadline);
        }
        let Sender { ref progress, round, ref rtt, ref meter, ref mut cc, ref watch, .. } = *self;
        let sampler = if NOTING { watch.as_ref().and_then(|watch| watch.sampler.as_ref()) } else { None };
        let resting = Resting::of(now, progress, round, meter.events.retransmits, rtt, sampler);
        let expected = Expected { resting, ack };
        let cwnd = cc.acked(expected);
        #[cfg(feature = "record")]
        {
            let (flow, ack) = expected.put_together();
            crate::record::ack(&flow, &ack, cc);
        }
        self.cwnd = cwnd;
        if NOTING && self.watch.is_some() && self.cc.holds_back() {
            self.call_app_limited();
        }
    }

    #[inline(never)]
    fn on_any_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival, sack: Option<&SackBlocks>, marked: u64) {
        self.rouse();
        let news = self.watch.as_mut().filter(|watch| watch.sampler.is_some()).map(|watch| &mut watch.sacked);
        let sacked = sack.map_or(0, |blocks| self.repair.on_sack(blocks, cumulative, now, &self.progress, news));
        let delivered = self.watch.as_mut().map_or(0, |watch| watch.on_ack(now, cumulative));
        if cumulative > self.progress.una {
            self.on_new_ack(now, cumulative, arrival, sacked, marked);
        } else if cumulative == self.progress.una && self.progress.flight_size() > 0 {
            if sacked > 0 && self.rtt.is_linux() {
                self.sample_sacked(now);
            }
            let news = News { now, stamp: arrival.stamp, acked: 0, sacked, rtt: &self.rtt };
            let loss = self.repair.on_duplicate_ack(&news, &self.progress);
            self.tell_losses(now);
            if (delivered > 0 && self.cc.takes_rate_samples()) || marked > 0 {
                let mut ack = Ack::of(0, 0.0).ce(marked);
                self.rate(&mut ack, now);
                let flow = self.flow(now);
                self.cc.on_ack(&flow, &ack);
            }
            if let Some(loss) = loss {
                self.act_on(loss, now);
            }
        } else if marked > 0 {
            // A late original of a segment whose retransmission has been acknowledged: its mark counts.
            self.report_marks(now, marked);
        }
        self.undo();
        if delivered > 0 && self.cc.holds_back() {
            self.call_app_limited();
        }
        self.deadline = self.repair.rewake_at(self.deadline);
        self.rest();
    }

    /// Marks that arrive with an ACK of nothing new.
    pub(super) fn report_marks(&mut self, now: Nanos, marked: u64) {
        let flow = self.flow(now);
        self.cc.on_ack(&flow, &Ack::of(0, 0.0).ce(marked));
    }

    /// Undoes the last cut if the ACK just handled shows that it was needless. Returns whether it did.
    #[inline(always)]
    fn undo(&mut self) -> bool {
        let Some((cwnd, ssthresh)) = self.repair.undoes() else { return false };
        self.progress.phase = Phase::Open;
        self.timed_out = false;
        self.cc.on_undo(cwnd, ssthresh);
        true
    }

    /// New data is acknowledged.
    fn on_new_ack(&mut self, now: Nanos, cumulative: u64, arrival: &Arrival, sacked: u64, marked: u64) {
        let acked = cumulative - self.progress.una;
        self.progress.una = cumulative;
        self.progress.nxt = self.progress.nxt.max(cumulative);
        self.timed_out = false;
        let rtt = if self.rtt.is_linux() {
            Some(self.linux_rtt(now, acked, sacked, arrival.stamp))
        } else {
            self.repair.sample_from(cumulative - 1, arrival.stamp).map(|sent| self.elapsed(sent, now))
        };
        let mut ack = self.measure(now, acked, arrival, rtt);
        if marked > 0 {
            ack = ack.ce(marked).credit(0.0);
        }
        let news = News { now, stamp: arrival.stamp, acked, sacked, rtt: &self.rtt };
        let verdict = self.repair.on_new_ack(&news, &self.progress);
        self.tell_losses(now);
        self.rate(&mut ack, now);
        // RFC 6298 rules 5.2 and 5.3.
        if cumulative == self.progress.high {
            self.deadline = self.repair.wake_at(Nanos::MAX);
        } else if !verdict.keeps_timer {
            self.start_timer(now);
        }
        let flow = self.flow(now);
        self.cc.on_ack(&flow, &ack);
        #[cfg(feature = "record")]
        crate::record::ack(&flow, &ack, &self.cc);
        if verdict.over {
            self.progress.phase = Phase::Open;
            self.recovered(&flow);
        }
        if let Some(loss) = verdict.loss {
            self.act_on(loss, now);
        }
    }

    /// News of this ACK: losses, and the rate of delivery.
    #[inline]
    fn rate(&mut self, ack: &mut Ack, now: Nanos) {
        if let Some(sampler) = self.watch.as_mut().and_then(|watch| watch.sampler.as_mut()) {
            ack.newly_lost = sampler.newly_lost();
            ack.rate = sampler.sample(now);
            return;
        }
        let lost = self.meter.events.retransmits as u32;
        ack.newly_lost = lost.wrapping_sub(std::mem::replace(&mut self.lost_told, lost)).into();
    }

    /// News of this ACK: round trips and one-way delays.
    #[inline(always)]
    fn measure(&mut self, now: Nanos, acked: u64, arrival: &Arrival, rtt: Option<Nanos>) -> Ack {
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
    fn elapsed(&self, sent: Nanos, now: Nanos) -> Nanos {
        let tick = self.rtt.granularity();
        (quantized(now, tick) - quantized(sent, tick)).max(1)
    }

    /// Window increases an ACK of `acked` segments is worth. Counting segments, slow start takes at most 2 from one ACK, and 1
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

    /// Restarts the retransmission timer.
    #[inline]
    fn start_timer(&mut self, now: Nanos) {
        self.deadline = self.repair.wake_at(now + self.rtt.timeout());
    }

    /// Acts on a loss that was found.
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
                    self.tell(Signal::Loss, now);
                }
                self.cwnd = self.cc.cwnd();
                self.repair.begin(self.window(), &self.progress);
                self.progress.phase = Phase::Recovery { point: self.progress.high };
                self.start_timer(now);
            }
            Loss::Repaired => {
                self.tell(Signal::Loss, now);
                self.recovered(&self.flow_of(now, false));
            }
        }
    }

    /// Slow start from one segment: after a timeout, or Tahoe's fast retransmit.
    fn restart(&mut self, now: Nanos) {
        // RFC 5681 section 3.1: ssthresh is not cut again for a segment that the timer has already sent again. One that fast
        // recovery has sent again is lost for the second time: section 4.3 has the windows lowered for it as well.
        let cuts = !self.timed_out;
        let hears_of_each = self.sampler().is_some();
        if cuts && !hears_of_each {
            self.tell(Signal::Timeout, now);
        }
        self.timed_out = true;
        self.progress.phase = Phase::Restart { point: self.progress.high };
        self.repair.restart(now, &mut self.progress);
        if hears_of_each {
            self.tell_losses(now);
            if cuts {
                self.tell(Signal::Timeout, now);
            }
        }
    }

    /// Reports congestion to the policy.
    fn tell(&mut self, signal: Signal, now: Nanos) {
        let flow = self.flow_of(now, signal == Signal::Loss);
        self.repair.on_cut((signal != Signal::Ecn).then(|| (self.cc.cwnd(), self.cc.ssthresh())));
        self.cc.on_congestion(&flow, signal);
        #[cfg(feature = "record")]
        crate::record::congestion(&flow, signal, &self.cc);
    }

    /// Reports the end of an episode to the policy.
    fn recovered(&mut self, flow: &Flow) {
        self.cc.on_recovered(flow);
        #[cfg(feature = "record")]
        crate::record::recovered(flow, &self.cc);
    }

    /// Segments thought to be in the network: RFC 6675's pipe; without SACK each duplicate ACK counts as one that has left.
    fn in_network(&self) -> u64 {
        if self.rests() { self.progress.flight_size() } else { self.repair.in_network(&self.progress) }
    }

    /// Segments known to have arrived: acknowledged, or, beyond the cumulative point, SACKed; without SACK each duplicate ACK counts as
    /// one.
    fn arrived(&self) -> u64 {
        self.progress.una + if self.rests() { 0 } else { self.repair.arrived(&self.progress) }
    }

    /// Nothing is lost or suspected.
    fn rests(&self) -> bool {
        self.quiet || self.noting
    }

    /// The state where nothing is lost or suspected.
    #[inline(always)]
    fn resting(&self, now: Nanos) -> Resting<'_> {
        let sampler = self.sampler();
        Resting::of(now, &self.progress, self.round, self.meter.events.retransmits, &self.rtt, sampler)
    }

    /// The state the congestion control sees.
    #[inline]
    fn flow(&self, now: Nanos) -> Flow {
        self.flow_of(now, self.progress.phase.is_reducing())
    }

    /// The state at a turning point, where the window is yet to come down or does no more.
    #[inline]
    fn flow_of(&self, now: Nanos, in_recovery: bool) -> Flow {
        self.put_together(now, in_recovery)
    }

    /// The state, inlined, for an algorithm that reads little of it.
    #[inline(always)]
    fn put_together(&self, now: Nanos, in_recovery: bool) -> Flow {
        self.resting(now).flow().in_flight(self.in_network()).in_recovery(in_recovery)
    }
}

/// A sender where nothing is lost or suspected: as `Sender::flow` has it, but put together once the algorithm is known, since a packet
/// costs more otherwise.
#[derive(Clone, Copy)]
struct Resting<'a> {
    now: Nanos,
    una: u64,
    nxt: u64,
    end: u64,
    cwnd_limited: bool,
    round: u64,
    lost: u64,
    rtt: &'a RttEstimator,
    sampler: Option<&'a Sampler>,
}

impl<'a> Resting<'a> {
    #[inline(always)]
    fn of(
        now: Nanos,
        progress: &Progress,
        round: u64,
        lost: u64,
        rtt: &'a RttEstimator,
        sampler: Option<&'a Sampler>,
    ) -> Resting<'a> {
        let Progress { una, nxt, end, cwnd_limited, .. } = *progress;
        Resting { now, una, nxt, end, cwnd_limited, round, lost, rtt, sampler }
    }

    #[inline(always)]
    fn flow(self) -> Flow {
        let mut flow = Flow::at(self.now);
        flow.delivered = self.una;
        flow.lost = self.lost;
        flow.flight_size = self.nxt - self.una;
        flow.in_flight = self.nxt - self.una;
        flow.srtt = self.rtt.smoothed();
        flow.min_rtt = self.rtt.least();
        flow.round = self.round;
        flow.cwnd_limited = self.cwnd_limited;
        flow.app_limited = self.nxt >= self.end && !self.cwnd_limited;
        if let Some(sampler) = self.sampler {
            (flow.lost, flow.app_limited) = (sampler.lost(), sampler.is_app_limited());
        }
        flow
    }
}

/// An ACK of new data there.
#[derive(Clone, Copy)]
struct Expected<'a> {
    resting: Resting<'a>,
    ack: Ack,
}

impl Input for Expected<'_> {
    #[inline(always)]
    fn put_together(self) -> (Flow, Ack) {
        (self.resting.flow(), self.ack)
    }
}

/// An ACK that moves nothing, but delivers something, or none, where something is lost or suspected.
#[derive(Clone, Copy)]
struct Told<'a> {
    resting: Resting<'a>,
    in_flight: u64,
    in_recovery: bool,
    ack: Ack,
}

impl Input for Told<'_> {
    #[inline(always)]
    fn put_together(self) -> (Flow, Ack) {
        let Told { resting, in_flight, in_recovery, ack } = self;
        (resting.flow().in_flight(in_flight).in_recovery(in_recovery), ack)
    }
}

/// A clock of the given tick, read at `now`; one of a nanosecond is exact.
#[inline]
fn quantized(now: Nanos, tick: Nanos) -> Nanos {
    if tick == 1 { now } else { now - now % tick }
}
