//! Scenario of a run, in the units of the engine (nanoseconds, bits per second, bytes, segments). `Scenario::from_toml` and
//! [`Scenario::from_value`] read it from TOML or from a tree of values, and report the key of a fault. [`Scenario::to_toml`] writes it.

mod algorithm;
mod change;
mod client;
mod groups;
mod host;
mod ip;
pub mod keys;
pub(crate) mod limits;
mod link;
mod network;
pub(crate) mod order;
pub(crate) mod params;
mod parse;
mod preset;
pub(crate) mod problem;
mod queue;
mod quic;
mod reader;
mod render;
mod resume;
mod samples;
mod source;
#[cfg(feature = "toml")]
mod text;
mod trace;
mod traffic;
mod tree;
pub(crate) mod units;
mod warnings;

pub use crate::network::change::ecn::EcnField;
pub use crate::packet::Ecn;
pub use crate::rng::Spread;
pub use crate::transport::ecn::EcnMode;
pub use crate::transport::growth::Growth;
pub use crate::transport::pacing::Pacing;
pub use crate::transport::recovery::Recovery;
pub use crate::transport::rto::RtoRule;
pub use crate::transport::validation::IdleRule;
pub use client::{PlayerRule, Requests, Video};
pub use fullpipe_cc::SlowStart;
pub use fullpipe_cc::slow_start::Saved;
pub use ip::{Class, Ip};
pub use link::{Buffer, Change, Jitter, JitterModel, Link, Loss, Policer, Reorder, Schedule};
pub(crate) use network::buffer_key;
pub use problem::{Problem, Wrong};
pub(crate) use quic::quic_datagram;
pub use quic::{Quic, Transport, Tunnel};
pub use samples::{Interpolation, Samples};
pub use source::{Law, Source};
#[cfg(feature = "toml")]
pub use text::parse;
pub use trace::{Trace, read_traces};
/// The tree of values a scenario is read from and written to.
pub use tree::{Table, Value};
pub use units::{Quantity, quantity, units};

use crate::catalogue::Foreign;
use fullpipe_cc::params::{Error, Info, Params, Value as Setting};
use fullpipe_cc::{Nanos, TypedParams, registry};
use std::num::NonZero;
use std::sync::Arc;

/// A whole scenario.
///
/// ```
/// use fullpipe_sim::model::{FlowGroup, Link, Recovery, Scenario, Tcp};
///
/// let link = Link { rate_bps: 10_000_000, delay: 20_000_000, ..Link::named("l") };
/// let flow = FlowGroup::of(Tcp::new("newreno", Recovery::NewReno, vec![0]));
/// let scenario = Scenario { links: vec![link], flows: vec![flow], ..Scenario::lasting(5_000_000_000) };
/// assert_eq!((scenario.check(), scenario.payload()), (Ok(()), 960), "1000 bytes less 40 of headers");
/// let text = r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP" }]
///     flows = [{ algorithm = "newreno" }]
/// "#;
/// assert_eq!(Scenario::from_toml(text)?.links[0].delay, scenario.links[0].delay);
/// # Ok::<(), fullpipe_sim::scenario::Problem>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// How long the run lasts.
    pub duration: Nanos,
    /// The part at the beginning that is left out of every average; less than `duration`.
    pub warmup: Nanos,
    /// Seeds every random choice.
    pub seed: u64,
    /// Data packets on the wire, headers included, bytes.
    pub packet_size: u32,
    /// ACK packets on the wire, bytes.
    pub ack_size: u32,
    /// Time between samples of the series; `None` samples nothing.
    pub series_interval: Option<Nanos>,
    /// The jitter of flows is measured, which takes them off the fastest path.
    pub measure_jitter: bool,
    /// The links; paths name them by their index here.
    pub links: Vec<Link>,
    /// The TCP flows, in groups of like ones.
    pub flows: Vec<FlowGroup>,
    /// Constant-rate sources without congestion control.
    pub udp: Vec<Udp>,
    /// Web-like traffic: many short TCP flows.
    pub web: Vec<Web>,
}

