//! Memory of a run: its certain need, which is checked before it begins, and its heap, which is checked at intervals.

use super::Engine;
use crate::engine::schedule::Schedule;
use crate::network::Network;
use crate::report::FlowReport;
use crate::scenario::{Arrivals, Buffer, FlowGroup, Loss, Problem, Scenario, Tcp, buffer_key};
use crate::traffic::connection::Connection;
use crate::traffic::datagrams::DatagramSource;
use crate::traffic::frames::FrameSource;
use crate::transport::{Controller, Policy};
use fullpipe_cc::{Nanos, time::seconds};
use std::collections::BTreeMap;

/// Memory limit of a run, and the parts of its heap that are not counted at each look.
pub struct Memory {
    limit: u64,
    /// Bytes of the series, allocated at the beginning.
    series: u64,
    /// Bytes of the traces of the links.
    traces: u64,
    /// State of the algorithms of the flows that the scenario lists, and of each transfer of web traffic.
    states: u64,
    state_of_transfer: u64,
    /// The number of connections grows during the run.
    grows: bool,
    /// Bytes of connections and sources of frames at the last look at them, and number of looks at the rest until the next one.
    connections: u64,
    looks_left: usize,
}

/// Connections looked at for each look at the rest, on average: one for every 64 events, which costs next to nothing.
const CONNECTIONS_A_LOOK: usize = super::WATCH_EVERY as usize / 64;

/// Upper limit of the bytes that connections gain between two checks: 512 per event. The start of a transfer takes
/// about as much, and so do the records of eight segments; more segments count as additional events ([`super::burst`]).
const GAIN_A_LOOK: u64 = 512 * super::WATCH_EVERY as u64;

impl Memory {
    /// Nothing held yet.
    pub fn new(scenario: &Scenario, limit: u64) -> Memory {
        let flows = scenario.flows.iter().map(|group| u64::from(group.count) * state_bytes(&group.tcp));
        Memory {
            limit,
            series: series_bytes(scenario),
            traces: trace_bytes(scenario),
            states: flows.sum(),
            state_of_transfer: scenario.web.iter().map(|group| state_bytes(&group.tcp)).max().unwrap_or(0),
            grows: scenario.web.iter().any(|web| matches!(web.arrivals, Arrivals::Poisson { .. })),
            connections: 0,
            looks_left: 0,
        }
    }
}

impl<P: Policy> Engine<P> {
    /// Checks that the run is within its memory limit at `now`. The problem names the largest user of memory.
    pub fn check_memory(&mut self, now: Nanos) -> Result<(), Problem> {
        if self.memory.looks_left == 0 {
            let held = |flow: &Connection<P>| {
                let heed = flow.heed.as_ref().map_or(0, |heed| heed.heap_bytes());
                let access = flow.access_link.as_deref().map_or(0, size_of_val);
                let source = flow.source.as_ref().map_or(0, |source| source.heap_bytes());
                flow.sender.heap_bytes() + flow.receiver.heap_bytes() + heed + access + source
            };
            let framed = self.scenario.udp.iter().any(|group| group.frames.is_some());
            let sources = if framed { &*self.datagrams } else { &[] };
            let frames = sources.iter().filter_map(|source| source.frames.as_ref()).map(|frames| frames.heap_bytes());
            self.memory.connections = (self.flows.iter().map(held).sum::<usize>() + frames.sum::<usize>()) as u64;
            let looks = (self.flows.len() + sources.len()) / CONNECTIONS_A_LOOK;
            let room = self.memory.limit.saturating_sub(self.held_bytes());
            self.memory.looks_left = looks.min(usize::try_from(room / GAIN_A_LOOK).unwrap_or(usize::MAX)) + 1;
        }
        self.memory.looks_left -= 1;
        let held = self.held_bytes();
        if held <= self.memory.limit { Ok(()) } else { Err(self.excess(now)) }
    }

