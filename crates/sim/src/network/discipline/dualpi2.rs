//! DualPI2: two queues, one for L4S and one for Classic traffic, and one controller whose output marks the former in
//! proportion and drops from the latter by its square.
//!
//! Source: RFC 9332, K. De Schepper, B. Briscoe, G. White, *Dual-Queue Coupled Active Queue Management (AQM) for Low
//! Latency, Low Loss, and Scalable Throughput (L4S)*, 2023: section 2.4 and appendix A, figures 2 to 8. ECT(1) and CE
//! wait in the L queue, ECT(0) and Not-ECT in the C queue. Every T, with d the longer of the times that the two heads
//! have waited:
//!
//! - p' += alpha (d - target) + beta (d - d of the update before), p' kept within 0 and 1;
//! - p_C = p'^2 drops Not-ECT packets from the C queue and marks ECT(0) packets; p_CL = k p' marks in the L queue;
//! - p_L = max(p'_L, p_CL); the ramp p'_L rises from 0 at min_th to 1 at min_th + range with the time that the packet
//!   has waited;
//! - overload: where p_CL reaches 1, L packets are dropped with p_C and those left marked; where p_C reaches min(1/k^2,
//!   1), C packets are dropped whatever their ECN field;
//! - a probability is added up from packet to packet, and every sum above 1 gives 1 back and marks or drops (`recur`).
//!
//! The L queue goes first, but the C queue gets a sixteenth of the bytes while both are busy.
//!
//! # Deviations and choices
//!
//! - **p_CL** is at most 1. With the sum of figure 4, a larger value would cause marks long after the overload.
//! - **The queueing time** (`lq.time()` in figure 7) is that of the dequeued packet, not of the next one.
//! - **Th_len** includes that packet: the ramp never marks a packet that is alone in the L queue.
//! - **Updates** are at multiples of T from time 0 on, before other events at that time. The head's waiting time grows
//!   during an outage. After more than a million updates without a packet, only the last one is computed.
//! - **The scheduler** is weighted round robin by bytes, which the RFC recommends without details. A credit grows by weight
//!   times the bytes of each L packet, and decreases by 1 - weight times the bytes of each C packet, while both queues are
//!   busy. The C queue is served if the credit is positive. An idle link resets the credit in favor of L (appendix A.1,
//!   Linux). Packets dropped at departure do not change it. `scheduler` selects the time-shifted FIFO of appendix B.
//! - **The buffer** is common to both queues, as in figure 3, but without a reserve of one MTU. A full buffer drops the
//!   arrival.
//! - **Linux** (`variant`, Linux 6.17 and later): T is 16 ms, alpha 41/256, beta 819/256, and weight 10 %. A step at 1 ms
//!   replaces the ramp, for each queue length. Coin tosses replace the sums. While less than 2 MTU wait in all, no packet gets
//!   a Classic or coupled mark or drop; an MTU is the scenario's packet size. `variant = "linux-2020"` is the module of the
//!   L4S kernels of 2020, before the merge. It differs in one rule: the step marks only if another packet is in the L queue.

use super::outlet::Outlet;
use super::packets::Packets;
use super::params::{Info, Param, Params, Settings, Value};
use super::periodic::Periodic;
use super::{Discipline, Known, Stock};
use crate::packet::{Ecn, Packet};
use crate::rng::{Identity, Purpose, Rng};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, SECOND, seconds};

