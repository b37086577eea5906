//! `[[flows]]`, `[[udp]]`, `[[web]]`: traffic over the links.

use super::host::Host;
use super::keys::{self, FLOW, FRAMES, IP, TCP, TRAFFIC, UDP, WEB};
use super::problem::{Problem, quoted};
use super::reader::Reader;
use super::units::{DATA, PACKETS, RATE, TIME, split};
use super::{
    Arrivals, Ecn, EcnMode, FlowGroup, Frames, Growth, IdleRule, KeyFrames, Link, Pacing, Recovery, RtoRule, SlowStart,
    Spread, Table, Tcp, Transport, Udp, Value, Web, algorithm, groups, ip, limits, network, quic, resume, source,
};
use crate::catalogue::Catalogue;
use fullpipe_cc::Nanos;

/// Parts of the scenario that traffic depends on.
pub struct Context<'a> {
    /// Length of the run.
    pub duration: Nanos,
    /// Bytes of a data packet.
    pub packet_size: u32,
    /// Links, which paths name.
    pub links: &'a [Link],
    /// Algorithms by name.
    pub catalogue: &'a Catalogue,
}

/// An entry of `[[flows]]`: a group for each path that its members take.
pub fn flows((table, place): &(&Table, String), context: &Context) -> Result<Vec<FlowGroup>, Problem> {
    let reader = Reader::new(table, place.clone(), keys::names(&[FLOW, TCP, TRAFFIC, IP]))?;
    let name = reader.name("\"ours\"")?.map(str::to_owned);
    let growth = reader.one_of("growth", "rule", &Growth::NAMES)?.unwrap_or(Growth::Rfc);
    let tcp = Tcp { name, growth, ip: ip::read(&reader)?, ..tcp(&reader, context)? };
    let (start, stop) = times(&reader, context)?;
    let (size, source) = (size(&reader, context.packet_size)?, source::read(&reader)?);
    if size.is_some() && !source.is_bulk() {
        return Err(reader.problem("size", "size conflicts with source; write one of the two"));
    }
    let group = FlowGroup { tcp, count: count(&reader)?, start, stop, size, source };
    let paths = groups::paths(&reader, &group.tcp.path, context.links, group.count)?;
    let over = |(path, count)| FlowGroup { tcp: Tcp { path, ..group.tcp.clone() }, count, ..group.clone() };
    Ok(paths.into_iter().map(over).collect())
}

/// An entry of `[[udp]]`: sources for each path that its members take, with separate names.
pub fn udp((table, place): &(&Table, String), context: &Context) -> Result<Vec<Udp>, Problem> {
    let reader = Reader::new(table, place.clone(), keys::names(&[UDP, TRAFFIC, IP]))?;
    let rate = reader.quantity("rate", &RATE, limits::RATE)?;
    let rate_bps = rate.ok_or_else(|| reader.missing("rate", "\"1 Mbit/s\""))?;
    let packet_size = packet_size(&reader, "packet_size", limits::SMALL_PACKET)?.unwrap_or(context.packet_size);
    let (start, stop) = times(&reader, context)?;
    let sources = Udp {
        name: reader.name("\"call\"")?.map(str::to_owned),
        rate_bps,
        packet_size,
        frames: frames(&reader, rate_bps, packet_size)?,
        start,
        stop,
        access_delay: reader.spread("access_delay", limits::DELAY)?.unwrap_or(Spread::fixed(0)),
        path: network::path(&reader, context.links)?,
        reverse: reader.flag("reverse", false)?,
        count: count(&reader)?,
        ip: ip::read(&reader)?,
    };
    let paths = groups::paths(&reader, &sources.path, context.links, sources.count)?;
    let several = paths.len() > 1;
    let over = |(number, (path, count)): (u64, (Vec<usize>, u32))| {
        let name = sources.name.clone().map(|name| if several { groups::member(&name, number) } else { name });
        Udp { name, path, count, ..sources.clone() }
    };
    Ok((1..).zip(paths).map(over).collect())
}

