//! Registry of all keys of a scenario: kind, default, and meaning. Readers allow these keys only, and the tables of
//! `docs/reference/scenarios.md` come from this list.

use super::host::Host;
use super::units::{DATA, Dimension, PACKETS, RATE, TIME};
use super::{EcnMode, Pacing, Recovery, RtoRule, SlowStart, limits};
use std::ops::RangeInclusive;

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// As scenarios write it.
    pub name: &'static str,
    /// The values it takes.
    pub kind: Kind,
    /// Value without this key in the scenario.
    pub default: Otherwise,
    /// Meaning, in a sentence.
    pub doc: &'static str,
    /// Source of the default; "" without one.
    pub source: &'static str,
}

/// The values that a key takes; bounds are allowed values.
#[derive(Debug)]
pub enum Kind {
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
#[derive(Debug)]
pub enum Otherwise {
    /// Nothing: the key has to be there.
    Required,
    /// This value, as TOML.
    Value(&'static str),
    /// In words.
    Words(&'static str),
}

use Kind::{Flag, Names, Number, Other, Quantity, Spread, Whole, WholeOr};
use Otherwise::{Required, Value, Words};

impl Kind {
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
pub const ALL: [(&str, &[Key]); 15] = [
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
    ("traffic", TRAFFIC),
    ("tcp", TCP),
    ("udp", UDP),
    ("frames", FRAMES),
    ("web", WEB),
];

const fn key(name: &'static str, kind: Kind, default: Otherwise, doc: &'static str) -> Key {
    Key { name, kind, default, doc, source: "" }
}

const fn sourced(name: &'static str, kind: Kind, default: Otherwise, doc: &'static str, source: &'static str) -> Key {
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
        "reverse",
        Other("table", "every key of a link but `name` and `reverse`"),
        Words("as forward"),
        "What is different in the other direction, which ACKs take.",
    ),
];

/// Of each direction of a link.
pub const DIRECTION: &[Key] = &[
    key("rate", Quantity(&RATE, limits::RATE), Words("required, or `trace`"), "How fast it sends."),
    key("delay", Quantity(&TIME, limits::DELAY), Required, "The propagation delay, one way."),
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
        "trace",
        Other("file's name, or list of whole milliseconds", "never decreasing, the last above 0; at most 10 million"),
        Words("none"),
        "The milliseconds at which 1504 bytes may leave, instead of `rate`.",
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
        "After this the schedule begins anew; longer than its last `at`.",
    ),
    key(
        "jitter",
        Other("table, or `\"off\"`", ""),
        Words("none"),
        "A random delay for each packet, which overtakes none.",
    ),
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

/// Of `jitter`.
pub const JITTER: &[Key] = &[
    key("model", Names(|| vec!["uniform", "normal", "wifi"]), Required, "The law of the delays."),
    key("mean", Quantity(&TIME, limits::DELAY), Required, "Their mean; with `\"wifi\"` from 1 ms to 91 ms."),
    key(
        "spread",
        Quantity(&TIME, limits::DELAY),
        Words("`mean` with `\"uniform\"`; required with `\"normal\"`; not with `\"wifi\"`"),
        "How far a uniform delay is from the mean, at most `mean`; the standard deviation of a normal one.",
    ),
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

/// Of `[[flows]]` alone.
pub const FLOW: &[Key] = &[
    key(
        "name",
        Other("text", "at least one printable character"),
        Words("the algorithm's name"),
        "What the group is called in results; tables of one name are one group there.",
    ),
    key("count", Whole(limits::COUNT), Value("1"), "How many such flows."),
    key(
        "size",
        Other("segments or data", "1 to 10¹² segments, 1 B to 10¹⁵ B"),
        Words("no end"),
        "How much each flow has to send; data counts on the wire, and is rounded up to whole packets.",
    ),
];

/// Of all traffic.
pub const TRAFFIC: &[Key] = &[
    key("start", Spread(limits::MOMENT), Value("\"0 s\""), "When it begins, before the end of the run."),
    key(
        "stop",
        Quantity(&TIME, limits::MOMENT),
        Words("the end of the run"),
        "Nothing new is sent after it; what is outstanding is still repaired.",
    ),
    key(
        "access_delay",
        Spread(limits::DELAY),
        Value("\"0 s\""),
        "Between the sender and its first link, one way and in each direction; a link of its own without a queue.",
    ),
    key(
        "path",
        Other("list of links' names", "each link at most once, at most 127"),
        Words("the link, if there is only one"),
        "The links in the order the data crosses them; ACKs come back over the same.",
    ),
    key("reverse", Flag, Value("false"), "Data crosses the path backwards, each link in its reverse direction."),
];

/// Of TCP.
pub const TCP: &[Key] = &[
    key(
        "algorithm",
        Other("text or table", "a name of `fullpipe algorithms`, or that with parameters"),
        Required,
        "What governs the window.",
    ),
    sourced(
        "host",
        Names(|| Host::ALL.map(Host::name).to_vec()),
        Value("\"classic\""),
        "A preset of the keys below, each of which may still be set.",
        "ns-2 and the papers",
    ),
    sourced(
        "recovery",
        Names(|| Recovery::ALL.map(Recovery::name).to_vec()),
        Words("the algorithm's"),
        "How losses are found and repaired.",
        "the algorithm's paper; SACK where it does not say",
    ),
    sourced(
        "slow_start",
        Names(|| SlowStart::ALL.map(SlowStart::name).to_vec()),
        Value("\"standard\""),
        "How the window grows at first, and what ends that before a loss does.",
        "RFC 5681, ns-2",
    ),
    key(
        "pacing",
        Names(|| Pacing::ALL.map(Pacing::name).to_vec()),
        Value("\"algorithm\""),
        "Whether segments leave at a rate instead of back to back.",
    ),
    sourced(
        "ecn",
        Names(|| EcnMode::ALL.map(EcnMode::name).to_vec()),
        Words("what the algorithm is made for, otherwise `\"off\"`"),
        "Whether queues mark new segments instead of dropping them, and what the receiver says of marks.",
        "ns-2 `ecn_`",
    ),
    sourced(
        "ect",
        Whole(limits::ECT),
        Words("`1` with `prague`, otherwise `0`"),
        "The codepoint of ECN-capable segments, ECT(0) or ECT(1).",
        "RFC 3168; 1 in RFC 9331",
    ),
    sourced(
        "prr",
        Other("true or false", "with `recovery` `\"sack\"` or `\"rack\"`"),
        Words("`true` with `\"rack\"`, otherwise `false`"),
        "In fast recovery the window comes down in proportion to what is delivered.",
        "RFC 9937; Linux",
    ),
    sourced(
        "undo",
        Flag,
        Value("true"),
        "With `recovery = \"rack\"`, a reduction that proves spurious is undone.",
        "RFC 4015, RFC 9438 section 4.9",
    ),
    sourced(
        "handshake",
        Other("true or false", "paths of at most 63 links where true"),
        Value("false"),
        "A connection begins with a SYN and the answer to it.",
        "ns-2",
    ),
    sourced(
        "delayed_ack",
        Flag,
        Value("false"),
        "Acknowledge every second segment, or after `delayed_ack_timeout`.",
        "ns-2 `Agent/TCPSink`: one ACK per segment",
    ),
    sourced(
        "delayed_ack_timeout",
        Quantity(&TIME, limits::ACK_DELAY),
        Value("\"100 ms\""),
        "How long an ACK is held back at most (RFC 1122, 4.2.3.2).",
        "ns-2 `Agent/TCPSink/DelAck`",
    ),
    sourced(
        "byte_counting",
        Flag,
        Value("false"),
        "Windows grow by segments acknowledged instead of by ACKs.",
        "ns-2; RFC 3465 when on",
    ),
    sourced(
        "initial_window",
        WholeOr(&PACKETS, limits::INITIAL_WINDOW),
        Value("2"),
        "The first congestion window, segments.",
        "ns-2 `windowInit_`",
    ),
    sourced(
        "max_window",
        Other("whole number, packets, data or `\"unlimited\"`", "1 to 1000000000000"),
        Value("\"unlimited\""),
        "The window that the receiver advertises, segments; of data, whole packets count.",
        "the papers: never the limit",
    ),
    sourced(
        "min_rto",
        Quantity(&TIME, limits::MIN_RTO),
        Value("\"200 ms\""),
        "The least retransmission timeout.",
        "ns-2 `minrto_`; RFC 6298 rule 2.4 says 1 s",
    ),
    sourced(
        "rto",
        Names(|| RtoRule::ALL.map(RtoRule::name).to_vec()),
        Value("\"rfc6298\""),
        "The rules of the retransmission timeout: its value, its RTT samples, and when its timer restarts.",
        "RFC 6298; Linux with `host = \"linux\"`",
    ),
    sourced(
        "sack_compression",
        Flag,
        Value("false"),
        "The receiver compresses ACKs that report segments behind a hole; only with `delayed_ack`.",
        "ns-2; Linux `tcp_comp_sack_delay_ns`",
    ),
    key(
        "timestamp_tick",
        Quantity(&TIME, limits::TICK),
        Value("\"0 s\""),
        "The resolution of both hosts' timestamp clocks, which are not synchronised; 0 is exact (RFC 7323, 5.4).",
    ),
    sourced(
        "rtt_tick",
        Quantity(&TIME, limits::TICK),
        Words("`timestamp_tick`"),
        "The resolution of the round trips that the sender measures, and G of the retransmission timer; 0 is exact.",
        "Linux keeps the time at which each segment was sent, in microseconds",
    ),
    key(
        "access_rate",
        Other("rate or `\"unlimited\"`", "as a link's `rate`"),
        Value("\"unlimited\""),
        "The rate at which the sender's own link, which never drops, paces its bursts.",
    ),
    sourced(
        "processing_time",
        Quantity(&TIME, limits::PROCESSING),
        Value("\"0 s\""),
        "The sender handles what there is to send a random time later, uniform from 0 to this.",
        "ns-2 `overhead_`",
    ),
];

/// Of `[[udp]]` alone.
pub const UDP: &[Key] = &[
    key(
        "name",
        Other("text", "printable, unique among `[[udp]]`"),
        Words("its number"),
        "Name of the sources in results, for example `\"call\"`.",
    ),
    key(
        "rate",
        Quantity(&RATE, limits::RATE),
        Required,
        "Of each source, on the wire; with `frames`, at which the packets of a frame follow one another.",
    ),
    key(
        "frames",
        Other("table", "no more than `rate` in the mean"),
        Words("none: packets follow one another"),
        "Frames of video or audio, cut into whole packets of `packet_size`.",
    ),
    key(
        "packet_size",
        WholeOr(&DATA, limits::SMALL_PACKET),
        Words("the scenario's"),
        "What a packet takes on the wire, in bytes.",
    ),
    key("count", Whole(limits::COUNT), Value("1"), "How many such sources."),
];

/// Of `frames`.
pub const FRAMES: &[Key] = &[
    key("per_second", Number("numbers from 0.000001 to 1000000"), Required, "How many are made in a second."),
    key("size", Quantity(&DATA, limits::BYTES), Required, "What a frame takes on the wire, in whole packets."),
    key(
        "key_size",
        Quantity(&DATA, limits::BYTES),
        Words("required with `key_every`"),
        "What a key frame takes on the wire.",
    ),
    key(
        "key_every",
        Whole(limits::KEY_EVERY),
        Words("required with `key_size`"),
        "The first of each so many frames is a key frame.",
    ),
];

/// Of `[[web]]` alone.
pub const WEB: &[Key] = &[
    key(
        "sessions",
        Whole(limits::COUNT),
        Words("required with `mean_gap`"),
        "So many users each fetch, wait, and fetch again.",
    ),
    key(
        "mean_gap",
        Quantity(&TIME, limits::SPAN),
        Words("required with `sessions`"),
        "The mean of the exponential wait from the end of a transfer.",
    ),
    key(
        "transfers_per_second",
        Number("numbers from 0.000001 to 1000000"),
        Words("required without these two"),
        "Transfers start as a Poisson process of this rate, whether or not earlier ones have ended.",
    ),
    key("mean_size", Quantity(&DATA, limits::BYTES), Required, "The mean size of a transfer, on the wire."),
    sourced(
        "shape",
        Number("numbers above 1, to 100"),
        Value("1.2"),
        "The shape of the Pareto law of sizes.",
        "reconstructed: the papers name the law, not the shape",
    ),
];
