//! Parameters of algorithms and queues: declarations, values, and the rule that decides which value holds.
//!
//! A value that a scenario gives wins over the default of a variant, which wins over the general default ([`Params::value`]).

use crate::time::Nanos;
use core::fmt;

/// Registry entry of an algorithm, built by [`Info::new`] and the methods named after the fields. More fields may come.
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
    /// Name in scenarios.
    pub name: &'static str,
    /// Authors, title, venue, year; or the RFC.
    pub paper: &'static str,
    /// Congestion signal.
    pub group: Group,
    /// Loss recovery that the paper assumes, by its name in scenarios; `"sack"` where the paper is silent.
    pub recovery: &'static str,
    /// Whether slow start is part of the algorithm, so that no [`SlowStart`](crate::SlowStart) can replace it.
    pub own_slow_start: bool,
    /// ECN that the algorithm is made for; `None` where it answers a mark as a loss, or not at all.
    pub ecn: Option<MadeForEcn>,
    /// Parameters.
    pub params: &'static [Param],
}

impl Info {
    /// Entry with defaults: signal loss, recovery "sack", the common slow start, no ECN, and no parameters.
    pub const fn new(name: &'static str, paper: &'static str) -> Info {
        Info { name, paper, group: Group::Loss, recovery: "sack", own_slow_start: false, ecn: None, params: &[] }
    }

    /// Copy with another congestion signal.
    #[must_use]
    pub const fn group(self, group: Group) -> Info {
        Info { group, ..self }
    }

    /// Copy with another recovery.
    #[must_use]
    pub const fn recovery(self, recovery: &'static str) -> Info {
        Info { recovery, ..self }
    }

    /// Copy with its own slow start, or the common one.
    #[must_use]
    pub const fn own_slow_start(self, own_slow_start: bool) -> Info {
        Info { own_slow_start, ..self }
    }

    /// Copy made for this ECN.
    #[must_use]
    pub const fn ecn(self, ecn: Option<MadeForEcn>) -> Info {
        Info { ecn, ..self }
    }

    /// Copy with these parameters.
    #[must_use]
    pub const fn params(self, params: &'static [Param]) -> Info {
        Info { params, ..self }
    }
}

/// ECN that an algorithm is made for. The sender defines the kinds.
///
/// ```
/// use fullpipe_cc::params::MadeForEcn;
/// use fullpipe_cc::registry::find;
///
/// let ecn = |name| find(name).and_then(|info| info.ecn);
/// assert_eq!(ecn("dctcp"), Some(MadeForEcn { kind: "accurate", ect: 0 }), "RFC 8257: ECT(0)");
/// assert_eq!(ecn("prague").map(|ecn| ecn.ect), Some(1), "RFC 9331: ECT(1)");
/// assert_eq!(ecn("cubic"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeForEcn {
    /// The kind, by the name scenarios use.
    pub kind: &'static str,
    /// The codepoint of its packets: 0 for ECT(0), 1 for ECT(1).
    pub ect: u8,
}

/// Congestion signal by which an algorithm sets its window. All but some models also answer losses.
///
/// ```
/// use fullpipe_cc::params::Group;
/// use fullpipe_cc::registry;
///
/// assert_eq!(registry::find("vegas").map(|info| info.group), Some(Group::Delay));
/// let models = registry::ALL.iter().filter(|info| info.group == Group::Model);
/// assert_eq!(models.map(|info| info.name).collect::<Vec<_>>(), ["bbr", "bbr3"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// Losses: queueing delay neither slows growth nor changes the multiplicative decrease.
    Loss,
    /// Queueing delay; where that works, losses are exceptions.
    Delay,
    /// Both: losses decide when the window falls, and queueing delay by how much, or how fast it grows.
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

