//! `resume`: values saved from an earlier connection; read, written, and combined with `slow_start` and `pacing`.

use super::keys::{self, RESUME};
use super::problem::Problem;
use super::reader::Reader;
use super::render::{quantity, whole};
use super::traffic::segments;
use super::units::TIME;
use super::{Pacing, Saved, SlowStart, Table, Tcp, Value, limits};

const EXAMPLE: &str = "{ cwnd = \"400 packets\", rtt = \"50 ms\" }";

/// The saved values, if there are any.
pub fn read(reader: &Reader) -> Result<Option<Saved>, Problem> {
    let table = match reader.value("resume") {
        None => return Ok(None),
        Some(Value::Table(table)) => table,
        Some(value) => return Err(reader.wrong_type("resume", "a table", EXAMPLE, value)),
    };
    let inner = Reader::new(table, reader.at("resume"), keys::names(&[RESUME]))?;
    let window = |key| segments(&inner, key, limits::SAVED_WINDOW);
    let cwnd = window("cwnd")?.ok_or_else(|| inner.missing("cwnd", "\"400 packets\""))?;
    let rtt = inner.quantity("rtt", &TIME, limits::SAVED_RTT)?.ok_or_else(|| inner.missing("rtt", "\"50 ms\""))?;
    let saved = Saved::new(cwnd as f64, rtt);
    Ok(Some(window("max_jump")?.map_or(saved, |most| saved.max_jump(most as f64))))
}

/// The slow start of `tcp` with its pacing: what needs pacing has it where the scenario does not say, and refuses anything else.
pub fn paced(reader: &Reader, tcp: Tcp) -> Result<Tcp, Problem> {
    if tcp.resume.is_some() && tcp.slow_start != SlowStart::Standard {
        return Err(reader.problem("resume", "requires slow_start = \"standard\""));
    }
    if !tcp.starts_paced() || tcp.pacing == Pacing::On {
        return Ok(tcp);
    }
    if reader.value("pacing").is_none() {
        return Ok(Tcp { pacing: Pacing::On, ..tcp });
    }
    let key = if tcp.resume.is_some() { "resume" } else { "slow_start" };
    Err(reader.problem(key, "requires pacing = \"on\"; leave pacing out"))
}

/// The saved values as a table.
pub fn write(saved: Saved) -> Value {
    let mut table: Table = [("cwnd", whole(saved.cwnd as u64)), ("rtt", quantity(&TIME, saved.rtt))]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    if saved.max_jump.is_finite() {
        table.insert("max_jump".to_owned(), whole(saved.max_jump as u64));
    }
    Value::Table(table)
}
