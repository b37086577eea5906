//! What algorithms later than the papers' do with a link of their own.

use fullpipe_sim::{Report, Scenario, run};

/// One flow, 10 Mbit/s, 100 ms, 1500 bytes, a buffer of 1/8 BDP, 200 s after 40 s of start-up.
fn alone(algorithm: &str) -> Report {
    let text = format!(
        "duration = \"240 s\"\nwarmup = \"40 s\"\npacket_size = 1500\n\
         [[links]]\nname = \"bottleneck\"\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nbuffer = \"0.125 BDP\"\n\
         [[flows]]\nalgorithm = \"{algorithm}\"\nrecovery = \"sack\"\n"
    );
    run(&Scenario::from_toml(&text).expect("a sound scenario"), &mut |_| true).expect("to its end")
}

/// After a loss Westwood's window is the pipe, and the link stays busy. Reno goes from 9/8 of the pipe to 9/16: mean rates on
/// the way to 1 are (9/16 + 1)/2, 7/16 of the pipe in segments take as many round trips; the 1/8 above it take RTTs of 17/16 on
/// average. (7/16 25/32 + 17/16 1/8)/(7/16 + 17/16 1/8) = 0.833.
#[test]
fn westwood_fills_the_pipe_over_a_small_buffer() {
    let [westwood, reno] = ["westwood", "reno"].map(|algorithm| alone(algorithm).links[0].forward.utilization);
    assert!(westwood >= 0.99, "{westwood}");
    assert!((reno - 0.832).abs() < 0.02, "{reno}");
}
