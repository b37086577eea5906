//! FQ-PIE: a queue with PIE for each flow, served in turn by bytes, those of sparse flows first.
//!
//! Source: RFC 8033 for the decision in each queue, RFC 8290 section 4 for the turns. No RFC has the combination; Linux has it as
//! `fq_pie` (net/sched/sch_fq_pie.c, by behavior).
//!
//! - A flow's packets go to one of `flows` queues, by the salted hash of `fq-codel`.
//! - An arrival is dropped or marked by PIE with the probability, the delay, the backlog, and the burst allowance of its queue. A
//!   drop or a mark sets the queue's sum of probabilities to 0.
//! - An arrival that finds the buffer full is dropped.
//! - A queue that gets a packet while on no list moves to the end of the new queues, with `quantum` bytes of credit. The first new queue is
//!   served, the first old one where there is none. A queue without credit gets `quantum` and moves to the end of the old ones. So does a new
//!   one found empty. An old one found empty leaves the lists.
//! - Every `update`, each queue gets a new probability, also an empty one.
//!
//! # Deviations and choices
//!
//! - **The delay** of a queue is the waiting time of the last packet that left it, and 0 once it is empty, as in Linux. The rate at which a
//!   queue is served depends on the other flows, so that a backlog over a rate is no measure of it.
//! - **Linux** (`variant`) has the defaults that it has in `pie`. Its first update comes after 0.5 s, here at the next multiple of `update`. It
//!   updates 2048 queues at a time without a pause, so that all change at one moment here.
//! - **A new queue found empty**, and **a link that falls idle**: as in `fq-codel`.
//! - **The limit** is the link's. Linux has one of 10240 packets; memory above its limit is only counted there.

use super::flow_hash::FlowHash;
use super::outlet::Outlet;
use super::params::{Info, Param, Settings};
use super::periodic::Periodic;
use super::pie::{self, Load, PieLaw, PieState};
use super::stock::List;
use super::{Discipline, Known, Stock};
use crate::rng::{Identity, Purpose, Rng};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MILLISECOND;
use std::collections::VecDeque;

/// Parameters in scenarios.
pub static INFO: Info = Info {
    name: "fq-pie",
    source: "RFC 8033, RFC 8290 section 4",
    params: &[
        Param::whole("flows", 1024, 1, 65_535, "Number of queues. Flows are hashed into them.")
            .source("Linux 6.1, net/sched/sch_fq_pie.c"),
        Param::bytes("quantum", 1514, 256, 1 << 20, "Bytes that a queue may send per turn.")
            .source("RFC 8290 section 5.2.4; bounds as in fq-codel"),
        Param::choice(
            "variant",
            &["rfc", "linux"],
            "Source of the defaults of decay_factor and long_delay_step, and of the time of the first update.",
        )
        .source("RFC 8033; Linux 6.1, net/sched/sch_fq_pie.c"),
        pie::TARGET,
        pie::UPDATE,
        pie::ALPHA,
        pie::BETA,
        pie::MAX_BURST,
        pie::ECN,
        pie::ECN_THRESHOLD,
        pie::DERANDOMIZE,
        pie::CAP_STEP,
        pie::DECAY,
        pie::DECAY_FACTOR,
        pie::LONG_DELAY_STEP,
    ],
    marks: |settings| settings.flag("ecn"),
    conflict: |_| None,
};

/// First update of Linux, half a second.
const LINUX_FIRST_UPDATE: Nanos = 500 * MILLISECOND;

/// FQ-PIE queue of one direction of a link.
#[derive(Debug)]
pub struct FqPie {
    law: PieLaw,
    quantum: i32,
    hash: FlowHash,
    queues: Vec<FlowQueue>,
    /// Numbers of the queues that are served first, in order.
    new: VecDeque<u16>,
    /// Numbers of the queues that are served when no queue is new, in order.
    old: VecDeque<u16>,
    /// Numbers of the queues whose state an update may change.
    busy: Vec<u16>,
    /// Packets in all queues.
    packets: usize,
    updates: Periodic,
    /// No update is made before.
    first_update: Nanos,
    outlet: Outlet,
    packet_size: u32,
    rng: Rng,
}

/// One of the queues that flows are hashed into.
#[derive(Clone, Debug)]
struct FlowQueue {
    packets: List,
    bytes: u64,
    /// Bytes that the queue may still send in this turn.
    credit: i32,
    /// The queue is new or old.
    listed: bool,
    /// The queue is among [`FqPie::busy`].
    busy: bool,
    state: PieState,
}

