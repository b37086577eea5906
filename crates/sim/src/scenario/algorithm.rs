//! `algorithm = "reno"` or `{ name = "vegas", alpha = 2, beta = 4 }`, and `recovery`.

use super::host::Host;
use super::problem::{Problem, unknown};
use super::reader::{Reader, as_number, kind};
use super::{Algorithm, Ecn, EcnMode, Pacing, Recovery, Setting, SlowStart, Table, Value};
use fullpipe_cc::params::{self, Info, Kind, Param};
use fullpipe_cc::registry;

const EXAMPLE: &str = "\"reno\" or { name = \"reno\" }";

/// The algorithm and its entry in the registry.
pub fn read(reader: &Reader) -> Result<(Algorithm, &'static Info), Problem> {
    match reader.required("algorithm", EXAMPLE)? {
        Value::String(name) => {
            let info = find(name).map_err(|what| reader.problem("algorithm", what))?;
            Ok((Algorithm { name: name.clone(), params: Vec::new() }, info))
        }
        Value::Table(table) => with_params(table, reader.at("algorithm")),
        value => Err(reader.wrong_type("algorithm", "an algorithm", EXAMPLE, value)),
    }
}

/// The recovery asked for, or else the host's, or the one that the algorithm's paper assumes.
pub fn recovery(reader: &Reader, info: &Info, host: Host) -> Result<Recovery, Problem> {
    let name = reader.text("recovery", "\"sack\"")?.unwrap_or(host.recovery(info));
    Recovery::find(name)
        .ok_or_else(|| reader.problem("recovery", unknown("recovery", name, &Recovery::ALL.map(Recovery::name))))
}

/// The slow start asked for, or else the host's.
pub fn slow_start(reader: &Reader, info: &Info, host: Host) -> Result<SlowStart, Problem> {
    let name = reader.text("slow_start", "\"hystart++\"")?.unwrap_or(host.slow_start(info).name());
    SlowStart::find(name)
        .ok_or_else(|| reader.problem("slow_start", unknown("slow start", name, &SlowStart::ALL.map(SlowStart::name))))
}

/// The pacing asked for.
pub fn pacing(reader: &Reader) -> Result<Pacing, Problem> {
    let name = reader.text("pacing", "\"on\"")?.unwrap_or(Pacing::default().name());
    Pacing::find(name).ok_or_else(|| reader.problem("pacing", unknown("pacing", name, &Pacing::ALL.map(Pacing::name))))
}

/// The ECN that the algorithm of this name is made for, and the codepoint of its packets.
pub fn ecn(name: &str) -> (EcnMode, Ecn) {
    let made_for = registry::find(name).and_then(|info| info.ecn);
    let mode = made_for.map_or(EcnMode::Off, |ecn| EcnMode::find(ecn.kind).expect("a kind of ECN"));
    (mode, if made_for.is_some_and(|ecn| ecn.ect == 1) { Ecn::Ect1 } else { Ecn::Ect0 })
}

fn find(name: &str) -> Result<&'static Info, String> {
    let names: Vec<&str> = registry::ALL.iter().map(|info| info.name).collect();
    registry::find(name).ok_or_else(|| unknown("algorithm", name, &names))
}

fn with_params(table: &Table, place: String) -> Result<(Algorithm, &'static Info), Problem> {
    let at = |key: &str| format!("{place}.{key}");
    let name = match table.get("name") {
        Some(Value::String(name)) => name,
        Some(value) => {
            return Err(Problem::new(at("name"), format!("expected an algorithm's name, found {}", kind(value))));
        }
        None => return Err(Problem::new(at("name"), "missing; write e.g. name = \"reno\"")),
    };
    let info = find(name).map_err(|what| Problem::new(at("name"), what))?;
    let mut keys: Vec<&'static str> = vec!["name"];
    keys.extend(info.params.iter().map(|param| param.name));
    let reader = Reader::new(table, place, &[&keys])?;
    let mut params = Vec::new();
    for param in info.params {
        if let Some(value) = reader.value(param.name) {
            let setting = setting(param, value).map_err(|what| reader.problem(param.name, what))?;
            if !is_default(param, &setting) {
                params.push((param.name.to_owned(), setting));
            }
        }
    }
    Ok((Algorithm { name: name.clone(), params }, info))
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
        Kind::Number { min, max, .. } if param.unit == "1" => format!("numbers from {min} to {max}"),
        Kind::Number { min, max, .. } => format!("numbers from {min} to {max} ({})", param.unit),
        Kind::Flag { .. } => "true, false".to_owned(),
        Kind::Choice(names) => names.join(", "),
    }
}
