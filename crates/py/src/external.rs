//! The algorithm `external`: window and pacing rate come from outside, step by step, through `fullpipe.Simulation`. With a base algorithm,
//! the window comes from that one, and the caller changes it.

use fullpipe_cc::params::{Group, Info, Kind, Params, Value};
use fullpipe_cc::time::seconds;
use fullpipe_cc::{Ack, CongestionControl, Controller, Flow, Lost, Nanos, Signal, Start, build};
use fullpipe_sim::catalogue::{Definition, Parameter};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the algorithm in scenarios.
pub const NAME: &str = "external";

/// Parameter with the number of the flow.
const FLOW: &str = "flow";

/// Parameter with the algorithm that runs between the changes.
const BASE: &str = "base";

/// Algorithms whose window a caller may change.
const BASES: &[&str] = &[NO_BASE, "newreno", "cubic"];

const NO_BASE: &str = "none";

/// Pacing rate that never delays a packet, segments per second.
pub const UNPACED: f64 = 1e12;

thread_local! {
    /// States of the connections that have begun in this thread since `collect`, by flow.
    static BEGUN: RefCell<BTreeMap<u64, Shared>> = const { RefCell::new(BTreeMap::new()) };
}

/// State that the sender and the caller share.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Mutex<State>>);

/// Controls of a flow, and its measurements.
#[derive(Clone, Debug)]
pub struct State {
    /// Congestion window that the caller has set, segments; without effect if there is a base algorithm.
    cwnd: f64,
    /// Algorithm that sets the window between the changes.
    base: Option<Box<Controller>>,
    /// Pacing rate, segments per second.
    pub pacing_rate: f64,
    /// Segments delivered since the start.
    pub delivered: u64,
    /// Segments found lost since the start.
    pub lost: u64,
    /// Segments in flight.
    pub in_flight: u64,
    /// CE marks reported since the start.
    pub marks: u64,
    /// Congestion episodes since the start.
    pub congestions: u64,
    /// Retransmission timeouts since the start.
    pub timeouts: u64,
    /// Last RTT sample.
    pub rtt: Option<Nanos>,
    /// Smoothed RTT.
    pub srtt: Option<Nanos>,
    /// Least RTT.
    pub min_rtt: Option<Nanos>,
    /// Last sample of the delivery rate, segments per second.
    pub delivery_rate: Option<f64>,
    /// Segments sent since the start, retransmissions included.
    pub sent: u64,
    /// Whether a timeout leaves one segment in flight until an ACK arrives, whatever the window.
    pub probes: bool,
    /// Whether a timeout has expired since the last ACK.
    pub timed_out: bool,
    /// Most timeouts without an ACK between them.
    pub most_timeouts: u64,
    /// Timeouts since the last ACK.
    timeouts_in_a_row: u64,
    /// Time in the interval in which the application limited the sender, as its events say, up to `limited_since`.
    limited: Nanos,
    /// Last event, if the application limited the sender then.
    limited_since: Option<Nanos>,
    /// The interval that `begin_interval` began.
    pub interval: Interval,
}

/// What a flow had counted at the beginning of an interval, and RTT samples in it.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Segments sent before.
    pub sent: u64,
    /// Segments delivered before.
    pub delivered: u64,
    /// Segments found lost before.
    pub lost: u64,
    /// Marks reported before.
    pub marks: u64,
    /// Timeouts before.
    pub timeouts: u64,
    /// Times and RTT samples; None where no interval is measured.
    samples: Option<Vec<(Nanos, Nanos)>>,
}

/// RTT samples of an interval; 0 where there are too few.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtts {
    /// Number of samples.
    pub count: f64,
    /// Mean, seconds.
    pub mean_s: f64,
    /// Least sample, seconds.
    pub least_s: f64,
    /// Least-squares slope over time, seconds per second.
    pub slope: f64,
    /// Mean of the second half of the samples minus that of the first, seconds.
    pub inflation_s: f64,
}

impl State {
    /// Congestion window, segments.
    pub fn window(&self) -> f64 {
        self.base.as_ref().map_or(self.cwnd, |base| base.cwnd())
    }

