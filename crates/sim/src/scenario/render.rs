//! A [`Scenario`] back to TOML: every key, and every parameter of each algorithm and queue, spelled out. The text gives an identical run even
//! where a default changes later.

use super::units::{DATA, Dimension, PACKETS, RATE, TIME};
use super::{
    Arrivals, Buffer, Ecn, FlowGroup, Frames, Link, Scenario, Spread, Table, Tcp, Transport, Udp, Value, Web,
    algorithm, change, ip, queue, quic, resume, samples, source, trace,
};
use fullpipe_cc::Nanos;
use std::fmt::Write;

impl Scenario {
    /// Scenario as TOML; `Scenario::from_toml` reads it back.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (key, value) in self.to_value() {
            match value {
                Value::Array(tables) => tables.iter().for_each(|table| write_table(&mut text, &key, table)),
                value => write_pair(&mut text, &key, &value),
            }
        }
        text
    }

    /// Scenario as a tree of values; [`Scenario::from_value`] reads it back.
    pub fn to_value(&self) -> Table {
        let mut table = Table::new();
        let mut put = |key: &str, value: Value| table.insert(key.to_owned(), value);
        put("duration", time(self.duration));
        put("warmup", time(self.warmup));
        put("seed", whole(self.seed));
        put("packet_size", whole(self.packet_size));
        put("ack_size", whole(self.ack_size));
        put("series_interval", self.series_interval.map_or("off".into(), time));
        put("measure_jitter", self.measure_jitter.into());
        let parts = [
            ("links", tables(&self.links, |one| link(one, self.packet_size))),
            ("flows", tables(&self.flows, |group| flows(group, self))),
            ("udp", tables(&self.udp, |source| udp(source, self))),
            ("web", tables(&self.web, |traffic| web(traffic, self))),
        ];
        for (key, list) in parts {
            if !list.is_empty() {
                put(key, Value::Array(list));
            }
        }
        table
    }
}

fn write_table(text: &mut String, name: &str, table: &Value) {
    writeln!(text, "\n[[{name}]]").expect("writing to a string");
    table.as_table().into_iter().flatten().for_each(|(key, value)| write_pair(text, key, value));
}

fn write_pair(text: &mut String, key: &str, value: &Value) {
    writeln!(text, "{key} = {value}").expect("writing to a string");
}

fn tables<T>(list: &[T], pairs: impl Fn(&T) -> Pairs) -> Vec<Value> {
    list.iter().map(|entry| table(pairs(entry))).collect()
}

