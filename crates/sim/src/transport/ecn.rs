//! ECN at both ends of a connection: classic (RFC 3168) and accurate (RFC 9768).
//!
//! # Deviations and choices
//!
//! - Both ends are agreed on ECN before the connection begins; nothing is negotiated. A path that clears the ECN field (`ecn_field`) is not
//!   detected: no mark arrives, and the sender acts on losses.
//! - A QUIC connection has its own ECN (`quic/ecn.rs`).
//! - Retransmissions and ACKs are not ECN-capable (RFC 3168 sections 6.1.4 and 6.1.5), with accurate ECN neither.
//! - The congestion control answers a mark at once ([`Signal::Ecn`](fullpipe_cc::Signal)). With `prr` the window sinks over a round trip, as
//!   in Linux, and does not grow meanwhile. The next answer comes after all segments outstanding at the first are acknowledged (RFC 3168
//!   section 6.1.2). There is none during recovery, which has cut the window already. A loss found while the window sinks is repaired
//!   without a further cut, as in Linux; one found after an answer at once cuts again. An ACK that reports a mark does not let the window
//!   grow (section 6.1.2).
//! - `"accurate"` has the number of marked segments exact in every ACK, as the byte counters of the AccECN option make it (RFC 9768
//!   section 3.2.3). `"ace"` has the three bits of the ACE field alone. If an ACK may report more than a whole cycle of them,
//!   the sender takes the greatest possible number (section 3.2.2.5.2). While segments are missing, the number of segments of an ACK is
//!   unknown, and the sender takes the least.
//! - The echo of an overtaken ACK is ignored. Such an ACK has an older timestamp of the receiver, or an equal one and acknowledges no segment.
//! - With either, an ACK goes at once when a marked segment follows one that is not, or the other way round (RFC 9768 section
//!   3.2.2.5.1, RFC 8257 section 3.2). DCTCP's echo of single segments (RFC 8257) is equivalent to the exact number.

use crate::packet::{Echo, Ecn, Marks};
use fullpipe_cc::Nanos;

/// ECN of a connection.
///
/// Example: see [`Tcp`](crate::model::Tcp).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EcnMode {
    /// Its packets are not ECN-capable.
    Off,
    /// The receiver echoes a mark until the sender confirms its answer (RFC 3168).
    Classic,
    /// The receiver reports the number of marked segments (RFC 9768).
    Accurate,
    /// The receiver reports that number in the three bits of the ACE field alone.
    Ace,
}

fullpipe_cc::named! { EcnMode { Off = "off", Classic = "classic", Accurate = "accurate", Ace = "ace" } }

impl EcnMode {
    /// Whether the receiver reports the number of marked segments.
    pub fn counts(self) -> bool {
        matches!(self, EcnMode::Accurate | EcnMode::Ace)
    }
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Receiving {
    mode: EcnMode,
    ece: bool,
    /// Segments marked so far.
    marked: u32,
    /// The last segment was marked.
    last: bool,
}

impl Receiving {
    /// That of a new connection.
    pub fn new(mode: EcnMode) -> Receiving {
        Receiving { mode, ece: false, marked: 0, last: false }
    }

    /// Handles the arrival of a segment. Returns whether it must be acknowledged at once.
    pub fn on_data(&mut self, marks: Marks) -> bool {
        let marked = marks.ecn() == Ecn::Ce;
        if marked || marks.cwr() {
            self.ece = marked;
        }
        self.marked = self.marked.wrapping_add(u32::from(marked));
        let changed = std::mem::replace(&mut self.last, marked) != marked;
        changed && self.mode != EcnMode::Classic
    }

