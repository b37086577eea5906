//! Delay that varies from packet to packet.
//!
//! The Wi-Fi model is that of the C4 congestion control drafts (draft-huitema-ccwg-c4-test): N1, a Poisson variable of mean 1,
//! milliseconds for contention, less a uniform part of one if N1 is not 0; and with a probability that makes the mean, a Poisson
//! variable of mean 12 times 7.5 ms for access points that are away on another channel.
//!
//! The other laws are those of Linux's netem, by their description (tc-netem(8)) and their moments: `mean + spread t`, where t is uniform
//! from -1 to 1, standard normal, 4/3 (x - 1.5) with x Pareto of shape 3 and scale 1, or a quarter of the second and three quarters of the
//! third. netem takes t from tables, which end at 4. With a correlation c each draw is 1 - c parts of a uniform number and c parts of the draw
//! before, so that its variance is (1 - c)/(1 + c) of that of a uniform number; the law comes after.

use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::{self, JitterModel};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MILLISECOND;

/// Draws a delay for each packet.
#[derive(Debug)]
pub struct Jitter {
    settings: scenario::Jitter,
    rng: Rng,
    /// The draw before, where draws are correlated.
    last: f64,
}

const MS: f64 = MILLISECOND as f64;
/// Wi-Fi: mean of the short delays in ms (their Poisson variable's), and of the long ones: their number and each of them, ms.
const SHORT: f64 = 1.0;
const LONG: (f64, f64) = (12.0, 7.5);

impl Jitter {
    /// `identity` is that of the link's direction.
    pub fn new(settings: scenario::Jitter, seed: u64, identity: Identity) -> Jitter {
        let mut rng = Rng::new(seed, Purpose::Jitter, identity);
        let last = if settings.correlation > 0.0 { rng.unit() } else { 0.0 };
        Jitter { settings, rng, last }
    }

    /// The next packet's delay.
    pub fn draw(&mut self) -> Nanos {
        let scenario::Jitter { model, mean, correlation, .. } = self.settings;
        let mean = mean as f64;
        let delay = match model {
            JitterModel::Uniform { spread } => mean + spread as f64 * (2.0 * self.uniform() - 1.0),
            JitterModel::Normal { spread } if correlation == 0.0 => mean + spread as f64 * self.rng.normal(),
            JitterModel::Normal { spread } => mean + spread as f64 * normal(self.uniform()),
            JitterModel::Pareto { spread } => mean + spread as f64 * pareto(self.uniform()),
            JitterModel::ParetoNormal { spread } => {
                let drawn = self.uniform();
                mean + spread as f64 * (0.25 * normal(drawn) + 0.75 * pareto(drawn))
            }
            JitterModel::Wifi => MS * wifi(&mut self.rng, mean / MS),
        };
        // A negative float is 0.
        delay as Nanos
    }

    /// Next draw from 0 to 1.
    fn uniform(&mut self) -> f64 {
        let (drawn, weight) = (self.rng.unit(), self.settings.correlation);
        if weight > 0.0 {
            self.last = (1.0 - weight) * drawn + weight * self.last;
            return self.last;
        }
        drawn
    }
}

/// End of netem's tables, 16 bits in units of 1/8192.
const TABLE_END: f64 = 4.0;

/// Pareto law of shape 3 and scale 1 as netem's table has it, of a uniform number.
fn pareto(uniform: f64) -> f64 {
    let x = 1.0 / libm::cbrt(1.0 - uniform);
    ((x - 1.5) * 4.0 / 3.0).min(TABLE_END)
}

