//! Measurement interval: it includes its first instant and not its last, for every metric. Expected values are
//! calculated by hand: packets of 1000 bytes at 8 Mbit/s take a millisecond each.

use fullpipe_sim::scenario::{Arrivals, Buffer, FlowGroup, Ip, Link, Recovery, Source, Spread, Tcp, Udp, Web};
use fullpipe_sim::{FlowReport, LinkReport, PacketCount, Percentiles, Report, Scenario, Series, run};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn simulate(scenario: &Scenario) -> Report {
    run(scenario, &mut |_| true).expect("nobody stops it")
}

/// An idle link with a rate in Mbit/s and a delay, measured from `warmup` to `duration`.
fn idle(mbps: u64, delay: u64, buffer: Buffer, warmup: u64, duration: u64) -> Scenario {
    Scenario {
        duration,
        warmup,
        seed: 1,
        packet_size: 1000,
        ack_size: 40,
        series_interval: None,
        measure_jitter: false,
        links: vec![Link { name: "l".into(), rate_bps: mbps * 1_000_000, delay, buffer, ..Link::default() }],
        flows: vec![],
        udp: vec![],
        web: vec![],
    }
}

fn flow(tcp: Tcp, start: u64, size: Option<u64>) -> FlowGroup {
    FlowGroup { tcp, count: 1, start: Spread::fixed(start), stop: None, size, source: Source::Bulk }
}

/// Transfers of one segment each: a Pareto law of shape 100 has nothing far from its mean.
fn small_transfers(arrivals: Arrivals, start: u64, access_delay: Spread) -> Web {
    let tcp = Tcp { access_delay, ..Tcp::new("newreno", Recovery::NewReno, vec![0]) };
    Web { tcp, arrivals, mean_size: 500.0, shape: 100.0, start: Spread::fixed(start), stop: None }
}

#[test]
fn flows_are_called_what_their_group_is_called() {
    let mut scenario = idle(8, 0, Buffer::Packets(4), 0, 4 * MS);
    let tcp = Tcp::new("reno", Recovery::Reno, vec![0]);
    let ours = Tcp { name: Some("ours".to_owned()), ..tcp.clone() };
    scenario.flows = vec![FlowGroup { count: 2, ..flow(ours, 0, Some(1)) }, flow(tcp, 0, Some(1))];
    let names: Vec<_> =
        simulate(&scenario).flows.into_iter().map(|flow| (flow.id, flow.name, flow.algorithm)).collect();
    let expected = [(0, "ours", "reno"), (1, "ours", "reno"), (2, "reno", "reno")];
    assert_eq!(names, expected.map(|(id, name, algorithm)| (id, name.to_owned(), algorithm.to_owned())));
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
        assert_eq!(report.packets, PacketCount { sent: 10, delivered: 3, dropped: 6, in_flight: 1 });
    }
}

/// A first window of four takes 1 to 4 ms and 10 of propagation: segments arrive after 11, 12, 13 and 14. The ACKs of 40 us each come
/// at 21.04 and 22.04 ms; the first lets two segments go, that take 11 and 12 ms, the second the last one, that waits a millisecond
/// and takes 12 too. From one to the next they differ by 1, 1, 1, 3, 1 and 0 ms: of six the third is 1 and the sixth 3.
#[test]
fn jitter_is_the_difference_from_one_arrival_to_the_next() {
    let jitter = |measure_jitter, warmup| {
        let mut scenario = idle(8, 10 * MS, Buffer::Packets(40), warmup, 100 * MS);
        scenario.measure_jitter = measure_jitter;
        let tcp = Tcp { initial_window: 4, ..Tcp::new("reno", Recovery::Reno, vec![0]) };
        scenario.flows = vec![flow(tcp, 0, Some(7))];
        let report = simulate(&scenario);
        assert!(
            [report.groups[0].jitter, report.jitter]
                .iter()
                .all(|all| { format!("{all:?}") == format!("{:?}", report.flows[0].jitter) })
        );
        let Percentiles { p50_s, p95_s, p99_s, .. } = report.flows[0].jitter;
        [p50_s, p95_s, p99_s]
    };
    let all = |found: [f64; 3], exact: [f64; 3]| std::iter::zip(found, exact).all(|(found, exact)| near(found, exact));
    assert!(all(jitter(true, 0), [0.001, 0.003, 0.003]), "{:?}", jitter(true, 0));
    // The fifth segment arrives at 32.04 ms; its partner did before the window: 3, 1 and 0 ms.
    assert!(all(jitter(true, 32 * MS), [0.001, 0.003, 0.003]), "{:?}", jitter(true, 32 * MS));
    // The last two: 1 and 0.
    assert!(all(jitter(true, 33 * MS), [0.0, 0.001, 0.001]), "{:?}", jitter(true, 33 * MS));
    assert!(jitter(false, 0).iter().all(|time| time.is_nan()));
}

