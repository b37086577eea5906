//! QUIC packets at their receiver.

use super::Transit;
use crate::packet::{Packet, PacketKind, Segment};
use crate::traffic::connection::Connection;
use crate::transport::policy::Policy;
use fullpipe_cc::Nanos;

impl Transit {
    /// Delivers a QUIC packet. Returns its ACK, unless the receiver holds it.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_quic<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) -> Option<Packet> {
        let counts = self.count_delivered(segment.at);
        if segment.incarnation != flow.incarnation {
            flow.duplicates += u64::from(counts);
            return None;
        }
        let new = flow.sender.take_packet(segment.seq, segment.at, segment.marks.ecn());
        *(if new.is_some() { &mut flow.received } else { &mut flow.duplicates }) += u64::from(counts);
        if let (Some(number), Some(source)) = (new, &mut flow.source) {
            source.deliver_packet(number, segment.at);
            self.arm_client(flow);
        }
        if let Some(heed) = &mut flow.heed {
            heed.on_data(&segment, counts);
        }
        if !flow.sender.quic_receiver().is_some_and(|receiver| receiver.is_due(segment.at)) {
            self.arm_ack(flow);
            return None;
        }
        Some(ack(flow, segment.at))
    }
}

/// ACK of a QUIC receiver: the number of packets that have arrived stands for its ranges.
pub fn ack<P: Policy>(flow: &mut Connection<P>, at: Nanos) -> Packet {
    let count = flow.sender.quic_receiver().map_or(0, |receiver| receiver.acknowledge());
    Packet {
        at,
        aside: at,
        flow: flow.id,
        seq: count as u32,
        incarnation: flow.incarnation,
        hop: flow.route.data_hops,
        kind: PacketKind::Ack,
        ..Packet::default()
    }
}
