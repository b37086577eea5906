//! Periodic actions of a discipline, such as an update of its drop probability. They are done at the next packet,
//! because a queue does not change between packets. Missed updates are made up exactly, and updates without effect are
//! omitted.

use fullpipe_cc::Nanos;

/// The instants T, 2 T, 3 T and so on.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    every: Nanos,
    next: Nanos,
    /// How many came at once.
    in_a_row: u32,
}

/// Of more instants at once, those beyond are left out but the last: no state changes that slowly, unless a scenario's
/// parameters make it, and hours without a packet are to take no time.
const MOST_IN_A_ROW: u32 = 1_000_000;

impl Periodic {
    /// Those `every` so often, which is not 0.
    pub fn new(every: Nanos) -> Periodic {
        Periodic { every, next: every, in_a_row: 0 }
    }

    /// Whether an instant has come by `now`.
    #[inline(always)]
    pub fn any_due(&self, now: Nanos) -> bool {
        self.next <= now
    }

    /// The next instant, if it has come by `now`.
    pub fn due(&mut self, now: Nanos) -> Option<Nanos> {
        if self.next > now {
            return None;
        }
        Some(self.pass(now))
    }

    /// Leaves out the instants that have come by `now`; the last of them.
    pub fn skip(&mut self, now: Nanos) -> Option<Nanos> {
        if self.next > now {
            return None;
        }
        self.in_a_row = MOST_IN_A_ROW;
        Some(self.pass(now))
    }

    fn pass(&mut self, now: Nanos) -> Nanos {
        let last = now - now % self.every;
        let instant = if self.in_a_row < MOST_IN_A_ROW { self.next } else { last };
        self.in_a_row = if instant == last { 0 } else { self.in_a_row + 1 };
        self.next = instant + self.every;
        instant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_come_one_by_one_or_are_skipped_up_to_now() {
        let mut updates = Periodic::new(15);
        assert_eq!([updates.due(14), updates.due(15), updates.due(29)], [None, Some(15), None]);
        assert_eq!([updates.due(59), updates.due(59), updates.due(59)], [Some(30), Some(45), None]);
        assert_eq!([updates.skip(59), updates.skip(100), updates.due(104)], [None, Some(90), None]);
        assert_eq!([updates.due(105), updates.due(200), updates.due(200)], [Some(105), Some(120), Some(135)]);
    }

    #[test]
    fn of_more_than_a_million_at_once_the_last_is_left() {
        let mut updates = Periodic::new(15);
        let now = 15 * 3_000_000 + 7;
        assert!((1..=1_000_000).all(|n| updates.due(now) == Some(15 * n)));
        assert_eq!([updates.due(now), updates.due(now)], [Some(15 * 3_000_000), None]);
        assert_eq!([updates.due(now + 60), updates.due(now + 60)], [Some(15 * 3_000_001), Some(15 * 3_000_002)]);
    }
}
