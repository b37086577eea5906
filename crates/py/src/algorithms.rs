//! The registry as Python sees it.

use crate::external;
use crate::own;
use crate::queues::param;
use fullpipe_cc::params::{Group, Info};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Every algorithm: name, paper, group, recovery and parameters, as dictionaries; those of a group together.
#[pyfunction]
pub fn algorithms(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let catalogue = own::catalogue();
    let of_group = |group| catalogue.infos().filter(move |info| info.group == group && info.name != external::NAME);
    Group::ALL.into_iter().flat_map(of_group).map(|info| algorithm(py, info)).collect()
}

fn algorithm<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", info.name)?;
    entry.set_item("paper", info.paper)?;
    entry.set_item("group", info.group.name())?;
    entry.set_item("recovery", info.recovery)?;
    entry.set_item("params", info.params.iter().map(|p| param(py, p)).collect::<PyResult<Vec<_>>>()?)?;
    Ok(entry)
}
