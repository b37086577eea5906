//! The queueing disciplines as Python sees them.

use fullpipe_sim::queues::{ALL, Info, Kind, Param, Unset, Value, written};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::model::to_python;

/// Every queueing discipline: name, source and parameters, as dictionaries; values as scenarios write them.
#[pyfunction]
pub fn queues(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    ALL.iter().map(|info| queue(py, info)).collect()
}

fn queue<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", info.name)?;
    entry.set_item("source", info.source)?;
    entry.set_item("params", info.params.iter().map(|p| param(py, p)).collect::<PyResult<Vec<_>>>()?)?;
    Ok(entry)
}

/// Parameter of an algorithm or a queue, as a dictionary; values as scenarios write them.
pub fn param<'py>(py: Python<'py>, param: &Param) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    let (kind, bounds) = match param.kind {
        Kind::Time { min, max } => ("time", Some((Value::Time(min), Value::Time(max)))),
        Kind::Packets { min, max } => ("packets", Some((Value::Packets(min), Value::Packets(max)))),
        Kind::Bytes { min, max } => ("data", Some((Value::Bytes(min), Value::Bytes(max)))),
        Kind::Rate { min, max } => ("rate", Some((Value::Rate(min), Value::Rate(max)))),
        Kind::PacketsOrTime => ("packets or time", None),
        Kind::Number { min, max } => ("number", Some((Value::Number(min), Value::Number(max)))),
        Kind::Whole { min, max } => ("whole number", Some((Value::Whole(min), Value::Whole(max)))),
        Kind::Flag => ("flag", None),
        Kind::Choice(_) => ("choice", None),
    };
    entry.set_item("name", param.name)?;
    entry.set_item("kind", kind)?;
    if matches!(param.kind, Kind::Number { .. } | Kind::Whole { .. } | Kind::Flag | Kind::Choice(_)) {
        entry.set_item("unit", param.unit)?;
    }
    entry.set_item("default", param.default.map(|value| to_python(py, &written(value))).transpose()?)?;
    let variants = PyDict::new(py);
    for (variant, value) in param.variants {
        variants.set_item(variant, to_python(py, &written(*value))?)?;
    }
    entry.set_item("variants", variants)?;
    if let Unset::Word(word) = param.unset {
        entry.set_item("unset", word)?;
    }
    if let Some((min, max)) = bounds {
        entry.set_item("min", to_python(py, &written(min))?)?;
        entry.set_item("max", to_python(py, &written(max))?)?;
    }
    if let Kind::Choice(names) = param.kind {
        entry.set_item("choices", names.to_vec())?;
    }
    entry.set_item("doc", param.doc)?;
    entry.set_item("source", param.source)?;
    Ok(entry)
}
