//! Custom algorithms, not from the crate: named, checked, run, and stopped when they fail.

use fullpipe_cc::algorithms::reno::Reno;
use fullpipe_cc::params::{Group, Info, Kind, Param, Value};
use fullpipe_cc::{Ack, Classic, CongestionControl, Flow, Response, Signal, Start};
use fullpipe_sim::catalogue::{Begin, Definition, Found, Parameter, Source, kept};
use fullpipe_sim::scenario::Table;
use fullpipe_sim::{Catalogue, Report, Scenario, Simulation, Stopped, run, run_within};
use std::fmt::Display;
use std::path::Path;

const MINE: Info = Info::new("mine", "a test").recovery("newreno").params(&[Param::number(
    "alpha",
    1.0,
    0.1,
    10.0,
    "Increase a round trip.",
)
.unit("segments")]);

/// Reno with another increase.
struct Faster(f64);

impl Response for Faster {
    fn increase(&mut self, w: f64, _: &Flow, _: &Ack) -> f64 {
        self.0 / w
    }

    fn decrease(&mut self, w: f64, _: &Flow, _: Signal) -> f64 {
        w / 2.0
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.0);
    }
}

fn catalogue() -> Catalogue {
    Catalogue::builtin().with(&MINE, |params, start| Classic::new(start, Faster(params.number("alpha"))))
}

/// Two links, the second one tight, and this traffic.
fn network(traffic: &str) -> String {
    format!(
        r#"duration = "8 s"
        warmup = "1 s"
        series_interval = "50 ms"
        [[links]]
        name = "l"
        rate = "20 Mbit/s"
        delay = "10 ms"
        buffer = "20 packets"
        {traffic}"#
    )
}

/// The flows' figures without their names, and the rest of the report.
fn nameless(mut report: Report) -> String {
    for flow in &mut report.flows {
        flow.name.clear();
        flow.algorithm.clear();
    }
    // Flows of one name are a group.
    report.groups.clear();
    report.transfer_groups.clear();
    report.transfers.iter_mut().for_each(|transfer| transfer.group = 0);
    report.flow_series.columns.truncate(4);
    format!("{report:?}")
}

const KINDS: [&str; 3] = [
    "start = \"0 s..1 s\"\ncount = 3\naccess_delay = \"0 ms..9 ms\"",
    "recovery = \"rack\"\nhandshake = true\npacing = \"on\"\ncount = 2\nstart = \"0 s..1 s\"",
    "recovery = \"sack\"\ndelayed_ack = true\nbyte_counting = true\necn = \"classic\"\nsize = \"2 MB\"",
];

/// RFC 5681's rules give equal results behind a pointer, for every driver.
#[test]
fn reno_of_ones_own_is_reno() {
    for keys in KINDS {
        let flows =
            |name: &str| network(&format!("[[flows]]\nalgorithm = \"{name}\"\nrecovery = \"newreno\"\n{keys}\n"));
        let keyed = |name: &str| flows(name).replace("recovery = \"newreno\"\nrecovery", "recovery");
        let own = |name: &str| match keys.starts_with("recovery") {
            true => keyed(name),
            false => flows(name),
        };
        let mine = run(&catalogue().read_toml(&own("mine")).unwrap(), &mut |_| true).unwrap();
        assert!(mine.flow_series.columns.iter().any(|(name, column)| name == "alpha" && column[0] == 1.0));
        let built_in = run(&Scenario::from_toml(&own("newreno")).unwrap(), &mut |_| true).unwrap();
        assert_eq!(nameless(mine), nameless(built_in), "{keys}");
    }
}

/// With a custom algorithm as competitor, built-in algorithms run as without it.
#[test]
fn the_crates_own_are_the_same_beside_a_foreign_one() {
    let web = "[[web]]\nalgorithm = \"NAME\"\nsessions = 2\nmean_gap = \"100 ms\"\nmean_size = \"20 kB\"\n";
    for info in fullpipe_cc::registry::ALL {
        let flows = format!(
            "[[flows]]\nname = \"ours\"\nalgorithm = \"{}\"\n[[flows]]\nname = \"theirs\"\nalgorithm = \"NAME\"\nrecovery = \"newreno\"\n",
            info.name
        );
        let text = |name: &str| network(&format!("{flows}{web}")).replace("NAME", name).replace("8 s", "3 s");
        let mine = run(&catalogue().read_toml(&text("mine")).unwrap(), &mut |_| true).unwrap();
        let built_in = run(&Scenario::from_toml(&text("newreno")).unwrap(), &mut |_| true).unwrap();
        assert_eq!(nameless(mine), nameless(built_in), "{}", info.name);
    }
}