    /// Slow-start threshold, segments; equal to the window without a base algorithm, so that recovery does not reduce it.
    pub fn ssthresh(&self) -> f64 {
        self.base.as_ref().map_or(self.cwnd, |base| base.ssthresh())
    }

    /// Sets the window, segments.
    pub fn set_window(&mut self, cwnd: f64) {
        match &mut self.base {
            Some(base) => base.on_restart(cwnd, base.ssthresh()),
            None => self.cwnd = cwnd,
        }
    }

    /// Segments sent, delivered, and found lost, marks, and timeouts of the interval.
    pub fn counts(&self) -> [f64; 5] {
        let Interval { sent, delivered, lost, marks, timeouts, .. } = self.interval;
        [self.sent - sent, self.delivered - delivered, self.lost - lost, self.marks - marks, self.timeouts - timeouts]
            .map(|count| count as f64)
    }

    /// Time of the interval, up to now, in which the application limited the sender.
    pub fn limited(&self, now: Nanos) -> Nanos {
        self.limited + self.limited_since.map_or(0, |since| now.saturating_sub(since))
    }

    /// Begins an interval.
    pub fn begin_interval(&mut self, now: Nanos) {
        self.limited = 0;
        self.limited_since = self.limited_since.map(|_| now);
        let mut samples = self.interval.samples.take().unwrap_or_default();
        samples.clear();
        self.interval = Interval {
            sent: self.sent,
            delivered: self.delivered,
            lost: self.lost,
            marks: self.marks,
            timeouts: self.timeouts,
            samples: Some(samples),
        };
    }
}

impl Interval {
    /// RTT samples of the interval that began at a time. All but `inflation_s` are sums over the samples in their order, which an
    /// exported policy repeats (`fullpipe.gym.exported`).
    pub fn rtts(&self, begun: Nanos) -> Rtts {
        let samples = self.samples.as_deref().unwrap_or_default();
        let Some(&(_, first)) = samples.first() else { return Rtts::default() };
        let (first_s, count) = (seconds(first), samples.len() as f64);
        let (mut least_s, mut rtts, mut times, mut squares, mut rises, mut products) =
            (first_s, 0.0, 0.0, 0.0, 0.0, 0.0);
        for &(at, rtt) in samples {
            let (time, rtt) = (seconds(at - begun), seconds(rtt));
            let rise = rtt - first_s;
            least_s = rtt.min(least_s);
            rtts += rtt;
            times += time;
            squares += time * time;
            rises += rise;
            products += time * rise;
        }
        let spread = squares - times * times / count;
        let common = products - times * rises / count;
        let mean =
            |part: &[(Nanos, Nanos)]| part.iter().map(|sample| seconds(sample.1)).sum::<f64>() / part.len() as f64;
        let (early, late) = samples.split_at(samples.len() / 2);
        Rtts {
            count,
            mean_s: rtts / count,
            least_s,
            slope: if spread > 1e-12 * squares { common / spread } else { 0.0 },
            inflation_s: if early.is_empty() { 0.0 } else { mean(late) - mean(early) },
        }
    }
}

impl Shared {
    /// The state, for this thread alone.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets connections that began before.
pub fn forget() {
    BEGUN.with_borrow_mut(BTreeMap::clear);
}

/// States of the connections that have begun in this thread since `forget`, by flow.
pub fn collect() -> BTreeMap<u64, Shared> {
    BEGUN.take()
}

/// Facts about the algorithm.
pub fn info() -> &'static Info {
    let text = |text: &str| text.to_owned();
    Definition {
        name: text(NAME),
        paper: text("fullpipe.Simulation sets the window and the pacing rate"),
        group: Group::ALL[0],
        recovery: text("rack"),
        own_slow_start: true,
        ecn: None,
        params: vec![
            Parameter {
                name: text(FLOW),
                unit: text("1"),
                kind: Kind::Number { min: 0.0, max: 1e9 },
                default: Value::Number(0.0),
                doc: text("Number of the flow."),
                source: text("fullpipe.Simulation"),
            },
            Parameter {
                name: text(BASE),
                unit: text("1"),
                kind: Kind::Choice(BASES),
                default: Value::Name(NO_BASE),
                doc: text("Algorithm that sets the window between the changes of the caller."),
                source: text("fullpipe.gym"),
            },
        ],
    }
    .kept()
}

