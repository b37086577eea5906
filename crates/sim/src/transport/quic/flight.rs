//! Packets in flight, and which of them are lost: RFC 9002 section 6.1 and appendix A.10.

use super::rtt::Rtt;
use fullpipe_cc::Nanos;
use fullpipe_cc::packets::{LostBy, Sent};
use std::collections::VecDeque;

/// kPacketThreshold (section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// Number in place of data, in a path MTU probe.
pub const MTU_PROBE: u64 = u64::MAX;

/// Packet, and the data that it carries.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Packet as it was sent.
    pub sent: Sent,
    /// Number of the datagram of data that it carries.
    pub chunk: u64,
    /// Time until which its ACK shows a spurious loss, once it is lost.
    pub late_until: Nanos,
    state: State,
}

impl Record {
    /// Whether the packet is a path MTU probe, whose loss is no congestion (RFC 9000 section 14.4).
    pub fn is_mtu_probe(&self) -> bool {
        self.chunk == MTU_PROBE
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Acked,
    Lost,
}

/// Result of a packet number in an ACK.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// The packet was in flight.
    Acked(Record),
    /// The packet had been declared lost.
    Late(Record),
}

/// Packets that have been sent and are neither acknowledged nor forgotten.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    /// Number of the first record.
    base: u64,
    records: VecDeque<Record>,
    /// Lost packets that may still arrive, in the order of their numbers.
    late: VecDeque<Record>,
    /// Packets in flight, and their bytes.
    pub in_flight: u64,
    pub in_flight_bytes: u64,
    /// Path MTU probes among the packets in flight.
    mtu_probes: u64,
    /// Largest number acknowledged.
    pub largest_acked: Option<u64>,
    /// Time at which the next packet counts as lost.
    pub loss_at: Option<Nanos>,
    /// Time of the last transmission.
    pub last_sent_at: Nanos,
}

impl Flight {
    /// Number of the next packet.
    pub fn next_number(&self) -> u64 {
        self.base + self.records.len() as u64
    }

    /// Adds a packet that has just been sent.
    pub fn send(&mut self, sent: Sent, chunk: u64) {
        debug_assert_eq!(sent.number, self.next_number());
        self.in_flight += 1;
        self.in_flight_bytes += sent.bytes;
        self.mtu_probes += u64::from(chunk == MTU_PROBE);
        self.last_sent_at = sent.sent_at;
        self.records.push_back(Record { sent, chunk, late_until: 0, state: State::InFlight });
    }

    /// Record of a packet.
    pub fn get(&self, number: u64) -> Option<&Record> {
        match number.checked_sub(self.base) {
            Some(place) => self.records.get(place as usize),
            None => self.find_late(number).map(|place| &self.late[place]),
        }
    }

    fn find_late(&self, number: u64) -> Option<usize> {
        self.late.binary_search_by_key(&number, |record| record.sent.number).ok()
    }

    /// Handles an acknowledged packet number.
    pub fn acknowledge(&mut self, number: u64, now: Nanos) -> Option<Found> {
        self.largest_acked = self.largest_acked.max(Some(number));
        if let Some(record) = number.checked_sub(self.base).and_then(|place| self.records.get_mut(place as usize)) {
            let before = std::mem::replace(&mut record.state, State::Acked);
            let record = *record;
            return match before {
                State::InFlight => {
                    self.remove(&record);
                    Some(Found::Acked(record))
                }
                State::Lost => (record.late_until >= now).then_some(Found::Late(record)),
                State::Acked => None,
            };
        }
        let place = self.find_late(number)?;
        let record = self.late.remove(place)?;
        (record.late_until >= now).then_some(Found::Late(record))
    }

