//! From a tree of values to a checked [`Scenario`].

use super::host::Host;
use super::keys;
use super::problem::{Problem, quoted};
use super::reader::Reader;
use super::traffic::{Context, flows, packet_size, udp, web};
use super::units::TIME;
use super::{Arrivals, Buffer, Link, Scenario, Table, Udp, Value, limits, network};
use crate::catalogue::Catalogue;
use fullpipe_cc::Nanos;

impl Scenario {
    /// [`Catalogue::read_value`] with the crate's own algorithms.
    ///
    /// # Errors
    /// The first [`Problem`] found; its line is unknown.
    pub fn from_value(table: &Table) -> Result<Scenario, Problem> {
        Catalogue::builtin().read_value(table)
    }
}

impl Catalogue {
    /// Checks a tree of values, such as a parsed TOML document; the keys are those of `docs/reference/scenarios.md`.
    ///
    /// # Errors
    /// The first [`Problem`] found; its line is unknown.
    pub fn read_value(&self, table: &Table) -> Result<Scenario, Problem> {
        let reader = Reader::new(table, String::new(), keys::names(&[keys::RUN]))?;
        let duration = reader.quantity("duration", &TIME, limits::SPAN)?;
        let duration = duration.ok_or_else(|| reader.missing("duration", "\"400 s\""))?;
        let tcp = [reader.tables("flows")?, reader.tables("web")?].concat();
        let packet_size =
            packet_size(&reader, "packet_size", limits::PACKET)?.unwrap_or_else(|| Host::packet_size(&tcp));

        let seed = reader.whole("seed", limits::SEED)?.unwrap_or(limits::DEFAULT_SEED);
        let link_tables = network::expanded(reader.tables("links")?, seed, duration)?;
        let (mut links, written) = network::links(&link_tables, packet_size)?;
        let context = Context { duration, packet_size, links: &links, catalogue: self };
        let flows = read_all(&reader, "flows", &context, flows)?;
        let udp = read_all(&reader, "udp", &context, udp)?;
        let web = read_all(&reader, "web", &context, web)?;
        for (i, &table) in written.iter().enumerate() {
            let tcp = flows.iter().map(|group| &group.tcp).chain(web.iter().map(|web| &web.tcp));
            network::set_buffers(&link_tables[table], &mut links, i, packet_size, tcp)?;
        }

        let mut scenario = Scenario {
            duration,
            warmup: warmup(&reader, duration)?,
            seed,
            packet_size,
            ack_size: ack_size(&reader)?,
            series_interval: None,
            measure_jitter: reader.flag("measure_jitter", false)?,
            links,
            flows,
            udp,
            web,
        };
        check_traffic(&scenario)?;
        scenario.series_interval = series_interval(&reader, &scenario)?;
        scenario.check()?;
        Ok(scenario)
    }
}

fn read_all<T>(
    reader: &Reader,
    key: &str,
    context: &Context,
    read: impl Fn(&(&Table, String), &Context) -> Result<Vec<T>, Problem>,
) -> Result<Vec<T>, Problem> {
    let mut all = Vec::new();
    for table in reader.tables(key)? {
        all.extend(read(&table, context)?);
    }
    Ok(all)
}

fn ack_size(reader: &Reader) -> Result<u32, Problem> {
    Ok(packet_size(reader, "ack_size", limits::SMALL_PACKET)?.unwrap_or(40))
}

fn warmup(reader: &Reader, duration: Nanos) -> Result<Nanos, Problem> {
    let warmup = reader.quantity("warmup", &TIME, limits::MOMENT)?.unwrap_or(0);
    if warmup < duration {
        return Ok(warmup);
    }
    let what = format!("must be less than duration, {}, got {}", TIME.format(duration), TIME.format(warmup));
    Err(reader.problem("warmup", what))
}

/// Checks over several parts: that there is traffic, not too much of it, and that it fits the buffers.
fn check_traffic(scenario: &Scenario) -> Result<(), Problem> {
    let total = entities(scenario);
    if total == 0 {
        return Err(Problem::new("flows", "missing; add at least one [[flows]], [[udp]] or [[web]] table"));
    }
    if total > limits::MOST_ENTITIES {
        let most = limits::MOST_ENTITIES;
        return Err(Problem::new("flows", format!("must be at most {most} with sources and sessions, got {total}")));
    }
    scenario.udp.iter().try_for_each(|udp| check_fits(udp, &scenario.links))
}

fn check_fits(udp: &Udp, links: &[Link]) -> Result<(), Problem> {
    for &i in &udp.path {
        let Buffer::Bytes(bytes) = links[i].direction(udp.reverse).buffer else { continue };
        if bytes < u64::from(udp.packet_size) {
            let what = format!("{bytes} bytes is less than one UDP packet of {} bytes", udp.packet_size);
            return Err(Problem::new(network::buffer_key(links, i, udp.reverse), what));
        }
    }
    Ok(())
}

/// Flows, UDP sources and web sessions; a Poisson stream of transfers counts as one.
fn entities(scenario: &Scenario) -> u64 {
    let sessions = |arrivals: &Arrivals| match arrivals {
        Arrivals::Sessions { sessions, .. } => u64::from(*sessions),
        Arrivals::Poisson { .. } => 1,
    };
    let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
    let udp: u64 = scenario.udp.iter().map(|udp| u64::from(udp.count)).sum();
    let web: u64 = scenario.web.iter().map(|web| sessions(&web.arrivals)).sum();
    flows + udp + web
}

/// Time between samples: as given, or as many as are useful to draw.
fn series_interval(reader: &Reader, scenario: &Scenario) -> Result<Option<Nanos>, Problem> {
    let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
    let sampled = flows + scenario.links.len() as u64;
    let text = match reader.value("series_interval") {
        None => return Ok(Some(automatic_interval(scenario.duration, sampled))),
        Some(Value::String(text)) if text == "off" => return Ok(None),
        Some(_) => reader.quantity_text("series_interval", "100 ms")?.unwrap_or_default(),
    };
    let interval = reader.in_range("series_interval", text, &TIME, 1..=limits::LONGEST)?;
    let rows = u128::from(scenario.duration / interval) * u128::from(sampled);
    if rows > u128::from(limits::MOST_ROWS) {
        let most = limits::MOST_ROWS;
        let what = format!("must give at most {most} rows or be \"off\", got {rows} rows by {}", quoted(text));
        return Err(reader.problem("series_interval", what));
    }
    Ok(Some(interval))
}

/// At most 1000 samples of each of `sampled` flows and links, and at most two million in all.
fn automatic_interval(duration: Nanos, sampled: u64) -> Nanos {
    const SAMPLES: u64 = 1000;
    const ROWS: u64 = 2_000_000;
    duration.div_ceil(SAMPLES.min(ROWS / sampled).max(1))
}
