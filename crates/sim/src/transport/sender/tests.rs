//! Episodes of loss, worked by hand: which segment goes when, and how large the window is.

use super::*;
use crate::transport::receiver::{Receiver, Reply};
use crate::transport::recovery::Recovery;
use crate::window::Window;

const MS: Nanos = 1_000_000;
const RTT: Nanos = 100 * MS;

/// A Reno window policy of `window` segments that does not grow for want of slow start, over a recovery.
struct Bench {
    sender: Sender,
    receiver: Receiver,
    now: Nanos,
    sack: bool,
}

impl Bench {
    fn new(recovery: Recovery, window: u32) -> Bench {
        let tcp = Tcp { recovery, initial_window: window, ..Tcp::new("reno", recovery, vec![0]) };
        let cc = fullpipe_cc::build("reno", &[], f64::from(window)).expect("reno");
        let meter = Meter::new(Window { from: 0, to: 1000 * RTT }, None);
        let mut sender = Sender::new(&tcp, cc, u64::MAX, RTT, 0, meter);
        sender.meter.start(0);
        Bench { sender, receiver: Receiver::default(), now: 0, sack: recovery == Recovery::Sack }
    }

    /// Everything the sender sends now.
    fn sends(&mut self) -> Vec<u64> {
        if self.sender.is_quiet() {
            return self.sender.new_segments(self.now).collect();
        }
        std::iter::from_fn(|| self.sender.next_segment(self.now)).collect()
    }

    /// `seq` reaches the receiver, its ACK the sender, a round trip after it was sent; what is sent in return.
    fn arrives(&mut self, seq: u64) -> Vec<u64> {
        self.now += MS;
        let sent = self.now.saturating_sub(RTT);
        assert_eq!(self.receiver.take(seq as u32, sent, self.now, None), Reply::Ack);
        let (next, stamp) = self.receiver.acknowledge();
        let sack = self.receiver.sack_blocks().filter(|_| self.sack);
        let arrival = Arrival { cumulative: next as u32, stamp, receiver_stamp: self.now };
        self.sender.on_ack(self.now, &arrival, sack.as_ref());
        self.sends()
    }

    fn cwnd(&self) -> f64 {
        self.sender.cc.cwnd()
    }
}

/// RFC 3042: the first and second duplicate ACK each send a new segment; RFC 5681 section 3.2: the third sends the first one
/// again, and halves.
#[test]
fn limited_transmit_then_fast_retransmit() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut bench = Bench::new(recovery, 8);
        assert_eq!(bench.sends(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(bench.arrives(1), [8], "{recovery:?}");
        assert_eq!(bench.arrives(2), [9], "{recovery:?}");
        assert_eq!(bench.arrives(3), [0], "{recovery:?}");
        assert_eq!(bench.cwnd(), 4.0);
    }
}

/// RFC 5681 section 3.2: inflated by each duplicate ACK, the window (4) lets new data go once 4 + 3 + k > 10 outstanding; the
/// ACK of the retransmission ends recovery at 4.
#[test]
fn one_loss_with_reno() {
    let mut bench = Bench::new(Recovery::Reno, 8);
    bench.sends();
    for seq in [1, 2, 3] {
        bench.arrives(seq);
    }
    // Outstanding 0..10; window 4 + 3 + dupacks beyond the third.
    assert_eq!(bench.arrives(4), []);
    assert_eq!(bench.arrives(5), []);
    assert_eq!(bench.arrives(6), []);
    assert_eq!(bench.arrives(7), [10]);
    assert_eq!(bench.arrives(8), [11]);
    assert_eq!(bench.arrives(9), [12]);
    // Everything up to 9 arrives: 3 outstanding, window 4.
    assert_eq!(bench.arrives(0), [13]);
    assert_eq!(bench.cwnd(), 4.0);
    assert_eq!(bench.sender.progress.phase, Phase::Open);
}

