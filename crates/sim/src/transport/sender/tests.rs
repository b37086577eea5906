//! Episodes of loss, worked by hand: which segment goes when, and how large the window is.

use super::*;
use crate::packet::{AckNote, Echo, SackBlocks};
use crate::report::meter::Terms;
use crate::transport::pacing;
use crate::transport::receiver::{Receiver, Reply};
use crate::transport::recovery::Recovery;
use crate::window::Window;
use fullpipe_cc::CongestionControl;
use std::sync::Arc;

const MS: Nanos = 1_000_000;
const RTT: Nanos = 100 * MS;

/// A Reno window policy of `window` segments that does not grow for want of slow start, over a recovery.
struct Bench {
    sender: Sender,
    receiver: Receiver,
    now: Nanos,
}

impl Bench {
    fn new(recovery: Recovery, window: u32) -> Bench {
        Bench::of("reno", Tcp::new("reno", recovery, vec![0]), window)
    }

    fn of(algorithm: &str, tcp: Tcp, window: u32) -> Bench {
        let (recovery, tcp) = (tcp.recovery, Tcp { initial_window: window, ..tcp });
        let cc: Controller = fullpipe_cc::build(algorithm, &[], f64::from(window)).expect(algorithm).into();
        let meter = Meter::new(Arc::new(Terms {
            window: Window { from: 0, to: 1000 * RTT },
            interval: None,
            distributes: false,
        }));
        let mut sender = Sender::new(&tcp, cc, u64::MAX, RTT, 0, 1000, meter);
        sender.meter.start(0);
        Bench { sender, receiver: Receiver::new(recovery.telling()), now: 0 }
    }

    /// Everything the sender sends now.
    fn sends(&mut self) -> Vec<u64> {
        if self.sender.sends_ranges() {
            return self.sender.new_segments(self.now).collect();
        }
        std::iter::from_fn(|| self.sender.next_segment(self.now)).collect()
    }

    /// `seq` reaches the receiver, and its ACK the sender, a round trip after it was sent. Returns the segments sent in
    /// response.
    fn arrives(&mut self, seq: u64) -> Vec<u64> {
        self.arrives_with(seq, None)
    }

    /// Variant with an ACK that reports a mark.
    fn arrives_marked(&mut self, seq: u64) -> Vec<u64> {
        self.arrives_with(seq, Some(Echo { ece: true, marked: 0 }))
    }

    fn arrives_with(&mut self, seq: u64, echo: Option<Echo>) -> Vec<u64> {
        self.now += MS;
        let sent = self.now.saturating_sub(RTT);
        assert_eq!(self.receiver.take(seq as u32, sent, self.now, None), Reply::Ack);
        let (next, stamp) = self.receiver.acknowledge();
        let blocks = self.receiver.sack_blocks().unwrap_or_default();
        let arrival = Arrival { cumulative: next as u32, stamp, receiver_stamp: self.now };
        self.sender.on_noted_ack(self.now, &arrival, &AckNote { blocks, echo });
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

/// RFC 6582 section 3.2, step 3: the partial ACK sends the next hole again, at once, and recovery continues without a
/// second cut.
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

/// RFC 6675: both holes are retransmitted in the first round trip, one cut. 8 outstanding, 0 and 3 lost.
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
        assert_eq!(expires, 300 * MS, "rule 2.2: three times the handshake's 100 ms");
        bench.now = expires;
        bench.sender.on_timeout(expires);
        assert_eq!(bench.sends(), [0]);
        assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh()), (1.0, 4.0));
        assert_eq!(bench.sender.deadline(), expires + 600 * MS, "rule 5.5");
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
        bench.sender.on_ack(bench.now, &arrival);
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
/// retransmitted; its ACK at 180 ms covers 7, sent once: a sample of 180 ms, although the echoed timestamp shows 100 ms.
/// Then the timer sends 8 again, and its ACK, which may be of either, is no sample.
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

/// With 11 lost, the ACK that asks for it covers 10, more than recover. The window is 4 + 1/4 by then.
#[test]
fn duplicates_of_an_ack_beyond_recover_are_trusted() {
    let mut bench = after_one_loss(Recovery::NewReno);
    assert_eq!(bench.arrives(10), [14]);
    assert_eq!([bench.arrives(12), bench.arrives(13), bench.arrives(14)], [vec![15], vec![16], vec![11]]);
    assert_eq!((bench.cwnd(), bench.sender.meter.events.fast_recoveries), (2.125, 2));
}

