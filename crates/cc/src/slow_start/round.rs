//! The least RTT of a round trip.

use super::Sight;
use crate::time::Nanos;

/// The RTT samples of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RoundRtt {
    /// The least.
    pub least: Option<Nanos>,
    /// How many.
    pub samples: u32,
}

impl RoundRtt {
    /// Takes in the sample of an ACK, if it has one.
    pub fn add(&mut self, sight: &Sight) {
        let Some(rtt) = sight.rtt else { return };
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.samples = self.samples.saturating_add(1);
    }

    /// The least RTT, once `samples` have been seen.
    pub fn settled(&self, samples: u32) -> Option<Nanos> {
        self.least.filter(|_| self.samples >= samples)
    }
}
