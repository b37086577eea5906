//! Packets and ACK frames of a connection that is not encrypted (RFC 9000 sections 17 and 19.3).

/// Bytes of quinn's connection identifiers.
const IDENTIFIER: usize = 8;

/// Packet number spaces (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Initial,
    Handshake,
    Data,
}

/// Packet of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub space: Space,
    /// Low bits of the number, and how many there are.
    pub number: u64,
    pub bits: u32,
    /// Bytes with the header.
    pub bytes: u64,
    pub is_ack_eliciting: bool,
    pub ack: Option<Ack>,
}

/// ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// ACK delay as on the wire.
    pub delay: u64,
    /// First and last number of each range, descending.
    pub ranges: Vec<(u64, u64)>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// Variable-length integer (section 16).
    fn varint(&mut self) -> u64 {
        let bytes = 1 << (self.0[0] >> 6);
        self.number(bytes) & (u64::MAX >> (64 - 8 * bytes + 2))
    }
}

/// Packets of a datagram.
pub fn packets(datagram: &[u8]) -> Vec<Packet> {
    let mut reader = Reader(datagram);
    let mut found = Vec::new();
    while let Some(&first) = reader.0.first() {
        let before = reader.0.len();
        reader.take(1);
        let number_bytes = usize::from(first & 3) + 1;
        let (space, length) = if first & 0x80 == 0 {
            reader.take(IDENTIFIER);
            (Space::Data, reader.0.len())
        } else {
            long_header(&mut reader, first)
        };
        let header = before - reader.0.len();
        let number = reader.number(number_bytes);
        let (is_ack_eliciting, ack) = frames(reader.take(length - number_bytes));
        let (bits, bytes) = (8 * number_bytes as u32, (header + length) as u64);
        found.push(Packet { space, number, bits, bytes, is_ack_eliciting, ack });
    }
    found
}

/// Space of a packet with a long header, and the length of its number and frames.
fn long_header(reader: &mut Reader, first: u8) -> (Space, usize) {
    reader.take(4);
    for _ in 0..2 {
        let identifier = reader.number(1);
        reader.take(identifier as usize);
    }
    let space = match first >> 4 & 3 {
        0 => Space::Initial,
        2 => Space::Handshake,
        other => panic!("a packet of type {other}"),
    };
    if space == Space::Initial {
        let token = reader.varint();
        reader.take(token as usize);
    }
    (space, reader.varint() as usize)
}

/// Whether frames elicit an ACK, and the ACK frame among them. Frames behind a STREAM frame are not read.
fn frames(payload: &[u8]) -> (bool, Option<Ack>) {
    let mut reader = Reader(payload);
    let (mut is_ack_eliciting, mut found) = (false, None);
    while !reader.0.is_empty() {
        let kind = reader.varint();
        is_ack_eliciting |= !matches!(kind, 0x00 | 0x02 | 0x03 | 0x1c | 0x1d);
        match kind {
            0x00 => {} // PADDING, or the tag of a packet without encryption
            0x02 | 0x03 => found = Some(ack(&mut reader, kind == 0x03)),
            0x08..=0x0f | 0x1c | 0x1d => break,
            _ => skip(&mut reader, kind),
        }
    }
    (is_ack_eliciting, found)
}

/// Skips the rest of a frame.
fn skip(reader: &mut Reader, kind: u64) {
    let varints = match kind {
        0x01 | 0x07 | 0x1e | 0x1f => 0, // PING, NEW_TOKEN, HANDSHAKE_DONE, IMMEDIATE_ACK
        0x06 | 0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => 1, // CRYPTO, limits, RETIRE_CONNECTION_ID
        0x11 | 0x15 | 0x18 => 2,        // limits of streams, NEW_CONNECTION_ID
        other => panic!("a frame of type {other:#x}"),
    };
    for _ in 0..varints {
        reader.varint();
    }
    let data = match kind {
        0x06 | 0x07 => reader.varint(),
        0x18 => reader.number(1) + 16,
        _ => 0,
    };
    reader.take(data as usize);
}

fn ack(reader: &mut Reader, has_ecn: bool) -> Ack {
    let largest = reader.varint();
    let delay = reader.varint();
    let more = reader.varint();
    let mut ranges = vec![(largest - reader.varint(), largest)];
    for _ in 0..more {
        let last = ranges[ranges.len() - 1].0 - reader.varint() - 2;
        ranges.push((last - reader.varint(), last));
    }
    for _ in 0..if has_ecn { 3 } else { 0 } {
        reader.varint();
    }
    Ack { delay, ranges }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number 0x0102, ACK of 7 to 9 and 2 to 4 with a delay of 1000 (0x43e8, two bytes), PING, and a tag.
    #[test]
    fn an_ack_frame_is_read() {
        let mut datagram = vec![0x41, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2];
        datagram.extend([0x02, 9, 0x43, 0xe8, 1, 2, 1, 2, 0x01]);
        datagram.extend([0; 16]);
        let [packet] = &packets(&datagram)[..] else { panic!("one packet") };
        assert_eq!((packet.space, packet.number, packet.bits), (Space::Data, 0x0102, 16));
        assert_eq!((packet.bytes, packet.is_ack_eliciting), (36, true));
        assert_eq!(packet.ack, Some(Ack { delay: 1000, ranges: vec![(7, 9), (2, 4)] }));
    }

    /// An Initial packet with a token, and a Handshake packet behind it.
    #[test]
    fn coalesced_packets_are_separate() {
        let mut datagram = vec![0xc0, 0, 0, 0, 1, 1, 9, 0, 2, 8, 8, 3, 5, 0, 0];
        datagram.extend([0xe0, 0, 0, 0, 1, 1, 9, 0, 2, 6, 0x01]);
        let found: Vec<_> = packets(&datagram).iter().map(|p| (p.space, p.number, p.is_ack_eliciting)).collect();
        assert_eq!(found, [(Space::Initial, 5, false), (Space::Handshake, 6, true)]);
    }
}
