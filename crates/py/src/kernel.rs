//! Object files for the kernel, for the engine that gives them to one.

use fullpipe_kernel::Program;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;

/// An algorithm of an object file (`None`: its only one): what the simulator and what the kernel call it, and the file with `params` in it.
/// Raises `ValueError`, in one line, where the file is none, or has no such algorithm, parameter or value.
#[pyfunction]
pub fn kernel_object<'py>(
    py: Python<'py>,
    content: &[u8],
    struct_ops: Option<&str>,
    params: HashMap<String, f64>,
) -> PyResult<(String, String, Bound<'py, PyBytes>)> {
    let wrong = |error: fullpipe_kernel::Error| PyValueError::new_err(error.to_string());
    let program = Program::load(content, struct_ops).map_err(wrong)?;
    let params: Vec<_> = params.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    let file = program.file_with(content, &params).map_err(wrong)?;
    Ok((format!("{}.bpf", program.name()), program.kernel_name().to_owned(), PyBytes::new(py, &file)))
}
