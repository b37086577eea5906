//! BBRv3 with rules of a class: the built-in algorithm calls the methods of the class, which the interpreter runs or which are compiled.

use crate::native::{Place, Plug, put_param, words};
use crate::own::{Failure, RunBy, add, parameter};
use fullpipe_cc::algorithms::bbr3::{BBR3, Bbr3, Bbr3Rule, Bbr3Rules};
use fullpipe_cc::params::{Kind, Param, Params, VARIANT, Value};
use fullpipe_cc::{CongestionControl, Start};
use fullpipe_sim::catalogue::{Definition, Parameter, kept};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt::Display;
use std::mem::transmute;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Method of each rule, in the order of [`Bbr3Rule::ALL`].
const METHODS: [&str; Bbr3Rule::ALL.len()] =
    ["pacing_gain", "tolerated_loss", "inflight_after_loss", "bw_after_loss", "probe_wait_ns"];

/// Compiled method: state, argument, and where its value goes; 0 if it raises.
type Method = unsafe extern "C" fn(*mut c_void, f64, *mut f64) -> i32;

/// Names of the methods that are rules.
#[pyfunction]
pub fn bbr3_methods() -> [&'static str; METHODS.len()] {
    METHODS
}

/// Declares the class `kind` as the algorithm `name`: BBRv3 with the rules of the class. `params` are the fields of the class, some of
/// which are parameters of `bbr3`.
#[pyfunction]
#[pyo3(signature = (kind, name, *, paper, params, plug))]
pub fn declare_bbr3(
    kind: &Bound<'_, PyAny>,
    name: &str,
    paper: &str,
    params: &Bound<'_, PyDict>,
    plug: Option<Plug>,
) -> PyResult<()> {
    let own = params.iter().map(|(name, default)| parameter(&name, &default)).collect::<PyResult<Vec<_>>>()?;
    let (mut all, mut fields) = (Vec::new(), Vec::new());
    for param in BBR3.params.iter().filter(|param| param.name != VARIANT) {
        let given = own.iter().find(|field| field.name == param.name).map(|field| field.default);
        all.push(built_in(param, given)?);
    }
    for field in own {
        fields.push(kept(&field.name));
        if !BBR3.params.iter().any(|param| param.name == field.name) {
            all.push(field);
        }
    }
    let definition = Definition {
        name: name.to_owned(),
        paper: paper.to_owned(),
        group: BBR3.group,
        recovery: BBR3.recovery.to_owned(),
        own_slow_start: BBR3.own_slow_start,
        ecn: None,
        params: all,
    };
    let run_by = if plug.is_some() { RunBy::Itself } else { RunBy::Interpreter };
    let class = Class { fields, code: plug.map(Code::of).transpose()?, kind: kind.clone().unbind() };
    add(definition.kept(), Box::new(move |params, start| class.begin(params, start)), run_by)
}

/// A parameter of `bbr3`, with the default of the class if it has one.
fn built_in(param: &Param, given: Option<Value>) -> PyResult<Parameter> {
    let default = match (given, param.kind) {
        (Some(Value::Number(number)), Kind::Whole { .. }) if number.fract() == 0.0 => Some(Value::Whole(number as u64)),
        (given, _) => given.or(param.default),
    };
    let default = default.filter(|&value| param.kind.admits(value));
    Ok(Parameter {
        name: param.name.to_owned(),
        unit: param.unit.to_owned(),
        kind: param.kind,
        default: default.ok_or_else(|| {
            PyValueError::new_err(format!("{}: the default must be as for bbr3, {:?}", param.name, param.kind))
        })?,
        doc: param.doc.to_owned(),
        source: param.source.to_owned(),
    })
}

/// A class.
struct Class {
    kind: Py<PyAny>,
    /// Fields that are parameters.
    fields: Vec<&'static str>,
    /// Compiled methods, if they are.
    code: Option<Arc<Code>>,
}

/// Compiled methods, and the fields of an object before a connection begins.
struct Code {
    methods: [Method; METHODS.len()],
    state: Vec<u64>,
    fields: BTreeMap<String, (usize, bool)>,
    /// Owner of the methods.
    _keep: Py<PyAny>,
}

