//! Detection of spurious cuts: the retransmitted segments had arrived, or arrived late.
//!
//! Two signs show it. The first ACK of new data after a retransmission echoes a timestamp from before it: the original has
//! arrived (Eifel, RFC 3522). Or DSACKs report every retransmission as a duplicate (RFC 2883, RFC 3708). The window then
//! returns to its value before the cut (RFC 4015, RFC 9438 section 4.9).

use fullpipe_cc::Nanos;

/// The last cut, and the retransmissions since then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// A cut may be undone (key `undo`).
    allowed: bool,
    /// The last cut was spurious, and is about to be undone.
    due: bool,
    /// The next cut is for segments that are retransmitted already.
    keeps: bool,
    /// Time of the first retransmission.
    first_at: Option<Nanos>,
    /// Retransmissions that no DSACK has reported as duplicates.
    doubtful: u64,
    /// Values of cwnd and ssthresh before the cut; `None` if its cause was no loss.
    before: Option<(f64, f64)>,
}

impl Undo {
    /// No cut so far.
    pub const fn new(allowed: bool) -> Undo {
        Undo { allowed, due: false, keeps: false, first_at: None, doubtful: 0, before: None }
    }

    /// Starts over for a new connection.
    pub fn reset(&mut self) {
        *self = Undo::new(self.allowed);
    }

    /// Handles a cut of the window. `before` is cwnd and ssthresh before it; `None` for a cut that cannot turn out to be spurious.
    pub fn on_cut(&mut self, before: Option<(f64, f64)>) {
        let before = before.filter(|_| self.allowed);
        *self = match self.keeps {
            true => Undo { before, keeps: false, ..*self },
            false => Undo { before, due: self.due, ..Undo::new(self.allowed) },
        };
    }

    /// Announces that the next cut is for `again` retransmissions in flight. All of them must be spurious for the cut to be spurious.
    pub fn keep(&mut self, again: u64) {
        self.doubtful = again;
        self.keeps = true;
    }

    /// Handles a retransmission.
    pub fn on_retransmission(&mut self, now: Nanos) {
        self.first_at.get_or_insert(now);
        self.doubtful += 1;
    }

    /// Handles a DSACK. The cut was spurious if DSACKs have reported all retransmissions since then.
    pub fn on_duplicate(&mut self) {
        self.doubtful = self.doubtful.saturating_sub(1);
        self.due |= self.before.is_some() && self.first_at.is_some() && self.doubtful == 0;
    }

    /// Handles an ACK of new data that echoes `stamp`, of a timestamp clock of the given tick. The cut was spurious if it is of an original.
    pub fn on_new_ack(&mut self, stamp: Nanos, tick: Nanos) {
        self.due |= self.before.is_some() && self.first_at.is_some_and(|first| stamp / tick < first / tick);
    }

    /// Whether the last cut was spurious, and is not yet undone.
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// Values of cwnd and ssthresh before the cut. Forgets all retransmissions.
    pub fn take(&mut self) -> Option<(f64, f64)> {
        let before = self.before;
        self.reset();
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Undo {
        Undo::new(true)
    }

    /// Whether a DSACK shows that the cut was spurious.
    fn duplicate(undo: &mut Undo) -> bool {
        undo.on_duplicate();
        std::mem::take(&mut undo.due)
    }

    /// Whether an ACK that echoes `stamp` shows that the cut was spurious.
    fn original(undo: &mut Undo, stamp: Nanos, tick: Nanos) -> bool {
        undo.on_new_ack(stamp, tick);
        std::mem::take(&mut undo.due)
    }

    /// Two retransmissions: one DSACK leaves one of them open, and the second shows that both were spurious. A third
    /// does not concern a cut without retransmissions.
    #[test]
    fn every_retransmission_must_have_been_needless() {
        let mut undo = allowed();
        undo.on_cut(Some((20.0, 30.0)));
        assert!(!duplicate(&mut undo), "nothing has been sent again");
        undo.on_retransmission(5);
        undo.on_retransmission(6);
        assert_eq!([duplicate(&mut undo), duplicate(&mut undo)], [false, true]);
        assert_eq!(undo.take(), Some((20.0, 30.0)));
        assert!(!duplicate(&mut undo), "it is undone once");
        undo.on_retransmission(7);
        assert!(!duplicate(&mut undo) && !original(&mut undo, 6, 1), "a probe needs no cut");
    }

    /// A cut for two segments retransmitted at 25 and 45, before it came: an echo of 30 is of a retransmission, one of 20 of an original,
    /// and each of the two must arrive twice. The next cut knows of none again.
    #[test]
    fn a_cut_may_come_after_its_retransmissions() {
        let mut undo = allowed();
        undo.on_cut(Some((20.0, 30.0)));
        [25, 35, 45].into_iter().for_each(|now| undo.on_retransmission(now));
        undo.keep(2);
        undo.on_cut(Some((10.0, 10.0)));
        assert_eq!([30, 20].map(|stamp| original(&mut undo, stamp, 1)), [false, true]);
        assert_eq!([duplicate(&mut undo), duplicate(&mut undo)], [false, true]);
        assert_eq!(undo.take(), Some((10.0, 10.0)));
        undo.on_cut(Some((5.0, 5.0)));
        assert!(!original(&mut undo, 20, 1) && !duplicate(&mut undo));
    }

    /// RFC 3522 section 3.2, step 5: the echoed timestamp is smaller than that of the first retransmission; by a clock of 10 it must
    /// be of an earlier tick.
    #[test]
    fn a_timestamp_shows_the_original() {
        let mut undo = allowed();
        undo.on_cut(Some((20.0, 30.0)));
        assert!(!original(&mut undo, 1, 1), "nothing has been sent again");
        undo.on_retransmission(25);
        undo.on_retransmission(45);
        assert_eq!([24, 25, 26].map(|stamp| original(&mut undo, stamp, 1)), [true, false, false]);
        assert_eq!([19, 20, 24].map(|stamp| original(&mut undo, stamp, 10)), [true, false, false]);
    }

    /// A cut that is shown to be spurious by the ACK of another cut is due still; neither is where no cut may be undone.
    #[test]
    fn a_second_cut_forgets_no_sign() {
        for (allows, expected) in [(true, Some((10.0, 10.0))), (false, None)] {
            let mut undo = Undo::new(allows);
            undo.on_cut(Some((20.0, 30.0)));
            undo.on_retransmission(5);
            undo.on_duplicate();
            undo.on_cut(Some((10.0, 10.0)));
            assert_eq!((undo.is_due(), undo.take()), (allows, expected));
            assert!(!undo.is_due());
            undo.on_cut(Some((8.0, 8.0)));
            assert_eq!(undo.take().is_some(), allows, "the key holds for all cuts");
        }
    }
}
