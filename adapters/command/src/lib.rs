//! Scenarios with the controllers of QUIC libraries and the built-in algorithms.

use fullpipe_sim::{Catalogue, Report, Simulation};

/// The built-in algorithms and all of the libraries'.
pub fn catalogue() -> Catalogue {
    fullpipe_s2n_quic::add_to(fullpipe_quinn::catalogue())
}

/// Runs a scenario, TOML, whose flows may have any of them.
///
/// # Errors
/// What is wrong with the scenario, or what ended the run.
pub fn run(scenario: &str) -> Result<Report, String> {
    let scenario = catalogue().read_toml(scenario).map_err(|problem| problem.to_string())?;
    let simulation = Simulation::new(scenario).map_err(|invalid| invalid.to_string())?;
    simulation.report().map_err(|stopped| stopped.to_string())
}

/// Time, s, and window, packets, of a run's only flow.
pub fn windows(report: &Report) -> Vec<(f64, f64)> {
    let (_, windows) = report.flow_series.columns.iter().find(|(name, _)| name == "cwnd_packets").expect("a column");
    report.flow_series.t_s.iter().copied().zip(windows.iter().copied()).collect()
}
