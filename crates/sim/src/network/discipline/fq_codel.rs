//! FQ-CoDel: a queue with CoDel for each flow, served in turn by bytes, those of sparse flows first.
//!
//! Source: RFC 8290. A flow's packets go to one of `flows` queues, by a salted hash of its addresses, ports, and protocol (section 4.1).
//!
//! - A queue that gets a packet while on no list goes to the end of the new queues, with `quantum` bytes of credit (section 4.1).
//! - The first of the new queues is served, of the old ones where there is none. One without credit left gets `quantum` and goes
//!   to the end of the old ones. So does a new one found empty; an old one found empty leaves the list (section 4.2).
//! - CoDel takes the packet from the queue, as it does from a queue alone, and its size is taken off the credit (section 4.2).
//! - A packet that finds the buffer full is queued. Then half the packets of the queue with the most bytes are dropped, at most
//!   `drop_batch`, from its head (section 4.1).
//!
//! # Deviations and choices
//!
//! - **CoDel** is that of `codel`, with its choices, but for ECN, which is on (section 5.2.6).
//! - **A queue's credit** is used up at 0, as section 3 and Linux have it; section 4.2 speaks of less than 0, and of a quantum sent.
//! - **The floor** of CoDel is compared with the bytes of the flow's own queue, as if CoDel were alone there (section 1.3).
//!   `floor = "all"` takes those of all queues together, as Linux does: there the last packet of a queue may be dropped too.
//! - **Half the packets** is rounded up. Where the buffer's limit is in bytes or time, more are dropped until there is room for what
//!   came, however few bytes the half had. Linux stops at half the bytes, and reports these drops to CoDel; the RFC does neither.
//! - **A new queue found empty** goes to the old ones even where there are none, as in the RFC; Linux then drops it from the
//!   lists.
//! - **A link that falls idle** does not ask for a packet where there is none. At the next packet that comes the lists are as if it
//!   had, which takes all queues off them: from the rate it is known whether the last packet has been sent.
//! - **The hash** is SplitMix64's mixing of the flow's key, plus a salt from the direction's random stream; the RFC names Jenkins's. A
//!   connection's two directions are two flows, as are the connections that follow one another in web traffic. `flow_hash` has the rule
//!   for salts: with the default seed, few flows share no queue.
//! - **The limit** is the link's; the RFC's default is 10240 packets, Linux has one of 32 MB besides.

use super::codel::{self, Backlog, CodelLaw, Control};
use super::flow_hash::FlowHash;
use super::outlet::Outlet;
use super::params::{Info, Param, Settings};
use super::stock::List;
use super::{Discipline, Known, Stock};
use crate::packet::Packet;
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// Name, source, and parameters.
pub static INFO: Info = Info {
    name: "fq-codel",
    source: "RFC 8290",
    params: &[
        Param::whole("flows", 1024, 1, 65_535, "Number of queues. Flows are hashed into them.")
            .source("RFC 8290 section 5.2.5"),
        Param::bytes("quantum", 1514, 256, 1 << 20, "Bytes that a queue may send per turn.")
            .source("RFC 8290 section 5.2.4; bounds as in Linux"),
        Param::packets(
            "drop_batch",
            64,
            1,
            65_535,
            "Largest number of packets dropped at once from the longest queue when the buffer is full.",
        )
        .source("RFC 8290 section 4.1"),
        codel::VARIANT,
        codel::TARGET,
        codel::INTERVAL,
        codel::ecn(true),
        codel::SQRT,
        codel::MTU,
        Param::choice(
            "floor",
            &["queue", "all"],
            "Bytes that are compared with mtu: those of the flow's queue, or those of all queues as in Linux.",
        )
        .source("RFC 8290 section 1.3; Linux's fq_codel"),
        codel::CE_THRESHOLD,
    ],
    marks: codel::marks,
    conflict: |_| None,
};

/// FQ-CoDel queue of one direction of a link.
#[derive(Debug)]
pub struct FqCodel {
    law: CodelLaw,
    quantum: i32,
    drop_batch: usize,
    hash: FlowHash,
    queues: Vec<FlowQueue>,
    /// Numbers of the queues that are served first, in order.
    new: VecDeque<u16>,
    /// Numbers of the queues that are served when no queue is new, in order.
    old: VecDeque<u16>,
    total: Total,
    outlet: Outlet,
}

/// One of the queues that flows are hashed into, in one cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct FlowQueue {
    packets: List,
    bytes: u64,
    /// Bytes that the queue may still send in this turn.
    credit: i32,
    /// The queue is new or old.
    listed: bool,
    control: Control,
}

/// Counts of all queues together.
#[derive(Debug)]
struct Total {
    bytes: u64,
    /// CoDel's floor is compared with these bytes, not with the queue's.
    floor_of_all: bool,
}

impl FqCodel {
    /// Empty queues.
    pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Self {
        let floor_of_all = settings.choice("floor") == "all";
        let queues = settings.whole("flows") as usize;
        FqCodel {
            law: CodelLaw::new(settings, packet_size),
            quantum: settings.whole("quantum") as i32,
            drop_batch: settings.whole("drop_batch") as usize,
            hash: FlowHash::new(queues, seed),
            queues: vec![FlowQueue::default(); queues],
            new: VecDeque::with_capacity(queues),
            old: VecDeque::with_capacity(queues),
            total: Total { bytes: 0, floor_of_all },
            outlet: Outlet::default(),
        }
    }

