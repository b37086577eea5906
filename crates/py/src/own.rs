//! Algorithms written in Python: classes that the package has declared, one object for each connection, called at each event.

use crate::external;
use crate::native::{self, Plug};
use crate::views::{AckView, FlowView, LostView, SentView, StartView};
use fullpipe_cc::packets::{Lost, Sent};
use fullpipe_cc::params::{Group, Info, Kind, Params, Value};
use fullpipe_cc::{Ack, CongestionControl, Flow, Signal, Start};
use fullpipe_kernel::{Modules, Objects};
use fullpipe_sim::catalogue::{Begin, Definition, Parameter, kept};
use fullpipe_sim::{Catalogue, Scenario};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use pyo3::{ffi, intern};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{LazyLock, PoisonError, RwLock};

/// Catalogue of algorithms in this process.
static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(|| {
    let mut catalogue = Catalogue::builtin().with_source(Objects).with_source(Modules);
    catalogue.add(external::info(), Box::new(external::begin)).expect("a unique name");
    RwLock::new(Known { catalogue, kinds: BTreeMap::from([(external::NAME, RunBy::Outside)]) })
});

struct Known {
    catalogue: Catalogue,
    /// Of those that Python has declared, who runs them.
    kinds: BTreeMap<&'static str, RunBy>,
}

/// Who runs an algorithm that Python has declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBy {
    /// The interpreter, whose lock the run holds.
    Interpreter,
    /// The processor alone.
    Itself,
    /// The caller of `fullpipe.Simulation`.
    Outside,
}

thread_local! {
    /// Exception of an algorithm's method in this thread's run.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// The catalogue as it is now.
pub fn catalogue() -> Catalogue {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).catalogue.clone()
}

/// Whether a scenario has an algorithm that Python has declared and that is run so.
pub fn has(scenario: &Scenario, run_by: RunBy) -> bool {
    let kinds = &KNOWN.read().unwrap_or_else(PoisonError::into_inner).kinds;
    let tcp = scenario.flows.iter().map(|group| &group.tcp).chain(scenario.web.iter().map(|web| &web.tcp));
    let mut foreign = tcp.filter(|tcp| tcp.algorithm.foreign.is_some());
    foreign.any(|tcp| kinds.get(tcp.algorithm.name.as_str()) == Some(&run_by))
}

/// Exception in this thread since the last call.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}

/// Declares the class `kind` as the algorithm `name`, in the place of an earlier one of that name. `params` are its fields that a
/// scenario can set, with their defaults; `shown` those that the series have.
#[pyfunction]
#[pyo3(signature = (kind, name, *, paper, group, recovery, own_slow_start, ecn, rate_samples, prr, params, shown, plug))]
#[expect(clippy::too_many_arguments, reason = "keywords, each checked by the package around it")]
pub fn declare(
    kind: &Bound<'_, PyAny>,
    name: &str,
    paper: &str,
    group: &str,
    recovery: &str,
    own_slow_start: bool,
    ecn: Option<(String, u8)>,
    rate_samples: bool,
    prr: bool,
    params: &Bound<'_, PyDict>,
    shown: Vec<String>,
    plug: Option<Plug>,
) -> PyResult<()> {
    let group = Group::ALL.into_iter().find(|known| known.name() == group);
    let definition = Definition {
        name: name.to_owned(),
        paper: paper.to_owned(),
        group: group.ok_or_else(|| PyValueError::new_err("group: no such group"))?,
        recovery: recovery.to_owned(),
        own_slow_start,
        ecn,
        params: params.iter().map(|(name, default)| parameter(&name, &default)).collect::<PyResult<_>>()?,
    };
    let info = definition.kept();
    let (begin, run_by): (Box<Begin>, _) = match plug {
        Some(plug) => {
            let class = native::Class::new(plug, info, rate_samples, prr, &shown)?;
            (Box::new(move |params, start| class.begin(params, start)), RunBy::Itself)
        }
        None => {
            let class = Class::new(kind, info, rate_samples, prr, &shown)?;
            (Box::new(move |params, start| class.begin(params, start)), RunBy::Interpreter)
        }
    };
    add(info, begin, run_by)
}

/// Adds an algorithm to the catalogue, in the place of an earlier one of that name.
pub fn add(info: &'static Info, begin: Box<Begin>, run_by: RunBy) -> PyResult<()> {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.catalogue.add(info, begin).map_err(PyValueError::new_err)?;
    known.kinds.insert(info.name, run_by);
    Ok(())
}

