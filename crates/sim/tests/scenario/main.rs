//! Good scenarios: meanings of keys, defaults, and round trips through text.

mod generated;

use fullpipe_cc::params::Kind;
use fullpipe_cc::registry;
use fullpipe_cc::time::{MILLISECOND, SECOND};
use fullpipe_sim::Scenario;
use fullpipe_sim::queues;
use fullpipe_sim::scenario::{
    Algorithm, Arrivals, Buffer, Change, Class, Ecn, EcnMode, FlowGroup, Frames, Growth, IdleRule, Ip, Jitter,
    JitterModel, KeyFrames, Law, Link, Loss, Pacing, Policer, Queue, Recovery, Reorder, RtoRule, Schedule, SlowStart,
    Source, Spread, Table, Tcp, Trace, Udp, Web,
};
use generated::scenario;
use proptest::prelude::*;

const LINK: &str = "[[links]]\nname = \"l\"\nrate = \"100 Mbit/s\"\ndelay = \"39 ms\"\nbuffer = \"0.25 BDP\"\n";

/// One entry of each other kind, to follow a flow.
const ALL: &str = "[[udp]]\nrate = \"1 Mbit/s\"\n\
    [[web]]\nalgorithm = \"reno\"\nsessions = 2\nmean_gap = \"1 s\"\nmean_size = \"12 kB\"\n";

