//! Comparison of recoveries in whole runs.

use fullpipe_sim::{Report, Scenario, run};

/// Ten flows of CUBIC over 20 Mbit/s and 40 ms whose wire loses 1 % of the packets, for 60 s.
fn lossy(recovery: &str, seed: u32) -> Report {
    let scenario = format!(
        r#"
        duration = "60 s"
        seed = {seed}
        [[links]]
        name = "l"
        rate = "20 Mbit/s"
        delay = "20 ms"
        buffer = "100 packets"
        loss = 0.01
        [[flows]]
        algorithm = "cubic"
        count = 10
        recovery = {recovery}
        "#
    );
    run(&Scenario::from_toml(&scenario).expect("a scenario of ours"), &mut |_| true).expect("nobody stops it")
}

/// Retransmission timeouts, and mean utilization, of runs with four seeds.
fn over_seeds(recovery: &str) -> (u64, f64) {
    let reports: Vec<Report> = (1..=4).map(|seed| lossy(recovery, seed)).collect();
    let timeouts = reports.iter().flat_map(|report| &report.flows).map(|flow| flow.timeouts).sum();
    (timeouts, reports.iter().map(|report| report.links[0].forward.utilization).sum::<f64>() / 4.0)
}

/// One segment in a hundred is lost, so that one in ten thousand is lost twice: RFC 6675 needs the timer for each of those, RACK for next
/// to none.
#[test]
fn lost_retransmissions_cost_rack_no_timeouts() {
    let ((of_sack, sack), (of_rack, rack)) = (over_seeds("\"sack\""), over_seeds("\"rack\""));
    assert!(of_sack >= 40 && 5 * of_rack <= of_sack, "{of_sack} with SACK, {of_rack} with RACK");
    assert!(rack >= sack, "{rack} with RACK, {sack} with SACK");
}

/// Proportional rate reduction changes when a segment leaves in recovery, not which segments are repaired: as many
/// timeouts, within the random variation.
#[test]
fn proportional_rate_reduction_repairs_as_much() {
    let ((timeouts, without), (timeouts_with, with)) = (over_seeds("\"sack\""), over_seeds("\"sack\"\nprr = true"));
    assert!(timeouts_with <= 2 * timeouts, "{timeouts_with} and {timeouts}");
    assert!(with > 0.9 * without);
}
