//! Jitter: how much the one-way delay differs from one packet to the next, `|D(i-1, i)|` of RFC 3550 section 6.4.1. RFC 5481 section 4.1
//! calls such a difference IPDV.
//!
//! # Choices
//!
//! - A packet's partner is the one that arrived before it, in any order of sending, as in RFC 3550 (RFC 5481 pairs them as they were
//!   sent). A lost packet is in no pair.
//! - The metric is the amount of each difference without its sign, since positive and negative ones are equally frequent. Percentiles of
//!   RFC 3550's running estimate of the mean would show little.
//! - The delay is from when the sender's window and pacer let the packet go to its arrival, access link included; clocks are exact.
//! - Packets are a flow's data, retransmissions and duplicates included; a pair is in the window if its later packet arrives there.

use super::percentiles::{Histogram, Percentiles};
use fullpipe_cc::Nanos;

/// The jitter of one flow, or of several together.
#[derive(Clone, Debug, Default)]
pub struct Jitter {
    /// One-way delay of the packet that arrived last.
    last: Option<Nanos>,
    differences: Histogram,
    /// Pairs without a difference.
    even: u64,
}

impl Jitter {
    /// A packet arrives after `delay`; the pair that it makes `counts` or does not.
    pub fn note(&mut self, delay: Nanos, counts: bool) {
        match self.last.replace(delay) {
            Some(before) if counts && before == delay => self.even += 1,
            Some(before) if counts => self.differences.count(before.abs_diff(delay)),
            _ => {}
        }
    }

    /// Counts all that the other has counted.
    pub fn add(&mut self, other: &Jitter) {
        self.differences.add(&other.differences);
        self.even += other.even;
    }

    /// Its percentiles; NaN without a pair.
    pub fn percentiles(&self) -> Percentiles {
        self.differences.percentiles(self.even)
    }

    /// Bytes it takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.differences.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Delays of 10, 14, 14, 11, 20 ns differ by 4, 0, 3, 9: of four pairs the second is 3 and the fourth 9.
    #[test]
    fn pairs_are_of_packets_that_arrive_one_after_the_other() {
        let mut jitter = Jitter::default();
        [10, 14, 14, 11, 20].into_iter().for_each(|delay| jitter.note(delay, true));
        let Percentiles { p50_s, p95_s, p99_s } = jitter.percentiles();
        assert_eq!([p50_s, p95_s, p99_s].map(|time| (time * 1e9).round()), [3.0, 9.0, 9.0]);
    }

    /// The packet before the window's first is in a pair of the window.
    #[test]
    fn a_pair_is_where_its_later_packet_is() {
        let mut jitter = Jitter::default();
        [(10, false), (30, false), (37, true)].into_iter().for_each(|(delay, counts)| jitter.note(delay, counts));
        assert_eq!((jitter.percentiles().p50_s * 1e9).round(), 7.0);
        assert!(Jitter::default().percentiles().p50_s.is_nan());
    }

    proptest! {
        /// Against the differences themselves, of two flows together.
        #[test]
        fn percentiles_are_within_one_percent_of_the_exact(
            flows in prop::collection::vec(prop::collection::vec(0u64..1 << 40, 1..200), 1..3),
        ) {
            let (mut together, mut exact) = (Jitter::default(), Vec::new());
            for delays in &flows {
                let mut one = Jitter::default();
                delays.iter().for_each(|&delay| one.note(delay, true));
                exact.extend(delays.windows(2).map(|pair| pair[0].abs_diff(pair[1]) as f64 / 1e9));
                together.add(&one);
            }
            exact.sort_by(f64::total_cmp);
            let Percentiles { p50_s, p95_s, p99_s } = together.percentiles();
            for (found, percent) in [(p50_s, 50), (p95_s, 95), (p99_s, 99)] {
                let exact = if exact.is_empty() { f64::NAN } else { exact[(exact.len() * percent).div_ceil(100) - 1] };
                prop_assert!(found.is_nan() && exact.is_nan() || (found - exact).abs() <= 0.01 * exact, "{}", found);
            }
        }
    }
}
