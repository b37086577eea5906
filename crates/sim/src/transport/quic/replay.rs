//! Loss detection of the QUIC transport on a recorded trace of packets and ACKs, for comparisons with other implementations.

use super::{Connection, MTU_PROBE, News};
use crate::model::Quic;
use crate::packet::Ecn;
use fullpipe_cc::Nanos;
use fullpipe_cc::packets::Lost;

/// Packets that are declared lost.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// The packets, in the order of their numbers.
    pub lost: Vec<Lost>,
    /// Whether they show persistent congestion.
    pub persistent: bool,
}

impl From<News> for Declared {
    fn from(news: News) -> Declared {
        Declared { lost: news.lost, persistent: news.persistent }
    }
}

/// Sender of a recorded connection.
#[derive(Clone, Debug)]
pub struct Replay(Connection);

impl Replay {
    /// Sender that has sent nothing, to a receiver that delays ACKs by `max_ack_delay` at most.
    pub fn new(max_ack_delay: Nanos) -> Replay {
        Replay(Connection::idle(Quic { ack_delay: max_ack_delay, ..Quic::default() }))
    }

    /// Handles an RTT sample of the handshake.
    pub fn sample(&mut self, now: Nanos, rtt: Nanos) {
        self.0.rtt.sample(now, rtt, 0);
    }

    /// Handles the transmission of an ack-eliciting packet. Numbers between the packet before it and this one count as neither data nor
    /// congestion.
    pub fn send(&mut self, now: Nanos, number: u64, bytes: u64) {
        self.0.datagram = 0;
        while self.0.flight.next_number() < number {
            self.0.send(now, MTU_PROBE, false);
        }
        self.0.datagram = bytes;
        self.0.send(now, number, false);
    }

    /// Handles an ACK frame with the ACK delay `delay`. `numbers` are the packets that no ACK before it had, ascending.
    pub fn acknowledge(&mut self, now: Nanos, numbers: &[u64], delay: Nanos) -> Declared {
        for &number in numbers {
            self.0.receiver.take(number, number, 0, Ecn::NotEct);
        }
        let count = self.0.receiver.acknowledge();
        self.0.on_ack(now, count, delay).into()
    }

    /// Expiry of the loss timer or of the probe timeout; [`Nanos::MAX`] if none is set.
    pub fn deadline(&self) -> Nanos {
        self.0.deadline()
    }

    /// Handles the expiry of the timer. Returns losses, or `None` for a probe timeout.
    pub fn on_timer(&mut self, now: Nanos) -> Option<Declared> {
        self.0.on_timer(now).map(Declared::from)
    }

    /// Probe timeouts since the last ACK.
    pub fn pto_count(&self) -> u32 {
        self.0.pto_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::time::MILLISECOND as MS;

    fn numbers(declared: &Declared) -> Vec<u64> {
        declared.lost.iter().map(|lost| lost.sent.number).collect()
    }

    /// RFC 9002 section 6.1.1: number 3 was never sent, and still counts towards the threshold of 3.
    #[test]
    fn a_number_that_was_not_sent_is_a_number_and_no_loss() {
        let mut replay = Replay::new(25 * MS);
        replay.sample(0, 100 * MS);
        [1, 2, 4, 5].into_iter().for_each(|number| replay.send(number, number, 1000));
        assert_eq!(numbers(&replay.acknowledge(100 * MS, &[4], 0)), [1], "2 is two below");
        assert_eq!(numbers(&replay.acknowledge(100 * MS, &[5], 0)), [2]);
        let declared = replay.on_timer(replay.deadline()).expect("the loss timer");
        assert!(declared.lost.is_empty());
        assert_eq!(replay.deadline(), Nanos::MAX, "nothing is left");
    }

    /// RFC 9002 section 6.2.1, as in `the_probe_timer_runs_while_a_packet_is_in_flight`.
    #[test]
    fn the_probe_timeout_doubles() {
        let mut replay = Replay::new(25 * MS);
        replay.sample(0, 100 * MS);
        replay.send(0, 0, 1000);
        assert_eq!(replay.deadline(), 325 * MS);
        assert!(replay.on_timer(325 * MS).is_none());
        assert_eq!((replay.deadline(), replay.pto_count()), (650 * MS, 1));
    }
}
