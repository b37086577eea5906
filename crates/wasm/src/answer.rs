//! Answer to the page: JSON, and the columns of numbers, one after another.
//!
//! A result is `{"view": .., "totals": {name: number}, "tables": {name: {"rows": n, "text": {column: [..]}, "numbers": {column: place}}}}`,
//! where `place` is where the column's `n` numbers begin. Tables and columns are called as in the Python package. A problem is
//! `{"key": .., "what": .., "line": number or null}`.

use crate::{json, view::view};
use fullpipe_sim::scenario::Problem;
use fullpipe_sim::{Column, Report, Scenario, Stopped, Table, Values};

/// Text and numbers.
#[derive(Debug, Default)]
pub struct Answer {
    /// JSON.
    pub text: String,
    /// Columns, one after another.
    pub numbers: Vec<f64>,
}

impl Answer {
    /// Fault of a scenario.
    pub fn problem(problem: &Problem) -> Answer {
        let text = json::table([
            ("key", json::text(&problem.key)),
            ("what", json::text(&problem.what.to_string())),
            ("line", problem.line.map_or("null".to_owned(), |line| line.to_string())),
        ]);
        Answer { text, numbers: Vec::new() }
    }

    /// Why a run came to no end.
    pub fn stopped(stopped: Stopped) -> Answer {
        match stopped {
            Stopped::Memory(problem) => Answer::problem(&problem),
            Stopped::Invalid(invalid) => Answer::problem(&invalid.into()),
            other => Answer::problem(&Problem::new("", other.to_string())),
        }
    }

    /// Result of a run.
    pub fn result(scenario: &Scenario, report: Report) -> Answer {
        let mut numbers = Vec::new();
        let warnings = report.warnings();
        let (totals, tables): (Vec<_>, Vec<_>) =
            report.into_tables().into_iter().partition(|table| table.name == "totals");
        let totals = totals.iter().flat_map(|table| &table.columns).filter_map(|column| {
            let value = numbers_of(&column.values)?.next()?;
            Some((column.name.as_str(), json::number(value)))
        });
        // A row for each transfer, of which there may be many, is more than a page can show.
        let shown = tables.iter().filter(|table| table.name != "transfers");
        let tables = json::table(shown.map(|table| (table.name, to_json(&mut numbers, table))));
        Answer {
            text: json::table([
                ("view", view(scenario, &warnings)),
                ("totals", json::table(totals)),
                ("tables", tables),
            ]),
            numbers,
        }
    }
}

/// A table, whose numbers go behind the others.
fn to_json(numbers: &mut Vec<f64>, table: &Table) -> String {
    let (mut text, mut places) = (Vec::new(), Vec::new());
    for Column { name, values, .. } in &table.columns {
        let name = name.as_str();
        match values {
            Values::Text(texts) => text.push((name, json::list(texts.iter().map(|text| json::text(text))))),
            Values::Names(names, rows) => {
                text.push((name, json::list(rows.iter().map(|&row| json::text(&names[row as usize])))));
            }
            _ => {
                places.push((name, numbers.len().to_string()));
                numbers.extend(numbers_of(values).into_iter().flatten());
            }
        }
    }
    json::table([("rows", table.rows().to_string()), ("text", json::table(text)), ("numbers", json::table(places))])
}

/// A column's numbers, where it is of numbers; flags are 0 and 1.
fn numbers_of(values: &Values) -> Option<Box<dyn Iterator<Item = f64> + '_>> {
    Some(match values {
        Values::Numbers(values) => Box::new(values.iter().copied()),
        Values::Counts(values) => Box::new(values.iter().map(|&value| value as f64)),
        Values::Places(values) => Box::new(values.iter().map(|&value| value.into())),
        Values::Flags(values) => Box::new(values.iter().map(|&value| f64::from(u8::from(value)))),
        Values::Text(_) | Values::Names(..) => return None,
    })
}
