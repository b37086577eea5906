//! Transmitter, buffer limit, wire, and counts of a served link: everything but its queue.

use super::{Coming, Departed};
use crate::network::change::delay_line::DelayLine;
use crate::network::change::loss::Losses;
use crate::network::change::policer::Policer;
use crate::network::change::schedule::{Schedule, Settings};
use crate::network::change::wire::Wire;
use crate::network::discipline::stock::Fate;
use crate::network::discipline::{Discipline, Known, Stock};
use crate::network::ledger::{Ledger, Totals};
use crate::network::line::Span;
use crate::network::transmitter::Transmitter;
use crate::packet::{Ecn, Packet};
use crate::scenario::Buffer;
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// All of it but the queue.
#[derive(Debug)]
pub(super) struct Port {
    /// Neither a policer nor losses, a constant rate, and ECN fields that stay: most links.
    pub(super) plain: bool,
    /// [`Port::plain`], room is counted in packets, all packets have one propagation delay, and the queue has no shaper.
    pub(super) simple: bool,
    pub(super) policer: Option<Policer>,
    pub(super) transmitter: Transmitter,
    /// When it has sent all packets given to it.
    pub(super) free: Nanos,
    pub(super) losses: Losses,
    pub(super) wire: Wire,
    /// ECN field of ECN-capable packets that have left, if the link changes it.
    pub(super) ecn_field: Option<Ecn>,
    /// Limit of the packets on the wire, if there is one.
    pub(super) line: Option<Box<DelayLine>>,
    pub(super) schedule: Option<Box<Schedule>>,
    /// When something changes next; never for most links.
    pub(super) next_change: Nanos,
    pub(super) limit: Buffer,
    /// The limit is a time, and how long a packet takes never changes.
    pub(super) timed: bool,
    /// Packets in the queue.
    pub(super) waiting: Load,
    /// Size of the packet that was sent last, bytes; it is being sent until the transmitter is free.
    pub(super) sent_last: u32,
    /// When the next of those that wait begins to be sent; beyond every run if none waits.
    pub(super) turn: Nanos,
    /// How long after a turn the loop has to know of it; 0 where at once.
    pub(super) lookahead: Nanos,
    /// Departures since the loop last took them, in their order.
    pub(super) departed: VecDeque<Departed>,
    /// The packets themselves, and the queue's drops and marks in the call under way.
    pub(super) stock: Stock,
    /// Packets of [`super::Request::Lose`].
    pub(super) lost: Vec<Packet>,
    pub(super) totals: Totals,
    /// When packets left, or will have been sent, less when they came: all those that have come, and have left the queue.
    pub(super) sojourn: i128,
    pub(super) max_queue: usize,
    pub(super) next_mark: Nanos,
    pub(super) ledger: Ledger,
}

/// Packets that wait in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) packets: u64,
    /// Not counted where [`Port::simple`].
    pub(super) bytes: u64,
    /// How long they take to send; known where [`Port::timed`].
    pub(super) time: Span,
}

impl Port {
    /// A packet that comes at `packet.at`.
    #[inline(always)]
    pub(super) fn coming(&mut self, packet: &Packet, size: u32, late: bool) -> Coming {
        let after = packet.at + Nanos::from(late);
        Coming { known: self.stock.put(packet, size), class: packet.flow_key(), after }
    }

    /// Packet of a departure: `packet.at` is when it reaches the far end.
    #[inline(always)]
    pub(super) fn take(&mut self, departed: Departed) -> Packet {
        Packet { at: departed.at, ..self.stock.take(departed.place).packet }
    }

    /// Counts arrivals; `entered` is the sum of their times.
    #[inline(always)]
    pub(super) fn note_arrivals(&mut self, packets: usize, entered: u128) {
        self.totals.arrived += packets as u64;
        self.sojourn -= entered as i128;
    }

