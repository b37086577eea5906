//! Numbers of packets, for algorithms that ask for every packet sent and lost. The times and counts of a packet are in the rate sampler.

use super::rate::{AtSending, Sampler};
use crate::packet::Ecn;
use crate::ring::Ring;
use fullpipe_cc::packets::{Lost, LostBy, Sent};

/// Numbers of the outstanding packets of one connection.
#[derive(Clone, Debug)]
pub struct PacketLog {
    /// Size of a packet, bytes.
    bytes: u64,
    /// Codepoint of new segments.
    ecn: u8,
    next_number: u64,
    /// Segment of the first entry.
    base: u64,
    last_sent: Ring<Transmission>,
    /// The next packet is a probe.
    probe_due: bool,
}

/// Last transmission of a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Transmission {
    number: u64,
    is_probe: bool,
    ecn: u8,
}

impl PacketLog {
    /// Log of a connection with packets of `bytes` bytes, whose new segments have the codepoint `ect`; `None` without ECN.
    pub fn new(bytes: u32, ect: Option<Ecn>) -> PacketLog {
        let ecn = match ect {
            Some(Ecn::Ect1) => 1,
            Some(Ecn::Ect0) => 2,
            _ => 0,
        };
        PacketLog { bytes: bytes.into(), ecn, next_number: 0, base: 0, last_sent: Ring::default(), probe_due: false }
    }

    /// A new connection begins.
    pub fn reset(&mut self) {
        self.last_sent.clear();
        (self.next_number, self.base, self.probe_due) = (0, 0, false);
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        size_of::<PacketLog>() + self.last_sent.heap_bytes()
    }

    /// The next packet is a tail loss probe.
    pub fn expect_probe(&mut self) {
        self.probe_due = true;
    }

    /// Segment `seq` has been sent, which `sampler` knows already; everything before `una` is acknowledged.
    pub fn on_sent(&mut self, seq: u64, una: u64, sampler: &Sampler) -> Option<Sent> {
        while self.base < una && self.last_sent.pop_front().is_some() {
            self.base += 1;
        }
        if self.last_sent.len() == 0 {
            self.base = seq;
        }
        let is_probe = std::mem::take(&mut self.probe_due);
        let number = self.next_number;
        self.next_number += 1;
        match self.last_sent.get_mut(usize::try_from(seq.checked_sub(self.base)?).ok()?) {
            Some(known) => *known = Transmission { number, is_probe, ecn: 0 },
            None => self.last_sent.push_back(Transmission { number, is_probe, ecn: self.ecn }),
        }
        self.record(seq, &sampler.at_sending(seq)?)
    }

    /// Segment `seq` is found lost, which `sampler` has counted; `lost` segments were since it was sent, itself included.
    pub fn on_lost(&self, seq: u64, lost: u64, by: LostBy, sampler: &Sampler) -> Option<Lost> {
        let at = sampler.at_sending(seq)?;
        let sent = self.record(seq, &at)?;
        let (lost_since_sent, delivered_since_sent) = (lost * self.bytes, at.delivered_since * self.bytes);
        Some(Lost { sent, by, reserved: [0; 7], lost_since_sent, delivered_since_sent })
    }

    fn record(&self, seq: u64, at: &AtSending) -> Option<Sent> {
        let transmission = self.last_sent.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)?;
        Some(Sent {
            number: transmission.number,
            bytes: self.bytes,
            sent_at: at.sent_at,
            in_flight: at.in_flight * self.bytes,
            delivered: at.delivered * self.bytes,
            lost: at.lost * self.bytes,
            delivered_at: at.delivered_at,
            first_sent_at: at.first_sent_at,
            app_limited: at.app_limited,
            is_probe: transmission.is_probe,
            ecn: transmission.ecn,
            reserved: [0; 5],
        })
    }
}
