//! Keys of `source`, in each of its forms.

use super::Kind::{Other, Quantity};
use super::Otherwise::Required;
use super::{Key, key};
use crate::scenario::limits;
use crate::scenario::units::RATE;

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
