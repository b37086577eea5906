//! QUIC: loss detection and ACKs of RFC 9002 and RFC 9000 section 13.2, both ends of a connection.
//!
//! `flight.rs` has the packets in flight and finds losses, `rtt.rs` the round-trip times, `receiver.rs` the ACKs, `ecn.rs` ECN, `pacer.rs` the
//! pacer. The sender drives them in `transport/sender/quic.rs`. `replay.rs` runs the loss detection on traces of other implementations.
//!
//! Deviations and choices:
//! - One packet number space. With `handshake = true` a connection begins with one round trip and one RTT sample, otherwise with an RTT
//!   sample of the idle path. Packets carry one stream. Flow control is `max_window`.
//! - Every data packet has the scenario's packet size, of which 28 bytes are the headers of UDP and IPv4. ACKs have the scenario's size.
//! - The headers of a `tunnel` make datagrams smaller, for packet-level controllers alone. The window admits packets by the new size,
//!   so that older ones in flight may exceed it for a round trip.
//! - A path MTU probe leaves before a data packet, and the first link drops it. It counts as one datagram in flight.
//! - Data that is lost is retransmitted before new data. A probe carries lost data, else new data, else the oldest data in flight.
//! - A probe timeout sends two probes (section 6.2.4 allows one or two).
//! - ACKs of packets that were declared lost at most three PTO ago show a spurious loss.
//! - Another ACK frequency than that of RFC 9000 applies from the first packet on. Its ACK_FREQUENCY frame is in each packet until the
//!   first ACK, and costs no bytes.

mod ecn;
mod flight;
mod pacer;
mod receiver;
mod replay;
mod rtt;

pub use ecn::State as EcnState;
pub use pacer::Pacer;
pub use receiver::Receiver;
pub use replay::{Declared, Replay};
pub use rtt::Rtt;

use super::ranges::Ranges;
use crate::model::{self, Pacing, Tcp};
use crate::packet::{Ecn, Marks};
use crate::trace::{LostPacket, Settled};
use flight::{Flight, Found};
pub use flight::{MTU_PROBE, Record};
use fullpipe_cc::Nanos;
use fullpipe_cc::packets::{self, Acked, Lost, LostBy, Path, RateSample, Sent};
use std::collections::VecDeque;

/// Probes of a probe timeout.
const PROBES: u32 = 2;
/// Longest backoff of the probe timeout, as a power of two.
const MOST_BACKOFF: u32 = 30;

/// State of a QUIC connection, both ends.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Round-trip times.
    pub rtt: Rtt,
    /// Packets in flight.
    pub flight: Flight,
    /// Receiving end.
    pub receiver: Receiver,
    /// Pacer.
    pub pacer: Pacer,
    /// Start of the last recovery period (section 7.3.2).
    pub recovery_start: Option<Nanos>,
    /// Probes that may leave without regard to the window.
    pub probes: u32,
    /// Probe timeouts in a row.
    pub pto_count: u32,
    /// Round trips, and the packet whose ACK ends the current one.
    pub round: u64,
    round_end: u64,
    /// Last round in which the window limited the sender, and the packets then in flight.
    limited_round: Option<u64>,
    limited_flight: u64,
    /// Nothing was left to send at the last attempt.
    pub app_limited: bool,
    /// Rate samples are limited by the application until this many packets are delivered (C.app_limited).
    app_limited_until: Option<u64>,
    /// Whether the window may grow, if a rule other than that of RFC 9002 section 7.8 decides.
    pub permits_growth: Option<bool>,
    /// Packets delivered and lost.
    pub delivered: u64,
    pub lost: u64,
    /// ECN of the path.
    ecn: ecn::Validation,
    /// Time of the last delivery, and send time of the newest delivered packet.
    delivered_at: Nanos,
    first_sent_at: Nanos,
    /// Lost packets of the recovery period that have not arrived.
    missing: u64,
    /// Window and threshold before the recovery period, to undo a spurious one.
    pub before: Option<(f64, f64)>,
    /// Data that has been acknowledged, and lost data that waits.
    acked: Ranges,
    waiting: VecDeque<u64>,
    /// Bytes of a packet without the headers of UDP and IP, now and without a tunnel.
    datagram: u64,
    full_datagram: u64,
    /// Bytes sent, delivered, lost, and lost but arrived.
    bytes: Bytes,
    /// Time of the last path MTU probe.
    mtu_probed_at: Nanos,
    rules: model::Quic,
    /// Packets carry an ACK_FREQUENCY frame: none has been acknowledged.
    asks_frequency: bool,
    /// Packets leave at a rate.
    pub paced: bool,
    /// A recovery period whose losses have all arrived is undone.
    pub undoes: bool,
    /// Settled packets for a log, if there is one.
    pub settled: Option<Box<Settled>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    sent: u64,
    delivered: u64,
    lost: u64,
    spurious: u64,
}

