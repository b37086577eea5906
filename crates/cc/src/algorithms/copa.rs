//! Copa: a sender that steers its rate to 1/(delta d_q), where d_q is the queueing delay. About 1/delta segments then wait in the queue.
//!
//! Source: V. Arun, H. Balakrishnan, *Copa: Practical Delay-Based Congestion Control for the Internet*, NSDI 2018. Read as the passages of
//! sections 2 and 3 that other projects quote, and against two implementations: the authors' own (ccp_copa, genericCC) and mvfst's. The
//! rest of the paper was not read. RTTmin is the least RTT of 10 s, RTTstanding that of half a smoothed RTT, and
//! d_q = RTTstanding - RTTmin (section 2.1):
//!
//! - The target rate is 1/(delta d_q), the rate cwnd/RTTstanding. An ACK adds v/(delta cwnd) if the rate is at most the target. Otherwise it
//!   takes as much.
//! - The velocity v is 1. It doubles once a round trip after the window has moved in one direction for three, and is 1 again after a turn.
//! - Slow start ends when the rate first exceeds the target. It does not return when the window falls.
//! - The pacing rate is 2 cwnd/RTTstanding.
//! - Competitive mode (section 2.2) applies unless the queue was nearly empty, d_q < 0.1 (RTTmax - RTTmin), within five round trips. In it
//!   1/delta grows by one a round trip and is halved at a loss. In default mode delta is 0.5.
//!
//! Section 3: the window oscillates around 1/delta segments in the queue, up and down for two and a half round trips each. The queue is
//! empty once in five round trips.
//!
//! # Deviations and choices
//!
//! - **v** is 1 again at the first ACK that moves the window against the direction, as in mvfst and ccp_copa. The paper compares windows once a
//!   round trip. A large v would move the window on the wrong way until then.
//! - **v** is bounded so that an ACK moves the window by at most one segment, the pace of slow start, as in genericCC. The paper has no bound.
//! - **The direction** compares the window at the start of a round trip with the window at the start of the round trip before. A window that
//!   has not moved has no direction, and v is 1.
//! - **RTTmin** and **RTTstanding** are kept in thirds of their time, so that a value counts up to a third longer. **RTTmax** is the greatest
//!   of the current round trip and the three before.
//! - **Competitive mode** is off by default, as in mvfst, which does not have it. The paper has it on. Its rule for a nearly empty queue is a
//!   tenth of the RTT range: four packets for eight flows, half a packet for one. The paper derives it for a fluid. With packets, one flow of
//!   eight sees one packet too many every few seconds. It changes mode, its 1/delta grows in every round trip, the queue no longer empties,
//!   and the other flows follow. `competitive = true` is the rule of the paper.
//! - **Losses**: in default mode Copa ignores them, as in the paper, except that a loss ends slow start at the current window. **A timeout**
//!   leaves one segment and starts slow start again, as in ccp_copa.
//! - **A mark** (ECN) counts as a loss (RFC 3168 section 6.1.2), so that in default mode it reduces no window either. The paper has no ECN. The
//!   RFC adds that TCP halves its window, so a Copa that follows its paper should leave `ecn` off, which is the default.
//! - **Recovery** is `rack` by default. Copa does not reduce its window for a loss, so after an overflow it loses retransmissions too. The
//!   authors' sender and mvfst detect these by the order of transmissions; `sack` waits for a timeout.
//! - **Before the first RTT sample** the first window leaves at once.
//! - **Segments** are counted, whatever `byte_counting` is; slow start counts ACKs as the sender counts them. In recovery, and while
//!   the application or the receiver limits the sender, the window may fall but does not grow. Each ACK of such a sender makes v 1, so that
//!   growth after it begins as slowly as at first. Its RTT counts.
//! - The window is at least two segments.

use crate::declare::{TypedParams, params};
use crate::params::{Group, Info, Params};
use crate::parts::RecentLeast;
use crate::time::{Nanos, SECOND, seconds};
use crate::{Ack, CongestionControl, Flow, Signal, Start};

