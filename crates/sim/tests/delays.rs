//! Algorithms that answer to delay, in whole runs.

use fullpipe_sim::{Report, Scenario, run};

fn report(text: &str) -> Report {
    run(&Scenario::from_toml(text).unwrap_or_else(|problem| panic!("{problem}\n{text}")), &mut |_| true)
        .expect("to its end")
}

/// Flows over one link for a number of seconds, without the first `warmup`. Packets have 1000 bytes: at 10 Mbit/s they
/// take 0.8 ms each.
fn simulate(seconds: u32, warmup: u32, link: &str, flows: &[&str]) -> Report {
    let flows: String = flows.iter().map(|keys| format!("[[flows]]\nrecovery = \"sack\"\n{keys}\n")).collect();
    report(&format!("duration = \"{seconds} s\"\nwarmup = \"{warmup} s\"\n[[links]]\nname = \"l\"\n{link}\n{flows}"))
}

const DEEP: &str = "rate = \"10 Mbit/s\"\ndelay = \"25 ms\"\nbuffer = \"2000 packets\"";

/// RFC 6817 section 2.4.2: the queueing delay rests at TARGET, 100 ms, which 125 packets of 0.8 ms make; one more or less.
#[test]
fn ledbat_alone_keeps_its_target() {
    let report = simulate(100, 60, DEEP, &["algorithm = \"ledbat\""]);
    let link = &report.links[0].forward;
    assert!((link.mean_queue_packets - 125.0).abs() < 1.0, "{}", link.mean_queue_packets);
    assert!(link.max_queue_packets <= 126 && link.utilization > 0.999 && link.dropped_packets == 0);
}

/// Versus Reno in a buffer of 1.6 s, both give way and get less than a tenth (RFC 6817 section 1).
#[test]
fn background_transfers_yield_to_reno() {
    for name in ["ledbat", "ledbat++"] {
        let report = simulate(200, 60, DEEP, &[&format!("algorithm = \"{name}\""), "algorithm = \"reno\""]);
        let share = report.flows[0].goodput_bps / 10e6;
        assert!(share < 0.1 && report.links[0].forward.utilization > 0.99, "{name}: {share}");
    }
}

/// A buffer of half the BDP holds 31 packets, 25 ms: the target is never reached, and losses govern. A quarter of the target off it, LEDBAT
/// grows by .75 to 1 segment a round trip, and is halved, as Reno is: the closed form of Reno at k = 1/2 (Hyun and Jang, equation 5) is
/// .9643 for both, less a half per cent for the round trips that the fall takes.
#[test]
fn ledbat_in_a_short_buffer_is_as_reno() {
    let short = "rate = \"10 Mbit/s\"\ndelay = \"25 ms\"\nbuffer = \"31 packets\"";
    for name in ["ledbat", "reno"] {
        let utilization = simulate(400, 100, short, &[&format!("algorithm = \"{name}\"")]).links[0].forward.utilization;
        assert!((utilization - 0.9643).abs() < 0.01, "{name}: {utilization}");
    }
}

/// Share of the goodput that the second of two flows, which begins 40 s after the first, has two minutes later.
fn latecomers_share(algorithm: &str) -> f64 {
    let first = format!("algorithm = {algorithm}");
    let report = simulate(200, 160, DEEP, &[&first, &format!("{first}\nstart = \"40 s\"")]);
    report.flows[1].goodput_bps / report.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>()
}

/// RFC 6817 section 4.2 and draft-irtf-iccrg-ledbat-plus-plus section 3.1: the second flow takes the first one's queue of 100 ms for the path,
/// adds as much, and the first gives way until it has nearly nothing. LEDBAT++'s slowdowns show both the path: shares are equal within 120 s
/// (Jain's index above .95 is a share between .385 and .615). Without its slowdowns it is as LEDBAT.
#[test]
fn ledbat_plus_plus_cures_the_latecomers_advantage() {
    assert!(latecomers_share("\"ledbat\"") > 0.9);
    assert!(latecomers_share("{ name = \"ledbat++\", slowdowns = false }") > 0.9);
    let share = latecomers_share("\"ledbat++\"");
    assert!((0.385..0.615).contains(&share), "{share}");
}

/// Draft-irtf-iccrg-ledbat-plus-plus section 4.4: slowdowns take a tenth of the time, so that alone at least nine tenths are used; the queue
/// is at 60 ms in between, 75 packets.
#[test]
fn ledbat_plus_plus_alone_uses_nine_tenths() {
    let link = &simulate(300, 100, DEEP, &["algorithm = \"ledbat++\""]).links[0].forward;
    assert!((0.9..0.99).contains(&link.utilization), "{}", link.utilization);
    assert!(link.max_queue_packets <= 78 && link.mean_queue_packets < 75.0, "{}", link.mean_queue_packets);
}

