//! `preset = "leo"`: keys of a link for a kind of access network. A key that the scenario writes replaces that of the preset.
//!
//! Rates and delays that vary are generated from the scenario's seed and the link's name. They are no measurements of a network: the shape
//! comes from the sources below, and the numbers are typical values within their ranges, except where "not verified" stands.
//!
//! - **`leo`**, a satellite in low Earth orbit. The constellation is reconfigured each 15 s, with delay spikes of about 140 ms after and 75 ms
//!   before that (arXiv 2601.08439, abstract). One-way delays: LeoEM's computed paths of 6.8 to 30.3 ms. Here: boundaries at a random
//!   offset plus multiples of 15 s; between them a one-way delay uniform in 12 to 28 ms that drifts by up to 0.2 ms/s, a rate that is lognormal
//!   around a median of 150 Mbit/s (sigma 0.4, within 20 to 350), and a tenth of it upstream; spikes uniform in 0 to 60 ms; loss 0.1 %; an
//!   outage of 20 to 100 ms at half of the boundaries (not verified).
//! - **`geo`**, a geostationary satellite: 300 ms one way (238.7 to 278 ms of propagation by geometry, and processing), 50 Mbit/s down and 5 up,
//!   a buffer of 1 BDP, loss 1e-5 (not verified).
//! - **`wifi`** and **`wifi-bad`**: `jitter`'s model of Wi-Fi with a mean of 2 or 7 ms, and packets that leave each 4 ms, at 100 or 10 Mbit/s
//!   and a base RTT of 2 ms (private-octopus/c4, c4-tests.md, for the bad case).
//! - **`docsis`**, a cable network: 500 Mbit/s down and 20 up, 5 ms one way (draft-white-tsvwg-lld-00: about 10 ms of RTT), upstream grants each
//!   2 ms, and PIE with a target of 10 ms upstream (RFC 8034 section 4).
//! - **`5g`**: a rate that jumps among 20, 100, 400, and 1000 Mbit/s and stays for 2 s on average (rates change within seconds and at
//!   handovers: Narayanan et al., *A First Look at Commercial 5G Performance on Smartphones*, 2020, numbers from memory), 10 ms one way,
//!   upstream grants each 2.5 ms, and an outage of 50 ms at a tenth of the changes (not verified).
//!
//! What varies has a period of an hour. All links of a group (`count`) vary alike. No source gives the buffers of `leo`, `wifi`, `docsis`, and `5g`: they
//! are times.

use super::change::table;
use super::problem::Problem;
use super::reader::Reader;
use super::units::{RATE, TIME};
use super::{Table, Value};
use crate::rng::{Identity, Purpose, Rng, Spread};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::{SECOND, seconds};

/// Kind of access network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Satellite in low Earth orbit.
    Leo,
    /// Geostationary satellite.
    Geo,
    /// Wireless LAN.
    Wifi,
    /// Wireless LAN far from the access point.
    WifiBad,
    /// Cable network.
    Docsis,
    /// Mobile network.
    FiveG,
}

fullpipe_cc::named! {
    Preset { Leo = "leo", Geo = "geo", Wifi = "wifi", WifiBad = "wifi-bad", Docsis = "docsis", FiveG = "5g" }
}

/// Period of what varies.
const PERIOD: Nanos = 3600 * SECOND;

/// Keys of a scenario, any of which replaces a group of a preset's keys.
const RATES: [&str; 4] = ["rate", "trace", "schedule", "repeat"];
const DELAYS: [&str; 4] = ["delay", "delay_trace", "delay_interpolation", "trace_repeat"];

/// Table of a link with the keys of its preset; `None` if it has no preset.
pub fn expand(reader: &Reader, table: &Table, seed: u64, duration: Nanos) -> Result<Option<Table>, Problem> {
    let Some(preset) = reader.one_of("preset", "preset", &Preset::NAMES)? else { return Ok(None) };
    let name = reader.name("\"access\"")?.unwrap_or_default();
    let mut rng = Rng::new(seed, Purpose::Preset, Identity::NONE.text(name));
    let has = |keys: &[&str]| keys.iter().any(|key| table.contains_key(key));
    let mut all = table.clone();
    for (key, value) in preset.keys(duration.min(PERIOD), duration > PERIOD, &mut rng) {
        let replaced = [&RATES, &DELAYS].into_iter().any(|group| group.contains(&key) && has(group));
        if !replaced && !table.contains_key(key) {
            all.insert(key.to_owned(), value);
        }
    }
    Ok(Some(all))
}