/// Declares the class `kind` as the packet-level algorithm `name`; the arguments are as for [`declare`].
#[pyfunction]
#[pyo3(signature = (kind, name, *, paper, group, ecn, params, shown))]
pub fn declare_packets(
    kind: &Bound<'_, PyAny>,
    name: &str,
    paper: &str,
    group: &str,
    ecn: Option<(String, u8)>,
    params: &Bound<'_, PyDict>,
    shown: Vec<String>,
) -> PyResult<()> {
    let group = Group::ALL.into_iter().find(|known| known.name() == group);
    let definition = Definition {
        name: name.to_owned(),
        paper: paper.to_owned(),
        group: group.ok_or_else(|| PyValueError::new_err("group: no such group"))?,
        // Losses are found when an ACK shows them, and not when they are retransmitted.
        recovery: "rack".to_owned(),
        own_slow_start: true,
        ecn,
        params: params.iter().map(|(name, default)| parameter(&name, &default)).collect::<PyResult<_>>()?,
    };
    let info = definition.kept();
    let class = crate::packets::Class::new(kind, info, &shown)?;
    add(info, Box::new(move |params, start| class.begin(params, start)), RunBy::Interpreter)
}

/// Declares the controller `name` of the library whose function `fullpipe_library` returned `address`, or all of them. Returns the names.
/// The library must stay loaded.
#[pyfunction]
#[pyo3(signature = (address, name=None))]
pub fn declare_library(address: usize, name: Option<&str>) -> PyResult<Vec<&'static str>> {
    // SAFETY: the package passes the address of a library that it keeps loaded.
    let found = unsafe { crate::library::controls(address) }.map_err(PyValueError::new_err)?;
    let all: Vec<&'static str> = found.iter().map(|class| class.info().name).collect();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let mut declared = Vec::new();
    for class in found.into_iter().filter(|class| name.is_none_or(|name| class.info().name == name)) {
        let info = class.info();
        let begin = Box::new(move |params: &Params, start: Start| class.begin(params, start));
        known.catalogue.add(info, begin).map_err(PyValueError::new_err)?;
        known.kinds.insert(info.name, RunBy::Itself);
        declared.push(info.name);
    }
    if declared.is_empty() {
        let what = format!("unknown controller {:?} of the library (allowed: {})", name.unwrap_or(""), all.join(", "));
        return Err(PyValueError::new_err(what));
    }
    Ok(declared)
}

pub fn parameter(name: &Bound<'_, PyAny>, default: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let (kind, default) = match default.cast::<PyBool>() {
        Ok(flag) => (Kind::Flag, Value::Flag(flag.is_true())),
        Err(_) => (Kind::Number { min: f64::MIN, max: f64::MAX }, Value::Number(default.extract()?)),
    };
    let text = |text: &str| text.to_owned();
    Ok(Parameter {
        name: name.extract()?,
        unit: text("1"),
        kind,
        default,
        doc: text("A field of the class."),
        source: text("the class"),
    })
}

/// A class and its methods that are called.
struct Class {
    kind: Py<PyAny>,
    info: &'static Info,
    rate_samples: bool,
    prr: bool,
    shown: Vec<(&'static str, Py<PyString>)>,
    has: Methods,
}

/// Which optional parts a class has.
#[derive(Clone, Copy)]
struct Methods {
    on_start: bool,
    on_round: bool,
    on_recovered: bool,
    on_undo: bool,
    on_sent: bool,
    on_lost: bool,
    on_end: bool,
    pacing_rate: bool,
}

impl Class {
    fn new(
        kind: &Bound<'_, PyAny>,
        info: &'static Info,
        rate_samples: bool,
        prr: bool,
        shown: &[String],
    ) -> PyResult<Class> {
        let text = |name: &String| (kept(name), PyString::new(kind.py(), name).unbind());
        let has = Methods {
            on_start: kind.hasattr("on_start")?,
            on_round: kind.hasattr("on_round")?,
            on_recovered: kind.hasattr("on_recovered")?,
            on_undo: kind.hasattr("on_undo")?,
            on_sent: kind.hasattr("on_sent")?,
            on_lost: kind.hasattr("on_lost")?,
            on_end: kind.hasattr("on_end")?,
            pacing_rate: kind.hasattr("pacing_rate")?,
        };
        Ok(Class { kind: kind.clone().unbind(), info, rate_samples, prr, shown: shown.iter().map(text).collect(), has })
    }