/// 400 kbit/s cross both links, a flow the second one backwards. Of 1000 bytes 40 are headers; with ACKs of 1500 bytes nothing is left.
#[test]
fn links_tell_what_they_carried_for_somebody() {
    let mut scenario = idle(8, MS, Buffer::Packets(40), 0, 10 * SECOND);
    scenario.links.push(Link { name: "second".into(), ..scenario.links[0].clone() });
    let back = Tcp { reverse: true, ..Tcp::new("reno", Recovery::Reno, vec![1]) };
    scenario.flows = vec![flow(back, 0, Some(500))];
    scenario.udp = vec![Udp {
        rate_bps: 400_000,
        packet_size: 1000,
        start: Spread::fixed(0),
        stop: None,
        access_delay: Spread::fixed(0),
        path: vec![0, 1],
        reverse: false,
        count: 1,
        frames: None,
        ip: Ip::default(),
        name: None,
    }];
    let report = simulate(&scenario);
    let carried = |link: &LinkReport| [&link.forward, &link.reverse].map(|direction| direction.carried_goodput_bps);
    // One datagram each 20 ms, from 0 on: 500 of them, the last of which arrives in time; 500 segments.
    assert_eq!(carried(&report.links[0]), [400_000.0, 0.0]);
    assert_eq!(carried(&report.links[1]), [400_000.0, 400_000.0]);
    let FlowReport { goodput_bps, payload_goodput_bps, .. } = report.flows[0];
    assert!((payload_goodput_bps - 0.96 * goodput_bps).abs() < 1e-6, "{payload_goodput_bps} of {goodput_bps}");
    scenario.ack_size = 1500;
    assert_eq!(simulate(&scenario).flows[0].payload_goodput_bps, 0.0);
}

/// After a timeout, Tahoe retransmits segments that have arrived. 500 segments are goodput, however many cross the
/// link.
#[test]
fn what_comes_twice_is_carried_once() {
    let mut scenario = idle(8, 10 * MS, Buffer::Packets(4), 0, 10 * SECOND);
    scenario.flows = vec![flow(Tcp::new("tahoe", Recovery::Tahoe, vec![0]), 0, Some(500))];
    let report = simulate(&scenario);
    assert!(report.flows[0].throughput_bps > 1.001 * report.flows[0].goodput_bps);
    assert_eq!(report.links[0].forward.carried_goodput_bps, 400_000.0);
}

/// To within the 1 % that percentiles promise.
fn near(found: f64, exact: f64) -> bool {
    (found - exact).abs() <= 0.01 * exact
}