    fn held_bytes(&self) -> u64 {
        let transit = &self.transit;
        let queues = transit.network.heap_bytes();
        let rest = transit.schedule.heap_bytes() + transit.notes.heap_bytes() + transit.timers.heap_bytes();
        let lost = transit.lost.capacity() * size_of::<u64>() + self.transfers.heap_bytes();
        // Connections are aligned to cache lines, so that they are copied where their number grows.
        let copies = 1 + usize::from(self.memory.grows);
        (queues + rest + lost + copies * self.flows.capacity() * size_of::<Connection<P>>()) as u64
            + self.memory.connections
            + self.memory.series
            + self.memory.traces
            + self.memory.states
            + (self.flows.len() - self.long_lived) as u64 * self.memory.state_of_transfer
    }

    /// Which key fills the memory.
    fn excess(&self, now: Nanos) -> Problem {
        let scenario = &*self.scenario;
        let Transited { under_way, index, waiting } = Transited::of(&self.transit.schedule, &self.transit.network);
        let when = format!("after {:.3} s", seconds(now));
        let beyond = format!("more than the {} that the run may hold", readable(self.memory.limit));
        let transfers = self.flows.len() - self.long_lived;
        if transfers * size_of::<Connection<P>>() > under_way * PACKET_BYTES {
            let group =
                scenario.web.iter().position(|web| matches!(web.arrivals, Arrivals::Poisson { .. })).unwrap_or(0);
            let what = format!(
                "{transfers} transfers at once {when}, {beyond}; write fewer or smaller ones, or allow more memory"
            );
            return problem(format!("web[{}]", self.order.web[group]), what);
        }
        if 2 * waiting >= under_way {
            let what = format!(
                "{waiting} packets wait here {when}, {beyond}; write a smaller buffer or max_window of the flows, or allow more memory"
            );
            let link = self.order.links[index / 2];
            return problem(buffer_key(&self.written.links, link, index % 2 == 1), what);
        }
        let what = format!(
            "{under_way} packets are under way {when}, {beyond}; write a smaller max_window or rate, or allow more memory"
        );
        problem("flows", what)
    }
}

/// Where packets are.
struct Transited {
    under_way: usize,
    /// The direction of the longest queue.
    index: usize,
    /// How many wait there.
    waiting: usize,
}

impl Transited {
    fn of(schedule: &Schedule, network: &Network) -> Transited {
        let queues = (0..network.directions()).map(|direction| (direction, network.waiting_packets(direction)));
        let (index, waiting) = queues.max_by_key(|queue| queue.1).unwrap_or((0, 0));
        Transited { under_way: schedule.waiting_packets().max(waiting), index, waiting }
    }
}

/// Least memory of a packet under way, in queue and calendar together.
const PACKET_BYTES: usize = 56;

/// Refuses a scenario that is certain to need more than `limit` bytes.
pub fn check_certain(scenario: &Scenario, limit: u64) -> Result<(), Problem> {
    let series = series_bytes(scenario);
    let allowed = |needs: u64, remedy: &str| {
        let (needs, limit) = (readable(needs), readable(limit));
        format!(
            "requires at least {needs} of memory, and the run may hold {limit}; write {remedy}, or allow more memory"
        )
    };
    if series > limit {
        return Err(problem("series_interval", allowed(series, "a longer interval or \"off\"")));
    }
    let mut needs = series.saturating_add(trace_bytes(scenario));
    if needs > limit {
        return Err(problem("links", allowed(needs, "shorter traces")));
    }
    let tcp = (size_of::<Connection<Controller>>() + size_of::<FlowReport>()) as u64;
    let flows =
        scenario.flows.iter().map(|group| (u64::from(group.count) * (tcp + state_bytes(&group.tcp)), "flows", "count"));
    let udp = scenario.udp.iter().map(|group| {
        let source = size_of::<DatagramSource>() + group.frames.map_or(0, |_| size_of::<FrameSource>());
        (u64::from(group.count) * source as u64, "udp", "count")
    });
    let web = scenario.web.iter().map(|group| match group.arrivals {
        Arrivals::Sessions { sessions, .. } => {
            (u64::from(sessions) * (tcp + state_bytes(&group.tcp)), "web", "sessions")
        }
        Arrivals::Poisson { .. } => (0, "web", "transfers_per_second"),
    });
    for (index, (bytes, table, key)) in flows.enumerate().chain(udp.enumerate()).chain(web.enumerate()) {
        needs = needs.saturating_add(bytes);
        if needs > limit {
            return Err(problem(format!("{table}[{index}].{key}"), allowed(needs, "fewer of them")));
        }
    }
    for (index, group) in scenario.flows.iter().enumerate() {
        needs = needs.saturating_add(first_windows(scenario, group).saturating_mul(PACKET_BYTES as u64));
        if needs > limit {
            let remedy = "a smaller first window, fewer flows or a buffer with a limit";
            return Err(problem(format!("flows[{index}].initial_window"), allowed(needs, remedy)));
        }
    }
    Ok(())
}

