//! Effect of pacing on a buffer, and no effect if it is off.

use fullpipe_sim::{Report, Scenario, run};

/// One Reno flow with a first window of 10 over 100 Mbit/s and 80 ms, so that 1000 packets are in flight, with a buffer
/// of `buffer` packets.
fn alone(pacing: &str, buffer: u32, seconds: u32, size: &str) -> Report {
    let text = format!(
        "duration = \"{seconds} s\"\nwarmup = \"0 s\"\n\
         [[links]]\nname = \"bottleneck\"\nrate = \"100 Mbit/s\"\ndelay = \"40 ms\"\nbuffer = \"{buffer} packets\"\n\
         [[flows]]\nalgorithm = \"reno\"\nrecovery = \"sack\"\ninitial_window = 10\npacing = \"{pacing}\"\n{size}\n"
    );
    run(&Scenario::from_toml(&text).expect("a sound scenario"), &mut |_| true).expect("to its end")
}

/// 600 segments take windows of 10, 20, 40, 80, 160, and 320. Without pacing, each ACK releases two at once, so half of
/// a window waits. In the round of 20, that is 10 already, one more than there is room for with those of that moment.
/// With pacing, they leave at 2 windows per round trip, at most 640 in 80 ms, and the link carries 1000.
#[test]
fn slow_start_over_a_small_buffer_loses_nothing_where_it_is_paced() {
    let lost =
        ["off", "on"].map(|pacing| alone(pacing, 10, 5, "size = \"600 segments\"").links[0].forward.dropped_packets);
    assert!(lost[0] > 0 && lost[1] == 0, "{lost:?}");
    assert_eq!(alone("on", 10, 5, "size = \"600 segments\"").flows[0].retransmits, 0);
}

/// Six windows of 2 rounds at most each: 600 segments are there within a second, paced or not.
#[test]
fn a_paced_transfer_takes_little_longer() {
    let took = ["off", "on"].map(|pacing| alone(pacing, 1000, 5, "size = \"600 segments\"").flows[0].completion_s);
    assert!(took[0] < took[1] && took[1] < took[0] + 0.08, "{took:?}");
}

/// Above ssthresh 1.2 windows a round trip are more than the link carries: the window governs as it does unpaced.
#[test]
fn a_paced_flow_uses_the_link() {
    let used = ["off", "on"].map(|pacing| alone(pacing, 1000, 60, "").links[0].forward.utilization);
    assert!((used[0] - used[1]).abs() < 0.02 && used[1] > 0.9, "{used:?}");
}

#[test]
fn an_algorithm_without_a_rate_is_not_paced_unless_asked() {
    // As text, because unknown values are NaN, and NaN does not equal NaN.
    let [unasked, off, on] = ["algorithm", "off", "on"].map(|pacing| format!("{:?}", alone(pacing, 100, 5, "")));
    assert!(unasked == off && on != off);
}
