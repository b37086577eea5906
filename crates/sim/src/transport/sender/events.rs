//! Events for packet-level controllers over TCP ([`PacketControl`](fullpipe_cc::packets::PacketControl)).
//!
//! Each transmission of a segment is a packet with the next number. Losses and deliveries of an ACK are collected while the sender handles
//! it, and reported at the end: losses first. A retransmission timeout is a probe timeout followed by losses with persistent congestion.
//! DSACK or timestamps show spurious losses. A controller without a rate is paced only if the scenario turns pacing on.

use super::Sender;
use crate::transport::outstanding::State;
use crate::transport::packet_log::PacketLog;
use crate::transport::policy::Policy;
use crate::transport::rate::Sampler;
use fullpipe_cc::Nanos;
use fullpipe_cc::packets::{Acked, Event, Lost, Path, Rtt};

/// Losses of an episode, and counts that a controller reads.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Packets found lost since the last report.
    lost: Vec<Lost>,
    /// Packets lost since the last recovery began.
    episode: Vec<Lost>,
    /// The recovery is over: the next loss begins another episode.
    episode_over: bool,
    /// Packets that were declared lost and arrived.
    spurious: u64,
    /// CE marks.
    ce: u64,
    /// Newest acknowledged packet.
    newest: Acked,
    latest_rtt: Option<Nanos>,
    /// Timeouts without an ACK of new data between them.
    timeouts: u32,
    /// Last round in which the window limited the sender.
    limited_round: Option<u64>,
    /// The application was limiting the sender at the last attempt to send.
    app_limited: bool,
}

impl Events {
    /// Collects a loss.
    pub fn add_loss(&mut self, lost: Lost) {
        if std::mem::take(&mut self.episode_over) {
            self.episode.clear();
        }
        self.lost.push(lost);
        self.episode.push(lost);
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        (self.lost.capacity() + self.episode.capacity()) * size_of::<Lost>()
    }
}

impl<P: Policy> Sender<P> {
    /// Whether the congestion control works at packet level.
    #[inline(always)]
    pub(super) fn reports_events(&self) -> bool {
        P::MAY_FAIL && self.packets.as_ref().is_some_and(|packets| packets.events.is_some())
    }

    fn events(&mut self) -> Option<&mut Events> {
        self.packets.as_mut()?.events.as_mut()
    }

    /// Calls the controller.
    fn report(&mut self, path: &Path, event: &Event) {
        self.cc.on_event(path, event);
        self.cwnd = self.cc.cwnd();
    }

    /// Reports the results of an ACK with `marked` new marks, or of a timer.
    #[cold]
    #[inline(never)]
    pub(super) fn report_events(&mut self, now: Nanos, marked: u64, persistent: bool) {
        let acked = self.take_acked(now);
        let Some(events) = self.events() else { return };
        let mut lost = std::mem::take(&mut events.lost);
        lost.sort_unstable_by_key(|packet| packet.sent.number);
        events.ce += marked;
        if let Some(&newest) = acked.last() {
            (events.newest, events.timeouts) = (newest, 0);
        }
        let newest = events.newest;
        let rtt = self.rtt_of(&acked, now);
        let mut path = self.path(now);
        path.prior_in_flight = path.in_flight + (acked.len() + lost.len()) as u64 * path.datagram;
        if marked > 0 {
            self.report(&path, &Event::EcnCe(marked, &newest));
        }
        if !lost.is_empty() {
            self.report(&path, &Event::Lost(&lost, persistent));
        }
        if !acked.is_empty() {
            self.report(&path, &Event::Acked(&acked, rtt));
        }
        lost.clear();
        if let Some(events) = self.events() {
            events.lost = lost;
        }
    }

    /// Packets that this ACK delivers, in the order of their numbers. The newest has the rate sample.
    fn take_acked(&mut self, now: Nanos) -> Vec<Acked> {
        let Some(packets) = &self.packets else { return Vec::new() };
        let Some(rate) = &mut self.outstanding.rate else { return Vec::new() };
        let Some(mut arrived) = rate.arrived.as_mut().map(std::mem::take) else { return Vec::new() };
        let sample = if arrived.is_empty() { None } else { rate.sample(now) };
        let acked =
            |record| packets.sent(record, &self.outstanding).map(|sent| Acked { sent, acked_at: now, rate: None });
        // A packet that was reported lost and arrives is no acknowledged packet (RFC 9002 appendix A.7).
        let mut acked: Vec<Acked> = arrived.iter().filter(|record| !record.loss_reported).filter_map(acked).collect();
        acked.sort_unstable_by_key(|packet| packet.sent.number);
        if let Some(newest) = acked.last_mut() {
            newest.rate = sample.map(|sample| packets.rate(&sample));
        }
        arrived.clear();
        if let Some(rate) = &mut self.outstanding.rate {
            rate.arrived = Some(arrived);
        }
        acked
    }

