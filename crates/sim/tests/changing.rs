//! Links whose directions differ or that change: every expected value is worked by hand.

use fullpipe_sim::{Report, Scenario, run};

fn simulate(text: &str) -> Report {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    run(&scenario, &mut |_| true).expect("nobody stops it")
}

/// One link with these keys, and what crosses it.
fn one_link(head: &str, link: &str, traffic: &str) -> Report {
    simulate(&format!("series_interval = \"off\"\n{head}\n[[links]]\nname = \"l\"\n{link}\n{traffic}"))
}

/// 10 Mbit/s carry 833.3 segments of 1500 bytes a second, 100 kbit/s 312.5 ACKs of 40: K = 2.667 (RFC 3449 section 2). Where ACKs
/// wait without limit the window is all that is under way, and data leaves as fast as ACKs come back: 312.5 segments a second,
/// or twice that where an ACK is of two.
#[test]
fn slow_acks_hold_data_back() {
    let utilization = |delayed_ack: bool| {
        let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"200 packets\"\n\
                    reverse = { rate = \"100 kbit/s\", buffer = \"unlimited\" }";
        let flow = format!("[[flows]]\nalgorithm = \"reno\"\nmax_window = 100\ndelayed_ack = {delayed_ack}");
        let report = one_link("duration = \"60 s\"\nwarmup = \"20 s\"\npacket_size = 1500", link, &flow);
        assert_eq!(report.flows[0].timeouts, 0);
        assert!(report.links[0].reverse.utilization > 0.999, "{:?}", report.links[0].reverse);
        report.links[0].forward.utilization
    };
    assert!((utilization(false) - 0.375).abs() < 0.001, "{}", utilization(false));
    assert!((utilization(true) - 0.75).abs() < 0.001, "{}", utilization(true));
}

const TWO_WAYS: &str = "rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"3 packets\"\n\
    reverse = { rate = \"16 Mbit/s\", delay = \"30 ms\", buffer = \"5 packets\" }";

/// Each direction has its own rate, delay, buffer and losses; the base RTT is the sum of both delays.
#[test]
fn directions_differ() {
    let burst = |reverse: bool| {
        format!("[[flows]]\nalgorithm = \"reno\"\nsize = \"9 packets\"\ninitial_window = 9\nreverse = {reverse}\n")
    };
    // Data takes 1 ms forward and 0.5 ms backward, its ACK 0.02 ms or 0.04 ms; of nine at once three and five fit.
    for (reverse, dropped, rtt) in [(false, 6, 0.04102), (true, 4, 0.04054)] {
        let report = one_link("duration = \"39 ms\"", TWO_WAYS, &burst(reverse));
        assert_eq!(report.flows[0].base_rtt_s, 0.04);
        let link = &report.links[0];
        assert_eq!(if reverse { &link.reverse } else { &link.forward }.dropped_packets, dropped);
        let report = one_link("duration = \"1 s\"", TWO_WAYS, &burst(reverse).replace('9', "1"));
        assert_eq!(report.flows[0].completion_s, rtt);
    }
}
