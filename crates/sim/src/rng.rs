//! Random numbers: one independent stream for each purpose and identity, so that a further link, flow, or use of random numbers
//! changes no other stream.
//!
//! An identity is a hash of the name or place of a link or a flow in the scenario ([`crate::scenario::order`]). It never depends on an index.

use fullpipe_cc::Nanos;
use fullpipe_cc::random::{SplitMix64, mix};

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

/// Use of a stream; part of its seed.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Start time and access delay of a flow.
    Spreads = 1,
    /// Offset between the clocks of sender and receiver.
    Clocks = 2,
    /// Random loss on a wire.
    Wire = 3,
    /// Web transfers.
    Web = 4,
    /// Host processing jitter.
    Processing = 5,
    /// Random choices of queueing disciplines.
    Queue = 6,
    /// Losses in bursts.
    Bursts = 7,
    /// Delay that varies.
    Jitter = 8,
    /// Reordering.
    Reorder = 9,
    /// Random choices of algorithms.
    Algorithm = 10,
    /// Phase of a link that sends at multiples of an interval.
    Phase = 11,
    /// Times and sizes of a flow's application.
    Source = 12,
    /// Rates and delays of a link's preset.
    Preset = 13,
}

/// Hash of the name or place of a link, a flow, or a source of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(u64);

impl Identity {
    /// Nothing named yet.
    pub const NONE: Identity = Identity(0);

    /// This identity and a text.
    pub fn text(self, text: &str) -> Identity {
        let words = text.as_bytes().chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        });
        words.fold(self.number(text.len() as u64), Identity::number)
    }

    /// This identity and a number.
    pub fn number(self, number: u64) -> Identity {
        Identity(mix(mix(self.0.wrapping_add(IDENTITY_STEP)) ^ number))
    }
}

/// Any odd number keeps `mix(0) = 0` out of the chain.
const IDENTITY_STEP: u64 = 0x9E6C_63D0_876A_3F6B;

/// Bits of [`Ties::rank`].
pub const TIE_BITS: u32 = 28;

/// Order of events that fall on one nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ties {
    key: u64,
}

impl Ties {
    /// Ties of a run with this seed.
    pub const fn new(seed: u64) -> Ties {
        Ties { key: mix(seed.wrapping_add(IDENTITY_STEP)) }
    }

    /// Rank of an identity among those that tie at `at`: lower is first. Each moment is an independent, fair choice.
    #[inline]
    pub fn rank(self, at: Nanos, identity: Identity) -> u32 {
        (mix((identity.0 ^ self.key).wrapping_add(mix(at))) >> (64 - TIE_BITS)) as u32
    }
}

impl Rng {
    /// Stream of a run's `seed` for one purpose of one identity.
    pub fn new(seed: u64, purpose: Purpose, identity: Identity) -> Self {
        let key = Identity(mix(seed.wrapping_add(IDENTITY_STEP))).number(purpose as u64).number(identity.0);
        Rng(SplitMix64::new(key.0))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
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

    /// Standard normal (Box and Muller, *A Note on the Generation of Random Normal Deviates*, 1958, equation 2).
    pub fn normal(&mut self) -> f64 {
        libm::sqrt(-2.0 * libm::log(self.unit())) * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Pareto with the given mean and shape (above 1): scale (shape - 1)/shape * mean over a uniform to the 1/shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) / shape / libm::pow(self.unit(), 1.0 / shape)
    }
}

/// A value, or a uniform random choice for each flow, drawn from the scenario's seed.
///
/// Example: see [`FlowGroup`](crate::model::FlowGroup).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Least.
    pub low: Nanos,
    /// Greatest; equal to `low` for a plain value.
    pub high: Nanos,
}

impl Spread {
    /// Equal for every flow.
    pub const fn fixed(value: Nanos) -> Self {
        Spread { low: value, high: value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank of one identity in 10,000 ties with another one: a fair choice each time, whatever the distance of the moments. The
    /// standard deviation is 50.
    #[test]
    fn ties_are_fair_at_every_moment() {
        let ties = Ties::new(1);
        let [a, b] = ["a", "b"].map(|name| Identity::NONE.text(name));
        for step in [1, 1_000, 1_000_000] {
            let won = (0..10_000).filter(|k| ties.rank(k * step, a) < ties.rank(k * step, b)).count();
            assert!((4_800..=5_200).contains(&won), "{won} of 10,000 at steps of {step} ns");
        }
        assert_ne!(Ties::new(2).rank(7, a), ties.rank(7, a), "the seed decides too");
    }

    #[test]
    fn identities_differ_by_text_length_and_number() {
        let texts = ["", "a", "b", "a\0", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab"];
        let mut known: Vec<Identity> = texts.iter().map(|text| Identity::NONE.text(text)).collect();
        known.extend((0..100).map(|number| Identity::NONE.text("a").number(number)));
        known.sort_unstable();
        known.dedup();
        assert_eq!(known.len(), texts.len() + 100);
    }

    #[test]
    fn means_are_those_asked_for() {
        let mut rng = Rng::new(1, Purpose::Web, Identity::NONE);
        let n = 200_000;
        let exponential = (0..n).map(|_| rng.exponential(1e9) as f64).sum::<f64>() / f64::from(n);
        assert!((exponential / 1e9 - 1.0).abs() < 0.02, "{exponential}");
        let pareto = (0..n).map(|_| rng.pareto(12_000.0, 2.5)).sum::<f64>() / f64::from(n);
        assert!((pareto / 12_000.0 - 1.0).abs() < 0.03, "{pareto}");
    }

    #[test]
    fn spreads_stay_inside_and_reach_their_ends() {
        let mut rng = Rng::new(7, Purpose::Spreads, Identity::NONE.number(3));
        let drawn: Vec<_> = (0..100).map(|_| rng.spread(Spread { low: 5, high: 7 })).collect();
        assert!((5..=7).all(|x| drawn.contains(&x)) && drawn.iter().all(|x| (5..=7).contains(x)));
    }
}
