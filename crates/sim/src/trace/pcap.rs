//! Capture of a TCP flow at its sender or receiver: Ethernet, IPv4, and TCP with timestamps, SACK, and ECN. Only headers are captured.
//!
//! Sources: draft-ietf-opsawg-pcap (file), RFC 9293 (TCP), RFC 7323 (timestamps), RFC 2018 (SACK), RFC 3168 and RFC 9768 (ECN).
//!
//! # Deviations and choices
//! - Times are 1 s after 2000-01-01 plus the simulated time. The timestamp clock has the tick `timestamp_tick`, and 1 us at least.
//! - A data packet has the scenario's packet size, Ethernet header included. An ACK has the size that its options require.
//! - A connection that begins established gets a handshake one base RTT before its first data.
//! - The receiver's FIN and its requests to the sender are left out, and so are ACKs of a connection that is complete.
//! - A SYN and a FIN reach the receiver after half of the handshake's RTT, or of the base RTT. The last packet of the handshake arrives with the first data.
//! - The TCP checksum is that of a payload of zeros.

use super::file::File;
use super::{Facts, Sent, Vantage};
use crate::packet::{AckNote, SackBlocks, Segment};
use crate::scenario::EcnMode;
use crate::transport::receiver::unwrap;
use crate::transport::sender::Arrival;
use fullpipe_cc::Nanos;
use std::collections::HashMap;
use std::path::Path;

/// Headers of a data packet: Ethernet, IPv4, TCP, and timestamps.
pub const HEADERS: u32 = 66;
/// 2000-01-01 and a second, so that a handshake can come before time 0.
const EPOCH_S: i64 = 946_684_800 + 1;
const SECOND: i64 = 1_000_000_000;
/// Shortest tick of the timestamp clock, nanoseconds.
const LEAST_TICK: i64 = 1_000;
const SENDER_ISN: u32 = 1_000_000;
const RECEIVER_ISN: u32 = 5_000_000;
const WINDOW_SCALE: u8 = 14;
const PORT: u16 = 5201;

const FIN: u16 = 1;
const SYN: u16 = 2;
const PSH: u16 = 8;
const ACK: u16 = 16;
const ECE: u16 = 64;
const CWR: u16 = 128;
const AE: u16 = 256;

/// First value of the ACE field, and number of its values (RFC 9768 section 3.2.2).
const ACE_FIRST: u32 = 5;
const ACE_VALUES: u32 = 8;

/// Capture of one flow.
pub struct Pcap {
    file: File,
    number: u32,
    payload: u32,
    ecn: EcnMode,
    tick: i64,
    window: u16,
    base_rtt: i64,
    isn: u32,
    /// IP identifications of the next packets of the sender and of the receiver.
    idents: [u16; 2],
    /// First segment that is not acknowledged.
    una: u64,
    /// Segments sent.
    high: u64,
    /// Last timestamp of the receiver.
    echo: u32,
    /// Last ACE field.
    ace: u32,
    /// For a capture at the receiver.
    away: Option<Away>,
}

/// Packets on their way to a capture at the receiver.
#[derive(Default)]
struct Away {
    /// Data by segment and the time of its transmission. Lost packets stay.
    data: HashMap<(u32, Nanos), OnWay>,
    /// The last packet of the handshake, of these timestamps.
    opening: Option<[u8; 12]>,
}

/// Header fields of a data packet on its way.
struct OnWay {
    seq: u32,
    flags: u16,
    ident: u16,
    options: [u8; 12],
}

/// Fields of a packet that differ.
struct Frame<'a> {
    from_sender: bool,
    seq: u32,
    ack: u32,
    flags: u16,
    ecn: u8,
    window: u16,
    options: &'a [u8],
    payload: u32,
    /// IP identification; the next one if there is none.
    ident: Option<u16>,
}

impl Pcap {
    /// Capture of a flow that has not begun.
    pub fn new(path: &Path, facts: &Facts, at: Vantage) -> Pcap {
        let payload = facts.packet_size.saturating_sub(HEADERS).max(1);
        let advertised = facts.tcp.max_window.map(|packets| packets.saturating_mul(payload.into()) >> WINDOW_SCALE);
        let mut file = File::new(path);
        let head: [u32; 5] = [0, 0, 128, 1, 0];
        file.push(&0xa1b2_3c4d_u32.to_le_bytes());
        file.push(&[2, 0, 4, 0]);
        head[..4].iter().for_each(|word| file.push(&word.to_le_bytes()));
        Pcap {
            file,
            number: facts.number,
            payload,
            ecn: facts.tcp.ecn,
            tick: (facts.tcp.timestamp_tick as i64).max(LEAST_TICK),
            window: advertised.map_or(u16::MAX, |window| window.clamp(1, u16::MAX.into()) as u16),
            base_rtt: facts.base_rtt as i64,
            isn: SENDER_ISN.wrapping_add(facts.number.wrapping_mul(64_000)),
            idents: [1, 1],
            una: 0,
            high: 0,
            echo: 0,
            ace: ACE_FIRST,
            away: (at == Vantage::Receiver).then(Away::default),
        }
    }