/// How many packets the first windows of a group put into the first link's queue at once, where it has no limit: all but those
/// that may have left before the last flow begins.
fn first_windows(scenario: &Scenario, group: &FlowGroup) -> u64 {
    let tcp = &group.tcp;
    let end = if tcp.reverse { tcp.path.last() } else { tcp.path.first() };
    let Some(link) = end.map(|&link| scenario.links[link].direction(tcp.reverse)) else { return 0 };
    let own_pace = tcp.access_rate_bps.is_some() || tcp.processing_time > 0;
    let begins = group.start.high.saturating_add(tcp.access_delay.high);
    let certain = link.buffer == Buffer::Unlimited && link.loss == Loss::NONE && link.is_steady();
    if !certain || own_pace || begins > scenario.duration {
        return 0;
    }
    let window =
        u64::from(tcp.initial_window).min(tcp.max_window.unwrap_or(u64::MAX)).min(group.size.unwrap_or(u64::MAX));
    let sent = u128::from(window) * u128::from(group.count);
    let span = begins - group.start.low.saturating_add(tcp.access_delay.low).min(begins);
    let bits = u128::from(scenario.packet_size) * 8;
    let gone = u128::from(link.rate_bps) * u128::from(span) / (bits * 1_000_000_000) + 1;
    u64::try_from(sent.saturating_sub(gone)).unwrap_or(u64::MAX)
}

/// Memory of the state of a connection's algorithm, where that is not the crate's.
fn state_bytes(tcp: &Tcp) -> u64 {
    tcp.algorithm.foreign.as_ref().map_or(0, |foreign| foreign.connection_bytes())
}

/// Bytes of the traces of all links. Links of one group, and the two directions of a link, may share a trace.
fn trace_bytes(scenario: &Scenario) -> u64 {
    let mut sizes = BTreeMap::new();
    for link in scenario.links.iter().flat_map(|link| [Some(link), link.reverse.as_deref()]).flatten() {
        if let Some(trace) = &link.trace {
            let times_ms = trace.times_ms();
            sizes.insert(times_ms.as_ptr() as usize, size_of_val(times_ms));
        }
        for samples in [&link.delay_trace, &link.loss_trace].into_iter().flatten() {
            sizes.insert(samples.rows().as_ptr() as usize, size_of_val(samples.rows()));
        }
    }
    sizes.into_values().sum::<usize>() as u64
}

/// Bytes of the columns of the series.
fn series_bytes(scenario: &Scenario) -> u64 {
    let Some(interval) = scenario.series_interval else { return 0 };
    // Time, flow or link, and five values of each flow, ten of each link.
    const FLOW: u64 = 8 + 4 + 5 * 8;
    const LINK: u64 = 8 + 4 + 10 * 8;
    let rows = |from: Nanos| scenario.duration.saturating_sub(from) / interval;
    let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count) * rows(group.start.high)).sum();
    flows * FLOW + scenario.links.len() as u64 * rows(0) * LINK
}

fn problem(key: impl Into<String>, what: String) -> Problem {
    Problem::new(key, what)
}

