//! What counts: the measuring window has its first instant and not its last, the same for every figure. Expected values are worked
//! by hand: packets of 1000 bytes at 8 Mbit/s take a millisecond each.

use fullpipe_cc::Recovery;
use fullpipe_sim::scenario::{Arrivals, Buffer, FlowGroup, Link, Spread, Tcp, Udp, Web};
use fullpipe_sim::{Report, Scenario, run};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn simulate(scenario: &Scenario) -> Report {
    run(scenario, &mut |_| true).expect("nobody stops it")
}

/// Nothing crosses a link of so many Mbit/s and that delay, measured from `warmup` to `duration`.
fn idle(mbps: u64, delay: u64, buffer: Buffer, warmup: u64, duration: u64) -> Scenario {
    Scenario {
        duration,
        warmup,
        seed: 1,
        packet_size: 1000,
        ack_size: 40,
        series_interval: None,
        links: vec![Link { name: "l".into(), rate_bps: mbps * 1_000_000, delay, buffer, ..Link::default() }],
        flows: vec![],
        udp: vec![],
        web: vec![],
    }
}

fn flow(tcp: Tcp, start: u64, size: Option<u64>) -> FlowGroup {
    FlowGroup { tcp, count: 1, start: Spread::fixed(start), stop: None, size }
}

/// Transfers of one segment each: a Pareto law of shape 100 has nothing far from its mean.
fn small_transfers(arrivals: Arrivals, start: u64, access_delay: Spread) -> Web {
    let tcp = Tcp { access_delay, ..Tcp::new("newreno", Recovery::NewReno, vec![0]) };
    Web { tcp, arrivals, mean_size: 500.0, shape: 100.0, start: Spread::fixed(start), stop: None }
}

/// Ten segments at once into a buffer of four, at the first instant of the window: six are dropped. The four take a millisecond
/// each, and the last would arrive at the instant when the window ends: three count.
#[test]
fn the_first_instant_counts_and_the_last_does_not() {
    for start in [0, 10 * MS] {
        let mut scenario = idle(8, 0, Buffer::Packets(4), start, start + 4 * MS);
        let tcp = Tcp { initial_window: 10, max_window: Some(10), ..Tcp::new("reno", Recovery::Reno, vec![0]) };
        scenario.flows = vec![flow(tcp, start, Some(10))];
        let report = simulate(&scenario);
        let (link, flow) = (&report.links[0].forward, &report.flows[0]);
        assert_eq!((link.arrived_packets, link.dropped_packets), (10, 6), "starting at {start} ns");
        assert_eq!((link.utilization, link.max_queue_packets), (1.0, 4));
        // Sojourns of 1, 2, 3 and 4 ms in 4 ms.
        assert_eq!(link.mean_queue_packets, 2.5);
        assert_eq!((flow.active_s, flow.throughput_bps), (0.004, 3.0 * 8000.0 / 0.004));
        // ACKs come at 1.04, 2.04 and 3.04 ms.
        assert_eq!((flow.retransmits, flow.mean_rtt_s), (0, 0.00204));
    }
}

/// A datagram each millisecond from the first instant, on the wire for half of one: four are sent and received in 3.8 ms.
#[test]
fn datagrams_count_from_the_first_instant() {
    for (start, warmup) in [(0, 0), (5 * MS, 5 * MS), (0, 5 * MS)] {
        let mut scenario = idle(16, 0, Buffer::Packets(9), warmup, warmup + 3_800_000);
        let (access_delay, path) = (Spread::fixed(0), vec![0]);
        scenario.udp = vec![Udp {
            rate_bps: 8_000_000,
            packet_size: 1000,
            start: Spread::fixed(start),
            stop: None,
            access_delay,
            path,
            reverse: false,
            count: 1,
        }];
        let report = simulate(&scenario);
        assert_eq!((report.traffic[0].sent_packets, report.traffic[0].received_packets), (4, 4));
        assert_eq!((report.links[0].forward.arrived_packets, report.links[0].forward.utilization), (4, 2.0 / 3.8));
    }
}

