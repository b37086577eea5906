//! `queue = "codel"` or `{ name = "codel", target = "5 ms" }`, read and written.

use super::problem::{Problem, quoted, unknown};
use super::reader::{Reader, kind as found_kind};
use super::units::{DATA, Dimension, PACKETS, TIME, split};
use super::{Queue, Table, Value as Toml, limits};
use crate::network::discipline::params::{Info, Kind, Param, Value};
use crate::network::discipline::{self, Settings};
use std::ops::RangeInclusive;

const EXAMPLE: &str = "\"drop-tail\" or { name = \"codel\", target = \"5 ms\" }";

/// The queue asked for.
pub fn read(reader: &Reader) -> Result<Option<Queue>, Problem> {
    match reader.value("queue") {
        None => Ok(None),
        Some(Toml::String(name)) => match find(name) {
            Ok(info) => Ok(Some(Settings::defaults(info))),
            Err(what) => Err(reader.problem("queue", what)),
        },
        Some(Toml::Table(table)) => with_params(table, reader.at("queue")).map(Some),
        Some(value) => Err(reader.wrong_type("queue", "a queue", EXAMPLE, value)),
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

fn find(name: &str) -> Result<&'static Info, String> {
    let names: Vec<&str> = discipline::ALL.iter().map(|info| info.name).collect();
    discipline::find(name).ok_or_else(|| unknown("queue", name, &names))
}

fn with_params(table: &Table, place: String) -> Result<Queue, Problem> {
    let at = format!("{place}.name");
    let name = match table.get("name") {
        Some(Toml::String(name)) => name,
        Some(value) => {
            return Err(Problem::new(at, format!("expected a queue's name, found {}", found_kind(value))));
        }
        None => return Err(Problem::new(at, "missing; write e.g. name = \"codel\"")),
    };
    let info = find(name).map_err(|what| Problem::new(at, what))?;
    let mut keys: Vec<&'static str> = vec!["name"];
    keys.extend(info.params.iter().map(|param| param.name));
    let reader = Reader::new(table, place, &[&keys])?;
    let mut given = Vec::new();
    for param in info.params {
        if let Some(value) = value(&reader, param)?.filter(|value| Some(*value) != param.default) {
            given.push((param.name, value));
        }
    }
    Ok(Settings { info, given })
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
        Kind::Choice(names) => match reader.text(name, &quoted(names[0]))? {
            None => None,
            Some(chosen) => match names.iter().find(|known| **known == chosen) {
                Some(known) => Some(Value::Name(known)),
                None => return Err(reader.problem(name, unknown("choice", chosen, names))),
            },
        },
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
