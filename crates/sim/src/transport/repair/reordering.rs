//! Reordering window of RACK: the wait for a segment that later ones have overtaken (RFC 8985 section 6.2, steps 3 and 4).

use super::DUP_THRESH;
use fullpipe_cc::Nanos;

/// Recoveries without a DSACK after which the window is small again.
const PERSISTENCE: u32 = 16;

/// State of the reordering window on one path.
#[derive(Clone, Copy, Debug)]
pub struct Reordering {
    /// RACK.reordering_seen: a segment sent once has arrived after one sent later.
    pub seen: bool,
    /// RACK.reo_wnd_mult.
    multiple: u64,
    /// RACK.reo_wnd_persist.
    persistence: u32,
    /// RACK.dsack_round: DSACKs count again once this segment is acknowledged.
    round_end: Option<u64>,
}

impl Default for Reordering {
    fn default() -> Self {
        Reordering { seen: false, multiple: 1, persistence: PERSISTENCE, round_end: None }
    }
}

impl Reordering {
    /// An ACK, with a DSACK or without, after which `una` is the first segment not acknowledged and `nxt` the next to send; it may
    /// end an episode of repair.
    pub fn on_ack(&mut self, dsack: bool, una: u64, nxt: u64, over: bool) {
        if self.round_end.is_some_and(|end| una >= end) {
            self.round_end = None;
        }
        if dsack && self.round_end.is_none() {
            self.round_end = Some(nxt);
            self.multiple += 1;
            self.persistence = PERSISTENCE;
        } else if over {
            self.persistence = self.persistence.saturating_sub(1);
            if self.persistence == 0 {
                self.multiple = 1;
            }
        }
    }

    /// RACK.reo_wnd, while losses are being `repaired` or not and `sacked` segments are SACKed.
    pub fn window(&self, repairing: bool, sacked: u64, min_rtt: Nanos, srtt: Nanos) -> Nanos {
        if !self.seen && (repairing || sacked >= u64::from(DUP_THRESH)) {
            return 0;
        }
        (self.multiple.saturating_mul(min_rtt) / 4).min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// With a minimum RTT of 100 ms and SRTT 120 ms: a quarter of the minimum RTT; four quarters after three rounds
    /// with a DSACK, SRTT after four; and again a quarter after 16 recoveries without. A second DSACK in a round
    /// changes nothing.
    #[test]
    fn the_window_grows_by_rounds_with_dsack() {
        let mut reordering = Reordering { seen: true, ..Reordering::default() };
        let window = |reordering: &Reordering| reordering.window(true, 3, 100 * MS, 120 * MS) / MS;
        assert_eq!(window(&reordering), 25);
        for round in 0..3 {
            reordering.on_ack(true, 10 * round, 10 * round + 10, false);
            reordering.on_ack(true, 10 * round + 9, 10 * round + 15, false);
        }
        assert_eq!(window(&reordering), 100);
        reordering.on_ack(true, 30, 40, false);
        assert_eq!(window(&reordering), 120);
        for una in 41..56 {
            reordering.on_ack(false, una, 100, true);
        }
        assert_eq!(window(&reordering), 120, "15 recoveries");
        reordering.on_ack(false, 56, 100, true);
        assert_eq!(window(&reordering), 25);
    }

    /// Step 4: nothing is waited for on a path without reordering once there is other evidence: a repair under way, or three
    /// segments SACKed.
    #[test]
    fn no_wait_where_nothing_was_ever_reordered() {
        let window = |seen, repairing, sacked| {
            Reordering { seen, ..Reordering::default() }.window(repairing, sacked, 100 * MS, 120 * MS) / MS
        };
        assert_eq!([window(false, false, 2), window(false, false, 3), window(false, true, 0)], [25, 0, 0]);
        assert_eq!([window(true, false, 2), window(true, false, 3), window(true, true, 0)], [25, 25, 25]);
    }

    /// Step 4: a DSACK starts the 16 recoveries of RACK.reo_wnd_persist again. Ten recoveries, a DSACK, and 15 more leave the window at two
    /// quarters; the 16th after the DSACK makes it one quarter.
    #[test]
    fn a_dsack_restarts_the_count_of_recoveries() {
        let mut reordering = Reordering { seen: true, ..Reordering::default() };
        (0..10).for_each(|una| reordering.on_ack(false, una, 100, true));
        reordering.on_ack(true, 10, 11, false);
        (11..26).for_each(|una| reordering.on_ack(false, una, 100, true));
        assert_eq!(reordering.window(true, 3, 100 * MS, 120 * MS), 50 * MS);
        reordering.on_ack(false, 26, 100, true);
        assert_eq!(reordering.window(true, 3, 100 * MS, 120 * MS), 25 * MS);
    }
}
