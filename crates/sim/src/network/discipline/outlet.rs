//! Transmitter of a queue's link, as far as the queue knows it: busy until the packet it took last has been sent.

use fullpipe_cc::Nanos;

/// See the head of the file. When it is free is worked out when somebody asks: few do, of each packet.
#[derive(Clone, Copy, Debug)]
pub struct Outlet {
    nanos_per_byte: f64,
    /// When the last packet began to be sent, and its size; nothing left of it is a packet of no size.
    began: Nanos,
    size: u32,
}

impl Default for Outlet {
    /// Idle outlet with an unknown rate.
    fn default() -> Self {
        Outlet { nanos_per_byte: f64::INFINITY, began: 0, size: 0 }
    }
}

impl Outlet {
    /// Sets the link's rate from the next packet. During an outage the last rate stays known.
    pub fn set_rate(&mut self, rate_bps: u64) {
        if rate_bps > 0 {
            (self.began, self.size) = (self.free_at(), 0);
            self.nanos_per_byte = 8e9 / rate_bps as f64;
        }
    }

    /// A packet of `size` bytes is sent from `now` on.
    #[inline(always)]
    pub fn take(&mut self, now: Nanos, size: u32) {
        (self.began, self.size) = (now, size);
    }

    /// When the packet it took last has been sent.
    #[inline]
    pub fn free_at(&self) -> Nanos {
        if self.size == 0 { self.began } else { self.began.saturating_add(self.nanos_of(self.size) as Nanos) }
    }

    /// How long a packet of `size` bytes takes.
    pub fn nanos_of(&self, size: u32) -> f64 {
        f64::from(size) * self.nanos_per_byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 8 Mbit/s, 1000 bytes are a millisecond.
    #[test]
    fn it_is_free_once_the_packet_is_sent() {
        let mut outlet = Outlet::default();
        outlet.set_rate(8_000_000);
        assert_eq!(outlet.free_at(), 0);
        outlet.take(5_000_000, 1000);
        assert_eq!(outlet.free_at(), 6_000_000);
        outlet.set_rate(0);
        outlet.take(7_000_000, 500);
        assert_eq!(outlet.free_at(), 7_500_000);
        // The packet being sent keeps the rate at which it began.
        outlet.set_rate(80_000_000);
        assert_eq!(outlet.free_at(), 7_500_000);
        outlet.take(8_000_000, 500);
        assert_eq!(outlet.free_at(), 8_050_000);
    }
}
