//! RTT samples and timer restarts of Linux, for `rto = "linux"`.
//!
//! Source: net/ipv4/tcp_input.c (tcp_clean_rtx_queue, tcp_ack_update_rtt, tcp_rearm_rto), tcp_output.c (tcp_xmit_retransmit_queue,
//! tcp_send_loss_probe), and tcp_recovery.c (tcp_rack_reo_timeout) of Linux, read in copies of several versions, none of them the
//! version of the virtual machine.
//!
//! | event | RTT sample | timer |
//! |---|---|---|
//! | ACK of new data, all of it sent once | from the send time of the first segment that was not SACKed, in microseconds | restarts |
//! | ACK of new data, some of it retransmitted | that of a segment newly SACKed, or the echoed timestamp, in milliseconds | restarts |
//! | SACK of a segment sent once | from its send time | restarts if the first outstanding segment was sent later |
//! | first outstanding segment retransmitted | | restarts |
//! | probe timer: a probe is sent | | restarts |
//! | probe timer without a probe; reordering timer | | runs from the send time of the first outstanding segment |
//!
//! Deviations:
//! - Recoveries other than RACK keep no send times. Their samples are echoed timestamps, in milliseconds while a loss is repaired.
//! - Timers have no tick. The kernel's timers are 4 ms (250 Hz) late at most below 256 ms, and 32 ms above.

use super::{Sender, quantized};
use crate::transport::policy::Policy;
use crate::transport::repair::{Any, Repair};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MICROSECOND;

impl<P: Policy> Sender<P> {
    /// RTT sample of an ACK at `now` that has moved the cumulative point by `acked` segments, has newly SACKed `sacked`, and echoes `stamp`.
    pub(super) fn linux_rtt(&self, now: Nanos, acked: u64, sacked: u64, stamp: Nanos) -> Nanos {
        let una = self.progress.una;
        let sent = match &self.repair {
            Any::Rack(rack) => {
                let first = self.outstanding.first_sent_once(una - acked, una);
                first.or_else(|| rack.sacked_from().filter(|_| sacked > 0))
            }
            _ => (!self.progress.phase.is_repairing()).then_some(stamp),
        };
        if let Some(sent) = sent {
            return self.elapsed(sent, now);
        }
        let tick = self.rtt.timestamp_tick();
        (quantized(now, tick) - quantized(stamp, tick)).max(tick)
    }

    /// RTT sample of an ACK at `now` that has SACKed segments and has not moved the cumulative point.
    pub(super) fn sample_sacked(&mut self, now: Nanos) {
        let Any::Rack(rack) = &self.repair else { return };
        let Some(sent) = rack.sacked_from() else { return };
        let first_is_later = self.first_sent_at().is_some_and(|first| sent < first);
        let rtt = self.elapsed(sent, now);
        self.rtt.sample(rtt, self.progress.una, self.progress.nxt);
        if first_is_later {
            self.start_timer(now);
        }
    }

    /// The probe timer has expired.
    pub(super) fn restart_after_probe(&mut self, now: Nanos) {
        match &self.repair {
            Any::Rack(rack) if !rack.sends_probe() => self.restart_from_first(now),
            _ => self.start_timer(now),
        }
    }

    /// Sets the retransmission timer to run from the time at which the first outstanding segment was last sent.
    pub(super) fn restart_from_first(&mut self, now: Nanos) {
        if !matches!(self.repair, Any::Rack(_)) {
            return;
        }
        let Some(sent) = self.first_sent_at() else { return };
        self.rto_at = (sent + self.rtt.timeout()).max(now + MICROSECOND);
        self.repair_at = self.repair.timer_at();
    }

    /// Time of the last transmission of the first outstanding segment.
    fn first_sent_at(&self) -> Option<Nanos> {
        self.outstanding.get(self.progress.una).map(|record| record.sent_at)
    }
}
