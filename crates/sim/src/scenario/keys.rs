//! Registry of all keys of a scenario: kind, default, and meaning. Readers allow these keys only, and the tables of
//! `docs/reference/scenarios.md` come from this list.

mod source;
mod traffic;

use super::preset::Preset;
use super::units::{DATA, Dimension, RATE, TIME};
use super::{Interpolation, limits};
pub use source::{FRAME_SOURCE, ON_OFF_SOURCE, RATE_SOURCE, REQUEST_SOURCE, VIDEO_SOURCE};
use std::ops::RangeInclusive;
pub use traffic::{FLOW, FRAMES, IP, RESUME, TCP, TRAFFIC, UDP, WEB};

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
pub const ALL: [(&str, &[Key]); 22] = [
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

/// Of a scenario itself.
pub const RUN: &[Key] = &[
    key("duration", Quantity(&TIME, limits::SPAN), Required, "How long the run lasts."),
    key(
        "warmup",
        Quantity(&TIME, limits::MOMENT),
        Value("\"0 s\""),
        "The part at the beginning that every average leaves out, less than `duration`; time series keep it.",
    ),
    key(
        "seed",
        Whole(limits::SEED),
        Value("1"),
        "Begins every random choice: the same scenario and seed give the same bytes.",
    ),
    sourced(
        "packet_size",
        WholeOr(&DATA, limits::PACKET),
        Words("`1000`; `1500` where all TCP is `host = \"linux\"`"),
        "What a data packet takes on the wire, headers included, in bytes.",
        "ns-2 `packetSize_`",
    ),
    sourced(
        "ack_size",
        WholeOr(&DATA, limits::SMALL_PACKET),
        Value("40"),
        "What an ACK takes on the wire, in bytes.",
        "IPv4 and TCP headers without options; ns-2",
    ),
    key(
        "series_interval",
        Other("time, or `\"off\"`", "1 ns to 1000000 s; at most 100 million rows"),
        Words("`duration`/1000; longer where that gives more than two million rows"),
        "The time between samples of the time series; `\"off\"` samples nothing.",
    ),
    key(
        "measure_jitter",
        Flag,
        Value("false"),
        "How much the one-way delays of flows' packets vary is measured; such runs are slower.",
    ),
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
        Other("tables, `[[web]]`", "as for `flows`; one of the three has to be there"),
        Words("none"),
        "Web-like traffic.",
    ),
];

/// Of a link as a whole.
pub const LINK: &[Key] = &[
    key("name", Other("text", "printable, unique"), Required, "What paths, results and `--set` call the link."),
    key(
        "count",
        Whole(1..=limits::MOST_LINKS as u64),
        Words("one link, called `name`"),
        "How many such links: with `name = \"home\"` they are `home/1`, `home/2`, and so on.",
    ),
    key(
        "preset",
        Names(|| Preset::ALL.map(Preset::name).to_vec()),
        Words("none"),
        "Kind of access network that gives the keys you do not write; see [presets](#presets).",
    ),
    key(
        "reverse",
        Other("table", "every key of a link but `name`, `count`, `preset`, and `reverse`"),
        Words("as forward"),
        "What is different in the other direction, which ACKs take.",
    ),
];

/// Of each direction of a link.
pub const DIRECTION: &[Key] = &[
    key("rate", Quantity(&RATE, limits::RATE), Words("required, or `trace`"), "How fast it sends."),
    key(
        "delay",
        Quantity(&TIME, limits::DELAY),
        Words("required, or `delay_trace`"),
        "The propagation delay, one way.",
    ),
    key(
        "buffer",
        Other(
            "packets, BDP, data, time or `\"unlimited\"`",
            "1 to 10¹² packets, more than 0 BDP, one packet to 10¹⁵ B, or 1 ns to 1000000 s",
        ),
        Required,
        "How much waits at each end, the packet being sent included.",
    ),
    sourced(
        "queue",
        Other("text or table", "a name of `fullpipe queues`, or that with parameters"),
        Value("\"drop-tail\""),
        "Which packet goes next, and which is dropped or marked before the buffer is full.",
        "the papers reproduced here",
    ),
    key(
        "loss",
        Other("number or table", "0 to less than 1, or a channel"),
        Value("0"),
        "The probability that a packet, data or ACK, is lost on the wire after it was sent.",
    ),
    key(
        "drop",
        Other("list of whole numbers", "1 to 10¹², at most 1000000 of them"),
        Words("none"),
        "The packets, data or ACKs, that are lost on the wire besides: 1 is the first one that arrives.",
    ),
    key(
        "trace",
        Other("file's name, or list of whole milliseconds", "never decreasing, the last above 0; at most 10 million"),
        Words("none"),
        "The milliseconds at which 1504 bytes may leave, instead of `rate`.",
    ),
    key(
        "delay_trace",
        Other("file's name, or list of pairs", "times rising from 0 s, delays from 0 to 100 s; at most 1000000"),
        Words("none"),
        "Delays over time; `delay` is then a part of the base RTT alone, and the least value without it.",
    ),
    key(
        "delay_interpolation",
        Names(|| Interpolation::ALL.map(Interpolation::name).to_vec()),
        Words("`\"linear\"`"),
        "The delay between two rows of `delay_trace`: on the line between them, or that of the row before.",
    ),
    key(
        "loss_trace",
        Other("file's name, or list of pairs", "times rising from 0 s, probabilities from 0 to 1; at most 1000000"),
        Words("none"),
        "Probabilities over time that a packet which arrives then is lost on the wire, instead of `loss`.",
    ),
    key(
        "loss_interpolation",
        Names(|| Interpolation::ALL.map(Interpolation::name).to_vec()),
        Words("`\"hold\"`"),
        "The probability between two rows of `loss_trace`.",
    ),
    key(
        "trace_repeat",
        Flag,
        Value("false"),
        "After the last row of these two traces the first one follows; otherwise the last value stays.",
    ),
];