/// RFC 6675's NextSeg rule 4 at the end of the data, 8 segments of which 0 and 7 are lost: once 0 is repaired nothing is SACKed, and
/// as soon as the window of 4 has room 7 is retransmitted, without waiting for the timer.
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

/// SACK with proportional rate reduction, a window of `window` segments under way.
fn with_prr(algorithm: &str, window: u32) -> Bench {
    let mut bench = Bench::of(algorithm, Tcp { prr: true, ..Tcp::new(algorithm, Recovery::Sack, vec![0]) }, window);
    assert_eq!(bench.sends().len() as u32, window);
    bench
}

/// RFC 9937, one loss of 20 in flight. ssthresh 10 (Reno): the fast retransmission at the third ACK, then ceil(10 d/20) segments in
/// all for d delivered, one at every second ACK: at 5, 7, ... 17. 10 are in flight at the end. ssthresh 14 (CUBIC): ceil(14 d/20).
#[test]
fn prr_sends_in_proportion() {
    let cases: [(_, _, &[u64]); 2] =
        [("reno", 10.0, &[3, 5, 7, 9, 11, 13, 15, 17]), ("cubic", 14.0, &[3, 4, 5, 7, 8, 10, 11, 13, 14, 15, 18, 19])];
    for (algorithm, ssthresh, expected) in cases {
        let mut bench = with_prr(algorithm, 20);
        assert_eq!([bench.arrives(1), bench.arrives(2)], [[20], [21]], "limited transmit");
        let sent: Vec<_> = (3..20).map(|seq| (seq, bench.arrives(seq))).collect();
        assert_eq!(bench.sender.cc.ssthresh(), ssthresh);
        assert_eq!(sent[0].1, [0], "the fast retransmission");
        assert!(sent.iter().skip(1).all(|(_, sent)| sent.len() <= 1 && !sent.contains(&0)));
        let at: Vec<_> = sent.iter().filter(|(_, sent)| !sent.is_empty()).map(|(seq, _)| *seq).collect();
        assert_eq!(at, expected, "{algorithm}");
        assert_eq!(bench.sender.in_network() as f64, ssthresh);
    }
}

/// RFC 9937, 15 of 20 lost, ssthresh 10: 4 in flight at the third ACK, so that each ACK lets one segment go; none has moved the
/// cumulative point, which would be worth a second one. The first two ACKs let new ones go: N N R R R, as RFC 6937 prints for the
/// conservative bound.
#[test]
fn prr_is_conservative_after_heavy_loss() {
    let mut bench = with_prr("reno", 20);
    assert_eq!([15, 16, 17, 18, 19].map(|seq| bench.arrives(seq)), [[20], [21], [0], [1], [2]]);
}

/// RFC 9937: an ACK that advances the cumulative point and reports no further loss allows one more segment. Segments 0
/// to 3 of 20 are lost. In flight falls below ssthresh, 10, when the retransmission of 0 is acknowledged.
#[test]
fn prr_catches_up_by_safe_acks() {
    let mut bench = with_prr("reno", 20);
    for seq in 15..20 {
        bench.arrives(seq);
    }
    // 22 outstanding, 5 SACKed, 15 lost of which 0, 1 and 2 are repaired: 5 in flight. The ACK of 0: 4; one for it, one more.
    assert_eq!(bench.arrives(0), [3, 4]);
}

/// Linux's packetdrill script for proportional rate reduction in slow start, 10 packets of which the first is lost, CUBIC: window
/// and ssthresh are 7, and every SACK from the third lets one segment go. There is no new data before.
#[test]
fn prr_as_linux_shows_it() {
    let mut bench = with_prr("cubic", 10);
    bench.sender.progress.end = 10;
    assert_eq!([bench.arrives(1), bench.arrives(2), bench.arrives(3)], [vec![], vec![], vec![0]]);
    assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh(), bench.sender.in_network()), (7.0, 7.0, 7));
    bench.sender.progress.end = 100;
    for (seq, new) in (4..10).zip(10..) {
        assert_eq!(bench.arrives(seq), [new]);
        assert_eq!(bench.sender.in_network(), 7);
    }
}

/// A sender with proportional rate reduction whose 20 segments under way are ECN-capable.
fn with_ecn(recovery: Recovery) -> Bench {
    let tcp = Tcp { prr: true, ecn: EcnMode::Classic, ..Tcp::new("reno", recovery, vec![0]) };
    let mut bench = Bench::of("reno", tcp, 20);
    assert_eq!(bench.sends().len(), 20);
    bench
}

