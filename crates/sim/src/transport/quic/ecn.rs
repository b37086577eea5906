//! ECN of a QUIC connection: counts of the receiver, and their validation at the sender (RFC 9000 section 13.4).
//!
//! Deviations and choices:
//! - Every packet has the codepoint until the validation fails. The short test period of appendix A.4 protects against paths that drop
//!   ECN-capable packets, and no simulated path does.
//! - A failed validation is not repeated (section 13.4.2.2 allows it).
//! - Neither the loss of all packets nor a mark on every packet is a failure (appendix A.4 allows both).

use crate::packet::Ecn;

/// Packets that a receiver has counted by their ECN fields. An ACK frame has no counts while all are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

impl Counts {
    /// Counts a packet.
    pub fn add(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += 1,
            Ecn::Ect1 => self.ect1 += 1,
            Ecn::Ce => self.ce += 1,
        }
    }

    /// Packets with the codepoint `ect`, and packets with the other one.
    fn split(self, ect: Ecn) -> (u64, u64) {
        if ect == Ecn::Ect1 { (self.ect1, self.ect0) } else { (self.ect0, self.ect1) }
    }
}

/// State of the path (appendix A.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No packet with the codepoint has been acknowledged.
    Testing,
    /// Counts are valid so far.
    Capable,
    /// Counts were wrong. Packets are not ECN-capable any more, and marks do not count.
    Failed,
}

fullpipe_cc::named! { State { Testing = "testing", Capable = "capable", Failed = "failed" } }

/// Sender's side of ECN.
#[derive(Clone, Copy, Debug)]
pub struct Validation {
    /// Codepoint of packets before a failure.
    ect: Ecn,
    state: State,
    /// Packets sent with the codepoint.
    sent: u64,
    /// Counts of the last ACK that was processed.
    counts: Counts,
}

impl Validation {
    /// Connection whose packets have the codepoint `ect`; [`Ecn::NotEct`] without ECN.
    pub fn new(ect: Ecn) -> Validation {
        Validation { ect, state: State::Testing, sent: 0, counts: Counts::default() }
    }

    /// Starts over for a new connection.
    pub fn reset(&mut self) {
        *self = Validation::new(self.ect);
    }

    /// State of the path; `None` without ECN.
    pub fn state(&self) -> Option<State> {
        self.ect.capable().then_some(self.state)
    }

    /// ECN field of the next packet.
    pub fn field(&self) -> Ecn {
        if self.state == State::Failed { Ecn::NotEct } else { self.ect }
    }

    /// Packets marked CE that valid counts have reported.
    pub fn marked(&self) -> u64 {
        self.counts.ce
    }

    /// Counts a packet that leaves.
    pub fn on_sent(&mut self) {
        self.sent += u64::from(self.field().capable());
    }

    /// Handles an ACK that raises the largest acknowledged number, and newly acknowledges `acked` packets with the codepoint. Returns how
    /// many more packets it reports as marked. ACKs that do not raise the largest number are not used (section 13.4.2.1).
    pub fn on_ack(&mut self, acked: u64, counts: Counts) -> u64 {
        if self.state == State::Failed || !self.ect.capable() {
            return 0;
        }
        let ((own, other), (known, _)) = (counts.split(self.ect), self.counts.split(self.ect));
        let marked = counts.ce - self.counts.ce;
        if own - known + marked < acked || own > self.sent || other > 0 {
            self.state = State::Failed;
            return 0;
        }
        if acked > 0 {
            self.state = State::Capable;
        }
        self.counts = counts;
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sender of `sent` packets with the codepoint `ect`.
    fn sender(ect: Ecn, sent: u64) -> Validation {
        let mut sender = Validation::new(ect);
        (0..sent).for_each(|_| sender.on_sent());
        sender
    }

    fn counts(ect0: u64, ect1: u64, ce: u64) -> Counts {
        Counts { ect0, ect1, ce }
    }

    #[test]
    fn a_receiver_counts_each_codepoint() {
        let mut seen = Counts::default();
        for ecn in [Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::Ce] {
            seen.add(ecn);
        }
        assert_eq!(seen, counts(2, 1, 3));
    }

    /// An ACK of 10 packets, 3 of them marked: 7 + 3 are 10. The next one of 5 packets, 1 marked: 4 + 1 are 5.
    #[test]
    fn counts_that_cover_the_acknowledged_packets_are_valid() {
        for (ect, first, second) in
            [(Ecn::Ect0, counts(7, 0, 3), counts(11, 0, 4)), (Ecn::Ect1, counts(0, 7, 3), counts(0, 11, 4))]
        {
            let mut sender = sender(ect, 15);
            assert_eq!(sender.state(), Some(State::Testing));
            assert_eq!((sender.on_ack(10, first), sender.state()), (3, Some(State::Capable)));
            assert_eq!((sender.on_ack(5, second), sender.marked()), (1, 4));
            assert_eq!(sender.field(), ect);
        }
    }

    /// A path that zeroes the field: the ACK has no counts.
    #[test]
    fn missing_counts_are_a_failure() {
        let mut sender = sender(Ecn::Ect0, 1);
        assert_eq!((sender.on_ack(0, Counts::default()), sender.state()), (0, Some(State::Testing)));
        assert_eq!((sender.on_ack(1, Counts::default()), sender.state()), (0, Some(State::Failed)));
        assert_eq!(sender.field(), Ecn::NotEct);
    }

    /// Of 10 packets the path clears one: 7 + 2 are less than 10. The marks do not count, and later ones neither.
    #[test]
    fn an_increase_below_the_acknowledged_packets_is_a_failure() {
        let mut sender = sender(Ecn::Ect0, 20);
        assert_eq!((sender.on_ack(10, counts(7, 0, 2)), sender.state()), (0, Some(State::Failed)));
        assert_eq!((sender.on_ack(1, counts(7, 0, 13)), sender.marked()), (0, 0));
        sender.reset();
        assert_eq!((sender.state(), sender.field()), (Some(State::Testing), Ecn::Ect0));
    }

    /// After 6 valid counts, 4 more packets with only 3 counted: the total of 9 covers 4, the increase does not.
    #[test]
    fn increases_are_validated_and_not_totals() {
        let mut sender = sender(Ecn::Ect0, 10);
        sender.on_ack(6, counts(6, 0, 0));
        sender.on_ack(4, counts(8, 0, 1));
        assert_eq!(sender.state(), Some(State::Failed));
    }

    /// Lost ACKs: the counts of 10 packets come with an ACK that newly acknowledges 2.
    #[test]
    fn counts_may_exceed_the_acknowledged_packets() {
        let mut sender = sender(Ecn::Ect0, 10);
        assert_eq!((sender.on_ack(2, counts(9, 0, 1)), sender.state()), (1, Some(State::Capable)));
    }

    /// A path that turns one codepoint into the other, or makes more of one than were sent.
    #[test]
    fn codepoints_that_were_never_sent_are_a_failure() {
        for (ect, wrong) in [(Ecn::Ect0, counts(2, 1, 0)), (Ecn::Ect1, counts(1, 2, 0)), (Ecn::Ect0, counts(3, 0, 0))] {
            let mut sender = sender(ect, 2);
            sender.on_ack(2, wrong);
            assert_eq!(sender.state(), Some(State::Failed), "{ect:?} {wrong:?}");
        }
    }

    /// Without ECN nothing is validated, and a mark is not used.
    #[test]
    fn a_connection_without_ecn_has_no_state() {
        let mut sender = sender(Ecn::NotEct, 3);
        assert_eq!((sender.on_ack(3, counts(0, 0, 1)), sender.state()), (0, None));
    }
}
