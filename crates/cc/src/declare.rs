//! Declaration of an algorithm's parameters, written once: the macro [`params!`] makes its struct, its registry entries, and their
//! documentation.

use crate::params::{Info, Params, Value};
use core::fmt::Debug;

/// Parameters of one algorithm as the fields of a struct.
///
/// A field that is an `Option` has a default that depends on a variant; `None` is that default.
///
/// ```
/// use fullpipe_cc::algorithms::cubic::CubicParams;
/// use fullpipe_cc::params::Value;
/// use fullpipe_cc::{TypedParams, build_typed};
///
/// fn is_allowed<P: TypedParams>(params: &P) -> bool {
///     build_typed(params, 10.0).is_ok()
/// }
/// let params = CubicParams { beta: 0.85, ..CubicParams::default() };
/// assert!(is_allowed(&params) && params.values().as_ref().contains(&("beta", Value::Number(0.85))));
/// assert_eq!(CubicParams::INFO.name, "cubic");
/// ```
pub trait TypedParams: Clone + Debug + Default + PartialEq {
    /// Registry entry of the algorithm.
    const INFO: &'static Info;

    /// Values that hold with `params`. Every field has one, also an `Option`.
    fn read(params: &Params) -> Self;

    /// Values that are given, in the order of [`Info::params`].
    fn values(&self) -> impl AsRef<[(&'static str, Value)]>;
}

/// List of at most `N` given parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Given<const N: usize> {
    values: [(&'static str, Value); N],
    count: usize,
}

impl<const N: usize> Given<N> {
    /// List of the fields that have a value.
    pub fn of(fields: [(&'static str, Option<Value>); N]) -> Given<N> {
        let mut given = Given { values: [("", Value::Flag(false)); N], count: 0 };
        for (name, value) in fields {
            if let Some(value) = value {
                given.values[given.count] = (name, value);
                given.count += 1;
            }
        }
        given
    }
}

impl<const N: usize> AsRef<[(&'static str, Value)]> for Given<N> {
    fn as_ref(&self) -> &[(&'static str, Value)] {
        &self.values[..self.count]
    }
}

/// Type of a field of a struct of parameters.
pub(crate) trait TypedField: Sized {
    /// Value that holds.
    fn read(params: &Params, name: &str) -> Self;

    /// Value where nothing is given.
    fn initial(params: &Params, name: &str) -> Self {
        Self::read(params, name)
    }

    /// Value to give; `None` for the default.
    fn value(&self) -> Option<Value>;
}

impl TypedField for f64 {
    fn read(params: &Params, name: &str) -> f64 {
        params.number(name)
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Number(*self))
    }
}

impl TypedField for u32 {
    fn read(params: &Params, name: &str) -> u32 {
        u32::try_from(params.whole(name)).expect("a range that fits")
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Whole(u64::from(*self)))
    }
}

impl TypedField for bool {
    fn read(params: &Params, name: &str) -> bool {
        params.flag(name)
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Flag(*self))
    }
}

/// TypedField whose default depends on a variant.
impl<F: TypedField> TypedField for Option<F> {
    fn read(params: &Params, name: &str) -> Option<F> {
        Some(F::read(params, name))
    }

    fn initial(_: &Params, _: &str) -> Option<F> {
        None
    }

    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(TypedField::value)
    }
}

/// Names of the variants of an enum, as [`named!`](crate::named) has them, and the enum as the type of a field.
macro_rules! choices {
    ($choice:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        $crate::named! { $choice { $($variant = $name),* } }

        impl $crate::declare::TypedField for $choice {
            fn read(params: &$crate::params::Params, name: &str) -> $choice {
                $choice::find(params.choice(name)).expect("every allowed name is one of the enum's")
            }

            fn value(&self) -> Option<$crate::params::Value> {
                Some($crate::params::Value::Name(self.name()))
            }
        }
    };
}

/// Declares a struct of parameters, and its entries of the registry as the constant `PARAMS`.
///
/// A line is `NAME: TYPE = MAKE(ARGUMENTS), UNIT, MEANING, SOURCE;`, where `MAKE` is a constructor of [`Param`](crate::params::Param), with the
/// defaults of variants behind it where there are any; or `NAME: TYPE = CONSTANT;` for an entry that several algorithms have. A struct
/// in a private module names the public path of its module: `struct NAME for INFO in "PATH"`.
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $config:ident for $info:ident $(in $home:literal)? {
            $($field:ident: $type:ty = $make:ident $((
                $($arg:expr),*), $unit:literal, $doc:literal, $source:literal $(, { $($variant:literal: $value:expr),+ })?
            )?;)*
        }
    ) => {
        $(#[$meta])*
        ///
        /// A field's documentation ends with its declaration: `number(default, least, greatest)`, `flag(default)`, or `choice(names)`, of
        /// which the first is the default.
        ///
        /// ```
        #[doc = concat!("use ", $crate::declare::home!($($home)?), "::", stringify!($config), ";")]
        /// use fullpipe_cc::{CongestionControl, TypedParams, build, build_typed};
        ///
        #[doc = concat!("let params = ", stringify!($config), "::default();")]
        #[doc = concat!("let named = build(", stringify!($config), "::INFO.name, params.values().as_ref(), 10.0)?;")]
        /// assert_eq!((build_typed(&params, 10.0)?.cwnd(), named.cwnd()), (10.0, 10.0), "the first window");
        /// # Ok::<(), fullpipe_cc::params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $config {
            $(
                #[doc = concat!(
                    $($doc, " Unit: ", $unit, ". Source: ", $source, ". ",)?
                    "`", stringify!($make) $(, "(", stringify!($($arg),*), ")")?, "`"
                )]
                pub $field: $type,
            )*
            /// Reserved for further parameters; a literal ends with `..Default::default()`.
            #[doc(hidden)]
            pub more_may_come: (),
        }