/// Bytes as people read them, in a unit that they may write.
fn readable(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB")];
    let bytes = bytes as f64;
    let (size, unit) = units.into_iter().find(|(size, _)| bytes >= *size).unwrap_or((1e3, "kB"));
    format!("{:.1} {unit}", bytes / size)
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, Stopped, run, run_within};

    /// A link of 1 Gbit/s and 20 ms without a limit to its queue, followed by `rest`.
    fn scenario(rest: &str) -> Scenario {
        let link = "[[links]]\nname = \"l\"\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nbuffer = \"unlimited\"\n";
        let head = "duration = \"10 s\"\nseries_interval = \"off\"\n";
        Scenario::from_toml(&format!("{head}{link}{rest}")).expect("a scenario of ours")
    }

    /// Error of a run with a memory limit, as `key: problem`.
    fn refusal(scenario: &Scenario, memory_bytes: u64, mut events: impl FnMut()) -> String {
        match run_within(scenario, memory_bytes, &mut |_| {
            events();
            true
        }) {
            Err(Stopped::Memory(problem)) => problem.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn never() {
        panic!("it has begun");
    }

    /// 10,000 flows put a million packets each into the queue at once: 10^10 packets of 56 bytes and more.
    #[test]
    fn first_windows_that_cannot_fit_are_refused_before_the_run() {
        let many = scenario("[[flows]]\nalgorithm = \"reno\"\ncount = 10000\ninitial_window = 1000000\n");
        let refusal = refusal(&many, 8_000_000_000, never);
        assert!(refusal.starts_with("flows[0].initial_window: requires at least 560.0 GB of memory"), "{refusal}");
        assert!(refusal.contains("may hold 8.0 GB; write "), "{refusal}");
    }

    #[test]
    fn flows_and_samples_that_cannot_fit_are_refused_before_the_run() {
        let many = scenario("[[flows]]\nalgorithm = \"reno\"\ncount = 1000000\n");
        let flows = refusal(&many, 100_000_000, never);
        assert!(flows.starts_with("flows[0].count: requires at least "), "{flows}");
        let mut sampled = scenario("[[flows]]\nalgorithm = \"reno\"\ncount = 1000\n");
        sampled.series_interval = Some(1_000_000);
        // Ten thousand rows, of 52 bytes for each flow and of 92 for the link.
        let series = refusal(&sampled, 100_000_000, never);
        assert!(series.starts_with("series_interval: requires at least 520.9 MB"), "{series}");
    }

    /// Slow start into a queue without a limit: 125,000 packets per second stay in it. The run ends soon after its
    /// memory exceeds the limit, and the error names the owner of the memory.
    #[test]
    fn a_queue_that_outgrows_the_memory_ends_the_run() {
        let one = scenario("[[flows]]\nalgorithm = \"reno\"\ninitial_window = 10000\n");
        let refusal = refusal(&one, 4_000_000, || {});
        assert!(refusal.starts_with("links[0].buffer: "), "{refusal}");
        assert!(refusal.contains("may hold"), "{refusal}");
    }

    /// A million opportunities of 4 bytes each; the links of a group share them.
    #[test]
    fn traces_count_once() {
        let times: Vec<String> = (1..=1_000_000).map(|time| time.to_string()).collect();
        let text = format!(
            "duration = \"1 s\"\nseries_interval = \"off\"\n[[links]]\nname = \"l\"\ntrace = [{}]\ndelay = \"1 ms\"\nbuffer = \"10 packets\"\ncount = 3\n[[flows]]\nalgorithm = \"reno\"\ncount = 3\npath = [\"l/*\"]\n",
            times.join(", ")
        );
        let one = Scenario::from_toml(&text).expect("a scenario of ours");
        let refusal = refusal(&one, 3_900_000, || {});
        assert!(refusal.starts_with("links: "), "{refusal}");
        assert!(refusal.contains("4.0 MB"), "{refusal}");
        assert!(run_within(&one, 5_000_000, &mut |_| true).is_ok());
    }

    /// Figures do not depend on a limit that is not reached.
    #[test]
    fn a_limit_changes_no_figure() {
        let one = scenario("[[flows]]\nalgorithm = \"reno\"\nsize = \"20000 packets\"\n");
        let free = run(&one, &mut |_| true).expect("nobody stops it");
        let within = run_within(&one, 100_000_000, &mut |_| true).expect("enough");
        assert_eq!(format!("{free:?}"), format!("{within:?}"));
    }
}
