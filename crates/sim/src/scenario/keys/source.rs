//! Keys of `source`, in each of its forms.

use super::KeyKind::{Other, Quantity, Whole};
use super::Otherwise::{Required, Words};
use super::{Key, key};
use crate::scenario::limits;
use crate::scenario::units::{DATA, RATE, TIME};

/// Of `source` with a constant rate.
pub const RATE_SOURCE: &[Key] = &[key(
    "rate",
    Quantity(&RATE, limits::RATE),
    Required,
    "Packet i, from 0 on, is written at the flow's start + i · `packet_size` / `rate`.",
)];

const LAW: &str = "1 us to 1000000 s, or such as `\"exponential 1 s\"`, `\"uniform 1 s 3 s\"`, `\"pareto 1 s 1.2\"`, `\"lognormal 1 s 2 s\"`";

/// Of `source` with on and off periods.
pub const ON_OFF_SOURCE: &[Key] = &[
    key("on", Other("time or its distribution", LAW), Required, "Length of an on period; an on period is first."),
    key("off", Other("time or its distribution", LAW), Required, "Length of the off period that follows."),
    key(
        "rate",
        Other("rate or `\"unlimited\"`", "as a link's `rate`"),
        Required,
        "Rate at which packets are written in an on period; `\"unlimited\"` always has data in it.",
    ),
];

const DATA_LAW: &str = "1 B to 10¹⁵ B, or such as `\"exponential 20 kB\"`, `\"uniform 1 kB 3 kB\"`, `\"pareto 30 kB 1.2\"`, `\"lognormal 8 kB 126 kB\"`";

/// Of `source` with frames.
pub const FRAME_SOURCE: &[Key] = &[
    key(
        "frames",
        Other("frames per second", "0.000001/s to 1000000/s, such as `\"30/s\"`"),
        Required,
        "Frame i, from 0 on, is made at the flow's start + i / `frames`.",
    ),
    key(
        "size",
        Other("data or its distribution", DATA_LAW),
        Required,
        "Size of a frame on the wire, in whole packets.",
    ),
    key(
        "key_size",
        Quantity(&DATA, limits::BYTES),
        Words("required with `key_every`"),
        "Size of a key frame on the wire.",
    ),
    key(
        "key_every",
        Whole(limits::KEY_EVERY),
        Words("required with `key_size`"),
        "The first of each so many frames is a key frame.",
    ),
    key(
        "deadline",
        Quantity(&TIME, limits::DEADLINE),
        Words("none"),
        "A frame that is delivered later after its creation, or never, is late.",
    ),
];
