//! quinn's controllers alone over a link, compared with the built-in algorithms of equal design.

use fullpipe_sim::{Report, Simulation};
use std::collections::HashSet;

/// One flow over a drop-tail link of 20 Mbit/s and a round trip of 40 ms.
fn alone(algorithm: &str, buffer: &str) -> Report {
    let scenario = format!(
        r#"
        duration = "60 s"
        warmup = "20 s"
        links = [{{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "{buffer}" }}]
        flows = [{{ algorithm = {algorithm} }}]
        "#
    );
    let scenario = fullpipe_quinn::catalogue().read_toml(&scenario).expect("a scenario");
    Simulation::new(scenario).expect("a valid scenario").report().expect("it runs")
}

fn utilization(algorithm: &str, buffer: &str) -> f64 {
    alone(algorithm, buffer).links[0].forward.utilization
}

#[test]
fn the_same_run_twice_is_the_same() {
    for algorithm in ["\"quinn-newreno\"", "\"quinn-cubic\"", "\"quinn-bbr\""] {
        // As text, because unknown values are NaN, and NaN does not equal NaN.
        let [one, other] = [(); 2].map(|()| format!("{:?}", alone(algorithm, "0.5 BDP")));
        assert!(one == other, "{algorithm}");
    }
}

/// BBR draws where its cycle of gains begins: the rates that it asks for depend on the scenario's seed, and on no more. There are
/// seven phases: of eight seeds two draw alike.
#[test]
fn another_seed_is_another_phase_of_bbrs_cycle() {
    let asked = |seed: u32| {
        let text = format!(
            r#"
            duration = "2 s"
            seed = {seed}
            links = [{{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "1 BDP" }}]
            flows = [{{ algorithm = "quinn-bbr" }}]
            "#
        );
        let scenario = fullpipe_quinn::catalogue().read_toml(&text).expect("a scenario");
        let series = Simulation::new(scenario).expect("a valid scenario").report().expect("it runs").flow_series;
        let (_, rates) = series.columns.iter().find(|(name, _)| name == "asked_pacing_bps").expect("a column").clone();
        rates.iter().map(|rate| rate.to_bits()).collect::<Vec<_>>()
    };
    let runs: HashSet<_> = (1..=8).map(asked).collect();
    assert!((2..=7).contains(&runs.len()), "{}", runs.len());
    assert_eq!(asked(1), asked(1));
}

/// A buffer of a BDP keeps the link busy through a halving, and through a cut to 0.7.
#[test]
fn a_buffer_of_a_bdp_fills_the_link() {
    for algorithm in ["\"quinn-newreno\"", "\"quinn-cubic\"", "\"quinn-bbr\""] {
        let used = utilization(algorithm, "1 BDP");
        assert!(used > 0.97 && used <= 1.0, "{algorithm}: {used}");
    }
}

/// The pipe holds 100 packets, the buffer 15 (bursts are of 10): the window goes from 57 to 115, and 84 % of the link are used on average.
/// A controller with a larger decrease factor uses more.
#[test]
fn what_a_loss_leaves_shows_in_the_utilization() {
    let half = utilization("\"quinn-newreno\"", "15 packets");
    assert!((0.75..0.90).contains(&half), "{half}");
    let most = utilization("{ name = \"quinn-newreno\", loss_reduction_factor = 0.8 }", "15 packets");
    assert!(most > half + 0.05, "{most} {half}");
}

#[test]
fn a_link_that_loses_much_leaves_two_packets_at_least() {
    let text = r#"
        duration = "60 s"
        links = [{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "1 BDP", loss = 0.3 }]
        flows = [{ algorithm = "quinn-newreno" }, { algorithm = "quinn-cubic" }]
    "#;
    let scenario = fullpipe_quinn::catalogue().read_toml(text).expect("a scenario");
    for flow in Simulation::new(scenario).expect("a valid scenario").report().expect("it runs").flows {
        assert!(
            flow.mean_cwnd_packets >= 2.0 && flow.mean_cwnd_packets < 6.0,
            "{} {}",
            flow.algorithm,
            flow.mean_cwnd_packets
        );
        assert!(flow.goodput_bps > 0.0);
    }
}
