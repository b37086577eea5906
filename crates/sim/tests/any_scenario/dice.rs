//! Any valid scenario, drawn from a number: every key, the ends of every allowed range among its values.

#[path = "dice/paths.rs"]
mod paths;

use fullpipe_cc::params::{Kind, Params, Value};
use fullpipe_cc::registry;
use fullpipe_sim::Scenario;
use fullpipe_sim::queues;
use fullpipe_sim::scenario::{
    Algorithm, Arrivals, Buffer, Change, Class, Ecn, EcnMode, FlowGroup, Frames, Growth, IdleRule, Ip, Jitter,
    JitterModel, KeyFrames, Law, Link, Loss, Pacing, PlayerRule, Policer, Queue, Recovery, Reorder, Requests, RtoRule,
    Saved, Schedule, SlowStart, Source, Spread, Tcp, Trace, Udp, Video, Web,
};
use std::ops::RangeInclusive;

const US: u64 = 1000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// The longest run and the last moment, as `docs/reference/scenarios.md` has them, like every range below.
const LONGEST: u64 = 1_000_000 * SECOND;

/// About how many packets a scenario may send, so that many can be run: its duration is cut to that.
const PACKETS: f64 = 20_000.0;
/// How many rows its series may have.
const ROWS: u64 = 20_000;

/// The scenario of a number.
pub fn scenario(number: u64) -> Scenario {
    let mut dice = Dice { state: number.wrapping_mul(0x9E37_79B9_7F4A_7C15), usual: 0 };
    dice.usual = dice.pick(&[3, 10, 40]);
    dice.scenario()
}

/// Numerical Recipes' 64-bit generator of section 7.1.3 (Marsaglia's xorshift and a multiplication); the scenario's own seed is
/// drawn from it too.
struct Dice {
    state: u64,
    /// Of this many values, one is unusual. If all were unusual, most runs would have few events.
    usual: u64,
}

