//! One of quinn's controllers, driven by the simulator's sender as quinn's connection drives it.

use crate::estimator::Estimator;
use fullpipe_cc::{Ack, CongestionControl, Flow, Lost, Nanos, Signal, Start};
use fullpipe_connection::{Packet, Packets};
use quinn_proto::congestion::Controller;
use std::time::{Duration, Instant};

/// RFC 9000 section 18.2: default of the maximum time by which a receiver delays an ACK.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// RFC 9002 section 6.1.2: the granularity of timers.
const GRANULARITY: Duration = Duration::from_millis(1);
/// RFC 9002 section 7.6.1, and `TransportConfig`'s default.
const PERSISTENT_CONGESTION_THRESHOLD: u32 = 3;

/// RTT of a connection without samples (RFC 9002 section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Duration of a pacer's burst, and its bounds in packets (src/connection/pacing.rs, lines 145 to 151).
const BURST_INTERVAL: Duration = Duration::from_millis(2);
const BURST_PACKETS: (f64, f64) = (10.0, 256.0);
/// Ratio of the pacer's refill rate to one window per RTT (src/connection/pacing.rs, line 92).
const PACING_GAIN: f64 = 1.25;
/// Rate in packets per second, above that of any path, for a window with which quinn's pacer is off (line 76).
const UNPACED: f64 = 1e9;

/// A controller, and the state that quinn's connection keeps for it.
pub struct Quinn {
    controller: Box<dyn Controller>,
    estimator: Estimator,
    packets: Packets<()>,
    /// Instant of the simulator's time 0.
    origin: Instant,
    mtu: u64,
    /// Newest acknowledged packet.
    largest_acked: Option<Packet<()>>,
    /// RFC 9002's rttvar, which quinn's estimator does not expose.
    rttvar: Duration,
    /// A CE mark not yet reported to the controller.
    marked: bool,
}

impl Quinn {
    /// Controller that `build` makes, from the time of its connection's start and the size of its datagrams.
    #[expect(clippy::disallowed_methods, reason = "an origin: the controllers take nothing but differences")]
    pub fn new(build: impl FnOnce(Instant, u16) -> Box<dyn Controller>, start: Start) -> Quinn {
        let origin = Instant::now();
        let rtt = start.rtt.map_or(INITIAL_RTT, Duration::from_nanos);
        let mtu = u16::try_from(start.segment_bytes).unwrap_or(u16::MAX);
        Quinn {
            controller: build(origin, mtu),
            estimator: Estimator::new(origin, rtt),
            packets: Packets::default(),
            origin,
            mtu: mtu.into(),
            largest_acked: None,
            rttvar: rtt / 2,
            marked: false,
        }
    }

    /// Time 0 is a nanosecond after the controller was built, because the controller treats a packet sent at its
    /// creation as sent before.
    fn at(&self, now: Nanos) -> Instant {
        self.origin + Duration::from_nanos(now + 1)
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mtu as f64
    }

    /// Reports losses and marks to the controller after the ACK that shows them has been counted.
    fn tell_of_congestion(&mut self, now: Nanos) {
        let lost = self.packets.take_lost();
        if let Some(last) = lost.last() {
            let bytes = lost.len() as u64 * self.mtu;
            let persistent = spans(&lost, self.persistent_congestion());
            self.controller.on_congestion_event(self.at(now), self.at(last.sent), persistent, bytes);
        }
        if std::mem::take(&mut self.marked) {
            let sent = self.largest_acked.map_or(now, |packet| packet.sent);
            self.controller.on_congestion_event(self.at(now), self.at(sent), false, 0);
        }
    }

    /// RFC 9002 section 7.6.1.
    fn persistent_congestion(&self) -> Duration {
        let pto = self.estimator.smoothed() + (4 * self.rttvar).max(GRANULARITY) + MAX_ACK_DELAY;
        PERSISTENT_CONGESTION_THRESHOLD * pto
    }

