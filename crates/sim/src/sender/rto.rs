//! The retransmission timer: RFC 6298.

use fullpipe_cc::Nanos;

/// RTO before the first sample (RFC 6298 rule 2.1).
const INITIAL_RTO: Nanos = 1_000_000_000;
/// The greatest RTO (RFC 6298 rule 2.5 allows a maximum of at least 60 s).
const MAX_RTO: Nanos = 64_000_000_000;

/// RTT estimate and timeout of one connection.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Zero before the first sample.
    smoothed: Nanos,
    variation: Nanos,
    /// Without backoff.
    rto: Nanos,
    backoff: u32,
    min_rto: Nanos,
    /// Least sample; `Nanos::MAX` before the first.
    least: Nanos,
}

impl RttEstimator {
    /// Nothing known; `min_rto` is the least timeout (rule 2.4; the RFC asks for 1 s, ns-2 and Linux use 200 ms).
    pub fn new(min_rto: Nanos) -> Self {
        let rto = INITIAL_RTO.max(min_rto);
        RttEstimator { smoothed: 0, variation: 0, rto, backoff: 0, min_rto, least: Nanos::MAX }
    }

    /// Forgets everything: a new connection.
    pub fn reset(&mut self) {
        *self = RttEstimator::new(self.min_rto);
    }

    /// Takes a sample (rules 2.2 and 2.3: gains 1/8 and 1/4, K = 4) and ends the backoff (rule 5.7's note: a sample is of data
    /// sent once, or told apart by its timestamp).
    #[inline(always)]
    pub fn sample(&mut self, rtt: Nanos) {
        self.least = self.least.min(rtt);
        if self.smoothed == 0 {
            self.smoothed = rtt;
            self.variation = rtt / 2;
        } else {
            let error = rtt as i64 - self.smoothed as i64;
            self.variation = self.variation.wrapping_add_signed((error.abs() - self.variation as i64) >> 2);
            self.smoothed = self.smoothed.wrapping_add_signed(error >> 3);
        }
        self.rto = (self.smoothed + 4 * self.variation).max(self.min_rto).min(MAX_RTO);
        self.backoff = 0;
    }

    /// The timer expired: the next timeout is twice as long (rule 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// The timeout in force.
    #[inline]
    pub fn timeout(&self) -> Nanos {
        (self.rto << self.backoff).min(MAX_RTO)
    }

    /// Smoothed RTT.
    #[inline]
    pub fn smoothed(&self) -> Option<Nanos> {
        (self.smoothed != 0).then_some(self.smoothed)
    }

    /// Least RTT.
    #[inline]
    pub fn least(&self) -> Option<Nanos> {
        (self.least != Nanos::MAX).then_some(self.least)
    }

    /// Smoothed RTT and four variations, without the floor: Vegas's fine-grained timeout.
    pub fn fine_timeout(&self) -> Option<Nanos> {
        self.smoothed().map(|smoothed| smoothed + 4 * self.variation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// RFC 6298 rules 2.2 and 2.3 by hand. First sample 100 ms: SRTT 100, RTTVAR 50, RTO 300. Second 180 ms: RTTVAR =
    /// 3/4*50 + 1/4*80 = 57.5, SRTT = 7/8*100 + 1/8*180 = 110, RTO = 340.
    #[test]
    fn worked_example() {
        let mut rtt = RttEstimator::new(200 * MS);
        assert_eq!(rtt.timeout(), 1000 * MS, "rule 2.1");
        rtt.sample(100 * MS);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(100 * MS), 300 * MS));
        rtt.sample(180 * MS);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(110 * MS), 340 * MS));
        assert_eq!(rtt.least(), Some(100 * MS));
    }

    /// Rule 5.5 doubles at each expiry, up to the maximum; a new sample starts afresh; rule 2.4 sets a floor.
    #[test]
    fn backoff_and_floor() {
        let mut rtt = RttEstimator::new(200 * MS);
        rtt.sample(10 * MS);
        assert_eq!(rtt.timeout(), 200 * MS);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(), 800 * MS);
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(), 64_000 * MS);
        rtt.sample(10 * MS);
        assert_eq!(rtt.timeout(), 200 * MS);
    }
}