/// RFC 6582 section 3.2, step 3: the partial ACK sends the next hole again, at once, and recovery goes on without a second cut.
#[test]
fn two_losses_with_newreno() {
    let mut bench = Bench::new(Recovery::NewReno, 8);
    bench.sends();
    for seq in [1, 2, 4] {
        bench.arrives(seq);
    }
    assert_eq!(bench.arrives(5), []);
    // 0 arrives: cumulative 3. Inflation 4, less 3 acknowledged, plus 1: window 4 + 2; 3..10 outstanding.
    assert_eq!(bench.arrives(0), [3]);
    let repair::Any::NewReno(newreno) = &bench.sender.repair else { panic!("another recovery") };
    assert_eq!(newreno.reno.duplicates.inflation, 2);
    assert_eq!(bench.cwnd(), 4.0);
    for seq in [6, 7, 8, 9] {
        bench.arrives(seq);
    }
    bench.arrives(3);
    assert_eq!(bench.sender.progress.phase, Phase::Open);
    assert_eq!(bench.cwnd(), 4.0, "one cut for both");
    assert_eq!(bench.sender.meter.events.timeouts, 0);
}

/// RFC 6675: both holes are sent again in the first round trip, one cut. 8 outstanding, 0 and 3 lost.
#[test]
fn two_losses_with_sack() {
    let mut bench = Bench::new(Recovery::Sack, 8);
    bench.sends();
    assert_eq!(bench.arrives(1), [8]);
    assert_eq!(bench.arrives(2), [9]);
    // Third SACKed segment: 0 is lost. Pipe: 10 outstanding - 3 arrived = 7 with the retransmission; window 4.
    assert_eq!(bench.arrives(4), [0]);
    assert_eq!(bench.cwnd(), 4.0);
    assert_eq!(bench.arrives(5), []);
    // 4, 5, 6 arrived: 3 is lost. Pipe: 10 - 5 - 1 = 4: no room yet.
    assert_eq!(bench.arrives(6), []);
    // Pipe 3: room for one.
    assert_eq!(bench.arrives(7), [3]);
    assert_eq!(bench.arrives(8), [10]);
    assert_eq!(bench.arrives(9), [11]);
    assert_eq!(bench.arrives(0), [12]);
    assert_eq!(bench.arrives(3), [13]);
    assert_eq!(bench.sender.progress.phase, Phase::Open);
    assert_eq!((bench.cwnd(), bench.sender.meter.events.fast_recoveries), (4.0, 1));
}

/// Tahoe: the third duplicate ACK goes back to the first hole with a window of one; the duplicates still to come change
/// nothing, nor do those that needless retransmissions cause.
#[test]
fn one_loss_with_tahoe() {
    let mut bench = Bench::new(Recovery::Tahoe, 8);
    bench.sends();
    assert_eq!([bench.arrives(1), bench.arrives(2), bench.arrives(3)], [vec![8], vec![9], vec![0]]);
    assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh()), (1.0, 4.0));
    for seq in [4, 5, 6, 7, 8, 9] {
        assert_eq!(bench.arrives(seq), []);
    }
    assert_eq!(bench.arrives(0), [10, 11], "slow start");
    assert_eq!(bench.sender.meter.events.fast_recoveries, 1);
}

/// RFC 6298 and RFC 5681 section 3.1: a timeout halves once, then waits twice as long each time and cuts no further.
#[test]
fn timeouts_back_off() {
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        let mut bench = Bench::new(recovery, 8);
        bench.sends();
        let expires = bench.sender.deadline();
        assert_eq!(expires, 1000 * MS, "RFC 6298 rule 2.1");
        bench.now = expires;
        bench.sender.on_timeout(expires);
        assert_eq!(bench.sends(), [0]);
        assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh()), (1.0, 4.0));
        assert_eq!(bench.sender.deadline(), expires + 2000 * MS, "rule 5.5");
        bench.now = bench.sender.deadline();
        bench.sender.on_timeout(bench.now);
        assert_eq!(bench.sends(), [0]);
        assert_eq!(bench.sender.cc.ssthresh(), 4.0, "the same episode");
        assert_eq!(bench.arrives(0), [1, 2], "slow start");
    }
}

