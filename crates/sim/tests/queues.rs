//! Queue disciplines under TCP: delay, loss, marks, and shares of a whole run.

use fullpipe_sim::queues;
use fullpipe_sim::{FlowReport, Report, Scenario, run};

/// Packets of 1000 bytes over one link of 20 Mbit/s, 400 us each, for a number of seconds, without the first 20. `link`
/// has the keys delay, buffer, and queue; `flows` has the tables of the traffic.
fn simulate(seconds: u32, link: &str, flows: &[&str]) -> Report {
    let flows: String = flows.iter().map(|keys| format!("[[flows]]\nrecovery = \"sack\"\n{keys}\n")).collect();
    report(&format!(
        "duration = \"{seconds} s\"\nwarmup = \"20 s\"\n[[links]]\nname = \"l\"\nrate = \"20 Mbit/s\"\n{link}\n{flows}"
    ))
}

const PACKET_S: f64 = 0.0004;

fn report(text: &str) -> Report {
    run(&Scenario::from_toml(text).unwrap_or_else(|problem| panic!("{problem}\n{text}")), &mut |_| true)
        .expect("to its end")
}

fn mean_delay_s(report: &Report) -> f64 {
    report.links[0].forward.mean_queue_packets * PACKET_S
}

/// Mean waiting time of a flow: its RTT without the path's delays, its own transmission, and that of its ACK of 40
/// bytes.
fn mean_wait_s(flow: &FlowReport) -> f64 {
    flow.mean_rtt_s - flow.base_rtt_s - PACKET_S * 1.04
}

/// RFC 8289 section 3.2: of a link with round-trip time r, a Reno flow that may keep a queue of f r uses (3 + 6 f - f^2) / (4 (1 + f)):
/// .785, .816, .867, 1 for f of .05, .1, .2, 1. The form is a fluid's, whose window turns at (1 + f) times the pipe P. Here it goes
/// beyond: one packet is being sent and not in the queue, one more than the target must wait, and the window grows by one in the
/// interval that CoDel watches, of a round-trip time here, and by one in that until the sender hears of it. So f lies between its own
/// value and f + 4/P. Where f < 1 the window makes some fifty sawteeth, which at either end of the measuring may be cut in half: a half
/// is an eighth below or above the mean, together 2 / 2 / 8 / 50 = .0025.
#[test]
fn a_reno_flow_over_codel_uses_what_its_target_allows() {
    let used = |f: f64| (3.0 + 6.0 * f - f * f) / (4.0 * (1.0 + f));
    for (f, printed) in [(0.05, 0.785), (0.1, 0.816), (0.2, 0.867), (1.0, 1.0)] {
        assert!((used(f) - printed).abs() < 5e-4, "{f}: {}", used(f));
        for (marks, ecn) in [(false, "off"), (true, "classic")] {
            let queue = format!("{{ name = \"codel\", target = \"{} ms\", ecn = {marks} }}", 100.0 * f);
            let link = format!("delay = \"50 ms\"\nbuffer = \"unlimited\"\nqueue = {queue}");
            let report = simulate(820, &link, &[&format!("algorithm = \"reno\"\necn = \"{ecn}\"")]);
            let goodput = report.flows[0].goodput_bps / 20e6;
            let most = used((f + 4.0 / 250.0).min(1.0));
            assert!(goodput > used(f) - 0.0025 && goodput < most + 0.0025, "{f}, {ecn}: {goodput}, at most {most}");
        }
    }
}

/// Two bulk flows, and one that has a single segment on its way at any time.
fn with_a_sparse_flow(queue: &str) -> Report {
    let link = format!("delay = \"20 ms\"\nbuffer = \"400 packets\"\nqueue = \"{queue}\"");
    let sparse = "algorithm = \"reno\"\nmax_window = 1";
    simulate(220, &link, &["algorithm = \"reno\"", "algorithm = \"cubic\"", sparse])
}

