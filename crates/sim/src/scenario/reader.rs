//! Reader of typed values in a table. Each fault has its key, the value found, and the allowed values.

use super::problem::{self, Problem, Wrong, listed, quoted, unknown};
use super::units::{Dimension, TIME};
use super::{Spread, Table, Value};
use fullpipe_cc::Nanos;
use std::ops::RangeInclusive;

/// One table of a scenario and where it is.
pub struct Reader<'a> {
    table: &'a Table,
    place: String,
    keys: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// Reads `table`, which is at `place` ("" for the top) and may have only `keys`.
    pub fn new(table: &'a Table, place: String, keys: Vec<&'static str>) -> Result<Self, Problem> {
        let reader = Reader { table, place, keys };
        match table.keys().find(|key| !reader.keys.contains(&key.as_str())) {
            Some(key) => Err(reader.problem(key, unknown("key", key, &reader.keys))),
            None => Ok(reader),
        }
    }

    /// The tables of the array `key`, each with its place; none if the key is absent.
    pub fn tables(&self, key: &str) -> Result<Vec<(&'a Table, String)>, Problem> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let wrong =
            || self.problem(key, format!("expected a list of tables, written [[{key}]], found {}", kind(value)));
        let list = value.as_array().ok_or_else(wrong)?;
        let entry = |(i, value): (usize, &'a Value)| {
            Ok((value.as_table().ok_or_else(wrong)?, format!("{}[{i}]", self.at(key))))
        };
        list.iter().enumerate().map(entry).collect()
    }

    /// A problem with the value of `key`.
    pub fn problem(&self, key: &str, what: impl Into<Wrong>) -> Problem {
        Problem::new(self.at(key), what)
    }

    /// Where the table is.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The full path of `key`.
    pub fn at(&self, key: &str) -> String {
        let key = problem::key(key);
        if self.place.is_empty() { key } else { format!("{}.{key}", self.place) }
    }

    /// The value of `key`.
    pub fn value(&self, key: &str) -> Option<&'a Value> {
        debug_assert!(self.keys.contains(&key), "{key} is read but not among the allowed keys");
        self.table.get(key)
    }

    /// The value of `key`, which has to be there.
    pub fn required(&self, key: &str, example: &str) -> Result<&'a Value, Problem> {
        self.value(key).ok_or_else(|| self.missing(key, example))
    }

    /// `key` has to be there and is not.
    pub fn missing(&self, key: &str, example: &str) -> Problem {
        self.problem(key, Wrong::Missing { example: format!("{key} = {example}") })
    }

    /// Text.
    pub fn text(&self, key: &str, example: &str) -> Result<Option<&'a str>, Problem> {
        self.value(key)
            .map(|value| value.as_str().ok_or_else(|| self.wrong_type(key, "text", example, value)))
            .transpose()
    }

    /// One of several by its name; `thing` is its kind.
    pub fn one_of<T: Copy>(&self, key: &str, thing: &'static str, named: &[(&str, T)]) -> Result<Option<T>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(name)) => find(thing, name, named).map(Some).map_err(|what| self.problem(key, what)),
            Some(value) => {
                let allowed = listed(&names(named));
                Err(self.problem(key, Wrong::Type { expected: format!("text, one of {allowed}"), found: kind(value) }))
            }
        }
    }

    /// One of several by its name, alone or in a table with values for its parameters, which the second result reads. `a_thing` is
    /// the key with its article.
    pub fn chosen<T: Copy>(
        &self,
        key: &'static str,
        a_thing: &str,
        example: &str,
        named: &[(&str, T)],
        params: impl Fn(T) -> Vec<&'static str>,
    ) -> Result<Option<(T, Option<Reader<'a>>)>, Problem> {
        let table = match self.value(key) {
            None => return Ok(None),
            Some(Value::String(name)) => {
                let one = find(key, name, named).map_err(|what| self.problem(key, what))?;
                return Ok(Some((one, None)));
            }
            Some(Value::Table(table)) => table,
            Some(value) => return Err(self.wrong_type(key, a_thing, example, value)),
        };
        let (place, at) = (self.at(key), self.at(key) + ".name");
        let name = match table.get("name") {
            Some(Value::String(name)) => name,
            Some(value) => return Err(Problem::new(at, format!("expected {a_thing}'s name, found {}", kind(value)))),
            None => return Err(Problem::new(at, Wrong::Missing { example: example.to_owned() })),
        };
        let one = find(key, name, named).map_err(|what| Problem::new(at, what))?;
        let keys = std::iter::once("name").chain(params(one)).collect();
        Ok(Some((one, Some(Reader::new(table, place, keys)?))))
    }

    /// Value of the table's key `name`.
    pub fn name(&self, example: &str) -> Result<Option<&'a str>, Problem> {
        let name = self.text("name", example)?;
        match name {
            Some(text) if text.is_empty() || text.chars().any(char::is_control) => {
                let what = format!("must have printable characters only, at least one, got {}", quoted(text));
                Err(self.problem("name", what))
            }
            name => Ok(name),
        }
    }

    /// A flag, or `default`.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, Problem> {
        let Some(value) = self.value(key) else { return Ok(default) };
        value.as_bool().ok_or_else(|| self.wrong_type(key, "true or false", "true", value))
    }

    /// A whole number in `range`.
    pub fn whole(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Problem> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let example = range.start().to_string();
        let found = value.as_integer().ok_or_else(|| self.wrong_type(key, "a whole number", &example, value))?;
        match u64::try_from(found) {
            Ok(n) if range.contains(&n) => Ok(Some(n)),
            _ => {
                let (low, high) = (range.start(), range.end());
                let allowed = format!("in [{low}, {high}]");
                Err(self.problem(key, Wrong::OutOfRange { got: found.to_string(), allowed }))
            }
        }
    }

    /// Number that `allowed` admits; `bounds` has the interval of these.
    pub fn number(&self, key: &str, allowed: impl Fn(f64) -> bool, bounds: &str) -> Result<Option<f64>, Problem> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let found = as_number(value).ok_or_else(|| self.wrong_type(key, "a number", "0.5", value))?;
        if found.is_finite() && allowed(found) {
            return Ok(Some(found));
        }
        Err(self.problem(key, Wrong::OutOfRange { got: problem::number(found), allowed: format!("in {bounds}") }))
    }

    /// A quantity with a unit, in the model's unit and in `range`.
    pub fn quantity(&self, key: &str, what: &Dimension, range: RangeInclusive<u64>) -> Result<Option<u64>, Problem> {
        let Some(text) = self.quantity_text(key, what.example)? else { return Ok(None) };
        self.in_range(key, text, what, range).map(Some)
    }

    /// The text of a quantity; `example` is shown if it is something else.
    pub fn quantity_text(&self, key: &str, example: &str) -> Result<Option<&'a str>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value @ (Value::Integer(_) | Value::Float(_))) => {
                let found = as_number(value).map(problem::number).unwrap_or_default();
                Err(self.problem(key, format!("{found} has no unit; write e.g. {example:?}")))
            }
            Some(value) => Err(self.wrong_type(key, "text with a unit", &format!("{example:?}"), value)),
        }
    }

    /// A time or a spread of times, each in `range`.
    pub fn spread(&self, key: &str, range: RangeInclusive<Nanos>) -> Result<Option<Spread>, Problem> {
        let Some(text) = self.quantity_text(key, TIME.example)? else { return Ok(None) };
        let Some((low, high)) = text.split_once("..") else {
            return self.in_range(key, text, &TIME, range).map(|value| Some(Spread::fixed(value)));
        };
        let low = self.in_range(key, low, &TIME, range.clone())?;
        let high = self.in_range(key, high, &TIME, range)?;
        if low > high {
            let what = format!("{} runs backwards; write the smaller time first, e.g. \"80 ms..250 ms\"", quoted(text));
            return Err(self.problem(key, what));
        }
        Ok(Some(Spread { low, high }))
    }

    /// Reads `text`, which belongs to `key`.
    pub fn in_range(
        &self,
        key: &str,
        text: &str,
        what: &Dimension,
        range: RangeInclusive<u64>,
    ) -> Result<u64, Problem> {
        let found = what.parse(text).map_err(|fault| self.problem(key, fault))?;
        let rounded = found.round();
        if rounded >= *range.start() as f64 && rounded <= *range.end() as f64 {
            return Ok(rounded as u64);
        }
        let (low, high) = (what.format(*range.start()), what.format(*range.end()));
        Err(self.problem(key, Wrong::OutOfRange { got: quoted(text), allowed: format!("in [{low}, {high}]") }))
    }

    /// `value` is not what `key` takes.
    pub fn wrong_type(&self, key: &str, expected: &str, example: &str, value: &Value) -> Problem {
        self.problem(key, Wrong::Type { expected: format!("{expected}, e.g. {example}"), found: kind(value) })
    }
}

fn find<T: Copy>(thing: &'static str, name: &str, named: &[(&str, T)]) -> Result<T, Wrong> {
    let found = named.iter().find(|(known, _)| *known == name);
    found.map(|(_, one)| *one).ok_or_else(|| unknown(thing, name, &names(named)))
}

fn names<'n, T>(named: &[(&'n str, T)]) -> Vec<&'n str> {
    named.iter().map(|(name, _)| *name).collect()
}

/// An integer or a float, as a float.
pub fn as_number(value: &Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|n| n as f64))
}

/// Description of a value for messages.
pub fn kind(value: &Value) -> String {
    match value {
        Value::String(text) => format!("text {}", quoted(text)),
        Value::Integer(n) => format!("the whole number {n}"),
        Value::Float(x) => format!("the number {}", problem::number(*x)),
        Value::Boolean(x) => format!("{x}"),
        Value::Datetime(_) => "a date or time of day".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}