/// Brakmo and Peterson 1995, section 3.1: a first duplicate ACK is enough where the segment is older than the fine timeout
/// (first sample R: R + 4 R/2 = 3 R).
#[test]
fn vegas_needs_no_third_duplicate() {
    let mut bench = Bench::new(Recovery::Vegas, 4);
    assert_eq!(bench.sends(), [0, 1, 2, 3]);
    bench.now = RTT - MS;
    assert_eq!(bench.arrives(0), [4, 5]);
    let rtt = bench.sender.rtt.smoothed().expect("sampled");
    bench.now = 3 * rtt - MS;
    assert_eq!(bench.arrives(2), [6], "3 R old: not yet older");
    assert_eq!(bench.arrives(3), [1]);
}

/// Vegas cuts once for the losses of one window: the second hole was sent before the cut.
#[test]
fn vegas_cuts_once_a_window() {
    let mut bench = Bench::new(Recovery::Vegas, 8);
    bench.sends();
    bench.now = RTT;
    for seq in [1, 2, 4, 5, 6, 7] {
        bench.arrives(seq);
    }
    assert_eq!(bench.cwnd(), 4.0);
    bench.arrives(0);
    for seq in [8, 9, 10, 11] {
        bench.arrives(seq);
    }
    assert_eq!(bench.sender.meter.events.fast_recoveries, 2, "the second hole has an episode of its own");
    assert!(bench.cwnd() >= 4.0, "but no cut of its own");
}

/// RFC 3465 section 2.3: one ACK of four segments adds two in slow start, and one after a timeout.
#[test]
fn counting_segments_is_limited_in_slow_start() {
    let mut bench = Bench::new(Recovery::NewReno, 4);
    bench.sender.byte_counting = true;
    bench.sends();
    let all = |bench: &mut Bench, cumulative: u32| {
        bench.now += RTT;
        let arrival = Arrival { cumulative, stamp: bench.now - RTT, receiver_stamp: bench.now };
        bench.sender.on_ack(bench.now, &arrival, None);
        bench.sends()
    };
    assert_eq!(all(&mut bench, 4), [4, 5, 6, 7, 8, 9]);
    assert_eq!(bench.cwnd(), 6.0);
    bench.now = bench.sender.deadline();
    bench.sender.on_timeout(bench.now);
    assert_eq!(bench.sends(), [4]);
    // ssthresh is 3, so that this is slow start; all but the first had arrived.
    assert_eq!(all(&mut bench, 10), [10, 11]);
    assert_eq!(bench.cwnd(), 2.0);
}

/// Brakmo and Peterson 1995, section 3.1: every duplicate ACK checks the first segment's time, that of its retransmission
/// included, so that a retransmission lost as well does not wait for the timer. RTT 100 ms: the fine timeout is at most 300 ms.
#[test]
fn vegas_repairs_a_lost_retransmission() {
    let mut bench = Bench::new(Recovery::Vegas, 8);
    bench.sends();
    bench.now = RTT;
    for seq in [0, 2, 3] {
        bench.arrives(seq);
    }
    assert_eq!(bench.arrives(4), [1]);
    assert_eq!(bench.arrives(5), []);
    bench.now += 310 * MS;
    assert_eq!(bench.arrives(6), [1], "sent once more");
}

/// Brakmo and Peterson 1995, section 3.1: RTTs come from the recorded times of sending. 8 segments leave at 0, 0 is lost and
/// sent again; its ACK at 180 ms covers 7, sent once: a sample of 180 ms, though the echoed stamp says 100 ms. Then the timer
/// sends 8 again, and its ACK, which may be of either, is no sample.
#[test]
fn vegas_measures_from_the_time_of_sending() {
    let mut bench = Bench::new(Recovery::Vegas, 8);
    bench.sends();
    bench.now = RTT - MS;
    for seq in 1..8 {
        bench.arrives(seq);
    }
    assert_eq!(bench.sender.rtt.smoothed(), None);
    bench.now = 179 * MS;
    bench.arrives(0);
    assert_eq!(bench.sender.rtt.smoothed(), Some(180 * MS));
    bench.now = bench.sender.deadline();
    bench.sender.on_timeout(bench.now);
    assert_eq!(bench.sends()[0], 8);
    bench.now += RTT;
    bench.arrives(8);
    assert_eq!((bench.sender.progress.una, bench.sender.rtt.smoothed()), (9, Some(180 * MS)));
}