    /// See [`File::fault`].
    pub fn fault(&self) -> Option<String> {
        self.file.fault()
    }

    /// Writes the rest.
    pub fn close(&mut self) {
        self.file.flush();
    }

    /// A SYN leaves.
    pub fn syn(&mut self, now: Nanos) {
        if self.away.is_none() {
            self.put_syn(now as i64, now as i64);
        }
    }

    /// A connection begins established.
    pub fn established(&mut self, now: Nanos) {
        let sent = now as i64 - self.base_rtt;
        if self.away.is_none() {
            self.put_syn(sent, sent);
        }
        self.put_syn_ack(now as i64, sent);
    }

    /// The answer to the SYN of `stamp` arrives.
    pub fn opened(&mut self, now: Nanos, stamp: Nanos) {
        self.put_syn_ack(now as i64, stamp as i64);
    }

    /// A SYN that left at `sent`.
    fn put_syn(&mut self, at: i64, sent: i64) {
        let flags = match self.ecn {
            EcnMode::Off => 0,
            EcnMode::Classic => ECE | CWR,
            EcnMode::Accurate | EcnMode::Ace => AE | CWR | ECE,
        };
        let options = self.syn_options(self.stamp(sent), 0);
        let frame = Frame { from_sender: true, flags: SYN | flags, ecn: 0, ..self.plain(&options) };
        self.put(at, &Frame { seq: self.isn, ack: 0, ..frame });
    }

    fn put_syn_ack(&mut self, at: i64, stamp: i64) {
        let flags = match self.ecn {
            EcnMode::Off => 0,
            EcnMode::Classic => ECE,
            // A SYN that was not ECN-capable (RFC 9768 table 2).
            EcnMode::Accurate | EcnMode::Ace => CWR,
        };
        let sent = at - (at - stamp) / 2;
        if self.away.is_some() {
            self.put_syn(sent, stamp);
        }
        let options = self.syn_options(self.stamp(sent), self.stamp(stamp));
        let frame = Frame { from_sender: false, flags: SYN | ACK | flags, ..self.plain(&options) };
        let seen = if self.away.is_some() { sent } else { at };
        self.put(seen, &Frame { seq: RECEIVER_ISN, ack: self.isn.wrapping_add(1), ..frame });
        self.echo = self.stamp(sent);
        let options = stamps(self.stamp(at), self.echo);
        match &mut self.away {
            Some(away) => away.opening = Some(options),
            None => self.put_opening(at, options),
        }
    }

    /// The last packet of the handshake.
    fn put_opening(&mut self, at: i64, options: [u8; 12]) {
        // The ACE field reports a SYN-ACK that was not ECN-capable (RFC 9768 table 3).
        let flags = if self.is_accurate() { CWR } else { 0 };
        let frame = Frame { from_sender: true, flags: ACK | flags, window: self.window, ..self.plain(&options) };
        self.put(at, &Frame { seq: self.isn.wrapping_add(1), ack: RECEIVER_ISN.wrapping_add(1), ..frame });
    }

    /// A segment leaves.
    pub fn data(&mut self, now: Nanos, sent: &Sent) {
        self.high = self.high.max(sent.seq + 1);
        let options = stamps(self.stamp(now as i64), self.echo);
        let cwr = if sent.marks.cwr() && self.ecn == EcnMode::Classic { CWR } else { 0 };
        let push = if sent.is_last { PSH } else { 0 };
        // The sender has received no marked packets.
        let flags = ACK | push | cwr | if self.is_accurate() { ace_flags(ACE_FIRST) } else { 0 };
        let packet = OnWay { seq: self.sequence(sent.seq), flags, ident: self.idents[0], options };
        self.idents[0] = self.idents[0].wrapping_add(1);
        match &mut self.away {
            Some(away) => drop(away.data.insert((sent.seq as u32, now), packet)),
            None => self.put_data(now as i64, &packet, sent.marks.bits() & 3),
        }
    }