/// Parameters in scenarios.
pub static INFO: Info = Info {
    name: "dualpi2",
    source: "RFC 9332",
    params: &[
        Param::choice(
            "variant",
            &["rfc", "linux", "linux-2020"],
            "Source of the defaults of parameters with two defaults.",
        )
        .source("RFC 9332 appendix A; Linux 6.17, net/sched/sch_dualpi2.c; the L4S kernels of 2020"),
        Param::time(
            "target",
            15 * MILLISECOND,
            MICROSECOND,
            1000 * SECOND,
            "Target of the queueing delay in the C queue.",
        )
        .source("RFC 9332 figure 2"),
        Param::time(
            "rtt_max",
            100 * MILLISECOND,
            MILLISECOND,
            1000 * SECOND,
            "Largest RTT for which the controller is designed.",
        )
        .source("RFC 9332 figure 2"),
        Param::time(
            "update",
            0,
            100 * MICROSECOND,
            1000 * SECOND,
            "Update interval of p', Tupdate: the smaller of target and rtt_max/3; 16 ms in Linux.",
        )
        .derived(update_of_target)
        .variants(&[("linux", Value::Time(16 * MILLISECOND)), ("linux-2020", Value::Time(16 * MILLISECOND))])
        .source("RFC 9332 figure 2"),
        Param::number(
            "alpha",
            0.0,
            1e-12,
            1e9,
            "Integral gain, per second: 0.1 update/rtt_max^2, 0.15 by default; 41/256 in Linux.",
        )
        .derived(alpha_of_update)
        .variants(&[("linux", Value::Number(41.0 / 256.0)), ("linux-2020", Value::Number(41.0 / 256.0))])
        .source("RFC 9332 figure 2"),
        Param::number(
            "beta",
            0.0,
            0.0,
            1e6,
            "Proportional gain, per second: 0.3/rtt_max, 3 by default; 819/256 in Linux.",
        )
        .derived(beta_of_rtt_max)
        .variants(&[("linux", Value::Number(819.0 / 256.0)), ("linux-2020", Value::Number(819.0 / 256.0))])
        .source("RFC 9332 figure 2"),
        Param::number("k", 2.0, 0.0, 1e6, "Coupling factor: p_CL = k p'.")
            .source("RFC 9332 figure 2, section 2.5.1"),
        Param::time(
            "min_th",
            800 * MICROSECOND,
            0,
            1000 * SECOND,
            "Queueing delay in the L queue at which the ramp begins: 800 us; 1 ms in Linux.",
        )
        .variants(&[("linux", Value::Time(MILLISECOND)), ("linux-2020", Value::Time(MILLISECOND))])
        .source("RFC 9332 figure 2"),
        Param::time("range", 400 * MICROSECOND, 0, 1000 * SECOND, "Width of the ramp: 400 us; 0, a step, in Linux.")
            .variants(&[("linux", Value::Time(0)), ("linux-2020", Value::Time(0))])
            .source("RFC 9332 figure 2"),
        Param::packets(
            "th_len",
            1,
            0,
            1_000_000_000,
            "Packets in the L queue up to which the ramp does not mark: 1; 0 in Linux 6.17, 1 in the kernels of 2020.",
        )
        .variants(&[("linux", Value::Packets(0))])
        .source("RFC 9332 figure 2"),
        Param::choice(
            "scheduler",
            &["weighted", "time-shifted"],
            "Scheduler of the two queues: weighted round robin, or the longer queueing delay with time_shift added to that of L.",
        )
        .source("RFC 9332 section 4.2.2, appendix A.2"),
        Param::number(
            "classic_weight",
            1.0 / 16.0,
            0.0,
            1.0,
            "Fraction of the bytes for the C queue while both queues have packets: 1/16; 0.1 in Linux.",
        )
        .variants(&[("linux", Value::Number(0.1)), ("linux-2020", Value::Number(0.1))])
        .source("RFC 9332 section 4.2.2"),
        Param::time(
            "time_shift",
            50 * MILLISECOND,
            0,
            1000 * SECOND,
            "Head start of the L queue with scheduler = \"time-shifted\".",
        )
        .source("RFC 9332 appendix A.2"),
        Param::choice(
            "marking",
            &["recur", "random"],
            "Rule that turns a probability into marks and drops: evenly spaced, or random as in Linux.",
        )
        .variants(&[("linux", Value::Name("random")), ("linux-2020", Value::Name("random"))])
        .source("RFC 9332 figure 4"),
        Param::packets(
            "min_backlog",
            0,
            0,
            1_000_000_000,
            "Queue, in MTU, below which only the ramp marks or drops packets: 0; 2 in Linux.",
        )
        .variants(&[("linux", Value::Packets(2)), ("linux-2020", Value::Packets(2))])
        .source("RFC 9332 appendix A.1"),
    ],
    marks: |_| true,
    conflict: |_| None,
};

/// Tupdate of RFC 9332 figure 2: the lesser of target and a third of rtt_max, but at least [`LEAST_UPDATE`].
fn update_of_target(params: &Params) -> Value {
    Value::Time(params.time("target").min(params.time("rtt_max") / 3).max(LEAST_UPDATE))
}

/// Integral gain of RFC 9332 figure 2.
fn alpha_of_update(params: &Params) -> Value {
    let rtt_max_s = seconds(params.time("rtt_max"));
    Value::Number(0.1 * seconds(params.time("update")) / (rtt_max_s * rtt_max_s))
}

/// Proportional gain of RFC 9332 figure 2.
fn beta_of_rtt_max(params: &Params) -> Value {
    Value::Number(0.3 / seconds(params.time("rtt_max")))
}

/// See the head of the file.
#[derive(Debug)]
pub struct DualPi2 {
    law: CoupledLaw,
    /// p'.
    base: f64,
    /// d of the last update.
    previous_delay_s: f64,
    updates: Periodic,
    l4s: Queue,
    classic: Queue,
    /// Of the C queue, bytes times a share: it goes next where this is above 0.
    credit: f64,
    outlet: Outlet,
    rng: Rng,
}

