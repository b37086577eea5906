//! Sending at a rate, one packet after another: the time a packet takes is seldom a whole number of nanoseconds.

use super::ledger::Use;
use super::transmits::Transmits;
use crate::scenario::Link;
use fullpipe_cc::Nanos;

/// Transmitter with a rate. Fractions of a nanosecond are kept, so that the rate is exact over any time: `n` packets of `t` ns each, back to
/// back, end at the whole part of `n t`.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// End of the last transmission: whole nanoseconds, and 2^-64 ns.
    free: Nanos,
    fraction: u64,
    rate_bps: u64,
}

/// How long a packet takes on a [`Line`]: whole nanoseconds and 2^-64 ns, rounded up. Rounding adds up to a nanosecond after
/// 2^64 packets, more than any run has. The whole part equals that of `n t` while `n` times the rate is below 2^64, since the fraction is a
/// multiple of 1/rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transmission {
    whole: Nanos,
    fraction: u64,
}

/// How long several packets take together, in units of 2^-64 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span(u128);

impl Span {
    /// With one packet more.
    pub fn with(self, packet: Transmission) -> Span {
        Span(self.0.saturating_add(packet.span()))
    }

    /// With one packet less.
    pub fn without(self, packet: Transmission) -> Span {
        Span(self.0.saturating_sub(packet.span()))
    }
}

impl Transmission {
    fn span(self) -> u128 {
        u128::from(self.whole) << 64 | u128::from(self.fraction)
    }
}

/// How long the last two packet sizes seen take on a [`Line`]. Most links carry two, data and ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transmissions {
    transmissions: [Transmission; 2],
    /// Those sizes, bytes.
    sizes: [u32; 2],
}

impl Transmissions {
    /// Transmission time of a packet of `size` bytes on `line`, which must not change between calls.
    #[inline]
    pub fn of(&mut self, line: &Line, size: u32) -> Transmission {
        // Without a branch, which would be unpredictable for a mix of data and ACKs.
        let which = usize::from(size != self.sizes[0]);
        if self.sizes[which] == size { self.transmissions[which] } else { self.learn(line, size) }
    }

    /// As [`Transmissions::of`], with a predictable branch while all packets have one size.
    #[inline(always)]
    pub fn guessed(&mut self, line: &Line, size: u32) -> Transmission {
        if self.sizes[1] != 0 {
            return self.of(line, size);
        }
        if size == self.sizes[0] { self.transmissions[0] } else { self.learn(line, size) }
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, line: &Line, size: u32) -> Transmission {
        let transmission = line.transmission(size);
        self.sizes = [size, self.sizes[0]];
        self.transmissions = [transmission, self.transmissions[0]];
        transmission
    }
}

/// 292 years, beyond the end of every run. Later transmissions take no time and affect no metric, so that the clock does
/// not overflow with a slow line and a long queue.
const NEVER: Nanos = 1 << 63;

impl Line {
    /// An idle one.
    pub fn new(rate_bps: u64) -> Line {
        Line { free: 0, fraction: 0, rate_bps }
    }

    /// End of the last transmission.
    #[inline(always)]
    pub fn free(&self) -> Nanos {
        self.free
    }

    /// Bits per second.
    #[inline(always)]
    pub fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Sets the rate of later packets. At a rate of 0 none may be sent.
    pub fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }

    /// How long a packet of `size` bytes takes.
    pub fn transmission(&self, size: u32) -> Transmission {
        let scaled_bits = 8_000_000_000 * u64::from(size);
        let left = u128::from(scaled_bits % self.rate_bps) << 64;
        Transmission {
            whole: scaled_bits / self.rate_bps,
            fraction: u64::try_from(left.div_ceil(u128::from(self.rate_bps))).expect("less than a nanosecond"),
        }
    }

    /// Transmission time of `bytes`, in whole nanoseconds.
    pub fn time_of(&self, bytes: u64) -> Nanos {
        if self.rate_bps == 0 {
            return if bytes == 0 { 0 } else { NEVER };
        }
        let took = u128::from(bytes) * 8_000_000_000 / u128::from(self.rate_bps);
        Nanos::try_from(took).unwrap_or(NEVER).min(NEVER)
    }

    /// When it would be free if it were given `more` now.
    pub fn free_after(&self, more: Span) -> Nanos {
        let free = u128::from(self.free) << 64 | u128::from(self.fraction);
        Nanos::try_from(free.saturating_add(more.0) >> 64).unwrap_or(NEVER)
    }

    /// Leaves the line idle until `now`, after earlier packets.
    #[inline(always)]
    pub fn rest_until(&mut self, now: Nanos) {
        if now > self.free {
            self.free = now;
            self.fraction = 0;
        }
    }

    /// Sends a packet after those before it. Returns its transmission time.
    #[inline(always)]
    pub fn send(&mut self, packet: Transmission) -> Nanos {
        if self.free >= NEVER {
            return 0;
        }
        let (fraction, carried) = self.fraction.overflowing_add(packet.fraction);
        let took = packet.whole + u64::from(carried);
        self.fraction = fraction;
        self.free += took;
        took
    }
}

