//! Tahoe: the third duplicate ACK starts over from the first hole, in slow start (Jacobson 1988).

use super::duplicates::Duplicates;
use super::{AckEvent, Context, Loss, Repair, Tally, Verdict};
use crate::transport::outstanding::Outstanding;
use crate::transport::progress::{Phase, Progress};

/// Fast retransmit without fast recovery.
#[derive(Clone, Debug, Default)]
pub struct Tahoe(Duplicates);

impl Repair for Tahoe {
    fn reset(&mut self) {
        *self = Tahoe::default();
    }

    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        let progress = &*context.progress;
        if ack.acked > 0 {
            self.0.end();
            return Verdict { over: progress.past_point(), ..Verdict::default() };
        }
        let lost = progress.phase == Phase::Open && self.0.count(progress) && self.0.show_loss();
        Verdict { loss: lost.then_some(Loss::Restart), ..Verdict::default() }
    }

    fn begin(&mut self, _window: u64, _context: &mut Context) {}

    fn restart(&mut self, context: &mut Context) {
        self.0.restart(context.progress);
    }

    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64> {
        self.0.next_segment(window, context.progress)
    }

    fn tally(&self, progress: &Progress, _outstanding: &Outstanding) -> Tally {
        self.0.tally(progress)
    }

    fn is_idle(&self, _outstanding: &Outstanding) -> bool {
        self.0.is_idle()
    }
}