    /// Report of marks in the ACK that is sent now, if any.
    pub fn echo(&self) -> Option<Echo> {
        match self.mode {
            EcnMode::Off => None,
            EcnMode::Classic => self.ece.then_some(Echo { ece: true, marked: 0 }),
            EcnMode::Accurate => Some(Echo { ece: false, marked: self.marked }),
            EcnMode::Ace => Some(Echo { ece: false, marked: self.marked.wrapping_add(ACE_FIRST) % ACE_CYCLE }),
        }
    }
}

/// The ACE field's first value and how many it has (RFC 9768 section 3.2.2).
const ACE_FIRST: u32 = 5;
const ACE_CYCLE: u32 = 8;

/// The sending end.
#[derive(Clone, Debug)]
pub struct Sending {
    mode: EcnMode,
    ect: Ecn,
    /// Marked segments reported so far.
    told: u32,
    /// Marks need no further answer until more than this is acknowledged: one past the highest segment sent before the last answer.
    answered_to: Option<u64>,
    /// The next new segment reports that the window has been reduced (CWR).
    cwr: bool,
    /// The greatest timestamp of the receiver's that an ACK has carried.
    newest: Nanos,
}

impl Sending {
    /// ECN state of a new connection. `ect`: the codepoint of its segments, if they are ECN-capable.
    pub fn new(mode: EcnMode, ect: Ecn) -> Sending {
        Sending { mode, ect, told: 0, answered_to: None, cwr: false, newest: 0 }
    }

    /// Marked segments that ACKs have reported.
    pub fn told(&self) -> u32 {
        self.told
    }

    /// Starts over for a new connection.
    pub fn reset(&mut self) {
        *self = Sending::new(self.mode, self.ect);
    }

    /// ECN fields of the next segment.
    pub fn marks(&mut self, new: bool) -> Marks {
        if !new {
            return Marks::default();
        }
        Marks::new(self.ect, std::mem::take(&mut self.cwr))
    }

    /// Whether an ACK with the receiver's timestamp `stamp` may be the newest, given whether it acknowledges segments by number or SACK.
    pub fn may_be_newest(&mut self, stamp: Nanos, acknowledges: bool) -> bool {
        let newest = self.newest;
        self.newest = newest.max(stamp);
        stamp > newest || (stamp == newest && acknowledges)
    }

    /// Number of newly marked segments, by `echo` in an ACK of `acked` segments. With classic ECN, 1 means any number.
    pub fn news(&mut self, echo: Echo, acked: u64) -> u64 {
        let new = match self.mode {
            EcnMode::Off => 0,
            EcnMode::Classic => return u64::from(echo.ece),
            // The count of an overtaken ACK is below the known one.
            EcnMode::Accurate => (echo.marked.wrapping_sub(self.told) as i32).max(0) as u32,
            EcnMode::Ace => {
                let known = self.told.wrapping_add(ACE_FIRST) % ACE_CYCLE;
                let least = echo.marked.wrapping_sub(known) % ACE_CYCLE;
                // RFC 9768 section 3.2.2.5.2: as many whole cycles as the segments acknowledged allow.
                let room = u32::try_from(acked).unwrap_or(u32::MAX).saturating_sub(least);
                least + room - room % ACE_CYCLE
            }
        };
        self.told = self.told.wrapping_add(new);
        u64::from(new)
    }

