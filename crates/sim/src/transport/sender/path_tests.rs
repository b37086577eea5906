//! A connection over a path with configured losses and delays, including timers: tests of time-based recovery.

use super::*;
use crate::packet::{AckNote, SackBlocks};
use crate::report::meter::Terms;
use crate::traffic::connection::controller;
use crate::transport::pacing::Pacing;
use crate::transport::policy::Guard;
use crate::transport::receiver::Receiver;
use crate::transport::recovery::Recovery;
use crate::transport::rto::RtoRule;
use crate::window::Window;
use fullpipe_cc::CongestionControl;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MS: Nanos = 1_000_000;
const RTT: Nanos = 100 * MS;

struct Path {
    sender: Sender,
    receiver: Receiver,
    now: Nanos,
    /// Segments on their way, and ACKs on theirs, by the time of their arrival and the order of sending.
    segments: BTreeMap<(Nanos, u64), (u64, Nanos)>,
    acks: BTreeMap<(Nanos, u64), (Arrival, Option<SackBlocks>)>,
    count: u64,
    /// How often each of these segments is lost.
    losses: BTreeMap<u64, u32>,
    /// How much later each of these arrives when it is sent first.
    late: BTreeMap<u64, Nanos>,
    /// Transmissions whose ACK is lost.
    untold: BTreeSet<u64>,
    /// Nothing arrives before.
    held_until: Nanos,
    /// When the pacer lets the next segment leave.
    wake_at: Nanos,
    /// Sent segments with times in milliseconds.
    log: Vec<(Nanos, u64)>,
}

impl Path {
    /// One of 100 ms, for `end` segments with a first window of `window`.
    fn new(recovery: Recovery, window: u32, end: u64) -> Path {
        Path::of(&Tcp { initial_window: window, ..Tcp::new("reno", recovery, vec![0]) }, end)
    }

    fn of(tcp: &Tcp, end: u64) -> Path {
        let cc: Controller = controller(tcp, 1500, Some(RTT), 1, &Guard::default());
        let meter = Meter::new(Arc::new(Terms {
            window: Window { from: 0, to: 1000 * RTT },
            interval: None,
            distributes: false,
        }));
        let mut sender = Sender::new(tcp, cc, end, RTT, 0, 1500, meter);
        sender.meter.start(0);
        Path {
            sender,
            receiver: Receiver::new(tcp.recovery.telling()),
            now: 0,
            segments: BTreeMap::new(),
            acks: BTreeMap::new(),
            count: 0,
            losses: BTreeMap::new(),
            late: BTreeMap::new(),
            untold: BTreeSet::new(),
            held_until: 0,
            wake_at: Nanos::MAX,
            log: Vec::new(),
        }
    }

    fn losing(mut self, losses: &[(u64, u32)]) -> Path {
        self.losses.extend(losses.iter().copied());
        self
    }

    fn delaying(mut self, late: &[(u64, Nanos)]) -> Path {
        self.late.extend(late.iter().copied());
        self
    }

    /// Until all is acknowledged.
    fn run(mut self) -> Path {
        self.send();
        while !self.sender.finished() {
            let (segment, ack) = (first(&self.segments), first(&self.acks));
            let timer = self.sender.deadline().min(self.wake_at);
            self.now = segment.min(ack).min(timer);
            assert!(self.now < 1000 * RTT, "it hangs");
            if segment == self.now {
                let ((_, order), (seq, stamp)) = self.segments.pop_first().expect("seen");
                self.receiver.take(seq as u32, stamp, self.now, None);
                let (next, stamp) = self.receiver.acknowledge();
                let arrival = Arrival { cumulative: next as u32, stamp, receiver_stamp: self.now };
                let blocks = self.receiver.sack_blocks();
                if !self.untold.contains(&order) {
                    self.acks.insert((self.now + RTT / 2, order), (arrival, blocks));
                }
            } else if ack == self.now {
                let (_, (arrival, blocks)) = self.acks.pop_first().expect("seen");
                match blocks {
                    Some(blocks) => self.sender.on_noted_ack(self.now, &arrival, &AckNote { blocks, echo: None }),
                    None => self.sender.on_ack(self.now, &arrival),
                }
                self.send();
            } else {
                // A timeout takes back no turn that the pacer has asked for.
                if self.wake_at == self.now {
                    self.wake_at = Nanos::MAX;
                } else {
                    self.sender.on_timeout(self.now);
                }
                self.send();
            }
        }
        self
    }

