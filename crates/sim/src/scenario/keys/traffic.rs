//! Keys of traffic: flows, TCP, UDP, frames, and web.

use super::KeyKind::{Flag, Names, Number, Other, Quantity, Spread, Whole, WholeOr};
use super::Otherwise::{Required, Value, Words};
use super::{Key, key, sourced};
use crate::scenario::host::Host;
use crate::scenario::units::{DATA, PACKETS, RATE, TIME};
use crate::scenario::{Class, EcnMode, Growth, IdleRule, Pacing, Recovery, RtoRule, SlowStart, Transport, limits};

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
    key(
        "source",
        Other("`\"bulk\"` or table", "`\"bulk\"`, or a table of one of the forms below; not with `size`"),
        Value("\"bulk\""),
        "When the application writes, and how much; `\"bulk\"` always has data.",
    ),
    sourced(
        "growth",
        Names(|| Growth::ALL.map(Growth::name).to_vec()),
        Value("\"rfc\""),
        "The rule for the growth of a window that the sender does not use: the text of each algorithm, or draft-ietf-ccwg-ratelimited-increase.",
        "RFC 5681, RFC 9438, RFC 9002",
    ),
];

/// Of `resume`.
pub const RESUME: &[Key] = &[
    key("cwnd", WholeOr(&PACKETS, limits::SAVED_WINDOW), Required, "The saved window, segments."),
    key("rtt", Quantity(&TIME, limits::SAVED_RTT), Required, "The saved least RTT."),
    key(
        "max_jump",
        WholeOr(&PACKETS, limits::SAVED_WINDOW),
        Words("no limit"),
        "The most that the window jumps to, segments.",
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

/// Of flows and UDP sources: the IP header.
pub const IP: &[Key] = &[
    key(
        "sender",
        Other("text", "at least one printable character"),
        Words("a separate host"),
        "The host that sends the data, for `cake`: flows with equal text share it.",
    ),
    key(
        "receiver",
        Other("text", "at least one printable character"),
        Words("a separate host"),
        "The host that receives the data, for `cake`.",
    ),
    sourced(
        "class",
        Names(|| Class::ALL.map(Class::name).to_vec()),
        Value("\"best-effort\""),
        "The class of data and ACKs, for `cake`: CS1, CS0, AF4x, or EF.",
        "RFC 4594",
    ),
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
        "transport",
        Names(|| Transport::ALL.map(Transport::name).to_vec()),
        Words("`\"quic\"` with `host = \"quic\"`, otherwise `\"tcp\"`"),
        "Transport protocol. Over QUIC, `pacing` is `\"on\"` and `initial_window` 10 packets or 14,720 bytes by default.",
        "RFC 9000, RFC 9002",
    ),
    sourced(
        "ack_every",
        Other("whole number", "1 to 1000; over QUIC 1 to 1000000; not with `delayed_ack`"),
        Words("`1`; `2` with `delayed_ack` or over QUIC"),
        "Packets in order after which the receiver sends an ACK.",
        "RFC 5681 section 4.2; RFC 9000 section 13.2.2",
    ),
    sourced(
        "ack_delay",
        Other("time", "0 s to 2 s, with `ack_every`; over QUIC 0 s to 16.383 s"),
        Words("`delayed_ack_timeout`; `\"25 ms\"` over QUIC"),
        "Longest time that the receiver holds such an ACK back; 0 s acknowledges each packet.",
        "RFC 9000 section 18.2",
    ),
    sourced(
        "ack_reorder",
        Whole(limits::ACK_REORDER),
        Value("1"),
        "Over QUIC: reordering in packets that the receiver reports at once; 0 for none.",
        "RFC 9000 section 13.2.1, draft-ietf-quic-ack-frequency section 6.2",
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
    sourced(
        "resume",
        Other("table", "a table of the keys below; with `slow_start = \"standard\"` and `pacing = \"on\"`"),
        Words("none"),
        "Values saved from an earlier connection: careful resume in the place of another slow start.",
        "draft-ietf-tsvwg-careful-resume-24",
    ),
    key(
        "pacing",
        Names(|| Pacing::ALL.map(Pacing::name).to_vec()),
        Words("`\"algorithm\"`; `\"on\"` with `\"rapid\"` and `resume`, which need it"),
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
        "idle",
        Names(|| IdleRule::ALL.map(IdleRule::name).to_vec()),
        Words("`\"linux\"` with `host = \"linux\"`, otherwise `\"none\"`"),
        "The rule that lowers a window after idle time, for flows with a `source`; nothing with `bbr` and `bbr3`.",
        "RFC 5681 section 4.1; Linux `tcp_slow_start_after_idle`; RFC 7661",
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
