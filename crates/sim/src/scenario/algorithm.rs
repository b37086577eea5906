//! `algorithm = "reno"` or `{ name = "vegas", alpha = 2, beta = 4 }`.

use super::problem::Problem;
use super::reader::{Reader, as_number, kind};
use super::{Algorithm, Ecn, EcnMode, Setting, Table, Value};
use crate::catalogue::{Catalogue, Foreign, Source, check};
use fullpipe_cc::params::{self, Info, Kind, Param};
use std::sync::Arc;

const EXAMPLE: &str = "\"reno\" or { name = \"reno\" }";

/// The algorithm and its entry in the catalogue.
pub fn read(reader: &Reader, catalogue: &Catalogue) -> Result<(Algorithm, &'static Info), Problem> {
    if let Some(Value::Table(table)) = reader.value("algorithm") {
        if let Some(source) = catalogue.source_of(table) {
            return read_sourced(table, reader.at("algorithm"), source);
        }
    }
    let named: Vec<_> = catalogue.named().map(|(info, foreign)| (info.name, (info, foreign))).collect();
    let params = |(info, _): (&Info, _)| names(info);
    let chosen = reader.chosen("algorithm", "an algorithm", EXAMPLE, &named, params)?;
    let ((info, foreign), table) = chosen.ok_or_else(|| reader.missing("algorithm", EXAMPLE))?;
    let params = table.map_or(Ok(Vec::new()), |table| settings(&table, info))?;
    Ok((Algorithm { name: info.name.to_owned(), params, foreign: foreign.cloned() }, info))
}

/// One that a table of a source's own names.
fn read_sourced(table: &Table, place: String, source: &dyn Source) -> Result<(Algorithm, &'static Info), Problem> {
    let keys = [source.key(), PARAMS].into_iter().chain(source.keys().iter().copied()).collect();
    Reader::new(table, place.clone(), keys)?;
    let mut bare = table.clone();
    let given = bare.remove(PARAMS);
    let found = source.find(&bare).map_err(|(key, what)| Problem::within(&place, &key, what))?;
    let info = found.info;
    check(info).map_err(|what| Problem::within(&place, source.key(), what))?;
    let params = match &given {
        None => Vec::new(),
        Some(Value::Table(given)) => settings(&Reader::new(given, format!("{place}.{PARAMS}"), names(info))?, info)?,
        Some(value) => {
            let what = format!("expected a table, e.g. {{ beta = 0.5 }}; found {}", kind(value));
            return Err(Problem::within(&place, PARAMS, what));
        }
    };
    let foreign = Some(Arc::new(Foreign::of_table(found, bare)));
    Ok((Algorithm { name: info.name.to_owned(), params, foreign }, info))
}

/// The algorithm as a scenario names it.
pub fn write(algorithm: &Algorithm) -> Value {
    let params = algorithm.params.iter().map(|(name, setting)| (name.clone(), written(setting)));
    if let Some(table) = algorithm.foreign.as_ref().and_then(|foreign| foreign.table()) {
        let mut table = table.clone();
        if !algorithm.params.is_empty() {
            table.insert(PARAMS.to_owned(), Value::Table(params.collect()));
        }
        return Value::Table(table);
    }
    if algorithm.params.is_empty() {
        return algorithm.name.as_str().into();
    }
    let name = ("name".to_owned(), algorithm.name.as_str().into());
    Value::Table(std::iter::once(name).chain(params).collect())
}

fn written(setting: &Setting) -> Value {
    match setting {
        Setting::Number(x) => (*x).into(),
        Setting::Flag(x) => (*x).into(),
        Setting::Name(x) => x.as_str().into(),
    }
}

/// The key of the table of parameters, beside a source's own keys.
const PARAMS: &str = "params";

fn names(info: &Info) -> Vec<&'static str> {
    info.params.iter().map(|param| param.name).collect()
}

/// The ECN that the algorithm is made for, and the codepoint of its packets.
pub fn ecn(algorithm: &Algorithm) -> (EcnMode, Ecn) {
    let made_for = algorithm.info().and_then(|info| info.ecn);
    let mode = made_for.map_or(EcnMode::Off, |ecn| EcnMode::find(ecn.kind).expect("a kind of ECN"));
    (mode, if made_for.is_some_and(|ecn| ecn.ect == 1) { Ecn::Ect1 } else { Ecn::Ect0 })
}

/// The parameters that differ from their defaults.
fn settings(reader: &Reader, info: &Info) -> Result<Vec<(String, Setting)>, Problem> {
    let mut params = Vec::new();
    for param in info.params {
        if let Some(value) = reader.value(param.name) {
            let setting = setting(param, value).map_err(|what| reader.problem(param.name, what))?;
            if !is_default(param, &setting) {
                params.push((param.name.to_owned(), setting));
            }
        }
    }
    Ok(params)
}

fn setting(param: &Param, value: &Value) -> Result<Setting, String> {
    let setting = match value {
        Value::Boolean(flag) => Setting::Flag(*flag),
        Value::String(name) => Setting::Name(name.clone()),
        value => match as_number(value) {
            Some(x) => Setting::Number(x),
            None => return Err(format!("expected {}, found {}", allowed(param), kind(value))),
        },
    };
    match param.kind.admits(as_value(&setting)) {
        true => Ok(setting),
        false => Err(format!("{} is not allowed; allowed: {}", kind(value), allowed(param))),
    }
}

fn is_default(param: &Param, setting: &Setting) -> bool {
    match (param.kind, setting) {
        (Kind::Number { default, .. }, Setting::Number(x)) => *x == default,
        (Kind::Flag { default }, Setting::Flag(x)) => *x == default,
        (Kind::Choice(names), Setting::Name(name)) => names.first() == Some(&name.as_str()),
        _ => false,
    }
}

fn as_value(setting: &Setting) -> params::Value<'_> {
    match setting {
        Setting::Number(x) => params::Value::Number(*x),
        Setting::Flag(x) => params::Value::Flag(*x),
        Setting::Name(name) => params::Value::Name(name),
    }
}

fn allowed(param: &Param) -> String {
    match param.kind {
        Kind::Number { min: f64::MIN, max: f64::MAX, .. } => "numbers".to_owned(),
        Kind::Number { min, max, .. } if param.unit == "1" => format!("numbers from {min} to {max}"),
        Kind::Number { min, max, .. } => format!("numbers from {min} to {max} ({})", param.unit),
        Kind::Flag { .. } => "true, false".to_owned(),
        Kind::Choice(names) => names.join(", "),
    }
}
