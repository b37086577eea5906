//! Generators of scenarios, for tests of reading and writing.

use super::*;

/// A time of at most `most` nanoseconds, often a round one.
pub fn time(most: u64) -> impl Strategy<Value = u64> {
    (0..=most, 0..10_u32).prop_map(|(value, digits)| value - value % 10_u64.pow(digits))
}

pub fn spread(most: u64) -> impl Strategy<Value = Spread> {
    (time(most), time(most)).prop_map(|(a, b)| Spread { low: a.min(b), high: a.max(b) })
}

pub fn direction() -> impl Strategy<Value = Link> {
    let buffer = prop_oneof![
        (1..1_000_000_u64).prop_map(Buffer::Packets),
        (70_000..1_000_000_000_u64).prop_map(Buffer::Bytes),
        time(1000 * SECOND).prop_map(|nanos| Buffer::Time(nanos.max(1))),
        Just(Buffer::Unlimited),
    ];
    let loss = prop_oneof![(0.0..0.9).prop_map(Loss::Independent), bursts()];
    let usual = (1..10_000_000_000_000_u64, time(100 * SECOND), buffer, queue(), loss);
    (usual, varying()).prop_map(|((rate_bps, delay, buffer, queue, loss), varying)| {
        let rate_bps = varying.trace.as_ref().map_or(rate_bps, Trace::rate_bps);
        Link { rate_bps, delay, buffer, queue, loss, ..varying }
    })
}

pub fn bursts() -> impl Strategy<Value = Loss> {
    let part = || 0.0..=1.0_f64;
    (part(), part(), part(), part()).prop_map(|(p, r, h, k)| Loss::GilbertElliott { p, r, h, k })
}

/// Varying parts of a link, each present or not.
pub fn varying() -> impl Strategy<Value = Link> {
    let jitter = (time(SECOND), 0..4_u8).prop_map(|(mean, law)| match law {
        0 => Jitter::of(JitterModel::Uniform { spread: mean / 3 }, mean),
        1 => Jitter { reorder: true, ..Jitter::of(JitterModel::Normal { spread: 3 * mean }, mean) },
        2 => Jitter { correlation: 0.5, ..Jitter::of(JitterModel::Pareto { spread: mean }, mean) },
        _ => Jitter::of(JitterModel::Wifi, mean.clamp(MILLISECOND, 91 * MILLISECOND)),
    });
    let reorder = (0.0..=1.0_f64, 1..100 * SECOND).prop_map(|(probability, delay)| Reorder { probability, delay });
    let policer = (1..9_999_999_u64, 70_000..9_999_999_u64).prop_map(|(rate_bps, burst)| Policer { rate_bps, burst });
    let trace = prop::collection::vec(1..9_u32, 1..20).prop_map(|steps| {
        let times = steps.iter().scan(0, |time, step| {
            *time += step;
            Some(*time)
        });
        Trace::new(times.collect()).expect("a trace")
    });
    let parts = (
        prop::option::of(jitter),
        prop::option::of(reorder),
        prop::option::of(1..100 * SECOND),
        prop::option::of(policer),
        prop::option::of(trace),
    );
    (parts, schedule()).prop_map(|((jitter, reorder, aggregation, policer, trace), mut schedule)| {
        let rates = schedule.changes.iter().any(|change| change.rate_bps.is_some());
        let trace = trace.filter(|_| !rates);
        schedule.repeat = schedule.repeat.filter(|_| !schedule.changes.is_empty());
        Link { jitter, reorder, aggregation, policer, trace, schedule, ..Link::default() }
    })
}

/// Rate, delay, and losses after a change.
type Said = (Option<u64>, Option<u64>, Option<Loss>);

pub fn schedule() -> impl Strategy<Value = Schedule> {
    let loss = prop_oneof![(0.0..=1.0_f64).prop_map(Loss::Independent), bursts()];
    let parts = (prop::option::of(0..9_999_u64), prop::option::of(time(SECOND)), prop::option::of(loss));
    let steps = prop::collection::vec((1..SECOND, parts), 0..4);
    (steps, prop::option::of(SECOND..9 * SECOND)).prop_map(|(steps, after)| {
        let mut at = 0;
        let change = |(step, (rate_bps, delay, loss)): (u64, Said)| {
            at += step;
            let rate_bps = rate_bps.or(if (delay, loss) == (None, None) { Some(1) } else { None });
            Change { at, rate_bps, delay, loss }
        };
        let changes = steps.into_iter().map(change).collect();
        Schedule { changes, repeat: after.map(|after| at + after) }
    })
}

