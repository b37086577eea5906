//! `queue = "codel"` or `{ name = "codel", target = "5 ms" }`, read and written.

use super::problem::Problem;
use super::reader::Reader;
use super::{Queue, Table, Value as Toml, params};
use crate::network::discipline::{self, Info, Settings};

const EXAMPLE: &str = "\"drop-tail\" or { name = \"codel\", target = \"5 ms\" }";

/// Queue that the key `queue` names; `packet_size` is the scenario's.
pub fn read(reader: &Reader, packet_size: u32) -> Result<Option<Queue>, Problem> {
    let named: Vec<_> = discipline::ALL.iter().map(|info| (info.name, *info)).collect();
    let params = |info: &Info| info.params.iter().map(|param| param.name).collect();
    match reader.chosen("queue", "a queue", EXAMPLE, &named, params)? {
        None => Ok(None),
        Some((info, None)) => Ok(Some(Settings::defaults(info))),
        Some((info, Some(table))) => settings(&table, info, packet_size).map(Some),
    }
}

/// Queue in a resolved scenario: its name, and each of its parameters with the value that holds.
pub fn write(queue: &Queue, packet_size: u32) -> Toml {
    if queue.info.params.is_empty() {
        return queue.info.name.into();
    }
    let mut table = Table::new();
    table.insert("name".to_owned(), queue.info.name.into());
    table.extend(params::spelled_out(queue.info.params, &queue.params(), Some(packet_size)));
    Toml::Table(table)
}

fn settings(reader: &Reader, info: &'static Info, packet_size: u32) -> Result<Queue, Problem> {
    let queue = Settings { info, given: params::read(reader, info.name, info.params, Some(packet_size))? };
    match (info.conflict)(&queue) {
        None => Ok(queue),
        Some((name, relation, other)) => {
            let value = |name| queue.value(name).map_or("unset".to_owned(), |value| params::written(value).to_string());
            Err(reader.problem(name, format!("{} is not {relation} {other}, {}", value(name), value(other))))
        }
    }
}
