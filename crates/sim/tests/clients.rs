//! Requests and video: a client at the receiver requests the data. Values are calculated by hand.

use fullpipe_sim::{Report, Scenario, TransferState, run};

/// Packets of 1500 bytes over `rate` and 50 ms each way. ACKs have 40 bytes.
fn simulate(run_keys: &str, link_keys: &str, flow_keys: &str) -> Report {
    let text = format!(
        "{run_keys}\npacket_size = 1500\nack_size = 40\n[[links]]\nname = \"l\"\ndelay = \"50 ms\"\nbuffer = \"unlimited\"\n{link_keys}\n\
         [[flows]]\n{flow_keys}\n"
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    run(&scenario, &mut |_| true).expect("nobody stops it")
}

const FAST: &str = "rate = \"10 Gbit/s\"";

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
}

/// Responses of 67 packets with an initial window of 10, RTT 100 ms: the request takes 50 ms, the server 50 ms, the first packet 50 ms, and two
/// more flights 200 ms. The second request, at 2.35 s, finds an idle connection.
fn completions(keys: &str) -> Vec<f64> {
    let flow = format!(
        "initial_window = 10\n{keys}\nsource = {{ requests = \"1 s\", size = \"100 kB\", server = \"50 ms\", request_size = \"328 B\" }}"
    );
    let report = simulate("duration = \"3.5 s\"", FAST, &flow);
    report.transfers.iter().filter(|row| row.state == TransferState::Complete).map(|row| row.completion_s).collect()
}

#[test]
fn a_response_takes_as_many_flights_as_its_window_needs() {
    for (idle, second) in [("rfc5681", 0.35), ("none", 0.15)] {
        let found = completions(&format!("algorithm = \"newreno\"\nidle = \"{idle}\""));
        assert_eq!(found.len(), 2, "{idle}");
        near(found[0], 0.35, 0.001);
        near(found[1], second, 0.001);
    }
    let quic = completions("algorithm = \"newreno\"\ntransport = \"quic\"\npacing = \"off\"\nack_every = 1");
    near(quic[0], 0.35, 0.001);
}

/// Requests leave 1 s after the begin and 1 s after each response: at 1 s and 2.15 s with a window for all of it. The mean is 0.15 s.
#[test]
fn requests_follow_one_another() {
    let flow = "algorithm = \"newreno\"\ninitial_window = 100\nsource = { requests = \"1 s\", size = \"100 kB\", server = \"50 ms\" }";
    let report = simulate("duration = \"10 s\"", FAST, flow);
    let starts: Vec<f64> = report.transfers.iter().map(|row| row.start_s).collect();
    assert_eq!(starts.len(), 8);
    for (row, start) in (0..).zip(starts) {
        near(start, 1.0 + 1.15 * f64::from(row), 0.002);
    }
    near(report.flows[0].request_completion_s.expect("requests"), 0.15, 0.001);
    assert_eq!(report.data_packets, 8 * 67);
    assert_eq!(report.flows[0].app_limited_fraction.map(|part| part > 0.9), Some(true));
}

/// The way of requests is cut until 2.5 s. The first one leaves at 1 s, and is repeated at 2 s and 4 s: it takes 3 s more.
#[test]
fn a_lost_request_is_repeated() {
    let links = "rate = \"10 Gbit/s\"\n[links.reverse]\nschedule = [{ at = \"0.5 s\", loss = 1.0 }, { at = \"2.5 s\", loss = 0.0 }]";
    let flow = "algorithm = \"newreno\"\ninitial_window = 100\nsource = { requests = \"1 s\", size = \"100 kB\" }";
    let report = simulate("duration = \"5 s\"", links, flow);
    assert_eq!(report.transfers.len(), 1);
    near(report.transfers[0].completion_s, 3.1, 0.001);
}

/// At 1.1 s the response is under way: the flow ends after it, and sends no other request.
#[test]
fn a_stop_ends_the_think_time_alone() {
    for (stop, transfers) in [("0.5 s", 0), ("1.1 s", 1)] {
        let source = "source = { requests = \"1 s\", size = \"100 kB\", server = \"50 ms\" }";
        let flow = format!("algorithm = \"newreno\"\ninitial_window = 10\nstop = \"{stop}\"\n{source}");
        let report = simulate("duration = \"10 s\"", FAST, &flow);
        assert_eq!(report.transfers.len(), transfers, "{stop}");
        assert!(report.transfers.iter().all(|row| row.state == TransferState::Complete));
        assert!(report.flows[0].active_s < 1.5, "{}", report.flows[0].active_s);
    }
}

/// A video of one rate, 1 Mbit/s, in segments of 2 s (250 kB, 167 packets of 12,000 bits) over a link of 1 Mbit/s, delays of 50 ms. Once the
/// window is large enough, a segment takes 167 · 12 ms + 100 ms = 2.1 s and some: each one stalls for about 0.1 s.
#[test]
fn a_video_above_the_rate_of_its_path_stalls() {
    let flow = "algorithm = \"newreno\"\ninitial_window = 200\nsource = { video = [\"1 Mbit/s\"], segment = \"2 s\" }";
    let report = simulate("duration = \"100 s\"\nwarmup = \"50 s\"", "rate = \"1 Mbit/s\"", flow);
    let video = report.flows[0].video.expect("a video");
    // 167 packets take 2.004 s, the request 50 ms and 2.6 ms, and the last packet 50 ms more: 2.107 s.
    near(video.rebuffer_ratio, 0.107 / 2.107, 0.005);
    near(video.stall_s, 50.0 * 0.107 / 2.107, 0.2);
    assert_eq!((video.mean_bitrate_bps, video.switches), (1e6, 0));
    near(report.flows[0].request_completion_s.expect("requests"), 2.107, 0.001);
}

/// 2 Mbit/s carry 0.8 of a rate of 2.5 Mbit/s: both players take rates around 2 Mbit/s, and neither stalls after its begin.
#[test]
fn players_adapt_to_the_rate_of_the_path() {
    for player in ["buffer", "rate"] {
        let source = format!(
            "source = {{ video = [\"0.4 Mbit/s\", \"0.8 Mbit/s\", \"1.2 Mbit/s\", \"1.8 Mbit/s\", \"2.5 Mbit/s\", \"4 Mbit/s\"], player = \"{player}\" }}"
        );
        let flow = format!("algorithm = \"cubic\"\n{source}");
        let report = simulate("duration = \"300 s\"\nwarmup = \"60 s\"", "rate = \"2 Mbit/s\"", &flow);
        let video = report.flows[0].video.expect("a video");
        assert_eq!(video.stall_s, 0.0, "{player}");
        assert!((1.2e6..=2e6).contains(&video.mean_bitrate_bps), "{player}: {}", video.mean_bitrate_bps);
    }
}

/// A video of 20 s ends its flow.
#[test]
fn a_flow_ends_with_its_video() {
    let flow = "algorithm = \"newreno\"\nsource = { video = [\"1 Mbit/s\"], length = \"20 s\" }";
    let report = simulate("duration = \"60 s\"", FAST, flow);
    assert_eq!((report.transfers.len(), report.data_packets), (10, 1670));
    let video = report.flows[0].video.expect("a video");
    assert_eq!((video.stall_s, video.mean_bitrate_bps), (0.0, 1e6));
    assert!(report.flows[0].active_s < 20.0, "{}", report.flows[0].active_s);
}