params! {
    /// Parameters of Copa.
    pub struct CopaParams for COPA {
        delta: f64 = number(0.5, 0.001, 10.0), "1/segments",
            "Target of the queue: about 1/delta segments.",
            "Arun and Balakrishnan 2018, section 2.1: 0.5";
        competitive: bool = flag(false), "1",
            "Decrease delta while other flows fill the queue.",
            "Arun and Balakrishnan 2018, section 2.2; off as in mvfst";
    }
}

/// Copa.
pub const COPA: Info = Info {
    name: "copa",
    paper: "V. Arun, H. Balakrishnan, Copa: Practical Delay-Based Congestion Control for the Internet, NSDI 2018",
    group: Group::Delay,
    recovery: "rack",
    own_slow_start: true,
    ecn: None,
    params: CopaParams::PARAMS,
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
///
/// ```
/// use fullpipe_cc::algorithms::copa::{COPA, Copa};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow};
///
/// let mut cc = Copa::controller(&Params::defaults(&COPA), 10.0);
/// let rtt = 100_000_000;
/// cc.on_ack(&Flow::at(rtt).cwnd_limited(true).srtt(Some(rtt)), &Ack::of(1, 1.0).rtt(Some(rtt)));
/// assert_eq!(cc.cwnd(), 11.0, "slow start while there is no queue");
/// assert_eq!(cc.pacing_rate(), Some(2.0 * 11.0 / 0.1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Copa {
    default_delta: f64,
    competitive: bool,
    cwnd: f64,
    /// Slow start has not ended. A window below `ssthresh` does not start it again.
    slow_start: bool,
    /// Window at the end of slow start; infinite before.
    ssthresh: f64,
    delta: f64,
    velocity: Velocity,
    rtts: Rtts,
    /// Last round trip in which the queue was nearly empty.
    empty_round: u64,
    /// No loss since the round trip began.
    lossless: bool,
}

/// Speed and direction of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Velocity {
    v: f64,
    /// Direction; `None` while the window has not moved.
    up: Option<bool>,
    /// Round trips in this direction, after the one that set it.
    rounds: u32,
    /// Window at the start of the round trip; `None` if the direction has turned since.
    cwnd: Option<f64>,
}

impl Velocity {
    /// Velocity at the end of slow start.
    const START: Velocity = Velocity { v: 1.0, up: None, rounds: 0, cwnd: None };

    /// The end of a round trip with the window at `cwnd` (section 2.1); `most` bounds v.
    fn end_round(&mut self, cwnd: f64, most: f64) {
        let Some(before) = self.cwnd.replace(cwnd) else { return };
        let up = if cwnd == before { None } else { Some(cwnd > before) };
        if up.is_none() || up != self.up {
            *self = Velocity { up, cwnd: Some(cwnd), ..Velocity::START };
            return;
        }
        self.rounds += 1;
        if self.rounds >= STEADY_ROUNDS {
            self.v = (2.0 * self.v).min(most).max(1.0);
        }
    }

    /// An ACK that moves the window up or down. A turn resets v.
    fn turn(&mut self, up: bool) {
        if self.v > 1.0 && self.up != Some(up) {
            *self = Velocity { up: Some(up), ..Velocity::START };
        }
    }
}

