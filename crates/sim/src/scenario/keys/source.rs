//! Keys of `source`, in each of its forms.

use super::KeyKind::{Names, Number, Other, Quantity, Whole};
use super::Otherwise::{Required, Value, Words};
use super::{Key, key, sourced};
use crate::scenario::units::{DATA, RATE, TIME};
use crate::scenario::{PlayerRule, limits};

/// Keys of `source` with a constant rate.
pub const RATE_SOURCE: &[Key] = &[key(
    "rate",
    Quantity(&RATE, limits::RATE),
    Required,
    "Rate at which the application writes. It writes packet i (from 0) at the flow's start + i · `packet_size` / `rate`.",
)];

const LAW: &str = "1 us to 1000000 s, or such as `\"exponential 1 s\"`, `\"uniform 1 s 3 s\"`, `\"pareto 1 s 1.2\"`, `\"lognormal 1 s 2 s\"`";

/// Keys of `source` with on and off periods.
pub const ON_OFF_SOURCE: &[Key] = &[
    key("on", Other("time or its distribution", LAW), Required, "Length of an on period. The flow starts with one."),
    key("off", Other("time or its distribution", LAW), Required, "Length of an off period."),
    key(
        "rate",
        Other("rate or `\"unlimited\"`", "as a link's `rate`"),
        Required,
        "Rate at which the application writes in an on period. `\"unlimited\"` always has data.",
    ),
];

const DATA_LAW: &str = "1 B to 10¹⁵ B, or such as `\"exponential 20 kB\"`, `\"uniform 1 kB 3 kB\"`, `\"pareto 30 kB 1.2\"`, `\"lognormal 8 kB 126 kB\"`";

/// Keys of `source` with frames.
pub const FRAME_SOURCE: &[Key] = &[
    key(
        "frames",
        Other("frames per second", "0.000001/s to 1000000/s, such as `\"30/s\"`"),
        Required,
        "Frame rate. Frame i (from 0) is created at the flow's start + i / `frames`.",
    ),
    key(
        "size",
        Other("data or its distribution", DATA_LAW),
        Required,
        "Size of a frame with headers, rounded up to whole packets.",
    ),
    key(
        "key_size",
        Quantity(&DATA, limits::BYTES),
        Words("required with `key_every`"),
        "Size of a key frame with headers.",
    ),
    key("key_every", Whole(limits::KEY_EVERY), Words("required with `key_size`"), "Period of key frames, in frames."),
    key(
        "deadline",
        Quantity(&TIME, limits::DEADLINE),
        Words("none"),
        "Deadline after the creation of a frame. A frame delivered later, or never, is late.",
    ),
];

const TIME_LAW: &str = "0 s to 1000000 s, or such as `\"exponential 1 s\"`, `\"uniform 1 s 3 s\"`";

/// Keys of `source` with requests.
pub const REQUEST_SOURCE: &[Key] = &[
    key(
        "requests",
        Other("time or its distribution", TIME_LAW),
        Required,
        "Think time: from the start of the connection or a complete response to the next request.",
    ),
    key(
        "size",
        Other("data or its distribution", DATA_LAW),
        Required,
        "Size of a response with headers, rounded up to whole packets.",
    ),
    key(
        "server",
        Other("time or its distribution", TIME_LAW),
        Value("\"0 s\""),
        "Time from the arrival of a request to the first packet of its response.",
    ),
    sourced(
        "request_size",
        Quantity(&DATA, limits::SMALL_PACKET),
        Value("\"328 B\""),
        "Size of a request: one packet on the reverse path. If it is lost, it is retransmitted after 1 s, 2 s, 4 s, ...",
        "ns-3 `three-gpp-http-variables.cc`",
    ),
];

/// Keys of `source` with a video.
pub const VIDEO_SOURCE: &[Key] = &[
    key(
        "video",
        Other("list of rates", "1 to 64 rates, rising"),
        Required,
        "Media rates; a segment has `rate` · `segment` / 8 bytes.",
    ),
    key("segment", Quantity(&TIME, limits::SEGMENT), Value("\"2 s\""), "Playing time of a segment."),
    key(
        "buffer",
        Quantity(&TIME, limits::PLAYER_BUFFER),
        Words("`\"20 s\"`, and at least two segments"),
        "Largest playing time in the player, at least two segments. It requests the next segment once there is room for one.",
    ),
    sourced(
        "player",
        Names(|| PlayerRule::ALL.map(PlayerRule::name).to_vec()),
        Value("\"buffer\""),
        "Choice of the rate: by the buffer (BBA-0), or by the harmonic mean of the last five throughputs.",
        "Huang et al. 2014; Yin et al. 2015",
    ),
    key(
        "startup",
        Whole(limits::STARTUP),
        Value("1"),
        "Number of segments in the player before it starts to play. They must fit in `buffer`.",
    ),
    key("safety", Number("numbers from 0.1 to 1"), Value("1.0"), "Factor on the throughput estimate of `\"rate\"`."),
    key("length", Quantity(&TIME, limits::SPAN), Words("no end"), "Playing time of the video; then the flow ends."),
];