/// RFC 5681 section 4.3: the loss of a retransmission lowers the windows a second time. 16 segments, 0 and its retransmission are
/// lost: 8, then 4 (equation 4 would allow 9, half of the 18 outstanding); section 3.1: 4 still when the timer expires again.
#[test]
fn a_lost_retransmission_is_a_second_indication() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut bench = Bench::new(recovery, 16);
        bench.sends();
        assert_eq!([bench.arrives(1), bench.arrives(2), bench.arrives(3)], [vec![16], vec![17], vec![0]]);
        assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh()), (8.0, 8.0), "{recovery:?}");
        for _ in 0..2 {
            bench.now = bench.sender.deadline();
            bench.sender.on_timeout(bench.now);
            assert_eq!(bench.sends(), [0]);
            assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh()), (1.0, 4.0), "{recovery:?}");
        }
    }
}

/// One fast recovery of a window of 8 in which 0 is lost, until the ACK of its repair, which covers all 10 sent before.
fn after_one_loss(recovery: Recovery) -> Bench {
    let mut bench = Bench::new(recovery, 8);
    bench.sends();
    for seq in 1..10 {
        bench.arrives(seq);
    }
    assert_eq!(bench.arrives(0), [13]);
    bench
}

/// RFC 6582 section 3.2, step 2: recover is 9, the last segment sent before the fast retransmit. The ACK that asks for 10 covers 9
/// and no more, so that its duplicates start no other fast retransmit; RFC 5681 alone, Reno's, lets them.
#[test]
fn duplicates_of_the_ack_that_covers_recover_are_not_trusted() {
    let mut careful = after_one_loss(Recovery::NewReno);
    assert_eq!([11, 12, 13].map(|seq| careful.arrives(seq)), [const { Vec::<u64>::new() }; 3]);
    assert_eq!((careful.cwnd(), careful.sender.meter.events.fast_recoveries), (4.0, 1));
    let mut reno = after_one_loss(Recovery::Reno);
    assert_eq!([reno.arrives(11), reno.arrives(12), reno.arrives(13)], [vec![14], vec![15], vec![10]]);
    assert_eq!((reno.cwnd(), reno.sender.meter.events.fast_recoveries), (2.0, 2));
}

/// The same with 11 lost: the ACK that asks for it covers 10, more than recover. The window is 4 + 1/4 by then.
#[test]
fn duplicates_of_an_ack_beyond_recover_are_trusted() {
    let mut bench = after_one_loss(Recovery::NewReno);
    assert_eq!(bench.arrives(10), [14]);
    assert_eq!([bench.arrives(12), bench.arrives(13), bench.arrives(14)], [vec![15], vec![16], vec![11]]);
    assert_eq!((bench.cwnd(), bench.sender.meter.events.fast_recoveries), (2.125, 2));
}

/// RFC 6675's NextSeg rule 4 at the end of the data, 8 segments of which 0 and 7 are lost: once 0 is repaired nothing is SACKed, and
/// as soon as the window of 4 has room 7 is sent again, without waiting for the timer.
#[test]
fn the_last_segment_is_rescued() {
    let mut bench = Bench::new(Recovery::Sack, 8);
    bench.sender.progress.end = 8;
    bench.sends();
    assert_eq!([bench.arrives(1), bench.arrives(2), bench.arrives(3)], [vec![], vec![], vec![0]]);
    assert_eq!(bench.arrives(0), [], "4 outstanding");
    assert_eq!(bench.arrives(4), [7]);
    assert_eq!(bench.arrives(5), [], "one rescue an episode");
}
