//! `[[links]]`: links, their buffers, and the paths across them.

use super::keys::{self, DIRECTION, LINK, VARYING};
use super::problem::{Problem, listed, quoted, unknown};
use super::reader::{Reader, kind};
use super::units::{DATA, PACKETS, RATE, TIME, split};
use super::{
    Buffer, Link, Loss, Policer, Queue, Samples, Spread, Table, Tcp, Trace, Value, change, groups, limits, preset,
    queue, samples, trace,
};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;
use std::borrow::Cow;
use std::collections::HashMap;

const BUFFERS: &str = "\"250 packets\", \"0.25 BDP\", \"250 kB\", \"50 ms\" or \"unlimited\"";

/// The links, their buffers still unlimited: a buffer in BDP needs the flows, and the flows need the links' names. Each has the index of
/// its table.
pub fn links(tables: &[(Cow<Table>, String)], packet_size: u32) -> Result<(Vec<Link>, Vec<usize>), Problem> {
    let (mut links, mut written) = (Vec::new(), Vec::new());
    let mut names: HashMap<String, usize> = HashMap::new();
    for (index, (table, place)) in tables.iter().enumerate() {
        let reader = reader(table, place)?;
        let link = link(&reader, packet_size)?;
        let count = reader.whole("count", 1..=limits::MOST_LINKS as u64)?;
        let all = links.len() as u64 + count.unwrap_or(1);
        if all > limits::MOST_LINKS as u64 {
            let all = all.max(tables.len() as u64);
            return Err(Problem::new("links", format!("must be at most {}, got {all}", limits::MOST_LINKS)));
        }
        for number in 1..=count.unwrap_or(1) {
            let name = count.map_or_else(|| link.name.clone(), |_| groups::member(&link.name, number));
            if let Some(first) = names.insert(name.clone(), index) {
                return Err(reader.problem("name", format!("{} is already the name of links[{first}]", quoted(&name))));
            }
            let back = link.reverse.as_ref().map(|back| Box::new(Link { name: name.clone(), ..(**back).clone() }));
            links.push(Link { name, reverse: back, ..link.clone() });
            written.push(index);
        }
    }
    if links.is_empty() {
        return Err(Problem::new("links", "missing; add at least one [[links]] table"));
    }
    Ok((links, written))
}

/// Tables of links with the keys of their presets.
pub fn expanded<'a>(
    tables: Vec<(&'a Table, String)>,
    seed: u64,
    duration: Nanos,
) -> Result<Vec<(Cow<'a, Table>, String)>, Problem> {
    let expand = |(table, place): (&'a Table, String)| {
        let all = preset::expand(&reader(table, &place)?, table, seed, duration)?;
        Ok((all.map_or(Cow::Borrowed(table), Cow::Owned), place))
    };
    tables.into_iter().map(expand).collect()
}

/// The links a flow crosses, as indices; all of one link where there is only one. Of a group of links, as in `home/*`, the first one.
pub fn path(reader: &Reader, links: &[Link]) -> Result<Vec<usize>, Problem> {
    let names = || links.iter().map(|link| link.name.as_str()).collect::<Vec<&str>>();
    let problem = |what: String| Err(reader.problem("path", what));
    let Some(value) = reader.value("path") else {
        return match links.len() {
            1 => Ok(vec![0]),
            _ => problem(format!("missing; with more than one link a path is needed (links: {})", listed(&names()))),
        };
    };
    let example = format!("[{}]", quoted(&links[0].name));
    let Some(list) = value.as_array() else {
        return Err(reader.wrong_type("path", "a list of links", &example, value));
    };
    if list.len() > limits::LONGEST_PATH {
        return problem(format!("must have at most {} links, got {}", limits::LONGEST_PATH, list.len()));
    }
    let mut path = Vec::new();
    for value in list {
        let Some(name) = value.as_str() else { return problem(format!("{} is not a link's name", kind(value))) };
        let index = |name: &str| links.iter().position(|link| link.name == name);
        let first = || groups::group(name).and_then(|group| index(&groups::member(group, 1)));
        let Some(index) = index(name).or_else(first) else {
            return match groups::group(name) {
                Some(group) => problem(format!("{} requires count in a link {}", quoted(name), quoted(group))),
                None => Err(reader.problem("path", unknown("link", name, &names()))),
            };
        };
        if path.contains(&index) {
            return problem(format!("must cross each link once, got {} twice", quoted(name)));
        }
        path.push(index);
    }
    match path.is_empty() {
        true => problem(format!("empty; name at least one link (links: {})", listed(&names()))),
        false => Ok(path),
    }
}

