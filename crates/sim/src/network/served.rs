//! One direction of a link whose queue decides when the transmitter is free: an event for each transmission.
//!
//! The buffer's limit counts the packet being sent too, as `fifo.rs` does, whatever the queue. A packet that leaves at `now` makes
//! room for one that comes at `now`. The clock counts whole nanoseconds: of packets that take less than one each, several leave at
//! the same instant, each in a call of its own, and what is noted at that instant may be noted between two of them.

use super::discipline::{Any, Deeds, Discipline, Fate, Queued};
use super::ledger::{Ledger, Totals};
use super::line::{Line, Span, Transmissions};
use crate::packet::{Kind, Packet};
use crate::report::DirectionReport;
use crate::rng::{Purpose, Rng};
use crate::scenario::{Buffer, Link};
use crate::window::Window;
use fullpipe_cc::Nanos;

/// See the head of the file.
#[derive(Debug)]
pub struct Served {
    /// One-way propagation delay.
    delay: Nanos,
    line: Line,
    transmissions: Transmissions,
    queue: Any,
    limit: Buffer,
    /// The limit is a time.
    timed: bool,
    /// What waits in the queue.
    waiting: Waiting,
    /// Size of the packet being sent, bytes; `None` where it has left, which is noticed when somebody looks.
    sending: Option<u32>,
    /// An event stands in the loop for when the transmitter is free.
    awaited: bool,
    /// See [`Served::call_at`].
    call_at: Option<Nanos>,
    /// Random loss on the wire.
    wire: Option<(f64, Rng)>,
    /// What the queue did in the call under way.
    deeds: Deeds,
    /// See [`Served::lost`].
    lost: Vec<Packet>,
    totals: Totals,
    /// Up to when `totals.sojourn` counts.
    counted_to: Nanos,
    max_queue: usize,
    next_mark: Nanos,
    ledger: Ledger,
}

/// Packets in a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    packets: u64,
    bytes: u64,
    /// Data and datagrams that are not lost yet.
    data: u64,
    /// How long they take to send; known where the limit is a time.
    time: Span,
}

impl Served {
    /// An idle link. `index` numbers all directions, for their random streams; `interval` is that of the series.
    pub fn new(link: &Link, packet_size: u32, seed: u64, index: u64, window: Window, interval: Option<Nanos>) -> Self {
        let ledger = Ledger::new(window, interval);
        let mut queue = Any::new(&link.queue, Rng::new(seed, Purpose::Queue, index).bits(), packet_size);
        queue.set_rate(0, link.rate_bps);
        Served {
            delay: link.delay,
            line: Line::new(link.rate_bps),
            transmissions: Transmissions::default(),
            queue,
            limit: link.buffer,
            timed: matches!(link.buffer, Buffer::Time(_)),
            waiting: Waiting::default(),
            sending: None,
            awaited: false,
            call_at: None,
            wire: (link.loss > 0.0).then(|| (link.loss, Rng::new(seed, Purpose::Wire, index))),
            deeds: Deeds::default(),
            lost: Vec::new(),
            totals: Totals::default(),
            counted_to: 0,
            max_queue: 0,
            next_mark: ledger.next(),
            ledger,
        }
    }

    /// A packet of `size` bytes comes at `packet.at`. Says whether a packet is sent at once: `packet` is that one then, and `packet.at`
    /// when it reaches the far end. Look at [`Served::lost`] and [`Served::call_at`] afterwards.
    #[inline]
    pub fn accept(&mut self, packet: &mut Packet, size: u32) -> bool {
        let now = packet.at;
        self.pass_time(now);
        self.totals.arrived += 1;
        let full = !self.has_room(now, size);
        let fate = match packet.kind {
            _ if !full && self.lost_on_the_wire() => Fate::Lost,
            Kind::Data | Kind::Datagram => Fate::Arrives,
            _ => Fate::AckArrives,
        };
        let queued = Queued { packet: *packet, size, entered: now, fate };
        if fate == Fate::Lost {
            self.lost.push(*packet);
        }
        self.add_waiting(&queued);
        self.queue.enqueue(now, queued, full, &mut self.deeds);
        if self.deeds.any() {
            self.note_deeds(now);
        }
        self.max_queue = self.max_queue.max(self.queued());
        if self.awaited || self.waiting.packets == 0 {
            return false;
        }
        if self.line.free() > now {
            self.awaited = true;
            self.call_at = Some(self.line.free());
            return false;
        }
        self.send_next(now, packet)
    }

    /// The transmitter is free at `now`, as it has said it would be. The rest is as of [`Served::accept`].
    #[inline]
    pub fn serve(&mut self, now: Nanos, packet: &mut Packet) -> bool {
        self.awaited = false;
        self.pass_time(now);
        self.send_next(now, packet)
    }

    /// When the loop has to call [`Served::serve`], if the last call has made that known.
    #[inline(always)]
    pub fn call_at(&mut self) -> Option<Nanos> {
        self.call_at.take()
    }

    /// Takes a packet that was lost in the last call, if there is one left: dropped by the queue, or one that the wire will lose,
    /// which stays in the queue as if nothing had happened.
    #[inline(always)]
    pub fn lost(&mut self) -> Option<Packet> {
        self.lost.pop()
    }

