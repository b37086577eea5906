//! Canonical order of a scenario, and identities of its links and sources, so that results do not depend on the order in which
//! `[[links]]`, `[[flows]]`, `[[udp]]`, and `[[web]]` are written.
//!
//! - A link is its name.
//! - A flow is its place: kind of traffic, path, start, end, size, and access delay. Flows with equal places are numbered in the order
//!   of their full tables. The algorithm and its parameters are no part of the place: two algorithms that take turns in one scenario
//!   get equal start times, delays, and losses, which paired comparisons need.
//! - Links are sorted by name, groups by place and table. The engine sees only this order; reports come in the written one.
//!
//! `count = n` therefore equals n tables with one member each, up to the order of these.

use super::{Link, Scenario, Value, render};
use crate::rng::{Identity, Purpose, Rng};
use fullpipe_cc::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A scenario in canonical order, and the inverse permutation.
#[derive(Debug)]
pub struct Order {
    /// The scenario in canonical order, with the phases of links filled in.
    pub scenario: Arc<Scenario>,
    /// Written index of each link.
    pub links: Vec<usize>,
    /// Written index of each entry of `[[flows]]`.
    pub groups: Vec<usize>,
    /// Written index of each entry of `[[udp]]`.
    pub udp: Vec<usize>,
    /// Written index of each entry of `[[web]]`.
    pub web: Vec<usize>,
    /// Identity of each flow of `[[flows]]`.
    pub flows: Vec<Identity>,
    /// Identity of each source of `[[udp]]`.
    pub sources: Vec<Identity>,
    /// Identity of each entry of `[[web]]`.
    pub users: Vec<Identity>,
    /// Written number of each flow of `[[flows]]`; empty where that is its own.
    pub numbers: Vec<u32>,
}

/// Identity of a direction of the link with this name.
pub fn direction(name: &str, reverse: bool) -> Identity {
    Identity::NONE.text(name).number(u64::from(reverse))
}

impl Order {
    /// The canonical order of a checked scenario.
    pub fn of(written: Arc<Scenario>) -> Order {
        let links = sorted(&written.links, |link| link.name.clone());
        let tables = |list: Vec<render::Pairs>, place: &[&str]| -> Vec<(String, String)> {
            list.into_iter().map(|pairs| (text(&pairs, |key| place.contains(&key)), text(&pairs, |_| true))).collect()
        };
        let flow_tables =
            tables(written.flows.iter().map(|group| render::flows(group, &written)).collect(), FLOW_PLACE);
        let udp_tables = tables(written.udp.iter().map(|udp| render::udp(udp, &written)).collect(), UDP_PLACE);
        let web_tables = tables(written.web.iter().map(|web| render::web(web, &written)).collect(), WEB_PLACE);
        let [groups, udp, web] = [&flow_tables, &udp_tables, &web_tables].map(|tables| sorted(tables, Clone::clone));

        let members = |order: &[usize], count: &dyn Fn(usize) -> u32| -> Vec<(usize, u32)> {
            order.iter().map(|&index| (index, count(index))).collect()
        };
        let flows = identities("flows", &flow_tables, &members(&groups, &|index| written.flows[index].count));
        let sources = identities("udp", &udp_tables, &members(&udp, &|index| written.udp[index].count));
        let users = identities("web", &web_tables, &members(&web, &|_| 1));
        let numbers = if groups.is_sorted() { Vec::new() } else { numbers(&written, &groups) };
        let mut order = Order { scenario: written, links, groups, udp, web, flows, sources, users, numbers };
        order.arrange();
        order
    }

    /// Puts the scenario in order, and sets the phases of links.
    fn arrange(&mut self) {
        let kept = [&self.links, &self.groups, &self.udp, &self.web];
        if !kept.iter().all(|order| order.is_sorted()) {
            self.scenario = Arc::new(self.sorted_scenario());
        }
        if self.scenario.links.iter().any(is_aggregated) {
            let mut scenario = Arc::unwrap_or_clone(Arc::clone(&self.scenario));
            set_phases(&mut scenario);
            self.scenario = Arc::new(scenario);
        }
    }

    fn sorted_scenario(&self) -> Scenario {
        let written = &*self.scenario;
        let mut places = vec![0; written.links.len()];
        self.links.iter().enumerate().for_each(|(place, &index)| places[index] = place);
        let mut scenario = Scenario {
            links: pick(&written.links, &self.links),
            flows: pick(&written.flows, &self.groups),
            udp: pick(&written.udp, &self.udp),
            web: pick(&written.web, &self.web),
            ..written.clone()
        };
        let flows = scenario.flows.iter_mut().map(|group| &mut group.tcp.path);
        let udp = scenario.udp.iter_mut().map(|udp| &mut udp.path);
        let web = scenario.web.iter_mut().map(|web| &mut web.tcp.path);
        flows.chain(udp).chain(web).flatten().for_each(|link| *link = places[*link]);
        scenario
    }

    /// Written number of a flow; a web connection keeps its own.
    pub fn number(&self, flow: u32) -> u32 {
        self.numbers.get(flow as usize).copied().unwrap_or(flow)
    }

    /// Values of canonical order in the order of `written` indices, one of [`Order::links`] and its like.
    pub fn written<T>(written: &[usize], values: Vec<T>) -> Vec<T> {
        if written.is_sorted() {
            return values;
        }
        let mut pairs: Vec<_> = written.iter().copied().zip(values).collect();
        pairs.sort_by_key(|(index, _)| *index);
        pairs.into_iter().map(|(_, value)| value).collect()
    }

