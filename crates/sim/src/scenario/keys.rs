//! Registry of all keys of a scenario: kind, default, and meaning. Readers allow these keys only, and the tables of
//! `docs/reference/scenarios.md` come from this list.

mod source;
mod traffic;

use super::preset::Preset;
use super::units::{DATA, Dimension, RATE, TIME};
use super::{EcnField, Interpolation, limits};
pub use source::{FRAME_SOURCE, ON_OFF_SOURCE, RATE_SOURCE, REQUEST_SOURCE, VIDEO_SOURCE};
use std::ops::RangeInclusive;
pub use traffic::{FLOW, FRAMES, IP, RESUME, TCP, TRAFFIC, TUNNEL, UDP, WEB};

/// A key of a table.
///
/// ```
/// use fullpipe_sim::scenario::keys::{KeyKind, Otherwise, RUN};
///
/// let duration = RUN.iter().find(|key| key.name == "duration").expect("a key of runs");
/// assert!(matches!((&duration.kind, &duration.default), (KeyKind::Quantity(..), Otherwise::Required)));
/// assert_eq!(duration.kind.name(), "time");
/// ```
#[derive(Debug)]
pub struct Key {
    /// As scenarios write it.
    pub name: &'static str,
    /// The values it takes.
    pub kind: KeyKind,
    /// Value without this key in the scenario.
    pub default: Otherwise,
    /// Meaning, in a sentence.
    pub doc: &'static str,
    /// Source of the default; "" without one.
    pub source: &'static str,
}

