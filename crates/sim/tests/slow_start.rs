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
/// 806 at most. HyStart ends there at once, if not before. From 806 Reno takes 94 round trips of 0.6 s to 900.
#[test]
fn a_slow_start_that_looks_at_the_rtt_leaves_before_the_buffer_is_full() {
    let lost = SlowStart::ALL.map(|kind| alone(kind, 10).links[0].forward.dropped_packets);
    assert!((850..=950).contains(&lost[0]), "{lost:?}");
    assert_eq!(lost[1..], [0, 0]);
}

/// Nor does it give up the link for that.
#[test]
fn the_link_is_used_all_the_same() {
    let used = SlowStart::ALL.map(|kind| alone(kind, 10).links[0].forward.utilization);
    assert!(used.iter().all(|&used| used > 0.9), "{used:?}");
}
