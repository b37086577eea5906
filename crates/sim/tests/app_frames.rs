//! Frames over TCP and QUIC: delays from creation to delivery, and late frames. Values are calculated by hand.

use fullpipe_sim::{FlowFrames, Report, Scenario, run};

/// Packets of 1500 bytes over 10 Mbit/s (1.2 ms each) and 20 ms each way; ACKs of 40 bytes take 32 us.
fn simulate(run_keys: &str, link_keys: &str, flow_keys: &str) -> Report {
    let text = format!(
        "{run_keys}\npacket_size = 1500\nack_size = 40\n[[links]]\nname = \"l\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
         buffer = \"unlimited\"\n{link_keys}\n[[flows]]\n{flow_keys}\n"
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    run(&scenario, &mut |_| true).expect("nobody stops it")
}

fn frames(report: &Report) -> FlowFrames {
    report.flows[0].frames.expect("frames")
}

/// A percentile is within 1/128 of the sample.
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1.0 / 128.0, "{found}, not {expected}");
}

const SENDERS: [&str; 4] = [
    "algorithm = \"newreno\"",
    "algorithm = \"cubic\"\nrecovery = \"rack\"",
    "algorithm = \"bbr\"\npacing = \"off\"",
    QUIC,
];

const QUIC: &str = "algorithm = \"newreno\"\ntransport = \"quic\"\npacing = \"off\"\nack_every = 1";

/// 20 kB are 14 packets. With a window of 14 they leave at once: 14 · 1.2 + 20 = 36.8 ms.
#[test]
fn a_frame_is_delivered_with_its_last_packet() {
    for sender in SENDERS {
        let flow = format!("{sender}\ninitial_window = 14\nsource = {{ frames = \"10/s\", size = \"20 kB\" }}");
        let report = simulate("duration = \"10 s\"", "", &flow);
        assert_eq!(report.data_packets, 100 * 14, "{sender}");
        near(frames(&report).delay.p50_s, 0.0368);
        near(frames(&report).delay.p99_s, 0.0368);
        assert!(frames(&report).late.is_nan(), "no deadline");
    }
}

/// With a window of 10, packets 11 to 14 leave at the first two ACKs, at 41.232 ms and 42.432 ms. The last one is delivered at 66.032 ms.
#[test]
fn a_window_that_is_too_small_delays_a_frame() {
    for sender in [SENDERS[0], QUIC] {
        let flow = format!("{sender}\ninitial_window = 10\nsource = {{ frames = \"1/s\", size = \"20 kB\" }}");
        near(frames(&simulate("duration = \"1 s\"", "", &flow)).delay.p50_s, 0.066_032);
    }
}

/// Key frames of 28 packets, each tenth one: 28 · 1.2 + 20 = 53.6 ms, above a deadline of 40 ms. Frames are made at 0, 0.1 s, ...: of those
/// before 10 s - 40 ms, all 100, ten are late. With a warm-up of 5 s, five of 50.
#[test]
fn frames_beyond_the_deadline_are_late() {
    let source =
        "source = { frames = \"10/s\", size = \"20 kB\", key_size = \"42 kB\", key_every = 10, deadline = \"40 ms\" }";
    for sender in SENDERS {
        let flow = format!("{sender}\ninitial_window = 28\n{source}");
        for (run_keys, late) in [("duration = \"10 s\"", 10.0), ("duration = \"10 s\"\nwarmup = \"5 s\"", 5.0)] {
            let found = frames(&simulate(run_keys, "", &flow));
            assert_eq!((found.late, found.late_fraction), (late, 0.1), "{sender}");
            near(found.delay.p50_s, 0.0368);
            near(found.delay.p95_s, 0.0536);
        }
    }
}

/// After an outage from 5.05 s on nothing is delivered. Frames 0 to 50 of 100 are on time, and the last one, made at 9.9 s, is due.
#[test]
fn frames_that_are_never_delivered_are_late() {
    let outage = "schedule = [{ at = \"5.05 s\", rate = \"0 bit/s\" }]";
    let flow = "algorithm = \"newreno\"\nsource = { frames = \"10/s\", size = \"1500 B\", deadline = \"50 ms\" }";
    let found = frames(&simulate("duration = \"10 s\"", outage, flow));
    assert_eq!((found.late, found.late_fraction), (49.0, 0.49));
}

/// After `stop` at 4.95 s no frame is made: 50 frames, none late.
#[test]
fn a_flow_that_stops_makes_no_frames() {
    let flow = "algorithm = \"newreno\"\nstop = \"4.95 s\"\nsource = { frames = \"10/s\", size = \"1500 B\", deadline = \"50 ms\" }";
    let report = simulate("duration = \"10 s\"", "", flow);
    assert_eq!((report.data_packets, frames(&report).late, frames(&report).late_fraction), (50, 0.0, 0.0));
}

/// Frames are made at 0, 0.1 s, ... If the flow stops at the moment of a frame, that frame is sent and on time, or not made.
#[test]
fn a_frame_of_the_moment_of_the_stop_is_not_late() {
    for seed in 0..8 {
        let flow = "algorithm = \"newreno\"\nstop = \"5 s\"\nsource = { frames = \"10/s\", size = \"1500 B\", deadline = \"50 ms\" }";
        let report = simulate(&format!("duration = \"10 s\"\nseed = {seed}"), "", flow);
        assert!((50..=51).contains(&report.data_packets));
        assert_eq!((frames(&report).late, frames(&report).late_fraction), (0.0, 0.0));
    }
}

/// Frames of 3 packets at 100/s, of which the wire loses one in 20. Over TCP a frame waits for a loss in an earlier one, over QUIC not.
#[test]
fn frames_over_quic_do_not_wait_for_each_other() {
    let median = |keys: &str| {
        let flow = format!(
            "algorithm = \"bbr\"\npacing = \"off\"\n{keys}\ninitial_window = 100\nsource = {{ frames = \"100/s\", size = \"4500 B\" }}"
        );
        frames(&simulate("duration = \"60 s\"", "loss = 0.05", &flow)).delay.p50_s
    };
    // Without a loss: 3 · 1.2 + 20 ms.
    near(median("transport = \"quic\""), 0.0236);
    assert!(median("recovery = \"rack\"") > 0.03);
}

/// A group has the frames of all its flows: one of 24.8 ms (4 packets) and one of 36.8 ms, made at other times.
#[test]
fn a_group_has_the_frames_of_its_flows() {
    let flow = |size: &str, start: &str| {
        format!(
            "name = \"call\"\nalgorithm = \"newreno\"\ninitial_window = 14\nstart = \"{start}\"\n\
             source = {{ frames = \"10/s\", size = \"{size}\", deadline = \"30 ms\" }}"
        )
    };
    let both = format!("{}\n[[flows]]\n{}", flow("6 kB", "0 s"), flow("20 kB", "50 ms"));
    let report = simulate("duration = \"10 s\"", "", &both);
    let group = report.groups[0].frames.expect("frames");
    near(group.delay.p50_s, 0.0248);
    near(group.delay.p99_s, 0.0368);
    assert_eq!((group.late, group.late_fraction), (100.0, 0.5));
}
