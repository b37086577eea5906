//! TOML text to a [`Scenario`], with the line of a fault.

use super::{Problem, Scenario, Table, Value, Wrong, problem};
use crate::catalogue::Catalogue;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Scenario {
    /// [`Catalogue::read_toml`] with the crate's own algorithms.
    ///
    /// # Errors
    /// The first [`Problem`] found, with its line.
    pub fn from_toml(text: &str) -> Result<Scenario, Problem> {
        Catalogue::builtin().read_toml(text)
    }

    /// [`Catalogue::read_toml_in`] with the crate's own algorithms.
    ///
    /// # Errors
    /// The first [`Problem`] found, with its line.
    pub fn from_toml_in(text: &str, folder: &Path) -> Result<(Scenario, Table), Problem> {
        Catalogue::builtin().read_toml_in(text, folder)
    }
}

impl Catalogue {
    /// Reads a scenario; the keys are those of `docs/reference/scenarios.md`.
    ///
    /// # Errors
    /// The first [`Problem`] found, with its line.
    pub fn read_toml(&self, text: &str) -> Result<Scenario, Problem> {
        self.read_tree(text, &parse(text)?)
    }

    /// Reads a scenario whose files, such as traces, are in `folder`. Returns its tree of values too, with the content of these files.
    ///
    /// # Errors
    /// The first [`Problem`] found, with its line.
    pub fn read_toml_in(&self, text: &str, folder: &Path) -> Result<(Scenario, Table), Problem> {
        let mut tree = parse(text)?;
        self.embed(&mut tree, folder).map_err(|problem| with_line(text, problem))?;
        Ok((self.read_tree(text, &tree)?, tree))
    }

    fn read_tree(&self, text: &str, tree: &Table) -> Result<Scenario, Problem> {
        self.read_value(tree).map_err(|problem| with_line(text, problem))
    }
}

fn with_line(text: &str, problem: Problem) -> Problem {
    Problem { line: line_of_key(text, &problem.key), ..problem }
}

/// Reads TOML text as a tree of values, whatever its keys.
///
/// # Errors
/// A [`Problem`] with its line where the text is no TOML.
pub fn parse(text: &str) -> Result<Table, Problem> {
    let document: toml::Table = text.parse().map_err(|error| syntax_problem(text, &error))?;
    Ok(document.into_iter().map(|(key, value)| (key, value.into())).collect())
}

impl From<toml::Value> for Value {
    fn from(value: toml::Value) -> Value {
        match value {
            toml::Value::String(text) => Value::String(text),
            toml::Value::Integer(n) => Value::Integer(n),
            toml::Value::Float(x) => Value::Float(x),
            toml::Value::Boolean(flag) => Value::Boolean(flag),
            toml::Value::Datetime(date) => Value::Datetime(date.to_string()),
            toml::Value::Array(list) => Value::Array(list.into_iter().map(Value::from).collect()),
            toml::Value::Table(table) => {
                Value::Table(table.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

impl std::str::FromStr for Table {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Table, Problem> {
        parse(text)
    }
}

fn syntax_problem(text: &str, error: &toml::de::Error) -> Problem {
    let what = Wrong::Syntax(problem::message(error.message()));
    Problem { line: error.span().map(|span| line_of(text, &span)), ..Problem::new("", what) }
}

/// The line of the deepest part of `key` that the text has: where it is wrong, or the table it is missing from.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut span = None;
    let mut path = key;
    while let Some((found, value, rest)) = step(table, path) {
        span = Some(found);
        let (index, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((index, rest)) => (index.parse::<usize>().ok(), rest),
            None => (None, rest),
        };
        let Some(next) = descend(value, index, &mut span) else { break };
        (table, path) = (next, rest.strip_prefix('.').unwrap_or(rest));
    }
    span.map(|span| line_of(text, &span))
}

/// Entry of `table` that `path` begins with: position of its key, its value, and the rest of the path.
fn step<'t, 'i, 'p>(
    table: &'t DeTable<'i>,
    path: &'p str,
) -> Option<(Range<usize>, &'t Spanned<DeValue<'i>>, &'p str)> {
    table.iter().find_map(|(key, value)| {
        let rest = path.strip_prefix(&problem::key(key.get_ref()))?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then(|| (key.span(), value, rest))
    })
}

fn descend<'t, 'i>(
    value: &'t Spanned<DeValue<'i>>,
    index: Option<usize>,
    span: &mut Option<Range<usize>>,
) -> Option<&'t DeTable<'i>> {
    match (value.get_ref(), index) {
        (DeValue::Table(table), None) => Some(table),
        (DeValue::Array(list), Some(index)) => {
            let entry = list.get(index)?;
            *span = Some(entry.span());
            entry.get_ref().as_table()
        }
        _ => None,
    }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    1 + text.bytes().take(span.start).filter(|&byte| byte == b'\n').count()
}
