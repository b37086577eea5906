//! Queueing delay as LEDBAT has it: the newest delays less the least of minutes (RFC 6817 section 2.4.2).

use crate::time::{Nanos, SECOND};

/// RFC 6817 section 2.5: BASE_HISTORY is 10, minima of a minute each.
const BASE_HISTORY: usize = 10;
const MINUTE: Nanos = 60 * SECOND;

/// CURRENT_FILTER: the least of so many newest delays. RFC 6817 leaves the number open.
const CURRENT_FILTER: usize = 4;

/// Delays, nanoseconds, on clocks whose offset need not be known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queueing {
    /// Least delays of the last minutes, the newest first; `i64::MAX` where none is known.
    base: [i64; BASE_HISTORY],
    minute: u64,
    /// The newest delays, in turn.
    current: [i64; CURRENT_FILTER],
    next: usize,
}

impl Queueing {
    pub const fn new() -> Queueing {
        Queueing { base: [i64::MAX; BASE_HISTORY], minute: 0, current: [i64::MAX; CURRENT_FILTER], next: 0 }
    }

    /// Takes a delay in.
    pub fn sample(&mut self, now: Nanos, delay: i64) {
        let minute = now / MINUTE;
        if minute != self.minute {
            self.minute = minute;
            self.base.rotate_right(1);
            self.base[0] = delay;
        }
        self.base[0] = self.base[0].min(delay);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// The least delay known; `None` before the first.
    pub fn base(&self) -> Option<i64> {
        self.base.iter().copied().min().filter(|least| *least < i64::MAX)
    }

    /// The delay beyond the least, nanoseconds; `None` before the first.
    pub fn delay(&self) -> Option<i64> {
        Some((self.current.iter().copied().min()? - self.base()?).max(0))
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
            queueing.sample(0, delay - 1000);
        }
        assert_eq!((queueing.base(), queueing.delay()), (Some(-950), Some(20)));
    }

    /// A least delay of the first minute is known through the tenth, and forgotten in the eleventh.
    #[test]
    fn the_base_is_of_ten_minutes() {
        let mut queueing = Queueing::new();
        queueing.sample(0, 50);
        for minute in 1..=9 {
            queueing.sample(minute * MINUTE, 80);
            assert_eq!(queueing.base(), Some(50), "{minute}");
        }
        queueing.sample(10 * MINUTE, 80);
        assert_eq!(queueing.base(), Some(80));
    }
}