/// Arun and Balakrishnan 2018, section 3: each flow keeps between 0 and 2.5/delta = 5 packets waiting, 2.5 on average, and the link is full.
/// The packet in service does not wait. The analysis there leaves out RTTstanding, which is up to 2/3 of a round trip late while the queue
/// grows, by two packets per round trip. A lone flow turns 1.3 packets late at the top, 0.67 in the mean: 3.17.
#[test]
fn copa_keeps_two_and_a_half_packets_per_flow_in_the_queue() {
    for (rate, delay_ms, count) in [
        (50, 20, 1),
        (12, 20, 1),
        (100, 10, 1),
        (50, 20, 2),
        (12, 20, 2),
        (50, 20, 4),
        (12, 20, 4),
        (100, 10, 4),
        (50, 20, 8),
    ] {
        let link = format!("rate = \"{rate} Mbit/s\"\ndelay = \"{delay_ms} ms\"\nbuffer = \"1000 packets\"");
        let flows = format!("algorithm = \"copa\"\ncount = {count}\nstart = \"0 s..1 s\"");
        let report = simulate(60, 20, &link, &[&flows]);
        let link = &report.links[0].forward;
        let each = (link.mean_queue_packets - link.utilization) / f64::from(count);
        assert!((2.0..3.17).contains(&each), "{rate} Mbit/s, {count}: {each}");
        assert!(link.utilization > 0.995 && link.dropped_packets == 0 && report.jain_index > 0.99);
    }
}

/// Eight flows that start within a second over 50 Mbit/s and 40 ms, with packets of 1500 bytes: 2.5 packets of each wait (section 3). A class
/// written from mvfst's rules gives 2.4. With slow start that returns when the window falls, 11 wait.
#[test]
fn slow_start_of_copa_leaves_no_standing_queue() {
    let report = report(
        "duration = \"60 s\"\nwarmup = \"30 s\"\npacket_size = 1500\n\
         [[links]]\nname = \"l\"\nrate = \"50 Mbit/s\"\ndelay = \"18 ms\"\nbuffer = \"1000 packets\"\n\
         [[flows]]\nalgorithm = \"copa\"\ncount = 8\naccess_delay = \"2 ms\"\nstart = \"0 s..1 s\"\n",
    );
    let link = &report.links[0].forward;
    let each = (link.mean_queue_packets - link.utilization) / 8.0;
    assert!((2.0..3.0).contains(&each) && link.utilization > 0.995, "{each} {}", link.utilization);
}

/// Two flows of Copa over 50 Mbit/s and 40 ms. Packets of the first are late by a random jitter.
fn beside_jitter(mean: &str) -> [f64; 2] {
    let report = report(&format!(
        "duration = \"60 s\"\nwarmup = \"20 s\"\n\
         [[links]]\nname = \"l\"\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"1000 packets\"\n\
         [[links]]\nname = \"unsteady\"\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nbuffer = \"unlimited\"\n\
         jitter = {{ model = \"uniform\", mean = \"{mean}\" }}\n\
         [[links]]\nname = \"steady\"\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nbuffer = \"unlimited\"\n\
         [[flows]]\nalgorithm = \"copa\"\npath = [\"unsteady\", \"l\"]\n\
         [[flows]]\nalgorithm = \"copa\"\npath = [\"steady\", \"l\"]\n"
    ));
    [0, 1].map(|flow| report.flows[flow].goodput_bps)
}

/// V. Arun et al., *Toward Formally Verifying Congestion Control Behavior* (CCAC), SIGCOMM 2021: if few packets see the
/// RTTmin, Copa mistakes jitter for a queue. Its rate is at most 1/(delta d_q). With d_q at most the mean of 5 ms, that
/// is 2 segments per 5 ms, and it starves versus a flow without jitter.
#[test]
fn copa_starves_under_jitter_of_the_least_rtt() {
    let shares = ["0 ms", "1 ms", "5 ms"].map(|mean| {
        let [unsteady, steady] = beside_jitter(mean);
        unsteady / (unsteady + steady)
    });
    assert!((0.45..0.55).contains(&shares[0]), "{shares:?}");
    assert!(shares[1] < 0.3 && shares[2] < 0.1, "{shares:?}");
}

/// Draft-sridharan-tcpm-ctcp-02 section 1: fills a path with a large BDP faster than Reno. Reno as its competitor on an
/// ordinary path keeps its half.
#[test]
fn compound_is_fast_alone_and_fair_beside_reno() {
    let fat = "rate = \"1 Gbit/s\"\ndelay = \"50 ms\"\nbuffer = \"3000 packets\"\nloss = 0.00001";
    let [compound, reno] = ["compound", "reno"]
        .map(|name| simulate(60, 20, fat, &[&format!("algorithm = \"{name}\"")]).flows[0].goodput_bps);
    assert!(compound > 1.5 * reno, "{compound} {reno}");
    let narrow = "rate = \"50 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = \"200 packets\"";
    let report = simulate(220, 20, narrow, &["algorithm = \"compound\"", "algorithm = \"reno\""]);
    let share = report.flows[1].goodput_bps / report.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>();
    assert!((0.4..0.6).contains(&share), "{share}");
}
