//! The ACK of most segments behind a loss: its cumulative number is that of the one before, and one of its SACK blocks has grown by a segment. Everything is as
//! [`Sender::on_any_ack`] has it, in one stretch.

use super::{Arrival, Resting, Sender, Told};
use crate::packet::SackBlocks;
use crate::transport::policy::Policy;
use crate::transport::repair::{Any, News, Repair};
use fullpipe_cc::{Ack, Nanos};

impl<P: Policy> Sender<P> {
    /// Handles such an ACK where the recovery is RACK; false, and nothing is done, if it is another.
    #[inline(always)]
    pub(super) fn on_grown_block(
        &mut self,
        now: Nanos,
        cumulative: u64,
        arrival: &Arrival,
        sack: Option<&SackBlocks>,
        marked: u64,
    ) -> bool {
        #[cfg(test)]
        if self.awake {
            return false;
        }
        let (Any::Rack(rack), Some(blocks)) = (&mut self.repair, sack) else { return false };
        if self.noting || cumulative != self.progress.una {
            return false;
        }
        let Some(seq) = rack.take_grown(blocks, now) else { return false };
        if self.rtt.is_linux() {
            self.sample_sacked(now);
        }
        let Any::Rack(rack) = &mut self.repair else { return false };
        let news = News { now, stamp: arrival.stamp, acked: 0, sacked: 1, rtt: &self.rtt };
        let loss = rack.on_told(&news, &self.progress);
        let in_flight = rack.in_network(&self.progress);
        self.tell_losses(now);
        let Sender { ref progress, round, ref meter, ref rtt, ref mut cc, ref mut watch, .. } = *self;
        let sampler = watch.as_mut().and_then(|watch| watch.sampler.as_mut());
        let sampled = sampler.and_then(|sampler| Some((sampler.on_sacked(now, seq)?, sampler)));
        let delivers = sampled.is_some();
        // Something else than the ACK may have moved the window.
        let mut turns = !delivers;
        if let Some((sample, sampler)) = sampled.filter(|_| cc.takes_rate_samples() || marked > 0) {
            let mut ack = Ack::of(0, 0.0).ce(marked);
            ack.newly_lost = sampler.newly_lost();
            ack.rate = Some(sample);
            let resting = Resting::of(now, progress, round, meter.events.retransmits, rtt, Some(sampler));
            let in_recovery = progress.phase.is_reducing();
            self.cwnd = cc.acked(Told { resting, in_flight, in_recovery, ack });
        } else if marked > 0 && !delivers {
            self.report_marks(now, marked);
        }
        if let Some(loss) = loss {
            self.act_on(loss, now);
            turns = true;
        }
        turns |= self.undo();
        if delivers && self.cc.holds_back() {
            self.call_app_limited();
        }
        // SACKed segments keep it from the fast path.
        self.deadline = self.repair.rewake_at(self.deadline);
        if turns {
            self.cwnd = self.cc.cwnd();
        }
        true
    }
}