    /// A packet comes, after the turns that are due before it.
    #[inline(always)]
    pub(super) fn let_in<const SIMPLE: bool, const CALM: bool>(
        &mut self,
        queue: &mut impl Discipline,
        coming: &Coming,
    ) {
        let now = coming.known.entered;
        if !CALM {
            self.pass_time::<SIMPLE>(queue, now);
            self.note_arrivals(1, now.into());
        }
        if self.waiting.packets == 0 {
            let packet = *self.stock.packet(coming.known.place);
            if let Some(at) = self.let_pass(queue, &packet, coming.known.size) {
                self.departed.push_back(Departed { at, place: coming.known.place });
                return;
            }
        }
        self.enqueue::<SIMPLE, CALM>(queue, coming);
        if let Some(departed) = self.go_on(queue, now) {
            self.departed.push_back(departed);
        }
    }

    /// A packet comes. Where nothing is in its way it leaves as it is: when it reaches the far end.
    pub(super) fn let_pass(&mut self, queue: &mut impl Discipline, packet: &Packet, size: u32) -> Option<Nanos> {
        let now = packet.at;
        if !(self.plain && self.is_idle(now) && self.has_room(now, size) && queue.lets_pass(now, packet, size)) {
            return None;
        }
        self.ledger.note_end_of_wait(now, now);
        self.max_queue = self.max_queue.max(1);
        Some(self.transmit::<false>(now, size))
    }

    /// The packet goes to the queue, or is lost before.
    #[inline(always)]
    pub(super) fn enqueue<const SIMPLE: bool, const CALM: bool>(
        &mut self,
        queue: &mut impl Discipline,
        coming: &Coming,
    ) {
        let &Coming { known, class, .. } = coming;
        let (now, size) = (known.entered, known.size);
        if !SIMPLE && self.policer.as_mut().is_some_and(|policer| !policer.passes(now, size)) {
            self.totals.dropped += 1;
            self.sojourn += i128::from(now);
            self.lost.push(self.stock.take(known.place).packet);
            return;
        }
        let full = !CALM && !self.has_room(now, size);
        if !SIMPLE && !full && self.lost_on_the_wire(now) {
            self.lost.push(self.stock.lose(known.place));
            if self.transmitter.rests() {
                self.sojourn += i128::from(now);
                self.stock.take(known.place);
                return;
            }
        }
        self.add_waiting::<SIMPLE>(size);
        queue.enqueue(known, class as u32, full, &mut self.stock);
        self.note_any_deeds(now);
        if !CALM {
            self.max_queue = self.max_queue.max(self.queued(now));
        }
    }

    /// Whether the buffer holds `size` bytes more at `now`.
    #[inline(always)]
    pub(super) fn has_room(&self, now: Nanos, size: u32) -> bool {
        if let Buffer::Packets(limit) = self.limit {
            return (self.queued(now) as u64) < limit;
        }
        self.has_other_room(now, size)
    }

    /// [`Port::has_room`] where the limit is not in packets.
    #[inline(never)]
    pub(super) fn has_other_room(&self, now: Nanos, size: u32) -> bool {
        match self.limit {
            Buffer::Unlimited | Buffer::Packets(_) => true,
            Buffer::Bytes(limit) => {
                let sending = if self.is_sending(now) { self.sent_last } else { 0 };
                self.waiting.bytes + u64::from(sending) + u64::from(size) <= limit
            }
            Buffer::Time(limit) => {
                let free = if self.timed {
                    self.transmitter.free_after(self.waiting.time)
                } else {
                    self.free.max(now).saturating_add(self.transmitter.time_of(self.waiting.bytes))
                };
                self.queued(now) == 0 || free.saturating_sub(now) < limit
            }
        }
    }

    /// Sends waiting packets, now or when the transmitter is free: the packet that is sent now.
    #[inline(always)]
    pub(super) fn go_on(&mut self, queue: &mut impl Discipline, now: Nanos) -> Option<Departed> {
        if self.turn == Nanos::MAX { self.begin(queue, now) } else { None }
    }

