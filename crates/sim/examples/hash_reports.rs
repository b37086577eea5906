//! `hash_reports [FROM..TO] [FILE ...]`: one line per scenario with a hash of its whole report, for comparing two builds bit by bit.
//!
//! Random scenarios of `tests/any_scenario` with the numbers FROM to TO come first, then each scenario file. For example:
//!
//! ```sh
//! cargo run --release --example hash_reports -- 0..4000 scenarios/*.toml benchmarks/speed/*.toml > before.txt
//! ```
//!
//! A change that must not alter results leaves this output unchanged. `SECONDS:` before a file runs only its beginning, for example
//! `3:benchmarks/speed/web.toml`. A random scenario that exceeds [`WATCH_CALLS`] has no report, and its line is "unfinished".

#[path = "../tests/any_scenario/dice.rs"]
mod dice;

use fullpipe_sim::{Scenario, run};
use std::path::Path;

/// Watch calls after which a random scenario is stopped. The engine calls its watch every 16,384 events.
const WATCH_CALLS: u32 = 100;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    if let Some((from, to)) = arguments.peek().and_then(|text| range(text)) {
        arguments.next();
        for number in from..to {
            let mut calls = 0;
            let report = run(&dice::scenario(number), &mut |_| {
                calls += 1;
                calls < WATCH_CALLS
            });
            match report {
                Ok(report) => println!("{number} {:016x}", fnv1a(&format!("{report:?}"))),
                Err(_) => println!("{number} unfinished"),
            }
        }
    }
    for argument in arguments {
        let (seconds, path) = match argument.split_once(':') {
            Some((seconds, path)) => (seconds.parse::<f64>().ok(), path),
            None => (None, argument.as_str()),
        };
        let text = std::fs::read_to_string(path).expect("a readable file");
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        let (mut scenario, _) = Scenario::from_toml_in(&text, folder).unwrap_or_else(|e| panic!("{path}: {e}"));
        if let Some(seconds) = seconds {
            scenario.duration = (seconds * 1e9) as u64;
            scenario.warmup = scenario.warmup.min(scenario.duration / 2);
        }
        let report = run(&scenario, &mut |_| true).expect("a run to its end");
        println!("{argument} {:016x}", fnv1a(&format!("{report:?}")));
    }
}

/// The two numbers of `FROM..TO`.
fn range(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once("..")?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// FNV-1a of 64 bits (Fowler, Noll, and Vo).
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
