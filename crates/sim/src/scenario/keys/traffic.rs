//! Keys of traffic: flows, TCP, UDP, frames, and web.

use super::KeyKind::{Flag, Names, Number, Other, Quantity, Spread, Whole, WholeOr};
use super::Otherwise::{Required, Value, Words};
use super::{Key, key, sourced};
use crate::scenario::host::Host;
use crate::scenario::units::{DATA, PACKETS, RATE, TIME};
use crate::scenario::{Class, EcnMode, Growth, IdleRule, Pacing, Recovery, RtoRule, SlowStart, Transport, limits};

/// Keys of `[[flows]]` alone.
pub const FLOW: &[Key] = &[
    key(
        "name",
        Other("text", "at least one printable character"),
        Words("the algorithm's name"),
        "Name of the group in results. Tables with equal names form one group.",
    ),
    key("count", Whole(limits::COUNT), Value("1"), "Number of such flows."),
    key(
        "size",
        Other("segments or data", "1 to 10¹² segments, 1 B to 10¹⁵ B"),
        Words("no end"),
        "Amount of data per flow, including headers, rounded up to whole packets.",
    ),
    key(
        "source",
        Other("`\"bulk\"` or table", "`\"bulk\"`, or a table of one of the forms below; not with `size`"),
        Value("\"bulk\""),
        "Application: when it writes data, and how much. `\"bulk\"` always has data.",
    ),
    sourced(
        "growth",
        Names(|| Growth::ALL.map(Growth::name).to_vec()),
        Value("\"rfc\""),
        "Window growth of a sender that does not use its window: by each algorithm's RFC, or by draft-ietf-ccwg-ratelimited-increase (`\"validated\"`).",
        "RFC 5681, RFC 9438, RFC 9002",
    ),
];

/// Keys of `resume`.
pub const RESUME: &[Key] = &[
    key("cwnd", WholeOr(&PACKETS, limits::SAVED_WINDOW), Required, "Saved congestion window, in segments."),
    key("rtt", Quantity(&TIME, limits::SAVED_RTT), Required, "Saved minimum RTT."),
    key(
        "max_jump",
        WholeOr(&PACKETS, limits::SAVED_WINDOW),
        Words("no limit"),
        "Largest window after the jump, in segments.",
    ),
];

/// Keys of `tunnel`.
pub const TUNNEL: &[Key] = &[
    key("at", Quantity(&TIME, limits::MOMENT), Required, "Time at which the path enters the tunnel."),
    key(
        "overhead",
        WholeOr(&DATA, limits::OVERHEAD),
        Required,
        "Headers of the tunnel in each packet, in bytes; less than half of `packet_size`.",
    ),
];

/// Keys of all traffic.
pub const TRAFFIC: &[Key] = &[
    key("start", Spread(limits::MOMENT), Value("\"0 s\""), "Start time, before the end of the run."),
    key(
        "stop",
        Quantity(&TIME, limits::MOMENT),
        Words("the end of the run"),
        "Time after which no new data is sent. Lost segments are still retransmitted.",
    ),
    key(
        "access_delay",
        Spread(limits::DELAY),
        Value("\"0 s\""),
        "One-way delay, in each direction, of a private link without a queue between the sender and the first link.",
    ),
    key(
        "path",
        Other("list of links' names", "each link at most once, at most 127"),
        Words("the link, if there is only one"),
        "Links in the order in which data crosses them. ACKs return over the same links.",
    ),
    key("reverse", Flag, Value("false"), "Send data over the path backwards, in the reverse direction of each link."),
];

/// Keys of the IP header, for flows and UDP sources.
pub const IP: &[Key] = &[
    key(
        "sender",
        Other("text", "at least one printable character"),
        Words("a separate host"),
        "Host that sends the data, for `cake`. Flows with equal names share a host.",
    ),
    key(
        "receiver",
        Other("text", "at least one printable character"),
        Words("a separate host"),
        "Host that receives the data, for `cake`.",
    ),
    sourced(
        "class",
        Names(|| Class::ALL.map(Class::name).to_vec()),
        Value("\"best-effort\""),
        "Traffic class of data and ACKs, for `cake`: CS1, CS0, AF4x, or EF.",
        "RFC 4594",
    ),
];

