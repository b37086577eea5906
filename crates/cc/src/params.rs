//! What is known of an algorithm before it runs, and the values its parameters are given.

use core::fmt;

/// What is known of an algorithm before it runs. Put together with [`Info::new`] and the methods named after the fields; more fields may
/// come.
///
/// ```
/// use fullpipe_cc::params::{Info, Param};
///
/// const AIMD: Info = Info::new("my-aimd", "none yet").recovery("sack").params(&[
///     Param::number("alpha", 1.0, 0.1, 10.0, "Increase a round trip, segments."),
///     Param::number("beta", 0.5, 0.1, 0.9, "Part of the window that a loss leaves."),
/// ]);
/// assert_eq!(AIMD.params[1].name, "beta");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Info {
    /// The name scenarios use.
    pub name: &'static str,
    /// Authors, title, venue, year; or the RFC.
    pub paper: &'static str,
    /// What it answers to.
    pub group: Group,
    /// The loss recovery its paper assumes, by the name scenarios use; `"sack"` where it does not say. Which there are is the
    /// sender's business.
    pub recovery: &'static str,
    /// It has a slow start of its own, in whose place no [`SlowStart`](crate::SlowStart) can stand.
    pub own_slow_start: bool,
    /// The ECN it is made for; `None` where a mark is to it what a loss is, or nothing.
    pub ecn: Option<MadeForEcn>,
    /// The parameters it takes.
    pub params: &'static [Param],
}

impl Info {
    /// One that answers to losses, of SACK's recovery, without a slow start of its own, an ECN it is made for, or parameters.
    pub const fn new(name: &'static str, paper: &'static str) -> Info {
        Info { name, paper, group: Group::Loss, recovery: "sack", own_slow_start: false, ecn: None, params: &[] }
    }

    /// The same of another group.
    #[must_use]
    pub const fn group(self, group: Group) -> Info {
        Info { group, ..self }
    }

    /// The same with another recovery.
    #[must_use]
    pub const fn recovery(self, recovery: &'static str) -> Info {
        Info { recovery, ..self }
    }

    /// The same with a slow start of its own, or without.
    #[must_use]
    pub const fn own_slow_start(self, own_slow_start: bool) -> Info {
        Info { own_slow_start, ..self }
    }

    /// The same, made for this ECN.
    #[must_use]
    pub const fn ecn(self, ecn: Option<MadeForEcn>) -> Info {
        Info { ecn, ..self }
    }

    /// The same with these parameters.
    #[must_use]
    pub const fn params(self, params: &'static [Param]) -> Info {
        Info { params, ..self }
    }
}

/// The ECN that an algorithm is made for. Which kinds there are is the sender's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeForEcn {
    /// The kind, by the name scenarios use.
    pub kind: &'static str,
    /// The codepoint of its packets: 0 for ECT(0), 1 for ECT(1).
    pub ect: u8,
}

/// What an algorithm answers to: the sign by which it sets its window. A loss is answered by all but some models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// Losses: the delay of queues neither slows its growth nor says how much a loss takes.
    Loss,
    /// The delay of queues; where that works, losses are exceptions.
    Delay,
    /// Both: losses say when the window falls, and the delay by how much, or how fast it grows.
    Both,
    /// A model of the path, from rates of delivery and RTTs.
    Model,
    /// How many packets are marked (ECN), beyond whether any is.
    Ecn,
}

impl Group {
    /// Every group, in the order in which they are listed.
    pub const ALL: [Group; 5] = [Group::Loss, Group::Delay, Group::Both, Group::Model, Group::Ecn];

    /// The name that lists use.
    pub fn name(self) -> &'static str {
        match self {
            Group::Loss => "loss",
            Group::Delay => "delay",
            Group::Both => "both",
            Group::Model => "model",
            Group::Ecn => "ECN",
        }
    }
}

/// A parameter of an algorithm. More fields may come.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Param {
    /// The name scenarios use.
    pub name: &'static str,
    /// The unit; "1" for a plain ratio or count without one.
    pub unit: &'static str,
    /// What values it takes, and the one it has when a scenario is silent.
    pub kind: Kind,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Where the default comes from: paper and equation, RFC and section.
    pub source: &'static str,
}

impl Param {
    /// A parameter without a unit, whose default the algorithm's own author chose.
    pub const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Param {
        Param { name, unit: "1", kind, doc, source: "the author" }
    }

    /// A number from `min` to `max`.
    pub const fn number(name: &'static str, default: f64, min: f64, max: f64, doc: &'static str) -> Param {
        Param::new(name, Kind::Number { default, min, max }, doc)
    }

    /// Something that is on or off.
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Param {
        Param::new(name, Kind::Flag { default }, doc)
    }

