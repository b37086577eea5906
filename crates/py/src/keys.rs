//! A scenario's keys as Python sees them.

use fullpipe_sim::scenario::keys::{ALL, Key, Otherwise};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Every list of a scenario's keys by its name; of each key `name`, `kind`, `default` (TOML) or `otherwise` (words; neither where it is
/// required), `allowed`, `doc` and `source`.
#[pyfunction]
pub fn scenario_keys(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let lists = PyDict::new(py);
    for (name, keys) in ALL {
        lists.set_item(name, keys.iter().map(|key| entry(py, key)).collect::<PyResult<Vec<_>>>()?)?;
    }
    Ok(lists)
}

fn entry<'py>(py: Python<'py>, key: &Key) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    let (value, words) = match key.default {
        Otherwise::Required => (None, None),
        Otherwise::Value(value) => (Some(value), None),
        Otherwise::Words(words) => (None, Some(words)),
    };
    entry.set_item("name", key.name)?;
    entry.set_item("kind", key.kind.name())?;
    entry.set_item("default", value)?;
    entry.set_item("otherwise", words)?;
    entry.set_item("allowed", key.kind.allowed())?;
    entry.set_item("doc", key.doc)?;
    entry.set_item("source", key.source)?;
    Ok(entry)
}
