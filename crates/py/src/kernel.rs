//! Object files for the kernel, for the engine that gives them to one.

use fullpipe_kernel::{Program, shelf, target};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::path::PathBuf;

/// Algorithm of an object file (`None`: its only one): its names in the simulator and in the kernel, and the file with `params` in it.
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

/// Module that was compiled for the simulator: the kernel's name of the algorithm, and its parameters. Raises `ValueError`, in one line,
/// where it is none, or needs something that the simulator lacks.
#[pyfunction]
pub fn kernel_module(content: &[u8]) -> PyResult<(String, Vec<String>)> {
    let program = Program::load(content, None).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let params = program.parameters().iter().map(|parameter| parameter.name.clone()).collect();
    Ok((program.kernel_name().to_owned(), params))
}

/// The file in the user's cache where a module of a kernel, like "6.1", is looked for.
#[pyfunction]
pub fn module_file(kernel: &str, name: &str) -> PathBuf {
    shelf::file(&shelf::place(), kernel, name)
}

/// Inputs of a module's compilation: files by their names, and the target that they are given.
#[pyfunction]
pub fn module_headers() -> (HashMap<&'static str, &'static str>, String) {
    ([("target.h", target::HEADER), ("shim.h", target::SHIM)].into(), target::MADE_FOR.to_string())
}