    /// The same in this unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Param {
        Param { unit, ..self }
    }

    /// The same with where the default comes from.
    #[must_use]
    pub const fn source(self, source: &'static str) -> Param {
        Param { source, ..self }
    }
}

/// The values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number from `min` to `max`, both allowed.
    Number {
        /// When a scenario is silent.
        default: f64,
        /// Least value allowed.
        min: f64,
        /// Greatest value allowed.
        max: f64,
    },
    /// On or off.
    Flag {
        /// When a scenario is silent.
        default: bool,
    },
    /// One of several names; the first is the default.
    Choice(&'static [&'static str]),
}

/// A value given for a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Flag`].
    Flag(bool),
    /// For [`Kind::Choice`].
    Name(&'a str),
}

/// Why a controller can't be built.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error<'a> {
    /// There is no algorithm of this name.
    UnknownAlgorithm(&'a str),
    /// The algorithm has no parameter of this name.
    UnknownParam(&'a str),
    /// The value is not of the parameter's [`Kind`].
    BadValue(&'static Param),
}

impl fmt::Display for Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::UnknownAlgorithm(name) => write!(f, "unknown algorithm {name:?}"),
            Error::UnknownParam(name) => write!(f, "unknown parameter {name:?}"),
            Error::BadValue(Param { name, kind: Kind::Number { min, max, .. }, .. }) => {
                write!(f, "{name}: not a number from {min} to {max}")
            }
            Error::BadValue(Param { name, kind: Kind::Flag { .. }, .. }) => write!(f, "{name}: neither true nor false"),
            Error::BadValue(Param { name, kind: Kind::Choice(names), .. }) => write!(f, "{name}: none of {names:?}"),
        }
    }
}

impl core::error::Error for Error<'_> {}

/// The parameters of one algorithm: what was given, and defaults for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    info: &'static Info,
    given: &'a [(&'a str, Value<'a>)],
}

impl<'a> Params<'a> {
    /// All defaults.
    pub fn defaults(info: &'static Info) -> Params<'static> {
        Params { info, given: &[] }
    }

    /// Checks what was given against the algorithm's parameters.
    pub fn checked<'n: 'a>(info: &'static Info, given: &'a [(&'n str, Value<'a>)]) -> Result<Params<'a>, Error<'n>> {
        for &(name, value) in given {
            let param = info.params.iter().find(|p| p.name == name).ok_or(Error::UnknownParam(name))?;
            if !param.kind.admits(value) {
                return Err(Error::BadValue(param));
            }
        }
        Ok(Params { info, given })
    }

    /// What is known of the algorithm.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// The number called `name`. Panics if the algorithm declares no such number: a fault of the algorithm's own file.
    pub fn number(&self, name: &str) -> f64 {
        match (self.given(name), self.declared(name)) {
            (Some(Value::Number(x)), _) => x,
            (None, Kind::Number { default, .. }) => default,
            _ => panic!("{}: {name} is not a number", self.info.name),
        }
    }

    /// The number given for `name`; `None` where its default holds, which another parameter may decide on. Panics as
    /// [`Params::number`] does.
    pub fn given_number(&self, name: &str) -> Option<f64> {
        let number = self.number(name);
        self.given(name).map(|_| number)
    }

    /// The flag called `name`; panics as [`Params::number`] does.
    pub fn flag(&self, name: &str) -> bool {
        match (self.given(name), self.declared(name)) {
            (Some(Value::Flag(x)), _) => x,
            (None, Kind::Flag { default }) => default,
            _ => panic!("{}: {name} is not a flag", self.info.name),
        }
    }

    /// The chosen name called `name`, as its index in [`Kind::Choice`]; panics as [`Params::number`] does.
    pub fn choice(&self, name: &str) -> usize {
        match (self.given(name), self.declared(name)) {
            (Some(Value::Name(x)), Kind::Choice(names)) => names.iter().position(|n| *n == x).expect("checked"),
            (None, Kind::Choice(_)) => 0,
            _ => panic!("{}: {name} is not a choice", self.info.name),
        }
    }

    fn given(&self, name: &str) -> Option<Value<'a>> {
        self.given.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    fn declared(&self, name: &str) -> Kind {
        self.info.params.iter().find(|p| p.name == name).expect("a declared parameter").kind
    }
}

impl Kind {
    /// Whether `value` is of this kind and in range.
    pub fn admits(&self, value: Value) -> bool {
        match (self, value) {
            (Kind::Number { min, max, .. }, Value::Number(x)) => x >= *min && x <= *max,
            (Kind::Flag { .. }, Value::Flag(_)) => true,
            (Kind::Choice(names), Value::Name(x)) => names.contains(&x),
            _ => false,
        }
    }
}
