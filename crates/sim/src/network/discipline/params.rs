//! What a queueing discipline may be told: its parameters with units, defaults and sources.

use fullpipe_cc::Nanos;

/// What is known of a discipline before it runs.
#[derive(Debug)]
pub struct Info {
    /// The name scenarios use.
    pub name: &'static str,
    /// The RFC or paper it follows.
    pub source: &'static str,
    /// The parameters it takes.
    pub params: &'static [Param],
    /// Whether it marks ECN-capable packets, set so.
    pub marks: fn(&Settings) -> bool,
    /// What of several parameters does not go together: the one, how it should stand to the other ("below"), and that.
    pub conflict: fn(&Settings) -> Option<(&'static str, &'static str, &'static str)>,
}

/// A parameter of a discipline.
#[derive(Debug, PartialEq)]
pub struct Param {
    /// The name scenarios use.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// When a scenario is silent; `None` where the discipline works it out from the link, as its `doc` says.
    pub default: Option<Value>,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Where the default comes from: paper and section, RFC and section.
    pub source: &'static str,
}

/// The values a parameter takes; bounds are allowed values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A time, written with its unit (`"5 ms"`).
    Time {
        /// Least value allowed.
        min: Nanos,
        /// Greatest value allowed.
        max: Nanos,
    },
    /// A whole number of packets, written with its unit (`"65 packets"`).
    Packets {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// An amount of data, written with its unit (`"1514 B"`).
    Bytes {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// Packets or a time, whichever unit is written.
    PacketsOrTime,
    /// A plain number.
    Number {
        /// Least value allowed.
        min: f64,
        /// Greatest value allowed.
        max: f64,
    },
    /// A plain whole number.
    Whole {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// On or off.
    Flag,
    /// One of several names.
    Choice(&'static [&'static str]),
}

/// A parameter's value, in the engine's units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// For [`Kind::Time`] and [`Kind::PacketsOrTime`].
    Time(Nanos),
    /// For [`Kind::Packets`] and [`Kind::PacketsOrTime`].
    Packets(u64),
    /// For [`Kind::Bytes`].
    Bytes(u64),
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Whole`].
    Whole(u64),
    /// For [`Kind::Flag`].
    Flag(bool),
    /// For [`Kind::Choice`].
    Name(&'static str),
}

/// What a scenario says of a discipline's parameters; defaults for the rest. Already checked against them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The discipline.
    pub info: &'static Info,
    /// Parameters that differ from their defaults, in the order of [`Info::params`].
    pub given: Vec<(&'static str, Value)>,
}

impl PartialEq for Settings {
    fn eq(&self, other: &Settings) -> bool {
        (self.info.name, &self.given) == (other.info.name, &other.given)
    }
}

impl Settings {
    /// All defaults.
    pub fn defaults(info: &'static Info) -> Settings {
        Settings { info, given: Vec::new() }
    }

    /// The value of `name`; `None` where it is to be worked out. Panics, as the methods below do, if the discipline declares no such
    /// parameter: a fault of the discipline's own file.
    pub fn value(&self, name: &str) -> Option<Value> {
        let given = self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);
        let declared = self.info.params.iter().find(|param| param.name == name);
        given.or(declared.unwrap_or_else(|| panic!("{}: no parameter {name}", self.info.name)).default)
    }

    /// The time called `name`.
    pub fn time(&self, name: &str) -> Nanos {
        match self.value(name) {
            Some(Value::Time(nanos)) => nanos,
            other => self.fault(name, "time", other),
        }
    }

    /// The number, packets or bytes called `name`.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(x)) => x,
            Some(Value::Packets(n) | Value::Bytes(n) | Value::Whole(n)) => n as f64,
            other => self.fault(name, "number", other),
        }
    }

    /// The whole number, packets or bytes called `name`.
    pub fn whole(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Packets(n) | Value::Bytes(n) | Value::Whole(n)) => n,
            other => self.fault(name, "whole number", other),
        }
    }

    /// The flag called `name`.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Flag(flag)) => flag,
            other => self.fault(name, "flag", other),
        }
    }

    /// The name chosen for `name`.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.value(name) {
            Some(Value::Name(choice)) => choice,
            other => self.fault(name, "name", other),
        }
    }

    /// The value of `name` as `read` has it, one of the methods above; `None` where it is to be worked out.
    pub fn given<T>(&self, name: &str, read: fn(&Settings, &str) -> T) -> Option<T> {
        self.value(name).map(|_| read(self, name))
    }

    /// For [`Info::conflict`]: two numbers, both known, of which the first is not below the second.
    pub fn not_below(
        &self,
        low: &'static str,
        high: &'static str,
    ) -> Option<(&'static str, &'static str, &'static str)> {
        let (least, most) = (self.given(low, Settings::number)?, self.given(high, Settings::number)?);
        (least >= most).then_some((low, "below", high))
    }

    /// For [`Info::conflict`]: two numbers of which the first is above the second.
    pub fn above(&self, low: &'static str, high: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
        (self.number(low) > self.number(high)).then_some((low, "at most", high))
    }

    fn fault(&self, name: &str, expected: &str, found: Option<Value>) -> ! {
        panic!("{}: {name} is {found:?}, no {expected}", self.info.name)
    }
}
