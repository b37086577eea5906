//! Quantities: a number and a unit, as in `100 Mbit/s`. All prefixes are decimal.

use super::problem::{Wrong, quoted, unknown};

/// Dimension of a quantity: its units, each with its size in the model's unit.
#[derive(Debug)]
pub struct Dimension {
    /// Name in documentation.
    pub name: &'static str,
    /// Unit and how many of the model's units it is, from the smallest.
    pub units: &'static [(&'static str, u64)],
    /// A quantity as users write it.
    pub example: &'static str,
}

/// Time, in nanoseconds.
pub const TIME: Dimension = Dimension {
    name: "time",
    units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)],
    example: "80 ms",
};

/// Rates, in bits per second.
pub const RATE: Dimension = Dimension {
    name: "rate",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    example: "100 Mbit/s",
};

/// Amounts of data, in bytes.
pub const DATA: Dimension = Dimension {
    name: "data",
    units: &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)],
    example: "250 kB",
};

/// Packets and the segments they carry, which are one to one.
pub const PACKETS: Dimension = Dimension {
    name: "packets",
    units: &[("segment", 1), ("segments", 1), ("packet", 1), ("packets", 1)],
    example: "250 packets",
};

impl Dimension {
    /// Reads `text` as a number of the model's units, not yet rounded.
    ///
    /// # Errors
    /// Text that is not a number, or has an unknown unit.
    pub fn parse(&self, text: &str) -> Result<f64, Wrong> {
        let (number, unit) = split(text, self.example)?;
        match self.scale(unit) {
            Some(scale) => Ok(number * scale),
            None => Err(unknown("unit", unit, &self.names())),
        }
    }

    /// `value` in the largest decimal unit that leaves at least 1 of it; [`Dimension::parse`] gives it back exactly.
    pub fn format(&self, value: u64) -> String {
        let fits = |&&(_, scale): &&(&str, u64)| {
            let decimal = 10_u64.pow(scale.ilog10()) == scale;
            // Zero is a time in seconds, and otherwise has the smallest unit.
            decimal && (scale <= value.max(1) || value == 0 && self.name == "time")
        };
        let (unit, scale) = self.units.iter().rfind(fits).expect("a unit of 1");
        let (whole, rest) = (value / scale, value % scale);
        if rest == 0 {
            return format!("{whole} {unit}");
        }
        let digits = format!("{rest:0width$}", width = scale.ilog10() as usize);
        format!("{whole}.{} {unit}", digits.trim_end_matches('0'))
    }

    /// The size of `unit`, if it is one of this dimension's.
    pub fn scale(&self, unit: &str) -> Option<f64> {
        self.units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale as f64)
    }

    /// The units' names.
    pub fn names(&self) -> Vec<&'static str> {
        self.units.iter().map(|(name, _)| *name).collect()
    }
}

/// Numbers of bandwidth-delay products.
const BDP: Dimension = Dimension { name: "bandwidth-delay products", units: &[("BDP", 1)], example: "0.25 BDP" };

/// Dimensions of quantities: the base unit of metrics, the dimension, and the size of the base unit in the model's unit.
const KINDS: [(&str, &Dimension, f64); 5] =
    [("s", &TIME, 1e9), ("bit/s", &RATE, 1.0), ("bytes", &DATA, 1.0), ("packets", &PACKETS, 1.0), ("BDP", &BDP, 1.0)];

/// A number with a unit, of whatever kind.
///
/// ```
/// use fullpipe_sim::scenario::quantity;
///
/// let rate = quantity("100 Mbit/s").expect("a known unit");
/// assert_eq!((rate.number, rate.unit, rate.value, rate.base), (100.0, "Mbit/s", 1e8, "bit/s"));
/// assert_eq!(quantity("100 miles"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The number, as written.
    pub number: f64,
    /// The unit, as written.
    pub unit: &'static str,
    /// "s", "bit/s", "bytes", "packets" or "BDP".
    pub base: &'static str,
    /// The number in the base unit.
    pub value: f64,
}

/// Quantity in `text`; `None` where it is not a number with one of the [`units`].
pub fn quantity(text: &str) -> Option<Quantity> {
    let (number, unit) = split(text, "").ok()?;
    KINDS.iter().find_map(|&(base, dimension, size)| {
        let &(unit, scale) = dimension.units.iter().find(|(name, _)| *name == unit)?;
        Some(Quantity { number, unit, base, value: number * scale as f64 / size })
    })
}

/// Every unit and its base unit, kind by kind, from the smallest.
pub fn units() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().flat_map(|(base, dimension, _)| dimension.units.iter().map(|(unit, _)| (*unit, *base)))
}