fn parse(text: &str) -> Scenario {
    Scenario::from_toml(text).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

fn with_flow(keys: &str) -> Scenario {
    parse(&format!("duration = \"400 s\"\n{LINK}[[flows]]\nalgorithm = \"reno\"\naccess_delay = \"1 ms\"\n{keys}"))
}

/// 100 Mbit/s times 2 (39 ms + 1 ms) is 8 Mbit, 1000 packets of 1000 bytes; a quarter is 250.
#[test]
fn defaults_follow_the_documentation() {
    let scenario = with_flow("");
    assert_eq!(scenario.duration, 400 * SECOND);
    assert_eq!((scenario.warmup, scenario.seed), (0, 1));
    assert_eq!((scenario.packet_size, scenario.ack_size), (1000, 40));
    assert_eq!(scenario.series_interval, Some(400 * MILLISECOND));
    let link = Link {
        name: "l".to_owned(),
        rate_bps: 100_000_000,
        delay: 39 * MILLISECOND,
        buffer: Buffer::Packets(250),
        ..Link::default()
    };
    assert_eq!(scenario.links, [link]);
    let group = &scenario.flows[0];
    assert_eq!((group.count, group.start, group.stop, group.size), (1, Spread::fixed(0), None, None));
    let tcp = Tcp { access_delay: Spread::fixed(MILLISECOND), ..Tcp::new("reno", Recovery::Reno, vec![0]) };
    assert_eq!(group.tcp, tcp);
}

/// The first flow that crosses the link counts, with the middle of its spread: 2 (39 + (80 + 250) / 2) ms = 408 ms,
/// times 100 Mbit/s is 5100 packets of 1000 bytes.
#[test]
fn a_bdp_takes_the_middle_of_a_spread_of_the_first_flow() {
    let flows = "[[flows]]\nalgorithm = \"reno\"\naccess_delay = \"80 ms..250 ms\"\n[[flows]]\nalgorithm = \"tahoe\"\n";
    let scenario = parse(&format!("duration = \"9 s\"\n{}{flows}", LINK.replace("0.25", "1")));
    assert_eq!(scenario.links[0].buffer, Buffer::Packets(5100));
    let spread = Spread { low: 80 * MILLISECOND, high: 250 * MILLISECOND };
    assert_eq!(scenario.flows[0].tcp.access_delay, spread);
}

#[test]
fn a_tiny_bdp_is_one_packet() {
    let scenario =
        parse(&format!("duration = \"9 s\"\n{}[[flows]]\nalgorithm = \"reno\"", LINK.replace("0.25", "1e-6")));
    assert_eq!(scenario.links[0].buffer, Buffer::Packets(1));
}

/// 1 MB is 1000 packets of 1000 bytes; a byte more needs another packet.
#[test]
fn sizes_in_bytes_are_rounded_up_to_packets() {
    for (size, segments) in [("1 MB", 1000), ("1000001 B", 1001), ("7 segments", 7), ("1 packet", 1)] {
        assert_eq!(with_flow(&format!("size = \"{size}\"")).flows[0].size, Some(segments), "{size}");
    }
}

#[test]
fn every_tcp_key_is_read() {
    let scenario = with_flow(
        r#"
        recovery = "sack"
        delayed_ack = true
        delayed_ack_timeout = "200 ms"
        slow_start = "hystart"
        pacing = "on"
        ecn = "accurate"
        ect = 1
        handshake = true
        byte_counting = true
        initial_window = 10
        max_window = "20 segments"
        min_rto = "1 s"
        rto = "linux"
        idle = "linux"
        sack_compression = true
        timestamp_tick = "10 ms"
        rtt_tick = "10 us"
        access_rate = "1 Gbit/s"
        processing_time = "400 us"
        reverse = true
        count = 3
        start = "1 s..2 s"
        stop = "1 min"
        "#,
    );
    let group = &scenario.flows[0];
    let expected = Tcp {
        delayed_ack: true,
        delayed_ack_timeout: 200 * MILLISECOND,
        slow_start: SlowStart::HyStart,
        pacing: Pacing::On,
        ecn: EcnMode::Accurate,
        ect: Ecn::Ect1,
        handshake: true,
        byte_counting: true,
        initial_window: 10,
        max_window: Some(20),
        min_rto: SECOND,
        rto: RtoRule::Linux,
        idle: IdleRule::Linux,
        sack_compression: true,
        timestamp_tick: 10 * MILLISECOND,
        rtt_tick: 10_000,
        access_delay: Spread::fixed(MILLISECOND),
        access_rate_bps: Some(1_000_000_000),
        processing_time: 400_000,
        reverse: true,
        ..Tcp::new("reno", Recovery::Sack, vec![0])
    };
    assert_eq!(group.tcp, expected);
    assert_eq!((group.count, group.stop), (3, Some(60 * SECOND)));
    assert_eq!(group.start, Spread { low: SECOND, high: 2 * SECOND });
}

/// `host = "linux"` in full, by Linux's documentation; HyStart is its CUBIC's own. Any key may still be set.
#[test]
fn a_linux_host_is_a_preset_of_keys() {
    let read = |flow: &str| parse(&format!("duration = \"9 s\"\n{LINK}[[flows]]\n{flow}"));
    let linux = Tcp {
        prr: true,
        undo: true,
        handshake: true,
        delayed_ack: true,
        delayed_ack_timeout: 40 * MILLISECOND,
        byte_counting: true,
        initial_window: 10,
        min_rto: 200 * MILLISECOND,
        rto: RtoRule::Linux,
        idle: IdleRule::Linux,
        sack_compression: true,
        timestamp_tick: MILLISECOND,
        rtt_tick: 1000,
        ..Tcp::new("reno", Recovery::Rack, vec![0])
    };
    let reno = read("algorithm = \"reno\"\nhost = \"linux\"");
    assert_eq!((&reno.flows[0].tcp, reno.packet_size), (&linux, 1500));
    assert_eq!(Scenario::from_toml(&reno.to_toml()).as_ref(), Ok(&reno), "what is kept says it all");
    let cubic = read("algorithm = \"cubic\"\nhost = \"linux\"\ninitial_window = 4");
    assert_eq!((cubic.flows[0].tcp.slow_start, cubic.flows[0].tcp.initial_window), (SlowStart::HyStart, 4));
    let plain = read("algorithm = \"reno\"\ntimestamp_tick = \"7 ms\"");
    assert_eq!(
        plain.flows[0].tcp.rtt_tick,
        7 * MILLISECOND,
        "round trips are measured by timestamps, where nothing else is said"
    );
    let sack = read("algorithm = \"cubic\"\nhost = \"linux\"\nrecovery = \"sack\"\nslow_start = \"standard\"");
    assert_eq!((sack.flows[0].tcp.recovery, sack.flows[0].tcp.prr), (Recovery::Sack, false));
    assert_eq!(sack.flows[0].tcp.slow_start, SlowStart::Standard);
    let classic = read("algorithm = \"cubic\"\nhost = \"classic\"");
    assert_eq!((&classic.flows[0].tcp, classic.packet_size), (&read("algorithm = \"cubic\"").flows[0].tcp, 1000));
    let mixed = read("algorithm = \"cubic\"\nhost = \"linux\"\n[[flows]]\nalgorithm = \"reno\"");
    assert_eq!(mixed.packet_size, 1000, "not all are Linux's");
}

fn link_with(keys: &str) -> Link {
    let flow = "[[flows]]\nalgorithm = \"reno\"";
    parse(&format!("duration = \"9 s\"\n{LINK}{keys}\n{flow}")).links.remove(0)
}

/// Defaults are left out; a name alone is the queue with its defaults.
#[test]
fn a_queue_with_parameters() {
    use queues::Value;
    let queue = |text: &str| link_with(&format!("queue = {text}")).queue;
    assert_eq!(queue("\"drop-tail\""), link_with("").queue);
    let codel = queue(
        "{ name = \"codel\", sqrt = \"newton\", target = \"5 ms\", interval = \"50 ms\", ecn = true, mtu = \"1.5 kB\" }",
    );
    assert_eq!(codel.info.name, "codel");
    let given = [
        ("interval", Value::Time(50 * MILLISECOND)),
        ("ecn", Value::Flag(true)),
        ("sqrt", Value::Name("newton")),
        ("mtu", Value::Bytes(1500)),
    ];
    assert_eq!(codel.given, given);
    assert_eq!(queue("{ name = \"codel\", target = \"0.005 s\" }"), queue("\"codel\""));
    let threshold = |text: &str| queue(&format!("{{ name = \"step\", threshold = \"{text}\" }}")).given;
    assert_eq!(threshold("20 packets"), [("threshold", Value::Packets(20))]);
    assert_eq!(threshold("1 ms"), [("threshold", Value::Time(MILLISECOND))]);
    assert_eq!(threshold("65 packets"), []);
    assert_eq!(queue("{ name = \"fq-codel\", flows = 1 }").given, [("flows", Value::Whole(1))]);
    assert_eq!(queue("{ name = \"red\", w_q = 1 }").given, [("w_q", Value::Number(1.0))]);
    assert_eq!(queue("{ name = \"red\", min_th = \"14 packets\" }").given, [("min_th", Value::Packets(14))]);
    assert_eq!(queue("{ name = \"ared\", bottom = 0.5 }").given, [("bottom", Value::Number(0.5))]);
}

/// The bounds of a parameter are allowed, unless another parameter forbids them, and written values are read back, for every queue.
#[test]
fn every_queue_and_parameter_can_be_given() {
    use queues::{Kind, Value};
    let mut conflicts = Vec::new();
    for info in queues::ALL {
        assert_eq!(link_with(&format!("queue = \"{}\"", info.name)).queue, Queue::defaults(info));
        for param in info.params {
            let values = match param.kind {
                Kind::Time { min, max } => vec![Value::Time(min), Value::Time(max)],
                Kind::Packets { min, max } => vec![Value::Packets(min), Value::Packets(max)],
                Kind::Bytes { min, max } => vec![Value::Bytes(min), Value::Bytes(max)],
                Kind::Rate { min, max } => vec![Value::Rate(min), Value::Rate(max)],
                Kind::PacketsOrTime => vec![Value::Packets(1), Value::Time(0), Value::Time(100 * SECOND)],
                Kind::Number { min, max } => vec![Value::Number(min), Value::Number(max)],
                Kind::Whole { min, max } => vec![Value::Whole(min), Value::Whole(max)],
                Kind::Flag => vec![Value::Flag(false), Value::Flag(true)],
                Kind::Choice(names) => names.iter().copied().map(Value::Name).collect(),
            };
            for value in values {
                let mut queue = Queue::defaults(info);
                queue.given.push((param.name, value));
                let text =
                    format!("queue = {{ name = \"{}\", {} = {} }}", info.name, param.name, queues::written(value));
                match (info.conflict)(&queue) {
                    None => assert_eq!(link_with(&text).queue, queue, "{text}"),
                    Some((name, ..)) => conflicts.push((info.name, param.name, name)),
                }
            }
        }
    }
    let of_red = [("red", "min_th", "min_th"), ("red", "max_th", "min_th")];
    let of_ared = [("ared", "bottom", "bottom"), ("ared", "top", "bottom")];
    assert_eq!(conflicts, [of_red, of_ared].concat());
}

/// A value that is given holds, also where it is the general default and the variant has another.
#[test]
fn given_parameters_win_over_the_defaults_of_a_variant() {
    let mut tried = 0;
    for info in queues::ALL {
        let cases = info.params.iter().flat_map(|param| param.variants.iter().map(move |(name, _)| (param, name)));
        for (param, variant) in cases {
            let general = Queue::defaults(info).value(param.name).expect("a default");
            let (name, key, value) = (info.name, param.name, queues::written(general));
            let text = format!("queue = {{ name = \"{name}\", variant = \"{variant}\", {key} = {value} }}");
            assert_eq!(link_with(&text).queue.value(key), Some(general), "{text}");
            tried += 1;
        }
    }
    for info in registry::ALL {
        let cases = info.params.iter().flat_map(|param| param.variants.iter().map(move |(name, _)| (param, name)));
        for (param, variant) in cases {
            let (name, key, general) = (info.name, param.name, param.default.expect("a default"));
            let value = queues::written(general);
            let flow = format!("algorithm = {{ name = \"{name}\", variant = \"{variant}\", {key} = {value} }}");
            let scenario = parse(&format!("duration = \"9 s\"\n{LINK}[[flows]]\n{flow}"));
            assert_eq!(scenario.flows[0].tcp.algorithm.params().value(key), Some(general), "{flow}");
            tried += 1;
        }
    }
    // BBRv3's 9; CoDel's root twice; PIE's 3; FQ-PIE's 2; DualPI2's 8 of two variants but th_len of one.
    assert_eq!(tried, 9 + 2 + 3 + 2 + 17);
}

/// RFC 9332 figure 2 with its own numbers, and Linux's constants.
#[test]
fn a_resolved_queue_has_its_derived_defaults() {
    let resolved = |queue: &str| link_with(&format!("queue = {queue}")).queue;
    let dualpi2 = resolved("\"dualpi2\"");
    let values = |queue: &Queue| (queue.time("update"), queue.number("alpha"), queue.number("beta"));
    let (update, alpha, beta) = values(&dualpi2);
    assert_eq!(update, 15 * MILLISECOND);
    assert!((alpha - 0.15).abs() < 1e-12 && (beta - 3.0).abs() < 1e-12, "{alpha} {beta}");
    let linux = resolved("{ name = \"dualpi2\", variant = \"linux\", target = \"20 ms\" }");
    assert_eq!(values(&linux), (16 * MILLISECOND, 41.0 / 256.0, 819.0 / 256.0));
    let text =
        parse(&format!("duration = \"9 s\"\n{LINK}queue = \"codel\"\n[[flows]]\nalgorithm = \"reno\"")).to_toml();
    for key in ["ce_threshold = \"off\"", "mtu = \"1 kB\"", "sqrt = \"exact\"", "target = \"5 ms\""] {
        assert!(text.contains(key), "{key}: {text}");
    }
    let ared = resolved("{ name = \"ared\", w_q = \"auto\" }");
    assert_eq!(ared, resolved("\"ared\""));
}

#[test]
fn a_buffer_may_be_a_time() {
    let scenario =
        parse(&format!("duration = \"9 s\"\n{}[[udp]]\nrate = \"1 Mbit/s\"", LINK.replace("0.25 BDP", "50 ms")));
    assert_eq!(scenario.links[0].buffer, Buffer::Time(50 * MILLISECOND));
    assert!(scenario.to_toml().contains("buffer = \"50 ms\""));
}

/// The fuzzer knows the queues, their parameters and choices, and the kinds of ECN.
#[test]
fn the_fuzzers_dictionary_has_every_name() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/scenario.dict")).expect("it");
    let mut names: Vec<&str> = vec!["ecn", "ect", "true", "false"];
    names.extend(["frames", "per_second", "key_size", "key_every"]);
    names.extend(EcnMode::ALL.map(EcnMode::name));
    for info in queues::ALL {
        names.push(info.name);
        names.extend(info.params.iter().map(|param| param.name));
        names.extend(info.params.iter().flat_map(|param| match param.kind {
            queues::Kind::Choice(choices) => choices,
            _ => &[],
        }));
    }
    let missing: Vec<&str> = names.into_iter().filter(|name| !text.contains(&format!("\n\"{name}\"\n"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Numbers may be whole, defaults are left out, and the paper's recovery is the default.
#[test]
fn an_algorithm_with_parameters() {
    let flow = "[[flows]]\nalgorithm = { name = \"vegas\", beta = 4, alpha = 2.5, gamma = 1 }\n\
        [[flows]]\nalgorithm = { name = \"bic\", search = \"smooth\", fast_convergence = false }\n";
    let scenario = parse(&format!("duration = \"9 s\"\n{LINK}{flow}"));
    let vegas = vec![("alpha", queues::Value::Number(2.5)), ("beta", queues::Value::Number(4.0))];
    assert_eq!(scenario.flows[0].tcp.algorithm, Algorithm { params: vegas, ..Algorithm::builtin("vegas") });
    assert_eq!(scenario.flows[0].tcp.recovery, Recovery::Vegas);
    let (search, fast) = (queues::Value::Name("smooth"), queues::Value::Flag(false));
    let bic = vec![("fast_convergence", fast), ("search", search)];
    assert_eq!(scenario.flows[1].tcp.algorithm, Algorithm { params: bic, ..Algorithm::builtin("bic") });
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

/// Bounds of a parameter are allowed, values beyond them are not, for every algorithm.
#[test]
fn every_algorithm_and_parameter_can_be_given() {
    let read = |name: &str, key: &str, value: f64| {
        let flow = format!("[[flows]]\nalgorithm = {{ name = \"{name}\", {key} = {value:?} }}");
        Scenario::from_toml(&format!("duration = \"9 s\"\n{LINK}{flow}"))
    };
    for info in registry::ALL {
        let scenario = parse(&format!("duration = \"9 s\"\n{LINK}[[flows]]\nalgorithm = \"{}\"", info.name));
        assert_eq!(
            scenario.flows[0].tcp,
            Tcp::new(info.name, Recovery::find(info.recovery).expect("a recovery"), vec![0])
        );
        for param in info.params {
            if let Kind::Number { min, max, .. } = param.kind {
                assert!(read(info.name, param.name, min).is_ok() && read(info.name, param.name, max).is_ok());
                let problem = read(info.name, param.name, min - 1.0).expect_err(param.name);
                assert_eq!(problem.key, format!("flows[0].algorithm.{}", param.name));
            }
        }
    }
}

#[test]
fn udp_and_both_forms_of_web_traffic() {
    let tail = r#"
        [[udp]]
        rate = "1 Mbit/s"
        packet_size = "210 B"
        count = 2
        [[web]]
        algorithm = "newreno"
        transfers_per_second = 12.5
        mean_size = "12 kB"
        [[web]]
        algorithm = "newreno"
        sessions = 5
        mean_gap = "500 ms"
        mean_size = "30 kB"
        shape = 1.5
    "#;
    let scenario = parse(&format!("duration = \"10 s\"\n{LINK}{tail}"));
    let udp = &scenario.udp[0];
    assert_eq!((udp.rate_bps, udp.packet_size, udp.count, udp.path.as_slice()), (1_000_000, 210, 2, [0].as_slice()));
    assert_eq!(scenario.web[0].arrivals, Arrivals::Poisson { per_second: 12.5 });
    assert_eq!((scenario.web[0].mean_size, scenario.web[0].shape), (12_000.0, 1.2));
    assert_eq!(scenario.web[1].arrivals, Arrivals::Sessions { sessions: 5, mean_gap: 500 * MILLISECOND });
    assert_eq!(scenario.web[1].shape, 1.5);
    // 100 Mbit/s times 78 ms is 975 packets; without flows the first web transfer's path counts.
    assert_eq!(scenario.links[0].buffer, Buffer::Packets(244));
}

/// 30 frames a second of 4 packets of 1000 bytes are 960 kbit/s; where each fifth has 38, they are 2.592 Mbit/s in the mean.
#[test]
fn frames_are_read_with_and_without_key_frames() {
    let frames = |rate: &str, keys: &str| {
        let udp = format!("[[udp]]\nrate = \"{rate}\"\nframes = {{ per_second = 30, size = \"3750 B\"{keys} }}");
        Scenario::from_toml(&format!("duration = \"10 s\"\n{}{udp}", LINK.replace("0.25 BDP", "50 ms")))
            .map(|scenario| scenario.udp[0].frames)
    };
    let plain = Frames { per_second: 30.0, size: 3750, key: None };
    let keyed = Frames { key: Some(KeyFrames { size: 37_500, every: 5 }), ..plain };
    assert_eq!(frames("960 kbit/s", ""), Ok(Some(plain)));
    let keys = ", key_size = \"37.5 kB\", key_every = 5";
    assert_eq!(frames("2.592 Mbit/s", keys), Ok(Some(keyed)));
    let refused = |rate, keys| frames(rate, keys).expect_err("too many").to_string();
    assert_eq!(
        refused("959 kbit/s", ""),
        "udp[0].frames: must take at most rate, 959 kbit/s, got 960 kbit/s in whole packets of 1000 bytes"
    );
    assert!(refused("2.591 Mbit/s", keys).contains("got 2.592 Mbit/s in whole packets"));
    assert_eq!(keyed.packets(0, 1000), 38);
    assert_eq!([1, 4, 5, 6].map(|number| keyed.packets(number, 1000)), [4, 4, 38, 4]);
    assert_eq!(keyed.packets(5, 1250), 30);
}

/// 3000 flows and one link share two million rows: 666 samples each; 2 links and 8 flows have 1000 each.
#[test]
fn the_automatic_interval_bounds_the_rows() {
    assert_eq!(with_flow("count = 2999").series_interval, Some((400 * SECOND).div_ceil(666)));
    assert_eq!(with_flow("count = 1000000").series_interval, Some(400 * SECOND));
    assert_eq!(with_flow("count = 8").series_interval, Some(400 * MILLISECOND));
}

#[test]
fn the_series_can_be_chosen_or_turned_off() {
    let flows = "[[flows]]\nalgorithm = \"reno\"";
    let interval =
        |given| parse(&format!("duration = \"9 s\"\nseries_interval = {given}\n{LINK}{flows}")).series_interval;
    assert_eq!(interval("\"off\""), None);
    assert_eq!(interval("\"100 ms\""), Some(100 * MILLISECOND));
}

#[test]
fn the_scenarios_that_come_with_the_project_are_good_and_round_trip() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).expect("the scenarios") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).expect("text");
            let read = Scenario::from_toml_in(&text, directory.as_ref());
            let (scenario, _) = read.unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
            assert_eq!(parse(&scenario.to_toml()), scenario, "{}", path.display());
            assert_eq!(Scenario::from_value(&scenario.to_value()), Ok(scenario), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen} scenarios");
}

const KEYS: &str = "duration|warmup|seed|packet_size|series_interval|rate|buffer|name|delay|loss|algorithm|path|start|stop|\
    size|count|links|flows|udp|web|sessions|shape|queue|ecn|ect|frames|[a-z\"\\.]{1,4}";
const VALUES: &str = "\"[-+.0-9eE]{0,5} ?(s|ms|bit/s|packets|BDP|kB|\\.\\.1 s)?\"|[-0-9]{1,20}|nan|-inf|true|\\[[0-9]?\\]|\\{\\}|\
    \"(codel|step|dualpi2|classic|accurate)\"|\\{ name = \"(codel|pie|step)\", (target|ecn|threshold) = (\"1 ms\"|true|[0-9]) \\}";

proptest! {
    #[test]
    fn what_is_written_is_read_back(scenario in scenario()) {
        prop_assert_eq!(Scenario::from_value(&scenario.to_value()), Ok(scenario.clone()));
        prop_assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario));
    }

    #[test]
    fn no_text_panics_and_every_message_is_one_line(text in any::<String>()) {
        if let Err(problem) = Scenario::from_toml(&text) {
            prop_assert!(!problem.to_string().contains('\n'), "{}", problem);
        }
    }

    /// Any value under any key, so that the parser is reached behind TOML's own syntax.
    #[test]
    fn any_value_is_refused_or_survives_being_written(
        key in KEYS,
        value in VALUES,
        place in prop::sample::select(vec!["", "links", "flows", "udp", "web"]),
    ) {
        let Ok(given) = format!("key = {value}").parse::<Table>() else { return Ok(()) };
        let mut scenario = with_flow(ALL).to_value();
        let table = match scenario.get_mut(place) {
            Some(tables) => tables[0].as_table_mut().expect("a table"),
            None => &mut scenario,
        };
        table.insert(key, given["key"].clone());
        match Scenario::from_value(&scenario) {
            Err(problem) => prop_assert!(!problem.to_string().contains('\n'), "{}", problem),
            Ok(scenario) => prop_assert_eq!(Scenario::from_value(&scenario.to_value()), Ok(scenario)),
        }
    }
}