/// Parameter of an algorithm or a queue. More fields may come.
///
/// ```
/// use fullpipe_cc::params::{Kind, Param, Unset, Value};
///
/// const GAIN: Param = Param::number("gain", 0.25, 0.0, 1.0, "Part of the error that is corrected.").unit("1/RTT");
/// assert_eq!((GAIN.default, GAIN.unit), (Some(Value::Number(0.25)), "1/RTT"));
/// assert_eq!(GAIN.kind, Kind::Number { min: 0.0, max: 1.0 });
/// const MARK: Param = Param::time("mark", 0, 0, 100, "Delay that is marked.").unset(Unset::Word("off"));
/// assert_eq!((MARK.unset, MARK.default), (Unset::Word("off"), None));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Param {
    /// Name in scenarios.
    pub name: &'static str,
    /// Unit of a plain number; "1" for a ratio or a count. Values of the other kinds are written with their unit.
    pub unit: &'static str,
    /// Values that are allowed.
    pub kind: Kind,
    /// Value that holds where a scenario gives none; `None` where there is no value, as [`Param::unset`] explains.
    pub default: Option<Value>,
    /// Defaults of variants, which win over [`Param::default`]: the name of the variant, as the parameter [`VARIANT`] has it, and the value.
    pub variants: &'static [(&'static str, Value)],
    /// Default that follows from other parameters; it wins over [`Param::default`], and a variant's default wins over it.
    pub derived: Option<Derived>,
    /// Meaning of no value, for parameters without a default.
    pub unset: Unset,
    /// Meaning, in a sentence.
    pub doc: &'static str,
    /// Source of the default: paper and equation, or RFC and section.
    pub source: &'static str,
}

/// Name of the parameter whose value selects the defaults of [`Param::variants`].
pub const VARIANT: &str = "variant";

/// Default that follows from other parameters.
pub type Derived = fn(&Params) -> Value;

/// Meaning of a parameter without a value.
///
/// Example: see [`Param`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// Never without a value.
    Never,
    /// State that a scenario writes as this word, for example "off".
    Word(&'static str),
    /// The scenario's packet size, bytes.
    PacketSize,
}

impl Param {
    /// Parameter without a unit, whose default is the author's own choice.
    pub const fn new(name: &'static str, kind: Kind, default: Option<Value>, doc: &'static str) -> Param {
        let unset = Unset::Never;
        Param { name, unit: "1", kind, default, variants: &[], derived: None, unset, doc, source: "the author" }
    }

    /// Number from `min` to `max`.
    pub const fn number(name: &'static str, default: f64, min: f64, max: f64, doc: &'static str) -> Param {
        Param::new(name, Kind::Number { min, max }, Some(Value::Number(default)), doc)
    }

    /// Whole number from `min` to `max`.
    pub const fn whole(name: &'static str, default: u64, min: u64, max: u64, doc: &'static str) -> Param {
        Param::new(name, Kind::Whole { min, max }, Some(Value::Whole(default)), doc)
    }

    /// Time from `min` to `max`.
    pub const fn time(name: &'static str, default: Nanos, min: Nanos, max: Nanos, doc: &'static str) -> Param {
        Param::new(name, Kind::Time { min, max }, Some(Value::Time(default)), doc)
    }

    /// Number of packets from `min` to `max`.
    pub const fn packets(name: &'static str, default: u64, min: u64, max: u64, doc: &'static str) -> Param {
        Param::new(name, Kind::Packets { min, max }, Some(Value::Packets(default)), doc)
    }

    /// Number of bytes from `min` to `max`.
    pub const fn bytes(name: &'static str, default: u64, min: u64, max: u64, doc: &'static str) -> Param {
        Param::new(name, Kind::Bytes { min, max }, Some(Value::Bytes(default)), doc)
    }

    /// Switch, on or off.
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Param {
        Param::new(name, Kind::Flag, Some(Value::Flag(default)), doc)
    }

    /// One of several names, of which the first is the default.
    pub const fn choice(name: &'static str, names: &'static [&'static str], doc: &'static str) -> Param {
        Param::new(name, Kind::Choice(names), Some(Value::Name(names[0])), doc)
    }

    /// Copy with another unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Param {
        Param { unit, ..self }
    }

    /// Copy with the source of the default.
    #[must_use]
    pub const fn source(self, source: &'static str) -> Param {
        Param { source, ..self }
    }

    /// Copy with defaults of variants.
    #[must_use]
    pub const fn variants(self, variants: &'static [(&'static str, Value)]) -> Param {
        Param { variants, ..self }
    }

    /// Copy with a default that follows from other parameters.
    #[must_use]
    pub const fn derived(self, derived: Derived) -> Param {
        Param { derived: Some(derived), default: None, ..self }
    }

    /// Copy without a default.
    #[must_use]
    pub const fn unset(self, unset: Unset) -> Param {
        Param { unset, default: None, ..self }
    }
}

