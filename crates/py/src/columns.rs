//! Numbers handed to Python as they lie in memory: a [`Column`] owns a vector and shows its bytes through the buffer protocol.

use std::ffi::{c_int, c_void};

use pyo3::ffi;
use pyo3::prelude::*;

/// A column of numbers, all of one type; its bytes are open to Python's buffer protocol, read-only.
#[pyclass(frozen, module = "fullpipe._core")]
pub struct Column {
    numbers: Numbers,
}

enum Numbers {
    F64(Vec<f64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

impl From<Vec<f64>> for Column {
    fn from(numbers: Vec<f64>) -> Self {
        Column { numbers: Numbers::F64(numbers) }
    }
}

impl From<Vec<u32>> for Column {
    fn from(numbers: Vec<u32>) -> Self {
        Column { numbers: Numbers::U32(numbers) }
    }
}

impl From<Vec<u64>> for Column {
    fn from(numbers: Vec<u64>) -> Self {
        Column { numbers: Numbers::U64(numbers) }
    }
}

impl Column {
    fn bytes(&self) -> (*mut c_void, ffi::Py_ssize_t) {
        let (start, size): (*const c_void, usize) = match &self.numbers {
            Numbers::F64(v) => (v.as_ptr().cast(), size_of_val(v.as_slice())),
            Numbers::U32(v) => (v.as_ptr().cast(), size_of_val(v.as_slice())),
            Numbers::U64(v) => (v.as_ptr().cast(), size_of_val(v.as_slice())),
        };
        (start.cast_mut(), size as ffi::Py_ssize_t)
    }
}

#[pymethods]
impl Column {
    /// "float64", "uint32" or "uint64", as Arrow and NumPy call it.
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.numbers {
            Numbers::F64(_) => "float64",
            Numbers::U32(_) => "uint32",
            Numbers::U64(_) => "uint64",
        }
    }

    /// The numbers as a list; None for one that is not finite.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.numbers {
            Numbers::F64(v) => {
                let finite: Vec<Option<f64>> = v.iter().map(|&number| Some(number).filter(|x| x.is_finite())).collect();
                finite.into_pyobject(py)
            }
            Numbers::U32(v) => v.into_pyobject(py),
            Numbers::U64(v) => v.into_pyobject(py),
        }
    }

    fn __len__(&self) -> usize {
        match &self.numbers {
            Numbers::F64(v) => v.len(),
            Numbers::U32(v) => v.len(),
            Numbers::U64(v) => v.len(),
        }
    }

    /// Shows the bytes as they are, read-only.
    ///
    /// # Safety
    /// Called by the interpreter, with `view` pointing to a buffer description to fill in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let (start, length) = slf.get().bytes();
        // SAFETY: the view keeps a reference to the column, the column is frozen and never moves or frees its vector while it
        // lives, and the view is read-only, so that the pointer is valid for as long as the view is.
        let status = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) };
        if status == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
