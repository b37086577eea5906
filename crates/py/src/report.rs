//! A [`Report`] as tables: a dictionary of tables, each a dictionary of columns.

use fullpipe_sim::{Report, Table, Values};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use std::collections::BTreeMap;

use crate::columns::Column;

/// Names of the columns of each table, but for those of series, which depend on the run.
#[pyfunction]
pub fn figure_names() -> BTreeMap<&'static str, Vec<String>> {
    let names = |table: Table| (table.name, table.columns.into_iter().map(|column| column.name).collect());
    Report::default().into_tables().into_iter().filter(|table| !table.name.ends_with("series")).map(names).collect()
}

/// Tables by their names, and `warnings`, a list of lines; of `totals`, which has one row, the values themselves.
pub fn to_tables<'py>(py: Python<'py>, report: Report) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    tables.set_item("warnings", report.warnings())?;
    for table in report.into_tables() {
        let columns = PyDict::new(py);
        for column in table.columns {
            let values = to_column(py, column.values)?;
            let whole = if table.name == "totals" { first(&values)? } else { values };
            columns.set_item(column.name, whole)?;
        }
        tables.set_item(table.name, columns)?;
    }
    Ok(tables)
}

/// Numbers as they lie in memory, anything else as a list.
fn to_column(py: Python<'_>, values: Values) -> PyResult<Bound<'_, PyAny>> {
    match values {
        Values::Numbers(numbers) => Column::from(numbers).into_bound_py_any(py),
        Values::Counts(numbers) => Column::from(numbers).into_bound_py_any(py),
        Values::Places(numbers) => Column::from(numbers).into_bound_py_any(py),
        Values::Text(texts) => texts.into_bound_py_any(py),
        Values::Flags(flags) => flags.into_bound_py_any(py),
        // The names are few and the rows may be many: each name is one object.
        Values::Names(names, rows) => {
            let names: Vec<_> = names.iter().map(|name| PyString::new(py, name)).collect();
            PyList::new(py, rows.iter().map(|&row| &names[row as usize]))?.into_bound_py_any(py)
        }
    }
}

fn first<'py>(column: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    column.call_method0("to_list")?.get_item(0)
}
