//! One direction of a link whose queue decides when the transmitter is free.
//!
//! Nothing but arrivals changes its state, and packets that it sends arrive elsewhere a propagation delay later. So while it is busy,
//! arrivals are put in a list, and departures wait in another. The loop wakes it in time to pass the departures on (`HELD_PACKETS`). Only
//! then it lets the arrivals in and takes its turns, in the order of time, many of both in one call. A link whose wire takes no time, or
//! that a schedule changes, lets each packet in when it comes, and is woken for each turn.
//!
//! The loop uses six methods: [`Served::accept`], [`Served::serve`], [`Served::change`], [`Served::poll`], [`Served::next_departed`], and
//! [`Served::due`].
//!
//! The buffer's limit counts the packet being sent too, as `fifo.rs` does, whatever the queue. A packet that leaves at `now` makes
//! room for one that comes at `now`. The clock counts whole nanoseconds: of packets that take less than one each, several leave at
//! one instant, each in a separate call, and records of that instant may be made between two of them.

mod port;
use super::Serving;
use super::change::delay_line::DelayLine;
use super::change::ecn::EcnField;
use super::change::loss::Losses;
use super::change::policer::Policer;
use super::change::schedule::Schedule;
use super::change::wire::Wire;
use super::discipline::flow_hash::FlowHash;
use super::discipline::labels::Labels;
use super::discipline::{Any, Discipline, Known, Stock, Task, queue_seed};
use super::ledger::{Ledger, Sampled, Totals};
use super::transmitter::Transmitter;
use crate::packet::Packet;
use crate::report::DirectionReport;
use crate::rng::Identity;
use crate::scenario::{Buffer, Link, Loss};
use crate::window::Window;
use fullpipe_cc::Nanos;
use port::{Load, Port};
use std::collections::VecDeque;
use std::sync::Arc;

/// See the head of the file.
#[derive(Debug)]
pub struct Served {
    queue: Any,
    /// Arrivals that have not been let in, in their order.
    coming: Vec<Coming>,
    /// The loop has an entry for the next turn.
    awaited: bool,
    /// Time of the loop's entry for the next change.
    change_at: Nanos,
    /// Packets in the loop that have yet to come, see [`Accepted::Early`].
    in_loop: usize,
    port: Port,
}

/// Departures, about, before the loop takes them: enough to share the cost of one call, and few enough to stay in the cache.
const HELD_PACKETS: u64 = 256;

/// The most that come before they are let in, whenever that is.
const MOST_COMING: usize = 2 * HELD_PACKETS as usize;

/// Arrival, with the fields that are needed when it is let in, which avoids a cache miss for the packet itself.
#[derive(Debug)]
struct Coming {
    known: Known,
    /// Its flow's key, then which of the queue's classes it is of.
    class: u64,
    /// Turns before this come first.
    after: Nanos,
}

/// Packet that has left.
#[derive(Debug)]
struct Departed {
    /// Arrival time at the far end.
    at: Nanos,
    /// Place of the packet in the [`Stock`].
    place: u32,
}

/// Order of an arrival among the events of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Before the link's own actions.
    First,
    /// After the link's own actions.
    Last,
    /// Before the link's own actions. The time is ahead of the loop's.
    Ahead,
}

/// Result of [`Served::accept`].
#[derive(Clone, Copy, Debug)]
pub enum Accepted {
    /// This packet is sent and leaves at once, the one that arrived or another one in its place. `at` is its arrival time at the far end.
    Sent(Packet),
    /// The link has taken the packet.
    Taken,
    /// The time of the packet is too far ahead. It must arrive again as an event.
    Early,
}

