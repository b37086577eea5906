//! Queueing delay of LEDBAT: the filtered current delay minus the base delay (RFC 6817 section 2.4.2).

use crate::time::{Nanos, SECOND};

/// RFC 6817 section 2.5: BASE_HISTORY is 10, minima of a minute each.
const BASE_HISTORY: usize = 10;
const MINUTE: Nanos = 60 * SECOND;

/// CURRENT_FILTER: number of newest delays, of which the least counts. RFC 6817 section 2.5: at least 4, none older than an RTT.
const CURRENT_FILTER: usize = 4;

/// Delays, nanoseconds, on clocks whose offset need not be known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queueing {
    /// Least delays of the last minutes, the newest first; `i64::MAX` for a minute without samples.
    base: [i64; BASE_HISTORY],
    minute: u64,
    /// The newest delays and their times, in turn; `i64::MAX` for none.
    current: [(Nanos, i64); CURRENT_FILTER],
    next: usize,
}

impl Queueing {
    pub const fn new() -> Queueing {
        Queueing { base: [i64::MAX; BASE_HISTORY], minute: 0, current: [(0, i64::MAX); CURRENT_FILTER], next: 0 }
    }

    /// Takes a delay into account, on a path with the round-trip time `rtt`.
    pub fn sample(&mut self, now: Nanos, delay: i64, rtt: Option<Nanos>) {
        let minute = now / MINUTE;
        if minute != self.minute {
            self.begin_minute(minute);
        }
        self.base[0] = self.base[0].min(delay);
        if let Some(rtt) = rtt {
            for (at, delay) in &mut self.current {
                if now - *at > rtt {
                    *delay = i64::MAX;
                }
            }
        }
        self.current[self.next] = (now, delay);
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// Drops the minima of the oldest minutes, one for each minute that has passed. A minute without samples counts.
    #[cold]
    fn begin_minute(&mut self, minute: u64) {
        let passed = (minute.saturating_sub(self.minute)).min(BASE_HISTORY as u64) as usize;
        self.base.rotate_right(passed);
        self.base[..passed].fill(i64::MAX);
        self.minute = minute;
    }

    /// Base delay; `None` before the first sample.
    pub fn base(&self) -> Option<i64> {
        self.base.iter().copied().min().filter(|least| *least < i64::MAX)
    }

    /// Queueing delay, nanoseconds; `None` before the first sample.
    pub fn delay(&self) -> Option<i64> {
        let current = self.current.iter().map(|&(_, delay)| delay).min()?;
        Some((current - self.base()?).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays of 50, 80, 90, 70 and 75, on a clock 1000 behind: the least of the last four is 70, 20 above the least of all.
    #[test]
    fn the_least_of_four_above_the_least_of_all() {
        let mut queueing = Queueing::new();
        assert_eq!((queueing.base(), queueing.delay()), (None, None));
        for delay in [50, 80, 90, 70, 75] {
            queueing.sample(0, delay - 1000, None);
        }
        assert_eq!((queueing.base(), queueing.delay()), (Some(-950), Some(20)));
    }

    /// RFC 6817 section 2.5: samples in the filter are not older than an RTT. Delays of 50, 60, and 90 at 0, 30, and 100 with an RTT of 70: the
    /// sample at 30 is as old as the RTT and counts, the sample at 0 does not: 60 - 50. At 101 it is older: 90 - 50.
    #[test]
    fn samples_older_than_a_round_trip_do_not_count() {
        let mut queueing = Queueing::new();
        for (now, delay, expected) in [(0, 50, 0), (30, 60, 0), (100, 90, 10), (101, 90, 40)] {
            queueing.sample(now, delay, Some(70));
            assert_eq!(queueing.delay(), Some(expected), "{now}");
        }
    }

    /// Section 2.4.2: minutes without samples are in the history. A least delay of the first minute, and then a pause until the tenth: still
    /// known; until the eleventh: forgotten.
    #[test]
    fn idle_minutes_count() {
        for (minute, base) in [(9, 50), (10, 80), (100, 80)] {
            let mut queueing = Queueing::new();
            queueing.sample(0, 50, None);
            queueing.sample(minute * MINUTE, 80, None);
            assert_eq!(queueing.base(), Some(base), "{minute}");
        }
    }

    /// A least delay of the first minute is known through the tenth, and forgotten in the eleventh.
    #[test]
    fn the_base_is_of_ten_minutes() {
        let mut queueing = Queueing::new();
        queueing.sample(0, 50, None);
        for minute in 1..=9 {
            queueing.sample(minute * MINUTE, 80, None);
            assert_eq!(queueing.base(), Some(50), "{minute}");
        }
        queueing.sample(10 * MINUTE, 80, None);
        assert_eq!(queueing.base(), Some(80));
    }
}
