//! Results that are published of BBR, and BBRv3 beside them.

use fullpipe_sim::{Report, Scenario, run};

/// So many flows of `algorithm` over a link of so many Mbit/s and milliseconds there and back, with a buffer of so many BDP.
fn flows(algorithm: &str, count: u32, mbps: f64, rtt_ms: f64, buffer_bdp: f64, seconds: u32) -> Report {
    let text = format!(
        "duration = \"{seconds} s\"\nwarmup = \"5 s\"\npacket_size = 1500\n\
         [[links]]\nname = \"bottleneck\"\nrate = \"{mbps} Mbit/s\"\ndelay = \"{} ms\"\nbuffer = \"{buffer_bdp} BDP\"\n\
         [[flows]]\nalgorithm = \"{algorithm}\"\ninitial_window = 10\ncount = {count}\n",
        rtt_ms / 2.0
    );
    run(&Scenario::from_toml(&text).expect("a sound scenario"), &mut |_| true).expect("to its end")
}

/// RFC 9743 section 5.1.3, Hock, Bless and Zitterbart (ICNP 2017): BBRv1's several flows keep up to 2 BDP in flight between them and do not heed losses,
/// so that they go on below about 1.5 BDP of buffer. BBRv3, which stops at 2 %, loses less than that; with 2 BDP neither loses anything
/// that counts.
#[test]
fn the_loss_zone_of_the_first_bbr_is_left_by_the_third() {
    let loss = |algorithm, buffer| flows(algorithm, 4, 10.0, 100.0, buffer, 25).links[0].forward.loss_rate;
    for buffer in [0.25, 0.5, 1.0] {
        let [first, third] = ["bbr", "bbr3"].map(|algorithm| loss(algorithm, buffer));
        assert!(first > 0.05 && third < 0.02, "{buffer} BDP: {first} {third}");
    }
    assert!(loss("bbr", 2.0) < 0.001 && loss("bbr3", 2.0) < 0.001);
}

/// One flow of BBRv3, drop-tail of one BDP, 50 Mbit/s, 40 ms: the link is used to 95 % (the C4 draft's load), and the mean RTT is below 1.25 of the
/// base.
#[test]
fn alone_bbr3_fills_the_pipe_and_not_the_queue() {
    let report = flows("bbr3", 1, 50.0, 40.0, 1.0, 25);
    assert!(report.links[0].forward.utilization >= 0.95, "{}", report.links[0].forward.utilization);
    assert!(report.flows[0].mean_rtt_s < 1.25 * 0.040, "{}", report.flows[0].mean_rtt_s);
}