/// Ten segments at once into a buffer of four: they wait 0, 1, 2 and 3 ms, and their ACKs, which nothing holds up, are back at 1.04,
/// 2.04 and 3.04 ms. Four of another group come at 2.5 ms, when two of these are left.
#[test]
fn delays_have_percentiles_and_groups_have_losses() {
    let mut scenario = idle(8, 0, Buffer::Packets(4), 0, 4 * MS);
    let tcp = Tcp { initial_window: 10, max_window: Some(10), ..Tcp::new("reno", Recovery::Reno, vec![0]) };
    let late = Tcp { name: Some("late".to_owned()), ..tcp.clone() };
    scenario.flows = vec![flow(tcp, 0, Some(10)), flow(late, 2_500_000, Some(4))];
    let report = simulate(&scenario);
    let (link, acks) = (&report.links[0].forward, &report.links[0].reverse);
    // At 2.5 ms two of the four are left, so that two of the late ones wait 1.5 and 2.5 ms, the latter beyond the end.
    assert_eq!(link.dropped_packets, 6 + 2);
    let waits = [link.queueing_delay.p50_s, link.queueing_delay.p99_s, link.max_queueing_delay_s];
    assert!(near(waits[0], 0.001) && near(waits[1], 0.003) && near(waits[2], 0.003), "{waits:?} s");
    assert_eq!((acks.queueing_delay.p99_s, acks.max_queueing_delay_s), (0.0, 0.0));
    let rtt = report.flows[0].rtt;
    assert!(near(rtt.p50_s, 0.00204) && near(rtt.p95_s, 0.00304) && near(rtt.p99_s, 0.00304), "{rtt:?}");
    assert!(report.flows[1].rtt.p50_s.is_nan(), "nothing of it is acknowledged by the end");
    assert_eq!([0, 1].map(|flow| report.flows[flow].loss_rate), [0.6, 0.5]);
    let groups: Vec<_> = report.groups.iter().map(|group| (group.name.as_str(), group.loss_rate)).collect();
    assert_eq!(groups, [("reno", 0.6), ("late", 0.5)]);
    assert_eq!((report.groups[0].rtt, report.rtt), (rtt, rtt));
}

/// Five segments, two at first, over 8 Mbit/s and 10 ms each way; by hand: a segment is acknowledged 21.04 ms after it begins to be
/// sent. The first two leave at 0, and their ACKs come at 21.04 and 22.04 ms, each letting two more go; the fifth leaves at 22.04 ms, when
/// those let go by the first ACK have a millisecond to go: it begins to be sent at 23.04 ms, and is acknowledged at 44.08 ms. Back to back
/// five take 5 + 20 + 0.04 ms.
#[test]
fn a_transfer_is_complete_with_its_last_ack() {
    let mut scenario = idle(8, 10 * MS, Buffer::Packets(100), 50 * MS, 1000 * MS);
    let tcp = Tcp { initial_window: 2, ..Tcp::new("reno", Recovery::Reno, vec![0]) };
    let late = Tcp { name: Some("late".to_owned()), ..tcp.clone() };
    // The last one begins too late to end.
    scenario.flows = vec![flow(late.clone(), 100 * MS, Some(5)), flow(tcp, 0, Some(5)), flow(late, 990 * MS, Some(5))];
    let report = simulate(&scenario);
    assert_eq!(report.transfer_groups, ["late", "reno"]);
    let rows: Vec<_> = report.transfers.iter().map(|t| (t.group, t.start_s, t.size_bytes, t.in_warmup)).collect();
    assert_eq!(rows, [(1, 0.0, 5000, true), (0, 0.1, 5000, false), (0, 0.99, 5000, false)]);
    for transfer in &report.transfers[..2] {
        assert!((transfer.completion_s - 0.04408).abs() < 1e-9, "{} s", transfer.completion_s);
        assert!((transfer.slowdown - 44.08 / 25.04).abs() < 1e-9, "{}", transfer.slowdown);
    }
    assert!(report.transfers[2].completion_s.is_nan() && report.transfers[2].slowdown.is_nan());
}

