//! Heap of runs that reach their memory limit, counted by an allocator. It is at most 1.1 times the limit.

#[allow(dead_code)]
mod counting;

use fullpipe_cc::params::Info;
use fullpipe_cc::{Ack, CongestionControl, Flow, Signal};
use fullpipe_sim::catalogue::Catalogue;
use fullpipe_sim::{Scenario, Stopped, run_within};

/// A window of 2^31 segments from the first ACK on.
struct Huge(f64);

impl CongestionControl for Huge {
    fn cwnd(&self) -> f64 {
        self.0
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn on_ack(&mut self, _: &Flow, _: &Ack) {
        self.0 = 2_147_483_647.0;
    }
    fn on_congestion(&mut self, _: &Flow, _: Signal) {}
    fn on_undo(&mut self, _: f64, _: f64) {}
}

const HUGE: Info = Info::new("huge", "none");

/// Name, keys of the link, and traffic. A link has 1 Gbit/s, 10 ms and an unlimited buffer where it has no such keys.
const SHAPES: &[(&str, &str, &str)] = &[
    ("one queue", "", "[[flows]]\nalgorithm = 'reno'\ninitial_window = 10000"),
    ("queue of 400 bursts", "", "[[flows]]\nalgorithm = 'cubic'\ncount = 400\ninitial_window = 1000"),
    ("many flows", "rate = '10 Gbit/s'", "[[flows]]\nalgorithm = 'cubic'\ncount = 20000\nstart = '0 s..3 s'"),
    ("many flows of BBR", "buffer = '1 BDP'\nrate = '10 Gbit/s'", "[[flows]]\nalgorithm = 'bbr'\ncount = 9000"),
    (
        "flows of BBRv3 with losses",
        "buffer = '1 BDP'\nrate = '10 Gbit/s'\nloss = 0.01",
        "[[flows]]\nalgorithm = 'bbr3'\ncount = 6000",
    ),
    (
        "web",
        "rate = '10 Mbit/s'\nbuffer = '50 packets'",
        "[[web]]\nalgorithm = 'reno'\nmean_size = '50 kB'\ntransfers_per_second = 20000",
    ),
    (
        "web with RACK",
        "buffer = '1 BDP'",
        "[[web]]\nalgorithm = 'cubic'\nrecovery = 'rack'\nmean_size = '50 kB'\ntransfers_per_second = 20000",
    ),
    (
        "sessions",
        "rate = '100 Mbit/s'",
        "[[web]]\nalgorithm = 'reno'\nmean_size = '5 MB'\nsessions = 20000\nmean_gap = '1 s'",
    ),
    (
        "long path",
        "rate = '100 Gbit/s'\ndelay = '5 s'\nbuffer = '1 BDP'",
        "[[flows]]\nalgorithm = 'cubic'\ncount = 30\ninitial_window = 10000",
    ),
    (
        "long path with losses",
        "rate = '100 Gbit/s'\ndelay = '5 s'\nbuffer = '1 BDP'\nloss = 0.01",
        "[[flows]]\nalgorithm = 'cubic'\nrecovery = 'rack'\ncount = 30\ninitial_window = 10000",
    ),
    ("huge window", "", "[[flows]]\nalgorithm = 'huge'"),
    ("huge window with RACK", "", "[[flows]]\nalgorithm = 'huge'\nrecovery = 'rack'"),
    ("huge window into a full queue", "buffer = '100 packets'", "[[flows]]\nalgorithm = 'huge'\nrecovery = 'rack'"),
    ("FQ-CoDel", "queue = 'fq-codel'", "[[flows]]\nalgorithm = 'huge'\ncount = 10"),
    ("CoDel", "queue = 'codel'", "[[flows]]\nalgorithm = 'huge'\ncount = 10"),
    (
        "jitter",
        "jitter = { model = 'wifi', mean = '7 ms' }",
        "[[flows]]\nalgorithm = 'cubic'\ncount = 50\ninitial_window = 10000",
    ),
    (
        "reordering",
        "delay = '10 ms'\nreorder = { probability = 0.1, delay = '5 s' }",
        "[[flows]]\nalgorithm = 'cubic'\nrecovery = 'rack'\ncount = 50\ninitial_window = 10000",
    ),
    ("datagrams", "rate = '10 Mbit/s'", "[[udp]]\nrate = '100 Mbit/s'\ncount = 100"),
    (
        "frames",
        "rate = '10 Mbit/s'",
        "[[udp]]\nrate = '100 Mbit/s'\ncount = 2000\nframes = { per_second = 30, size = '40 kB' }",
    ),
    (
        "two links",
        "",
        "[[links]]\nname = 'm'\nrate = '100 Mbit/s'\ndelay = '1 s'\nbuffer = 'unlimited'\n\
         [[flows]]\nalgorithm = 'huge'\npath = ['l', 'm']",
    ),
];

const LIMIT: u64 = 30_000_000;

/// Scenario of a shape.
fn scenario(link: &str, traffic: &str) -> Scenario {
    let defaults = [("rate", "'1 Gbit/s'"), ("delay", "'10 ms'"), ("buffer", "'unlimited'")];
    let missing = defaults.iter().filter(|(key, _)| !link.lines().any(|line| line.starts_with(key)));
    let defaults: String = missing.map(|(key, value)| format!("{key} = {value}\n")).collect();
    let head = "duration = '20 s'\nseries_interval = 'off'";
    let text = format!("{head}\n[[links]]\nname = 'l'\n{defaults}{link}\n{traffic}\n");
    let catalogue = Catalogue::builtin().with(&HUGE, |_, _| Huge(10.0));
    catalogue.read_toml(&text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"))
}

/// Peak of the heap during a run, and whether the limit ended it.
fn peak(scenario: &Scenario) -> (isize, bool) {
    let run = || matches!(run_within(scenario, LIMIT, &mut |_| true), Err(Stopped::Memory(_)));
    let (ended, _, peak) = counting::measure(run);
    (peak, ended)
}

#[test]
fn no_shape_of_traffic_exceeds_the_limit_by_more_than_a_tenth() {
    for (name, link, traffic) in SHAPES {
        let (bytes, ended) = peak(&scenario(link, traffic));
        let ratio = bytes as f64 / LIMIT as f64;
        println!("{name:30} {ratio:.3}");
        assert!(ended, "{name}: the run ends with {ratio:.3} of the limit");
        // Refused before it begins, it would measure nothing.
        assert!((0.5..=1.1).contains(&ratio), "{name}: {ratio:.3} of the limit");
    }
}
