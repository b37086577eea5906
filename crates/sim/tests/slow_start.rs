//! Effect of each slow start variant on a buffer.

use fullpipe_sim::scenario::SlowStart;
use fullpipe_sim::{Report, Scenario, run};

/// One Reno flow, 10 Mbit/s, 80 ms and therefore 100 packets in flight, a buffer of 800 packets, for `seconds`.
fn alone(slow_start: SlowStart, seconds: u32) -> Report {
    let text = format!(
        "duration = \"{seconds} s\"\n\
         [[links]]\nname = \"bottleneck\"\nrate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nbuffer = \"800 packets\"\n\
         [[flows]]\nalgorithm = \"reno\"\nrecovery = \"sack\"\nslow_start = \"{}\"\n",
        slow_start.name()
    );
    run(&Scenario::from_toml(&text).expect("a sound scenario"), &mut |_| true).expect("to its end")
}

/// Standard slow start fills path and buffer, 900 segments, and detects its first loss 900 ACKs later. Each ACK has
/// released two segments, twice the link's rate: 900 are lost. HyStart++: those sent while the window goes from 128 to
/// 256 find a queue of 28 before them, the 128 of the round before less the 100 on their way; 22 ms are more than the
/// threshold of 10. Their ACKs, the window being 256, make it conservative at the eighth, and it ends by 264 1.25^5 =
/// 806 at most. HyStart ends there at once, if not before. From 806 Reno takes 94 round trips of 0.6 s to 900. SEARCH ends once a
/// window of 3.5 round trips has been longer at the link's rate than before. Rapid Start triples only while there is no queue, and
/// doubles through the buffer as the standard one does.
#[test]
fn a_slow_start_that_looks_at_the_rtt_leaves_before_the_buffer_is_full() {
    let lost = SlowStart::ALL.map(|kind| alone(kind, 10).links[0].forward.dropped_packets);
    assert!([lost[0], lost[4]].iter().all(|lost| (850..=950).contains(lost)), "{lost:?}");
    assert_eq!(lost[1..4], [0, 0, 0]);
}

/// Nor does it give up the link for that.
#[test]
fn the_link_is_used_all_the_same() {
    let used = SlowStart::ALL.map(|kind| alone(kind, 10).links[0].forward.utilization);
    assert!(used.iter().all(|&used| used > 0.9), "{used:?}");
}

/// Completion time of a transfer of 400 segments over 1 Gbit/s with an RTT of 100 ms, from an initial window of 10.
fn transfer(keys: &str) -> Report {
    let text = format!(
        "duration = \"3 s\"\n\
         [[links]]\nname = \"wide\"\nrate = \"1 Gbit/s\"\ndelay = \"50 ms\"\nbuffer = \"1000 packets\"\n\
         [[flows]]\nalgorithm = \"reno\"\nrecovery = \"sack\"\ninitial_window = 10\nsize = \"400 packets\"\n{keys}\n"
    );
    run(&Scenario::from_toml(&text).expect("a sound scenario"), &mut |_| true).expect("to its end")
}

fn completion_s(keys: &str) -> f64 {
    let report = transfer(keys);
    assert_eq!(report.links[0].forward.dropped_packets, 0);
    report.flows[0].completion_s
}

/// Standard: 10, 20, 40, 80, 160, and 90 in the sixth round trip, whose ACKs end it at 0.6 s. Rapid Start: 10 over a whole round trip, then
/// 30, 90, and 270 over one each, whose last ACK comes after 0.5 s. Careful resume with half of 800: 10, and 390 over the second, whose last ACK
/// comes after 0.3 s. A saved window that does not fit the RTT changes nothing.
#[test]
fn fewer_round_trips() {
    let standard = completion_s("pacing = \"on\"");
    let rapid = completion_s("slow_start = \"rapid\"");
    let resumed = completion_s("resume = { cwnd = 800, rtt = \"100 ms\" }");
    let elsewhere = completion_s("resume = { cwnd = 800, rtt = \"300 ms\" }");
    assert!((0.6..0.63).contains(&standard), "{standard}");
    assert!((0.48..0.53).contains(&rapid), "{rapid}");
    assert!((0.3..0.35).contains(&resumed), "{resumed}");
    assert_eq!(elsewhere, standard);
}
