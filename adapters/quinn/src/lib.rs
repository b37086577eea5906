//! quinn-proto's NewReno, CUBIC, and BBR, unmodified, as algorithms of a scenario: `quinn-newreno`, `quinn-cubic`, and
//! `quinn-bbr`.
//!
//! quinn's connection reports packets and bytes to its controller; the simulator's sender reports segments. This crate
//! connects the two. It has a packet for each transmission of a segment ([`fullpipe_connection`]), quinn's RTT
//! estimator, and the rate and burst of quinn's pacer. reports/quic.md describes how each event is mapped, and the
//! differences from a connection. [`from_factory`] takes any implementation of quinn's trait, on packets.
//!
//! BBR seeds its random generator from the operating system. Here, the seed is the flow's: the crate `../entropy`
//! replaces `getrandom`, which `rand` calls. quinn's code is unchanged.

mod driver;
mod estimator;
mod packets;
mod plain;

pub use driver::Quinn;
pub use packets::{Control, Exported, Factory, from_factory};
pub use plain::Plain;

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

/// Built-in algorithms and quinn's.
pub fn catalogue() -> Catalogue {
    Catalogue::builtin()
        .with(&NEWRENO, |params, start| {
            let mut config = NewRenoConfig::default();
            config.initial_window(first_window(params, start));
            config.loss_reduction_factor(params.number("loss_reduction_factor") as f32);
            segments(config, start)
        })
        .with(&CUBIC, |params, start| {
            let mut config = CubicConfig::default();
            config.initial_window(first_window(params, start));
            segments(config, start)
        })
        .with(&BBR, |params, start| {
            let mut config = BbrConfig::default();
            config.initial_window(first_window(params, start));
            seed(start.seed);
            segments(config, start)
        })
}

/// First window in bytes.
fn first_window(params: &Params, start: Start) -> u64 {
    (params.number("initial_window") * f64::from(start.segment_bytes)) as u64
}

/// Controller on segments.
fn segments(factory: impl ControllerFactory, start: Start) -> Quinn {
    Quinn::new(|now, mtu| Arc::new(factory).build(now, mtu), start)
}

/// Seeds quinn's random numbers in this thread: connection identifiers, and the phase of its BBR.
///
/// # Panics
/// Never: the source below `rand` does not fail.
pub fn seed(seed: u64) {
    // The generator of a thread draws its first seed when it is first used: before the seed is set.
    let mut generator = rand::rng();
    getrandom::seed(seed);
    generator.reseed().expect("a source that does not fail");
}