/// RFC 8290 section 4.2: queues are served in turn by bytes, so the share of a flow does not depend on its
/// aggressiveness. The queue of a flow that has just begun to send is served first, behind only the packet being sent.
/// Over drop-tail, CUBIC takes several times Reno's share, and all flows wait for the whole queue. Over FQ-CoDel, each
/// has its half while both have packets waiting. CUBIC also takes the part of Reno's half that is free after a cut, a
/// quarter at most.
#[test]
fn fq_codel_gives_reno_as_much_as_cubic_and_a_sparse_flow_its_turn_at_once() {
    let [drop_tail, fq_codel] = ["drop-tail", "fq-codel"].map(with_a_sparse_flow);
    let share = |report: &Report| report.flows[0].goodput_bps / report.flows[1].goodput_bps;
    assert!(share(&drop_tail) < 0.5, "{}", share(&drop_tail));
    assert!((0.75..=1.0).contains(&share(&fq_codel)), "{}", share(&fq_codel));
    assert!(mean_wait_s(&drop_tail.flows[2]) > 0.1, "{}", mean_wait_s(&drop_tail.flows[2]));
    let wait = mean_wait_s(&fq_codel.flows[2]);
    assert!((0.0..=PACKET_S).contains(&wait), "{wait}");
}

/// Bufferbloat: a buffer of half a second. Over drop-tail, four flows keep it full except after their losses. RFC 8289
/// section 3.2: CoDel keeps the standing queue at its target of 5 ms. RFC 8033 section 4.2: PIE holds the mean delay at
/// its reference of 15 ms. The full queue at the end of slow start is not measured.
#[test]
fn codel_and_pie_keep_the_queue_near_their_targets_where_drop_tail_fills_the_buffer() {
    let flows = "algorithm = \"reno\"\ncount = 4\nstart = \"0 s..1 s\"\nprocessing_time = \"400 us\"";
    let over =
        |queue: &str| simulate(120, &format!("delay = \"25 ms\"\nbuffer = \"500 ms\"\nqueue = \"{queue}\""), &[flows]);
    let [drop_tail, codel, pie] = ["drop-tail", "codel", "pie"].map(over);
    assert!(mean_delay_s(&drop_tail) > 0.3, "{}", mean_delay_s(&drop_tail));
    for (report, target_s) in [(&codel, 0.005), (&pie, 0.015)] {
        let delay = mean_delay_s(report);
        assert!((target_s / 2.0..=target_s * 1.5).contains(&delay), "{delay}, {target_s}");
        assert!(report.links[0].forward.utilization > 0.95, "{}", report.links[0].forward.utilization);
    }
}

/// A source of 100 kbit/s beside four bulk flows over 10 Mbit/s. Its own delay stays below half the target, so that FQ-PIE drops nothing
/// of it. A packet waits for a quantum of 1514 bytes of each other flow and for the packet being sent: 6.06 ms. With 0.8 ms for its
/// transmission and 20 ms on the wire these are 26.9 ms; percentiles have a resolution of 0.8 %.
#[test]
fn fq_pie_spares_a_sparse_source() {
    let text = "duration = \"40 s\"\nwarmup = \"10 s\"\npacket_size = 1514\n\
        links = [{ name = \"l\", rate = \"10 Mbit/s\", delay = \"20 ms\", buffer = \"1000 packets\", queue = \"fq-pie\" }]\n\
        flows = [{ algorithm = \"reno\", count = 4 }]\n\
        [[udp]]\nrate = \"1 Mbit/s\"\npacket_size = 1000\nframes = { per_second = 12.5, size = \"1 kB\" }\n";
    let report = run(&Scenario::from_toml(text).expect("a scenario"), &mut |_| true).expect("to its end");
    let (source, link) = (&report.traffic[0], &report.links[0].forward);
    assert!(source.sent_packets - source.received_packets <= 1, "{source:?}");
    assert!(source.frames.is_some_and(|frames| frames.delay.p99_s <= 0.0269 * 1.008), "{source:?}");
    assert!(link.dropped_packets > 0 && link.utilization > 0.95, "{link:?}");
    assert!(report.jain_index > 0.99, "{}", report.jain_index);
}

