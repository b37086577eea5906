//! LSRTT: the smoothed RTT that Hyun and Jang's congestion indicator looks at, one sample (the least RTT) per round trip.

use crate::parts::Ewma;

/// Smoothing of one flow's RTT; nanoseconds in and out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lsrtt {
    /// Exponential smoothing with gain 1/8.
    Ewma(Ewma),
    /// Mean since the last detected change.
    Likelihood(Likelihood),
}

impl Lsrtt {
    /// Takes a round's least RTT in; the smoothed RTT after it.
    pub fn update(&mut self, rtt: f64) -> f64 {
        match self {
            Lsrtt::Ewma(ewma) => ewma.update(rtt),
            Lsrtt::Likelihood(likelihood) => likelihood.update(rtt),
        }
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        match self {
            Lsrtt::Ewma(ewma) => *ewma = Ewma::default(),
            Lsrtt::Likelihood(likelihood) => likelihood.restart_at(None),
        }
    }
}

/// Change detection by cumulated log-likelihood ratios (a two-sided CUSUM test for a Gaussian mean).
///
/// The ratio that a sample x comes from a mean shifted by delta is s = (delta/sigma^2)(x - mean - delta/2); g = max(0, g + s)
/// rises while the shift lasts, and beyond the threshold the mean restarts at x.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Likelihood {
    /// The shift to detect and the samples' standard deviation, as parts of the mean.
    shift: f64,
    sigma: f64,
    /// Threshold of the cumulated log-likelihood ratio.
    threshold: f64,
    /// Mean since the last change, and the samples in it.
    mean: Option<f64>,
    samples: u32,
    /// Evidence of a rise and of a fall.
    up: f64,
    down: f64,
}

impl Likelihood {
    pub fn new(shift: f64, sigma: f64, threshold: f64) -> Likelihood {
        Likelihood { shift, sigma, threshold, mean: None, samples: 0, up: 0.0, down: 0.0 }
    }

    fn update(&mut self, rtt: f64) -> f64 {
        let Some(mean) = self.mean else {
            self.restart_at(Some(rtt));
            return rtt;
        };
        let deviation = rtt / mean - 1.0;
        let weight = self.shift / (self.sigma * self.sigma);
        self.up = (self.up + weight * (deviation - self.shift / 2.0)).max(0.0);
        self.down = (self.down + weight * (-deviation - self.shift / 2.0)).max(0.0);
        if self.up > self.threshold || self.down > self.threshold {
            self.restart_at(Some(rtt));
            return rtt;
        }
        self.samples += 1;
        let mean = mean + (rtt - mean) / f64::from(self.samples);
        self.mean = Some(mean);
        mean
    }

    fn restart_at(&mut self, mean: Option<f64>) {
        *self = Likelihood { mean, samples: 1, up: 0.0, down: 0.0, ..*self };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// shift 2 %, sigma 1 %, threshold 5: weight 200. Samples 100, 100, then 103 (+3 %): s = 200 (0.03 - 0.01) = 4, g = 4,
    /// mean 101; then 103 again: deviation 0.0198, s = 1.96, g = 5.96 > 5: a change, the mean is 103.
    #[test]
    fn mean_until_a_change() {
        let mut lsrtt = Lsrtt::Likelihood(Likelihood::new(0.02, 0.01, 5.0));
        assert_eq!([100.0, 100.0, 103.0, 103.0].map(|x| lsrtt.update(x)), [100.0, 100.0, 101.0, 103.0]);
    }

    /// Evidence of a rise counts from 0 after one: 104.5 after the 103 of the case above is 200 (0.01456 - 0.01) = 0.91, no change.
    #[test]
    fn forgets_the_evidence_of_a_rise() {
        let mut lsrtt = Lsrtt::Likelihood(Likelihood::new(0.02, 0.01, 5.0));
        assert_eq!([100.0, 100.0, 103.0, 103.0, 104.5].map(|x| lsrtt.update(x))[3..], [103.0, 103.75]);
    }

    /// Near enough to be taken for no change (102 after 103, 84 after 80), yet it is the first again.
    #[test]
    fn forgets_all_samples() {
        let mut likelihood = Lsrtt::Likelihood(Likelihood::new(0.02, 0.01, 5.0));
        let mut smoothed = Lsrtt::Ewma(Ewma::default());
        for (lsrtt, before, after) in [(&mut likelihood, 103.0, 102.0), (&mut smoothed, 80.0, 84.0)] {
            assert_eq!(lsrtt.update(before), before);
            lsrtt.reset();
            assert_eq!(lsrtt.update(after), after);
        }
    }

    /// Two samples of 100 and two of 97: 200 (0.03 - 0.01) = 4, then against 99 200 (0.0202 - 0.01) = 2.04, together 6.04.
    #[test]
    fn evidence_of_a_fall_is_six() {
        for (threshold, last) in [(6.0, 97.0), (6.1, 98.5)] {
            let mut lsrtt = Lsrtt::Likelihood(Likelihood::new(0.02, 0.01, threshold));
            assert_eq!([100.0, 100.0, 97.0, 97.0].map(|x| lsrtt.update(x)), [100.0, 100.0, 99.0, last]);
        }
    }

    /// A fall is found as a rise is: 100, then 97: 4; 97 again against 98.5: 200 (0.01523 - 0.01) = 1.05, g = 5.05 > 5. Then the evidence
    /// counts from 0 again: 96 is 200 (0.01031 - 0.01) = 0.06, no change.
    #[test]
    fn detects_a_fall() {
        let mut lsrtt = Lsrtt::Likelihood(Likelihood::new(0.02, 0.01, 5.0));
        assert_eq!([100.0, 97.0, 97.0, 96.0].map(|x| lsrtt.update(x)), [100.0, 98.5, 97.0, 96.5]);
    }
}
