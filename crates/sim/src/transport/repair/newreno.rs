//! NewReno: fast recovery kept until all that was outstanding at its beginning is acknowledged (RFC 6582).

use super::reno::Reno;
use super::{Loss, News, Repair, Verdict};
use crate::transport::progress::{Phase, Progress};
use fullpipe_cc::Nanos;

/// Reno's fast recovery that partial ACKs do not end.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    /// What the two have in common.
    pub reno: Reno,
    /// A partial ACK has come in this episode.
    partial: bool,
}

impl Repair for NewReno {
    fn reset(&mut self) {
        *self = NewReno::default();
    }

    fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict {
        if !matches!(progress.phase, Phase::Recovery { .. }) || progress.past_point() {
            return self.reno.on_new_ack(news, progress);
        }
        // RFC 6582 section 3.2, step 3: repair, deflate by what was acknowledged, add one back; only the first partial ACK
        // restarts the timer.
        let duplicates = &mut self.reno.duplicates;
        duplicates.end();
        duplicates.repeat_first = true;
        duplicates.inflation = (duplicates.inflation + 1).saturating_sub(news.acked);
        Verdict { keeps_timer: std::mem::replace(&mut self.partial, true), ..Verdict::default() }
    }

    fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss> {
        self.reno.on_duplicate_ack(news, progress)
    }

    fn begin(&mut self, window: u64, progress: &Progress) {
        self.partial = false;
        self.reno.begin(window, progress);
        self.reno.duplicates.distrust(progress);
    }

    fn restart(&mut self, now: Nanos, progress: &mut Progress) {
        self.reno.restart(now, progress);
    }

    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        self.reno.next_segment(window, progress)
    }

    fn in_network(&self, progress: &Progress) -> u64 {
        self.reno.in_network(progress)
    }

    fn arrived(&self, progress: &Progress) -> u64 {
        self.reno.arrived(progress)
    }

    /// One that is paced may yet have to send the first segment again.
    fn rest(&mut self, _progress: &Progress) -> bool {
        !self.reno.duplicates.repeat_first
    }

    fn is_calm(&self) -> bool {
        self.reno.is_calm()
    }
}
