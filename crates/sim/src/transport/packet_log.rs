//! Packet events for algorithms that ask for every packet sent and lost. Times and counts of a packet are in the record of its segment.

use super::outstanding::{Outstanding, Record};
use super::sender::Events;
use crate::packet::Ecn;
use fullpipe_cc::packets::{self, Lost, LostBy, Sent};

/// Properties of the packets of one connection.
#[derive(Clone, Debug)]
pub struct PacketLog {
    /// Size of a packet, bytes.
    bytes: u64,
    /// Codepoint of new segments. Retransmissions have none (RFC 3168 section 6.1.5).
    ecn: u8,
    /// The next packet is a probe.
    probe_due: bool,
    /// Events of a packet-level controller.
    pub events: Option<Events>,
}

impl PacketLog {
    /// Packets of `bytes` bytes. New segments have the codepoint `ect`.
    pub fn new(bytes: u32, ect: Ecn) -> PacketLog {
        PacketLog { bytes: bytes.into(), ecn: ect as u8, probe_due: false, events: None }
    }

    /// Starts over for a new connection.
    pub fn reset(&mut self) {
        self.probe_due = false;
        self.events = self.events.is_some().then(Events::default);
    }

    /// Heap memory in bytes, its own included.
    pub fn heap_bytes(&self) -> usize {
        size_of::<PacketLog>() + self.events.as_ref().map_or(0, Events::heap_bytes)
    }

    /// Size of a packet, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Rate sample in bytes.
    pub fn rate(&self, sample: &fullpipe_cc::RateSample) -> packets::RateSample {
        packets::RateSample {
            delivered: sample.delivered * self.bytes,
            interval: sample.interval.unwrap_or(0),
            prior_delivered: sample.prior_delivered * self.bytes,
            tx_in_flight: sample.tx_in_flight * self.bytes,
            lost: sample.lost * self.bytes,
            is_app_limited: sample.is_app_limited,
            reserved: [0; 7],
        }
    }

    /// The next packet is a tail loss probe.
    pub fn expect_probe(&mut self) {
        self.probe_due = true;
    }

    /// Event for segment `seq`, which has just been sent.
    pub fn on_sent(&mut self, seq: u64, outstanding: &mut Outstanding) -> Option<Sent> {
        if std::mem::take(&mut self.probe_due) {
            outstanding.set_probe(seq);
        }
        self.sent(outstanding.get(seq)?, outstanding)
    }

    /// Event for segment `seq`, which has been counted as lost. Lost since its transmission are `lost` segments, this one included.
    pub fn on_lost(&self, seq: u64, lost: u64, by: LostBy, outstanding: &Outstanding) -> Option<Lost> {
        let record = outstanding.get(seq)?;
        let delivered = outstanding.rate.as_ref()?.at_sending(record).delivered_since;
        let sent = self.sent(record, outstanding)?;
        let (lost_since_sent, delivered_since_sent) = (lost * self.bytes, delivered * self.bytes);
        Some(Lost { sent, by, reserved: [0; 7], lost_since_sent, delivered_since_sent })
    }

    /// Packet of a record.
    pub fn sent(&self, record: &Record, outstanding: &Outstanding) -> Option<Sent> {
        let at = outstanding.rate.as_ref()?.at_sending(record);
        Some(Sent {
            number: outstanding.number(record),
            bytes: self.bytes,
            sent_at: record.sent_at,
            in_flight: u64::from(record.in_flight) * self.bytes,
            delivered: at.delivered * self.bytes,
            lost: at.lost * self.bytes,
            delivered_at: record.delivered_at,
            first_sent_at: record.first_sent_at,
            app_limited: record.app_limited,
            is_probe: record.is_probe,
            ecn: if record.retransmitted { 0 } else { self.ecn },
            reserved: [0; 5],
        })
    }
}