/// How much link `index` holds in each direction; `flows` are those whose BDP counts, in order.
pub fn set_buffers<'a>(
    (table, place): &(Cow<Table>, String),
    links: &mut [Link],
    index: usize,
    packet_size: u32,
    mut flows: impl Iterator<Item = &'a Tcp>,
) -> Result<(), Problem> {
    let first = flows.find(|tcp| tcp.path.contains(&index));
    let base_rtt = first.map(|tcp| base_rtt(tcp, links));
    let link = &mut links[index];
    let reader = reader(table, place)?;
    let buffer = |reader: &Reader, link: &Link| buffer(reader, link.rate_bps, base_rtt, packet_size);
    check_policer(link.policer, &reader, packet_size)?;
    link.buffer = buffer(&reader, link)?.ok_or_else(|| reader.missing("buffer", "\"250 packets\""))?;
    if let Some(back) = &mut link.reverse {
        let reader = reverse(&reader)?.ok_or_else(|| reader.missing("reverse", "{}"))?;
        check_policer(back.policer, &reader, packet_size)?;
        back.buffer = buffer(&reader, back)?.unwrap_or(link.buffer);
    }
    Ok(())
}

fn check_policer(policer: Option<Policer>, reader: &Reader, packet_size: u32) -> Result<(), Problem> {
    match policer {
        Some(Policer { burst, .. }) if burst < u64::from(packet_size) => {
            let what = format!("{burst} bytes is less than one packet of {packet_size} bytes");
            Err(Problem::new(reader.at("policer") + ".burst", what))
        }
        _ => Ok(()),
    }
}

/// Buffer of a direction with this rate, if the scenario has one. `base_rtt` is that of the flow whose BDP counts.
fn buffer(
    reader: &Reader,
    rate_bps: u64,
    base_rtt: Option<Nanos>,
    packet_size: u32,
) -> Result<Option<Buffer>, Problem> {
    let example = "\"250 packets\"";
    let Some(text) = reader.quantity_text("buffer", "250 packets")? else { return Ok(None) };
    if text == "unlimited" {
        return Ok(Some(Buffer::Unlimited));
    }
    let problem = |what: String| reader.problem("buffer", what);
    let (number, unit) = split(text, "250 packets").map_err(problem)?;
    if PACKETS.scale(unit).is_some() {
        return reader.in_range("buffer", text, &PACKETS, limits::PACKETS).map(|n| Some(Buffer::Packets(n)));
    }
    if DATA.scale(unit).is_some() {
        let bytes = reader.in_range("buffer", text, &DATA, limits::BYTES)?;
        return match bytes < u64::from(packet_size) {
            true => Err(problem(format!("{} is less than one packet of {packet_size} bytes", quoted(text)))),
            false => Ok(Some(Buffer::Bytes(bytes))),
        };
    }
    if TIME.scale(unit).is_some() {
        return reader.in_range("buffer", text, &TIME, limits::BUFFER_TIME).map(|t| Some(Buffer::Time(t)));
    }
    if unit != "BDP" {
        let units = [&["packets", "BDP"], DATA.names().as_slice(), TIME.names().as_slice()].concat();
        return Err(problem(format!("{}; write e.g. {BUFFERS}", unknown("unit", unit, &units))));
    }
    let Some(base_rtt) = base_rtt else {
        return Err(problem(format!("{} needs a TCP flow that crosses the link; write e.g. {example}", quoted(text))));
    };
    let buffer = in_bdp(number, rate_bps, base_rtt, packet_size);
    buffer.map(Some).map_err(|what| problem(format!("{} {what}", quoted(text))))
}

/// Key of a direction's buffer.
pub fn buffer_key(links: &[Link], index: usize, reverse: bool) -> String {
    let part = if reverse && links[index].reverse.is_some() { ".reverse" } else { "" };
    format!("links[{}]{part}.buffer", groups::written_link(links, index))
}

/// `number` bandwidth-delay products, rounded to packets, at least one.
fn in_bdp(number: f64, rate_bps: u64, base_rtt: Nanos, packet_size: u32) -> Result<Buffer, String> {
    if number <= 0.0 {
        return Err("must be more than 0 BDP".to_owned());
    }
    if base_rtt == 0 {
        return Err("of a path without delay is nothing; write e.g. \"250 packets\"".to_owned());
    }
    let bits = rate_bps as f64 * seconds(base_rtt);
    let packets = (number * bits / (8.0 * f64::from(packet_size))).round().max(1.0);
    let most = *limits::PACKETS.end();
    match packets <= most as f64 {
        true => Ok(Buffer::Packets(packets as u64)),
        false => Err(format!("must be at most {most} packets, got {packets}")),
    }
}

/// The sum of the delays there and back, access included (the middle of a spread).
pub(super) fn base_rtt(tcp: &Tcp, links: &[Link]) -> Nanos {
    let Spread { low, high } = tcp.access_delay;
    tcp.path.iter().map(|&i| links[i].round_trip()).sum::<Nanos>() + low + high
}