        impl $config {
            /// Registry entries of the parameters.
            pub const PARAMS: &'static [$crate::params::Param] = &[
                $($crate::declare::declared!($field $make $(($($arg),*) $unit $doc $source { $($($variant $value),+)? })?)),*
            ];
        }

        impl Default for $config {
            #[allow(unused_variables, reason = "an algorithm may have no parameters")]
            fn default() -> $config {
                let params = $crate::params::Params::defaults(&$info);
                $config {
                    $($field: $crate::declare::TypedField::initial(&params, stringify!($field)),)*
                    more_may_come: (),
                }
            }
        }

        impl $crate::declare::TypedParams for $config {
            const INFO: &'static $crate::params::Info = &$info;

            #[allow(unused_variables, reason = "an algorithm may have no parameters")]
            fn read(params: &$crate::params::Params) -> $config {
                $config { $($field: $crate::declare::TypedField::read(params, stringify!($field)),)* more_may_come: () }
            }

            fn values(&self) -> impl AsRef<[(&'static str, $crate::params::Value)]> {
                $crate::declare::Given::of([$((stringify!($field), $crate::declare::TypedField::value(&self.$field))),*])
            }
        }
    };
}

/// Public path of the module of a struct of parameters: the one that is given, or the module that declares the struct.
macro_rules! home {
    () => {
        module_path!()
    };
    ($path:literal) => {
        $path
    };
}

/// Registry entry of one line of [`params!`].
macro_rules! declared {
    ($field:ident $shared:ident) => { $shared };
    (
        $field:ident $make:ident ($($arg:expr),*) $unit:literal $doc:literal $source:literal
        { $($variant:literal $value:expr),* }
    ) => {
        $crate::params::Param::$make(stringify!($field), $($arg),*, $doc)
            .unit($unit)
            .source($source)
            .variants(&[$(($variant, $value)),*])
    };
}

pub(crate) use {choices, declared, home, params};