    /// [`Port::go_on`] where nothing was to be sent.
    #[inline(never)]
    pub(super) fn begin(&mut self, queue: &mut impl Discipline, now: Nanos) -> Option<Departed> {
        if self.waiting.packets == 0 || self.transmitter.rests() {
            return None;
        }
        let start = self.transmitter.start_after(now);
        if start > now {
            self.turn = start;
            return None;
        }
        self.send_next::<false>(queue, now)
    }

    /// Takes the turns before `end`.
    #[inline(never)]
    pub(super) fn take_turns<const SIMPLE: bool, const CALM: bool>(&mut self, queue: &mut impl Discipline, end: Nanos) {
        while self.turn < end {
            self.take_turn::<SIMPLE, CALM>(queue);
        }
    }

    /// Serves the free transmitter at its turn.
    #[inline(always)]
    pub(super) fn take_turn<const SIMPLE: bool, const CALM: bool>(&mut self, queue: &mut impl Discipline) {
        let now = self.turn;
        if !CALM {
            self.pass_time::<SIMPLE>(queue, now);
        }
        if !SIMPLE && self.transmitter.rests() {
            self.turn = Nanos::MAX;
            return;
        }
        if let Some(departed) = self.send_next::<SIMPLE>(queue, now) {
            self.departed.push_back(departed);
        }
    }

    /// Takes the next packet out of the queue and sends it: that packet, if the wire does not lose it. None where none is left, or where a shaper
    /// holds all back.
    #[inline(always)]
    pub(super) fn send_next<const SIMPLE: bool>(
        &mut self,
        queue: &mut impl Discipline,
        now: Nanos,
    ) -> Option<Departed> {
        if !SIMPLE && queue.ready_at() > now {
            self.turn = queue.ready_at();
            return None;
        }
        let next = queue.dequeue(now, &mut self.stock);
        self.note_any_deeds(now);
        let Some(Known { place, size, entered }) = next else {
            self.turn = Nanos::MAX;
            return None;
        };
        self.remove_waiting::<SIMPLE>(size);
        self.ledger.note_end_of_wait(entered, now);
        let at = self.transmit::<SIMPLE>(now, size);
        self.turn = match self.waiting.packets {
            0 => Nanos::MAX,
            _ if SIMPLE => self.free,
            _ => self.transmitter.start(),
        };
        if !SIMPLE && self.stock.is_lost(place) {
            self.stock.take(place);
            return None;
        }
        if !SIMPLE && !self.goes_on_the_wire(at) {
            let packet = self.stock.take(place).packet;
            self.lost.push(Packet { at: self.free, ..packet });
            return None;
        }
        if let Some(ecn) = self.ecn_field.filter(|_| !SIMPLE) {
            self.stock.set_ecn(place, ecn);
        }
        Some(Departed { at, place })
    }

    /// Whether the packet that has just been sent, and would arrive at `at`, finds room among those that travel. It is lost otherwise.
    #[inline]
    fn goes_on_the_wire(&mut self, at: Nanos) -> bool {
        let Some(line) = &mut self.line else { return true };
        let admits = line.admits(self.free, at);
        self.totals.wire_lost += u64::from(!admits);
        admits
    }

    /// Sends a packet; the time when it reaches the far end.
    #[inline(always)]
    pub(super) fn transmit<const SIMPLE: bool>(&mut self, now: Nanos, size: u32) -> Nanos {
        self.free = if SIMPLE { self.transmitter.send_next(size) } else { self.transmitter.send(now, size) };
        self.sent_last = size;
        self.sojourn += i128::from(self.free);
        if SIMPLE { self.wire.steady_arrival(self.free) } else { self.wire.arrival(self.free) }
    }

    /// Counts the queue's drops and marks of the last call.
    #[inline(always)]
    pub(super) fn note_any_deeds(&mut self, now: Nanos) {
        if self.stock.acted {
            self.note_deeds(now);
        }
    }

