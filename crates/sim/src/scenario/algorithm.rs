//! `algorithm = "reno"` or `{ name = "vegas", alpha = 2, beta = 4 }`.

use super::problem::Problem;
use super::reader::{Reader, as_number, kind};
use super::{Algorithm, Ecn, EcnMode, Setting, Value};
use fullpipe_cc::params::{self, Info, Kind, Param};
use fullpipe_cc::registry;

const EXAMPLE: &str = "\"reno\" or { name = \"reno\" }";

/// The algorithm and its entry in the registry.
pub fn read(reader: &Reader) -> Result<(Algorithm, &'static Info), Problem> {
    let named: Vec<_> = registry::ALL.iter().map(|info| (info.name, *info)).collect();
    let params = |info: &Info| info.params.iter().map(|param| param.name).collect();
    let chosen = reader.chosen("algorithm", "an algorithm", EXAMPLE, &named, params)?;
    let (info, table) = chosen.ok_or_else(|| reader.missing("algorithm", EXAMPLE))?;
    let params = table.map_or(Ok(Vec::new()), |table| settings(&table, info))?;
    Ok((Algorithm { name: info.name.to_owned(), params }, info))
}

/// The ECN that the algorithm of this name is made for, and the codepoint of its packets.
pub fn ecn(name: &str) -> (EcnMode, Ecn) {
    let made_for = registry::find(name).and_then(|info| info.ecn);
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
        Kind::Number { min, max, .. } if param.unit == "1" => format!("numbers from {min} to {max}"),
        Kind::Number { min, max, .. } => format!("numbers from {min} to {max} ({})", param.unit),
        Kind::Flag { .. } => "true, false".to_owned(),
        Kind::Choice(names) => names.join(", "),
    }
}
