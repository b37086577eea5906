//! Queueing disciplines as scenarios name them: the registry's entry of each, and the parameters given for one.

use fullpipe_cc::Nanos;
pub use fullpipe_cc::params::{Kind, Param, Params, Unset, Value};

/// Registry entry of a discipline.
///
/// ```
/// use fullpipe_sim::queues;
///
/// let red = queues::find("red").expect("a known queue");
/// let defaults: Vec<_> = red.params.iter().map(|param| (param.name, param.default)).collect();
/// assert_eq!(defaults[0], ("min_th", Some(queues::Value::Packets(5))), "Floyd and Jacobson 1993, section 5");
/// assert!(queues::ALL.iter().any(|info| std::ptr::eq(*info, red)));
/// ```
#[derive(Debug)]
pub struct Info {
    /// Name in scenarios.
    pub name: &'static str,
    /// RFC or paper that the discipline follows.
    pub source: &'static str,
    /// Parameters.
    pub params: &'static [Param],
    /// Whether the discipline marks ECN-capable packets with these parameters.
    pub marks: fn(&Settings) -> bool,
    /// Conflict between two parameters: the first, its required relation to the second ("below"), and the second.
    pub conflict: fn(&Settings) -> Option<(&'static str, &'static str, &'static str)>,
}

/// Parameters that a scenario gives for a discipline, already checked; defaults hold for the rest.
///
/// ```
/// use fullpipe_sim::model::{Link, Queue};
/// use fullpipe_sim::queues::{Value, find};
///
/// let codel = find("codel").expect("a known queue");
/// let queue = Queue { given: vec![("target", Value::Time(10_000_000))], ..Queue::defaults(codel) };
/// assert_eq!((queue.time("target"), queue.time("interval")), (10_000_000, 100_000_000), "RFC 8289: 100 ms");
/// assert_ne!(Link { queue, ..Link::named("l") }, Link::named("l"));
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Registry entry of the discipline.
    pub info: &'static Info,
    /// Parameters that differ from their defaults, in the order of [`Info::params`].
    pub given: Vec<(&'static str, Value)>,
}

/// Equality of the discipline and of the values that hold, whether given or by default.
impl PartialEq for Settings {
    fn eq(&self, other: &Settings) -> bool {
        let values = |settings: &Settings| -> Vec<Option<Value>> {
            settings.info.params.iter().map(|param| settings.value(param.name)).collect()
        };
        self.info.name == other.info.name && (self.given == other.given || values(self) == values(other))
    }
}

impl Settings {
    /// Defaults of a discipline.
    pub fn defaults(info: &'static Info) -> Settings {
        Settings { info, given: Vec::new() }
    }

    /// Values of all parameters.
    pub fn params(&self) -> Params<'_> {
        Params::new(self.info.name, self.info.params, &self.given)
    }

    /// Copy without the values that are defaults anyway, for example those of a variant.
    #[must_use]
    pub fn without_defaults(self) -> Settings {
        let params = self.params();
        let differs = |(name, value): &(&'static str, Value)| {
            let param = self.info.params.iter().find(|param| param.name == *name);
            param.and_then(|param| params.default(param)) != Some(*value)
        };
        let given = self.given.iter().copied().filter(differs).collect();
        Settings { info: self.info, given }
    }

    /// Value of `name`; `None` for the state that [`Param::unset`] names. This and the methods below are those of [`Params`].
    pub fn value(&self, name: &str) -> Option<Value> {
        self.params().value(name)
    }

    /// Time called `name`.
    pub fn time(&self, name: &str) -> Nanos {
        self.params().time(name)
    }

    /// Number, packets, or bytes called `name`.
    pub fn number(&self, name: &str) -> f64 {
        self.params().number(name)
    }

    /// Whole number, packets, or bytes called `name`.
    pub fn whole(&self, name: &str) -> u64 {
        self.params().whole(name)
    }

    /// Flag called `name`.
    pub fn flag(&self, name: &str) -> bool {
        self.params().flag(name)
    }

    /// Name chosen for `name`.
    pub fn choice(&self, name: &str) -> &'static str {
        self.params().choice(name)
    }

    /// Conflict of two numbers, both known, of which the first is not below the second; for [`Info::conflict`].
    pub fn not_below(
        &self,
        low: &'static str,
        high: &'static str,
    ) -> Option<(&'static str, &'static str, &'static str)> {
        let number = |name| self.params().optional(name, Params::number);
        (number(low)? >= number(high)?).then_some((low, "below", high))
    }

    /// Conflict of two numbers of which the first is above the second; for [`Info::conflict`].
    pub fn above(&self, low: &'static str, high: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
        (self.number(low) > self.number(high)).then_some((low, "at most", high))
    }
}