/// A mark with 20 in flight, ssthresh 10: after d deliveries, ceil(10 d/20) segments have left, so one at the ACKs 1,
/// 3, ... 17. 11 are in flight at the 18th and 10 at the 19th, which is the target, and each further ACK releases one
/// (Linux does so in its state CWR). The window grows again once segment 20 is acknowledged, the first with CWR. No
/// mark reported before that causes another cut.
#[test]
fn after_a_mark_the_window_sinks_over_a_round_trip() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let mut bench = with_ecn(recovery);
        let sent: Vec<_> = (0..20).map(|seq| bench.arrives_marked(seq).len()).collect();
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1], "{recovery:?}");
        assert_eq!((bench.cwnd(), bench.sender.in_network()), (10.0, 10));
        assert_eq!(bench.arrives(20), [30], "the last of the round trip");
        assert_eq!((bench.cwnd(), bench.sender.progress.phase), (10.0, Phase::Open));
        bench.arrives(21);
        assert_eq!(bench.cwnd(), 10.1);
        assert_eq!(bench.sender.meter.events.fast_recoveries, 0);
    }
}

/// RFC 3168 section 6.1.2: marks and losses of one window cause one reduction. With 20 in flight, the ACK of 0 reports
/// a mark, and 1 is lost. Segments leave at the ACKs of 0 and 3. The third ACK after the hole, that of 4, retransmits
/// 1. There are ceil(10 d/20) segments in all.
#[test]
fn a_loss_while_the_window_sinks_is_repaired_without_a_second_cut() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let mut bench = with_ecn(recovery);
        assert_eq!(bench.arrives_marked(0), [20], "{recovery:?}");
        let sent: Vec<_> = (2..10).flat_map(|seq| bench.arrives(seq)).collect();
        assert_eq!(sent, [21, 1, 22, 23]);
        assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh()), (10.0, 10.0));
        assert_eq!(bench.sender.meter.events.fast_recoveries, 1);
    }
}

/// A mark cuts 10 segments to 5; a probe then repeats the last one, which had arrived. That undoes no cut: the mark was one.
#[test]
fn a_needless_probe_does_not_undo_the_answer_to_a_mark() {
    let tcp = Tcp { ecn: EcnMode::Classic, ..Tcp::new("reno", Recovery::Rack, vec![0]) };
    let mut bench = Bench::of("reno", tcp, 10);
    bench.sender.progress.end = 10;
    bench.sends();
    bench.arrives_marked(0);
    bench.now = bench.sender.deadline();
    bench.sender.on_timeout(bench.now);
    assert_eq!(bench.sends(), [9]);
    let mut blocks = SackBlocks::default();
    (blocks[0], bench.now) = ((9, 10), bench.now + MS);
    let arrival = Arrival { cumulative: 10, stamp: 0, receiver_stamp: bench.now };
    bench.sender.on_noted_ack(bench.now, &arrival, &AckNote { blocks, echo: None });
    assert_eq!((bench.cwnd(), bench.sender.cc.ssthresh()), (5.0, 5.0));
}

/// Sent at 3.0007 ms, received at 14 ms, acknowledged at 25.4 ms. Round trips by a clock of 1 us (3.000 to 25.400), one-way delays by
/// timestamps of 10 ms (0, 10, 20); the timer's G is the former.
#[test]
fn round_trips_are_finer_than_timestamps() {
    let tcp = Tcp { timestamp_tick: 10 * MS, rtt_tick: 1000, ..Tcp::new("reno", Recovery::Sack, vec![0]) };
    let mut bench = Bench::of("reno", tcp, 8);
    let arrival = Arrival { cumulative: 1, stamp: 3_000_700, receiver_stamp: 14 * MS };
    let rtt = bench.sender.elapsed(arrival.stamp, 25_400_000);
    let ack = bench.sender.measure(25_400_000, 1, &arrival, Some(rtt));
    assert_eq!(ack.rtt, Some(22_400_000));
    assert_eq!((ack.forward_delay, ack.backward_delay), (Some(10 * MS as i64), Some(10 * MS as i64)));
    assert_eq!(bench.sender.rtt.granularity(), 1000);
}

/// Segment 0 is missing. The ACKs of 1 and 2, both marked, have 6 and 7 in the ACE field and arrive in the wrong order:
/// two marks. The older one would report 7 more, because 6 is 7 steps after 7 in three bits. So would a copy of it,
/// with a clock too coarse to distinguish them.
#[test]
fn an_overtaken_ace_field_is_no_news() {
    for (tick, stamps) in [(0, [20, 19]), (10, [25, 21]), (10, [29, 19])] {
        let tcp = Tcp { ecn: EcnMode::Ace, timestamp_tick: tick, ..Tcp::new("reno", Recovery::Sack, vec![0]) };
        let mut bench = Bench::of("reno", tcp, 8);
        bench.sends();
        let told = [(7, stamps[0]), (6, stamps[1])].map(|(marked, receiver_stamp)| {
            let arrival = Arrival { cumulative: 0, stamp: 0, receiver_stamp };
            bench.sender.on_echo(RTT, &arrival, Echo { ece: false, marked }, false)
        });
        assert_eq!(told, [2, 0], "{tick}, {stamps:?}");
    }
}