#[test]
fn its_parameters_are_checked_and_its_name_is_suggested() {
    let read = |algorithm: &str| {
        let text = network(&format!("[[flows]]\nalgorithm = {algorithm}\n"));
        catalogue().read_toml(&text).map_err(|problem| problem.to_string())
    };
    let scenario = read(r#"{ name = "mine", alpha = 2 }"#).unwrap();
    assert_eq!(catalogue().read_toml(&scenario.to_toml()).unwrap(), scenario);
    assert!(scenario.to_toml().contains(r#"algorithm = { name = "mine", alpha = 2.0 }"#), "{}", scenario.to_toml());
    let unknown = read("\"mien\"").unwrap_err();
    assert!(
        unknown.starts_with("flows[0].algorithm: unknown algorithm \"mien\"; did you mean \"mine\"? (allowed: tahoe,")
    );
    let range = read(r#"{ name = "mine", alpha = 11 }"#).unwrap_err();
    assert!(range.starts_with("flows[0].algorithm.alpha: ") && range.contains("must be in [0.1, 10] (segments)"));
    let key = read(r#"{ name = "mine", alhpa = 1 }"#).unwrap_err();
    assert!(key.contains("did you mean \"alpha\"?"), "{key}");
    // Without the catalogue nothing has that name.
    assert!(Scenario::from_toml(&scenario.to_toml()).is_err());
    assert_eq!(catalogue().find("mine").unwrap().name, "mine");
    assert_eq!(catalogue().infos().count(), fullpipe_cc::registry::ALL.len() + 1);
}

#[test]
fn what_is_said_of_an_algorithm_is_checked() {
    let refused = |definition: Definition| {
        let begin: Box<Begin> = Box::new(|_, start| Box::new(Classic::new(start, Reno::default())));
        Catalogue::builtin().add(definition.kept(), begin).unwrap_err()
    };
    let sound = || Definition {
        name: "mine".to_owned(),
        paper: "a test".to_owned(),
        group: Group::Loss,
        recovery: "sack".to_owned(),
        own_slow_start: false,
        ecn: None,
        params: Vec::new(),
    };
    assert!(std::ptr::eq(sound().kept(), sound().kept()) && std::ptr::eq(kept("x"), kept("x")));
    assert!(refused(Definition { name: "cubic".to_owned(), ..sound() }).contains("conflicts with the built-in"));
    assert!(refused(Definition { name: "a b".to_owned(), ..sound() }).contains("requires a name"));
    assert!(
        refused(Definition { recovery: "sac".to_owned(), ..sound() }).contains("unknown recovery \"sac\" (allowed: ")
    );
    assert!(refused(Definition { ecn: Some(("exact".to_owned(), 0)), ..sound() }).contains("\"exact\""));
    let param = |name: &str, kind, default| Parameter {
        name: name.to_owned(),
        unit: "1".to_owned(),
        kind,
        default,
        doc: String::new(),
        source: String::new(),
    };
    for (name, kind, default) in [
        ("name", Kind::Flag, Value::Flag(true)),
        ("x", Kind::Number { min: 0.0, max: 1.0 }, Value::Number(2.0)),
        ("x", Kind::Flag, Value::Number(1.0)),
        ("x", Kind::Choice(&[]), Value::Name("")),
    ] {
        let definition = Definition { params: vec![param(name, kind, default)], ..sound() };
        assert!(refused(definition).contains(&format!("parameter {name:?}: ")));
    }
}

/// A later algorithm replaces an earlier one with its name.
#[test]
fn a_name_can_be_given_anew() {
    let mut catalogue = catalogue();
    catalogue.add(&MINE, Box::new(|_, start| Box::new(Classic::new(start, Faster(7.0))))).unwrap();
    let scenario = catalogue.read_toml(&network("[[flows]]\nalgorithm = \"mine\"\n")).unwrap();
    let report = run(&scenario, &mut |_| true).unwrap();
    assert!(report.flow_series.columns.iter().any(|(name, column)| name == "alpha" && column[0] == 7.0));
    assert_eq!(catalogue.infos().filter(|info| info.name == "mine").count(), 1);
}

/// Web flows draw their access delays when they begin: the end does not depend on how many have. Steps of odd lengths, of none and
/// backwards.
#[test]
fn steps_give_the_same_bytes_as_one_go() {
    let web = "[[web]]\nalgorithm = \"NAME\"\ntransfers_per_second = 20\nmean_size = \"9 kB\"\naccess_delay = \"0 ms..300 ms\"\n";
    let flows = "[[flows]]\nalgorithm = \"NAME\"\ncount = 3\nstart = \"0 s..7 s\"\naccess_delay = \"1 ms..40 ms\"\n";
    for name in ["mine", "cubic"] {
        for traffic in [flows.to_owned(), format!("{flows}{web}"), web.to_owned()] {
            let scenario = catalogue().read_toml(&network(&traffic.replace("NAME", name))).unwrap();
            let whole = format!("{:?}", run(&scenario, &mut |_| true).unwrap());
            for step in [3_000_017, 777_777_777, 7_999_999_999, 8_000_000_000] {
                let mut simulation = Simulation::new(scenario.clone()).expect("valid");
                let mut now = 0;
                while simulation.now() < scenario.duration {
                    now += step;
                    simulation.advance(now).unwrap();
                    assert_eq!(simulation.now(), now.min(scenario.duration));
                    simulation.advance(now / 2).unwrap();
                }
                assert_eq!(format!("{:?}", simulation.report().unwrap()), whole, "{name}, {step} ns");
            }
        }
    }
}

/// Some window until something happens, then another.
struct Odd {
    cwnd: f64,
    then: f64,
    rate: Option<f64>,
    shows: [&'static str; 2],
    fault: Option<String>,
}

impl CongestionControl for Odd {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    fn on_ack(&mut self, flow: &Flow, _: &Ack) {
        assert!(self.fault.is_none() || flow.delivered < 60, "nothing is asked of one that has failed");
        if flow.delivered >= 50 {
            self.cwnd = self.then;
            self.rate = self.rate.map(|_| self.then);
        }
    }

    fn on_congestion(&mut self, _: &Flow, _: Signal) {}

    fn on_undo(&mut self, _: f64, _: f64) {}

    fn fault(&self) -> Option<&dyn Display> {
        self.fault.as_ref().filter(|_| self.cwnd == self.then).map(|fault| fault as &dyn Display)
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.shows.iter().for_each(|name| visit(name, self.cwnd));
    }
}

const ODD: Info = Info::new("odd", "a test").recovery("newreno");

/// A run of it, 4 segments of 1000 bytes at a time over 10 Mbit/s and 20 ms: 50 are acknowledged with the 13th window, after 12 round
/// trips of 20 ms, of 4 * 0.8 ms and the last ACK's and segment's time each; some 260 ms.
fn odd(odd: impl Fn() -> Odd + Send + Sync + 'static) -> Result<Report, Stopped> {
    let catalogue = Catalogue::builtin().with(&ODD, move |_, _: Start| odd());
    let text = network("[[flows]]\nalgorithm = \"odd\"\n").replace("20 Mbit/s", "10 Mbit/s");
    run(&catalogue.read_toml(&text).unwrap(), &mut |_| true)
}

fn fault(what: impl Fn() -> Odd + Send + Sync + 'static) -> (String, u64, String) {
    match odd(what) {
        Err(Stopped::Algorithm(fault)) => (fault.what.clone(), fault.at, fault.to_string()),
        other => panic!("{other:?}"),
    }
}

const EVEN: Odd = Odd { cwnd: 4.0, then: 4.0, rate: None, shows: ["a", "b"], fault: None };

#[test]
fn a_window_that_is_none_ends_the_run_with_name_and_time() {
    assert!(odd(|| EVEN).unwrap().flows[0].goodput_bps > 1e6);
    for (then, shown) in [(f64::NAN, "NaN"), (0.5, "0.5"), (-1.0, "-1"), (f64::INFINITY, "inf"), (1e10, "10000000000")]
    {
        let (what, at, text) = fault(move || Odd { then, ..EVEN });
        assert_eq!(what, format!("the window must be in [1, 2147483647] segments, got {shown}"));
        assert!((255_000_000..=275_000_000).contains(&at), "{at}");
        assert!(text.starts_with("algorithm \"odd\", flow 0, at 0.2") && text.ends_with(&what), "{text}");
        // From the beginning on.
        assert_eq!(fault(move || Odd { cwnd: then, ..EVEN }).1, 0);
    }
}

#[test]
fn a_rate_that_is_none_ends_the_run() {
    for (then, shown) in [(f64::NAN, "NaN"), (-2.0, "-2")] {
        let (what, ..) = fault(move || Odd { rate: Some(then), ..EVEN });
        assert_eq!(what, format!("the pacing rate must be none or at least 0 segments per second, got {shown}"));
    }
    assert!(odd(|| Odd { rate: Some(300.0), then: 10.0, ..EVEN }).is_ok());
}

#[test]
fn an_algorithm_can_say_that_it_has_failed() {
    let (what, at, _) = fault(|| Odd { then: 5.0, fault: Some("out of ink".to_owned()), ..EVEN });
    assert_eq!(what, "out of ink");
    assert!(at > 255_000_000, "{at}");
}

/// A column has one meaning.
#[test]
fn internals_cannot_be_called_like_other_columns() {
    for shows in [["a", "rtt_s"], ["a", "a"], ["t_s", "flow"]] {
        let (what, at, _) = fault(move || Odd { shows, ..EVEN });
        assert!(what.starts_with("it shows \"") && at == 0, "{what}");
    }
}

/// A failure is final: a caller that continues after it gets an equal answer.
#[test]
fn a_run_that_has_failed_stays_so() {
    let catalogue = Catalogue::builtin().with(&ODD, |_, _| Odd { then: f64::NAN, ..EVEN });
    let scenario = catalogue.read_toml(&network("[[flows]]\nalgorithm = \"odd\"\n")).unwrap();
    let mut simulation = Simulation::new(scenario).expect("valid");
    simulation.advance(100_000_000).unwrap();
    let first = simulation.advance(u64::MAX).unwrap_err();
    assert_eq!(simulation.advance(u64::MAX).unwrap_err(), first);
    assert!(simulation.now() < 1_000_000_000);
    assert_eq!(simulation.report().unwrap_err(), first);
}

/// `algorithm = { speed = "x.txt", params = { alpha = 2 } }`: the file has the speed.
#[derive(Debug)]
struct Files;

/// State of an algorithm of [`Files`], as it claims.
const BYTES: u64 = 15_000_000;

impl Source for Files {
    fn key(&self) -> &'static str {
        "speed"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["label"]
    }

    fn embed(&self, table: &mut Table, folder: &Path) -> Result<(), (String, String)> {
        if let Some(name) = table["speed"].as_str() {
            let text = std::fs::read_to_string(folder.join(name));
            let text =
                text.map_err(|error| ("speed".to_owned(), format!("{name:?} can't be read: {}", error.kind())))?;
            table["speed"] = text.trim().parse::<f64>().expect("a number").into();
        }
        Ok(())
    }

    fn find(&self, table: &Table) -> Result<Found, (String, String)> {
        let speed = table["speed"].as_float().ok_or(("speed".to_owned(), "not a number".to_owned()))?;
        let begin = move |params: &fullpipe_cc::params::Params, start: Start| -> Box<dyn CongestionControl + Send> {
            Box::new(Classic::new(start, Faster(speed * params.number("alpha"))))
        };
        Ok(Found { info: &MINE, begin: Box::new(begin), connection_bytes: BYTES })
    }
}

#[test]
fn a_source_names_algorithms_by_tables_of_its_own() {
    let catalogue = Catalogue::builtin().with_source(Files);
    let folder = std::env::temp_dir().join(format!("fullpipe-own-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("x.txt"), "3\n").unwrap();
    let text = |algorithm: &str| network(&format!("[[flows]]\nalgorithm = {algorithm}\n"));
    let read = |algorithm: &str| catalogue.read_toml_in(&text(algorithm), &folder);
    let (scenario, tree) = read(r#"{ speed = "x.txt", label = "l", params = { alpha = 2 } }"#).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    // The tree is complete, and so is the written scenario.
    assert_eq!(catalogue.read_value(&tree).unwrap(), scenario);
    assert_eq!(catalogue.read_toml(&scenario.to_toml()).unwrap(), scenario);
    let report = run(&scenario, &mut |_| true).unwrap();
    assert!(report.flow_series.columns.iter().any(|(name, column)| name == "alpha" && column[0] == 6.0));
    assert_eq!(report.flows[0].algorithm, "mine");
    let problem = |algorithm: &str| read(algorithm).unwrap_err();
    let missing = problem(r#"{ speed = "y.txt" }"#);
    assert_eq!((missing.key.as_str(), missing.line), ("flows[0].algorithm.speed", Some(10)));
    assert!(
        problem(r#"{ speed = 1.0, params = { alpha = 99 } }"#)
            .to_string()
            .starts_with("flows[0].algorithm.params.alpha: ")
    );
    assert!(problem(r#"{ speed = 1.0, lable = 1 }"#).to_string().contains("did you mean \"label\"?"));
    assert!(problem(r#"{ speed = 1.0, params = 3 }"#).to_string().contains("expected a table"));
    assert_eq!(problem(r#"{ speed = true }"#).to_string(), "flows[0].algorithm.speed: not a number");
}

/// 200 connections of 15 MB each are 3 GB, before one has begun.
#[test]
fn state_of_a_source_counts_against_the_memory_limit() {
    let catalogue = Catalogue::builtin().with_source(Files);
    let read = |count: u32| {
        let text = network(&format!("[[flows]]\nalgorithm = {{ speed = 1.0 }}\ncount = {count}\n"));
        catalogue.read_toml(&text).expect("a scenario of ours")
    };
    let refused = run_within(&read(200), 100_000_000, &mut |_| panic!("it has begun"));
    let Err(Stopped::Memory(problem)) = refused else { panic!("{refused:?}") };
    assert!(problem.to_string().starts_with("flows[0].count: requires at least "), "{problem}");
    assert!(run_within(&read(2), 100_000_000, &mut |_| true).is_ok());
}

/// A window of 2^31 segments is one event, which a full queue drops nearly all of.
#[test]
fn a_burst_of_two_billion_segments_can_be_stopped() {
    struct Whole(f64);
    impl CongestionControl for Whole {
        fn cwnd(&self) -> f64 {
            self.0
        }
        fn ssthresh(&self) -> f64 {
            f64::INFINITY
        }
        fn on_ack(&mut self, _: &Flow, _: &Ack) {}
        fn on_congestion(&mut self, _: &Flow, _: Signal) {}
        fn on_undo(&mut self, _: f64, _: f64) {}
    }
    const WHOLE: Info = Info::new("whole", "none");
    let catalogue = Catalogue::builtin().with(&WHOLE, |_, _| Whole(2_147_483_647.0));
    for recovery in ["sack", "rack"] {
        let text = network(&format!("[[flows]]\nalgorithm = \"whole\"\nrecovery = \"{recovery}\"\n"));
        let mut looks = 0;
        let stopped = run(&catalogue.read_toml(&text).expect("a scenario of ours"), &mut |_| {
            looks += 1;
            looks < 100
        });
        assert_eq!((stopped.err(), looks), (Some(Stopped::Interrupted), 100));
    }
}

/// First windows of several parts: 1000 bytes each at 1 Gbit/s, and 20 ms there and back. The parts of the smaller one are sent between
/// two looks at the watch.
#[test]
fn a_burst_in_parts_is_sent_whole_and_in_order() {
    let text = "duration = \"2 s\"\nlinks = [{ name = \"l\", rate = \"1 Gbit/s\", delay = \"10 ms\", buffer = \"unlimited\" }]\n\
        [[flows]]\nalgorithm = \"reno\"\ninitial_window = SIZE\nsize = \"SIZE packets\"\nrecovery = RECOVERY\n";
    for (recovery, size) in ["newreno", "sack", "rack"].into_iter().flat_map(|name| [(name, 10_000), (name, 60_000)]) {
        let text = text.replace("RECOVERY", &format!("{recovery:?}")).replace("SIZE", &size.to_string());
        let report = run(&Scenario::from_toml(&text).expect("a scenario of ours"), &mut |_| true).expect("no limit");
        let flow = &report.flows[0];
        assert_eq!((report.packets.sent, flow.retransmits), (size, 0), "{recovery}");
        let completion_s = flow.completion_s;
        assert!((completion_s - (size as f64 * 8e3 / 1e9 + 0.02)).abs() < 1e-4, "{recovery}: {completion_s}");
    }
}