/// Results of an ACK or of the loss timer.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Newly acknowledged packets, ascending.
    pub acked: Vec<Acked>,
    /// Packets that were declared lost before, ascending.
    pub arrived: Vec<Lost>,
    /// Every loss of the recovery period has arrived.
    pub all_arrived: bool,
    /// Packets found lost, ascending.
    pub lost: Vec<Lost>,
    /// Bytes of lost path MTU probes.
    pub discarded: u64,
    /// Losses show persistent congestion.
    pub persistent: bool,
    /// Packets newly reported as marked.
    pub marked: u64,
    /// RTT sample.
    pub rtt: Option<packets::Rtt>,
    /// Values of the ACK_FREQUENCY frame that the ACK acknowledges: threshold and longest delay.
    pub ack_frequency: Option<(u64, Nanos)>,
    /// The ACK ends a round trip.
    pub round_start: bool,
    /// Time at which the newest packet arrived, on the receiver's clock without offset.
    pub arrived_at: Nanos,
    /// Bytes in flight before.
    pub prior_in_flight: u64,
}

impl Connection {
    /// Connection that has sent nothing, with packets of `packet_bytes` on the wire, and of ECN codepoint `ect`.
    pub fn new(rules: model::Quic, tcp: &Tcp, packet_bytes: u32, ect: Ecn) -> Connection {
        let ecn = ecn::Validation::new(ect);
        let (paced, undoes) = (tcp.pacing != Pacing::Off, tcp.undo);
        let datagram = u64::from(model::quic_datagram(packet_bytes));
        Connection { datagram, full_datagram: datagram, ecn, paced, undoes, ..Connection::idle(rules) }
    }

    /// Packets that ACKs have reported as marked.
    pub fn marked(&self) -> u64 {
        self.ecn.marked()
    }

    /// State of the path for ECN; `None` without ECN.
    pub fn ecn_state(&self) -> Option<EcnState> {
        self.ecn.state()
    }

    /// ECN bits of the next packet.
    pub fn marks(&self) -> Marks {
        Marks::new(self.ecn.field(), false)
    }

    /// Adds acknowledged packets to the list for a log.
    pub fn list_acked(&mut self, news: &News) {
        if let Some(settled) = &mut self.settled {
            settled.acked.extend(news.acked.iter().map(|packet| packet.sent.number));
        }
    }

    fn idle(rules: model::Quic) -> Connection {
        Connection {
            rtt: Rtt::new(rules.ack_delay),
            flight: Flight::default(),
            receiver: Receiver::new(rules),
            pacer: Pacer::default(),
            recovery_start: None,
            probes: 0,
            pto_count: 0,
            round: 0,
            round_end: 0,
            limited_round: None,
            limited_flight: 0,
            app_limited: false,
            app_limited_until: None,
            permits_growth: None,
            delivered: 0,
            lost: 0,
            delivered_at: 0,
            first_sent_at: 0,
            missing: 0,
            before: None,
            acked: Ranges::default(),
            waiting: VecDeque::new(),
            datagram: 1,
            full_datagram: 1,
            bytes: Bytes::default(),
            mtu_probed_at: 0,
            ecn: ecn::Validation::new(Ecn::NotEct),
            rules,
            asks_frequency: !rules.has_default_acks(),
            paced: true,
            undoes: true,
            settled: None,
        }
    }