/// The values that a key takes; bounds are allowed values.
///
/// Example: see [`Key`].
#[derive(Debug)]
pub enum KeyKind {
    /// A number with a unit.
    Quantity(&'static Dimension, RangeInclusive<u64>),
    /// A time, or two with `..` between them, of which each flow draws its own.
    Spread(RangeInclusive<u64>),
    /// A plain whole number, or one with a unit.
    WholeOr(&'static Dimension, RangeInclusive<u64>),
    /// A plain whole number.
    Whole(RangeInclusive<u64>),
    /// Plain number; the allowed values in words.
    Number(&'static str),
    /// On or off.
    Flag,
    /// One of several names.
    Names(fn() -> Vec<&'static str>),
    /// Something else: its name, and the allowed values.
    Other(&'static str, &'static str),
}

/// Value without this key in the scenario.
///
/// Example: see [`Key`].
#[derive(Debug)]
pub enum Otherwise {
    /// Nothing: the key has to be there.
    Required,
    /// This value, as TOML.
    Value(&'static str),
    /// In words.
    Words(&'static str),
}

use KeyKind::{Flag, Names, Number, Other, Quantity, Spread, Whole, WholeOr};
use Otherwise::{Required, Value, Words};

impl KeyKind {
    /// Name of the kind.
    pub fn name(&self) -> String {
        match self {
            Quantity(what, _) => what.name.to_owned(),
            Spread(_) => format!("{} or spread", TIME.name),
            WholeOr(what, _) => format!("whole number, or {}", what.name),
            Whole(_) => "whole number".to_owned(),
            Number(_) => "number".to_owned(),
            Flag => "true or false".to_owned(),
            Names(_) => "text".to_owned(),
            Other(what, _) => (*what).to_owned(),
        }
    }

    /// Allowed values, as in a message; "" where the kind is enough.
    pub fn allowed(&self) -> String {
        match self {
            Quantity(what, range) => format!("{} to {}", what.format(*range.start()), what.format(*range.end())),
            Spread(range) => format!("{} to {}", TIME.format(*range.start()), TIME.format(*range.end())),
            WholeOr(_, range) | Whole(range) => format!("{} to {}", range.start(), range.end()),
            Names(names) => names().join(", "),
            Number(allowed) | Other(_, allowed) => (*allowed).to_owned(),
            Flag => String::new(),
        }
    }
}

/// The names of the keys of several lists.
pub fn names(lists: &[&'static [Key]]) -> Vec<&'static str> {
    lists.iter().flat_map(|keys| keys.iter()).map(|key| key.name).collect()
}

/// Every list of keys by its name, in the order of `docs/reference/scenarios.md`.
pub const ALL: [(&str, &[Key]); 23] = [
    ("run", RUN),
    ("link", LINK),
    ("direction", DIRECTION),
    ("varying", VARYING),
    ("change", CHANGE),
    ("jitter", JITTER),
    ("reorder", REORDER),
    ("policer", POLICER),
    ("channel", CHANNEL),
    ("flow", FLOW),
    ("source-rate", RATE_SOURCE),
    ("source-on-off", ON_OFF_SOURCE),
    ("source-frames", FRAME_SOURCE),
    ("source-requests", REQUEST_SOURCE),
    ("source-video", VIDEO_SOURCE),
    ("traffic", TRAFFIC),
    ("ip", IP),
    ("tcp", TCP),
    ("resume", RESUME),
    ("tunnel", TUNNEL),
    ("udp", UDP),
    ("frames", FRAMES),
    ("web", WEB),
];

const fn key(name: &'static str, kind: KeyKind, default: Otherwise, doc: &'static str) -> Key {
    Key { name, kind, default, doc, source: "" }
}

const fn sourced(
    name: &'static str,
    kind: KeyKind,
    default: Otherwise,
    doc: &'static str,
    source: &'static str,
) -> Key {
    Key { name, kind, default, doc, source }
}

/// Keys of a scenario.
pub const RUN: &[Key] = &[
    key("duration", Quantity(&TIME, limits::SPAN), Required, "Simulated duration of the run."),
    key(
        "warmup",
        Quantity(&TIME, limits::MOMENT),
        Value("\"0 s\""),
        "Warm-up at the start of the run, less than `duration`. Averages exclude it; time series include it.",
    ),
    key(
        "seed",
        Whole(limits::SEED),
        Value("1"),
        "Seed of the random numbers. A scenario and a seed always give identical results.",
    ),
    sourced(
        "packet_size",
        WholeOr(&DATA, limits::PACKET),
        Words("`1000`; `1500` where all TCP is `host = \"linux\"`"),
        "Size of a data packet with headers, in bytes.",
        "ns-2 `packetSize_`",
    ),
    sourced(
        "ack_size",
        WholeOr(&DATA, limits::SMALL_PACKET),
        Value("40"),
        "Size of an ACK with headers, in bytes.",
        "IPv4 and TCP headers without options; ns-2",
    ),
    key(
        "series_interval",
        Other("time, or `\"off\"`", "1 ns to 1000000 s; at most 100 million rows"),
        Words("`duration`/1000; longer where that gives more than two million rows"),
        "Time between samples of the time series. `\"off\"` disables time series.",
    ),
    key("measure_jitter", Flag, Value("false"), "Measure the jitter of one-way delays. Such runs are slower."),
    key("links", Other("tables, `[[links]]`", "at most 10000"), Required, "The links and their queues."),
    key(
        "flows",
        Other("tables, `[[flows]]`", "at most 1000000 flows, sources and users in all"),
        Words("none"),
        "TCP flows.",
    ),
    key(
        "udp",
        Other("tables, `[[udp]]`", "as for `flows`"),
        Words("none"),
        "Traffic without congestion control: at a constant rate, or frames.",
    ),
    key(
        "web",
        Other("tables, `[[web]]`", "as for `flows`; at least one of the three is required"),
        Words("none"),
        "Web-like traffic.",
    ),
];

/// Keys of a link as a whole.
pub const LINK: &[Key] = &[
    key("name", Other("text", "printable, unique"), Required, "Name of the link in paths, results, and `--set`."),
    key(
        "count",
        Whole(1..=limits::MOST_LINKS as u64),
        Words("one link, called `name`"),
        "Number of such links. With `name = \"home\"` they are `home/1`, `home/2`, and so on.",
    ),
    key(
        "preset",
        Names(|| Preset::ALL.map(Preset::name).to_vec()),
        Words("none"),
        "Kind of access network. It sets the keys that you leave out; see [presets](#presets).",
    ),
    key(
        "reverse",
        Other("table", "every key of a link but `name`, `count`, `preset`, and `reverse`"),
        Words("as forward"),
        "Keys that differ in the reverse direction, which carries ACKs.",
    ),
];

/// Keys of each direction of a link.
pub const DIRECTION: &[Key] = &[
    key("rate", Quantity(&RATE, limits::RATE), Words("required, or `trace`"), "Transmission rate."),
    key("delay", Quantity(&TIME, limits::DELAY), Words("required, or `delay_trace`"), "One-way propagation delay."),
    key(
        "buffer",
        Other(
            "packets, BDP, data, time or `\"unlimited\"`",
            "1 to 10¹² packets, more than 0 BDP, one packet to 10¹⁵ B, or 1 ns to 1000000 s",
        ),
        Required,
        "Size of the buffer at each end, including the packet in transmission.",
    ),
    sourced(
        "queue",
        Other("text or table", "a name of `fullpipe queues`, or that with parameters"),
        Value("\"drop-tail\""),
        "Queueing discipline: order of the packets, and drops and CE marks before the buffer is full.",
        "the papers reproduced here",
    ),
    key(
        "loss",
        Other("number or table", "0 to less than 1, or a channel"),
        Value("0"),
        "Probability that a transmitted packet (data or ACK) is lost on the link.",
    ),
    key(
        "drop",
        Other("list of whole numbers", "1 to 10¹², at most 1000000 of them"),
        Words("none"),
        "Numbers of further packets (data or ACKs) that are lost on the link. The first arriving packet is 1.",
    ),
    key(
        "trace",
        Other("file's name, or list of whole milliseconds", "never decreasing, the last above 0; at most 10 million"),
        Words("none"),
        "Transmission opportunities that replace `rate`: milliseconds at which 1504 bytes may leave.",
    ),
    key(
        "delay_trace",
        Other("file's name, or list of pairs", "times rising from 0 s, delays from 0 to 100 s; at most 1000000"),
        Words("none"),
        "Delays over time. `delay` then only enters the base RTT; by default it is the smallest delay of the trace.",
    ),
    key(
        "delay_interpolation",
        Names(|| Interpolation::ALL.map(Interpolation::name).to_vec()),
        Words("`\"linear\"`"),
        "Delay between two rows of `delay_trace`: linear interpolation, or the value of the previous row.",
    ),
    key(
        "loss_trace",
        Other("file's name, or list of pairs", "times rising from 0 s, probabilities from 0 to 1; at most 1000000"),
        Words("none"),
        "Loss probabilities over time that replace `loss`.",
    ),
    key(
        "loss_interpolation",
        Names(|| Interpolation::ALL.map(Interpolation::name).to_vec()),
        Words("`\"hold\"`"),
        "Loss probability between two rows of `loss_trace`: linear interpolation, or the value of the previous row.",
    ),
    key(
        "trace_repeat",
        Flag,
        Value("false"),
        "Repeat both traces after their last rows. Otherwise the last values stay.",
    ),
];

/// Keys of each direction of a link that varies.
pub const VARYING: &[Key] = &[
    key(
        "schedule",
        Other("list of tables", "at most 100000"),
        Words("none"),
        "Changes of rate, delay, and loss at given times.",
    ),
    key(
        "repeat",
        Quantity(&TIME, limits::SPAN),
        Words("never"),
        "Period after which the schedule restarts; longer than its last `at`.",
    ),
    key("jitter", Other("table, or `\"off\"`", ""), Words("none"), "A random delay for each packet."),
    key(
        "reorder",
        Other("table, or `\"off\"`", ""),
        Words("none"),
        "Extra delay for some packets, so that later packets overtake them.",
    ),
    key(
        "aggregation",
        Other("time, or `\"off\"`", "1 ns to 100 s"),
        Words("none"),
        "Period of aggregation: packets arrive at the far end in bursts, one burst per period.",
    ),
    key(
        "phase",
        Quantity(&TIME, limits::PHASE),
        Words("random if several directions share `aggregation`, else 0 s"),
        "Time of the first burst, less than `aggregation`.",
    ),
    key(
        "limit",
        Other("whole number, packets or `\"unlimited\"`", "1 to 10¹² packets"),
        Value("\"unlimited\""),
        "Largest number of packets between the transmitter and the far end. A further packet is lost.",
    ),
    key(
        "ecn_field",
        Names(|| EcnField::ALL.map(EcnField::name).to_vec()),
        Value("\"keep\""),
        "ECN field of ECN-capable packets, marked or not, that leave the link: unchanged, cleared, or replaced by a codepoint.",
    ),
    key(
        "policer",
        Other("table, or `\"off\"`", ""),
        Words("none"),
        "Token bucket before the queue. It drops packets that exceed it.",
    ),
];

/// Keys of an entry of a schedule.
pub const CHANGE: &[Key] = &[
    key(
        "at",
        Quantity(&TIME, limits::MOMENT),
        Required,
        "Time since the start of the schedule, later than the previous entry.",
    ),
    key(
        "rate",
        Quantity(&RATE, limits::CHANGED_RATE),
        Words("unchanged"),
        "Rate from the next transmission on. 0 is an outage.",
    ),
    key(
        "delay",
        Quantity(&TIME, limits::DELAY),
        Words("unchanged"),
        "Delay of packets sent later. No packet overtakes another.",
    ),
    key(
        "loss",
        Other("number or table", "0 to 1, or a channel"),
        Words("unchanged"),
        "Loss of packets that arrive later.",
    ),
];

/// Distributions of `jitter`.
pub const JITTER_MODELS: [&str; 5] = ["uniform", "normal", "pareto", "paretonormal", "wifi"];

/// Keys of `jitter`.
pub const JITTER: &[Key] = &[
    key("model", Names(|| JITTER_MODELS.to_vec()), Value("\"uniform\""), "Distribution of the delays."),
    key("mean", Quantity(&TIME, limits::DELAY), Required, "Mean delay; 1 ms to 91 ms with `\"wifi\"`."),
    key(
        "spread",
        Quantity(&TIME, limits::DELAY),
        Words("`mean` with `\"uniform\"`; not with `\"wifi\"`; otherwise required"),
        "Largest distance from the mean (uniform, at most `mean`), standard deviation (normal), or scale (other distributions).",
    ),
    key(
        "correlation",
        Number("numbers from 0 to less than 1"),
        Value("0.0"),
        "Weight of the previous sample in each sample, as in netem; not with `\"wifi\"`.",
    ),
    key("reorder", Flag, Value("false"), "Let packets with shorter delays overtake others."),
];

/// Keys of `reorder`.
pub const REORDER: &[Key] = &[
    key("probability", Number(PROBABILITY), Required, "Probability for each packet."),
    key("delay", Quantity(&TIME, limits::WAIT), Required, "Extra delay of such a packet."),
];

/// Keys of `policer`.
pub const POLICER: &[Key] = &[
    key("rate", Quantity(&RATE, limits::RATE), Required, "Rate at which the bucket fills."),
    key("burst", Quantity(&DATA, limits::BYTES), Required, "Size of the bucket, at least one packet. It starts full."),
];

/// Keys of `loss` where it is a channel with a good and a bad state.
pub const CHANNEL: &[Key] = &[
    key("model", Names(|| vec!["gilbert-elliott"]), Required, "Kind of channel."),
    key("p", Number(PROBABILITY), Required, "Probability of a change from good to bad, per packet."),
    key("r", Number(PROBABILITY), Required, "Probability of a change from bad to good, per packet."),
    key("h", Number(PROBABILITY), Value("0.0"), "Probability that a packet is delivered in the bad state."),
    key("k", Number(PROBABILITY), Value("1.0"), "Probability that a packet is delivered in the good state."),
];

const PROBABILITY: &str = "probabilities from 0 to 1";
