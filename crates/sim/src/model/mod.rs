//! Plain data of a scenario, and [`Scenario::check`] below everything that runs one.
//!
//! You can build a scenario from these types without TOML. For example, one CUBIC flow over 10 Mbit/s:
//!
//! ```
//! use fullpipe_sim::Simulation;
//! use fullpipe_sim::model::{Buffer, FlowGroup, Link, Recovery, Scenario, Tcp};
//!
//! let link = Link { rate_bps: 10_000_000, delay: 10_000_000, buffer: Buffer::Packets(20), ..Link::named("bottleneck") };
//! let flow = FlowGroup::of(Tcp::new("cubic", Recovery::Sack, vec![0]));
//! let scenario = Scenario { links: vec![link], flows: vec![flow], ..Scenario::lasting(5_000_000_000) };
//! let report = Simulation::new(scenario)?.report()?;
//! assert!(report.links[0].forward.utilization > 0.9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod invalid;
mod source;

pub(crate) use crate::scenario::quic_datagram;
pub use crate::scenario::{
    Algorithm, Arrivals, Buffer, Change, Class, Ecn, EcnField, EcnMode, FlowGroup, Frames, Growth, IdleRule,
    Interpolation, Ip, Jitter, JitterModel, KeyFrames, Law, Link, Loss, Pacing, PlayerRule, Policer, Queue, Quic,
    Recovery, Reorder, Requests, RtoRule, Samples, Saved, Scenario, Schedule, SlowStart, Source, Spread, Tcp, Trace,
    Transport, Tunnel, Udp, Video, Web,
};
pub use invalid::{Amount, Interval, Invalid};

use crate::scenario::limits;
use fullpipe_cc::Nanos;

impl Scenario {
    /// Scenario of this length without links and traffic: no warm-up, the default seed, packets of 1000 bytes, ACKs of 40 bytes, and no
    /// series.
    pub fn lasting(duration: Nanos) -> Scenario {
        Scenario {
            duration,
            warmup: 0,
            seed: limits::DEFAULT_SEED,
            packet_size: 1000,
            ack_size: 40,
            series_interval: None,
            measure_jitter: false,
            links: Vec::new(),
            flows: Vec::new(),
            udp: Vec::new(),
            web: Vec::new(),
        }
    }
}

impl Link {
    /// Link of this name: 1 Mbit/s without delay, limit, or losses.
    pub fn named(name: &str) -> Link {
        Link { name: name.to_owned(), ..Link::default() }
    }
}

impl FlowGroup {
    /// One flow from the beginning to the end of the run.
    pub fn of(tcp: Tcp) -> FlowGroup {
        FlowGroup { tcp, count: 1, start: Spread::fixed(0), stop: None, size: None, source: Source::Bulk }
    }
}
