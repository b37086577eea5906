//! ECN field of packets behind a link whose path changes it.

use crate::packet::Ecn;

/// Treatment of the ECN field of ECN-capable packets that leave a link. RFC 9000 section 13.4.2.1 names network elements that zero the
/// field, and that change one codepoint into another.
///
/// ```
/// use fullpipe_sim::Scenario;
/// use fullpipe_sim::model::EcnField;
///
/// let scenario = Scenario::from_toml(r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP", ecn_field = "not-ect" }]
///     flows = [{ algorithm = "cubic", transport = "quic", ecn = "accurate" }]
/// "#)?;
/// assert_eq!(scenario.links[0].ecn_field, EcnField::NotEct);
/// # Ok::<(), fullpipe_sim::scenario::Problem>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnField {
    /// Unchanged.
    #[default]
    Keep,
    /// Cleared, so that marks vanish as well.
    NotEct,
    /// ECT(0), so that marks and ECT(1) vanish.
    Ect0,
    /// ECT(1), so that marks and ECT(0) vanish.
    Ect1,
}

fullpipe_cc::named! { EcnField { Keep = "keep", NotEct = "not-ect", Ect0 = "ect0", Ect1 = "ect1" } }

impl EcnField {
    /// Field of an ECN-capable packet; `None` if it stays.
    pub(crate) fn value(self) -> Option<Ecn> {
        match self {
            EcnField::Keep => None,
            EcnField::NotEct => Some(Ecn::NotEct),
            EcnField::Ect0 => Some(Ecn::Ect0),
            EcnField::Ect1 => Some(Ecn::Ect1),
        }
    }
}
