//! `trace = "lte.down"`: a file in mahimahi's format, or its content as a list. Each entry, a line of the file, is the millisecond at which
//! 1504 bytes may leave; the end, which is the last entry, is the beginning again.
//!
//! A scenario in memory has the list, so that it needs no files where it is sent or stored. A program that reads a scenario's file
//! reads the trace files too, with [`read_traces`].

use super::problem::{Problem, quoted};
use super::reader::{Reader, kind};
use super::{Table, Value, limits, samples};
use crate::files::{self, Unread};
use std::path::Path;
use std::sync::Arc;

/// When packets may leave a link.
///
/// ```
/// use fullpipe_sim::model::Trace;
///
/// let trace = Trace::new(vec![1, 1, 4]).expect("times that never decrease");
/// assert_eq!(trace.period_ms(), 4);
/// assert_eq!(trace.rate_bps(), 3 * 1504 * 8 * 1000 / 4, "three times 1504 bytes in 4 ms");
/// assert!(Trace::new(vec![4, 1]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    times_ms: Arc<[u32]>,
}

impl Trace {
    /// Bytes that may leave at each opportunity (mahimahi's `PACKET_SIZE`).
    pub const BYTES: u32 = 1504;

    /// Opportunities at these times, repeated without end.
    ///
    /// # Errors
    /// Fault, and the index of the time at fault if it is a single one.
    pub fn new(times_ms: Vec<u32>) -> Result<Trace, (Option<usize>, String)> {
        if times_ms.len() > limits::MOST_OPPORTUNITIES {
            let most = limits::MOST_OPPORTUNITIES;
            return Err((None, format!("must have at most {most} opportunities, got {}", times_ms.len())));
        }
        if let Some(place) = times_ms.windows(2).position(|pair| pair[0] > pair[1]) {
            let (before, after) = (times_ms[place], times_ms[place + 1]);
            return Err((Some(place + 1), format!("{after} comes after {before}; times never decrease")));
        }
        match times_ms.last() {
            None => Err((None, "no opportunities; write a millisecond for each".to_owned())),
            Some(0) => Err((None, "it ends at 0; the last time is how long it is".to_owned())),
            Some(_) => Ok(Trace { times_ms: times_ms.into() }),
        }
    }

    /// The opportunities of a period.
    pub fn times_ms(&self) -> &[u32] {
        &self.times_ms
    }

    /// How long a period is.
    pub fn period_ms(&self) -> u64 {
        u64::from(self.times_ms[self.times_ms.len() - 1])
    }

    /// The mean rate, bits per second, at least 1.
    pub fn rate_bps(&self) -> u64 {
        let bits = 8_000 * u64::from(Trace::BYTES) * self.times_ms.len() as u64;
        (bits / self.period_ms()).max(1)
    }
}

/// The trace asked for.
pub fn read(reader: &Reader) -> Result<Option<Trace>, Problem> {
    let list = match reader.value("trace") {
        None => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(Value::String(name)) => {
            let what = format!(
                "{} is the name of a file, which cannot be read here; write the list of its times",
                quoted(name)
            );
            return Err(reader.problem("trace", what));
        }
        Some(value) => return Err(reader.wrong_type("trace", "a file or a list", "\"lte.down\"", value)),
    };
    let problem = |place: Option<usize>, what: String| {
        let place = place.map_or(String::new(), |place| format!("entry {}: ", place + 1));
        reader.problem("trace", format!("{place}{what}"))
    };
    let time = |(place, value): (usize, &Value)| match value.as_integer().and_then(in_range) {
        Some(time) => Ok(time),
        None => Err(problem(Some(place), format!("{} is {NO_TIME}", kind(value)))),
    };
    let times = list.iter().enumerate().map(time).collect::<Result<_, _>>()?;
    Trace::new(times).map(Some).map_err(|(place, what)| problem(place, what))
}

/// The trace as a scenario writes it.
pub fn write(trace: &Trace) -> Value {
    Value::Array(trace.times_ms.iter().map(|&time| Value::Integer(i64::from(time))).collect())
}

/// Puts the lists into a scenario's tree of values in the place of the files it names, which are looked for in `folder`.
///
/// # Errors
/// Fault of a file, with its name and line.
pub fn read_traces(tree: &mut Table, folder: &Path) -> Result<(), Problem> {
    let Some(links) = tree.get_mut("links").and_then(Value::as_array_mut) else { return Ok(()) };
    for (index, link) in links.iter_mut().enumerate() {
        let Some(link) = link.as_table_mut() else { continue };
        read_files(link, &format!("links[{index}]"), folder)?;
        if let Some(back) = link.get_mut("reverse").and_then(Value::as_table_mut) {
            read_files(back, &format!("links[{index}].reverse"), folder)?;
        }
    }
    Ok(())
}

