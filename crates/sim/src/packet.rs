//! Packets: one small value for data, ACKs, and datagrams.

use crate::memory::make_room;
use crate::prefetch::prefetch;
use fullpipe_cc::Nanos;

/// A packet between two stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Arrival time at its next stop.
    pub at: Nanos,
    /// Data: the sender's time when it was sent. ACK: the echo of that time (RFC 7323). Datagram: the number of its frame.
    pub stamp: Nanos,
    /// ACK: the receiver's time when it was sent. Data and datagrams: the congestion fields of their headers, [`Marks`].
    pub aside: u64,
    /// Which flow, or which datagram source.
    pub flow: u32,
    /// Data: the segment's number. ACK: the number of the next segment expected. Modulo 2^32.
    pub seq: u32,
    /// ACK: slot of its further fields.
    pub note: NoteSlot,
    /// Which connection of the flow (web traffic opens many, one after another).
    pub incarnation: u16,
    /// How many links of its route it has entered.
    pub hop: u8,
    /// Kind of packet.
    pub kind: PacketKind,
}

/// A TCP segment on its way, before it needs a place in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// As [`Packet::at`].
    pub at: Nanos,
    /// When it was sent, by the sender's time.
    pub stamp: Nanos,
    /// Which flow.
    pub flow: u32,
    /// Its number modulo 2^32.
    pub seq: u32,
    /// As [`Packet::incarnation`].
    pub incarnation: u16,
    /// As [`Packet::hop`].
    pub hop: u8,
    /// Congestion fields of its headers.
    pub marks: Marks,
}

/// Congestion fields of a data packet's headers: the ECN field of IP (bits 0 and 1) and TCP's CWR (bit 2). All are 0 where
/// ECN is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u8);

impl Marks {
    /// Not ECN-capable, no flag.
    pub const NONE: Marks = Marks(0);

    /// A segment whose ECN field is `ecn`, with TCP's flag "congestion window reduced" or without.
    pub fn new(ecn: Ecn, cwr: bool) -> Marks {
        Marks(ecn as u8 | u8::from(cwr) << 2)
    }

    /// The ECN field.
    pub fn ecn(self) -> Ecn {
        match self.0 & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The fields as one byte.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// TCP's flag "congestion window reduced" (RFC 3168 section 6.1.2).
    pub fn cwr(self) -> bool {
        self.0 & 4 != 0
    }
}

/// The ECN field of the IP header (RFC 3168 section 5; RFC 9331 gives ECT(1) its meaning).
///
/// ```
/// use fullpipe_sim::links::Ecn;
///
/// let codepoints = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| ecn as u8);
/// assert_eq!(codepoints, [0b00, 0b01, 0b10, 0b11], "RFC 3168 section 5");
/// assert!(Ecn::Ect0.capable() && !Ecn::NotEct.capable());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not take marks.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1): the identifier of L4S.
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Whether a queue may mark the packet instead of dropping it (one marked already counts).
    pub fn capable(self) -> bool {
        self != Ecn::NotEct
    }
}

impl Packet {
    /// Its ECN field; ACKs are not ECN-capable (RFC 3168 section 6.1.4).
    pub fn ecn(&self) -> Ecn {
        self.marks().ecn()
    }

    /// Congestion fields of its headers; none for an ACK or a packet that opens a connection (RFC 3168 section 6.1.1).
    pub fn marks(&self) -> Marks {
        match self.kind {
            PacketKind::Data | PacketKind::Received | PacketKind::Datagram => Marks(self.aside as u8),
            PacketKind::Ack
            | PacketKind::Arriving
            | PacketKind::Syn
            | PacketKind::SynAck
            | PacketKind::Opening
            | PacketKind::Pace => Marks::default(),
        }
    }

    /// Whether the receiver of the data has sent it.
    pub fn is_of_receiver(&self) -> bool {
        use PacketKind::{Ack, Arriving, Opening, SynAck};
        matches!(self.kind, Ack | Arriving | SynAck | Opening)
    }

    /// Key of its flow, as addresses, ports, and protocol are: data and ACKs travel between two hosts in
    /// opposite directions, each connection has separate ports, and datagrams are another protocol.
    pub fn flow_key(&self) -> u64 {
        let class: u64 = match self.kind {
            PacketKind::Data | PacketKind::Received | PacketKind::Syn => 0,
            PacketKind::Ack | PacketKind::Arriving | PacketKind::SynAck | PacketKind::Opening | PacketKind::Pace => 1,
            PacketKind::Datagram => 2,
        };
        u64::from(self.flow) << 32 | u64::from(self.incarnation) << 16 | class
    }