    /// Starts over for a new connection.
    pub fn reset(&mut self) {
        let rules = self.rules;
        let (datagram, mut ecn, paced, undoes) = (self.full_datagram, self.ecn, self.paced, self.undoes);
        ecn.reset();
        *self = Connection { datagram, full_datagram: datagram, ecn, paced, undoes, ..Connection::idle(rules) };
    }

    /// Takes the RTT of a handshake that ends at `now`.
    pub fn open(&mut self, now: Nanos, rtt: Nanos) {
        self.rtt = Rtt::new(self.rules.ack_delay);
        self.rtt.sample(now, rtt.max(1), 0);
        self.mtu_probed_at = now;
    }

    /// Whether a path MTU probe is due; the next one is due an interval later.
    pub fn takes_mtu_probe(&mut self, now: Nanos) -> bool {
        let is_due = self.rules.mtu_probes.is_some_and(|interval| now >= self.mtu_probed_at.saturating_add(interval));
        if is_due {
            self.mtu_probed_at = now;
        }
        is_due
    }

    /// Enters the tunnel of the path if its time has come. Returns whether datagrams have a new size.
    pub fn enters_tunnel(&mut self, now: Nanos) -> bool {
        let Some(tunnel) = self.rules.tunnel.filter(|tunnel| now >= tunnel.at) else { return false };
        let datagram = self.full_datagram - u64::from(tunnel.overhead);
        std::mem::replace(&mut self.datagram, datagram) != datagram
    }

    /// Bytes of a packet without the headers of UDP and IP.
    pub fn datagram(&self) -> u64 {
        self.datagram
    }

    /// Expiry of the loss timer, or of the probe timeout (appendix A.8).
    pub fn deadline(&self) -> Nanos {
        if let Some(at) = self.flight.loss_at {
            return at;
        }
        if !self.flight.has_data() {
            return Nanos::MAX;
        }
        let pto = self.rtt.pto().saturating_mul(1 << self.pto_count.min(MOST_BACKOFF));
        self.flight.last_sent_at.saturating_add(pto)
    }

    /// Whether a packet sent at `sent_at` belongs to the last recovery period.
    pub fn is_in_recovery(&self, sent_at: Nanos) -> bool {
        self.recovery_start.is_some_and(|start| sent_at <= start)
    }

    /// Number of datagrams of data that have been acknowledged.
    pub fn acked_chunks(&self) -> u64 {
        self.acked.count()
    }

    /// Notes whether the window, of `window` packets, limits the sender.
    pub fn note_limit(&mut self, window: u64) {
        if self.flight.in_flight + 1 > window {
            (self.limited_round, self.limited_flight) = (Some(self.round), self.flight.in_flight);
        }
    }

    /// Whether the window limited the sender in this round or the last one, or another rule permits growth.
    pub fn is_cwnd_limited(&self) -> bool {
        if let Some(permitted) = self.permits_growth {
            return permitted;
        }
        self.limited_round.is_some_and(|round| round + 1 >= self.round)
    }

    /// Whether a window of `window` packets may grow. Where nothing is left to send, a full flight pays for at most twice that flight, as
    /// its own ACKs do: the flights after it are smaller (RFC 9002 section 7.8).
    pub fn may_grow(&self, window: u64) -> bool {
        let pays = !self.app_limited || self.permits_growth.is_some() || window < 2 * self.limited_flight;
        self.is_cwnd_limited() && pays
    }

    /// Whether lost data waits.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Lost data that is to be sent next, if it has not arrived meanwhile.
    pub fn next_waiting(&mut self) -> Option<u64> {
        while let Some(chunk) = self.waiting.pop_front() {
            if self.acked.containing(chunk).is_none() {
                return Some(chunk);
            }
        }
        None
    }

