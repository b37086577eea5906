//! Flows whose applications do not always have data, over links. Values are calculated by hand.

use fullpipe_sim::{Report, Scenario, run};

/// Packets of 1500 bytes over a path of 40 ms with room for all.
fn simulate(run_keys: &str, rate: &str, flow_keys: &str) -> Report {
    let text = format!(
        "{run_keys}\npacket_size = 1500\n[[links]]\nname = \"l\"\nrate = \"{rate}\"\ndelay = \"20 ms\"\nbuffer = \"unlimited\"\n\
         [[flows]]\n{flow_keys}\n"
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    run(&scenario, &mut |_| true).expect("nobody stops it")
}

fn fraction(report: &Report) -> f64 {
    report.flows[0].app_limited_fraction.expect("a source")
}

/// Every sender: on the fast path, with records, with a pacer, with rate samples.
const SENDERS: [&str; 5] = [
    "algorithm = \"newreno\"",
    "algorithm = \"cubic\"\nrecovery = \"rack\"",
    "algorithm = \"cubic\"\npacing = \"on\"",
    "algorithm = \"bbr\"",
    "algorithm = \"cubic\"\nhost = \"linux\"",
];

/// 2 Mbit/s of 10: a packet each 6 ms, which leaves at once. 10 s are 1667 packets. After a packet, a pacer permits no other for less than
/// 1.5 ms, which is no time without data.
#[test]
fn a_sender_sends_what_is_written_and_waits_for_more() {
    for sender in SENDERS {
        let flow = format!("{sender}\nsource = {{ rate = \"2 Mbit/s\" }}");
        let report = simulate("duration = \"10 s\"", "10 Mbit/s", &flow);
        assert_eq!(report.data_packets, 1667, "{sender}");
        let least = if sender.contains("pacing") { 0.75 } else { 0.98 };
        assert!((least..1.0).contains(&fraction(&report)), "{sender}: {}", fraction(&report));
        assert!((report.flows[0].goodput_bps / 2e6 - 1.0).abs() < 0.005, "{sender}: {}", report.flows[0].goodput_bps);
    }
}

/// No packet leaves before it is written: after 1 s there are 1 + 167 of them, whatever the window.
#[test]
fn no_packet_leaves_before_it_is_written() {
    let flow = "algorithm = \"newreno\"\ninitial_window = 1000\nstart = \"1 s\"\nsource = { rate = \"2 Mbit/s\" }";
    let report = simulate("duration = \"2 s\"", "1 Gbit/s", flow);
    // Packets 0 to 166 are written at 1 s + i · 6 ms, before 2 s.
    assert_eq!(report.data_packets, 167);
}

/// A source of 20 Mbit/s over 10: the sender always has data, and the path is the limit.
#[test]
fn a_source_above_the_rate_of_the_link_is_a_bulk_flow() {
    let run_keys = "duration = \"20 s\"\nwarmup = \"10 s\"";
    let report =
        simulate(run_keys, "10 Mbit/s", "algorithm = \"newreno\"\nmax_window = 100\nsource = { rate = \"20 Mbit/s\" }");
    assert_eq!(fraction(&report), 0.0);
    assert!(report.links[0].forward.utilization > 0.999);
}

/// On for 1 s in 3 s at 12 Mbit/s: 4 Mbit/s on average.
#[test]
fn on_and_off_periods_have_their_mean_rate() {
    let flow =
        "algorithm = \"cubic\"\ninitial_window = 100\nsource = { on = \"1 s\", off = \"2 s\", rate = \"12 Mbit/s\" }";
    let report = simulate("duration = \"30 s\"", "100 Mbit/s", flow);
    assert_eq!(report.data_packets, 10_000);
}

/// A window of 10 packets is empty for half of the time, but for the round trip at the end of an on period.
#[test]
fn an_off_period_is_time_without_data() {
    for sender in SENDERS {
        let source = "source = { on = \"1 s\", off = \"1 s\", rate = \"unlimited\" }\nmax_window = 10";
        let report = simulate("duration = \"20 s\"", "100 Mbit/s", &format!("{sender}\n{source}"));
        assert!((fraction(&report) - 0.5).abs() < 0.03, "{sender}: {}", fraction(&report));
    }
}

/// Windows sampled each 100 ms of a flow that is on for 1 s and off for 5 s, at its second begin: 6.1 s.
fn window_after_idle_time(idle: &str) -> f64 {
    let run_keys = "duration = \"6.1 s\"\nseries_interval = \"10 ms\"";
    let flow = format!(
        "algorithm = \"newreno\"\ninitial_window = 10\nmax_window = 200\nidle = \"{idle}\"\nsource = {{ on = \"1 s\", off = \"5 s\", rate = \"unlimited\" }}"
    );
    let report = simulate(run_keys, "50 Mbit/s", &flow);
    let (_, cwnd) = report.flow_series.columns.iter().find(|(name, _)| name == "cwnd_packets").expect("windows");
    // The sample at 6.01 s: data has left, and no ACK has come.
    cwnd[600]
}

/// RFC 5681 section 4.1: the restart window is min(IW, cwnd). Linux: 5 s are 20 timeouts of about 250 ms, so the result
/// is equal.
#[test]
fn idle_time_lowers_the_window_by_the_rule() {
    assert_eq!(window_after_idle_time("rfc5681"), 10.0);
    assert_eq!(window_after_idle_time("linux"), 10.0);
    assert!(window_after_idle_time("none") > 100.0);
    // RFC 7661: the window stays for five minutes.
    assert!(window_after_idle_time("rfc7661") > 100.0);
}

/// Growth needs a window that is used (RFC 5681; Linux's rule in slow start): 1 Mbit/s over 40 ms is 3 or 4 packets in flight.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let flow = "algorithm = \"newreno\"\ninitial_window = 10\nsource = { rate = \"1 Mbit/s\" }";
    let report = simulate("duration = \"60 s\"", "50 Mbit/s", flow);
    assert_eq!(report.flows[0].mean_cwnd_packets, 10.0);
}