/// Begins a connection.
pub fn begin(params: &Params, start: Start) -> Box<dyn CongestionControl + Send> {
    let base = params.choice(BASE);
    let base = (base != NO_BASE).then(|| Box::new(build(base, &[], start).expect("a built-in algorithm")));
    let shared = Shared(Arc::new(Mutex::new(State {
        cwnd: start.window,
        base,
        pacing_rate: UNPACED,
        delivered: 0,
        lost: 0,
        in_flight: 0,
        marks: 0,
        congestions: 0,
        timeouts: 0,
        rtt: None,
        srtt: start.rtt,
        min_rtt: start.rtt,
        delivery_rate: None,
        sent: 0,
        probes: false,
        timed_out: false,
        most_timeouts: 0,
        timeouts_in_a_row: 0,
        limited: 0,
        limited_since: None,
        interval: Interval::default(),
    })));
    BEGUN.with_borrow_mut(|begun| begun.insert(params.number(FLOW) as u64, shared.clone()));
    Box::new(External(shared))
}

struct External(Shared);

impl External {
    fn note(&self, flow: &Flow) -> MutexGuard<'_, State> {
        let mut state = self.0.lock();
        state.delivered = flow.delivered;
        state.lost = flow.lost;
        state.in_flight = flow.in_flight;
        state.srtt = flow.srtt;
        state.min_rtt = flow.min_rtt;
        state.limited = state.limited(flow.now);
        state.limited_since = flow.app_limited.then_some(flow.now);
        state
    }
}

impl CongestionControl for External {
    fn cwnd(&self) -> f64 {
        let state = self.0.lock();
        if state.base.is_none() && state.probes && state.timed_out { 1.0 } else { state.window() }
    }

    fn ssthresh(&self) -> f64 {
        self.0.lock().ssthresh()
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.0.lock().pacing_rate)
    }

    fn takes_rate_samples(&self) -> bool {
        true
    }

    fn rules_recovery(&self) -> bool {
        self.0.lock().base.is_none()
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let mut state = self.note(flow);
        state.timed_out = false;
        state.timeouts_in_a_row = 0;
        state.rtt = ack.rtt.or(state.rtt);
        if let (Some(rtt), Some(samples)) = (ack.rtt, state.interval.samples.as_mut()) {
            samples.push((flow.now, rtt));
        }
        state.marks += ack.ce;
        if let Some(sample) = ack.rate
            && let Some(interval) = sample.interval
        {
            state.delivery_rate = Some(sample.delivered as f64 * 1e9 / interval as f64);
        }
        // The bases take no rate samples: an ACK that moves nothing is not theirs.
        if let Some(base) = state.base.as_mut().filter(|_| ack.acked > 0 || ack.ce > 0) {
            base.on_ack(flow, ack);
        }
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        let mut state = self.note(flow);
        state.congestions += 1;
        if matches!(signal, Signal::Timeout) {
            state.timeouts += 1;
            state.timed_out = true;
        }
        if let Some(base) = &mut state.base {
            base.on_congestion(flow, signal);
        }
    }

    fn on_recovered(&mut self, flow: &Flow) {
        if let Some(base) = &mut self.0.lock().base {
            base.on_recovered(flow);
        }
    }

    fn on_sent(&mut self, flow: &Flow) {
        let mut state = self.note(flow);
        state.sent += 1;
        // Only the first of several timeouts is reported. After each, a learner sends one segment.
        if state.timed_out && state.probes {
            state.timeouts_in_a_row += 1;
            state.timeouts += u64::from(state.timeouts_in_a_row > 1);
            state.most_timeouts = state.most_timeouts.max(state.timeouts_in_a_row);
        }
    }

    fn on_lost(&mut self, flow: &Flow, _lost: &Lost) {
        drop(self.note(flow));
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        if let Some(base) = &mut self.0.lock().base {
            base.on_undo(cwnd, ssthresh);
        }
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        if let Some(base) = &mut self.0.lock().base {
            base.on_restart(cwnd, ssthresh);
        }
    }
}
