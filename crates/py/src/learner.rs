//! Episodes of `fullpipe.gym`: a simulation, its learners, and the measurements of their intervals.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;
use fullpipe_sim::{Simulation, Stopped};
use pyo3::prelude::*;

use crate::external::{Rtts, Shared, UNPACED};
use crate::formula::{Formula, Words};

/// Measurements of an interval, in the order of a row.
pub const NAMES: [&str; 43] = [
    "now_s",
    "duration_s",
    "sent",
    "delivered",
    "lost",
    "marked",
    "timeouts",
    "rtt_samples",
    "mean_rtt_s",
    "least_rtt_s",
    "rtt_slope",
    "rtt_inflation_s",
    "cwnd",
    "ssthresh",
    "pacing_rate",
    "in_flight",
    "srtt_s",
    "min_rtt_s",
    "limited_share",
    "rate_bps",
    "send_rate_bps",
    "lost_bps",
    "pacing_bps",
    "loss_rate",
    "best_bps",
    "best_mean_rtt_s",
    "delay_metric",
    "active",
    "capacity_bps",
    "base_rtt_s",
    "flows",
    "queue_packets",
    "other_goodput_bps",
    "episode_goodput_bps",
    "episode_loss_rate",
    "episode_mean_rtt_s",
    "set_rate_bps",
    "set_window",
    "action",
    "reward",
    "is_terminated",
    "is_truncated",
    "steps",
];

const CWND: usize = place("cwnd");
const SRTT: usize = place("srtt_s");
const SET_RATE: usize = place("set_rate_bps");
const SET_WINDOW: usize = place("set_window");
const ACTION: usize = place("action");
const REWARD: usize = place("reward");
const TERMINATED: usize = place("is_terminated");
const TRUNCATED: usize = place("is_truncated");
const STEPS: usize = place("steps");

/// Place of a measurement in a row.
const fn place(name: &str) -> usize {
    let mut place = 0;
    while !are_equal(NAMES[place].as_bytes(), name.as_bytes()) {
        place += 1;
    }
    place
}

const fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Window, and packets per round trip, before the first action (RFC 6928).
const FIRST_WINDOW: f64 = 10.0;

/// Step in which the first RTT sample is awaited.
const PROBE: Nanos = 10_000_000;

/// Intervals before the first observation, as in PCC-RL.
const FIRST_INTERVALS: usize = 2;

/// RTT where there is none yet, seconds.
const GUESSED_RTT_S: f64 = 0.1;

/// Shortest and longest interval that follows the RTT, seconds.
const LENGTHS_S: (f64, f64) = (0.001, 10.0);

/// Numbers by name that an exported policy repeats.
pub const CONSTANTS: [(&str, f64); 6] = [
    ("first_window", FIRST_WINDOW),
    ("first_intervals", FIRST_INTERVALS as f64),
    ("probe_s", PROBE as f64 / 1e9),
    ("guessed_rtt_s", GUESSED_RTT_S),
    ("shortest_s", LENGTHS_S.0),
    ("longest_s", LENGTHS_S.1),
];

/// Terms of all episodes of an environment.
pub struct Terms {
    features: Vec<Feature>,
    history: usize,
    interval: Option<Nanos>,
    rtts: f64,
    action: Formula,
    limit: f64,
    sets_rate: bool,
    bounds: (f64, f64),
    has_base: bool,
    reward: Option<Formula>,
    max_steps: u64,
    collapse: u64,
    sees_truth: bool,
}

struct Feature {
    formula: Formula,
    low: f64,
    high: f64,
    neutral: f32,
}

