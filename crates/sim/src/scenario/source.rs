//! Key `source` of `[[flows]]`: the data that the application writes to a flow, and when.

use super::client::{self, Requests, Video};
use super::keys::{self, Key};
use super::problem::{Problem, Wrong, listed, quoted};
use super::reader::Reader;
use super::render::{quantity, table};
use super::units::{DATA, Dimension, RATE, TIME};
use super::{KeyFrames, Value, limits};
use fullpipe_cc::Nanos;
use std::ops::RangeInclusive;

/// Application of a flow.
///
/// ```
/// use fullpipe_sim::model::{Law, PlayerRule, Requests, Source, Video};
///
/// let call = Source::Frames { per_second: 30.0, size: Law::Constant(5_000), key: None, deadline: Some(100_000_000) };
/// let pages = Requests {
///     think: Law::Exponential { mean: 1_000_000_000 }, size: Law::Pareto { mean: 50_000, shape: 1.2 },
///     server: Law::Constant(0), request_size: 500,
/// };
/// let video = Video {
///     ladder: vec![400_000, 1_000_000], segment: 2_000_000_000, buffer: 20_000_000_000,
///     player: PlayerRule::Buffer, startup: 1, safety: 0.9, length: None,
/// };
/// let sizes = [call, Source::Requests(pages), Source::Video(video)].map(|source| source.request_size());
/// assert_eq!(sizes, [None, Some(500), Some(Requests::SIZE)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Source {
    /// Always has data.
    #[default]
    Bulk,
    /// Writes packets at a constant rate.
    Rate {
        /// Bits per second, on the wire.
        rate_bps: u64,
    },
    /// Writes during on periods, which alternate with off periods; an on period is first.
    OnOff {
        /// Length of an on period, nanoseconds.
        on: Law,
        /// Length of an off period, nanoseconds.
        off: Law,
        /// Bits per second in an on period; `None` for a source that always has data then.
        rate_bps: Option<u64>,
    },
    /// Makes frames at a constant rate.
    Frames {
        /// Frames per second.
        per_second: f64,
        /// Size of a frame, bytes on the wire.
        size: Law,
        /// Key frames.
        key: Option<KeyFrames>,
        /// Delay after which a frame is late, nanoseconds.
        deadline: Option<Nanos>,
    },
    /// Answers the requests of a client.
    Requests(Requests),
    /// Answers the requests of a video player.
    Video(Video),
}

/// Distribution of a time (nanoseconds) or of an amount of data (bytes).
///
/// Example: see [`Source`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// One value.
    Constant(u64),
    /// Exponential.
    Exponential {
        /// The mean.
        mean: u64,
    },
    /// Uniform, both ends included.
    Uniform {
        /// Least value.
        low: u64,
        /// Greatest value.
        high: u64,
    },
    /// Pareto.
    Pareto {
        /// The mean.
        mean: u64,
        /// The shape, above 1.
        shape: f64,
    },
    /// Lognormal.
    Lognormal {
        /// The mean.
        mean: u64,
        /// The standard deviation.
        deviation: u64,
    },
}

impl Source {
    /// Size of a request of its client, bytes; `None` without a client.
    pub fn request_size(&self) -> Option<u32> {
        match self {
            Source::Requests(requests) => Some(requests.request_size),
            Source::Video(_) => Some(Requests::SIZE),
            _ => None,
        }
    }

    /// Whether the application always has data.
    pub fn is_bulk(&self) -> bool {
        *self == Source::Bulk
    }
}

/// Forms of the table by the key that identifies them, in the order in which they are tried.
const FORMS: [(&str, &[Key]); 5] = [
    ("on", keys::ON_OFF_SOURCE),
    ("frames", keys::FRAME_SOURCE),
    client::REQUESTS,
    client::VIDEO,
    ("rate", keys::RATE_SOURCE),
];

const EXAMPLE: &str = "{ rate = \"2 Mbit/s\" }";

/// The source of a flow; [`Source::Bulk`] without the key.
pub(super) fn read(reader: &Reader) -> Result<Source, Problem> {
    let table = match reader.value("source") {
        None => return Ok(Source::Bulk),
        Some(Value::String(text)) if text == "bulk" => return Ok(Source::Bulk),
        Some(Value::Table(table)) => table,
        Some(value) => return Err(reader.wrong_type("source", "\"bulk\" or a table", EXAMPLE, value)),
    };
    let Some((form, keys)) = FORMS.into_iter().find(|(key, _)| table.contains_key(key)) else {
        let forms = listed(&FORMS.map(|(key, _)| key));
        let what = format!("missing; write e.g. source = {EXAMPLE}, or a table with one of the keys {forms}");
        return Err(reader.problem("source", what));
    };
    let inner = Reader::new(table, reader.at("source"), keys.iter().map(|key| key.name).collect())?;
    match form {
        "on" => on_off(&inner),
        "frames" => frames(&inner),
        "requests" => client::requests(&inner),
        "video" => client::video(&inner),
        _ => Ok(Source::Rate { rate_bps: required(&inner, "rate", "\"2 Mbit/s\"", rate(&inner)?)? }),
    }
}

