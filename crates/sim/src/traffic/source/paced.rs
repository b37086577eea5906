//! Sources that write single packets: at a constant rate, always or in on periods.

use crate::rng::Rng;
use crate::scenario::Law;
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MICROSECOND;

/// Packets of one size at a constant rate, the first one at once.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    begin: Nanos,
    bits: u128,
    rate_bps: u128,
    /// Packets up to the last call of `until`, and the time of the next one: most calls need no division.
    count: u64,
    next: Nanos,
}

impl Ticks {
    /// Packets of `packet_size` bytes from `begin` on.
    pub fn new(begin: Nanos, rate_bps: u64, packet_size: u32) -> Ticks {
        let bits = u128::from(packet_size) * 8_000_000_000;
        Ticks { begin, bits, rate_bps: rate_bps.into(), count: 0, next: begin }
    }

    /// Number of packets up to `now`, a packet at `now` included. Times do not decrease from call to call.
    #[inline]
    pub fn until(&mut self, now: Nanos) -> u64 {
        if now >= self.next {
            self.pass(now);
        }
        self.count
    }

    /// Time of the packet after those of the last call of `until`, rounded up to a nanosecond.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    fn pass(&mut self, now: Nanos) {
        self.count = clamped(u128::from(now - self.begin) * self.rate_bps / self.bits + 1);
        let after = clamped((u128::from(self.count) * self.bits).div_ceil(self.rate_bps));
        self.next = self.begin.saturating_add(after);
    }
}

