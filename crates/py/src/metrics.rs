//! The registry of metrics for Python.

use fullpipe_sim::metrics::{Metric, tables};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// All metrics: of each `table`, `id`, `title`, `unit`, `kind`, `better`, `form`, `definition`, and `source`.
#[pyfunction]
pub fn metrics(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    tables().map(|(table, metric)| entry(py, table, metric)).collect()
}

fn entry<'py>(py: Python<'py>, table: &str, metric: &Metric) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    for (key, value) in [
        ("table", table),
        ("id", metric.id),
        ("title", metric.title),
        ("unit", metric.unit.name()),
        ("kind", metric.kind.name()),
        ("better", metric.better.name()),
        ("form", metric.form),
        ("definition", metric.definition),
        ("source", metric.source),
    ] {
        entry.set_item(key, value)?;
    }
    Ok(entry)
}
