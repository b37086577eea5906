//! Scenarios from plain data, valid or not: `Simulation::within` returns the fault, and whatever it accepts runs.

use crate::dice;
use fullpipe_cc::params::Value;
use fullpipe_sim::model::{
    Arrivals, Buffer, Change, Ecn, FlowGroup, Invalid, Jitter, JitterModel, KeyFrames, Link, Loss, Policer, Reorder,
    Scenario, Schedule, Spread, Tcp, Udp, Web,
};
use fullpipe_sim::{Simulation, Stopped};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Whole numbers at and beyond the ends of ranges.
const WHOLE: [u64; 12] =
    [0, 1, 2, 39, 40, 65_535, 65_536, 1_000_000_000, 1 << 40, i64::MAX as u64, u64::MAX - 1, u64::MAX];

/// Numbers, of which several are no value of any key.
const NUMBERS: [f64; 12] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -1.0,
    -0.0,
    0.0,
    f64::MIN_POSITIVE,
    0.5,
    1.0,
    1.0 + f64::EPSILON,
    1e18,
    f64::MAX,
];

/// Choices drawn from a number (xorshift, Marsaglia 2003).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn whole(&mut self) -> u64 {
        WHOLE[self.below(WHOLE.len())]
    }

    fn small(&mut self) -> u32 {
        self.whole().min(u32::MAX.into()) as u32
    }

    fn number(&mut self) -> f64 {
        NUMBERS[self.below(NUMBERS.len())]
    }

    fn spread(&mut self) -> Spread {
        Spread { low: self.whole(), high: self.whole() }
    }

    fn loss(&mut self) -> Loss {
        match self.below(2) {
            0 => Loss::Independent(self.number()),
            _ => Loss::GilbertElliott { p: self.number(), r: self.number(), h: self.number(), k: self.number() },
        }
    }

    fn name(&mut self) -> String {
        ["", "reno", "reon", "a\nb", "cubic", "l"][self.below(6)].to_owned()
    }

    fn path(&mut self, links: usize) -> Vec<usize> {
        let length = [0, 1, 2, 3, 127, 128, 300][self.below(7)];
        (0..length).map(|_| [0, 1, links.wrapping_sub(1), links, usize::MAX][self.below(5)]).collect()
    }

    /// One member of a list, if it has any.
    fn of<'a, T>(&mut self, list: &'a mut [T]) -> Option<&'a mut T> {
        let place = if list.is_empty() { 0 } else { self.below(list.len()) };
        list.get_mut(place)
    }

    /// Sets one field of the scenario.
    fn spoil(&mut self, scenario: &mut Scenario) {
        let links = scenario.links.len();
        match self.below(14) {
            0 => scenario.duration = self.whole(),
            1 => scenario.warmup = self.whole(),
            2 => scenario.seed = self.whole(),
            3 => scenario.packet_size = self.small(),
            4 => scenario.ack_size = self.small(),
            5 => scenario.series_interval = Some(self.whole()),
            6 => scenario.links.truncate(self.below(2)),
            7 => scenario.flows.clear(),
            8 | 9 => self.of(&mut scenario.links).map_or((), |link| self.spoil_link(link)),
            10 | 11 => self.of(&mut scenario.flows).map_or((), |group| self.spoil_flows(group, links)),
            12 => self.of(&mut scenario.udp).map_or((), |udp| self.spoil_udp(udp, links)),
            _ => self.of(&mut scenario.web).map_or((), |web| self.spoil_web(web, links)),
        }
    }

    fn spoil_link(&mut self, link: &mut Link) {
        match self.below(16) {
            0 => link.rate_bps = self.whole(),
            1 => link.delay = self.whole(),
            2 => link.name = self.name(),
            3 => {
                link.buffer = [Buffer::Packets, Buffer::Bytes, Buffer::Time][self.below(3)](self.whole());
            }
            4 => link.loss = self.loss(),
            5 => {
                let at = [self.whole(), self.whole()];
                let change = |at| Change { at, rate_bps: Some(self.whole()), delay: None, loss: Some(self.loss()) };
                link.schedule = Schedule { changes: at.map(change).to_vec(), repeat: Some(self.whole()) };
            }
            6 => link.schedule = Schedule { changes: Vec::new(), repeat: Some(self.whole()) },
            7 => {
                let model = [
                    JitterModel::Wifi,
                    JitterModel::Uniform { spread: self.whole() },
                    JitterModel::Normal { spread: 1 },
                ];
                let (reorder, correlation) = (true, self.number());
                link.jitter = Some(Jitter { model: model[self.below(3)], mean: self.whole(), reorder, correlation });
            }
            8 => link.reorder = Some(Reorder { probability: self.number(), delay: self.whole() }),
            9 => link.aggregation = Some(self.whole()),
            10 => link.phase = Some(self.whole()),
            11 => link.policer = Some(Policer { rate_bps: self.whole(), burst: self.whole() }),
            12 => link.reverse = Some(Box::new(link.clone())),
            13 => link.drop = vec![self.whole(), self.whole()],
            14 => link.limit = Some(self.whole()),
            _ => link.queue.given = vec![(["flows", "nothing", "target"][self.below(3)], self.value())],
        }
    }

    fn value(&mut self) -> Value {
        match self.below(6) {
            0 => Value::Number(self.number()),
            1 => Value::Whole(self.whole()),
            2 => Value::Time(self.whole()),
            3 => Value::Packets(self.whole()),
            4 => Value::Flag(true),
            _ => Value::Name("nothing"),
        }
    }

    fn spoil_flows(&mut self, group: &mut FlowGroup, links: usize) {
        match self.below(6) {
            0 => group.count = self.small(),
            1 => group.start = self.spread(),
            2 => group.stop = Some(self.whole()),
            3 => group.size = Some(self.whole()),
            _ => self.spoil_tcp(&mut group.tcp, links),
        }
    }

    fn spoil_tcp(&mut self, tcp: &mut Tcp, links: usize) {
        match self.below(15) {
            0 => tcp.name = Some(self.name()),
            1 => tcp.algorithm.name = self.name(),
            2 => tcp.algorithm.params = vec![(["beta", "alpha", "nothing"][self.below(3)], self.value())],
            3 => tcp.path = self.path(links),
            4 => tcp.prr = true,
            5 => (tcp.handshake, tcp.path) = (true, self.path(links)),
            6 => tcp.ect = [Ecn::NotEct, Ecn::Ce, Ecn::Ect1][self.below(3)],
            7 => tcp.initial_window = self.small(),
            8 => tcp.max_window = Some(self.whole()),
            9 => (tcp.delayed_ack, tcp.delayed_ack_timeout) = (true, self.whole()),
            10 => tcp.min_rto = self.whole(),
            13 => (tcp.ack_every, tcp.delayed_ack_timeout) = (Some(self.small() as u16), self.whole()),
            11 => (tcp.timestamp_tick, tcp.rtt_tick) = (self.whole(), self.whole()),
            12 => tcp.access_delay = self.spread(),
            _ => (tcp.access_rate_bps, tcp.processing_time) = (Some(self.whole()), self.whole()),
        }
    }

    fn spoil_udp(&mut self, udp: &mut Udp, links: usize) {
        match self.below(7) {
            0 => udp.rate_bps = self.whole(),
            1 => udp.packet_size = self.small(),
            2 => udp.start = self.spread(),
            3 => udp.path = self.path(links),
            4 => udp.count = self.small(),
            5 => udp.access_delay = self.spread(),
            _ => {
                if let Some(frames) = &mut udp.frames {
                    (frames.per_second, frames.size) = (self.number(), self.whole());
                    frames.key = Some(KeyFrames { size: self.whole(), every: self.whole() });
                }
            }
        }
    }

    fn spoil_web(&mut self, web: &mut Web, links: usize) {
        match self.below(6) {
            0 => web.mean_size = self.number(),
            1 => web.shape = self.number(),
            2 => web.arrivals = Arrivals::Poisson { per_second: self.number() },
            3 => web.arrivals = Arrivals::Sessions { sessions: self.small(), mean_gap: self.whole() },
            4 => web.start = self.spread(),
            _ => self.spoil_tcp(&mut web.tcp, links),
        }
    }
}

