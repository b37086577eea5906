//! QUIC sender: ACKs, losses, and transmissions of a connection with `transport = "quic"`.
//!
//! A packet-level controller hears of every packet. For other algorithms a segment is a packet: an ACK is worth as many window increases as
//! packets it acknowledges, the first loss or mark of a recovery period is a congestion event, persistent congestion is a timeout, and a
//! period whose losses have all arrived is undone. The window is at least two packets (RFC 9002 section 7.2).

use super::{Arrival, Sender};
use crate::packet::Ecn;
use crate::transport::policy::Policy;
use crate::transport::quic::{Connection, MTU_PROBE, News, Receiver};
use crate::transport::receiver::unwrap;
use fullpipe_cc::packets::{Event, Lost, Path, Sent};
use fullpipe_cc::time::seconds;
use fullpipe_cc::{Ack, Flow, Nanos, RateSample, Signal};

/// Minimum window, packets.
const LEAST_WINDOW: f64 = 2.0;
/// Pacing rate in windows per smoothed RTT (section 7.7).
const PACING: f64 = 1.25;
/// Largest burst of a controller without a pacing rate, packets.
const BURST: u64 = 10;

impl<P: Policy> Sender<P> {
    /// Receiving end of a QUIC connection.
    pub fn quic_receiver(&mut self) -> Option<&mut Receiver> {
        self.quic.as_deref_mut().map(|quic| &mut quic.receiver)
    }

    /// Handles the arrival of a packet, of which `low` is the number modulo 2^32. Returns the number of its datagram of data if that is new.
    pub fn take_packet(&mut self, low: u32, at: Nanos, ecn: Ecn) -> Option<u64> {
        let quic = self.quic.as_mut()?;
        let number = quic.receiver.number(low);
        // A packet that is forgotten was declared lost long ago, and its data was retransmitted.
        let chunk = quic.flight.get(number)?.chunk;
        quic.receiver.take(number, chunk, at, ecn).then_some(chunk)
    }

    /// Handles an ACK.
    #[cold]
    #[inline(never)]
    pub(super) fn on_quic_ack(&mut self, now: Nanos, arrival: &Arrival) {
        let Some(mut quic) = self.quic.take() else { return };
        let count = unwrap(arrival.cumulative, quic.delivered + quic.lost);
        let news = quic.on_ack(now, count, arrival.receiver_stamp);
        if let Some(rtt) = news.rtt {
            self.meter.sample_rtt(rtt.sample);
        }
        self.progress.una = quic.acked_chunks();
        self.respond(now, &mut quic, &news);
        self.finish(now, quic);
    }

    /// Handles the expiry of the timer.
    pub(super) fn on_quic_timer(&mut self, now: Nanos) {
        let Some(mut quic) = self.quic.take() else { return };
        match quic.on_timer(now) {
            Some(news) => self.respond(now, &mut quic, &news),
            None => {
                self.meter.events.timeouts += 1;
                if self.cc.is_packet_level() {
                    let in_recovery = self.progress.phase.is_reducing();
                    let path = quic.path(now, quic.flight.in_flight_bytes, in_recovery);
                    self.cc.on_event(&path, &Event::Pto(quic.pto_count));
                }
            }
        }
        self.finish(now, quic);
    }

    /// Takes the state of the connection back, with window and timer. A timer that an ACK moves into the past expires at once.
    fn finish(&mut self, now: Nanos, quic: Box<Connection>) {
        self.cwnd = self.cc.cwnd().max(LEAST_WINDOW);
        self.rto_at = quic.deadline().max(now);
        self.quic = Some(quic);
    }

    /// Reports news to the congestion control: spurious losses, marks, losses, acknowledgments.
    fn respond(&mut self, now: Nanos, quic: &mut Connection, news: &News) {
        quic.list_acked(news);
        let before = Some((self.cc.cwnd(), self.cc.ssthresh()));
        let undone = news.all_arrived && quic.before.is_some();
        let undo = if undone { quic.before.take() } else { None };
        let newest_lost = news.lost.iter().map(|packet| packet.sent.sent_at).max();
        let loss = newest_lost.is_some_and(|at| !quic.is_in_recovery(at));
        let marked = news
            .acked
            .last()
            .filter(|_| news.marked > 0)
            .is_some_and(|newest| !quic.is_in_recovery(newest.sent.sent_at));
        if undone {
            quic.recovery_start = None;
        }
        if loss || marked {
            self.meter.events.fast_recoveries += u64::from(loss);
            quic.begin_recovery(now, before.filter(|_| !marked), news.lost.len() as u64);
        }
        let ends = news.acked.last().is_some_and(|newest| !quic.is_in_recovery(newest.sent.sent_at));
        let was = self.progress.phase.is_reducing();
        let is = (was && !ends && !undone) || loss || marked;
        self.set_recovery(is, quic);
        if self.cc.is_packet_level() {
            self.report_quic(&quic.path(now, news.prior_in_flight, is), news);
        } else {
            let signal = match () {
                // One cut: ssthresh is that of the loss (appendix B.8).
                () if news.persistent => Some(Signal::Timeout),
                () if loss => Some(Signal::Loss),
                () => marked.then_some(Signal::Ecn),
            };
            self.tell_segments(now, quic, news, undo, signal);
            if was && !is {
                self.cc.on_recovered(&self.quic_flow(now, quic, false));
            }
        }
        if news.persistent {
            quic.recovery_start = None;
        }
        if self.cc.holds_back() {
            quic.mark_app_limited();
        }
    }