impl Code {
    fn of(plug: Plug) -> PyResult<Arc<Code>> {
        let Plug { state, fields, calls, keep } = plug;
        let address = |name: &str| {
            let found = calls.get(name).copied().filter(|&address| address != 0);
            found.ok_or_else(|| PyValueError::new_err(format!("no function {name}")))
        };
        let mut found = [0; METHODS.len()];
        for (at, name) in found.iter_mut().zip(METHODS) {
            *at = address(name)?;
        }
        // SAFETY: the package hands over addresses of functions that it has compiled for this signature, and their owner.
        let methods = found.map(|at| unsafe { transmute::<usize, Method>(at) });
        Ok(Arc::new(Code { methods, state: words(&state), fields, _keep: keep }))
    }
}

impl Class {
    /// A connection begins.
    fn begin(&self, params: &Params, start: Start) -> Box<dyn CongestionControl + Send> {
        let hooks = match &self.code {
            Some(code) => Ok(self.compiled(code, params)),
            None => Python::attach(|py| self.interpreted(py, params).map_err(Failure::of)),
        };
        match hooks {
            Ok(hooks) => {
                let rules = Rules(Arc::new(Shared { hooks, failure: OnceLock::new() }));
                let given = given(params);
                Box::new(Bbr3::with_rules(&Params::new(BBR3.name, BBR3.params, &given), start, rules))
            }
            Err(failure) => Box::new(failure),
        }
    }

    fn compiled(&self, code: &Arc<Code>, params: &Params) -> Hooks {
        let mut state = code.state.clone();
        for &name in &self.fields {
            if let Some(&(at, is_flag)) = code.fields.get(name) {
                put_param(&mut state, Place { name, at, is_flag }, params);
            }
        }
        Hooks::Compiled { code: Arc::clone(code), state: Mutex::new(state) }
    }

    fn interpreted(&self, py: Python, params: &Params) -> PyResult<Hooks> {
        let object = self.kind.bind(py).call0()?;
        for &name in &self.fields {
            match params.value(name) {
                Some(Value::Flag(flag)) => object.setattr(name, flag)?,
                _ => object.setattr(name, params.number(name))?,
            }
        }
        let method = |name: &str| object.getattr(name).map(Bound::unbind);
        let mut methods = Vec::new();
        for name in METHODS {
            methods.push(method(name)?);
        }
        Ok(Hooks::Interpreted(methods))
    }
}

/// Values of the parameters of `bbr3`.
fn given(params: &Params) -> Vec<(&'static str, Value)> {
    let of_bbr3 = BBR3.params.iter().filter(|param| param.name != VARIANT);
    of_bbr3.filter_map(|param| params.value(param.name).map(|value| (param.name, value))).collect()
}

/// Rules of a connection.
#[derive(Clone)]
struct Rules(Arc<Shared>);

struct Shared {
    hooks: Hooks,
    failure: OnceLock<Failure>,
}

enum Hooks {
    Interpreted(Vec<Py<PyAny>>),
    Compiled { code: Arc<Code>, state: Mutex<Vec<u64>> },
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Rules {
    /// Value of a method; the failure that it ends with.
    fn value(&self, rule: Bbr3Rule, argument: f64) -> Result<f64, Failure> {
        match &self.0.hooks {
            Hooks::Interpreted(methods) => Python::attach(|py| {
                let method = methods[rule as usize].bind(py);
                let told = match rule {
                    Bbr3Rule::PacingGain => method.call1((argument as i64,)),
                    _ => method.call1((argument,)),
                };
                told.and_then(|value| value.extract()).map_err(Failure::of)
            }),
            Hooks::Compiled { code, state } => {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                let mut value = f64::NAN;
                // SAFETY: the function reads and writes the state, which is as large and aligned as it was compiled for, and the value.
                let done = unsafe { code.methods[rule as usize](state.as_mut_ptr().cast(), argument, &mut value) };
                if done == 0 { Err(Failure::because("its compiled code cannot go on".to_owned())) } else { Ok(value) }
            }
        }
    }
}

impl Bbr3Rules for Rules {
    fn apply(&self, rule: Bbr3Rule, argument: f64, own: f64) -> f64 {
        if self.0.failure.get().is_some() {
            return own;
        }
        let value = self.value(rule, argument).and_then(|value| {
            let fits = value.is_finite() && value >= 0.0;
            let wrong = || format!("{} must return a finite number of at least 0, got {value}", METHODS[rule as usize]);
            if fits { Ok(value) } else { Err(Failure::because(wrong())) }
        });
        value.unwrap_or_else(|failure| {
            self.0.failure.get_or_init(|| failure);
            own
        })
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.0.failure.get().map(|failure| failure.text() as &dyn Display)
    }
}
