//! `delay_trace` and `loss_trace`: values of a link over time, from a CSV file with the columns `time_s` and `delay_s` or `loss`, or from a
//! list of pairs such as `[[0, 0.02], [10, 0.04]]`. A file of round trips, as ping measures them, has the column `rtt_s`: half of each is the
//! delay of one direction.
//!
//! A scenario in memory has the list; see `trace.rs`.

use super::problem::{self, Problem, quoted};
use super::reader::{Reader, as_number, kind};
use super::{Value, limits};
use fullpipe_cc::Nanos;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Values of a link over time.
///
/// ```
/// use fullpipe_sim::model::{Interpolation, Link, Samples};
///
/// let rows = [(0.0, 0.02), (10.0, 0.04)];
/// let delays = Samples::delays(&rows, Interpolation::Linear, false).expect("rising times");
/// assert_eq!(delays.at(5_000_000_000), 30_000_000.0, "30 ms halfway");
/// let link = Link { delay_trace: Some(delays), ..Link::named("leo") };
/// assert_eq!(link.least_delay(), 20_000_000);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Times and values, from 0 on.
    rows: Arc<[(Nanos, f64)]>,
    /// Rule between two rows.
    pub interpolation: Interpolation,
    /// After the last row the first one follows; otherwise the last value stays.
    pub repeats: bool,
}

/// Value between two rows of a trace.
///
/// Example: see [`Samples`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// On the straight line between them.
    Linear,
    /// That of the row before.
    Hold,
}

fullpipe_cc::named! { Interpolation { Linear = "linear", Hold = "hold" } }

/// Kind of values.
#[derive(Debug)]
pub struct Column {
    /// Key in a scenario.
    pub key: &'static str,
    /// Heading in a file.
    heading: &'static str,
    /// Key of the rule between rows.
    interpolation: &'static str,
    /// Interpolation without that key.
    default: Interpolation,
    /// Allowed values, and these in words.
    allowed: (RangeInclusive<f64>, &'static str),
    /// Size of the file's unit in the model's.
    scale: f64,
}

/// One-way propagation delays, in seconds in a file, and in nanoseconds in the model.
pub const DELAYS: Column = Column {
    key: "delay_trace",
    heading: "delay_s",
    interpolation: "delay_interpolation",
    default: Interpolation::Linear,
    allowed: (0.0..=100.0, "0 to 100"),
    scale: 1e9,
};

/// Probabilities of loss.
pub const LOSSES: Column = Column {
    key: "loss_trace",
    heading: "loss",
    interpolation: "loss_interpolation",
    default: Interpolation::Hold,
    allowed: (0.0..=1.0, "0 to 1"),
    scale: 1.0,
};

/// Heading of round-trip times in a file.
const ROUND_TRIPS: &str = "rtt_s";

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

impl Samples {
    /// Delays in seconds at times in seconds, from 0 on.
    ///
    /// # Errors
    /// Fault, and the index of the row at fault if it is a single one.
    pub fn delays(
        rows: &[(f64, f64)],
        interpolation: Interpolation,
        repeats: bool,
    ) -> Result<Samples, (Option<usize>, String)> {
        Samples::new(&DELAYS, rows, interpolation, repeats)
    }

    /// Probabilities of loss at times in seconds, from 0 on.
    ///
    /// # Errors
    /// As [`Samples::delays`].
    pub fn losses(
        rows: &[(f64, f64)],
        interpolation: Interpolation,
        repeats: bool,
    ) -> Result<Samples, (Option<usize>, String)> {
        Samples::new(&LOSSES, rows, interpolation, repeats)
    }

    /// Times and values, from 0 on.
    pub(crate) fn rows(&self) -> &[(Nanos, f64)] {
        &self.rows
    }

