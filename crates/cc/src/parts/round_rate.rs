//! Throughput over one round trip.

use super::Mark;
use crate::time::Nanos;
use crate::{Ack, Flow};

/// Measures the rate of delivery, round trip by round trip.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoundRate {
    /// Where to begin; `None` while measuring.
    start_from: Option<Mark>,
    /// Segments delivered, and the time, when the round began.
    delivered: u64,
    began: Nanos,
}

impl RoundRate {
    /// Begins with the flow.
    pub fn new() -> RoundRate {
        RoundRate { start_from: Some(Mark::START), delivered: 0, began: 0 }
    }

    /// Measures nothing until data sent from now on is acknowledged.
    pub fn restart(&mut self, flow: &Flow) {
        self.start_from = Some(Mark::now(flow));
    }

    /// Sees an ACK; the rate in segments per nanosecond if it ends a measured round.
    #[inline]
    pub fn observe(&mut self, flow: &Flow, ack: &Ack) -> Option<f64> {
        if !ack.round_start {
            return None;
        }
        let rate = match self.start_from {
            Some(mark) if !mark.passed(flow) => return None,
            Some(_) => None,
            None if flow.now == self.began => return None,
            None => Some((flow.delivered - self.delivered) as f64 / (flow.now - self.began) as f64),
        };
        *self = RoundRate { start_from: None, delivered: flow.delivered, began: flow.now };
        rate
    }
}
