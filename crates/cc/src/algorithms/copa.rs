//! Copa: steers its rate to 1/(delta d_q), where d_q is the queueing delay, and so keeps about 1/delta segments in the queue.
//!
//! Written from memory of the source and from what others quote of it: the text was not at hand as a whole.
//!
//! Source: V. Arun, H. Balakrishnan, *Copa: Practical Delay-Based Congestion Control for the Internet*, NSDI 2018. With RTTmin the least RTT
//! of 10 s, RTTstanding that of half a smoothed RTT, and d_q = RTTstanding - RTTmin (section 2):
//!
//! - target rate 1/(delta d_q), rate cwnd/RTTstanding; an ACK adds v/(delta cwnd) while the rate is at most the target, and takes it else;
//! - v is 1, and doubles once a round trip after the window has moved the same way for three;
//! - slow start until the rate exceeds the target;
//! - packets leave at 2 cwnd/RTTstanding;
//! - competitive mode (section 2.2) unless the queue has been nearly empty, d_q < .1 (RTTmax - RTTmin), within five round trips: 1/delta grows
//!   by one a round trip and is halved at a loss; delta = .5 again afterwards.
//!
//! Section 3: a flow rests at 1/delta segments in the queue and moves around that, up and down for two and a half round trips each, so that
//! the queue empties once in five.
//!
//! # Deviations and choices
//!
//! - **v** is bounded so that an ACK moves the window by at most one segment, the pace of slow start; the paper has no bound.
//! - **The direction** is judged by the window at the beginning of a round trip against that at the beginning of the one before.
//! - **RTTmin** and **RTTstanding** are kept in thirds of their time, so that a value counts up to a third longer. **RTTmax** is that of the
//!   round trip at hand and the three before.
//! - **Nearly empty** is judged as the paper has it, though a tenth of the range is less than a packet where few flows share a queue: whether
//!   the queue empties is then a matter of a packet, and flows of Copa may take one another for others that fill it. `competitive = false`
//!   leaves that mode out.
//! - **Losses**: in default mode none is answered, as in the paper; one ends slow start where the window stands. **A timeout** leaves one
//!   segment and slow start anew. **A mark** (ECN) counts as a loss.
//! - **Until an RTT is known** the first window leaves at once.
//! - **Segments** are counted, whatever `byte_counting` says, in slow start ACKs as the sender counts them. In recovery, and while something
//!   else limits the sender, the window may fall but does not grow.
//! - The window is at least two segments.

use crate::params::{Group, Info, Kind, Param, Params};
use crate::parts::RecentLeast;
use crate::time::{Nanos, SECOND, seconds};
use crate::{Ack, CongestionControl, Flow, Signal, Start};

/// Copa.
pub const COPA: Info = Info {
    name: "copa",
    paper: "V. Arun, H. Balakrishnan, Copa: Practical Delay-Based Congestion Control for the Internet, NSDI 2018",
    group: Group::Delay,
    recovery: "sack",
    own_slow_start: true,
    ecn: None,
    params: &[
        Param {
            name: "delta",
            unit: "1/segments",
            kind: Kind::Number { default: 0.5, min: 0.001, max: 10.0 },
            doc: "About 1/delta segments stay in the queue.",
            source: "Arun and Balakrishnan 2018, section 2.1: 0.5",
        },
        Param {
            name: "competitive",
            unit: "1",
            kind: Kind::Flag { default: true },
            doc: "Take delta down where others fill the queue.",
            source: "Arun and Balakrishnan 2018, section 2.2",
        },
    ],
};

/// Section 2.1: over how long RTTmin is the least.
const MIN_RTT_TIME: Nanos = 10 * SECOND;
/// Section 2.2: the part of the RTT's range that counts as nearly empty, in how many round trips it has to be, and the round trips of RTTmax.
const NEARLY_EMPTY: f64 = 0.1;
const ROUNDS_TO_EMPTY: u64 = 5;
const MAX_RTT_ROUNDS: usize = 4;
/// Section 2.1: round trips in one direction before v doubles.
const STEADY_ROUNDS: u32 = 3;

const MIN_WINDOW: f64 = 2.0;

/// The window control of Copa.
#[derive(Clone, Debug, PartialEq)]
pub struct Copa {
    default_delta: f64,
    competitive: bool,
    cwnd: f64,
    ssthresh: f64,
    delta: f64,
    velocity: Velocity,
    rtts: Rtts,
    /// The round trip in which the queue was last nearly empty.
    empty_round: u64,
    /// No loss since the round trip began.
    lossless: bool,
}

/// How fast the window moves.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Velocity {
    v: f64,
    /// Whether it grew in the last round trip, and for how many it has gone that way.
    up: bool,
    rounds: u32,
    /// At the beginning of the round trip.
    cwnd: f64,
}