    fn sample(&mut self, rtt: Duration) {
        self.rttvar = (3 * self.rttvar + self.estimator.smoothed().abs_diff(rtt)) / 4;
        self.estimator.sample(rtt);
    }
}

/// Whether consecutive packets were lost over more than `time` and none between them arrived.
fn spans(lost: &[Packet<()>], time: Duration) -> bool {
    let runs = lost.chunk_by(|before, after| after.number == before.number + 1);
    let nanos = time.as_nanos();
    runs.filter_map(|run| Some((run.first()?, run.last()?)))
        .any(|(first, last)| u128::from(last.sent - first.sent) > nanos)
}

impl CongestionControl for Quinn {
    fn cwnd(&self) -> f64 {
        self.packets(self.controller.window())
    }

    fn ssthresh(&self) -> f64 {
        match self.controller.metrics().ssthresh {
            None | Some(u64::MAX) => f64::INFINITY,
            Some(bytes) => self.packets(bytes),
        }
    }

    /// Rate of quinn's pacer, which depends on the window and not on the controller.
    fn pacing_rate(&self) -> Option<f64> {
        if self.controller.window() > u64::from(u32::MAX) {
            return Some(UNPACED);
        }
        Some(PACING_GAIN * self.cwnd() / self.estimator.smoothed().as_secs_f64())
    }

    fn send_quantum(&self) -> u64 {
        let (least, most) = BURST_PACKETS;
        let burst = self.cwnd() * BURST_INTERVAL.as_secs_f64() / self.estimator.smoothed().as_secs_f64();
        burst.clamp(least, most) as u64
    }

    fn takes_rate_samples(&self) -> bool {
        true
    }

    fn rules_recovery(&self) -> bool {
        true
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let rtt = self.estimator.before();
        let now = self.at(flow.now);
        let acked = self.packets.on_ack(flow, ack);
        let newest = acked.last().copied();
        for packet in acked {
            let sent = self.origin + Duration::from_nanos(packet.sent + 1);
            self.controller.on_ack(now, sent, self.mtu, flow.app_limited, &rtt);
        }
        let newer = newest.filter(|newest| self.largest_acked.is_none_or(|largest| newest.number > largest.number));
        self.largest_acked = newer.or(self.largest_acked);
        if newest.is_some() {
            let largest = self.largest_acked.map(|packet| packet.number);
            let in_flight = self.packets.in_flight() * self.mtu;
            self.controller.on_end_acks(now, in_flight, flow.app_limited, largest);
        }
        if let Some(newest) = newer.filter(|newest| newest.is_first) {
            self.sample(Duration::from_nanos(flow.now - newest.sent));
        }
        self.tell_of_congestion(flow.now);
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        match signal {
            Signal::Ecn => self.marked = true,
            Signal::Timeout => self.tell_of_congestion(flow.now),
            _ => {}
        }
    }

    fn on_sent(&mut self, flow: &Flow) {
        self.tell_of_congestion(flow.now);
        let number = self.packets.next_number();
        self.packets.on_sent(flow, ());
        self.controller.on_sent(self.at(flow.now), self.mtu, number);
    }

    fn on_lost(&mut self, _: &Flow, lost: &Lost) {
        self.packets.on_lost(lost);
    }

    /// quinn has no undo of spurious losses.
    fn on_undo(&mut self, _: f64, _: f64) {}

