//! Names to controllers: every algorithm, its paper, its parameters with units, defaults and sources.

use crate::algorithms::adaptive_aimd::{self, AdaptiveAimd};
use crate::algorithms::bic::{self, Bic};
use crate::algorithms::cubic::{self, Cubic};
use crate::algorithms::ehstcp::{self, EHstcp};
use crate::algorithms::hstcp::{self, Hstcp};
use crate::algorithms::htcp::{self, Htcp};
use crate::algorithms::hyun_jang::{self, HyunJang};
use crate::algorithms::reno::{self, Reno};
use crate::algorithms::scalable::{self, Scalable};
use crate::algorithms::vegas::{self, Vegas};
use crate::{Ack, Classic, CongestionControl, Flow, Recovery, Signal};

/// What is known of an algorithm before it runs.
#[derive(Debug)]
pub struct Info {
    /// The name scenarios use.
    pub name: &'static str,
    /// Authors, title, venue, year; or the RFC.
    pub paper: &'static str,
    /// The loss recovery its paper assumes; SACK where it does not say.
    pub recovery: Recovery,
    /// The parameters it takes.
    pub params: &'static [Param],
}

/// A parameter of an algorithm.
#[derive(Debug, PartialEq)]
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
pub enum Error<'a> {
    /// There is no algorithm of this name.
    UnknownAlgorithm(&'a str),
    /// The algorithm has no parameter of this name.
    UnknownParam(&'a str),
    /// The value is not of the parameter's [`Kind`].
    BadValue(&'static Param),
}

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
    pub fn checked(info: &'static Info, given: &'a [(&'a str, Value<'a>)]) -> Result<Params<'a>, Error<'a>> {
        for &(name, value) in given {
            let param = info.params.iter().find(|p| p.name == name).ok_or(Error::UnknownParam(name))?;
            if !param.kind.admits(value) {
                return Err(Error::BadValue(param));
            }
        }
        Ok(Params { info, given })
    }

    /// The number called `name`. Panics if the algorithm declares no such number: a fault of the algorithm's own file.
    pub fn number(&self, name: &str) -> f64 {
        match (self.given(name), self.declared(name)) {
            (Some(Value::Number(x)), _) => x,
            (None, Kind::Number { default, .. }) => default,
            _ => panic!("{}: {name} is not a number", self.info.name),
        }
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

/// Lists the algorithms once: their names, how they are built, and the enum that dispatches to them.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident($type:ty): $($info:path => $build:path),+;)+) => {
        /// Any algorithm, dispatched without a pointer.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Controller { $($(#[$doc])* $variant($type),)+ }

        /// Every algorithm.
        pub const ALL: &[&Info] = &[$($(&$info,)+)+];

        /// Builds the algorithm called `name` with the parameters `given` and a first window of `initial_window` segments.
        ///
        /// # Errors
        /// An unknown algorithm or parameter, or a value outside its range.
        pub fn build<'a>(name: &'a str, given: &'a [(&'a str, Value<'a>)], initial_window: f64)
            -> Result<Controller, Error<'a>> {
            $($(if name == $info.name {
                return Ok(Controller::$variant($build(&Params::checked(&$info, given)?, initial_window)));
            })+)+
            Err(Error::UnknownAlgorithm(name))
        }

        impl Controller {
            /// [`CongestionControl::on_ack`], then [`CongestionControl::cwnd`], in one dispatch. `input` is called once the
            /// algorithm is known, so that one which reads little of it pays for little.
            #[inline(always)]
            pub fn acked(&mut self, input: impl FnOnce() -> (Flow, Ack)) -> f64 {
                match self {
                    $(Controller::$variant(c) => { let (flow, ack) = input(); c.on_ack(&flow, &ack); c.cwnd() })+
                }
            }
        }

        impl CongestionControl for Controller {
            #[inline]
            fn cwnd(&self) -> f64 { match self { $(Controller::$variant(c) => c.cwnd(),)+ } }
            #[inline]
            fn ssthresh(&self) -> f64 { match self { $(Controller::$variant(c) => c.ssthresh(),)+ } }
            #[inline]
            fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
                match self { $(Controller::$variant(c) => c.on_ack(flow, ack),)+ }
            }
            fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
                match self { $(Controller::$variant(c) => c.on_congestion(flow, signal),)+ }
            }
            fn on_recovered(&mut self, flow: &Flow) {
                match self { $(Controller::$variant(c) => c.on_recovered(flow),)+ }
            }
            fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Controller::$variant(c) => c.inspect(visit),)+ }
            }
        }
    };
}

algorithms! {
    /// Tahoe, Reno and NewReno: one window policy.
    Reno(Classic<Reno>): reno::TAHOE => Reno::controller, reno::RENO => Reno::controller, reno::NEWRENO => Reno::controller;
    /// Vegas.
    Vegas(Vegas): vegas::VEGAS => Vegas::controller;
    /// HighSpeed TCP.
    Hstcp(Classic<Hstcp>): hstcp::HSTCP => Hstcp::controller;
    /// Scalable TCP.
    Scalable(Classic<Scalable>): scalable::SCALABLE => Scalable::controller;
    /// BIC.
    Bic(Classic<Bic>): bic::BIC => Bic::controller;
    /// Adaptive AIMD.
    AdaptiveAimd(Classic<AdaptiveAimd>): adaptive_aimd::ADAPTIVE_AIMD => AdaptiveAimd::controller;
    /// Hyun and Jang's Reno with extra segments.
    HyunJang(HyunJang): hyun_jang::HYUN_JANG => HyunJang::controller;
    /// eHSTCP.
    EHstcp(EHstcp): ehstcp::EHSTCP => EHstcp::controller;
    /// CUBIC.
    Cubic(Classic<Cubic>): cubic::CUBIC => Cubic::controller;
    /// H-TCP.
    Htcp(Classic<Htcp>): htcp::HTCP => Htcp::controller;
}

/// The algorithm called `name`.
pub fn find(name: &str) -> Option<&'static Info> {
    ALL.iter().copied().find(|info| info.name == name)
}