/// Reads a table of `[[links]]`.
fn reader<'a>(table: &'a Table, place: &str) -> Result<Reader<'a>, Problem> {
    Reader::new(table, place.to_owned(), keys::names(&[LINK, DIRECTION, VARYING]))
}

/// Reader of a link's reverse direction.
fn reverse<'a>(reader: &Reader<'a>) -> Result<Option<Reader<'a>>, Problem> {
    match reader.value("reverse") {
        None => Ok(None),
        Some(Value::Table(table)) => {
            Reader::new(table, reader.at("reverse"), keys::names(&[DIRECTION, VARYING])).map(Some)
        }
        Some(value) => Err(reader.wrong_type("reverse", "a table", "{ rate = \"1 Mbit/s\" }", value)),
    }
}

fn link(reader: &Reader, packet_size: u32) -> Result<Link, Problem> {
    let name = reader.name("\"bottleneck\"")?.ok_or_else(|| reader.missing("name", "\"bottleneck\""))?;
    let forward = Link { name: name.to_owned(), ..direction(reader, None, packet_size)? };
    let back = reverse(reader)?.map(|reader| direction(&reader, Some(&forward), packet_size)).transpose()?;
    Ok(Link { reverse: back.map(Box::new), ..forward })
}

/// One direction. Missing keys are those of `other`, if there is one. The buffer stays unlimited.
fn direction(reader: &Reader, other: Option<&Link>, packet_size: u32) -> Result<Link, Problem> {
    let (rate_bps, trace) = rate(reader, other)?;
    let (delay, delay_trace) = delay(reader, other)?;
    let (loss, loss_trace) = loss(reader, other)?;
    if delay_trace.is_none() && loss_trace.is_none() && reader.flag("trace_repeat", false)? {
        return Err(reader.problem("trace_repeat", "requires delay_trace or loss_trace"));
    }
    let drop = change::drop(reader)?.or(other.map(|link| link.drop.clone()));
    let queue = queue::read(reader, packet_size)?.or(other.map(|link| link.queue.clone()));
    let link = Link {
        name: other.map_or_else(String::new, |link| link.name.clone()),
        rate_bps,
        trace,
        delay: delay.ok_or_else(|| reader.missing("delay", "\"39 ms\""))?,
        delay_trace,
        loss_trace,
        queue: queue.unwrap_or_else(Queue::drop_tail),
        loss: loss.unwrap_or(Loss::NONE),
        drop: drop.unwrap_or_default(),
        ..Link::default()
    };
    change::read(reader, link, other)
}

/// Propagation delay, and its trace: the delay is the least one of the trace unless it is given.
fn delay(reader: &Reader, other: Option<&Link>) -> Result<(Option<Nanos>, Option<Samples>), Problem> {
    let delay = reader.quantity("delay", &TIME, limits::DELAY)?;
    let trace = samples::read(reader, &samples::DELAYS)?;
    let least = trace.as_ref().map(|trace| trace.least() as Nanos);
    let inherited = other.filter(|_| delay.is_none() && trace.is_none());
    Ok((
        delay.or(least).or(inherited.map(|link| link.delay)),
        trace.or_else(|| inherited.and_then(|link| link.delay_trace.clone())),
    ))
}

/// Losses, or their trace.
fn loss(reader: &Reader, other: Option<&Link>) -> Result<(Option<Loss>, Option<Samples>), Problem> {
    let loss = change::loss(reader, false)?;
    let trace = samples::read(reader, &samples::LOSSES)?;
    if trace.is_some() && loss.is_some_and(|loss| loss != Loss::NONE) {
        return Err(reader.problem("loss_trace", "conflicts with loss; write one of the two"));
    }
    let inherited = other.filter(|_| loss.is_none() && trace.is_none());
    Ok((loss.or(inherited.map(|link| link.loss)), trace.or_else(|| inherited.and_then(|link| link.loss_trace.clone()))))
}

/// How fast it is: a rate, or a trace and its mean rate.
fn rate(reader: &Reader, other: Option<&Link>) -> Result<(u64, Option<Trace>), Problem> {
    let rate = reader.quantity("rate", &RATE, limits::RATE)?;
    match (rate, trace::read(reader)?, other) {
        (Some(_), Some(_), _) => Err(reader.problem("trace", "conflicts with rate")),
        (Some(rate), None, _) => Ok((rate, None)),
        (None, Some(trace), _) => Ok((trace.rate_bps(), Some(trace))),
        (None, None, Some(other)) => Ok((other.rate_bps, other.trace.clone())),
        (None, None, None) => Err(reader.missing("rate", "\"100 Mbit/s\"")),
    }
}