    /// BBR's pacing rate. quinn reports it but does not pace with it.
    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        if let Some(bits) = self.controller.metrics().pacing_rate {
            visit("asked_pacing_bps", bits as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::RateSample;
    use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
    use std::sync::Arc;

    const MS: Nanos = 1_000_000;

    fn newreno() -> Quinn {
        let start = Start::from(10.0).segment_bytes(1200).rtt(100 * MS);
        Quinn::new(|now, mtu| Arc::new(NewRenoConfig::default()).build(now, mtu), start)
    }

    fn cubic() -> Quinn {
        let start = Start::from(10.0).segment_bytes(1200).rtt(100 * MS);
        Quinn::new(|now, mtu| Arc::new(CubicConfig::default()).build(now, mtu), start)
    }

    /// Sends `count` segments, a millisecond apart.
    fn sends(cc: &mut Quinn, count: u64) {
        (1..=count).for_each(|high| cc.on_sent(&Flow::at(high * MS).flight_size(high)));
    }

    /// RFC 9002 section 7.3.1: slow start grows by the acknowledged bytes. 12,000 bytes are 10 packets.
    #[test]
    fn slow_start_counts_packets() {
        let mut cc = newreno();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, f64::INFINITY));
        sends(&mut cc, 10);
        let sample = RateSample::new(4, None).segment(3).newly_delivered(4);
        cc.on_ack(&Flow::at(101 * MS).delivered(4).flight_size(6), &Ack::of(4, 4.0).rate(Some(sample)));
        assert_eq!(cc.cwnd(), 14.0);
    }

    /// The first of ten packets is lost, then the second: one cut, because both left before the first ACK. A loss of a
    /// later packet causes another cut.
    #[test]
    fn a_round_trip_has_one_cut() {
        for (mut cc, factor) in [(newreno(), 0.5), (cubic(), 0.7)] {
            sends(&mut cc, 10);
            for lost in [0, 1] {
                cc.on_lost(&Flow::at(110 * MS), &Lost::of(lost));
                cc.on_ack(&Flow::at(110 * MS).flight_size(10), &Ack::of(0, 0.0));
                assert!((cc.cwnd() - 10.0 * factor).abs() < 1e-3, "{}", cc.cwnd());
            }
            cc.on_sent(&Flow::at(120 * MS).flight_size(11));
            cc.on_lost(&Flow::at(230 * MS), &Lost::of(10));
            cc.on_ack(&Flow::at(230 * MS).flight_size(11), &Ack::of(0, 0.0));
            assert!((cc.cwnd() - 10.0 * factor * factor).abs() < 1e-3, "{}", cc.cwnd());
        }
    }

    /// RFC 9002 section 7.2: the minimum window is two packets.
    #[test]
    fn the_window_has_a_floor() {
        for mut cc in [newreno(), cubic()] {
            for round in 1..=12 {
                cc.on_sent(&Flow::at(round * 100 * MS).flight_size(round));
                cc.on_lost(&Flow::at(round * 100 * MS + 50 * MS), &Lost::of(round - 1));
                cc.on_ack(&Flow::at(round * 100 * MS + 50 * MS).flight_size(round), &Ack::of(0, 0.0));
            }
            assert_eq!(cc.cwnd(), 2.0);
        }
    }

    /// Losses over more than three probe timeouts with no delivery between them reduce the window to its minimum (RFC
    /// 9002 section 7.6.2).
    #[test]
    fn persistent_congestion_leaves_two() {
        for (apart, window) in [(10 * MS, 5.0), (500 * MS, 2.0)] {
            let mut cc = newreno();
            (0..4).for_each(|n| cc.on_sent(&Flow::at(1 + n * apart).flight_size(n + 1)));
            (0..4).for_each(|n| cc.on_lost(&Flow::at(4 * apart), &Lost::of(n)));
            cc.on_congestion(&Flow::at(4 * apart), Signal::Timeout);
            assert_eq!(cc.cwnd(), window);
        }
    }

    /// A segment is retransmitted at 200 ms, and the ACK of its first transmission arrives at 210 ms: no RTT sample of
    /// 10 ms.
    #[test]
    fn what_went_again_gives_no_rtt() {
        let mut cc = newreno();
        sends(&mut cc, 2);
        cc.on_lost(&Flow::at(190 * MS), &Lost::of(0));
        cc.on_sent(&Flow::at(200 * MS).flight_size(2));
        let sample = RateSample::new(1, None).segment(0).newly_delivered(1);
        cc.on_ack(&Flow::at(210 * MS).delivered(1).flight_size(1), &Ack::of(1, 1.0).rate(Some(sample)));
        assert_eq!(cc.estimator.smoothed(), Duration::from_millis(100));
        // An ACK of a first transmission gives a sample: 180 ms, with weight 1/8.
        cc.on_sent(&Flow::at(211 * MS).delivered(1).flight_size(2));
        let sample = RateSample::new(2, None).segment(2).newly_delivered(2);
        cc.on_ack(&Flow::at(391 * MS).delivered(3).flight_size(0), &Ack::of(2, 2.0).rate(Some(sample)));
        assert_eq!(cc.estimator.smoothed(), Duration::from_millis(110));
    }

