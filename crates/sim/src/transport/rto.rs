//! Retransmission timeout: RFC 6298, or the rules of Linux.
//!
//! The clock granularity G is the tick of the clock that measures round trips, or the simulator's nanosecond. SRTT and RTTVAR are kept in
//! eighths and quarters of a nanosecond, including the remainder of each step (Jacobson 1988, appendix A). A constant RTT is met exactly,
//! and the RTO stays above it by at least G, so that the ACK always arrives before the timer expires.
//!
//! Deviation: every ACK gives a sample, with the gains that rule 2.3 gives for one sample per round trip. RFC 7323 section 4.2 advises
//! smaller gains in this case. A sudden increase of the RTT after a long constant period makes the timer expire with either. RFC 6298
//! prevents this by a minimum RTO of 1 s (rule 2.4). The default of `min_rto` is 200 ms, as in ns-2 and Linux.
//!
//! Linux (tcp_rtt_estimator and tcp_set_rto in net/ipv4/tcp_input.c, Linux 6.8) adds `min_rto` to SRTT instead of limiting their sum:
//! RTO = SRTT + max(4 RTTVAR, `min_rto`). RTTVAR is the maximum of the mean deviation in the last round trip. A larger deviation counts at
//! once, a smaller one by a quarter per round trip. A sample below SRTT increases the mean deviation by 1/32 instead of 1/4 of the error.

use fullpipe_cc::Nanos;

/// Rules of the retransmission timeout: its value, its RTT samples, and when its timer restarts.
///
/// Example: see [`Tcp`](crate::model::Tcp).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RtoRule {
    /// RFC 6298.
    #[default]
    Rfc6298,
    /// Linux: RTO = SRTT + max(4 RTTVAR, `min_rto`).
    Linux,
}

fullpipe_cc::named! { RtoRule { Rfc6298 = "rfc6298", Linux = "linux" } }

/// RTO before the first sample, that of a SYN (RFC 6298 rule 2.1).
const INITIAL_RTO: Nanos = 1_000_000_000;
/// RTO of data before the first sample of it, where the SYN's timer has expired (rule 5.7).
const RTO_AFTER_SYN_TIMEOUT: Nanos = 3_000_000_000;
/// Maximum RTO after backing off (RFC 6298 rule 2.5 allows a maximum of at least 60 s). An RTO that exceeds it without backoff, because of
/// the path or of `min_rto`, is not limited.
const MAX_RTO: Nanos = 64_000_000_000;
/// Maximum RTO in Linux (TCP_RTO_MAX).
const MAX_LINUX_RTO: Nanos = 120_000_000_000;

/// RTT estimate and timeout of one connection.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// 8 SRTT; zero before the first sample.
    smoothed_eighths: Nanos,
    /// 4 RTTVAR.
    variation_quarters: Nanos,
    /// Without backoff.
    rto: Nanos,
    /// G.
    granularity: Nanos,
    backoff: u32,
    /// Tick of both hosts' timestamp clocks, at most a second. Stored here because there is room.
    timestamp_tick: u32,
    min_rto: Nanos,
    /// Round trip of the handshake; zero while none is known, as during the handshake itself.
    handshake: Nanos,
    /// Least sample; `Nanos::MAX` before the first.
    least: Nanos,
    /// Mean deviation as Linux keeps it; `None` with RFC 6298. On the heap: most connections have none.
    linux: Option<Box<Deviation>>,
}

/// Mean deviation of the RTT in Linux. Its RTTVAR is that of [`RttEstimator`].
#[derive(Clone, Debug, Default)]
struct Deviation {
    /// Four times the mean deviation (mdev).
    mean_quarters: Nanos,
    /// Maximum of that in this round trip, at least `min_rto` (mdev_max).
    max_quarters: Nanos,
    /// The round trip ends when more than this segment is acknowledged (rtt_seq).
    round_end: u64,
}

