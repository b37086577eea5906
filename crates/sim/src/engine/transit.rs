//! Movement of packets: links, the order of arrivals, timers.

mod datagrams;
mod direct;
mod quic;

use crate::engine::burst::{self, Rest};
use crate::engine::schedule::Schedule;
use crate::engine::timers::{Timer, Timers};
use crate::engine::tracing;
use crate::network::served::{Accepted, Order, Request};
use crate::network::{Direct, End, Hop, Network, Route};
use crate::packet::{AckNote, NoteSlot, Notes, Packet, PacketKind, Segment};
use crate::report::PacketCount;
use crate::report::log::SampleLog;
use crate::rng::Ties;
use crate::scenario::{Scenario, order};
use crate::trace::Tracer;
use crate::traffic::connection::{Connection, Life};
use crate::transport::policy::Policy;
use crate::transport::receiver::Reply;
use crate::transport::sender::Arrival;
use crate::window::Window;
use fullpipe_cc::Nanos;

/// Links, packets in flight, and timers.
pub struct Transit {
    /// Measurement interval: the run without its warm-up.
    pub window: Window,
    /// The links.
    pub network: Network,
    /// Packets in flight.
    pub schedule: Schedule,
    /// Alarms.
    pub timers: Timers,
    /// The series of the flows.
    pub log: SampleLog,
    /// Counts of data packets by outcome.
    pub count: PacketCount,
    /// Segments that each flow (web traffic has none) lost in the window.
    pub lost: Vec<u64>,
    /// Further fields of ACKs in flight.
    pub notes: Notes,
    /// The present event is a timer: its packets arrive after the departures of links at that moment.
    pub by_timer: bool,
    /// Events left before the next check of watch and memory.
    pub left: u32,
    /// Rest of a long burst.
    pub rest: Option<Rest>,
    /// Files of packets; `None` in runs without them.
    pub tracer: Option<Box<Tracer>>,
    packet_size: u32,
    ack_size: u32,
}

impl Transit {
    /// An idle network.
    pub fn new(scenario: &Scenario, network: Network) -> Self {
        let ties = Ties::new(scenario.seed);
        let mut schedule = Schedule::new(ties);
        // Packets that have left a direction, for stops that need an event: the stream of the same number.
        for link in &scenario.links {
            for reverse in [false, true] {
                schedule.add_stream(order::direction(&link.name, reverse));
            }
        }
        Transit {
            window: Window { from: scenario.warmup, to: scenario.duration },
            network,
            schedule,
            timers: Timers::new(ties),
            log: SampleLog::new(scenario.series_interval, scenario.packet_size),
            count: PacketCount::default(),
            lost: Vec::new(),
            notes: Notes::default(),
            by_timer: false,
            left: 0,
            rest: None,
            tracer: None,
            packet_size: scenario.packet_size,
            ack_size: scenario.ack_size,
        }
    }

    /// Hands an ACK to its sender. Returns the time on the flow's clock; `None` if the connection is over.
    #[inline(always)]
    pub fn hand_over<P: Policy>(&mut self, flow: &mut Connection<P>, ack: &Packet) -> Option<Nanos> {
        if ack.note != NoteSlot::NONE {
            self.prefetch_next_note();
        }
        let note = self.notes.take(ack.note);
        let now = ack.at - flow.access;
        if flow.life != Life::Open || ack.incarnation != flow.incarnation || now >= self.window.to {
            return None;
        }
        let arrival = Arrival { cumulative: ack.seq, stamp: ack.stamp, receiver_stamp: ack.aside };
        flow.sender.pass_time(now, flow.id, &mut self.log);
        match note {
            None => flow.sender.on_ack(now, &arrival),
            Some(note) => flow.sender.on_noted_ack(now, &arrival, note),
        }
        if P::MAY_FAIL {
            tracing::acked(&mut self.tracer, flow, now, &arrival, note);
        }
        Some(now)
    }

    /// Prefetches the note of the next ACK, which has left the cache meanwhile.
    #[inline(always)]
    pub fn prefetch_next_note(&self) {
        if let Some((_, note)) = self.schedule.upcoming(0) {
            self.notes.prefetch(note);
        }
    }