    /// RTT sample of the newest packet, unless a timestamp may belong to an earlier transmission (Karn's algorithm).
    fn rtt_of(&mut self, acked: &[Acked], now: Nanos) -> Option<Rtt> {
        let sample = self.outstanding.rate.as_mut()?.sample(now)?.rtt;
        let (sample, packet) = (sample?, acked.last()?.sent.number);
        self.events()?.latest_rtt = Some(sample);
        Some(Rtt { sample, adjusted: sample, ack_delay: 0, packet })
    }

    /// State of the sender for the controller.
    fn path(&mut self, now: Nanos) -> Path {
        let flow = self.flow(now);
        let Some(bytes) = self.packets.as_ref().map(|packets| packets.bytes()) else { return Path::default() };
        let mut path = Path::default();
        path.now = now;
        path.in_flight = flow.in_flight * bytes;
        path.prior_in_flight = path.in_flight;
        if let Some(rate) = &self.outstanding.rate {
            path.delivered = rate.delivered() * bytes;
            path.lost = rate.lost() * bytes;
            (path.delivered_at, path.first_sent_at) = (rate.delivered_at(), rate.first_sent());
        }
        path.next_packet = self.outstanding.transmissions();
        path.sent = path.next_packet * bytes;
        (path.smoothed_rtt, path.min_rtt, path.rttvar) = (flow.srtt, flow.min_rtt, self.rtt.variation());
        path.pto = self.rtt.timeout();
        path.round = flow.round;
        path.in_recovery = flow.in_recovery;
        path.datagram = bytes;
        if let Some(events) = self.events() {
            if flow.cwnd_limited {
                events.limited_round = Some(flow.round);
            }
            path.cwnd_limited = events.limited_round.is_some_and(|round| round + 1 >= flow.round);
            path.app_limited = events.app_limited;
            (path.spurious, path.ce, path.latest_rtt) = (events.spurious * bytes, events.ce, events.latest_rtt);
        }
        path
    }

    /// Reports a packet that has just left. Before it `prior` segments were in flight.
    pub(super) fn report_sent_event(&mut self, now: Nanos, sent: &fullpipe_cc::packets::Sent) {
        let limited = self.progress.is_app_limited();
        if let Some(events) = self.events() {
            events.app_limited = limited;
        }
        let mut path = self.path(now);
        path.prior_in_flight = path.in_flight.saturating_sub(sent.bytes);
        self.report(&path, &Event::Sent(sent));
    }

    /// Reports that nothing is left to send.
    pub(super) fn report_app_limited(&mut self, now: Nanos) {
        if let Some(events) = self.events() {
            events.app_limited = true;
            let path = self.path(now);
            self.report(&path, &Event::AppLimited);
        }
    }

    /// Reports that the next packet follows a time with nothing in flight.
    #[cold]
    #[inline(never)]
    pub(super) fn report_restart(&mut self, now: Nanos) {
        if self.progress.has_new() && self.progress.high > 0 && self.in_network() == 0 && self.is_calm() {
            let path = self.path(now);
            self.report(&path, &Event::Restart);
        }
    }

    /// Reports a retransmission timeout, before its losses.
    #[cold]
    #[inline(never)]
    pub(super) fn report_timeout(&mut self, now: Nanos) {
        let Some(events) = self.events() else { return };
        events.timeouts += 1;
        let count = events.timeouts;
        let path = self.path(now);
        self.report(&path, &Event::Pto(count));
    }

    /// Reports the losses of a retransmission timeout. A recovery that declares none has lost all that is in flight.
    #[cold]
    #[inline(never)]
    pub(super) fn report_timeout_losses(&mut self, now: Nanos) {
        if self.events().is_some_and(|events| events.lost.is_empty()) {
            for seq in self.progress.una..self.progress.high {
                if self.outstanding.get(seq).is_some_and(|record| record.state == State::InFlight) {
                    self.report_loss(seq, now);
                }
            }
        }
        self.report_events(now, 0, true);
    }

    /// Reports that all losses of the episode were spurious.
    #[cold]
    #[inline(never)]
    pub(super) fn report_spurious(&mut self, now: Nanos) {
        let Some(events) = self.events() else { return };
        let arrived = std::mem::take(&mut events.episode);
        events.spurious += arrived.len() as u64;
        let path = self.path(now);
        self.report(&path, &Event::SpuriousLoss(&arrived, true));
    }

    /// Notes the end of a recovery.
    pub(super) fn end_episode(&mut self) {
        if let Some(events) = self.events() {
            events.episode_over = true;
        }
    }
}

/// Collectors of a sender whose congestion control works at packet level.
pub(super) fn collect(packets: &mut PacketLog, sampler: &mut Sampler) {
    packets.events = Some(Events::default());
    sampler.arrived = Some(Vec::new());
}
