//! Policer: drops packets above its rate before they reach the queue. A token bucket without a queue (RFC 2697 section
//! 2 describes the bucket). It holds at most `burst` bytes, and is full at first. Tokens arrive at `rate`. A packet
//! passes if the bucket has as many tokens as the packet has bytes, and takes them.

use crate::scenario;
use fullpipe_cc::Nanos;

/// See the head of the file.
#[derive(Debug)]
pub struct Policer {
    rate_bps: u64,
    /// Capacity and content in 10^-9 bits: 1 bit/s adds one of them per nanosecond.
    most: u128,
    tokens: u128,
    /// Up to when tokens have come in.
    filled_to: Nanos,
}

impl Policer {
    /// A full bucket.
    pub fn new(settings: &scenario::Policer) -> Policer {
        let most = tokens_of(settings.burst);
        Policer { rate_bps: settings.rate_bps, most, tokens: most, filled_to: 0 }
    }

    /// Whether a packet of `size` bytes passes at `now`.
    pub fn passes(&mut self, now: Nanos, size: u32) -> bool {
        let came = u128::from(self.rate_bps) * u128::from(now - self.filled_to);
        self.tokens = self.most.min(self.tokens + came);
        self.filled_to = now;
        let left = self.tokens.checked_sub(tokens_of(u64::from(size)));
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }
}

fn tokens_of(bytes: u64) -> u128 {
    u128::from(bytes) * 8_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 Mbit/s into 10 Mbit/s and 250 kB: packets of 1000 bytes come each 0.4 ms and take 500 bytes more than flow in meanwhile.
    /// Packet n finds 250,000 - 500 n: number 498 takes the last 1000, number 499, at 0.1996 s, finds 500. From then on every second
    /// one passes.
    #[test]
    fn twice_the_rate_loses_every_second_packet_once_the_burst_is_over() {
        let mut policer = Policer::new(&scenario::Policer { rate_bps: 10_000_000, burst: 250_000 });
        let lost: Vec<u64> = (0..10_000_u64).filter(|n| !policer.passes(n * 400_000, 1000)).collect();
        assert_eq!(lost[0], 499);
        assert!(lost.windows(2).all(|pair| pair[1] - pair[0] == 2));
    }

    #[test]
    fn the_bucket_never_holds_more_than_its_burst() {
        let mut policer = Policer::new(&scenario::Policer { rate_bps: 8_000, burst: 3000 });
        // A second brings 1000 bytes.
        let at = |second: u64| second * 1_000_000_000;
        let passed = [0, 0, 0, 0, 1, 1, 100, 100, 100, 100].map(|second| policer.passes(at(second), 1000));
        assert_eq!(passed, [true, true, true, false, true, false, true, true, true, false]);
    }
}
