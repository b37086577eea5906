//! One direction of a link whose queue decides when the transmitter is free.
//!
//! Nothing but arrivals changes its state, and packets that it sends arrive elsewhere a propagation delay later. So while it is busy,
//! arrivals are put in a list, and departures wait in another. The loop wakes it in time to pass the departures on (`HELD_PACKETS`). Only
//! then it lets the arrivals in and takes its turns, in the order of time, many of both in one call. A link whose wire takes no time, or
//! that a schedule changes, lets each packet in when it comes, and is woken for each turn.
//!
//! The buffer's limit counts the packet being sent too, as `fifo.rs` does, whatever the queue. A packet that leaves at `now` makes
//! room for one that comes at `now`. The clock counts whole nanoseconds: of packets that take less than one each, several leave at
//! one instant, each in a separate call, and records of that instant may be made between two of them.

use super::Serving;
use super::change::loss::Losses;
use super::change::policer::Policer;
use super::change::schedule::{Schedule, Settings};
use super::change::wire::Wire;
use super::discipline::flow_hash::FlowHash;
use super::discipline::stock::Fate;
use super::discipline::{Any, Discipline, Known, Stock, Task, queue_seed};
use super::ledger::{Ledger, Sampled, Totals};
use super::line::Span;
use super::transmitter::Transmitter;
use crate::packet::{Kind, Packet, Segment};
use crate::report::DirectionReport;
use crate::rng::Identity;
use crate::scenario::{Buffer, Link, Loss};
use crate::window::Window;
use fullpipe_cc::Nanos;

/// See the head of the file.
#[derive(Debug)]
pub struct Served {
    queue: Any,
    /// Arrivals that have not been let in, in their order.
    coming: Vec<Coming>,
    /// An alarm is set in the loop.
    awaited: bool,
    /// Packets in the loop that have yet to come, see [`Served::takes_ahead`].
    in_loop: usize,
    port: Port,
}

/// All of it but the queue.
#[derive(Debug)]
struct Port {
    /// Neither a policer nor losses, and a constant rate: most links.
    plain: bool,
    /// [`Port::plain`], room is counted in packets, and all packets have one propagation delay.
    simple: bool,
    policer: Option<Policer>,
    transmitter: Transmitter,
    /// When it has sent all packets given to it.
    free: Nanos,
    losses: Losses,
    wire: Wire,
    schedule: Option<Box<Schedule>>,
    /// When something changes next; never for most links.
    next_change: Nanos,
    limit: Buffer,
    /// The limit is a time, and how long a packet takes never changes.
    timed: bool,
    /// Packets in the queue.
    waiting: Waiting,
    /// Size of the packet that was sent last, bytes; it is being sent until the transmitter is free.
    sent_last: u32,
    /// When the next of those that wait begins to be sent; beyond every run if none waits.
    turn: Nanos,
    /// How long after a turn the loop has to know of it; 0 where at once.
    lookahead: Nanos,
    /// Departures since the loop last took them, in their order.
    departed: Vec<Departed>,
    /// The packets themselves, and the queue's drops and marks in the call under way.
    stock: Stock,
    /// See [`Served::lost`].
    lost: Vec<Packet>,
    totals: Totals,
    /// When packets left, or will have been sent, less when they came: all those that have come, and have left the queue.
    sojourn: i128,
    max_queue: usize,
    next_mark: Nanos,
    ledger: Ledger,
}

/// Departures, about, before the loop takes them: enough to share the cost of one call, and few enough to stay in the cache.
const HELD_PACKETS: u64 = 256;

/// The most that come before they are let in, whenever that is.
const MOST_COMING: usize = 2 * HELD_PACKETS as usize;

/// Packets in a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    packets: u64,
    /// Not counted where [`Port::simple`].
    bytes: u64,
    /// How long they take to send; known where [`Port::timed`].
    time: Span,
}

