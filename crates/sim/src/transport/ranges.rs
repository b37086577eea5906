//! Sets of segments as sorted, disjoint, non-adjacent ranges, for the segments that a receiver holds beyond a hole, and for SACKed segments.
//! Losses are in order, so most changes are at one of the ends. The cost of others depends little on the number of ranges.

use std::collections::VecDeque;

/// A set of segment numbers.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// First and one past the last of the highest range, which most changes affect. Empty if the set is.
    last: Range,
    count: u64,
    /// Lower ranges.
    lower: Pages,
}

type Range = (u64, u64);

impl Ranges {
    /// Segments in the set.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the set is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One past the highest member.
    pub fn end(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.last.1)
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.lower.clear();
        self.last = (0, 0);
        self.count = 0;
    }

    /// Adds `start..end`. Returns the number of new segments.
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
        } else if end < first {
            self.lower.insert(start, end)
        } else {
            self.extend_last(start, end)
        };
        self.count += new;
        new
    }

    /// Removes everything below `bound`.
    #[inline]
    pub fn remove_below(&mut self, bound: u64) {
        while let Some(range) = self.lower.front_mut() {
            let (start, end) = *range;
            if start >= bound {
                return;
            }
            if end > bound {
                range.0 = bound;
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
        self.lower.get(self.lower.first_beyond(member)).filter(|range| range.0 <= member)
    }

    /// The least number from `start` on that is not in the set.
    pub fn next_missing(&self, start: u64) -> u64 {
        self.containing(start).map_or(start, |range| range.1)
    }

    /// Number of segments in `start..end` that are not members. The time is that of the ranges from `start` on.
    #[inline]
    pub fn missing_high_in(&self, start: u64, end: u64) -> u64 {
        let held = |range: Range| range.1.min(end).saturating_sub(range.0.max(start));
        end - start - self.descending().take_while(|range| range.1 > start).map(held).sum::<u64>()
    }

    /// As [`Ranges::missing_high_in`], in the time of the ranges between `start` and `end`.
    pub fn missing_in(&self, start: u64, end: u64) -> u64 {
        let held = |range: Range| range.1.min(end).saturating_sub(range.0.max(start));
        let missing = end.saturating_sub(start) - held(self.last);
        if start >= self.last.0 {
            return missing;
        }
        let lower = self.lower.from(self.lower.first_beyond(start)).take_while(|range| range.0 < end);
        missing - lower.map(held).sum::<u64>()
    }

    /// The `n`th highest member (1 is the highest).
    #[inline]
    pub fn nth_highest(&self, mut n: u64) -> Option<u64> {
        for (start, end) in self.descending() {
            if n <= end - start {
                return Some(end - n);
            }
            n -= end - start;
        }
        None
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.lower.heap_bytes()
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = Range> {
        std::iter::once(self.last).chain(self.lower.descending())
    }

    /// Adds a range that begins below the highest one and reaches it. Returns the number of new segments.
    fn extend_last(&mut self, start: u64, end: u64) -> u64 {
        let mut held = length(self.last);
        self.last = (start, self.last.1.max(end));
        while let Some(range) = self.lower.back().filter(|range| range.1 >= start) {
            held += length(range);
            self.last.0 = range.0.min(start);
            self.lower.pop_back();
        }
        length(self.last) - held
    }
}

/// Ranges in order, in pages of at most [`PAGE`] each, so that a change in the middle moves no more than one of these.
#[derive(Clone, Debug, Default)]
struct Pages {
    /// The highest; mostly there is no other.
    top: Page,
    /// The lower ones, none empty; apart, so that connections without many losses stay small.
    #[expect(clippy::box_collection, reason = "a connection has two of these, and seldom uses them")]
    below: Option<Box<VecDeque<Page>>>,
}

type Page = VecDeque<Range>;

/// Ranges in a page: 2 KiB.
const PAGE: usize = 128;

/// Position of a range: page, and place in the page.
type Place = (usize, usize);

impl Pages {
    #[inline]
    fn front_mut(&mut self) -> Option<&mut Range> {
        self.page_mut(0).front_mut()
    }

    #[inline]
    fn back(&self) -> Option<Range> {
        self.top.back().copied()
    }

    #[inline]
    fn push_back(&mut self, range: Range) {
        count_steps(1);
        if self.top.len() == PAGE {
            self.below.get_or_insert_default().push_back(std::mem::take(&mut self.top));
        }
        self.top.push_back(range);
    }

    #[inline]
    fn pop_front(&mut self) {
        count_steps(1);
        self.page_mut(0).pop_front();
        self.drop_if_empty(0);
    }

    #[inline]
    fn pop_back(&mut self) {
        count_steps(1);
        self.top.pop_back();
        self.drop_if_empty(self.below_len());
    }

    fn clear(&mut self) {
        self.top.clear();
        self.below = None;
    }

    /// The first range that ends after `member`.
    #[inline]
    fn first_beyond(&self, member: u64) -> Place {
        let ends_before = |range: &Range| range.1 <= member;
        let page = match &self.below {
            Some(below) => below.partition_point(|page| page.back().is_some_and(ends_before)),
            None => 0,
        };
        (page, self.page(page).partition_point(ends_before))
    }

    #[inline]
    fn get(&self, (page, at): Place) -> Option<Range> {
        self.page(page).get(at).copied()
    }

    #[inline]
    fn page(&self, page: usize) -> &Page {
        self.below.as_ref().and_then(|below| below.get(page)).unwrap_or(&self.top)
    }

    #[inline]
    fn page_mut(&mut self, page: usize) -> &mut Page {
        match &mut self.below {
            Some(below) if page < below.len() => &mut below[page],
            _ => &mut self.top,
        }
    }

    fn after(&self, (page, at): Place) -> Place {
        if page < self.below_len() && at + 1 == self.page(page).len() { (page + 1, 0) } else { (page, at + 1) }
    }

    /// All ranges from a place on.
    fn from(&self, (page, at): Place) -> impl Iterator<Item = Range> {
        let rest = (page + 1..=self.below_len()).flat_map(|page| self.page(page));
        self.page(page).range(at..).chain(rest).copied().inspect(|_| count_steps(1))
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = Range> {
        let below = (0..self.below_len()).rev().flat_map(|page| self.page(page).iter().rev());
        self.top.iter().rev().chain(below).copied().inspect(|_| count_steps(1))
    }

    /// Adds `start..end`, which reaches only lower ranges. Returns the number of new segments.
    fn insert(&mut self, start: u64, end: u64) -> u64 {
        // The first that touches or overlaps it, or is beyond it.
        let place = self.first_beyond(start.saturating_sub(1));
        let Some(first) = self.get(place).filter(|range| range.0 <= end) else {
            self.insert_at(place, (start, end));
            return end - start;
        };
        if first.0 <= start && end <= first.1 {
            // Most are repeated SACK blocks.
            return 0;
        }
        let (mut merged, mut held) = ((first.0.min(start), first.1.max(end)), length(first));
        while let Some(next) = self.get(self.after(place)).filter(|range| range.0 <= end) {
            held += length(next);
            merged.1 = merged.1.max(next.1);
            self.remove(self.after(place));
        }
        self.page_mut(place.0)[place.1] = merged;
        length(merged) - held
    }

    fn insert_at(&mut self, (mut page, mut at): Place, range: Range) {
        if self.page(page).len() == PAGE {
            let upper = self.page_mut(page).split_off(PAGE / 2);
            count_steps(upper.len() + self.below_len() - page);
            let lower = std::mem::replace(self.page_mut(page), upper);
            self.below.get_or_insert_default().insert(page, lower);
            if at > PAGE / 2 {
                (page, at) = (page + 1, at - PAGE / 2);
            }
        }
        let page = self.page_mut(page);
        count_steps(1 + at.min(page.len() - at));
        page.insert(at, range);
    }

    fn remove(&mut self, (page, at): Place) {
        count_steps(at.min(self.page(page).len() - at));
        self.page_mut(page).remove(at);
        self.drop_if_empty(page);
    }

    /// Removes an empty page, unless it is the only one.
    #[inline]
    fn drop_if_empty(&mut self, page: usize) {
        if self.below_len() > 0 && self.page(page).is_empty() {
            self.drop_page(page);
        }
    }

    #[cold]
    fn drop_page(&mut self, page: usize) {
        let Some(below) = &mut self.below else { return };
        count_steps(below.len() - page);
        if page < below.len() {
            below.remove(page);
        } else if let Some(highest) = below.pop_back() {
            self.top = highest;
        }
    }

    #[inline]
    fn below_len(&self) -> usize {
        self.below.as_ref().map_or(0, |below| below.len())
    }

    fn heap_bytes(&self) -> usize {
        let pages = self.below.as_ref().map_or(0, |below| below.capacity() * size_of::<Page>());
        let ranges: usize = (0..=self.below_len()).map(|page| self.page(page).capacity()).sum();
        ranges * size_of::<Range>() + pages
    }
}

fn length(range: Range) -> u64 {
    range.1 - range.0
}

/// Test only: counts ranges that are visited or moved.
#[inline(always)]
fn count_steps(_steps: usize) {
    #[cfg(test)]
    STEPS.set(STEPS.get() + _steps as u64);
}

#[cfg(test)]
thread_local! {
    /// See [`count_steps`].
    pub static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
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
                    prop_assert_eq!(ranges.missing_high_in(x, x + 7), ranges.missing_in(x, x + 7));
                    prop_assert_eq!(ranges.next_missing(x), (x..).find(|y| !set.contains(y)).unwrap());
                    prop_assert_eq!(ranges.missing_in(x, x + 7), 7 - set.range(x..x + 7).count() as u64);
                    prop_assert_eq!(ranges.nth_highest(x + 1), set.iter().rev().nth(x as usize).copied());
                }
                prop_assert!(ranges.descending().zip(ranges.descending().skip(1)).all(|(a, b)| b.1 < a.0));
                prop_assert!(set.is_empty() == ranges.is_empty());
                ranges.remove_below(bound);
                set = set.split_off(&bound);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// Many pages: single segments all over, then stretches that contain many of them.
        #[test]
        fn many_ranges_behave_like_a_set(
            singles in prop::collection::vec(0u64..6000, 500..2500),
            stretches in prop::collection::vec((0u64..6000, 0u64..400), 0..30),
            bounds in prop::collection::vec(0u64..6000, 3),
        ) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            let singles = singles.into_iter().map(|x| (2 * x, 2 * x + 1));
            for (start, end) in singles.chain(stretches.into_iter().map(|(start, length)| (2 * start, 2 * start + length))) {
                let new = (start..end).filter(|&x| set.insert(x)).count() as u64;
                prop_assert_eq!(ranges.insert(start, end), new);
            }
            for bound in bounds {
                let mut descending: Vec<_> = ranges.descending().collect();
                prop_assert!(descending.windows(2).all(|pair| pair[1].1 < pair[0].0));
                let lower = &ranges.lower;
                let lengths: Vec<_> = (0..=lower.below_len()).map(|page| lower.page(page).len()).collect();
                prop_assert!(lengths.len() == 1 || lengths.iter().all(|length| (1..=PAGE).contains(length)));
                descending.reverse();
                prop_assert!(descending.into_iter().flat_map(|(start, end)| start..end).eq(set.iter().copied()));
                prop_assert_eq!(ranges.missing_in(bound, 9000), 9000u64.saturating_sub(bound) - set.range(bound..9000.max(bound)).count() as u64);
                prop_assert_eq!(ranges.next_missing(bound), (bound..).find(|x| !set.contains(x)).unwrap());
                ranges.remove_below(2 * bound);
                set = set.split_off(&(2 * bound));
            }
        }
    }

    fn steps_of(work: impl FnOnce()) -> u64 {
        let before = STEPS.get();
        work();
        STEPS.get() - before
    }

    /// However many ranges there are, one more among them moves at most a page, and closing a hole does too: with a list in one
    /// piece both take a quarter of all ranges.
    #[test]
    fn a_change_in_the_middle_takes_no_longer_with_many_ranges() {
        for count in [1_000u64, 10_000, 100_000, 1_000_000] {
            let mut ranges = Ranges::default();
            // Each number below `count` once, all over the place: 7919 is prime and divides none of the counts.
            let everywhere = || (0..count).map(|k| k * 7919 % count);
            let inserting = steps_of(|| everywhere().for_each(|k| assert_eq!(ranges.insert(2 * k, 2 * k + 1), 1)));
            let closing = steps_of(|| everywhere().for_each(|k| assert_eq!(ranges.insert(2 * k + 1, 2 * k + 2), 1)));
            assert_eq!((ranges.count(), ranges.containing(0)), (2 * count, Some((0, 2 * count))));
            let (inserting, closing) = (inserting / count, closing / count);
            assert!(inserting < PAGE as u64 && closing < PAGE as u64, "{inserting} and {closing} steps of {count}");
        }
    }
}