/// What is known of round-trip times.
#[derive(Clone, Debug, PartialEq)]
struct Rtts {
    of_long: RecentLeast,
    of_half_srtt: RecentLeast,
    /// Greatest of the last round trips, the newest first.
    greatest: [Nanos; MAX_RTT_ROUNDS],
    least: Nanos,
    standing: Option<Nanos>,
}

impl Rtts {
    fn sample(&mut self, flow: &Flow, rtt: Nanos) {
        self.least = self.of_long.update(flow.now, rtt, MIN_RTT_TIME);
        self.standing = Some(self.of_half_srtt.update(flow.now, rtt, flow.srtt.unwrap_or(rtt) / 2));
        self.greatest[0] = self.greatest[0].max(rtt);
    }

    fn begin_round(&mut self) {
        self.greatest.rotate_right(1);
        self.greatest[0] = 0;
    }

    /// RTTstanding, and d_q, seconds.
    fn standing_and_queueing_s(&self) -> Option<(f64, f64)> {
        let standing = self.standing?;
        Some((seconds(standing), seconds(standing.saturating_sub(self.least))))
    }

    fn range_s(&self) -> f64 {
        let greatest = self.greatest.iter().copied().max().unwrap_or(0);
        seconds(greatest.saturating_sub(self.least))
    }
}

