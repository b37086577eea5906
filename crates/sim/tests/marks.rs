//! Algorithms that answer to how many packets are marked, in whole runs.

use fullpipe_sim::{Report, Scenario, Series, run};

fn report(text: &str) -> Report {
    run(&Scenario::from_toml(text).unwrap_or_else(|problem| panic!("{problem}\n{text}")), &mut |_| true)
        .expect("to its end")
}

/// A column of a series from `from_s` seconds on.
fn column(series: &Series, name: &str, from_s: f64) -> Vec<f64> {
    let (_, values) = series.columns.iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("no {name}"));
    let rows = series.t_s.iter().zip(values);
    rows.filter(|(t, _)| **t >= from_s).map(|(_, value)| *value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Alizadeh et al. 2010, section 3.3: one flow at 10 Gbit/s, 1500 bytes, 100 us and K = 65 packets has the window W = C RTT + K = 148.3 and
/// alpha = sqrt(2 / W) = .117; the queue goes from K + 1 = 66 down by W alpha / 2 = 8.6 to 57. Round by round, with the first mark's round
/// trip until the cut is felt, alpha is .096 and the queue 55 to 66. K is compared without the packet that is being sent and the one that
/// arrives, the queue shown has both: two more.
#[test]
fn dctcp_in_the_steady_state() {
    let report = report(
        "duration = \"1 s\"\nwarmup = \"200 ms\"\npacket_size = 1500\nseries_interval = \"10 us\"\n\
         [[links]]\nname = \"l\"\nrate = \"10 Gbit/s\"\ndelay = \"50 us\"\nbuffer = \"unlimited\"\n\
         queue = { name = \"step\", threshold = \"65 packets\" }\n\
         [[flows]]\nalgorithm = \"dctcp\"\n",
    );
    let alpha = mean(&column(&report.flow_series, "alpha", 0.5));
    assert!((0.085..=0.125).contains(&alpha), "{alpha}");
    let queue = column(&report.link_series, "queue_packets", 0.5);
    assert!(queue.iter().all(|packets| (57.0..=68.0).contains(packets)), "{queue:?}");
    assert_eq!(report.links[0].forward.utilization, 1.0);
    assert_eq!(report.packets.dropped, 0);
}

/// Without marks DCTCP is Reno, to the bit.
#[test]
fn dctcp_without_ecn_is_reno() {
    let over = |flow: &str| {
        let text = format!(
            "duration = \"30 s\"\n[[links]]\nname = \"l\"\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = \"50 packets\"\n\
             [[flows]]\nrecovery = \"sack\"\n{flow}\n"
        );
        let flow = &report(&text).flows[0];
        (flow.goodput_bps, flow.retransmits, flow.mean_cwnd_packets)
    };
    let reno = over("algorithm = \"reno\"");
    assert!(reno.1 > 0);
    assert_eq!(over("algorithm = \"dctcp\"\necn = \"off\""), reno);
    assert_eq!(over("algorithm = \"dctcp\""), reno, "nothing marks");
}

/// Ten flows of CUBIC versus ten of L4S over DualPI2, with a base RTT of `rtt_ms`.
fn beside_cubic(l4s: &str, rtt_ms: u32) -> Report {
    report(&format!(
        "duration = \"120 s\"\nwarmup = \"40 s\"\npacket_size = 1500\n\
         [[links]]\nname = \"l\"\nrate = \"200 Mbit/s\"\ndelay = \"{} us\"\nbuffer = \"unlimited\"\nqueue = \"dualpi2\"\n\
         [[flows]]\nalgorithm = \"cubic\"\necn = \"classic\"\ncount = 10\nstart = \"0 s..1 s\"\n\
         [[flows]]\nalgorithm = {l4s}\ncount = 10\nstart = \"0 s..1 s\"\n",
        500 * rtt_ms
    ))
}

/// RFC 9332 appendix C.2: a Classic flow in Reno's mode sends 1.22 / (R_C sqrt(p_C)), one of L4S 2 / (R_L p_L), and with the coupling
/// factor 2 the probabilities are p_L = 2 sqrt(p_C): r_L / r_C = R_C / (1.22 R_L). R_C is base RTT and the Classic queue's target of 15 ms,
/// R_L the base RTT, but for Prague 25 ms at least: 20/(1.22 5) = 3.28 and 25/(1.22 10) = 2.05 without that, .66 and .82 with it. The
/// equation has a cut every round trip, where one comes with the first mark after it, and growth by every segment, where marked ones
/// give none; 15 % are left for that.
#[test]
fn prague_beside_cubic_has_the_share_of_rfc_9332() {
    let cases = [("{ name = \"prague\", virtual_rtt = 0 }", 0.0), ("\"prague\"", 25.0)];
    for (l4s, virtual_rtt_ms) in cases {
        for rtt_ms in [5, 10] {
            let report = beside_cubic(l4s, rtt_ms);
            let rate =
                |flows: std::ops::Range<usize>| report.flows[flows].iter().map(|flow| flow.goodput_bps).sum::<f64>();
            let rtt = f64::from(rtt_ms);
            let expected = (rtt + 15.0) / (1.22 * rtt.max(virtual_rtt_ms));
            let ratio = rate(10..20) / rate(0..10);
            assert!((ratio / expected - 1.0).abs() < 0.15, "{l4s}, {rtt_ms} ms: {ratio}, {expected}");
            assert!(report.links[0].forward.utilization > 0.99);
        }
    }
}

/// RFC 9332 section 2.5.1: the L4S queue is marked from 0.8 ms on. Prague alone and paced waits less than that on average, and
/// nothing is lost.
#[test]
fn prague_alone_waits_less_than_a_millisecond() {
    let report = report(
        "duration = \"60 s\"\nwarmup = \"20 s\"\npacket_size = 1500\n\
         [[links]]\nname = \"l\"\nrate = \"40 Mbit/s\"\ndelay = \"5 ms\"\nbuffer = \"unlimited\"\nqueue = \"dualpi2\"\n\
         [[flows]]\nalgorithm = \"prague\"\n",
    );
    let flow = &report.flows[0];
    let transmission_s = 1540.0 * 8.0 / 40e6;
    let wait = flow.mean_rtt_s - flow.base_rtt_s - transmission_s;
    assert!(wait < 0.001, "{wait}");
    assert_eq!((flow.retransmits, flow.timeouts), (0, 0));
    assert!(report.links[0].forward.utilization > 0.95, "{}", report.links[0].forward.utilization);
}

/// One flow over a link that leaves the ECN field as `field` says, then over a bottleneck whose queue marks or drops.
fn behind(field: &str, flow: &str) -> Report {
    report(&format!(
        "duration = \"20 s\"\nwarmup = \"5 s\"\npacket_size = 1500\n\
         [[links]]\nname = \"path\"\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\nbuffer = \"unlimited\"\necn_field = \"{field}\"\n\
         [[links]]\nname = \"l\"\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nbuffer = \"100 packets\"\n\
         queue = {{ name = \"step\", threshold = \"10 packets\" }}\n\
         [[flows]]\npath = [\"path\", \"l\"]\ninitial_window = 10\n{flow}\n"
    ))
}

/// RFC 9000 section 13.4.2.1. A path that leaves the field is capable. One that clears it, or turns ECT(1) into ECT(0), is found: the flow
/// goes on with losses alone. A path that turns CE into ECT(0) is not found, since the sum of both counts stays: no mark arrives.
#[test]
fn quic_finds_paths_that_change_the_ecn_field() {
    let cases = [
        ("keep", "dctcp", "capable", true),
        ("keep", "prague", "capable", true),
        ("not-ect", "dctcp", "failed", false),
        ("not-ect", "prague", "failed", false),
        ("ect0", "prague", "failed", false),
        ("ect1", "dctcp", "failed", false),
        ("ect0", "dctcp", "capable", true),
    ];
    for (field, algorithm, state, marks) in cases {
        let report = behind(field, &format!("algorithm = \"{algorithm}\"\ntransport = \"quic\""));
        let (flow, link) = (&report.flows[0], &report.links[1].forward);
        let case = format!("{algorithm} over {field}");
        assert_eq!(flow.ecn, Some(state), "{case}");
        assert_eq!((link.marked_packets > 0, link.dropped_packets == 0), (marks, marks), "{case}");
        assert!(link.utilization > 0.9, "{case}: {}", link.utilization);
    }
}

/// Marks of a bottleneck that clears them itself: the queue marks the first packets, and drops after the failure.
#[test]
fn a_bottleneck_may_clear_its_own_marks() {
    let over = |field: &str| {
        report(&format!(
            "duration = \"20 s\"\npacket_size = 1500\n\
             [[links]]\nname = \"l\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"50 packets\"\n\
             queue = {{ name = \"step\", threshold = \"5 packets\" }}\necn_field = \"{field}\"\n\
             [[flows]]\nalgorithm = \"dctcp\"\ntransport = \"quic\"\npacing = \"off\"\n"
        ))
    };
    let (kept, cleared) = (over("keep"), over("not-ect"));
    assert_eq!((kept.flows[0].ecn, kept.flows[0].retransmits), (Some("capable"), 0));
    assert_eq!(cleared.flows[0].ecn, Some("failed"));
    let marked = cleared.links[0].forward.marked_packets;
    assert!((1..10).contains(&marked), "those of the first window: {marked}");
    assert!(cleared.flows[0].retransmits > 0);
}

/// RFC 3168: TCP does not validate the path. Where the field is cleared before the queue, no mark arrives, and the sender acts on losses,
/// to the bit as without ECN.
#[test]
fn tcp_over_a_path_that_clears_the_field_acts_on_losses() {
    for algorithm in ["cubic", "dctcp", "prague"] {
        let over = |ecn: &str| {
            let report = behind("not-ect", &format!("algorithm = \"{algorithm}\"\necn = \"{ecn}\""));
            assert_eq!((report.flows[0].ecn, report.links[1].forward.marked_packets), (None, 0));
            let flow = &report.flows[0];
            (flow.goodput_bps, flow.retransmits, flow.timeouts, flow.mean_cwnd_packets)
        };
        let plain = over("off");
        assert!(plain.1 > 0, "{algorithm}");
        assert_eq!((over("classic"), over("accurate")), (plain, plain), "{algorithm}");
    }
}