/// [`Terms`] as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GivenTerms {
    /// Formula, least and greatest value, and value before the first interval.
    features: Vec<(Words, f64, f64, f64)>,
    /// Intervals of an observation.
    history: usize,
    /// Length of an interval, nanoseconds; None for round trips.
    interval_ns: Option<Nanos>,
    /// Length of an interval in round trips.
    rtts: f64,
    /// Rate in bit/s, or window in segments.
    action: Words,
    /// Greatest absolute value of an action.
    limit: f64,
    /// Whether the action is a rate.
    sets_rate: bool,
    /// Least and greatest rate, bit/s, or window, segments.
    bounds: (f64, f64),
    /// Whether a base algorithm sets the window between the actions.
    has_base: bool,
    /// Formula of the reward; None if Python computes it.
    reward: Option<Words>,
    /// Steps of an episode, at most.
    max_steps: u64,
    /// Consecutive timeouts that end an episode.
    collapse: u64,
    /// Whether the queues and the other flows are measured.
    sees_truth: bool,
}

impl GivenTerms {
    /// The terms, with their formulas ready.
    ///
    /// # Errors
    /// A formula is wrong.
    pub fn ready(&self) -> PyResult<Terms> {
        let formula = |words: &Words| Formula::new(words, &NAMES);
        let feature = |(words, low, high, neutral): &(Words, f64, f64, f64)| {
            Ok(Feature { formula: formula(words)?, low: *low, high: *high, neutral: *neutral as f32 })
        };
        Ok(Terms {
            features: self.features.iter().map(feature).collect::<PyResult<_>>()?,
            history: self.history,
            interval: self.interval_ns,
            rtts: self.rtts,
            action: formula(&self.action)?,
            limit: self.limit,
            sets_rate: self.sets_rate,
            bounds: self.bounds,
            has_base: self.has_base,
            reward: self.reward.as_ref().map(formula).transpose()?,
            max_steps: self.max_steps,
            collapse: self.collapse,
            sees_truth: self.sees_truth,
        })
    }
}

/// Facts about the scenario of an episode.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Facts {
    duration_ns: Nanos,
    packet_bits: f64,
    /// Times from which the slowest link has a rate, and that rate, bit/s.
    capacity: Vec<(Nanos, f64)>,
    base_rtt_s: f64,
    /// Number of flows.
    flows: f64,
    /// Size of each learner, segments.
    sizes: Vec<f64>,
    /// Numbers of the learners.
    numbers: Vec<usize>,
    links: usize,
    /// Rate from the beginning on, bit/s; None to wait for the first RTT sample.
    start_bps: Option<f64>,
}

/// An episode under way.
pub struct Episode {
    simulation: Simulation,
    learners: Vec<Learner>,
    facts: Facts,
    now: Nanos,
    steps: u64,
    others: u64,
    stack: Vec<f64>,
}

/// A flow that is controlled step by step.
struct Learner {
    flow: Shared,
    /// Whether it has had an RTT sample, and follows the actions.
    is_ready: bool,
    last_rtt_s: f64,
    best_rtt_s: f64,
    best_bps: f64,
    rtts_s: f64,
    samples: f64,
    row: [f64; NAMES.len()],
    past: Vec<f32>,
}

/// Measurements that all learners of an interval share.
struct Common {
    begun: Nanos,
    now: Nanos,
    capacity_bps: f64,
    queue_packets: f64,
    other_bps: f64,
}

impl Terms {
    /// Numbers of an observation.
    pub fn width(&self) -> usize {
        self.history * self.features.len()
    }

    fn neutral(&self) -> Vec<f32> {
        (0..self.history).flat_map(|_| self.features.iter().map(|feature| feature.neutral)).collect()
    }

    fn length(&self, rtts: f64, rtt_s: f64) -> Nanos {
        let rtt_s = if rtt_s > 0.0 { rtt_s } else { GUESSED_RTT_S };
        ((rtts * rtt_s).clamp(LENGTHS_S.0, LENGTHS_S.1) * 1e9).round_ties_even() as Nanos
    }
}

