//! Scenarios in from Python, results out: the checked [`Scenario`] as an object, TOML text and Python's own values as its source.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;
use fullpipe_sim::scenario::{Problem as Fault, Table, Value};
use fullpipe_sim::{Destinations, QlogVersion, Scenario, Simulation, Stopped, Vantage};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::watch::Watch;
use crate::{own, report};

create_exception!(fullpipe._core, Failure, PyException, "An algorithm that is not built in has failed, in one line.");
create_exception!(fullpipe._core, Problem, PyValueError, "A scenario is wrong; `args` are key, what, line (or None).");

/// Deeper than any scenario goes; stops values that contain themselves.
const DEEPEST: usize = 8;

/// A scenario that has been checked and can run.
#[pyclass(frozen, module = "fullpipe._core")]
pub struct Model(Arc<Scenario>);

impl Model {
    /// The scenario.
    pub fn scenario(&self) -> Arc<Scenario> {
        Arc::clone(&self.0)
    }
}

#[pymethods]
impl Model {
    /// Seeds every random choice.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Simulated length, seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        seconds(self.0.duration)
    }

    /// The part at the beginning that averages leave out, seconds.
    #[getter]
    fn warmup_s(&self) -> f64 {
        seconds(self.0.warmup)
    }

    /// Time between samples of the series, seconds; None where nothing is sampled.
    #[getter]
    fn series_interval_s(&self) -> Option<f64> {
        self.0.series_interval.map(seconds)
    }

    /// Whether a run of it holds the interpreter's lock: an algorithm of it is run by the interpreter.
    #[getter]
    pub fn holds_lock(&self) -> bool {
        own::has(&self.0, own::RunBy::Interpreter)
    }

    /// Whether it has a custom algorithm that runs without the interpreter, which cannot end it then.
    #[getter]
    fn is_compiled(&self) -> bool {
        own::has(&self.0, own::RunBy::Itself)
    }

    /// Whether a flow is under outside control, so that it runs step by step only.
    #[getter]
    fn is_external(&self) -> bool {
        own::has(&self.0, own::RunBy::Outside)
    }

    /// Warnings: allowed but probably unintended values, a line each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// Algorithms of the groups of flows, each with those of its parameters that differ from their defaults.
    fn given_algorithms<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let flows = self.0.flows.iter();
        flows.map(|group| to_python(py, &group.tcp.algorithm.to_given_value())).collect()
    }

    /// Scenario with every key and parameter spelled out, defaults included; `check` takes it back.
    fn resolved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &Value::Table(self.0.to_value()))
    }

    /// Runs on the simulator, without the interpreter's lock. `progress` is called now and then with the simulated seconds
    /// reached; an exception from it or from a signal handler ends the run. A run that needs more than `memory_bytes` raises
    /// `Problem`. `pcap` and `qlog` are directories for files of packets, of at most `most_packets`.
    #[pyo3(signature = (progress=None, memory_bytes=None, *, pcap=None, pcap_at="sender", qlog=None, qlog_version="0.3", most_packets=None))]
    #[expect(clippy::too_many_arguments)]
    fn run<'py>(
        &self,
        py: Python<'py>,
        progress: Option<Py<PyAny>>,
        memory_bytes: Option<u64>,
        pcap: Option<PathBuf>,
        pcap_at: &str,
        qlog: Option<PathBuf>,
        qlog_version: &str,
        most_packets: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let qlog_version = match qlog_version {
            "0.3" => QlogVersion::V03,
            "draft-13" => QlogVersion::Draft13,
            other => return Err(PyValueError::new_err(format!("qlog_version: unknown {other:?}"))),
        };
        let pcap_at = match pcap_at {
            "sender" => Vantage::Sender,
            "receiver" => Vantage::Receiver,
            other => return Err(PyValueError::new_err(format!("pcap_at: unknown {other:?}"))),
        };
        let to = (pcap.is_some() || qlog.is_some()).then(|| Destinations {
            pcap,
            pcap_at,
            qlog,
            qlog_version,
            most_packets: most_packets.unwrap_or(u64::MAX),
        });
        let mut watch = Watch::new(progress);
        let limit = memory_bytes.unwrap_or(u64::MAX);
        let _ = own::take_raised();
        let mut run = || {
            let scenario = Arc::clone(&self.0);
            let mut simulation = match &to {
                None => Simulation::within(scenario, limit)?,
                Some(to) => Simulation::traced(scenario, limit, to)?,
            };
            simulation.advance_watched(Nanos::MAX, &mut |reached| watch.may_go_on(reached))?;
            simulation.report()
        };
        // A Python algorithm, which runs at every ACK, should not wait for the lock each time.
        let outcome = if self.holds_lock() { run() } else { py.detach(run) };
        match (outcome, watch.into_error()) {
            (_, Some(error)) => Err(error),
            (Ok(report), None) => report::to_tables(py, report),
            (Err(stopped), None) => Err(refused(py, stopped)),
        }
    }
}