/// Round-trip time statistics.
#[derive(Clone, Debug, PartialEq)]
struct Rtts {
    of_long: RecentLeast,
    of_half_srtt: RecentLeast,
    /// Greatest RTT of each of the last round trips, the newest first.
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
        let given = CopaParams::read(params);
        let delta = given.delta;
        Copa {
            default_delta: delta,
            competitive: given.competitive,
            cwnd: start.into().window,
            slow_start: true,
            ssthresh: f64::INFINITY,
            delta,
            velocity: Velocity::START,
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

    /// Mode and delta (section 2.2), at the end of a round trip.
    fn choose_delta(&mut self, flow: &Flow) {
        if !self.competitive || flow.round - self.empty_round.min(flow.round) <= ROUNDS_TO_EMPTY {
            self.delta = self.default_delta;
        } else if self.lossless {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        self.lossless = true;
    }

    fn end_slow_start(&mut self) {
        self.slow_start = false;
        self.ssthresh = self.cwnd.max(MIN_WINDOW);
        self.velocity = Velocity { cwnd: Some(self.cwnd), ..Velocity::START };
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
            if !self.slow_start {
                self.velocity.end_round(self.cwnd, self.delta * self.cwnd);
            }
        }
        if !flow.cwnd_limited {
            self.velocity = Velocity { cwnd: Some(self.cwnd), ..Velocity::START };
        }
        let faster = self.cwnd * self.delta * queueing_s > standing_s;
        let may_grow = flow.may_grow(ack);
        if self.slow_start && !faster {
            self.cwnd += if may_grow { ack.credit } else { 0.0 };
            return;
        }
        if self.slow_start {
            self.end_slow_start();
        }
        self.velocity.turn(!faster);
        let step = (self.velocity.v / (self.delta * self.cwnd)).min(1.0) * ack.acked as f64;
        if faster {
            self.cwnd = (self.cwnd - step).max(MIN_WINDOW.min(self.cwnd));
        } else if may_grow {
            self.cwnd += step;
        }
    }

    fn on_congestion(&mut self, _flow: &Flow, signal: Signal) {
        if signal == Signal::Timeout {
            (self.cwnd, self.slow_start, self.ssthresh) = (1.0, true, f64::INFINITY);
            return;
        }
        if self.slow_start {
            self.end_slow_start();
        }
        if self.delta < self.default_delta {
            self.delta = (2.0 * self.delta).min(self.default_delta);
        }
        self.lossless = false;
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = cwnd;
        self.ssthresh = ssthresh;
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.slow_start = ssthresh.is_infinite();
        self.ssthresh = ssthresh;
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

    /// Copa with the mode switch of section 2.2.
    fn switching(window: f64) -> Copa {
        Copa { competitive: true, ..copa(window) }
    }

    /// An ACK of a segment with this RTT at this time, in microseconds.
    fn ack(cc: &mut Copa, now_ms: u64, rtt_us: u64, round: u64, round_start: bool) {
        let rtt = rtt_us * 1000;
        let flow = Flow { now: now_ms * MILLISECOND, ..FLOW.srtt(Some(rtt)).round(round) };
        cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(rtt)).round_start(round_start));
    }

    /// Copa after slow start at a window of 100, with an RTTmin of 100 ms.
    fn steady() -> Copa {
        after_slow_start(copa(2.0))
    }

