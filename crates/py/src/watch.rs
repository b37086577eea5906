//! Watch of a run: notices Ctrl-C, and reports progress.

use std::time::{Duration, Instant};

use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;
use pyo3::prelude::*;

/// How often the run takes the interpreter's lock, in wall time: seldom enough to cost nothing, often enough for Ctrl-C.
const INTERVAL: Duration = Duration::from_millis(100);

/// Checks for signals and reports progress while a run holds no lock.
pub struct Watch {
    progress: Option<Py<PyAny>>,
    looked: Instant,
    error: Option<PyErr>,
}

impl Watch {
    /// `progress`, if any, is called with the simulated seconds reached.
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        Watch { progress, looked: wall_clock(), error: None }
    }

    /// Whether the run may go on; false once a signal handler or `progress` has raised.
    pub fn may_go_on(&mut self, reached: Nanos) -> bool {
        let now = wall_clock();
        if now - self.looked < INTERVAL {
            return true;
        }
        self.looked = now;
        let Some(looked) = Python::try_attach(|py| self.look(py, reached)) else { wait_for_the_end() };
        self.error = looked.err();
        self.error.is_none()
    }

    /// Exception of the signal handler or of `progress`.
    pub fn into_error(self) -> Option<PyErr> {
        self.error
    }

    fn look(&self, py: Python, reached: Nanos) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call1(py, (seconds(reached),))?;
        }
        Ok(())
    }
}

/// The interpreter is shutting down, and this thread can never go back to Python: it ends with the process.
fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

#[expect(clippy::disallowed_methods, reason = "the wall clock paces progress only; no result depends on it")]
fn wall_clock() -> Instant {
    Instant::now()
}