    fn begin(&self, params: &Params, start: Start) -> Box<dyn CongestionControl + Send> {
        let began = Python::attach(|py| Interpreted::new(py, self, params, start).map_err(Failure::of));
        began.map_or_else(|failure| Box::new(failure) as Box<dyn CongestionControl + Send>, |own| Box::new(own))
    }
}

/// A connection's object, and its last window and rate.
struct Interpreted {
    object: Py<PyAny>,
    flow: Py<FlowView>,
    ack: Py<AckView>,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    on_round: Option<Py<PyAny>>,
    on_recovered: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
    on_sent: Option<(Py<PyAny>, Py<SentView>)>,
    on_lost: Option<(Py<PyAny>, Py<LostView>)>,
    on_end: Option<Py<PyAny>>,
    signals: [Py<PyAny>; 3],
    shown: Vec<(&'static str, Py<PyString>)>,
    rate_samples: bool,
    prr: bool,
    paced: bool,
    cwnd: f64,
    pacing_rate: Option<f64>,
    failure: Option<Failure>,
}

impl Interpreted {
    fn new(py: Python, class: &Class, params: &Params, start: Start) -> PyResult<Interpreted> {
        let object = class.kind.bind(py).call0()?;
        for param in class.info.params {
            match param.kind {
                Kind::Number { .. } => object.setattr(param.name, params.number(param.name))?,
                _ => object.setattr(param.name, params.flag(param.name))?,
            }
        }
        object.setattr(intern!(py, "cwnd"), start.window)?;
        if class.has.on_start {
            object.call_method1(intern!(py, "on_start"), (StartView::of(start),))?;
        }
        let signals = py.import("fullpipe.custom.classic")?.getattr("Signal")?;
        let signal = |name: &str| signals.getattr(name).map(Bound::unbind);
        let method = |name: &str| object.getattr(name).map(Bound::unbind);
        let mut own = Interpreted {
            flow: Py::new(py, FlowView::default())?,
            ack: Py::new(py, AckView::default())?,
            on_ack: method("on_ack")?,
            on_congestion: method("on_congestion")?,
            on_round: class.has.on_round.then(|| method("on_round")).transpose()?,
            on_recovered: class.has.on_recovered.then(|| method("on_recovered")).transpose()?,
            on_undo: class.has.on_undo.then(|| method("on_undo")).transpose()?,
            on_sent: match class.has.on_sent {
                true => Some((method("on_sent")?, Py::new(py, SentView::default())?)),
                false => None,
            },
            on_lost: match class.has.on_lost {
                true => Some((method("on_lost")?, Py::new(py, LostView::default())?)),
                false => None,
            },
            on_end: class.has.on_end.then(|| method("on_end")).transpose()?,
            signals: [signal("LOSS")?, signal("ECN")?, signal("TIMEOUT")?],
            shown: class.shown.iter().map(|(name, text)| (*name, text.clone_ref(py))).collect(),
            rate_samples: class.rate_samples,
            prr: class.prr,
            paced: class.has.pacing_rate,
            object: object.unbind(),
            cwnd: 1.0,
            pacing_rate: None,
            failure: None,
        };
        own.look(py)?;
        Ok(own)
    }

    /// Calls `event`, then reads the window and the rate of the object.
    #[inline]
    fn call(&mut self, event: impl FnOnce(&Interpreted, Python) -> PyResult<()>) {
        if self.failure.is_some() {
            return;
        }
        let outcome = Python::attach(|py| event(self, py).and_then(|()| self.look(py)));
        if let Err(error) = outcome {
            self.failure = Some(Failure::of(error));
        }
    }

    #[inline]
    fn look(&mut self, py: Python) -> PyResult<()> {
        let object = self.object.bind(py);
        self.cwnd = number(object, intern!(py, "cwnd"))?;
        if self.paced {
            self.pacing_rate = Some(number(object, intern!(py, "pacing_rate"))?);
        }
        Ok(())
    }

    fn see(&self, py: Python, flow: &Flow) {
        self.flow.bind(py).get().set(py, flow);
    }
}

/// Number that an object's field holds.
pub fn number(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<f64> {
    let value = object.getattr(name)?;
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(number.value());
    }
    match value.cast::<PyInt>() {
        Ok(number) => number.extract(),
        // NumPy's and others' own.
        Err(_) => value.extract(),
    }
}

/// Calls `method` with one or two arguments, without making a tuple of them.
#[inline]
fn call(py: Python, method: &Py<PyAny>, first: *mut ffi::PyObject, second: *mut ffi::PyObject) -> PyResult<()> {
    let end = std::ptr::null_mut::<ffi::PyObject>();
    // SAFETY: the interpreter's lock is held; `method` and the arguments are alive, and the list ends with a null pointer (`second` may
    // be that already).
    let result = unsafe { ffi::PyObject_CallFunctionObjArgs(method.as_ptr(), first, second, end) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, result) }.map(drop)
}

impl CongestionControl for Interpreted {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        Python::attach(|py| number(self.object.bind(py), intern!(py, "ssthresh")).unwrap_or(f64::NAN))
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn takes_rate_samples(&self) -> bool {
        self.rate_samples
    }

