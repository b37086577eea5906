//! Percentiles of times: a histogram whose buckets grow with the times they hold, as HdrHistogram's do, so that a percentile is
//! within 1 % of the sample it represents, over any range.
//!
//! A bucket has all times that share exponent and leading bits with its lower bound as a double: 64 to each power of two, so none is wider than
//! 1/64 of its lower bound, and its middle is within 1/128 of all that is in it. Below 128 ns, where buckets hold one whole number
//! each, percentiles are exact. Room is made for the buckets between the least and the greatest sample only: a flow whose RTT doubles
//! takes 64 of them, and a link on which nothing waits takes none.

use fullpipe_cc::Nanos;

/// Bits of a double's fraction that separate buckets of one power of two.
const FRACTION_BITS: u32 = 6;

/// Bits of a double that do not.
const DROPPED_BITS: u32 = f64::MANTISSA_DIGITS - 1 - FRACTION_BITS;

/// Granularity of the room for buckets, which also grows by a quarter at least.
const CHUNK: u64 = 16;

/// Percentiles by nearest rank, seconds: the least sample that is not below this percentage of samples. NaN without samples.
///
/// Example: see [`Report`](super::Report).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Percentiles {
    /// The median.
    pub p50_s: f64,
    /// 95 of 100 samples are not above it.
    pub p95_s: f64,
    /// 99 of 100 samples are not above it.
    pub p99_s: f64,
}

impl Percentiles {
    /// Of nothing.
    pub const UNKNOWN: Percentiles = Percentiles { p50_s: f64::NAN, p95_s: f64::NAN, p99_s: f64::NAN };
}

/// Number of times in each bucket. Times of 0 have none, and callers count them.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// The bucket of the first count.
    first: u64,
    counts: Box<[u64]>,
}

/// The bucket of a time above 0.
#[inline(always)]
pub fn bucket(time: f64) -> u64 {
    time.to_bits() >> DROPPED_BITS
}

impl Histogram {
    /// Counts a time above 0.
    #[inline(always)]
    pub fn count(&mut self, time: Nanos) {
        self.count_many(bucket(time as i64 as f64), 1);
    }

    /// Counts a time above 0 if there is room for it, and returns whether it did.
    #[inline(always)]
    pub fn count_if_room(&mut self, time: f64) -> bool {
        let count = self.counts.get_mut(bucket(time).wrapping_sub(self.first) as usize);
        count.map(|count| *count += 1).is_some()
    }

    /// Counts several times of one bucket.
    #[inline(always)]
    pub fn count_many(&mut self, bucket: u64, times: u64) {
        match self.counts.get_mut(bucket.wrapping_sub(self.first) as usize) {
            Some(count) => *count += times,
            None => self.count_beyond(bucket, times),
        }
    }

