//! Records of a QUIC connection's packets (RFC 9002 appendix A.1), over the segments of the simulator's sender.
//!
//! QUIC numbers packets in the order in which they leave and uses no number twice; a sender of segments retransmits them. Here each
//! transmission of a segment is a packet with its own number. Where the simulator reports counts, for example an ACK that newly delivers
//! three, this module finds the packets.
//!
//! # Deviations and choices
//! - A retransmission is that of the lowest lost segment not yet retransmitted, which is the order of RACK and of RFC 6675.
//! - An ACK names the newest segment that it delivers. Where it delivers others beyond the cumulative point (because ACKs before it were
//!   lost), those are taken for the next lower ones outstanding.
//! - A packet found lost whose ACK comes after all is not acknowledged, as in QUIC; if its segment has gone again by then, the ACK
//!   counts for the later packet. So the transmission that arrived is unknown, and a retransmitted segment gives no RTT
//!   (Karn's rule, RFC 6298 section 3), where QUIC knows and samples.

use fullpipe_cc::{Ack, Flow, Lost, Nanos};
use std::collections::VecDeque;

/// A departure of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<T> {
    /// In the order of departures, from 0.
    pub number: u64,
    /// When it left.
    pub sent: Nanos,
    /// Whether this is the first transmission of its segment, so that its ACK gives an RTT.
    pub is_first: bool,
    /// State of the congestion controller.
    pub info: T,
}

/// The packets of a connection that are neither acknowledged nor lost, and the segments that are to go again.
#[derive(Clone, Debug)]
pub struct Packets<T> {
    /// The number that `segments` begins with.
    base: u64,
    segments: VecDeque<Segment<T>>,
    /// How many packets have left.
    next_number: u64,
    in_flight: u64,
    /// Lost packets that have not been reported.
    lost: Vec<Packet<T>>,
    acked: Vec<Packet<T>>,
}

/// Outcome of a segment beyond the cumulative ACK.
#[derive(Clone, Copy, Debug)]
enum Segment<T> {
    Outstanding(Packet<T>),
    Lost,
    Delivered,
}

impl<T> Default for Packets<T> {
    fn default() -> Self {
        let (segments, lost, acked) = (VecDeque::new(), Vec::new(), Vec::new());
        Packets { base: 0, segments, next_number: 0, in_flight: 0, lost, acked }
    }
}

impl<T: Copy> Packets<T> {
    /// Packets that are neither acknowledged nor lost.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The number that the next packet to leave has.
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// A segment leaves, counted in `flow`; `info` is the state in its packet.
    pub fn on_sent(&mut self, flow: &Flow, info: T) {
        let packet = Packet { number: self.next_number, sent: flow.now, is_first: true, info };
        self.next_number += 1;
        self.in_flight += 1;
        // The cumulative point may have moved past segments of an ACK that is not yet reported.
        let end = flow.delivered + flow.flight_size;
        let known = self.base + self.segments.len() as u64;
        if end > known {
            self.segments.push_back(Segment::Outstanding(packet));
            return;
        }
        // After a timeout segments may go again from the cumulative point on, where others are beyond.
        let rewound = end.checked_sub(self.base + 1).filter(|_| end < known).map(|index| index as usize);
        let lowest = self.segments.iter().position(|segment| matches!(segment, Segment::Lost));
        let index = rewound.filter(|&index| matches!(self.segments[index], Segment::Lost)).or(lowest);
        match index.and_then(|index| self.segments.get_mut(index)) {
            Some(segment) => *segment = Segment::Outstanding(Packet { is_first: false, ..packet }),
            // No packet was lost: a duplicate, which QUIC would not send.
            None => self.in_flight -= 1,
        }
    }

    /// A segment has been found lost; [`Packets::take_lost`] returns its packet.
    pub fn on_lost(&mut self, lost: &Lost) {
        let index = lost.segment.checked_sub(self.base).map(|index| index as usize);
        let Some(segment) = index.and_then(|index| self.segments.get_mut(index)) else { return };
        if let Segment::Outstanding(packet) = *segment {
            *segment = Segment::Lost;
            self.in_flight -= 1;
            self.lost.push(packet);
        }
    }

    /// The packets found lost since this was last asked, in the order of their numbers.
    pub fn take_lost(&mut self) -> Vec<Packet<T>> {
        self.lost.sort_unstable_by_key(|packet| packet.number);
        std::mem::take(&mut self.lost)
    }