impl Preset {
    /// Keys and values for the first `span` of a run; `repeats` if it goes on.
    fn keys(self, span: Nanos, repeats: bool, rng: &mut Rng) -> Vec<(&'static str, Value)> {
        match self {
            Preset::Leo => leo(span, repeats, rng),
            Preset::Geo => vec![
                ("rate", "50 Mbit/s".into()),
                ("delay", "300 ms".into()),
                ("buffer", "1 BDP".into()),
                ("loss", 1e-5.into()),
                ("reverse", table([("rate", "5 Mbit/s".into())])),
            ],
            Preset::Wifi => wifi("100 Mbit/s", "2 ms"),
            Preset::WifiBad => wifi("10 Mbit/s", "7 ms"),
            Preset::Docsis => {
                let pie = table([("name", "pie".into()), ("target", "10 ms".into())]);
                let up = [("rate", "20 Mbit/s".into()), ("aggregation", "2 ms".into()), ("queue", pie)];
                vec![
                    ("rate", "500 Mbit/s".into()),
                    ("delay", "5 ms".into()),
                    ("buffer", "100 ms".into()),
                    ("reverse", table(up)),
                ]
            }
            Preset::FiveG => five_g(span, repeats, rng),
        }
    }
}

fn wifi(rate: &str, jitter: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("rate", rate.into()),
        ("delay", "1 ms".into()),
        ("buffer", "100 ms".into()),
        ("jitter", table([("model", "wifi".into()), ("mean", jitter.into())])),
        ("aggregation", "4 ms".into()),
    ]
}

/// Time between two reconfigurations.
const BOUNDARY: Nanos = 15 * SECOND;

/// Delays from one reconfiguration to the next, seconds.
struct Interval {
    from_s: f64,
    until_s: f64,
    base_s: f64,
    drift: f64,
    /// Spike after its beginning, and spike before its end.
    spikes_s: [f64; 2],
}

impl Interval {
    /// Rows of the delay trace: two for each of first spike, drift alone, and second spike.
    fn rows(&self) -> Vec<Value> {
        const STEP_S: f64 = 1e-6;
        let first_end_s = (self.from_s + 0.14).min(self.until_s);
        let second_from_s = (self.until_s - 0.075).max(first_end_s);
        let parts = [
            (self.from_s, first_end_s, self.spikes_s[0]),
            (first_end_s, second_from_s, 0.0),
            (second_from_s, self.until_s, self.spikes_s[1]),
        ];
        let row = |time_s: f64, spike_s: f64| {
            let delay_s = self.base_s + self.drift * (time_s - self.from_s) + spike_s;
            Value::Array(vec![time_s.into(), delay_s.into()])
        };
        let long = parts.into_iter().filter(|(from_s, until_s, _)| until_s - from_s > 2.0 * STEP_S);
        long.flat_map(|(from_s, until_s, spike_s)| [row(from_s, spike_s), row(until_s - STEP_S, spike_s)]).collect()
    }
}

fn leo(span: Nanos, repeats: bool, rng: &mut Rng) -> Vec<(&'static str, Value)> {
    let first = (rng.unit() * BOUNDARY as f64) as Nanos;
    let begins = std::iter::once(0).chain((0..).map(|k| first + k * BOUNDARY)).take_while(|&at| at < span);
    let (mut rates, mut delays) = (Vec::new(), Vec::new());
    for from in begins {
        let until = if from == 0 { first } else { from + BOUNDARY };
        rates.push((from, (libm::exp(0.4 * rng.normal()) * 150e6).clamp(20e6, 350e6) as u64, outage(rng)));
        let interval = Interval {
            from_s: seconds(from),
            until_s: seconds(until.min(span)),
            base_s: 0.012 + 0.016 * rng.unit(),
            drift: (2.0 * rng.unit() - 1.0) * 0.2e-3,
            spikes_s: [if from == 0 { 0.0 } else { 0.06 * rng.unit() }, 0.06 * rng.unit()],
        };
        delays.extend(interval.rows());
    }
    let schedule = |part: u64| {
        let later = rates.iter().filter(|(at, ..)| *at > 0);
        Value::Array(later.flat_map(|&(at, bps, outage)| changes(at, bps / part, outage)).collect())
    };
    let rate = |part: u64| Value::from(RATE.format(rates[0].1 / part));
    let mut keys = vec![
        ("rate", rate(1)),
        ("schedule", schedule(1)),
        ("delay_trace", Value::Array(delays)),
        ("buffer", "100 ms".into()),
        ("loss", 0.001.into()),
        ("reverse", table([("rate", rate(10)), ("schedule", schedule(10))])),
    ];
    if repeats {
        keys.extend([("repeat", TIME.format(PERIOD).into()), ("trace_repeat", true.into())]);
    }
    keys
}

