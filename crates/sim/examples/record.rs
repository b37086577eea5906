//! `record FILE`: runs the scenario in FILE and writes what its one flow tells its congestion control to standard output.

use fullpipe_sim::{Scenario, record, run};
use std::io::{BufWriter, stdout};

fn main() {
    let file = std::env::args().nth(1).expect("usage: record FILE");
    let text = std::fs::read_to_string(&file).expect("a readable file");
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{file}: {problem:?}"));
    assert!(scenario.flows.len() == 1 && scenario.flows[0].count == 1, "{file}: one flow can be recorded");
    record::to(Some(Box::new(BufWriter::with_capacity(1 << 20, stdout()))));
    let _ = run(&scenario, &mut |_| true);
    record::to(None);
}
