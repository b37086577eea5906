//! Random numbers: SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014), one
//! independent stream per purpose, so that adding a source does not change what the others draw.

use fullpipe_cc::Nanos;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

/// What a stream is drawn for; part of its seed.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Start times and access delays of flows.
    Spreads = 1,
    /// Offsets between the clocks of senders and receivers.
    Clocks = 2,
    /// Random loss on a wire.
    Wire = 3,
    /// Web transfers.
    Web = 4,
    /// Time that hosts take.
    Processing = 5,
    /// Random choices of queueing disciplines.
    Queue = 6,
    /// Losses in bursts.
    Bursts = 7,
    /// Delay that varies.
    Jitter = 8,
    /// Packets put out of order.
    Reorder = 9,
    /// Random choices of algorithms.
    Algorithm = 10,
}

impl Rng {
    /// The stream of `seed` for `purpose` and, among those of one purpose, the one numbered `index`.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let mut rng = Rng { state: seed };
        let keyed = rng.bits() ^ (purpose as u64).wrapping_mul(0x9E6C_63D0_876A_3F6B);
        rng.state = keyed;
        let keyed = rng.bits() ^ index.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        Rng { state: keyed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// Uniform in (0, 1]; never 0, so that its logarithm exists.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Uniform over a spread, both ends included.
    pub fn spread(&mut self, spread: Spread) -> Nanos {
        if spread.low == spread.high {
            return spread.low;
        }
        let span = u128::from(spread.high - spread.low) + 1;
        spread.low + ((u128::from(self.bits()) * span) >> 64) as u64
    }

    /// Exponential with the given mean, in nanoseconds.
    pub fn exponential(&mut self, mean: f64) -> Nanos {
        (-libm::log(self.unit()) * mean) as Nanos
    }

    /// Pareto with the given mean and shape (above 1): scale (shape - 1)/shape * mean over a uniform to the 1/shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) / shape / libm::pow(self.unit(), 1.0 / shape)
    }
}

/// SplitMix64's mixing: numbers that differ a little become numbers that have nothing to do with each other.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A value, or a uniform random choice for each flow, drawn from the scenario's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Least.
    pub low: Nanos,
    /// Greatest; equal to `low` for a plain value.
    pub high: Nanos,
}

impl Spread {
    /// The same for every flow.
    pub const fn fixed(value: Nanos) -> Self {
        Spread { low: value, high: value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of SplitMix64 from state 1234567, as published with its reference implementation.
    #[test]
    fn reference_outputs() {
        let mut rng = Rng { state: 1_234_567 };
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([rng.bits(), rng.bits(), rng.bits()], expected);
    }

    #[test]
    fn means_are_those_asked_for() {
        let mut rng = Rng::new(1, Purpose::Web, 0);
        let n = 200_000;
        let exponential = (0..n).map(|_| rng.exponential(1e9) as f64).sum::<f64>() / f64::from(n);
        assert!((exponential / 1e9 - 1.0).abs() < 0.02, "{exponential}");
        let pareto = (0..n).map(|_| rng.pareto(12_000.0, 2.5)).sum::<f64>() / f64::from(n);
        assert!((pareto / 12_000.0 - 1.0).abs() < 0.03, "{pareto}");
    }

    #[test]
    fn spreads_stay_inside_and_reach_their_ends() {
        let mut rng = Rng::new(7, Purpose::Spreads, 3);
        let drawn: Vec<_> = (0..100).map(|_| rng.spread(Spread { low: 5, high: 7 })).collect();
        assert!((5..=7).all(|x| drawn.contains(&x)) && drawn.iter().all(|x| (5..=7).contains(x)));
    }
}
