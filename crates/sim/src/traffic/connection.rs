//! A TCP connection, both ends.

use crate::engine::schedule::StreamId;
use crate::model::quic_datagram;
use crate::network::line::Line;
use crate::network::{Direct, Route};
use crate::packet::{Echo, Segment};
use crate::report::jitter::Jitter;
use crate::rng::Rng;
use crate::scenario::{Spread, Tcp};
use crate::traffic::source::Source;
use crate::transport::ecn::Receiving;
use crate::transport::policy::{Controller, Guard, Policy};
use crate::transport::receiver::{Receiver, Telling};
use crate::transport::sender::Sender;
use fullpipe_cc::{Nanos, Start};
use std::num::NonZero;

/// A TCP connection, both ends. Fields that every packet touches come first, together in memory.
#[repr(C, align(64))]
pub struct Connection<P = Controller> {
    /// Its number.
    pub id: u32,
    /// Which connection of the flow (web traffic opens many, one after another).
    pub incarnation: u16,
    /// Whether it has begun.
    pub life: Life,
    /// One-way delay of its access link: the flow's clock is behind the loop's by this.
    pub access: Nanos,
    /// Time of the retransmission timer's entry in the loop, on the loop's clock.
    pub timer_at: Nanos,
    /// Segments that reached the receiver inside the measuring window for the first time.
    pub received: u64,
    /// The way of its data and of its ACKs.
    pub route: Route,
    /// Fast path of its segments, if they have one.
    pub direct: Option<Direct>,
    /// Where ACKs wait that are on their way to the sender.
    pub ack_stream: StreamId,
    /// Segments that an ACK of the receiver is for.
    pub ack_every: u16,
    /// How long the receiver may hold an ACK.
    pub ack_delay: Option<NonZero<Nanos>>,
    /// Host and access link, which delay packets before the first link; `None` where neither the host nor its link takes time.
    pub access_link: Option<Box<AccessLink>>,
    /// Its application; `None` for one that always has data.
    pub source: Option<Box<Source>>,
    /// The receiving end.
    pub receiver: Receiver,
    /// The sending end.
    pub sender: Sender<P>,
    /// ECN and jitter at its receiver, if either is on.
    pub heed: Option<Box<Heed>>,
    /// Time of the held ACK's entry in the loop.
    pub ack_timer_at: Nanos,
    /// It stopped (`stop`) with data left to send.
    pub stopped: bool,
    /// When it began, and when it was complete (`Nanos::MAX` until then), on its own clock.
    pub started: Nanos,
    /// See `started`.
    pub completed: Nanos,
    /// Segments that reached the receiver inside the measuring window, but had done so before.
    pub duplicates: u64,
    /// Its transfer among all, if it is one.
    pub transfer: Option<u32>,
    /// Which web group it serves.
    pub web: Option<u32>,
}

/// Parts of a receiver that look at every segment, for connections that need them: decided when they begin.
#[derive(Clone, Debug, Default)]
pub struct Heed {
    /// The transport is QUIC.
    pub quic: bool,
    /// The receiving end's part of ECN, if it is on.
    pub ecn: Option<Receiving>,
    /// Jitter of one-way delays, if it is measured.
    pub jitter: Option<Jitter>,
    /// The application's data comes in units, whose delivery is measured.
    pub has_units: bool,
    /// A client of the application waits for the data.
    pub has_client: bool,
}

impl Heed {
    /// A segment arrives, which counts or does not. Returns whether it has to be acknowledged at once.
    pub fn on_data(&mut self, segment: &Segment, counts: bool) -> bool {
        if let Some(jitter) = &mut self.jitter {
            jitter.note(segment.at - segment.stamp, counts);
        }
        self.ecn.as_mut().is_some_and(|ecn| ecn.on_data(segment.marks))
    }

    /// Report of marks in the ACK that is now sent, if any.
    pub fn echo(&self) -> Option<Echo> {
        self.ecn.as_ref().and_then(Receiving::echo)
    }

    /// Bytes it takes on the heap, its own included.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Heed>() + self.jitter.as_ref().map_or(0, Jitter::heap_bytes)
    }
}

impl<P: Policy> Connection<P> {
    /// Time at which a held ACK must leave; `None` if none is held.
    #[inline(always)]
    pub fn ack_deadline(&mut self) -> Option<Nanos> {
        if self.is_quic() {
            return self.sender.quic_receiver().and_then(|receiver| receiver.deadline());
        }
        self.receiver.deadline()
    }
}

impl<P> Connection<P> {
    /// Sets the application. The receiver looks at every segment where data comes in units.
    pub fn set_source(&mut self, source: Option<Box<Source>>) {
        if source.as_ref().is_some_and(|source| source.delivery.is_some()) {
            let heed = self.heed.get_or_insert_default();
            (heed.has_units, heed.has_client) = (true, source.as_ref().is_some_and(|source| source.client.is_some()));
        }
        self.source = source;
    }