/// A household behind a shaper of 19 of 20 Mbit/s. The laptop has eight flows, the phone one, and each host has a half of 19 Mbit/s. A single flow
/// uses 84 % of its half, as Reno over CoDel with a target of a seventh of its RTT (RFC 8289 section 3.2), and the laptop takes the rest. Without
/// hosts, each flow has a ninth.
#[test]
fn cake_shapes_and_is_fair_to_hosts() {
    let text = include_str!("../../../scenarios/cake.toml");
    let report = run(&Scenario::from_toml(text).expect("a scenario"), &mut |_| true).expect("to its end");
    let link = &report.links[0].forward;
    assert!((link.utilization - 0.95).abs() < 0.005, "{}", link.utilization);
    let [many, one] =
        [&report.flows[..8], &report.flows[8..]].map(|flows| flows.iter().map(|flow| flow.goodput_bps).sum::<f64>());
    assert!(one > 0.8 * 9.5e6 && one < 9.5e6 && one + many > 18.5e6, "{one} and {many}");
    let call = &report.traffic[0];
    assert_eq!(call.sent_packets - call.received_packets, 0);
    assert!(mean_delay_s(&report) < 0.008, "{}", mean_delay_s(&report));
}

/// A shaper of 4 Mbit/s in a link of 20 Mbit/s: a fifth of it is used. With an overhead of 250 bytes for each 1000 it is 0.16.
#[test]
fn the_shaper_of_cake_counts_overhead() {
    for (overhead, share) in [(0, 0.2), (250, 0.16)] {
        let link = format!(
            "delay = \"25 ms\"\nbuffer = \"1000 packets\"\nqueue = {{ name = \"cake\", bandwidth = \"4 Mbit/s\", overhead = {overhead} }}"
        );
        let report = simulate(60, &link, &["algorithm = \"cubic\"\ncount = 4"]);
        let used = report.links[0].forward.utilization;
        assert!((used / share - 1.0).abs() < 0.02, "{used}, not {share}");
    }
}

/// The queues that mark wherever they would drop, or mark alone.
const MARKING: [&str; 5] = [
    "\"cake\"",
    "{ name = \"codel\", ecn = true }",
    "\"fq-codel\"",
    "{ name = \"step\", threshold = \"20 packets\" }",
    "\"step\"",
];

/// RFC 3168 section 5: marks take the place of drops. Without a limit of the buffer nothing is lost, and nothing sent again.
#[test]
fn flows_that_are_marked_lose_nothing() {
    for queue in MARKING {
        for ecn in ["ecn = \"classic\"", "ecn = \"accurate\"", "ecn = \"ace\"", "ecn = \"accurate\"\nect = 1"] {
            for algorithm in ["reno", "cubic"] {
                let flows = format!("algorithm = \"{algorithm}\"\n{ecn}\ncount = 3\nstart = \"0 s..1 s\"");
                let link = format!("delay = \"25 ms\"\nbuffer = \"unlimited\"\nqueue = {queue}");
                let report = simulate(40, &link, &[&flows]);
                let forward = &report.links[0].forward;
                assert!(forward.marked_packets > 0, "{queue}, {flows}");
                assert_eq!(report.packets.dropped, 0, "{queue}, {flows}");
                for flow in &report.flows {
                    assert_eq!((flow.retransmits, flow.timeouts, flow.fast_recoveries), (0, 0, 0), "{queue}, {flows}");
                }
            }
        }
    }
}