    fn rules_recovery(&self) -> bool {
        !self.prr
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.call(|own, py| {
            own.see(py, flow);
            own.ack.bind(py).get().set(py, ack);
            if let Some(on_round) = own.on_round.as_ref().filter(|_| ack.round_start) {
                call(py, on_round, own.flow.as_ptr(), std::ptr::null_mut())?;
            }
            call(py, &own.on_ack, own.flow.as_ptr(), own.ack.as_ptr())
        });
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        self.call(|own, py| {
            own.see(py, flow);
            let signal = match signal {
                Signal::Ecn => 1,
                Signal::Timeout => 2,
                _ => 0,
            };
            call(py, &own.on_congestion, own.flow.as_ptr(), own.signals[signal].as_ptr())
        });
    }

    fn on_recovered(&mut self, flow: &Flow) {
        if self.on_recovered.is_none() {
            return;
        }
        self.call(|own, py| {
            own.see(py, flow);
            own.on_recovered.as_ref().map_or(Ok(()), |method| call(py, method, own.flow.as_ptr(), std::ptr::null_mut()))
        });
    }

    fn takes_packets(&self) -> bool {
        self.on_sent.is_some() || self.on_lost.is_some()
    }

    fn on_packet_sent(&mut self, flow: &Flow, sent: &Sent) {
        if self.on_sent.is_none() {
            return;
        }
        self.call(|own, py| {
            let Some((method, view)) = &own.on_sent else { return Ok(()) };
            own.see(py, flow);
            view.bind(py).get().set(py, sent);
            call(py, method, own.flow.as_ptr(), view.as_ptr())
        });
    }

    fn on_packet_lost(&mut self, flow: &Flow, lost: &Lost) {
        if self.on_lost.is_none() {
            return;
        }
        self.call(|own, py| {
            let Some((method, view)) = &own.on_lost else { return Ok(()) };
            own.see(py, flow);
            view.bind(py).get().set(py, lost);
            call(py, method, own.flow.as_ptr(), view.as_ptr())
        });
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        if self.on_undo.is_some() {
            return self.call(|own, py| match &own.on_undo {
                Some(method) => method.call1(py, (cwnd, ssthresh)).map(drop),
                None => Ok(()),
            });
        }
        let (cwnd, ssthresh) = (self.cwnd.max(cwnd), self.ssthresh().max(ssthresh));
        self.call(|own, py| {
            own.object.bind(py).setattr(intern!(py, "cwnd"), cwnd)?;
            own.object.bind(py).setattr(intern!(py, "ssthresh"), ssthresh)
        });
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.failure.as_ref().map(|failure| &failure.0 as &dyn Display)
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        Python::attach(|py| {
            for (name, text) in &self.shown {
                visit(name, number(self.object.bind(py), text.bind(py)).unwrap_or(f64::NAN));
            }
        });
    }
}

impl Drop for Interpreted {
    /// The connection's object is used no more.
    fn drop(&mut self) {
        let Some(on_end) = self.on_end.take() else { return };
        // None where the interpreter is shutting down.
        Python::try_attach(|py| {
            if let Err(error) = on_end.call0(py) {
                error.write_unraisable(py, Some(self.object.bind(py)));
            }
        });
    }
}

/// Exception of a method, in a line.
pub struct Failure(String);

impl Failure {
    /// Failure without an exception.
    pub fn because(what: String) -> Failure {
        Failure(what)
    }

    /// Text of the failure.
    pub fn text(&self) -> &String {
        &self.0
    }

    /// Keeps the exception for the caller of the run.
    pub fn of(error: PyErr) -> Failure {
        let text = Python::attach(|py| {
            let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
            let what = error.value(py).to_string();
            if what.is_empty() { kind } else { format!("{kind}: {what}") }
        });
        RAISED.with_borrow_mut(|raised| {
            raised.get_or_insert(error);
        });
        Failure(text)
    }
}

/// One that could not even begin.
impl CongestionControl for Failure {
    fn cwnd(&self) -> f64 {
        1.0
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn on_ack(&mut self, _: &Flow, _: &Ack) {}

    fn on_congestion(&mut self, _: &Flow, _: Signal) {}

    fn on_undo(&mut self, _: f64, _: f64) {}

    fn fault(&self) -> Option<&dyn Display> {
        Some(&self.0)
    }
}
