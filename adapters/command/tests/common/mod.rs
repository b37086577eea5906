//! What both files of tests take: a run with every algorithm, and its windows.

use fullpipe_sim::{Report, Simulation};

/// A run of a scenario whose flows may have any of the libraries' controllers.
pub fn run(scenario: &str) -> Report {
    let catalogue = fullpipe_s2n_quic::add_to(fullpipe_quinn::catalogue());
    let scenario = catalogue.read_toml(scenario).unwrap_or_else(|problem| panic!("{problem}\n{scenario}"));
    Simulation::new(scenario).report().expect("it runs")
}

/// Time, s, and window, packets, of the only flow.
pub fn windows(report: &Report) -> Vec<(f64, f64)> {
    let (_, windows) = report.flow_series.columns.iter().find(|(name, _)| name == "cwnd_packets").expect("a column");
    report.flow_series.t_s.iter().copied().zip(windows.iter().copied()).collect()
}