    /// Congestion experienced: for ECN-capable packets only.
    pub fn mark(&mut self) {
        debug_assert!(self.ecn().capable(), "a packet that is not ECN-capable is never marked");
        self.aside |= Ecn::Ce as u64;
    }

    /// Sets the ECN field of a packet that is ECN-capable.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        if self.ecn().capable() {
            self.aside = self.aside & !(Ecn::Ce as u64) | ecn as u64;
        }
    }
}

impl Segment {
    /// Segment `seq`, sent at `stamp` by the sender's time, on its way to the first link, which it reaches at `at`.
    #[inline(always)]
    pub fn new(flow: u32, seq: u64, incarnation: u16, at: Nanos, stamp: Nanos) -> Segment {
        Segment { at, stamp, flow, seq: seq as u32, incarnation, hop: 0, marks: Marks::default() }
    }

    /// Segment as a packet; `kind` decides its next stop.
    #[inline(always)]
    pub fn packet(self, kind: PacketKind) -> Packet {
        let Segment { at, stamp, flow, seq, incarnation, hop, marks } = self;
        Packet { at, stamp, aside: u64::from(marks.0), flow, seq, note: NoteSlot::NONE, incarnation, hop, kind }
    }
}

impl From<&Packet> for Segment {
    #[inline(always)]
    fn from(packet: &Packet) -> Segment {
        debug_assert!(matches!(packet.kind, PacketKind::Data | PacketKind::Received), "an ACK is no segment");
        let &Packet { at, stamp, aside, flow, seq, incarnation, hop, .. } = packet;
        Segment { at, stamp, flow, seq, incarnation, hop, marks: Marks(aside as u8) }
    }
}

/// The kinds of packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketKind {
    /// A TCP segment.
    #[default]
    Data,
    /// A TCP segment past its last link: its receiver is next.
    Received,
    /// An acknowledgement.
    Ack,
    /// A datagram of constant-rate traffic.
    Datagram,
    /// SYN, which opens a connection.
    Syn,
    /// SYN-ACK, the answer to it.
    SynAck,
    /// No packet: a sender's pacer lets the next segment leave.
    Pace,
    /// An acknowledgement past its last link: its sender is next.
    Arriving,
    /// The answer to a SYN past its last link: its sender is next.
    Opening,
}

impl PacketKind {
    /// Data on their way, or a datagram, which count as lost or delivered.
    #[inline(always)]
    pub fn is_data(self) -> bool {
        matches!(self, PacketKind::Data | PacketKind::Datagram)
    }

    /// Its sender is next, beyond the access link.
    #[inline(always)]
    pub fn is_home(self) -> bool {
        self as u8 >= PacketKind::Arriving as u8
    }
}

/// Where an [`AckNote`] is kept in [`Notes`], or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteSlot(u32);

impl Default for NoteSlot {
    fn default() -> Self {
        NoteSlot::NONE
    }
}

impl NoteSlot {
    /// Plain ACK without further fields.
    pub const NONE: NoteSlot = NoteSlot(u32::MAX);
}

/// Up to three SACK blocks, which fit next to timestamps (RFC 2018 section 3): first segment and one past the last, modulo 2^32.
/// Unused blocks are empty.
pub type SackBlocks = [Block; 3];

/// See [`SackBlocks`].
pub type Block = (u32, u32);

/// Equality of two blocks, by one comparison; `==` takes two with a branch each.
#[inline(always)]
pub fn is_same((start, end): Block, other: Block) -> bool {
    let packed = |start: u32, end: u32| u64::from(start) | u64::from(end) << 32;
    packed(start, end) == packed(other.0, other.1)
}

/// Further fields of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckNote {
    /// Its SACK blocks; all empty where it has none.
    pub blocks: SackBlocks,
    /// Report of marks (ECN).
    pub echo: Option<Echo>,
}

/// Report of marks in an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// Classic: the flag ECE.
    pub ece: bool,
    /// Accurate: marked segments so far; in the ACE field modulo 8, from 5 on.
    pub marked: u32,
}

