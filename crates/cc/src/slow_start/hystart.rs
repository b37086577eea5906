//! Linux's HyStart: slow start ends at once where the RTT of a round has risen over the least of the connection, or where a round's
//! ACKs have come closely one after another for half of the least RTT.
//!
//! Source: S. Ha, I. Rhee, *Taming the Elephants: New TCP Slow Start*, Computer Networks 55(9), 2011, with the numbers of Linux, which
//! its module's parameters and the messages of its commits give: `hystart_low_window` 16, `hystart_ack_delta` 2 ms, an eighth of
//! the least RTT within 4 to 16 ms.
//!
//! # Deviations and choices
//!
//! - **The rise** is looked for from the eighth sample of a round on, against the connection's least RTT; it must be more than the
//!   threshold (RFC 9406: as much).
//! - **The train** begins with a round. An ACK at most 2 ms after its last one belongs to it; a later one does not, and the train
//!   does not grow in that round any more. A round that the application limits has none, nor has the next one, in which its packets are
//!   acknowledged: they have the application's pace. Their RTTs count. Where packets are paced they may leave up to half a round trip
//!   late, and the train must last a whole least RTT.
//! - **The least RTT** is the connection's. Linux's cubic forgets it at a timeout.
//! - Growth is that of standard slow start. The ACK that ends slow start adds nothing. After a timeout it restarts.
//! - In Linux it belongs to cubic alone; here any algorithm may have it.

use super::round::RoundRtt;
use super::{SAMPLES, Sight, rise_of_a_queue};
use crate::time::{MILLISECOND, Nanos};

/// No look at windows below this, segments (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// ACKs of a train are at most so far apart (`hystart_ack_delta`).
const ACK_DELTA: Nanos = 2 * MILLISECOND;

/// HyStart at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HyStart {
    paced: bool,
    current: RoundRtt,
    /// When the round began, and when the last ACK of its train came.
    began: Nanos,
    train_end: Nanos,
    /// The application has limited the sender in this round, and did in the one before.
    limited: bool,
    was_limited: bool,
    over: bool,
}

impl HyStart {
    pub fn new(paced: bool) -> HyStart {
        HyStart {
            paced,
            current: RoundRtt::NONE,
            began: 0,
            train_end: 0,
            limited: false,
            was_limited: false,
            over: false,
        }
    }

    /// Increase of this ACK, segments, at window `cwnd`.
    pub fn gain(&mut self, cwnd: f64, sight: &Sight) -> f64 {
        if sight.round_start {
            let was_limited = self.limited;
            *self = HyStart { began: sight.now, train_end: sight.now, was_limited, ..HyStart::new(self.paced) };
        }
        self.limited |= !sight.cwnd_limited;
        if cwnd >= LOW_WINDOW {
            self.current.add(sight);
            self.over = self.train_is_long(sight) || self.rtt_has_risen(sight);
        }
        if self.over { 0.0 } else { sight.credit }
    }

    /// Whether a queue has been found.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Drops the round and its samples.
    pub fn restart(&mut self) {
        *self = HyStart::new(self.paced);
    }

    fn train_is_long(&mut self, sight: &Sight) -> bool {
        if self.limited || self.was_limited || sight.now - self.train_end > ACK_DELTA {
            return false;
        }
        self.train_end = sight.now;
        let length = sight.now - self.began;
        sight.min_rtt.is_some_and(|least| length > if self.paced { least } else { least / 2 })
    }

