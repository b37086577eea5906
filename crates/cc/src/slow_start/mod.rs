//! Slow start: growth of the window while the path is unknown, and the end of that growth. It is independent of the algorithm: every
//! one in the frame [`Classic`](crate::Classic) can begin with any of them. A loss, an ECN mark, and ssthresh end slow start of every
//! kind.

mod hystart;
mod hystart_plus_plus;
pub(crate) mod rapid;
pub(crate) mod resume;
mod round;
pub(crate) mod search;

use crate::time::{MILLISECOND, Nanos};
use crate::{Ack, Flow};
use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;
pub use resume::Saved;

/// The kinds of slow start.
///
/// ```
/// use fullpipe_cc::{SlowStart, Start, Started, build};
///
/// let kind = SlowStart::find("hystart++").expect("a name of scenarios");
/// let start = Start::from(10.0).slow_start(kind);
/// assert!(build("cubic", &[], start).is_ok());
/// assert_eq!(kind, SlowStart::HyStartPlusPlus);
/// assert!(!Started::is_for(&start) && Started::is_for(&start.slow_start(SlowStart::Search)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SlowStart {
    /// A segment per ACK until ssthresh or a loss (RFC 5681 section 3.1).
    #[default]
    Standard,
    /// HyStart++ (RFC 9406): a rise of the RTT slows it down, and five rounds later ends it.
    HyStartPlusPlus,
    /// Linux's HyStart (Ha and Rhee 2011): a rise of the RTT, or a train of ACKs of half the least RTT, ends it at once.
    HyStart,
    /// SEARCH (draft-chung-ccwg-search): slow start ends where less arrives than was sent. [`Started`](crate::Started) runs it; without that it
    /// is the standard one.
    Search,
    /// Rapid Start (draft-kazuho-ccwg-rapid-start): the window triples while no queue shows. As for `Search`.
    Rapid,
}

crate::named! {
    SlowStart {
        Standard = "standard",
        HyStartPlusPlus = "hystart++",
        HyStart = "hystart",
        Search = "search",
        Rapid = "rapid",
    }
}

/// Parts of an ACK that a slow start reads: few values, so that ACKs of all other flows do not compute the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sight {
    now: Nanos,
    min_rtt: Option<Nanos>,
    rtt: Option<Nanos>,
    round_start: bool,
    cwnd_limited: bool,
    acked: u64,
    credit: f64,
}

impl Sight {
    #[inline(always)]
    pub fn of(flow: &Flow, ack: &Ack) -> Sight {
        let &Ack { rtt, round_start, acked, credit, .. } = ack;
        Sight { now: flow.now, min_rtt: flow.min_rtt, rtt, round_start, cwnd_limited: flow.cwnd_limited, acked, credit }
    }
}

/// A slow start at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Policy {
    Standard,
    HyStartPlusPlus(HyStartPlusPlus),
    HyStart(HyStart),
}

impl Policy {
    /// Slow start of a connection whose packets are paced, or leave as ACKs come.
    pub fn new(kind: SlowStart, paced: bool) -> Policy {
        match kind {
            SlowStart::Standard | SlowStart::Search | SlowStart::Rapid => Policy::Standard,
            SlowStart::HyStartPlusPlus => Policy::HyStartPlusPlus(HyStartPlusPlus::new(paced)),
            SlowStart::HyStart => Policy::HyStart(HyStart::new(paced)),
        }
    }

    /// Nothing but ssthresh and losses ends it: RFC 5681 section 3.1.
    #[inline(always)]
    pub fn is_standard(&self) -> bool {
        matches!(self, Policy::Standard)
    }

    /// Increase of an ACK in slow start, segments, at window `cwnd`, where the window may grow.
    pub fn gain(&mut self, cwnd: f64, sight: &Sight) -> f64 {
        match self {
            Policy::Standard => sight.credit,
            Policy::HyStartPlusPlus(policy) => policy.gain(sight),
            Policy::HyStart(policy) => policy.gain(cwnd, sight),
        }
    }

    /// Whether slow start ends with the last ACK.
    pub fn is_over(&self) -> bool {
        match self {
            Policy::Standard => false,
            Policy::HyStartPlusPlus(policy) => policy.is_over(),
            Policy::HyStart(policy) => policy.is_over(),
        }
    }

    /// Congestion has been reported: whatever slow start comes again is another.
    pub fn end(&mut self) {
        match self {
            Policy::Standard => {}
            // RFC 9406 section 4.3: for the initial slow start only; later ones end at the ssthresh found.
            Policy::HyStartPlusPlus(_) => *self = Policy::Standard,
            Policy::HyStart(policy) => policy.restart(),
        }
    }
}

/// How much the RTT must rise over `rtt` to show a queue: an eighth, from 4 to 16 ms (RFC 9406 section 4.3: MIN_RTT_DIVISOR,
/// MIN_RTT_THRESH, MAX_RTT_THRESH; Linux has these numbers too).
fn rise_of_a_queue(rtt: Nanos) -> Nanos {
    (rtt / 8).clamp(4 * MILLISECOND, 16 * MILLISECOND)
}

/// RTT samples of a round before its least counts (RFC 9406 section 4.3: N_RTT_SAMPLE; so in Linux).
const SAMPLES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9406 section 4.3: 10/8 and 32/8 ms are no more than 4 ms; 50/8 = 6.25; 100/8 = 12.5; 128/8 = 16; 200/8 = 25 is above
    /// 16.
    #[test]
    fn a_queue_shows_by_an_eighth_within_bounds() {
        let rises = [10, 32, 50, 100, 128, 200].map(|ms| rise_of_a_queue(ms * MILLISECOND));
        assert_eq!(rises, [4_000_000, 4_000_000, 6_250_000, 12_500_000, 16_000_000, 16_000_000]);
    }

    #[test]
    fn names_are_found_again() {
        assert!(SlowStart::ALL.iter().all(|kind| SlowStart::find(kind.name()) == Some(*kind)));
        assert_eq!(SlowStart::find("hystart+"), None);
    }
}
