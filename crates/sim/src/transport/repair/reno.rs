//! Reno: fast retransmit and fast recovery, left at the first ACK of new data (RFC 5681 section 3.2; RFC 2581).

use super::duplicates::Duplicates;
use super::{Loss, News, Repair, Verdict};
use crate::transport::progress::{Phase, Progress};
use fullpipe_cc::Nanos;

/// Fast retransmit and fast recovery.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    /// What duplicate ACKs tell.
    pub duplicates: Duplicates,
}

impl Repair for Reno {
    fn reset(&mut self) {
        *self = Reno::default();
    }

    /// RFC 5681 section 3.2, step 6: any ACK of new data ends fast recovery.
    fn on_new_ack(&mut self, _news: &News, progress: &Progress) -> Verdict {
        self.duplicates.end();
        let over = matches!(progress.phase, Phase::Recovery { .. }) || progress.past_point();
        if over {
            self.duplicates.inflation = 0;
        }
        Verdict { over, ..Verdict::default() }
    }

    fn on_duplicate_ack(&mut self, _news: &News, progress: &Progress) -> Option<Loss> {
        match progress.phase {
            Phase::Open => (self.duplicates.count(progress) && self.duplicates.show_loss()).then_some(Loss::Cut),
            // RFC 5681 section 3.2, step 4.
            Phase::Recovery { .. } => {
                self.duplicates.inflation += 1;
                None
            }
            Phase::Reduction { .. } | Phase::Restart { .. } => None,
        }
    }

    fn begin(&mut self, _window: u64, _progress: &Progress) {
        self.duplicates.begin();
    }

    fn restart(&mut self, _now: Nanos, progress: &mut Progress) {
        self.duplicates.restart(progress);
    }

    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        self.duplicates.next_segment(window, progress)
    }

    fn in_network(&self, progress: &Progress) -> u64 {
        self.duplicates.in_network(progress)
    }

    fn arrived(&self, progress: &Progress) -> u64 {
        self.duplicates.arrived(progress)
    }

    /// One that is paced may yet have to send the first segment again.
    fn rest(&mut self, _progress: &Progress) -> bool {
        !self.duplicates.repeat_first
    }

    fn is_calm(&self) -> bool {
        self.duplicates.is_empty()
    }
}
