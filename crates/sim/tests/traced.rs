//! A drop-tail link with a trace computes the departure of a packet when it arrives. The report equals, to the last
//! bit, that of a link served one packet after another. All events are on whole milliseconds, as opportunities are, so
//! that there are many ties.

use fullpipe_cc::registry;
use fullpipe_sim::scenario::{
    Arrivals, Buffer, FlowGroup, Ip, Link, Loss, Recovery, Source, Spread, Tcp, Trace, Udp, Web,
};
use fullpipe_sim::{Scenario, Serving, run, run_served};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn trace() -> impl Strategy<Value = Trace> {
    let steps = prop_oneof![8 => 0u32..3, 2 => 3u32..20, 1 => 100u32..400];
    prop::collection::vec(steps, 1..60).prop_map(|steps| {
        let mut time = 0;
        let mut times: Vec<u32> = steps.iter().map(|step| (time += step, time).1).collect();
        times.push(time.max(1));
        Trace::new(times).expect("a trace")
    })
}

fn direction() -> impl Strategy<Value = Link> {
    let buffer = prop_oneof![
        (1u64..120).prop_map(Buffer::Packets),
        (1_500u64..90_000).prop_map(Buffer::Bytes),
        (1..300 * MS).prop_map(Buffer::Time),
        Just(Buffer::Unlimited),
    ];
    let loss = prop_oneof![3 => Just(0.0), 1 => 0.0..0.05f64];
    let traced = prop_oneof![1 => Just(None), 3 => trace().prop_map(Some)];
    let rate = prop_oneof![Just(8_000_000), 500_000u64..30_000_000];
    (traced, rate, 1..40u64, buffer, loss).prop_map(|(trace, rate_bps, delay, buffer, loss)| Link {
        name: "l".into(),
        rate_bps: trace.as_ref().map_or(rate_bps, Trace::rate_bps),
        trace,
        delay: delay * MS,
        buffer,
        loss: Loss::Independent(loss),
        ..Link::default()
    })
}

fn link() -> impl Strategy<Value = Link> {
    (direction(), prop::option::of(direction()))
        .prop_map(|(forward, back)| Link { reverse: back.map(Box::new), ..forward })
}

fn path() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![0]), Just(vec![1]), Just(vec![0, 1]), Just(vec![1, 0])]
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let algorithm = (0..registry::ALL.len()).prop_map(|index| registry::ALL[index].name);
    let recovery = (0..Recovery::ALL.len()).prop_map(|index| Recovery::ALL[index]);
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), 0..4u64, 0..3u64);
    (algorithm, recovery, path(), options).prop_map(|(algorithm, recovery, path, options)| {
        let (reverse, delayed_ack, handshake, low, more) = options;
        Tcp {
            reverse,
            delayed_ack,
            handshake,
            access_delay: Spread { low: low * MS, high: (low + more) * MS },
            ..Tcp::new(algorithm, recovery, path)
        }
    })
}

fn flows() -> impl Strategy<Value = FlowGroup> {
    let ends = (prop::option::of(1u64..2000), prop::option::of(1000..2500u64));
    (tcp(), 1u32..4, 0..900u64, ends).prop_map(|(tcp, count, start, (size, stop))| FlowGroup {
        tcp,
        count,
        start: Spread::fixed(start * MS),
        stop: stop.map(|stop| stop * MS),
        size,
        source: Source::Bulk,
    })
}

/// A source with a packet every given number of milliseconds.
fn udp() -> impl Strategy<Value = Udp> {
    (1u64..5, 100u32..2000, any::<bool>(), path(), 1u32..4).prop_map(|(gap, packet_size, reverse, path, count)| Udp {
        rate_bps: u64::from(packet_size) * 8_000 / gap,
        packet_size,
        start: Spread::fixed(3 * MS),
        stop: None,
        access_delay: Spread::fixed(MS),
        path,
        reverse,
        count,
        frames: None,
        ip: Ip::default(),
        name: None,
    })
}

fn web() -> impl Strategy<Value = Web> {
    let arrivals = prop_oneof![
        (1u32..6, 10 * MS..500 * MS).prop_map(|(sessions, mean_gap)| Arrivals::Sessions { sessions, mean_gap }),
        (1.0..30.0).prop_map(|per_second| Arrivals::Poisson { per_second }),
    ];
    (tcp(), arrivals).prop_map(|(tcp, arrivals)| Web {
        tcp,
        arrivals,
        mean_size: 20_000.0,
        shape: 1.2,
        start: Spread::fixed(0),
        stop: None,
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let traffic =
        (prop::collection::vec(flows(), 1..4), prop::collection::vec(udp(), 0..3), prop::collection::vec(web(), 0..2));
    let sizes = prop_oneof![Just((1504, 47)), Just((1000, 40)), (41u32..4000, 1u32..100)];
    let lengths = (0..1500u64, 1..1500u64, 1..20u64);
    ((link(), link()), traffic, sizes, lengths, any::<u64>()).prop_map(
        |(links, (flows, udp, web), sizes, lengths, seed)| {
            let (warmup, measured, interval) = lengths;
            Scenario {
                duration: (warmup + measured) * MS,
                warmup: warmup * MS,
                seed,
                packet_size: sizes.0,
                ack_size: sizes.1,
                series_interval: Some(interval * MS),
                measure_jitter: true,
                links: vec![links.0, Link { name: "m".into(), ..links.1 }],
                flows,
                udp,
                web,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_same_however_it_is_served(scenario in scenario()) {
        let plain = format!("{:?}", run(&scenario, &mut |_| true));
        for serving in [Serving::Everywhere, Serving::Promptly] {
            let served = format!("{:?}", run_served(&scenario, serving, &mut |_| true));
            let same = plain.chars().zip(served.chars()).take_while(|(a, b)| a == b).count();
            let from = |text: &str| text.chars().skip(same.saturating_sub(200)).take(300).collect::<String>();
            prop_assert!(plain == served, "{serving:?}: {}\nclosed form: {}", from(&served), from(&plain));
        }
    }
}
