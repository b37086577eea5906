//! Random numbers from a seed: SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
//! All crates of the project that need random numbers use this generator.

/// A stream of random numbers.
///
/// ```
/// use fullpipe_cc::random::SplitMix64;
///
/// let mut random = SplitMix64::new(0);
/// assert_eq!(random.bits(), 0xE220_A839_7B1D_CDAF, "as the reference implementation in C");
/// assert_eq!(SplitMix64::new(7).bits(), SplitMix64::new(7).bits());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SplitMix64(u64);

/// Increment of the state: 2^64 over the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

impl SplitMix64 {
    /// The stream that begins in state `seed`.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix(self.0)
    }

    /// A number from 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number from 0 to below `count`.
    pub(crate) fn below(&mut self, count: u32) -> u32 {
        (self.unit() * f64::from(count)) as u32
    }
}

/// Output function of the generator: neighboring inputs give unrelated outputs, and no two inputs give equal outputs.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    /// The first output for seed 0 and the first three for seed 1234567, as the reference implementation in C gives them.
    #[test]
    fn outputs_are_those_of_the_reference_implementation() {
        assert_eq!(SplitMix64::new(0).bits(), 0xE220_A839_7B1D_CDAF);
        let mut random = SplitMix64::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.bits(), random.bits(), random.bits()], expected);
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_all_of_them() {
        let mut random = SplitMix64::new(1);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
    }
}
