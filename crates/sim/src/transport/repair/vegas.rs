//! Vegas's fine-grained check: Reno's fast recovery, begun at the first or second duplicate ACK where the first segment is older
//! than the fine timeout (Brakmo and Peterson 1995, section 3.1).

use super::reno::Reno;
use super::{Loss, News, Repair, Verdict};
use crate::transport::progress::{Phase, Progress};
use crate::transport::rto::RttEstimator;
use crate::transport::sent_log::SentLog;
use fullpipe_cc::Nanos;

/// Reno's recovery and a clock of its own.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    reno: Reno,
    times: SentLog,
    /// ACKs of new data since the last fast retransmission, up to 2 checked.
    unchecked: u32,
    /// When the window was last cut: a segment sent before is no reason to cut again.
    cut_at: Option<Nanos>,
}

impl Repair for Vegas {
    fn reset(&mut self) {
        *self = Vegas::default();
    }

    fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict {
        let verdict = self.reno.on_new_ack(news, progress);
        self.times.forget_below(progress.una);
        if self.unchecked == 0 {
            return verdict;
        }
        // The first and the second ACK of new data after a retransmission are checked as a duplicate ACK is.
        self.unchecked -= 1;
        if progress.flight_size() == 0 || !self.is_overdue(news, progress) {
            return verdict;
        }
        self.reno.duplicates.repeat_first = true;
        Verdict { loss: Some(Loss::RepairNext), ..verdict }
    }

    fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss> {
        match progress.phase {
            Phase::Open => {
                let duplicates = &mut self.reno.duplicates;
                let lost = duplicates.count(progress) && (duplicates.show_loss() || self.is_overdue(news, progress));
                lost.then(|| self.found(news.now, progress))
            }
            Phase::Recovery { .. } => {
                self.reno.duplicates.inflation += 1;
                if self.is_overdue(news, progress) {
                    self.reno.duplicates.repeat_first = true;
                }
                None
            }
            Phase::Reduction { .. } | Phase::Restart { .. } => None,
        }
    }

    fn begin(&mut self, window: u64, progress: &Progress) {
        self.reno.begin(window, progress);
        self.unchecked = 2;
    }

    fn restart(&mut self, now: Nanos, progress: &mut Progress) {
        self.reno.restart(now, progress);
        self.cut_at = Some(now);
    }

    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        self.reno.next_segment(window, progress)
    }

    fn on_sent(&mut self, seq: u64, now: Nanos, _rtt: &RttEstimator, _progress: &Progress) {
        self.times.note(seq, now);
    }

    /// The RTT is taken from the recorded time of the segment acknowledged, which has waited at the receiver if one before it was
    /// lost; none of a segment sent again, when the ACK may be of either (Karn).
    fn sample_from(&self, seq: u64, _stamp: Nanos) -> Option<Nanos> {
        self.times.get(seq).filter(|sent| !sent.again).map(|sent| sent.at)
    }

    fn in_network(&self, progress: &Progress) -> u64 {
        self.reno.in_network(progress)
    }

    fn arrived(&self, progress: &Progress) -> u64 {
        self.reno.arrived(progress)
    }

    fn is_calm(&self) -> bool {
        self.reno.is_calm()
    }

    /// The times of all segments are noted.
    fn watches_all(&self) -> bool {
        true
    }

    fn heap_bytes(&self) -> usize {
        size_of::<Vegas>() + self.times.heap_bytes()
    }
}

impl Vegas {
    fn sent_at(&self, seq: u64) -> Option<Nanos> {
        self.times.get(seq).map(|sent| sent.at)
    }

    /// The first segment is older than the fine timeout.
    fn is_overdue(&self, news: &News, progress: &Progress) -> bool {
        let (sent, timeout) = (self.sent_at(progress.una), news.rtt.fine_timeout());
        sent.zip(timeout).is_some_and(|(sent, timeout)| news.now - sent > timeout)
    }

    /// Several losses in a window cut it once; a segment sent before the last cut says nothing new.
    fn found(&mut self, now: Nanos, progress: &Progress) -> Loss {
        if self.sent_at(progress.una) <= self.cut_at {
            return Loss::Repair;
        }
        self.cut_at = Some(now);
        Loss::Cut
    }
}
