//! Rules of the application of a flow.

use super::check::{Checked, bytes, number, rate, time, whole};
use super::invalid::Invalid;
use super::{FlowGroup, Law, Requests, Source, Video};
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
    if group.source.request_size().is_some() && group.tcp.path.len() > limits::LONGEST_PATH / 2 {
        let what = format!("a path of at most {} links", limits::LONGEST_PATH / 2);
        return Err(Invalid::Requires { key, what });
    }
    match group.source {
        Source::Bulk => Ok(()),
        Source::Rate { rate_bps } => rate(&format!("{key}.rate"), rate_bps, limits::RATE),
        Source::OnOff { on, off, rate_bps } => {
            times(&format!("{key}.on"), on, limits::SPAN)?;
            times(&format!("{key}.off"), off, limits::SPAN)?;
            rate_bps.map_or(Ok(()), |bps| rate(&format!("{key}.rate"), bps, limits::RATE))
        }
        Source::Requests(Requests { think, size, server, request_size }) => {
            times(&format!("{key}.requests"), think, 0..=*limits::SPAN.end())?;
            times(&format!("{key}.server"), server, 0..=*limits::SPAN.end())?;
            bytes(&format!("{key}.request_size"), request_size.into(), limits::SMALL_PACKET)?;
            law_within(&format!("{key}.size"), size, |value| bytes(&format!("{key}.size"), value, limits::BYTES))
        }
        Source::Video(ref video) => check_video(&key, video),
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

fn check_video(key: &str, video: &Video) -> Checked {
    whole(&format!("length of {key}.video"), video.ladder.len() as u64, 1..=limits::MOST_RATES as u64)?;
    for (place, &bps) in video.ladder.iter().enumerate() {
        let least = place.checked_sub(1).map_or(1, |before| video.ladder[before] + 1);
        rate(&format!("{key}.video"), bps, least..=*limits::RATE.end())?;
    }
    time(&format!("{key}.segment"), video.segment, limits::SEGMENT)?;
    time(&format!("{key}.buffer"), video.buffer, 2 * video.segment..=*limits::PLAYER_BUFFER.end())?;
    whole(&format!("{key}.startup"), video.startup.into(), 1..=video.buffer / video.segment)?;
    number(&format!("{key}.safety"), video.safety, 0.1..=1.0)?;
    video.length.map_or(Ok(()), |length| time(&format!("{key}.length"), length, limits::SPAN))
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
