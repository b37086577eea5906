//! Errors of a scenario as it is read: the key, the line, and an enum of errors, which displays as one line.

use crate::model::Invalid;
use std::fmt;

/// First fault found in a scenario.
///
/// Displays as one line, `links[0].rate: "100" has no unit; write e.g. "100 Mbit/s"`, without the file's name and the line number. Text of
/// the scenario that it repeats is short and printable: see the functions below.
///
/// ```
/// use fullpipe_sim::Scenario;
///
/// let text = r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "100", delay = "20 ms", buffer = "1 BDP" }]
/// "#;
/// let problem = Scenario::from_toml(text).expect_err("a rate without a unit");
/// assert_eq!((problem.key.as_str(), problem.line), ("links[0].rate", Some(3)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Key, for example `links[0].rate`; empty for a fault of the TOML text itself.
    pub key: String,
    /// Fault and allowed values.
    pub what: Wrong,
    /// Line of the TOML text, from 1; `None` for a scenario that did not come from text.
    pub line: Option<usize>,
}

/// Kind of fault of a key, with its values.
///
/// ```
/// use fullpipe_sim::Scenario;
/// use fullpipe_sim::scenario::{Table, Value, Wrong};
///
/// let tree: Table = [("duration".to_owned(), Value::from("5 s")), ("sed".to_owned(), Value::from(1_i64))].into_iter().collect();
/// let problem = Scenario::from_value(&tree).unwrap_err();
/// assert_eq!(problem.key, "sed");
/// assert!(matches!(problem.what, Wrong::Unknown { thing: "key", .. }));
/// assert!(problem.to_string().starts_with("sed: unknown key \"sed\"; did you mean \"seed\"?"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Wrong {
    /// Text that is not TOML.
    Syntax(String),
    /// Key that has to be there.
    Missing {
        /// Text that could be there, for example `duration = "400 s"`.
        example: String,
    },
    /// Name that nothing has.
    Unknown {
        /// Kind of thing, for example `algorithm`.
        thing: &'static str,
        /// Name found.
        name: String,
        /// Names allowed.
        allowed: Vec<String>,
    },
    /// Value of another type.
    Type {
        /// Type allowed, with an example.
        expected: String,
        /// Value found.
        found: String,
    },
    /// Value outside its range.
    OutOfRange {
        /// Value found.
        got: String,
        /// Values allowed, such as "in [1, 9]".
        allowed: String,
    },
    /// Fault of the scenario's data, however it was built.
    Invalid(Box<Invalid>),
    /// Relation between keys, or a form of one, that does not hold.
    Rule(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Wrong::Syntax(what) => write!(f, "not TOML: {what}"),
            Wrong::Missing { example } => write!(f, "missing; write e.g. {example}"),
            Wrong::Unknown { thing, name, allowed } => {
                let names: Vec<&str> = allowed.iter().map(String::as_str).collect();
                let hint = nearest(name, &names).map_or(String::new(), |near| format!("; did you mean {near:?}?"));
                let allowed = if names.is_empty() { "none".to_owned() } else { listed(&names) };
                write!(f, "unknown {thing} {}{hint} (allowed: {allowed})", quoted(name))
            }
            Wrong::Type { expected, found } => write!(f, "expected {expected}; found {found}"),
            Wrong::OutOfRange { got, allowed } => write!(f, "must be {allowed}, got {got}"),
            Wrong::Invalid(invalid) => f.write_str(&invalid.without_key()),
            Wrong::Rule(what) => f.write_str(what),
        }
    }
}

impl From<String> for Wrong {
    fn from(what: String) -> Wrong {
        Wrong::Rule(what)
    }
}

impl From<&str> for Wrong {
    fn from(what: &str) -> Wrong {
        Wrong::Rule(what.to_owned())
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Problem {
        Problem { key: invalid.key().to_owned(), what: Wrong::Invalid(Box::new(invalid)), line: None }
    }
}

impl Problem {
    /// Fault of a key, for example of a limit that a program sets on scenarios.
    pub fn new(key: impl Into<String>, what: impl Into<Wrong>) -> Self {
        Problem { key: key.into(), what: what.into(), line: None }
    }

