//! Whether a cut was needless: what was sent again had arrived, or arrived late.
//!
//! Two ways to know it. The first ACK of new data after a retransmission echoes a timestamp from before it: the original has
//! arrived (Eifel, RFC 3522). Or DSACKs say of every retransmission that it arrived twice (RFC 2883, RFC 3708). The window is then
//! what it was before the cut (RFC 4015, RFC 9438 section 4.9).

use fullpipe_cc::Nanos;

/// What is known of the retransmissions since the last cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// When the first of them went.
    first_at: Option<Nanos>,
    /// How many of them no DSACK has shown to be needless.
    doubtful: u64,
    /// cwnd and ssthresh before the cut; none where it was no loss that called for it.
    before: Option<(f64, f64)>,
    /// The next cut is for what has been sent again already.
    keeps: bool,
}

impl Undo {
    /// The window is cut, before which cwnd and ssthresh were as given; none for a cut that no arrival can show to be needless.
    pub fn on_cut(&mut self, before: Option<(f64, f64)>) {
        *self = match self.keeps {
            true => Undo { before, keeps: false, ..*self },
            false => Undo { before, ..Undo::default() },
        };
    }

    /// The next cut is for `again` segments that are being sent again already: they too must turn out needless for it to be.
    pub fn keep(&mut self, again: u64) {
        self.doubtful = again;
        self.keeps = true;
    }

    /// What cwnd and ssthresh were before the cut; from here on nothing is known of retransmissions.
    pub fn take(&mut self) -> Option<(f64, f64)> {
        std::mem::take(self).before
    }

    /// A segment is sent again.
    pub fn on_retransmission(&mut self, now: Nanos) {
        self.first_at.get_or_insert(now);
        self.doubtful += 1;
    }

    /// A segment has arrived twice; says whether each one has that was sent again since the cut.
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

    /// Two retransmissions: one DSACK leaves one in doubt, the second shows that both were needless; a third tells nothing of a cut
    /// without retransmissions.
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