/// A window of one segment sends one each 100 ms. A flow of ten that stops after 450 ms has sent five, the last of them acknowledged
/// at 500 ms: it is cut off, and has no completion time. One that stops after it has sent its last segment is complete, and one
/// without a stop is running at the end. A flow without a size has nothing to complete.
#[test]
fn a_flow_that_stops_before_its_end_is_cut_off() {
    let slow = || Tcp { max_window: Some(1), ..Tcp::new("reno", Recovery::Reno, vec![0]) };
    let mut scenario = idle(8, 49_480_000, Buffer::Packets(9), 0, 1500 * MS);
    let stopped = |start, size, stop| FlowGroup { stop: Some(stop), ..flow(slow(), start, size) };
    let links = scenario.links.clone();
    scenario.flows = vec![
        stopped(0, Some(10), 450 * MS),
        stopped(MS, Some(10), 950 * MS),
        stopped(0, None, 450 * MS),
        flow(slow(), 800 * MS, Some(10)),
    ];
    scenario.links = (0..4).map(|n| Link { name: format!("l{n}"), ..links[0].clone() }).collect();
    scenario.flows.iter_mut().enumerate().for_each(|(n, group)| group.tcp.path = vec![n]);
    let report = simulate(&scenario);
    let states: Vec<_> = report.transfers.iter().map(|transfer| (transfer.state, transfer.size_bytes)).collect();
    use fullpipe_sim::TransferState::{Complete, CutOff, Running};
    assert_eq!(states, [(CutOff, 10_000), (Complete, 10_000), (Running, 10_000)]);
    let times: Vec<_> = report.flows.iter().map(|flow| flow.completion_s).collect();
    assert!(times[0].is_nan() && times[2].is_nan() && times[3].is_nan(), "{times:?}");
    assert_eq!((times[1], report.flows[0].active_s, report.flows[2].active_s), (1.0, 0.5, 0.5));
    assert!(report.transfers[0].completion_s.is_nan() && report.transfers[0].slowdown.is_nan());
}

/// Ten segments at once into a buffer of four, and after 200 ms the timer: losses of the first transfer do not count
/// for the second, although one connection carries both.
#[test]
fn a_transfer_counts_its_own_losses() {
    let mut scenario = idle(8, 0, Buffer::Packets(4), 0, 60 * SECOND);
    let mut web = small_transfers(Arrivals::Sessions { sessions: 1, mean_gap: SECOND }, 0, Spread::fixed(0));
    web.mean_size = 9_950.0;
    web.tcp.initial_window = 10;
    scenario.web = vec![web];
    let report = simulate(&scenario);
    assert_eq!(report.transfer_groups, ["web"]);
    assert!(report.transfers.len() > 5 && report.transfers.iter().all(|t| t.size_bytes >= 10_000));
    let done = || report.transfers.iter().filter(|t| !t.completion_s.is_nan());
    assert!(done().all(|t| t.retransmits >= 6 && t.retransmits <= 30 && t.slowdown > 1.0), "{:?}", report.transfers);
    let (count, sum) = done().fold((0, 0.0), |(n, sum), t| (n + 1, sum + t.completion_s));
    assert_eq!(count, report.traffic[0].transfers_completed);
    assert!((sum / count as f64 - report.traffic[0].mean_completion_s).abs() < 1e-12);
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
            frames: None,
            ip: Ip::default(),
            name: None,
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
    assert_eq!((before.completion_s, half.completion_s, whole.completion_s), (1.0, 1.0, 1.0));
    assert!(endless.completion_s.is_nan());
    assert_eq!(before.active_s, 0.0);
    assert!(before.throughput_bps.is_nan() && before.goodput_bps.is_nan() && before.mean_cwnd_packets.is_nan());
    for (flow, life) in [(half, 0.5), (whole, 1.0), (endless, 10.0)] {
        assert_eq!((flow.active_s, flow.goodput_bps, flow.throughput_bps), (life, 80_000.0, 80_000.0));
        assert_eq!(flow.mean_rtt_s, 0.1);
    }
    assert_eq!(report.jain_index, 1.0, "of the three that lived in the window");
}

/// There and back over 10 ms, 5 ms and 3 ms of access.
#[test]
fn the_base_rtt_is_the_paths() {
    let mut scenario = idle(8, 10 * MS, Buffer::Packets(9), 0, SECOND);
    scenario.links.push(Link { name: "other".into(), delay: 5 * MS, ..scenario.links[0].clone() });
    let far = Tcp { access_delay: Spread::fixed(3 * MS), ..Tcp::new("reno", Recovery::Reno, vec![0, 1]) };
    let near = Tcp::new("reno", Recovery::Reno, vec![1]);
    scenario.flows = vec![flow(far, 0, None), flow(near, 0, None)];
    let flows = simulate(&scenario).flows;
    assert_eq!((flows[0].base_rtt_s, flows[1].base_rtt_s), (0.036, 0.010));
}

