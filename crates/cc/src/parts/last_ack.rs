//! Time in which the application, and not the window, kept the sender back, for clocks and estimates that leave it out.

use crate::time::Nanos;
use crate::{Ack, Flow};

/// The ACK before this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LastAck {
    at: Nanos,
    /// It left nothing in flight.
    drained: bool,
}

impl LastAck {
    /// Before the first ACK.
    pub const NONE: LastAck = LastAck { at: 0, drained: false };

    /// Takes note of this ACK.
    #[inline]
    pub fn note(&mut self, flow: &Flow) {
        *self = LastAck { at: flow.now, drained: flow.flight_size == 0 };
    }

    /// Time since the flight became empty; 0 if it did not.
    #[inline]
    pub fn idle(&self, flow: &Flow) -> Nanos {
        if self.drained { flow.now - self.at } else { 0 }
    }

    /// Time since the last ACK, and since `clock`, in which the window did not limit the sender. After an empty flight, the last round
    /// trip is not part of it: that is how long the ACK took.
    #[inline]
    pub fn unlimited(&self, flow: &Flow, ack: &Ack, clock: Nanos) -> Nanos {
        if flow.cwnd_limited && !self.drained {
            return 0;
        }
        let round_trip = if flow.cwnd_limited { ack.rtt.or(flow.srtt).unwrap_or(0) } else { 0 };
        (flow.now - self.at.max(clock)).saturating_sub(round_trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACKs at 100 and 250 ms: 150 ms without a limit by the window, 70 ms since a clock that began at 180 ms; with a full window none, or
    /// after an empty flight what exceeds the round trip of 40 ms: 110 and 30 ms.
    #[test]
    fn the_time_without_a_limit_by_the_window() {
        for (cwnd_limited, flight_size, expected) in
            [(false, 5, [150, 70]), (true, 5, [0, 0]), (true, 0, [110, 30]), (false, 0, [150, 70])]
        {
            let mut last = LastAck::NONE;
            last.note(&Flow::at(100).flight_size(flight_size));
            let (flow, ack) = (Flow::at(250).cwnd_limited(cwnd_limited), Ack::of(1, 1.0).rtt(Some(40)));
            assert_eq!(
                [0, 180].map(|clock| last.unlimited(&flow, &ack, clock)),
                expected,
                "{cwnd_limited} {flight_size}"
            );
            assert_eq!(last.idle(&flow), if flight_size == 0 { 150 } else { 0 });
        }
    }
}
