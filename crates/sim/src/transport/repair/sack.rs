//! Recovery by selective acknowledgement: RFC 6675, with the window of RFC 9937 in fast recovery if configured. The scoreboard knows which
//! segments have arrived and which are lost.

use super::prr::Prr;
use super::scoreboard::Scoreboard;
use super::{AckEvent, Context, DUP_THRESH, Loss, Repair, Tally, Verdict};
use crate::packet::SackBlocks;
use crate::transport::outstanding::Outstanding;
use crate::transport::progress::{Phase, Progress};
use crate::transport::receiver::unwrap;

/// RFC 6675.
#[derive(Clone, Debug, Default)]
pub struct Sack {
    board: Scoreboard,
    /// Duplicate ACKs since the last one of new data.
    duplicates: u32,
    /// The first segment is retransmitted next, without regard to the window (section 5, step 4.3).
    repeat_first: bool,
    /// RFC 9937 in place of the window of step 4.2, if configured.
    prr: Option<Box<Prr>>,
}

impl Sack {
    /// Recovery with or without proportional rate reduction.
    pub fn new(prr: bool) -> Sack {
        Sack { prr: prr.then(Box::default), ..Sack::default() }
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.board.heap_bytes() + self.prr.as_deref().map_or(0, size_of_val)
    }

    /// Handles a duplicate ACK outside recovery. Section 2: it counts if it reports new segments. Returns whether it shows a loss.
    fn shows_loss(&mut self, ack: &AckEvent, progress: &Progress) -> bool {
        if ack.sacked == 0 {
            return false;
        }
        self.duplicates += 1;
        self.duplicates >= DUP_THRESH || self.board.is_lost(progress.una)
    }

    /// Continues a reduction after a CE mark.
    fn continue_reduction(&mut self, advanced: bool, progress: &Progress) {
        if let Some(prr) = &mut self.prr {
            prr.go_on(self.board.pipe(progress.una, progress.nxt), advanced);
        }
    }

    /// Looks for further losses in fast recovery.
    fn continue_recovery(&mut self, advanced: bool, progress: &Progress) {
        let safe = !self.board.find_losses() && advanced;
        if let Some(prr) = &mut self.prr {
            prr.go_on(self.board.pipe(progress.una, progress.nxt), safe);
        }
    }

    fn on_new_ack(&mut self, ack: &AckEvent, progress: &Progress) -> bool {
        self.duplicates = 0;
        let before = self.board.sacked();
        self.board.advance(progress.una);
        if let Some(prr) = &mut self.prr {
            prr.deliver(ack.acked + ack.sacked - (before - self.board.sacked()));
        }
        let over = progress.past_point();
        match progress.phase {
            _ if over => self.board.settle(progress.una),
            Phase::Recovery { .. } => self.continue_recovery(true, progress),
            Phase::Reduction { .. } => self.continue_reduction(true, progress),
            _ => {}
        }
        over
    }

    fn on_duplicate_ack(&mut self, ack: &AckEvent, progress: &Progress) -> Option<Loss> {
        if let Some(prr) = &mut self.prr {
            prr.deliver(ack.sacked);
        }
        match progress.phase {
            Phase::Open => self.shows_loss(ack, progress).then_some(Loss::Cut),
            Phase::Recovery { .. } => {
                self.continue_recovery(false, progress);
                None
            }
            Phase::Reduction { .. } if self.shows_loss(ack, progress) => Some(Loss::Repair),
            Phase::Reduction { .. } => {
                self.continue_reduction(false, progress);
                None
            }
            Phase::Restart { .. } => None,
        }
    }
}

impl Repair for Sack {
    fn reset(&mut self) {
        self.board.reset();
        self.duplicates = 0;
        self.repeat_first = false;
    }

    fn on_sack(&mut self, blocks: &SackBlocks, cumulative: u64, context: &mut Context) -> u64 {
        // An ACK that was overtaken by a later one may report segments below the cumulative ACK.
        let una = context.progress.una;
        let known = |edge: u32| unwrap(edge, una).max(cumulative).max(una);
        if context.outstanding.rate.is_some() {
            for &(start, end) in blocks {
                for seq in self.board.missing(known(start), known(end)) {
                    context.outstanding.sack(seq, context.now);
                }
            }
        }
        blocks
            .iter()
            .filter(|(start, end)| start != end)
            .map(|&(start, end)| self.board.add(known(start), known(end)))
            .sum()
    }

    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        if ack.acked > 0 {
            return Verdict { over: self.on_new_ack(ack, context.progress), ..Verdict::default() };
        }
        Verdict { loss: self.on_duplicate_ack(ack, context.progress), ..Verdict::default() }
    }

    fn begin(&mut self, window: u64, context: &mut Context) {
        let progress = &*context.progress;
        self.board.begin_recovery(progress.una);
        if let Some(prr) = &mut self.prr {
            let outstanding = progress.flight_size() - self.board.sacked();
            let pipe = self.board.pipe(progress.una, progress.nxt);
            match progress.phase {
                Phase::Reduction { .. } => prr.go_on(pipe, false),
                _ => prr.begin(window, outstanding, pipe),
            }
        }
        self.repeat_first = self.board.next_lost().is_some();
    }

    fn sink(&mut self, from: u64, to: u64, context: &mut Context) -> bool {
        if let Some(prr) = &mut self.prr {
            prr.sink(from, to, context.progress.flight_size() - self.board.sacked());
        }
        self.prr.is_some()
    }

    fn restart(&mut self, context: &mut Context) {
        self.duplicates = 0;
        self.repeat_first = false;
        self.board.lose_all(context.progress.una, context.progress.high);
    }

    #[inline]
    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64> {
        let progress = &mut *context.progress;
        if std::mem::take(&mut self.repeat_first) {
            return Some(progress.una);
        }
        let window = match &self.prr {
            Some(prr) if progress.phase.is_reducing() => prr.window(),
            _ => window,
        };
        if self.board.pipe(progress.una, progress.nxt) >= window {
            progress.cwnd_limited = true;
            return None;
        }
        let lost = if progress.phase == Phase::Open { None } else { self.board.next_lost() };
        lost.or_else(|| progress.next_new()).or_else(|| match progress.phase {
            Phase::Recovery { .. } => self.board.next_rescue(progress.una, progress.nxt),
            _ => None,
        })
    }

    fn on_sent(&mut self, _seq: u64, _again: bool, _context: &mut Context) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
    }

    #[inline]
    fn tally(&self, _progress: &Progress, _outstanding: &Outstanding) -> Tally {
        Tally { arrived: self.board.sacked(), lost: self.board.pending() }
    }

    fn is_idle(&self, _outstanding: &Outstanding) -> bool {
        self.duplicates == 0 && self.board.sacked() == 0 && !self.repeat_first
    }
}
