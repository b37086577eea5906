//! Loss detection of s2n-quic-core, driven as s2n-quic-transport's `recovery/manager.rs` drives it (version 0.91.0). The manager itself needs an
//! endpoint with TLS, streams, and connections.

use crate::detection::Detector;
use crate::trace::{Event, Found};
use s2n_quic_core::frame::ack_elicitation::AckElicitation;
use s2n_quic_core::inet::ExplicitCongestionNotification;
use s2n_quic_core::packet::number::{PacketNumber, PacketNumberSpace};
use s2n_quic_core::path;
use s2n_quic_core::recovery::loss::{self, K_PACKET_THRESHOLD, Outcome};
use s2n_quic_core::recovery::persistent_congestion::Calculator;
use s2n_quic_core::recovery::{RttEstimator, SentPacketInfo, SentPackets};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use s2n_quic_core::transmission;
use s2n_quic_core::transport::parameters::MaxAckDelay;
use s2n_quic_core::varint::VarInt;
use std::time::Duration;

const SPACE: PacketNumberSpace = PacketNumberSpace::ApplicationData;

/// Sender of a recorded connection.
pub struct S2n {
    rtt: RttEstimator,
    sent: SentPackets<()>,
    largest_acked: Option<PacketNumber>,
    loss_at: Option<Timestamp>,
    last_sent_at: Timestamp,
    backoff: u32,
}

impl Default for S2n {
    fn default() -> S2n {
        let mut rtt = RttEstimator::default();
        rtt.on_max_ack_delay(MaxAckDelay::RECOMMENDED);
        let (sent, last_sent_at) = (SentPackets::default(), at(0));
        S2n { rtt, sent, largest_acked: None, loss_at: None, last_sent_at, backoff: path::INITIAL_PTO_BACKOFF }
    }
}

fn at(now: u64) -> Timestamp {
    NoopClock.get_time() + Duration::from_nanos(now)
}

fn number(value: u64) -> PacketNumber {
    SPACE.new_packet_number(VarInt::new(value).expect("a packet number"))
}

#[expect(unsafe_code, reason = "s2n-quic-core keeps this number for its own paths; here is one path")]
fn path_id() -> path::Id {
    unsafe { path::Id::new(0) }
}

impl S2n {
    fn send(&mut self, now: u64, packet: u64, bytes: u64) {
        let (ecn, mode) = (ExplicitCongestionNotification::Ect0, transmission::Mode::Normal);
        let elicits = AckElicitation::Eliciting;
        let info = SentPacketInfo::new(true, bytes as usize, at(now), elicits, path_id(), ecn, mode, ());
        self.sent.insert(number(packet), info);
        self.last_sent_at = at(now);
    }

    fn acknowledge(&mut self, now: u64, numbers: &[u64], largest: u64, delay: u64, found: &mut Found) {
        let mut newest = None;
        for &packet in numbers {
            newest = self.sent.remove(number(packet)).map(|info| (packet, info)).or(newest);
        }
        self.largest_acked = self.largest_acked.max(Some(number(largest)));
        let Some((packet, info)) = newest else { return };
        if packet == largest {
            let sample = at(now) - info.time_sent;
            self.rtt.update_rtt(Duration::from_nanos(delay), sample, at(now), true, SPACE);
        }
        self.detect(now, found);
        self.backoff = path::INITIAL_PTO_BACKOFF;
    }

    fn detect(&mut self, now: u64, found: &mut Found) {
        self.loss_at = None;
        let Some(largest) = self.largest_acked else { return };
        let mut calculator = Calculator::new(self.rtt.first_rtt_sample(), path_id());
        let threshold = self.rtt.loss_time_threshold();
        let mut lost = Vec::new();
        for (packet, info) in self.sent.iter().take_while(|(packet, _)| *packet < largest) {
            match loss::detect(threshold, info.time_sent, K_PACKET_THRESHOLD, packet, largest, at(now)) {
                Outcome::Lost => {
                    calculator.on_lost_packet(packet, info);
                    found.by_time += u64::from(largest.as_u64() - packet.as_u64() < K_PACKET_THRESHOLD);
                    lost.push(packet);
                }
                Outcome::NotLostYet { lost_time } => {
                    self.loss_at = Some(lost_time);
                    break;
                }
            }
        }
        if calculator.persistent_congestion_duration() > self.rtt.persistent_congestion_threshold() {
            self.rtt.on_persistent_congestion();
            found.persistent.push(now);
        }
        for packet in lost {
            self.sent.remove(packet);
            found.lost.push((packet.as_u64(), now));
        }
    }
}

impl Detector for S2n {
    fn deadline(&self) -> u64 {
        let probe = || (!self.sent.is_empty()).then(|| self.last_sent_at + self.rtt.pto_period(self.backoff, SPACE));
        let due = self.loss_at.or_else(probe);
        due.map_or(u64::MAX, |due| (due - NoopClock.get_time()).as_nanos() as u64)
    }

    fn expire(&mut self, now: u64, found: &mut Found) {
        if self.loss_at.is_some() {
            self.detect(now, found);
        } else {
            self.backoff *= 2;
            found.timeouts.push(now);
        }
    }

    fn handle(&mut self, event: &Event, found: &mut Found) {
        match event {
            Event::Sample { at: now, rtt } => {
                let sample = Duration::from_nanos(*rtt);
                self.rtt.update_rtt(Duration::ZERO, sample, at(*now), false, PacketNumberSpace::Initial);
            }
            Event::Sent { at, number, bytes } => self.send(*at, *number, *bytes),
            Event::Acked { at, numbers, largest, delay } => self.acknowledge(*at, numbers, *largest, *delay, found),
        }
    }
}
