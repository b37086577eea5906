//! `queue = "codel"` or `{ name = "codel", target = "5 ms" }`, read and written.

use super::problem::{Problem, unknown};
use super::reader::Reader;
use super::units::{DATA, Dimension, PACKETS, TIME, split};
use super::{Queue, Table, Value as Toml, limits};
use crate::network::discipline::params::{Info, Kind, Param, Value};
use crate::network::discipline::{self, Settings};
use std::ops::RangeInclusive;

const EXAMPLE: &str = "\"drop-tail\" or { name = \"codel\", target = \"5 ms\" }";

/// The queue asked for.
pub fn read(reader: &Reader) -> Result<Option<Queue>, Problem> {
    let named: Vec<_> = discipline::ALL.iter().map(|info| (info.name, *info)).collect();
    let params = |info: &Info| info.params.iter().map(|param| param.name).collect();
    match reader.chosen("queue", "a queue", EXAMPLE, &named, params)? {
        None => Ok(None),
        Some((info, None)) => Ok(Some(Settings::defaults(info))),
        Some((info, Some(table))) => settings(&table, info).map(Some),
    }
}

/// The queue as a scenario writes it.
pub fn write(queue: &Queue) -> Toml {
    if queue.given.is_empty() {
        return queue.info.name.into();
    }
    let mut table = Table::new();
    table.insert("name".to_owned(), queue.info.name.into());
    for (name, value) in &queue.given {
        table.insert((*name).to_owned(), written(*value));
    }
    Toml::Table(table)
}

fn settings(reader: &Reader, info: &'static Info) -> Result<Queue, Problem> {
    let mut given = Vec::new();
    for param in info.params {
        if let Some(value) = value(reader, param)?.filter(|value| Some(*value) != param.default) {
            given.push((param.name, value));
        }
    }
    let queue = Settings { info, given };
    match (info.conflict)(&queue) {
        None => Ok(queue),
        Some((name, relation, other)) => {
            let value = |name| queue.value(name).map_or("unset".to_owned(), |value| written(value).to_string());
            Err(reader.problem(name, format!("{} is not {relation} {other}, {}", value(name), value(other))))
        }
    }
}

fn value(reader: &Reader, param: &Param) -> Result<Option<Value>, Problem> {
    let name = param.name;
    let quantity = |what: &Dimension, range: RangeInclusive<u64>| reader.quantity(name, what, range);
    Ok(match param.kind {
        Kind::Time { min, max } => quantity(&TIME, min..=max)?.map(Value::Time),
        Kind::Packets { min, max } => quantity(&PACKETS, min..=max)?.map(Value::Packets),
        Kind::Bytes { min, max } => quantity(&DATA, min..=max)?.map(Value::Bytes),
        Kind::Whole { min, max } => reader.whole(name, min..=max)?.map(Value::Whole),
        Kind::Number { min, max } => {
            let bounds = format!("numbers from {min} to {max}");
            reader.number(name, |x| (min..=max).contains(&x), &bounds)?.map(Value::Number)
        }
        Kind::Flag => match reader.value(name) {
            None => None,
            Some(_) => Some(Value::Flag(reader.flag(name, false)?)),
        },
        Kind::Choice(names) => {
            let named: Vec<_> = names.iter().map(|name| (*name, *name)).collect();
            reader.one_of(name, "choice", &named)?.map(Value::Name)
        }
        Kind::PacketsOrTime => packets_or_time(reader, name)?,
    })
}

fn packets_or_time(reader: &Reader, name: &'static str) -> Result<Option<Value>, Problem> {
    const EXAMPLE: &str = "65 packets";
    let Some(text) = reader.quantity_text(name, EXAMPLE)? else { return Ok(None) };
    let (_, unit) = split(text, EXAMPLE).map_err(|what| reader.problem(name, what))?;
    if PACKETS.scale(unit).is_some() {
        return reader.in_range(name, text, &PACKETS, limits::PACKETS).map(|n| Some(Value::Packets(n)));
    }
    if TIME.scale(unit).is_some() {
        return reader.in_range(name, text, &TIME, limits::DELAY).map(|t| Some(Value::Time(t)));
    }
    let units = [PACKETS.names(), TIME.names()].concat();
    Err(reader.problem(name, format!("{}; write e.g. \"65 packets\" or \"1 ms\"", unknown("unit", unit, &units))))
}

/// A parameter's value as a scenario writes it.
pub fn written(value: Value) -> Toml {
    match value {
        Value::Time(nanos) => TIME.format(nanos).into(),
        Value::Packets(packets) => PACKETS.format(packets).into(),
        Value::Bytes(bytes) => DATA.format(bytes).into(),
        Value::Number(x) => x.into(),
        Value::Whole(n) => Toml::Integer(i64::try_from(n).unwrap_or(i64::MAX)),
        Value::Flag(flag) => flag.into(),
        Value::Name(name) => name.into(),
    }
}