/// Keys of TCP.
pub const TCP: &[Key] = &[
    key(
        "algorithm",
        Other("text or table", "a name of `fullpipe algorithms`, or that with parameters"),
        Required,
        "Congestion control algorithm.",
    ),
    sourced(
        "host",
        Names(|| Host::ALL.map(Host::name).to_vec()),
        Value("\"classic\""),
        "Preset of the keys below. You can still set each of them.",
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
        "Longest time for which the receiver delays such an ACK. With `0 s` it acknowledges each packet.",
        "RFC 9000 section 18.2",
    ),
    sourced(
        "ack_reorder",
        Whole(limits::ACK_REORDER),
        Value("1"),
        "QUIC: reordering, in packets, after which the receiver sends an ACK at once; 0 for never.",
        "RFC 9000 section 13.2.1, draft-ietf-quic-ack-frequency section 6.2",
    ),
    sourced(
        "mtu_probes",
        Quantity(&TIME, limits::MTU_PROBES),
        Words("none"),
        "QUIC: time between path MTU probes. The path drops each probe, because it is larger than `packet_size`. Such a loss is no congestion.",
        "RFC 9000 section 14.4",
    ),
    sourced(
        "tunnel",
        Other("table", "a table of the keys below"),
        Words("none"),
        "QUIC: change of the path to a tunnel. Packets keep `packet_size`, so that datagrams get smaller. Packet-level controllers get `on_mtu`.",
        "RFC 9000 section 14",
    ),
    sourced(
        "recovery",
        Names(|| Recovery::ALL.map(Recovery::name).to_vec()),
        Words("the algorithm's"),
        "Loss detection and recovery.",
        "the algorithm's paper; SACK if the paper has none",
    ),
    sourced(
        "slow_start",
        Names(|| SlowStart::ALL.map(SlowStart::name).to_vec()),
        Value("\"standard\""),
        "Slow-start variant, including rules that end it before a loss.",
        "RFC 5681, ns-2",
    ),
    sourced(
        "resume",
        Other("table", "a table of the keys below; with `slow_start = \"standard\"` and `pacing = \"on\"`"),
        Words("none"),
        "Careful resume in place of another slow start, with values saved from an earlier connection.",
        "draft-ietf-tsvwg-careful-resume-24",
    ),
    key(
        "pacing",
        Names(|| Pacing::ALL.map(Pacing::name).to_vec()),
        Words("`\"algorithm\"`; `\"on\"` with `\"rapid\"` and `resume`, which require it"),
        "Pacing of segments, in place of bursts.",
    ),
    sourced(
        "ecn",
        Names(|| EcnMode::ALL.map(EcnMode::name).to_vec()),
        Words("the algorithm's, otherwise `\"off\"`"),
        "ECN mode: whether new segments are ECN-capable, and how the receiver reports CE marks.",
        "ns-2 `ecn_`",
    ),
    sourced(
        "ect",
        Whole(limits::ECT),
        Words("`1` with `prague`, otherwise `0`"),
        "Codepoint of ECN-capable segments: ECT(0) or ECT(1).",
        "RFC 3168; 1 in RFC 9331",
    ),
    sourced(
        "prr",
        Other("true or false", "with `recovery` `\"sack\"` or `\"rack\"`"),
        Words("`true` with `\"rack\"`, otherwise `false`"),
        "Proportional rate reduction in fast recovery.",
        "RFC 9937; Linux",
    ),
    sourced(
        "undo",
        Flag,
        Value("true"),
        "With `recovery = \"rack\"`: undo a window reduction that proves spurious.",
        "RFC 4015, RFC 9438 section 4.9",
    ),
    sourced(
        "handshake",
        Other("true or false", "paths of at most 63 links where true"),
        Value("false"),
        "Start each connection with a SYN and a SYN-ACK.",
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
        "Longest time for which the receiver delays an ACK (RFC 1122, 4.2.3.2).",
        "ns-2 `Agent/TCPSink/DelAck`",
    ),
    sourced(
        "byte_counting",
        Flag,
        Value("false"),
        "Window growth per acknowledged segment instead of per ACK.",
        "ns-2; RFC 3465 when on",
    ),
    sourced(
        "initial_window",
        WholeOr(&PACKETS, limits::INITIAL_WINDOW),
        Value("2"),
        "Initial congestion window, in segments.",
        "ns-2 `windowInit_`",
    ),
    sourced(
        "max_window",
        Other("whole number, packets, data or `\"unlimited\"`", "1 to 1000000000000"),
        Value("\"unlimited\""),
        "Receive window, in segments. A size in bytes is rounded down to whole packets.",
        "the papers: never the limit",
    ),
    sourced(
        "min_rto",
        Quantity(&TIME, limits::MIN_RTO),
        Value("\"200 ms\""),
        "Minimum retransmission timeout.",
        "ns-2 `minrto_`; RFC 6298 rule 2.4 says 1 s",
    ),
    sourced(
        "rto",
        Names(|| RtoRule::ALL.map(RtoRule::name).to_vec()),
        Value("\"rfc6298\""),
        "Rules of the retransmission timeout: value, RTT samples, and restart of the timer.",
        "RFC 6298; Linux with `host = \"linux\"`",
    ),
    sourced(
        "idle",
        Names(|| IdleRule::ALL.map(IdleRule::name).to_vec()),
        Words("`\"linux\"` with `host = \"linux\"`, otherwise `\"none\"`"),
        "Rule that reduces the window after idle time, for flows with a `source`; no effect with `bbr` and `bbr3`.",
        "RFC 5681 section 4.1; Linux `tcp_slow_start_after_idle`; RFC 7661",
    ),
    sourced(
        "sack_compression",
        Flag,
        Value("false"),
        "The receiver sends fewer ACKs while segments are missing; only with `delayed_ack`.",
        "ns-2; Linux `tcp_comp_sack_delay_ns`",
    ),
    key(
        "timestamp_tick",
        Quantity(&TIME, limits::TICK),
        Value("\"0 s\""),
        "Resolution of both hosts' timestamp clocks, which are not synchronized; 0 is exact (RFC 7323, 5.4).",
    ),
    sourced(
        "rtt_tick",
        Quantity(&TIME, limits::TICK),
        Words("`timestamp_tick`"),
        "Resolution of the sender's RTT samples, and G of the retransmission timer; 0 is exact.",
        "Linux keeps the time at which each segment was sent, in microseconds",
    ),
    key(
        "access_rate",
        Other("rate or `\"unlimited\"`", "as a link's `rate`"),
        Value("\"unlimited\""),
        "Rate of a private link after the sender, which never drops packets.",
    ),
    sourced(
        "processing_time",
        Quantity(&TIME, limits::PROCESSING),
        Value("\"0 s\""),
        "Largest processing time of the sender. Each one is random, uniform from 0 to this.",
        "ns-2 `overhead_`",
    ),
];