    #[inline(never)]
    pub(super) fn note_deeds(&mut self, now: Nanos) {
        self.stock.acted = false;
        self.totals.marked += std::mem::take(&mut self.stock.marked);
        let mut dropped = std::mem::take(&mut self.stock.dropped);
        for place in dropped.drain(..) {
            self.remove_waiting::<false>(self.stock.known(place).size);
            self.sojourn += i128::from(now);
            self.totals.dropped += 1;
            let queued = self.stock.take(place);
            if queued.fate == Fate::Lost {
                // It is the queue's and not the wire's.
                self.totals.wire_lost -= 1;
            } else {
                self.lost.push(Packet { at: now, ..queued.packet });
            }
        }
        self.stock.dropped = dropped;
    }

    #[inline(always)]
    pub(super) fn add_waiting<const SIMPLE: bool>(&mut self, size: u32) {
        self.waiting.packets += 1;
        if SIMPLE || self.simple {
            return;
        }
        self.waiting.bytes += u64::from(size);
        if self.timed {
            self.waiting.time = self.waiting.time.with(self.transmitter.transmission(size));
        }
    }

    #[inline(always)]
    pub(super) fn remove_waiting<const SIMPLE: bool>(&mut self, size: u32) {
        self.waiting.packets -= 1;
        if SIMPLE || self.simple {
            return;
        }
        self.waiting.bytes -= u64::from(size);
        if self.timed {
            self.waiting.time = self.waiting.time.without(self.transmitter.transmission(size));
        }
    }

    /// Decided when a packet comes, as `fifo.rs` does.
    pub(super) fn lost_on_the_wire(&mut self, now: Nanos) -> bool {
        let lost = self.losses.take_next(now, self.totals.arrived);
        self.totals.wire_lost += u64::from(lost);
        lost
    }

    #[inline(always)]
    pub(super) fn is_idle(&self, now: Nanos) -> bool {
        self.waiting.packets == 0 && self.turn == Nanos::MAX && !self.is_sending(now)
    }

    /// Packets in the system.
    #[inline(always)]
    pub(super) fn queued(&self, now: Nanos) -> usize {
        self.waiting.packets as usize + usize::from(self.is_sending(now))
    }

    #[inline(always)]
    pub(super) fn is_sending(&self, now: Nanos) -> bool {
        self.free > now
    }

    /// Brings everything up to `now`, before anything happens at that moment.
    #[inline(always)]
    pub(super) fn pass_time<const SIMPLE: bool>(&mut self, queue: &mut impl Discipline, now: Nanos) {
        if now >= self.next_mark {
            self.pass_marks(now);
        }
        while !SIMPLE && now >= self.next_change {
            self.make_change(queue, now);
        }
    }

    /// Changes at `now` apply before any other event of that time.
    #[cold]
    pub(super) fn make_change(&mut self, queue: &mut impl Discipline, now: Nanos) {
        let Some(schedule) = &mut self.schedule else { return };
        let Settings { rate_bps, delay, loss } = schedule.step();
        self.next_change = schedule.next();
        self.wire.set_delay(delay);
        self.losses.set(loss);
        if self.transmitter.set_rate(now, rate_bps) {
            queue.set_rate(now, rate_bps);
        }
    }

    #[cold]
    pub(super) fn pass_marks(&mut self, now: Nanos) {
        while self.next_mark <= now {
            let mark = self.next_mark;
            let sojourn = if self.ledger.needs_sojourn(mark) { self.sojourn_to(mark) } else { 0 };
            let totals = Totals { sojourn, ..self.totals };
            self.ledger.note(mark, self.queued(mark), self.transmitter.use_at(mark), totals, &mut self.max_queue);
            self.next_mark = self.ledger.next();
        }
    }

    /// How long packets have been in the system by `mark`, together.
    pub(super) fn sojourn_to(&self, mark: Nanos) -> u128 {
        let waited = self.sojourn + i128::from(self.waiting.packets) * i128::from(mark);
        (waited - i128::from(self.free.saturating_sub(mark))) as u128
    }
}
