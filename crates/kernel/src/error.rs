//! Why an object cannot be used, or a program not go on: each in one line.

use std::fmt;

/// Fault of an object file or of a request to it: one line, to be shown after the file's name.
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

/// A program did something forbidden, or something that the simulator lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The member of `tcp_congestion_ops` that was called.
    pub member: &'static str,
    /// The instruction, counted from the beginning of its section; and the section.
    pub at: (String, usize),
    /// Its action.
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
