//! Runs: the functions and the type that users of the crate call.

use super::{Engine, footprint};
use crate::model::Invalid;
use crate::network::Serving;
use crate::report::Report;
use crate::scenario::order::Order;
use crate::scenario::{Problem, Scenario};
use crate::trace::Destinations;
use crate::transport::policy::{Any, Controller, Fault};
use fullpipe_cc::Nanos;
use std::fmt;
use std::sync::Arc;

/// Why a run did not reach its end.
///
/// ```
/// use fullpipe_sim::{Scenario, Stopped, run, run_within};
///
/// let scenario = Scenario::from_toml(r#"
///     duration = "60 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
///     flows = [{ algorithm = "reno" }]
/// "#)?;
/// assert_eq!(run(&scenario, &mut |now| now < 1_000_000_000), Err(Stopped::Interrupted));
/// assert!(matches!(run_within(&scenario, 1_000, &mut |_| true), Err(Stopped::Memory(_))));
/// # Ok::<(), fullpipe_sim::scenario::Problem>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stopped {
    /// The watch returned false.
    Interrupted,
    /// The scenario is not valid.
    Invalid(Invalid),
    /// The run exceeds its memory limit; the problem names the key at fault.
    Memory(Problem),
    /// An algorithm from outside the crate has failed.
    Algorithm(Fault),
    /// A file of packets is not complete, or there are more packets than allowed.
    Trace(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Stopped::Interrupted => f.write_str("stopped before its end"),
            Stopped::Invalid(invalid) => invalid.fmt(f),
            Stopped::Memory(problem) => problem.fmt(f),
            Stopped::Algorithm(fault) => fault.fmt(f),
            Stopped::Trace(fault) => f.write_str(fault),
        }
    }
}

impl std::error::Error for Stopped {}