/// A queueing discipline and its parameters.
pub use crate::network::discipline::Settings as Queue;

/// Algorithm and the parameters given for it; already checked against a [`Catalogue`](crate::Catalogue).
///
/// Example: see [`Algorithm::of`].
#[derive(Clone, Debug)]
pub struct Algorithm {
    /// As the catalogue calls it.
    pub name: String,
    /// Parameters that differ from their defaults.
    pub params: Vec<(&'static str, Setting)>,
    /// Constructor of an algorithm that is not built in.
    pub foreign: Option<Arc<Foreign>>,
}

/// Equality of the algorithm and of the values that hold, whether given or by default.
impl PartialEq for Algorithm {
    fn eq(&self, other: &Algorithm) -> bool {
        let values = |algorithm: &Algorithm| -> Vec<Option<Setting>> {
            let params = algorithm.params();
            params.declared().iter().map(|param| params.value(param.name)).collect()
        };
        (&self.name, &self.foreign) == (&other.name, &other.foreign)
            && (self.params == other.params || values(self) == values(other))
    }
}

impl Algorithm {
    /// The crate's of this name, with its defaults.
    pub fn builtin(name: &str) -> Algorithm {
        Algorithm { name: name.to_owned(), params: Vec::new(), foreign: None }
    }

    /// The crate's with these parameters.
    ///
    /// ```
    /// use fullpipe_cc::algorithms::cubic::CubicParams;
    /// use fullpipe_sim::{Scenario, scenario::Algorithm};
    ///
    /// let text = r#"
    ///     duration = "5 s"
    ///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
    ///     flows = [{ algorithm = ALGORITHM }]
    /// "#;
    /// let mut scenario = Scenario::from_toml(&text.replace("ALGORITHM", r#""cubic""#))?;
    /// scenario.flows[0].tcp.algorithm = Algorithm::of(&CubicParams { beta: 0.85, ..CubicParams::default() })?;
    /// assert_eq!(scenario, Scenario::from_toml(&text.replace("ALGORITHM", r#"{ name = "cubic", beta = 0.85 }"#))?);
    /// assert!(Algorithm::of(&CubicParams { beta: 1.5, ..CubicParams::default() }).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A value outside its range.
    pub fn of<P: TypedParams>(config: &P) -> Result<Algorithm, Error<'static>> {
        let initial = P::default();
        let (values, defaults) = (config.values(), initial.values());
        Params::checked(P::INFO, values.as_ref())?;
        let given = values.as_ref().iter().filter(|value| !defaults.as_ref().contains(value)).copied();
        Ok(Algorithm { params: given.collect(), ..Algorithm::builtin(P::INFO.name) })
    }

    /// Name and given parameters, as a scenario writes them that leaves defaults out.
    pub fn to_given_value(&self) -> Value {
        algorithm::write_given(self)
    }

    /// Values of all parameters.
    pub fn params(&self) -> Params<'_> {
        self.info().map_or(Params::new("", &[], &[]), |info| Params::new(info.name, info.params, &self.params))
    }

    /// Registry entry; `None` for an unknown name.
    pub fn info(&self) -> Option<&'static Info> {
        self.foreign.as_ref().map_or_else(|| registry::find(&self.name), |foreign| Some(foreign.info()))
    }
}