    fn send(&mut self) {
        if self.sender.sends_ranges() {
            return self.sender.new_segments(self.now).for_each(|seq| self.put(seq));
        }
        while let Some(seq) = self.sender.next_segment(self.now) {
            self.put(seq);
        }
        if let Some(at) = self.sender.wake(self.now) {
            self.wake_at = at;
        }
    }

    fn put(&mut self, seq: u64) {
        self.log.push((self.now / MS, seq));
        self.count += 1;
        if let Some(left) = self.losses.get_mut(&seq).filter(|left| **left > 0) {
            *left -= 1;
            return;
        }
        let late = self.late.remove(&seq).unwrap_or(0);
        let arrives = (self.now + RTT / 2 + late).max(self.held_until);
        self.segments.insert((arrives, self.count), (seq, self.now));
    }

    /// When each segment from `seq` on was sent, in milliseconds.
    fn sent(&self, seq: u64) -> Vec<Nanos> {
        self.log.iter().filter(|sent| sent.1 == seq).map(|sent| sent.0).collect()
    }

    fn timeouts(&self) -> u64 {
        self.sender.meter.events.timeouts
    }

    fn retransmits(&self) -> u64 {
        self.sender.meter.events.retransmits
    }
}

/// When the first of them arrives.
fn first<T>(under_way: &BTreeMap<(Nanos, u64), T>) -> Nanos {
    under_way.first_key_value().map_or(Nanos::MAX, |((at, _), _)| *at)
}

/// RFC 8985 section 7: the last of 10 segments is lost. The ACKs of the others come at 100 ms, SRTT is 100 ms: the probe goes 200 ms
/// after, and its ACK comes 100 ms later; without it the timer, 300 ms at first and 200 ms at least, would.
#[test]
fn a_lost_tail_is_probed_for() {
    let path = Path::new(Recovery::Rack, 10, 10).losing(&[(9, 1)]).run();
    assert_eq!(path.sent(9), [0, 300]);
    assert_eq!((path.now / MS, path.timeouts()), (400, 0));
}

/// The last three are lost: the probe's SACK shows that those before it are. Nothing is in flight then, and each ACK of one segment lets
/// one go (RFC 9937's conservative bound).
#[test]
fn a_probe_shows_the_losses_before_it() {
    let path = Path::new(Recovery::Rack, 10, 10).losing(&[(7, 1), (8, 1), (9, 1)]).run();
    assert_eq!(path.sent(9), [0, 300]);
    assert_eq!([path.sent(7), path.sent(8)], [[0, 400], [0, 500]]);
    assert_eq!((path.now / MS, path.timeouts()), (600, 0));
}

/// All segments of a flight are lost. The probe leaves after two round trips of the handshake, 200 ms, and precedes the
/// timer of three.
#[test]
fn the_first_flight_is_probed_for_after_two_round_trips_of_the_handshake() {
    let path = Path::new(Recovery::Rack, 2, 2).losing(&[(0, 1), (1, 1)]).run();
    assert_eq!([path.sent(1), path.sent(0)], [[0, 200], [0, 300]]);
    assert_eq!((path.now / MS, path.timeouts()), (400, 0));
}

/// RFC 8985 section 6.2: a retransmission that is lost too is overtaken by segments sent after it, and goes again without the timer.
/// RFC 6675 has no means to know.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let path = |recovery| Path::new(recovery, 10, 40).losing(&[(0, 2)]).run();
    let rack = path(Recovery::Rack);
    assert_eq!((rack.sent(0), rack.timeouts()), (vec![0, 100, 200], 0));
    let sack = path(Recovery::Sack);
    assert_eq!((sack.sent(0).len(), sack.timeouts()), (3, 1));
}

/// RFC 5681 section 4.3: losses in two windows cause two cuts. Segment 0 is lost twice, so its recovery lasts from 100
/// ms to 300 ms, when 12 is next: 10, then 5 segments. Segment 12, sent at 100 ms after recovery began, is lost, and
/// found and retransmitted at 200 ms. It is in flight when recovery ends, and the window is halved once more. If 5 of
/// the first window is lost instead, there is only one cut.
#[test]
fn a_loss_in_the_window_after_is_a_second_cut() {
    let path = |losses: &[(u64, u32)]| Path::new(Recovery::Rack, 10, 60).losing(losses);
    let cuts = |path: &Path| (path.sender.meter.events.fast_recoveries, path.sender.cc.ssthresh());
    let two = path(&[(0, 2), (12, 1)]).run();
    assert_eq!([two.sent(0), two.sent(12)], [vec![0, 100, 200], vec![100, 200]]);
    assert_eq!(cuts(&two), (2, 2.5));
    assert_eq!(two.timeouts(), 0);
    for one in [&[(0, 2)][..], &[(0, 2), (5, 1)]] {
        assert_eq!(cuts(&path(one).run()), (1, 5.0), "{one:?}");
    }
}

