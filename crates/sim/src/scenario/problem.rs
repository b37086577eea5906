//! What is wrong with a scenario, in one line.

use std::fmt;

/// The first thing found wrong with a scenario.
///
/// Displays as one line, `links[0].rate: "100" has no unit; write e.g. "100 Mbit/s"`; whoever knows the file's name puts
/// it, and `line`, in front.
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
pub(super) fn unknown(thing: &str, found: &str, allowed: &[&str]) -> String {
    let hint = nearest(found, allowed).map_or(String::new(), |name| format!("; did you mean {name:?}?"));
    let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
    format!("unknown {thing} {}{hint} (allowed: {allowed})", quoted(found))
}

/// Text as it is shown in messages: in quotes, control characters escaped, cut when long.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The name most like `found`, unless none is at all like it.
fn nearest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
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

    #[test]
    fn messages_stay_on_one_line() {
        let message = unknown("key", &"a\nb".repeat(100), &[]);
        assert!(!message.contains('\n') && message.len() < 200, "{message}");
    }
}
