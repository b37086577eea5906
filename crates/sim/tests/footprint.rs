//! Heap memory of a run, measured by a counting allocator: no allocation per packet in steady state, and the bytes per
//! flow and per packet in flight.

mod counting;

use fullpipe_sim::scenario::{
    Buffer, Change, FlowGroup, Jitter, JitterModel, Link, Loss, Pacing, Policer, Recovery, Reorder, Schedule, Source,
    Spread, Tcp, Trace,
};
use fullpipe_sim::{Scenario, run};

const MS: u64 = 1_000_000;

/// Calls of the allocator, the most bytes held, and segments sent.
fn measure(scenario: &Scenario) -> (usize, isize, u64) {
    let (report, calls, peak) = counting::measure(|| run(scenario, &mut |_| true).expect("nobody stops it"));
    (calls, peak, report.data_packets)
}

fn dumbbell(rate_bps: u64, buffer: u64, seconds: u64, flows: u32, start: Spread) -> Scenario {
    let tcp = Tcp { access_delay: Spread { low: MS, high: 4 * MS }, ..Tcp::new("reno", Recovery::Sack, vec![0]) };
    Scenario {
        duration: seconds * 1000 * MS,
        warmup: 0,
        seed: 1,
        packet_size: 1000,
        ack_size: 40,
        series_interval: None,
        measure_jitter: false,
        links: vec![Link {
            name: "bottleneck".into(),
            rate_bps,
            delay: 39 * MS,
            buffer: Buffer::Packets(buffer),
            ..Link::default()
        }],
        flows: vec![FlowGroup { tcp, count: flows, start, stop: None, size: None, source: Source::Bulk }],
        udp: vec![],
        web: vec![],
    }
}

/// A run of ten times the duration has ten times the packets, but not ten times the allocations: buffers of the first
/// seconds are reused.
#[test]
fn nothing_is_allocated_per_packet() {
    for pacing in [Pacing::Off, Pacing::On] {
        let run = |seconds| {
            let mut scenario = dumbbell(100_000_000, 250, seconds, 10, Spread { low: 0, high: 1000 * MS });
            scenario.flows[0].tcp.pacing = pacing;
            measure(&scenario)
        };
        let ((short, _, few), (long, _, many)) = (run(20), run(200));
        assert!(many - few > 2_000_000);
        assert!(long - short < 100, "{pacing:?}: {} more allocations for {} more packets", long - short, many - few);
    }
}

/// With a record of every segment sent, as for RACK and BBRv3's rate samples.
#[test]
fn nothing_is_allocated_per_packet_with_rack() {
    for algorithm in ["reno", "bbr3"] {
        let run = |seconds| {
            let mut scenario = dumbbell(100_000_000, 250, seconds, 10, Spread { low: 0, high: 1000 * MS });
            scenario.flows[0].tcp = Tcp { prr: true, ..Tcp::new(algorithm, Recovery::Rack, vec![0]) };
            measure(&scenario)
        };
        let ((short, _, few), (long, _, many)) = (run(20), run(200));
        assert!(many - few > 2_000_000);
        assert!(long - short < 100, "{algorithm}: {} more for {} more packets", long - short, many - few);
    }
}

/// Nor where a link varies in every way.
#[test]
fn nothing_is_allocated_per_packet_on_links_that_vary() {
    let varied = |seconds: u64| {
        let mut scenario = dumbbell(100_000_000, 250, seconds, 10, Spread { low: 0, high: 1000 * MS });
        let link = &mut scenario.links[0];
        let change = |at, rate_bps| Change { at, rate_bps: Some(rate_bps), delay: None, loss: None };
        let changes = vec![change(50 * MS, 0), change(60 * MS, 50_000_000)];
        link.schedule = Schedule { changes, repeat: Some(200 * MS) };
        link.loss = Loss::GilbertElliott { p: 0.0001, r: 0.5, h: 0.0, k: 1.0 };
        link.jitter = Some(Jitter::of(JitterModel::Wifi, 2 * MS));
        link.reorder = Some(Reorder { probability: 0.001, delay: 2 * MS });
        link.aggregation = Some(MS);
        link.policer = Some(Policer { rate_bps: 80_000_000, burst: 250_000 });
        let trace = Trace::new(vec![1]).expect("a trace");
        let (rate_bps, schedule) = (trace.rate_bps(), Schedule::default());
        link.reverse = Some(Box::new(Link { rate_bps, trace: Some(trace), schedule, ..link.clone() }));
        measure(&scenario)
    };
    // Packets come in clumps of many sizes here: it takes a while until every slice of the calendar has had one of the largest.
    let (short, _, few) = varied(160);
    let (long, _, many) = varied(400);
    assert!(many - few > 200_000, "{} more packets", many - few);
    assert!(long - short < 400, "{} more allocations for {} more packets", long - short, many - few);
}

/// Ten thousand flows that have not started yet, and one active flow. Measured during the run.
#[test]
fn an_idle_flow_takes_at_most_1152_bytes() {
    let held_during = |idle: u32| {
        let late = Spread::fixed(9_999 * MS);
        let mut scenario = dumbbell(100_000_000, 250, 10, 1, Spread::fixed(0));
        scenario.flows.push(dumbbell(100_000_000, 250, 10, idle, late).flows.remove(0));
        let (before, mut during) = (counting::held(), 0);
        run(&scenario, &mut |_| {
            during = during.max(counting::held() - before);
            true
        })
        .expect("nobody stops it");
        during
    };
    let (one, many) = (held_during(1), held_during(10_001));
    assert!(one > 0, "the run is long enough to be looked at");
    let per_flow = (many - one) as f64 / 1e4;
    assert!(per_flow <= 1152.0, "{per_flow} bytes");
}

/// One flow over a long fat link without loss: the pipe fills with packets, nothing else grows.
#[test]
fn a_packet_in_flight_takes_at_most_64_bytes() {
    let flow = |window: u64| {
        let mut scenario = dumbbell(10_000_000_000, 1_000_000, 4, 1, Spread::fixed(0));
        scenario.flows[0].tcp.max_window = Some(window);
        measure(&scenario).1
    };
    // 200,000 packets outstanding: 100,000 in the pipe of 10 Gbit/s and 82 ms, the rest in the queue.
    let per_packet = (flow(200_000) - flow(100)) as f64 / 2e5;
    assert!(per_packet <= 64.0, "{per_packet} bytes");
}
