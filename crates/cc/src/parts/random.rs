//! Random numbers from a seed that comes from outside: SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number
//! Generators*, OOPSLA 2014).

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number from 0 to below `count`.
    pub fn below(&mut self, count: u32) -> u32 {
        (self.unit() * f64::from(count)) as u32
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// The first output for seed 0, as the reference implementation in C gives it.
    #[test]
    fn is_splitmix64() {
        assert_eq!(Random::new(0).bits(), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn stays_within_its_bounds_and_reaches_all_of_them() {
        let mut random = Random::new(1);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
    }
}
