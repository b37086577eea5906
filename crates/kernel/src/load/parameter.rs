//! Parameters of a program: its constants that may be set before a connection begins.

use crate::btf::{Btf, Id, TypeKind};
use crate::error::{Error, Result};

/// A number that may be set before a program runs.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Without `_q` and its number.
    pub name: String,
    /// Content of the object.
    pub default: f64,
    /// The least that its type holds.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// It is a `bool`.
    pub flag: bool,
    pub(crate) address: u64,
    /// Position in the file.
    pub(super) file_at: usize,
    pub(crate) size: usize,
    pub(super) signed: bool,
    pub(super) float: bool,
    pub(super) scale: f64,
}

impl Parameter {
    /// `None` for values that are no number.
    pub(super) fn of(btf: &Btf, name: &str, of: Id) -> Result<Option<Parameter>> {
        let (signed, float, size) = match btf.plain(of)?.1.kind {
            TypeKind::Int { size: size @ (1 | 2 | 4 | 8), signed, .. } => (signed, false, size),
            TypeKind::Float { size: 8 } => (true, true, 8),
            _ => return Ok(None),
        };
        let flag = matches!(btf.plain(of)?.1.kind, TypeKind::Int { flag: true, .. });
        let scaled = name
            .rsplit_once("_q")
            .and_then(|(name, bits)| Some((name, bits.parse().ok().filter(|bits: &u8| *bits < 64)?)));
        let (name, scale) = scaled.map_or((name, 1.0), |(name, bits)| (name, (1u64 << bits) as f64));
        let most = if flag { 1.0 } else { 2f64.powi(8 * size as i32 - i32::from(signed)) - 1.0 };
        let least = if signed { -most - 1.0 } else { 0.0 };
        let (least, most) = if float { (f64::MIN, f64::MAX) } else { (least / scale, most / scale) };
        let name = name.to_owned();
        let parameter = Parameter {
            name,
            default: 0.0,
            least,
            most,
            flag,
            address: 0,
            file_at: 0,
            size: size as usize,
            signed,
            float,
            scale,
        };
        Ok((!parameter.name.is_empty()).then_some(parameter))
    }

    /// Value of `bytes` bytes.
    pub(super) fn decoded(&self, word: u64) -> f64 {
        let unused = 64 - 8 * self.size as u32;
        match (self.float, self.signed) {
            (true, _) => f64::from_bits(word),
            (_, true) => ((word << unused) as i64 >> unused) as f64 / self.scale,
            (_, false) => word as f64 / self.scale,
        }
    }

    /// The bytes of a value, rounded where it is a whole number times its scale.
    pub(crate) fn encoded(&self, value: f64) -> u64 {
        let whole = (value * self.scale).round();
        match (self.float, whole < 0.0) {
            (true, _) => value.to_bits(),
            (_, true) => whole as i64 as u64,
            (_, false) => whole as u64,
        }
    }

    /// Refuses a value that it does not hold.
    ///
    /// # Errors
    /// Allowed values.
    pub fn check(&self, value: f64) -> Result<()> {
        let Parameter { name, least, most, .. } = self;
        match self.holds(value) {
            true => Ok(()),
            false if (*least..=*most).contains(&value) => {
                Err(Error::new(format!("parameter {name} must be a whole number, got {value}")))
            }
            false => Err(Error::new(format!("parameter {name} must be in [{least}, {most}], got {value}"))),
        }
    }

    /// Whether it holds this exactly, or as nearly as its scale allows.
    pub fn holds(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value) && (self.float || self.scale > 1.0 || value.fract() == 0.0)
    }
}
