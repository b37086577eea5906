//! The window policy of a sender: one of the crate's, dispatched without a pointer, or any. A run whose flows all have one of the crate's
//! pays nothing for there being others.

pub use super::controller::Controller;
use crate::catalogue::Foreign;
use crate::scenario::Algorithm;
use fullpipe_cc::packets;
use fullpipe_cc::params::Params;
use fullpipe_cc::{Ack, CongestionControl, Flow, Lost, Nanos, Signal, Start, time::seconds};
use std::fmt::{self, Debug};
use std::sync::{Arc, OnceLock};

/// Greatest window, segments: numbers travel modulo 2^32, and within half of that it is plain which is meant.
pub const MOST_SEGMENTS: u32 = (1 << 31) - 1;

/// Arguments of [`CongestionControl::on_ack`], built after the dispatch to the algorithm, so that the compiler drops fields that it does
/// not read: one CUBIC flow takes 17 % more time without this.
pub trait Input {
    /// The sender's state, and the ACK.
    fn put_together(self) -> (Flow, Ack);
}

/// Interface of a window policy to its sender.
pub trait Policy: CongestionControl + Debug + Sized {
    /// Whether it may blow the run's fuse.
    const MAY_FAIL: bool;

    /// The algorithm that a scenario names, of which it has been checked, at the beginning of a connection.
    fn begin(algorithm: &Algorithm, start: Start, guard: Guard) -> Self;

    /// [`CongestionControl::on_ack`], then [`CongestionControl::cwnd`].
    fn acked(&mut self, input: impl Input) -> f64;

    /// Whether packets are to be recorded for it ([`CongestionControl::takes_packets`]): known without a call for the crate's own.
    #[inline(always)]
    fn records_packets(&self) -> bool {
        Self::MAY_FAIL && self.takes_packets()
    }

    /// Bytes it holds on the heap.
    fn heap_bytes(&self) -> usize;
}

/// The crate's algorithms and foreign ones alike, behind a pointer. Of a foreign one nothing is taken on trust: where its window, its rate
/// or itself fails, the run's fuse blows, and its last sound answer is used until the run has ended.
pub struct Any {
    policy: Box<dyn CongestionControl + Send>,
    cwnd: f64,
    /// `None` for one of the crate's.
    watch: Option<Watch>,
}

/// Checks of a foreign algorithm.
struct Watch {
    name: &'static str,
    guard: Guard,
    pacing_rate: Option<f64>,
    /// The names of its internals, as it first showed them.
    shown: Vec<&'static str>,
}

/// Where a connection's algorithm reports a fault.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The run's.
    pub fuse: Fuse,
    /// The flow.
    pub flow: u32,
    /// When it was last called.
    pub now: Nanos,
}

/// Blows at the first fault of a run, which it keeps.
#[derive(Clone, Debug, Default)]
pub struct Fuse(Arc<OnceLock<Fault>>);

impl Fuse {
    /// The fault that it has blown at.
    #[inline]
    pub fn fault(&self) -> Option<&Fault> {
        self.0.get()
    }
}

/// Fault of a foreign algorithm, which ends its run.
///
/// ```
/// use fullpipe_cc::{Ack, Classic, Flow, Response, Signal, params::Info};
/// use fullpipe_sim::{Catalogue, Simulation, Stopped};
///
/// struct Broken;
/// impl Response for Broken {
///     fn increase(&mut self, _: f64, _: &Flow, _: &Ack) -> f64 { f64::NAN }
///     fn decrease(&mut self, _: f64, _: &Flow, _: Signal) -> f64 { f64::NAN }
/// }
/// const INFO: Info = Info::new("broken", "none");
/// let catalogue = Catalogue::builtin().with(&INFO, |_, start| Classic::new(start, Broken));
/// let scenario = catalogue.read_toml(r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
///     flows = [{ algorithm = "broken" }]
/// "#)?;
/// let stopped = Simulation::new(scenario)?.report().expect_err("a window that is no number");
/// assert!(matches!(stopped, Stopped::Algorithm(fault) if fault.algorithm == "broken" && fault.flow == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The flow's number.
    pub flow: u32,
    /// When, on the flow's clock.
    pub at: Nanos,
    /// Fault and allowed values.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Fault { algorithm, flow, at, what } = self;
        write!(f, "algorithm {algorithm:?}, flow {flow}, at {} s: {what}", seconds(*at))
    }
}

impl std::error::Error for Fault {}

impl Policy for Any {
    const MAY_FAIL: bool = true;

    fn begin(algorithm: &Algorithm, start: Start, guard: Guard) -> Any {
        let Some(foreign) = &algorithm.foreign else {
            let policy: Box<Controller> = Box::new(Policy::begin(algorithm, start, guard));
            return Any { cwnd: policy.cwnd(), policy, watch: None };
        };
        Any::foreign(foreign, &algorithm.params(), start, guard)
    }

    fn acked(&mut self, input: impl Input) -> f64 {
        let (flow, ack) = input.put_together();
        self.on_ack(&flow, &ack);
        self.cwnd
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.policy)
    }
}

impl Any {
    fn foreign(foreign: &Foreign, params: &Params, start: Start, guard: Guard) -> Any {
        let info = foreign.info();
        let policy = foreign.begin(params, start);
        let mut shown = Vec::new();
        policy.inspect(&mut |name, _| shown.push(name));
        let now = guard.now;
        let taken =
            shown.iter().enumerate().find(|(place, name)| TAKEN.contains(name) || shown[..*place].contains(name));
        let taken = taken.map(|(_, name)| format!("it shows {name:?}, which the series have already"));
        let mut any =
            Any { policy, cwnd: 1.0, watch: Some(Watch { name: info.name, guard, pacing_rate: None, shown }) };
        if let Some(what) = taken {
            any.blow(what);
        }
        any.look(now);
        any
    }