pub(super) fn table(pairs: Pairs) -> Value {
    Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The keys of a table in the order they are written.
pub(super) type Pairs = Vec<(&'static str, Value)>;

fn link(link: &Link, packet_size: u32) -> Pairs {
    let mut pairs = vec![("name", link.name.as_str().into())];
    pairs.extend(direction(link, None, packet_size));
    pairs.extend(link.reverse.as_ref().map(|back| ("reverse", table(direction(back, Some(link), packet_size)))));
    pairs
}

/// Keys of one direction. The reverse direction inherits from `forward`.
fn direction(link: &Link, forward: Option<&Link>, packet_size: u32) -> Pairs {
    let buffer = match link.buffer {
        Buffer::Packets(packets) => format!("{packets} packets"),
        Buffer::Bytes(bytes) => DATA.format(bytes),
        Buffer::Time(nanos) => TIME.format(nanos),
        Buffer::Unlimited => "unlimited".to_owned(),
    };
    let rate = quantity(&RATE, link.rate_bps);
    let mut pairs = vec![
        link.trace.as_ref().map_or(("rate", rate), |trace| ("trace", trace::write(trace))),
        ("delay", time(link.delay)),
        ("buffer", buffer.into()),
        ("queue", queue::write(&link.queue, packet_size)),
        ("loss", change::write_loss(link.loss)),
    ];
    let traces = [(&link.delay_trace, &samples::DELAYS), (&link.loss_trace, &samples::LOSSES)];
    for (trace, column) in traces {
        pairs.extend(trace.iter().flat_map(|trace| samples::write(trace, column)));
    }
    let repeats = traces.iter().any(|(trace, _)| trace.as_ref().is_some_and(|trace| trace.repeats));
    pairs.extend(repeats.then(|| ("trace_repeat", true.into())));
    pairs.extend(change::write(link, forward));
    pairs
}

pub(super) fn flows(group: &FlowGroup, scenario: &Scenario) -> Pairs {
    let mut pairs: Pairs = group.tcp.name.iter().map(|name| ("name", name.as_str().into())).collect();
    pairs.extend(tcp(&group.tcp, scenario));
    pairs.push(("count", whole(group.count)));
    pairs.extend(times(group.start, group.stop));
    pairs.extend(group.size.map(|segments| ("size", quantity(&PACKETS, segments))));
    pairs.extend([("source", source::write(&group.source)), ("growth", group.tcp.growth.name().into())]);
    pairs.extend(ip::write(&group.tcp.ip));
    pairs
}

pub(super) fn udp(udp: &Udp, scenario: &Scenario) -> Pairs {
    let mut pairs = vec![
        ("rate", quantity(&RATE, udp.rate_bps)),
        ("packet_size", whole(udp.packet_size)),
        ("access_delay", spread(udp.access_delay)),
        ("path", path(&udp.path, scenario)),
        ("reverse", udp.reverse.into()),
        ("count", whole(udp.count)),
    ];
    pairs.extend(udp.name.as_deref().map(|name| ("name", name.into())));
    pairs.extend(times(udp.start, udp.stop));
    pairs.extend(udp.frames.map(|law| ("frames", table(frames(law)))));
    pairs.extend(ip::write(&udp.ip));
    pairs
}

fn frames(frames: Frames) -> Pairs {
    let mut pairs = vec![("per_second", frames.per_second.into()), ("size", quantity(&DATA, frames.size))];
    if let Some(key) = frames.key {
        pairs.extend([("key_size", quantity(&DATA, key.size)), ("key_every", whole(key.every))]);
    }
    pairs
}

pub(super) fn web(web: &Web, scenario: &Scenario) -> Pairs {
    let mut pairs = tcp(&web.tcp, scenario);
    match web.arrivals {
        Arrivals::Sessions { sessions, mean_gap } => {
            pairs.extend([("sessions", whole(sessions)), ("mean_gap", time(mean_gap))]);
        }
        Arrivals::Poisson { per_second } => pairs.push(("transfers_per_second", per_second.into())),
    }
    pairs.extend([("mean_size", quantity(&DATA, web.mean_size as u64)), ("shape", web.shape.into())]);
    pairs.extend(times(web.start, web.stop));
    pairs
}

fn tcp(tcp: &Tcp, scenario: &Scenario) -> Pairs {
    let mut pairs = vec![
        ("algorithm", algorithm::write(&tcp.algorithm)),
        ("recovery", tcp.recovery.name().into()),
        ("slow_start", tcp.slow_start.name().into()),
        ("pacing", tcp.pacing.name().into()),
        ("ecn", tcp.ecn.name().into()),
        ("ect", whole(u64::from(tcp.ect == Ecn::Ect1))),
        ("prr", tcp.prr.into()),
        ("undo", tcp.undo.into()),
        ("handshake", tcp.handshake.into()),
        ("delayed_ack", tcp.delayed_ack.into()),
        ("delayed_ack_timeout", time(tcp.delayed_ack_timeout)),
        ("byte_counting", tcp.byte_counting.into()),
        ("initial_window", whole(tcp.initial_window)),
        ("max_window", tcp.max_window.map_or("unlimited".into(), whole)),
        ("min_rto", time(tcp.min_rto)),
        ("rto", tcp.rto.name().into()),
        ("sack_compression", tcp.sack_compression.into()),
        ("timestamp_tick", time(tcp.timestamp_tick)),
        ("rtt_tick", time(tcp.rtt_tick)),
        ("access_delay", spread(tcp.access_delay)),
        ("access_rate", tcp.access_rate_bps.map_or("unlimited".into(), |rate| quantity(&RATE, rate))),
        ("processing_time", time(tcp.processing_time)),
        ("path", path(&tcp.path, scenario)),
        ("reverse", tcp.reverse.into()),
        ("idle", tcp.idle.name().into()),
    ];
    pairs.extend(tcp.resume.map(|saved| ("resume", resume::write(saved))));
    if let Some(every) = tcp.ack_every {
        pairs.retain(|(key, _)| *key != "delayed_ack_timeout");
        pairs.extend([("ack_every", whole(every)), ("ack_delay", time(tcp.delayed_ack_timeout))]);
    }
    if let Some(rules) = tcp.quic {
        pairs.retain(|(key, _)| !quic::TCP_ONLY.contains(key));
        pairs.extend([
            ("transport", Transport::Quic.name().into()),
            ("ack_every", whole(rules.ack_every)),
            ("ack_delay", time(rules.ack_delay)),
            ("ack_reorder", whole(rules.ack_reorder)),
        ]);
        pairs.extend(rules.mtu_probes.map(|interval| ("mtu_probes", time(interval))));
        pairs.extend(rules.tunnel.map(|tunnel| ("tunnel", quic::write_tunnel(tunnel))));
    }
    pairs
}

fn times(start: Spread, stop: Option<Nanos>) -> Pairs {
    let mut pairs = vec![("start", spread(start))];
    pairs.extend(stop.map(|stop| ("stop", time(stop))));
    pairs
}

fn path(path: &[usize], scenario: &Scenario) -> Value {
    Value::Array(path.iter().map(|&i| scenario.links[i].name.as_str().into()).collect())
}

fn spread(spread: Spread) -> Value {
    if spread.low == spread.high {
        return time(spread.low);
    }
    format!("{}..{}", TIME.format(spread.low), TIME.format(spread.high)).into()
}

fn time(nanos: Nanos) -> Value {
    quantity(&TIME, nanos)
}

pub(super) fn quantity(what: &Dimension, value: u64) -> Value {
    what.format(value).into()
}

/// Counts come from checked scenarios, whose whole numbers all fit.
pub(super) fn whole(value: impl Into<u64>) -> Value {
    Value::Integer(i64::try_from(value.into()).unwrap_or(i64::MAX))
}
