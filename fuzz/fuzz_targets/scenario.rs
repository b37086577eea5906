//! The reader either refuses a text with one line, or returns a consistent scenario that is unchanged after it is
//! written and read again. A small scenario also runs, and its report must hold the invariants of the simulator's
//! tests.
#![no_main]

#[path = "../../crates/sim/tests/any_scenario/invariants.rs"]
mod invariants;

use fullpipe_sim::Scenario;
use fullpipe_sim::scenario::{Arrivals, Buffer, Link, Loss};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Scenario::from_toml(text) {
        Err(problem) => {
            let line = problem.to_string();
            assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}");
            assert!(problem.line.is_none_or(|n| n >= 1 && n <= 1 + text.matches('\n').count()), "{problem:?}");
        }
        Ok(scenario) => {
            assert_consistent(&scenario);
            assert_eq!(Scenario::from_toml(&scenario.to_toml()).as_ref(), Ok(&scenario));
            if is_small(&scenario) {
                let broken = invariants::broken(&scenario, 2);
                assert!(broken.is_empty(), "{}", broken.join("\n"));
            }
        }
    }
});

/// Whether the begin of a run takes little time and memory. The watch limits the rest.
fn is_small(scenario: &Scenario) -> bool {
    const MOST: u64 = 10_000;
    let flows = scenario.flows.iter().map(|group| (u64::from(group.count), &group.tcp));
    let web = scenario.web.iter().map(|web| match web.arrivals {
        Arrivals::Sessions { sessions, .. } => (u64::from(sessions), &web.tcp),
        Arrivals::Poisson { .. } => (1, &web.tcp),
    });
    let datagrams: u64 = scenario.udp.iter().map(|udp| u64::from(udp.count)).sum();
    let segments: u64 = flows.chain(web).map(|(count, tcp)| count * u64::from(tcp.initial_window)).sum();
    let sampled = scenario.flows.iter().map(|group| u64::from(group.count)).sum::<u64>() + scenario.links.len() as u64;
    let rows = scenario.series_interval.map_or(0, |interval| scenario.duration / interval * sampled);
    let queues: u64 = scenario.links.iter().map(queues).sum();
    datagrams <= MOST && segments <= MOST && queues <= 10 * MOST && rows <= 100 * MOST
}

/// How many queues a link's discipline keeps.
fn queues(link: &Link) -> u64 {
    if ["fq-codel", "fq-pie", "cake"].contains(&link.queue.info.name) { link.queue.whole("flows") } else { 1 }
}

fn assert_consistent(scenario: &Scenario) {
    assert!(scenario.warmup < scenario.duration && !scenario.links.is_empty());
    assert!(scenario.series_interval != Some(0));
    for link in scenario.links.iter().flat_map(|link| [link, link.direction(true)]) {
        assert!(link.rate_bps > 0 && !link.name.is_empty());
        assert!(!matches!(link.loss, Loss::Independent(loss) if !(0.0..1.0).contains(&loss)));
        assert!(link.schedule.changes.is_sorted_by(|one, next| one.at < next.at));
        assert!(!matches!(link.buffer, Buffer::Packets(0) | Buffer::Bytes(0) | Buffer::Time(0)));
    }
    let tcp = scenario.flows.iter().map(|group| &group.tcp).chain(scenario.web.iter().map(|web| &web.tcp));
    let paths = tcp.map(|tcp| &tcp.path).chain(scenario.udp.iter().map(|udp| &udp.path));
    for path in paths {
        assert!(!path.is_empty() && path.iter().all(|&i| i < scenario.links.len()));
    }
}
