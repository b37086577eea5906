//! Sets of segments kept as sorted, disjoint, non-adjacent ranges: what a receiver holds beyond a hole, what a sender knows
//! to have arrived. Losses come in order, so nearly every change is at one of the ends.

use std::collections::VecDeque;

/// A set of segment numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// First and one past the last of the highest range, at hand: most changes are to it. Empty if the set is.
    last: Range,
    count: u64,
    /// The same of the lower ones.
    lower: VecDeque<Range>,
}

type Range = (u64, u64);

impl Ranges {
    /// How many segments are in the set.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One past the highest member.
    pub fn end(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.last.1)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.lower.clear();
        self.last = (0, 0);
        self.count = 0;
    }

    /// Adds `start..end`; says how many of them are new.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let (first, last) = self.last;
        let new = if self.is_empty() {
            self.last = (start, end);
            end - start
        } else if first <= start && start <= last {
            self.last.1 = last.max(end);
            self.last.1 - last
        } else if start > last {
            self.lower.push_back(self.last);
            self.last = (start, end);
            end - start
        } else {
            self.insert_lower(start, end)
        };
        self.count += new;
        new
    }

    /// Removes everything below `bound`.
    #[inline]
    pub fn remove_below(&mut self, bound: u64) {
        while let Some(&(start, end)) = self.lower.front() {
            if start >= bound {
                return;
            }
            if end > bound {
                self.lower[0].0 = bound;
                self.count -= bound - start;
                return;
            }
            self.count -= end - start;
            self.lower.pop_front();
        }
        let start = self.last.0.max(bound.min(self.last.1));
        self.count -= start - self.last.0;
        self.last.0 = start;
    }

    /// The range that holds `member`.
    #[inline]
    pub fn containing(&self, member: u64) -> Option<Range> {
        if member >= self.last.0 {
            return Some(self.last).filter(|range| member < range.1);
        }
        let at = self.lower.partition_point(|range| range.1 <= member);
        self.lower.get(at).copied().filter(|range| range.0 <= member)
    }

    /// The least number from `start` on that is not in the set.
    pub fn next_missing(&self, start: u64) -> u64 {
        self.containing(start).map_or(start, |range| range.1)
    }

    /// How many members are in `start..end`.
    pub fn count_in(&self, start: u64, end: u64) -> u64 {
        let overlap = |range: &Range| range.1.min(end).saturating_sub(range.0.max(start));
        self.descending().take_while(|range| range.1 > start).map(overlap).sum()
    }

    /// The `n`th highest member (1 is the highest).
    pub fn nth_highest(&self, mut n: u64) -> Option<u64> {
        for &(start, end) in self.descending() {
            if n <= end - start {
                return Some(end - n);
            }
            n -= end - start;
        }
        None
    }

    fn descending(&self) -> impl Iterator<Item = &Range> {
        std::iter::once(&self.last).chain(self.lower.iter().rev())
    }

    /// Adds a range that begins below the highest one; says how many segments are new.
    fn insert_lower(&mut self, start: u64, end: u64) -> u64 {
        // Most are told again and again.
        if self.containing(start).is_some_and(|range| end <= range.1) {
            return 0;
        }
        self.lower.push_back(self.last);
        // Ranges from `low` to `high` touch or overlap the new one.
        let low = self.lower.partition_point(|range| range.1 < start);
        let high = self.lower.partition_point(|range| range.0 <= end);
        let new = if low == high {
            self.lower.insert(low, (start, end));
            end - start
        } else {
            let merged = (self.lower[low].0.min(start), self.lower[high - 1].1.max(end));
            let replaced: u64 = self.lower.range(low..high).map(|range| range.1 - range.0).sum();
            self.lower[low] = merged;
            self.lower.drain(low + 1..high);
            merged.1 - merged.0 - replaced
        };
        self.last = self.lower.pop_back().expect("the range just added");
        new
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
                prop_assert!(ranges.descending().zip(ranges.descending().skip(1)).all(|(a, b)| b.1 < a.0));
                prop_assert!(set.is_empty() == ranges.is_empty());
                ranges.remove_below(bound);
                set = set.split_off(&bound);
            }
        }
    }
}