/// RTO before the first sample of data. A handshake's round trip R is a first measurement: SRTT = R and RTTVAR = R/2, so that the RTO
/// is 3 R (rule 2.2), and at least `min_rto` (rule 2.4). Without one it is rule 2.1's.
fn first_rto(handshake: Nanos, min_rto: Nanos) -> Nanos {
    if handshake == 0 { INITIAL_RTO.max(min_rto) } else { (3 * handshake).max(min_rto) }
}

impl RttEstimator {
    /// Bytes it takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.linux.as_deref().map_or(0, size_of_val)
    }

    /// RTT estimator without a data sample. `min_rto` is the minimum RTO (rule 2.4: the RFC recommends 1 s; ns-2 and
    /// Linux use 200 ms). `tick` is the tick of the clock that measures RTTs. `base_rtt` is the path's RTT without
    /// queues. A connection that begins established had its handshake before the run, over an idle path, and `base_rtt`
    /// is the sample of that handshake (see `first_rto`).
    pub fn new(min_rto: Nanos, tick: Nanos, base_rtt: Nanos) -> Self {
        RttEstimator {
            smoothed_eighths: 0,
            variation_quarters: 0,
            rto: first_rto(base_rtt, min_rto),
            granularity: tick.max(1),
            backoff: 0,
            timestamp_tick: 1,
            min_rto,
            handshake: base_rtt,
            least: Nanos::MAX,
            linux: None,
        }
    }

    /// Estimator with the given rules.
    pub fn with_rule(mut self, rule: RtoRule) -> Self {
        self.linux = (rule == RtoRule::Linux).then(Box::default);
        self.rto = self.first_rto();
        self
    }

    /// RTO before the first sample. In Linux the handshake's round trip is a first sample R: R + max(2 R, `min_rto`).
    fn first_rto(&self) -> Nanos {
        match self.linux.is_some() && self.handshake > 0 {
            true => self.handshake + (2 * self.handshake).max(self.min_rto),
            false => first_rto(self.handshake, self.min_rto),
        }
    }

    /// Whether the rules are those of Linux.
    #[inline(always)]
    pub fn is_linux(&self) -> bool {
        self.linux.is_some()
    }

    /// Minimum retransmission timeout.
    pub fn min_rto(&self) -> Nanos {
        self.min_rto
    }

    /// The timer has expired, and no sample has come since.
    pub fn has_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// Variant for hosts whose timestamp clocks have this tick.
    pub fn with_timestamps(self, tick: Nanos) -> Self {
        RttEstimator { timestamp_tick: u32::try_from(tick.max(1)).expect("at most a second"), ..self }
    }

    /// Forgets everything: a new connection.
    pub fn reset(&mut self) {
        self.smoothed_eighths = 0;
        self.variation_quarters = 0;
        self.rto = self.first_rto();
        self.backoff = 0;
        self.least = Nanos::MAX;
    }

    /// Round trip of the handshake: measured, or that of the idle path for a connection that begins established.
    #[inline]
    pub fn handshake(&self) -> Nanos {
        self.handshake
    }

    /// A handshake begins: nothing is known of the path (rule 2.1).
    pub fn open(&mut self) {
        self.handshake = 0;
        self.reset();
    }

    /// The handshake has measured `rtt`, which is the first sample. If the timer has expired meanwhile, rule 5.7 holds instead. Returns
    /// how often it has.
    pub fn opened(&mut self, rtt: Nanos) -> u32 {
        self.handshake = rtt;
        let timeouts = self.backoff;
        // Linux measures a repeated SYN by its timestamp.
        if timeouts == 0 || self.is_linux() {
            self.sample(rtt, 0, 0);
        } else {
            self.rto = RTO_AFTER_SYN_TIMEOUT.max(self.min_rto);
            self.backoff = 0;
        }
        timeouts
    }

    /// The tick of the clock that measures round trips, a nanosecond at least.
    #[inline]
    pub fn granularity(&self) -> Nanos {
        self.granularity
    }

    /// The tick of both hosts' timestamp clocks, a nanosecond at least.
    #[inline]
    pub fn timestamp_tick(&self) -> Nanos {
        self.timestamp_tick.into()
    }

    /// Takes a sample (rules 2.2 and 2.3: gains 1/8 and 1/4, K = 4) and ends the backoff (rule 5.7's note: the sample belongs to data
    /// sent once, or is distinguished by its timestamp). `una` is the first segment not acknowledged, `nxt` the next to send.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Nanos, una: u64, nxt: u64) {
        self.least = self.least.min(rtt);
        if self.linux.is_some() {
            self.sample_as_linux(rtt, una, nxt);
            return;
        }
        if self.smoothed_eighths == 0 {
            self.smoothed_eighths = 8 * rtt;
            self.variation_quarters = 2 * rtt;
        } else {
            let error = rtt as i64 - (self.smoothed_eighths >> 3) as i64;
            let change = error.abs() - (self.variation_quarters >> 2) as i64;
            self.variation_quarters = self.variation_quarters.wrapping_add_signed(change);
            self.smoothed_eighths = self.smoothed_eighths.wrapping_add_signed(error);
        }
        let rto = (self.smoothed_eighths >> 3) + self.variation_quarters.max(self.granularity);
        self.rto = rto.max(self.min_rto);
        self.backoff = 0;
    }

    /// Sample by the rules of Linux.
    fn sample_as_linux(&mut self, rtt: Nanos, una: u64, nxt: u64) {
        let Some(deviation) = &mut self.linux else { return };
        self.backoff = 0;
        if self.smoothed_eighths == 0 {
            self.smoothed_eighths = 8 * rtt;
            let max_quarters = (2 * rtt).max(self.min_rto);
            **deviation = Deviation { mean_quarters: 2 * rtt, max_quarters, round_end: nxt };
            self.variation_quarters = max_quarters;
        } else {
            let error = rtt as i64 - (self.smoothed_eighths >> 3) as i64;
            self.smoothed_eighths = self.smoothed_eighths.wrapping_add_signed(error);
            let change = error.abs() - (deviation.mean_quarters >> 2) as i64;
            let change = if error < 0 && change > 0 { change >> 3 } else { change };
            deviation.mean_quarters = deviation.mean_quarters.wrapping_add_signed(change);
            deviation.max_quarters = deviation.max_quarters.max(deviation.mean_quarters);
            self.variation_quarters = self.variation_quarters.max(deviation.max_quarters);
            if una > deviation.round_end {
                self.variation_quarters -= (self.variation_quarters - deviation.max_quarters) >> 2;
                deviation.round_end = nxt;
                deviation.max_quarters = self.min_rto;
            }
        }
        self.rto = ((self.smoothed_eighths >> 3) + self.variation_quarters).min(MAX_LINUX_RTO);
    }

    /// The timer expired: the next timeout is twice as long (rule 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// The timeout in force.
    #[inline]
    pub fn timeout(&self) -> Nanos {
        if self.backoff == 0 {
            return self.rto;
        }
        let max = if self.is_linux() { MAX_LINUX_RTO } else { MAX_RTO.max(self.rto) };
        self.rto.saturating_mul(1 << self.backoff).min(max)
    }

    /// Smoothed RTT.
    #[inline]
    pub fn smoothed(&self) -> Option<Nanos> {
        (self.smoothed_eighths != 0).then_some(self.smoothed_eighths >> 3)
    }

    /// Least RTT.
    #[inline]
    pub fn least(&self) -> Option<Nanos> {
        (self.least != Nanos::MAX).then_some(self.least)
    }

    /// RTT variation; `None` before the first sample.
    pub fn variation(&self) -> Option<Nanos> {
        self.smoothed().map(|_| self.variation_quarters >> 2)
    }

    /// Smoothed RTT and four variations, without the floors: Vegas's fine-grained timeout.
    pub fn fine_timeout(&self) -> Option<Nanos> {
        let variation = self.linux.as_ref().map_or(self.variation_quarters, |deviation| deviation.mean_quarters);
        self.smoothed().map(|smoothed| smoothed + variation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// RFC 6298 rules 2.2 and 2.3 by hand. First sample 100 ms: SRTT 100, RTTVAR 50, RTO 300. Second 180 ms: RTTVAR =
    /// 3/4*50 + 1/4*80 = 57.5, SRTT = 7/8*100 + 1/8*180 = 110, RTO = 340.
    #[test]
    fn worked_example() {
        let mut rtt = RttEstimator::new(200 * MS, 0, 0);
        assert_eq!(rtt.timeout(), 1000 * MS, "rule 2.1");
        rtt.sample(100 * MS, 0, 0);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(100 * MS), 300 * MS));
        rtt.sample(180 * MS, 0, 0);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(110 * MS), 340 * MS));
        assert_eq!(rtt.least(), Some(100 * MS));
    }

    /// Rule 5.5 doubles at each expiry, up to the maximum; a new sample starts afresh; rule 2.4 sets a floor.
    #[test]
    fn backoff_and_floor() {
        let mut rtt = RttEstimator::new(200 * MS, 0, 0);
        rtt.sample(10 * MS, 0, 0);
        assert_eq!(rtt.timeout(), 200 * MS);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(), 800 * MS);
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(), 64_000 * MS);
        rtt.sample(10 * MS, 0, 0);
        assert_eq!(rtt.timeout(), 200 * MS);
    }

    /// Rules 2.2 and 2.4 for a connection that begins established: 3 R, and at least `min_rto`; rule 2.1 where no path is known.
    #[test]
    fn first_timeout_is_three_round_trips_of_the_idle_path() {
        for (min_rto, base_rtt, expected) in [
            (200, 0, 1000),
            (200, 1, 200),
            (1, 1, 3),
            (200, 333, 999),
            (200, 600, 1800),
            (200, 20_000, 60_000),
            (3000, 600, 3000),
        ] {
            let mut rtt = RttEstimator::new(min_rto * MS, 0, base_rtt * MS);
            assert_eq!(rtt.timeout(), expected * MS, "base RTT {base_rtt} ms");
            rtt.sample(10 * MS, 0, 0);
            rtt.reset();
            assert_eq!((rtt.timeout(), rtt.smoothed()), (expected * MS, None), "a new connection");
        }
    }

    /// A SYN's timer: 1 s, 2 s, 4 s (rules 2.1 and 5.5). Its answer is a first sample R: SRTT = R, RTO = 3 R (rule 2.2); after a timeout
    /// it is none, and the RTO 3 s (rule 5.7) until there is one.
    #[test]
    fn a_handshake_is_the_first_sample() {
        let mut rtt = RttEstimator::new(200 * MS, 0, 600 * MS);
        rtt.open();
        assert_eq!(rtt.timeout(), 1000 * MS, "nothing is known of the path");
        assert_eq!(rtt.opened(100 * MS), 0);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(100 * MS), 300 * MS));
        rtt.open();
        let waits = [(); 3].map(|()| {
            let wait = rtt.timeout() / MS;
            rtt.back_off();
            wait
        });
        assert_eq!((waits, rtt.opened(100 * MS)), ([1000, 2000, 4000], 3));
        assert_eq!((rtt.smoothed(), rtt.handshake(), rtt.timeout()), (None, 100 * MS, 3000 * MS));
        rtt.sample(100 * MS, 0, 0);
        assert_eq!(rtt.timeout(), 300 * MS);
    }

    /// tcp_rtt_estimator by hand, in milliseconds, `min_rto` 200. First sample 100: mdev 200, rttvar 200, RTO 100 + 200. Second 180: error 80,
    /// SRTT 110, mdev 200 + 80 - 50 = 230, which exceeds rttvar: RTO 110 + 230. Third 70, of a segment beyond the round trip: error -40, SRTT
    /// 105, mdev 230 + (40 - 57.5) = 212.5. The maximum of the round is 230 = rttvar, which stays. A fourth sample of 105 in the next round: error
    /// 0, mdev 212.5 - 53.125 = 159.375, and the maximum of that round is `min_rto`: rttvar = 230 - (230 - 200)/4 = 222.5.
    #[test]
    fn linux_worked_example() {
        let mut rtt = RttEstimator::new(200 * MS, 1, 0).with_rule(RtoRule::Linux);
        assert_eq!(rtt.timeout(), 1000 * MS, "TCP_TIMEOUT_INIT");
        let mut sample = |value, una, nxt| {
            rtt.sample(value * MS, una, nxt);
            let mean = rtt.linux.as_ref().map_or(0, |deviation| deviation.mean_quarters);
            (rtt.smoothed().unwrap_or(0), mean, rtt.timeout())
        };
        assert_eq!(sample(100, 1, 10), (100 * MS, 200 * MS, 300 * MS));
        assert_eq!(sample(180, 2, 11), (110 * MS, 230 * MS, 340 * MS));
        assert_eq!(sample(70, 11, 20), (105 * MS, 212_500_000, 335 * MS));
        assert_eq!(sample(105, 21, 30), (105 * MS, 159_375_000, 327_500_000));
    }

    /// A sample below SRTT whose error exceeds the mean deviation raises it by an eighth of the difference only. After 40 constant samples
    /// of 100 ms, mdev is 200 (3/4)^39 = 0.003 ms; a sample of 20 ms then makes it 80/8 = 10 ms, one of 180 ms makes it 80 ms.
    #[test]
    fn linux_damps_a_falling_round_trip() {
        for (next, mean) in [(20, 10), (180, 80)] {
            let mut rtt = RttEstimator::new(200 * MS, 1, 0).with_rule(RtoRule::Linux);
            (0..40).for_each(|k| rtt.sample(100 * MS, k, k));
            rtt.sample(next * MS, 40, 40);
            let found = rtt.linux.as_ref().map_or(0, |deviation| deviation.mean_quarters);
            assert!(found.abs_diff(mean * MS) < MS / 100, "{next} ms: {found}");
            assert_eq!(rtt.timeout(), rtt.smoothed().unwrap_or(0) + 200 * MS);
        }
    }

    /// RTTVAR falls by a quarter of its distance from the maximum of a round trip, once per round trip, and the RTO never below SRTT +
    /// `min_rto`. Constant samples of 300 ms: mdev and rttvar are 600 at first, and mdev falls below 200 in the first round trip. rttvar is 600 - (600 -
    /// 200)/4 = 500 after the second, then 425 and 368.75. The timeout doubles at each expiry, at most to 120 s, and a sample ends that.
    #[test]
    fn linux_variation_decays_once_a_round_trip() {
        let mut rtt = RttEstimator::new(200 * MS, 1, 0).with_rule(RtoRule::Linux);
        let mut ends = Vec::new();
        for una in 0..500 {
            let before = rtt.variation_quarters;
            rtt.sample(300 * MS, una, una + 10);
            if rtt.variation_quarters != before {
                ends.push((una, rtt.variation_quarters / 10_000));
            }
        }
        assert_eq!(ends[..4], [(0, 60_000), (22, 50_000), (33, 42_500), (44, 36_875)]);
        assert!((500 * MS..501 * MS).contains(&rtt.timeout()), "{}", rtt.timeout());
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(), 120_000 * MS);
        rtt.sample(300 * MS, 500, 510);
        assert!(rtt.timeout() < 501 * MS);
    }

    /// Handshake of 100 ms: RTO 100 + max(200, 200). With 20 ms: 20 + 200. A repeated SYN gives a sample, too.
    #[test]
    fn linux_takes_the_handshake_for_a_sample() {
        for (handshake, expected) in [(100, 300), (20, 220), (300, 900)] {
            let rtt = RttEstimator::new(200 * MS, 1, handshake * MS).with_rule(RtoRule::Linux);
            assert_eq!(rtt.timeout(), expected * MS);
            let mut opened = RttEstimator::new(200 * MS, 1, 0).with_rule(RtoRule::Linux);
            opened.open();
            opened.back_off();
            assert_eq!((opened.timeout(), opened.opened(handshake * MS)), (2000 * MS, 1));
            assert_eq!(opened.timeout(), expected * MS);
        }
    }

    /// Rule 2.3's max(G, K RTTVAR): with samples that do not vary RTTVAR dies away and SRTT + G is left, G the clock's tick.
    #[test]
    fn stays_above_a_constant_rtt_by_the_granularity() {
        for (tick, least) in [(0, 1), (10 * MS, 10 * MS)] {
            let mut rtt = RttEstimator::new(MS, tick, 0);
            (0..500).for_each(|_| rtt.sample(300 * MS, 0, 0));
            assert!(rtt.timeout() >= 300 * MS + least, "{}", rtt.timeout());
            assert!(
                rtt.timeout() <= 300 * MS + least.max(3),
                "nothing but G and three quarters of a nanosecond, four times"
            );
        }
    }

    /// Gains that divide leave remainders; kept, they bring SRTT to the RTT itself, from below and from above, and the RTO to more.
    #[test]
    fn remainders_are_not_lost() {
        for before in [1, 999_999_983, 999_999_993, 1_000_000_019, 5_000_000_000] {
            let mut rtt = RttEstimator::new(1, 0, 0);
            (0..500).for_each(|_| rtt.sample(before, 0, 0));
            (0..500).for_each(|_| rtt.sample(1_000_000_001, 0, 0));
            assert_eq!(rtt.smoothed(), Some(1_000_000_001), "from {before}");
            assert!(rtt.timeout() > 1_000_000_001, "from {before}");
        }
    }

    /// Rule 2.5's maximum limits the doubling. It shortens neither `min_rto` nor the path's delay.
    #[test]
    fn the_maximum_bounds_the_backoff_alone() {
        let mut floor = RttEstimator::new(100_000 * MS, 0, 0);
        floor.sample(10 * MS, 0, 0);
        let mut path = RttEstimator::new(200 * MS, 0, 0);
        path.sample(40_000 * MS, 0, 0);
        for (mut rtt, expected) in [(floor, 100_000 * MS), (path, 120_000 * MS)] {
            assert_eq!(rtt.timeout(), expected);
            rtt.back_off();
            assert_eq!(rtt.timeout(), expected);
        }
    }

    /// RFC 6298 on a path of 600 ms: RTTVAR is 300 ms at first and shrinks to three quarters at each further sample.
    /// After 18 samples the RTO is at least 600 + 4 (300) 0.75^17 = 609 ms, and after 19 it is 606.8 ms. A queue of 7
    /// ms that builds up then outlasts the timer, unless `min_rto` is more (rule 2.4: 1 s).
    #[test]
    fn a_queue_that_comes_late_outlasts_the_timer() {
        let mut rtt = RttEstimator::new(200 * MS, 0, 600 * MS);
        (0..18).for_each(|_| rtt.sample(600 * MS, 0, 0));
        assert_eq!(rtt.timeout() / MS, 609);
        rtt.sample(600 * MS, 0, 0);
        assert_eq!(rtt.timeout() / MS, 606);
        let mut careful = RttEstimator::new(1000 * MS, 0, 600 * MS);
        (0..1000).for_each(|_| careful.sample(600 * MS, 0, 0));
        assert_eq!(careful.timeout(), 1000 * MS);
    }
}