/// Equality of everything but the function behind [`Param::derived`], of which only the presence counts.
impl PartialEq for Param {
    fn eq(&self, other: &Param) -> bool {
        let parts = |param: &Param| {
            let Param { name, unit, kind, default, variants, derived, unset, doc, source } = *param;
            ((name, unit, kind, default), (variants, derived.is_some(), unset), (doc, source))
        };
        parts(self) == parts(other)
    }
}

/// Values that a parameter allows; bounds are allowed values.
///
/// ```
/// use fullpipe_cc::params::{Kind, Value};
///
/// let kind = Kind::Choice(&["binary", "smooth"]);
/// assert_eq!(kind.named("smooth"), Some(Value::Name("smooth")));
/// assert!(kind.admits(Value::Name("binary")) && !kind.admits(Value::Name("other")));
/// assert!(!Kind::Number { min: 0.1, max: 0.99 }.admits(Value::Number(1.5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Plain number.
    Number {
        /// Least value allowed.
        min: f64,
        /// Greatest value allowed.
        max: f64,
    },
    /// Plain whole number.
    Whole {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// Time, written with its unit (`"5 ms"`).
    Time {
        /// Least value allowed.
        min: Nanos,
        /// Greatest value allowed.
        max: Nanos,
    },
    /// Whole number of packets, written with its unit (`"65 packets"`).
    Packets {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// Amount of data, written with its unit (`"1514 B"`).
    Bytes {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// Rate in bits per second, written with its unit (`"10 Mbit/s"`).
    Rate {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// Packets or a time; the unit decides.
    PacketsOrTime,
    /// On or off.
    Flag,
    /// One of several names.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// Whether `value` is of this kind and in range.
    pub fn admits(&self, value: Value) -> bool {
        match (self, value) {
            (Kind::Number { min, max }, Value::Number(x)) => x >= *min && x <= *max,
            (Kind::Whole { min, max }, Value::Whole(n))
            | (Kind::Time { min, max }, Value::Time(n))
            | (Kind::Packets { min, max }, Value::Packets(n))
            | (Kind::Bytes { min, max }, Value::Bytes(n))
            | (Kind::Rate { min, max }, Value::Rate(n)) => (min..=max).contains(&&n),
            (Kind::PacketsOrTime, Value::Packets(_) | Value::Time(_)) | (Kind::Flag, Value::Flag(_)) => true,
            (Kind::Choice(names), Value::Name(x)) => names.contains(&x),
            _ => false,
        }
    }

    /// Choice of this name; `None` if there is no such choice.
    pub fn named(&self, name: &str) -> Option<Value> {
        match self {
            Kind::Choice(names) => names.iter().find(|known| **known == name).map(|known| Value::Name(known)),
            _ => None,
        }
    }
}

/// Value of a parameter.
///
/// Example: see [`Params`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Whole`].
    Whole(u64),
    /// For [`Kind::Time`] and [`Kind::PacketsOrTime`].
    Time(Nanos),
    /// For [`Kind::Packets`] and [`Kind::PacketsOrTime`].
    Packets(u64),
    /// For [`Kind::Bytes`].
    Bytes(u64),
    /// For [`Kind::Rate`].
    Rate(u64),
    /// For [`Kind::Flag`].
    Flag(bool),
    /// For [`Kind::Choice`].
    Name(&'static str),
}

/// Reason why a controller cannot be built.
///
/// ```
/// use fullpipe_cc::build;
/// use fullpipe_cc::params::{Error, Value};
///
/// assert_eq!(build("cubik", &[], 10.0).unwrap_err(), Error::UnknownAlgorithm("cubik"));
/// let given = [("gamma", Value::Number(1.0))];
/// assert_eq!(build("cubic", &given, 10.0).unwrap_err().to_string(), "unknown parameter \"gamma\"");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error<'a> {
    /// No algorithm has this name.
    UnknownAlgorithm(&'a str),
    /// The algorithm has no parameter of this name.
    UnknownParam(&'a str),
    /// The value is not of the parameter's [`Kind`].
    BadValue(&'static Param),
}

impl fmt::Display for Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (name, kind) = match self {
            Error::UnknownAlgorithm(name) => return write!(f, "unknown algorithm {name:?}"),
            Error::UnknownParam(name) => return write!(f, "unknown parameter {name:?}"),
            Error::BadValue(param) => (param.name, &param.kind),
        };
        match kind {
            Kind::Number { min, max } => write!(f, "{name} must be in [{min}, {max}]"),
            Kind::Whole { min, max } => write!(f, "{name} must be a whole number in [{min}, {max}]"),
            Kind::Time { min, max } => write!(f, "{name} must be a time in [{min}, {max}] ns"),
            Kind::Packets { min, max } => write!(f, "{name} must be in [{min}, {max}] packets"),
            Kind::Bytes { min, max } => write!(f, "{name} must be in [{min}, {max}] bytes"),
            Kind::Rate { min, max } => write!(f, "{name} must be in [{min}, {max}] bit/s"),
            Kind::PacketsOrTime => write!(f, "{name} must be packets or a time"),
            Kind::Flag => write!(f, "{name} must be true or false"),
            Kind::Choice(names) => write!(f, "{name} must be one of {names:?}"),
        }
    }
}

impl core::error::Error for Error<'_> {}

/// Values of all parameters of one algorithm or queue: those given, and defaults for the rest.
///
/// ```
/// use fullpipe_cc::algorithms::cubic::CUBIC;
/// use fullpipe_cc::params::{Params, Value};
///
/// let given = [("beta", Value::Number(0.85))];
/// let params = Params::checked(&CUBIC, &given)?;
/// assert_eq!((params.number("beta"), params.number("c")), (0.85, 0.4), "given, and the default of RFC 9438");
/// assert!(Params::defaults(&CUBIC).flag("fast_convergence"));
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    owner: &'static str,
    declared: &'static [Param],
    given: &'a [(&'a str, Value)],
}

