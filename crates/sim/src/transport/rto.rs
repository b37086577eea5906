//! The retransmission timer: RFC 6298.
//!
//! Its clock granularity G is the tick of the clock that measures round trips, or the simulator's nanosecond. SRTT and
//! RTTVAR are kept in eighths and quarters of a nanosecond, what is left over by each step included (Jacobson 1988, appendix A), so
//! that a constant RTT is met exactly and the RTO stays above it by G at least: the ACK always comes before the timer expires.
//!
//! Deviation: every ACK gives a sample, with the gains that rule 2.3 means for one in a round trip; RFC 7323 section 4.2 advises
//! smaller ones then. A jump of the RTT after a long constant stretch makes the timer expire in any case: what RFC 6298 has against
//! it is rule 2.4's least RTO of 1 s, where `min_rto` is 200 ms by default, as in ns-2 and Linux.

use fullpipe_cc::Nanos;

/// RTO before the first sample, that of a SYN (RFC 6298 rule 2.1).
const INITIAL_RTO: Nanos = 1_000_000_000;
/// RTO of data before the first sample of it, where the SYN's timer has expired (rule 5.7).
const RTO_AFTER_SYN_TIMEOUT: Nanos = 3_000_000_000;
/// The greatest RTO that backing off leads to (RFC 6298 rule 2.5 allows a maximum of at least 60 s). One that is greater by itself,
/// for the path or for `min_rto`, stays as it is.
const MAX_RTO: Nanos = 64_000_000_000;

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
    /// The tick of both hosts' timestamp clocks, a second at most: it stands where there is room.
    timestamp_tick: u32,
    min_rto: Nanos,
    /// Round trip of the handshake; zero while none is known, as during the handshake itself.
    handshake: Nanos,
    /// Least sample; `Nanos::MAX` before the first.
    least: Nanos,
}

/// RTO before the first sample of data. A handshake's round trip R is a first measurement: SRTT = R and RTTVAR = R/2, so that the RTO
/// is 3 R (rule 2.2), and at least `min_rto` (rule 2.4). Without one it is rule 2.1's.
fn first_rto(handshake: Nanos, min_rto: Nanos) -> Nanos {
    if handshake == 0 { INITIAL_RTO.max(min_rto) } else { (3 * handshake).max(min_rto) }
}

impl RttEstimator {
    /// Estimator without a sample of data. `min_rto` is the least timeout (rule 2.4; the RFC asks for 1 s, ns-2 and Linux use 200 ms),
    /// `tick` that of the clock that measures round trips, `base_rtt` the round trip of the path without queues. A connection that
    /// begins established has had its handshake before the run, over an idle path: `base_rtt` is what that measured (see `first_rto`).
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
        }
    }

    /// The same where both hosts' timestamp clocks tick so.
    pub fn with_timestamps(self, tick: Nanos) -> Self {
        RttEstimator { timestamp_tick: u32::try_from(tick.max(1)).expect("at most a second"), ..self }
    }

    /// Forgets everything: a new connection.
    pub fn reset(&mut self) {
        self.smoothed_eighths = 0;
        self.variation_quarters = 0;
        self.rto = first_rto(self.handshake, self.min_rto);
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
        if timeouts == 0 {
            self.sample(rtt);
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

    /// Takes a sample (rules 2.2 and 2.3: gains 1/8 and 1/4, K = 4) and ends the backoff (rule 5.7's note: a sample is of data
    /// sent once, or told apart by its timestamp).
    #[inline(always)]
    pub fn sample(&mut self, rtt: Nanos) {
        self.least = self.least.min(rtt);
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
        self.rto.saturating_mul(1 << self.backoff).min(MAX_RTO.max(self.rto))
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

    /// Smoothed RTT and four variations, without the floors: Vegas's fine-grained timeout.
    pub fn fine_timeout(&self) -> Option<Nanos> {
        self.smoothed().map(|smoothed| smoothed + self.variation_quarters)
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
        rtt.sample(100 * MS);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(100 * MS), 300 * MS));
        rtt.sample(180 * MS);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(110 * MS), 340 * MS));
        assert_eq!(rtt.least(), Some(100 * MS));
    }

    /// Rule 5.5 doubles at each expiry, up to the maximum; a new sample starts afresh; rule 2.4 sets a floor.
    #[test]
    fn backoff_and_floor() {
        let mut rtt = RttEstimator::new(200 * MS, 0, 0);
        rtt.sample(10 * MS);
        assert_eq!(rtt.timeout(), 200 * MS);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(), 800 * MS);
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(), 64_000 * MS);
        rtt.sample(10 * MS);
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
            rtt.sample(10 * MS);
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
        rtt.sample(100 * MS);
        assert_eq!(rtt.timeout(), 300 * MS);
    }

    /// Rule 2.3's max(G, K RTTVAR): with samples that do not vary RTTVAR dies away and SRTT + G is left, G the clock's tick.
    #[test]
    fn stays_above_a_constant_rtt_by_the_granularity() {
        for (tick, least) in [(0, 1), (10 * MS, 10 * MS)] {
            let mut rtt = RttEstimator::new(MS, tick, 0);
            (0..500).for_each(|_| rtt.sample(300 * MS));
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
            (0..500).for_each(|_| rtt.sample(before));
            (0..500).for_each(|_| rtt.sample(1_000_000_001));
            assert_eq!(rtt.smoothed(), Some(1_000_000_001), "from {before}");
            assert!(rtt.timeout() > 1_000_000_001, "from {before}");
        }
    }

    /// Rule 2.5's maximum ends the doubling; it shortens neither `min_rto` nor what the path takes.
    #[test]
    fn the_maximum_bounds_the_backoff_alone() {
        let mut floor = RttEstimator::new(100_000 * MS, 0, 0);
        floor.sample(10 * MS);
        let mut path = RttEstimator::new(200 * MS, 0, 0);
        path.sample(40_000 * MS);
        for (mut rtt, expected) in [(floor, 100_000 * MS), (path, 120_000 * MS)] {
            assert_eq!(rtt.timeout(), expected);
            rtt.back_off();
            assert_eq!(rtt.timeout(), expected);
        }
    }

    /// What RFC 6298 itself does on a path of 600 ms: RTTVAR is 300 ms at first and three quarters of that at each further sample,
    /// so that after 18 the RTO is at least 600 + 4 (300) 0.75^17 = 609 ms and after 19 it is 606.8 ms. A queue of 7 ms that comes
    /// then outlasts the timer, unless `min_rto` is more (rule 2.4: 1 s).
    #[test]
    fn a_queue_that_comes_late_outlasts_the_timer() {
        let mut rtt = RttEstimator::new(200 * MS, 0, 600 * MS);
        (0..18).for_each(|_| rtt.sample(600 * MS));
        assert_eq!(rtt.timeout() / MS, 609);
        rtt.sample(600 * MS);
        assert_eq!(rtt.timeout() / MS, 606);
        let mut careful = RttEstimator::new(1000 * MS, 0, 600 * MS);
        (0..1000).for_each(|_| careful.sample(600 * MS));
        assert_eq!(careful.timeout(), 1000 * MS);
    }
}
