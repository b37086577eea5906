//! Startup (section 4.3.2): twice as fast every round, until the rate of delivery grows no more.

use super::{Bbr, BbrAckEvent, BbrPhase};

/// BBRHighGain: 2/ln 2.
pub(super) const HIGH_GAIN: f64 = 2.885;
/// Growth below which a round counts as full, and the number of such rounds after which the pipe is full (section 4.3.2.2).
const GROWTH: f64 = 1.25;
const FULL_ROUNDS: u8 = 3;

/// The estimator of a full pipe.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BbrFullPipe {
    /// Segments a second.
    bw: f64,
    rounds: u8,
    pub reached: bool,
}

impl BbrFullPipe {
    /// The rate may grow again.
    pub fn look_anew(&mut self) {
        (self.bw, self.rounds) = (0.0, 0);
    }
}

impl Bbr {
    /// BBRCheckFullPipe (section 4.3.2.2).
    pub(super) fn check_full_pipe(&mut self, news: &BbrAckEvent) {
        let pipe = &mut self.full_pipe;
        if pipe.reached || !self.model.round_start || news.rate.is_app_limited {
            return;
        }
        let bw = self.model.max_bw();
        if bw >= pipe.bw * GROWTH {
            (pipe.bw, pipe.rounds) = (bw, 0);
            return;
        }
        pipe.rounds += 1;
        pipe.reached = pipe.rounds >= FULL_ROUNDS;
    }

    /// BBREnterStartup.
    pub(super) fn enter_startup(&mut self) {
        self.phase = BbrPhase::Startup;
    }
}