/// Configuration of TCP flows: long-lived, finite, and web.
///
/// ```
/// use fullpipe_sim::model::{EcnMode, Growth, IdleRule, Pacing, Quic, Recovery, RtoRule, Tcp};
///
/// let tcp = Tcp::new("dctcp", Recovery::Sack, vec![0]);
/// assert_eq!((tcp.group(), tcp.ecn, tcp.pacing), ("dctcp", EcnMode::Accurate, Pacing::Algorithm));
/// let linux = Tcp { rto: RtoRule::Linux, idle: IdleRule::Linux, growth: Growth::Validated, pacing: Pacing::On, ..tcp };
/// assert_eq!((linux.rto.name(), linux.idle.name(), linux.growth.name()), ("linux", "linux", "validated"));
/// let quic = Tcp { quic: Some(Quic { ack_every: 10, ..Quic::default() }), ..linux };
/// assert_eq!(quic.quic.map(|quic| quic.ack_delay), Some(25_000_000), "max_ack_delay (RFC 9000 section 18.2)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// Name of its group in results; `None` for the algorithm's name.
    pub name: Option<String>,
    /// QUIC in the place of TCP, if it is on. Keys of TCP's loss recovery and ACKs have no effect then.
    pub quic: Option<Quic>,
    /// The window policy.
    pub algorithm: Algorithm,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Slow start, for algorithms without a built-in one.
    pub slow_start: SlowStart,
    /// Values saved from an earlier connection: careful resume runs in the place of another slow start.
    pub resume: Option<Saved>,
    /// Whether segments leave at a rate.
    pub pacing: Pacing,
    /// ECN of both ends.
    pub ecn: EcnMode,
    /// How new segments are ECN-capable, where ECN is on: ECT(0) or ECT(1).
    pub ect: Ecn,
    /// Proportional rate reduction governs fast recovery (RFC 9937); for recoveries that [know it](Recovery::prr).
    pub prr: bool,
    /// A reduction that proves spurious is undone (RFC 4015, RFC 9438 section 4.9); for [`Recovery::Rack`], others never know.
    pub undo: bool,
    /// A connection begins with a SYN and the answer to it (RFC 9293 section 3.5); otherwise it begins established, as in ns-2.
    pub handshake: bool,
    /// Acknowledge every second segment, or after `delayed_ack_timeout` (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
    pub delayed_ack: bool,
    /// How long an ACK is held back at most.
    pub delayed_ack_timeout: Nanos,
    /// Acknowledge each so many segments, or after `delayed_ack_timeout`; `None`: each one, or each second one with `delayed_ack`.
    pub ack_every: Option<u16>,
    /// Windows grow by segments acknowledged (RFC 3465) instead of by ACKs.
    pub byte_counting: bool,
    /// First congestion window, segments.
    pub initial_window: u32,
    /// Window advertised by the receiver, segments; `None` for one that never limits.
    pub max_window: Option<u64>,
    /// Least retransmission timeout (RFC 6298 rule 2.4).
    pub min_rto: Nanos,
    /// Rules of the retransmission timeout: its value, its RTT samples, and when its timer restarts.
    pub rto: RtoRule,
    /// Rule for the growth of a window that the sender does not use; for long-lived and finite flows.
    pub growth: Growth,
    /// Rule for a window that was not used for a while; for flows whose application does not always have data.
    pub idle: IdleRule,
    /// The receiver compresses ACKs that report segments behind a hole, as Linux does; only with `delayed_ack`.
    pub sack_compression: bool,
    /// Resolution of the timestamp clocks; 0 for exact ones.
    pub timestamp_tick: Nanos,
    /// Resolution of the round trips that the sender measures; 0 for exact ones. Scenarios take `timestamp_tick` where they are silent.
    pub rtt_tick: Nanos,
    /// One-way delay between the sender and its first link.
    pub access_delay: Spread,
    /// Rate of the sender's access link, bits per second; `None` for one that takes no time.
    pub access_rate_bps: Option<u64>,
    /// Largest host processing jitter: the sender handles each event after a random time up to this (Floyd and Jacobson, *On Traffic
    /// Phase Effects in Packet-Switched Gateways*, 1992; ns-2's `overhead_`).
    pub processing_time: Nanos,
    /// The links the data crosses, in order, as indices.
    pub path: Vec<usize>,
    /// Data crosses the path backwards, each link in its reverse direction.
    pub reverse: bool,
    /// Hosts and class.
    pub ip: Ip,
}