    /// Handles the transmission of datagram `chunk` of the data at `now`. Returns the packet.
    pub fn send(&mut self, now: Nanos, chunk: u64, is_probe: bool) -> Sent {
        if self.flight.in_flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let sent = Sent {
            number: self.flight.next_number(),
            bytes: self.datagram,
            sent_at: now,
            in_flight: self.flight.in_flight_bytes + self.datagram,
            delivered: self.bytes.delivered,
            lost: self.bytes.lost,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until.is_some(),
            is_probe,
            ecn: self.ecn.field() as u8,
            reserved: [0; 5],
        };
        self.bytes.sent += sent.bytes;
        self.ecn.on_sent();
        self.flight.send(sent, chunk);
        sent
    }

    /// Notes that the application limits the sender (MarkConnectionAppLimited).
    pub fn mark_app_limited(&mut self) {
        self.app_limited_until = Some((self.delivered + self.flight.in_flight).max(1));
    }

    /// Whether rate samples are limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Handles an ACK of `count` arrivals, which left the receiver at `left`.
    pub fn on_ack(&mut self, now: Nanos, count: u64, left: Nanos) -> News {
        let mut news = News { prior_in_flight: self.flight.in_flight_bytes, ..News::default() };
        let receipts: Vec<_> = self.receiver.receipts(count).collect();
        let Some(&last) = receipts.last() else { return news };
        let largest = self.flight.largest_acked;
        let (mut newest, mut capable): (Option<(Record, Nanos)>, u64) = (None, 0);
        for receipt in receipts.iter().filter(|receipt| receipt.number >= last.floor) {
            match self.flight.acknowledge(receipt.number, now) {
                Some(Found::Acked(record)) => {
                    capable += u64::from(record.sent.ecn > 0);
                    self.delivered += 1;
                    self.bytes.delivered += record.sent.bytes;
                    self.acked.insert(record.chunk, record.chunk + 1);
                    news.acked.push(Acked { sent: record.sent, acked_at: now, rate: None });
                    if newest.is_none_or(|(known, _)| record.sent.number > known.sent.number) {
                        newest = Some((record, receipt.at));
                    }
                }
                Some(Found::Late(record)) => {
                    capable += u64::from(record.sent.ecn > 0);
                    self.acked.insert(record.chunk, record.chunk + 1);
                    self.bytes.spurious += record.sent.bytes;
                    news.arrived.push(self.lost(&record, LostBy::PacketThreshold));
                    self.missing = self.missing.saturating_sub(1);
                }
                None => {}
            }
        }
        news.acked.sort_unstable_by_key(|packet| packet.sent.number);
        news.arrived.sort_unstable_by_key(|packet| packet.sent.number);
        news.all_arrived = !news.arrived.is_empty() && self.missing == 0;
        if self.flight.largest_acked > largest {
            news.marked = self.ecn.on_ack(capable, last.counts);
        }
        if let Some((record, at)) = newest {
            self.pto_count = 0;
            if std::mem::take(&mut self.asks_frequency) {
                // An ACK is due when the number of packets exceeds the threshold (section 4 of the draft).
                news.ack_frequency = Some((u64::from(self.rules.ack_every) - 1, self.rules.ack_delay));
            }
            news.arrived_at = at;
            if record.sent.number == last.largest.0 {
                // On the wire the delay is in units of 8 us (RFC 9000 section 18.2).
                let ack_delay = (left - last.largest.1) / 8_000 * 8_000;
                let sample = (now - record.sent.sent_at).max(1);
                let adjusted = self.rtt.sample(now, sample, ack_delay);
                news.rtt = Some(packets::Rtt { sample, adjusted, ack_delay, packet: record.sent.number });
            }
            self.delivered_at = now;
            if record.sent.number >= self.round_end {
                (news.round_start, self.round_end) = (true, self.flight.next_number());
                self.round += 1;
            }
        }
        self.detect(now, &mut news);
        if let Some((record, _)) = newest {
            let sample = self.rate_sample(&record.sent);
            if let Some(packet) = news.acked.last_mut() {
                packet.rate = Some(sample);
            }
        }
        news
    }

