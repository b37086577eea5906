//! PIE: drops arrivals with a probability that a proportional-integral controller of the queueing delay updates.
//!
//! Source: RFC 8033, R. Pan, P. Natarajan, F. Baker, G. White, *Proportional Integral Controller Enhanced (PIE)*, 2017:
//! sections 4 and 5, appendices A and B. Every T, with d the queueing delay, d_old that of the update before:
//!
//! - step = alpha (d - target) + beta (d - d_old), divided by 2048, 512, 128, 32, 8, 2 where p is below 10^-6, 10^-5,
//!   ... 0.1; at most 0.02 from p = 0.1 on; p += step (section 4.2, section 5.5);
//! - p = 0.98 p where d and d_old are both 0; p is kept within 0 and 1;
//! - an arrival is dropped with probability p unless d_old < target/2 while p < 0.2, or two packets or less wait
//!   (section 4.1), or the burst allowance of 150 ms is not used up, which restarts once p is 0 and delays are below
//!   target/2 (section 4.4);
//! - derandomized: none before the p of the arrivals since the last drop add up to 0.85, always once they add up to 8.5
//!   (section 5.4).
//!
//! # Deviations and choices
//!
//! - **Decay**: by section 4.2 and appendix A, p decays if both delays are 0, and by appendix B if both are below target/2.
//!   The default is the former, as in Linux. `decay` selects the latter.
//! - **The delay** is the queue divided by the link rate, which is known here and not estimated (section 5.2). During an
//!   outage the previous rate counts, as an estimate would. `delay` selects timestamps: the waiting time of the last
//!   departed packet, and 0 if it left an empty queue.
//! - **Always active**: the optional inactivity below a third of the buffer (section 5.3) is left out.
//! - **Updates** are at multiples of T from time 0 on, before other events at that time. After more than a million updates
//!   without a packet, only the last one is computed.
//! - **During the burst allowance**, arrivals do not add to the sum of probabilities (appendix A; in appendix B they do).
//! - **A mark** resets the sum of probabilities to 0 like a drop, and so does a drop by the sum's upper bound. Appendix B is
//!   ambiguous about this. A drop by a full buffer also resets the sum (appendix B).
//! - **The sum** counts as at a bound from 10^-9 below it. Otherwise rounding would shift the last of 850 packets by one.
//! - **ECN** (`ecn`) is off by default: the RFC leaves it open (section 5.1), and Linux has it off.
//! - **The mean packet size** of section 4.1 is the scenario's packet size.
//! - **Linux** (`variant`): p decays by 1/64, delays are from timestamps, and an update with more than 250 ms adds 0.02 to
//!   p. Its alpha and beta are 2/16 and 20/16, those of the RFC.

use super::packets::Packets;
use super::params::{Info, Param, Settings, Value};
use super::periodic::Periodic;
use super::{Discipline, Known, Stock};
use crate::packet::Packet;
use crate::rng::{Identity, Purpose, Rng};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, SECOND, seconds};

/// Parameters in scenarios.
pub static INFO: Info = Info {
    name: "pie",
    source: "RFC 8033",
    params: &[
        Param::choice(
            "variant",
            &["rfc", "linux"],
            "Source of the defaults of delay, decay_factor, and long_delay_step.",
        )
        .source("RFC 8033; Linux 6.1, net/sched/sch_pie.c"),
        TARGET,
        UPDATE,
        ALPHA,
        BETA,
        MAX_BURST,
        ECN,
        ECN_THRESHOLD,
        DERANDOMIZE,
        CAP_STEP,
        DECAY,
        DECAY_FACTOR,
        Param::choice(
            "delay",
            &["rate", "timestamp"],
            "Measurement of the queueing delay: queue over the link's rate, or wait of the last packet that left (Linux).",
        )
        .variants(&[("linux", Value::Name("timestamp"))])
        .source("RFC 8033 section 4.3; Linux 6.1"),
        LONG_DELAY_STEP,
    ],
    marks: |settings| settings.flag("ecn"),
    conflict: |_| None,
};

