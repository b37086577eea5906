//! Schedule of a link: rate, delay, and losses that change at given times, once or periodically.

use crate::scenario::{Change, Link, Loss};
use fullpipe_cc::Nanos;

/// Properties that a schedule can change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bits per second, 0 during an outage.
    pub rate_bps: u64,
    /// One-way propagation delay.
    pub delay: Nanos,
    /// Losses on the wire.
    pub loss: Loss,
}

/// Schedule and its position. Each period begins with the link's own values.
#[derive(Debug)]
pub struct Schedule {
    first: Settings,
    now: Settings,
    changes: Vec<Change>,
    repeat: Option<Nanos>,
    /// When this period began.
    begun: Nanos,
    /// The change that comes next.
    next: usize,
}

impl Schedule {
    /// That of `link` from the beginning; `None` where nothing ever changes.
    pub fn new(link: &Link) -> Option<Schedule> {
        let first = Settings { rate_bps: link.rate_bps, delay: link.delay, loss: link.loss };
        let (changes, repeat) = (link.schedule.changes.clone(), link.schedule.repeat);
        (!changes.is_empty()).then_some(Schedule { first, now: first, changes, repeat, begun: 0, next: 0 })
    }

    /// When something changes next; beyond every run if never.
    pub fn next(&self) -> Nanos {
        let after = self.changes.get(self.next).map(|change| change.at).or(self.repeat);
        after.map_or(Nanos::MAX, |after| self.begun.saturating_add(after))
    }

    /// Applies the next change. Returns the values that are in force from then on.
    pub fn step(&mut self) -> Settings {
        if self.next == self.changes.len() {
            self.begun = self.begun.saturating_add(self.repeat.unwrap_or(0));
            self.now = self.first;
            self.next = 0;
            // A change at the very beginning of a period replaces the link's own value for the whole period.
            if self.changes[0].at > 0 {
                return self.now;
            }
        }
        let Change { rate_bps, delay, loss, .. } = self.changes[self.next];
        self.next += 1;
        let before = self.now;
        self.now = Settings {
            rate_bps: rate_bps.unwrap_or(before.rate_bps),
            delay: delay.unwrap_or(before.delay),
            loss: loss.unwrap_or(before.loss),
        };
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn schedule(changes: &[(Nanos, Option<u64>, Option<Nanos>)], repeat: Option<Nanos>) -> Schedule {
        let changes = changes.iter().map(|&(at, rate_bps, delay)| Change { at, rate_bps, delay, loss: None }).collect();
        let schedule = scenario::Schedule { changes, repeat };
        Schedule::new(&Link { rate_bps: 7, delay: 5, schedule, ..Link::default() }).expect("it changes")
    }

    fn steps(mut schedule: Schedule, steps: usize) -> Vec<(Nanos, u64, Nanos)> {
        let step = |_| {
            let at = Some(schedule.next()).filter(|&at| at < Nanos::MAX)?;
            let Settings { rate_bps, delay, .. } = schedule.step();
            Some((at, rate_bps, delay))
        };
        (0..steps).map_while(step).collect()
    }

    #[test]
    fn what_is_not_said_stays_as_it_was() {
        let once = schedule(&[(10, Some(0), None), (30, None, Some(2))], None);
        assert_eq!(steps(once, 9), [(10, 0, 5), (30, 0, 2)]);
        assert!(Schedule::new(&Link::default()).is_none());
    }

    #[test]
    fn a_period_begins_as_the_link_does() {
        let again = schedule(&[(10, Some(0), None), (30, None, Some(2))], Some(40));
        assert_eq!(steps(again, 6), [(10, 0, 5), (30, 0, 2), (40, 7, 5), (50, 0, 5), (70, 0, 2), (80, 7, 5)]);
        let at_once = schedule(&[(0, Some(1), None), (30, None, Some(2))], Some(40));
        assert_eq!(steps(at_once, 4), [(0, 1, 5), (30, 1, 2), (40, 1, 5), (70, 1, 2)]);
    }
}