/// One source of 1000 bytes each millisecond, and two of 500 bytes each 4 ms, on a link that takes half a millisecond and a quarter
/// for them: in 3.8 ms four of the first group and one from either source of the second.
#[test]
fn groups_of_datagrams_are_told_apart() {
    let mut scenario = idle(16, 0, Buffer::Packets(9), 0, 3_800_000);
    let large = Udp {
        rate_bps: 8_000_000,
        packet_size: 1000,
        start: Spread::fixed(0),
        stop: None,
        access_delay: Spread::fixed(0),
        path: vec![0],
        reverse: false,
        count: 1,
        frames: None,
        ip: Ip::default(),
        name: None,
    };
    scenario.udp = vec![large.clone(), Udp { rate_bps: 1_000_000, packet_size: 500, count: 2, ..large }];
    let report = simulate(&scenario);
    let counts = report.traffic.iter().map(|group| (group.sent_packets, group.received_packets, group.throughput_bps));
    assert_eq!(counts.collect::<Vec<_>>(), [(4, 4, 32_000.0 / 0.0038), (2, 2, 8000.0 / 0.0038)]);
    assert_eq!(report.packets, PacketCount { sent: 6, delivered: 6, dropped: 0, in_flight: 0 });
}

/// A datagram each millisecond on a link of 10 ms to another link, where no datagram has arrived after 5.5 ms. Of a
/// source nearby with one each 4 ms, one has.
#[test]
fn what_is_between_two_links_is_in_flight() {
    let mut scenario = idle(8, 10 * MS, Buffer::Packets(9), 0, 5_500_000);
    scenario.links.push(Link { name: "other".into(), delay: 0, ..scenario.links[0].clone() });
    let far = Udp {
        rate_bps: 8_000_000,
        packet_size: 1000,
        start: Spread::fixed(0),
        stop: None,
        access_delay: Spread::fixed(0),
        path: vec![0, 1],
        reverse: false,
        count: 1,
        frames: None,
        ip: Ip::default(),
        name: None,
    };
    scenario.udp = vec![far.clone(), Udp { rate_bps: 2_000_000, path: vec![1], ..far }];
    let packets = simulate(&scenario).packets;
    assert_eq!(packets, PacketCount { sent: 8, delivered: 2, dropped: 0, in_flight: 6 });
}

/// One transfer of a segment at 5 s, which takes 100 ms, and three at once, which take a millisecond more each.
#[test]
fn groups_of_transfers_are_told_apart() {
    let mut scenario = idle(8, 49_480_000, Buffer::Packets(9), 0, 10 * SECOND);
    let group = |sessions, start| {
        let arrivals = Arrivals::Sessions { sessions, mean_gap: 1_000_000 * SECOND };
        small_transfers(arrivals, start, Spread::fixed(0))
    };
    scenario.web = vec![group(1, 5 * SECOND), group(3, 0)];
    let [one, three] = &simulate(&scenario).traffic[..] else { panic!("two groups") };
    assert_eq!((one.transfers_completed, one.sent_packets, one.received_packets), (1, 1, 1));
    assert_eq!((three.transfers_completed, three.sent_packets, three.received_packets), (3, 3, 3));
    assert_eq!((one.throughput_bps, three.throughput_bps), (800.0, 2400.0));
    assert_eq!(one.mean_completion_s, 0.1);
    assert!((three.mean_completion_s - 0.101).abs() < 1e-12, "{}", three.mean_completion_s);
}