/// Runs a little of a scenario in 64 MB, if it is valid.
fn outcome(scenario: &Scenario) -> Result<(), Stopped> {
    let mut calls = 0;
    let mut simulation = Simulation::within(scenario.clone(), 64_000_000)?;
    simulation.advance_watched(u64::MAX, &mut |_| {
        calls += 1;
        calls < 3
    })?;
    simulation.report().map(|_| ())
}

/// Of 6000 literals with one to three spoiled fields, hundreds are refused and hundreds run. None panics, and each fault is one line
/// that begins with a key.
#[test]
fn literals_of_any_kind_never_panic() {
    let (mut refused, mut ran) = (0, 0);
    for number in 20_000..26_000 {
        let (mut scenario, mut draw) = (dice::scenario(number), Draw(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        for _ in 0..=draw.below(3) {
            draw.spoil(&mut scenario);
        }
        match catch_unwind(AssertUnwindSafe(|| outcome(&scenario))) {
            Ok(Err(Stopped::Invalid(invalid))) => {
                let line = invalid.to_string();
                assert!(!line.contains('\n') && line.contains(invalid.key()), "{line}");
                refused += 1;
            }
            Ok(_) => ran += 1,
            Err(panic) => panic!("scenario {number}: {:?}\n{scenario:?}", panic.downcast_ref::<String>()),
        }
    }
    assert!(refused > 1000 && ran > 500, "{refused} refused, {ran} ran");
}

/// Each scenario from TOML and each random valid one passes.
#[test]
fn valid_scenarios_pass() {
    for number in 0..4000 {
        assert_eq!(dice::scenario(number).check(), Ok(()), "scenario {number}");
    }
}

fn one_flow() -> Scenario {
    let link = Link { buffer: Buffer::Packets(9), ..Link::named("l") };
    let flow = FlowGroup::of(Tcp::new("reno", fullpipe_sim::model::Recovery::Sack, vec![0]));
    Scenario { links: vec![link], flows: vec![flow], ..Scenario::lasting(1_000_000_000) }
}

/// The forms of messages, one of each rule that several keys share.
#[test]
fn faults_name_key_value_and_allowed_values() {
    assert_eq!(one_flow().check(), Ok(()));
    type Spoil = fn(&mut Scenario);
    let cases: [(Spoil, &str); 24] = [
        (|s| s.links[0].rate_bps = 0, "links[0].rate must be in [1 bit/s, 10000 Gbit/s], got 0 bit/s"),
        (|s| s.duration = 0, "duration must be in [1 us, 1000000 s], got 0 s"),
        (|s| s.warmup = s.duration, "warmup must be in [0 s, 1 s), got 1 s"),
        (|s| s.packet_size = 40, "packet_size must be in [41 B, 65.535 kB], got 40 B"),
        (|s| s.links.clear(), "number of links must be in [1, 10000], got 0"),
        (|s| s.flows.clear(), "number of flows, sources, and sessions must be in [1, 1000000], got 0"),
        (|s| s.links.push(s.links[0].clone()), "links[1].name conflicts with links[0].name"),
        (|s| s.links[0].name.clear(), "links[0].name requires at least one printable character"),
        (|s| s.links[0].loss = Loss::Independent(f64::NAN), "links[0].loss must be in [0, 1), got NaN"),
        (|s| s.links[0].phase = Some(0), "links[0].phase requires aggregation"),
        (|s| s.links[0].buffer = Buffer::Bytes(999), "links[0].buffer must be in [1 kB, 1000000 GB], got 999 B"),
        (|s| s.links[0].schedule.repeat = Some(1_000_000), "links[0].repeat requires schedule"),
        (
            |s| s.links[0].queue.given = vec![("target", Value::Time(1))],
            "links[0].queue: unknown parameter \"target\" (allowed: none)",
        ),
        (
            |s| s.flows[0].tcp.algorithm.name = "reon".to_owned(),
            "flows[0].algorithm: unknown algorithm \"reon\"; did you mean \"reno\"?",
        ),
        (
            |s| {
                s.flows[0].tcp.algorithm.name = "cubic".to_owned();
                s.flows[0].tcp.algorithm.params = vec![("beta", Value::Flag(true))];
            },
            "flows[0].algorithm.beta requires a number",
        ),
        (|s| s.flows[0].tcp.path.clear(), "length of flows[0].path must be in [1, 127], got 0"),
        (|s| s.flows[0].tcp.path = vec![1], "flows[0].path[0] must be in [0, 0], got 1"),
        (|s| s.flows[0].tcp.path = vec![0, 0], "flows[0].path[1] conflicts with flows[0].path[0]"),
        (|s| s.flows[0].tcp.ect = Ecn::Ce, "flows[0].ect requires ECT(0) or ECT(1)"),
        (|s| s.flows[0].stop = Some(0), "flows[0].stop must be in (0 s, 1000000 s], got 0 s"),
        (|s| s.flows[0].start = Spread { low: 2, high: 1 }, "flows[0].start must be in [0 s, 1 ns], got 2 ns"),
        (|s| s.flows[0].count = 0, "flows[0].count must be in [1, 1000000], got 0"),
        (|s| s.flows[0].tcp.min_rto = 0, "flows[0].min_rto must be in [1 us, 100 s], got 0 s"),
        (|s| s.series_interval = Some(0), "series_interval must be in [1 ns, 1000000 s], got 0 s"),
    ];
    for (spoil, expected) in cases {
        let mut scenario = one_flow();
        spoil(&mut scenario);
        let fault: Invalid = scenario.check().expect_err(expected);
        assert!(fault.to_string().starts_with(expected), "{fault}\n{expected}");
        assert!(Simulation::new(scenario).is_err(), "{expected}");
    }
}
