//! Timers: the retransmission timer, and those of the handshake and the recovery, which share its alarm.

use super::{Sender, quantized};
use crate::transport::policy::Policy;
use crate::transport::repair::{Expiry, Repair};
use fullpipe_cc::Nanos;

impl<P: Policy> Sender<P> {
    /// Expiry time of the first timer; `Nanos::MAX` if none is set.
    #[inline(always)]
    pub fn deadline(&self) -> Nanos {
        self.rto_at.min(self.repair_at)
    }

    /// Round trip of the handshake, or of the idle path for a connection that begins established.
    pub fn handshake_rtt(&self) -> Nanos {
        self.rtt.handshake()
    }

    /// Starts the timer of the first SYN, which leaves at `now`.
    pub fn open(&mut self, now: Nanos) {
        self.rtt.open();
        self.rto_at = now + self.rtt.timeout();
    }

    /// Handles the timeout of a SYN at `now`. Another SYN leaves.
    pub fn on_syn_timeout(&mut self, now: Nanos) {
        self.rtt.back_off();
        self.rto_at = now + self.rtt.timeout();
    }

    /// Handles the SYN-ACK that answers the SYN sent at `stamp`: the connection is established. Returns the number of timeouts.
    pub fn on_syn_ack(&mut self, now: Nanos, stamp: Nanos) -> u32 {
        let by_timestamp = self.rtt.is_linux() && self.rtt.has_backed_off();
        let tick = if by_timestamp { self.rtt.timestamp_tick() } else { self.rtt.granularity() };
        self.rto_at = Nanos::MAX;
        if let Some(quic) = &mut self.quic {
            quic.open(now, now - stamp);
        }
        self.rtt.opened((quantized(now, tick) - quantized(stamp, tick)).max(if by_timestamp { tick } else { 1 }))
    }

    /// Handles the expiry of the first timer. Call [`Sender::pass_time`] first.
    pub fn on_timeout(&mut self, now: Nanos) {
        if self.quic.is_some() {
            return self.on_quic_timer(now);
        }
        self.fast_path = false;
        let (repair, mut context) = self.recovery(now);
        match repair.on_timer(&mut context) {
            Expiry::Timeout => {
                self.meter.events.timeouts += 1;
                self.rtt.back_off();
                if self.reports_events() {
                    self.report_timeout(now);
                }
                self.restart(now);
                if self.reports_events() {
                    self.report_timeout_losses(now);
                }
                self.start_timer(now);
            }
            Expiry::Probe => {
                self.expect_probe();
                if self.rtt.is_linux() {
                    self.restart_after_probe(now);
                } else {
                    self.start_timer(now);
                }
            }
            Expiry::Looked(loss) => {
                self.report_losses(now);
                if let Some(loss) = loss {
                    self.act_on(loss, now);
                }
                if self.reports_events() {
                    self.report_events(now, 0, false);
                }
                if self.rtt.is_linux() {
                    self.restart_from_first(now);
                }
                self.repair_at = self.repair.timer_at();
            }
        }
        self.cwnd = self.cc.cwnd();
    }

    /// Restarts the retransmission timer.
    #[inline]
    pub(super) fn start_timer(&mut self, now: Nanos) {
        self.rto_at = now + self.rtt.timeout();
        self.repair_at = self.repair.timer_at();
    }

    /// Starts the retransmission timer after a transmission, unless it runs.
    #[inline(always)]
    pub(super) fn continue_timer(&mut self, now: Nanos) {
        if self.deadline() == Nanos::MAX {
            self.rto_at = now + self.rtt.timeout();
        }
        self.repair_at = self.repair.timer_at();
    }
}
