//! `sends FILE`: runs the scenario in FILE and prints a line for each segment that its one flow sends: when, in nanoseconds, and its
//! number.

use fullpipe_sim::{Scenario, record, run};
use std::io::{BufWriter, stdout};

fn main() {
    let file = std::env::args().nth(1).expect("usage: sends FILE");
    let text = std::fs::read_to_string(&file).expect("a readable file");
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{file}: {problem:?}"));
    assert!(scenario.flows.len() == 1 && scenario.flows[0].count == 1, "{file}: one flow can be recorded");
    record::sends_to(Some(Box::new(BufWriter::new(stdout()))));
    let _ = run(&scenario, &mut |_| true);
    record::sends_to(None);
}