    fn new(
        column: &Column,
        rows: &[(f64, f64)],
        interpolation: Interpolation,
        repeats: bool,
    ) -> Result<Samples, (Option<usize>, String)> {
        if rows.len() > limits::MOST_SAMPLES {
            return Err((None, format!("must have at most {} rows, got {}", limits::MOST_SAMPLES, rows.len())));
        }
        let mut found: Vec<(Nanos, f64)> = Vec::with_capacity(rows.len());
        for (place, &(time_s, value)) in rows.iter().enumerate() {
            let fault = |what: String| Err((Some(place), what));
            let number = problem::number;
            if !(0.0..=*limits::MOMENT.end() as f64 / SECOND).contains(&time_s) {
                return fault(format!("time_s must be in [0, 1000000], got {}", number(time_s)));
            }
            if !column.allowed.0.contains(&value) {
                let (least, most) = (column.allowed.0.start(), column.allowed.0.end());
                return fault(format!("{} must be in [{least}, {most}], got {}", column.heading, number(value)));
            }
            let time = (time_s * SECOND).round() as Nanos;
            match found.last() {
                None if time > 0 => return fault(format!("time_s must be 0 first, got {}", number(time_s))),
                Some((before, _)) if time <= *before => {
                    return fault(format!(
                        "time_s must rise, got {} after {}",
                        number(time_s),
                        *before as f64 / SECOND
                    ));
                }
                _ => found.push((time, if column.scale == 1.0 { value } else { (value * column.scale).round() })),
            }
        }
        match found.last() {
            None => Err((None, "no rows; the first one has the time 0".to_owned())),
            Some((0, _)) if repeats => Err((None, "trace_repeat requires a row after the first one".to_owned())),
            Some(_) => Ok(Samples { rows: found.into(), interpolation, repeats }),
        }
    }

    /// Value at `now`.
    pub fn at(&self, now: Nanos) -> f64 {
        let end = self.rows[self.rows.len() - 1].0;
        let now = if self.repeats { now % end } else { now };
        let next = self.rows.partition_point(|(time, _)| *time <= now);
        let (time, value) = self.rows[next - 1];
        match self.rows.get(next) {
            Some((later, other)) if self.interpolation == Interpolation::Linear => {
                value + (other - value) * ((now - time) as f64 / (later - time) as f64)
            }
            _ => value,
        }
    }

    /// Least value.
    pub fn least(&self) -> f64 {
        self.rows.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min)
    }
}

/// The values asked for.
pub fn read(reader: &Reader, column: &Column) -> Result<Option<Samples>, Problem> {
    let key = column.key;
    let interpolation = reader.one_of(column.interpolation, "interpolation", &Interpolation::NAMES)?;
    let Some(value) = reader.value(key) else {
        return match interpolation {
            None => Ok(None),
            Some(_) => Err(reader.problem(column.interpolation, format!("requires {key}"))),
        };
    };
    let list = match value {
        Value::Array(list) => list,
        Value::String(name) => {
            let what = format!(
                "{} is the name of a file, which cannot be read here; write the list of its rows",
                quoted(name)
            );
            return Err(reader.problem(key, what));
        }
        value => return Err(reader.wrong_type(key, "a file or a list of pairs", "\"leo.csv\"", value)),
    };
    let problem = |place: Option<usize>, what: String| {
        let place = place.map_or(String::new(), |place| format!("row {}: ", place + 1));
        reader.problem(key, format!("{place}{what}"))
    };
    let pair = |(place, value): (usize, &Value)| match value.as_array().map(Vec::as_slice) {
        Some([time, value]) => match (as_number(time), as_number(value)) {
            (Some(time), Some(value)) => Ok((time, value)),
            _ => Err(problem(Some(place), "expected two numbers, e.g. [0, 0.02]".to_owned())),
        },
        _ => Err(problem(Some(place), format!("expected two numbers, e.g. [0, 0.02]; found {}", kind(value)))),
    };
    let rows = list.iter().enumerate().map(pair).collect::<Result<Vec<_>, _>>()?;
    let repeats = reader.flag("trace_repeat", false)?;
    let samples = Samples::new(column, &rows, interpolation.unwrap_or(column.default), repeats);
    samples.map(Some).map_err(|(place, what)| problem(place, what))
}