/// One of the two queues.
#[derive(Debug, Default)]
struct Queue {
    packets: Packets,
    /// The sum of probabilities that have not yet marked or dropped.
    sum: f64,
}

impl Queue {
    /// How long its head has waited; 0 if it is empty.
    fn delay(&self, now: Nanos) -> Nanos {
        self.packets.front().map_or(0, |head| now - head.entered)
    }

    /// `recur` of figure 4: true for such a part of the calls, evenly spaced.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.sum += likelihood;
        if self.sum > 1.0 {
            self.sum -= 1.0;
            return true;
        }
        false
    }
}

/// Values of the parameters in a scenario.
#[derive(Debug)]
struct CoupledLaw {
    target_s: f64,
    update: Nanos,
    alpha: f64,
    beta: f64,
    k: f64,
    /// Classic probability from which on ECN is off, p_Cmax.
    p_c_max: f64,
    min_th: Nanos,
    range: Nanos,
    th_len: usize,
    time_shift: Option<Nanos>,
    classic_weight: f64,
    random: bool,
    min_backlog_bytes: u64,
    packet_size: u32,
}

impl CoupledLaw {
    fn new(settings: &Settings, packet_size: u32) -> CoupledLaw {
        let k = settings.number("k");
        CoupledLaw {
            target_s: seconds(settings.time("target")),
            update: settings.time("update"),
            alpha: settings.number("alpha"),
            beta: settings.number("beta"),
            k,
            p_c_max: (1.0 / (k * k)).min(1.0),
            min_th: settings.time("min_th"),
            range: settings.time("range"),
            th_len: settings.number("th_len") as usize,
            time_shift: (settings.choice("scheduler") == "time-shifted").then(|| settings.time("time_shift")),
            classic_weight: settings.number("classic_weight"),
            random: settings.choice("marking") == "random",
            min_backlog_bytes: settings.whole("min_backlog") * u64::from(packet_size),
            packet_size,
        }
    }

    /// p' after an update, from that before it and the delays of both (figure 6, line 3).
    fn updated(&self, base: f64, delay_s: f64, previous_delay_s: f64) -> f64 {
        let step = self.alpha * (delay_s - self.target_s) + self.beta * (delay_s - previous_delay_s);
        (base + step).clamp(0.0, 1.0)
    }

    /// p'_L of a packet that has waited `delay` (figure 5).
    fn ramp(&self, delay: Nanos) -> f64 {
        if delay >= self.min_th + self.range {
            1.0
        } else if delay > self.min_th {
            (delay - self.min_th) as f64 / self.range as f64
        } else {
            0.0
        }
    }

    /// The credit of an idle link: as after a C packet between L packets, so that the whole of L's share goes first.
    fn credit_at_rest(&self) -> f64 {
        (2.0 * self.classic_weight - 1.0) * f64::from(self.packet_size)
    }
}

/// Of a target or round trip that would have the updates come more often.
const LEAST_UPDATE: Nanos = 100 * MICROSECOND;

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    L4s,
    Classic,
}

impl DualPi2 {
    /// An empty one.
    pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Self {
        let law = CoupledLaw::new(settings, packet_size);
        DualPi2 {
            base: 0.0,
            previous_delay_s: 0.0,
            updates: Periodic::new(law.update),
            l4s: Queue::default(),
            classic: Queue::default(),
            credit: law.credit_at_rest(),
            outlet: Outlet::default(),
            rng: Rng::new(seed, Purpose::Queue, Identity::NONE),
            law,
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
            if self.update(at) {
                let last = self.updates.skip(now).unwrap_or(at);
                self.previous_delay_s = self.delay_s(last);
            }
        }
    }

    /// One update (figure 8); whether those that follow it leave p' as it is, before a packet comes or goes.
    fn update(&mut self, at: Nanos) -> bool {
        let (delay_s, before, previous_delay_s) = (self.delay_s(at), self.base, self.previous_delay_s);
        self.base = self.law.updated(before, delay_s, previous_delay_s);
        self.previous_delay_s = delay_s;
        if self.l4s.packets.is_empty() && self.classic.packets.is_empty() {
            return (self.base, delay_s) == (before, previous_delay_s);
        }
        // A head waits longer and longer, so that p' at its greatest stays there.
        self.base == 1.0 && before == 1.0 && delay_s >= self.law.target_s
    }

    fn delay_s(&self, now: Nanos) -> f64 {
        seconds(self.l4s.delay(now).max(self.classic.delay(now)))
    }

