//! Exponentially weighted moving average.

/// The gain of TCP's smoothed RTT (RFC 6298 section 2: alpha = 1/8).
const GAIN: f64 = 1.0 / 8.0;

/// An average that moves an eighth of the way to every sample and starts at the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ewma(Option<f64>);

impl Ewma {
    /// Takes a sample in; the average after it.
    #[inline]
    pub fn update(&mut self, sample: f64) -> f64 {
        let value = self.0.map_or(sample, |value| value + GAIN * (sample - value));
        self.0 = Some(value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::Ewma;

    /// RFC 6298 section 2: SRTT = R first, then 7/8 SRTT + 1/8 R: 80, then 80 + 8/8 = 81, then 81 + 16/8 = 83.
    #[test]
    fn moves_an_eighth() {
        let mut ewma = Ewma::default();
        assert_eq!([80.0, 88.0, 97.0].map(|x| ewma.update(x)), [80.0, 81.0, 83.0]);
    }
}