/// Frames of a source.
fn frames(reader: &Reader, rate_bps: u64, packet_size: u32) -> Result<Option<Frames>, Problem> {
    const EXAMPLE: &str = "{ per_second = 30, size = \"4 kB\" }";
    let table = match reader.value("frames") {
        None => return Ok(None),
        Some(Value::Table(table)) => table,
        Some(value) => return Err(reader.wrong_type("frames", "a table", EXAMPLE, value)),
    };
    let inner = Reader::new(table, reader.at("frames"), keys::names(&[FRAMES]))?;
    let often = |x: f64| limits::FRAMES_PER_SECOND.contains(&x);
    let per_second = inner.number("per_second", often, "[0.000001, 1000000]")?;
    let size = |key| inner.quantity(key, &DATA, limits::BYTES);
    let key = match (size("key_size")?, inner.whole("key_every", limits::KEY_EVERY)?) {
        (Some(size), Some(every)) => Some(KeyFrames { size, every }),
        (None, None) => None,
        (Some(_), None) => return Err(inner.missing("key_every", "150")),
        (None, Some(_)) => return Err(inner.missing("key_size", "\"40 kB\"")),
    };
    let frames = Frames {
        per_second: per_second.ok_or_else(|| inner.missing("per_second", "30"))?,
        size: size("size")?.ok_or_else(|| inner.missing("size", "\"4 kB\""))?,
        key,
    };
    let needs = frames.mean_rate_bps(packet_size);
    if needs > rate_bps as f64 {
        let (needs, rate) = (RATE.format(needs.ceil() as u64), RATE.format(rate_bps));
        let what = format!("must take at most rate, {rate}, got {needs} in whole packets of {packet_size} bytes");
        return Err(reader.problem("frames", what));
    }
    Ok(Some(frames))
}

/// An entry of `[[web]]`: users for each path that they take.
pub fn web((table, place): &(&Table, String), context: &Context) -> Result<Vec<Web>, Problem> {
    let reader = Reader::new(table, place.clone(), keys::names(&[WEB, TCP, TRAFFIC]))?;
    let tcp = tcp(&reader, context)?;
    let (start, stop) = times(&reader, context)?;
    let mean_size = reader.quantity("mean_size", &DATA, limits::BYTES)?;
    let shape = reader.number("shape", |a| a > 1.0 && a <= 100.0, "(1, 100]")?;
    let users = Web {
        tcp,
        arrivals: arrivals(&reader)?,
        mean_size: mean_size.ok_or_else(|| reader.missing("mean_size", "\"12 kB\""))? as f64,
        shape: shape.unwrap_or(1.2),
        start,
        stop,
    };
    let Arrivals::Sessions { sessions, mean_gap } = users.arrivals else {
        return match groups::paths(&reader, &users.tcp.path, context.links, 2)?.len() {
            1 => Ok(vec![users]),
            _ => Err(reader.problem("path", "several links, as in \"home/*\", require sessions")),
        };
    };
    let over = |(path, sessions)| Web {
        tcp: Tcp { path, ..users.tcp.clone() },
        arrivals: Arrivals::Sessions { sessions, mean_gap },
        ..users.clone()
    };
    Ok(groups::paths(&reader, &users.tcp.path, context.links, sessions)?.into_iter().map(over).collect())
}