    /// A segment arrives at the receiver.
    pub fn received(&mut self, segment: &Segment) {
        let Some(away) = &mut self.away else { return };
        let Some(packet) = away.data.remove(&(segment.seq, segment.stamp)) else { return };
        if let Some(options) = away.opening.take() {
            self.put_opening(segment.at as i64, options);
        }
        self.put_data(segment.at as i64, &packet, segment.marks.bits() & 3);
    }

    fn put_data(&mut self, at: i64, packet: &OnWay, ecn: u8) {
        let frame = Frame {
            from_sender: true,
            seq: packet.seq,
            ack: RECEIVER_ISN.wrapping_add(1),
            flags: packet.flags,
            ecn,
            window: self.window,
            options: &packet.options,
            payload: self.payload,
            ident: Some(packet.ident),
        };
        self.put(at, &frame);
    }

    /// An ACK arrives at the sender.
    pub fn ack(&mut self, now: Nanos, arrival: &Arrival, note: Option<&AckNote>) {
        if self.away.is_none() {
            self.put_ack(now, arrival, note);
        }
        self.echo = self.stamp(arrival.receiver_stamp as i64);
    }

    /// The receiver sends an ACK.
    pub fn replied(&mut self, arrival: &Arrival, note: Option<&AckNote>) {
        if self.away.is_some() {
            self.put_ack(arrival.receiver_stamp, arrival, note);
        }
    }

    fn put_ack(&mut self, now: Nanos, arrival: &Arrival, note: Option<&AckNote>) {
        let cumulative = unwrap(arrival.cumulative, self.una);
        self.una = self.una.max(cumulative);
        let echo = note.and_then(|note| note.echo);
        let ece = match (self.ecn, echo) {
            (EcnMode::Classic, Some(echo)) if echo.ece => ECE,
            (EcnMode::Accurate, Some(echo)) => {
                self.ace = echo.marked.wrapping_add(ACE_FIRST) % ACE_VALUES;
                ace_flags(self.ace)
            }
            (EcnMode::Ace, Some(echo)) => {
                self.ace = echo.marked % ACE_VALUES;
                ace_flags(self.ace)
            }
            (EcnMode::Accurate | EcnMode::Ace, None) => ace_flags(self.ace),
            _ => 0,
        };
        let value = self.stamp(arrival.receiver_stamp as i64);
        let mut options = stamps(value, self.stamp(arrival.stamp as i64)).to_vec();
        if let Some(blocks) = note.and_then(AckNote::sack) {
            self.add_blocks(&mut options, blocks);
        }
        let frame = Frame {
            from_sender: false,
            seq: RECEIVER_ISN.wrapping_add(1),
            ack: self.sequence(cumulative),
            flags: ACK | ece,
            window: self.window,
            ..self.plain(&options)
        };
        self.put(now as i64, &frame);
    }

    /// All data is acknowledged, and no more follows.
    pub fn fin(&mut self, now: Nanos) {
        let options = stamps(self.stamp(now as i64), self.echo);
        let flags = if self.is_accurate() { ace_flags(ACE_FIRST) } else { 0 };
        let frame = Frame { from_sender: true, flags: FIN | ACK | flags, window: self.window, ..self.plain(&options) };
        let at = now as i64 + if self.away.is_some() { self.base_rtt / 2 } else { 0 };
        self.put(at, &Frame { seq: self.sequence(self.high), ack: RECEIVER_ISN.wrapping_add(1), ..frame });
    }

    fn is_accurate(&self) -> bool {
        matches!(self.ecn, EcnMode::Accurate | EcnMode::Ace)
    }

    /// Value of the timestamp clock.
    fn stamp(&self, at: i64) -> u32 {
        ((at + SECOND).div_euclid(self.tick) + 1) as u32
    }

    /// Sequence number of a segment.
    fn sequence(&self, segment: u64) -> u32 {
        let bytes = segment.wrapping_mul(self.payload.into()) as u32;
        self.isn.wrapping_add(1).wrapping_add(bytes)
    }

    fn add_blocks(&self, options: &mut Vec<u8>, blocks: &SackBlocks) {
        let used: Vec<_> = blocks.iter().filter(|(start, end)| start != end).collect();
        options.extend([1, 1, 5, 2 + 8 * used.len() as u8]);
        for &&(start, end) in &used {
            for edge in [start, end] {
                options.extend(self.sequence(unwrap(edge, self.una)).to_be_bytes());
            }
        }
    }

