//! Frame sources over links: sending times and frame delays. Expected values are calculated by hand.

use fullpipe_sim::{Report, Scenario, Values, run};

/// Packets of 1000 bytes over 8 Mbit/s, 1 ms each, and 10 ms; the source is 5 ms away and has 80 Mbit/s, a tenth of a millisecond for a
/// packet. Ten frames a second of 3 packets, of which each other one, the first included, has 5.
fn simulate(run_keys: &str, link_keys: &str, udp_keys: &str) -> Report {
    let text = format!(
        "{run_keys}\n[[links]]\nname = \"l\"\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n{link_keys}\n\
         [[udp]]\naccess_delay = \"5 ms\"\n{udp_keys}\n"
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    run(&scenario, &mut |_| true).expect("nobody stops it")
}

const ROOM: &str = "buffer = \"9 packets\"";
const CALL: &str = "rate = \"80 Mbit/s\"\n\
    frames = { per_second = 10, size = \"2500 B\", key_size = \"4001 B\", key_every = 2 }";

/// Frames sent and received, packets sent and received, and the percentiles of the delays in milliseconds, which are within 0.8 %.
fn figures(report: &Report) -> ([u64; 4], [f64; 3]) {
    let traffic = &report.traffic[0];
    let frames = traffic.frames.expect("frames");
    let delay = frames.delay;
    let counts = [frames.sent, frames.received, traffic.sent_packets, traffic.received_packets];
    (counts, [delay.p50_s, delay.p95_s, delay.p99_s].map(|seconds| 1e3 * seconds))
}

#[track_caller]
fn assert_figures(report: &Report, counts: [u64; 4], delays_ms: [f64; 3]) {
    let (found, found_ms) = figures(report);
    assert_eq!(found, counts);
    for (found, expected) in found_ms.into_iter().zip(delays_ms) {
        assert!((found / expected - 1.0).abs() < 0.008, "{found_ms:?} instead of {delays_ms:?}");
    }
}

/// The first packet is at the link after 5 ms; 3 take 3 ms there and 10 to the end: 18 ms. 5 of them 20 ms.
#[test]
fn a_frame_takes_until_its_last_packet_is_there() {
    let report = simulate("duration = \"1 s\"", ROOM, CALL);
    assert_figures(&report, [10, 10, 40, 40], [18.0, 20.0, 20.0]);
}

/// Over served queues, where packets wait for their turn and no departure is computed in advance.
#[test]
fn every_queue_carries_frames() {
    for queue in ["codel", "fq-codel", "pie", "fq-pie", "cake", "dualpi2"] {
        let link = format!("{ROOM}\nqueue = \"{queue}\"");
        assert_figures(&simulate("duration = \"1 s\"", &link, CALL), [10, 10, 40, 40], [18.0, 20.0, 20.0]);
    }
    let text = "aggregation = \"1 ms\"";
    assert_figures(
        &simulate("duration = \"1 s\"", &format!("{ROOM}\n{text}"), CALL),
        [10, 10, 40, 40],
        [18.0, 20.0, 20.0],
    );
}

/// At 4 Mbit/s the source takes 2 ms for a packet: the third leaves after 4, the fifth after 8, and each is on the link at once.
#[test]
fn packets_of_a_frame_follow_one_another_at_the_sources_rate() {
    let slow = CALL.replace("80 Mbit/s", "4 Mbit/s");
    assert_figures(&simulate("duration = \"1 s\"", ROOM, &slow), [10, 10, 40, 40], [20.0, 24.0, 24.0]);
}

/// Each tenth of a second one frame of 9 packets at 800 kbit/s, 10 ms a packet, then one of 11, which takes longer than there is until
/// the next is made: that one begins 10 ms late, and ends in time. Until then: 5 ms there, 1 ms on the link and 10 ms
/// behind, after 80 ms for the first, 100 ms for 11, and 10 and 80 for the late one.
#[test]
fn a_frame_waits_for_the_one_before() {
    let long = "rate = \"800 kbit/s\"\n\
        frames = { per_second = 10, size = \"9 kB\", key_size = \"11 kB\", key_every = 2 }";
    let report = simulate("duration = \"450 ms\"", ROOM, long);
    // Frames 0 to 3 with 40 packets, and of frame 4 those of 400 to 440 ms, of which all but the last arrive, 16 ms later.
    assert_figures(&report, [5, 4, 45, 44], [106.0, 116.0, 116.0]);
}

/// Three packets have room: of those of five two are lost, and with them the frame.
#[test]
fn a_frame_that_lacks_a_packet_has_not_arrived() {
    let report = simulate("duration = \"1 s\"", "buffer = \"3 packets\"", CALL);
    assert_figures(&report, [10, 5, 40, 30], [18.0, 18.0, 18.0]);
}

/// From 110 ms on: frames 2 to 9 are begun in the window; frame 1, made at 100 ms, arrives in it.
#[test]
fn frames_count_when_they_are_begun_and_when_they_are_whole() {
    let report = simulate("duration = \"1 s\"\nwarmup = \"110 ms\"", ROOM, CALL);
    assert_figures(&report, [8, 9, 32, 35], [18.0, 20.0, 20.0]);
    // At 915 ms the last packets of frame 9 are on their way.
    let report = simulate("duration = \"915 ms\"", ROOM, CALL);
    assert_figures(&report, [10, 9, 40, 37], [20.0, 20.0, 20.0]);
}

/// It stops at 200.05 ms, when the first two packets of the third frame have left: the rest of them go too, and nothing else.
#[test]
fn a_frame_that_has_been_begun_is_sent_whole() {
    let stopped = format!("{CALL}\nstop = \"200050 us\"");
    assert_figures(&simulate("duration = \"1 s\"", ROOM, &stopped), [3, 3, 13, 13], [20.0, 20.0, 20.0]);
}

/// Packets that overtake others: every second one or so is late, and no frame is whole before its last packet is there.
#[test]
fn packets_out_of_order_make_a_frame_whole_too() {
    let link = format!("{ROOM}\nreorder = {{ probability = 0.5, delay = \"30 ms\" }}");
    let (counts, [p50_ms, _, p99_ms]) = figures(&simulate("duration = \"10 s\"", &link, CALL));
    assert_eq!(counts, [100, 100, 400, 400]);
    // With a late packet 16, 17 or 18 ms become 46 to 48; with five packets up to 50. One frame of 3 in 8 has none.
    assert!((45.0..50.5).contains(&p50_ms) && (47.0..50.5).contains(&p99_ms), "{p50_ms} {p99_ms}");
}

#[test]
fn several_sources_are_one_group() {
    let two = format!("{CALL}\ncount = 2");
    let (counts, _) = figures(&simulate("duration = \"1 s\"", "buffer = \"20 packets\"", &two));
    assert_eq!(counts, [20, 20, 80, 80]);
}

/// A source without frames is unchanged, and has no frame columns.
#[test]
fn constant_rates_have_no_frames() {
    let report = simulate("duration = \"1 s\"", ROOM, "rate = \"4 Mbit/s\"");
    assert_eq!(report.traffic[0].frames, None);
    assert_eq!((report.traffic[0].sent_packets, report.traffic[0].received_packets), (500, 492));
    let names: Vec<String> = report.into_tables()[4].columns.iter().map(|column| column.name.clone()).collect();
    assert_eq!(names.last().map(String::as_str), Some("mean_completion_s"));
}

/// With frames, the table has additional columns.
#[test]
fn frames_have_columns() {
    let report = simulate("duration = \"1 s\"", ROOM, CALL);
    let tables = report.into_tables();
    let columns: Vec<_> = tables[4].columns.iter().skip(8).map(|column| (&*column.name, &column.values)).collect();
    assert_eq!(
        columns[..2],
        [("sent_frames", &Values::Counts(vec![10])), ("received_frames", &Values::Counts(vec![10]))]
    );
    for ((name, values), (expected, ms)) in columns[2..].iter().zip([("p50", 18.0), ("p95", 20.0), ("p99", 20.0)]) {
        assert_eq!(*name, format!("{expected}_frame_delay_s"));
        let Values::Numbers(seconds) = values else { panic!("{values:?}") };
        assert!((1e3 * seconds[0] / ms - 1.0).abs() < 0.008, "{name} {seconds:?}");
    }
    assert_eq!(columns.len(), 5);
}