/// Outage of 20 to 100 ms at half of the boundaries; else 0.
fn outage(rng: &mut Rng) -> Nanos {
    let (happens, length) = (rng.unit() <= 0.5, rng.spread(Spread { low: SECOND / 50, high: SECOND / 10 }));
    if happens { length } else { 0 }
}

/// Rates of the mobile network, bits per second.
const MOBILE_BPS: [u64; 4] = [20_000_000, 100_000_000, 400_000_000, 1_000_000_000];

fn five_g(span: Nanos, repeats: bool, rng: &mut Rng) -> Vec<(&'static str, Value)> {
    let mut state = (rng.bits() % 4) as usize;
    let rate = MOBILE_BPS[state];
    let mut schedule = Vec::new();
    let mut at = rng.exponential(2e9).max(1);
    while at < span {
        // One of the three others.
        state = (state + 1 + (rng.bits() % 3) as usize) % 4;
        let outage = if rng.unit() <= 0.1 { SECOND / 20 } else { 0 };
        schedule.extend(changes(at, MOBILE_BPS[state], outage));
        at += outage + rng.exponential(2e9).max(1);
    }
    let mut keys = vec![
        ("rate", RATE.format(rate).into()),
        ("schedule", Value::Array(schedule)),
        ("delay", "10 ms".into()),
        ("buffer", "200 ms".into()),
        ("reverse", table([("aggregation", "2.5 ms".into())])),
    ];
    if repeats {
        keys.push(("repeat", TIME.format(PERIOD).into()));
    }
    keys
}