    /// Declares packets lost (DetectAndRemoveLostPackets), in the order of their numbers. Returns whether they show persistent congestion.
    pub fn detect(&mut self, now: Nanos, rtt: &Rtt, lost: &mut Vec<(Record, LostBy)>) -> bool {
        self.loss_at = None;
        let Some(largest) = self.largest_acked else { return false };
        let delay = rtt.loss_delay();
        let (mut persistent, mut first): (bool, Option<Nanos>) = (false, None);
        let late_until = now + 3 * rtt.pto();
        let count = (largest + 1).saturating_sub(self.base).min(self.records.len() as u64) as usize;
        for record in self.records.iter_mut().take(count) {
            match record.state {
                State::Acked => first = None,
                State::Lost => {}
                State::InFlight => {
                    let overtaken = largest >= record.sent.number + PACKET_THRESHOLD;
                    let by = if overtaken { LostBy::PacketThreshold } else { LostBy::TimeThreshold };
                    if !overtaken && record.sent.sent_at + delay > now {
                        let due = record.sent.sent_at + delay;
                        self.loss_at = Some(self.loss_at.map_or(due, |at| at.min(due)));
                        continue;
                    }
                    record.state = State::Lost;
                    record.late_until = late_until;
                    self.in_flight -= 1;
                    self.in_flight_bytes -= record.sent.bytes;
                    lost.push((*record, by));
                    if record.is_mtu_probe() {
                        self.mtu_probes -= 1;
                        continue;
                    }
                    // Section 7.6.2: sent after the first RTT sample.
                    if rtt.first_at.is_some_and(|at| record.sent.sent_at > at) {
                        let start = *first.get_or_insert(record.sent.sent_at);
                        persistent |= record.sent.sent_at - start > rtt.persistent_span();
                    }
                }
            }
        }
        self.trim(now);
        persistent
    }

    /// Forgets acknowledged packets at the front, and lost ones that are too late.
    fn trim(&mut self, now: Nanos) {
        while let Some(record) = self.records.front().filter(|record| record.state != State::InFlight).copied() {
            self.records.pop_front();
            self.base += 1;
            if record.state == State::Lost {
                self.late.push_back(record);
            }
        }
        while self.late.front().is_some_and(|record| record.late_until < now) {
            self.late.pop_front();
        }
    }

    fn remove(&mut self, record: &Record) {
        self.in_flight -= 1;
        self.in_flight_bytes -= record.sent.bytes;
    }

    /// Whether a packet with data is in flight. The probe timeout does not wait for path MTU probes, which it does not repeat.
    pub fn has_data(&self) -> bool {
        self.in_flight > self.mtu_probes
    }

