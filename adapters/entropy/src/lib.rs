//! Replacement of the crate `getrandom`, only for the adapters. The randomness that a library takes from the operating
//! system becomes a function of a seed. The library's code is unchanged, and a run is a function of its scenario and
//! its seed.
//!
//! quinn's BBR draws the phase of its gain cycle from a generator seeded with `rand::rng()` (quinn-proto 0.11.19,
//! src/congestion/bbr/mod.rs, line 101), and `rand` seeds that one with `getrandom::SysRng`. Nothing is random here,
//! and nothing may be secret: never build a program that uses a network with this crate.
//!
//! The crate has only the interface of getrandom 0.4 that `rand` 0.10 uses.

use fullpipe_cc::random::SplitMix64;
use std::cell::RefCell;
use std::convert::Infallible;

thread_local! {
    static STATE: RefCell<SplitMix64> = const { RefCell::new(SplitMix64::new(0)) };
}

/// Sets the seed of this thread's random numbers. The initial seed is 0.
pub fn seed(seed: u64) {
    STATE.set(SplitMix64::new(seed));
}

fn next() -> u64 {
    STATE.with_borrow_mut(SplitMix64::bits)
}

/// Error type of the replaced crate. No error occurs here.
pub type Error = Infallible;

/// Replacement of the operating system's generator.
#[cfg(feature = "sys_rng")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SysRng;

#[cfg(feature = "sys_rng")]
impl rand_core::TryRng for SysRng {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        Ok((next() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        Ok(next())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&next().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(feature = "sys_rng")]
impl rand_core::TryCryptoRng for SysRng {}

#[cfg(test)]
mod tests {
    use super::*;

    /// First three numbers with seed 1234567, as Vigna's splitmix64.c prints them.
    #[test]
    fn the_generator_is_splitmix64() {
        seed(1_234_567);
        let drawn = [(); 3].map(|()| next());
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
