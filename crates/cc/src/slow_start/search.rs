//! SEARCH: slow start ends where fewer segments arrive in a window of time than were sent in the window one round trip before.
//!
//! Source: draft-chung-ccwg-search-09 (J. Chung et al., *SEARCH: a New Slow Start Algorithm for TCP and QUIC*), as Mozilla's neqo
//! implements it (`neqo-transport/src/cc/search.rs`), with the draft's numbers. Of the draft's own text only the beginning was read, and nothing of
//! revision 10.
//!
//! # Deviations and choices
//!
//! - **Interpolation** goes backward, to the bin before: neqo's authors call the forward one of the draft a mistake.
//! - **Counts** are in segments, and fractions are not rounded (neqo: bytes and hundredths).
//! - **Arrival** is the cumulative point; segments that only SACK reports do not count. Slow start ends at the first loss anyway.
//! - **Missed bins**: after more than a window of bins without an ACK, and after an idle restart, it starts over (optional in the draft).
//! - **The end of bulk data**: when its last round trip leaves the window of arrivals, the interpolated count still has a part of it in the
//!   window of what was sent. If the application limits the sender from then on, this part is most of that window, and slow start ends.
//! - **Growth** until the end is that of standard slow start. The ACK that ends slow start adds nothing, and ssthresh is the window. The
//!   optional drain to what arrives in a round trip is left out.
//! - After a congestion event it starts over, for slow start after a timeout.

use crate::parts::number::float;
use crate::time::Nanos;
use crate::{Ack, Flow};

/// Duration of a window in first RTTs, as a fraction.
const WINDOW: (Nanos, Nanos) = (35, 10);
/// Bins of a window.
const BINS: usize = 10;
/// Bins beyond a window: how far back a round trip may reach.
const EXTRA_BINS: usize = 15;
/// Share of the sent segments whose absence ends slow start.
const THRESHOLD: f64 = 0.26;
/// Bins remembered: a window, one round trip before this bin.
const REMEMBERED: usize = BINS + EXTRA_BINS + 1;

/// SEARCH at work.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Search {
    /// Duration of a bin; 0 before the first RTT sample.
    duration: Nanos,
    /// End of the current bin, and its number.
    end: Nanos,
    bin: usize,
    /// Segments that had been sent, and had arrived, at the end of a bin.
    sent: [u64; REMEMBERED],
    arrived: [u64; REMEMBERED],
}

impl Search {
    /// Looks at an ACK in slow start. Returns whether segments have stopped arriving as fast as they are sent.
    pub fn ends_with(&mut self, flow: &Flow, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let (sent, arrived) = (flow.delivered + flow.flight_size, flow.delivered);
        if self.duration == 0 {
            self.duration = (rtt * WINDOW.0 / WINDOW.1 / BINS as Nanos).max(1);
            self.end = flow.now + self.duration;
            (self.sent[0], self.arrived[0]) = (sent, arrived);
        } else if flow.now > self.end {
            let passed = (flow.now - self.end) / self.duration + 1;
            if passed > BINS as Nanos {
                self.restart();
                return false;
            }
            self.pass(passed as usize, sent, arrived);
            return self.missing(rtt).is_some_and(|share| share >= THRESHOLD);
        }
        false
    }

    /// Forgets everything.
    pub fn restart(&mut self) {
        *self = Search::default();
    }

    /// Ends `passed` bins. Those skipped have the counts of the bin before them.
    fn pass(&mut self, passed: usize, sent: u64, arrived: u64) {
        let before = (self.sent[self.bin % REMEMBERED], self.arrived[self.bin % REMEMBERED]);
        for skipped in 1..passed {
            let place = (self.bin + skipped) % REMEMBERED;
            (self.sent[place], self.arrived[place]) = before;
        }
        self.bin += passed;
        self.end += self.duration * passed as Nanos;
        (self.sent[self.bin % REMEMBERED], self.arrived[self.bin % REMEMBERED]) = (sent, arrived);
    }

