//! One direction of a link whose queue decides when the transmitter is free.
//!
//! Between two packets that come, nobody else has a say in what it does, and what it sends is felt elsewhere a propagation delay later.
//! So it takes its turns when the next packet comes, all that are due by then, and what has left waits in a list; the loop wakes
//! it in time to hand that on (`HELD_PACKETS`). A link whose wire takes no time, or that a schedule changes, is woken for each turn.
//!
//! The buffer's limit counts the packet being sent too, as `fifo.rs` does, whatever the queue. A packet that leaves at `now` makes
//! room for one that comes at `now`. The clock counts whole nanoseconds: of packets that take less than one each, several leave at
//! the same instant, each in a call of its own, and what is noted at that instant may be noted between two of them.

use super::Serving;
use super::change::loss::Losses;
use super::change::policer::Policer;
use super::change::schedule::{Schedule, Settings};
use super::change::wire::Wire;
use super::discipline::{Any, Deeds, Discipline, Fate, Queued};
use super::ledger::{Ledger, Sampled, Totals};
use super::line::Span;
use super::transmitter::Transmitter;
use crate::packet::{Kind, Packet};
use crate::report::DirectionReport;
use crate::rng::{Purpose, Rng};
use crate::scenario::{Buffer, Link, Loss};
use crate::window::Window;
use fullpipe_cc::Nanos;

/// See the head of the file.
#[derive(Debug)]
pub struct Served {
    /// Neither a policer nor losses, and always the same rate: most links.
    plain: bool,
    policer: Option<Policer>,
    queue: Any,
    transmitter: Transmitter,
    losses: Losses,
    wire: Wire,
    schedule: Option<Box<Schedule>>,
    /// When something changes next; never for most links.
    next_change: Nanos,
    limit: Buffer,
    /// The limit is a time, and how long a packet takes never changes.
    timed: bool,
    /// What waits in the queue.
    waiting: Waiting,
    /// Size of the packet that was sent last, bytes; it is being sent until the transmitter is free.
    sent_last: u32,
    /// When the next of those that wait begins to be sent; beyond every run if none waits.
    turn: Nanos,
    /// How long after a turn the loop has to be told of it; 0 where at once.
    lookahead: Nanos,
    /// What has left since the loop was told, in that order.
    departed: Vec<Packet>,
    /// An alarm stands in the loop.
    awaited: bool,
    /// Packets that stand in the loop for when they come, see [`Served::takes_ahead`].
    coming: usize,
    /// Boxes for packets to come.
    #[expect(clippy::vec_box, reason = "boxes are handed on and used again")]
    spare: Vec<Box<Queued>>,
    /// What the queue did in the call under way.
    deeds: Deeds,
    /// See [`Served::lost`].
    lost: Vec<Packet>,
    totals: Totals,
    /// When packets left, or will have been sent, less when they came: all those that have come, and have left the queue.
    sojourn: i128,
    max_queue: usize,
    next_mark: Nanos,
    ledger: Ledger,
}

/// How many packets may have left, about, before the loop is told: so many that waking costs little for each of them, and so few that
/// they stay in the cache.
const HELD_PACKETS: u64 = 64;

/// Packets in a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    packets: u64,
    bytes: u64,
    /// Data and datagrams that are not lost yet.
    data: u64,
    /// How long they take to send; known where [`Served::timed`].
    time: Span,
}

impl Served {
    /// An idle link. `index` numbers all directions, for their random streams; `interval` is that of the series.
    pub fn new(
        link: &Link,
        packet_size: u32,
        seed: u64,
        index: u64,
        window: Window,
        interval: Option<Nanos>,
        serving: Serving,
    ) -> Self {
        let ledger = Ledger::new(window, interval);
        let schedule = Schedule::new(link);
        let transmitter = Transmitter::new(link);
        let mut queue = Any::new(&link.queue, Rng::new(seed, Purpose::Queue, index).bits(), packet_size);
        queue.set_rate(0, link.rate_bps);
        let held = transmitter.time_of(HELD_PACKETS * u64::from(packet_size));
        let prompt = schedule.is_some() || serving == Serving::Promptly;
        let lookahead = if prompt { 0 } else { held.min(link.delay / 2) };
        Served {
            plain: link.policer.is_none() && link.loss == Loss::NONE && schedule.is_none() && transmitter.is_steady(),
            policer: link.policer.as_ref().map(Policer::new),
            queue,
            losses: Losses::new(link.loss, seed, index),
            wire: Wire::new(link, seed, index),
            next_change: schedule.as_ref().map_or(Nanos::MAX, |schedule| schedule.next()),
            schedule: schedule.map(Box::new),
            limit: link.buffer,
            timed: matches!(link.buffer, Buffer::Time(_)) && transmitter.is_steady(),
            transmitter,
            waiting: Waiting::default(),
            sent_last: 0,
            turn: Nanos::MAX,
            lookahead,
            departed: Vec::new(),
            awaited: false,
            coming: 0,
            spare: Vec::new(),
            deeds: Deeds::default(),
            lost: Vec::new(),
            totals: Totals::default(),
            sojourn: 0,
            max_queue: 0,
            next_mark: ledger.next(),
            ledger,
        }
    }