    /// Canonical indices in the order of `written` ones.
    pub fn back(written: &[usize]) -> Vec<usize> {
        Order::written(written, (0..written.len()).collect())
    }
}

/// Keys of a flow's place in the scenario, without those of its sender.
const FLOW_PLACE: &[&str] = &["path", "reverse", "start", "stop", "size", "access_delay"];
const UDP_PLACE: &[&str] = &["path", "reverse", "start", "stop", "access_delay", "rate", "packet_size", "frames"];
const WEB_PLACE: &[&str] = &[
    "path",
    "reverse",
    "start",
    "stop",
    "access_delay",
    "sessions",
    "mean_gap",
    "transfers_per_second",
    "mean_size",
    "shape",
];

/// The pairs of the keys asked for, as text, without the number of members.
fn text(pairs: &[(&'static str, Value)], asked: impl Fn(&str) -> bool) -> String {
    let asked = pairs.iter().filter(|(key, _)| *key != "count" && asked(key));
    asked.map(|(key, value)| format!("{key} = {value}\n")).collect()
}

/// Indices of a list, sorted by a key, equal ones in their order.
fn sorted<T, K: Ord>(list: &[T], key: impl Fn(&T) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_cached_key(|&index| key(&list[index]));
    order
}

fn pick<T: Clone>(list: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|&index| list[index].clone()).collect()
}

/// Identities of all members of groups in canonical order, given as index and number of members.
fn identities(kind: &str, tables: &[(String, String)], members: &[(usize, u32)]) -> Vec<Identity> {
    let mut occurrences: BTreeMap<&str, u64> = BTreeMap::new();
    let mut identities = Vec::with_capacity(members.iter().map(|&(_, count)| count as usize).sum());
    for &(index, count) in members {
        let place = tables[index].0.as_str();
        let (base, next) = (Identity::NONE.text(kind).text(place), occurrences.entry(place).or_default());
        identities.extend((*next..*next + u64::from(count)).map(|number| base.number(number)));
        *next += u64::from(count);
    }
    identities
}

/// Written number of each flow, groups in canonical order.
fn numbers(written: &Scenario, groups: &[usize]) -> Vec<u32> {
    let ends = written.flows.iter().scan(0, |sum, group| {
        *sum += group.count;
        Some(*sum)
    });
    let ends: Vec<u32> = ends.collect();
    groups.iter().flat_map(|&index| ends[index] - written.flows[index].count..ends[index]).collect()
}

fn is_aggregated(link: &Link) -> bool {
    link.aggregation.is_some() || link.direction(true).aggregation.is_some()
}

/// Sets the phase of each direction that shares its interval with another one that traffic crosses.
///
/// Phases of all forward directions of one interval are evenly spaced, in the order of a hash, from a random offset; so are those of
/// reverse directions. Independent phases would leave gaps, and the flow behind a gap would always find room in a buffer that the links
/// share: Jain's index of 300 Reno flows from 50 Mbit/s each into 1 Gbit/s is .89 over 60 s with these, and .95 with even ones.
fn set_phases(scenario: &mut Scenario) {
    let crossed = crossed(scenario);
    let seed = scenario.seed;
    let mut shared: BTreeMap<Nanos, [Vec<(u64, usize)>; 2]> = BTreeMap::new();
    for (index, link) in scenario.links.iter().enumerate() {
        for reverse in [false, true].into_iter().filter(|&reverse| crossed[2 * index + usize::from(reverse)]) {
            if let Some(every) = link.direction(reverse).aggregation {
                let drawn = Rng::new(seed, Purpose::Phase, direction(&link.name, reverse)).bits();
                shared.entry(every).or_default()[usize::from(reverse)].push((drawn, index));
            }
        }
    }
    let mut phases = BTreeMap::new();
    for (every, directions) in shared.iter_mut().filter(|(_, [there, back])| there.len() + back.len() > 1) {
        for (reverse, drawn) in [false, true].into_iter().zip(directions) {
            drawn.sort_unstable();
            let offset = Identity::NONE.number(*every).number(u64::from(reverse));
            let mut phase = u128::from(Rng::new(seed, Purpose::Phase, offset).bits());
            for &(_, index) in &*drawn {
                phases.insert((index, reverse), ((u128::from(*every) * (phase & u128::from(u64::MAX))) >> 64) as Nanos);
                phase += (1 << 64) / drawn.len() as u128;
            }
        }
    }
    for (index, link) in scenario.links.iter_mut().enumerate().filter(|(_, link)| is_aggregated(link)) {
        let mut back = link.direction(true).clone();
        link.phase = link.phase.or_else(|| phases.get(&(index, false)).copied());
        back.phase = back.phase.or_else(|| phases.get(&(index, true)).copied());
        back.reverse = None;
        link.reverse = Some(Box::new(back));
    }
}

/// Whether traffic crosses each direction of each link.
fn crossed(scenario: &Scenario) -> Vec<bool> {
    let mut crossed = vec![false; 2 * scenario.links.len()];
    let flows = scenario.flows.iter().map(|group| &group.tcp.path);
    for &link in flows.chain(scenario.web.iter().map(|web| &web.tcp.path)).flatten() {
        crossed[2 * link..2 * link + 2].fill(true);
    }
    for udp in &scenario.udp {
        udp.path.iter().for_each(|&link| crossed[2 * link + usize::from(udp.reverse)] = true);
    }
    crossed
}