pub fn link() -> impl Strategy<Value = Link> {
    let parts = ("[^\\p{Cc}]{1,12}", direction(), prop::option::of(direction()));
    parts.prop_map(|(name, forward, back)| Link {
        reverse: back.map(|back| Box::new(Link { name: name.clone(), ..back })),
        name,
        ..forward
    })
}

/// Any queue with any of its parameters.
pub fn queue() -> impl Strategy<Value = Queue> {
    let info = prop::sample::select(queues::ALL);
    info.prop_flat_map(|info| {
        let params: Vec<_> = info.params.iter().map(|param| prop::option::of(queue_value(param.kind))).collect();
        params.prop_map(move |values| {
            let mut queue = Queue::defaults(info);
            queue.given.extend(info.params.iter().zip(values).filter_map(|(param, value)| Some((param.name, value?))));
            let queue = queue.without_defaults();
            if (info.conflict)(&queue).is_some() { Queue::defaults(info) } else { queue }
        })
    })
}

pub fn queue_value(kind: queues::Kind) -> BoxedStrategy<queues::Value> {
    use queues::{Kind, Value};
    match kind {
        Kind::Time { min, max } => (min..=max).prop_map(Value::Time).boxed(),
        Kind::Packets { min, max } => (min..=max).prop_map(Value::Packets).boxed(),
        Kind::Bytes { min, max } => (min..=max).prop_map(Value::Bytes).boxed(),
        Kind::Number { min, max } => (min..=max).prop_map(Value::Number).boxed(),
        Kind::Whole { min, max } => (min..=max).prop_map(Value::Whole).boxed(),
        Kind::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        Kind::Choice(names) => prop::sample::select(names).prop_map(Value::Name).boxed(),
        Kind::Rate { min, max } => (min..=max).prop_map(Value::Rate).boxed(),
        Kind::PacketsOrTime => {
            prop_oneof![(1..1_000_000_u64).prop_map(Value::Packets), time(100 * SECOND).prop_map(Value::Time)].boxed()
        }
    }
}

/// One of a few hosts and classes.
fn ip(draw: u32) -> Ip {
    let host = |number: u32| (number % 3 != 0).then(|| format!("host {number}"));
    Ip { sender: host(draw), receiver: host(draw / 3), class: Class::ALL[draw as usize % 4] }
}

pub fn tcp() -> impl Strategy<Value = Tcp> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let windows = (1..100_u32, prop::option::of(1..9999_u64));
    let rate = prop::option::of(1..9_000_000_000_u64);
    let network = (time(SECOND), spread(100 * SECOND), rate, time(SECOND));
    let names = (
        prop::sample::select(&Recovery::ALL),
        prop::sample::select(&SlowStart::ALL),
        prop::sample::select(&Pacing::ALL),
        prop::sample::select(&EcnMode::ALL),
        prop::sample::select(&[Ecn::Ect0, Ecn::Ect1]),
    );
    (names, flags, windows, network).prop_map(
        |(
            (recovery, slow_start, pacing, ecn, ect),
            (delayed_ack, byte_counting, reverse),
            (initial_window, max_window),
            network,
        )| {
            let slow_start = if slow_start == SlowStart::Rapid && !recovery.repairs_many() {
                SlowStart::Standard
            } else {
                slow_start
            };
            let (timestamp_tick, access_delay, access_rate_bps, processing_time) = network;
            Tcp {
                slow_start,
                pacing: if slow_start == SlowStart::Rapid { Pacing::On } else { pacing },
                ecn,
                ect,
                delayed_ack,
                byte_counting,
                reverse,
                initial_window,
                max_window,
                rto: if byte_counting { RtoRule::Linux } else { RtoRule::Rfc6298 },
                sack_compression: reverse,
                timestamp_tick,
                rtt_tick: timestamp_tick / 2,
                access_delay,
                access_rate_bps,
                processing_time,
                ..Tcp::new("reno", recovery, vec![0])
            }
        },
    )
}