/// Keys of the values as a scenario writes them.
pub fn write(samples: &Samples, column: &Column) -> [(&'static str, Value); 2] {
    let pair = |&(time, value): &(Nanos, f64)| {
        Value::Array(vec![(time as f64 / SECOND).into(), (value / column.scale).into()])
    };
    let rows = samples.rows.iter().map(pair).collect();
    [(column.key, Value::Array(rows)), (column.interpolation, samples.interpolation.name().into())]
}

/// The list of a CSV file.
pub fn from_text(text: &str, column: &Column) -> Result<Value, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let heading = lines.next().map_or("", |(_, line)| line);
    let has = |second: &str| heading.split(',').map(str::trim).eq(["time_s", second]);
    let round_trips = column.key == DELAYS.key && has(ROUND_TRIPS);
    if !round_trips && !has(column.heading) {
        let other = if column.key == DELAYS.key { " or time_s,rtt_s" } else { "" };
        return Err(format!(", line 1: expected the heading time_s,{}{other}", column.heading));
    }
    let part = if round_trips { 0.5 } else { 1.0 };
    let row = |(place, line): (usize, &str)| {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        let mut numbers = line.split(',').map(number);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Some(time)), Some(Some(value)), None) => Ok((place, (time, part * value))),
            _ => Err(format!(", line {}: {} is not two numbers", place + 1, quoted(line))),
        }
    };
    let found = lines.map(row).collect::<Result<Vec<_>, String>>()?;
    let rows: Vec<(f64, f64)> = found.iter().map(|(_, row)| *row).collect();
    Samples::new(column, &rows, column.default, false).map_err(|(place, what)| match place {
        Some(place) => format!(", line {}: {what}", found[place].0 + 1),
        None => format!(": {what}"),
    })?;
    let list = rows.into_iter().map(|(time, value)| Value::Array(vec![time.into(), value.into()]));
    Ok(Value::Array(list.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn delays(rows: &[(f64, f64)], interpolation: Interpolation, repeats: bool) -> Samples {
        Samples::delays(rows, interpolation, repeats).expect("samples")
    }

    /// (0 s, 20 ms), (10 s, 40 ms): 25 ms at 2.5 s on the line, 20 ms without it; then 40 ms stay, or the rows repeat.
    #[test]
    fn values_are_on_the_line_or_hold() {
        let rows = [(0.0, 0.02), (10.0, 0.04)];
        let times = [0, 2500 * MS, 9999 * MS, 10_000 * MS, 12_500 * MS];
        let at = |interpolation, repeats| times.map(|at| delays(&rows, interpolation, repeats).at(at).round() as Nanos);
        assert_eq!(at(Interpolation::Linear, false), [20 * MS, 25 * MS, 39_998_000, 40 * MS, 40 * MS]);
        assert_eq!(at(Interpolation::Hold, false), [20 * MS, 20 * MS, 20 * MS, 40 * MS, 40 * MS]);
        assert_eq!(at(Interpolation::Linear, true), [20 * MS, 25 * MS, 39_998_000, 20 * MS, 25 * MS]);
    }

    #[test]
    fn files_have_a_heading_and_rows() {
        let text = "time_s,delay_s\n0,0.02\n\n10.5, 0.04\r\n";
        assert_eq!(from_text(text, &DELAYS).expect("a file").to_string(), "[[0.0, 0.02], [10.5, 0.04]]");
        let pings = from_text("time_s,rtt_s\n0,0.04\n1,0.06\n", &DELAYS).expect("a file of ping");
        assert_eq!(pings.to_string(), "[[0.0, 0.02], [1.0, 0.03]]");
        assert!(from_text("time_s,rtt_s\n0,0.04\n", &LOSSES).is_err());
        let cases = [
            ("", ", line 1: expected the heading time_s,delay_s"),
            ("time_s,loss\n0,0.1\n", ", line 1: expected the heading time_s,delay_s"),
            ("time_s,delay_s\n", ": no rows"),
            ("time_s,delay_s\n0,1,2\n", ", line 2: \"0,1,2\" is not two numbers"),
            ("time_s,delay_s\n0,nan\n", ", line 2: \"0,nan\" is not two numbers"),
            ("time_s,delay_s\n\n1,0.1\n", ", line 3: time_s must be 0 first, got 1"),
            ("time_s,delay_s\n0,0.1\n2,0.1\n2,0.1\n", ", line 4: time_s must rise, got 2 after 2"),
            ("time_s,delay_s\n0,101\n", ", line 2: delay_s must be in [0, 100], got 101"),
        ];
        for (text, expected) in cases {
            let what = from_text(text, &DELAYS).expect_err(text);
            assert!(what.starts_with(expected), "{text:?}: {what}");
        }
        assert!(from_text("time_s,loss\n0,1.1\n", &LOSSES).is_err());
    }
}
