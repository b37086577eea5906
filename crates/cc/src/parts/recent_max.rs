//! Greatest value of the last rounds, kept in two bins of several rounds each, as Linux's BBR does for the aggregation of ACKs.

/// The greatest value of the bin at hand, and of the one before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecentMax {
    current: f64,
    before: f64,
    /// Rounds that the bin at hand has lasted.
    rounds: u32,
}

impl RecentMax {
    /// The greatest value.
    pub fn value(&self) -> f64 {
        self.current.max(self.before)
    }

    /// A round begins; `rounds` is the length of a bin.
    pub fn on_round(&mut self, length: u32) {
        self.rounds += 1;
        if self.rounds >= length {
            *self = RecentMax { current: 0.0, before: self.current, rounds: 0 };
        }
    }

    /// Takes a sample in.
    pub fn update(&mut self, value: f64) {
        self.current = self.current.max(value);
    }
}

#[cfg(test)]
mod tests {
    use super::RecentMax;

    fn told(samples: [f64; 6]) -> [f64; 6] {
        let mut max = RecentMax::default();
        samples.map(|value| {
            max.update(value);
            let told = max.value();
            max.on_round(2);
            told
        })
    }

    /// Bins of 2 rounds: 7 in the first round counts in that bin and the next, 4 rounds in all. So does 0.7, since a bin begins at 0.
    #[test]
    fn forgets_after_two_bins() {
        assert_eq!(told([7.0, 1.0, 2.0, 3.0, 1.0, 1.0]), [7.0, 7.0, 7.0, 7.0, 3.0, 3.0]);
        assert_eq!(told([0.7, 0.1, 0.2, 0.3, 0.1, 0.1]), [0.7, 0.7, 0.7, 0.7, 0.3, 0.3]);
    }
}