    fn rtt_has_risen(&self, sight: &Sight) -> bool {
        let rise = self.current.least_of(SAMPLES).zip(sight.min_rtt).map(|(now, least)| (now - least, least));
        rise.is_some_and(|(rise, least)| rise > rise_of_a_queue(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FLOW;
    use crate::{Ack, Flow};

    const MS: Nanos = MILLISECOND;

    /// ACKs of one round, each at a time and with an RTT, ms, at window `cwnd` over a least RTT of 100 ms; whether one of them ended
    /// slow start, and which, from 1.
    fn ended_by(paced: bool, cwnd: f64, acks: impl IntoIterator<Item = (Nanos, Nanos)>) -> Option<usize> {
        let mut policy = HyStart::new(paced);
        for (number, (at, rtt)) in acks.into_iter().enumerate() {
            let flow = FLOW.flight_size(9).min_rtt(Some(100 * MS));
            let ack = Ack::of(1, 1.0).round_start(number == 0).rtt(Some(rtt * MS));
            let gain = policy.gain(cwnd, &Sight::of(&Flow { now: 1000 * MS + at * MS, ..flow }, &ack));
            assert_eq!(gain, if policy.is_over() { 0.0 } else { 1.0 });
            if policy.is_over() {
                return Some(number + 1);
            }
        }
        None
    }

    /// Over 100 ms: more than 112.5 ms in eight samples, 5 ms apart so that they are no train.
    #[test]
    fn a_rise_over_the_least_rtt_ends_it_at_the_eighth_sample() {
        let acks = |rtt| (0..20).map(move |i| (5 * i, rtt));
        assert_eq!(ended_by(false, 16.0, acks(113)), Some(8));
        assert_eq!(ended_by(false, 16.0, acks(112)), None, "12 ms is no more than 12.5");
        assert_eq!(ended_by(false, 15.9, acks(113)), None, "hystart_low_window");
        let one_low = (0..20).map(|i| (5 * i, if i == 3 { 101 } else { 150 }));
        assert_eq!(ended_by(false, 16.0, one_low), None, "the least of the round counts");
    }

    /// Over 96 ms the threshold is 12 ms; a rise by as much is no more than it.
    #[test]
    fn a_rise_by_the_threshold_is_too_small() {
        for (rtt, over) in [(108 * MS, false), (108 * MS + 1, true)] {
            let mut policy = HyStart::new(false);
            for i in 0..20 {
                let flow = Flow { now: 1000 * MS + 5 * MS * i, ..FLOW.flight_size(9).min_rtt(Some(96 * MS)) };
                policy.gain(16.0, &Sight::of(&flow, &Ack::of(1, 1.0).round_start(i == 0).rtt(Some(rtt))));
            }
            assert_eq!(policy.is_over(), over);
        }
    }

    /// An application that writes a packet each 2 ms makes no train, though 50 ACKs of a round come as closely. Nor do these packets in the
    /// next round, in which the window is full; in the one after it such ACKs do. A rise of the RTTs ends slow start in any round.
    #[test]
    fn a_limited_round_gives_rtts_and_no_train() {
        for (rtt, ended_by) in [(100, 127), (113, 8)] {
            let mut policy = HyStart::new(false);
            let ends = (1..).find(|number| {
                let flow = Flow { now: 1000 * MS + 2 * MS * number, ..FLOW.flight_size(9).min_rtt(Some(100 * MS)) };
                let ack = Ack::of(1, 1.0).round_start(number % 50 == 1).rtt(Some(rtt * MS));
                policy.gain(16.0, &Sight::of(&flow.cwnd_limited(*number > 50), &ack));
                policy.is_over()
            });
            assert_eq!(ends, Some(ended_by), "{rtt} ms");
        }
    }

    /// ACKs 2 ms apart, of 100 ms each: the 27th comes 52 ms after the first, more than half of 100. At 3 ms they are no train.
    /// Where packets are paced the 52nd does, 102 ms after.
    #[test]
    fn a_train_of_half_the_least_rtt_ends_it() {
        let train = |gap: Nanos| (0..60).map(move |i| (gap * i, 100));
        assert_eq!(ended_by(false, 16.0, train(2)), Some(27));
        assert_eq!(ended_by(true, 16.0, train(2)), Some(52));
        assert_eq!(ended_by(false, 16.0, train(3)), None);
        let interrupted = (0..60).map(|i| (2 * i + if i > 10 { 5 } else { 0 }, 100));
        assert_eq!(ended_by(false, 16.0, interrupted), None);
    }
}
