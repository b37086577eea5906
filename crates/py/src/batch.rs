//! Many simulations that advance together on several threads: the engine of `fullpipe.gym`.

use fullpipe_sim::{Simulation, Stopped};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;
use std::process;
use std::sync::{Mutex, PoisonError};

use crate::external;
use crate::learner::{self, Episode, Facts, GivenTerms, NAMES, Terms};
use crate::model::{self, Model};
use crate::{own, report};

/// Simulations by place. Each is advanced by one thread at a time, so that the number of threads changes no result.
#[pyclass(module = "fullpipe._core")]
pub struct Batch {
    slots: Vec<Mutex<Option<Episode>>>,
    terms: Terms,
    agents: usize,
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
    /// Places for `count` episodes with `agents` learners each, which `workers` threads advance.
    #[new]
    fn new(count: usize, agents: usize, workers: usize, terms: &Bound<'_, PyDict>) -> PyResult<Batch> {
        let terms = terms.extract::<GivenTerms>()?.ready()?;
        Ok(Batch { slots: (0..count).map(|_| Mutex::new(None)).collect(), terms, agents, workers, threads: None })
    }

    /// Begins an episode of `model` at a place. Returns whether its scenario is over before the first step.
    ///
    /// Refuses algorithms that need the interpreter.
    fn begin(
        &self,
        py: Python<'_>,
        place: usize,
        model: &Model,
        memory_bytes: Option<u64>,
        facts: &Bound<'_, PyDict>,
    ) -> PyResult<bool> {
        if model.holds_lock() {
            return Err(PyValueError::new_err("an interpreted algorithm"));
        }
        let facts: Facts = facts.extract()?;
        let scenario = model.scenario();
        let begun = py.detach(|| {
            external::forget();
            let simulation = Simulation::within(scenario, memory_bytes.unwrap_or(u64::MAX))?;
            let flows = external::collect().into_values().collect();
            Episode::begin(simulation, flows, facts, &self.terms)
        });
        let episode = begun.map_err(|stopped| model::refused(py, stopped))?;
        if episode.count() != self.agents {
            return Err(PyRuntimeError::new_err("every episode requires the learners of the environment"));
        }
        let is_over = episode.is_over();
        *self.slot(place)?.lock().unwrap_or_else(PoisonError::into_inner) = Some(episode);
        Ok(is_over)
    }

    /// Applies an action for each learner of each place but those of `skip`, and advances by an interval.
    fn step(&mut self, py: Python<'_>, skip: Vec<usize>, actions: PyBuffer<f64>) -> PyResult<()> {
        let given = actions.to_vec(py)?;
        if given.len() != self.slots.len() * self.agents {
            return Err(PyValueError::new_err(format!("{} actions are required", self.slots.len() * self.agents)));
        }
        self.start_threads()?;
        let advance = |place: usize| {
            if skip.contains(&place) {
                return Ok(());
            }
            let mut slot = self.slots[place].lock().unwrap_or_else(PoisonError::into_inner);
            let actions = &given[place * self.agents..][..self.agents];
            slot.as_mut().map_or(Ok(()), |episode| episode.step(actions, &self.terms))
        };
        let places = 0..self.slots.len();
        let done: Result<(), Stopped> = py.detach(|| match &self.threads {
            Some(threads) if places.len() > AT_ONCE => {
                threads.pool.install(|| places.into_par_iter().with_min_len(AT_ONCE).try_for_each(advance))
            }
            _ => places.into_iter().try_for_each(advance),
        });
        done.map_err(|stopped| model::refused(py, stopped))
    }

    /// Applies an action for the learner of the first place, advances by an interval, and gives its row.
    fn step_one(&self, py: Python<'_>, action: f64, observation: PyBuffer<f32>) -> PyResult<Vec<f64>> {
        py.detach(|| {
            let mut slot = self.slots[0].lock().unwrap_or_else(PoisonError::into_inner);
            slot.as_mut().map_or(Ok(()), |episode| episode.step(&[action], &self.terms))
        })
        .map_err(|stopped| model::refused(py, stopped))?;
        let mut row = vec![0.0; NAMES.len()];
        let mut seen = vec![0.0; self.terms.width()];
        self.write(0, &mut row, &mut seen);
        observation.copy_from_slice(py, &seen)?;
        Ok(row)
    }

    /// Copies the rows and the observations of all learners.
    fn read(&self, py: Python<'_>, rows: PyBuffer<f64>, observations: PyBuffer<f32>) -> PyResult<()> {
        let (wide, deep) = (self.agents * NAMES.len(), self.agents * self.terms.width());
        let mut all = vec![0.0; self.slots.len() * wide];
        let mut seen = vec![0.0; self.slots.len() * deep];
        for place in 0..self.slots.len() {
            self.write(place, &mut all[place * wide..][..wide], &mut seen[place * deep..][..deep]);
        }
        rows.copy_from_slice(py, &all)?;
        observations.copy_from_slice(py, &seen)
    }

    /// Advances a simulation to its end, and gives the tables of the run; the place is empty then.
    fn tables<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyDict>> {
        let _ = own::take_raised();
        let slot = self.slot(place)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let slot = slot.ok_or_else(|| PyRuntimeError::new_err("every place requires a simulation"))?;
        let done = py.detach(|| slot.into_simulation().report());
        report::to_tables(py, done.map_err(|stopped| model::refused(py, stopped))?)
    }

    /// Names of the measurements of a row.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        NAMES.to_vec()
    }

    /// Numbers that an exported policy repeats.
    #[staticmethod]
    fn constants() -> BTreeMap<&'static str, f64> {
        BTreeMap::from(learner::CONSTANTS)
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

    fn write(&self, place: usize, rows: &mut [f64], observations: &mut [f32]) {
        if let Some(episode) = self.slots[place].lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            episode.write(rows, observations);
        }
    }

    fn slot(&self, place: usize) -> PyResult<&Mutex<Option<Episode>>> {
        self.slots.get(place).ok_or_else(|| PyValueError::new_err(format!("place {place} of {}", self.slots.len())))
    }
}