    /// Whether a mark requires an answer at an ACK with number `cumulative`; `high` is one past the highest segment sent. If so, the answer
    /// counts as given.
    pub fn answers(&mut self, cumulative: u64, high: u64) -> bool {
        if self.answered_to.is_some_and(|point| cumulative <= point) {
            return false;
        }
        self.answered_to = Some(high);
        self.cwr = self.mode == EcnMode::Classic;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Marks = Marks::NONE;

    fn marks(ecn: Ecn) -> Marks {
        Marks::new(ecn, false)
    }

    /// Three ACKs report 5, 3, and 6 marks. The second has been overtaken, so it reports no new mark.
    #[test]
    fn an_overtaken_count_is_no_news() {
        let mut end = Sending::new(EcnMode::Accurate, Ecn::Ect1);
        let counts = [5, 3, 6].map(|marked| end.news(Echo { ece: false, marked }, 1));
        assert_eq!(counts, [5, 0, 1]);
    }

    /// RFC 3168 section 6.1.3: ECE in every ACK from the first mark until a segment with CWR; one that is marked itself keeps it.
    #[test]
    fn classic_echo_lasts_until_cwr() {
        let mut end = Receiving::new(EcnMode::Classic);
        assert!(!end.on_data(marks(Ecn::Ect0)));
        assert_eq!(end.echo(), None);
        assert!(!end.on_data(marks(Ecn::Ce)), "no ACK out of turn");
        for ecn in [Ecn::Ect0, Ecn::NotEct] {
            end.on_data(marks(ecn));
            assert_eq!(end.echo(), Some(Echo { ece: true, marked: 0 }));
        }
        end.on_data(Marks::new(Ecn::Ce, true));
        assert_eq!(end.echo(), Some(Echo { ece: true, marked: 0 }));
        end.on_data(Marks::new(Ecn::Ect0, true));
        assert_eq!(end.echo(), None);
    }

    /// RFC 8257 section 3.2 and RFC 9768 section 3.2.2.5.1.
    #[test]
    fn accurate_ecn_acknowledges_a_change_at_once() {
        let mut end = Receiving::new(EcnMode::Accurate);
        let urgent = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ect0].map(|ecn| end.on_data(marks(ecn)));
        assert_eq!(urgent, [false, true, false, true, false]);
        assert_eq!(end.echo(), Some(Echo { ece: false, marked: 2 }));
    }

    /// RFC 3168 section 6.1.2: at most one reduction per window, and the next new segment carries CWR.
    #[test]
    fn a_mark_is_answered_once_a_window() {
        let mut end = Sending::new(EcnMode::Classic, Ecn::Ect0);
        let echo = Echo { ece: true, marked: 0 };
        assert_eq!(end.news(echo, 1), 1);
        assert!(end.answers(10, 30), "segments 10 to 29 are outstanding");
        assert_eq!(end.marks(false), PLAIN, "a retransmission is not ECN-capable");
        assert_eq!(end.marks(true), Marks::new(Ecn::Ect0, true));
        assert_eq!(end.marks(true), Marks::new(Ecn::Ect0, false));
        assert!(!end.answers(11, 31) && !end.answers(30, 50), "of segments sent before the answer");
        assert!(end.answers(31, 51), "segment 30 was sent after it");
    }

    /// Nine marked segments acknowledged by one ACK read as nine where the number is exact. In the ACE field they read as 1 or 9: RFC
    /// 9768's rule takes the greater one that the segments acknowledged allow.
    #[test]
    fn nine_marks_at_once() {
        let tell = |mode, acked| {
            let (mut receiving, mut sending) = (Receiving::new(mode), Sending::new(mode, Ecn::Ect1));
            for _ in 0..9 {
                receiving.on_data(marks(Ecn::Ce));
            }
            sending.news(receiving.echo().expect("an echo"), acked)
        };
        assert_eq!(tell(EcnMode::Accurate, 9), 9);
        assert_eq!(tell(EcnMode::Ace, 9), 9);
        assert_eq!(tell(EcnMode::Ace, 8), 1, "not nine of eight");
        assert_eq!(tell(EcnMode::Ace, 16), 9, "sixteen would be 0 in three bits");
        assert_eq!(tell(EcnMode::Ace, 17), 17, "at worst");
    }

    /// Seven marks fill the field's cycle from 5 on: 5, 6, 7, 0, 1, 2, 3, 4.
    #[test]
    fn the_ace_field_begins_at_five() {
        let mut end = Receiving::new(EcnMode::Ace);
        let mut told = vec![end.echo().expect("an echo").marked];
        for _ in 0..7 {
            end.on_data(marks(Ecn::Ce));
            told.push(end.echo().expect("an echo").marked);
        }
        assert_eq!(told, [5, 6, 7, 0, 1, 2, 3, 4]);
    }
}
