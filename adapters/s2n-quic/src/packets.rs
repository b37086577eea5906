//! Any implementation of s2n-quic's trait `CongestionController` behind the packet-level interface: in a catalogue ([`from_factory`]), or in a
//! shared library that every command takes ([`Exported`]).
//!
//! The trait is sealed without s2n-quic-core's feature `unstable-congestion-controller`. A crate of type `cdylib` names its
//! factories, and exports them:
//!
//! ```
//! use fullpipe_s2n_quic::{Exported, Factory};
//! use s2n_quic_core::recovery::cubic::{Endpoint, builder::Builder};
//! use std::ffi::CStr;
//!
//! struct Mine;
//!
//! impl Factory for Mine {
//!     const NAME: &'static CStr = c"mine";
//!     type Endpoint = Endpoint;
//!
//!     fn build() -> Endpoint {
//!         Builder::default().build() // your factory
//!     }
//! }
//!
//! fullpipe_abi::export!(Exported<Mine>);
//! ```
//!
//! Differences from a connection of s2n-quic 0.91:
//! - An ACK has one `on_ack`, with the bytes of all packets that it acknowledges and the newest packet, as in s2n-quic-transport.

use crate::{Announced, LEAST_PACED, Random, at, controller, estimator};
use fullpipe_abi::packets::{Acked, Lost, PacketControl, Packets, Path, Rtt, Sent};
use fullpipe_abi::{Controller, NONE};
use fullpipe_cc::Nanos;
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::recovery::congestion_controller::Endpoint;
use s2n_quic_core::recovery::{CongestionController, RttEstimator};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::time::Duration;

/// Controller of a factory of yours, for a catalogue: `Catalogue::with(&INFO, |_, start| from_factory(MyEndpoint::default(), &start))`.
pub fn from_factory<E: Endpoint>(factory: E, start: &fullpipe_cc::Start) -> Packets<Control<E::CongestionController>> {
    Packets::new(Control::new(factory, start.segment_bytes.into(), start.rtt, start.seed), start)
}

/// Controller of s2n-quic's trait, and the state that a connection keeps for it.
pub struct Control<C: CongestionController> {
    controller: C,
    rtt: RttEstimator,
    /// Size of each packet in flight, and information of the controller about it.
    sent: BTreeMap<u64, (u64, C::PacketInfo)>,
    /// Bytes discarded, of packets that are still in `sent`.
    discarded: u64,
    announced: Announced,
    random: Random,
}

impl<C: CongestionController> Control<C> {
    /// Controller of a connection with datagrams of `datagram` bytes. `rtt` is the sample of a handshake.
    pub fn new(
        factory: impl Endpoint<CongestionController = C>,
        datagram: u64,
        rtt: Option<Nanos>,
        seed: u64,
    ) -> Control<C> {
        Control {
            controller: controller(factory, u16::try_from(datagram).unwrap_or(u16::MAX)),
            rtt: estimator(rtt),
            sent: BTreeMap::new(),
            discarded: 0,
            announced: Announced::default(),
            random: Random::new(seed),
        }
    }
}

impl<C: CongestionController> Control<C> {
    /// Removes discarded packets. Once an ACK is handled, they are the oldest in flight, because detection settles all older ones.
    fn forget(&mut self) {
        while self.discarded > 0 {
            let bytes = self.sent.pop_first().map_or(u64::MAX, |(_, (bytes, _))| bytes);
            self.discarded = self.discarded.saturating_sub(bytes);
        }
    }
}

impl<C: CongestionController> PacketControl for Control<C> {
    fn window_bytes(&self) -> u64 {
        self.controller.congestion_window().into()
    }

    /// Without an announced rate, and below 2 ms of smoothed RTT, packets leave at once.
    fn pacing_rate_bytes_per_s(&self) -> Option<f64> {
        let pacing = self.announced.pacing.filter(|_| self.rtt.smoothed_rtt() >= LEAST_PACED);
        Some(pacing.map_or(f64::INFINITY, |(rate, _)| rate as f64))
    }

    fn send_quantum_bytes(&self) -> u64 {
        self.announced.pacing.map_or(0, |(_, burst)| burst.into())
    }