/// Of each direction of a link that varies.
pub const VARYING: &[Key] = &[
    key(
        "schedule",
        Other("list of tables", "at most 100000"),
        Words("none"),
        "Changes of rate, delay and loss at given times.",
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
        "Packets that wait longer, so that others overtake them.",
    ),
    key(
        "aggregation",
        Other("time, or `\"off\"`", "1 ns to 100 s"),
        Words("none"),
        "Packets leave for the far end only at multiples of this, all that have been sent meanwhile together.",
    ),
    key(
        "phase",
        Quantity(&TIME, limits::PHASE),
        Words("random if several directions share `aggregation`, else 0 s"),
        "First time at which packets leave; less than `aggregation`.",
    ),
    key(
        "limit",
        Other("whole number, packets or `\"unlimited\"`", "1 to 10¹² packets"),
        Value("\"unlimited\""),
        "How many packets travel between the transmitter and the far end at most; one more is lost there.",
    ),
    key(
        "policer",
        Other("table, or `\"off\"`", ""),
        Words("none"),
        "A token bucket before the queue, which drops what exceeds it.",
    ),
];

/// Of an entry of a schedule.
pub const CHANGE: &[Key] = &[
    key(
        "at",
        Quantity(&TIME, limits::MOMENT),
        Required,
        "When, since the schedule began; later than the entry before.",
    ),
    key(
        "rate",
        Quantity(&RATE, limits::CHANGED_RATE),
        Words("as it was"),
        "The rate from the next transmission on; 0 is an outage.",
    ),
    key(
        "delay",
        Quantity(&TIME, limits::DELAY),
        Words("as it was"),
        "The delay of packets sent later, of which none overtakes another.",
    ),
    key(
        "loss",
        Other("number or table", "0 to 1, or a channel"),
        Words("as it was"),
        "The losses of packets that come later.",
    ),
];

/// Laws of `jitter`.
pub const JITTER_MODELS: [&str; 5] = ["uniform", "normal", "pareto", "paretonormal", "wifi"];

/// Of `jitter`.
pub const JITTER: &[Key] = &[
    key("model", Names(|| JITTER_MODELS.to_vec()), Value("\"uniform\""), "The law of the delays."),
    key("mean", Quantity(&TIME, limits::DELAY), Required, "Their mean; with `\"wifi\"` from 1 ms to 91 ms."),
    key(
        "spread",
        Quantity(&TIME, limits::DELAY),
        Words("`mean` with `\"uniform\"`; not with `\"wifi\"`; otherwise required"),
        "How far a uniform delay is from the mean, at most `mean`; the standard deviation of a normal one; the scale of the others.",
    ),
    key(
        "correlation",
        Number("numbers from 0 to less than 1"),
        Value("0.0"),
        "Weight of the draw before in each draw, as in netem; not with `\"wifi\"`.",
    ),
    key("reorder", Flag, Value("false"), "Packets with shorter delays overtake others."),
];

/// Of `reorder`.
pub const REORDER: &[Key] = &[
    key("probability", Number(PROBABILITY), Required, "Of each packet."),
    key("delay", Quantity(&TIME, limits::WAIT), Required, "How much longer such a packet waits."),
];

/// Of `policer`.
pub const POLICER: &[Key] = &[
    key("rate", Quantity(&RATE, limits::RATE), Required, "How fast the bucket fills."),
    key("burst", Quantity(&DATA, limits::BYTES), Required, "What it holds at most and at first; at least a packet."),
];

/// Of `loss` where it is a channel with a good and a bad state.
pub const CHANNEL: &[Key] = &[
    key("model", Names(|| vec!["gilbert-elliott"]), Required, "The kind of channel."),
    key("p", Number(PROBABILITY), Required, "That it goes from good to bad, at each packet."),
    key("r", Number(PROBABILITY), Required, "That it goes from bad to good."),
    key("h", Number(PROBABILITY), Value("0.0"), "That a packet comes through in the bad state."),
    key("k", Number(PROBABILITY), Value("1.0"), "That a packet comes through in the good state."),
];

const PROBABILITY: &str = "probabilities from 0 to 1";