/// Received data of web transfers includes duplicates, as the link's throughput does. Tahoe retransmits all data beyond
/// a hole.
#[test]
fn transfers_receive_the_duplicates() {
    let mut scenario = idle(8, 20 * MS, Buffer::Packets(6), 0, 20 * SECOND);
    let tcp = Tcp { initial_window: 8, ..Tcp::new("tahoe", Recovery::Tahoe, vec![0]) };
    let arrivals = Arrivals::Sessions { sessions: 1, mean_gap: 1_000_000 * SECOND };
    let small = small_transfers(arrivals, 0, Spread::fixed(0));
    scenario.web = vec![Web { tcp, mean_size: 2e6, shape: 100.0, ..small }];
    let report = simulate(&scenario);
    let (link, web) = (&report.links[0].forward, &report.traffic[0]);
    assert_eq!((web.transfers_completed, web.sent_packets), (1, link.arrived_packets));
    assert_eq!(web.received_packets, link.arrived_packets - link.dropped_packets);
    // The segments of the transfer, of 1000 bytes each.
    let transfer = report.transfers[0].size_bytes.div_ceil(1000);
    assert!(web.received_packets > transfer, "{} packets of {transfer} segments", web.received_packets);
}

/// A datagram of a millisecond each 2 ms, from 1.5 ms on, sampled each 2 ms: one is there at every sample, and was for a quarter of the
/// first interval and half of each other one. Nothing crosses the second link.
#[test]
fn a_links_samples_are_its_own() {
    let mut scenario = idle(8, 0, Buffer::Packets(9), 0, 6 * MS);
    scenario.links.push(Link { name: "other".into(), ..scenario.links[0].clone() });
    scenario.series_interval = Some(2 * MS);
    scenario.udp = vec![Udp {
        rate_bps: 4_000_000,
        packet_size: 1000,
        start: Spread::fixed(1_500_000),
        stop: None,
        access_delay: Spread::fixed(0),
        path: vec![0],
        reverse: false,
        count: 1,
        frames: None,
        ip: Ip::default(),
        name: None,
    }];
    let series = simulate(&scenario).link_series;
    assert_eq!((series.t_s, series.entity), (vec![0.002, 0.004, 0.006, 0.002, 0.004, 0.006], vec![0, 0, 0, 1, 1, 1]));
    let named = |name: &str, values: [f64; 3]| (name.to_owned(), [values, [0.0; 3]].concat());
    let columns = [
        named("queue_packets", [1.0; 3]),
        named("utilization", [0.25, 0.5, 0.5]),
        named("arrived_packets", [1.0; 3]),
        named("dropped_packets", [0.0; 3]),
        named("marked_packets", [0.0; 3]),
        named("reverse_queue_packets", [0.0; 3]),
        named("reverse_utilization", [0.0; 3]),
        named("reverse_arrived_packets", [0.0; 3]),
        named("reverse_dropped_packets", [0.0; 3]),
        named("reverse_marked_packets", [0.0; 3]),
    ];
    assert_eq!(series.columns, columns);
}

/// The sums of a link's series equal its totals in both directions: arrivals, drops, and marks.
#[test]
fn what_series_count_adds_up() {
    for (queue, ecn) in [("codel", ", ecn = true"), ("red", ", ecn = true"), ("dualpi2", ""), ("step", "")] {
        let text = format!(
            "duration = \"12 s\"\nseries_interval = \"0.3 s\"\n[[links]]\nname = \"l\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
             buffer = \"100 packets\"\nqueue = {{ name = \"{queue}\"{ecn} }}\n\
             [[flows]]\nalgorithm = \"reno\"\necn = \"classic\"\ncount = 2\n",
        );
        let report = run(&Scenario::from_toml(&text).expect("a sound scenario"), &mut |_| true).expect("to its end");
        let sum = |name: &str| {
            let (_, column) = report.link_series.columns.iter().find(|(one, _)| one == name).expect(name);
            column.iter().sum::<f64>() as u64
        };
        let link = &report.links[0];
        for (prefix, way) in [("", &link.forward), ("reverse_", &link.reverse)] {
            let found = ["arrived", "dropped", "marked"].map(|what| sum(&format!("{prefix}{what}_packets")));
            assert_eq!(found, [way.arrived_packets, way.dropped_packets, way.marked_packets], "{queue}, {prefix}");
        }
        assert!(link.forward.marked_packets > 0, "{queue}");
    }
}