fn on_off(reader: &Reader) -> Result<Source, Problem> {
    let rate_bps = match reader.value("rate") {
        None => return Err(reader.missing("rate", "\"2 Mbit/s\"")),
        Some(Value::String(text)) if text == "unlimited" => None,
        Some(_) => rate(reader)?,
    };
    let period = |key| required(reader, key, "\"1 s\"", law(reader, key, &TIME, limits::SPAN)?);
    Ok(Source::OnOff { on: period("on")?, off: period("off")?, rate_bps })
}

fn frames(reader: &Reader) -> Result<Source, Problem> {
    let per_second = frames_per_second(reader)?;
    let size = required(reader, "size", "\"20 kB\"", law(reader, "size", &DATA, limits::BYTES)?)?;
    let key_size = reader.quantity("key_size", &DATA, limits::BYTES)?;
    let key = match (key_size, reader.whole("key_every", limits::KEY_EVERY)?) {
        (Some(size), Some(every)) => Some(KeyFrames { size, every }),
        (None, None) => None,
        (Some(_), None) => return Err(reader.missing("key_every", "150")),
        (None, Some(_)) => return Err(reader.missing("key_size", "\"40 kB\"")),
    };
    Ok(Source::Frames { per_second, size, key, deadline: reader.quantity("deadline", &TIME, limits::DEADLINE)? })
}

/// Frames per second from text such as `30/s`.
fn frames_per_second(reader: &Reader) -> Result<f64, Problem> {
    const EXAMPLE: &str = "\"30/s\"";
    let text = reader.text("frames", EXAMPLE)?.unwrap_or_default();
    let number = text.strip_suffix("/s").and_then(|number| number.trim().parse::<f64>().ok());
    let Some(found) = number else {
        return Err(reader.problem("frames", format!("{} is not a rate of frames; write e.g. {EXAMPLE}", quoted(text))));
    };
    if limits::FRAMES_PER_SECOND.contains(&found) {
        return Ok(found);
    }
    let allowed = "in [0.000001/s, 1000000/s]".to_owned();
    Err(reader.problem("frames", Wrong::OutOfRange { got: quoted(text), allowed }))
}

fn rate(reader: &Reader) -> Result<Option<u64>, Problem> {
    reader.quantity("rate", &RATE, limits::RATE)
}

pub(super) fn required<T>(reader: &Reader, key: &str, example: &str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or_else(|| reader.missing(key, example))
}

/// Law of `key`, all of whose quantities are in `range`.
pub(super) fn law(
    reader: &Reader,
    key: &str,
    what: &Dimension,
    range: RangeInclusive<u64>,
) -> Result<Option<Law>, Problem> {
    let Some(text) = reader.quantity_text(key, what.example)? else { return Ok(None) };
    let read = |words: &[&str]| reader.in_range(key, &words.join(" "), what, range.clone());
    let words: Vec<&str> = text.split_whitespace().collect();
    let law = match words.as_slice() {
        ["exponential", mean @ ..] => Law::Exponential { mean: read(mean)? },
        ["uniform", low, low_unit, high, high_unit] => {
            let (low, high) = (read(&[low, low_unit])?, read(&[high, high_unit])?);
            if low > high {
                let what = format!("{} runs backwards; write the smaller value first", quoted(text));
                return Err(reader.problem(key, what));
            }
            Law::Uniform { low, high }
        }
        ["pareto", mean @ .., shape] => Law::Pareto { mean: read(mean)?, shape: pareto_shape(reader, key, shape)? },
        ["lognormal", mean, mean_unit, deviation, unit] => {
            Law::Lognormal { mean: read(&[mean, mean_unit])?, deviation: read(&[deviation, unit])? }
        }
        ["uniform" | "lognormal", ..] => {
            let example = format!("{} {} {}", words[0], what.example, what.example);
            return Err(reader.problem(key, format!("{} needs two values; write e.g. {example:?}", quoted(text))));
        }
        _ => Law::Constant(reader.in_range(key, text, what, range)?),
    };
    Ok(Some(law))
}

fn pareto_shape(reader: &Reader, key: &str, text: &str) -> Result<f64, Problem> {
    let shape = text.parse::<f64>().ok().filter(|shape| *shape > 1.0 && *shape <= 100.0);
    let allowed = || "of a shape in (1, 100]".to_owned();
    shape.ok_or_else(|| reader.problem(key, Wrong::OutOfRange { got: quoted(text), allowed: allowed() }))
}