/// RFC 8985 section 6.2: after a late segment, the sender waits for others by a quarter of the minimum RTT, 25 ms.
/// Segment 8 arrives 1 ms late, and nothing is retransmitted, because fewer than three segments have overtaken it.
/// Segment 40 arrives 20 ms late, after more than three: a fast retransmission of RFC 6675, and no retransmission by
/// RACK.
#[test]
fn reordering_is_waited_for() {
    let path = |recovery| Path::new(recovery, 10, 200).delaying(&[(8, MS), (40, 20 * MS)]).run();
    let (rack, sack) = (path(Recovery::Rack), path(Recovery::Sack));
    assert_eq!((rack.retransmits(), sack.retransmits()), (0, 1));
    assert!(rack.sender.cc.ssthresh().is_infinite() && sack.sender.cc.ssthresh().is_finite());
}

/// Segment 40 arrives 60 ms late, and is retransmitted spuriously after 25 ms. The timestamp in the original's ACK
/// shows this (RFC 3522), and the windows are restored (RFC 4015). By then, 39 ACKs of new data have increased the
/// first window of 10 to 49 segments.
#[test]
fn a_needless_cut_is_undone() {
    let path = Path::new(Recovery::Rack, 10, 200).delaying(&[(8, MS), (40, 60 * MS)]).run();
    assert_eq!((path.retransmits(), path.sender.meter.events.fast_recoveries), (1, 1));
    assert!(path.sender.cc.ssthresh().is_infinite());
    assert!(path.sender.cc.cwnd() >= 49.0, "{}", path.sender.cc.cwnd());
}

/// A timeout that was too early: nothing arrives for a second, then everything does. A probe of new data goes after two round trips of
/// the handshake, 200 ms, and the timer, 300 ms, starts again with it. The first ACK echoes a time from before the retransmission, and
/// nothing else is retransmitted.
#[test]
fn a_needless_timeout_is_undone() {
    let mut path = Path::new(Recovery::Rack, 10, 200);
    path.held_until = 1000 * MS;
    let path = path.run();
    assert_eq!((path.sent(10), path.sent(0)), (vec![200], vec![0, 500]));
    assert_eq!((path.timeouts(), path.retransmits()), (1, 1));
    assert!(path.sender.cc.ssthresh().is_infinite() && path.sender.cc.cwnd() > 10.0);
}

/// A timer that expires while the pacer holds segments back, which one loss of NewReno's brings about under BBRv3: they go on when it is their turn.
#[test]
fn a_timeout_leaves_the_pacers_turn() {
    let tcp = Tcp { initial_window: 10, pacing: Pacing::On, ..Tcp::new("bbr3", Recovery::NewReno, vec![0]) };
    let path = Path::of(&tcp, 120).losing(&[(13, 1)]).delaying(&[(6, 7_220_218)]).run();
    assert_eq!((path.timeouts(), path.sender.progress.una), (1, 120));
}

proptest! {
    /// The fast path and the general path send equal segments at equal times, with losses, late segments, and lost ACKs, paced or not,
    /// with rate samples or without. The fast path is open at the end of a run without them.
    #[test]
    fn the_fast_path_changes_nothing(
        recovery in prop::sample::select(vec![Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack]),
        rto in prop::sample::select(vec![RtoRule::Rfc6298, RtoRule::Linux]),
        algorithm in prop::sample::select(vec!["reno", "bbr", "bbr3"]),
        pacing in prop::sample::select(vec![Pacing::Off, Pacing::On]),
        losses in prop::collection::vec((0u64..120, 1u32..3), 0..6),
        late in prop::collection::vec((0u64..120, 1..150 * MS), 0..6),
        untold in prop::collection::btree_set(0u64..130, 0..6),
    ) {
        let calm = losses.is_empty() && late.is_empty() && untold.is_empty();
        let tcp = Tcp { initial_window: 10, pacing, rto, ..Tcp::new(algorithm, recovery, vec![0]) };
        let path = || Path { untold: untold.clone(), ..Path::of(&tcp, 120).losing(&losses).delaying(&late) };
        let mut general = path();
        (general.sender.general_only, general.sender.fast_path) = (true, false);
        let (general, fast) = (general.run(), path().run());
        prop_assert_eq!(&fast.log, &general.log);
        prop_assert_eq!(fast.sender.cc.cwnd(), general.sender.cc.cwnd());
        prop_assert!(!general.sender.fast_path && (fast.sender.fast_path || !calm));
    }
}