impl AckNote {
    /// The SACK blocks, if it has any.
    #[inline]
    pub fn sack(&self) -> Option<&SackBlocks> {
        self.blocks.iter().any(|(start, end)| start != end).then_some(&self.blocks)
    }
}

/// Further fields of ACKs in flight. Most ACKs have none, so they are stored separately. Slots are reused.
#[derive(Debug, Default)]
pub struct Notes {
    notes: Vec<AckNote>,
    free: Vec<u32>,
}

impl Notes {
    /// Keeps a note until it is taken.
    #[inline(always)]
    pub fn put(&mut self, note: AckNote) -> NoteSlot {
        if let Some(index) = self.free.pop() {
            self.notes[index as usize] = note;
            return NoteSlot(index);
        }
        make_room(&mut self.notes);
        self.notes.push(note);
        // Room for each slot that becomes free, so that `take` never grows it.
        self.free.reserve_exact(self.notes.capacity());
        NoteSlot(self.notes.len() as u32 - 1)
    }

    /// Bytes they take on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.notes.capacity() * size_of::<AckNote>() + self.free.capacity() * size_of::<u32>()
    }

    /// Prefetches the fields of an ACK that arrives soon; without any, the last slot, which avoids a branch misprediction.
    #[inline(always)]
    pub fn prefetch(&self, slot: NoteSlot) {
        let last = self.notes.len().wrapping_sub(1);
        if let Some(note) = self.notes.get(last.min(slot.0 as usize)) {
            prefetch(note, size_of::<AckNote>());
        }
    }

    /// Gives the note of an ACK that has arrived (or been lost), and frees its slot.
    pub fn take(&mut self, slot: NoteSlot) -> Option<&AckNote> {
        if slot == NoteSlot::NONE {
            return None;
        }
        self.free.push(slot.0);
        Some(&self.notes[slot.0 as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_differ_by_number_connection_direction_and_protocol() {
        let base = Packet { flow: 3, incarnation: 5, ..Packet::default() };
        let others = [
            Packet { flow: 4, ..base },
            Packet { incarnation: 6, ..base },
            Packet { kind: PacketKind::Ack, ..base },
            Packet { kind: PacketKind::Datagram, ..base },
            Packet { flow: 5, incarnation: 3, ..base },
        ];
        let mut keys: Vec<_> = others.iter().map(Packet::flow_key).collect();
        keys.push(base.flow_key());
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 1);
    }

    /// A path that clears the ECN field changes neither TCP's flag CWR, nor the receiver's time in an ACK, nor packets that are not ECN-capable.
    #[test]
    fn a_new_ecn_field_replaces_that_of_capable_packets_alone() {
        let changed = |ecn, kind| {
            let aside = u64::from(Marks::new(ecn, true).bits());
            let mut packet = Packet { aside, kind, ..Packet::default() };
            [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].map(|field| {
                packet.aside = aside;
                packet.set_ecn(field);
                packet.aside
            })
        };
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(changed(ecn, PacketKind::Data), [0b100, 0b110, 0b101], "{ecn:?}");
        }
        assert_eq!(changed(Ecn::NotEct, PacketKind::Datagram), [0b100; 3]);
        assert_eq!(changed(Ecn::Ce, PacketKind::Ack), [0b111; 3]);
    }

    #[test]
    fn blocks_are_the_same_where_both_ends_are() {
        let blocks = [(0, 0), (0, 1), (1, 0), (1, 1), (u32::MAX, 1), (1, u32::MAX)];
        for (a, b) in blocks.into_iter().flat_map(|a| blocks.map(|b| (a, b))) {
            assert_eq!(is_same(a, b), a == b, "{a:?} {b:?}");
        }
    }

    #[test]
    fn all_packets_of_a_direction_are_of_one_flow() {
        let data = Packet { flow: 3, incarnation: 5, ..Packet::default() };
        let later = Packet { at: 7, stamp: 8, aside: 3, seq: 9, hop: 1, kind: PacketKind::Received, ..data };
        assert_eq!(data.flow_key(), later.flow_key());
        assert_eq!(data.flow_key(), Packet { kind: PacketKind::Syn, ..data }.flow_key());
        let ack = Packet { kind: PacketKind::Ack, ..data };
        for kind in [PacketKind::Arriving, PacketKind::SynAck, PacketKind::Opening] {
            assert_eq!(ack.flow_key(), Packet { aside: 6, seq: 7, kind, ..ack }.flow_key());
        }
    }
}
