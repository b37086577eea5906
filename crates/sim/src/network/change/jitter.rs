//! Delay that varies from packet to packet.
//!
//! The Wi-Fi model is that of the C4 congestion control drafts (draft-huitema-ccwg-c4-test): N1, a Poisson variable of mean 1,
//! milliseconds for contention, less a uniform part of one if N1 is not 0; and with a probability that makes the mean, a Poisson
//! variable of mean 12 times 7.5 ms for access points that are away on another channel.

use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::{self, JitterModel};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MILLISECOND;

/// Draws a delay for each packet.
#[derive(Debug)]
pub struct Jitter {
    settings: scenario::Jitter,
    rng: Rng,
}

const MS: f64 = MILLISECOND as f64;
/// Wi-Fi: mean of the short delays in ms (their Poisson variable's), and of the long ones: their number and each of them, ms.
const SHORT: f64 = 1.0;
const LONG: (f64, f64) = (12.0, 7.5);

impl Jitter {
    /// `identity` is that of the link's direction.
    pub fn new(settings: scenario::Jitter, seed: u64, identity: Identity) -> Jitter {
        Jitter { settings, rng: Rng::new(seed, Purpose::Jitter, identity) }
    }

    /// The next packet's delay.
    pub fn draw(&mut self) -> Nanos {
        let scenario::Jitter { model, mean } = self.settings;
        let (rng, mean) = (&mut self.rng, mean as f64);
        let delay = match model {
            JitterModel::Uniform { spread } => mean + spread as f64 * (2.0 * rng.unit() - 1.0),
            JitterModel::Normal { spread } => mean + spread as f64 * rng.normal(),
            JitterModel::Wifi => MS * wifi(rng, mean / MS),
        };
        // A negative float is 0.
        delay as Nanos
    }
}

/// Jitter in milliseconds, with a given mean.
fn wifi(rng: &mut Rng, mean: f64) -> f64 {
    let short = poisson(rng, SHORT);
    let part = if short > 0.0 { rng.unit() } else { 0.0 };
    let (number, each) = LONG;
    let away = rng.unit() <= (mean - SHORT) / (number * each);
    short - part + if away { each * poisson(rng, number) } else { 0.0 }
}

/// A Poisson variable: how many uniform factors keep the product above e^-mean (Knuth, *The Art of Computer Programming*, volume 2,
/// section 3.4.1).
fn poisson(rng: &mut Rng, mean: f64) -> f64 {
    let least = libm::exp(-mean);
    let (mut product, mut count) = (rng.unit(), 0.0);
    while product > least {
        product *= rng.unit();
        count += 1.0;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of 400,000 draws, ms.
    fn drawn(model: JitterModel, mean: Nanos) -> (f64, f64) {
        let mut jitter = Jitter::new(scenario::Jitter { model, mean }, 1, Identity::NONE);
        let draws: Vec<f64> = (0..400_000).map(|_| jitter.draw() as f64 / MS).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / draws.len() as f64;
        (mean, variance.sqrt())
    }

    /// 1 - (1 - 1/e)/2 = 0.684 ms without long delays; 6/90 of the packets have one of 90 ms on average: 6.684 ms for "7 ms".
    /// The standard deviation of the mean is 0.04 ms there.
    #[test]
    fn wifi_has_the_drafts_means() {
        assert!((drawn(JitterModel::Wifi, MILLISECOND).0 - 0.684).abs() < 0.005);
        let (mean, _) = drawn(JitterModel::Wifi, 7 * MILLISECOND);
        assert!((mean - 6.684).abs() < 0.12, "{mean}");
    }

    /// A uniform spread of 3 either way has a standard deviation of 3 / sqrt(3).
    #[test]
    fn uniform_and_normal_have_their_means_and_spreads() {
        let spread = 3 * MILLISECOND;
        let (mean, deviation) = drawn(JitterModel::Uniform { spread }, 10 * MILLISECOND);
        assert!((mean - 10.0).abs() < 0.01 && (deviation - 1.732).abs() < 0.01, "{mean} {deviation}");
        let (mean, deviation) = drawn(JitterModel::Normal { spread }, 20 * MILLISECOND);
        assert!((mean - 20.0).abs() < 0.02 && (deviation - 3.0).abs() < 0.02, "{mean} {deviation}");
    }

    /// Of a normal law about 0 the half below is no delay: the mean is the spread over the square root of 2 pi.
    #[test]
    fn no_delay_is_negative() {
        let (mean, _) = drawn(JitterModel::Normal { spread: 10 * MILLISECOND }, 0);
        assert!((mean - 3.989).abs() < 0.03, "{mean}");
    }
}