/// A receive window in data is the whole packets that fit: 64 kB are 64 packets of 1000 bytes, and 42 of 1500.
#[test]
fn a_window_in_data_is_whole_packets() {
    let read = |packet_size: u32, window: &str| {
        Scenario::from_toml(&format!(
            "duration = \"1 s\"\npacket_size = {packet_size}\nlinks = [{{ name = \"l\", rate = \"1 Mbit/s\", delay = \"1 ms\", buffer = \"9 packets\" }}]\n\
             flows = [{{ algorithm = \"reno\", max_window = {window} }}]\n"
        ))
    };
    let window = |size, text| read(size, text).expect("a scenario").flows[0].tcp.max_window;
    assert_eq!(window(1000, "\"64 kB\""), Some(64));
    assert_eq!(window(1500, "\"64 kB\""), Some(42));
    assert_eq!(window(1500, "\"7 packets\""), window(1500, "7"));
    let problem = read(1500, "\"1499 B\"").expect_err("less than a packet").to_string();
    assert_eq!(problem, "flows[0].max_window: \"1499 B\" is less than one packet of 1500 bytes");
}

/// A name of UDP sources is kept, written, and unique; without one there is none.
#[test]
fn udp_sources_have_names() {
    let read = |names: [&str; 2]| {
        let udp = names.map(|name| format!("[[udp]]\nrate = \"1 kbit/s\"\n{name}\n")).concat();
        Scenario::from_toml(&format!(
            "duration = \"1 s\"\nlinks = [{{ name = \"l\", rate = \"1 Mbit/s\", delay = \"1 ms\", buffer = \"9 packets\" }}]\n{udp}"
        ))
    };
    let scenario = read(["name = \"call\"", ""]).expect("a scenario");
    let names: Vec<_> = scenario.udp.iter().map(|udp| udp.name.as_deref()).collect();
    assert_eq!(names, [Some("call"), None]);
    assert_eq!(Scenario::from_toml(&scenario.to_toml()).as_ref(), Ok(&scenario));
    let report = fullpipe_sim::run(&scenario, &mut |_| true).expect("to its end");
    assert_eq!(report.traffic.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["call", ""]);
    let twice = read(["name = \"call\""; 2]).expect_err("twice");
    assert_eq!(twice.to_string(), "udp[1].name: conflicts with udp[0].name");
    assert!(read(["name = \"\"", ""]).expect_err("empty").to_string().contains("udp[0].name"));
}
