//! Recovery by selective acknowledgement: RFC 6675, with the window of RFC 9937 in fast recovery where that is asked for. What has
//! arrived and what is lost stands on the scoreboard.

use super::prr::Prr;
use super::scoreboard::Scoreboard;
use super::{DUP_THRESH, Loss, News, Repair, Verdict};
use crate::packet::SackBlocks;
use crate::transport::progress::{Phase, Progress};
use crate::transport::receiver::unwrap;
use crate::transport::rto::RttEstimator;
use fullpipe_cc::Nanos;

/// RFC 6675.
#[derive(Clone, Debug, Default)]
pub struct Sack {
    board: Scoreboard,
    /// Duplicate ACKs since the last one of new data.
    duplicates: u32,
    /// Send the first segment again, whatever the window says (section 5, step 4.3).
    repeat_first: bool,
    /// RFC 9937 in the place of step 4.2's window, if asked for.
    prr: Option<Box<Prr>>,
}

impl Sack {
    /// With proportional rate reduction or without.
    pub fn new(prr: bool) -> Sack {
        Sack { prr: prr.then(Box::default), ..Sack::default() }
    }

    /// A duplicate ACK comes while nothing is known to be lost. Section 2: it is one if it brings news.
    fn shows_loss(&mut self, news: &News, progress: &Progress) -> bool {
        if news.sacked == 0 {
            return false;
        }
        self.duplicates += 1;
        self.duplicates >= DUP_THRESH || self.board.is_lost(progress.una)
    }

    /// The window sinks after a mark.
    fn sink(&mut self, advanced: bool, progress: &Progress) {
        if let Some(prr) = &mut self.prr {
            prr.go_on(self.board.pipe(progress.una, progress.nxt), advanced);
        }
    }

    /// Looks for further losses in fast recovery.
    fn go_on(&mut self, advanced: bool, progress: &Progress) {
        let safe = !self.board.find_losses() && advanced;
        if let Some(prr) = &mut self.prr {
            prr.go_on(self.board.pipe(progress.una, progress.nxt), safe);
        }
    }
}

impl Repair for Sack {
    fn reset(&mut self) {
        self.board.reset();
        self.duplicates = 0;
        self.repeat_first = false;
    }

    fn on_sack(
        &mut self,
        blocks: &SackBlocks,
        cumulative: u64,
        _now: Nanos,
        progress: &Progress,
        news: Option<&mut Vec<u64>>,
    ) -> u64 {
        // An ACK that a later one has overtaken tells of what lies below the cumulative point now.
        let known = |edge: u32| unwrap(edge, progress.una).max(cumulative).max(progress.una);
        if let Some(news) = news {
            news.extend(blocks.iter().flat_map(|&(start, end)| self.board.missing(known(start), known(end))));
        }
        blocks
            .iter()
            .filter(|(start, end)| start != end)
            .map(|&(start, end)| self.board.add(known(start), known(end)))
            .sum()
    }

    fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict {
        self.duplicates = 0;
        let before = self.board.sacked();
        self.board.advance(progress.una);
        if let Some(prr) = &mut self.prr {
            prr.deliver(news.acked + news.sacked - (before - self.board.sacked()));
        }
        let over = progress.past_point();
        match progress.phase {
            _ if over => self.board.settle(progress.una),
            Phase::Recovery { .. } => self.go_on(true, progress),
            Phase::Reduction { .. } => self.sink(true, progress),
            _ => {}
        }
        Verdict { over, ..Verdict::default() }
    }

    fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss> {
        if let Some(prr) = &mut self.prr {
            prr.deliver(news.sacked);
        }
        match progress.phase {
            Phase::Open => self.shows_loss(news, progress).then_some(Loss::Cut),
            Phase::Recovery { .. } => {
                self.go_on(false, progress);
                None
            }
            Phase::Reduction { .. } if self.shows_loss(news, progress) => Some(Loss::Repair),
            Phase::Reduction { .. } => {
                self.sink(false, progress);
                None
            }
            Phase::Restart { .. } => None,
        }
    }

    fn begin(&mut self, window: u64, progress: &Progress) {
        self.board.begin_recovery(progress.una);
        if let Some(prr) = &mut self.prr {
            let (outstanding, pipe) =
                (progress.flight_size() - self.board.sacked(), self.board.pipe(progress.una, progress.nxt));
            match progress.phase {
                Phase::Reduction { .. } => prr.go_on(pipe, false),
                _ => prr.begin(window, outstanding, pipe),
            }
        }
        self.repeat_first = self.board.next_lost().is_some();
    }

    fn sinks(&mut self, from: u64, to: u64, progress: &Progress) -> bool {
        if let Some(prr) = &mut self.prr {
            prr.sink(from, to, progress.flight_size() - self.board.sacked());
        }
        self.prr.is_some()
    }

    fn restart(&mut self, _now: Nanos, progress: &mut Progress) {
        self.duplicates = 0;
        self.repeat_first = false;
        self.board.lose_all(progress.una, progress.high);
    }

    #[inline]
    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        if std::mem::take(&mut self.repeat_first) {
            return Some(progress.una);
        }
        let window = match &self.prr {
            Some(prr) if progress.phase.is_reducing() => prr.window(),
            _ => window,
        };
        if self.in_network(progress) >= window {
            progress.cwnd_limited = true;
            return None;
        }
        let lost = if progress.phase == Phase::Open { None } else { self.board.next_lost() };
        lost.or_else(|| progress.next_new()).or_else(|| match progress.phase {
            Phase::Recovery { .. } => self.board.next_rescue(progress.una, progress.nxt),
            _ => None,
        })
    }

    fn on_sent(&mut self, _seq: u64, _now: Nanos, _rtt: &RttEstimator, _progress: &Progress) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
    }

    /// The RFC's pipe.
    #[inline]
    fn in_network(&self, progress: &Progress) -> u64 {
        self.board.pipe(progress.una, progress.nxt)
    }

    fn arrived(&self, _progress: &Progress) -> u64 {
        self.board.sacked()
    }

    /// One that is paced may yet have to send the first segment again.
    fn rest(&mut self, _progress: &Progress) -> bool {
        !self.repeat_first
    }

    fn is_calm(&self) -> bool {
        self.duplicates == 0 && self.board.is_empty()
    }

    fn heap_bytes(&self) -> usize {
        self.board.heap_bytes() + self.prr.as_deref().map_or(0, size_of_val)
    }
}