    fn set_recovery(&mut self, is: bool, quic: &Connection) {
        use crate::transport::progress::Phase;
        self.progress.phase = if is { Phase::Recovery { point: quic.flight.next_number() } } else { Phase::Open };
    }

    /// Calls a packet-level controller.
    fn report_quic(&mut self, path: &Path, news: &News) {
        if !news.arrived.is_empty() {
            self.cc.on_event(path, &Event::SpuriousLoss(&news.arrived, news.all_arrived));
        }
        if let Some(newest) = news.acked.last().filter(|_| news.marked > 0) {
            self.cc.on_event(path, &Event::EcnCe(news.marked, newest));
        }
        if news.discarded > 0 {
            self.cc.on_event(path, &Event::Discarded(news.discarded));
        }
        if !news.lost.is_empty() {
            self.cc.on_event(path, &Event::Lost(&news.lost, news.persistent));
        }
        if !news.acked.is_empty() {
            self.cc.on_event(path, &Event::Acked(&news.acked, news.rtt));
        }
        if let Some((threshold, delay)) = news.ack_frequency {
            self.cc.on_event(path, &Event::AckFrequency(threshold, delay));
        }
    }

    /// Calls an algorithm of segments.
    fn tell_segments(
        &mut self,
        now: Nanos,
        quic: &Connection,
        news: &News,
        undo: Option<(f64, f64)>,
        signal: Option<Signal>,
    ) {
        if let Some((cwnd, ssthresh)) = undo {
            self.cc.on_undo(cwnd, ssthresh);
        }
        let in_recovery = self.progress.phase.is_reducing();
        let flow = self.quic_flow(now, quic, in_recovery);
        if self.cc.takes_rate_samples() {
            for lost in &news.lost {
                self.cc.on_lost(&flow, &segment_lost(lost, quic));
            }
        }
        if let Some(signal) = signal {
            self.cc.on_congestion(&flow, signal);
        }
        if !news.acked.is_empty() {
            self.cc.on_ack(&flow, &self.segment_ack(quic, news));
        }
    }

    /// ACK in segments.
    fn segment_ack(&self, quic: &Connection, news: &News) -> Ack {
        let acked = news.acked.len() as u64;
        let credit = news.acked.iter().filter(|packet| !quic.is_in_recovery(packet.sent.sent_at)).count();
        let mut ack = Ack::of(acked, if quic.may_grow(self.window()) { credit as f64 } else { 0.0 });
        ack.round_start = news.round_start;
        ack.rtt = news.rtt.map(|rtt| rtt.adjusted);
        ack.newly_lost = news.lost.len() as u64;
        ack.ce = news.marked;
        if let Some(newest) = news.acked.last() {
            let arrived = (news.arrived_at + self.clock_offset) as i64;
            ack.forward_delay = Some(arrived - newest.sent.sent_at as i64);
            ack.backward_delay = Some(newest.acked_at as i64 - arrived);
            ack.rate = newest.rate.map(|rate| {
                let segments = |bytes: u64| bytes / quic.datagram();
                let interval = Some(rate.interval).filter(|&interval| interval > 0);
                let sample = RateSample::new(segments(rate.delivered), interval).segment(newest.sent.number);
                let sample = sample.prior_delivered(segments(rate.prior_delivered)).newly_delivered(acked);
                let sample = sample.rtt(Some((newest.acked_at - newest.sent.sent_at).max(1)));
                let sample = sample.tx_in_flight(segments(rate.tx_in_flight)).lost(segments(rate.lost));
                sample.is_app_limited(rate.is_app_limited)
            });
        }
        ack
    }

    /// State of the sender in segments.
    fn quic_flow(&self, now: Nanos, quic: &Connection, in_recovery: bool) -> Flow {
        let mut flow = Flow::at(now);
        (flow.delivered, flow.lost, flow.round) = (quic.delivered, quic.lost, quic.round);
        (flow.flight_size, flow.in_flight) = (quic.flight.in_flight, quic.flight.in_flight);
        flow.srtt = quic.rtt.latest.map(|_| quic.rtt.smoothed);
        flow.min_rtt = quic.rtt.min;
        flow.cwnd_limited = quic.may_grow(self.window());
        flow.app_limited = quic.is_app_limited() || quic.app_limited;
        flow.in_recovery(in_recovery)
    }

    /// Next packet that may leave at `now`. Returns its number.
    #[cold]
    #[inline(never)]
    pub(super) fn next_quic(&mut self, now: Nanos) -> Option<u64> {
        let mut quic = self.quic.take()?;
        let sent = self.send_quic(now, &mut quic);
        self.finish(now, quic);
        sent.map(|sent| sent.number)
    }