    /// Handles the expiry of the timer. Returns losses, or counts a probe timeout if the loss timer was not set.
    pub fn on_timer(&mut self, now: Nanos) -> Option<News> {
        if self.flight.loss_at.is_some() {
            let mut news = News { prior_in_flight: self.flight.in_flight_bytes, ..News::default() };
            self.detect(now, &mut news);
            return Some(news);
        }
        self.pto_count += 1;
        self.probes = PROBES;
        None
    }

    fn detect(&mut self, now: Nanos, news: &mut News) {
        let mut found = Vec::new();
        news.persistent = self.flight.detect(now, &self.rtt, &mut found);
        if news.persistent {
            self.rtt.restart_min();
        }
        for (record, by) in found {
            if let Some(settled) = &mut self.settled {
                settled.lost.push(LostPacket { number: record.sent.number, by, is_mtu_probe: record.is_mtu_probe() });
            }
            if record.is_mtu_probe() {
                news.discarded += record.sent.bytes;
                continue;
            }
            self.lost += 1;
            self.bytes.lost += record.sent.bytes;
            news.lost.push(self.lost(&record, by));
            if self.acked.containing(record.chunk).is_none() {
                self.waiting.push_back(record.chunk);
            }
        }
        self.missing += news.lost.len() as u64;
    }

    fn lost(&self, record: &Record, by: LostBy) -> Lost {
        let lost_since_sent = self.bytes.lost - record.sent.lost;
        let delivered_since_sent = self.bytes.delivered - record.sent.delivered;
        Lost { sent: record.sent, by, reserved: [0; 7], lost_since_sent, delivered_since_sent }
    }

    /// Rate sample of the newest acknowledged packet (GenerateRateSample).
    fn rate_sample(&mut self, sent: &Sent) -> RateSample {
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        self.first_sent_at = sent.sent_at;
        let interval = (sent.sent_at - sent.first_sent_at).max(self.delivered_at - sent.delivered_at);
        let is_long = self.rtt.min.is_none_or(|min| interval >= min);
        RateSample {
            delivered: self.bytes.delivered - sent.delivered,
            interval: if is_long { interval } else { 0 },
            prior_delivered: sent.delivered,
            tx_in_flight: sent.in_flight,
            lost: self.bytes.lost - sent.lost,
            is_app_limited: sent.app_limited,
            reserved: [0; 7],
        }
    }

    /// Begins a recovery period at `now`, with these values of window and threshold before it.
    pub fn begin_recovery(&mut self, now: Nanos, before: Option<(f64, f64)>, missing: u64) {
        (self.recovery_start, self.missing) = (Some(now), missing);
        self.before = before.filter(|_| self.undoes);
    }

    /// State of the sender for a packet-level controller, with `prior_in_flight` bytes in flight before the event.
    pub fn path(&self, now: Nanos, prior_in_flight: u64, in_recovery: bool) -> Path {
        let known = self.rtt.latest.is_some();
        let mut path = Path::default();
        path.now = now;
        path.in_flight = self.flight.in_flight_bytes;
        path.prior_in_flight = prior_in_flight;
        path.delivered = self.bytes.delivered;
        path.lost = self.bytes.lost;
        path.spurious = self.bytes.spurious;
        path.next_packet = self.flight.next_number();
        path.sent = self.bytes.sent;
        path.ce = self.ecn.marked();
        (path.delivered_at, path.first_sent_at) = (self.delivered_at, self.first_sent_at);
        (path.latest_rtt, path.min_rtt) = (self.rtt.latest, self.rtt.min);
        path.smoothed_rtt = known.then_some(self.rtt.smoothed);
        path.rttvar = known.then_some(self.rtt.variation);
        (path.max_ack_delay, path.pto) = (self.rules.ack_delay, self.rtt.pto());
        path.round = self.round;
        path.in_recovery = in_recovery;
        (path.cwnd_limited, path.app_limited) = (self.is_cwnd_limited(), self.app_limited);
        path.datagram = self.datagram;
        path
    }

    /// Heap memory in bytes, its own included.
    pub fn heap_bytes(&self) -> usize {
        let parts = self.flight.heap_bytes() + self.receiver.heap_bytes() + self.acked.heap_bytes();
        size_of::<Connection>() + parts + self.waiting.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests;