    /// Fault of `key` of the table at `place`, or of the table where the key is empty.
    pub(crate) fn within(place: &str, name: &str, what: impl Into<Wrong>) -> Self {
        let at = if name.is_empty() { place.to_owned() } else { format!("{place}.{}", key(name)) };
        Problem::new(at, what)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.key.is_empty() {
            return self.what.fmt(f);
        }
        write!(f, "{}: {}", self.key, self.what)
    }
}

impl std::error::Error for Problem {}

/// Unknown name, for example `unknown algorithm "reon"; did you mean "reno"? (allowed: tahoe, reno)`.
pub(crate) fn unknown(thing: &'static str, found: &str, allowed: &[&str]) -> Wrong {
    let allowed = allowed.iter().map(|name| (*name).to_owned()).collect();
    Wrong::Unknown { thing, name: found.to_owned(), allowed }
}

/// Most characters of one piece of the scenario that a message repeats.
const LONGEST: usize = 60;

/// Text as messages show it: in quotes, cut where it is long, and escaped where it could not be seen or would move the text around
/// it (control characters, marks of direction).
pub(crate) fn quoted(text: &str) -> String {
    let (shown, rest) = cut(text, LONGEST);
    format!("{shown:?}{rest}")
}

/// Key as messages show it: unchanged if it is short and needs no quotes in TOML, otherwise as [`quoted`] shows it.
pub(crate) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=LONGEST).contains(&name.len()) && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// Names as messages show them: the first ones, each cut and escaped as [`quoted`] does, without quotes.
pub(crate) fn listed(names: &[&str]) -> String {
    const MOST: usize = 60;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| unquoted(name, LONGEST)).collect();
    let more = if names.len() > MOST { format!(", ... ({} in all)", names.len()) } else { String::new() };
    shown.join(", ") + &more
}

/// Number as messages show it: with an exponent where it would take dozens of digits.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 || (1e-6..1e16).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

/// Message of another library, which may repeat parts of the scenario.
#[cfg(feature = "toml")]
pub(crate) fn message(text: &str) -> String {
    const LONGEST: usize = 300;
    unquoted(&text.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST)
}

fn unquoted(text: &str, longest: usize) -> String {
    let (shown, rest) = cut(text, longest);
    // Quotes need no escape, since none enclose the text.
    format!("{}{rest}", shown.escape_debug()).replace(r#"\""#, "\"").replace(r"\'", "'")
}

/// First `longest` characters, and dots where there are more.
fn cut(text: &str, longest: usize) -> (&str, &'static str) {
    match text.char_indices().nth(longest) {
        Some((end, _)) => (&text[..end], "..."),
        None => (text, ""),
    }
}

/// Name most like `found`; `None` where no name is similar.
pub(crate) fn nearest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    const ALIKE: f64 = 0.75;
    let found: String = found.chars().take(100).collect::<String>().to_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&found, &name.to_lowercase());
    names
        .iter()
        .map(|name| (likeness(name), *name))
        .filter(|(score, _)| *score >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_only_when_it_is_near() {
        let names = ["tahoe", "reno", "newreno", "vegas"];
        assert_eq!(nearest("reon", &names), Some("reno"));
        assert_eq!(nearest("Vegas", &names), Some("vegas"));
        assert_eq!(nearest("new-reno", &names), Some("newreno"));
        assert_eq!(nearest("quic", &names), None);
        assert_eq!(nearest("", &names), None);
    }

    /// ESC, a mark that changes the direction of writing, a line break, and a text long enough to be cut.
    fn nasty() -> String {
        "\u{1b}[31m\u{202e}\n".repeat(1000)
    }

    #[test]
    fn what_is_repeated_is_short_and_printable() {
        let (text, other) = (nasty(), "x".repeat(10_000));
        let shown = [
            unknown("key", &text, &[]).to_string(),
            unknown("link", &other, &vec![other.as_str(); 1000]).to_string(),
            quoted(&text),
            key(&text),
            key(&other),
            listed(&[&text, &other]),
            message(&text),
            number(f64::MAX),
            number(-f64::MIN_POSITIVE),
        ];
        for text in shown {
            assert!(text.chars().all(|c| c == ' ' || c.is_ascii_graphic()), "{text:?}");
            assert!(text.len() < 5000, "{} bytes", text.len());
        }
    }

    #[test]
    fn what_reads_well_stays_as_it_is() {
        assert_eq!(quoted("Zürich \"β\""), r#""Zürich \"β\"""#);
        assert_eq!(key("access_delay"), "access_delay");
        assert_eq!(key("a.b"), "\"a.b\"");
        assert_eq!(key(""), "\"\"");
        assert_eq!(listed(&["a \"b\"", "c"]), "a \"b\", c");
        assert_eq!(listed(&vec!["a"; 61]).split(", ").last(), Some("... (61 in all)"));
        assert_eq!(message("expected `\"`,\n  found `'`"), "expected `\"`, found `'`");
        assert_eq!([1e-6, 0.25, 7.0, 1e300, 0.0].map(number), ["0.000001", "0.25", "7", "1e300", "0"]);
    }
}
