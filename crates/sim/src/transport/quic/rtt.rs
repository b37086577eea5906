//! Round-trip times of RFC 9002 section 5, and the times derived from them.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::MILLISECOND;

/// kInitialRtt (section 6.2.2).
const INITIAL: Nanos = 333 * MILLISECOND;
/// kGranularity (section 6.1.2).
const GRANULARITY: Nanos = MILLISECOND;
/// kPersistentCongestionThreshold (section 7.6.1).
const PERSISTENT: Nanos = 3;

/// RTT estimator.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    /// Latest sample; `None` before the first.
    pub latest: Option<Nanos>,
    /// Minimum sample, without regard to ACK delay.
    pub min: Option<Nanos>,
    /// Smoothed RTT.
    pub smoothed: Nanos,
    /// RTT variation.
    pub variation: Nanos,
    /// Time of the first sample.
    pub first_at: Option<Nanos>,
    /// Longest ACK delay of the peer.
    pub max_ack_delay: Nanos,
}

impl Rtt {
    /// Estimator without samples.
    pub fn new(max_ack_delay: Nanos) -> Rtt {
        let (smoothed, variation) = (INITIAL, INITIAL / 2);
        Rtt { latest: None, min: None, smoothed, variation, first_at: None, max_ack_delay }
    }

    /// Takes a sample with the ACK delay that the peer reports. Returns the adjusted sample.
    pub fn sample(&mut self, now: Nanos, latest: Nanos, ack_delay: Nanos) -> Nanos {
        self.latest = Some(latest);
        let Some(min) = self.min else {
            self.min = Some(latest);
            self.first_at = Some(now);
            (self.smoothed, self.variation) = (latest, latest / 2);
            return latest;
        };
        let min = min.min(latest);
        self.min = Some(min);
        let ack_delay = ack_delay.min(self.max_ack_delay);
        let adjusted = if latest >= min + ack_delay { latest - ack_delay } else { latest };
        // Erratum 7539: the variation is of the smoothed RTT before this sample.
        self.variation = (3 * self.variation + self.smoothed.abs_diff(adjusted)) / 4;
        self.smoothed = (7 * self.smoothed + adjusted) / 8;
        adjusted
    }

    /// Sets the minimum to the latest sample, after persistent congestion (section 5.2).
    pub fn restart_min(&mut self) {
        self.min = self.latest;
    }

    /// Probe timeout without backoff (section 6.2.1).
    pub fn pto(&self) -> Nanos {
        self.smoothed + (4 * self.variation).max(GRANULARITY) + self.max_ack_delay
    }

    /// Time threshold of a loss: 9/8 of the RTT (section 6.1.2).
    pub fn loss_delay(&self) -> Nanos {
        let rtt = self.smoothed.max(self.latest.unwrap_or(0));
        (rtt + rtt / 8).max(GRANULARITY)
    }

    /// Span of losses that shows persistent congestion (section 7.6.1).
    pub fn persistent_span(&self) -> Nanos {
        PERSISTENT * self.pto()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Nanos = 1_000;

    fn rtt(samples: &[(Nanos, Nanos)]) -> Rtt {
        let mut rtt = Rtt::new(25 * MILLISECOND);
        samples.iter().for_each(|&(sample, delay)| {
            rtt.sample(1, sample * MILLISECOND, delay * MILLISECOND);
        });
        rtt
    }

    /// RFC 9002 sections 5.3, 6.1.2, and 6.2.1: smoothed RTT, variation, PTO, and time threshold after samples and ACK delays in
    /// milliseconds, by hand. The order before erratum 7539 would give 39.6875 ms of variation in the second row.
    #[test]
    fn estimates_follow_the_pseudocode() {
        let samples = [(100, 10), (130, 20), (110, 25), (160, 60), (90, 0)];
        let expected = [
            (100_000_000, 50_000_000, 325_000_000, 112_500_000),
            (101_250_000, 40_000_000, 286_250_000, 146_250_000),
            (102_343_750, 32_187_500, 256_093_750, 123_750_000),
            (106_425_781, 32_304_687, 260_644_529, 180_000_000),
            (104_372_558, 28_334_960, 242_712_398, 117_419_127),
        ];
        for (count, expected) in (1..).zip(expected) {
            let rtt = rtt(&samples[..count]);
            assert_eq!((rtt.smoothed, rtt.variation, rtt.pto(), rtt.loss_delay()), expected, "sample {count}");
        }
        assert_eq!(rtt(&samples).min, Some(90 * MILLISECOND));
        assert_eq!(rtt(&[]).pto(), 1024 * MILLISECOND, "no sample yet");
        assert_eq!(Rtt::new(0).pto(), 999 * MILLISECOND, "no sample and no ACK delay, as in the handshake");
    }

    /// RFC 9002 section 5.3: the delay is subtracted if the rest is at least the minimum: 125 - 25 of a minimum of 100.
    #[test]
    fn an_ack_delay_never_makes_a_sample_less_than_the_minimum() {
        let mut rtt = rtt(&[(100, 0)]);
        assert_eq!(rtt.sample(1, 125 * MILLISECOND, 25 * MILLISECOND), 100 * MILLISECOND);
        assert_eq!(rtt.sample(1, 124_999 * US, 25 * MILLISECOND), 124_999 * US);
    }

    /// RFC 9002 section 6.1.2: kGranularity, and the larger of the latest and the smoothed RTT.
    #[test]
    fn short_round_trips_wait_for_a_millisecond() {
        let mut rtt = Rtt::new(0);
        rtt.sample(1, 200 * US, 0);
        assert_eq!(rtt.loss_delay(), MILLISECOND);
        rtt.smoothed = 40 * MILLISECOND;
        rtt.latest = Some(80 * MILLISECOND);
        assert_eq!(rtt.loss_delay(), 90 * MILLISECOND, "the latest sample counts if it is longer");
    }
}
