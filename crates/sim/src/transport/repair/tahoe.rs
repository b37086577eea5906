//! Tahoe: the third duplicate ACK starts over from the first hole, in slow start (Jacobson 1988).

use super::duplicates::Duplicates;
use super::{Loss, News, Repair, Verdict};
use crate::transport::progress::{Phase, Progress};
use fullpipe_cc::Nanos;

/// Fast retransmit without fast recovery.
#[derive(Clone, Debug, Default)]
pub struct Tahoe(Duplicates);

impl Repair for Tahoe {
    fn reset(&mut self) {
        *self = Tahoe::default();
    }

    fn on_new_ack(&mut self, _news: &News, progress: &Progress) -> Verdict {
        self.0.end();
        Verdict { over: progress.past_point(), ..Verdict::default() }
    }

    fn on_duplicate_ack(&mut self, _news: &News, progress: &Progress) -> Option<Loss> {
        let lost = progress.phase == Phase::Open && self.0.count(progress) && self.0.show_loss();
        lost.then_some(Loss::Restart)
    }

    fn begin(&mut self, _window: u64, _progress: &Progress) {}

    fn restart(&mut self, _now: Nanos, progress: &mut Progress) {
        self.0.restart(progress);
    }

    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        self.0.next_segment(window, progress)
    }

    fn in_network(&self, progress: &Progress) -> u64 {
        self.0.in_network(progress)
    }

    fn arrived(&self, progress: &Progress) -> u64 {
        self.0.arrived(progress)
    }

    fn is_calm(&self) -> bool {
        self.0.is_empty()
    }
}
