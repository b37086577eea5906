//! `algorithm = "reno"` or `{ name = "vegas", alpha = 2, beta = 4 }`.

use super::problem::Problem;
use super::reader::{Reader, kind};
use super::{Algorithm, Ecn, EcnMode, Table, Value, params};
use crate::catalogue::{Catalogue, Foreign, Source, check};
use fullpipe_cc::params::{Info, Value as Parameter};
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

/// Algorithm in a resolved scenario: its name, and each of its parameters with the value that holds.
pub fn write(algorithm: &Algorithm) -> Value {
    let params = algorithm.params();
    table(algorithm, params::spelled_out(params.declared(), &params, None))
}

/// Algorithm as a scenario writes it that leaves defaults out.
pub fn write_given(algorithm: &Algorithm) -> Value {
    let given = algorithm.params.iter().map(|(name, value)| ((*name).to_owned(), params::written(*value)));
    table(algorithm, given.collect())
}

fn table(algorithm: &Algorithm, params: Table) -> Value {
    if let Some(table) = algorithm.foreign.as_ref().and_then(|foreign| foreign.table()) {
        let mut table = table.clone();
        if !params.is_empty() {
            table.insert(PARAMS.to_owned(), Value::Table(params));
        }
        return Value::Table(table);
    }
    if params.is_empty() {
        return algorithm.name.as_str().into();
    }
    let name = ("name".to_owned(), algorithm.name.as_str().into());
    Value::Table(std::iter::once(name).chain(params).collect())
}

/// Key of the table of parameters, in addition to the keys of a source.
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

fn settings(reader: &Reader, info: &'static Info) -> Result<Vec<(&'static str, Parameter)>, Problem> {
    params::read(reader, info.name, info.params, None)
}