/// A transfer begun in the warm-up is not in the measurement interval; one begun at the interval's first instant is.
/// One segment takes 100 ms.
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

/// Transfers near the end are counted, although connections draw their access delays one after another. Traffic on
/// another link changes nothing, even with a distant sender.
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

/// One CUBIC flow over 50 Mbit/s and 600 ms loses thousands of packets in slow start, and repairs them in the
/// measurement interval. Data that had arrived before is not in its goodput, which equals the link's delivered data.
#[test]
fn goodput_stays_within_the_links_rate() {
    let mut scenario = idle(50, 300 * MS, Buffer::Packets(1875), 9 * SECOND, 12 * SECOND);
    scenario.flows = vec![flow(Tcp::new("cubic", Recovery::Sack, vec![0]), 0, None)];
    let report = simulate(&scenario);
    let goodput = report.flows[0].goodput_bps;
    assert!(goodput <= 50e6, "{goodput} bit/s");
    assert!(goodput <= report.flows[0].throughput_bps);
}

/// Tahoe retransmits all data beyond a hole. Throughput is the data on the link, and goodput is the flow's 2000
/// segments.
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

/// A packet per millisecond, acknowledged 11 ms after it began to be sent, in rows of 10 ms: none, nine, and then ten
/// per row.
#[test]
fn goodput_over_time_is_what_was_told_of_since_the_row_before() {
    let mut scenario = idle(8, 5 * MS, Buffer::Packets(100), 0, 200 * MS);
    scenario.series_interval = Some(10 * MS);
    let windows = |packets| Tcp {
        initial_window: packets,
        max_window: Some(packets.into()),
        ..Tcp::new("reno", Recovery::Reno, vec![0])
    };
    let back = Tcp { reverse: true, ..windows(1) };
    scenario.flows = vec![flow(windows(20), 0, None), flow(back, 95 * MS, None)];
    let series = simulate(&scenario).flow_series;
    let goodput = goodput_over_time(&series, 0);
    assert_eq!(goodput[..4], [0.0, 7.2e6, 8e6, 8e6]);
    // The other flow's begin with its own.
    let begins = series.entity.iter().filter(|&&flow| flow == 0).count();
    assert_eq!(series.t_s[begins], 0.1);
    assert_eq!(goodput_over_time(&series, 1)[0], 0.0);
}

/// With any loss, the sum of the rows is the received data, except for data not yet acknowledged. SACKed data counts
/// when the SACK arrives, so a flow in recovery has no empty row.
#[test]
fn goodput_over_time_adds_up_to_goodput() {
    for recovery in [Recovery::Sack, Recovery::NewReno, Recovery::Reno, Recovery::Rack] {
        let mut scenario = idle(8, 5 * MS, Buffer::Packets(6), 0, 4000 * MS);
        scenario.series_interval = Some(20 * MS);
        scenario.flows = vec![flow(Tcp::new("newreno", recovery, vec![0]), 0, None)];
        let report = simulate(&scenario);
        let told = goodput_over_time(&report.flow_series, 0);
        let told_packets = told.iter().sum::<f64>() * 0.02 / 8000.0;
        let flow = &report.flows[0];
        let got_packets = flow.goodput_bps * flow.active_s / 8000.0;
        assert!(flow.fast_recoveries > 3, "{recovery:?}: {}", flow.fast_recoveries);
        assert!(
            (told_packets..told_packets + 30.0).contains(&got_packets),
            "{recovery:?}: {told_packets}, {got_packets}"
        );
        if matches!(recovery, Recovery::Sack | Recovery::Rack) && flow.timeouts == 0 {
            assert!(told[2..].iter().all(|&bps| bps > 0.0), "{recovery:?}: {told:?}");
        }
    }
}

fn goodput_over_time(series: &Series, flow: u32) -> Vec<f64> {
    let (_, values) = series.columns.iter().find(|(name, _)| name == "goodput_bps").expect("the column");
    series.entity.iter().zip(values).filter(|(of, _)| **of == flow).map(|(_, value)| *value).collect()
}
