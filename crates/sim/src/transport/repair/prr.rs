//! Proportional rate reduction: how much goes in fast recovery, RFC 9937; and, as in Linux, while the window sinks after a mark.
//!
//! The window comes down to its target in proportion to what is delivered, instead of waiting until half of the flight has left;
//! below the target it grows back by what is delivered (the conservative bound), and by one segment more where an ACK moves the
//! cumulative point and tells of no further loss. Counted in segments, as everything here.

/// The quantities of RFC 9937 section 6.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// ssthresh: the window at the end.
    target: u64,
    /// RecoverFS: what was in flight at the beginning.
    recover_fs: u64,
    /// prr_delivered.
    delivered: u64,
    /// prr_out.
    out: u64,
    /// cwnd.
    window: u64,
    /// DeliveredData: how many segments the ACK at hand has delivered.
    newly: u64,
}

impl Prr {
    /// An ACK has delivered so many segments; a timer, none.
    pub fn deliver(&mut self, newly: u64) {
        self.newly = newly;
    }

    /// Fast recovery begins by what has just been delivered; `outstanding` segments are neither acknowledged nor SACKed after it, and
    /// `in_flight` of them thought to be in the network.
    pub fn begin(&mut self, target: u64, outstanding: u64, in_flight: u64) {
        let newly = self.newly;
        *self = Prr { target, recover_fs: (outstanding + newly).max(1), newly, ..Prr::default() };
        self.step(in_flight, false);
    }

    /// The window, `window` segments so far, is to sink to `target` by what is delivered from now on; `outstanding` segments are
    /// neither acknowledged nor SACKed.
    pub fn sink(&mut self, window: u64, target: u64, outstanding: u64) {
        *self = Prr { target, recover_fs: outstanding.max(1), window, ..Prr::default() };
    }

    /// It goes on after what has just been delivered; `safe` if that has moved the cumulative point and no further loss is found.
    pub fn go_on(&mut self, in_flight: u64, safe: bool) {
        if self.newly > 0 {
            self.step(in_flight, safe);
        }
    }

    /// A segment is sent.
    pub fn on_sent(&mut self) {
        self.out += 1;
    }

    /// The congestion window.
    pub fn window(&self) -> u64 {
        self.window
    }

    fn step(&mut self, in_flight: u64, safe: bool) {
        self.delivered += self.newly;
        let unused = self.delivered.saturating_sub(self.out);
        let mut count = if in_flight > self.target {
            (self.delivered * self.target).div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            (unused.max(self.newly) + u64::from(safe)).min(self.target - in_flight)
        };
        // The fast retransmission goes whatever the rest says.
        if self.out == 0 {
            count = count.max(1);
        }
        self.window = in_flight + count;
    }
}
