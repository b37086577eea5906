//! Faults of a scenario's data, each with its key, the value found, and the values allowed.

use crate::scenario::problem::{number, unknown};
use crate::scenario::units::{DATA, PACKETS, RATE, TIME};
use fullpipe_cc::Nanos;
use std::fmt;

/// First fault that [`Scenario::check`](super::Scenario::check) finds. Displays as one line, for example
/// `links[0].rate must be in [1 bit/s, 10000 Gbit/s], got 0 bit/s`.
///
/// Example: see [`Scenario::check`](super::Scenario::check).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Invalid {
    /// Value outside its interval, NaN included.
    OutOfRange {
        /// Key, for example `links[0].rate`.
        key: String,
        /// Value found.
        got: Amount,
        /// Values allowed.
        allowed: Interval,
    },
    /// Name that nothing has.
    Unknown {
        /// Key, for example `flows[0].algorithm`.
        key: String,
        /// Kind of thing, for example `algorithm`.
        thing: &'static str,
        /// Name found.
        name: String,
        /// Names allowed.
        allowed: Vec<String>,
    },
    /// Missing or wrong part that a key needs.
    Requires {
        /// Key that needs it.
        key: String,
        /// Needed part, for example `aggregation`.
        what: String,
    },
    /// Two values that exclude each other.
    Conflict {
        /// Key of one.
        key: String,
        /// Key of the other.
        with: String,
    },
}

/// Value with its dimension.
///
/// ```
/// use fullpipe_sim::model::{Amount, Interval};
///
/// assert_eq!(Amount::Rate(10_000_000).to_string(), "10 Mbit/s");
/// let allowed = Interval { least: Amount::Number(0.0), most: Amount::Number(1.0), with_least: true, with_most: false };
/// assert_eq!(allowed.to_string(), "[0, 1)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Amount {
    /// Nanoseconds.
    Time(Nanos),
    /// Bits per second.
    Rate(u64),
    /// Bytes.
    Bytes(u64),
    /// Packets or segments.
    Packets(u64),
    /// Plain whole number.
    Whole(u64),
    /// Plain number.
    Number(f64),
}

/// Interval of allowed values.
///
/// Example: see [`Amount`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Least value.
    pub least: Amount,
    /// Greatest value.
    pub most: Amount,
    /// The least value itself is allowed.
    pub with_least: bool,
    /// The greatest value itself is allowed.
    pub with_most: bool,
}

impl Invalid {
    /// Key at fault.
    pub fn key(&self) -> &str {
        match self {
            Invalid::OutOfRange { key, .. }
            | Invalid::Unknown { key, .. }
            | Invalid::Requires { key, .. }
            | Invalid::Conflict { key, .. } => key,
        }
    }

    /// Fault without its key, for messages that begin with the key.
    pub(crate) fn without_key(&self) -> String {
        let line = self.to_string();
        line.strip_prefix(self.key()).unwrap_or(&line).trim_start_matches([':', ' ']).to_owned()
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Invalid::OutOfRange { key, got, allowed } => write!(f, "{key} must be in {allowed}, got {got}"),
            Invalid::Unknown { key, thing, name, allowed } => {
                let names: Vec<&str> = allowed.iter().map(String::as_str).collect();
                write!(f, "{key}: {}", unknown(thing, name, &names))
            }
            Invalid::Requires { key, what } => write!(f, "{key} requires {what}"),
            Invalid::Conflict { key, with } => write!(f, "{key} conflicts with {with}"),
        }
    }
}

impl std::error::Error for Invalid {}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&match *self {
            Amount::Time(nanos) => TIME.format(nanos),
            Amount::Rate(0) => "0 bit/s".to_owned(),
            Amount::Bytes(0) => "0 B".to_owned(),
            Amount::Rate(bps) => RATE.format(bps),
            Amount::Bytes(bytes) => DATA.format(bytes),
            Amount::Packets(packets) => PACKETS.format(packets),
            Amount::Whole(n) => n.to_string(),
            Amount::Number(x) => number(x),
        })
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (open, close) = (if self.with_least { '[' } else { '(' }, if self.with_most { ']' } else { ')' });
        write!(f, "{open}{}, {}{close}", self.least, self.most)
    }
}