    /// Share of the segments sent in a window that ended one RTT ago that have not arrived in the window that ends now. `None` where the
    /// bins do not reach so far.
    fn missing(&self, rtt: Nanos) -> Option<f64> {
        let back = (rtt / self.duration) as usize;
        let then = self.bin.checked_sub(back).filter(|&then| then > BINS && back < EXTRA_BINS)?;
        let part = float(rtt % self.duration) / float(self.duration);
        let sent_by = |bin: usize| float(self.sent[bin % REMEMBERED] - self.sent[(bin - BINS) % REMEMBERED]);
        let sent = part * sent_by(then - 1) + (1.0 - part) * sent_by(then);
        let arrived = float(self.arrived[self.bin % REMEMBERED] - self.arrived[(self.bin - BINS) % REMEMBERED]);
        (sent > 0.0).then(|| (sent - arrived) / sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND as MS;

    /// An ACK at `now`, ms, with an RTT of `rtt` ms, when `arrived` segments have arrived and `sent` have been sent.
    fn ack(search: &mut Search, now: Nanos, rtt: Nanos, sent: u64, arrived: u64) -> bool {
        let flow = Flow { now: now * MS, delivered: arrived, flight_size: sent - arrived, ..FLOW };
        search.ends_with(&flow, &Ack::of(1, 1.0).rtt(Some(rtt * MS)))
    }

    /// Over a first RTT of 100 ms, the end of each of `count` bins of 35 ms, with the segments that `counts` says have been sent and have
    /// arrived. Returns whether the last ACK ends slow start.
    fn after_bins(rtt: Nanos, count: Nanos, counts: impl Fn(Nanos) -> (u64, u64)) -> (Search, bool) {
        let mut search = Search::default();
        let mut over = false;
        for bin in 0..=count {
            let (sent, arrived) = counts(bin);
            let (now, rtt) = if bin == 0 { (100, 100) } else { (101 + 35 * bin, rtt) };
            over = ack(&mut search, now, rtt, sent, arrived);
        }
        (search, over)
    }

    /// A window is 3.5 first RTTs of ten bins.
    #[test]
    fn a_bin_is_a_tenth_of_three_and_a_half_rtts() {
        let mut search = Search::default();
        assert!(!ack(&mut search, 0, 100, 10, 1));
        assert_eq!((search.duration, search.end), (35 * MS, 35 * MS));
    }

    /// An RTT of 120 ms is 3 bins and 3/7 of one. A hundred segments a bin are sent; 740 of 1000 arrive in a window: 0.26 is
    /// missing, which is the threshold. With 750 it is 0.25.
    #[test]
    fn a_quarter_and_a_bit_missing_ends_it() {
        for (arrived, share, ends) in [(740, 0.26, true), (750, 0.25, false)] {
            let (search, over) = after_bins(120, 16, |bin| (5000 + 100 * bin, if bin == 16 { arrived } else { 0 }));
            assert!((search.missing(120 * MS).unwrap() - share).abs() < 1e-12);
            assert_eq!(over, ends);
        }
    }

    /// 100 segments are sent in bin 13 of 16: 120 ms before the end of bin 16, 4/7 of them count.
    #[test]
    fn a_part_of_a_bin_is_taken_from_the_bin_before() {
        for arrived in [0, 29] {
            let sent = |bin| if bin >= 13 { 600 } else { 500 };
            let (search, _) = after_bins(120, 16, |bin| (sent(bin), 400 + if bin == 16 { arrived } else { 0 }));
            let expected = (400.0 / 7.0 - arrived as f64) / (400.0 / 7.0);
            assert!((search.missing(120 * MS).unwrap() - expected).abs() < 1e-12);
        }
    }

    /// 525 ms are 15 bins, more than it looks back; 524 ms are 14. Ten bins before the round trip are too few.
    #[test]
    fn it_needs_bins_that_reach_back() {
        let known =
            |rtt: Nanos, bins| after_bins(100, bins, |bin| (10 * bin + 100, 10 * bin)).0.missing(rtt * MS).is_some();
        assert_eq!([known(525, 40), known(524, 40), known(100, 12), known(100, 13)], [false, true, false, true]);
    }

    /// Doubling without a queue: what arrives is what was sent one RTT before.
    #[test]
    fn doubling_without_a_queue_goes_on() {
        let arrived = |bin: Nanos| if bin < 3 { 8 } else { (1 << (bin - 3)) + 8 };
        let (search, over) = after_bins(105, 30, |bin| ((1 << bin) + 8, arrived(bin)));
        assert_eq!((search.missing(105 * MS), over), (Some(0.0), false));
    }

    /// Up to ten bins without an ACK have the counts before them; after more it begins again.
    #[test]
    fn a_long_silence_is_forgotten() {
        let (mut search, _) = after_bins(100, 5, |bin| (bin + 10, bin));
        let end = search.end / MS;
        ack(&mut search, end + 35 * 9 + 1, 100, 30, 20);
        assert_eq!((search.bin, search.sent[14], search.sent[15]), (15, 15, 30));
        let end = search.end / MS;
        assert!(!ack(&mut search, end + 35 * 10 + 1, 100, 30, 20));
        assert_eq!(search, Search::default());
    }
}
