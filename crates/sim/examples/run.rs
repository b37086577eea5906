//! Runs a scenario file and prints its counts: the engine and nothing else, for profilers and instruction counters.

use fullpipe_sim::{Scenario, run};
use std::path::Path;

fn main() {
    let path = std::env::args().nth(1).expect("usage: run SCENARIO.toml");
    let text = std::fs::read_to_string(&path).expect("a readable file");
    let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
    let (scenario, _) = Scenario::from_toml_in(&text, folder).unwrap_or_else(|problem| panic!("{path}: {problem}"));
    let report = run(&scenario, &mut |_| true).expect("nobody stops it");
    println!("{:?}", report.packets);
    println!("data_packets {}", report.data_packets);
    let goodputs = report.flows.iter().take(8).map(|flow| flow.goodput_bps);
    println!("goodput_bps {:?}", goodputs.collect::<Vec<_>>());
    println!("jain_index {}", report.jain_index);
}
