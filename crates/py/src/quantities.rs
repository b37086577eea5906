//! Numbers with units, as scenarios write them.

use fullpipe_sim::scenario;
use pyo3::prelude::*;

/// Quantity in `text`: the number and its unit as written, the base unit, and the number in that; None where it is not a number with a
/// known unit.
#[pyfunction]
pub fn quantity(text: &str) -> Option<(f64, &'static str, &'static str, f64)> {
    scenario::quantity(text).map(|q| (q.number, q.unit, q.base, q.value))
}

/// Every unit and its base unit ("s", "bit/s", "bytes", "packets" or "BDP", as metrics have them).
#[pyfunction]
pub fn units() -> Vec<(&'static str, &'static str)> {
    scenario::units().collect()
}
