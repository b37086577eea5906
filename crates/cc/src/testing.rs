//! A sender just good enough to drive an algorithm in unit tests: a full window in flight, one ACK per segment.

use crate::time::{MILLISECOND, Nanos};
use crate::{Ack, CongestionControl, Flow, Signal};

/// A sender at time 0 whose window is full.
pub(crate) const FLOW: Flow = Flow::at(0).cwnd_limited(true);

/// The sender's side of the conversation.
#[derive(Debug)]
pub(crate) struct Driver {
    /// State that the algorithm is shown.
    pub flow: Flow,
    round_end: u64,
}

impl Driver {
    /// A sender at time 0 that has sent nothing.
    pub fn new() -> Driver {
        Driver { flow: FLOW, round_end: 0 }
    }

    /// One ACK with an RTT of `rtt_ms`; returns whether it began a round. Time passes by RTT/window.
    pub fn ack(&mut self, cc: &mut impl CongestionControl, rtt_ms: f64) -> bool {
        self.ack_with(cc, rtt_ms, None)
    }

    /// One ACK with a delay on the reverse path, milliseconds on clocks that disagree.
    pub fn ack_with(&mut self, cc: &mut impl CongestionControl, rtt_ms: f64, backward_ms: Option<f64>) -> bool {
        let rtt = nanos(rtt_ms);
        self.flow.now += (rtt as f64 / cc.cwnd()) as Nanos;
        self.flow.delivered += 1;
        self.flow.flight_size = cc.cwnd() as u64 - 1;
        self.flow.srtt = Some(rtt);
        self.flow.min_rtt = Some(self.flow.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let round_start = self.flow.delivered > self.round_end;
        if round_start {
            self.round_end = self.flow.delivered + self.flow.flight_size;
            self.flow.round += 1;
        }
        let backward_delay = backward_ms.map(|ms| (ms * MILLISECOND as f64) as i64);
        cc.on_ack(
            &self.flow,
            &Ack { acked: 1, credit: 1.0, round_start, rtt: Some(rtt), backward_delay, ..Ack::default() },
        );
        round_start
    }

    /// ACKs until the next round begins; the ACK that begins it included.
    pub fn round(&mut self, cc: &mut impl CongestionControl, rtt_ms: f64) {
        while !self.ack(cc, rtt_ms) {}
    }

    /// A loss, and its recovery at once.
    pub fn lose(&mut self, cc: &mut impl CongestionControl) {
        self.flow.flight_size = cc.cwnd() as u64;
        cc.on_congestion(&self.flow, Signal::Loss);
        cc.on_recovered(&self.flow);
    }
}

fn nanos(ms: f64) -> Nanos {
    (ms * MILLISECOND as f64) as Nanos
}
