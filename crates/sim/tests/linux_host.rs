//! Flows with `host = "linux"`, compared with a Linux kernel in an equal network.

use fullpipe_sim::{Report, Scenario, run};

fn run_with(text: &str, seed: u64) -> Report {
    let mut scenario = Scenario::from_toml(text).expect("a sound scenario");
    scenario.seed = seed;
    run(&scenario, &mut |_| true).expect("to its end")
}

const CONTINUOUS_LOSS: &str = r#"
duration = "60 s"
packet_size = 1500
[[links]]
name = "lossy"
rate = "10 Gbit/s"
delay = "0 s"
buffer = "unlimited"
loss = 0.1
reverse = { loss = 0 }
[[links]]
name = "bottleneck"
rate = "100 Mbit/s"
delay = "50 ms"
buffer = "1 BDP"
[[flows]]
algorithm = "bbr"
host = "linux"
path = ["lossy", "bottleneck"]
"#;

/// One BBR flow with 10 % of random loss before the bottleneck. Two runs of Linux 6.18 have 81 and 84 Mbit/s and no timeout. Startup may end
/// early, where losses in the first round trips keep the delivery rate from growing. On Linux 6.1 that happened in 2 of 24 starts, which had
/// 2.0 and 2.6 Mbit/s in the first 4 s where others had 54 to 67, and here in 5 of 100 seeds.
#[test]
fn bbr_fills_the_link_under_continuous_loss() {
    let flows = (1..=10).map(|seed| run_with(CONTINUOUS_LOSS, seed).flows.remove(0));
    let flows: Vec<_> = flows.map(|flow| (flow.goodput_bps / 1e6, flow.timeouts)).collect();
    assert!(flows.iter().all(|flow| flow.1 == 0), "{flows:?}");
    let full = flows.iter().filter(|flow| flow.0 > 80.0).count();
    assert!(full >= 9 && flows.iter().all(|flow| flow.0 > 50.0), "{flows:?}");
}

const CODEL: &str = r#"
duration = "60 s"
warmup = "10 s"
[[links]]
name = "bottleneck"
rate = "50 Mbit/s"
delay = "99.5 ms"
buffer = "1000 packets"
queue = { name = "codel", sqrt = "newton" }
[[flows]]
algorithm = { name = "cubic", whole_segments = true, alpha_to_one = false }
host = "linux"
"#;

/// One CUBIC flow over CoDel at an RTT of 199 ms. RFC 6298's timeout of SRTT + 4 RTTVAR falls to 200 ms, so that the first repair of a loss
/// outlasts it. Linux adds 200 ms to SRTT.
#[test]
fn linux_has_no_timeouts_over_codel_on_a_long_path() {
    let linux = run_with(CODEL, 1).flows.remove(0);
    let rfc = run_with(&format!("{CODEL}rto = \"rfc6298\"\nsack_compression = false\n"), 1).flows.remove(0);
    assert!(linux.timeouts == 0 && rfc.timeouts > 0, "{} {}", linux.timeouts, rfc.timeouts);
    assert!(linux.goodput_bps > 43e6 && rfc.goodput_bps < 40e6, "{} {}", linux.goodput_bps, rfc.goodput_bps);
}