impl Dice {
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x2545_F491_4F6C_DD1D);
        let mut x = self.state;
        x ^= x >> 21;
        x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        x ^= x >> 35;
        x = x.wrapping_mul(0x9FB2_1C65_1E98_DF25);
        x ^ (x >> 28)
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.bits() % n == 0
    }

    fn uniform(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = range.into_inner();
        low + ((u128::from(self.bits()) * (u128::from(high - low) + 1)) >> 64) as u64
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.uniform(0..=from.len() as u64 - 1) as usize]
    }

    /// A value of `allowed`: a usual one, or now and then an end of the range, or of any magnitude.
    fn any(&mut self, allowed: RangeInclusive<u64>, usual: RangeInclusive<u64>) -> u64 {
        let (low, high) = allowed.into_inner();
        if !self.one_in(self.usual) {
            return self.uniform(usual).clamp(low, high);
        }
        match self.bits() % 6 {
            0 | 1 => low,
            2 => high,
            3 => self.uniform(low..=high),
            _ => {
                let magnitude = (low as f64 + 1.0).ln() + self.unit() * ((high as f64 + 1.0) / (low as f64 + 1.0)).ln();
                ((magnitude.exp() - 1.0).round() as u64).clamp(low, high)
            }
        }
    }

    fn spread(&mut self, allowed: RangeInclusive<u64>, usual: RangeInclusive<u64>) -> Spread {
        let one = self.any(allowed.clone(), usual.clone());
        let other = if self.one_in(2) { one } else { self.any(allowed, usual) };
        Spread { low: one.min(other), high: one.max(other) }
    }

    fn scenario(&mut self) -> Scenario {
        let packet_size = self.any(41..=65_535, 500..=1500) as u32;
        let links = self.links(packet_size);
        let mut scenario = Scenario {
            duration: self.any(US..=LONGEST, SECOND..=60 * SECOND),
            warmup: 0,
            seed: self.any(0..=i64::MAX as u64, 1..=1000),
            packet_size,
            ack_size: self.any(1..=65_535, 40..=60) as u32,
            series_interval: None,
            measure_jitter: false,
            flows: self.several(2).map(|()| self.flows(&links)).collect(),
            udp: Vec::new(),
            web: Vec::new(),
            links,
        };
        scenario.udp = self.several(1).map(|()| self.udp(&scenario.links)).collect();
        scenario.web = self.several(1).map(|()| self.web(&scenario.links)).collect();
        if scenario.flows.is_empty() && scenario.udp.is_empty() && scenario.web.is_empty() {
            scenario.flows.push(self.flows(&scenario.links));
        }
        // Without a random number, so that other scenarios do not change.
        scenario.measure_jitter = scenario.seed % 4 == 1;
        make_room(&mut scenario);
        self.time(&mut scenario);
        // Last, for that reason, too.
        self.sources(&mut scenario);
        self.wires(&mut scenario);
        self.acks(&mut scenario);
        self.ecn_fields(&mut scenario);
        scenario
    }

    /// None, one or more, `mean` of them.
    fn several(&mut self, mean: u64) -> impl Iterator<Item = ()> + use<> {
        std::iter::repeat_n((), self.uniform(0..=2 * mean) as usize)
    }

    fn links(&mut self, packet_size: u32) -> Vec<Link> {
        let many = if self.one_in(50) { 130 } else { self.uniform(1..=4) };
        (0..many).map(|index| self.link(index, packet_size)).collect()
    }

    fn link(&mut self, index: u64, packet_size: u32) -> Link {
        let name = format!("link {index} \"\u{e9}\\");
        let varied = self.one_in(4);
        let mut direction = || {
            let link = Link { name: name.clone(), ..self.direction(packet_size) };
            if varied { self.varied(link, packet_size) } else { link }
        };
        let forward = direction();
        let back = Some(Box::new(direction())).filter(|_| self.one_in(6));
        Link { reverse: back, ..forward }
    }

    fn direction(&mut self, packet_size: u32) -> Link {
        let buffer = match self.bits() % 5 {
            4 => Buffer::Time(self.any(1..=LONGEST, MS..=200 * MS)),
            0 | 1 => Buffer::Packets(self.any(1..=1_000_000_000_000, 1..=300)),
            2 => {
                let least = u64::from(packet_size);
                Buffer::Bytes(self.any(least..=1_000_000_000_000_000, least..=300 * least))
            }
            _ => Buffer::Unlimited,
        };
        let loss = match self.bits() % 8 {
            0 => self.unit(),
            1 => 1.0 - f64::EPSILON / 2.0,
            2 => f64::MIN_POSITIVE,
            3 => 0.05 * self.unit(),
            _ => 0.0,
        };
        Link {
            rate_bps: self.any(1..=10_000_000_000_000, 500_000..=50_000_000),
            delay: self.any(0..=100 * SECOND, 0..=50 * MS),
            buffer,
            queue: self.queue(packet_size),
            loss: Loss::Independent(loss),
            ..Link::default()
        }
    }

    /// Now and then it varies, mostly in one way.
    fn varied(&mut self, link: Link, packet_size: u32) -> Link {
        let most = 1.0 - f64::EPSILON / 2.0;
        let mut link = link;
        if self.one_in(8) {
            link.loss = Loss::GilbertElliott { p: self.part(), r: self.part(), h: self.part(), k: self.part() };
        }
        if self.one_in(8) {
            link.schedule = self.schedule();
        }
        if link.schedule.changes.iter().all(|change| change.rate_bps.is_none()) && self.one_in(8) {
            let trace = self.trace();
            (link.rate_bps, link.trace) = (trace.rate_bps(), Some(trace));
        }
        if self.one_in(8) {
            let mean = self.any(0..=100 * SECOND, 0..=20 * MS);
            let spread = self.any(0..=mean, 0..=mean);
            link.jitter = Some(match self.bits() % 3 {
                0 => Jitter::of(JitterModel::Uniform { spread }, mean),
                1 => Jitter::of(JitterModel::Normal { spread }, mean),
                _ => Jitter::of(JitterModel::Wifi, self.any(MS..=91 * MS, MS..=20 * MS)),
            });
        }
        if self.one_in(8) {
            let delay = self.any(1..=100 * SECOND, 1..=20 * MS);
            link.reorder = Some(Reorder { probability: self.part().min(most), delay });
        }
        if self.one_in(8) {
            link.aggregation = Some(self.any(1..=100 * SECOND, MS..=20 * MS));
        }
        if self.one_in(8) {
            let least = u64::from(packet_size);
            let burst = self.any(least..=1_000_000_000_000_000, least..=300 * least);
            link.policer = Some(Policer { rate_bps: self.any(1..=10_000_000_000_000, 500_000..=50_000_000), burst });
        }
        link
    }

    /// A probability, its ends among them.
    fn part(&mut self) -> f64 {
        let x = self.unit();
        self.pick(&[0.0, 1.0, x, x, 0.1 * x, 0.1 * x])
    }

    fn schedule(&mut self) -> Schedule {
        let (mut at, mut changes) = (self.any(0..=LONGEST / 2, 0..=3 * SECOND), Vec::new());
        for _ in 0..self.uniform(1..=4) {
            let rate = self.any(1..=10_000_000_000_000, 500_000..=50_000_000);
            let (rate_bps, delay) = (self.pick(&[None, Some(0), Some(rate)]), self.any(0..=100 * SECOND, 0..=50 * MS));
            let loss = self.pick(&[None, None, Some(Loss::Independent(1.0)), Some(Loss::Independent(0.1))]);
            let delay = Some(delay).filter(|_| self.one_in(2) || (rate_bps, loss) == (None, None));
            changes.push(Change { at, rate_bps, delay, loss });
            at += self.any(1..=LONGEST / 20, MS..=3 * SECOND);
        }
        let repeat = self.one_in(2).then_some(at.max(US)).filter(|&repeat| repeat <= LONGEST);
        Schedule { changes, repeat }
    }

    fn trace(&mut self) -> Trace {
        let mut time = 0;
        let step = |()| {
            time += self.any(0..=1_000_000, 0..=3);
            time as u32
        };
        let mut times: Vec<u32> = std::iter::repeat_n((), 40).map(step).collect();
        times.push(times[times.len() - 1].max(1));
        Trace::new(times).expect("a trace")
    }

    /// Half of the queues are drop-tail.
    fn queue(&mut self, packet_size: u32) -> Queue {
        if self.one_in(2) {
            return Queue::drop_tail();
        }
        let info = self.pick(queues::ALL);
        let mut queue = Queue::defaults(info);
        for param in info.params {
            if self.one_in(2) {
                continue;
            }
            let value = self.queue_value(&param.kind);
            if (param.unset, value) != (queues::Unset::PacketSize, Value::Bytes(u64::from(packet_size))) {
                queue.given.push((param.name, value));
            }
        }
        let queue = queue.without_defaults();
        if (info.conflict)(&queue).is_some() { Queue::defaults(info) } else { queue }
    }

    fn queue_value(&mut self, kind: &queues::Kind) -> queues::Value {
        use queues::{Kind, Value};
        match *kind {
            Kind::Time { min, max } => Value::Time(self.any(min..=max, MS..=200 * MS)),
            Kind::Packets { min, max } => Value::Packets(self.any(min..=max, 1..=100)),
            Kind::Bytes { min, max } => Value::Bytes(self.any(min..=max, 100..=10_000)),
            Kind::Whole { min, max } => Value::Whole(self.any(min..=max, 1..=100)),
            Kind::Number { min, max } => {
                let x = self.unit();
                Value::Number(self.pick(&[min, max, min + x * (max - min), min + x.powi(8) * (max - min)]))
            }
            Kind::Rate { min, max } => Value::Rate(self.any(min..=max, 1_000_000..=100_000_000)),
            Kind::PacketsOrTime if self.one_in(2) => Value::Packets(self.any(1..=1_000_000_000_000, 1..=100)),
            Kind::PacketsOrTime => Value::Time(self.any(0..=100 * SECOND, 100 * US..=50 * MS)),
            Kind::Flag => Value::Flag(self.one_in(2)),
            Kind::Choice(names) => Value::Name(self.pick(names)),
        }
    }

    /// Some of the links, each once, in any order; 127 at most.
    fn path(&mut self, links: &[Link]) -> Vec<usize> {
        let mut path: Vec<_> = (0..links.len()).collect();
        for place in (1..path.len()).rev() {
            path.swap(place, self.uniform(0..=place as u64) as usize);
        }
        let most = links.len().min(127) as u64;
        let many = if most == 127 && self.one_in(2) { most } else { self.any(1..=most, 1..=most.min(3)) };
        path.truncate(many as usize);
        path
    }

    fn algorithm(&mut self) -> Algorithm {
        let info = registry::ALL[self.uniform(0..=registry::ALL.len() as u64 - 1) as usize];
        let mut params = Vec::new();
        for param in info.params {
            let value = match (param.kind, param.default) {
                _ if self.one_in(2) => continue,
                (Kind::Number { min, max }, Some(Value::Number(default))) => {
                    let x = self.unit();
                    let drawn = self.pick(&[min, max, default, min + x * (max - min), min + x.powi(8) * (max - min)]);
                    Value::Number(drawn.clamp(min, max))
                }
                (Kind::Whole { min, max }, _) => Value::Whole(self.uniform(min..=max)),
                (Kind::Flag, Some(Value::Flag(default))) => Value::Flag(!default),
                (Kind::Choice(names), _) if names.len() > 1 => Value::Name(self.pick(&names[1..])),
                _ => continue,
            };
            params.push((param.name, value));
        }
        let all = Params::new(info.name, info.params, &params);
        let is_default = |(name, value): &(&str, Value)| {
            info.params.iter().any(|param| param.name == *name && all.default(param) == Some(*value))
        };
        let params = params.iter().filter(|given| !is_default(given)).copied().collect();
        Algorithm { params, ..Algorithm::builtin(info.name) }
    }

    fn tcp(&mut self, links: &[Link]) -> Tcp {
        let recovery = self.pick(&Recovery::ALL);
        let path = self.path(links);
        let resume = self.one_in(6).then(|| {
            let saved = Saved::new(
                self.any(1..=1_000_000_000, 10..=1000) as f64,
                self.any(US..=100 * SECOND, 10 * MS..=SECOND),
            );
            if self.one_in(2) { saved } else { saved.max_jump(self.any(1..=1_000_000_000, 10..=1000) as f64) }
        });
        let slow_start = if resume.is_some() { SlowStart::Standard } else { self.pick(&SlowStart::ALL) };
        let slow_start =
            if slow_start == SlowStart::Rapid && !recovery.repairs_many() { SlowStart::Standard } else { slow_start };
        let rapid = slow_start == SlowStart::Rapid;
        Tcp {
            name: None,
            quic: None,
            algorithm: self.algorithm(),
            recovery,
            slow_start,
            resume,
            pacing: if rapid || resume.is_some() { Pacing::On } else { self.pick(&Pacing::ALL) },
            ecn: if self.one_in(2) { EcnMode::Off } else { self.pick(&EcnMode::ALL) },
            ect: self.pick(&[Ecn::Ect0, Ecn::Ect1]),
            prr: recovery.prr().is_some() && self.one_in(2),
            undo: !self.one_in(4),
            handshake: path.len() <= 63 && self.one_in(3),
            delayed_ack: self.one_in(2),
            delayed_ack_timeout: self.any(US..=500 * MS, 40 * MS..=200 * MS),
            ack_every: None,
            byte_counting: self.one_in(2),
            initial_window: self.any(1..=1_000_000, 1..=20) as u32,
            max_window: if self.one_in(2) { None } else { Some(self.any(1..=1_000_000_000_000, 1..=100)) },
            min_rto: self.any(US..=100 * SECOND, 200 * MS..=SECOND),
            rto: self.pick(&RtoRule::ALL),
            growth: Growth::Rfc,
            ip: Ip::default(),
            idle: IdleRule::None,
            sack_compression: self.one_in(2),
            timestamp_tick: self.any(0..=SECOND, 0..=10 * MS),
            rtt_tick: self.any(0..=SECOND, 0..=10 * MS),
            access_delay: self.spread(0..=100 * SECOND, 0..=10 * MS),
            access_rate_bps: self.one_in(3).then(|| self.any(1..=10_000_000_000_000, 1_000_000..=100_000_000)),
            processing_time: self.any(0..=SECOND, 0..=100 * US),
            path,
            reverse: self.one_in(3),
        }
    }

    fn count(&mut self) -> u32 {
        self.pick(&[1, 1, 1, 1, 2, 3, 10, 10, 300])
    }

    fn flows(&mut self, links: &[Link]) -> FlowGroup {
        FlowGroup {
            tcp: self.tcp(links),
            count: self.count(),
            start: Spread::fixed(0),
            stop: None,
            size: self.one_in(2).then(|| self.any(1..=1_000_000_000_000, 1..=500)),
            source: Source::Bulk,
        }
    }

    /// Applications of flows without a size.
    fn sources(&mut self, scenario: &mut Scenario) {
        for group in scenario.flows.iter_mut().filter(|group| group.size.is_none()) {
            group.source = self.source();
            // Requests come back over the links.
            if group.source.request_size().is_some() && group.tcp.path.len() > 63 {
                group.source = Source::Bulk;
            }
            group.tcp.idle = self.pick(&IdleRule::ALL);
            group.tcp.growth = self.pick(&Growth::ALL);
            group.tcp.ip = self.ip();
        }
    }

    fn source(&mut self) -> Source {
        let rate_bps = self.any(1..=10_000_000_000_000, 50_000..=5_000_000);
        match self.bits() % 6 {
            0 => Source::Bulk,
            3 => Source::Requests(Requests {
                think: self.law(),
                size: self.data_law(),
                server: self.pick(&[Law::Constant(0), Law::Exponential { mean: 20 * MS }]),
                request_size: self.pick(&[1, 328, 65_535]),
            }),
            4 => Source::Video(Video {
                ladder: vec![50_000, 200_000, 1_000_000],
                segment: self.pick(&[100 * MS, 2 * SECOND]),
                buffer: 20 * SECOND,
                player: self.pick(&PlayerRule::ALL),
                startup: self.pick(&[1, 3]),
                safety: self.pick(&[0.5, 1.0]),
                length: self.pick(&[None, Some(10 * SECOND)]),
            }),
            1 => Source::Rate { rate_bps },
            2 => Source::Frames {
                per_second: self.pick(&[1.0, 30.0, 1000.0]),
                size: self.data_law(),
                key: self.pick(&[None, Some(KeyFrames { size: 50_000, every: 7 })]),
                deadline: self.pick(&[None, Some(100 * MS)]),
            },
            _ => Source::OnOff { on: self.law(), off: self.law(), rate_bps: self.pick(&[None, Some(rate_bps)]) },
        }
    }

    /// Distribution of a time. The number of packets of a run is limited, so periods of 1 us would be most of its
    /// events.
    fn law(&mut self) -> Law {
        let (a, b) = (self.any(MS..=LONGEST, MS..=SECOND), self.any(MS..=LONGEST, MS..=SECOND));
        match self.bits() % 5 {
            0 => Law::Constant(a),
            1 => Law::Exponential { mean: a },
            2 => Law::Uniform { low: a.min(b), high: a.max(b) },
            3 => Law::Pareto { mean: a, shape: self.pick(&[1.0 + f64::EPSILON, 1.2, 100.0]) },
            _ => Law::Lognormal { mean: a, deviation: b },
        }
    }

    /// Law of the size of a frame.
    fn data_law(&mut self) -> Law {
        let (a, b) = (self.any(1..=1_000_000, 100..=20_000), self.any(1..=1_000_000, 100..=20_000));
        match self.bits() % 5 {
            0 => Law::Constant(a),
            1 => Law::Exponential { mean: a },
            2 => Law::Uniform { low: a.min(b), high: a.max(b) },
            3 => Law::Pareto { mean: a, shape: self.pick(&[1.2, 100.0]) },
            _ => Law::Lognormal { mean: a, deviation: b },
        }
    }

    fn udp(&mut self, links: &[Link]) -> Udp {
        let rate_bps = self.any(1..=10_000_000_000_000, 50_000..=5_000_000);
        let packet_size = self.any(1..=65_535, 100..=1500) as u32;
        Udp {
            rate_bps,
            packet_size,
            frames: self.one_in(2).then(|| self.frames(rate_bps, packet_size)).flatten(),
            name: None,
            start: Spread::fixed(0),
            stop: None,
            access_delay: self.spread(0..=100 * SECOND, 0..=10 * MS),
            path: self.path(links),
            reverse: self.one_in(3),
            count: self.count(),
            ip: self.ip(),
        }
    }

    /// Three hosts, or one of each flow alone.
    fn ip(&mut self) -> Ip {
        let mut host = || self.pick(&[None, Some("a"), Some("b"), Some("c")]).map(str::to_owned);
        let (sender, receiver) = (host(), host());
        Ip { sender, receiver, class: self.pick(&Class::ALL) }
    }

    /// As many a second as the rate has room for; none where that is not one in the longest run.
    fn frames(&mut self, rate_bps: u64, packet_size: u32) -> Option<Frames> {
        let size = |dice: &mut Self| dice.any(1..=1_000_000_000_000_000, 1..=20_000);
        let every = |dice: &mut Self| dice.any(1..=1_000_000, 1..=20);
        let key = self.one_in(2).then(|| KeyFrames { size: size(self), every: every(self) });
        let one = Frames { per_second: 1.0, size: size(self), key };
        let most = (0.999 * rate_bps as f64 / one.mean_rate_bps(packet_size)).min(1e6);
        let part = most * self.unit();
        let per_second = self.pick(&[most, part, 30.0]).min(most);
        (per_second >= 1e-6).then_some(Frames { per_second, ..one })
    }

    fn web(&mut self, links: &[Link]) -> Web {
        let arrivals = if self.one_in(2) {
            Arrivals::Sessions { sessions: self.count(), mean_gap: self.any(US..=LONGEST, 10 * MS..=SECOND) }
        } else {
            let ends = [1e-6, 1e6, 1.0, 100.0];
            Arrivals::Poisson { per_second: if self.one_in(2) { self.pick(&ends) } else { 1e-6 + 100.0 * self.unit() } }
        };
        Web {
            tcp: self.tcp(links),
            arrivals,
            mean_size: self.any(1..=1_000_000_000_000_000, 1000..=100_000) as f64,
            shape: self.pick(&[1.0 + f64::EPSILON, 1.2, 2.5, 100.0]),
            start: Spread::fixed(0),
            stop: None,
        }
    }

    /// Everything that lies on the clock of the run, which is cut so that the scenario stays small.
    fn time(&mut self, scenario: &mut Scenario) {
        let affordable = PACKETS / packets_per_second(scenario) * SECOND as f64;
        let duration = scenario.duration.min(affordable as u64).max(US);
        scenario.duration = duration;
        scenario.warmup = self.any(0..=duration - 1, 0..=duration / 2);
        for group in &mut scenario.flows {
            (group.start, group.stop) = self.life(duration);
        }
        for source in &mut scenario.udp {
            (source.start, source.stop) = self.life(duration);
        }
        for web in &mut scenario.web {
            (web.start, web.stop) = self.life(duration);
        }
        let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
        let least = (duration * (flows + scenario.links.len() as u64) / ROWS).max(1);
        if !self.one_in(4) {
            scenario.series_interval = Some(self.any(least..=LONGEST, least..=least.max(duration / 10)));
        }
    }

    /// When something starts, before the end of the run, and stops, after that.
    fn life(&mut self, duration: u64) -> (Spread, Option<u64>) {
        let low = if self.one_in(2) { 0 } else { self.any(0..=duration - 1, 0..=duration / 3) };
        let high = if self.one_in(2) { low } else { low + self.any(0..=LONGEST - low, 0..=duration / 3) };
        let stop = (self.one_in(3) && high < LONGEST)
            .then(|| self.any(high + 1..=LONGEST, high + 1..=(high + duration).min(LONGEST)));
        (Spread { low, high }, stop)
    }
}