    /// Calls the policy at `now`, unless the run is at its end.
    fn tell(&mut self, now: Nanos, event: impl FnOnce(&mut (dyn CongestionControl + Send))) {
        if self.watch.as_ref().is_some_and(|watch| watch.guard.fuse.fault().is_some()) {
            return;
        }
        event(&mut *self.policy);
        self.look(now);
    }

    /// Takes its window and rate, if they are sound.
    fn look(&mut self, now: Nanos) {
        let cwnd = self.policy.cwnd();
        let Some(watch) = &mut self.watch else {
            self.cwnd = cwnd;
            return;
        };
        watch.guard.now = now;
        let pacing_rate = self.policy.pacing_rate();
        let fault = self.policy.fault().map(ToString::to_string);
        let fault = fault.or_else(|| unsound_window(cwnd)).or_else(|| unsound_rate(pacing_rate));
        match fault {
            Some(what) => self.blow(what),
            None => (self.cwnd, watch.pacing_rate) = (cwnd, pacing_rate),
        }
    }

    #[cold]
    fn blow(&mut self, what: String) {
        let Some(Watch { name, guard: Guard { fuse, flow, now }, .. }) = &self.watch else { return };
        // The first fault counts.
        let _ = fuse.0.set(Fault { algorithm: name, flow: *flow, at: *now, what });
    }
}

/// Columns that internals cannot be called by.
const TAKEN: [&str; 7] =
    ["t_s", "flow", "cwnd_packets", "ssthresh_packets", "rtt_s", "in_flight_packets", "goodput_bps"];

fn unsound_window(cwnd: f64) -> Option<String> {
    let sound = (1.0..=f64::from(MOST_SEGMENTS)).contains(&cwnd);
    (!sound).then(|| {
        // Beyond the integers of f64, hundreds of digits would follow.
        let shown = if cwnd.abs() < 1e15 { format!("{cwnd}") } else { format!("{cwnd:e}") };
        format!("the window must be in [1, {MOST_SEGMENTS}] segments, got {shown}")
    })
}

fn unsound_rate(rate: Option<f64>) -> Option<String> {
    let rate = rate.filter(|rate| rate.is_nan() || *rate < 0.0)?;
    Some(format!("the pacing rate must be none or at least 0 segments per second, got {rate}"))
}

impl CongestionControl for Any {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.policy.ssthresh()
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.watch.as_ref().map_or_else(|| self.policy.pacing_rate(), |watch| watch.pacing_rate)
    }

    fn send_quantum(&self) -> u64 {
        self.policy.send_quantum().max(1)
    }

    fn takes_rate_samples(&self) -> bool {
        self.policy.takes_rate_samples()
    }

    fn rules_recovery(&self) -> bool {
        self.policy.rules_recovery()
    }

    fn holds_back(&self) -> bool {
        self.policy.holds_back()
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.tell(flow.now, |policy| policy.on_ack(flow, ack));
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        self.tell(flow.now, |policy| policy.on_congestion(flow, signal));
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.tell(flow.now, |policy| policy.on_recovered(flow));
    }

    fn on_sent(&mut self, flow: &Flow) {
        self.tell(flow.now, |policy| policy.on_sent(flow));
    }

    fn on_lost(&mut self, flow: &Flow, lost: &Lost) {
        self.tell(flow.now, |policy| policy.on_lost(flow, lost));
    }

    fn takes_packets(&self) -> bool {
        self.policy.takes_packets()
    }

    fn on_packet_sent(&mut self, flow: &Flow, sent: &packets::Sent) {
        self.tell(flow.now, |policy| policy.on_packet_sent(flow, sent));
    }

    fn on_packet_lost(&mut self, flow: &Flow, lost: &packets::Lost) {
        self.tell(flow.now, |policy| policy.on_packet_lost(flow, lost));
    }

    fn is_packet_level(&self) -> bool {
        self.policy.is_packet_level()
    }

    fn on_event(&mut self, path: &packets::Path, event: &packets::Event) {
        self.tell(path.now, |policy| policy.on_event(path, event));
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        let now = self.watch.as_ref().map_or(0, |watch| watch.guard.now);
        self.tell(now, |policy| policy.on_undo(cwnd, ssthresh));
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        let now = self.watch.as_ref().map_or(0, |watch| watch.guard.now);
        self.tell(now, |policy| policy.on_restart(cwnd, ssthresh));
    }

    fn on_limit(&mut self, cwnd: f64) {
        let now = self.watch.as_ref().map_or(0, |watch| watch.guard.now);
        self.tell(now, |policy| policy.on_limit(cwnd));
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let Some(watch) = &self.watch else { return self.policy.inspect(visit) };
        // The names it first showed, whatever it shows now: columns have no others.
        let mut names = watch.shown.iter().copied().peekable();
        self.policy.inspect(&mut |name, value| {
            if names.next_if_eq(&name).is_some() {
                visit(name, value);
            }
        });
        names.for_each(|name| visit(name, f64::NAN));
    }
}

impl Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = self.watch.as_ref().map(|watch| watch.name);
        f.debug_struct("Any").field("foreign", &name).field("cwnd", &self.cwnd).finish_non_exhaustive()
    }
}