/// Arrival, with the fields that are needed when it is let in, which avoids a cache miss for the packet itself.
#[derive(Debug)]
struct Coming {
    known: Known,
    /// Its flow's key, then which of the queue's classes it is of.
    class: u64,
    /// Turns before this come first.
    after: Nanos,
}

/// A packet that has left.
#[derive(Debug)]
pub struct Departed {
    /// When it reaches the far end.
    pub at: Nanos,
    /// Where it is in the [`Stock`].
    pub place: u32,
}

impl Served {
    /// An idle link. `identity` is that of the direction, for its random streams; `interval` is that of the series.
    pub fn new(
        link: &Link,
        packet_size: u32,
        seed: u64,
        identity: Identity,
        window: Window,
        interval: Option<Nanos>,
        serving: Serving,
    ) -> Self {
        let ledger = Ledger::new(window, interval);
        let schedule = Schedule::new(link);
        let transmitter = Transmitter::new(link);
        let mut queue = Any::new(&link.queue, queue_seed(seed, identity), packet_size);
        queue.set_rate(0, link.rate_bps);
        let held = transmitter.time_of(HELD_PACKETS * u64::from(packet_size));
        let prompt = schedule.is_some() || serving == Serving::Promptly;
        let lookahead = if prompt { 0 } else { held.min(link.delay / 2) };
        let mut port = Port {
            plain: link.policer.is_none() && link.loss == Loss::NONE && schedule.is_none() && transmitter.is_steady(),
            simple: false,
            policer: link.policer.as_ref().map(Policer::new),
            losses: Losses::new(link.loss, seed, identity),
            wire: Wire::new(link, seed, identity),
            next_change: schedule.as_ref().map_or(Nanos::MAX, |schedule| schedule.next()),
            schedule: schedule.map(Box::new),
            limit: link.buffer,
            timed: matches!(link.buffer, Buffer::Time(_)) && transmitter.is_steady(),
            transmitter,
            free: 0,
            waiting: Waiting::default(),
            sent_last: 0,
            turn: Nanos::MAX,
            lookahead,
            departed: Vec::new(),
            stock: Stock::default(),
            lost: Vec::new(),
            totals: Totals::default(),
            sojourn: 0,
            max_queue: 0,
            next_mark: ledger.next(),
            ledger,
        };
        let in_packets = matches!(port.limit, Buffer::Packets(_) | Buffer::Unlimited);
        port.simple = port.plain && in_packets && !port.wire.varies();
        Served { queue, coming: Vec::new(), awaited: false, in_loop: 0, port }
    }

    /// Sets the hash of flows into queues; before the first packet.
    pub fn set_flow_hash(&mut self, hash: FlowHash) {
        self.queue.set_flow_hash(hash);
    }

    /// Whether a packet that will come at `at`, behind all that are known, is accepted right now, ahead of the clock. If not it has to
    /// come in its turn, [`Served::comes`] first.
    #[inline]
    pub fn takes_ahead(&mut self, at: Nanos) -> bool {
        if self.port.lookahead > 0 {
            return true;
        }
        // Nothing will be in its way.
        let idle = self.in_loop == 0 && self.port.is_idle(at);
        self.in_loop += usize::from(!idle);
        idle
    }

    /// It is the turn of a packet; one of those that could not be taken ahead, if there are any.
    #[inline]
    pub fn comes(&mut self) {
        self.in_loop = self.in_loop.saturating_sub(1);
    }

    /// A packet of `size` bytes comes at `packet.at`, before the link's own actions at that moment or, `late`, after them. Returns whether
    /// a packet is sent at once, and leaves at once: `packet` is that one then, and `packet.at` when it reaches the far end. Look at
    /// [`Served::lost`] and [`Served::call_at`] afterwards.
    #[inline]
    pub fn accept(&mut self, packet: &mut Packet, size: u32, late: bool) -> bool {
        if self.keeps() {
            if self.hold(packet, size, late) {
                self.let_in(0);
            }
            return false;
        }
        self.accept_now(packet, size, late)
    }

