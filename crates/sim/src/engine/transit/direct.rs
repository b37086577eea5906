//! Fast path of segments: over one FIFO link to the receiver, which acknowledges each, and back. The path needs no event until the ACK
//! arrives. All other segments take the general path.

use super::Transit;
use crate::network::Direct;
use crate::packet::{Kind, NoteSlot, Packet, Segment};
use crate::traffic::connection::Connection;
use crate::transport::policy::Policy;

impl Transit {
    /// Sends a segment over the link and, if it arrives in order, its ACK back.
    #[inline(always)]
    pub(super) fn send_direct<P: Policy>(&mut self, flow: &mut Connection<P>, direct: Direct, mut segment: Segment) {
        let link = &mut self.network.fifos[direct.there as usize];
        let Some(departure) = link.accept(segment.at, self.packet_size) else {
            self.count_lost_segment(flow.id, segment.at);
            return;
        };
        segment.at = departure + link.delay;
        let Segment { at, stamp, seq, .. } = segment;
        let Some(next) = flow.receiver.take_expected(seq, stamp) else {
            self.deliver_by_call(flow, Segment { hop: 1, ..segment });
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