/// Request of a link to the loop.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// Call [`Served::serve`] at this time.
    Serve(Nanos),
    /// Call [`Served::change`] at this time.
    Change(Nanos),
    /// Count this packet as lost: the queue has dropped it, or the wire will lose it. In the second case it stays in the queue as if nothing
    /// had happened (during an outage it does not get there).
    Lose(Packet),
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
        let lookahead = if prompt { 0 } else { held.min(link.least_delay() / 2) };
        let mut port = Port {
            plain: link.policer.is_none()
                && never_loses(link)
                && schedule.is_none()
                && transmitter.is_steady()
                && link.ecn_field == EcnField::Keep,
            line: link.limit.map(|packets| Box::new(DelayLine::new(packets))),
            simple: false,
            policer: link.policer.as_ref().map(Policer::new),
            losses: Losses::of(link, seed, identity),
            wire: Wire::new(link, seed, identity),
            ecn_field: link.ecn_field.value(),
            next_change: schedule.as_ref().map_or(Nanos::MAX, |schedule| schedule.next()),
            schedule: schedule.map(Box::new),
            limit: link.buffer,
            timed: matches!(link.buffer, Buffer::Time(_)) && transmitter.is_steady() && !link.queue.shapes(),
            transmitter,
            free: 0,
            waiting: Load::default(),
            sent_last: 0,
            turn: Nanos::MAX,
            lookahead,
            departed: VecDeque::new(),
            stock: Stock::default(),
            lost: Vec::new(),
            totals: Totals::default(),
            sojourn: 0,
            max_queue: 0,
            next_mark: ledger.next(),
            ledger,
        };
        let in_packets = matches!(port.limit, Buffer::Packets(_) | Buffer::Unlimited);
        port.simple = port.plain && in_packets && !port.wire.varies() && !link.queue.shapes();
        Served { queue, coming: Vec::new(), awaited: false, change_at: Nanos::MAX, in_loop: 0, port }
    }

    /// Sets the hash of flows into queues; before the first packet.
    pub fn set_flow_hash(&mut self, hash: FlowHash) {
        self.queue.set_flow_hash(hash);
    }

    /// Sets the hosts and classes of packets; before the first packet.
    pub fn set_labels(&mut self, labels: &Arc<Labels>) {
        self.queue.set_labels(labels);
    }

    /// Handles the arrival of a packet of `size` bytes at `packet.at`. Afterwards the loop calls [`Served::poll`].
    #[inline(always)]
    pub fn accept(&mut self, packet: &Packet, size: u32, order: Order) -> Accepted {
        if self.keeps() {
            self.coming.push(self.port.coming(packet, size, order == Order::Last));
            if self.coming.len() >= MOST_COMING {
                self.let_in(0);
            }
            return Accepted::Taken;
        }
        self.accept_now(*packet, size, order)
    }

    /// Whether arrivals are put in a list, and let in later.
    #[inline(always)]
    fn keeps(&self) -> bool {
        self.port.lookahead > 0 && (self.port.turn < Nanos::MAX || !self.coming.is_empty())
    }

    /// [`Served::accept`] where the packet is let in at once.
    #[inline(never)]
    fn accept_now(&mut self, packet: Packet, size: u32, order: Order) -> Accepted {
        if order != Order::Ahead {
            self.in_loop = self.in_loop.saturating_sub(1);
        } else if self.port.lookahead == 0 && !(self.in_loop == 0 && self.port.is_idle(packet.at)) {
            self.in_loop += 1;
            return Accepted::Early;
        }
        let late = order == Order::Last;
        let Served { queue, port, .. } = self;
        let now = packet.at;
        while port.turn < now + Nanos::from(late) {
            port.take_turn::<false, false>(queue);
        }
        port.pass_time::<false>(queue, now);
        port.note_arrivals(1, now.into());
        if let Some(at) = port.let_pass(queue, &packet, size) {
            if port.departed.is_empty() {
                return Accepted::Sent(Packet { at, ..packet });
            }
            let Known { place, .. } = port.stock.put(&packet, size);
            port.departed.push_back(Departed { at, place });
            return Accepted::Taken;
        }
        let mut coming = port.coming(&packet, size, late);
        coming.expect(queue);
        port.enqueue::<false, false>(queue, &coming);
        match port.go_on(queue, now) {
            None => Accepted::Taken,
            // Behind others that have left.
            Some(departed) if !port.departed.is_empty() => {
                port.departed.push_back(departed);
                Accepted::Taken
            }
            Some(departed) => Accepted::Sent(port.take(departed)),
        }
    }

    /// Lets in all that has come, and takes the turns before the last of them, and before `end`.
    #[inline(never)]
    fn let_in(&mut self, end: Nanos) {
        self.queue.perform(LetIn { port: &mut self.port, coming: &mut self.coming, end });
    }

    /// Takes the turns that are due at `now`, the time of [`Request::Serve`]. Afterwards the loop calls [`Served::poll`], then
    /// [`Served::next_departed`] until it returns `None`.
    #[inline]
    pub fn serve(&mut self, now: Nanos) {
        self.awaited = false;
        if self.port.lookahead > 0 {
            self.let_in(now + 1);
        } else if self.port.turn <= now {
            self.port.take_turn::<false, false>(&mut self.queue);
        }
    }

    /// Next packet that has left, in the order of departures.
    #[inline(always)]
    pub fn next_departed(&mut self) -> Option<Packet> {
        self.port.departed.pop_front().map(|departed| self.port.take(departed))
    }

    /// Time of the next action that needs no event: 0 for arrivals and departures that the loop has not handled, then the next turn.
    pub fn due(&self) -> Nanos {
        if self.coming.is_empty() && self.port.departed.is_empty() { self.port.turn } else { 0 }
    }

    /// Applies the schedule's change at `now`. Returns the packet that leaves at once, if any. Afterwards the loop calls [`Served::poll`].
    pub fn change(&mut self, now: Nanos) -> Option<Packet> {
        let Served { queue, port, .. } = self;
        port.pass_time::<false>(queue, now);
        let departed = port.go_on(queue, now)?;
        Some(port.take(departed))
    }

    /// Next request to the loop. Each request is made once.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Request> {
        let wants_turn = !self.awaited && self.port.turn < Nanos::MAX;
        let is_calm = !wants_turn && self.port.lost.is_empty() && self.change_at == self.port.next_change;
        if is_calm { None } else { self.request() }
    }

    #[inline(never)]
    fn request(&mut self) -> Option<Request> {
        if self.change_at != self.port.next_change {
            self.change_at = self.port.next_change;
            if self.change_at < Nanos::MAX {
                return Some(Request::Change(self.change_at));
            }
        }
        if !self.awaited && self.port.turn < Nanos::MAX {
            self.awaited = true;
            return Some(Request::Serve(self.port.turn.saturating_add(self.port.lookahead)));
        }
        self.port.lost.pop().map(Request::Lose)
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
            + port.line.as_ref().map_or(0, |line| line.heap_bytes())
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

/// Whether the wire of a link loses no packet, unless a schedule says so.
fn never_loses(link: &Link) -> bool {
    link.loss == Loss::NONE && link.loss_trace.is_none() && link.drop.is_empty() && link.limit.is_none()
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

#[cfg(test)]
mod tests;