/// Change to a rate after an outage, which may be none.
fn changes(at: Nanos, bps: u64, outage: Nanos) -> Vec<Value> {
    let change = |at, bps| table([("at", TIME.format(at).into()), ("rate", RATE.format(bps).into())]);
    let stops = (outage > 0).then(|| change(at, 0));
    stops.into_iter().chain([change(at + outage, bps)]).collect()
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Jitter, JitterModel, Link, Loss};
    use crate::{Scenario, run};

    fn scenario(preset: &str, more: &str, seed: u64) -> Scenario {
        Scenario::from_toml(&format!(
            "duration = \"150 s\"\nseed = {seed}\n[[links]]\nname = \"l\"\npreset = \"{preset}\"\n{more}\n[[flows]]\nalgorithm = \"cubic\"\n"
        ))
        .expect("a scenario")
    }

    fn link(preset: &str, more: &str, seed: u64) -> Link {
        scenario(preset, more, seed).links.remove(0)
    }

    /// Times of the rates of a link, seconds, and the rates.
    fn rates(link: &Link) -> Vec<(f64, u64)> {
        let changes = link.schedule.changes.iter().map(|change| (change.at as f64 / 1e9, change.rate_bps.unwrap_or(0)));
        std::iter::once((0.0, link.rate_bps)).chain(changes).collect()
    }

    /// 150 s have nine or ten boundaries, 15 s apart, at which rate and delay step; the bounds are those of the head of the file.
    #[test]
    fn a_low_orbit_is_reconfigured_each_15_s() {
        for seed in 1..=100 {
            let link = link("leo", "", seed);
            let rates = rates(&link);
            let sent = rates.iter().filter(|(_, bps)| *bps > 0);
            assert!(sent.clone().all(|(_, bps)| (20_000_000..=350_000_000).contains(bps)), "{rates:?}");
            let starts: Vec<f64> =
                (1..rates.len()).filter(|&k| rates[k].1 == 0 || rates[k - 1].1 > 0).map(|k| rates[k].0).collect();
            assert!((9..=10).contains(&starts.len()), "{starts:?}");
            assert!(starts.windows(2).all(|pair| (pair[1] - pair[0] - 15.0).abs() < 1e-9), "{starts:?}");
            let outages = (1..rates.len() - 1).filter(|&k| rates[k].1 == 0).map(|k| rates[k + 1].0 - rates[k].0);
            assert!(outages.clone().all(|s| (0.0199..=0.1001).contains(&s)), "{rates:?}");
            let rows = link.delay_trace.as_ref().expect("delays").rows();
            assert!(rows.iter().all(|&(_, nanos)| (9e6..=91e6).contains(&nanos)), "{rows:?}");
            let steps = rows.windows(2).filter(|pair| (pair[1].1 - pair[0].1).abs() > 3.1e6);
            let far = |at: f64| starts.iter().all(|start| !(start - 0.0751..=start + 0.1401).contains(&at));
            assert!(steps.clone().all(|pair| !far(pair[1].0 as f64 / 1e9) || pair[1].0 as f64 / 1e9 > 149.9), "{seed}");
            assert!(steps.count() > 9, "{seed}");
            let back = link.reverse.as_ref().expect("a slower uplink");
            assert_eq!((back.rate_bps, back.schedule.changes.len()), (link.rate_bps / 10, link.schedule.changes.len()));
        }
    }

    #[test]
    fn a_mobile_rate_stays_for_two_seconds_on_average() {
        let mut stays = 0.0;
        for seed in 1..=100 {
            let rates = rates(&link("5g", "", seed));
            assert!(rates.iter().all(|(_, bps)| [0, 20, 100, 400, 1000].contains(&(bps / 1_000_000))), "{rates:?}");
            let differ = |k: usize| rates[k].1 != rates[k - 1].1;
            assert!((1..rates.len()).all(differ), "{rates:?}");
            stays += rates.iter().filter(|(_, bps)| *bps > 0).count() as f64 / 100.0;
        }
        // 150 s in stays of 2 s, less a tenth of them with 50 ms of outage: 75.8 with the first.
        assert!((stays - 75.8).abs() < 3.0, "{stays}");
    }

    #[test]
    fn what_does_not_vary_is_as_the_sources_say() {
        let geo = link("geo", "", 1);
        let back = geo.reverse.as_ref().map(|back| back.rate_bps);
        assert_eq!((geo.rate_bps, geo.delay, back), (50_000_000, 300_000_000, Some(5_000_000)));
        assert_eq!(geo.loss, Loss::Independent(1e-5));
        for (preset, rate_bps, mean) in [("wifi", 100_000_000, 2_000_000), ("wifi-bad", 10_000_000, 7_000_000)] {
            let wifi = link(preset, "", 1);
            assert_eq!((wifi.rate_bps, wifi.aggregation), (rate_bps, Some(4_000_000)));
            assert!(matches!(wifi.jitter, Some(Jitter { model: JitterModel::Wifi, mean: found, .. }) if found == mean));
        }
        let docsis = link("docsis", "", 1);
        let up = docsis.reverse.as_ref().expect("a slower uplink");
        assert_eq!((up.queue.info.name, up.queue.time("target"), up.rate_bps), ("pie", 10_000_000, 20_000_000));
    }

    #[test]
    fn seeds_and_names_vary_and_written_keys_stay() {
        assert_ne!(link("leo", "", 1), link("leo", "", 2));
        let two = Scenario::from_toml(
            "duration = \"60 s\"\nlinks = [{ name = \"a\", preset = \"5g\" }, { name = \"b\", preset = \"5g\" }]\nflows = [{ algorithm = \"reno\", path = [\"a\", \"b\"] }]",
        )
        .expect("a scenario");
        assert_ne!(two.links[0].schedule, two.links[1].schedule);
        let fixed = link("leo", "rate = \"40 Mbit/s\"\ndelay = \"20 ms\"\nloss = 0", 1);
        assert!(fixed.schedule.changes.is_empty() && fixed.delay_trace.is_none());
        assert_eq!((fixed.rate_bps, fixed.delay, fixed.loss), (40_000_000, 20_000_000, Loss::NONE));
    }

    /// The resolved scenario has values, and gives the same link.
    #[test]
    fn a_resolved_scenario_needs_no_preset() {
        for preset in ["leo", "geo", "wifi", "wifi-bad", "docsis", "5g"] {
            let one = scenario(preset, "", 3);
            let resolved = one.to_toml();
            assert!(!resolved.contains("preset"), "{resolved}");
            assert_eq!(Scenario::from_toml(&resolved).expect("a scenario").links, one.links);
            let report = run(&one, &mut |_| true).expect("nobody stops it");
            assert!(report.data_packets > 1000, "{preset}");
        }
    }

    /// Two hours: what varies comes again after one.
    #[test]
    fn a_long_run_repeats_an_hour() {
        let text = |hours: u32| {
            format!(
                "duration = \"{} s\"\nlinks = [{{ name = \"l\", preset = \"leo\" }}]\nflows = [{{ algorithm = \"reno\" }}]",
                3600 * hours
            )
        };
        let link = |hours| Scenario::from_toml(&text(hours)).expect("a scenario").links.remove(0);
        assert_eq!(link(2).schedule.repeat, Some(3_600_000_000_000));
        assert_eq!(link(2).schedule.changes, link(1).schedule.changes);
        assert!(link(2).delay_trace.is_some_and(|trace| trace.repeats));
        assert_eq!(link(1).schedule.repeat, None);
    }
}
