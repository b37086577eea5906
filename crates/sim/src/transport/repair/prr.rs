//! Proportional rate reduction (RFC 9937): how many segments may leave in fast recovery. As in Linux, it also lowers
//! the window after a CE mark.
//!
//! The window decreases to its target in proportion to the delivered data, instead of waiting until half of the flight
//! is acknowledged. Below the target, the window grows by the delivered data (the conservative bound). It grows by one
//! more segment if an ACK advances the cumulative point and reports no further loss. All quantities are segments.

/// The quantities of RFC 9937 section 6.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// ssthresh: the window at the end of recovery.
    target: u64,
    /// RecoverFS: the segments in flight when recovery began.
    recover_fs: u64,
    /// prr_delivered.
    delivered: u64,
    /// prr_out.
    out: u64,
    /// cwnd.
    window: u64,
    /// DeliveredData: number of segments that the current ACK has delivered.
    newly: u64,
}

impl Prr {
    /// Records that an ACK has delivered `newly` segments; 0 for a timer.
    pub fn deliver(&mut self, newly: u64) {
        self.newly = newly;
    }

    /// Starts fast recovery after the last delivery. After it, `outstanding` segments are neither acknowledged nor
    /// SACKed, and `in_flight` of them are estimated to be in the network.
    pub fn begin(&mut self, target: u64, outstanding: u64, in_flight: u64) {
        let newly = self.newly;
        *self = Prr { target, recover_fs: (outstanding + newly).max(1), newly, ..Prr::default() };
        self.step(in_flight, false);
    }

    /// Starts to lower the window from `window` to `target` in proportion to deliveries. `outstanding` segments are
    /// neither acknowledged nor SACKed.
    pub fn sink(&mut self, window: u64, target: u64, outstanding: u64) {
        *self = Prr { target, recover_fs: outstanding.max(1), window, ..Prr::default() };
    }

    /// Continues after the last delivery. `safe`: the delivery advanced the cumulative point, and no further loss was
    /// found.
    pub fn go_on(&mut self, in_flight: u64, safe: bool) {
        if self.newly > 0 {
            self.step(in_flight, safe);
        }
    }

    /// Counts a sent segment.
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
        // The fast retransmission is always allowed.
        if self.out == 0 {
            count = count.max(1);
        }
        self.window = in_flight + count;
    }
}
