//! How long the engine takes for a second of simulated time, by number of flows, recovery and topology.
#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fullpipe_sim::{Scenario, run};

/// A dumbbell of 100 Mbit/s and 80 to 86 ms.
fn dumbbell(flows: u32, recovery: &str, seconds: u32) -> Scenario {
    scenario(&format!(
        r#"duration = "{seconds} s"
        series_interval = "off"
        [[links]]
        name = "bottleneck"
        rate = "100 Mbit/s"
        delay = "39 ms"
        buffer = "250 packets"
        [[flows]]
        algorithm = "reno"
        recovery = "{recovery}"
        count = {flows}
        start = "0 s..1 s"
        access_delay = "1 ms..4 ms""#
    ))
}

/// Three links in a row, flows both ways over all of them.
fn parking_lot() -> Scenario {
    let links = ["a", "b", "c"].map(|name| {
        format!("[[links]]\nname = \"{name}\"\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"100 packets\"\n")
    });
    let flows = [false, true].map(|reverse| {
        format!(
            "[[flows]]\nalgorithm = \"reno\"\nrecovery = \"sack\"\ncount = 10\nstart = \"0 s..1 s\"\n\
             access_delay = \"1 ms..4 ms\"\npath = [\"a\", \"b\", \"c\"]\nreverse = {reverse}\n"
        )
    });
    scenario(&format!("duration = \"20 s\"\nseries_interval = \"off\"\n{}{}", links.concat(), flows.concat()))
}

fn scenario(toml: &str) -> Scenario {
    Scenario::from_toml(toml).expect("a scenario of ours")
}

fn packets(scenario: &Scenario) -> u64 {
    run(scenario, &mut |_| true).expect("nobody stops it").data_packets
}

fn engine(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("data packets");
    group.sample_size(10);
    let mut case = |name: BenchmarkId, scenario: Scenario| {
        group.throughput(Throughput::Elements(packets(&scenario)));
        group.bench_with_input(name, &scenario, |bencher, scenario| bencher.iter(|| packets(scenario)));
    };
    for flows in [1, 10, 100, 1000] {
        case(BenchmarkId::new("flows", flows), dumbbell(flows, "sack", 20));
    }
    for recovery in ["tahoe", "reno", "newreno", "sack"] {
        case(BenchmarkId::new("recovery", recovery), dumbbell(10, recovery, 20));
    }
    case(BenchmarkId::new("links in a row", 3), parking_lot());
}

criterion_group!(benches, engine);
criterion_main!(benches);