impl Episode {
    /// Begins an episode: until the first RTT sample, with the scenario's initial window or rate, and then two intervals. With a base
    /// algorithm, intervals follow until its slow start is over.
    ///
    /// # Errors
    /// As for [`Simulation::advance`].
    pub fn begin(simulation: Simulation, flows: Vec<Shared>, facts: Facts, terms: &Terms) -> Result<Episode, Stopped> {
        let learners = flows.into_iter().map(|flow| Learner::new(flow, terms)).collect();
        let (now, stack) = (0, Vec::with_capacity(16));
        let mut episode = Episode { simulation, learners, facts, now, steps: 0, others: 0, stack };
        if let Some(rate_bps) = episode.facts.start_bps {
            episode.start_at(rate_bps);
        } else {
            episode.await_sample(terms)?;
        }
        for _ in 0..FIRST_INTERVALS {
            let first = match episode.facts.start_bps {
                Some(_) => terms.length(1.5, episode.facts.base_rtt_s),
                None => terms.length(1.0, episode.rtt_s()),
            };
            episode.advance(first, terms, true)?;
        }
        while terms.has_base && episode.is_in_slow_start() && episode.now <= episode.facts.duration_ns / 2 {
            let length = episode.length(terms);
            episode.advance(length, terms, true)?;
        }
        Ok(episode)
    }

    /// Whether the scenario's duration is reached.
    pub fn is_over(&self) -> bool {
        self.now >= self.facts.duration_ns
    }

    /// Applies an action of each learner, and advances by an interval.
    ///
    /// # Errors
    /// As for [`Simulation::advance`].
    pub fn step(&mut self, actions: &[f64], terms: &Terms) -> Result<(), Stopped> {
        for (learner, &action) in self.learners.iter_mut().zip(actions) {
            learner.act(action, self.facts.packet_bits, terms, &mut self.stack);
        }
        self.steps += 1;
        let length = self.length(terms);
        self.advance(length, terms, true)
    }

    /// Copies the row and the observation of each learner.
    pub fn write(&self, rows: &mut [f64], observations: &mut [f32]) {
        let wide = observations.len() / self.learners.len().max(1);
        for (place, learner) in self.learners.iter().enumerate() {
            rows[place * NAMES.len()..][..NAMES.len()].copy_from_slice(&learner.row);
            observations[place * wide..][..wide].copy_from_slice(&learner.past);
        }
    }

    /// Number of learners.
    pub fn count(&self) -> usize {
        self.learners.len()
    }

    /// The simulation.
    pub fn into_simulation(self) -> Simulation {
        self.simulation
    }

    fn start_at(&mut self, rate_bps: f64) {
        let packets = rate_bps / self.facts.packet_bits;
        for learner in &mut self.learners {
            learner.set((4.0 * packets * self.facts.base_rtt_s).max(4.0), packets, self.facts.packet_bits);
            learner.is_ready = true;
        }
    }

    fn await_sample(&mut self, terms: &Terms) -> Result<(), Stopped> {
        while self.now + 2 * PROBE < self.facts.duration_ns {
            self.advance(PROBE, terms, false)?;
            if self.learners.iter().any(|learner| learner.is_ready) || self.now > self.facts.duration_ns / 4 {
                break;
            }
        }
        Ok(())
    }

    fn rtt_s(&self) -> f64 {
        self.learners.iter().map(|learner| learner.last_rtt_s).find(|&rtt_s| rtt_s > 0.0).unwrap_or(0.0)
    }

    fn length(&self, terms: &Terms) -> Nanos {
        terms.interval.unwrap_or_else(|| terms.length(terms.rtts, self.rtt_s()))
    }

    fn is_in_slow_start(&self) -> bool {
        self.learners.iter().any(|learner| learner.flow.lock().ssthresh().is_infinite())
    }