    /// Whether the transport is QUIC.
    #[inline(always)]
    pub fn is_quic(&self) -> bool {
        self.heed.as_ref().is_some_and(|heed| heed.quic)
    }

    /// Jitter of its one-way delays, if it is measured.
    pub fn jitter(&self) -> Option<&Jitter> {
        self.heed.as_ref()?.jitter.as_ref()
    }
}

/// A connection's states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It has not begun, or is complete.
    Idle,
    /// It waits for the answer to its SYN.
    Opening,
    /// Data flows.
    Open,
}

/// How much of a connection most packets touch.
pub const HOT_BYTES: usize = 512;

/// Host and access link between a sender's window and its first link, where they take time: the host, which handles its work a random time
/// after it comes, and the wire, which packets leave one after another.
pub struct AccessLink {
    /// `None` for a wire that takes no time.
    line: Option<Line>,
    processing: Spread,
    rng: Rng,
    /// When the host wakes up next, or last did.
    awake: Nanos,
    /// Where packets wait that are on their way to the first link.
    pub stream: StreamId,
}

impl AccessLink {
    /// One on which nothing waits.
    pub fn new(tcp: &Tcp, rng: Rng, stream: StreamId) -> Self {
        let processing = Spread { low: 0, high: tcp.processing_time };
        AccessLink { line: tcp.access_rate_bps.map(Line::new), processing, rng, awake: 0, stream }
    }

    /// The window allows a packet at `at`. Returns when it has been sent. A packet that finds others waiting for the host goes with
    /// them.
    pub fn send(&mut self, at: Nanos, size: u32) -> Nanos {
        if at >= self.awake {
            self.awake = at + self.rng.spread(self.processing);
        }
        match &mut self.line {
            Some(line) => {
                line.rest_until(self.awake);
                line.send(line.transmission(size));
                line.free()
            }
            None => self.awake,
        }
    }
}

/// Controller of a flow whose handshake has measured `rtt`, if it has ended; random choices are drawn from `seed`.
pub fn controller<P: Policy>(tcp: &Tcp, packet_size: u32, rtt: Option<Nanos>, seed: u64, guard: &Guard) -> P {
    let start = Start::from(f64::from(tcp.initial_window)).slow_start(tcp.slow_start);
    let start = tcp.resume.map_or(start, |saved| start.resume(saved));
    let segment_bytes = if tcp.quic.is_some() { quic_datagram(packet_size) } else { packet_size };
    let start = start.segment_bytes(segment_bytes).seed(seed);
    let start = rtt.map_or(start, |rtt| start.rtt(rtt.max(1)));
    let start = start.selective_acks(tcp.recovery.telling() != Telling::Nothing);
    let cc = P::begin(&tcp.algorithm, start, guard.clone());
    if !tcp.pacing.applies_to(&cc) {
        return cc;
    }
    P::begin(&tcp.algorithm, start.paced(true), guard.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::schedule::Schedule;
    use crate::rng::{Identity, Purpose, Ties};
    use crate::scenario::Recovery;

    fn access_link(rate_bps: Option<u64>, processing_time: Nanos) -> AccessLink {
        let tcp = Tcp { access_rate_bps: rate_bps, processing_time, ..Tcp::new("reno", Recovery::Reno, vec![0]) };
        let stream = Schedule::new(Ties::default()).add_stream(Identity::NONE);
        AccessLink::new(&tcp, Rng::new(1, Purpose::Processing, Identity::NONE), stream)
    }

    /// 8 Mbit/s sends 100 bytes in 100 us.
    #[test]
    fn packets_leave_a_slow_link_one_after_another() {
        let mut link = access_link(Some(8_000_000), 0);
        assert_eq!([5, 5, 500_000].map(|at| link.send(at, 100)), [100_005, 200_005, 600_000]);
    }

    /// 3 Gbit/s sends 1 byte in 8/3 ns: three take 8 ns, not 6.
    #[test]
    fn a_slow_link_keeps_its_rate() {
        let mut link = access_link(Some(3_000_000_000), 0);
        assert_eq!([0, 0, 0].map(|at| link.send(at, 1)), [2, 5, 8]);
    }

    #[test]
    fn a_host_takes_a_random_time_and_sends_all_that_waits_at_once() {
        let mut link = access_link(None, 1000);
        let mut waits = Vec::new();
        for round in 1..=1000 {
            let at = round * 10_000;
            let first = link.send(at, 100);
            waits.push(first - at);
            if first > at {
                assert_eq!(link.send(first - 1, 100), first, "it joins the one that waits");
            }
        }
        let mean = waits.iter().sum::<Nanos>() / 1000;
        assert!(waits.iter().all(|&wait| wait <= 1000) && (470..=530).contains(&mean), "mean {mean}");
    }
}
