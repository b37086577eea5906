use super::*;
use crate::transport::repair::undo::Undo;
use crate::transport::rto::RttEstimator;

/// A connection with ten segments sent at time 0, and its recovery.
struct Bench {
    rtt: RttEstimator,
    progress: Progress,
    outstanding: Outstanding,
    rack: Rack,
}

impl Bench {
    fn ten_sent() -> Bench {
        let mut bench = Bench {
            rtt: RttEstimator::new(200, 0, 100),
            progress: Progress { nxt: 10, high: 10, ..Progress::new(10, 200) },
            outstanding: Outstanding::new(None),
            rack: Rack::new(Probe::new(0), false, 0),
        };
        bench.outstanding.undo = Undo::new(true);
        (0..10).for_each(|seq| bench.send(seq, 0));
        bench
    }

    /// Calls the recovery at `now`.
    fn at<T>(&mut self, now: Nanos, call: impl FnOnce(&mut Rack, &mut Context) -> T) -> T {
        let Bench { rtt, progress, outstanding, rack } = self;
        call(rack, &mut Context { now, rtt, progress, outstanding })
    }

    fn send(&mut self, seq: u64, now: Nanos) {
        let again = self.outstanding.get(seq).is_some();
        self.at(now, |rack, context| rack.on_sent(seq, again, context));
        self.outstanding.send(seq, now);
    }

    /// An ACK for segments below `una` with one SACK block.
    fn ack(&mut self, now: Nanos, una: u64, block: (u32, u32)) -> Verdict {
        let blocks = [block, (0, 0), (0, 0)];
        let sacked = self.at(now, |rack, context| rack.on_sack(&blocks, una, context));
        let acked = una - std::mem::replace(&mut self.progress.una, una);
        self.at(now, |rack, context| rack.on_ack(&AckEvent { stamp: 0, acked, sacked }, context))
    }

    fn next_segment(&mut self, window: u64) -> Option<u64> {
        self.at(100, |rack, context| rack.next_segment(window, context))
    }
}

/// RFC 2883 section 4: a first block inside the second is a DSACK. Both may start at one segment: 5 of 5 to 8. A first block that starts
/// below the second is none.
#[test]
fn a_dsack_may_start_where_its_block_starts() {
    for (first, duplicate) in [((5, 6), Some(5)), ((7, 9), Some(7)), ((4, 6), None)] {
        let mut bench = Bench::ten_sent();
        bench.at(100, |rack, context| rack.on_sack(&[first, (5, 9), (0, 0)], 3, context));
        assert_eq!(bench.rack.duplicate, duplicate, "{first:?}");
    }
}

/// RFC 5681 section 3.2, step 3, and RFC 6675 section 5, step 4.3: the first retransmission of a recovery leaves at once, though the
/// window has no room. The next one waits for room.
#[test]
fn only_the_first_retransmission_of_a_recovery_ignores_the_window() {
    let mut bench = Bench::ten_sent();
    assert!(bench.ack(100, 0, (4, 10)).loss.is_some());
    bench.progress.phase = Phase::Recovery { point: 10 };
    bench.at(100, |rack, context| rack.begin(0, context));
    assert_eq!(bench.next_segment(0), Some(0));
    bench.send(0, 100);
    assert_eq!((bench.next_segment(0), bench.next_segment(2)), (None, Some(1)));
}

/// RFC 3522, with two segments retransmitted at 100: an ACK of segment 0 echoes time 0, so that its original has arrived. The cut is
/// not undone while the retransmission of 1 is in flight, since 1 may be lost. It is once the original of 1 has arrived, too.
#[test]
fn a_cut_is_not_undone_while_retransmissions_are_in_flight() {
    let mut bench = Bench::ten_sent();
    bench.ack(100, 0, (2, 10));
    bench.progress.phase = Phase::Recovery { point: 10 };
    bench.outstanding.undo.on_cut(Some((10.0, 20.0)));
    bench.at(100, |rack, context| rack.begin(0, context));
    for seq in [0, 1] {
        assert_eq!(bench.next_segment(9), Some(seq));
        bench.send(seq, 100);
    }
    bench.ack(120, 1, (0, 0));
    assert!(!bench.outstanding.undo.is_due());
    bench.ack(130, 10, (0, 0));
    assert!(bench.outstanding.undo.is_due());
    assert_eq!(bench.outstanding.undo.take(), Some((10.0, 20.0)));
}

/// RFC 8985 section 7.2: no probe while segments are SACKed. A probe is due at 300 and waits for the pacer; the SACK of 9 arrives
/// first. Without the SACK the probe would be segment 9.
#[test]
fn a_sack_drops_a_probe_that_waits() {
    for (sacked, expected) in [(false, Some(9)), (true, None)] {
        let mut bench = Bench::ten_sent();
        assert_eq!(bench.at(1_000_000_000, |rack, context| rack.on_timer(context)), Expiry::Probe);
        if sacked {
            bench.ack(310, 0, (9, 10));
        }
        assert_eq!(bench.next_segment(1), expected);
    }
}