/// Makes datagrams fit their buffers, and limits bursts to the allowed size.
fn make_room(scenario: &mut Scenario) {
    for source in &scenario.udp {
        for &link in &source.path {
            let link = &mut scenario.links[link];
            for end in [&mut link.buffer].into_iter().chain(link.reverse.as_mut().map(|back| &mut back.buffer)) {
                if let Buffer::Bytes(bytes) = end {
                    *bytes = (*bytes).max(u64::from(source.packet_size));
                }
            }
        }
    }
    for group in &mut scenario.flows {
        group.tcp.initial_window = group.tcp.initial_window.min((PACKETS as u32 / group.count).max(1));
    }
    for web in &mut scenario.web {
        web.tcp.initial_window = web.tcp.initial_window.min(100);
    }
}

/// About how many packets a second this scenario sends at most.
fn packets_per_second(scenario: &Scenario) -> f64 {
    let slowest = |tcp: &Tcp| {
        tcp.path.iter().map(|&link| scenario.links[link].direction(tcp.reverse).rate_bps).min().unwrap_or(1)
    };
    let tcp = |tcp: &Tcp| slowest(tcp) as f64 / f64::from(8 * scenario.packet_size);
    let flows = scenario.flows.iter().map(|group| tcp(&group.tcp));
    let udp = scenario
        .udp
        .iter()
        .map(|source| f64::from(source.count) * source.rate_bps as f64 / f64::from(8 * source.packet_size));
    let web = scenario.web.iter().map(|web| {
        let starts = match web.arrivals {
            Arrivals::Poisson { per_second } => per_second,
            Arrivals::Sessions { sessions, mean_gap } => f64::from(sessions) * 1e9 / mean_gap as f64,
        };
        tcp(&web.tcp).min(starts * (web.mean_size / f64::from(scenario.packet_size) + 1.0)) + starts
    });
    flows.chain(udp).chain(web).sum::<f64>().max(1e-9)
}