/// Parameter `target`.
pub const TARGET: Param =
    Param::time("target", 15 * MILLISECOND, MICROSECOND, 1000 * SECOND, "Target of the queueing delay, QDELAY_REF.")
        .source("RFC 8033 section 4.2");

/// Parameter `update`.
pub const UPDATE: Param = Param::time(
    "update",
    15 * MILLISECOND,
    100 * MICROSECOND,
    1000 * SECOND,
    "Update interval of the drop probability, T_UPDATE.",
)
.source("RFC 8033 section 4.2");

/// Parameter `alpha`.
pub const ALPHA: Param = Param::number("alpha", 0.125, 1e-3, 1e6, "Gain of the delay above target, per second.")
    .source("RFC 8033 appendix A: 1/8");

/// Parameter `beta`.
pub const BETA: Param = Param::number("beta", 1.25, 0.0, 1e6, "Gain of the change of the delay, per second.")
    .source("RFC 8033 appendix A: 1 + 1/4");

/// Parameter `max_burst`.
pub const MAX_BURST: Param = Param::time(
    "max_burst",
    150 * MILLISECOND,
    0,
    1000 * SECOND,
    "Burst allowance: length of a burst without drops, MAX_BURST.",
)
.source("RFC 8033 section 4.4");

/// Parameter `ecn`.
pub const ECN: Param =
    Param::flag("ecn", false, "Marks ECN-capable packets instead of dropping them while p is below ecn_threshold.")
        .source("RFC 8033 section 5.1 leaves it open; off in Linux");

/// Parameter `ecn_threshold`.
pub const ECN_THRESHOLD: Param = Param::number(
    "ecn_threshold",
    0.1,
    0.0,
    1.0,
    "Drop probability from which ECN-capable packets are dropped too, mark_ecnth.",
)
.source("RFC 8033 section 5.1");

/// Parameter `derandomize`.
pub const DERANDOMIZE: Param =
    Param::flag("derandomize", true, "Derandomization: avoids drops that are close together or far apart.")
        .source("RFC 8033 section 5.4");

/// Parameter `cap_step`.
pub const CAP_STEP: Param =
    Param::flag("cap_step", true, "Limit of an update to 0.02 from p = 0.1 on.").source("RFC 8033 section 5.5");

/// Parameter `decay`.
pub const DECAY: Param = Param::choice(
    "decay",
    &["empty", "half-target"],
    "Rule of the decay of p: two updates in a row find a delay of 0, or delays below half of the target.",
)
.source("RFC 8033 section 4.2; appendix B");

/// Parameter `decay_factor`.
pub const DECAY_FACTOR: Param =
    Param::number("decay_factor", 0.98, 0.0, 1.0, "Factor of a decay of p: 0.98; 63/64 in Linux.")
        .variants(&[("linux", Value::Number(63.0 / 64.0))])
        .source("RFC 8033 section 4.2; Linux 6.1");

/// Parameter `long_delay_step`.
pub const LONG_DELAY_STEP: Param =
    Param::flag("long_delay_step", false, "Extra 0.02 for p in an update that finds more than 250 ms; on in Linux.")
        .variants(&[("linux", Value::Flag(true))])
        .source("Linux 6.1; RFC 8033 has none");

/// PIE queue of one direction of a link.
#[derive(Debug)]
pub struct Pie {
    pub(super) law: PieLaw,
    state: PieState,
    updates: Periodic,
    /// Rate of the link; the earlier rate during an outage.
    bytes_per_s: f64,
    packet_size: u32,
    queue: Packets,
    rng: Rng,
}

/// State of the controller of one queue.
#[derive(Clone, Debug)]
pub struct PieState {
    /// p.
    pub(super) probability: f64,
    /// d_old, as of the last update.
    previous_delay_s: f64,
    burst_allowance: Nanos,
    /// The p of the arrivals since the last drop added up.
    accumulated: f64,
    /// Waiting time of the last packet to leave; 0 if it left none behind.
    last_sojourn_s: f64,
}

