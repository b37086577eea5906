//! Pacer, rate sampler and packet log: parts of a sender that only some flows have, decided when they begin.

use super::pacing::Pacer;
use super::packet_log::PacketLog;
use super::rate::Sampler;
use fullpipe_cc::Nanos;

/// Parts that pace a flow and measure its rate of delivery; in whole cache lines.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Watch {
    /// Lets segments leave at a rate.
    pub pacer: Option<Pacer>,
    /// Measures the rate of delivery.
    pub sampler: Option<Sampler>,
    /// Numbers of packets, if the algorithm asks for every packet.
    pub packets: Option<Box<PacketLog>>,
    /// Room for the numbers of segments: those found lost, and those that SACK newly reports.
    pub found: Vec<u64>,
    /// See `found`.
    pub sacked: Vec<u64>,
}

impl Watch {
    /// A new connection begins.
    pub fn reset(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            *pacer = Pacer::default();
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.reset();
        }
        if let Some(packets) = &mut self.packets {
            packets.reset();
        }
    }

    /// An ACK asks for `cumulative`, and newly reports the segments `sacked`. Returns how many it delivers, or 0 without a sampler.
    pub fn on_ack(&mut self, now: Nanos, cumulative: u64) -> u64 {
        let Some(sampler) = &mut self.sampler else { return 0 };
        let delivered = sampler.on_ack(now, cumulative, &self.sacked);
        self.sacked.clear();
        delivered
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        let numbers = self.found.capacity() + self.sacked.capacity();
        let packets = self.packets.as_ref().map_or(0, |packets| packets.heap_bytes());
        self.sampler.as_ref().map_or(0, Sampler::heap_bytes) + packets + numbers * size_of::<u64>()
    }
}