/// Flows that differ only in the random values of their spreads.
///
/// ```
/// use fullpipe_sim::model::{FlowGroup, Recovery, Source, Spread, Tcp};
///
/// let tcp = Tcp::new("cubic", Recovery::Sack, vec![0]);
/// let start = Spread { low: 0, high: 1_000_000_000 };
/// let flows = FlowGroup { count: 10, start, size: Some(100), ..FlowGroup::of(tcp) };
/// assert_eq!((flows.source, flows.stop), (Source::Bulk, None));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGroup {
    /// Their protocol and path.
    pub tcp: Tcp,
    /// How many.
    pub count: u32,
    /// When they start.
    pub start: Spread,
    /// When they stop sending new data; `None` for the end of the run.
    pub stop: Option<Nanos>,
    /// How many segments they have to send; `None` for no end.
    pub size: Option<u64>,
    /// When their applications write, and how much.
    pub source: Source,
}

/// Traffic without congestion control: at a constant rate, or frame by frame.
///
/// ```
/// use fullpipe_sim::model::{Frames, Ip, KeyFrames, Spread, Udp};
///
/// let key = Some(KeyFrames { size: 20_000, every: 10 });
/// let frames = Frames { per_second: 30.0, size: 5_000, key };
/// let camera = Udp {
///     name: Some("camera".to_owned()), rate_bps: 5_000_000, packet_size: 1000, start: Spread::fixed(0), stop: None,
///     access_delay: Spread::fixed(0), path: vec![0], reverse: false, count: 1, frames: Some(frames),
///     ip: Ip::default(),
/// };
/// assert_eq!((frames.packets(0, 1000), frames.packets(1, 1000)), (20, 5));
/// let mean = (20.0 + 9.0 * 5.0) / 10.0 * 30.0 * 8_000.0;
/// assert_eq!(camera.frames.map(|frames| frames.mean_rate_bps(1000)), Some(mean));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Udp {
    /// Name in results, unique among `[[udp]]`; `None` for a number.
    pub name: Option<String>,
    /// Bits per second on the wire; where it sends frames, while it sends one.
    pub rate_bps: u64,
    /// Bytes on the wire.
    pub packet_size: u32,
    /// First packet.
    pub start: Spread,
    /// No packet after this; `None` for the end of the run.
    pub stop: Option<Nanos>,
    /// One-way delay between the source and its first link.
    pub access_delay: Spread,
    /// The links crossed, in order.
    pub path: Vec<usize>,
    /// Crosses the path backwards.
    pub reverse: bool,
    /// How many such sources.
    pub count: u32,
    /// Frames; `None` for a constant packet rate.
    pub frames: Option<Frames>,
    /// Hosts and class.
    pub ip: Ip,
}

/// Traffic of frames, as a camera or a microphone makes them, each of which is cut into whole packets.
///
/// Example: see [`Udp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// How many are made in a second.
    pub per_second: f64,
    /// Bytes of a frame, on the wire.
    pub size: u64,
    /// Frames of another size among them; `None` for none.
    pub key: Option<KeyFrames>,
}

/// Frames that do not build on those before, which other frames do.
///
/// Example: see [`Udp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyFrames {
    /// Bytes of one, on the wire.
    pub size: u64,
    /// Number of frames from one key frame to the next.
    pub every: u64,
}

impl Frames {
    /// How many packets frame `number` takes, from 0 on.
    pub fn packets(&self, number: u64, packet_size: u32) -> u64 {
        let key = self.key.filter(|key| number % key.every == 0);
        key.map_or(self.size, |key| key.size).div_ceil(u64::from(packet_size))
    }

    /// Bits per second that they take on the wire in the mean, in whole packets.
    pub fn mean_rate_bps(&self, packet_size: u32) -> f64 {
        let (first, other) = (self.packets(0, packet_size) as f64, self.packets(1, packet_size) as f64);
        let every = self.key.map_or(1.0, |key| key.every as f64);
        self.per_second * (first + (every - 1.0) * other) / every * f64::from(packet_size) * 8.0
    }
}