    /// Whether arrivals are put in a list, and let in later.
    #[inline(always)]
    pub fn keeps(&self) -> bool {
        self.port.lookahead > 0 && (self.port.turn < Nanos::MAX || !self.coming.is_empty())
    }

    /// Keeps a segment that comes, as to [`Served::accept`]. Returns whether it is time for [`Served::let_in`].
    #[inline(always)]
    pub fn keep(&mut self, segment: Segment, size: u32, late: bool) -> bool {
        self.hold(&segment.packet(Kind::Data), size, late)
    }

    #[inline(always)]
    fn hold(&mut self, packet: &Packet, size: u32, late: bool) -> bool {
        self.coming.push(self.port.coming(packet, size, late));
        self.coming.len() >= MOST_COMING
    }

    /// [`Served::accept`] where the packet is let in at once.
    fn accept_now(&mut self, packet: &mut Packet, size: u32, late: bool) -> bool {
        let Served { queue, port, .. } = self;
        let now = packet.at;
        while port.turn < now + Nanos::from(late) {
            port.take_turn::<false, false>(queue);
        }
        port.pass_time::<false>(queue, now);
        port.note_arrivals(1, now.into());
        if let Some(at) = port.let_pass(queue, packet, size) {
            if port.departed.is_empty() {
                packet.at = at;
                return true;
            }
            let Known { place, .. } = port.stock.put(packet, size);
            port.departed.push(Departed { at, place });
            return false;
        }
        let mut coming = port.coming(packet, size, late);
        coming.expect(queue);
        port.enqueue::<false, false>(queue, &coming);
        match port.go_on(queue, now) {
            Some(departed) => self.leaves_at_once(departed, packet),
            None => false,
        }
    }

    /// Whether a packet that has just been sent leaves at once; otherwise it is behind others that have left.
    fn leaves_at_once(&mut self, departed: Departed, packet: &mut Packet) -> bool {
        if self.has_departed() {
            self.port.departed.push(departed);
            return false;
        }
        *packet = self.port.take(departed);
        true
    }

    /// Lets in all that has come, and takes the turns before the last of them, and before `end`.
    #[inline(never)]
    pub fn let_in(&mut self, end: Nanos) {
        self.queue.perform(LetIn { port: &mut self.port, coming: &mut self.coming, end });
    }

    /// Whether anything has come that has not been let in.
    pub fn has_coming(&self) -> bool {
        !self.coming.is_empty()
    }

    /// Takes the turns that are due at `now`, the time of [`Served::call_at`]. Afterwards look at [`Served::take_departed`], and as after
    /// [`Served::accept`].
    #[inline]
    pub fn serve(&mut self, now: Nanos) {
        self.awaited = false;
        if self.port.lookahead > 0 {
            self.let_in(now + 1);
        } else if self.port.turn <= now {
            self.port.take_turn::<false, false>(&mut self.queue);
        }
    }

    /// Whether anything has left since somebody looked.
    pub fn has_departed(&self) -> bool {
        !self.port.departed.is_empty()
    }

    /// Departures since the last call, in their order, and the store with their packets. Take the packets out, then give both back before
    /// any other call.
    #[inline]
    pub fn take_departed(&mut self) -> (Vec<Departed>, Stock) {
        (std::mem::take(&mut self.port.departed), std::mem::take(&mut self.port.stock))
    }

    /// What [`Served::take_departed`] has given, without those that have left.
    #[inline]
    pub fn give_back(&mut self, departed: Vec<Departed>, stock: Stock) {
        (self.port.departed, self.port.stock) = (departed, stock);
    }

    /// When the next packet begins to be sent of those that wait; beyond every run if none waits.
    pub fn turn(&self) -> Nanos {
        self.port.turn
    }