/// A packet's size in bytes: a whole number, or text with a unit.
pub fn packet_size(reader: &Reader, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u32>, Problem> {
    let size = match reader.value(key) {
        Some(Value::String(_)) => reader.quantity(key, &DATA, range)?,
        _ => reader.whole(key, range)?,
    };
    Ok(size.map(|bytes| bytes as u32))
}

fn tcp(reader: &Reader, context: &Context) -> Result<Tcp, Problem> {
    let (algorithm, info) = algorithm::read(reader, context.catalogue)?;
    let host = reader.one_of("host", "host", &Host::NAMES)?.unwrap_or(Host::Classic);
    let transport = reader.one_of("transport", "transport", &Transport::NAMES)?.unwrap_or(host.transport());
    let quic = quic::read(reader, transport)?;
    let recovery = reader.one_of("recovery", "recovery", &Recovery::NAMES)?.unwrap_or(host.recovery(info));
    let recovery = if quic.is_some() { Recovery::Sack } else { recovery };
    let default = Tcp::of(algorithm, recovery, network::path(reader, context.links)?);
    let default = match quic {
        Some(quic) => quic::preset(default, quic, context.packet_size),
        None => host.preset(default),
    };
    let time = |key, range, default| Ok::<Nanos, Problem>(reader.quantity(key, &TIME, range)?.unwrap_or(default));
    let (ack_every, delayed_ack, delayed_ack_timeout) = acks(reader, &default)?;
    let initial_window = segments(reader, "initial_window", limits::INITIAL_WINDOW)?;
    let timestamp_tick = time("timestamp_tick", limits::TICK, default.timestamp_tick)?;
    let ecn = reader.one_of("ecn", "kind of ECN", &EcnMode::NAMES)?.unwrap_or(default.ecn);
    // ECT(1) is for those that count marks.
    let ect = if ecn.counts() { default.ect } else { Ecn::Ect0 };
    let resume = resume::read(reader)?;
    let slow_start = if resume.is_some() { SlowStart::Standard } else { host.slow_start(info) };
    let tcp = Tcp {
        slow_start: reader.one_of("slow_start", "slow start", &SlowStart::NAMES)?.unwrap_or(slow_start),
        resume,
        pacing: reader.one_of("pacing", "pacing", &Pacing::NAMES)?.unwrap_or(default.pacing),
        ecn,
        ect: reader.whole("ect", limits::ECT)?.map_or(ect, |ect| if ect == 1 { Ecn::Ect1 } else { Ecn::Ect0 }),
        prr: prr(reader, recovery)?,
        undo: reader.flag("undo", default.undo)?,
        handshake: handshake(reader, &default)?,
        delayed_ack,
        delayed_ack_timeout,
        ack_every,
        byte_counting: reader.flag("byte_counting", default.byte_counting)?,
        initial_window: initial_window.map_or(default.initial_window, |w| w as u32),
        max_window: limit(reader, "max_window", |reader, key| window(reader, key, context.packet_size))?,
        min_rto: time("min_rto", limits::MIN_RTO, default.min_rto)?,
        rto: reader.one_of("rto", "rule", &RtoRule::NAMES)?.unwrap_or(default.rto),
        idle: reader.one_of("idle", "rule", &IdleRule::NAMES)?.unwrap_or(if quic.is_some() {
            IdleRule::None
        } else {
            default.idle
        }),
        sack_compression: reader.flag("sack_compression", default.sack_compression)?,
        timestamp_tick,
        rtt_tick: time("rtt_tick", limits::TICK, host.rtt_tick().filter(|_| quic.is_none()).unwrap_or(timestamp_tick))?,
        access_delay: reader.spread("access_delay", limits::DELAY)?.unwrap_or(default.access_delay),
        access_rate_bps: limit(reader, "access_rate", |reader, key| reader.quantity(key, &RATE, limits::RATE))?,
        processing_time: time("processing_time", limits::PROCESSING, default.processing_time)?,
        reverse: reader.flag("reverse", default.reverse)?,
        ..default
    };
    resume::paced(reader, tcp)
}

/// ACKs of a receiver of TCP: segments for each, whether they are delayed ACKs, and the longest delay.
fn acks(reader: &Reader, default: &Tcp) -> Result<(Option<u16>, bool, Nanos), Problem> {
    let timeout = reader.quantity("delayed_ack_timeout", &TIME, limits::ACK_DELAY)?;
    let timeout = timeout.unwrap_or(default.delayed_ack_timeout);
    let is_tcp = default.quic.is_none();
    let every = if is_tcp { reader.whole("ack_every", limits::TCP_ACK_EVERY)? } else { None };
    let Some(every) = every else {
        if is_tcp && reader.value("ack_delay").is_some() {
            return Err(reader.problem("ack_delay", "requires ack_every"));
        }
        return Ok((None, reader.flag("delayed_ack", default.delayed_ack)?, timeout));
    };
    if reader.flag("delayed_ack", false)? {
        return Err(reader.problem("ack_every", "conflicts with delayed_ack, which is 2; write one of the two"));
    }
    let delay = reader.quantity("ack_delay", &TIME, limits::TCP_ACK_DELAY)?.unwrap_or(timeout);
    Ok((Some(every as u16), false, delay))
}

/// Whether proportional rate reduction is asked for.
fn prr(reader: &Reader, recovery: Recovery) -> Result<bool, Problem> {
    let known = recovery.prr();
    let prr = reader.flag("prr", known.unwrap_or(false))?;
    if prr && known.is_none() {
        let what = format!("requires recovery = \"sack\" or \"rack\", got {}", quoted(recovery.name()));
        return Err(reader.problem("prr", what));
    }
    Ok(prr)
}

/// Whether connections begin with a handshake; the stops of data and handshake are numbered together.
fn handshake(reader: &Reader, default: &Tcp) -> Result<bool, Problem> {
    let handshake = reader.flag("handshake", default.handshake)?;
    let (links, most) = (default.path.len(), limits::LONGEST_PATH / 2);
    if handshake && links > most {
        let what = format!("requires a path of at most {most} links, got {links}");
        return Err(reader.problem("handshake", what));
    }
    Ok(handshake)
}

/// What `read` makes of `key`; `None` for "unlimited" or if the key is absent.
fn limit(
    reader: &Reader,
    key: &str,
    read: impl Fn(&Reader, &str) -> Result<Option<u64>, Problem>,
) -> Result<Option<u64>, Problem> {
    match reader.value(key) {
        Some(Value::String(text)) if text == "unlimited" => Ok(None),
        _ => read(reader, key),
    }
}

/// A window: a whole number, or text such as `64 segments`.
pub fn segments(reader: &Reader, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Problem> {
    match reader.value(key) {
        Some(Value::String(_)) => reader.quantity(key, &PACKETS, range),
        _ => reader.whole(key, range),
    }
}

/// A window in segments: a number, packets, or data, of which whole packets count.
fn window(reader: &Reader, key: &str, packet_size: u32) -> Result<Option<u64>, Problem> {
    let Some(Value::String(text)) = reader.value(key) else { return segments(reader, key, limits::PACKETS) };
    let in_data = split(text, "64 kB").is_ok_and(|(_, unit)| DATA.scale(unit).is_some());
    if !in_data {
        return segments(reader, key, limits::PACKETS);
    }
    let bytes = reader.in_range(key, text, &DATA, limits::BYTES)?;
    match bytes / u64::from(packet_size) {
        0 => Err(reader.problem(key, format!("{} is less than one packet of {packet_size} bytes", quoted(text)))),
        packets => Ok(Some(packets)),
    }
}

fn count(reader: &Reader) -> Result<u32, Problem> {
    Ok(reader.whole("count", limits::COUNT)?.unwrap_or(1) as u32)
}

fn times(reader: &Reader, context: &Context) -> Result<(Spread, Option<Nanos>), Problem> {
    let start = reader.spread("start", limits::MOMENT)?.unwrap_or(Spread::fixed(0));
    if start.low >= context.duration {
        let what =
            format!("{} is not before the end of the run, {}", TIME.format(start.low), TIME.format(context.duration));
        return Err(reader.problem("start", what));
    }
    let stop = reader.quantity("stop", &TIME, limits::MOMENT)?;
    match stop {
        Some(stop) if stop <= start.high => {
            let what = format!("{} is not after start, {}", TIME.format(stop), TIME.format(start.high));
            Err(reader.problem("stop", what))
        }
        _ => Ok((start, stop)),
    }
}

/// A transfer's size in segments; bytes count on the wire and are rounded up to whole packets.
fn size(reader: &Reader, packet_size: u32) -> Result<Option<u64>, Problem> {
    let example = "1 MB";
    let Some(text) = reader.quantity_text("size", example)? else { return Ok(None) };
    let (_, unit) = split(text, example).map_err(|what| reader.problem("size", what))?;
    if PACKETS.scale(unit).is_some() {
        return reader.in_range("size", text, &PACKETS, limits::PACKETS).map(Some);
    }
    if DATA.scale(unit).is_none() {
        let units = [&["segments", "packets"], DATA.names().as_slice()].concat();
        return Err(reader.problem("size", super::problem::unknown("unit", unit, &units)));
    }
    let bytes = reader.in_range("size", text, &DATA, limits::BYTES)?;
    Ok(Some(bytes.div_ceil(u64::from(packet_size))))
}

fn arrivals(reader: &Reader) -> Result<Arrivals, Problem> {
    let sessions = reader.whole("sessions", limits::COUNT)?;
    let mean_gap = reader.quantity("mean_gap", &TIME, limits::SPAN)?;
    let rate = |x: f64| limits::TRANSFERS_PER_SECOND.contains(&x);
    let per_second = reader.number("transfers_per_second", rate, "[0.000001, 1000000]")?;
    match (sessions, mean_gap, per_second) {
        (Some(sessions), Some(mean_gap), None) => Ok(Arrivals::Sessions { sessions: sessions as u32, mean_gap }),
        (None, None, Some(per_second)) => Ok(Arrivals::Poisson { per_second }),
        (Some(_), None, None) => Err(reader.missing("mean_gap", "\"1 s\"")),
        (None, Some(_), None) => Err(reader.missing("sessions", "20")),
        (None, None, None) => {
            Err(reader.problem("sessions", "missing; write sessions and mean_gap, or transfers_per_second"))
        }
        _ => {
            let what = format!("{} conflicts with sessions and mean_gap", quoted("transfers_per_second"));
            Err(reader.problem("transfers_per_second", what))
        }
    }
}