/// Web-like traffic: transfers of Pareto size, each over a new connection.
///
/// ```
/// use fullpipe_sim::model::{Arrivals, Link, Recovery, Scenario, Spread, Tcp, Web};
///
/// let web = Web {
///     tcp: Tcp::new("cubic", Recovery::Sack, vec![0]), arrivals: Arrivals::Poisson { per_second: 20.0 },
///     mean_size: 50_000.0, shape: 1.2, start: Spread::fixed(0), stop: None,
/// };
/// let scenario = Scenario { links: vec![Link::named("l")], web: vec![web], ..Scenario::lasting(5_000_000_000) };
/// assert_eq!(scenario.check(), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// Protocol and path of the transfers.
    pub tcp: Tcp,
    /// How the transfers follow one another.
    pub arrivals: Arrivals,
    /// Mean transfer, bytes of payload on the wire.
    pub mean_size: f64,
    /// Pareto shape of the sizes; above 1.
    pub shape: f64,
    /// First activity.
    pub start: Spread,
    /// No new transfer after this; `None` for the end of the run.
    pub stop: Option<Nanos>,
}

/// Arrival process of transfers.
///
/// Example: see [`Web`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Each of `sessions` users fetches, waits an exponential gap of mean `mean_gap`, fetches again.
    Sessions {
        /// How many users.
        sessions: u32,
        /// Mean wait between the end of one transfer and the start of the next.
        mean_gap: Nanos,
    },
    /// Transfers start as a Poisson process, whether or not earlier ones have ended.
    Poisson {
        /// Mean transfers a second.
        per_second: f64,
    },
}

impl Scenario {
    /// Payload of a data packet, bytes. Its headers are as long as an ACK, which consists of headers alone.
    pub fn payload(&self) -> u32 {
        self.packet_size.saturating_sub(self.ack_size)
    }

    /// Whether any flow has an algorithm that is not built in.
    pub(crate) fn has_foreign(&self) -> bool {
        let tcp = self.flows.iter().map(|group| &group.tcp).chain(self.web.iter().map(|web| &web.tcp));
        tcp.into_iter().any(|tcp| tcp.algorithm.foreign.is_some())
    }
}

impl Tcp {
    /// Name of its group.
    pub fn group(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.algorithm.name)
    }

    /// Defaults of ns-2 and the papers, for a built-in algorithm and a recovery over a path. ECN is the kind that the algorithm
    /// is made for.
    pub fn new(algorithm: &str, recovery: Recovery, path: Vec<usize>) -> Self {
        Tcp::of(Algorithm::builtin(algorithm), recovery, path)
    }

    /// Segments that the receiver acknowledges together, and how long it holds their ACK at most; `None` if it acknowledges each one at once.
    pub(crate) fn held_acks(&self) -> Option<(u16, NonZero<Nanos>)> {
        let every = self.ack_every.unwrap_or(if self.delayed_ack { 2 } else { 1 });
        NonZero::new(self.delayed_ack_timeout).filter(|_| every > 1).map(|delay| (every, delay))
    }

    /// Whether its slow start has to be paced: Rapid Start and careful resume, where the algorithm has no slow start of its own.
    pub(crate) fn starts_paced(&self) -> bool {
        let own = self.algorithm.info().is_some_and(|info| info.own_slow_start);
        !own && (self.slow_start == SlowStart::Rapid || self.resume.is_some())
    }

    /// [`Tcp::new`] for any algorithm.
    pub fn of(algorithm: Algorithm, recovery: Recovery, path: Vec<usize>) -> Self {
        let (ecn, ect) = algorithm::ecn(&algorithm);
        Tcp {
            name: None,
            quic: None,
            algorithm,
            recovery,
            slow_start: SlowStart::Standard,
            resume: None,
            pacing: Pacing::Algorithm,
            ecn,
            ect,
            prr: recovery.prr().unwrap_or(false),
            undo: true,
            handshake: false,
            delayed_ack: false,
            delayed_ack_timeout: 100_000_000,
            ack_every: None,
            byte_counting: false,
            initial_window: 2,
            max_window: None,
            min_rto: 200_000_000,
            rto: RtoRule::Rfc6298,
            growth: Growth::Rfc,
            idle: IdleRule::None,
            sack_compression: false,
            timestamp_tick: 0,
            rtt_tick: 0,
            access_delay: Spread::fixed(0),
            access_rate_bps: None,
            processing_time: 0,
            path,
            reverse: false,
            ip: Ip::default(),
        }
    }
}
