//! `own SCENARIO.toml`: runs a scenario with the custom algorithm `my-aimd`, and prints the throughput of its flow.

use fullpipe_cc::params::{Info, Param};
use fullpipe_cc::{Ack, Classic, Flow, Response, Signal};
use fullpipe_sim::{Catalogue, run};

const AIMD: Info = Info::new("my-aimd", "an example").params(&[
    Param::number("alpha", 1.0, 0.1, 10.0, "Increase a round trip, segments."),
    Param::number("beta", 0.5, 0.1, 0.9, "Part of the window that a loss leaves."),
]);

struct Aimd {
    alpha: f64,
    beta: f64,
}

impl Response for Aimd {
    fn increase(&mut self, w: f64, _: &Flow, _: &Ack) -> f64 {
        self.alpha / w
    }

    fn decrease(&mut self, w: f64, _: &Flow, _: Signal) -> f64 {
        self.beta * w
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: own SCENARIO.toml");
    let text = std::fs::read_to_string(&path).expect("a readable file");
    let catalogue = Catalogue::builtin().with(&AIMD, |params, start| {
        Classic::new(start, Aimd { alpha: params.number("alpha"), beta: params.number("beta") })
    });
    let scenario = catalogue.read_toml(&text).unwrap_or_else(|problem| panic!("{path}: {problem}"));
    let report = run(&scenario, &mut |_| true).expect("nobody stops it");
    let flow = &report.flows[0];
    println!("{} {:?} {:?} {}", report.data_packets, flow.goodput_bps, flow.mean_cwnd_packets, flow.retransmits);
}
