//! RTT samples and timer restarts of `rto = "linux"`, worked by hand.

use super::*;
use crate::packet::{AckNote, SackBlocks};
use crate::report::meter::Terms;
use crate::transport::recovery::Recovery;
use crate::transport::rto::RtoRule;
use crate::window::Window;
use std::sync::Arc;

const MS: Nanos = 1_000_000;

/// Sender with a window of `window` segments of Reno over RACK, timestamps of 1 ms and round trips measured to 1 us. All of its window is sent
/// at 0.25 ms.
struct Bench {
    sender: Sender,
}

impl Bench {
    fn new(window: u32) -> Bench {
        let tcp = Tcp {
            initial_window: window,
            rto: RtoRule::Linux,
            timestamp_tick: MS,
            rtt_tick: 1000,
            ..Tcp::new("reno", Recovery::Rack, vec![0])
        };
        let cc: Controller = fullpipe_cc::build("reno", &[], f64::from(window)).expect("reno").into();
        let window = Window { from: 0, to: 1000 * MS };
        let meter = Meter::new(Arc::new(Terms { window, interval: None, distributes: false }));
        let mut sender = Sender::new(&tcp, cc, u64::MAX, 100 * MS, 0, 1500, meter);
        sender.meter.start(0);
        let mut bench = Bench { sender };
        bench.sends(250_000);
        bench
    }

    fn sends(&mut self, now: Nanos) -> Vec<u64> {
        std::iter::from_fn(|| self.sender.next_segment(now)).collect()
    }

    /// ACK as in [`Bench::hear`]; the segments that are sent in return.
    fn ack(&mut self, now: Nanos, cumulative: u32, stamp: Nanos, blocks: &[(u32, u32)]) -> Vec<u64> {
        self.hear(now, cumulative, stamp, blocks);
        self.sends(now)
    }

    /// Deadline of the timer after an ACK at `now` that asks for `cumulative`, echoes `stamp`, and has SACK blocks.
    fn hear(&mut self, now: Nanos, cumulative: u32, stamp: Nanos, blocks: &[(u32, u32)]) -> Nanos {
        let mut sack = SackBlocks::default();
        sack[..blocks.len()].copy_from_slice(blocks);
        let arrival = Arrival { cumulative, stamp, receiver_stamp: now };
        self.sender.on_noted_ack(now, &arrival, &AckNote { blocks: sack, echo: None });
        self.sender.deadline()
    }

    fn srtt(&self) -> Nanos {
        self.sender.rtt.smoothed().expect("a sample")
    }
}

/// SACKs give samples: segments 3 to 5 of ten are SACKed after 100, 101 and 102 ms. SRTT = 100, 100 + 1/8, 100.125 + 1.875/8 = 100.359375 ms; the
/// RTO is SRTT + 200 ms. All were sent before the retransmission of 0 at 102 ms, the third SACK shows the loss, and the timer restarts then.
/// A fourth SACK at 110 ms, of a segment sent before that retransmission, restarts it too. One of a segment sent after it does not.
#[test]
fn sacks_are_samples_and_restart_the_timer_for_older_segments() {
    let mut bench = Bench::new(10);
    let sent = 250_000;
    assert_eq!(bench.sender.deadline(), sent + 202 * MS, "a probe: twice the handshake's RTT and 2 ms");
    assert_eq!(bench.ack(sent + 100 * MS, 0, 0, &[(3, 4)]), [10]);
    assert_eq!(bench.srtt(), 100 * MS);
    assert_eq!(bench.ack(sent + 101 * MS, 0, 0, &[(3, 5)]), [11]);
    assert_eq!(bench.srtt(), 100_125_000);
    let again = bench.ack(sent + 102 * MS, 0, 0, &[(3, 6)]);
    assert_eq!(again[0], 0);
    assert_eq!(bench.srtt(), 100_359_375);
    let rto = bench.srtt() + 200 * MS;
    assert_eq!(bench.sender.deadline(), sent + 102 * MS + rto);
    bench.ack(sent + 110 * MS, 0, 0, &[(3, 7)]);
    let restarted = bench.sender.deadline();
    assert_eq!(restarted, sent + 110 * MS + bench.srtt() + 200 * MS);
    for seq in 7..12 {
        bench.ack(sent + (104 + u64::from(seq)) * MS, 0, 0, &[(3, seq + 1)]);
    }
    let restarted = bench.sender.deadline();
    // The last segment was sent after segment 0 was retransmitted. Its SACK shows that this retransmission is lost too.
    let later = bench.sender.high();
    assert!(later > 12);
    let now = sent + 205 * MS;
    assert_eq!(bench.hear(now, 0, 0, &[(later as u32 - 1, later as u32), (3, 7)]), restarted);
    assert_eq!(bench.sends(now)[0], 0);
    assert_eq!(bench.sender.deadline(), now + bench.srtt() + 200 * MS, "the first segment is sent again");
}

/// Segment 0 of ten is retransmitted at 102.25 ms. Its ACK comes at 203.9 ms and echoes a timestamp of 102.25 ms: by clocks of 1 ms that is
/// 203 - 102 = 101 ms, where microseconds would give 101.65. An original gives microseconds: 100.5 ms.
#[test]
fn retransmissions_are_measured_by_timestamps() {
    for (of_original, expected) in [(false, 101 * MS), (true, 100_500_000)] {
        let mut bench = Bench::new(10);
        if of_original {
            bench.ack(100_750_000, 1, 250_000, &[]);
        } else {
            for seq in 3..6 {
                bench.ack(102_250_000, 0, 0, &[(3, seq + 1)]);
            }
            bench.sender.rtt.reset();
            bench.ack(203_900_000, 1, 102_250_000, &[(3, 6)]);
        }
        assert_eq!(bench.srtt(), expected);
    }
}

/// An ACK of a segment retransmitted that SACKs a new original is measured by that one: sent at 0.25 ms, SACKed at 203.9 ms.
#[test]
fn a_new_sack_is_preferred_to_a_timestamp() {
    let mut bench = Bench::new(10);
    for seq in 3..6 {
        bench.ack(102_250_000, 0, 0, &[(3, seq + 1)]);
    }
    bench.sender.rtt.reset();
    bench.ack(203_900_000, 1, 102_250_000, &[(3, 7)]);
    assert_eq!(bench.srtt(), 203_650_000);
}