/// Packets that are not ECN-capable are dropped by those queues, or wait, and are never marked. Neither are ACKs in the
/// reverse direction.
#[test]
fn what_is_not_ecn_capable_is_not_marked() {
    for queue in MARKING {
        let link = format!("delay = \"25 ms\"\nbuffer = \"300 packets\"\nqueue = {queue}");
        let report = simulate(40, &link, &["algorithm = \"reno\"\ncount = 3"]);
        assert_eq!(report.links[0].forward.marked_packets, 0, "{queue}");
        assert!(report.packets.dropped > 0, "{queue}");
        let back = simulate(40, &link, &["algorithm = \"reno\"\necn = \"classic\"\nreverse = true"]);
        assert_eq!(back.links[0].forward.marked_packets, 0, "{queue}");
        assert!(back.links[0].reverse.marked_packets > 0, "{queue}");
    }
}

/// RFC 3168 section 6.1.2: however many marks a round trip brings, the window is halved once. A step marks every packet that finds
/// more than 20 waiting, until the sender's answer is felt a round trip later.
#[test]
fn classic_ecn_halves_the_window_once_a_round_trip() {
    let text = "duration = \"40 s\"\nwarmup = \"20 s\"\nseries_interval = \"1 ms\"\n\
        [[links]]\nname = \"l\"\nrate = \"20 Mbit/s\"\ndelay = \"25 ms\"\nbuffer = \"unlimited\"\n\
        queue = { name = \"step\", threshold = \"20 packets\" }\n\
        [[flows]]\nalgorithm = \"reno\"\nrecovery = \"sack\"\necn = \"classic\"\n";
    let report = report(text);
    let (_, windows) = report.flow_series.columns.iter().find(|(name, _)| name == "cwnd_packets").expect("windows");
    let times = &report.flow_series.t_s;
    let cuts: Vec<_> = (1..windows.len()).filter(|&i| windows[i] < windows[i - 1] && times[i] >= 20.0).collect();
    assert!(cuts.len() >= 3, "{cuts:?}");
    for &i in &cuts {
        // Between two samples 2.5 ACKs may come, each of which adds less than a twentieth of a segment.
        let ratio = windows[i] / windows[i - 1];
        assert!((ratio - 0.5).abs() < 0.003, "{ratio} at {} s", times[i]);
    }
    for pair in cuts.windows(2) {
        assert!(times[pair[1]] - times[pair[0]] > 0.05, "{} s", times[pair[0]]);
    }
    assert!(report.links[0].forward.marked_packets as usize > 5 * cuts.len());
}

/// RFC 9332: ECT(1) packets wait in a separate queue, which marks from 0.8 ms of waiting. The competing Classic flow
/// keeps its queue at the target of 15 ms.
#[test]
fn l4s_waits_less_than_a_millisecond_beside_a_classic_flow() {
    let classic = "algorithm = \"cubic\"";
    for ecn in ["accurate", "ace"] {
        let l4s = format!("algorithm = \"cubic\"\necn = \"{ecn}\"\nect = 1");
        let link = "delay = \"10 ms\"\nbuffer = \"unlimited\"\nqueue = \"dualpi2\"";
        let report = simulate(80, link, &[classic, &l4s]);
        let [classic, l4s] = &report.flows[..] else { panic!("two flows") };
        assert!(mean_wait_s(l4s) < 0.001, "{}", mean_wait_s(l4s));
        assert!((0.010..0.020).contains(&mean_wait_s(classic)), "{}", mean_wait_s(classic));
        assert_eq!((l4s.retransmits, l4s.timeouts), (0, 0));
        assert!(report.links[0].forward.marked_packets > 0 && report.links[0].forward.utilization > 0.98);
    }
    // ECT(0) is for the Classic queue (figure 3), accurate or not.
    let ect_0 = "algorithm = \"cubic\"\necn = \"accurate\"";
    let report = simulate(80, "delay = \"10 ms\"\nbuffer = \"unlimited\"\nqueue = \"dualpi2\"", &[classic, ect_0]);
    assert!(mean_wait_s(&report.flows[1]) > 0.01, "{}", mean_wait_s(&report.flows[1]));
}