    /// When [`Served::change`] has to be called next; beyond every run if never.
    pub fn next_change(&self) -> Nanos {
        self.port.next_change
    }

    /// Applies the schedule's change at `now`. The rest is as of [`Served::accept`].
    pub fn change(&mut self, now: Nanos, packet: &mut Packet) -> bool {
        let Served { queue, port, .. } = self;
        port.pass_time::<false>(queue, now);
        let Some(departed) = port.go_on(queue, now) else { return false };
        *packet = self.port.take(departed);
        true
    }

    /// Whether [`Served::call_at`] or [`Served::lost`] has a value.
    #[inline(always)]
    pub fn wants_attention(&self) -> bool {
        !self.awaited && self.port.turn < Nanos::MAX || !self.port.lost.is_empty()
    }

    /// When the loop has to call [`Served::serve`], if it does not know yet.
    pub fn call_at(&mut self) -> Option<Nanos> {
        if self.awaited || self.port.turn == Nanos::MAX {
            return None;
        }
        self.awaited = true;
        Some(self.port.turn.saturating_add(self.port.lookahead))
    }

    /// Takes a packet that was lost in the last call, if there is one left: dropped by the queue, or one that the wire will lose,
    /// which stays in the queue as if nothing had happened (during an outage it does not get there).
    pub fn lost(&mut self) -> Option<Packet> {
        self.port.lost.pop()
    }

    /// Packets in its queue.
    pub fn waiting_packets(&self) -> usize {
        self.port.waiting.packets as usize + self.coming.len()
    }

    /// Data packets and datagrams in its queue that are not lost yet, once all departures have been taken.
    pub fn waiting_data(&self) -> u64 {
        self.port.stock.arriving()
    }

    /// Bytes that the queue takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let port = &self.port;
        self.queue.heap_bytes()
            + port.ledger.heap_bytes()
            + port.stock.heap_bytes()
            + self.coming.capacity() * size_of::<Coming>()
            + port.departed.capacity() * size_of::<Departed>()
            + port.lost.capacity() * size_of::<Packet>()
    }

    /// The figures of the measuring window; call once the run is over.
    pub fn report(&mut self) -> DirectionReport {
        self.port.pass_marks(self.port.ledger.end());
        self.port.ledger.report()
    }

    /// Ends the series, and hands over its columns.
    pub fn take_series(&mut self) -> Option<Sampled> {
        self.port.pass_marks(self.port.ledger.end());
        self.port.ledger.take_series()
    }
}

/// See [`Served::let_in`].
struct LetIn<'a> {
    port: &'a mut Port,
    coming: &'a mut Vec<Coming>,
    end: Nanos,
}

impl Task for LetIn<'_> {
    #[inline(always)]
    fn on(self, queue: &mut impl Discipline) {
        match (self.port.simple, self.is_calm()) {
            (true, true) => self.let_in::<true, true>(queue),
            (true, false) => self.let_in::<true, false>(queue),
            _ => self.let_in::<false, false>(queue),
        }
    }
}

impl LetIn<'_> {
    /// Whether meanwhile no figures are due, and the buffer gets neither full nor fuller than ever.
    fn is_calm(&self) -> bool {
        let end = self.coming.last().map_or(self.end, |last| self.end.max(last.known.entered + 1));
        let most = self.port.waiting.packets as usize + self.coming.len() + 1;
        self.port.next_mark >= end && self.port.max_queue >= most
    }

    /// Lets the arrivals in. `SIMPLE` is [`Port::simple`]; `CALM` is [`LetIn::is_calm`].
    #[inline(always)]
    fn let_in<const SIMPLE: bool, const CALM: bool>(self, queue: &mut impl Discipline) {
        let LetIn { port, coming, end } = self;
        let mut entered = 0;
        for coming in &mut *coming {
            coming.expect(queue);
            entered += u128::from(coming.known.entered);
        }
        if CALM {
            port.note_arrivals(coming.len(), entered);
        }
        for coming in &*coming {
            while port.turn < coming.after {
                port.take_turn::<SIMPLE, CALM>(queue);
            }
            port.let_in::<SIMPLE, CALM>(queue, coming);
        }
        coming.clear();
        port.take_turns::<SIMPLE, CALM>(queue, end);
    }
}