/// A line whose rate never changes.
#[derive(Debug)]
pub struct Steady {
    line: Line,
    transmissions: Transmissions,
    /// Total transmission time.
    busy: Nanos,
}

impl Transmits for Steady {
    const MAY_WAIT_NO_TIME: bool = false;

    fn new(link: &Link) -> Steady {
        Steady { line: Line::new(link.rate_bps), transmissions: Transmissions::default(), busy: 0 }
    }

    #[inline(always)]
    fn moment(&self, now: Nanos) -> u64 {
        now
    }

    #[inline(always)]
    fn time(moment: u64) -> Nanos {
        moment
    }

    #[inline(always)]
    fn free(&self) -> u64 {
        self.line.free()
    }

    #[inline(always)]
    fn start(&self) -> Nanos {
        self.line.free()
    }

    #[inline(always)]
    fn start_idle(&mut self, now: Nanos) -> Nanos {
        self.line.rest_until(now);
        now
    }

    #[inline(always)]
    fn send(&mut self, size: u32) -> Nanos {
        let transmission = self.transmissions.of(&self.line, size);
        self.busy += self.line.send(transmission);
        self.line.free()
    }

    fn busy(&self) -> Nanos {
        self.busy
    }

    /// Beyond the mark is one stretch, up to the end of the last transmission.
    fn use_at(&self, mark: Nanos) -> Use {
        let busy = self.busy - self.line.free().saturating_sub(mark);
        Use { used: u128::from(busy), offered: u128::from(mark) }
    }

    fn wait(&mut self, now: Nanos) -> Nanos {
        self.line.free().saturating_sub(now)
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::limits;
    use proptest::prelude::*;

    fn sent(rate_bps: u64, size: u32, packets: usize) -> Nanos {
        let mut line = Line::new(rate_bps);
        let packet = line.transmission(size);
        for _ in 0..packets {
            line.send(packet);
        }
        line.free()
    }

    /// By hand: 3 Gbit/s sends 1 byte in 8/3 ns, 900 Gbit/s 1000 bytes in 80/9 ns, 10 Tbit/s 1000 bytes in 4/5 ns.
    #[test]
    fn what_is_left_of_a_nanosecond_is_not_lost() {
        assert_eq!(sent(3_000_000_000, 1, 3), 8);
        assert_eq!(sent(3_000_000_000, 1, 1000), 2666);
        assert_eq!(sent(900_000_000_000, 1000, 9_000_000), 80_000_000);
        assert_eq!(sent(10_000_000_000_000, 1000, 5_000_000), 4_000_000);
        // No power of two divides seven: a second to the nanosecond, after seven million packets.
        assert_eq!(sent(56_000_000_000, 1000, 7_000_000), 1_000_000_000);
    }

    #[test]
    fn a_pause_begins_at_a_whole_nanosecond() {
        let mut line = Line::new(3_000_000_000);
        let packet = line.transmission(1);
        let sent = |now| {
            line.rest_until(now);
            line.send(packet);
            line.free()
        };
        assert_eq!([0, 2, 100].map(sent), [2, 5, 102]);
    }

    /// 65,535 bytes at 1 bit/s take 524,280 s: six days.
    #[test]
    fn the_slowest_line_has_no_end_of_time() {
        let mut line = Line::new(1);
        let packet = line.transmission(65_535);
        assert_eq!(line.send(packet), 524_280_000_000_000);
        for _ in 0..100_000 {
            line.send(packet);
        }
        assert!(line.free() > 1000 * limits::LONGEST && line.free() - NEVER < 524_280_000_000_000);
    }

    proptest! {
        /// Whatever sizes come, each takes as long as without a guess.
        #[test]
        fn a_guess_is_no_other_time(rate_bps in limits::RATE, sizes in prop::collection::vec(prop_oneof![Just(40u32), Just(1000), 1..5000u32], 1..20)) {
            let line = Line::new(rate_bps);
            let mut transmissions = Transmissions::default();
            for size in sizes {
                let (guessed, exact) = (transmissions.guessed(&line, size), line.transmission(size));
                prop_assert_eq!((guessed.whole, guessed.fraction), (exact.whole, exact.fraction));
            }
        }

        /// Back to back, the last of `n` packets has been sent at the whole part of n * size * 8e9 / rate.
        #[test]
        fn a_stream_keeps_its_rate(rate_bps in limits::RATE, size in 1u32..=65_535, packets in 1u32..2000) {
            let exact = u128::from(packets) * u128::from(size) * 8_000_000_000 / u128::from(rate_bps);
            prop_assert_eq!(u128::from(sent(rate_bps, size, packets as usize)), exact);
        }
    }
}
