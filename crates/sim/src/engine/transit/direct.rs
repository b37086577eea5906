//! Fast path of segments: over one FIFO link to the receiver, which acknowledges each, and back. The path needs no event until the ACK
//! arrives. All other segments take the general path.

use super::Transit;
use crate::network::Direct;
use crate::packet::{Kind, NoteSlot, Packet, Segment};
use crate::traffic::connection::Connection;
use crate::transport::policy::Policy;

impl Transit {
    /// Sends a segment over the link to its receiver.
    #[inline(always)]
    pub(super) fn send_direct<P: Policy>(
        &mut self,
        flow: &mut Connection<P>,
        there: u32,
        direct: Direct,
        mut segment: Segment,
    ) {
        let link = &mut self.network.fifos[there as usize];
        let Some(departure) = link.accept(segment.at, self.packet_size) else {
            self.count_lost_segment(flow.id, segment.at);
            return;
        };
        (segment.at, segment.hop) = (departure + link.delay, 1);
        self.receive_direct(flow, direct, segment);
    }

    /// Delivers a segment. If it arrives in order, its ACK goes back over the FIFO link.
    #[inline(always)]
    pub(super) fn receive_direct<P: Policy>(&mut self, flow: &mut Connection<P>, direct: Direct, segment: Segment) {
        let Segment { at, stamp, seq, .. } = segment;
        let Some(next) = flow.receiver.take_expected(seq, stamp) else {
            self.deliver_by_call(flow, segment);
            return;
        };
        flow.received += u64::from(self.count_delivered(at));
        let link = &mut self.network.fifos[direct.back as usize];
        let Some(departure) = link.accept(at, self.ack_size) else { return };
        let ack = Packet {
            at: departure + link.delay + 2 * flow.access,
            stamp,
            aside: at,
            flow: flow.id,
            seq: next as u32,
            note: NoteSlot::NONE,
            incarnation: flow.incarnation,
            hop: 2,
            kind: Kind::Arriving,
        };
        self.schedule.push(flow.ack_stream, &ack);
    }
}