/// Random choices depend only on the seed: equal bytes with an equal seed, and others with another seed if there is a
/// random choice. The flows begin one after another, so that there are no ties. DualPI2 spaces its marks evenly, and
/// FQ-CoDel's salt has no effect on three flows in separate queues.
#[test]
fn every_queue_repeats_itself() {
    for info in queues::ALL {
        let with = |seed: u32| {
            let report = report(&format!(
                "duration = \"5 s\"\nseed = {seed}\n\
                 [[links]]\nname = \"l\"\nrate = \"20 Mbit/s\"\ndelay = \"25 ms\"\nbuffer = \"200 packets\"\nqueue = \"{}\"\n\
                 [[flows]]\nalgorithm = \"reno\"\necn = \"classic\"\n[[flows]]\nalgorithm = \"reno\"\nstart = \"7 ms\"\necn = \"classic\"\n\
                 [[flows]]\nalgorithm = \"cubic\"\nstart = \"13 ms\"\n",
                info.name
            ));
            format!("{report:?}")
        };
        assert_eq!(with(1), with(1), "{}", info.name);
        let random = ["red", "ared", "pie", "fq-pie"].contains(&info.name);
        assert_eq!(with(1) != with(2), random, "{}", info.name);
    }
}

/// Four NewReno flows over FQ-CoDel at 10 Mbit/s, for 20 s.
fn four_flows(seed: u64) -> Report {
    report(&format!(
        "duration = \"20 s\"\nseed = {seed}\n\
         links = [{{ name = \"l\", rate = \"10 Mbit/s\", delay = \"10 ms\", buffer = \"1000 packets\", queue = \"fq-codel\" }}]\n\
         flows = [{{ algorithm = \"newreno\", count = 4 }}]"
    ))
}

/// A fair share is a quarter of the rate (RFC 8290 section 3). The first salt of seed 1 hashes flows 0 and 3 into one queue.
#[test]
fn four_flows_get_a_quarter_each_at_the_default_seed() {
    let report = four_flows(1);
    for flow in &report.flows {
        assert!((flow.goodput_bps / 2.5e6 - 1.0).abs() < 0.02, "{}", flow.goodput_bps);
    }
    assert_eq!((report.links[0].forward.shared_queues, report.links[0].reverse.shared_queues), (0, 0));
    assert!(report.warnings().is_empty());
}

/// Two of four flows share a queue of 1024 with a probability of 1 - (1 - 1/1024) (1 - 2/1024) (1 - 3/1024) = 0.59 %: of 2000 seeds some 12
/// have it. These two flows split a third of the rate: 1.67 Mbit/s each, which CoDel on both together leaves a little uneven.
#[test]
fn flows_that_share_a_queue_get_one_share_and_are_counted() {
    let short = |seed| {
        let text = format!(
            "duration = \"1 us\"\nseed = {seed}\n\
             links = [{{ name = \"l\", rate = \"10 Mbit/s\", delay = \"10 ms\", buffer = \"9 packets\", queue = \"fq-codel\" }}]\n\
             flows = [{{ algorithm = \"newreno\", count = 4 }}]"
        );
        report(&text).links[0].forward.shared_queues
    };
    let shared: Vec<u64> = (2..2002).filter(|&seed| short(seed) > 0).collect();
    assert!((4..=24).contains(&shared.len()), "{}", shared.len());
    let report = four_flows(shared[0]);
    assert_eq!(report.links[0].forward.shared_queues, 1);
    let mut goodputs: Vec<f64> = report.flows.iter().map(|flow| flow.goodput_bps / 1e6).collect();
    goodputs.sort_by(f64::total_cmp);
    assert!((goodputs[0] + goodputs[1] - 3.33).abs() < 0.25, "{goodputs:?}");
    assert!(goodputs[2..].iter().all(|goodput| (goodput - 3.33).abs() < 0.25), "{goodputs:?}");
    let warnings = report.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("shared queues: 1 forward, 0 reverse"), "{warnings:?}");
}
