//! The engine for a web page: text in, text and columns of numbers out, by plain exports and without imports.
//!
//! The page asks for room with [`input`], writes UTF-8 text there and calls [`run`]. The answer is JSON, at [`text_start`], whose columns
//! of numbers lie at [`numbers_start`]; see [`answer`]. An answer holds until the next call. After a trap [`fault_start`] still has what
//! the engine said, and the instance is of no more use.

pub mod answer;
mod catalogue;
mod json;
mod view;

use answer::Answer;
use fullpipe_sim::{Scenario, Stopped, run_within};
use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
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

/// Runs the scenario that the page wrote, in so many bytes of memory. True where the answer is a result, false where it is a problem.
#[unsafe(no_mangle)]
pub extern "C" fn run(memory_bytes: f64) -> bool {
    std::panic::set_hook(Box::new(|fault| FAULT.with_borrow_mut(|text| *text = fault.to_string())));
    let answer = INPUT.with_borrow(|input| simulate(input, memory_bytes as u64));
    let whole = answer.is_ok();
    ANSWER.set(answer.unwrap_or_else(|problem| problem));
    whole
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

/// Where what the engine said before a trap begins.
#[unsafe(no_mangle)]
pub extern "C" fn fault_start() -> *const u8 {
    FAULT.with_borrow(|fault| fault.as_ptr())
}

/// How many bytes that has; 0 where it said nothing, as where memory ran out.
#[unsafe(no_mangle)]
pub extern "C" fn fault_bytes() -> usize {
    FAULT.with_borrow(String::len)
}

/// A result, or a problem.
fn simulate(input: &[u8], memory_bytes: u64) -> Result<Answer, Answer> {
    let text = std::str::from_utf8(input).expect("a page encodes text as UTF-8");
    let scenario = Scenario::from_toml(text).map_err(|problem| Answer::problem(&problem))?;
    match run_within(&scenario, memory_bytes, &mut |_| true) {
        Ok(report) => Ok(Answer::result(&scenario, &report)),
        Err(Stopped::Memory(problem)) => Err(Answer::problem(&problem)),
        Err(other) => unreachable!("nobody stops it, and every algorithm is built in: {other}"),
    }
}