    /// Packets in its queue.
    pub fn waiting_packets(&self) -> usize {
        self.waiting.packets as usize
    }

    /// Data packets and datagrams in its queue that are not lost yet.
    pub fn waiting_data(&self) -> u64 {
        self.waiting.data
    }

    /// Bytes that the queue takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
            + self.deeds.dropped.capacity() * size_of::<Queued>()
            + self.lost.capacity() * size_of::<Packet>()
    }

    /// The figures of the measuring window; call once the run is over.
    pub fn report(&mut self) -> DirectionReport {
        self.pass_marks(self.ledger.end());
        self.ledger.report()
    }

    /// Ends the series, and hands over its columns: packets in the system, utilization.
    pub fn take_series(&mut self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.pass_marks(self.ledger.end());
        self.ledger.take_series()
    }

    /// Whether the buffer holds `size` bytes more at `now`.
    #[inline(always)]
    fn has_room(&self, now: Nanos, size: u32) -> bool {
        match self.limit {
            Buffer::Unlimited => true,
            Buffer::Packets(limit) => (self.queued() as u64) < limit,
            Buffer::Bytes(limit) => {
                self.waiting.bytes + u64::from(self.sending.unwrap_or(0)) + u64::from(size) <= limit
            }
            Buffer::Time(limit) => {
                self.queued() == 0 || self.line.free_after(self.waiting.time).saturating_sub(now) < limit
            }
        }
    }

    /// Takes the next packet out of the queue and sends it; false where none is left or the wire loses it.
    #[inline]
    fn send_next(&mut self, now: Nanos, packet: &mut Packet) -> bool {
        let next = self.queue.dequeue(now, &mut self.deeds);
        if self.deeds.any() {
            self.note_deeds(now);
        }
        let Some(queued) = next else { return false };
        self.remove_waiting(&queued);
        self.line.rest_until(now);
        self.totals.busy += self.line.send(self.transmissions.of(&self.line, queued.size));
        self.sending = Some(queued.size);
        if self.waiting.packets > 0 {
            self.awaited = true;
            self.call_at = Some(self.line.free());
        }
        *packet = queued.packet;
        packet.at = self.line.free() + self.delay;
        queued.fate != Fate::Lost
    }

    /// Counts what the queue has just done.
    #[inline(never)]
    fn note_deeds(&mut self, now: Nanos) {
        self.totals.marked += std::mem::take(&mut self.deeds.marked);
        let mut dropped = std::mem::take(&mut self.deeds.dropped);
        for queued in dropped.drain(..) {
            self.remove_waiting(&queued);
            self.totals.dropped += 1;
            if queued.fate == Fate::Lost {
                // It is the queue's and not the wire's.
                self.totals.wire_lost -= 1;
            } else {
                self.lost.push(Packet { at: now, ..queued.packet });
            }
        }
        self.deeds.dropped = dropped;
    }

    #[inline(always)]
    fn add_waiting(&mut self, queued: &Queued) {
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(queued.size);
        self.waiting.data += u64::from(queued.fate == Fate::Arrives);
        if self.timed {
            self.waiting.time = self.waiting.time.with(self.transmissions.of(&self.line, queued.size));
        }
    }

    #[inline(always)]
    fn remove_waiting(&mut self, queued: &Queued) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(queued.size);
        self.waiting.data -= u64::from(queued.fate == Fate::Arrives);
        if self.timed {
            self.waiting.time = self.waiting.time.without(self.transmissions.of(&self.line, queued.size));
        }
    }

    /// Decided when a packet comes, as `fifo.rs` does.
    fn lost_on_the_wire(&mut self) -> bool {
        let Some((loss, rng)) = &mut self.wire else { return false };
        let lost = rng.unit() <= *loss;
        self.totals.wire_lost += u64::from(lost);
        lost
    }

    /// Packets in the system.
    fn queued(&self) -> usize {
        self.waiting.packets as usize + usize::from(self.sending.is_some())
    }

    /// Brings everything up to `now`, before anything happens at that moment.
    #[inline(always)]
    fn pass_time(&mut self, now: Nanos) {
        if now >= self.next_mark {
            self.pass_marks(now);
        }
        self.count_to(now);
    }

    #[cold]
    fn pass_marks(&mut self, now: Nanos) {
        while self.next_mark <= now {
            let mark = self.next_mark;
            self.count_to(mark);
            let busy = self.totals.busy - self.line.free().saturating_sub(mark);
            let totals = self.ledger.needs_totals(mark).then_some(Totals { busy, ..self.totals });
            self.ledger.note(mark, self.queued(), busy, totals, &mut self.max_queue);
            self.next_mark = self.ledger.next();
        }
    }

    /// Counts how long packets have been in the system up to `now`; the one being sent may have left before.
    #[inline(always)]
    fn count_to(&mut self, now: Nanos) {
        if self.sending.is_some() && self.line.free() <= now {
            self.count_span(self.line.free());
            self.sending = None;
        }
        self.count_span(now);
    }

    #[inline(always)]
    fn count_span(&mut self, to: Nanos) {
        self.totals.sojourn += self.queued() as u128 * u128::from(to - self.counted_to);
        self.counted_to = to;
    }
}
