//! NewReno: fast recovery continues until all data outstanding at its start is acknowledged (RFC 6582).

use super::reno::Reno;
use super::{AckEvent, Context, Repair, Tally, Verdict};
use crate::transport::outstanding::Outstanding;
use crate::transport::progress::{Phase, Progress};

/// Reno's fast recovery, which partial ACKs do not end.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    /// Reno's fast recovery.
    pub reno: Reno,
    /// A partial ACK has arrived in this episode.
    partial: bool,
}

impl Repair for NewReno {
    fn reset(&mut self) {
        *self = NewReno::default();
    }

    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        let in_recovery = matches!(context.progress.phase, Phase::Recovery { .. });
        if ack.acked == 0 || !in_recovery || context.progress.past_point() {
            return self.reno.on_ack(ack, context);
        }
        // RFC 6582 section 3.2, step 3: retransmit, deflate by the acknowledged segments, add one back. Only the first partial ACK restarts
        // the timer.
        let duplicates = &mut self.reno.duplicates;
        duplicates.end();
        duplicates.repeat_first = true;
        duplicates.inflation = (duplicates.inflation + 1).saturating_sub(ack.acked);
        Verdict { keeps_timer: std::mem::replace(&mut self.partial, true), ..Verdict::default() }
    }

    fn begin(&mut self, window: u64, context: &mut Context) {
        self.partial = false;
        self.reno.begin(window, context);
        self.reno.duplicates.distrust(context.progress);
    }

    fn restart(&mut self, context: &mut Context) {
        self.reno.restart(context);
    }

    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64> {
        self.reno.next_segment(window, context)
    }

    fn tally(&self, progress: &Progress, outstanding: &Outstanding) -> Tally {
        self.reno.tally(progress, outstanding)
    }

    fn is_idle(&self, _outstanding: &Outstanding) -> bool {
        self.reno.duplicates.is_idle()
    }
}