    /// Puts a queue that is neither new nor old at the end of the new queues.
    #[inline(always)]
    fn list(&mut self, number: usize) {
        let queue = &mut self.queues[number];
        if !queue.listed {
            queue.listed = true;
            queue.credit = self.quantum;
            self.new.push_back(number as u16);
        }
    }

    /// Handles an idle link that asks for a packet while there is none: all queues leave the lists, and CoDel has seen each of them empty.
    #[inline(never)]
    fn clear_lists(&mut self) {
        for number in self.new.drain(..).chain(self.old.drain(..)) {
            let queue = &mut self.queues[usize::from(number)];
            queue.listed = false;
            queue.control.let_pass();
        }
    }

    /// Makes room for `size` bytes at the cost of the queue with the most bytes (RFC 8290 section 4.1).
    #[cold]
    fn drop_from_the_longest(&mut self, size: u32, stock: &mut Stock) {
        let listed = self.new.iter().chain(&self.old).map(|&number| usize::from(number));
        let Some(number) = listed.max_by_key(|&number| (self.queues[number].bytes, number)) else { return };
        let FlowQueue { packets, bytes, .. } = &mut self.queues[number];
        let half = packets.len().div_ceil(2).min(self.drop_batch);
        let mut backlog = FlowBacklog { packets, bytes, total: &mut self.total };
        let (mut dropped, mut freed) = (0, 0);
        while dropped < half || freed < size {
            let Some(known) = backlog.pop(stock) else { return };
            dropped += 1;
            freed += known.size;
            stock.drop(known.place);
        }
    }
}

impl Discipline for FqCodel {
    #[inline(always)]
    fn expect(&self, flow_key: u64) -> u32 {
        self.hash.queue_of(flow_key) as u32
    }

    /// RFC 8290 section 4.1.
    #[inline(always)]
    fn enqueue(&mut self, known: Known, class: u32, full: bool, stock: &mut Stock) {
        let number = class as usize;
        if self.total.bytes == 0 && self.outlet.free_at() <= known.entered {
            self.clear_lists();
        }
        let FlowQueue { packets, bytes, .. } = &mut self.queues[number];
        FlowBacklog { packets, bytes, total: &mut self.total }.push(known, stock);
        self.list(number);
        if full {
            self.drop_from_the_longest(known.size, stock);
        }
    }

    fn lets_pass(&mut self, now: Nanos, packet: &Packet, size: u32) -> bool {
        self.clear_lists();
        let number = self.hash.queue_of(packet.flow_key());
        self.list(number);
        let queue = &mut self.queues[number];
        queue.credit -= size as i32;
        queue.control.let_pass();
        self.outlet.take(now, size);
        true
    }

    /// RFC 8290 section 4.2.
    #[inline(always)]
    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.queues[usize::from(number)];
            if queue.credit <= 0 {
                queue.credit += self.quantum;
            } else if let Some(known) = queue.take(&self.law, &mut self.total, now, stock) {
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

    fn set_rate(&mut self, _now: Nanos, rate_bps: u64) {
        self.outlet.set_rate(rate_bps);
    }

    fn set_flow_hash(&mut self, hash: FlowHash) {
        self.hash = hash;
    }

    fn heap_bytes(&self) -> usize {
        let lists = self.new.capacity() + self.old.capacity();
        self.queues.capacity() * size_of::<FlowQueue>() + lists * size_of::<u16>()
    }
}

impl FlowQueue {
    /// Packet that CoDel takes out of the queue; `None` if the queue is empty or CoDel drops all its packets.
    #[inline(always)]
    fn take(&mut self, law: &CodelLaw, total: &mut Total, now: Nanos, stock: &mut Stock) -> Option<Known> {
        let mut backlog = FlowBacklog { packets: &mut self.packets, bytes: &mut self.bytes, total };
        let known = self.control.dequeue(law, &mut backlog, now, stock)?;
        self.credit -= known.size as i32;
        Some(known)
    }
}

/// Packets and bytes of one queue, and counts of all queues.
struct FlowBacklog<'a> {
    packets: &'a mut List,
    bytes: &'a mut u64,
    total: &'a mut Total,
}

impl FlowBacklog<'_> {
    #[inline(always)]
    fn push(&mut self, known: Known, stock: &mut Stock) {
        *self.bytes += u64::from(known.size);
        self.total.bytes += u64::from(known.size);
        stock.link(self.packets, known.place);
    }
}

impl Backlog for FlowBacklog<'_> {
    #[inline(always)]
    fn pop(&mut self, stock: &Stock) -> Option<Known> {
        let known = stock.known(stock.unlink(self.packets)?);
        *self.bytes -= u64::from(known.size);
        self.total.bytes -= u64::from(known.size);
        Some(known)
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        if self.total.floor_of_all { self.total.bytes } else { *self.bytes }
    }
}

const _: () = assert!(size_of::<FlowQueue>() == 64);

#[cfg(test)]
mod tests;