    fn on_packet_sent(&mut self, path: &Path, sent: &Sent) {
        let limited = Some(path.app_limited);
        let Control { controller, rtt, announced, .. } = self;
        let info = controller.on_packet_sent(at(path.now), sent.bytes as usize, limited, rtt, announced);
        self.sent.insert(sent.number, (sent.bytes, info));
    }

    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
        let (now, mut newest) = (at(path.now), None);
        if let Some(sample) = rtt {
            let (delay, rtt) = (Duration::from_nanos(sample.ack_delay), Duration::from_nanos(sample.sample));
            self.rtt.update_rtt(delay, rtt, now, true, PacketNumberSpace::ApplicationData);
            self.controller.on_rtt_update(at(path.now - sample.sample), now, &self.rtt, &mut self.announced);
        }
        for packet in acked {
            let info = self.sent.remove(&packet.sent.number);
            newest = info.map(|(_, info)| (packet.sent.sent_at, info)).or(newest);
        }
        self.forget();
        if let Some((sent_at, info)) = newest {
            let bytes = acked.iter().map(|packet| packet.sent.bytes as usize).sum();
            let Control { controller, rtt, random, announced, .. } = self;
            controller.on_ack(at(sent_at), bytes, info, rtt, random, now, announced);
        }
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        let mut before = None;
        for Lost { sent, .. } in lost {
            let is_new_burst = before.is_none_or(|before: u64| before + 1 != sent.number);
            before = Some(sent.number);
            let Some((_, info)) = self.sent.remove(&sent.number) else { continue };
            let (bytes, now) = (sent.bytes as u32, at(path.now));
            let Control { controller, random, announced, .. } = self;
            controller.on_packet_lost(bytes, info, persistent, is_new_burst, random, now, announced);
        }
    }

    fn on_ecn_ce(&mut self, path: &Path, count: u64, _: &Acked) {
        self.controller.on_explicit_congestion(count, at(path.now), &mut self.announced);
    }

    fn on_mtu(&mut self, _: &Path, max_datagram_bytes: u64) {
        let datagram = u16::try_from(max_datagram_bytes).unwrap_or(u16::MAX);
        self.controller.on_mtu_update(datagram, &mut self.announced);
    }

    fn on_discarded(&mut self, _: &Path, bytes: u64) {
        self.discarded += bytes;
        self.controller.on_packet_discarded(bytes as usize, &mut self.announced);
    }
}

/// Factory of s2n-quic's trait, with the name of its controller in scenarios.
pub trait Factory {
    /// Name in scenarios.
    const NAME: &'static CStr;

    /// Type of the factory.
    type Endpoint: Endpoint;

    /// The library's factory.
    fn build() -> Self::Endpoint;
}

/// Controller of a [`Factory`], for [`fullpipe_abi::export!`].
pub struct Exported<F: Factory> {
    control: Control<<F::Endpoint as Endpoint>::CongestionController>,
    factory: PhantomData<F>,
}

impl<F: Factory> Controller for Exported<F> {
    const NAME: &'static CStr = F::NAME;

    fn create(start: &fullpipe_abi::Start, _: &[f64]) -> Exported<F> {
        let rtt = (start.initial_rtt_ns != NONE).then_some(start.initial_rtt_ns);
        Exported { control: Control::new(F::build(), start.datagram, rtt, start.seed), factory: PhantomData }
    }
}

impl<F: Factory> PacketControl for Exported<F> {
    fullpipe_abi::answers_of!(control);

    fn on_packet_sent(&mut self, path: &Path, sent: &Sent) {
        self.control.on_packet_sent(path, sent);
    }

    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
        self.control.on_packets_acked(path, acked, rtt);
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        self.control.on_packets_lost(path, lost, persistent);
    }

    fn on_ecn_ce(&mut self, path: &Path, count: u64, largest: &Acked) {
        self.control.on_ecn_ce(path, count, largest);
    }

    fn on_mtu(&mut self, path: &Path, max_datagram_bytes: u64) {
        self.control.on_mtu(path, max_datagram_bytes);
    }

    fn on_discarded(&mut self, path: &Path, bytes: u64) {
        self.control.on_discarded(path, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use s2n_quic_core::recovery::cubic::builder::Builder;

    /// A discarded packet is reported before the ACK that shows it (RFC 9002 section 6.1.1: three later packets have arrived).
    #[test]
    fn discarded_packets_are_forgotten() {
        let mut control = Control::new(Builder::default().build(), 1000, None, 1);
        let mut path = Path::default();
        path.now = 1;
        let packet = |number| Sent { number, bytes: 1000, sent_at: 1, ..Sent::default() };
        (0..6).for_each(|number| control.on_packet_sent(&path, &packet(number)));
        let acked = |number| Acked { sent: packet(number), acked_at: 1, rate: None };
        control.on_packets_acked(&path, &[acked(0)], None);
        control.on_discarded(&path, 1000);
        control.on_packets_acked(&path, &[acked(2), acked(3), acked(4)], None);
        assert_eq!(control.sent.keys().copied().collect::<Vec<_>>(), [5]);
        assert_eq!(control.discarded, 0);
    }
}