impl Copa {
    /// Copa in slow start.
    pub fn controller(params: &Params, start: impl Into<Start>) -> Copa {
        let delta = params.number("delta");
        let window = start.into().window;
        Copa {
            default_delta: delta,
            competitive: params.flag("competitive"),
            cwnd: window,
            ssthresh: f64::INFINITY,
            delta,
            velocity: Velocity { v: 1.0, up: true, rounds: 0, cwnd: window },
            rtts: Rtts {
                of_long: RecentLeast::default(),
                of_half_srtt: RecentLeast::default(),
                greatest: [0; MAX_RTT_ROUNDS],
                least: 0,
                standing: None,
            },
            empty_round: 0,
            lossless: true,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Section 2.2, with what the round trip that ends has shown.
    fn choose_delta(&mut self, flow: &Flow) {
        if !self.competitive || flow.round - self.empty_round.min(flow.round) <= ROUNDS_TO_EMPTY {
            self.delta = self.default_delta;
        } else if self.lossless {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        self.lossless = true;
    }

    /// Section 2.1: v, once a round trip.
    fn choose_velocity(&mut self) {
        let Velocity { v, up, rounds, cwnd } = self.velocity;
        let now_up = self.cwnd > cwnd;
        let rounds = if now_up == up { rounds + 1 } else { 0 };
        let v = if rounds >= STEADY_ROUNDS { (2.0 * v).min(self.delta * self.cwnd).max(1.0) } else { 1.0 };
        self.velocity = Velocity { v, up: now_up, rounds, cwnd: self.cwnd };
    }

    fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd.max(MIN_WINDOW);
        self.velocity = Velocity { v: 1.0, up: false, rounds: 0, cwnd: self.cwnd };
    }
}

impl CongestionControl for Copa {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.rtts.standing.map_or(f64::INFINITY, |standing| 2.0 * self.cwnd / seconds(standing.max(1))))
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtts.sample(flow, rtt);
        }
        let Some((standing_s, queueing_s)) = self.rtts.standing_and_queueing_s() else { return };
        if queueing_s <= NEARLY_EMPTY * self.rtts.range_s() {
            self.empty_round = flow.round;
        }
        if ack.round_start {
            self.rtts.begin_round();
            self.choose_delta(flow);
            if !self.in_slow_start() {
                self.choose_velocity();
            }
        }
        let faster = self.cwnd * self.delta * queueing_s > standing_s;
        let may_grow = flow.may_grow(ack);
        if self.in_slow_start() && !faster {
            self.cwnd += if may_grow { ack.credit } else { 0.0 };
            return;
        }
        if self.in_slow_start() {
            self.end_slow_start();
        }
        let step = (self.velocity.v / (self.delta * self.cwnd)).min(1.0) * ack.acked as f64;
        if faster {
            self.cwnd = (self.cwnd - step).max(MIN_WINDOW.min(self.cwnd));
        } else if may_grow {
            self.cwnd += step;
        }
    }

    fn on_congestion(&mut self, _flow: &Flow, signal: Signal) {
        if signal == Signal::Timeout {
            self.ssthresh = f64::INFINITY;
            self.cwnd = 1.0;
            return;
        }
        if self.in_slow_start() {
            self.end_slow_start();
        }
        if self.delta < self.default_delta {
            self.delta = (2.0 * self.delta).min(self.default_delta);
        }
        self.lossless = false;
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("queueing_delay_s", self.rtts.standing_and_queueing_s().map_or(f64::NAN, |(_, queueing_s)| queueing_s));
        visit("delta", self.delta);
        visit("velocity", self.velocity.v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND;

    fn copa(window: f64) -> Copa {
        Copa::controller(&Params::defaults(&COPA), window)
    }

    /// An ACK of a segment with this RTT at this time, in microseconds.
    fn ack(cc: &mut Copa, now_ms: u64, rtt_us: u64, round: u64, round_start: bool) {
        let rtt = rtt_us * 1000;
        let flow = Flow { now: now_ms * MILLISECOND, ..FLOW.srtt(Some(rtt)).round(round) };
        cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(rtt)).round_start(round_start));
    }

    /// Beyond slow start at a window of 100, with an RTTmin of 100 ms.
    fn steady() -> Copa {
        let mut cc = copa(2.0);
        ack(&mut cc, 0, 100_000, 0, false);
        cc.cwnd = 100.0;
        cc.end_slow_start();
        cc
    }

    /// Section 2.1, delta = 1/2: 100 segments at 101 ms are 990 a second; a d_q of 1 ms allows 1/(.5 .001) = 2000, so that an ACK adds
    /// 1/(.5 100) = .02; at 102.1 ms 979 exceed 1/(.5 .0021) = 952, and it takes as much. The ACKs come later than half an RTT.
    #[test]
    fn the_window_moves_towards_the_target_rate() {
        for (rtt_us, expected) in
            [(100_000, 100.02), (101_000, 100.02), (102_000, 100.02), (102_100, 99.98), (150_000, 99.98)]
        {
            let mut cc = steady();
            ack(&mut cc, 200, rtt_us, 1, false);
            assert!((cc.cwnd() - expected).abs() < 1e-12, "{rtt_us} us: {}", cc.cwnd());
        }
    }

    /// Section 2.1: v is 1 for three round trips in one direction, then 2, 4, 8; a turn makes it 1.
    #[test]
    fn velocity_doubles_after_three_round_trips_in_one_direction() {
        let mut cc = steady();
        let mut velocities = [0.0; 8];
        for (index, v) in velocities.iter_mut().enumerate() {
            let rtt_us = if index == 6 { 150_000 } else { 100_000 };
            cc.cwnd += if index == 7 { -1.0 } else { 1.0 };
            ack(&mut cc, 200 * (index as u64 + 1), rtt_us, index as u64, true);
            *v = cc.velocity.v;
        }
        assert_eq!(velocities, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 1.0]);
    }

    /// Slow start adds a segment per ACK while the rate is below the target: 10 segments at 110 ms, d_q 10 ms, are 91 a second of 200;
    /// 25 are 227, and it ends.
    #[test]
    fn slow_start_ends_at_the_target_rate() {
        let mut cc = copa(10.0);
        ack(&mut cc, 0, 100_000, 0, false);
        ack(&mut cc, 200, 110_000, 1, false);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (12.0, f64::INFINITY));
        cc.cwnd = 25.0;
        ack(&mut cc, 400, 110_000, 2, false);
        assert_eq!(cc.ssthresh(), 25.0);
        assert!((cc.cwnd() - (25.0 - 2.0 / 25.0)).abs() < 1e-12);
    }

    /// Section 2.2: RTTs of 150 to 160 ms over 100 leave no queue nearly empty (d_q 50 > .1 60). After five round trips 1/delta grows by one
    /// a round trip, 3, 4, 5; a loss halves it; an RTT of 105 ms, d_q 5 < 6, brings back the default.
    #[test]
    fn delta_falls_where_the_queue_never_empties() {
        let mut cc = steady();
        let mut round = 0;
        let mut next = |cc: &mut Copa, rtt_us: u64| {
            round += 1;
            ack(cc, 200 * round, 160_000, round, true);
            ack(cc, 200 * round + 150, rtt_us, round, false);
            1.0 / cc.delta
        };
        let inverse: [f64; 9] = core::array::from_fn(|_| next(&mut cc, 150_000));
        assert!(inverse[..5].iter().all(|x| (x - 2.0).abs() < 1e-9), "{inverse:?}");
        for (x, expected) in inverse[5..].iter().zip([3.0, 4.0, 5.0, 6.0]) {
            assert!((x - expected).abs() < 1e-9, "{inverse:?}");
        }
        cc.on_congestion(&FLOW, Signal::Loss);
        assert!((1.0 / cc.delta - 3.0).abs() < 1e-9, "{}", cc.delta);
        next(&mut cc, 105_000);
        next(&mut cc, 105_000);
        assert_eq!(cc.delta, 0.5);
    }

    /// In default mode a loss takes nothing; a timeout leaves one segment. Paced at twice the window per RTTstanding: 100 at 100 ms, 2000.
    #[test]
    fn losses_and_pacing() {
        let mut cc = steady();
        assert_eq!(cc.pacing_rate(), Some(2000.0));
        assert_eq!(copa(10.0).pacing_rate(), Some(f64::INFINITY));
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!((cc.cwnd(), cc.delta), (100.0, 0.5));
        cc.on_congestion(&FLOW, Signal::Timeout);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, f64::INFINITY));
    }
}
