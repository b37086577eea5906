//! Detection of spurious cuts: the retransmitted segments had arrived, or arrived late.
//!
//! Two signs show it. The first ACK of new data after a retransmission echoes a timestamp from before it: the original has
//! arrived (Eifel, RFC 3522). Or DSACKs report every retransmission as a duplicate (RFC 2883, RFC 3708). The window then
//! returns to its value before the cut (RFC 4015, RFC 9438 section 4.9).

use fullpipe_cc::Nanos;

/// Retransmissions since the last cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// Time of the first retransmission.
    first_at: Option<Nanos>,
    /// Retransmissions that no DSACK has reported as duplicates.
    doubtful: u64,
    /// Values of cwnd and ssthresh before the cut; `None` if its cause was no loss.
    before: Option<(f64, f64)>,
    /// The next cut is for segments that are retransmitted already.
    keeps: bool,
}

impl Undo {
    /// Handles a cut of the window. `before` is cwnd and ssthresh before it; `None` for a cut that cannot turn out to be spurious.
    pub fn on_cut(&mut self, before: Option<(f64, f64)>) {
        *self = match self.keeps {
            true => Undo { before, keeps: false, ..*self },
            false => Undo { before, ..Undo::default() },
        };
    }

    /// Announces that the next cut is for `again` retransmissions in flight. All of them must be spurious for the cut to be spurious.
    pub fn keep(&mut self, again: u64) {
        self.doubtful = again;
        self.keeps = true;
    }

    /// Values of cwnd and ssthresh before the cut. Forgets all retransmissions.
    pub fn take(&mut self) -> Option<(f64, f64)> {
        std::mem::take(self).before
    }

    /// Handles a retransmission.
    pub fn on_retransmission(&mut self, now: Nanos) {
        self.first_at.get_or_insert(now);
        self.doubtful += 1;
    }

    /// Handles a DSACK. Returns whether DSACKs have reported all retransmissions since the cut.
    pub fn on_duplicate(&mut self) -> bool {
        self.doubtful = self.doubtful.saturating_sub(1);
        self.before.is_some() && self.first_at.is_some() && self.doubtful == 0
    }

    /// Whether an ACK of new data that echoes `stamp` is of an original, by a timestamp clock of the given tick.
    pub fn is_of_original(&self, stamp: Nanos, tick: Nanos) -> bool {
        self.before.is_some() && self.first_at.is_some_and(|first| stamp / tick < first / tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two retransmissions: one DSACK leaves one of them open, and the second shows that both were spurious. A third
    /// does not concern a cut without retransmissions.
    #[test]
    fn every_retransmission_must_have_been_needless() {
        let mut undo = Undo::default();
        undo.on_cut(Some((20.0, 30.0)));
        assert!(!undo.on_duplicate(), "nothing has been sent again");
        undo.on_retransmission(5);
        undo.on_retransmission(6);
        assert_eq!([undo.on_duplicate(), undo.on_duplicate()], [false, true]);
        assert_eq!(undo.take(), Some((20.0, 30.0)));
        assert!(!undo.on_duplicate(), "it is undone once");
        undo.on_retransmission(7);
        assert!(!undo.on_duplicate() && !undo.is_of_original(6, 1), "a probe needs no cut");
    }

    /// A cut for two segments sent again at 25 and 45, before it came: an echo of 30 is of a retransmission, one of 20 of an original,
    /// and each of the two must arrive twice. The next cut knows of none again.
    #[test]
    fn a_cut_may_come_after_its_retransmissions() {
        let mut undo = Undo::default();
        undo.on_cut(Some((20.0, 30.0)));
        [25, 35, 45].into_iter().for_each(|now| undo.on_retransmission(now));
        undo.keep(2);
        undo.on_cut(Some((10.0, 10.0)));
        assert_eq!([30, 20].map(|stamp| undo.is_of_original(stamp, 1)), [false, true]);
        assert_eq!([undo.on_duplicate(), undo.on_duplicate()], [false, true]);
        assert_eq!(undo.take(), Some((10.0, 10.0)));
        undo.on_cut(Some((5.0, 5.0)));
        assert!(!undo.is_of_original(20, 1) && !undo.on_duplicate());
    }

    /// RFC 3522 section 3.2, step 5: the echoed timestamp is smaller than that of the first retransmission; by a clock of 10 it must
    /// be of an earlier tick.
    #[test]
    fn a_timestamp_tells_the_original() {
        let mut undo = Undo::default();
        undo.on_cut(Some((20.0, 30.0)));
        assert!(!undo.is_of_original(1, 1), "nothing has been sent again");
        undo.on_retransmission(25);
        undo.on_retransmission(45);
        assert_eq!([24, 25, 26].map(|stamp| undo.is_of_original(stamp, 1)), [true, false, false]);
        assert_eq!([19, 20, 24].map(|stamp| undo.is_of_original(stamp, 10)), [true, false, false]);
    }
}
