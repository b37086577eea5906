//! Packets for algorithms that ask for every one ([`CongestionControl::takes_packets`](fullpipe_cc::CongestionControl::takes_packets)).

use super::{Flow, PacketLog, Phase, Sampler, Sender};
use crate::transport::policy::Policy;
use crate::transport::repair::Any;
use fullpipe_cc::packets::LostBy;

/// Segment `seq` has been sent, which `flow` and `sampler` count; everything before `una` is acknowledged.
#[cold]
#[inline(never)]
pub(super) fn report_sent<P: Policy>(
    cc: &mut P,
    packets: &mut PacketLog,
    sampler: &Sampler,
    seq: u64,
    una: u64,
    flow: &Flow,
) {
    if let Some(sent) = packets.on_sent(seq, una, sampler) {
        cc.on_packet_sent(flow, &sent);
    }
}

impl<P: Policy> Sender<P> {
    /// Segment `seq` has been sent; `flow` counts it.
    #[cold]
    #[inline(never)]
    pub(super) fn report_sent(&mut self, seq: u64, flow: &Flow) {
        let Some(watch) = self.watch.as_deref_mut() else { return };
        let (Some(packets), Some(sampler)) = (&mut watch.packets, &watch.sampler) else { return };
        report_sent(&mut self.cc, packets, sampler, seq, self.progress.una, flow);
    }

    /// Segment `seq` has been found lost, after which `lost` segments are that were sent later or with it.
    #[cold]
    #[inline(never)]
    pub(super) fn report_lost(&mut self, seq: u64, lost: u64, flow: &Flow) {
        let timed = matches!(self.repair, Any::Rack(_) | Any::Vegas(_));
        let by = match self.progress.phase {
            Phase::Restart { .. } => LostBy::TimeThreshold,
            _ if timed => LostBy::TimeThreshold,
            _ => LostBy::PacketThreshold,
        };
        let Some(watch) = self.watch.as_deref() else { return };
        let (Some(packets), Some(sampler)) = (&watch.packets, &watch.sampler) else { return };
        if let Some(lost) = packets.on_lost(seq, lost, by, sampler) {
            self.cc.on_packet_lost(flow, &lost);
        }
    }

    /// A tail loss probe is the next packet.
    pub(super) fn expect_probe(&mut self) {
        if let Some(packets) = self.watch.as_mut().and_then(|watch| watch.packets.as_mut()) {
            packets.expect_probe();
        }
    }
}