    /// The packets that an ACK newly acknowledges, in the order of their numbers.
    pub fn on_ack(&mut self, flow: &Flow, ack: &Ack) -> &[Packet<T>] {
        self.acked.clear();
        let mut left = ack.rate.map_or(ack.acked, |rate| rate.newly_delivered);
        while self.base < flow.delivered {
            let Some(segment) = self.segments.pop_front() else { break };
            self.base += 1;
            left = left.saturating_sub(u64::from(!matches!(segment, Segment::Delivered)));
            self.deliver(segment);
        }
        self.base = self.base.max(flow.delivered);
        let newest = ack.rate.and_then(|rate| (rate.segment + 1).checked_sub(self.base)).unwrap_or(0);
        for index in (0..(newest as usize).min(self.segments.len())).rev() {
            if left == 0 {
                break;
            }
            if !matches!(self.segments[index], Segment::Delivered) {
                let segment = std::mem::replace(&mut self.segments[index], Segment::Delivered);
                self.deliver(segment);
                left -= 1;
            }
        }
        self.acked.sort_unstable_by_key(|packet| packet.number);
        &self.acked
    }

    fn deliver(&mut self, segment: Segment<T>) {
        if let Segment::Outstanding(packet) = segment {
            self.in_flight -= 1;
            self.acked.push(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::RateSample;

    fn flow(delivered: u64, high: u64) -> Flow {
        Flow::at(high).delivered(delivered).flight_size(high - delivered)
    }

    /// `count` segments that have left, the n-th at time n.
    fn sent(count: u64) -> Packets<()> {
        let mut packets = Packets::default();
        (1..=count).for_each(|high| packets.on_sent(&flow(0, high), ()));
        packets
    }

    fn ack(delivers: u64, newest: u64) -> Ack {
        let rate = RateSample::new(1, None).segment(newest).newly_delivered(delivers);
        Ack::of(0, 0.0).rate(Some(rate))
    }

    fn numbers(packets: &[Packet<()>]) -> Vec<u64> {
        packets.iter().map(|packet| packet.number).collect()
    }

    #[test]
    fn cumulative_acks_name_their_packets() {
        let mut packets = sent(3);
        assert_eq!(numbers(packets.on_ack(&flow(1, 3), &ack(1, 0))), [0]);
        assert_eq!(numbers(packets.on_ack(&flow(3, 3), &ack(2, 2))), [1, 2]);
        assert_eq!(packets.in_flight(), 0);
    }

    /// The second of five is lost, and SACK reports the others one by one. It is retransmitted as packet 5, and its ACK
    /// is for that packet.
    #[test]
    fn what_goes_again_is_another_packet() {
        let mut packets = sent(5);
        packets.on_ack(&flow(1, 5), &ack(1, 0));
        for newest in 2..5 {
            assert_eq!(numbers(packets.on_ack(&flow(1, 5), &ack(1, newest))), [newest]);
        }
        packets.on_lost(&Lost::of(1));
        packets.on_lost(&Lost::of(1));
        assert_eq!((numbers(&packets.take_lost()), packets.in_flight()), (vec![1], 0));
        packets.on_sent(&flow(1, 5), ());
        assert_eq!((packets.in_flight(), packets.next_number()), (1, 6));
        let again = packets.on_ack(&flow(5, 5), &ack(1, 1));
        assert_eq!((numbers(again), again[0].is_first), (vec![5], false));
        assert_eq!(packets.in_flight(), 0);
    }

    /// An ACK of the first three SACKed segments was lost: the fourth's ACK reports four.
    #[test]
    fn a_lost_ack_leaves_its_packets_to_the_next() {
        let mut packets = sent(6);
        assert_eq!(numbers(packets.on_ack(&flow(0, 6), &ack(4, 4))), [1, 2, 3, 4]);
        assert_eq!(numbers(packets.on_ack(&flow(0, 6), &ack(1, 5))), [5]);
        assert_eq!(packets.in_flight(), 1);
    }

    /// RFC 9002 section 5.1 and A.7: a packet that has been declared lost is not tracked any longer; its ACK is of nothing.
    #[test]
    fn a_late_ack_of_a_lost_packet_acknowledges_nothing() {
        let mut packets = sent(2);
        packets.on_lost(&Lost::of(0));
        packets.take_lost();
        assert_eq!(numbers(packets.on_ack(&flow(1, 2), &ack(1, 0))), [0; 0]);
        assert_eq!(numbers(packets.on_ack(&flow(2, 2), &ack(1, 1))), [1]);
    }
}