    fn advance(&mut self, length: Nanos, terms: &Terms, records: bool) -> Result<(), Stopped> {
        let begun = self.now;
        for learner in &self.learners {
            learner.flow.lock().begin_interval(begun);
        }
        self.now = (begun + length).min(self.facts.duration_ns);
        self.simulation.advance(self.now)?;
        let common = self.common(begun, terms.sees_truth);
        for (place, learner) in self.learners.iter_mut().enumerate() {
            learner.measure(&common, &self.facts, terms, records);
            if records {
                learner.observe(terms, &mut self.stack);
                learner.judge(self.facts.sizes[place], terms, &mut self.stack);
            }
        }
        let all = self.learners.iter().all(|learner| learner.row[TERMINATED] > 0.0);
        let over = !all && (self.is_over() || self.steps >= terms.max_steps);
        for learner in &mut self.learners {
            learner.row[STEPS] = self.steps as f64;
            learner.row[TRUNCATED] = f64::from(u8::from(over && learner.row[TERMINATED] == 0.0));
        }
        Ok(())
    }

    fn common(&mut self, begun: Nanos, sees_truth: bool) -> Common {
        let duration_s = seconds(self.now - begun).max(1e-9);
        let (mut queue_packets, mut other_bps) = (0.0, 0.0);
        if sees_truth {
            queue_packets = (0..self.facts.links).map(|link| self.simulation.queued_packets(link)[0] as f64).sum();
            let done = self.simulation.acknowledged_segments();
            let own = |flow: &usize| self.facts.numbers.contains(flow);
            let others = done.iter().enumerate().filter(|(flow, _)| !own(flow)).map(|(_, count)| count).sum::<u64>();
            other_bps = (others - self.others) as f64 * self.facts.packet_bits / duration_s;
            self.others = others;
        }
        Common { begun, now: self.now, capacity_bps: self.capacity_bps(begun), queue_packets, other_bps }
    }

    /// Mean rate of the slowest link from `begun` to now.
    fn capacity_bps(&self, begun: Nanos) -> f64 {
        if let [(_, bps)] = self.facts.capacity[..] {
            return bps;
        }
        let mut bits = 0.0;
        for (place, &(from, bps)) in self.facts.capacity.iter().enumerate() {
            let to = self.facts.capacity.get(place + 1).map_or(Nanos::MAX, |next| next.0);
            bits += bps * seconds(to.min(self.now).saturating_sub(from.max(begun)));
        }
        bits / seconds(self.now - begun).max(1e-9)
    }
}

impl Learner {
    fn new(flow: Shared, terms: &Terms) -> Learner {
        flow.lock().probes = true;
        let mut row = [0.0; NAMES.len()];
        row[SET_WINDOW] = FIRST_WINDOW;
        Learner {
            flow,
            is_ready: false,
            last_rtt_s: 0.0,
            best_rtt_s: f64::INFINITY,
            best_bps: 0.0,
            rtts_s: 0.0,
            samples: 0.0,
            row,
            past: terms.neutral(),
        }
    }

    /// Sets a window in segments and a pacing rate in segments per second.
    fn set(&mut self, window: f64, rate: f64, bits: f64) {
        let mut state = self.flow.lock();
        state.set_window(window);
        state.pacing_rate = rate;
        self.row[SET_WINDOW] = window;
        self.row[SET_RATE] = rate * bits;
    }

    /// First controls, after the first RTT sample.
    fn get_ready(&mut self, bits: f64, terms: &Terms) {
        self.is_ready = true;
        let rate = FIRST_WINDOW / self.last_rtt_s;
        if terms.sets_rate {
            self.set(4.0 * FIRST_WINDOW, rate, bits);
        } else if !terms.has_base {
            self.set(FIRST_WINDOW, UNPACED, bits);
        }
    }

    fn act(&mut self, action: f64, bits: f64, terms: &Terms, stack: &mut Vec<f64>) {
        let action = if action.is_nan() { 0.0 } else { action.clamp(-terms.limit, terms.limit) };
        self.row[ACTION] = action;
        if !self.is_ready || self.row[TERMINATED] > 0.0 {
            return;
        }
        if terms.has_base {
            self.row[SET_WINDOW] = self.row[CWND];
        }
        let value = terms.action.value(&self.row, stack).max(terms.bounds.0).min(terms.bounds.1);
        if terms.sets_rate {
            let packets = value / bits;
            self.set((4.0 * packets * self.row[SRTT]).max(4.0), packets, bits);
        } else {
            self.set(value, UNPACED, bits);
        }
    }