pub fn flows(start: Spread) -> impl Strategy<Value = FlowGroup> {
    let name = prop::option::of("[a-z\"é ]{1,8}");
    let what = prop_oneof![
        prop::option::of(1..9999_u64).prop_map(|size| (size, Source::Bulk)),
        source().prop_map(|source| (None, source)),
    ];
    let growth = prop::sample::select(&Growth::ALL[..]);
    (tcp(), name, 1..1000_u32, what, growth).prop_map(move |(tcp, name, count, (size, source), growth)| {
        let stop = size.map(|_| start.high + 1);
        let tcp = Tcp { name, growth, ..tcp };
        FlowGroup { tcp, count, start, stop, size, source }
    })
}

fn source() -> impl Strategy<Value = Source> {
    let rate = || 1..10_000_000_000_u64;
    prop_oneof![
        rate().prop_map(|rate_bps| Source::Rate { rate_bps }),
        (1e-6..1e6f64, law(), prop::option::of((1..9999_u64, 1..999_u64)), prop::option::of(1000..9_999_999_u64))
            .prop_map(|(per_second, size, key, deadline)| {
                let key = key.map(|(size, every)| KeyFrames { size, every });
                Source::Frames { per_second, size, key, deadline }
            }),
        (law(), law(), prop::option::of(rate())).prop_map(|(on, off, rate_bps)| Source::OnOff { on, off, rate_bps }),
    ]
}

fn law() -> impl Strategy<Value = Law> {
    let value = || 1000..9_999_999_999_u64;
    prop_oneof![
        value().prop_map(Law::Constant),
        value().prop_map(|mean| Law::Exponential { mean }),
        (value(), value()).prop_map(|(a, b)| Law::Uniform { low: a.min(b), high: a.max(b) }),
        (value(), 1.001..100.0).prop_map(|(mean, shape)| Law::Pareto { mean, shape }),
        (value(), value()).prop_map(|(mean, deviation)| Law::Lognormal { mean, deviation }),
    ]
}

pub fn udp(start: Spread) -> impl Strategy<Value = Udp> {
    let key = (1..99_999_u64, 1..1_000_000_u64).prop_map(|(size, every)| KeyFrames { size, every });
    let frames = (1e-6..1e3, 1..99_999_u64, prop::option::of(key)).prop_map(|(per_second, size, key)| Frames {
        per_second,
        size,
        key,
    });
    let numbers = (1..1_000_000_000_u64, 1..65_535_u32, 1..1000_u32);
    (numbers, spread(SECOND), any::<bool>(), prop::option::of(frames)).prop_map(
        move |((rate_bps, packet_size, count), access_delay, reverse, frames)| {
            let path = vec![0];
            let needs = frames.map_or(0.0, |frames| frames.mean_rate_bps(packet_size));
            let rate_bps = rate_bps.max(needs.ceil() as u64);
            Udp {
                rate_bps,
                packet_size,
                start,
                stop: None,
                access_delay,
                path,
                reverse,
                count,
                frames,
                name: None,
                ip: ip(count),
            }
        },
    )
}

pub fn web(start: Spread) -> impl Strategy<Value = Web> {
    let sessions =
        (1..1000_u32, 1000..SECOND).prop_map(|(sessions, mean_gap)| Arrivals::Sessions { sessions, mean_gap });
    let arrivals = prop_oneof![sessions, (0.001..1e6).prop_map(|per_second| Arrivals::Poisson { per_second })];
    (tcp(), arrivals, 1..1_000_000_000_u32, 1.01..50.0).prop_map(move |(tcp, arrivals, mean, shape)| {
        let mean_size = f64::from(mean);
        Web { tcp, arrivals, mean_size, shape, start, stop: None }
    })
}

pub fn scenario() -> impl Strategy<Value = Scenario> {
    let times = (1000..1_000_000_000_u64, time(500 * SECOND), spread(1000 * SECOND), any::<bool>());
    let numbers = (0..=i64::MAX as u64, 41..65_535_u32, 1..65_535_u32);
    (times, numbers, link()).prop_flat_map(|((rest, warmup, start, sampled), (seed, packet_size, ack_size), link)| {
        let duration = warmup.max(start.high) + rest;
        (flows(start), udp(start), web(start)).prop_map(move |(flows, udp, web)| Scenario {
            duration,
            warmup,
            seed,
            packet_size,
            ack_size,
            series_interval: sampled.then_some(duration),
            measure_jitter: sampled,
            links: vec![link.clone()],
            flows: vec![flows],
            udp: vec![udp],
            web: vec![web],
        })
    })
}