/// The source as a value of the key.
pub(super) fn write(source: &Source) -> Value {
    match source {
        Source::Bulk => "bulk".into(),
        Source::Rate { rate_bps } => table(vec![("rate", quantity(&RATE, *rate_bps))]),
        Source::OnOff { on, off, rate_bps } => table(vec![
            ("on", write_law(*on, &TIME)),
            ("off", write_law(*off, &TIME)),
            ("rate", rate_bps.map_or("unlimited".into(), |rate| quantity(&RATE, rate))),
        ]),
        Source::Frames { per_second, size, key, deadline } => {
            let mut pairs = vec![("frames", format!("{per_second}/s").into()), ("size", write_law(*size, &DATA))];
            if let Some(KeyFrames { size, every }) = *key {
                pairs.extend([("key_size", quantity(&DATA, size)), ("key_every", Value::Integer(every as i64))]);
            }
            pairs.extend(deadline.map(|deadline| ("deadline", quantity(&TIME, deadline))));
            table(pairs)
        }
        Source::Requests(requests) => table(client::write_requests(requests)),
        Source::Video(video) => table(client::write_video(video)),
    }
}

pub(super) fn write_law(law: Law, what: &Dimension) -> Value {
    let text = |value| what.format(value);
    match law {
        Law::Constant(value) => text(value),
        Law::Exponential { mean } => format!("exponential {}", text(mean)),
        Law::Uniform { low, high } => format!("uniform {} {}", text(low), text(high)),
        Law::Pareto { mean, shape } => format!("pareto {} {shape}", text(mean)),
        Law::Lognormal { mean, deviation } => format!("lognormal {} {}", text(mean), text(deviation)),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn read_text(source: &str) -> Result<Source, String> {
        let text = format!(
            "duration = \"5 s\"\nlinks = [{{ name = \"l\", rate = \"10 Mbit/s\", delay = \"10 ms\", buffer = \"20 packets\" }}]\n\
             flows = [{{ algorithm = \"reno\", source = {source} }}]\n"
        );
        let scenario = Scenario::from_toml(&text).map_err(|problem| problem.to_string())?;
        let again = Scenario::from_toml(&scenario.to_toml()).expect("resolved text");
        assert_eq!(again, scenario);
        Ok(scenario.flows[0].source.clone())
    }

    #[test]
    fn every_form_is_read_and_written() {
        const S: u64 = 1_000_000_000;
        let on_off = |on, off, rate_bps| Ok(Source::OnOff { on, off, rate_bps });
        assert_eq!(read_text("\"bulk\""), Ok(Source::Bulk));
        assert_eq!(read_text("{ rate = \"2 Mbit/s\" }"), Ok(Source::Rate { rate_bps: 2_000_000 }));
        assert_eq!(
            read_text("{ on = \"exponential 1s\", off = \"2 s\", rate = \"unlimited\" }"),
            on_off(Law::Exponential { mean: S }, Law::Constant(2 * S), None)
        );
        assert_eq!(
            read_text("{ on = \"uniform 1 s 3 s\", off = \"pareto 2 s 1.5\", rate = \"1 Mbit/s\" }"),
            on_off(Law::Uniform { low: S, high: 3 * S }, Law::Pareto { mean: 2 * S, shape: 1.5 }, Some(1_000_000))
        );
        assert_eq!(
            read_text("{ on = \"lognormal 1 s 2 s\", off = \"1 us\", rate = \"1 bit/s\" }"),
            on_off(Law::Lognormal { mean: S, deviation: 2 * S }, Law::Constant(1000), Some(1))
        );
    }

    #[test]
    fn sources_conflict_with_a_size() {
        let problem = read_text("{ rate = \"1 Mbit/s\" }, size = \"9 kB\"").expect_err("two amounts of data");
        assert!(problem.starts_with("flows[0].size: "), "{problem}");
        let over_quic = read_text("{ rate = \"1 Mbit/s\" }, transport = \"quic\"");
        assert_eq!(over_quic, Ok(Source::Rate { rate_bps: 1_000_000 }));
    }

    #[test]
    fn requests_have_a_size_and_a_server() {
        let requests = read_text("{ requests = \"exponential 1 s\", size = \"pareto 30 kB 1.2\" }");
        let expected = Requests {
            think: Law::Exponential { mean: 1_000_000_000 },
            size: Law::Pareto { mean: 30_000, shape: 1.2 },
            server: Law::Constant(0),
            request_size: 328,
        };
        assert_eq!(requests, Ok(Source::Requests(expected)));
        let full = "{ requests = \"0 s\", size = \"9 kB\", server = \"50 ms\", request_size = \"100 B\" }";
        let (think, size, server) = (Law::Constant(0), Law::Constant(9000), Law::Constant(50_000_000));
        assert_eq!(read_text(full), Ok(Source::Requests(Requests { think, size, server, request_size: 100 })));
    }

    #[test]
    fn a_video_has_a_ladder_and_a_player() {
        let ladder = vec![400_000, 1_000_000];
        let (segment, buffer) = (2_000_000_000, 20_000_000_000);
        let player = client::PlayerRule::Buffer;
        let video = Video { ladder, segment, buffer, player, startup: 1, safety: 1.0, length: None };
        assert_eq!(read_text("{ video = [\"400 kbit/s\", \"1 Mbit/s\"] }"), Ok(Source::Video(video.clone())));
        let keys =
            "segment = \"4 s\", buffer = \"30 s\", player = \"rate\", startup = 2, safety = 0.9, length = \"60 s\"";
        let full = Video {
            segment: 4_000_000_000,
            buffer: 30_000_000_000,
            player: client::PlayerRule::Rate,
            startup: 2,
            safety: 0.9,
            length: Some(60_000_000_000),
            ..video
        };
        assert_eq!(
            read_text(&format!("{{ video = [\"400 kbit/s\", \"1 Mbit/s\"], {keys} }}")),
            Ok(Source::Video(full))
        );
    }

    #[test]
    fn frames_have_key_frames_and_a_deadline() {
        let frames = |size, key, deadline| Ok(Source::Frames { per_second: 30.0, size, key, deadline });
        assert_eq!(read_text("{ frames = \"30/s\", size = \"20 kB\" }"), frames(Law::Constant(20_000), None, None));
        let text = "{ frames = \"30 /s\", size = \"uniform 1 kB 3 kB\", key_size = \"9 kB\", key_every = 150, deadline = \"150 ms\" }";
        let key = Some(KeyFrames { size: 9000, every: 150 });
        assert_eq!(read_text(text), frames(Law::Uniform { low: 1000, high: 3000 }, key, Some(150_000_000)));
    }

    #[test]
    fn faults_name_the_key() {
        for (source, key) in [
            ("\"bulky\"", "source"),
            ("3", "source"),
            ("{ }", "source"),
            ("{ rate = \"0 bit/s\" }", "source.rate"),
            ("{ rate = \"1 Mbit/s\", off = \"1 s\" }", "source.off"),
            ("{ on = \"1 s\", rate = \"1 Mbit/s\" }", "source.off"),
            ("{ on = \"1 s\", off = \"1 s\" }", "source.rate"),
            ("{ on = \"0 s\", off = \"1 s\", rate = \"1 Mbit/s\" }", "source.on"),
            ("{ on = \"uniform 3 s 1 s\", off = \"1 s\", rate = \"1 Mbit/s\" }", "source.on"),
            ("{ on = \"uniform 3 s\", off = \"1 s\", rate = \"1 Mbit/s\" }", "source.on"),
            ("{ on = \"pareto 1 s 1\", off = \"1 s\", rate = \"1 Mbit/s\" }", "source.on"),
            ("{ frames = \"30\", size = \"1 kB\" }", "source.frames"),
            ("{ frames = 30, size = \"1 kB\" }", "source.frames"),
            ("{ frames = \"0/s\", size = \"1 kB\" }", "source.frames"),
            ("{ frames = \"30/s\" }", "source.size"),
            ("{ frames = \"30/s\", size = \"1 kB\", key_every = 9 }", "source.key_size"),
            ("{ frames = \"30/s\", size = \"1 kB\", deadline = \"0 s\" }", "source.deadline"),
            ("{ requests = \"1 s\" }", "source.size"),
            ("{ requests = 1, size = \"1 kB\" }", "source.requests"),
            ("{ requests = \"1 s\", size = \"1 kB\", request_size = \"0 B\" }", "source.request_size"),
            ("{ video = [] }", "source.video"),
            ("{ video = \"1 Mbit/s\" }", "source.video"),
            ("{ video = [\"1 Mbit/s\", \"1 Mbit/s\"] }", "source.video"),
            ("{ video = [\"1 Mbit/s\"], buffer = \"3 s\" }", "source.buffer"),
            ("{ video = [\"1 Mbit/s\"], startup = 11 }", "source.startup"),
            ("{ video = [\"1 Mbit/s\"], safety = 2 }", "source.safety"),
            ("{ rate = \"1 Mbit/s\", deadline = \"1 s\" }", "source.deadline"),
            ("{ on = \"exponential\", off = \"1 s\", rate = \"1 Mbit/s\" }", "source.on"),
        ] {
            let problem = read_text(source).expect_err(source);
            assert!(problem.starts_with(&format!("flows[0].{key}: ")), "{source}: {problem}");
        }
    }
}