/// Checks the scenario written in TOML `text`: the model, and the text as a dictionary, with the content of the files it names, which
/// are in `folder`.
#[pyfunction]
pub fn load<'py>(py: Python<'py>, text: &str, folder: &str) -> PyResult<(Model, Bound<'py, PyAny>)> {
    let (scenario, tree) = own::catalogue().read_toml_in(text, Path::new(folder)).map_err(raise)?;
    Ok((Model(Arc::new(scenario)), to_python(py, &Value::Table(tree))?))
}

/// TOML `text` as a dictionary, whatever its keys.
#[pyfunction]
pub fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &Value::Table(fullpipe_sim::scenario::parse(text).map_err(raise)?))
}

/// Checks the scenario given as a dictionary: the model, and a copy of the dictionary with the content of the files it names, which
/// are in `folder`.
#[pyfunction]
pub fn check<'py>(tree: &Bound<'py, PyAny>, folder: &str) -> PyResult<(Model, Bound<'py, PyAny>)> {
    let mut table = to_table(tree.cast()?, "", 0)?;
    let catalogue = own::catalogue();
    catalogue.embed(&mut table, Path::new(folder)).map_err(raise)?;
    let model = Model(Arc::new(catalogue.read_value(&table).map_err(raise)?));
    Ok((model, to_python(tree.py(), &Value::Table(table))?))
}

/// Exception of an algorithm: unchanged where it is no error of the algorithm, such as Ctrl-C, otherwise the cause of a failure.
pub fn failure(py: Python, stopped: &Stopped) -> PyErr {
    let failure = Failure::new_err(stopped.to_string());
    match own::take_raised() {
        Some(error) if !error.is_instance_of::<PyException>(py) => error,
        cause => {
            failure.set_cause(py, cause);
            failure
        }
    }
}

/// Python's exception for a run that does not begin or ends early: `Problem` where a key of the scenario is the cause.
pub fn refused(py: Python, stopped: Stopped) -> PyErr {
    match stopped {
        Stopped::Memory(problem) => raise(problem),
        Stopped::Invalid(invalid) => raise(invalid.into()),
        Stopped::Trace(fault) => PyOSError::new_err(fault),
        other => failure(py, &other),
    }
}

/// A wrong scenario as Python's exception.
pub fn raise(fault: Fault) -> PyErr {
    Problem::new_err((fault.key, fault.what.to_string(), fault.line))
}

/// A value of a scenario as Python's own.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Integer(n) => n.into_pyobject(py)?.into_any(),
        Value::Float(x) => PyFloat::new(py, *x).into_any(),
        Value::Boolean(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Datetime(moment) => PyString::new(py, &moment.to_string()).into_any(),
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(to_python(py, value)?)?;
            }
            list.into_any()
        }
        Value::Table(table) => {
            let dict = PyDict::new(py);
            for (key, value) in table {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

fn to_value(value: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<Value> {
    let wrong = |what: String| Problem::new_err((place.to_owned(), what, None::<usize>));
    if depth > DEEPEST {
        return Err(wrong("tables are nested too deeply".to_owned()));
    }
    // A bool is an int in Python, so it comes first.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(flag.is_true()));
    }
    if let Ok(number) = value.cast::<PyInt>() {
        let number = number.extract().map_err(|_| wrong("a whole number of more than 64 bits".to_owned()))?;
        return Ok(Value::Integer(number));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Value::Float(number.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str().map_err(|_| wrong("text that is not valid Unicode".to_owned()))?;
        return Ok(Value::String(text.to_owned()));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let item = |(i, item): (usize, PyResult<Bound<PyAny>>)| to_value(&item?, &format!("{place}[{i}]"), depth + 1);
        return Ok(Value::Array(value.try_iter()?.enumerate().map(item).collect::<PyResult<_>>()?));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        return Ok(Value::Table(to_table(mapping, place, depth + 1)?));
    }
    Err(wrong(format!(
        "must be text, a number, a flag, a list, or a table, got a value of type {}",
        value.get_type().name()?
    )))
}

fn to_table(mapping: &Bound<'_, PyMapping>, place: &str, depth: usize) -> PyResult<Table> {
    let mut table = Table::new();
    for entry in mapping.items()?.iter() {
        let (key, value): (Bound<PyAny>, Bound<PyAny>) = entry.extract()?;
        let Ok(key) = key.extract::<String>() else {
            let what = format!("keys are text, found {}", key.repr()?);
            return Err(Problem::new_err((place.to_owned(), what, None::<usize>)));
        };
        let value = to_value(&value, &if place.is_empty() { key.clone() } else { format!("{place}.{key}") }, depth)?;
        table.insert(key, value);
    }
    Ok(table)
}