fn clamped(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Least length of a period, whatever its law draws.
const LEAST_PERIOD: Nanos = MICROSECOND;

/// Periods that one call passes at most, so that a run of many short periods can be interrupted.
const PERIODS_A_CALL: usize = 4096;

/// On periods, which alternate with off periods.
#[derive(Debug)]
pub struct OnOff {
    on: Law,
    off: Law,
    rng: Rng,
    /// Packets of the on period at hand; `None` for a source that always has data while on.
    ticks: Option<Ticks>,
    rate: Option<(u64, u32)>,
    /// Begin and end of the on period at hand, or of the next one.
    begin: Nanos,
    end: Nanos,
    /// Packets of earlier on periods.
    earlier: u64,
}

impl OnOff {
    /// Source whose first on period begins at `begin`; `rate` is in bits per second, with the size of a packet.
    pub fn new((on, off): (Law, Law), rate: Option<(u64, u32)>, begin: Nanos, rng: Rng) -> OnOff {
        let mut source = OnOff { on, off, rng, ticks: None, rate, begin, end: begin, earlier: 0 };
        source.start(begin);
        source
    }

    /// Whether it always has data while on.
    pub fn is_unlimited(&self) -> bool {
        self.rate.is_none()
    }

    /// Advances the source to `now`. Returns the number of packets written until then, of which `sent` have been sent.
    /// Without a rate, that is any number in an on period, and the sent packets after it. With too many periods for one
    /// call, the source is behind afterwards.
    pub fn written(&mut self, now: Nanos, sent: u64) -> u64 {
        for _ in 0..PERIODS_A_CALL {
            if now < self.end {
                break;
            }
            let last = self.end.saturating_sub(1);
            self.earlier += self.ticks.as_mut().map_or(0, |ticks| ticks.until(last));
            let off = self.off.draw(&mut self.rng).max(LEAST_PERIOD);
            self.start(self.end.saturating_add(off));
        }
        match &mut self.ticks {
            Some(ticks) => self.earlier + ticks.until(now.min(self.end - 1)),
            None if now >= self.begin && now < self.end => u64::MAX,
            None => sent,
        }
    }

    /// Whether periods before `now` are left to pass.
    pub fn is_behind(&self, now: Nanos) -> bool {
        now >= self.end
    }

    /// Time of the next packet after those written up to `now`; without a rate, of the next begin or end of an on period after `now`.
    pub fn next(&self, now: Nanos) -> Nanos {
        let Some(ticks) = &self.ticks else { return if now < self.begin { self.begin } else { self.end } };
        // The period may end before its next packet. The time of a packet after that is known only at the end.
        ticks.next().min(self.end)
    }

    fn start(&mut self, begin: Nanos) {
        self.begin = begin;
        self.end = begin.saturating_add(self.on.draw(&mut self.rng).max(LEAST_PERIOD));
        self.ticks = self.rate.map(|(rate_bps, packet_size)| Ticks::new(begin, rate_bps, packet_size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Identity, Purpose};

    const S: Nanos = 1_000_000_000;

    /// 2 Mbit/s of 1500 bytes: a packet each 6 ms.
    #[test]
    fn packets_come_at_the_rate() {
        let mut ticks = Ticks::new(S, 2_000_000, 1500);
        let mut at = |now| (ticks.until(now), ticks.next());
        assert_eq!([0, S - 1].map(&mut at), [(0, S), (0, S)]);
        assert_eq!([S, S + 5_999_999].map(&mut at), [(1, S + 6_000_000), (1, S + 6_000_000)]);
        assert_eq!([S + 6_000_000, 7 * S - 1].map(&mut at), [(2, S + 12_000_000), (1000, 7 * S)]);
    }

    /// 3 Gbit/s of 1 byte: 8/3 ns for a packet. Three of them take 8 ns and not 9.
    #[test]
    fn fractions_of_a_nanosecond_are_kept() {
        let mut ticks = Ticks::new(0, 3_000_000_000, 1);
        let found = [2, 3, 5, 6, 8].map(|now| (ticks.until(now), ticks.next()));
        assert_eq!(found, [(1, 3), (2, 6), (2, 6), (3, 8), (4, 11)]);
    }

    fn on_off(rate: Option<(u64, u32)>) -> OnOff {
        let rng = Rng::new(1, Purpose::Source, Identity::NONE);
        OnOff::new((Law::Constant(S), Law::Constant(2 * S)), rate, 0, rng)
    }

    /// 12 Mbit/s of 1500 bytes is a packet each ms: 1000 in [0 s, 1 s), none in [1 s, 3 s), 1000 in [3 s, 4 s).
    #[test]
    fn on_periods_alternate_with_off_periods() {
        let mut source = on_off(Some((12_000_000, 1500)));
        let written = [0, S - 1, S, 3 * S - 1, 3 * S, 4 * S, 300 * S].map(|now| source.written(now, 0));
        assert_eq!(written, [1, 1000, 1000, 1000, 1001, 2000, 100_001]);
        assert_eq!(source.next(300 * S), 300 * S + 1_000_000);
    }

    /// A Pareto law of 1 s and a shape just above 1 draws next to nothing: 10 s have 5 million periods of the least length.
    #[test]
    fn one_call_passes_a_limited_number_of_periods() {
        let law = Law::Pareto { mean: S, shape: 1.0 + f64::EPSILON };
        let rng = Rng::new(1, Purpose::Source, Identity::NONE);
        let mut source = OnOff::new((law, law), Some((12_000_000, 1500)), 0, rng);
        let (now, mut calls) = (10 * S, 0);
        loop {
            let written = source.written(now, 0);
            calls += 1;
            if !source.is_behind(now) {
                break;
            }
            assert!(written <= 4096 * calls + 1, "a packet for each on period");
        }
        assert_eq!(calls, 1221, "5,000,000 on periods of 1 us, 4096 a call");
    }

    #[test]
    fn the_next_packet_may_be_one_of_the_next_period() {
        let mut source = on_off(Some((12_000_000, 1500)));
        assert_eq!((source.written(S - 1, 0), source.next(S - 1)), (1000, S));
        assert_eq!((source.written(S, 0), source.next(S)), (1000, 3 * S));
    }

    /// Without a rate, there is any amount of data while on, and no data is left afterwards.
    #[test]
    fn an_unlimited_source_has_data_only_while_on() {
        let mut source = on_off(None);
        assert_eq!((source.written(0, 0), source.next(0)), (u64::MAX, S));
        assert_eq!((source.written(S, 70), source.next(S)), (70, 3 * S));
        assert_eq!((source.written(3 * S, 70), source.next(3 * S)), (u64::MAX, 4 * S));
    }
}