    /// Sends as much as the window allows. `at` is the loop's time; the flow's clock is one access delay behind.
    #[inline(always)]
    pub fn pump<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let now = at - flow.access;
        if flow.sender.sends_ranges() {
            let mut segments = flow.sender.new_segments(now);
            if segments.end - segments.start > burst::SMALL {
                segments = self.cut(flow.id, at, segments);
            }
            for seq in segments {
                self.send(flow, seq, at, now, true);
            }
        } else {
            self.pump_one_by_one(flow, at, now);
        }
        self.arm(flow);
    }

    /// Sends segments one by one, as far as window and pacer allow.
    #[inline(never)]
    pub fn pump_one_by_one<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos, now: Nanos) {
        let mut high = flow.sender.high();
        let mut sent = 0;
        while let Some(seq) = flow.sender.next_segment(now) {
            self.send(flow, seq, at, now, seq >= high);
            high = flow.sender.high();
            sent += 1;
            if sent == burst::PART {
                return self.cut_here(flow.id, at);
            }
        }
        if sent > burst::SMALL {
            self.count_burst(sent);
        }
        if let Some(due) = flow.sender.wake(now) {
            // With many flows a timer costs more than a place among the packets.
            let at = due + flow.access;
            if !self.schedule.push_pace(flow.id, at) {
                self.timers.set_of(at, Timer::Pace(flow.id), self.schedule.flow(flow.id));
            }
        }
    }

    /// Sends segment `seq`, which is new or a retransmission. It leaves its sender at `now` by the flow's clock, and reaches the first link
    /// at `at`.
    #[inline(always)]
    pub fn send<P: Policy>(&mut self, flow: &mut Connection<P>, seq: u64, at: Nanos, now: Nanos, new: bool) {
        if P::MAY_FAIL && self.tracer.is_some() {
            return self.send_in_general(flow, seq, at, now, new);
        }
        match flow.direct {
            Some(Direct { there: End::Fifo(there), back }) => {
                self.send_direct(flow, there, back, Segment::new(flow.id, seq, flow.incarnation, at, now));
            }
            Some(Direct { there: End::Served(there), .. }) => {
                self.send_served(flow, there, Segment::new(flow.id, seq, flow.incarnation, at, now));
            }
            _ => self.send_in_general(flow, seq, at, now, new),
        }
    }

    /// Sends a segment that may need events on its way.
    #[inline(never)]
    fn send_in_general<P: Policy>(&mut self, flow: &mut Connection<P>, seq: u64, at: Nanos, now: Nanos, new: bool) {
        let marks = flow.sender.marks(new);
        if P::MAY_FAIL {
            tracing::sent(&mut self.tracer, flow, seq, now, new, marks);
        }
        let mut segment = Segment { marks, ..Segment::new(flow.id, seq, flow.incarnation, at, now) };
        match &mut flow.access_link {
            None => self.carry(flow, &mut segment.packet(PacketKind::Data), false),
            Some(link) => {
                segment.at = link.send(segment.at, self.packet_size);
                self.schedule.push(link.stream, &segment.packet(PacketKind::Data));
            }
        }
    }

    /// Sends a SYN of an ACK's size. The receiver answers at once with a SYN-ACK of that size.
    pub fn send_syn<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let (stamp, hop) = (at - flow.access, flow.route.hops);
        if P::MAY_FAIL {
            tracing::started(&mut self.tracer, flow, stamp, true);
        }
        let mut syn = Packet {
            at,
            stamp,
            flow: flow.id,
            incarnation: flow.incarnation,
            hop,
            kind: PacketKind::Syn,
            ..Packet::default()
        };
        match &mut flow.access_link {
            None => self.carry(flow, &mut syn, false),
            Some(link) => {
                syn.at = link.send(at, self.ack_size);
                self.schedule.push(link.stream, &syn);
            }
        }
        self.arm(flow);
    }

    /// Sends a packet against the direction of the data: a request.
    pub fn send_answer<P: Policy>(&mut self, flow: &mut Connection<P>, mut packet: Packet) {
        self.carry(flow, &mut packet, false);
    }

    /// Size of a SYN-ACK, or of a request, which has a number.
    #[cold]
    fn answer_size<P>(&self, flow: &Connection<P>, packet: &Packet) -> u32 {
        let client = flow.source.as_ref().filter(|_| packet.seq > 0).and_then(|source| source.client.as_ref());
        client.map_or(self.ack_size, |client| client.request_size)
    }

    /// Handles the arrival of a segment or an ACK at its next stop.
    #[inline(always)]
    pub fn move_on<P: Policy>(&mut self, flow: &mut Connection<P>, mut packet: Packet) {
        if packet.kind == PacketKind::Received {
            match self.deliver(flow, (&packet).into()) {
                Some(ack) => packet = ack,
                None => return,
            }
        }
        self.carry(flow, &mut packet, false);
    }

    /// General path: moves a segment or an ACK until it is lost or needs an event. A segment may reach the receiver, whose ACK moves on.
    /// `ahead`: its time is ahead of the loop's. By reference, since the compiler would copy the packet for each stop.
    #[inline(always)]
    fn carry<P: Policy>(&mut self, flow: &mut Connection<P>, packet: &mut Packet, mut ahead: bool) {
        loop {
            let hop = self.network.hop(flow.route, packet.hop);
            let size = match packet.kind {
                PacketKind::Data => self.packet_size,
                PacketKind::SynAck => self.answer_size(flow, packet),
                _ => self.ack_size,
            };
            if let End::Fifo(place) = hop.end {
                let link = &mut self.network.fifos[place as usize];
                let Some(departure) = link.accept(packet.at, size) else { return self.lose(packet) };
                packet.at = departure + link.delay;
            } else if !self.offer(flow.route, hop, packet, size, ahead) {
                return;
            }
            if !self.goes_on(flow, hop, packet) {
                return;
            }
            ahead = true;
        }
    }

    /// Handles the departure of a packet from a link. `packet.at` is its arrival time at the far end. Returns whether it moves on at once;
    /// otherwise it waits for an event, or has been delivered.
    #[inline(always)]
    fn goes_on<P: Policy>(&mut self, flow: &mut Connection<P>, hop: Hop, packet: &mut Packet) -> bool {
        packet.hop += 1;
        packet.kind = hop.then;
        if !hop.runs_on {
            let home = hop.then.is_home();
            packet.at += if home { 2 * flow.access } else { 0 };
            self.schedule.push(if home { flow.ack_stream } else { hop.direction }, packet);
            return false;
        }
        if hop.then == PacketKind::Received {
            self.receive(flow, (&*packet).into());
            return false;
        }
        true
    }

    /// Hands a packet to a link that follows a trace or is served. Returns whether a packet is sent, this one or another one in its place,
    /// whose arrival time at the far end is then known.
    #[inline(always)]
    fn offer(&mut self, route: Route, hop: Hop, packet: &mut Packet, size: u32, ahead: bool) -> bool {
        match hop.end {
            End::Fifo(_) => unreachable!("needs no call"),
            End::Traced(place) => self.offer_traced(place, packet, size, ahead),
            End::Served(place) => match self.offer_served(place, route, packet, size, ahead) {
                Some(sent) => {
                    *packet = sent;
                    true
                }
                None => false,
            },
        }
    }

    /// Hands a packet to a link that follows a trace.
    #[inline(never)]
    fn offer_traced(&mut self, place: u32, packet: &mut Packet, size: u32, ahead: bool) -> bool {
        let link = &mut self.network.traced[place as usize];
        if self.by_timer && !ahead {
            link.pass(packet.at);
        }
        let Some(departure) = link.accept(packet.at, size) else {
            self.lose(packet);
            return false;
        };
        packet.at = departure + link.delay;
        true
    }

    /// Hands a packet to a served link. Returns the packet that is sent at once, if any. The packet may have to wait for its event if its time
    /// is ahead of the loop's.
    #[inline(always)]
    fn offer_served(&mut self, place: u32, route: Route, packet: &Packet, size: u32, ahead: bool) -> Option<Packet> {
        let order = match (ahead, self.by_timer) {
            (true, _) => Order::Ahead,
            (false, true) => Order::Last,
            (false, false) => Order::First,
        };
        let accepted = self.network.served[place as usize].accept(packet, size, order);
        self.attend_to(place);
        match accepted {
            Accepted::Sent(packet) => Some(packet),
            Accepted::Taken => None,
            Accepted::Early => {
                let before = self.network.hop(route, packet.hop - 1).direction;
                self.schedule.push(before, packet);
                None
            }
        }
    }

    /// Serves a link, whose next packet is due.
    #[inline]
    pub fn serve(&mut self, place: u32, now: Nanos) {
        self.network.served[place as usize].serve(now);
        self.attend_to(place);
    }

    /// Applies a scheduled change of a link. Returns the packet that leaves because of it.
    pub fn change(&mut self, place: u32, now: Nanos) -> Option<Packet> {
        let sent = self.network.served[place as usize].change(now);
        self.attend_to(place);
        sent
    }

    /// Handles the requests of a served link.
    #[inline(always)]
    pub fn attend_to(&mut self, place: u32) {
        while let Some(request) = self.network.served[place as usize].poll() {
            self.grant(place, request);
        }
    }

    #[inline(never)]
    fn grant(&mut self, place: u32, request: Request) {
        match request {
            Request::Serve(at) => self.timers.set(at, Timer::Turn(place)),
            Request::Change(at) => self.timers.set(at, Timer::Change(place)),
            Request::Lose(packet) => self.lose(&packet),
        }
    }

    /// Moves on a segment or an ACK of `flow` that has left a served link, and reaches the far end at `at`.
    #[inline(always)]
    pub fn leave<P: Policy>(&mut self, flow: &mut Connection<P>, packet: &Packet, at: Nanos) {
        let hop = self.network.hop(flow.route, packet.hop);
        if hop.runs_on && hop.then == PacketKind::Received {
            // Without a copy of the packet, which would cause a store-to-load forwarding stall.
            return self.receive(flow, Segment { at, hop: packet.hop + 1, ..packet.into() });
        }
        let mut packet = Packet { at, ..*packet };
        if self.goes_on(flow, hop, &mut packet) {
            self.carry(flow, &mut packet, true);
        }
    }

    #[inline(never)]
    fn leave_by_call<P: Policy>(&mut self, flow: &mut Connection<P>, packet: &Packet) {
        self.leave(flow, packet, packet.at);
    }

    /// Counts a lost packet.
    fn lose(&mut self, packet: &Packet) {
        match packet.kind {
            PacketKind::Ack => {
                self.notes.take(packet.note);
            }
            PacketKind::Syn | PacketKind::SynAck => {}
            PacketKind::Datagram => self.count_lost(packet.at),
            _ => self.count_lost_segment(packet.flow, packet.at),
        }
    }

    /// Delivers a segment that has left a link, and moves on its ACK, if there is one.
    #[inline(always)]
    fn receive<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) {
        match flow.direct {
            Some(Direct { back, .. })
                if segment.incarnation == flow.incarnation && !(P::MAY_FAIL && self.tracer.is_some()) =>
            {
                self.receive_direct(flow, back, segment)
            }
            _ => self.deliver_by_call(flow, segment),
        }
    }

    /// Delivers a segment, and moves on the ACK, if there is one.
    #[inline(never)]
    fn deliver_by_call<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) {
        if let Some(mut ack) = self.deliver(flow, segment) {
            self.carry(flow, &mut ack, true);
        }
    }

    /// Delivers a segment. Returns its ACK, unless the receiver holds it.
    #[inline(always)]
    fn deliver<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) -> Option<Packet> {
        if flow.is_quic() {
            return self.deliver_quic(flow, segment);
        }
        if P::MAY_FAIL {
            tracing::received(&mut self.tracer, &segment);
        }
        let counts = self.count_delivered(segment.at);
        if segment.incarnation != flow.incarnation {
            // The connection is complete, so this segment is a duplicate, which is acknowledged (RFC 9293 section 3.10.7.4).
            flow.duplicates += u64::from(counts);
            return Some(Packet { aside: segment.at, kind: PacketKind::Ack, ..segment.packet(PacketKind::Data) });
        }
        if flow.receiver.must_report_before(segment.seq) {
            // Only receivers that delay ACKs compress them. Segments reach those at the loop's time.
            self.acknowledge(flow, segment.at);
        }
        let hold = flow.ack_delay.map(|delay| (flow.ack_every, delay.get()));
        let reply = flow.receiver.take(segment.seq, segment.stamp, segment.at, hold);
        if reply == Reply::AckAgain {
            flow.duplicates += u64::from(counts);
        } else {
            flow.received += u64::from(counts);
        }
        let urgent = flow.heed.as_mut().is_some_and(|heed| heed.on_data(&segment, counts));
        if flow.heed.is_some() {
            self.deliver_units(flow, segment.at);
        }
        if reply == Reply::Hold && !urgent {
            self.arm_ack(flow);
            return None;
        }
        Some(self.ack(flow, segment.at))
    }

    /// Hands over the units of data that are complete at `at`, if the flow's data comes in units.
    #[inline(never)]
    fn deliver_units<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let Some(heed) = flow.heed.as_ref().filter(|heed| heed.has_units) else { return };
        let has_client = heed.has_client;
        if let Some(source) = &mut flow.source {
            source.deliver_in_order(flow.receiver.expected(), at);
        }
        if has_client {
            self.arm_client(flow);
        }
    }

    /// Sends an ACK that the receiver held.
    pub fn acknowledge<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let mut ack = if flow.is_quic() { quic::ack(flow, at) } else { self.ack(flow, at) };
        self.carry(flow, &mut ack, false);
    }

    /// ACK that the receiver sends now.
    #[inline(always)]
    fn ack<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) -> Packet {
        let (next, stamp) = flow.receiver.acknowledge();
        let blocks = flow.receiver.sack_blocks();
        let echo = flow.heed.as_ref().and_then(|heed| heed.echo());
        let noted = blocks.is_some() || echo.is_some();
        let note = AckNote { blocks: blocks.unwrap_or_default(), echo };
        if P::MAY_FAIL {
            let arrival = Arrival { cumulative: next as u32, stamp, receiver_stamp: at };
            tracing::replied(&mut self.tracer, flow.id, &arrival, noted.then_some(&note));
        }
        Packet {
            at,
            stamp,
            aside: at,
            flow: flow.id,
            seq: next as u32,
            note: if noted { self.notes.put(note) } else { NoteSlot::NONE },
            incarnation: flow.incarnation,
            hop: flow.route.data_hops,
            kind: PacketKind::Ack,
        }
    }

    /// Counts a delivery, or a packet in flight if `at` is beyond the end of the run. Returns whether `at` is in the measurement interval.
    #[inline(always)]
    fn count_delivered(&mut self, at: Nanos) -> bool {
        if at >= self.window.to {
            self.count.in_flight += 1;
            return false;
        }
        self.count.delivered += 1;
        at >= self.window.from
    }

    fn count_lost_segment(&mut self, flow: u32, at: Nanos) {
        self.count_lost(at);
        if let Some(lost) = self.lost.get_mut(flow as usize).filter(|_| self.window.contains(at)) {
            *lost += 1;
        }
    }

    fn count_lost(&mut self, at: Nanos) {
        if at < self.window.to {
            self.count.dropped += 1;
        } else {
            self.count.in_flight += 1;
        }
    }

    /// Sets the timer of the flow's retransmission. An early entry is renewed when it expires, so that most ACKs change no entry.
    #[inline(always)]
    pub fn arm<P: Policy>(&mut self, flow: &mut Connection<P>) {
        let due = flow.sender.deadline().saturating_add(flow.access);
        if due < flow.timer_at {
            flow.timer_at = due;
            self.timers.set_of(due, Timer::Retransmit(flow.id), self.schedule.flow(flow.id));
        }
    }

    /// Sets the timer of a held ACK, on the receiver's clock, which is the loop's.
    pub fn arm_ack<P: Policy>(&mut self, flow: &mut Connection<P>) {
        let Some(due) = flow.ack_deadline().filter(|&due| due < flow.ack_timer_at) else { return };
        flow.ack_timer_at = due;
        self.timers.set_of(due, Timer::DelayedAck(flow.id), self.schedule.flow(flow.id));
    }
}