impl Coming {
    /// It is known which class it is of before it is let in.
    #[inline(always)]
    fn expect(&mut self, queue: &impl Discipline) {
        self.class = u64::from(queue.expect(self.class));
    }
}

impl Port {
    /// A packet that comes at `packet.at`.
    #[inline(always)]
    fn coming(&mut self, packet: &Packet, size: u32, late: bool) -> Coming {
        let after = packet.at + Nanos::from(late);
        Coming { known: self.stock.put(packet, size), class: packet.flow_key(), after }
    }

    /// Packet of a departure: `packet.at` is when it reaches the far end.
    fn take(&mut self, departed: Departed) -> Packet {
        Packet { at: departed.at, ..self.stock.take(departed.place).packet }
    }

    /// Counts arrivals; `entered` is the sum of their times.
    #[inline(always)]
    fn note_arrivals(&mut self, packets: usize, entered: u128) {
        self.totals.arrived += packets as u64;
        self.sojourn -= entered as i128;
    }

    /// A packet comes, after the turns that are due before it.
    #[inline(always)]
    fn let_in<const SIMPLE: bool, const CALM: bool>(&mut self, queue: &mut impl Discipline, coming: &Coming) {
        let now = coming.known.entered;
        if !CALM {
            self.pass_time::<SIMPLE>(queue, now);
            self.note_arrivals(1, now.into());
        }
        if self.waiting.packets == 0 {
            let packet = *self.stock.packet(coming.known.place);
            if let Some(at) = self.let_pass(queue, &packet, coming.known.size) {
                self.departed.push(Departed { at, place: coming.known.place });
                return;
            }
        }
        self.enqueue::<SIMPLE, CALM>(queue, coming);
        if let Some(departed) = self.go_on(queue, now) {
            self.departed.push(departed);
        }
    }