    fn measure(&mut self, common: &Common, facts: &Facts, terms: &Terms, records: bool) {
        let flow = self.flow.clone();
        let state = flow.lock();
        let rtts = state.interval.rtts(common.begun);
        self.keep_rtts(&rtts);
        let (now_s, duration_s) = (seconds(common.now), seconds(common.now - common.begun));
        let per_second = |count: f64| if duration_s > 0.0 { count * facts.packet_bits / duration_s } else { 0.0 };
        let [sent, delivered, lost, marked, timeouts] = state.counts();
        if records {
            self.best_bps = self.best_bps.max(per_second(delivered));
        }
        let (srtt_s, min_rtt_s) = (state.srtt.map_or(0.0, seconds), state.min_rtt.map_or(0.0, seconds));
        let rate = state.pacing_rate;
        #[rustfmt::skip]
        let measured = [
            now_s, duration_s,
            sent, delivered, lost, marked, timeouts,
            rtts.count, self.last_rtt_s, rtts.least_s, rtts.slope, rtts.inflation_s,
            state.window(), state.ssthresh(), rate, state.in_flight as f64, srtt_s, min_rtt_s,
            if duration_s > 0.0 { seconds(state.limited(common.now)) / duration_s } else { 0.0 },
            per_second(delivered), per_second(sent), per_second(lost),
            if rate < UNPACED { rate * facts.packet_bits } else { UNPACED },
            share(lost, delivered), self.best_bps,
            if self.best_rtt_s.is_finite() { self.best_rtt_s } else { 0.0 },
            if srtt_s > 0.0 { (1.25 * min_rtt_s / srtt_s).min(1.0) } else { 1.0 },
            f64::from(u8::from(state.sent > 0)),
            common.capacity_bps, facts.base_rtt_s, facts.flows, common.queue_packets, common.other_bps,
            if now_s > 0.0 { state.delivered as f64 * facts.packet_bits / now_s } else { 0.0 },
            share(state.lost as f64, state.delivered as f64),
            if self.samples > 0.0 { self.rtts_s / self.samples } else { 0.0 },
        ];
        drop(state);
        self.row[..measured.len()].copy_from_slice(&measured);
        if !self.is_ready && self.last_rtt_s > 0.0 {
            self.get_ready(facts.packet_bits, terms);
        }
    }

    fn keep_rtts(&mut self, rtts: &Rtts) {
        if rtts.count > 0.0 {
            self.last_rtt_s = rtts.mean_s;
            self.best_rtt_s = self.best_rtt_s.min(rtts.mean_s);
            self.samples += rtts.count;
            self.rtts_s += rtts.count * rtts.mean_s;
        }
    }

    fn observe(&mut self, terms: &Terms, stack: &mut Vec<f64>) {
        let wide = terms.features.len();
        self.past.copy_within(wide.., 0);
        let newest = self.past.len() - wide;
        let is_active = self.flow.lock().sent > 0;
        for (feature, value) in terms.features.iter().zip(&mut self.past[newest..]) {
            *value = if is_active {
                feature.formula.value(&self.row, stack).max(feature.low).min(feature.high) as f32
            } else {
                feature.neutral
            };
        }
    }

    fn judge(&mut self, size: f64, terms: &Terms, stack: &mut Vec<f64>) {
        if let Some(reward) = &terms.reward {
            self.row[REWARD] = reward.value(&self.row, stack);
        }
        let state = self.flow.lock();
        if state.delivered as f64 >= size || state.most_timeouts >= terms.collapse {
            self.row[TERMINATED] = 1.0;
        }
    }
}

/// A part of a sum; 0 of nothing.
fn share(part: f64, other: f64) -> f64 {
    if part + other > 0.0 { part / (part + other) } else { 0.0 }
}
