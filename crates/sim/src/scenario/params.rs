//! Parameters of algorithms and queues, read from scenarios and written into resolved ones.

use super::problem::{Problem, unknown};
use super::reader::Reader;
use super::units::{DATA, Dimension, PACKETS, RATE, TIME, split};
use super::{Table, Value as Toml, limits};
use fullpipe_cc::params::{Kind, Param, Params, Unset, Value};
use std::ops::RangeInclusive;

/// Parameters given for `owner` that differ from their defaults. `packet_size` is the scenario's, for parameters that follow from it.
///
/// A value is compared with the default that holds with the other values given: one that equals the general default counts as given
/// where a variant has another.
pub fn read(
    reader: &Reader,
    owner: &'static str,
    declared: &'static [Param],
    packet_size: Option<u32>,
) -> Result<Vec<(&'static str, Value)>, Problem> {
    let mut given = Vec::new();
    for param in declared {
        if let Some(value) = value(reader, param)? {
            given.push((param.name, value));
        }
    }
    let params = Params::new(owner, declared, &given);
    let default = |param: &Param| match param.unset {
        Unset::PacketSize => packet_size.map(|bytes| Value::Bytes(u64::from(bytes))),
        Unset::Never | Unset::Word(_) => params.default(param),
    };
    let differs = |name: &str, value| declared.iter().any(|param| param.name == name && default(param) != Some(value));
    Ok(given.iter().copied().filter(|(name, value)| differs(name, *value)).collect())
}

/// Every declared parameter with its value, or the word for none. `packet_size` is the scenario's, for parameters that follow from it.
pub(super) fn spelled_out(declared: &[Param], params: &Params, packet_size: Option<u32>) -> Table {
    let value = |param: &Param| match (params.value(param.name), param.unset, packet_size) {
        (Some(value), _, _) => Some(written(value)),
        (None, Unset::Word(word), _) => Some(word.into()),
        (None, Unset::PacketSize, Some(bytes)) => Some(written(Value::Bytes(u64::from(bytes)))),
        (None, Unset::PacketSize, None) | (None, Unset::Never, _) => None,
    };
    declared.iter().filter_map(|param| Some((param.name.to_owned(), value(param)?))).collect()
}

fn value(reader: &Reader, param: &Param) -> Result<Option<Value>, Problem> {
    let name = param.name;
    if let (Some(Toml::String(text)), Unset::Word(word)) = (reader.value(name), param.unset) {
        if text == word {
            return Ok(None);
        }
    }
    let quantity = |what: &Dimension, range: RangeInclusive<u64>| reader.quantity(name, what, range);
    Ok(match param.kind {
        Kind::Time { min, max } => quantity(&TIME, min..=max)?.map(Value::Time),
        Kind::Packets { min, max } => quantity(&PACKETS, min..=max)?.map(Value::Packets),
        Kind::Bytes { min, max } => quantity(&DATA, min..=max)?.map(Value::Bytes),
        Kind::Rate { min, max } => quantity(&RATE, min..=max)?.map(Value::Rate),
        Kind::Whole { min, max } => reader.whole(name, min..=max)?.map(Value::Whole),
        Kind::Number { min, max } => {
            let bounds = match param.unit {
                _ if (min, max) == (f64::MIN, f64::MAX) => "(-inf, inf)".to_owned(),
                "1" => format!("[{min}, {max}]"),
                unit => format!("[{min}, {max}] ({unit})"),
            };
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
        Value::Rate(bps) => RATE.format(bps).into(),
        Value::Number(x) => x.into(),
        Value::Whole(n) => Toml::Integer(i64::try_from(n).unwrap_or(i64::MAX)),
        Value::Flag(flag) => flag.into(),
        Value::Name(name) => name.into(),
    }
}
