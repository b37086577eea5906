//! Transmitter of a served link: sends packets at a rate, which may change, or at the opportunities of a trace.

use super::change::trace::Opportunities;
use super::ledger::Use;
use super::line::{Line, Span, Transmission, Transmissions};
use crate::scenario::Link;
use fullpipe_cc::Nanos;

/// Transmitter of a served link.
#[derive(Debug)]
pub enum Transmitter {
    /// At a rate.
    Line(Sending),
    /// Follows a trace.
    Trace(Opportunities),
}

/// Transmitter with a rate, and the capacity that it has used and offered. A new rate applies after the packet that is
/// being sent, as on a real link. So a link never sends more than it offers.
#[derive(Debug)]
pub struct Sending {
    line: Line,
    transmissions: Transmissions,
    /// The rate never changes.
    steady: bool,
    /// Capacity that a nanosecond counts for: the rate, or 1 if the rate never changes. `sending_weight` is the weight
    /// for the packet being sent.
    weight: u64,
    sending_weight: u64,
    /// Time up to which the sum of offered capacity counts. A later rate is not in it.
    since: Nanos,
    sum: Use,
}

impl Transmitter {
    /// Idle transmitter.
    pub fn new(link: &Link) -> Transmitter {
        if let Some(trace) = &link.trace {
            return Transmitter::Trace(Opportunities::new(trace.clone()));
        }
        let steady = link.schedule.changes.iter().all(|change| change.rate_bps.is_none());
        let weight = if steady { 1 } else { link.rate_bps };
        let (line, transmissions) = (Line::new(link.rate_bps), Transmissions::default());
        let sum = Use::default();
        Transmitter::Line(Sending { line, transmissions, steady, weight, sending_weight: weight, since: 0, sum })
    }

    /// Time at which the last packet given to the transmitter has been sent.
    #[inline]
    pub fn free(&self) -> Nanos {
        match self {
            Transmitter::Line(sending) => sending.line.free(),
            Transmitter::Trace(opportunities) => opportunities.free(),
        }
    }

    /// Whether the transmitter sends nothing until its rate changes.
    #[inline]
    pub fn rests(&self) -> bool {
        matches!(self, Transmitter::Line(Sending { line, .. }) if line.rate_bps() == 0)
    }

    /// Time at which a packet that arrives at `now` at an empty queue can begin to be sent.
    #[inline]
    pub fn start_after(&mut self, now: Nanos) -> Nanos {
        match self {
            Transmitter::Line(sending) => sending.line.free().max(now),
            Transmitter::Trace(opportunities) => opportunities.start_after(now),
        }
    }

    /// Time at which the packet behind the one being sent can begin to be sent.
    #[inline]
    pub fn start(&self) -> Nanos {
        match self {
            Transmitter::Line(sending) => sending.line.free(),
            Transmitter::Trace(opportunities) => opportunities.start(),
        }
    }

    /// Sends a packet from `now`, when it can begin. Returns the time at which it has been sent.
    #[inline(always)]
    pub fn send(&mut self, now: Nanos, size: u32) -> Nanos {
        match self {
            Transmitter::Line(sending) => sending.send(now, size),
            Transmitter::Trace(opportunities) => opportunities.send(size),
        }
        self.free()
    }

    /// Variant of [`Transmitter::send`] for a constant rate and a packet that begins when the one before it has been
    /// sent.
    #[inline(always)]
    pub fn send_next(&mut self, size: u32) -> Nanos {
        let Transmitter::Line(Sending { line, transmissions, sum, .. }) = self else { unreachable!("no trace") };
        sum.used += u128::from(line.send(transmissions.guessed(line, size)));
        line.free()
    }

    /// Sets the rate for the next packet. Returns whether the rate has changed.
    pub fn set_rate(&mut self, now: Nanos, rate_bps: u64) -> bool {
        match self {
            Transmitter::Line(sending) if sending.line.rate_bps() != rate_bps => {
                sending.set_rate(now, rate_bps);
                true
            }
            _ => false,
        }
    }

    /// Whether the transmission time of a packet never changes.
    pub fn is_steady(&self) -> bool {
        matches!(self, Transmitter::Line(sending) if sending.steady)
    }

    /// Transmission time of a packet at the rate; `None` for a trace.
    #[inline]
    pub fn transmission(&mut self, size: u32) -> Transmission {
        match self {
            Transmitter::Line(sending) => sending.transmissions.of(&sending.line, size),
            Transmitter::Trace(_) => Transmission::default(),
        }
    }

