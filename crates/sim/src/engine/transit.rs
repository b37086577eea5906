//! What packets move through: links, the order of arrivals, timers.

use crate::engine::burst::{self, Rest};
use crate::engine::schedule::Schedule;
use crate::engine::timers::{Timer, Timers};
use crate::network::{Direct, End, Hop, Network, Route, Shortcut};
use crate::packet::{AckNote, Kind, Marks, NoteSlot, Notes, Packet, Segment};
use crate::report::PacketCount;
use crate::report::log::SampleLog;
use crate::rng::Ties;
use crate::scenario::{Scenario, order};
use crate::traffic::connection::{Connection, Life};
use crate::transport::policy::Policy;
use crate::transport::receiver::Reply;
use crate::transport::sender::Arrival;
use crate::window::Window;
use fullpipe_cc::Nanos;
use std::num::NonZero;

/// Everything packets move through.
pub struct Transit {
    /// The span that figures count: the run without its warm-up.
    pub window: Window,
    /// The links.
    pub network: Network,
    /// Packets under way.
    pub schedule: Schedule,
    /// Alarms.
    pub timers: Timers,
    /// The series of the flows.
    pub log: SampleLog,
    /// What became of all data packets.
    pub count: PacketCount,
    /// Segments that each flow (web traffic has none) lost in the window.
    pub lost: Vec<u64>,
    /// What ACKs under way carry.
    pub notes: Notes,
    /// A timer has expired: what it makes be sent comes after the turns that links take at that moment.
    pub by_timer: bool,
    /// Events left before the next look at watch and memory.
    pub left: u32,
    /// What a long burst has yet to send.
    pub rest: Option<Rest>,
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
            packet_size: scenario.packet_size,
            ack_size: scenario.ack_size,
        }
    }

    /// An ACK reaches its sender; says at which moment of the flow's own, or `None` if it is of no use any more.
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
        Some(now)
    }

    /// Notes have been out of use for as long as ACKs are under way.
    #[inline(always)]
    pub fn prefetch_next_note(&self) {
        if let Some((_, note)) = self.schedule.upcoming(0) {
            self.notes.prefetch(note);
        }
    }

    /// Sends what the window allows. `at` is the loop's time, the flow's is an access delay behind.
    #[inline(always)]
    pub fn pump<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let now = at - flow.access;
        if flow.sender.sends_ranges() {
            let mut segments = flow.sender.new_segments(now);
            if segments.end - segments.start > burst::SMALL {
                segments = self.cut(flow.id, at, segments);
            }
            if let Shortcut::Whole(direct) = flow.shortcut {
                for seq in segments {
                    self.send_direct(flow, direct, Segment::new(flow.id, seq, flow.incarnation, at, now));
                }
            } else {
                for seq in segments {
                    // As `Transit::send`, without a call where nothing is between: leaving this to it costs one flow 3 % more.
                    if flow.plain {
                        let segment = Segment::new(flow.id, seq, flow.incarnation, at, now);
                        self.carry(flow, &mut segment.packet(Kind::Data), false);
                    } else if !self.keep(flow, seq, at, now, true) {
                        self.send_on(flow, seq, at, now, true);
                    }
                }
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
            self.send_by_shortcut(flow, seq, at, now, seq >= high);
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
            // With many flows an alarm among all of them costs more than a place among the packets.
            let at = due + flow.access;
            if !self.schedule.push_pace(flow.id, at) {
                self.timers.set_of(at, Timer::Pace(flow.id), self.schedule.flow(flow.id));
            }
        }
    }

    /// As [`Transit::send`], the whole way at a stroke where there is a shortcut.
    #[inline(always)]
    pub fn send_by_shortcut<P: Policy>(
        &mut self,
        flow: &mut Connection<P>,
        seq: u64,
        at: Nanos,
        now: Nanos,
        new: bool,
    ) {
        match flow.shortcut {
            Shortcut::Whole(direct) => {
                self.send_direct(flow, direct, Segment::new(flow.id, seq, flow.incarnation, at, now));
            }
            _ => self.send(flow, seq, at, now, new),
        }
    }

    /// The whole way of a segment, and of its ACK, over one link.
    #[inline(always)]
    fn send_direct<P: Policy>(&mut self, flow: &mut Connection<P>, direct: Direct, mut segment: Segment) {
        let link = &mut self.network.fifos[direct.there as usize];
        let Some(departure) = link.accept(segment.at, self.packet_size) else {
            self.count_lost_segment(flow.id, segment.at);
            return;
        };
        segment.at = departure + link.delay;
        self.deliver_direct(flow, direct.back, segment);
    }

    /// A segment over the one link of a route reaches its receiver, and its ACK goes back over that link.
    #[inline(always)]
    fn deliver_direct<P: Policy>(&mut self, flow: &mut Connection<P>, back: u32, segment: Segment) {
        let Segment { at, stamp, seq, .. } = segment;
        debug_assert_eq!(segment.marks, Marks::NONE);
        let Some(next) = flow.receiver.take_expected(seq, stamp) else {
            self.deliver_beyond(flow, back, at, seq, stamp);
            return;
        };
        flow.received += u64::from(self.count_delivered(at));
        self.acknowledge_direct(flow, back, at, (next, stamp), NoteSlot::NONE);
    }

    /// The same beyond a hole: most segments behind a loss. Of the segment as much as there are registers for.
    #[inline(never)]
    fn deliver_beyond<P: Policy>(&mut self, flow: &mut Connection<P>, back: u32, at: Nanos, seq: u32, sent: Nanos) {
        let taken = if flow.heed.is_none() { flow.receiver.take_beyond(seq) } else { None };
        let Some((next, stamp, blocks)) = taken else {
            let segment = Segment::new(flow.id, seq.into(), flow.incarnation, at, sent);
            self.deliver_apart(flow, Segment { hop: 1, ..segment });
            return;
        };
        flow.received += u64::from(self.count_delivered(at));
        let note = self.notes.put(AckNote { blocks, echo: None });
        self.acknowledge_direct(flow, back, at, (next, stamp), note);
    }

    /// The ACK of a segment that came over the one link of a route goes back over that link.
    #[inline(always)]
    fn acknowledge_direct<P: Policy>(
        &mut self,
        flow: &mut Connection<P>,
        back: u32,
        at: Nanos,
        (next, stamp): (u64, Nanos),
        note: NoteSlot,
    ) {
        let link = &mut self.network.fifos[back as usize];
        let Some(departure) = link.accept(at, self.ack_size) else {
            self.notes.take(note);
            return;
        };
        let ack = Packet {
            at: departure + link.delay + 2 * flow.access,
            stamp,
            aside: at,
            flow: flow.id,
            seq: next as u32,
            note,
            incarnation: flow.incarnation,
            hop: 2,
            kind: Kind::Arriving,
        };
        self.schedule.push(flow.ack_stream, &ack);
    }

    /// The same where the receiver has more to do.
    #[inline(never)]
    fn deliver_apart<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) {
        let (Shortcut::Whole(Direct { back, .. }) | Shortcut::Back(Direct { back, .. })) = flow.shortcut else {
            return;
        };
        let Some(mut ack) = self.deliver(flow, segment) else { return };
        let link = &mut self.network.fifos[back as usize];
        let Some(departure) = link.accept(ack.at, self.ack_size) else { return self.lose(&ack) };
        ack.at = departure + link.delay + 2 * flow.access;
        (ack.hop, ack.kind) = (2, Kind::Arriving);
        self.schedule.push(flow.ack_stream, &ack);
    }

    /// Segment `seq` leaves its sender at `now` by its time, `new` or for the second time, and reaches the first link at `at`. Most that come
    /// to a served link are kept there, and need no more.
    #[inline(never)]
    fn send<P: Policy>(&mut self, flow: &mut Connection<P>, seq: u64, at: Nanos, now: Nanos, new: bool) {
        if !self.keep(flow, seq, at, now, new) {
            self.send_on(flow, seq, at, now, new);
        }
    }

    /// The same where it comes to a served link that keeps what comes; elsewhere nothing happens, and it says no.
    #[inline(always)]
    fn keep<P: Policy>(&mut self, flow: &mut Connection<P>, seq: u64, at: Nanos, now: Nanos, new: bool) -> bool {
        let (Shortcut::Served(there) | Shortcut::Back(Direct { there, .. })) = flow.shortcut else { return false };
        let link = &mut self.network.served[there as usize];
        if !link.keeps() {
            return false;
        }
        // A shortcut back is for segments whose headers say nothing.
        let marks = if let Shortcut::Served(_) = flow.shortcut { flow.sender.marks(new) } else { Marks::NONE };
        let segment = Segment { marks, ..Segment::new(flow.id, seq, flow.incarnation, at, now) };
        if link.keep(segment, self.packet_size, self.by_timer) {
            self.let_in(there);
        }
        true
    }

    /// The same of a segment that is not kept.
    #[inline(never)]
    fn send_on<P: Policy>(&mut self, flow: &mut Connection<P>, seq: u64, at: Nanos, now: Nanos, new: bool) {
        let marks = flow.sender.marks(new);
        let mut segment = Segment { marks, ..Segment::new(flow.id, seq, flow.incarnation, at, now) };
        match &mut flow.access_link {
            None => self.carry(flow, &mut segment.packet(Kind::Data), false),
            Some(link) => {
                segment.at = link.send(segment.at, self.packet_size);
                self.schedule.push(link.stream, &segment.packet(Kind::Data));
            }
        }
    }

    /// A SYN leaves, of an ACK's size; the receiver answers it at once with as much.
    pub fn send_syn<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let (stamp, hop) = (at - flow.access, flow.route.hops);
        let mut syn = Packet {
            at,
            stamp,
            flow: flow.id,
            incarnation: flow.incarnation,
            hop,
            kind: Kind::Syn,
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

    /// A segment or an ACK reaches its next stop in its turn.
    #[inline(always)]
    pub fn move_on<P: Policy>(&mut self, flow: &mut Connection<P>, mut packet: Packet) {
        if packet.kind == Kind::Received {
            match self.deliver(flow, (&packet).into()) {
                Some(ack) => packet = ack,
                None => return,
            }
        }
        self.carry(flow, &mut packet, false);
    }

    /// Follows a segment or an ACK, until it is lost or must wait for its turn in the loop; a segment may reach the receiver, and
    /// its ACK goes on. `ahead` of the clock, or at the loop's time. The packet is the caller's: given away it would be copied for each
    /// stop in the loop, depending on what else the compiler has before it.
    #[inline(always)]
    fn carry<P: Policy>(&mut self, flow: &mut Connection<P>, packet: &mut Packet, mut ahead: bool) {
        loop {
            let hop = self.network.hop(flow.route, packet.hop);
            let size = if packet.kind == Kind::Data { self.packet_size } else { self.ack_size };
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

    /// The packet has left a link, and `packet.at` is when it reaches the far end. Says whether it goes on at once; otherwise it
    /// waits for its turn in the loop, or its receiver has got it.
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
        if hop.then == Kind::Received {
            self.deliver_by_call(flow, (&*packet).into());
            return false;
        }
        true
    }

    /// A packet comes to a link that follows a trace or is served; says whether it, or another one instead, is sent: when it reaches the far
    /// end is known.
    #[inline(never)]
    fn offer(&mut self, route: Route, hop: Hop, packet: &mut Packet, size: u32, ahead: bool) -> bool {
        match hop.end {
            End::Fifo(_) => unreachable!("needs no call"),
            End::Traced(place) => {
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
            End::Served(place) => self.offer_served(place, route, packet, size, ahead),
        }
    }

    /// At a served link it may have to wait for its turn if it comes ahead of the clock.
    #[inline(always)]
    fn offer_served(&mut self, place: u32, route: Route, packet: &mut Packet, size: u32, ahead: bool) -> bool {
        let link = &mut self.network.served[place as usize];
        if !ahead {
            link.comes();
        } else if !link.takes_ahead(packet.at) {
            let before = self.network.hop(route, packet.hop - 1).direction;
            self.schedule.push(before, packet);
            return false;
        }
        let sent = link.accept(packet, size, self.by_timer && !ahead);
        if link.wants_attention() {
            self.attend_to(place);
        }
        sent
    }

    /// A served link takes its turns, those that are due.
    #[inline]
    pub fn serve(&mut self, place: u32, now: Nanos) {
        self.network.served[place as usize].serve(now);
        self.settle(place);
    }

    /// All that has come to a served link is let in.
    #[cold]
    pub fn let_in(&mut self, place: u32) {
        self.network.served[place as usize].let_in(0);
        self.settle(place);
    }

    /// Something changes of a served link; says whether a packet leaves it therefore.
    pub fn change(&mut self, place: u32, now: Nanos, packet: &mut Packet) -> bool {
        let sent = self.network.served[place as usize].change(now, packet);
        self.await_change(place);
        self.settle(place);
        sent
    }

    /// Sees that the loop wakes a served link when something changes there.
    pub fn await_change(&mut self, place: u32) {
        let next = self.network.served[place as usize].next_change();
        if next < Nanos::MAX {
            self.timers.set(next, Timer::Change(place));
        }
    }

    /// Sees to what a served link has lost, and that it is called again.
    #[inline(always)]
    fn settle(&mut self, place: u32) {
        if self.network.served[place as usize].wants_attention() {
            self.attend_to(place);
        }
    }

    #[inline(never)]
    fn attend_to(&mut self, place: u32) {
        if let Some(at) = self.network.served[place as usize].call_at() {
            self.timers.set(at, Timer::Turn(place));
        }
        while let Some(lost) = self.network.served[place as usize].lost() {
            self.lose(&lost);
        }
    }

    /// A segment of `flow` that has waited at a served link leaves it. Says whether all that comes of it is done.
    #[inline(always)]
    pub fn leaves_direct<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) -> bool {
        let Shortcut::Back(Direct { back, .. }) = flow.shortcut else { return false };
        let direct = segment.incarnation == flow.incarnation;
        if direct {
            self.deliver_direct(flow, back, segment);
        }
        direct
    }

    /// A packet that has waited at a served link leaves it: a segment or an ACK of `flow`.
    #[inline(always)]
    pub fn leave<P: Policy>(&mut self, flow: &mut Connection<P>, mut packet: Packet) {
        let hop = self.network.hop(flow.route, packet.hop);
        if self.goes_on(flow, hop, &mut packet) {
            self.carry(flow, &mut packet, true);
        }
    }

    /// A segment or an ACK has been lost.
    fn lose(&mut self, packet: &Packet) {
        match packet.kind {
            Kind::Ack => {
                self.notes.take(packet.note);
            }
            Kind::Syn | Kind::SynAck => {}
            Kind::Datagram => self.count_lost(packet.at),
            _ => self.count_lost_segment(packet.flow, packet.at),
        }
    }

    /// A segment reaches its receiver, whose ACK goes on its way if there is one.
    #[inline(never)]
    fn deliver_by_call<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) {
        if let Some(mut ack) = self.deliver(flow, segment) {
            self.carry(flow, &mut ack, true);
        }
    }

    /// A segment reaches its receiver, which acknowledges it now or later.
    #[inline(always)]
    fn deliver<P: Policy>(&mut self, flow: &mut Connection<P>, segment: Segment) -> Option<Packet> {
        let counts = self.count_delivered(segment.at);
        if segment.incarnation != flow.incarnation {
            // That connection is complete, so this has arrived before; its end acknowledges it for a while (RFC 9293 section 3.10.7.4).
            flow.duplicates += u64::from(counts);
            return Some(Packet { aside: segment.at, kind: Kind::Ack, ..segment.packet(Kind::Data) });
        }
        if flow.receiver.must_report_before(segment.seq) {
            // Only receivers that delay ACKs compress them, and segments reach those at the loop's time.
            self.acknowledge(flow, segment.at);
        }
        let reply = flow.receiver.take(segment.seq, segment.stamp, segment.at, flow.ack_delay.map(NonZero::get));
        if reply == Reply::AckAgain {
            flow.duplicates += u64::from(counts);
        } else {
            flow.received += u64::from(counts);
        }
        let urgent = flow.heed.as_mut().is_some_and(|heed| heed.on_data(&segment, counts));
        if reply == Reply::Hold && !urgent {
            self.arm_ack(flow);
            return None;
        }
        Some(self.ack(flow, segment.at))
    }

    /// The receiver sends an ACK that it held.
    pub fn acknowledge<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let mut ack = self.ack(flow, at);
        self.carry(flow, &mut ack, false);
    }

    /// The receiver's ACK.
    #[inline(always)]
    fn ack<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) -> Packet {
        let (next, stamp) = flow.receiver.acknowledge();
        let blocks = flow.receiver.sack_blocks();
        let echo = flow.heed.as_ref().and_then(|heed| heed.echo());
        let noted = blocks.is_some() || echo.is_some();
        Packet {
            at,
            stamp,
            aside: at,
            flow: flow.id,
            seq: next as u32,
            note: if noted {
                self.notes.put(AckNote { blocks: blocks.unwrap_or_default(), echo })
            } else {
                NoteSlot::NONE
            },
            incarnation: flow.incarnation,
            hop: flow.route.data_hops,
            kind: Kind::Ack,
        }
    }

    /// Follows a datagram of `size` bytes; true where it is delivered inside the measuring window.
    pub fn carry_datagram(&mut self, route: Route, size: u32, mut packet: Packet, ahead: bool) -> bool {
        self.follow_datagram(route, size, &mut packet, ahead) && self.count_delivered(packet.at)
    }

    /// As [`Transit::leave`], for a datagram.
    pub fn leave_datagram(&mut self, route: Route, size: u32, mut packet: Packet) -> bool {
        let hop = self.network.hop(route, packet.hop);
        self.datagram_goes_on(hop, &mut packet) && self.carry_datagram(route, size, packet, true)
    }

    /// As [`Transit::carry_datagram`], for one of a frame; says when it is delivered, be that in the measuring window or not.
    pub fn carry_of_frame(&mut self, route: Route, size: u32, mut packet: Packet, ahead: bool) -> Option<Nanos> {
        let delivered = self.follow_datagram(route, size, &mut packet, ahead);
        delivered.then(|| {
            self.count_delivered(packet.at);
            packet.at
        })
    }

    /// As [`Transit::leave`], for a datagram of a frame.
    pub fn leave_of_frame(&mut self, route: Route, size: u32, mut packet: Packet) -> Option<Nanos> {
        let hop = self.network.hop(route, packet.hop);
        if self.datagram_goes_on(hop, &mut packet) { self.carry_of_frame(route, size, packet, true) } else { None }
    }

    /// Follows a datagram of `size` bytes as far as can be told now; true where that is to its receiver.
    #[inline(always)]
    fn follow_datagram(&mut self, route: Route, size: u32, packet: &mut Packet, mut ahead: bool) -> bool {
        while packet.hop < route.hops {
            let hop = self.network.hop(route, packet.hop);
            if let End::Fifo(place) = hop.end {
                let link = &mut self.network.fifos[place as usize];
                let Some(departure) = link.accept(packet.at, size) else {
                    self.count_lost(packet.at);
                    return false;
                };
                packet.at = departure + link.delay;
            } else if !self.offer(route, hop, packet, size, ahead) {
                return false;
            }
            if !self.datagram_goes_on(hop, packet) {
                return false;
            }
            ahead = true;
        }
        true
    }

    fn datagram_goes_on(&mut self, hop: Hop, packet: &mut Packet) -> bool {
        packet.hop += 1;
        if !hop.runs_on {
            self.schedule.push(hop.direction, packet);
        }
        hop.runs_on
    }

    /// What is worked out ahead of the clock may lie beyond the end of the run: such packets are still in flight then. Says
    /// whether the moment lies inside the measuring window.
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

    /// Sees that the loop wakes the flow when its retransmission timer expires. An entry that is too early is renewed when it
    /// comes up; most ACKs move the timer on and touch no entry.
    #[inline(always)]
    pub fn arm<P: Policy>(&mut self, flow: &mut Connection<P>) {
        let due = flow.sender.deadline().saturating_add(flow.access);
        if due < flow.timer_at {
            flow.timer_at = due;
            self.timers.set_of(due, Timer::Retransmit(flow.id), self.schedule.flow(flow.id));
        }
    }

    /// The same for a held ACK, on the receiver's clock, which is the loop's.
    pub fn arm_ack<P: Policy>(&mut self, flow: &mut Connection<P>) {
        let Some(due) = flow.receiver.deadline().filter(|&due| due < flow.ack_timer_at) else { return };
        flow.ack_timer_at = due;
        self.timers.set_of(due, Timer::DelayedAck(flow.id), self.schedule.flow(flow.id));
    }
}
