//! Properties of every algorithm, every recovery, and every scenario.

use fullpipe_cc::registry;
use fullpipe_sim::scenario::{
    Arrivals, Buffer, FlowGroup, Ip, Link, Loss, Recovery, RtoRule, Source, Spread, Tcp, Udp, Web,
};
use fullpipe_sim::{Report, Scenario, run};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn simulate(scenario: &Scenario) -> Report {
    run(scenario, &mut |_| true).expect("nobody stops it")
}

/// Every bit of a report: NaN equals itself here.
fn bytes(report: &Report) -> String {
    format!("{report:?}")
}

fn link(name: &str) -> impl Strategy<Value = Link> {
    let name = name.to_owned();
    let buffer = prop_oneof![
        (1u64..120).prop_map(Buffer::Packets),
        (1_500u64..90_000).prop_map(Buffer::Bytes),
        Just(Buffer::Unlimited),
    ];
    let loss = prop_oneof![4 => Just(0.0), 1 => 0.0..0.05f64];
    (500_000u64..30_000_000, 0..60 * MS, buffer, loss).prop_map(move |(rate_bps, delay, buffer, loss)| Link {
        name: name.clone(),
        rate_bps,
        delay,
        buffer,
        loss: Loss::Independent(loss),
        ..Link::default()
    })
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let algorithm = (0..registry::ALL.len()).prop_map(|index| registry::ALL[index].name);
    let recovery = (0..Recovery::ALL.len()).prop_map(|index| Recovery::ALL[index]);
    let path = prop_oneof![Just(vec![0]), Just(vec![1]), Just(vec![0, 1]), Just(vec![1, 0])];
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), 0..3u64, 0..40 * MS, prop::option::of(4u64..40));
    (algorithm, recovery, path, options).prop_map(|(algorithm, recovery, path, options)| {
        let (reverse, delayed_ack, byte_counting, tick, access, max_window) = options;
        Tcp {
            reverse,
            delayed_ack,
            byte_counting,
            rto: if tick == 2 { RtoRule::Linux } else { RtoRule::Rfc6298 },
            sack_compression: tick > 0,
            timestamp_tick: tick * MS,
            rtt_tick: tick * MS,
            access_delay: Spread { low: access / 2, high: access },
            access_rate_bps: (tick == 1).then_some(50_000_000),
            processing_time: access / 20 * u64::from(reverse),
            max_window,
            ..Tcp::new(algorithm, recovery, path)
        }
    })
}

fn flows() -> impl Strategy<Value = FlowGroup> {
    let ends = (prop::option::of(1u64..3000), prop::option::of(1000 * MS..3000 * MS));
    (tcp(), 1u32..4, 0..900 * MS, ends).prop_map(|(tcp, count, start, (size, stop))| FlowGroup {
        tcp,
        count,
        start: Spread { low: 0, high: start },
        stop,
        size,
        source: Source::Bulk,
    })
}

fn web() -> impl Strategy<Value = Web> {
    let arrivals = prop_oneof![
        (1u32..6, 10 * MS..500 * MS).prop_map(|(sessions, mean_gap)| Arrivals::Sessions { sessions, mean_gap }),
        (1.0..30.0).prop_map(|per_second| Arrivals::Poisson { per_second }),
    ];
    (tcp(), arrivals, 2_000.0..40_000.0).prop_map(|(tcp, arrivals, mean_size)| Web {
        tcp,
        arrivals,
        mean_size,
        shape: 1.2,
        start: Spread::fixed(0),
        stop: None,
    })
}

