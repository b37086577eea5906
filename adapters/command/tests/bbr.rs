//! Differences of the libraries' BBRs from BBR's drafts and Linux's BBR, each by a simulation. fullpipe's BBR, which
//! follows Linux's, runs for comparison.
//!
//! reports/quic.md has a row for each test here, with the line of code that causes the difference. If a test fails
//! after a change of version, read the code of its row again.

use fullpipe_quic::windows;
use fullpipe_sim::Report;

/// Packets of 20 Mbit/s and a round trip of 40 ms.
const BDP: f64 = 100.0;

/// Algorithm that begins as fullpipe's does, with ten packets.
const QUINN: &str = "{ name = \"quinn-bbr\", initial_window = 10 }";
const S2N: &str = "\"s2n-bbr\"";
const OURS: &str = "\"bbr\"";

/// One flow over that path, with twenty products of buffer.
fn alone(algorithm: &str, link: &str) -> Report {
    let run = fullpipe_quic::run(&format!(
        r#"
        duration = "40 s"
        warmup = "25 s"
        series_interval = "5 ms"
        links = [{{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "20 BDP", {link} }}]
        flows = [{{ algorithm = {algorithm}, initial_window = 10, recovery = "rack" }}]
        "#
    ));
    run.expect("it runs")
}

/// The windows of `from` to `to` seconds: the least, the mean, the greatest.
fn between(report: &Report, from: f64, to: f64) -> [f64; 3] {
    let all: Vec<f64> = windows(report).into_iter().filter(|(t, _)| (from..to).contains(t)).map(|(_, w)| w).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    [least, all.iter().sum::<f64>() / all.len() as f64, most]
}

fn queue(report: &Report) -> f64 {
    report.links[0].forward.mean_queue_packets / BDP
}

/// quinn-proto 0.11.19, src/connection/pacing.rs, lines 61 to 98: the pacer knows the window and not the rate that BBR asks for. So a window of two
/// products keeps one in the queue for good, where BBR paces at the rate of the path.
#[test]
fn quinn_paces_nothing_by_bbrs_rate() {
    let [quinn, s2n, ours] = [QUINN, S2N, OURS].map(|algorithm| queue(&alone(algorithm, "")));
    assert!((0.85..1.15).contains(&quinn), "{quinn}");
    assert!(s2n < 0.5 && ours < 0.25, "{s2n} {ours}");
}

/// src/congestion/bbr/bw_estimation.rs, line 65: only a greater sample reaches the filter of ten rounds, so none ever leaves it. Where the
/// path's rate halves, quinn's window stays; the others' halves with it.
#[test]
fn quinns_bandwidth_never_falls() {
    let left = |algorithm| {
        let report = alone(algorithm, "schedule = [{ at = \"10 s\", rate = \"10 Mbit/s\" }]");
        between(&report, 25.0, 40.0)[1] / between(&report, 5.0, 10.0)[1]
    };
    let [quinn, s2n, ours] = [QUINN, S2N, OURS].map(left);
    assert!(quinn > 0.95, "{quinn}");
    assert!((0.45..0.6).contains(&s2n) && (0.45..0.6).contains(&ours), "{s2n} {ours}");
}

/// src/congestion/bbr/mod.rs, lines 411 and 412: min_rtt is the connection's least RTT, which RFC 9002 never lets rise, and not that of ten
/// seconds. Where the round trip grows from 40 to 120 ms, two old products are two thirds of the new one.
#[test]
fn quinns_least_rtt_never_rises() {
    let used = |algorithm| {
        let report = alone(algorithm, "schedule = [{ at = \"10 s\", delay = \"60 ms\" }]");
        report.links[0].forward.utilization
    };
    let [quinn, s2n, ours] = [QUINN, S2N, OURS].map(used);
    assert!((0.6..0.7).contains(&quinn), "{quinn}");
    assert!(s2n > 0.9 && ours > 0.9, "{s2n} {ours}");
}

/// src/congestion/bbr/mod.rs, lines 213 to 219 and 229: that there was no ProbeRTT yet counts as ten seconds without one, so that the first
/// ACK begins one. Its 200 ms are five round trips without growth, after which the pipe counts as full: there is no Startup.
#[test]
fn quinn_begins_with_probe_rtt() {
    let grown = |algorithm| {
        let [least, _, most] = between(&alone(algorithm, ""), 0.07, 0.23);
        most / least
    };
    let [quinn, s2n, ours] = [QUINN, S2N, OURS].map(grown);
    assert_eq!(quinn, 1.0);
    assert!(s2n > 3.0 && ours > 3.0, "{s2n} {ours}");
}

/// In ProbeRTT quinn keeps 3/4 of a product (src/congestion/bbr/mod.rs, lines 277 to 279 and 650), s2n-quic a half, as
/// in its draft (draft-cardwell-iccrg-bbr-congestion-control-02, section 2.14.2; bbr/probe_rtt.rs, line 29), and BBR
/// four packets (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.5).
#[test]
fn probe_rtt_keeps() {
    let least = |algorithm| between(&alone(algorithm, ""), 5.0, 40.0)[0];
    let [quinn, s2n, ours] = [QUINN, S2N, OURS].map(least);
    assert!((quinn - 0.75 * BDP).abs() < 1.0, "{quinn}");
    assert!((s2n - 0.5 * BDP).abs() < 3.0, "{s2n}");
    assert_eq!(ours, 4.0);
}

/// src/congestion/bbr/bw_estimation.rs, lines 36 to 68: a sample is one packet over the time since the previous ACK. In
/// draft-cheng-iccrg-delivery-rate-estimation, it is the data delivered since the packet left, over the time of that
/// delivery. ACKs that arrive in bursts, here every 4 ms, give a bandwidth sample as high as the ACKs' rate. Because
/// the maximum does not decrease, the buffer stays full, for every buffer size.
#[test]
fn clumps_of_acks_fill_any_buffer_with_quinns() {
    let clumps = |algorithm| queue(&alone(algorithm, "reverse = { aggregation = \"4 ms\" }"));
    let [quinn, s2n, ours] = [QUINN, S2N, OURS].map(clumps);
    assert!(quinn > 10.0, "{quinn}");
    assert!(s2n < 2.0 && ours < 1.0, "{s2n} {ours}");
}

/// src/congestion/bbr/mod.rs, lines 534 and 648: 200 packets, the most that the code it follows lets be set. RFC 9002 section 7.2: ten packets
/// SHOULD be the first window.
#[test]
fn quinns_first_window_is_200_packets() {
    let first = |algorithm| windows(&alone(algorithm, ""))[0].1;
    assert_eq!(["\"quinn-bbr\"", "\"quinn-cubic\"", S2N, "\"s2n-cubic\""].map(first), [200.0, 10.0, 10.0, 10.0]);
}
