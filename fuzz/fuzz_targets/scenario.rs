//! Any text is either refused in one line or gives a consistent scenario that survives being written and read again.
#![no_main]

use fullpipe_sim::Scenario;
use fullpipe_sim::scenario::Buffer;
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
            assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario));
        }
    }
});

fn assert_consistent(scenario: &Scenario) {
    assert!(scenario.warmup < scenario.duration && !scenario.links.is_empty());
    assert!(scenario.series_interval != Some(0));
    for link in &scenario.links {
        assert!(link.rate_bps > 0 && (0.0..1.0).contains(&link.loss));
        assert!(!matches!(link.buffer, Buffer::Packets(0) | Buffer::Bytes(0)));
    }
    let tcp = scenario.flows.iter().map(|group| &group.tcp).chain(scenario.web.iter().map(|web| &web.tcp));
    let paths = tcp.map(|tcp| &tcp.path).chain(scenario.udp.iter().map(|udp| &udp.path));
    for path in paths {
        assert!(!path.is_empty() && path.iter().all(|&i| i < scenario.links.len()));
    }
}