fn udp() -> impl Strategy<Value = Udp> {
    (100_000u64..3_000_000, 100u32..1500, any::<bool>()).prop_map(|(rate_bps, packet_size, reverse)| Udp {
        rate_bps,
        packet_size,
        start: Spread { low: 0, high: 100 * MS },
        stop: None,
        access_delay: Spread::fixed(3 * MS),
        path: vec![0, 1],
        reverse,
        count: 1,
        frames: None,
        ip: Ip::default(),
        name: None,
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let traffic =
        (prop::collection::vec(flows(), 1..4), prop::collection::vec(udp(), 0..2), prop::collection::vec(web(), 0..2));
    (link("a"), link("b"), traffic, any::<u64>().prop_map(|seed| seed >> 1), 0..2000 * MS).prop_map(
        |(a, b, (flows, udp, web), seed, warmup)| Scenario {
            duration: 4000 * MS,
            warmup,
            seed,
            packet_size: 1000,
            ack_size: 40,
            series_interval: Some(5 * MS),
            measure_jitter: false,
            links: vec![a, b],
            flows,
            udp,
            web,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Nothing appears, nothing vanishes.
    #[test]
    fn packets_are_conserved(scenario in scenario()) {
        let count = simulate(&scenario).packets;
        prop_assert_eq!(count.sent, count.delivered + count.dropped + count.in_flight);
    }

    /// A scenario gives equal bytes twice, and on another thread.
    #[test]
    fn runs_are_repeatable(scenario in scenario()) {
        let first = bytes(&simulate(&scenario));
        let elsewhere = std::thread::scope(|scope| {
            let other = scope.spawn(|| bytes(&simulate(&scenario)));
            let here = bytes(&simulate(&scenario));
            (here, other.join().expect("no panic"))
        });
        prop_assert_eq!(&first, &elsewhere.0);
        prop_assert_eq!(&first, &elsewhere.1);
    }

    /// Queues stay within their limits, links within their rates.
    #[test]
    fn links_keep_their_limits(scenario in scenario()) {
        let report = simulate(&scenario);
        for (link, measured) in scenario.links.iter().zip(&report.links) {
            for direction in [&measured.forward, &measured.reverse] {
                if let Buffer::Packets(limit) = link.buffer {
                    prop_assert!(direction.max_queue_packets <= limit);
                    prop_assert!(direction.mean_queue_packets <= limit as f64);
                }
                prop_assert!((0.0..=1.0).contains(&direction.utilization));
                prop_assert!((0.0..=1.0).contains(&direction.loss_rate));
            }
        }
        for (name, column) in &report.link_series.columns {
            let limit = if name.ends_with("utilization") { 1.0 } else { f64::INFINITY };
            prop_assert!(column.iter().all(|&x| (0.0..=limit).contains(&x)), "{}", name);
        }
    }

    /// Received data has been sent, goodput is at most throughput, and a rate is at most the slowest link's, plus one
    /// packet. After a warm-up it is at most the last link's, because data waiting there at the end of the warm-up may
    /// have crossed a slower link before.
    #[test]
    fn figures_of_flows_and_traffic_agree(mut scenario in scenario(), with_warmup in any::<bool>()) {
        scenario.warmup *= u64::from(with_warmup);
        let report = simulate(&scenario);
        let groups = scenario.flows.iter().flat_map(|g| std::iter::repeat_n(&g.tcp, g.count as usize));
        for (flow, tcp) in report.flows.iter().zip(groups).filter(|(flow, _)| flow.active_s > 0.0) {
            let last = if tcp.reverse { tcp.path.first() } else { tcp.path.last() };
            let counted = if scenario.warmup > 0 { std::slice::from_ref(last.expect("a link")) } else { &tcp.path[..] };
            let rate = counted.iter().map(|&link| scenario.links[link].rate_bps).min().expect("a link") as f64;
            prop_assert!(flow.goodput_bps <= flow.throughput_bps);
            prop_assert!(flow.goodput_bps * flow.active_s <= rate * flow.active_s + 8000.0);
            prop_assert!(flow.mean_cwnd_packets >= 1.0);
        }
        prop_assert!(report.jain_index.is_nan() || report.jain_index <= 1.0);
        for traffic in &report.traffic {
            prop_assert!(with_warmup || traffic.received_packets <= traffic.sent_packets);
            prop_assert!(traffic.transfers_completed <= traffic.transfers_started);
        }
        for link in report.links.iter().flat_map(|link| [&link.forward, &link.reverse]) {
            prop_assert!(link.mean_queue_packets <= link.max_queue_packets as f64);
            prop_assert!(link.dropped_packets + link.wire_lost_packets <= link.arrived_packets);
        }
    }

    /// Windows never fall below a segment, and the estimated data in flight never exceeds the largest window. Limited
    /// transmit (RFC 3042) and the fast retransmission add three segments. This does not hold if recovery estimates
    /// from duplicate ACKs alone which segments have left the network: when ACKs are lost, Reno and NewReno count too
    /// many.
    #[test]
    fn windows_bound_what_is_in_flight(scenario in scenario()) {
        let series = simulate(&scenario).flow_series;
        let column = |name: &str| &series.columns.iter().find(|(n, _)| n == name).expect("a common column").1;
        let [cwnd, ssthresh, in_flight] = ["cwnd_packets", "ssthresh_packets", "in_flight_packets"].map(column);
        let recoveries = scenario.flows.iter().flat_map(|g| std::iter::repeat_n(g.tcp.recovery, g.count as usize));
        let knows: Vec<_> = recoveries.map(|r| matches!(r, Recovery::Sack | Recovery::Tahoe)).collect();
        let mut flow = u32::MAX;
        let mut largest = 0.0f64;
        for row in 0..series.t_s.len() {
            prop_assert!(cwnd[row] >= 1.0 && cwnd[row].is_finite(), "cwnd {}", cwnd[row]);
            if series.entity[row] != flow {
                flow = series.entity[row];
                largest = 0.0;
            }
            // Between two samples 5 ms apart, slow start may add the segments that 5 ms of the fastest link
            // acknowledge. ACKs that have waited in a queue arrive faster. A window that they increase before it is cut
            // was at most twice the window after the cut.
            largest = largest.max(cwnd[row]).max(2.0 * ssthresh[row]);
            let room = largest + 30e6 * 0.005 / 8000.0 + 3.0;
            let bounded = !knows[flow as usize] || in_flight[row] <= room;
            prop_assert!(bounded, "{} in flight, at most {}", in_flight[row], room);
        }
    }

    /// A finite flow that completes has delivered exactly its data.
    #[test]
    fn finite_flows_deliver_their_size(size in 1u64..400, seed in 0..=i64::MAX as u64, loss in 0.0..0.05f64) {
        for info in registry::ALL {
            let tcp = Tcp::new(info.name, Recovery::find(info.recovery).expect("a recovery"), vec![0]);
            let group = FlowGroup { tcp, count: 1, start: Spread::fixed(0), stop: None, size: Some(size), source: Source::Bulk };
            let scenario = Scenario {
                duration: 2_000_000 * MS,
                warmup: 0,
                seed,
                packet_size: 1000,
                ack_size: 40,
                series_interval: None,
                measure_jitter: false,
                links: vec![Link {
                    name: "l".into(),
                    rate_bps: 10_000_000,
                    delay: 20 * MS,
                    buffer: Buffer::Packets(20),
                    loss: Loss::Independent(loss),
                    ..Link::default()
                }],
                flows: vec![group],
                udp: vec![],
                web: vec![],
            };
            let report = simulate(&scenario);
            let flow = &report.flows[0];
            prop_assert!(flow.completion_s > 0.0, "{} never completes", info.name);
            prop_assert_eq!((flow.goodput_bps * flow.active_s / 8000.0).round() as u64, size, "{}", info.name);
            prop_assert_eq!(report.data_packets, size + flow.retransmits);
        }
    }
}

/// One flow over a lossless link with room for everything.
fn lossless(rate_bps: u64, delay: u64, duration: u64, tcp: Tcp, size: Option<u64>) -> Scenario {
    Scenario {
        duration,
        warmup: 0,
        seed: 1,
        packet_size: 1000,
        ack_size: 40,
        series_interval: None,
        measure_jitter: false,
        links: vec![Link { name: "l".into(), rate_bps, delay, buffer: Buffer::Unlimited, ..Link::default() }],
        flows: vec![FlowGroup { tcp, count: 1, start: Spread::fixed(0), stop: None, size, source: Source::Bulk }],
        udp: vec![],
        web: vec![],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// RFC 6298 with its granularity term: no timer expires where the RTT is constant and nothing is lost, whatever the RTT (1 us
    /// to 10 s), the least timeout and the tick of the clock. 41 bytes at 10 Tbit/s take a thirtieth of a nanosecond.
    #[test]
    fn a_constant_rtt_has_no_timeouts(
        decade in 0..7u32,
        part in 1000u64..=10_000,
        access in prop::bool::ANY,
        tcp in tcp(),
        window in 1u64..16,
        min_rto in prop::sample::select(vec![1_000, MS, 200 * MS, 100_000 * MS]),
        tick in prop::sample::select(vec![0, MS, 10 * MS, 1000 * MS]),
    ) {
        let rtt = part * 10u64.pow(decade);
        let access_delay = Spread::fixed(if access { rtt / 8 } else { 0 });
        let tcp = Tcp {
            access_delay,
            access_rate_bps: None,
            processing_time: 0,
            delayed_ack: false,
            max_window: Some(window),
            min_rto,
            rto: RtoRule::Rfc6298,
            timestamp_tick: tick,
            rtt_tick: tick,
            path: vec![0],
            ..tcp
        };
        let delay = rtt / 2 - access_delay.low;
        let scenario = Scenario { packet_size: 41, ..lossless(10_000_000_000_000, delay, 1000 * rtt, tcp, None) };
        let flow = &simulate(&scenario).flows[0];
        prop_assert_eq!((flow.timeouts, flow.retransmits), (0, 0));
    }
}

/// 999 segments, one at a time, over 300 ms.
#[test]
fn a_window_of_one_has_no_timeouts() {
    let tcp = Tcp { max_window: Some(1), ..Tcp::new("reno", Recovery::Reno, vec![0]) };
    let report = simulate(&lossless(10_000_000, 150 * MS, 400_000 * MS, tcp, Some(999)));
    assert_eq!((report.flows[0].timeouts, report.data_packets), (0, 999));
}

/// 1000 bytes take 0.8 s at 10 kbit/s and their ACK of 40 bytes 0.032 s; with 84 ms each way it arrives 1 s after the segment left, when
/// the first timeout is due (`min_rto`, RFC 6298 rule 2.4). It stops the timer.
#[test]
fn an_ack_comes_before_the_timer_of_the_same_moment() {
    let tcp = Tcp { min_rto: 1000 * MS, ..Tcp::new("reno", Recovery::Reno, vec![0]) };
    let report = simulate(&lossless(10_000, 84 * MS, 10_000 * MS, tcp, Some(1)));
    assert_eq!((report.flows[0].completion_s, report.flows[0].timeouts), (1.0, 0));
}

/// Nothing changes at an RTT of one second, which RFC 6298 rule 2.1 waits before the first sample. Paths of 980 ms, 1
/// s, and 20 s begin without a timeout, and with equal windows in an equal number of round trips.
#[test]
fn long_paths_begin_without_a_timeout() {
    let sent = |delay: u64| {
        let tcp = Tcp::new("reno", Recovery::Sack, vec![0]);
        let report = simulate(&lossless(10_000_000_000, delay * MS, 23 * delay * MS, tcp, None));
        assert_eq!(report.flows[0].timeouts, 0, "{delay} ms");
        report.data_packets
    };
    // 11 whole round trips of slow start from 2 segments, and the twelfth under way: 2 (2^12 - 1).
    assert_eq!([490, 500, 10_000].map(sent), [8190; 3]);
}

/// Reno alone on an under-buffered link: the closed form of Hyun and Jang (reciprocal of equation 5): 0.8322 at k = 1/8, 0.8929
/// at 1/4, 0.9643 at 1/2, 0.9932 at 3/4. It takes the fall of the window as immediate; half a per cent is left for the round
/// trips it takes.
#[test]
fn reno_meets_its_closed_form() {
    for (buffer, expected) in [(125, 0.8322), (250, 0.8929), (500, 0.9643), (750, 0.9932)] {
        let tcp = Tcp { access_delay: Spread::fixed(MS), ..Tcp::new("reno", Recovery::Reno, vec![0]) };
        let scenario = Scenario {
            duration: 400_000 * MS,
            warmup: 100_000 * MS,
            seed: 1,
            packet_size: 1000,
            ack_size: 40,
            series_interval: None,
            measure_jitter: false,
            links: vec![Link {
                name: "bottleneck".into(),
                rate_bps: 100_000_000,
                delay: 39 * MS,
                buffer: Buffer::Packets(buffer),
                ..Link::default()
            }],
            flows: vec![FlowGroup {
                tcp,
                count: 1,
                start: Spread::fixed(0),
                stop: None,
                size: None,
                source: Source::Bulk,
            }],
            udp: vec![],
            web: vec![],
        };
        let utilization = simulate(&scenario).links[0].forward.utilization;
        assert!((utilization - expected).abs() < 0.0075, "{utilization} at {buffer} packets, {expected} in theory");
    }
}

/// The watch stops a run.
#[test]
fn a_run_can_be_stopped() {
    let tcp = Tcp::new("reno", Recovery::Sack, vec![0]);
    let link =
        Link { name: "l".into(), rate_bps: 100_000_000, delay: MS, buffer: Buffer::Packets(50), ..Link::default() };
    let scenario = Scenario {
        duration: 1_000_000 * MS,
        warmup: 0,
        seed: 1,
        packet_size: 1000,
        ack_size: 40,
        series_interval: None,
        measure_jitter: false,
        links: vec![link],
        flows: vec![FlowGroup { tcp, count: 1, start: Spread::fixed(0), stop: None, size: None, source: Source::Bulk }],
        udp: vec![],
        web: vec![],
    };
    let mut times = Vec::new();
    let stopped = run(&scenario, &mut |now| {
        times.push(now);
        times.len() < 3
    });
    assert_eq!(stopped, Err(fullpipe_sim::Stopped::Interrupted));
    assert!(times.len() == 3 && times.is_sorted(), "{times:?}");
}