/// Standard normal law of a uniform number as netem's table has it: Abramowitz and Stegun 1964, formula 26.2.23, and two steps of Newton's
/// method.
fn normal(uniform: f64) -> f64 {
    let tail = uniform.min(1.0 - uniform);
    if tail < 1e-5 {
        return TABLE_END.copysign(uniform - 0.5);
    }
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let above = (0.010_328 * t + 0.802_853) * t + 2.515_517;
    let below = ((0.001_308 * t + 0.189_269) * t + 1.432_788) * t + 1.0;
    let mut size = t - above / below;
    for _ in 0..2 {
        let beyond = 0.5 * libm::erfc(size / std::f64::consts::SQRT_2);
        let density = libm::exp(-0.5 * size * size) / libm::sqrt(std::f64::consts::TAU);
        size += (beyond - tail) / density;
    }
    size.min(TABLE_END).copysign(uniform - 0.5)
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
        moments(scenario::Jitter::of(model, mean))
    }

    fn moments(settings: scenario::Jitter) -> (f64, f64) {
        let mut jitter = Jitter::new(settings, 1, Identity::NONE);
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

    /// Quantiles of tables: 0.9, 0.975, 0.999, 0.0001; beyond the end of netem's table.
    #[test]
    fn normal_quantiles_are_those_of_tables() {
        let quantiles = [0.5, 0.9, 0.975, 0.999, 0.0001, 0.1, 1.0, 1e-300];
        let expected = [0.0, 1.281_551_566, 1.959_963_985, 3.090_232_306, -3.719_016_485, -1.281_551_566, 4.0, -4.0];
        for (quantile, expected) in quantiles.into_iter().zip(expected) {
            assert!((normal(quantile) - expected).abs() < 1e-7, "{quantile}: {}", normal(quantile));
        }
    }

    /// The mean of x below the cut at 4.5 is 1.5 - 1/(2 4.5^2) = 1.4753, and that of its square 1 + 2 (1 - 1/4.5) = 2.5556: a mean of
    /// 4/3 (1.4753 - 1.5) = -0.0329 and a deviation of 4/3 sqrt(2.5556 - 1.4753^2) = 0.8209. Three quarters of the first are
    /// -0.0247; the deviation of the mixture, 0.8350, is from numerical integration. Independent parts would have 0.664.
    #[test]
    fn pareto_and_its_mixture_have_netems_moments() {
        let spread = 10 * MILLISECOND;
        for (model, below, deviation) in
            [(JitterModel::Pareto { spread }, 0.0329, 0.8209), (JitterModel::ParetoNormal { spread }, 0.0247, 0.8350)]
        {
            let found = drawn(model, 100 * MILLISECOND);
            assert!(
                (found.0 - (100.0 - 10.0 * below)).abs() < 0.04 && (found.1 - 10.0 * deviation).abs() < 0.05,
                "{found:?}"
            );
        }
    }

    /// The spread shrinks to sqrt((1 - c)/(1 + c)): 0.7746 at 0.25, 0.5774 at 0.5, 0.2294 at 0.9. A uniform spread of 5 has a deviation of
    /// 2.887.
    #[test]
    fn correlated_delays_spread_less() {
        let model = JitterModel::Uniform { spread: 5 * MILLISECOND };
        for (correlation, part) in [(0.25, 0.7746), (0.5, 0.5774), (0.9, 0.2294)] {
            let settings = scenario::Jitter { correlation, ..scenario::Jitter::of(model, 5 * MILLISECOND) };
            let (mean, deviation) = moments(settings);
            assert!((mean - 5.0).abs() < 0.05 && (deviation - 2.887 * part).abs() < 0.03, "{mean} {deviation}");
        }
        let normal = JitterModel::Normal { spread: MILLISECOND };
        let settings = scenario::Jitter { correlation: 1e-9, ..scenario::Jitter::of(normal, 10 * MILLISECOND) };
        let (mean, deviation) = moments(settings);
        assert!((mean - 10.0).abs() < 0.01 && (deviation - 1.0).abs() < 0.01, "{mean} {deviation}");
    }

    /// Of a normal law about 0 the half below is no delay: the mean is the spread over the square root of 2 pi.
    #[test]
    fn no_delay_is_negative() {
        let (mean, _) = drawn(JitterModel::Normal { spread: 10 * MILLISECOND }, 0);
        assert!((mean - 3.989).abs() < 0.03, "{mean}");
    }
}