/// Keys of `[[udp]]` alone.
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
        "Rate of each source, including headers. With `frames`, the rate within a frame.",
    ),
    key(
        "frames",
        Other("table", "mean rate at most `rate`"),
        Words("none: a constant rate"),
        "Frames of video or audio, cut into whole packets of `packet_size`.",
    ),
    key(
        "packet_size",
        WholeOr(&DATA, limits::SMALL_PACKET),
        Words("the scenario's"),
        "Size of a packet with headers, in bytes.",
    ),
    key("count", Whole(limits::COUNT), Value("1"), "Number of such sources."),
];

/// Keys of `frames`.
pub const FRAMES: &[Key] = &[
    key("per_second", Number("numbers from 0.000001 to 1000000"), Required, "Frames per second."),
    key("size", Quantity(&DATA, limits::BYTES), Required, "Size of a frame with headers, rounded up to whole packets."),
    key(
        "key_size",
        Quantity(&DATA, limits::BYTES),
        Words("required with `key_every`"),
        "Size of a key frame with headers.",
    ),
    key("key_every", Whole(limits::KEY_EVERY), Words("required with `key_size`"), "Period of key frames, in frames."),
];

/// Keys of `[[web]]` alone.
pub const WEB: &[Key] = &[
    key(
        "sessions",
        Whole(limits::COUNT),
        Words("required with `mean_gap`"),
        "Number of users. Each one repeats: fetch, then wait.",
    ),
    key(
        "mean_gap",
        Quantity(&TIME, limits::SPAN),
        Words("required with `sessions`"),
        "Mean wait of a user after a transfer, exponentially distributed.",
    ),
    key(
        "transfers_per_second",
        Number("numbers from 0.000001 to 1000000"),
        Words("required without these two"),
        "Rate of the Poisson process at which transfers start, independent of earlier transfers.",
    ),
    key("mean_size", Quantity(&DATA, limits::BYTES), Required, "Mean size of a transfer with headers."),
    sourced(
        "shape",
        Number("numbers above 1, to 100"),
        Value("1.2"),
        "Shape of the Pareto distribution of sizes.",
        "assumed: the papers name the distribution, not the shape",
    ),
];