/// Splits `100 Mbit/s` into its number and its unit; neither is missing, the number is finite.
pub fn split<'a>(text: &'a str, example: &str) -> Result<(f64, &'a str), String> {
    let trimmed = text.trim();
    let (number, unit) = match trimmed.split_once(char::is_whitespace) {
        Some((number, unit)) => (number, unit.trim_start()),
        None => trimmed.split_at(number_length(trimmed)),
    };
    let wrong = |what: &str| Err(format!("{} {what}; write e.g. {example:?}", quoted(text)));
    match number.parse::<f64>() {
        Ok(x) if !x.is_finite() => wrong("is not a finite number"),
        Ok(_) if unit.is_empty() => wrong("has no unit"),
        Ok(x) => Ok((x, unit)),
        Err(_) => wrong("is not a number and a unit"),
    }
}

/// How many bytes at the start of `text` are a decimal number, exponent included.
fn number_length(text: &str) -> usize {
    const LONGEST: usize = 40;
    let is_number = |&n: &usize| text.is_char_boundary(n) && text[..n].parse::<f64>().is_ok();
    (1..=text.len().min(LONGEST)).rev().find(is_number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_and_units_with_and_without_a_space() {
        assert_eq!(TIME.parse("80 ms"), Ok(80e6));
        assert_eq!(TIME.parse("80ms"), Ok(80e6));
        assert_eq!(TIME.parse(" 1.5  min "), Ok(90e9));
        assert_eq!(TIME.parse("1e3 us"), Ok(1e6));
        assert_eq!(TIME.parse("1e3us"), Ok(1e6));
        assert_eq!(RATE.parse("2.5 Gbit/s"), Ok(2.5e9));
        assert_eq!(DATA.parse("250 kB"), Ok(250_000.0));
        assert_eq!(TIME.parse("-1 s"), Ok(-1e9));
    }

    #[test]
    fn faults_are_named() {
        let cases = [
            ("100", "has no unit"),
            ("", "is not a number and a unit"),
            ("ms", "is not a number and a unit"),
            ("inf s", "is not a finite number"),
            ("NaN s", "is not a finite number"),
            ("1e999 s", "is not a finite number"),
            ("1 parsec", "unknown unit \"parsec\""),
            ("1 S", "did you mean \"s\"?"),
            ("5 5 s", "unknown unit \"5 s\""),
        ];
        for (text, expected) in cases {
            let what = TIME.parse(text).expect_err(text);
            assert!(what.to_string().contains(expected), "{text}: {what}");
        }
    }

    #[test]
    fn quantities_of_every_kind() {
        let read = |text| quantity(text).map(|q| (q.number, q.unit, q.base, q.value));
        assert_eq!(read("39 ms"), Some((39.0, "ms", "s", 0.039)));
        assert_eq!(read("1.5min"), Some((1.5, "min", "s", 90.0)));
        assert_eq!(read("2 Gbit/s"), Some((2.0, "Gbit/s", "bit/s", 2e9)));
        assert_eq!(read("-3e2 kB"), Some((-300.0, "kB", "bytes", -300_000.0)));
        assert_eq!(read("1 packet"), Some((1.0, "packet", "packets", 1.0)));
        assert_eq!(read("0.25 BDP"), Some((0.25, "BDP", "BDP", 0.25)));
        for text in ["", "5", "ms", "5 parsec", "inf s", "1e999 s", "5 5 s"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(units().count(), 18);
    }

    #[test]
    fn quantities_are_written_in_the_largest_decimal_unit() {
        assert_eq!(TIME.format(0), "0 s");
        assert_eq!(TIME.format(39_000_000), "39 ms");
        assert_eq!(TIME.format(1_500_000), "1.5 ms");
        assert_eq!(TIME.format(400_000_000_000), "400 s");
        assert_eq!(TIME.format(1_000_000_001), "1.000000001 s");
        assert_eq!(RATE.format(100_000_000), "100 Mbit/s");
        assert_eq!(DATA.format(250_000), "250 kB");
        assert_eq!(PACKETS.format(250), "250 packets");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in 0..=1_000_000_000_000_000_u64) {
            for dimension in [&TIME, &RATE, &DATA, &PACKETS] {
                let text = dimension.format(value);
                prop_assert_eq!(dimension.parse(&text).map(|x| x.round() as u64), Ok(value), "{}", text);
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>(), digits in "[-+.0-9eE]{0,8}[a-zA-Z/ é]{0,4}") {
            let _ = TIME.parse(&text);
            let _ = TIME.parse(&digits);
        }
    }
}