    fn after_slow_start(mut cc: Copa) -> Copa {
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

    /// Section 2.1: v is 1 for three round trips in one direction, then 2, 4, 8. The window moves by v/(delta cwnd) per ACK: 2 (8)/100.
    #[test]
    fn velocity_doubles_after_three_round_trips_in_one_direction() {
        let mut cc = steady();
        let velocities: [f64; 6] = core::array::from_fn(|index| {
            cc.cwnd = 100.0 + index as f64;
            ack(&mut cc, 200 * (index as u64 + 1), 100_000, index as u64, true);
            cc.velocity.v
        });
        assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0]);
        cc.cwnd = 106.0;
        ack(&mut cc, 1400, 100_000, 7, true);
        assert!((cc.cwnd() - 106.0 - 16.0 / 106.0).abs() < 1e-12, "{}", cc.cwnd());
    }

    /// An RTT of 150 ms over 100 allows 1/(.5 .05) = 40 segments a second, and 100 at 150 ms are 667: the first such ACK takes 1/(.5 cwnd),
    /// with v = 1, though v was 4 on the way up. Three whole round trips later v doubles again; the one that turned does not count.
    #[test]
    fn velocity_is_one_again_at_the_first_ack_after_a_turn() {
        let mut cc = steady();
        cc.velocity = Velocity { v: 4.0, up: Some(true), rounds: 4, cwnd: Some(90.0) };
        ack(&mut cc, 200, 150_000, 1, false);
        assert!((cc.cwnd() - 99.98).abs() < 1e-12, "{}", cc.cwnd());
        let velocities: [f64; 5] = core::array::from_fn(|index| {
            ack(&mut cc, 400 + 200 * index as u64, 150_000, index as u64 + 2, true);
            cc.velocity.v
        });
        assert_eq!(velocities, [1.0, 1.0, 1.0, 2.0, 4.0]);
        ack(&mut cc, 1600, 100_000, 8, false);
        assert_eq!(cc.velocity.v, 1.0, "and up again");
    }

    /// A window that has not moved has no direction: an application that pauses for ten round trips leaves v at 1.
    #[test]
    fn a_window_that_rests_has_no_velocity() {
        let mut cc = steady();
        for round in 1..10 {
            let flow = Flow { now: 200 * round * MILLISECOND, ..FLOW.srtt(Some(100 * MILLISECOND)).round(round) };
            cc.on_ack(&flow.cwnd_limited(false), &Ack::of(1, 1.0).rtt(Some(100 * MILLISECOND)).round_start(true));
        }
        assert_eq!((cc.cwnd(), cc.velocity.v), (100.0, 1.0));
    }

    /// A limited sender at v = 4: the next full round begins at v = 1, and an ACK then adds 1/(.5 100). At 150 ms over 100 the window of 100
    /// falls by .02 an ACK for six limited rounds, and v stays 1. The samples count: RTTmin, and RTTstanding, are those of limited rounds.
    #[test]
    fn velocity_is_one_after_a_limited_round() {
        let limited = |cc: &mut Copa, now_ms: u64, rtt_ms: u64, round: u64| {
            let flow = Flow { now: now_ms * MILLISECOND, ..FLOW.srtt(Some(100 * MILLISECOND)).round(round) };
            let ack = Ack::of(1, 1.0).rtt(Some(rtt_ms * MILLISECOND)).round_start(true);
            cc.on_ack(&flow.cwnd_limited(false), &ack);
        };
        let mut cc = steady();
        cc.velocity = Velocity { v: 4.0, up: Some(true), rounds: 4, cwnd: Some(90.0) };
        limited(&mut cc, 200, 90, 1);
        assert_eq!((cc.cwnd(), cc.rtts.least, cc.rtts.standing), (100.0, 90 * MILLISECOND, Some(90 * MILLISECOND)));
        ack(&mut cc, 400, 90_000, 2, true);
        assert!((cc.cwnd() - 100.02).abs() < 1e-12, "{}", cc.cwnd());
        let mut cc = steady();
        for round in 1..=6 {
            limited(&mut cc, 200 * round, 150, round);
            assert_eq!(cc.velocity.v, 1.0);
        }
        assert!(cc.cwnd() > 99.87 && cc.cwnd() < 99.89, "{}", cc.cwnd());
    }

    /// The bound of genericCC, cwnd delta: at 6 segments and delta = 1/2 v is at most 3, and an ACK then adds 3/(.5 6) = 1 segment.
    #[test]
    fn an_ack_moves_the_window_by_one_segment_at_most() {
        let mut cc = steady();
        cc.velocity = Velocity { v: 2.0, up: Some(true), rounds: 3, cwnd: Some(5.0) };
        cc.cwnd = 6.0;
        ack(&mut cc, 200, 100_000, 1, true);
        assert_eq!((cc.velocity.v, cc.cwnd()), (3.0, 7.0));
        cc.velocity = Velocity { v: 64.0, up: Some(true), rounds: 9, cwnd: Some(5.0) };
        cc.cwnd = 6.0;
        ack(&mut cc, 300, 100_000, 1, false);
        assert_eq!(cc.cwnd(), 7.0, "a larger v moves it no further");
    }

    /// Section 2.1: slow start is for the start of a flow. At 25 segments it has ended; the window falls to 10, a rate of 100 segments a
    /// second at 100 ms is below any target, and an ACK adds 1/(.5 10) = .2, not 1.
    #[test]
    fn slow_start_ends_once() {
        let mut cc = copa(25.0);
        ack(&mut cc, 0, 100_000, 0, false);
        ack(&mut cc, 200, 150_000, 1, false);
        assert!(!cc.slow_start);
        cc.cwnd = 10.0;
        ack(&mut cc, 400, 100_000, 2, false);
        assert!((cc.cwnd() - 10.2).abs() < 1e-12, "{}", cc.cwnd());
    }

    /// A timeout starts slow start again; if it was spurious, the window and the end of slow start are as before it.
    #[test]
    fn an_undone_timeout_does_not_leave_slow_start_behind() {
        let mut cc = steady();
        let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
        cc.on_congestion(&FLOW, Signal::Timeout);
        assert!(cc.slow_start && cc.cwnd() == 1.0);
        cc.on_undo(cwnd, ssthresh);
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.slow_start), (100.0, 100.0, false));
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
        let mut cc = after_slow_start(switching(2.0));
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
