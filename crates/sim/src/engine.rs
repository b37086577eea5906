//! The event loop.

use crate::{Report, Scenario};
use fullpipe_cc::Nanos;

/// The run was stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Runs `scenario`. Every few thousand events `watch` is told the simulated time reached; when it answers false the run
/// stops.
///
/// # Errors
/// [`Interrupted`] if `watch` said so.
pub fn run(_scenario: &Scenario, _watch: &mut dyn FnMut(Nanos) -> bool) -> Result<Report, Interrupted> {
    todo!("the event loop")
}