impl<'a> Params<'a> {
    /// Values given for the parameters `declared` of `owner`; not checked.
    pub const fn new(owner: &'static str, declared: &'static [Param], given: &'a [(&'a str, Value)]) -> Params<'a> {
        Params { owner, declared, given }
    }

    /// Defaults of an algorithm.
    pub const fn defaults(info: &'static Info) -> Params<'static> {
        Params::new(info.name, info.params, &[])
    }

    /// Values given for an algorithm.
    ///
    /// # Errors
    /// An unknown name, or a value that is not allowed.
    pub fn checked<'n: 'a>(info: &'static Info, given: &'a [(&'n str, Value)]) -> Result<Params<'a>, Error<'n>> {
        for &(name, value) in given {
            let param = info.params.iter().find(|p| p.name == name).ok_or(Error::UnknownParam(name))?;
            if !param.kind.admits(value) {
                return Err(Error::BadValue(param));
            }
        }
        Ok(Params::new(info.name, info.params, given))
    }

    /// Declarations of the parameters.
    pub fn declared(&self) -> &'static [Param] {
        self.declared
    }

    /// Value of the parameter called `name`: the one given, otherwise its default. `None` means [`Param::unset`].
    ///
    /// # Panics
    /// No such parameter is declared, which is a fault of the algorithm's own file. The methods below panic too if the parameter is of
    /// another kind.
    pub fn value(&self, name: &str) -> Option<Value> {
        self.given(name).or_else(|| self.default(self.param(name)))
    }

    /// Default of a declared parameter: the variant's, the one that follows from other parameters, or the general one, in this order.
    pub fn default(&self, param: &Param) -> Option<Value> {
        if param.variants.is_empty() && param.derived.is_none() {
            return param.default;
        }
        let of_variant = || {
            let variant = self.declared.iter().any(|param| param.name == VARIANT).then(|| self.choice(VARIANT))?;
            param.variants.iter().find(|(name, _)| *name == variant).map(|(_, value)| *value)
        };
        of_variant().or_else(|| param.derived.map(|derived| derived(self))).or(param.default)
    }

    /// Number, count of packets, or bytes called `name`.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(x)) => x,
            Some(Value::Packets(n) | Value::Bytes(n) | Value::Whole(n)) => n as f64,
            other => self.fault(name, "number", other),
        }
    }

    /// Whole number, count of packets, or bytes called `name`.
    pub fn whole(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Packets(n) | Value::Bytes(n) | Value::Whole(n)) => n,
            other => self.fault(name, "whole number", other),
        }
    }

    /// Time called `name`.
    pub fn time(&self, name: &str) -> Nanos {
        match self.value(name) {
            Some(Value::Time(nanos)) => nanos,
            other => self.fault(name, "time", other),
        }
    }

    /// Flag called `name`.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Flag(flag)) => flag,
            other => self.fault(name, "flag", other),
        }
    }

    /// Name chosen for `name`.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.value(name) {
            Some(Value::Name(choice)) => choice,
            other => self.fault(name, "choice", other),
        }
    }

    /// Value of `name` as `read` returns it, one of the methods above; `None` where the parameter has no value.
    pub fn optional<T>(&self, name: &str, read: fn(&Self, &str) -> T) -> Option<T> {
        self.value(name).map(|_| read(self, name))
    }

    fn given(&self, name: &str) -> Option<Value> {
        self.given.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    fn param(&self, name: &str) -> &'static Param {
        let found = self.declared.iter().find(|param| param.name == name);
        found.unwrap_or_else(|| panic!("{}: no parameter {name}", self.owner))
    }

    fn fault(&self, name: &str, expected: &str, found: Option<Value>) -> ! {
        panic!("{}: {name} is {found:?}, not a {expected}", self.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gain whose default a variant decides, and two times of which one follows from the other.
    const DECLARED: &[Param] = &[
        Param::choice(VARIANT, &["paper", "linux"], "Rules."),
        Param::number("gain", 0.5, 0.0, 1.0, "Gain.").variants(&[("linux", Value::Number(0.25))]),
        Param::time("target", 8, 1, 100, "Target."),
        Param::time("update", 0, 1, 100, "Half the target.")
            .derived(|params| Value::Time(params.time("target") / 2))
            .variants(&[("linux", Value::Time(16))]),
        Param::time("threshold", 0, 0, 100, "Threshold.").unset(Unset::Word("off")),
    ];
    const LINUX: (&str, Value) = (VARIANT, Value::Name("linux"));

    fn params<'a>(given: &'a [(&'a str, Value)]) -> Params<'a> {
        Params::new("test", DECLARED, given)
    }

    #[test]
    fn given_values_win_over_variants_and_variants_over_other_defaults() {
        assert_eq!((params(&[]).number("gain"), params(&[]).time("update")), (0.5, 4));
        let longer = [("target", Value::Time(20))];
        assert_eq!(params(&longer).time("update"), 10);
        let linux = [LINUX, ("target", Value::Time(20))];
        assert_eq!((params(&linux).number("gain"), params(&linux).time("update")), (0.25, 16));
        let general = [LINUX, ("gain", Value::Number(0.5)), ("update", Value::Time(4))];
        assert_eq!((params(&general).number("gain"), params(&general).time("update")), (0.5, 4));
    }

    #[test]
    fn a_parameter_without_a_default_has_no_value_until_one_is_given() {
        assert_eq!(params(&[]).optional("threshold", Params::time), None);
        assert_eq!(params(&[("threshold", Value::Time(0))]).optional("threshold", Params::time), Some(0));
    }

    #[test]
    #[should_panic(expected = "test: gain is Some(Number(0.5)), not a time")]
    fn a_value_of_another_kind_is_a_fault_of_the_declaration() {
        params(&[]).time("gain");
    }

    #[test]
    fn bounds_are_allowed_and_values_beyond_are_not() {
        for (kind, inside, outside) in [
            (Kind::Time { min: 1, max: 9 }, [Value::Time(1), Value::Time(9)], [Value::Time(0), Value::Time(10)]),
            (Kind::Bytes { min: 1, max: 9 }, [Value::Bytes(1), Value::Bytes(9)], [Value::Bytes(10), Value::Whole(1)]),
            (Kind::PacketsOrTime, [Value::Packets(0), Value::Time(0)], [Value::Bytes(1), Value::Number(1.0)]),
        ] {
            assert!(inside.iter().all(|value| kind.admits(*value)), "{kind:?}");
            assert!(!outside.iter().any(|value| kind.admits(*value)), "{kind:?}");
        }
    }
}