    /// First packet in flight with data, for a probe.
    pub fn oldest(&self) -> Option<&Record> {
        self.records.iter().find(|record| record.state == State::InFlight && !record.is_mtu_probe())
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        (self.records.capacity() + self.late.capacity()) * size_of::<Record>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::time::{MILLISECOND as MS, SECOND};

    /// Packets sent at these times, in milliseconds.
    fn flight(times: &[Nanos]) -> Flight {
        let mut flight = Flight::default();
        for (number, &at) in (0..).zip(times) {
            flight.send(Sent { number, sent_at: at * MS, bytes: 1200, ..Sent::default() }, number);
        }
        flight
    }

    fn rtt(smoothed: Nanos) -> Rtt {
        let mut rtt = Rtt::new(25 * MS);
        rtt.sample(0, smoothed, 0);
        rtt.variation = 0;
        rtt
    }

    /// Numbers lost after an ACK of `acked` at `now`, and persistent congestion.
    fn ack(flight: &mut Flight, now: Nanos, rtt: &Rtt, acked: &[u64]) -> (Vec<u64>, bool) {
        for &number in acked {
            assert!(matches!(flight.acknowledge(number, now), Some(Found::Acked(_))), "{number}");
        }
        let mut lost = Vec::new();
        let persistent = flight.detect(now, rtt, &mut lost);
        (lost.iter().map(|(record, _)| record.sent.number).collect(), persistent)
    }

    /// RFC 9002 section 6.1.1: of packets 0 to 9, an ACK of 5 shows that 0, 1, and 2 are lost.
    #[test]
    fn packets_three_numbers_below_the_largest_acknowledged_are_lost() {
        let mut packets = flight(&[0; 10]);
        assert_eq!(ack(&mut packets, MS, &rtt(SECOND), &[5]).0, [0, 1, 2]);
        assert_eq!(packets.in_flight, 6);
        assert!(ack(&mut flight(&[0; 10]), MS, &rtt(SECOND), &[2]).0.is_empty());
    }

    /// RFC 9002 section 6.1.2, RTT 40 ms: the threshold is 45 ms. Packet 0 is lost at 45 ms exactly, packet 1 arrives in time before 46 ms.
    #[test]
    fn packets_are_lost_nine_eighths_of_an_rtt_after_sending() {
        let mut packets = flight(&[0, 1, 2]);
        let rtt = rtt(40 * MS);
        assert!(ack(&mut packets, 42 * MS, &rtt, &[2]).0.is_empty());
        assert_eq!(packets.loss_at, Some(45 * MS));
        assert!(ack(&mut packets, 45 * MS - 1, &rtt, &[]).0.is_empty());
        assert_eq!(ack(&mut packets, 45 * MS, &rtt, &[]).0, [0]);
        assert_eq!(packets.loss_at, Some(46 * MS));
        assert!(ack(&mut packets, 45 * MS + MS / 2, &rtt, &[1]).0.is_empty());
        assert_eq!((packets.in_flight, packets.loss_at), (0, None));
    }

    /// A packet that was declared lost is acknowledged: once as late, and never again.
    #[test]
    fn a_late_packet_is_found_once() {
        let mut packets = flight(&[0, 0, 0, 0, 0]);
        let rtt = rtt(40 * MS);
        assert_eq!(ack(&mut packets, MS, &rtt, &[3, 4]).0, [0, 1]);
        assert!(matches!(packets.acknowledge(0, 2 * MS), Some(Found::Late(_))));
        assert!(packets.acknowledge(0, 2 * MS).is_none());
        assert!(packets.acknowledge(1, MS + 3 * rtt.pto() + 1).is_none(), "three PTO later");
    }

    /// Packet 0 is in flight, 1 was lost before the ACK of it: also then it is late.
    #[test]
    fn a_late_packet_behind_one_in_flight_is_found() {
        let mut packets = flight(&[50, 0, 50, 50]);
        assert_eq!(ack(&mut packets, 51 * MS, &rtt(40 * MS), &[3]).0, [0, 1]);
        let mut packets = flight(&[50, 0, 50]);
        assert_eq!(ack(&mut packets, 51 * MS, &rtt(40 * MS), &[2]).0, [1]);
        assert!(matches!(packets.acknowledge(1, 52 * MS), Some(Found::Late(_))));
        assert_eq!(packets.in_flight, 1);
    }

    /// RFC 9002 section 7.6.3 in seconds, PTO 2: packets 1 to 7 are sent at 0 to 6, 8 at 8, and 9 at 12. An ACK of 1 at 1.2 is not the
    /// first sample.
    fn example(first_sample: Nanos, acked: &[u64]) -> (Vec<u64>, bool) {
        let mut packets = flight(&[0, 0, 1000, 2000, 3000, 4000, 5000, 6000, 8000, 12_000]);
        let mut rtt = Rtt::new(0);
        rtt.sample(first_sample, SECOND, 0);
        (rtt.smoothed, rtt.variation) = (SECOND, SECOND / 4);
        ack(&mut packets, 1200 * MS, &rtt, &[0, 1]);
        ack(&mut packets, 12_200 * MS, &rtt, acked)
    }

    /// RFC 9000 section 14.4: a lost path MTU probe leaves flight, is not retransmitted, and does not count for persistent congestion.
    #[test]
    fn a_lost_path_mtu_probe_is_no_congestion() {
        let mut packets = Flight::default();
        for (number, at, chunk) in [(0, 0, MTU_PROBE), (1, 1000, 0), (2, 9000, MTU_PROBE), (3, 9000, 1)] {
            packets.send(Sent { number, sent_at: at * MS, bytes: 1200, ..Sent::default() }, chunk);
        }
        assert_eq!(packets.oldest().map(|record| record.sent.number), Some(1));
        let mut rtt = Rtt::new(0);
        rtt.sample(0, 100 * MS, 0);
        packets.acknowledge(1, 1100 * MS);
        packets.acknowledge(3, 9100 * MS);
        assert!(!packets.has_data(), "both probes are left");
        let mut lost = Vec::new();
        assert!(!packets.detect(9500 * MS, &rtt, &mut lost), "the probes are 9 s apart");
        assert_eq!(lost.iter().map(|(record, _)| record.is_mtu_probe()).collect::<Vec<_>>(), [true, true]);
        assert_eq!((packets.in_flight, packets.in_flight_bytes), (0, 0));
    }

    #[test]
    fn losses_over_more_than_three_pto_are_persistent_congestion() {
        // Packet 2 was sent at 1 s, packet 8 at 8 s: 7 s exceed 6 s.
        assert_eq!(example(0, &[9]), ((2..=8).collect(), true));
        // Packet 2 was sent before the first sample: 8 - 2 = 6 s do not exceed 6 s.
        assert!(!example(1200 * MS, &[9]).1);
        // The longest unacknowledged spans are 2 to 4 and 6 to 8.
        assert!(!example(0, &[5, 9]).1);
    }
}