impl FqPie {
    /// Empty queues.
    pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Self {
        let law = PieLaw::new(settings, true);
        let queues = settings.whole("flows") as usize;
        let queue = FlowQueue {
            packets: List::default(),
            bytes: 0,
            credit: 0,
            listed: false,
            busy: false,
            state: PieState::new(&law),
        };
        FqPie {
            law,
            quantum: settings.whole("quantum") as i32,
            hash: FlowHash::new(queues, seed),
            queues: vec![queue; queues],
            new: VecDeque::with_capacity(queues),
            old: VecDeque::with_capacity(queues),
            busy: Vec::with_capacity(queues),
            packets: 0,
            updates: Periodic::new(settings.time("update")),
            first_update: if settings.choice("variant") == "linux" { LINUX_FIRST_UPDATE } else { 0 },
            outlet: Outlet::default(),
            packet_size,
            rng: Rng::new(seed, Purpose::Queue, Identity::NONE.number(1)),
        }
    }

    /// The updates that have come by `now`.
    #[inline(always)]
    fn catch_up(&mut self, now: Nanos) {
        if self.updates.any_due(now) {
            self.make_up(now);
        }
    }

    #[cold]
    fn make_up(&mut self, now: Nanos) {
        while let Some(at) = self.updates.due(now) {
            if at >= self.first_update && self.update() {
                self.updates.skip(now);
            }
        }
    }

    /// One update of all queues; whether those that follow it change nothing, before a packet enters or leaves. A queue at rest is left out: its
    /// burst allowance starts again with the next packet.
    fn update(&mut self) -> bool {
        let (law, queues, mut rests) = (&self.law, &mut self.queues, true);
        self.busy.retain(|&number| {
            let queue = &mut queues[usize::from(number)];
            let delay_s = queue.state.last_sojourn_s();
            rests &= queue.state.update(law, delay_s);
            queue.busy = queue.bytes > 0 || !queue.state.is_at_rest();
            queue.busy
        });
        rests
    }

    /// Handles an idle link that asks for a packet while there is none: all queues leave the lists.
    #[cold]
    fn clear_lists(&mut self) {
        for number in self.new.drain(..).chain(self.old.drain(..)) {
            self.queues[usize::from(number)].listed = false;
        }
    }
}

impl Discipline for FqPie {
    fn expect(&self, flow_key: u64) -> u32 {
        self.hash.queue_of(flow_key) as u32
    }

    fn enqueue(&mut self, known: Known, class: u32, full: bool, stock: &mut Stock) {
        self.catch_up(known.entered);
        if self.packets == 0 && self.outlet.free_at() <= known.entered {
            self.clear_lists();
        }
        let queue = &mut self.queues[class as usize];
        if !queue.busy {
            queue.busy = true;
            self.busy.push(class as u16);
        }
        let load = Load { delay_s: queue.state.last_sojourn_s(), bytes: queue.bytes, packet_size: self.packet_size };
        if !queue.state.admits(&self.law, known.place, load, full, &mut self.rng, stock) {
            return;
        }
        queue.bytes += u64::from(known.size);
        stock.link(&mut queue.packets, known.place);
        self.packets += 1;
        if !queue.listed {
            queue.listed = true;
            queue.credit = self.quantum;
            self.new.push_back(class as u16);
        }
    }

    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        self.catch_up(now);
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.queues[usize::from(number)];
            if queue.credit <= 0 {
                queue.credit += self.quantum;
            } else if let Some(place) = stock.unlink(&mut queue.packets) {
                let known = stock.known(place);
                queue.bytes -= u64::from(known.size);
                queue.credit -= known.size as i32;
                queue.state.on_departure(now - known.entered, queue.bytes == 0);
                self.packets -= 1;
                self.outlet.take(now, known.size);
                return Some(known);
            } else if !is_new {
                queue.listed = false;
                list.pop_front();
                continue;
            }
            list.pop_front();
            self.old.push_back(number);
        }
    }

    fn set_rate(&mut self, now: Nanos, rate_bps: u64) {
        self.catch_up(now);
        self.outlet.set_rate(rate_bps);
    }

    fn set_flow_hash(&mut self, hash: FlowHash) {
        self.hash = hash;
    }

    fn heap_bytes(&self) -> usize {
        let lists = self.new.capacity() + self.old.capacity() + self.busy.capacity();
        self.queues.capacity() * size_of::<FlowQueue>() + lists * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests;
