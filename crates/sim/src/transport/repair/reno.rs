//! Reno: fast retransmit and fast recovery, left at the first ACK of new data (RFC 5681 section 3.2; RFC 2581).

use super::duplicates::Duplicates;
use super::{AckEvent, Context, Loss, Repair, Tally, Verdict};
use crate::transport::outstanding::Outstanding;
use crate::transport::progress::{Phase, Progress};

/// Fast retransmit and fast recovery.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    /// State of duplicate ACKs.
    pub duplicates: Duplicates,
}

impl Reno {
    /// RFC 5681 section 3.2, step 6: any ACK of new data ends fast recovery. Returns whether the episode is over.
    pub fn on_new_ack(&mut self, progress: &Progress) -> bool {
        self.duplicates.end();
        let over = matches!(progress.phase, Phase::Recovery { .. }) || progress.past_point();
        if over {
            self.duplicates.inflation = 0;
        }
        over
    }

    /// Handles a duplicate ACK. Returns whether it shows a loss.
    pub fn on_duplicate_ack(&mut self, progress: &Progress) -> bool {
        match progress.phase {
            Phase::Open => self.duplicates.count(progress) && self.duplicates.show_loss(),
            // RFC 5681 section 3.2, step 4.
            Phase::Recovery { .. } => {
                self.duplicates.inflation += 1;
                false
            }
            Phase::Reduction { .. } | Phase::Restart { .. } => false,
        }
    }
}

impl Repair for Reno {
    fn reset(&mut self) {
        *self = Reno::default();
    }

    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        if ack.acked > 0 {
            return Verdict { over: self.on_new_ack(context.progress), ..Verdict::default() };
        }
        let lost = self.on_duplicate_ack(context.progress);
        Verdict { loss: lost.then_some(Loss::Cut), ..Verdict::default() }
    }

    fn begin(&mut self, _window: u64, _context: &mut Context) {
        self.duplicates.begin();
    }

    fn restart(&mut self, context: &mut Context) {
        self.duplicates.restart(context.progress);
    }

    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64> {
        self.duplicates.next_segment(window, context.progress)
    }

    fn tally(&self, progress: &Progress, _outstanding: &Outstanding) -> Tally {
        self.duplicates.tally(progress)
    }

    fn is_idle(&self, _outstanding: &Outstanding) -> bool {
        self.duplicates.is_idle()
    }
}