    /// p_C = p'^2, equation (2).
    fn p_c(&self) -> f64 {
        self.base * self.base
    }

    /// p_CL = k p', equation (3).
    fn p_cl(&self) -> f64 {
        (self.law.k * self.base).min(1.0)
    }

    /// The next packet where any is in the L queue, marked or not; `None` if it was dropped.
    fn take_either(&mut self, now: Nanos, coupled: bool, stock: &mut Stock) -> Option<Known> {
        if self.classic.packets.is_empty() {
            return self.take_l4s(now, coupled, stock);
        }
        let l4s = match self.law.time_shift {
            Some(shift) => self.l4s.delay(now) + shift >= self.classic.delay(now),
            None => self.credit <= 0.0,
        };
        let (sent, share) = match l4s {
            true => (self.take_l4s(now, coupled, stock), self.law.classic_weight),
            false => (self.take_classic(coupled, stock), self.law.classic_weight - 1.0),
        };
        self.credit += sent.as_ref().map_or(0.0, |known| share * f64::from(known.size));
        sent
    }

    /// The head of the L queue, marked or not; `None` if it was dropped. `coupled`: whether p_C and p_CL apply.
    fn take_l4s(&mut self, now: Nanos, coupled: bool, stock: &mut Stock) -> Option<Known> {
        let few = self.l4s.packets.len() <= self.law.th_len;
        let known = self.l4s.packets.pop()?;
        let (p_c, p_cl) = if coupled { (self.p_c(), self.p_cl()) } else { (0.0, 0.0) };
        let p_l = if p_cl < 1.0 {
            let ramp = if few { 0.0 } else { self.law.ramp(now - known.entered) };
            ramp.max(p_cl)
        } else if self.happens(Turn::L4s, p_c) {
            stock.drop(known.place);
            return None;
        } else {
            p_cl
        };
        if self.happens(Turn::L4s, p_l) {
            stock.mark(known.place);
        }
        Some(known)
    }

    /// The head of the C queue, marked or not; `None` if it was dropped.
    fn take_classic(&mut self, coupled: bool, stock: &mut Stock) -> Option<Known> {
        let known = self.classic.packets.pop()?;
        let p_c = if coupled { self.p_c() } else { 0.0 };
        if self.happens(Turn::Classic, p_c) && (p_c >= self.law.p_c_max || !stock.mark(known.place)) {
            stock.drop(known.place);
            return None;
        }
        Some(known)
    }

    /// Whether this time a probability of one of the queues strikes.
    fn happens(&mut self, turn: Turn, likelihood: f64) -> bool {
        match turn {
            _ if self.law.random => self.rng.unit() <= likelihood,
            Turn::L4s => self.l4s.recur(likelihood),
            Turn::Classic => self.classic.recur(likelihood),
        }
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, known: Known, _class: u32, full: bool, stock: &mut Stock) {
        let now = known.entered;
        self.catch_up(now);
        if full {
            return stock.drop(known.place);
        }
        if self.l4s.packets.is_empty() && self.classic.packets.is_empty() && self.outlet.free_at() <= now {
            self.credit = self.law.credit_at_rest();
        }
        match stock.packet(known.place).ecn() {
            Ecn::Ect1 | Ecn::Ce => self.l4s.packets.push(known),
            Ecn::Ect0 | Ecn::NotEct => self.classic.packets.push(known),
        }
    }

    /// Where no probability is above 0, and none is drawn for.
    fn lets_pass(&mut self, now: Nanos, packet: &Packet, size: u32) -> bool {
        self.catch_up(now);
        let ramped = self.law.th_len == 0 && matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce);
        if self.base > 0.0 || self.law.random || ramped {
            return false;
        }
        self.credit = self.law.credit_at_rest();
        self.outlet.take(now, size);
        true
    }

    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        self.catch_up(now);
        loop {
            let alone = self.l4s.packets.is_empty();
            if alone && self.classic.packets.is_empty() {
                return None;
            }
            let coupled = self.l4s.packets.bytes() + self.classic.packets.bytes() >= self.law.min_backlog_bytes;
            let sent = if alone { self.take_classic(coupled, stock) } else { self.take_either(now, coupled, stock) };
            if let Some(known) = sent {
                self.outlet.take(now, known.size);
                return Some(known);
            }
        }
    }

    fn set_rate(&mut self, now: Nanos, rate_bps: u64) {
        self.catch_up(now);
        self.outlet.set_rate(rate_bps);
    }

    fn heap_bytes(&self) -> usize {
        self.l4s.packets.heap_bytes() + self.classic.packets.heap_bytes()
    }
}

#[cfg(test)]
mod tests;