/// Parameters of the controller.
#[derive(Debug)]
pub struct PieLaw {
    target_s: f64,
    update: Nanos,
    alpha: f64,
    beta: f64,
    max_burst: Nanos,
    ecn: bool,
    ecn_threshold: f64,
    derandomize: bool,
    cap_step: bool,
    decay_below_half_target: bool,
    decay_factor: f64,
    timestamps: bool,
    long_delay_step: bool,
}

impl PieLaw {
    /// Law of these parameters; `timestamps` is the source of delays.
    pub fn new(settings: &Settings, timestamps: bool) -> PieLaw {
        PieLaw {
            target_s: seconds(settings.time("target")),
            update: settings.time("update"),
            alpha: settings.number("alpha"),
            beta: settings.number("beta"),
            max_burst: settings.time("max_burst"),
            ecn: settings.flag("ecn"),
            ecn_threshold: settings.number("ecn_threshold"),
            derandomize: settings.flag("derandomize"),
            cap_step: settings.flag("cap_step"),
            decay_below_half_target: settings.choice("decay") == "half-target",
            decay_factor: settings.number("decay_factor"),
            timestamps,
            long_delay_step: settings.flag("long_delay_step"),
        }
    }

    /// The drop probability after an update, from that before it and the delays of both (section 4.2).
    fn updated(&self, probability: f64, delay_s: f64, previous_delay_s: f64) -> f64 {
        let change = self.alpha * (delay_s - self.target_s) + self.beta * (delay_s - previous_delay_s);
        let scaled =
            change / SCALES.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| *divisor);
        let capped = if self.cap_step && probability >= 0.1 { scaled.min(GREATEST_STEP) } else { scaled };
        let step = if self.long_delay_step && delay_s > LONG_DELAY_S { capped + GREATEST_STEP } else { capped };
        let decayed = if self.low(delay_s) && self.low(previous_delay_s) { self.decay_factor } else { 1.0 };
        ((probability + step) * decayed).clamp(0.0, 1.0)
    }

    /// Whether p decays at such a delay.
    fn low(&self, delay_s: f64) -> bool {
        if self.decay_below_half_target { delay_s < self.target_s / 2.0 } else { delay_s == 0.0 }
    }
}

/// Below which p the step is divided by what (section 4.2).
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];

/// Maximum increase per update from p = 0.1 on (section 5.5); also Linux's increment at long delays.
const GREATEST_STEP: f64 = 0.02;

/// Linux 6.1.
const LONG_DELAY_S: f64 = 0.25;

/// Above this p, PIE drops however short the delay (section 4.1).
const HIGH_PROBABILITY: f64 = 0.2;

/// Bounds of the sum of probabilities (section 5.4), minus a margin for rounding errors of sums.
const NEVER_BELOW: f64 = 0.85 - 1e-9;
const ALWAYS_FROM: f64 = 8.5 - 1e-9;

impl Pie {
    /// An empty one.
    pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Self {
        let law = PieLaw::new(settings, settings.choice("delay") == "timestamp");
        Pie {
            state: PieState::new(&law),
            updates: Periodic::new(law.update),
            bytes_per_s: f64::INFINITY,
            packet_size,
            queue: Packets::default(),
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
        while self.updates.due(now).is_some() {
            if self.update() {
                self.updates.skip(now);
            }
        }
    }

    /// One update; whether those that follow it change nothing, before a packet comes or goes.
    fn update(&mut self) -> bool {
        let delay_s = self.delay_s();
        self.state.update(&self.law, delay_s)
    }

    fn delay_s(&self) -> f64 {
        if self.law.timestamps { self.state.last_sojourn_s } else { self.queue.bytes() as f64 / self.bytes_per_s }
    }

    fn load(&self) -> Load {
        Load { delay_s: self.delay_s(), bytes: self.queue.bytes(), packet_size: self.packet_size }
    }
}

/// Backlog of a queue that an arrival finds.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Queueing delay.
    pub delay_s: f64,
    /// Bytes that wait.
    pub bytes: u64,
    /// Mean packet size.
    pub packet_size: u32,
}