/// Puts the lists of the files that one direction names into its table.
fn read_files(table: &mut Table, place: &str, folder: &Path) -> Result<(), Problem> {
    let read = |key: &str, most: usize, list: &dyn Fn(&str) -> Result<Value, String>, table: &mut Table| {
        let Some(value) = table.get_mut(key) else { return Ok(()) };
        if let Some(name) = value.as_str() {
            let found = text_of(&folder.join(name), most).and_then(|text| list(&text));
            let found = found.map_err(|what| format!("{}{what}", quoted(name)));
            *value = found.map_err(|what| Problem::new(format!("{place}.{key}"), what))?;
        }
        Ok::<(), Problem>(())
    };
    read("trace", limits::MOST_OPPORTUNITIES, &|text| from_text(text).map(|trace| write(&trace)), table)?;
    for column in [&samples::DELAYS, &samples::LOSSES] {
        // One line more has the headings.
        read(column.key, limits::MOST_SAMPLES + 1, &|text| samples::from_text(text, column), table)?;
    }
    Ok(())
}

/// Text of a trace's file, or the message after its name. Lines are counted before they are read: some millions of bytes could become
/// hundreds of millions.
fn text_of(path: &Path, most_lines: usize) -> Result<String, String> {
    let content = files::read_regular(path, MOST_BYTES).map_err(|why| match why {
        Unread::TooLarge => format!(" must be at most {} MB", MOST_BYTES / 1_000_000),
        other => format!(" can't be read: {other}"),
    })?;
    let lines = content.iter().filter(|&&byte| byte == b'\n').count();
    if lines > most_lines {
        return Err(format!(" must have at most {most_lines} lines, got {lines}"));
    }
    String::from_utf8(content)
        .map_err(|fault| format!(" is not UTF-8 text (byte {})", fault.utf8_error().valid_up_to()))
}

const MOST_BYTES: u64 = 100_000_000;
const NO_TIME: &str = "no whole number of milliseconds from 0 to 1000000000";

fn from_text(text: &str) -> Result<Trace, String> {
    let at_line = |place: usize, what: String| format!(", line {}: {what}", place + 1);
    let time = |(place, line): (usize, &str)| {
        let found = line.trim().parse().ok().and_then(in_range);
        found.ok_or_else(|| at_line(place, format!("{} is {NO_TIME}", quoted(line))))
    };
    let times = text.lines().enumerate().map(time).collect::<Result<_, _>>()?;
    Trace::new(times).map_err(|(place, what)| match place {
        Some(place) => at_line(place, what),
        None => format!(": {what}"),
    })
}

fn in_range(time: i64) -> Option<u32> {
    let time = u64::try_from(time).ok().filter(|time| limits::TRACE_TIMES_MS.contains(time))?;
    u32::try_from(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_an_opportunity() {
        assert_eq!(from_text("1\n1\n5\n").expect("a trace").times_ms(), [1, 1, 5]);
        // 3 x 1504 bytes in 5 ms.
        assert_eq!(from_text(" 0\r\n3\n5").expect("a trace").rate_bps(), 7_219_200);
    }

    #[test]
    fn lines_are_counted_before_they_are_read() {
        let file = std::env::temp_dir().join(format!("fullpipe-trace-{}", std::process::id()));
        let read = |content: &[u8]| {
            std::fs::write(&file, content).expect("a folder for temporary files");
            text_of(&file, 2)
        };
        assert_eq!(read(b"1\n2\n3").as_deref(), Ok("1\n2\n3"));
        assert_eq!(read(b"1\n2\n3\n"), Err(" must have at most 2 lines, got 3".to_owned()));
        assert_eq!(read(b"1\n\xff"), Err(" is not UTF-8 text (byte 2)".to_owned()));
        std::fs::remove_file(&file).expect("the file");
    }

    #[test]
    fn faults_have_a_line() {
        let cases = [
            ("", ": no opportunities"),
            ("0\n0\n", ": it ends at 0"),
            ("1\n\n2\n", ", line 2: \"\" is no whole number of milliseconds"),
            ("1\n2.5\n", ", line 2: \"2.5\" is no whole number"),
            ("-1\n", ", line 1: \"-1\" is no whole number of milliseconds from 0 to 1000000000"),
            ("1\n9999999999\n", ", line 2: \"9999999999\" is no whole number"),
            ("1\n7\n3\n", ", line 3: 3 comes after 7; times never decrease"),
        ];
        for (text, expected) in cases {
            let what = from_text(text).expect_err(text);
            assert!(what.starts_with(expected), "{text:?}: {what}");
        }
    }
}
