//! Packet events, for algorithms that ask for them ([`CongestionControl::takes_packets`](fullpipe_cc::CongestionControl::takes_packets)).

use super::{Phase, Sender};
use crate::transport::policy::Policy;
use crate::transport::repair::Any;
use fullpipe_cc::Flow;
use fullpipe_cc::packets::LostBy;

impl<P: Policy> Sender<P> {
    /// Reports that segment `seq` has been sent, which `flow` counts.
    #[cold]
    #[inline(never)]
    pub(super) fn report_packet_sent(&mut self, seq: u64, flow: &Flow) {
        let Some(packets) = &mut self.packets else { return };
        if let Some(sent) = packets.on_sent(seq, &mut self.outstanding) {
            if self.reports_events() {
                return self.report_sent_event(flow.now, &sent);
            }
            self.cc.on_packet_sent(flow, &sent);
        }
    }

    /// Reports that segment `seq` is lost. Counted are `lost` lost segments since its transmission, this one included.
    #[cold]
    #[inline(never)]
    pub(super) fn report_packet_lost(&mut self, seq: u64, lost: u64, flow: &Flow) {
        let timed = matches!(self.repair, Any::Rack(_) | Any::Vegas(_));
        let by = match self.progress.phase {
            Phase::Restart { .. } => LostBy::TimeThreshold,
            _ if timed => LostBy::TimeThreshold,
            _ => LostBy::PacketThreshold,
        };
        let Some(packets) = &mut self.packets else { return };
        let Some(lost) = packets.on_lost(seq, lost, by, &self.outstanding) else { return };
        match &mut packets.events {
            Some(events) => events.add_loss(lost),
            None => self.cc.on_packet_lost(flow, &lost),
        }
    }

    /// The next packet is a tail loss probe.
    pub(super) fn expect_probe(&mut self) {
        if let Some(packets) = &mut self.packets {
            packets.expect_probe();
        }
    }
}
