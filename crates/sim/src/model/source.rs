//! Rules of the application of a flow.

use super::check::{Checked, bytes, number, rate, time, whole};
use super::invalid::Invalid;
use super::{FlowGroup, Law, Source};
use crate::scenario::limits;
use fullpipe_cc::Nanos;
use std::ops::RangeInclusive;

/// Checks the source of a group of flows, which is at `at`.
pub(super) fn source(at: &str, group: &FlowGroup) -> Checked {
    if group.source.is_bulk() {
        return Ok(());
    }
    let key = format!("{at}.source");
    if group.size.is_some() {
        return Err(Invalid::Conflict { key: format!("{at}.size"), with: key });
    }
    match group.source {
        Source::Bulk => Ok(()),
        Source::Rate { rate_bps } => rate(&format!("{key}.rate"), rate_bps, limits::RATE),
        Source::OnOff { on, off, rate_bps } => {
            times(&format!("{key}.on"), on, limits::SPAN)?;
            times(&format!("{key}.off"), off, limits::SPAN)?;
            rate_bps.map_or(Ok(()), |bps| rate(&format!("{key}.rate"), bps, limits::RATE))
        }
        Source::Frames { per_second, size, key: key_frames, deadline } => {
            number(&format!("{key}.frames"), per_second, limits::FRAMES_PER_SECOND)?;
            law_within(&format!("{key}.size"), size, |value| bytes(&format!("{key}.size"), value, limits::BYTES))?;
            if let Some(own) = key_frames {
                bytes(&format!("{key}.key_size"), own.size, limits::BYTES)?;
                whole(&format!("{key}.key_every"), own.every, limits::KEY_EVERY)?;
            }
            deadline.map_or(Ok(()), |value| time(&format!("{key}.deadline"), value, limits::DEADLINE))
        }
    }
}

/// Checks a law of times.
fn times(key: &str, law: Law, range: RangeInclusive<Nanos>) -> Checked {
    law_within(key, law, |value| time(key, value, range.clone()))
}

/// Checks the quantities of a law by `check`, and the rest by the rules of the law.
fn law_within(key: &str, law: Law, check: impl Fn(u64) -> Checked) -> Checked {
    match law {
        Law::Constant(value) | Law::Exponential { mean: value } => check(value),
        Law::Uniform { low, high } => {
            check(low)?;
            check(high)?;
            if low > high {
                return Err(Invalid::Requires { key: key.to_owned(), what: "low to be at most high".to_owned() });
            }
            Ok(())
        }
        Law::Pareto { mean, shape } => {
            check(mean)?;
            number(&format!("{key}.shape"), shape, 1.0 + f64::EPSILON..=100.0)
        }
        Law::Lognormal { mean, deviation } => {
            check(mean)?;
            check(deviation)
        }
    }
}
