//! What is wrong with a scenario, in one line.

use std::fmt;

/// The first thing found wrong with a scenario.
///
/// Displays as one line, `links[0].rate: "100" has no unit; write e.g. "100 Mbit/s"`; whoever knows the file's name puts
/// it, and `line`, in front. What it repeats of the scenario is short and printable: see the functions below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `links[0].rate`; empty for a fault of the TOML text itself.
    pub key: String,
    /// What is wrong and what is allowed.
    pub what: String,
    /// Line of the TOML text, from 1; `None` for a scenario that did not come from text.
    pub line: Option<usize>,
}

impl Problem {
    pub(super) fn new(key: impl Into<String>, what: impl Into<String>) -> Self {
        Problem { key: key.into(), what: what.into(), line: None }
    }

    /// A problem with `key` of the table at `place`, or with the table where the key is empty.
    pub(crate) fn within(place: &str, name: &str, what: impl Into<String>) -> Self {
        let at = if name.is_empty() { place.to_owned() } else { format!("{place}.{}", key(name)) };
        Problem::new(at, what)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.key.is_empty() {
            return f.write_str(&self.what);
        }
        write!(f, "{}: {}", self.key, self.what)
    }
}

impl std::error::Error for Problem {}

/// `unknown algorithm "reon"; did you mean "reno"? (allowed: tahoe, reno)`
pub(crate) fn unknown(thing: &str, found: &str, allowed: &[&str]) -> String {
    let hint = nearest(found, allowed).map_or(String::new(), |name| format!("; did you mean {name:?}?"));
    let allowed = if allowed.is_empty() { "none".to_owned() } else { listed(allowed) };
    format!("unknown {thing} {}{hint} (allowed: {allowed})", quoted(found))
}

/// Characters of one piece of the scenario that a message repeats, at most.
const LONGEST: usize = 60;

/// Text as messages show it: in quotes, cut where it is long, and escaped where it could not be seen or would move what stands
/// about it (control characters, marks of direction).
pub(crate) fn quoted(text: &str) -> String {
    let (shown, rest) = cut(text, LONGEST);
    format!("{shown:?}{rest}")
}

/// A key as messages show it: as it is where it is short and needs no quotes in TOML, else as [`quoted`] shows it.
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

/// A number as messages show it: with an exponent where it would take dozens of digits.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 || (1e-6..1e16).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

/// A message of another library's, which may repeat parts of the scenario.
pub(crate) fn message(text: &str) -> String {
    const LONGEST: usize = 300;
    unquoted(&text.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST)
}

fn unquoted(text: &str, longest: usize) -> String {
    let (shown, rest) = cut(text, longest);
    // Quotes need no escape where none stand about the text.
    format!("{}{rest}", shown.escape_debug()).replace(r#"\""#, "\"").replace(r"\'", "'")
}

/// The first `longest` characters, and dots where there are more.
fn cut(text: &str, longest: usize) -> (&str, &'static str) {
    match text.char_indices().nth(longest) {
        Some((end, _)) => (&text[..end], "..."),
        None => (text, ""),
    }
}

/// The name most like `found`, unless none is at all like it.
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

    /// ESC, a mark that turns the direction of writing, a line break; and so much that it must be cut.
    fn nasty() -> String {
        "\u{1b}[31m\u{202e}\n".repeat(1000)
    }

    #[test]
    fn what_is_repeated_is_short_and_printable() {
        let (text, other) = (nasty(), "x".repeat(10_000));
        let shown = [
            unknown("key", &text, &[]),
            unknown("link", &other, &vec![other.as_str(); 1000]),
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
