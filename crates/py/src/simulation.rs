//! A run step by step, with flows under outside control.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;
use fullpipe_sim::{Simulation, Stopped};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::external::{self, Shared};
use crate::model::{self, Model};
use crate::watch::Watch;
use crate::{own, report};

/// Simulation in steps. Any thread may use it, one at a time.
#[pyclass(module = "fullpipe._core")]
pub struct Steps {
    simulation: Mutex<Option<Simulation>>,
    flows: BTreeMap<u64, Shared>,
    links: usize,
    /// Whether an algorithm is run by the interpreter.
    holds_lock: bool,
}

#[pymethods]
impl Steps {
    /// Simulation of `model` at its beginning, in at most `memory_bytes` of memory.
    #[new]
    #[pyo3(signature = (model, memory_bytes=None))]
    fn new(py: Python<'_>, model: &Model, memory_bytes: Option<u64>) -> PyResult<Steps> {
        external::forget();
        let scenario = model.scenario();
        let links = scenario.links.len();
        let simulation = Simulation::within(scenario, memory_bytes.unwrap_or(u64::MAX));
        let simulation = simulation.map_err(|stopped| model::refused(py, stopped))?;
        Ok(Steps {
            simulation: Mutex::new(Some(simulation)),
            flows: external::collect(),
            links,
            holds_lock: model.holds_lock(),
        })
    }

    /// Simulated time reached, nanoseconds.
    #[getter]
    fn now_ns(&self) -> PyResult<Nanos> {
        self.with(Simulation::now)
    }

    /// Advances to the time `until_ns`, or to the end of the scenario, without the interpreter's lock where it can.
    fn advance(&mut self, py: Python<'_>, until_ns: Nanos) -> PyResult<()> {
        let mut watch = Watch::new(None);
        let _ = own::take_raised();
        let simulation =
            self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().ok_or_else(ended)?;
        let mut advance = || simulation.advance_watched(until_ns, &mut |reached| watch.may_go_on(reached));
        let outcome = if self.holds_lock { advance() } else { py.detach(advance) };
        finish(py, outcome, watch)
    }

    /// Sets the window, segments, and the pacing rate, segments per second, of a flow; None leaves a value as it is.
    fn set(&self, flow: u64, cwnd: Option<f64>, pacing_rate: Option<f64>) -> PyResult<()> {
        let shared =
            self.flows.get(&flow).ok_or_else(|| PyValueError::new_err(format!("flow {flow} is not external")))?;
        let mut state = shared.lock();
        if let Some(cwnd) = cwnd {
            state.set_window(cwnd);
        }
        state.pacing_rate = pacing_rate.unwrap_or(state.pacing_rate);
        Ok(())
    }

    /// State of the flows under outside control, and packets in the queues of the links.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = PyDict::new(py);
        snapshot.set_item("now_s", seconds(self.with(Simulation::now)?))?;
        let flows = PyDict::new(py);
        for (&number, shared) in &self.flows {
            let state = shared.lock().clone();
            let flow = PyDict::new(py);
            flow.set_item("cwnd_packets", state.window())?;
            flow.set_item("pacing_rate", state.pacing_rate)?;
            flow.set_item("in_flight_packets", state.in_flight)?;
            flow.set_item("delivered_packets", state.delivered)?;
            flow.set_item("lost_packets", state.lost)?;
            flow.set_item("marked_packets", state.marks)?;
            flow.set_item("congestions", state.congestions)?;
            flow.set_item("timeouts", state.timeouts)?;
            flow.set_item("rtt_s", state.rtt.map(seconds))?;
            flow.set_item("srtt_s", state.srtt.map(seconds))?;
            flow.set_item("min_rtt_s", state.min_rtt.map(seconds))?;
            flow.set_item("delivery_rate", state.delivery_rate)?;
            flows.set_item(number, flow)?;
        }
        snapshot.set_item("flows", flows)?;
        let queues = PyList::empty(py);
        for link in 0..self.links {
            queues.append(self.with(|simulation| simulation.queued_packets(link))?)?;
        }
        snapshot.set_item("queue_packets", queues)?;
        Ok(snapshot)
    }

    /// Advances to the end, and gives the tables of the run.
    fn tables<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.advance(py, Nanos::MAX)?;
        let simulation = self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(ended)?;
        match simulation.report() {
            Ok(done) => report::to_tables(py, done),
            Err(stopped) => Err(model::failure(py, &stopped)),
        }
    }
}

impl Steps {
    fn with<T>(&self, use_it: impl FnOnce(&Simulation) -> T) -> PyResult<T> {
        let simulation = self.simulation.lock().unwrap_or_else(PoisonError::into_inner);
        simulation.as_ref().map(use_it).ok_or_else(ended)
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the simulation has ended")
}

fn finish(py: Python<'_>, outcome: Result<(), Stopped>, watch: Watch) -> PyResult<()> {
    match (outcome, watch.into_error()) {
        (_, Some(error)) => Err(error),
        (Ok(()), None) => Ok(()),
        (Err(Stopped::Memory(problem)), None) => Err(model::raise(problem)),
        (Err(stopped), None) => Err(model::failure(py, &stopped)),
    }
}