/// A rate sample counts a SACKed segment once, and not again when the cumulative ACK passes it: of 8 segments the first is lost, 7 are
/// delivered before it, and one by its retransmission.
#[test]
fn rate_samples_count_each_segment_once() {
    let mut bench = Bench::new(Recovery::Sack, 8);
    bench.sender.outstanding = Records::new(Some(Box::default()), true);
    (bench.sender.keeps_records, bench.sender.plain) = (true, false);
    bench.now = RTT;
    bench.sends();
    let delivered = |bench: &mut Bench| {
        let sampler = bench.sender.outstanding.rate.as_mut().expect("it is there");
        let sample = sampler.sample(bench.now).expect("a sample");
        sample.prior_delivered + sample.delivered
    };
    for seq in 1..8 {
        bench.arrives(seq);
        assert_eq!(delivered(&mut bench), seq);
    }
    bench.arrives(0);
    assert_eq!(delivered(&mut bench), 8);
}

/// 8 segments in 100 ms, paced by 2 windows a round trip before the first sample: 160 a second, 6.25 ms apart; one at a time, and woken for
/// the next, once.
#[test]
fn a_paced_sender_sends_one_at_a_time() {
    let tcp = Tcp { initial_window: 8, pacing: pacing::Pacing::On, ..Tcp::new("reno", Recovery::Sack, vec![0]) };
    let cc: Controller = fullpipe_cc::build("reno", &[], 8.0).expect("reno").into();
    let meter =
        Meter::new(Arc::new(Terms { window: Window { from: 0, to: 1000 * RTT }, interval: None, distributes: false }));
    let mut bench =
        Bench { sender: Sender::new(&tcp, cc, u64::MAX, RTT, 0, 1000, meter), ..Bench::new(Recovery::Sack, 8) };
    bench.sender.meter.start(0);
    for seq in 0..8 {
        bench.now = seq * 6_250_000;
        assert_eq!(bench.sends(), [seq]);
        let due = (seq < 7).then_some(bench.now + 6_250_000);
        assert_eq!([bench.sender.wake(bench.now), bench.sender.wake(bench.now)], [due, None]);
    }
    bench.now += 6_250_000;
    assert_eq!(bench.sends(), [], "the window is full");
    assert!(bench.sender.progress.cwnd_limited);
}

/// RFC 8985 section 6.2, step 3, processes the deliveries of an ACK in the order of the segments. Segment 0 arrives and
/// is acknowledged by the ACK that 2 causes, which SACKs 2 behind the hole of 1. Nothing is out of order, and no
/// segment waits for a quarter of the minimum RTT. When 1 arrives later, there is reordering.
#[test]
fn a_late_ack_is_no_reordering() {
    let mut bench = Bench::new(Recovery::Rack, 8);
    bench.sends();
    assert_eq!(bench.receiver.take(0, 0, RTT, None), Reply::Ack);
    bench.now = RTT;
    bench.arrives(2);
    let seen = |bench: &Bench| match &bench.sender.repair {
        repair::Any::Rack(rack) => rack.reordering.seen,
        _ => panic!("another recovery"),
    };
    assert_eq!(bench.sender.progress.una, 1);
    assert!(!seen(&bench));
    bench.arrives(1);
    assert_eq!(bench.sender.progress.una, 3);
    assert!(seen(&bench));
}

/// Go-back-N after a timeout returns to the first segment. A flow that stops then still repairs all that it has sent: 0 to 7.
#[test]
fn a_stop_after_a_timeout_repairs_all_segments_sent() {
    let mut bench = Bench::new(Recovery::Reno, 8);
    assert_eq!(bench.sends(), [0, 1, 2, 3, 4, 5, 6, 7]);
    bench.now = bench.sender.deadline();
    bench.sender.on_timeout(bench.now);
    assert_eq!(bench.sends(), [0]);
    bench.sender.stop();
    let repaired: Vec<u64> = (0..8).flat_map(|seq| bench.arrives(seq)).collect();
    assert_eq!(repaired, [1, 2, 3, 4, 5, 6, 7]);
    assert!(bench.sender.finished());
}