impl PieState {
    /// State of an empty queue.
    pub fn new(law: &PieLaw) -> PieState {
        PieState {
            probability: 0.0,
            previous_delay_s: 0.0,
            burst_allowance: law.max_burst,
            accumulated: 0.0,
            last_sojourn_s: 0.0,
        }
    }

    /// One update with this delay; whether another one would change nothing.
    pub fn update(&mut self, law: &PieLaw, delay_s: f64) -> bool {
        let before = (self.probability, self.previous_delay_s, self.burst_allowance);
        self.probability = law.updated(self.probability, delay_s, self.previous_delay_s);
        self.previous_delay_s = delay_s;
        self.burst_allowance = self.burst_allowance.saturating_sub(law.update);
        before == (self.probability, self.previous_delay_s, self.burst_allowance)
    }

    /// Whether updates change nothing but the burst allowance.
    pub fn is_at_rest(&self) -> bool {
        (self.probability, self.previous_delay_s, self.last_sojourn_s) == (0.0, 0.0, 0.0)
    }

    /// Delay of the last packet that left, by its timestamp.
    pub fn last_sojourn_s(&self) -> f64 {
        self.last_sojourn_s
    }

    /// A packet leaves that has waited `sojourn`; whether the queue is empty then.
    pub fn on_departure(&mut self, sojourn: Nanos, is_empty: bool) {
        self.last_sojourn_s = if is_empty { 0.0 } else { seconds(sojourn) };
    }

    /// Whether the packet at `place` is let in, which may be marked for it; otherwise it is dropped.
    pub fn admits(
        &mut self,
        law: &PieLaw,
        place: u32,
        load: Load,
        full: bool,
        rng: &mut Rng,
        stock: &mut Stock,
    ) -> bool {
        if full || self.chooses(law, load, rng) {
            self.accumulated = 0.0;
            let marks = !full && law.ecn && self.probability < law.ecn_threshold;
            if !(marks && stock.mark(place)) {
                stock.drop(place);
                return false;
            }
        }
        true
    }

    /// Whether this arrival is to be dropped or marked.
    fn chooses(&mut self, law: &PieLaw, load: Load, rng: &mut Rng) -> bool {
        let half_target_s = law.target_s / 2.0;
        if self.probability == 0.0 && load.delay_s < half_target_s && self.previous_delay_s < half_target_s {
            self.burst_allowance = law.max_burst;
        }
        let spared = self.previous_delay_s < half_target_s && self.probability < HIGH_PROBABILITY;
        if self.burst_allowance > 0 || spared || load.bytes <= 2 * u64::from(load.packet_size) {
            return false;
        }
        if law.derandomize {
            self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            if self.accumulated < NEVER_BELOW {
                return false;
            }
            if self.accumulated >= ALWAYS_FROM {
                return true;
            }
        }
        rng.unit() <= self.probability
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, known: Known, _class: u32, full: bool, stock: &mut Stock) {
        let now = known.entered;
        self.catch_up(now);
        let load = self.load();
        if self.state.admits(&self.law, known.place, load, full, &mut self.rng, stock) {
            self.queue.push(known);
        }
    }

    fn lets_pass(&mut self, now: Nanos, _packet: &Packet, _size: u32) -> bool {
        self.catch_up(now);
        let load = self.load();
        let chosen = self.state.chooses(&self.law, load, &mut self.rng);
        debug_assert!(!chosen, "none of the first two packets is");
        self.state.on_departure(0, true);
        true
    }

    fn dequeue(&mut self, now: Nanos, _stock: &mut Stock) -> Option<Known> {
        self.catch_up(now);
        let known = self.queue.pop()?;
        self.state.on_departure(now - known.entered, self.queue.is_empty());
        Some(known)
    }

    fn set_rate(&mut self, now: Nanos, rate_bps: u64) {
        self.catch_up(now);
        if rate_bps > 0 {
            self.bytes_per_s = rate_bps as f64 / 8.0;
        }
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }
}

#[cfg(test)]
mod tests;