    /// Time at which the transmitter would be idle if it also sent `more` now.
    pub fn free_after(&self, more: Span) -> Nanos {
        match self {
            Transmitter::Line(sending) => sending.line.free_after(more),
            Transmitter::Trace(opportunities) => opportunities.free(),
        }
    }

    /// Transmission time of `bytes`.
    pub fn time_of(&self, bytes: u64) -> Nanos {
        match self {
            Transmitter::Line(sending) => sending.line.time_of(bytes),
            Transmitter::Trace(opportunities) => opportunities.time_of(bytes),
        }
    }

    /// Capacity used and offered until `mark`, which is not before the last packet began to be sent.
    pub fn use_at(&self, mark: Nanos) -> Use {
        match self {
            Transmitter::Line(sending) => sending.use_at(mark),
            Transmitter::Trace(opportunities) => opportunities.use_at(mark),
        }
    }
}

impl Sending {
    #[inline(always)]
    fn send(&mut self, now: Nanos, size: u32) {
        self.line.rest_until(now);
        let took = self.line.send(self.transmissions.guessed(&self.line, size));
        self.sum.used += if self.steady { u128::from(took) } else { u128::from(took) * u128::from(self.weight) };
        self.sending_weight = self.weight;
    }

    fn set_rate(&mut self, now: Nanos, rate_bps: u64) {
        let in_force = now.max(self.line.free()).max(self.since);
        self.sum.offered += u128::from(in_force - self.since) * u128::from(self.weight);
        self.since = in_force;
        self.weight = rate_bps;
        self.line.set_rate(rate_bps);
        self.transmissions = Transmissions::default();
    }

    fn use_at(&self, mark: Nanos) -> Use {
        let (weight, sending_weight) = (u128::from(self.weight), u128::from(self.sending_weight));
        let unsent = u128::from(self.line.free().saturating_sub(mark)) * sending_weight;
        // Beyond the mark, the sums count only the packet being sent.
        let before = u128::from(self.since.saturating_sub(mark)) * sending_weight;
        let after = u128::from(mark.saturating_sub(self.since)) * weight;
        Use { used: self.sum.used - unsent, offered: self.sum.offered - before + after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Change, Schedule};

    /// 8 kbit/s at first; the rate may change.
    fn changing() -> Transmitter {
        let change = Change { at: 1, rate_bps: Some(1), delay: None, loss: None };
        let schedule = Schedule { changes: vec![change], repeat: None };
        Transmitter::new(&Link { rate_bps: 8_000, schedule, ..Link::default() })
    }

    const SECOND: Nanos = 1_000_000_000;

    /// In bits.
    fn use_at(transmitter: &Transmitter, mark: Nanos) -> (u128, u128) {
        let Use { used, offered } = transmitter.use_at(mark);
        (used / u128::from(SECOND), offered / u128::from(SECOND))
    }

    /// 2000 bytes take 2 s at 8 kbit/s, even if the rate changes halfway. The next 1000 bytes take 0.5 s at 16 kbit/s.
    #[test]
    fn a_change_waits_for_the_packet_being_sent() {
        let mut line = changing();
        line.send(SECOND, 2000);
        assert!(line.set_rate(2 * SECOND, 1));
        assert!(line.set_rate(2 * SECOND + 1, 16_000));
        assert_eq!(line.free(), 3 * SECOND);
        assert_eq!([2, 3].map(|at| use_at(&line, at * SECOND)), [(8_000, 16_000), (16_000, 24_000)]);
        line.send(3 * SECOND, 1000);
        assert_eq!(line.free(), 3_500_000_000);
        assert_eq!(use_at(&line, 3_250_000_000), (20_000, 28_000));
        assert_eq!(use_at(&line, 5 * SECOND), (24_000, 56_000));
    }

    /// Nothing is offered during an outage.
    #[test]
    fn an_outage_offers_nothing() {
        let mut line = changing();
        assert!(!line.rests() && line.set_rate(2 * SECOND, 0) && line.rests());
        assert_eq!(use_at(&line, 3 * SECOND), (0, 16_000));
        assert!(line.set_rate(4 * SECOND, 8_000) && !line.set_rate(5 * SECOND, 8_000));
        assert_eq!(use_at(&line, 5 * SECOND), (0, 24_000));
    }
}
