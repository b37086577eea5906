//! Fast path of segments: over one link to the receiver, which acknowledges each, and back over a FIFO link. A segment needs no event
//! until its ACK arrives, unless it waits in a served link. All other segments take the general path.

use super::Transit;
use crate::packet::{NoteSlot, Packet, PacketKind, Segment};
use crate::traffic::connection::Connection;
use crate::transport::policy::Policy;

impl Transit {
    /// Sends a segment over a FIFO link to its receiver.
    #[inline(always)]
    pub(super) fn send_direct<P: Policy>(&mut self, flow: &mut Connection<P>, there: u32, back: u32, segment: Segment) {
        let link = &mut self.network.fifos[there as usize];
        let Some(departure) = link.accept(segment.at, self.packet_size) else {
            return self.count_lost_segment(flow.id, segment.at);
        };
        let at = departure + link.delay;
        self.receive_direct(flow, back, Segment { at, hop: 1, ..segment });
    }

    /// Sends a segment to a served link, which its receiver is behind.
    #[inline(never)]
    pub(super) fn send_served<P: Policy>(&mut self, flow: &mut Connection<P>, there: u32, segment: Segment) {
        let packet = segment.packet(PacketKind::Data);
        if let Some(sent) = self.offer_served(there, flow.route, &packet, self.packet_size, false) {
            self.leave_by_call(flow, &sent);
        }
    }

    /// Delivers a segment. If it arrives in order, its ACK goes back over the FIFO link.
    #[inline(always)]
    pub(super) fn receive_direct<P: Policy>(&mut self, flow: &mut Connection<P>, back: u32, segment: Segment) {
        let Segment { at, stamp, seq, .. } = segment;
        let Some(next) = flow.receiver.take_expected(seq, stamp) else {
            self.deliver_by_call(flow, segment);
            return;
        };
        flow.received += u64::from(self.count_delivered(at));
        if flow.heed.is_some() {
            self.deliver_units(flow, at);
        }
        let link = &mut self.network.fifos[back as usize];
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
            kind: PacketKind::Arriving,
        };
        self.schedule.push(flow.ack_stream, &ack);
    }
}