/// Windows at 0.5 s, 1.5 s, ... of a flow with a frame of 4 packets each second.
fn windows_with_four_packets(flow_keys: &str) -> Vec<f64> {
    let flow = format!("{flow_keys}\ninitial_window = 10\nsource = {{ frames = \"1/s\", size = \"6 kB\" }}");
    let report = simulate("duration = \"4 s\"\nseries_interval = \"500 ms\"", "50 Mbit/s", &flow);
    let (_, cwnd) = report.flow_series.columns.iter().find(|(name, _)| name == "cwnd_packets").expect("windows");
    cwnd.iter().copied().step_by(2).collect()
}

/// draft-ietf-ccwg-ratelimited-increase: each frame adds 4 segments, up to twice the initial window. With `"rfc"` 4 in flight permit no growth
/// of a window of 10, neither by Linux's rule over TCP nor by RFC 9002 section 7.8.
#[test]
fn validated_growth_stops_at_twice_the_largest_flight() {
    for flow in ["algorithm = \"newreno\"", "algorithm = \"newreno\"\ntransport = \"quic\""] {
        let validated = windows_with_four_packets(&format!("{flow}\ngrowth = \"validated\""));
        assert_eq!(validated, [14.0, 18.0, 20.0, 20.0], "{flow}");
        assert_eq!(windows_with_four_packets(flow), [10.0; 4], "{flow}");
    }
}

/// A receiver window of 20 segments limits a bulk flow in slow start: its window grows to 40, and no further.
#[test]
fn validated_growth_holds_where_the_receiver_limits_a_bulk_flow() {
    let flow = "algorithm = \"newreno\"\nmax_window = 20\ngrowth = \"validated\"";
    let report = simulate("duration = \"10 s\"\nwarmup = \"5 s\"", "50 Mbit/s", flow);
    assert_eq!((report.flows[0].mean_cwnd_packets, report.flows[0].app_limited_fraction), (40.0, None));
    let finite = simulate("duration = \"10 s\"", "50 Mbit/s", &format!("{flow}\nsize = \"150 kB\""));
    assert_eq!((finite.data_packets, finite.transfers.len()), (100, 1));
    assert!(finite.flows[0].completion_s < 1.0, "{}", finite.flows[0].completion_s);
}

/// Largest window and flight size in Startup: an application of 6 Mbit/s leaves most of the path unused.
fn startup(algorithm: &str, keys: &str) -> (f64, f64) {
    let flow = format!("algorithm = \"{algorithm}\"\n{keys}\nsource = {{ frames = \"25/s\", size = \"30 kB\" }}");
    let report = simulate("duration = \"1 s\"\nseries_interval = \"20 us\"", "50 Mbit/s", &flow);
    let most = |name| {
        let (_, values) = report.flow_series.columns.iter().find(|(key, _)| *key == name).expect("a column");
        values.iter().copied().fold(0.0, f64::max)
    };
    (most("cwnd_packets"), most("in_flight_packets"))
}

/// draft-ietf-ccwg-ratelimited-increase, section 3: a rate-based algorithm in Startup grows its window to twice the largest flight. Without
/// the rule, the aggregation that BBR measures in bursts of ACKs raises it further.
#[test]
fn validated_growth_limits_the_window_of_bbr_in_startup() {
    for algorithm in ["bbr", "bbr3"] {
        for transport in ["tcp", "quic"] {
            let keys = format!("transport = \"{transport}\"");
            let (free, flight) = startup(algorithm, &keys);
            assert!(free > 2.05 * flight, "{algorithm} {transport}: {free} {flight}");
            let (window, flight) = startup(algorithm, &format!("{keys}\ngrowth = \"validated\""));
            assert!(window <= 2.0 * flight && window > flight, "{algorithm} {transport}: {window} {flight}");
        }
    }
}

/// A flow that stops has sent everything that was written, and its life ends.
#[test]
fn a_source_stops_with_its_flow() {
    let flow = "algorithm = \"newreno\"\nstop = \"3 s\"\nsource = { rate = \"2 Mbit/s\" }";
    let report = simulate("duration = \"10 s\"", "10 Mbit/s", flow);
    // Packets 0 to 500, the last one at 3 s.
    assert!((500..=501).contains(&report.data_packets), "{}", report.data_packets);
    assert!((report.flows[0].active_s - 3.0).abs() < 0.05, "{}", report.flows[0].active_s);
}

/// `bulk` has no new metric, and is the default.
#[test]
fn a_bulk_flow_is_what_it_was() {
    let plain = simulate("duration = \"5 s\"", "10 Mbit/s", "algorithm = \"cubic\"");
    let bulk = simulate("duration = \"5 s\"", "10 Mbit/s", "algorithm = \"cubic\"\nsource = \"bulk\"");
    assert_eq!(format!("{plain:?}"), format!("{bulk:?}"));
    assert_eq!(plain.flows[0].app_limited_fraction, None);
}
