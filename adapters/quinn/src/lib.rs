//! quinn-proto's own NewReno, CUBIC and BBR, unmodified, as algorithms of a scenario: `quinn-newreno`, `quinn-cubic` and `quinn-bbr`.
//!
//! A connection of quinn's tells its controller of packets and bytes; the simulator's sender tells of segments. What lies between is here:
//! a packet for each departure of a segment ([`fullpipe_connection`]), quinn's RTT estimator, and its pacer's rate and burst.
//! reports/quic.md says how each event is mapped, and what differs from a connection.
//!
//! BBR seeds a generator of its own from the operating system. Here it is the flow's seed that it gets: the crate `getrandom`, which `rand`
//! asks, is replaced by one that knows no other source (`../entropy`), and quinn's code stays as it is.

mod driver;
mod estimator;
mod plain;

use driver::Quinn;
use fullpipe_cc::Start;
use fullpipe_cc::params::{Group, Info, Param, Params};
use fullpipe_sim::Catalogue;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

const fn initial_window(default: f64) -> Param {
    Param::number("initial_window", default, 2.0, 10_000.0, "First window; a scenario's own key does not count here.")
        .unit("packets")
        .source("quinn-proto 0.11.19")
}

const NEWRENO: Info = Info::new("quinn-newreno", "quinn-proto 0.11.19, src/congestion/new_reno.rs")
    .recovery("rack")
    .own_slow_start(true)
    .params(&[
        initial_window(10.0),
        Param::number("loss_reduction_factor", 0.5, 0.01, 0.99, "Part of the window that a loss leaves.")
            .source("quinn-proto 0.11.19, src/congestion/new_reno.rs, line 163"),
    ]);

const CUBIC: Info = Info::new("quinn-cubic", "quinn-proto 0.11.19, src/congestion/cubic.rs")
    .recovery("rack")
    .own_slow_start(true)
    .params(&[initial_window(10.0)]);

const BBR: Info = Info::new("quinn-bbr", "quinn-proto 0.11.19, src/congestion/bbr/mod.rs")
    .group(Group::Model)
    .recovery("rack")
    .own_slow_start(true)
    .params(&[initial_window(200.0)]);

/// The built-in algorithms, and quinn's.
pub fn catalogue() -> Catalogue {
    Catalogue::builtin()
        .with(&NEWRENO, |params, start| {
            let mut config = NewRenoConfig::default();
            config.initial_window(first_window(params, start));
            config.loss_reduction_factor(params.number("loss_reduction_factor") as f32);
            begin(config, start)
        })
        .with(&CUBIC, |params, start| {
            let mut config = CubicConfig::default();
            config.initial_window(first_window(params, start));
            begin(config, start)
        })
        .with(&BBR, |params, start| {
            let mut config = BbrConfig::default();
            config.initial_window(first_window(params, start));
            getrandom::seed(start.seed);
            rand::rng().reseed().expect("a source that does not fail");
            begin(config, start)
        })
}

/// In bytes.
fn first_window(params: &Params, start: Start) -> u64 {
    (params.number("initial_window") * f64::from(start.segment_bytes)) as u64
}

fn begin(config: impl ControllerFactory, start: Start) -> Quinn {
    Quinn::new(|now, mtu| Arc::new(config).build(now, mtu), start)
}