    /// A packet comes. Where nothing is in its way it leaves as it is: when it reaches the far end.
    fn let_pass(&mut self, queue: &mut impl Discipline, packet: &Packet, size: u32) -> Option<Nanos> {
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
    fn enqueue<const SIMPLE: bool, const CALM: bool>(&mut self, queue: &mut impl Discipline, coming: &Coming) {
        let &Coming { known, class, .. } = coming;
        let (now, size) = (known.entered, known.size);
        if !SIMPLE && self.policer.as_mut().is_some_and(|policer| !policer.passes(now, size)) {
            self.totals.dropped += 1;
            self.sojourn += i128::from(now);
            self.lost.push(self.stock.take(known.place).packet);
            return;
        }
        let full = !CALM && !self.has_room(now, size);
        if !SIMPLE && !full && self.lost_on_the_wire() {
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
    fn has_room(&self, now: Nanos, size: u32) -> bool {
        if let Buffer::Packets(limit) = self.limit {
            return (self.queued(now) as u64) < limit;
        }
        self.has_other_room(now, size)
    }

    /// [`Port::has_room`] where the limit is not in packets.
    #[inline(never)]
    fn has_other_room(&self, now: Nanos, size: u32) -> bool {
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
    fn go_on(&mut self, queue: &mut impl Discipline, now: Nanos) -> Option<Departed> {
        if self.turn == Nanos::MAX { self.begin(queue, now) } else { None }
    }

    /// [`Port::go_on`] where nothing was to be sent.
    #[inline(never)]
    fn begin(&mut self, queue: &mut impl Discipline, now: Nanos) -> Option<Departed> {
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
    fn take_turns<const SIMPLE: bool, const CALM: bool>(&mut self, queue: &mut impl Discipline, end: Nanos) {
        while self.turn < end {
            self.take_turn::<SIMPLE, CALM>(queue);
        }
    }

    /// Serves the free transmitter at its turn.
    #[inline(always)]
    fn take_turn<const SIMPLE: bool, const CALM: bool>(&mut self, queue: &mut impl Discipline) {
        let now = self.turn;
        if !CALM {
            self.pass_time::<SIMPLE>(queue, now);
        }
        if !SIMPLE && self.transmitter.rests() {
            self.turn = Nanos::MAX;
            return;
        }
        if let Some(departed) = self.send_next::<SIMPLE>(queue, now) {
            self.departed.push(departed);
        }
    }

    /// Takes the next packet out of the queue and sends it: that packet, if the wire does not lose it. None where none is left.
    #[inline(always)]
    fn send_next<const SIMPLE: bool>(&mut self, queue: &mut impl Discipline, now: Nanos) -> Option<Departed> {
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
        Some(Departed { at, place })
    }

    /// Sends a packet; the time when it reaches the far end.
    #[inline(always)]
    fn transmit<const SIMPLE: bool>(&mut self, now: Nanos, size: u32) -> Nanos {
        self.free = if SIMPLE { self.transmitter.send_next(size) } else { self.transmitter.send(now, size) };
        self.sent_last = size;
        self.sojourn += i128::from(self.free);
        if SIMPLE { self.wire.steady_arrival(self.free) } else { self.wire.arrival(self.free) }
    }

    /// Counts the queue's drops and marks of the last call.
    #[inline(always)]
    fn note_any_deeds(&mut self, now: Nanos) {
        if self.stock.acted {
            self.note_deeds(now);
        }
    }

    #[inline(never)]
    fn note_deeds(&mut self, now: Nanos) {
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
    fn add_waiting<const SIMPLE: bool>(&mut self, size: u32) {
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
    fn remove_waiting<const SIMPLE: bool>(&mut self, size: u32) {
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
    fn lost_on_the_wire(&mut self) -> bool {
        let lost = self.losses.take_next();
        self.totals.wire_lost += u64::from(lost);
        lost
    }

    #[inline(always)]
    fn is_idle(&self, now: Nanos) -> bool {
        self.waiting.packets == 0 && self.turn == Nanos::MAX && !self.is_sending(now)
    }

    /// Packets in the system.
    #[inline(always)]
    fn queued(&self, now: Nanos) -> usize {
        self.waiting.packets as usize + usize::from(self.is_sending(now))
    }

    #[inline(always)]
    fn is_sending(&self, now: Nanos) -> bool {
        self.free > now
    }

    /// Brings everything up to `now`, before anything happens at that moment.
    #[inline(always)]
    fn pass_time<const SIMPLE: bool>(&mut self, queue: &mut impl Discipline, now: Nanos) {
        if now >= self.next_mark {
            self.pass_marks(now);
        }
        while !SIMPLE && now >= self.next_change {
            self.make_change(queue, now);
        }
    }

    /// Changes at `now` apply before any other event of that time.
    #[cold]
    fn make_change(&mut self, queue: &mut impl Discipline, now: Nanos) {
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
    fn pass_marks(&mut self, now: Nanos) {
        while self.next_mark <= now {
            let mark = self.next_mark;
            let sojourn = if self.ledger.needs_sojourn(mark) { self.sojourn_to(mark) } else { 0 };
            let totals = Totals { sojourn, ..self.totals };
            self.ledger.note(mark, self.queued(mark), self.transmitter.use_at(mark), totals, &mut self.max_queue);
            self.next_mark = self.ledger.next();
        }
    }

    /// How long packets have been in the system by `mark`, together.
    fn sojourn_to(&self, mark: Nanos) -> u128 {
        let waited = self.sojourn + i128::from(self.waiting.packets) * i128::from(mark);
        (waited - i128::from(self.free.saturating_sub(mark))) as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::change::trace::Traced;
    use crate::network::fifo::Fifo;
    use crate::scenario::Trace;
    use fullpipe_cc::time::MILLISECOND;
    use proptest::prelude::*;

    /// Of each packet when it has been sent, or that it is lost; and the figures.
    type Outcome = (Vec<Option<Nanos>>, String);

    /// What comes: when, of what size, and whether after the turns of that moment.
    type Arrival = (Nanos, u32, bool);

    fn served(link: &Link, arrivals: &[Arrival], window: Window) -> Outcome {
        let interval = Some(MILLISECOND);
        let mut served = Served::new(link, 1000, 1, Identity::NONE, window, interval, Serving::Everywhere);
        let mut sent = vec![None; arrivals.len()];
        let mut note = |packet: Packet| sent[packet.seq as usize] = Some(packet.at - link.delay);
        for (seq, &(at, size, late)) in (0..).zip(arrivals) {
            let mut packet = Packet { at, seq, ..Packet::default() };
            if served.accept(&mut packet, size, late) {
                note(packet);
            }
        }
        served.let_in(0);
        while served.turn() < window.to {
            served.serve(served.turn());
        }
        let report = format!("{:?} {:?}", served.report(), served.take_series());
        while served.turn() < Nanos::MAX {
            served.serve(served.turn());
        }
        let (departed, mut stock) = served.take_departed();
        departed.iter().for_each(|departed| note(Packet { at: departed.at, ..stock.take(departed.place).packet }));
        (sent, report)
    }

    fn foreseen(link: &Link, arrivals: &[Arrival], window: Window) -> Outcome {
        let mut fifo: Fifo<Traced> = Fifo::new(link, 1, Identity::NONE, window, Some(MILLISECOND));
        let accept = |&(at, size, late): &Arrival| {
            if late {
                fifo.pass(at);
            }
            fifo.accept(at, size)
        };
        let sent = arrivals.iter().map(accept).collect();
        (sent, format!("{:?} {:?}", fifo.report(), fifo.take_series()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        /// Packets come at quarters of a millisecond: a quarter of them when an opportunity may be.
        #[test]
        fn a_trace_is_foreseen_as_it_is_served(
            steps in prop::collection::vec(prop_oneof![Just(0u32), Just(1), 0..9u32], 1..12),
            arrivals in prop::collection::vec(
                (prop_oneof![3 => Just(0u64), 2 => 0..9u64, 1 => Just(40)], prop_oneof![Just(40u32), Just(1504), 1..5000u32], any::<bool>()),
                1..80,
            ),
            buffer in prop_oneof![
                (1u64..12).prop_map(Buffer::Packets),
                (1u64..20_000).prop_map(Buffer::Bytes),
                (1..30 * MILLISECOND).prop_map(Buffer::Time),
                Just(Buffer::Unlimited),
            ],
            loss in prop_oneof![Just(0.0), Just(0.2)],
            (from, length) in (0u64..20, 1u64..60),
        ) {
            let mut time = 0;
            let mut times: Vec<u32> = steps.iter().map(|step| (time += step, time).1).collect();
            times.push(time.max(1));
            let trace = Trace::new(times).expect("a trace");
            let (rate_bps, trace) = (trace.rate_bps(), Some(trace));
            let link = Link { rate_bps, trace, delay: 5, buffer, loss: Loss::Independent(loss), ..Link::default() };
            let mut now = 0;
            let arrival = |(gap, size, late): (u64, u32, bool)| {
                now += gap * MILLISECOND / 4;
                (now, size, late)
            };
            let arrivals: Vec<Arrival> = arrivals.into_iter().map(arrival).collect();
            let window = Window { from: from * MILLISECOND, to: (from + length) * MILLISECOND };
            prop_assert_eq!(foreseen(&link, &arrivals, window), served(&link, &arrivals, window));
        }
    }
}
