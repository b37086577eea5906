//! What a discipline does every so often, such as an update of its drop probability, done at the next packet: between packets
//! nothing changes a queue, so that what was missed can be made up exactly, and what no longer changes anything is left out.

use fullpipe_cc::Nanos;

/// The instants T, 2 T, 3 T and so on.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    every: Nanos,
    next: Nanos,
}

impl Periodic {
    /// Those `every` so often, which is not 0.
    pub fn new(every: Nanos) -> Periodic {
        Periodic { every, next: every }
    }

    /// The next instant, if it has come by `now`.
    #[inline]
    pub fn due(&mut self, now: Nanos) -> Option<Nanos> {
        if self.next > now {
            return None;
        }
        let due = self.next;
        self.next += self.every;
        Some(due)
    }

    /// Leaves out the instants up to `until`; the last of them.
    pub fn skip(&mut self, until: Nanos) -> Option<Nanos> {
        if self.next > until {
            return None;
        }
        let last = until - until % self.every;
        self.next = last + self.every;
        Some(last)
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
        assert_eq!(updates.due(105), Some(105));
    }
}
