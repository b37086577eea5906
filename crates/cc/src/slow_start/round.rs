//! The least RTT of a round trip.

use super::Sight;
use crate::time::Nanos;

/// The RTT samples of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RoundRtt {
    /// The least; of none, one that is above all. (An option would take a flow eight bytes more.)
    pub least: Nanos,
    /// How many.
    samples: u32,
}

impl RoundRtt {
    /// No samples yet.
    pub const NONE: RoundRtt = RoundRtt { least: Nanos::MAX, samples: 0 };

    /// Takes in the sample of an ACK, if it has one.
    pub fn add(&mut self, sight: &Sight) {
        let Some(rtt) = sight.rtt else { return };
        self.least = self.least.min(rtt);
        self.samples = self.samples.saturating_add(1);
    }

    /// Least RTT, once `samples` have been seen.
    pub fn least_of(&self, samples: u32) -> Option<Nanos> {
        (self.samples >= samples).then_some(self.least)
    }
}