    fn send_quic(&mut self, now: Nanos, quic: &mut Connection) -> Option<Sent> {
        let is_probe = quic.probes > 0;
        if self.cc.is_packet_level() && quic.enters_tunnel(now) {
            let path = quic.path(now, quic.flight.in_flight_bytes, self.progress.phase.is_reducing());
            self.cc.on_event(&path, &Event::Mtu(quic.datagram()));
            self.cwnd = self.cc.cwnd().max(LEAST_WINDOW);
        }
        quic.note_limit(self.window());
        let held = self.next_departure(quic) > now;
        if !is_probe && (held || quic.flight.in_flight >= self.window()) {
            self.progress.cwnd_limited = true;
            return None;
        }
        let idle = quic.flight.in_flight == 0 && quic.flight.next_number() > 0;
        if idle && (quic.has_waiting() || self.progress.has_new()) && self.cc.is_packet_level() {
            let path = quic.path(now, 0, self.progress.phase.is_reducing());
            self.cc.on_event(&path, &Event::Restart);
            self.cwnd = self.cc.cwnd().max(LEAST_WINDOW);
        }
        let Some(chunk) = self.next_chunk(quic) else {
            self.report_quic_app_limited(now, quic);
            return None;
        };
        quic.probes = quic.probes.saturating_sub(1);
        quic.app_limited = !quic.has_waiting() && !self.progress.has_new() && quic.flight.in_flight + 1 < self.window();
        if quic.flight.in_flight + 1 < self.window() && quic.takes_mtu_probe(now) {
            self.launch(now, quic, MTU_PROBE, false);
        }
        Some(self.launch(now, quic, chunk, is_probe))
    }

    /// Handles the transmission of a packet, and reports it.
    fn launch(&mut self, now: Nanos, quic: &mut Connection, chunk: u64, is_probe: bool) -> Sent {
        let prior = quic.flight.in_flight_bytes;
        let sent = quic.send(now, chunk, is_probe);
        quic.note_limit(self.window());
        let rate = self.quic_rate(quic);
        quic.pacer.on_sent(now, rate);
        if self.cc.is_packet_level() {
            let path = quic.path(now, prior, self.progress.phase.is_reducing());
            self.cc.on_event(&path, &Event::Sent(&sent));
        } else if self.cc.takes_rate_samples() {
            let flow = self.quic_flow(now, quic, self.progress.phase.is_reducing());
            self.cc.on_sent(&flow);
        }
        sent
    }

    /// Datagram of data for the next packet: lost data, new data, or for a probe the oldest in flight.
    fn next_chunk(&mut self, quic: &mut Connection) -> Option<u64> {
        if let Some(chunk) = quic.next_waiting() {
            self.meter.events.retransmits += 1;
            return Some(chunk);
        }
        if let Some(chunk) = self.progress.next_new() {
            self.progress.high = chunk + 1;
            return Some(chunk);
        }
        let chunk = quic.flight.oldest().filter(|_| quic.probes > 0)?.chunk;
        self.meter.events.retransmits += 1;
        Some(chunk)
    }

    fn report_quic_app_limited(&mut self, now: Nanos, quic: &mut Connection) {
        (quic.probes, quic.app_limited) = (0, true);
        quic.mark_app_limited();
        if self.cc.is_packet_level() {
            let path = quic.path(now, quic.flight.in_flight_bytes, self.progress.phase.is_reducing());
            self.cc.on_event(&path, &Event::AppLimited);
        }
    }

    /// Pacing rate, packets per second.
    pub(super) fn quic_rate(&self, quic: &Connection) -> f64 {
        self.cc.pacing_rate().unwrap_or_else(|| PACING * self.cwnd / seconds(quic.rtt.smoothed))
    }

    /// Time at which the pacer lets the next packet leave; 0 without pacing.
    pub(super) fn next_departure(&self, quic: &Connection) -> Nanos {
        if !quic.paced {
            return 0;
        }
        let quantum = self.cc.pacing_rate().map_or(BURST, |_| self.cc.send_quantum());
        quic.pacer.next(self.quic_rate(quic), quantum)
    }

    /// Wake-up time of a sender that its pacer holds back at `now`, if that has changed.
    pub(super) fn wake_quic(&mut self, now: Nanos) -> Option<Nanos> {
        let mut quic = self.quic.take()?;
        let at = self.next_departure(&quic);
        let has_more = (quic.has_waiting() || self.progress.has_new()) && quic.flight.in_flight < self.window();
        let wake = if at > now && has_more { quic.pacer.wake(at) } else { None };
        self.quic = Some(quic);
        wake
    }
}

/// Loss in segments.
fn segment_lost(lost: &Lost, quic: &Connection) -> fullpipe_cc::Lost {
    let segments = |bytes: u64| bytes / quic.datagram();
    let found = fullpipe_cc::Lost::of(lost.sent.number).tx_in_flight(segments(lost.sent.in_flight));
    let found = found.lost(segments(lost.lost_since_sent)).is_app_limited(lost.sent.app_limited);
    found.delivered(quic.delivered)
}
