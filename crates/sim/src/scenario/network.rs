//! `[[links]]`: links, their buffers, and the paths across them.

use super::problem::{Problem, listed, quoted, unknown};
use super::reader::{Reader, kind};
use super::units::{DATA, PACKETS, RATE, TIME, split};
use super::{Buffer, Link, Spread, Table, Tcp, limits, queue};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::seconds;

const KEYS: &[&str] = &["name", "rate", "delay", "buffer", "queue", "loss"];
const BUFFERS: &str = "\"250 packets\", \"0.25 BDP\", \"250 kB\", \"50 ms\" or \"unlimited\"";

/// The links, their buffers still unlimited: a buffer in BDP needs the flows, and the flows need the links' names.
pub fn links(tables: &[(&Table, String)]) -> Result<Vec<Link>, Problem> {
    if tables.len() > limits::MOST_LINKS {
        let what = format!("{} links; allowed: at most {}", tables.len(), limits::MOST_LINKS);
        return Err(Problem::new("links", what));
    }
    let mut links: Vec<Link> = Vec::new();
    for (table, place) in tables {
        let reader = Reader::new(table, place.clone(), &[KEYS])?;
        let link = link(&reader)?;
        if let Some(first) = links.iter().position(|other| other.name == link.name) {
            return Err(reader.problem("name", format!("{} is already the name of links[{first}]", quoted(&link.name))));
        }
        links.push(link);
    }
    if links.is_empty() {
        return Err(Problem::new("links", "missing; add at least one [[links]] table"));
    }
    Ok(links)
}

/// The links a flow crosses, as indices; all of one link where there is only one.
pub fn path(reader: &Reader, links: &[Link]) -> Result<Vec<usize>, Problem> {
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let problem = |what: String| Err(reader.problem("path", what));
    let Some(value) = reader.value("path") else {
        return match links.len() {
            1 => Ok(vec![0]),
            _ => problem(format!("missing; with more than one link a path is needed (links: {})", listed(&names))),
        };
    };
    let example = format!("[{}]", quoted(names[0]));
    let Some(list) = value.as_array() else {
        return Err(reader.wrong_type("path", "a list of links", &example, value));
    };
    if list.len() > limits::LONGEST_PATH {
        return problem(format!("{} links; allowed: at most {}", list.len(), limits::LONGEST_PATH));
    }
    let mut path = Vec::new();
    for value in list {
        let Some(name) = value.as_str() else { return problem(format!("{} is not a link's name", kind(value))) };
        let Some(index) = names.iter().position(|n| *n == name) else { return problem(unknown("link", name, &names)) };
        if path.contains(&index) {
            return problem(format!("a loop: {} is crossed twice", quoted(name)));
        }
        path.push(index);
    }
    match path.is_empty() {
        true => problem(format!("empty; name at least one link (links: {})", listed(&names))),
        false => Ok(path),
    }
}

/// How much link `index` holds; `flows` are those whose BDP counts, in order.
pub fn buffer<'a>(
    (table, place): &(&Table, String),
    links: &[Link],
    index: usize,
    packet_size: u32,
    flows: impl Iterator<Item = &'a Tcp>,
) -> Result<Buffer, Problem> {
    let reader = Reader::new(table, place.clone(), &[KEYS])?;
    let example = "\"250 packets\"";
    let text = reader.quantity_text("buffer", "250 packets")?.ok_or_else(|| reader.missing("buffer", example))?;
    if text == "unlimited" {
        return Ok(Buffer::Unlimited);
    }
    let problem = |what: String| reader.problem("buffer", what);
    let (number, unit) = split(text, "250 packets").map_err(problem)?;
    if PACKETS.scale(unit).is_some() {
        return reader.in_range("buffer", text, &PACKETS, limits::PACKETS).map(Buffer::Packets);
    }
    if DATA.scale(unit).is_some() {
        let bytes = reader.in_range("buffer", text, &DATA, limits::BYTES)?;
        return match bytes < u64::from(packet_size) {
            true => Err(problem(format!("{} is less than one packet of {packet_size} bytes", quoted(text)))),
            false => Ok(Buffer::Bytes(bytes)),
        };
    }
    if TIME.scale(unit).is_some() {
        return reader.in_range("buffer", text, &TIME, limits::BUFFER_TIME).map(Buffer::Time);
    }
    if unit != "BDP" {
        let units = [&["packets", "BDP"], DATA.names().as_slice(), TIME.names().as_slice()].concat();
        return Err(problem(format!("{}; write e.g. {BUFFERS}", unknown("unit", unit, &units))));
    }
    let first = flows.into_iter().find(|tcp| tcp.path.contains(&index));
    let Some(tcp) = first else {
        return Err(problem(format!("{} needs a TCP flow that crosses the link; write e.g. {example}", quoted(text))));
    };
    in_bdp(number, links[index].rate_bps, base_rtt(tcp, links), packet_size)
        .map_err(|what| problem(format!("{} {what}", quoted(text))))
}

/// `number` bandwidth-delay products, rounded to packets, at least one.
fn in_bdp(number: f64, rate_bps: u64, base_rtt: Nanos, packet_size: u32) -> Result<Buffer, String> {
    if number <= 0.0 {
        return Err("is out of range; allowed: more than 0 BDP".to_owned());
    }
    if base_rtt == 0 {
        return Err("of a path without delay is nothing; write e.g. \"250 packets\"".to_owned());
    }
    let bits = rate_bps as f64 * seconds(base_rtt);
    let packets = (number * bits / (8.0 * f64::from(packet_size))).round().max(1.0);
    let most = *limits::PACKETS.end();
    match packets <= most as f64 {
        true => Ok(Buffer::Packets(packets as u64)),
        false => Err(format!("is {packets} packets; allowed: at most {most}")),
    }
}

/// Twice the sum of the one-way delays, access included (the middle of a spread).
fn base_rtt(tcp: &Tcp, links: &[Link]) -> Nanos {
    let Spread { low, high } = tcp.access_delay;
    let one_way: Nanos = tcp.path.iter().map(|&i| links[i].delay).sum();
    2 * one_way + low + high
}

fn link(reader: &Reader) -> Result<Link, Problem> {
    let name = reader.text("name", "\"bottleneck\"")?.ok_or_else(|| reader.missing("name", "\"bottleneck\""))?;
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(
            reader.problem("name", format!("{} is not a name; write at least one printable character", quoted(name)))
        );
    }
    let rate = reader.quantity("rate", &RATE, limits::RATE)?;
    let delay = reader.quantity("delay", &TIME, limits::DELAY)?;
    let loss = reader.number("loss", |p| (0.0..1.0).contains(&p), "probabilities from 0 to less than 1")?;
    Ok(Link {
        name: name.to_owned(),
        rate_bps: rate.ok_or_else(|| reader.missing("rate", "\"100 Mbit/s\""))?,
        delay: delay.ok_or_else(|| reader.missing("delay", "\"39 ms\""))?,
        buffer: Buffer::Unlimited,
        queue: queue::read(reader)?,
        loss: loss.unwrap_or(0.0),
    })
}