/// Runs `scenario`. Every few thousand events the run calls `watch` with the simulated time, and stops if it returns false.
///
/// # Errors
/// [`Stopped`], by the watch or by an algorithm.
pub fn run(scenario: &Scenario, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<Report, Stopped> {
    run_within(scenario, u64::MAX, watch)
}

/// Runs `scenario` in at most `memory_bytes` bytes. The certain part is checked before the run. Growing parts are checked every few
/// thousand events, and after each large first window. The limit changes no metric.
///
/// # Errors
/// [`Stopped`], by the watch, by an algorithm, or at the memory limit.
pub fn run_within(
    scenario: &Scenario,
    memory_bytes: u64,
    watch: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Report, Stopped> {
    let mut simulation = Simulation::within(scenario.clone(), memory_bytes)?;
    simulation.advance_watched(Nanos::MAX, watch)?;
    simulation.report()
}

/// Test only: runs `scenario` with another implementation of links, which gives equal results.
///
/// # Errors
/// As [`run`].
#[doc(hidden)]
pub fn run_served(
    scenario: &Scenario,
    serving: Serving,
    watch: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Report, Stopped> {
    scenario.check().map_err(Stopped::Invalid)?;
    let mut simulation = Simulation::begin(Arc::new(scenario.clone()), u64::MAX, serving);
    simulation.advance_watched(Nanos::MAX, watch)?;
    simulation.report()
}

/// Run in steps. Its report is equal, byte by byte, for any number of steps.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation};
///
/// let scenario = Scenario::from_toml(
///     r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
///     flows = [{ algorithm = "reno" }]
///     "#,
/// )?;
/// let mut simulation = Simulation::new(scenario)?;
/// simulation.advance(2_000_000_000)?;
/// assert_eq!(simulation.now(), 2_000_000_000);
/// assert!(simulation.report()?.links[0].forward.utilization > 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation(Run);

enum Run {
    Builtin(Box<Engine<Controller>>),
    Any(Box<Engine<Any>>),
}

/// Calls a method of either engine.
macro_rules! either {
    ($run:expr, $engine:ident => $what:expr) => {
        match $run {
            Run::Builtin($engine) => $what,
            Run::Any($engine) => $what,
        }
    };
}

impl Simulation {
    /// Simulation of `scenario` at time 0.
    ///
    /// # Errors
    /// The first fault of the scenario, as [`Scenario::check`] finds it.
    pub fn new(scenario: impl Into<Arc<Scenario>>) -> Result<Simulation, Invalid> {
        let scenario = scenario.into();
        scenario.check()?;
        Ok(Simulation::begin(scenario, u64::MAX, Serving::WhereNeeded))
    }

    /// Simulation of `scenario` that holds at most `memory_bytes` bytes of memory (see [`run_within`]).
    ///
    /// # Errors
    /// [`Stopped::Invalid`] for a fault of the scenario, [`Stopped::Memory`] if it is certain to need more.
    pub fn within(scenario: impl Into<Arc<Scenario>>, memory_bytes: u64) -> Result<Simulation, Stopped> {
        let scenario = scenario.into();
        scenario.check().map_err(Stopped::Invalid)?;
        footprint::check_certain(&scenario, memory_bytes).map_err(Stopped::Memory)?;
        Ok(Simulation::begin(scenario, memory_bytes, Serving::WhereNeeded))
    }

    /// As [`Simulation::within`], with the packets of each flow in files. The results are equal.
    ///
    /// # Errors
    /// As [`Simulation::within`].
    pub fn traced(
        scenario: impl Into<Arc<Scenario>>,
        memory_bytes: u64,
        to: &Destinations,
    ) -> Result<Simulation, Stopped> {
        let scenario = scenario.into();
        scenario.check().map_err(Stopped::Invalid)?;
        footprint::check_certain(&scenario, memory_bytes).map_err(Stopped::Memory)?;
        let mut engine = Box::new(Engine::new(scenario, memory_bytes, Serving::WhereNeeded));
        engine.trace_to(to);
        Ok(Simulation(Run::Any(engine)))
    }

    fn begin(scenario: Arc<Scenario>, memory_bytes: u64, serving: Serving) -> Simulation {
        Simulation(match scenario.has_foreign() {
            false => Run::Builtin(Box::new(Engine::new(scenario, memory_bytes, serving))),
            true => Run::Any(Box::new(Engine::new(scenario, memory_bytes, serving))),
        })
    }

    /// Simulated time: all earlier events are done.
    pub fn now(&self) -> Nanos {
        either!(&self.0, engine => engine.now)
    }

    /// Packets in the queue of a link, by its place in the scenario: forward, then reverse.
    pub fn queued_packets(&self, link: usize) -> [usize; 2] {
        either!(&self.0, engine => {
            let place = Order::back(&engine.order.links)[link];
            [0, 1].map(|direction| engine.transit.network.queued_packets(2 * place + direction, engine.now))
        })
    }

    /// Segments that have been acknowledged cumulatively, for each flow of `[[flows]]`, in the order of the file.
    pub fn acknowledged_segments(&self) -> Vec<u64> {
        either!(&self.0, engine => {
            let mut found = vec![0; engine.long_lived];
            for connection in &engine.flows[..engine.long_lived] {
                found[engine.order.number(connection.id) as usize] = connection.sender.acknowledged();
            }
            found
        })
    }

    /// Runs until the time `until`, or to the end of the scenario if that comes first.
    ///
    /// # Errors
    /// [`Stopped`], by an algorithm, or at the memory limit. The run ends there.
    pub fn advance(&mut self, until: Nanos) -> Result<(), Stopped> {
        self.advance_watched(until, &mut |_| true)
    }

    /// As [`Simulation::advance`]. Every few thousand events it calls `watch` with the simulated time, and stops if that returns false.
    ///
    /// # Errors
    /// [`Stopped`]. After a stop by the watch you may call it again.
    pub fn advance_watched(&mut self, until: Nanos, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<(), Stopped> {
        either!(&mut self.0, engine => engine.run(until, watch))
    }

    /// Runs to the end, and returns the report.
    ///
    /// # Errors
    /// As [`Simulation::advance`] gives them.
    pub fn report(mut self) -> Result<Report, Stopped> {
        self.advance(Nanos::MAX)?;
        if let Some(fault) = either!(&mut self.0, engine => engine.close_trace()) {
            return Err(Stopped::Trace(fault));
        }
        Ok(either!(self.0, engine => engine.report()))
    }
}