    /// Whether a packet that will come at `at`, behind all that are known, is accepted right now, ahead of the clock. If not it has to
    /// come in its turn, [`Served::comes`] first.
    #[inline]
    pub fn takes_ahead(&mut self, at: Nanos) -> bool {
        if self.lookahead > 0 {
            return true;
        }
        // Nothing will be in its way.
        let idle = self.coming == 0 && self.is_idle(at);
        self.coming += usize::from(!idle);
        idle
    }

    /// It is the turn of a packet; one of those that could not be taken ahead, if there are any.
    #[inline]
    pub fn comes(&mut self) {
        self.coming = self.coming.saturating_sub(1);
    }

    /// A packet of `size` bytes comes at `packet.at`, before what the link itself does at that moment or, `late`, after it. Says whether a
    /// packet is sent at once, and goes on at once: `packet` is that one then, and `packet.at` when it reaches the far end. Look at
    /// [`Served::lost`] and [`Served::call_at`] afterwards.
    #[inline]
    pub fn accept(&mut self, packet: &mut Packet, size: u32, late: bool) -> bool {
        let now = packet.at;
        while self.turn < now + Nanos::from(late) {
            self.take_turn();
        }
        self.pass_time(now);
        self.totals.arrived += 1;
        if self.plain && self.is_idle(now) && self.has_room(now, size) && self.queue.lets_pass(now, packet, size) {
            self.sojourn -= i128::from(now);
            self.ledger.note_end_of_wait(now, now);
            self.max_queue = self.max_queue.max(1);
            packet.at = self.transmit(now, size);
            return self.leaves_at_once(packet);
        }
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(now, size)) {
            self.totals.dropped += 1;
            self.lost.push(*packet);
            return false;
        }
        let full = !self.has_room(now, size);
        let fate = match packet.kind {
            _ if !full && self.lost_on_the_wire() => Fate::Lost,
            Kind::Data | Kind::Datagram => Fate::Arrives,
            _ => Fate::AckArrives,
        };
        if fate == Fate::Lost {
            self.lost.push(*packet);
            if self.transmitter.rests() {
                return false;
            }
        }
        let mut queued = self.spare.pop().unwrap_or_default();
        *queued = Queued { packet: *packet, size, entered: now, fate };
        self.add_waiting(&queued);
        self.queue.enqueue(now, queued, full, &mut self.deeds);
        if self.deeds.any() {
            self.note_deeds(now);
        }
        self.max_queue = self.max_queue.max(self.queued(now));
        self.go_on(now, packet) && self.leaves_at_once(packet)
    }

    /// It is `now` what [`Served::call_at`] has said: takes the turns that are due. Look at [`Served::departed`] afterwards, and at what
    /// [`Served::accept`] says.
    #[inline]
    pub fn serve(&mut self, now: Nanos) {
        self.awaited = false;
        while self.turn <= now {
            self.take_turn();
            if self.lookahead == 0 {
                return;
            }
        }
    }

    /// What has left since somebody looked, in that order.
    #[inline]
    pub fn departed(&mut self) -> &mut Vec<Packet> {
        &mut self.departed
    }

    /// When the next packet begins to be sent of those that wait; beyond every run if none waits.
    pub fn turn(&self) -> Nanos {
        self.turn
    }

    /// When [`Served::change`] has to be called next; beyond every run if never.
    pub fn next_change(&self) -> Nanos {
        self.next_change
    }

    /// Something changes at `now`, as the schedule said it would. The rest is as of [`Served::accept`].
    pub fn change(&mut self, now: Nanos, packet: &mut Packet) -> bool {
        self.pass_time(now);
        self.go_on(now, packet)
    }

    /// Whether [`Served::call_at`] or [`Served::lost`] has anything to say.
    #[inline(always)]
    pub fn wants_attention(&self) -> bool {
        !self.awaited && self.turn < Nanos::MAX || !self.lost.is_empty()
    }

    /// When the loop has to call [`Served::serve`], if it does not know yet.
    pub fn call_at(&mut self) -> Option<Nanos> {
        if self.awaited || self.turn == Nanos::MAX {
            return None;
        }
        self.awaited = true;
        Some(self.turn.saturating_add(self.lookahead))
    }

    /// Takes a packet that was lost in the last call, if there is one left: dropped by the queue, or one that the wire will lose,
    /// which stays in the queue as if nothing had happened (during an outage it does not get there).
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
            + self.ledger.heap_bytes()
            + (self.waiting.packets as usize + self.spare.len()) * size_of::<Queued>()
            + (self.spare.capacity() + self.deeds.dropped.capacity()) * size_of::<Box<Queued>>()
            + (self.lost.capacity() + self.departed.capacity()) * size_of::<Packet>()
    }

    /// The figures of the measuring window; call once the run is over.
    pub fn report(&mut self) -> DirectionReport {
        self.pass_marks(self.ledger.end());
        self.ledger.report()
    }

    /// Ends the series, and hands over its columns.
    pub fn take_series(&mut self) -> Option<Sampled> {
        self.pass_marks(self.ledger.end());
        self.ledger.take_series()
    }

    /// Whether the buffer holds `size` bytes more at `now`.
    #[inline(always)]
    fn has_room(&self, now: Nanos, size: u32) -> bool {
        match self.limit {
            Buffer::Unlimited => true,
            Buffer::Packets(limit) => (self.queued(now) as u64) < limit,
            Buffer::Bytes(limit) => {
                let sending = if self.is_sending(now) { self.sent_last } else { 0 };
                self.waiting.bytes + u64::from(sending) + u64::from(size) <= limit
            }
            Buffer::Time(limit) => {
                let free = if self.timed {
                    self.transmitter.free_after(self.waiting.time)
                } else {
                    self.transmitter.free().max(now).saturating_add(self.transmitter.time_of(self.waiting.bytes))
                };
                self.queued(now) == 0 || free.saturating_sub(now) < limit
            }
        }
    }

    /// Sends what waits, now or when the transmitter is free.
    #[inline(always)]
    fn go_on(&mut self, now: Nanos, packet: &mut Packet) -> bool {
        self.turn == Nanos::MAX && self.begin(now, packet)
    }

    /// The same where nothing was to be sent.
    #[inline(never)]
    fn begin(&mut self, now: Nanos, packet: &mut Packet) -> bool {
        if self.waiting.packets == 0 || self.transmitter.rests() {
            return false;
        }
        let start = self.transmitter.start_after(now);
        if start > now {
            self.turn = start;
            return false;
        }
        let Some((at, queued)) = self.send_next(now) else { return false };
        *packet = queued.packet;
        packet.at = at;
        let lost = queued.fate == Fate::Lost;
        self.spare.push(queued);
        !lost
    }

    /// The transmitter is free, as it has said it would be.
    #[inline]
    fn take_turn(&mut self) {
        let now = std::mem::replace(&mut self.turn, Nanos::MAX);
        self.pass_time(now);
        if self.transmitter.rests() {
            return;
        }
        let Some((at, queued)) = self.send_next(now) else { return };
        if queued.fate != Fate::Lost {
            // Copied once, whole, and only then changed: what has been written in parts just now is slow to read as a whole.
            self.departed.push(queued.packet);
            if let Some(packet) = self.departed.last_mut() {
                packet.at = at;
            }
        }
        self.spare.push(queued);
    }

    /// A packet has just been sent. Says whether it goes on at once; otherwise it is behind others that have left.
    #[inline]
    fn leaves_at_once(&mut self, packet: &Packet) -> bool {
        if !self.departed.is_empty() {
            self.departed.push(*packet);
            return false;
        }
        true
    }

    /// Takes the next packet out of the queue and sends it; says when it reaches the far end, if the wire does not lose it. None where
    /// none is left.
    #[inline(always)]
    fn send_next(&mut self, now: Nanos) -> Option<(Nanos, Box<Queued>)> {
        let next = self.queue.dequeue(now, &mut self.deeds);
        if self.deeds.any() {
            self.note_deeds(now);
        }
        let queued = next?;
        self.remove_waiting(&queued);
        self.ledger.note_end_of_wait(queued.entered, now);
        let at = self.transmit(now, queued.size);
        if self.waiting.packets > 0 {
            self.turn = self.transmitter.start();
        }
        Some((at, queued))
    }

    /// A packet is sent; says when it reaches the far end.
    #[inline(always)]
    fn transmit(&mut self, now: Nanos, size: u32) -> Nanos {
        self.transmitter.send(now, size);
        self.sent_last = size;
        self.sojourn += i128::from(self.transmitter.free());
        self.wire.arrival(self.transmitter.free())
    }

    /// Counts what the queue has just done.
    #[inline(never)]
    fn note_deeds(&mut self, now: Nanos) {
        self.totals.marked += std::mem::take(&mut self.deeds.marked);
        let mut dropped = std::mem::take(&mut self.deeds.dropped);
        for queued in dropped.drain(..) {
            self.remove_waiting(&queued);
            self.sojourn += i128::from(now);
            self.totals.dropped += 1;
            if queued.fate == Fate::Lost {
                // It is the queue's and not the wire's.
                self.totals.wire_lost -= 1;
            } else {
                self.lost.push(Packet { at: now, ..queued.packet });
            }
            self.spare.push(queued);
        }
        self.deeds.dropped = dropped;
    }

    #[inline(always)]
    fn add_waiting(&mut self, queued: &Queued) {
        self.sojourn -= i128::from(queued.entered);
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(queued.size);
        self.waiting.data += u64::from(queued.fate == Fate::Arrives);
        if self.timed {
            self.waiting.time = self.waiting.time.with(self.transmitter.transmission(queued.size));
        }
    }

    #[inline(always)]
    fn remove_waiting(&mut self, queued: &Queued) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(queued.size);
        self.waiting.data -= u64::from(queued.fate == Fate::Arrives);
        if self.timed {
            self.waiting.time = self.waiting.time.without(self.transmitter.transmission(queued.size));
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
        self.transmitter.free() > now
    }

    /// Brings everything up to `now`, before anything happens at that moment.
    #[inline(always)]
    fn pass_time(&mut self, now: Nanos) {
        if now >= self.next_mark {
            self.pass_marks(now);
        }
        while now >= self.next_change {
            self.make_change(now);
        }
    }

    /// What changes at `now` is changed before anything else happens then, whatever asks first.
    #[cold]
    fn make_change(&mut self, now: Nanos) {
        let Some(schedule) = &mut self.schedule else { return };
        let Settings { rate_bps, delay, loss } = schedule.step();
        self.next_change = schedule.next();
        self.wire.set_delay(delay);
        self.losses.set(loss);
        if self.transmitter.set_rate(now, rate_bps) {
            self.queue.set_rate(now, rate_bps);
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
        (waited - i128::from(self.transmitter.free().saturating_sub(mark))) as u128
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
        let mut served = Served::new(link, 1000, 1, 0, window, interval, Serving::Everywhere);
        let mut sent = vec![None; arrivals.len()];
        let mut note = |packet: Packet| sent[packet.seq as usize] = Some(packet.at - link.delay);
        for (seq, &(at, size, late)) in (0..).zip(arrivals) {
            let mut packet = Packet { at, seq, ..Packet::default() };
            if served.accept(&mut packet, size, late) {
                note(packet);
            }
        }
        while served.turn() < window.to {
            served.serve(served.turn());
        }
        let report = format!("{:?} {:?}", served.report(), served.take_series());
        while served.turn() < Nanos::MAX {
            served.serve(served.turn());
        }
        served.departed().drain(..).for_each(note);
        (sent, report)
    }

    fn foreseen(link: &Link, arrivals: &[Arrival], window: Window) -> Outcome {
        let mut fifo: Fifo<Traced> = Fifo::new(link, 1, 0, window, Some(MILLISECOND));
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
