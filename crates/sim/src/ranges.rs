//! Sets of segments kept as sorted, disjoint, non-adjacent ranges: what a receiver holds beyond a hole, what a sender knows
//! to have arrived. Losses come in order, so nearly every change is at one of the ends.

use std::collections::VecDeque;

/// A set of segment numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// First and one past the last of each range.
    ranges: VecDeque<(u64, u64)>,
    count: u64,
}

impl Ranges {
    /// How many segments are in the set.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// One past the highest member.
    pub fn end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.1)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.count = 0;
    }

    /// Adds `start..end`; says how many of them are new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let before = self.count;
        // Ranges from `low` to `high` touch or overlap the new one.
        let low = self.position(|range| range.1 < start);
        let high = self.position(|range| range.0 <= end);
        if low == high {
            self.ranges.insert(low, (start, end));
            self.count += end - start;
            return end - start;
        }
        let merged = (self.ranges[low].0.min(start), self.ranges[high - 1].1.max(end));
        let replaced: u64 = self.ranges.range(low..high).map(|range| range.1 - range.0).sum();
        self.ranges[low] = merged;
        if high - low > 1 {
            self.ranges.drain(low + 1..high);
        }
        self.count += merged.1 - merged.0 - replaced;
        self.count - before
    }

    /// Removes everything below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        while let Some(&(start, end)) = self.ranges.front() {
            if start >= bound {
                return;
            }
            if end > bound {
                self.ranges[0].0 = bound;
                self.count -= bound - start;
                return;
            }
            self.count -= end - start;
            self.ranges.pop_front();
        }
    }

    /// The range that holds `member`.
    pub fn containing(&self, member: u64) -> Option<(u64, u64)> {
        let at = self.position(|range| range.1 <= member);
        self.ranges.get(at).copied().filter(|range| range.0 <= member)
    }

    /// The least number from `start` on that is not in the set.
    pub fn next_missing(&self, start: u64) -> u64 {
        self.containing(start).map_or(start, |range| range.1)
    }

    /// How many members are in `start..end`.
    pub fn count_in(&self, start: u64, end: u64) -> u64 {
        let overlap = |range: &(u64, u64)| range.1.min(end).saturating_sub(range.0.max(start));
        self.ranges.iter().rev().take_while(|range| range.1 > start).map(overlap).sum()
    }

    /// The `n`th highest member (1 is the highest).
    pub fn nth_highest(&self, mut n: u64) -> Option<u64> {
        for &(start, end) in self.ranges.iter().rev() {
            if n <= end - start {
                return Some(end - n);
            }
            n -= end - start;
        }
        None
    }

    /// The first index whose range does not satisfy `below`; looks at the ends before it searches.
    fn position(&self, below: impl Fn(&(u64, u64)) -> bool) -> usize {
        let n = self.ranges.len();
        match self.ranges.back() {
            None => 0,
            Some(last) if below(last) => n,
            Some(_) if n < 2 || below(&self.ranges[n - 2]) => n - 1,
            Some(_) => self.ranges.partition_point(below),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Everything agrees with a plain set of numbers.
        #[test]
        fn behaves_like_a_set(inserts in prop::collection::vec((0u64..60, 0u64..9), 1..40), bound in 0u64..60) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (start, length) in inserts {
                let new = (start..start + length).filter(|&x| set.insert(x)).count() as u64;
                prop_assert_eq!(ranges.insert(start, start + length), new);
            }
            for _ in 0..2 {
                prop_assert_eq!(ranges.count(), set.len() as u64);
                prop_assert_eq!(ranges.end(), set.last().map(|x| x + 1));
                for x in 0..70 {
                    prop_assert_eq!(ranges.containing(x).is_some(), set.contains(&x));
                    prop_assert_eq!(ranges.next_missing(x), (x..).find(|y| !set.contains(y)).unwrap());
                    prop_assert_eq!(ranges.count_in(x, x + 7), set.range(x..x + 7).count() as u64);
                    prop_assert_eq!(ranges.nth_highest(x + 1), set.iter().rev().nth(x as usize).copied());
                }
                prop_assert!(ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
                ranges.remove_below(bound);
                set = set.split_off(&bound);
            }
        }
    }
}
