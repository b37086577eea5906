//! The engine for a web page: text in, text and columns of numbers out, by plain exports. Its imports are the calls of the reader's own
//! algorithm ([`own`]).
//!
//! The page asks for room with [`input`], writes UTF-8 text there, calls [`begin`], then [`advance`] as long as it likes, then [`finish`].
//! The answer is JSON, at [`text_start`], whose columns of numbers lie at [`numbers_start`]; see [`answer`]. An answer holds until the next
//! one. After a trap [`fault_start`] still has the engine's message, and the instance is unusable.

pub mod answer;
mod catalogue;
mod json;
#[cfg(target_arch = "wasm32")]
pub mod own;
mod view;

use answer::Answer;
use fullpipe_sim::scenario::Problem;
use fullpipe_sim::{Catalogue, Scenario, Simulation};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RUN: RefCell<Option<(Arc<Scenario>, Simulation)>> = const { RefCell::new(None) };
    static ANSWER: RefCell<Answer> = const { RefCell::new(Answer { text: String::new(), numbers: Vec::new() }) };
    static FAULT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Where the page writes `bytes` of text.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: u32) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        // A u32 is a usize wherever this runs.
        input.resize(bytes as usize, 0);
        input.as_mut_ptr()
    })
}

/// Begins to run the scenario that the page wrote, with a limit of memory in bytes; false where the answer is a problem.
/// An earlier run is dropped.
#[unsafe(no_mangle)]
pub extern "C" fn begin(memory_bytes: f64) -> bool {
    std::panic::set_hook(Box::new(|fault| FAULT.with_borrow_mut(|text| *text = fault.to_string())));
    RUN.set(None);
    let begun = INPUT.with_borrow(|input| read(input, memory_bytes as u64));
    let is_begun = begun.is_ok();
    match begun {
        Ok(run) => RUN.set(Some(run)),
        Err(problem) => ANSWER.set(problem),
    }
    is_begun
}

/// Continues up to this fraction of the scenario's time, from 0 to 1; false where the answer is a problem.
#[unsafe(no_mangle)]
pub extern "C" fn advance(share: f64) -> bool {
    let advanced = RUN.with_borrow_mut(|run| {
        let (scenario, simulation) = run.as_mut().expect("a run that has begun");
        // The sizes of the steps do not change the result.
        simulation.advance((scenario.duration as f64 * share) as u64)
    });
    advanced.map_err(|stopped| ANSWER.set(Answer::stopped(stopped))).is_ok()
}

/// Ends the run; true where the answer is a result, false where it is a problem.
#[unsafe(no_mangle)]
pub extern "C" fn finish() -> bool {
    let (scenario, simulation) = RUN.take().expect("a run that has begun");
    let report = simulation.report();
    let is_whole = report.is_ok();
    ANSWER.set(report.map_or_else(Answer::stopped, |report| Answer::result(&scenario, report)));
    is_whole
}

/// Answers with the algorithms and queues there are.
#[unsafe(no_mangle)]
pub extern "C" fn catalogue() {
    ANSWER.set(Answer { text: catalogue::catalogue(), numbers: Vec::new() });
}

/// Where the answer's text begins.
#[unsafe(no_mangle)]
pub extern "C" fn text_start() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.text.as_ptr())
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn text_bytes() -> usize {
    ANSWER.with_borrow(|answer| answer.text.len())
}

/// Where the answer's numbers begin.
#[unsafe(no_mangle)]
pub extern "C" fn numbers_start() -> *const f64 {
    ANSWER.with_borrow(|answer| answer.numbers.as_ptr())
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn numbers_count() -> usize {
    ANSWER.with_borrow(|answer| answer.numbers.len())
}

/// Address of the engine's message before a trap.
#[unsafe(no_mangle)]
pub extern "C" fn fault_start() -> *const u8 {
    FAULT.with_borrow(|fault| fault.as_ptr())
}

/// Length of the message in bytes; 0 without one, as where memory ran out.
#[unsafe(no_mangle)]
pub extern "C" fn fault_bytes() -> usize {
    FAULT.with_borrow(String::len)
}

/// A run at its beginning, or a problem.
fn read(input: &[u8], memory_bytes: u64) -> Result<(Arc<Scenario>, Simulation), Answer> {
    let text = std::str::from_utf8(input).expect("a page encodes text as UTF-8");
    let scenario = Arc::new(algorithms().read_toml(text).map_err(|problem| Answer::problem(&problem))?);
    let simulation = Simulation::within(Arc::clone(&scenario), memory_bytes).map_err(Answer::stopped)?;
    check_shown(&scenario).map_err(|problem| Answer::problem(&problem))?;
    Ok((scenario, simulation))
}

/// Samples of series that a page shows, at most. Each is copied several times on its way to a picture.
pub const MOST_SAMPLES: u64 = 1_000_000;

/// Groups of flows that a page shows, at most. Each takes up to 13 lines of a plot, and a row of a table.
pub const MOST_GROUPS: usize = 200;

/// Refuses a scenario with more groups of flows, or more samples, than a page can show.
///
/// # Errors
/// The key at fault.
pub fn check_shown(scenario: &Scenario) -> Result<(), Problem> {
    let groups = scenario.flows.len();
    if groups > MOST_GROUPS {
        let what = format!("must be at most {MOST_GROUPS} groups on a page, got {groups}; write count");
        return Err(Problem::new("flows", what));
    }
    let Some(interval) = scenario.series_interval else { return Ok(()) };
    let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
    let samples = (flows + scenario.links.len() as u64).saturating_mul(scenario.duration / interval.max(1));
    if samples <= MOST_SAMPLES {
        return Ok(());
    }
    let what = format!(
        "must give at most {MOST_SAMPLES} samples on a page, got {samples}; write a longer interval or \"off\""
    );
    Err(Problem::new("series_interval", what))
}

/// Those that a scenario may name.
fn algorithms() -> Catalogue {
    #[cfg(target_arch = "wasm32")]
    return own::catalogue();
    #[cfg(not(target_arch = "wasm32"))]
    Catalogue::builtin()
}
