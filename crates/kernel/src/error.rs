//! Why an object cannot be used, or a program not go on: each in one line.

use std::fmt;

/// What is wrong with an object file or with what was asked of it: one line, ready to be shown after the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Error {
        Error(line(&what.into()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Names come from the file, which may have anything in them.
pub(crate) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A program did what no program may, or what the simulator has nothing for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The member of `tcp_congestion_ops` that was called.
    pub member: &'static str,
    /// The instruction, counted from the beginning of its section; and the section.
    pub at: (String, usize),
    /// What it did.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Fault { member, at: (section, instruction), what } = self;
        write!(f, "{member} {what} (instruction {instruction} of {section})")
    }
}

impl std::error::Error for Fault {}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
