//! Later algorithms than the papers', alone on a link.

use fullpipe_sim::{Report, Scenario, run};

/// One flow, 10 Mbit/s, 100 ms, 1500 bytes, 200 s after 40 s of start-up, with further keys of the link and the flow.
fn alone(link: &str, flow: &str) -> Report {
    let text = format!(
        "duration = \"240 s\"\nwarmup = \"40 s\"\npacket_size = 1500\n\
         [[links]]\nname = \"bottleneck\"\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n{link}\n\
         [[flows]]\nrecovery = \"sack\"\n{flow}\n"
    );
    run(&Scenario::from_toml(&text).expect("a sound scenario"), &mut |_| true).expect("to its end")
}

/// After a loss Westwood's window is the pipe, and the link stays busy. Reno goes from 9/8 of the pipe to 9/16: mean rates on
/// the way to 1 are (9/16 + 1)/2, 7/16 of the pipe in segments take as many round trips; the 1/8 above it take RTTs of 17/16 on
/// average. (7/16 25/32 + 17/16 1/8)/(7/16 + 17/16 1/8) = 0.833.
#[test]
fn westwood_fills_the_pipe_over_a_small_buffer() {
    let used = |algorithm: &str| {
        alone("buffer = \"0.125 BDP\"", &format!("algorithm = \"{algorithm}\"")).links[0].forward.utilization
    };
    let (westwood, reno) = (used("westwood"), used("reno"));
    assert!(westwood >= 0.99, "{westwood}");
    assert!((reno - 0.832).abs() < 0.02, "{reno}");
}

/// RFC 8511 section 4.1: a queue that marks is short, and after half of a window the link is idle; after four fifths it is less so.
/// With K packets of queue where marks begin, a pipe of P and beta kept, the window goes from P + K to beta (P + K) and back.
/// Below P that is a mean of (beta (P + K) + P)/2 of it: with P = 83 and K = 8, 0.77 of the way to P for Reno, and 0.94 with ABE.
#[test]
fn a_mark_costs_less_of_the_link_with_abe() {
    let link = "buffer = \"500 packets\"\nqueue = { name = \"step\", threshold = \"8 packets\" }";
    let used = |algorithm: &str| {
        let report = alone(link, &format!("ecn = \"classic\"\nalgorithm = {algorithm}"));
        assert_eq!(report.links[0].forward.dropped_packets, 0, "after the start-up");
        report.links[0].forward.utilization
    };
    for name in ["reno", "cubic"] {
        let (plain, abe) = (used(&format!("\"{name}\"")), used(&format!("{{ name = \"{name}\", abe = true }}")));
        assert!(abe > plain + 0.02 && abe > 0.93, "{name}: {plain}, with ABE {abe}");
    }
}