    /// RFC 9002 section 7.6.2: "the sender's congestion window MUST be reduced to the minimum congestion window".
    /// quinn's BBR ignores persistent congestion (src/congestion/bbr/mod.rs, line 472).
    #[test]
    fn bbr_keeps_its_window_through_persistent_congestion() {
        let start = Start::from(10.0).segment_bytes(1200).rtt(100 * MS);
        let mut cc = Quinn::new(|now, mtu| Arc::new(BbrConfig::default()).build(now, mtu), start);
        (0..4).for_each(|n| cc.on_sent(&Flow::at(1 + n * 500 * MS).flight_size(n + 1)));
        (0..4).for_each(|n| cc.on_lost(&Flow::at(2000 * MS), &Lost::of(n)));
        cc.on_congestion(&Flow::at(2000 * MS), Signal::Timeout);
        assert_eq!(cc.cwnd(), 200.0);
    }

    /// RFC 9438 section 4.8: a timeout sets ssthresh "using beta_cubic (same as in Section 4.6)", 7 packets after 10. quinn multiplies twice
    /// (src/congestion/cubic.rs, lines 195 and 206): 4.9.
    #[test]
    fn persistent_congestion_cuts_cubics_threshold_twice() {
        let mut cc = cubic();
        (0..4).for_each(|n| cc.on_sent(&Flow::at(1 + n * 500 * MS).flight_size(n + 1)));
        (0..4).for_each(|n| cc.on_lost(&Flow::at(2000 * MS), &Lost::of(n)));
        cc.on_congestion(&Flow::at(2000 * MS), Signal::Timeout);
        assert!(cc.cwnd() == 2.0 && (cc.ssthresh() - 4.9).abs() < 1e-3, "{} {}", cc.cwnd(), cc.ssthresh());
    }

    /// RFC 9438 section 4.2: t "MUST NOT include periods during which cwnd has not been updated due to
    /// application-limited behavior", and the target is at most 1.5 windows, which is half a packet more per ACK. After
    /// an application-limited minute, quinn's W_cubic is at 0.4 (60 - K)^3, some ten thousand packets
    /// (src/congestion/cubic.rs, line 131). The second ACK then adds a whole packet, as in slow start (line 160).
    #[test]
    fn cubics_clock_runs_while_the_application_rests() {
        let mut cc = cubic();
        sends(&mut cc, 10);
        cc.on_lost(&Flow::at(110 * MS), &Lost::of(0));
        cc.on_ack(&Flow::at(110 * MS).flight_size(10), &Ack::of(0, 0.0));
        let before = cc.cwnd();
        (11..=14).for_each(|high| cc.on_sent(&Flow::at(60_000 * MS).flight_size(high)));
        for delivered in 11..=14 {
            let sample = RateSample::new(1, None).segment(delivered - 1).newly_delivered(1);
            let flow = Flow::at(60_100 * MS).delivered(delivered).flight_size(14 - delivered);
            cc.on_ack(&flow, &Ack::of(1, 1.0).rate(Some(sample)));
        }
        assert_eq!(cc.cwnd(), before + 4.0);
    }

    /// 1.25 windows per smoothed RTT, in bursts of at least ten packets.
    #[test]
    fn the_pacer_is_quinns() {
        let cc = newreno();
        assert_eq!((cc.pacing_rate(), cc.send_quantum()), (Some(125.0), 10));
    }
}