    fn syn_options(&self, value: u32, echo: u32) -> [u8; 20] {
        let mut options = [0; 20];
        // The maximum segment size does not count options (RFC 6691), of which each packet has 12 bytes.
        let [high, low] = ((self.payload + 12).min(u16::MAX.into()) as u16).to_be_bytes();
        options[..6].copy_from_slice(&[2, 4, high, low, 4, 2]);
        options[6..16].copy_from_slice(&stamps(value, echo)[2..]);
        options[16..].copy_from_slice(&[1, 3, 3, WINDOW_SCALE]);
        options
    }

    fn plain<'a>(&self, options: &'a [u8]) -> Frame<'a> {
        Frame {
            from_sender: true,
            seq: 0,
            ack: 0,
            flags: 0,
            ecn: 0,
            window: u16::MAX,
            options,
            payload: 0,
            ident: None,
        }
    }

    fn put(&mut self, at: i64, frame: &Frame) {
        let mut packet = Vec::with_capacity(128);
        let tcp = 20 + frame.options.len() as u32;
        let (flow, port) = (self.number / 50_000, 10_000 + (self.number % 50_000) as u16);
        let [high, low] = (flow as u16 + 1).to_be_bytes();
        let sender = ([10, 1, high, low], port);
        let receiver = ([10, 2, high, low], PORT);
        let (from, to) = if frame.from_sender { (sender, receiver) } else { (receiver, sender) };
        for ([_, side, high, low], _) in [to, from] {
            packet.extend([2, side - 1, 0, 0, high, low]);
        }
        packet.extend([8, 0]);
        let next = &mut self.idents[usize::from(!frame.from_sender)];
        let ident = frame.ident.unwrap_or(*next);
        if frame.ident.is_none() {
            *next = next.wrapping_add(1);
        }
        let mut ip = [0; 20];
        ip[..2].copy_from_slice(&[0x45, frame.ecn]);
        ip[2..4].copy_from_slice(&((20 + tcp + frame.payload).min(u16::MAX.into()) as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&ident.to_be_bytes());
        ip[6..10].copy_from_slice(&[0x40, 0, 64, 6]);
        ip[12..16].copy_from_slice(&from.0);
        ip[16..].copy_from_slice(&to.0);
        let sum = checksum(&ip, 0);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let begin = packet.len() + 20;
        packet.extend(ip);
        packet.extend(from.1.to_be_bytes());
        packet.extend(to.1.to_be_bytes());
        packet.extend(frame.seq.to_be_bytes());
        packet.extend(frame.ack.to_be_bytes());
        packet.extend(((tcp as u16 / 4) << 12 | frame.flags).to_be_bytes());
        packet.extend(frame.window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(frame.options);
        let pseudo: u32 = ip[12..].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let sum = checksum(&packet[begin..], pseudo + 6 + tcp + frame.payload);
        packet[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
        let nanoseconds = at + EPOCH_S * SECOND;
        let lengths = [packet.len() as u32, packet.len() as u32 + frame.payload];
        let (seconds, rest) = (nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND));
        for word in [seconds as u32, rest as u32, lengths[0], lengths[1]] {
            self.file.push(&word.to_le_bytes());
        }
        self.file.push(&packet);
    }
}

/// The timestamps option (RFC 7323 appendix A: two NOPs before it).
fn stamps(value: u32, echo: u32) -> [u8; 12] {
    let mut option = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    option[4..8].copy_from_slice(&value.to_be_bytes());
    option[8..].copy_from_slice(&echo.to_be_bytes());
    option
}

/// Flags AE, CWR, and ECE of a value of the ACE field.
fn ace_flags(value: u32) -> u16 {
    (value as u16 & 7) << 6
}

/// Internet checksum (RFC 1071) of bytes and of words that are summed already.
fn checksum(bytes: &[u8], summed: u32) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum = summed + bytes.chunks(2).map(word).sum::<u32>();
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Header of Wikipedia's article "Internet checksum": 45 00 00 73 00 00 40 00 40 11 .. c0 a8 00 01 c0 a8 00 c7.
    #[test]
    fn checksum_of_a_published_header() {
        let header = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(checksum(&header, 0), 0xb861);
    }

    /// RFC 9768 section 3.2.2: AE is the most significant bit of the counter, ECE the least.
    #[test]
    fn ace_field_is_three_flags() {
        assert_eq!(ace_flags(5), AE | ECE);
        assert_eq!(ace_flags(2), CWR);
    }
}
