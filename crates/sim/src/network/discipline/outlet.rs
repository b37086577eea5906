//! What a queue can tell of its outlet, the link: that it is busy until the packet it took last has been sent.

use fullpipe_cc::Nanos;

/// See the head of the file.
#[derive(Clone, Copy, Debug)]
pub struct Outlet {
    nanos_per_byte: f64,
    free_at: Nanos,
}

impl Default for Outlet {
    /// Free, and of a rate not told yet.
    fn default() -> Self {
        Outlet { nanos_per_byte: f64::INFINITY, free_at: 0 }
    }
}

impl Outlet {
    /// The rate of the link; what is known of it stays through an outage.
    pub fn set_rate(&mut self, rate_bps: u64) {
        if rate_bps > 0 {
            self.nanos_per_byte = 8e9 / rate_bps as f64;
        }
    }

    /// A packet of `size` bytes is sent from `now` on.
    #[inline]
    pub fn take(&mut self, now: Nanos, size: u32) {
        self.free_at = now.saturating_add(self.nanos_of(size) as Nanos);
    }

    /// When the packet it took last has been sent.
    pub fn free_at(&self) -> Nanos {
        self.free_at
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
    }
}
