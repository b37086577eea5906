//! Random times and sizes of a source.

use crate::rng::{Rng, Spread};
use crate::scenario::Law;

impl Law {
    /// A value of this law, in its unit.
    pub fn draw(self, rng: &mut Rng) -> u64 {
        match self {
            Law::Constant(value) => value,
            Law::Exponential { mean } => rng.exponential(mean as f64),
            Law::Uniform { low, high } => rng.spread(Spread { low, high }),
            Law::Pareto { mean, shape } => rng.pareto(mean as f64, shape) as u64,
            Law::Lognormal { mean, deviation } => lognormal(mean as f64, deviation as f64, rng) as u64,
        }
    }
}

/// Lognormal variable from its own mean and standard deviation: the logarithm has the variance ln(1 + (deviation/mean)²).
fn lognormal(mean: f64, deviation: f64, rng: &mut Rng) -> f64 {
    let variance = libm::log1p((deviation / mean) * (deviation / mean));
    mean * libm::exp(libm::sqrt(variance) * rng.normal() - variance / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Identity, Purpose};

    fn drawn(law: Law) -> Vec<f64> {
        let mut rng = Rng::new(1, Purpose::Source, Identity::NONE);
        (0..200_000).map(|_| law.draw(&mut rng) as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Within 3 standard errors of 200,000 draws: 0.0067 times the standard deviation.
    #[test]
    fn laws_have_their_means() {
        for (law, expected, deviation) in [
            (Law::Constant(5_000_000), 5e6, 0.0),
            (Law::Exponential { mean: 5_000_000 }, 5e6, 5e6),
            (Law::Uniform { low: 1_000_000, high: 3_000_000 }, 2e6, 577_350.0),
        ] {
            let found = mean(&drawn(law));
            assert!((found - expected).abs() <= 0.0067 * deviation + 1.0, "{law:?}: {found}");
        }
    }

    /// Median of a Pareto law of mean 30 kB and shape 1.2: 30 kB / 6 · 2^(1/1.2) = 8909 B.
    #[test]
    fn a_pareto_law_has_its_median() {
        let mut values = drawn(Law::Pareto { mean: 30_000, shape: 1.2 });
        values.sort_by(f64::total_cmp);
        assert!((values[100_000] / 8909.0 - 1.0).abs() < 0.01, "{}", values[100_000]);
    }

    /// The logarithm of a lognormal law of mean 7758 and deviation 126168 has the variance ln(1 + 16.263²) = 5.581 and the mean
    /// ln 7758 - 2.790 = 6.166. Three standard errors of the mean are 0.016.
    #[test]
    fn a_lognormal_law_has_its_logarithm() {
        let logarithms: Vec<f64> = drawn(Law::Lognormal { mean: 7_758_000_000, deviation: 126_168_000_000 })
            .into_iter()
            .map(|value| (value / 1e6).ln())
            .collect();
        let found = mean(&logarithms);
        assert!((found - 6.166).abs() < 0.017, "{found}");
        let variance = logarithms.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / logarithms.len() as f64;
        assert!((variance / 5.581 - 1.0).abs() < 0.01, "{variance}");
    }
}