    /// Counts all that the other has counted.
    pub fn add(&mut self, other: &Histogram) {
        for (bucket, &times) in (other.first..).zip(&*other.counts).filter(|(_, times)| **times > 0) {
            self.count_many(bucket, times);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// How many times it has counted.
    pub fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Percentiles of the counted times and of `zeros` zeros.
    pub fn percentiles(&self, zeros: u64) -> Percentiles {
        let len = self.len();
        let [p50_s, p95_s, p99_s] = [50, 95, 99].map(|percent| self.percentile_of(len, percent, zeros));
        Percentiles { p50_s, p95_s, p99_s }
    }

    /// Percentile, seconds; at 100 the bucket of the largest sample.
    pub fn percentile(&self, percent: u64, zeros: u64) -> f64 {
        self.percentile_of(self.len(), percent, zeros)
    }

    /// Percentile of `len` counted times.
    fn percentile_of(&self, len: u64, percent: u64, zeros: u64) -> f64 {
        let rank = (u128::from(zeros + len) * u128::from(percent)).div_ceil(100).max(1);
        let mut below = u128::from(zeros);
        if below >= rank {
            return 0.0;
        }
        for (bucket, &times) in (self.first..).zip(&*self.counts) {
            below += u128::from(times);
            if below >= rank {
                return middle(bucket) / 1e9;
            }
        }
        f64::NAN
    }

    /// Bytes it takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.counts)
    }

    #[cold]
    #[inline(never)]
    fn count_beyond(&mut self, bucket: u64, times: u64) {
        let len = self.counts.len() as u64;
        let room = (len / 4).next_multiple_of(CHUNK).max(CHUNK);
        let (from, to) = match len {
            0 => (bucket - bucket % CHUNK, bucket - bucket % CHUNK + CHUNK),
            _ if bucket < self.first => (bucket.min(self.first.saturating_sub(room)), self.first + len),
            _ => (self.first, (bucket + 1).max(self.first + len + room)),
        };
        let mut counts = vec![0; (to - from) as usize].into_boxed_slice();
        if !self.counts.is_empty() {
            let begin = (self.first - from) as usize;
            counts[begin..begin + self.counts.len()].copy_from_slice(&self.counts);
        }
        (self.first, self.counts) = (from, counts);
        self.counts[(bucket - from) as usize] += times;
    }
}

/// The middle of the whole numbers in a bucket.
fn middle(bucket: u64) -> f64 {
    let bound = |bucket: u64| f64::from_bits(bucket << DROPPED_BITS).ceil();
    (bound(bucket) + bound(bucket + 1) - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A histogram, and how many zeros it leaves to others.
    fn of(times: impl IntoIterator<Item = Nanos>) -> (Histogram, u64) {
        let (mut histogram, mut zeros) = (Histogram::default(), 0);
        for time in times {
            if time == 0 { zeros += 1 } else { histogram.count(time) }
        }
        (histogram, zeros)
    }

    fn percentile(times: impl IntoIterator<Item = Nanos>, percent: u64) -> f64 {
        let (histogram, zeros) = of(times);
        histogram.percentile(percent, zeros)
    }

    /// Nearest rank by hand: of 1 to 100 ns the median is 50, 95 of 100 are not above 95; of 1 to 7 ns rank 3.5 is the fourth.
    #[test]
    fn short_times_are_exact() {
        let percentiles = |times| {
            let (histogram, zeros) = of(times);
            let Percentiles { p50_s, p95_s, p99_s } = histogram.percentiles(zeros);
            [p50_s, p95_s, p99_s].map(|time| (time * 1e9).round())
        };
        assert_eq!(percentiles(1..=100), [50.0, 95.0, 99.0]);
        assert_eq!(percentiles(1..=7), [4.0, 7.0, 7.0]);
        assert_eq!(percentiles(0..=9), [4.0, 9.0, 9.0], "a time of 0 is a time");
    }

    #[test]
    fn nothing_has_no_percentiles_and_zeros_have_zero() {
        assert!(percentile([], 50).is_nan());
        assert_eq!(percentile([0, 0], 100), 0.0);
        assert_eq!(percentile([0, 0, 0, 5], 50), 0.0);
    }

    /// 2^30 ns begin a bucket of 2^24 of them, whose middle is 2^30 + 2^23 - 1/2.
    #[test]
    fn a_bucket_is_its_middle() {
        assert_eq!(percentile([1 << 30], 50), (1_073_741_824.0 + 8_388_607.5) / 1e9);
        assert_eq!(percentile([(1 << 30) + (1 << 24) - 1], 50), (1_073_741_824.0 + 8_388_607.5) / 1e9);
    }

    #[test]
    fn a_narrow_range_takes_little_room() {
        let (mut histogram, _) = of(80_000_000..80_000_100);
        histogram.count(159_999_999);
        assert!(histogram.heap_bytes() <= 8 * (64 + 2 * CHUNK as usize), "{}", histogram.heap_bytes());
        histogram.clear();
        assert_eq!((histogram.len(), histogram.percentile(99, 0).is_nan()), (0, true));
    }

    proptest! {
        /// Against the samples themselves, sorted; added up in two parts, whatever they are.
        #[test]
        fn percentiles_are_within_one_percent_of_the_exact(
            samples in prop::collection::vec((0u64..1 << 62, 0u32..62).prop_map(|(time, shift)| time >> shift), 1..300),
            cut in 0usize..300,
            percent in 0u64..=100,
        ) {
            let (one, other) = samples.split_at(cut.min(samples.len()));
            let (mut both, zeros) = of(one.iter().copied());
            let (rest, more) = of(other.iter().copied());
            both.add(&rest);
            let zeros = zeros + more;
            let mut sorted = samples.clone();
            sorted.sort_unstable();
            let exact = sorted[(sorted.len() * percent as usize).div_ceil(100).max(1) - 1] as f64 / 1e9;
            let found = both.percentile(percent, zeros);
            prop_assert_eq!(both.len() + zeros, samples.len() as u64);
            prop_assert!((found - exact).abs() <= 0.01 * exact, "{} for {}", found, exact);
        }
    }
}
