//! A custom AIMD that competes with CUBIC: the algorithm, a scenario that names it, and a run.

use fullpipe_cc::params::{Info, Param};
use fullpipe_cc::{Ack, Classic, Flow, Response, Signal};
use fullpipe_sim::{Catalogue, Simulation};
use std::error::Error;

const AIMD: Info = Info::new("my-aimd", "none yet").params(&[
    Param::number("alpha", 1.0, 0.1, 10.0, "Increase per round trip, segments."),
    Param::number("beta", 0.5, 0.1, 0.9, "Multiplicative decrease factor."),
]);

struct Aimd {
    alpha: f64,
    beta: f64,
}

/// `Classic` adds slow start, the minimum window, and timeouts.
impl Response for Aimd {
    fn increase(&mut self, w: f64, _: &Flow, _: &Ack) -> f64 {
        self.alpha / w
    }

    fn decrease(&mut self, w: f64, _: &Flow, _: Signal) -> f64 {
        self.beta * w
    }
}

const SCENARIO: &str = r#"
    duration = "60 s"
    warmup = "10 s"
    links = [{ name = "bottleneck", rate = "100 Mbit/s", delay = "20 ms", buffer = "0.5 BDP" }]
    flows = [{ algorithm = { name = "my-aimd", beta = 0.7 } }, { algorithm = "cubic" }]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let catalogue = Catalogue::builtin().with(&AIMD, |params, start| {
        Classic::new(start, Aimd { alpha: params.number("alpha"), beta: params.number("beta") })
    });
    for flow in Simulation::new(catalogue.read_toml(SCENARIO)?)?.report()?.flows {
        println!("{:8} {:5.2} Mbit/s", flow.algorithm, flow.goodput_bps / 1e6);
    }
    Ok(())
}
