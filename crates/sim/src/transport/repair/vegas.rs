//! Vegas's fine-grained check: Reno's fast recovery, begun at the first or second duplicate ACK where the first segment is older
//! than the fine timeout (Brakmo and Peterson 1995, section 3.1).

use super::reno::Reno;
use super::{AckEvent, Context, Loss, Repair, Tally, Verdict};
use crate::transport::outstanding::Outstanding;
use crate::transport::progress::{Phase, Progress};
use fullpipe_cc::Nanos;

/// Reno's recovery with send times.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    reno: Reno,
    /// ACKs of new data that are still to be checked: the first two after a fast retransmission.
    unchecked: u32,
    /// Time of the last cut. The loss of a segment sent before is no reason to cut again.
    cut_at: Option<Nanos>,
}

impl Repair for Vegas {
    fn reset(&mut self) {
        *self = Vegas::default();
    }

    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        if ack.acked > 0 {
            let over = self.reno.on_new_ack(context.progress);
            return Verdict { over, loss: self.check(context), ..Verdict::default() };
        }
        Verdict { loss: self.on_duplicate_ack(context), ..Verdict::default() }
    }

    fn begin(&mut self, window: u64, context: &mut Context) {
        self.reno.begin(window, context);
        self.unchecked = 2;
    }

    fn restart(&mut self, context: &mut Context) {
        self.reno.restart(context);
        self.cut_at = Some(context.now);
    }

    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64> {
        self.reno.next_segment(window, context)
    }

    fn tally(&self, progress: &Progress, outstanding: &Outstanding) -> Tally {
        self.reno.tally(progress, outstanding)
    }

    fn is_idle(&self, _outstanding: &Outstanding) -> bool {
        // RTT samples and the fine timeout need each ACK.
        false
    }
}

impl Vegas {
    /// Checks the first and the second ACK of new data after a retransmission, as a duplicate ACK is checked.
    fn check(&mut self, context: &Context) -> Option<Loss> {
        if self.unchecked == 0 {
            return None;
        }
        self.unchecked -= 1;
        if context.progress.flight_size() == 0 || !is_overdue(context) {
            return None;
        }
        self.reno.duplicates.repeat_first = true;
        Some(Loss::RepairNext)
    }

    fn on_duplicate_ack(&mut self, context: &Context) -> Option<Loss> {
        match context.progress.phase {
            Phase::Open => {
                let duplicates = &mut self.reno.duplicates;
                let lost = duplicates.count(context.progress) && (duplicates.show_loss() || is_overdue(context));
                lost.then(|| self.found(context))
            }
            Phase::Recovery { .. } => {
                self.reno.duplicates.inflation += 1;
                if is_overdue(context) {
                    self.reno.duplicates.repeat_first = true;
                }
                None
            }
            Phase::Reduction { .. } | Phase::Restart { .. } => None,
        }
    }

    /// Response to a loss. Several losses in a window cut it once: the loss of a segment sent before the last cut does not cut again.
    fn found(&mut self, context: &Context) -> Loss {
        if first_sent_at(context) <= self.cut_at {
            return Loss::Repair;
        }
        self.cut_at = Some(context.now);
        Loss::Cut
    }
}

/// Time of the last transmission of the first outstanding segment.
fn first_sent_at(context: &Context) -> Option<Nanos> {
    context.outstanding.get(context.progress.una).map(|record| record.sent_at)
}

/// Whether the first outstanding segment is older than the fine timeout.
fn is_overdue(context: &Context) -> bool {
    let timeout = context.rtt.fine_timeout();
    first_sent_at(context).zip(timeout).is_some_and(|(sent, timeout)| context.now - sent > timeout)
}