/// A sender whose window is one segment sends one each 100 ms: 1 ms to send it, 0.04 ms for its ACK, 98.96 ms of delay. The rate
/// is over the flow's life in the window, however long the run.
#[test]
fn rates_are_over_the_flows_life_in_the_window() {
    let slow = || Tcp { max_window: Some(1), ..Tcp::new("reno", Recovery::Reno, vec![0]) };
    let mut scenario = idle(8, 49_480_000, Buffer::Packets(9), 5500 * MS, 20 * SECOND);
    // Over before the window begins, half in it, wholly in it, and never ending.
    scenario.flows = vec![
        flow(slow(), 0, Some(10)),
        flow(slow(), 5 * SECOND, Some(10)),
        flow(slow(), 8 * SECOND, Some(10)),
        flow(slow(), 10 * SECOND, None),
    ];
    let report = simulate(&scenario);
    let [before, half, whole, endless] = &report.flows[..] else { panic!("four flows") };
    assert_eq!((before.completion_s, before.active_s), (1.0, 0.0));
    assert!(before.throughput_bps.is_nan() && before.goodput_bps.is_nan() && before.mean_cwnd_packets.is_nan());
    for (flow, life) in [(half, 0.5), (whole, 1.0), (endless, 10.0)] {
        assert_eq!((flow.active_s, flow.goodput_bps, flow.throughput_bps), (life, 80_000.0, 80_000.0));
        assert_eq!(flow.mean_rtt_s, 0.1);
    }
    assert_eq!(report.jain_index, 1.0, "of the three that lived in the window");
}

/// A transfer begun in the warm-up is none of the window's, one begun at the window's first instant is. One segment takes 100 ms.
#[test]
fn transfers_belong_to_the_window_they_begin_in() {
    let sessions = Arrivals::Sessions { sessions: 1, mean_gap: 1_000_000 * SECOND };
    for (start, transfers) in [(950 * MS, 0), (SECOND, 1), (9900 * MS, 1)] {
        let mut scenario = idle(8, 49_480_000, Buffer::Packets(9), SECOND, 10 * SECOND);
        scenario.web = vec![small_transfers(sessions, start, Spread::fixed(0))];
        let web = &simulate(&scenario).traffic[0];
        // The one begun 100 ms before the end would be complete at the end itself.
        let completed = if start == SECOND { 1 } else { 0 };
        assert_eq!((web.transfers_started, web.transfers_completed), (transfers, completed), "begun at {start} ns");
        assert_eq!(web.mean_completion_s.is_nan(), completed == 0);
        // Its segment arrives in the window in every case.
        assert_eq!(web.received_packets, 1);
    }
}

/// Transfers near the end are not missed, though connections draw their access delays one after another: what crosses another link,
/// however far its sender, changes nothing.
#[test]
fn transfers_near_the_end_count_whatever_their_access_delay() {
    let mut scenario = idle(80, MS, Buffer::Unlimited, 0, 10 * SECOND);
    let arrivals = Arrivals::Poisson { per_second: 20.0 };
    scenario.web = vec![small_transfers(arrivals, 0, Spread { low: 0, high: 2 * SECOND })];
    scenario.links.push(Link { name: "other".into(), ..scenario.links[0].clone() });
    let alone = simulate(&scenario).traffic;
    let far = Tcp { access_delay: Spread::fixed(9 * SECOND), ..Tcp::new("reno", Recovery::Reno, vec![1]) };
    scenario.flows = vec![flow(far, 0, None)];
    assert_eq!(alone, simulate(&scenario).traffic);
}

/// One CUBIC flow over 50 Mbit/s and 600 ms loses thousands of packets in slow start, and repairs them while the window is open:
/// what had arrived before is none of its goodput, which is what crossed the link.
#[test]
fn goodput_stays_within_the_links_rate() {
    let mut scenario = idle(50, 300 * MS, Buffer::Packets(1875), 9 * SECOND, 12 * SECOND);
    scenario.flows = vec![flow(Tcp::new("cubic", Recovery::Sack, vec![0]), 0, None)];
    let report = simulate(&scenario);
    let goodput = report.flows[0].goodput_bps;
    assert!(goodput <= 50e6, "{goodput} bit/s");
    assert!(goodput <= report.flows[0].throughput_bps);
}

/// Tahoe sends everything beyond a hole again: throughput has what the link carried, goodput has the flow's 2000 segments.
#[test]
fn throughput_has_the_duplicates() {
    let mut scenario = idle(8, 20 * MS, Buffer::Packets(6), 0, 20 * SECOND);
    let tcp = Tcp { initial_window: 8, ..Tcp::new("tahoe", Recovery::Tahoe, vec![0]) };
    scenario.flows = vec![flow(tcp, 0, Some(2000))];
    let report = simulate(&scenario);
    let (link, flow) = (&report.links[0].forward, &report.flows[0]);
    let packets = |rate: f64| (rate * flow.active_s / 8000.0).round() as u64;
    assert_eq!(packets(flow.goodput_bps), 2000);
    assert_eq!(packets(flow.throughput_bps), link.arrived_packets - link.dropped_packets);
    assert!(link.arrived_packets - link.dropped_packets > 2000);
    assert_eq!(link.arrived_packets, 2000 + flow.retransmits);
}
