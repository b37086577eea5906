//! Many simulations that advance together on several threads: the engine of `fullpipe.gym`.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;
use fullpipe_sim::{Simulation, Stopped};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::external::{self, Shared};
use crate::model::{self, Model};
use crate::{own, report};

/// Columns of an interval, in the order of `Slot::step`.
pub const COLUMNS: [&str; 18] = [
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
pub struct Batch(Vec<Mutex<Option<Slot>>>);

#[pymethods]
impl Batch {
    /// Places for `count` simulations.
    #[new]
    fn new(count: usize) -> Batch {
        Batch((0..count).map(|_| Mutex::new(None)).collect())
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
    #[pyo3(signature = (places, until_ns, controls, intervals, most, workers))]
    #[expect(clippy::too_many_arguments, reason = "one call for each step")]
    fn step(
        &self,
        py: Python<'_>,
        places: Vec<usize>,
        until_ns: Vec<Nanos>,
        controls: PyBuffer<f64>,
        intervals: PyBuffer<f64>,
        most: usize,
        workers: usize,
    ) -> PyResult<()> {
        let given = controls.to_vec(py)?;
        let width = most * COLUMNS.len();
        if until_ns.len() != places.len()
            || given.len() != places.len() * most * 2
            || intervals.item_count() != places.len() * width
        {
            return Err(PyValueError::new_err("lengths differ"));
        }
        for &place in &places {
            self.slot(place)?;
        }
        let work = |job: usize| {
            let mut slot = self.0[places[job]].lock().unwrap_or_else(PoisonError::into_inner);
            let controls = &given[job * most * 2..(job + 1) * most * 2];
            slot.as_mut().map_or(Ok(Vec::new()), |slot| slot.step(until_ns[job], controls, width))
        };
        let rows =
            py.detach(|| on_threads(workers, places.len(), work)).map_err(|stopped| model::refused(py, stopped))?;
        let mut written = Vec::with_capacity(places.len() * width);
        for row in rows {
            if row.len() != width {
                return Err(PyRuntimeError::new_err("a place has no simulation"));
            }
            written.extend(row);
        }
        intervals.copy_from_slice(py, &written)
    }

    /// Packets in the queue of a link of a simulation, forward and reverse.
    fn queued(&self, place: usize, link: usize) -> PyResult<[usize; 2]> {
        let slot = self.slot(place)?.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slot.as_ref().ok_or_else(|| PyRuntimeError::new_err("a place has no simulation"))?;
        Ok(slot.simulation.queued_packets(link))
    }

    /// Advances a simulation to its end, and gives the tables of the run; the place is empty then.
    fn tables<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyDict>> {
        let _ = own::take_raised();
        let slot = self.slot(place)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let slot = slot.ok_or_else(|| PyRuntimeError::new_err("a place has no simulation"))?;
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
    fn slot(&self, place: usize) -> PyResult<&Mutex<Option<Slot>>> {
        self.0.get(place).ok_or_else(|| PyValueError::new_err(format!("place {place} of {}", self.0.len())))
    }
}

/// Results of `jobs` jobs in their order, computed by up to `workers` threads; else the failure of the first job that failed.
fn on_threads<T: Send, E: Send>(
    workers: usize,
    jobs: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return done;
            }
            done.push((job, work(job)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers.min(jobs)).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(job, _)| *job);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

impl Slot {
    /// Controls, advances, and measures: `COLUMNS` for each flow, filled up with zeros to `width` numbers.
    fn step(&mut self, until: Nanos, controls: &[f64], width: usize) -> Result<Vec<f64>, Stopped> {
        let begun = self.simulation.now();
        for (flow, control) in self.flows.iter().zip(controls.chunks_exact(2)) {
            let mut state = flow.lock();
            if !control[0].is_nan() {
                state.cwnd = control[0];
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
                state.cwnd,
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
