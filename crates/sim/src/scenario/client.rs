//! Sources with a client: requests, and video.

use super::keys::{Key, REQUEST_SOURCE, VIDEO_SOURCE};
use super::problem::{Problem, Wrong, quoted};
use super::reader::Reader;
use super::render::{Pairs, quantity};
use super::source::{law, required, write_law};
use super::units::{DATA, RATE, TIME};
use super::{Law, Source, Value, limits};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::SECOND;

/// Requests on one connection, one at a time.
///
/// Example: see [`Source`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// Time from a complete response to the next request, nanoseconds.
    pub think: Law,
    /// Size of a response, bytes on the wire.
    pub size: Law,
    /// Time from the arrival of a request to the first packet of the response, nanoseconds.
    pub server: Law,
    /// Size of a request, bytes.
    pub request_size: u32,
}

impl Requests {
    /// Default size of a request: nsnam/ns-3-dev `three-gpp-http-variables.cc`.
    pub const SIZE: u32 = 328;
}

/// Video, segment by segment.
///
/// Example: see [`Source`].
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Media rates, rising, bits per second.
    pub ladder: Vec<u64>,
    /// Playing time of a segment, nanoseconds.
    pub segment: Nanos,
    /// Largest playing time in the player, nanoseconds.
    pub buffer: Nanos,
    /// Choice of the rate.
    pub player: PlayerRule,
    /// Segments in the player before it plays.
    pub startup: u32,
    /// Factor on the estimate of [`PlayerRule::Rate`].
    pub safety: f64,
    /// Playing time of the video, nanoseconds; `None` for no end.
    pub length: Option<Nanos>,
}

/// Choice of a video player's rate.
///
/// Example: see [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlayerRule {
    /// By the playing time in the buffer: BBA-0.
    #[default]
    Buffer,
    /// By the throughput of the last segments.
    Rate,
}

fullpipe_cc::named! { PlayerRule { Buffer = "buffer", Rate = "rate" } }

/// Form of requests.
pub(super) const REQUESTS: (&str, &[Key]) = ("requests", REQUEST_SOURCE);
/// Form of a video.
pub(super) const VIDEO: (&str, &[Key]) = ("video", VIDEO_SOURCE);

pub(super) fn requests(reader: &Reader) -> Result<Source, Problem> {
    let time = |key| law(reader, key, &TIME, 0..=*limits::SPAN.end());
    let request_size = reader.quantity("request_size", &DATA, limits::SMALL_PACKET)?;
    Ok(Source::Requests(Requests {
        think: required(reader, "requests", "\"exponential 1 s\"", time("requests")?)?,
        size: required(reader, "size", "\"20 kB\"", law(reader, "size", &DATA, limits::BYTES)?)?,
        server: time("server")?.unwrap_or(Law::Constant(0)),
        request_size: request_size.map_or(Requests::SIZE, |bytes| bytes as u32),
    }))
}

pub(super) fn video(reader: &Reader) -> Result<Source, Problem> {
    let ladder = ladder(reader)?;
    let time = |key, range| reader.quantity(key, &TIME, range);
    let segment = time("segment", limits::SEGMENT)?.unwrap_or(2 * SECOND);
    let buffer = time("buffer", limits::PLAYER_BUFFER)?.unwrap_or((2 * segment).max(20 * SECOND));
    if buffer < 2 * segment {
        return Err(reader.problem("buffer", format!("must be at least two segments, got {}", TIME.format(buffer))));
    }
    let startup = reader.whole("startup", limits::STARTUP)?.unwrap_or(1);
    if startup > buffer / segment {
        return Err(reader.problem("startup", format!("must fit in the buffer, got {startup} segments")));
    }
    let startup = startup as u32;
    let player = reader.one_of("player", "player", &PlayerRule::NAMES)?.unwrap_or_default();
    let safety = reader.number("safety", |x| (0.1..=1.0).contains(&x), "[0.1, 1]")?.unwrap_or(1.0);
    let length = time("length", limits::SPAN)?;
    Ok(Source::Video(Video { ladder, segment, buffer, player, startup, safety, length }))
}

/// Rates in rising order.
fn ladder(reader: &Reader) -> Result<Vec<u64>, Problem> {
    const EXAMPLE: &str = "[\"400 kbit/s\", \"1 Mbit/s\"]";
    let value = reader.required("video", EXAMPLE)?;
    let wrong = || reader.wrong_type("video", "a list of rates", EXAMPLE, value);
    let Value::Array(list) = value else { return Err(wrong()) };
    if !(1..=limits::MOST_RATES).contains(&list.len()) {
        let allowed = format!("a list of 1 to {} rates", limits::MOST_RATES);
        return Err(reader.problem("video", Wrong::OutOfRange { got: list.len().to_string(), allowed }));
    }
    let mut rates: Vec<u64> = Vec::with_capacity(list.len());
    for value in list {
        let text = value.as_str().ok_or_else(wrong)?;
        let rate = reader.in_range("video", text, &RATE, limits::RATE)?;
        if rates.last().is_some_and(|&last| rate <= last) {
            let what = format!("rates must be in rising order, got {} after a rate that is not lower", quoted(text));
            return Err(reader.problem("video", what));
        }
        rates.push(rate);
    }
    Ok(rates)
}

pub(super) fn write_requests(requests: &Requests) -> Pairs {
    vec![
        ("requests", write_law(requests.think, &TIME)),
        ("size", write_law(requests.size, &DATA)),
        ("server", write_law(requests.server, &TIME)),
        ("request_size", quantity(&DATA, requests.request_size.into())),
    ]
}

pub(super) fn write_video(video: &Video) -> Pairs {
    let mut pairs = vec![
        ("video", Value::Array(video.ladder.iter().map(|&rate| quantity(&RATE, rate)).collect())),
        ("segment", quantity(&TIME, video.segment)),
        ("buffer", quantity(&TIME, video.buffer)),
        ("player", video.player.name().into()),
        ("startup", Value::Integer(video.startup.into())),
        ("safety", video.safety.into()),
    ];
    pairs.extend(video.length.map(|length| ("length", quantity(&TIME, length))));
    pairs
}
