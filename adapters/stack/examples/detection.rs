//! Table of loss detectors on the same packets and ACKs: `cargo run --example detection`.

use fullpipe_stack::detection::{CASES, Difference, of_s2n, of_transport};
use fullpipe_stack::trace::{Event, Found, Trace};

fn main() {
    println!(
        "{:<18} {:>7} {:>6}  {:<9} {:>5} {:>8} {:>8} {:>10} {:>9} {:>9}",
        "transfers",
        "packets",
        "ACKs",
        "detector",
        "lost",
        "by time",
        "timeouts",
        "persistent",
        "differing",
        "apart, ns"
    );
    for case in CASES {
        let traces = case.record();
        let count =
            |which: fn(&Event) -> bool| traces.iter().flat_map(|trace| &trace.events).filter(|e| which(e)).count();
        let sent = count(|event| matches!(event, Event::Sent { .. }));
        let acks = count(|event| matches!(event, Event::Acked { .. }));
        let quinn: Vec<Found> = traces.iter().map(|trace| trace.quinn.clone()).collect();
        println!("{:<18} {sent:>7} {acks:>6}  {:<9} {}", case.name, "quinn", counts(&quinn, "-"));
        row("transport", &traces, of_transport);
        row("s2n-quic", &traces, of_s2n);
    }
}

fn row(name: &str, traces: &[Trace], detector: fn(&Trace) -> Found) {
    let found: Vec<Found> = traces.iter().map(detector).collect();
    let mut difference = Difference::default();
    traces.iter().zip(&found).for_each(|(trace, found)| difference.add(&trace.quinn, found));
    let by_time: u64 = found.iter().map(|found| found.by_time).sum();
    let counts = counts(&found, &by_time.to_string());
    println!("{:33}  {name:<9} {counts} {:>9} {:>9}", "", difference.differing, difference.apart_ns);
}

fn counts(found: &[Found], by_time: &str) -> String {
    let sum = |part: fn(&Found) -> usize| found.iter().map(part).sum::<usize>();
    let (lost, timeouts) = (sum(|found| found.lost.len()), sum(|found| found.timeouts.len()));
    format!("{lost:>5} {by_time:>8} {timeouts:>8} {:>10}", sum(|found| found.persistent.len()))
}
