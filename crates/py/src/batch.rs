//! Many simulations that advance together on several threads: the engine of `fullpipe.gym`.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;
use fullpipe_sim::{Simulation, Stopped};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::sync::{Mutex, PoisonError};

use crate::external::{self, Shared};
use crate::model::{self, Model};
use crate::{own, report};

/// Columns of an interval, in the order of `Slot::step`.
pub const COLUMNS: [&str; 19] = [
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
    "is_over",
];

/// A simulation, and the flows that are controlled from outside.
struct Slot {
    simulation: Simulation,
    flows: Vec<Shared>,
}

/// Simulations by place. Each is advanced by one thread at a time, so that the number of threads changes no result.
#[pyclass(module = "fullpipe._core")]
pub struct Batch {
    slots: Vec<Mutex<Option<Slot>>>,
    workers: usize,
    threads: Option<Threads>,
}

/// Threads that wait between steps, and the process that started them: a forked child has none of them.
struct Threads {
    pool: ThreadPool,
    process: u32,
}

/// Simulations that a thread takes at once. With less work than this, handing it over costs more than it gains.
const AT_ONCE: usize = 8;

#[pymethods]
impl Batch {
    /// Places for `count` simulations, which `workers` threads advance.
    #[new]
    fn new(count: usize, workers: usize) -> Batch {
        Batch { slots: (0..count).map(|_| Mutex::new(None)).collect(), workers, threads: None }
    }

    /// Begins a simulation of `model` at a place, and returns its number of external flows.
    ///
    /// Refuses algorithms that need the interpreter.
    fn begin(&self, py: Python<'_>, place: usize, model: &Model, memory_bytes: Option<u64>) -> PyResult<usize> {
        if model.holds_lock() {
            return Err(PyValueError::new_err("an interpreted algorithm"));
        }
        let scenario = model.scenario();
        let (simulation, flows) = py.detach(|| {
            external::forget();
            (Simulation::within(scenario, memory_bytes.unwrap_or(u64::MAX)), external::collect())
        });
        let simulation = simulation.map_err(|stopped| model::refused(py, stopped))?;
        let flows: Vec<_> = flows.into_values().collect();
        for flow in &flows {
            flow.lock().probes = true;
        }
        let count = flows.len();
        let mut slot = self.slot(place)?.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Slot { simulation, flows });
        Ok(count)
    }

    /// Sets windows and pacing rates, and advances the simulations at `places`, each to its time of `until_ns`.
    ///
    /// `controls` has two numbers for each flow of each simulation: window in segments and pacing rate in segments per
    /// second; NaN leaves a value. `intervals` gets `COLUMNS` for each flow. `most` is the number of flows of a simulation.
    fn step(
        &mut self,
        py: Python<'_>,
        places: Vec<usize>,
        until_ns: Vec<Nanos>,
        controls: PyBuffer<f64>,
        intervals: PyBuffer<f64>,
        most: usize,
    ) -> PyResult<()> {
        let given = controls.to_vec(py)?;
        let width = most * COLUMNS.len();
        if until_ns.len() != places.len()
            || given.len() != places.len() * most * 2
            || intervals.item_count() != places.len() * width
        {
            return Err(PyValueError::new_err("lengths must be equal"));
        }
        for &place in &places {
            self.slot(place)?;
        }
        self.start_threads()?;
        let rows = py.detach(|| {
            let advance = |job: usize| {
                let mut slot = self.slots[places[job]].lock().unwrap_or_else(PoisonError::into_inner);
                let controls = &given[job * most * 2..(job + 1) * most * 2];
                slot.as_mut().map_or(Ok(Vec::new()), |slot| slot.step(until_ns[job], controls, width))
            };
            let jobs = 0..places.len();
            match &self.threads {
                Some(threads) if jobs.len() > AT_ONCE => {
                    threads.pool.install(|| jobs.into_par_iter().with_min_len(AT_ONCE).map(advance).collect())
                }
                _ => jobs.map(advance).collect::<Vec<_>>(),
            }
        });
        let mut written = Vec::with_capacity(places.len() * width);
        for row in rows {
            let row = row.map_err(|stopped| model::refused(py, stopped))?;
            if row.len() != width {
                return Err(PyRuntimeError::new_err("every place requires a simulation"));
            }
            written.extend(row);
        }
        intervals.copy_from_slice(py, &written)
    }

    /// Packets in the queue of a link of a simulation, forward and reverse.
    fn queued(&self, place: usize, link: usize) -> PyResult<[usize; 2]> {
        let slot = self.slot(place)?.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slot.as_ref().ok_or_else(|| PyRuntimeError::new_err("every place requires a simulation"))?;
        Ok(slot.simulation.queued_packets(link))
    }

    /// Advances a simulation to its end, and gives the tables of the run; the place is empty then.
    fn tables<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyDict>> {
        let _ = own::take_raised();
        let slot = self.slot(place)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let slot = slot.ok_or_else(|| PyRuntimeError::new_err("every place requires a simulation"))?;
        let done = py.detach(|| slot.simulation.report());
        report::to_tables(py, done.map_err(|stopped| model::refused(py, stopped))?)
    }

    /// Names of the columns of an interval.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }
}

impl Batch {
    /// Starts the threads at the first step of a process that has several.
    fn start_threads(&mut self) -> PyResult<()> {
        let process = process::id();
        if self.workers < 2 || self.threads.as_ref().is_some_and(|threads| threads.process == process) {
            return Ok(());
        }
        // The end of a pool wakes its threads. A child that was forked does not have them: it leaves the pool as it is.
        std::mem::forget(self.threads.take());
        let pool = ThreadPoolBuilder::new().num_threads(self.workers).build();
        let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))?;
        self.threads = Some(Threads { pool, process });
        Ok(())
    }

    fn slot(&self, place: usize) -> PyResult<&Mutex<Option<Slot>>> {
        self.slots.get(place).ok_or_else(|| PyValueError::new_err(format!("place {place} of {}", self.slots.len())))
    }
}

impl Slot {
    /// Controls, advances, and measures: `COLUMNS` for each flow, filled up with zeros to `width` numbers.
    fn step(&mut self, until: Nanos, controls: &[f64], width: usize) -> Result<Vec<f64>, Stopped> {
        let begun = self.simulation.now();
        for (flow, control) in self.flows.iter().zip(controls.chunks_exact(2)) {
            let mut state = flow.lock();
            if !control[0].is_nan() {
                state.set_window(control[0]);
            }
            if !control[1].is_nan() {
                state.pacing_rate = control[1];
            }
            state.begin_interval();
        }
        self.simulation.advance(until)?;
        let now = self.simulation.now();
        let mut row = Vec::with_capacity(width);
        for flow in &self.flows {
            let state = flow.lock();
            let rtts = state.interval.rtts(begun);
            row.extend([
                seconds(now),
                seconds(now - begun),
                (state.sent - state.interval.sent) as f64,
                (state.delivered - state.interval.delivered) as f64,
                (state.lost - state.interval.lost) as f64,
                (state.marks - state.interval.marks) as f64,
                (state.timeouts - state.interval.timeouts) as f64,
                rtts.count,
                rtts.mean_s,
                rtts.least_s,
                rtts.slope,
                rtts.inflation_s,
                state.window(),
                state.ssthresh(),
                state.pacing_rate,
                state.in_flight as f64,
                state.srtt.map_or(0.0, seconds),
                state.min_rtt.map_or(0.0, seconds),
                f64::from(u8::from(now < until)),
            ]);
        }
        row.resize(width, 0.0);
        Ok(row)
    }
}
