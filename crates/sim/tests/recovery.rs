//! Recoveries beside each other in whole runs.

use fullpipe_sim::{Report, Scenario, run};

/// Ten flows of CUBIC over 20 Mbit/s and 40 ms whose wire loses 1 % of the packets, for 60 s.
fn lossy(recovery: &str) -> Report {
    let scenario = format!(
        r#"
        duration = "60 s"
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

fn timeouts(report: &Report) -> u64 {
    report.flows.iter().map(|flow| flow.timeouts).sum()
}

/// One segment in a hundred is lost, so that one in ten thousand is lost twice: RFC 6675 needs the timer for each of those, RACK for next
/// to none.
#[test]
fn lost_retransmissions_cost_rack_no_timeouts() {
    let (sack, rack) = (lossy("\"sack\""), lossy("\"rack\""));
    let (of_sack, of_rack) = (timeouts(&sack), timeouts(&rack));
    assert!(of_sack >= 10 && 5 * of_rack <= of_sack, "{of_sack} with SACK, {of_rack} with RACK");
    assert!(rack.links[0].forward.utilization >= sack.links[0].forward.utilization);
}

/// Proportional rate reduction changes when a segment goes in recovery, not what a recovery repairs: as many timeouts, within chance.
#[test]
fn proportional_rate_reduction_repairs_as_much() {
    let (without, with) = (lossy("\"sack\""), lossy("\"sack\"\nprr = true"));
    assert!(timeouts(&with) <= 2 * timeouts(&without), "{} and {}", timeouts(&with), timeouts(&without));
    assert!(with.links[0].forward.utilization > 0.9 * without.links[0].forward.utilization);
}
