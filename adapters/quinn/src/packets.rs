//! Any implementation of quinn's trait `Controller` behind the packet-level interface: in a catalogue ([`from_factory`]), or in a shared
//! library that every command takes ([`Exported`]).
//!
//! A crate of type `cdylib` names its factories, and exports them:
//!
//! ```
//! use fullpipe_quinn::{Exported, Factory};
//! use quinn_proto::congestion::{ControllerFactory, CubicConfig};
//! use std::{ffi::CStr, sync::Arc};
//!
//! struct Mine;
//!
//! impl Factory for Mine {
//!     const NAME: &'static CStr = c"mine";
//!
//!     fn build() -> Arc<dyn ControllerFactory> {
//!         Arc::new(CubicConfig::default()) // your factory
//!     }
//! }
//!
//! fullpipe_abi::export!(Exported<Mine>);
//! ```
//!
//! Differences from a connection of quinn-proto 0.11.19:
//! - The losses of an ACK come before its acknowledgments. quinn reports them after: `AckedFirst<Exported<Mine>>`, with [`fullpipe_abi::AckedFirst`],
//!   does it as well.
//! - The transport paces at 1.25 windows per RTT, in bursts of ten packets at most. quinn's bursts grow with the rate, up to 2 ms of it.
//! - A rate that a controller reports in its metrics is not used, as in quinn.

use crate::estimator::Estimator;
use fullpipe_abi::packets::{Acked, Lost, PacketControl, Packets, Path, Rtt, Sent};
use fullpipe_abi::{Controller, NONE};
use quinn_proto::congestion::ControllerFactory;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// RTT before the first sample (RFC 9002 section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Controller of a factory of yours, for a catalogue: `Catalogue::with(&INFO, |_, start| from_factory(Arc::new(MyConfig::default()), &start))`.
pub fn from_factory(factory: Arc<dyn ControllerFactory>, start: &fullpipe_cc::Start) -> Packets<Control> {
    Packets::new(
        Control::new(factory, start.segment_bytes.into(), start.rtt.map(Duration::from_nanos), start.seed),
        start,
    )
}

/// Controller of quinn's trait, and the state that a connection keeps for it.
pub struct Control {
    controller: Box<dyn quinn_proto::congestion::Controller>,
    estimator: Estimator,
    /// Instant of time 0.
    origin: Instant,
}

impl Control {
    /// Controller of a connection with datagrams of `datagram` bytes. `rtt` is the sample of a handshake.
    #[expect(clippy::disallowed_methods, reason = "an origin, of which only differences are used")]
    pub fn new(factory: Arc<dyn ControllerFactory>, datagram: u64, rtt: Option<Duration>, seed: u64) -> Control {
        let origin = Instant::now();
        crate::seed(seed);
        let controller = factory.build(origin, u16::try_from(datagram).unwrap_or(u16::MAX));
        Control { controller, estimator: Estimator::new(origin, rtt.unwrap_or(INITIAL_RTT)), origin }
    }

    /// Time 0 is a nanosecond after the controller was built: a controller takes packets sent at that instant for older ones.
    fn at(&self, now: u64) -> Instant {
        self.origin + Duration::from_nanos(now + 1)
    }
}

impl PacketControl for Control {
    fn window_bytes(&self) -> u64 {
        self.controller.window()
    }

    fn on_packet_sent(&mut self, path: &Path, sent: &Sent) {
        self.controller.on_sent(self.at(path.now), sent.bytes, sent.number);
    }

    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
        let (now, before) = (self.at(path.now), self.estimator.before());
        for packet in acked {
            let sent_at = self.at(packet.sent.sent_at);
            self.controller.on_ack(now, sent_at, packet.sent.bytes, path.app_limited, &before);
        }
        let largest = acked.last().map(|packet| packet.sent.number);
        self.controller.on_end_acks(now, path.in_flight, path.app_limited, largest);
        if let Some(rtt) = rtt {
            self.estimator.sample(Duration::from_nanos(rtt.adjusted));
        }
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        let Some(newest) = lost.last() else { return };
        let bytes = lost.iter().map(|packet| packet.sent.bytes).sum();
        let sent_at = self.at(newest.sent.sent_at);
        self.controller.on_congestion_event(self.at(path.now), sent_at, persistent, bytes);
    }

    fn on_ecn_ce(&mut self, path: &Path, _: u64, largest: &Acked) {
        let sent_at = self.at(largest.sent.sent_at);
        self.controller.on_congestion_event(self.at(path.now), sent_at, false, 0);
    }

    fn on_mtu(&mut self, _: &Path, max_datagram_bytes: u64) {
        self.controller.on_mtu_update(u16::try_from(max_datagram_bytes).unwrap_or(u16::MAX));
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.controller.metrics().ssthresh.filter(|&bytes| bytes != u64::MAX)
    }
}

/// Controller of quinn's trait, with its name in scenarios.
pub trait Factory {
    /// Name in scenarios.
    const NAME: &'static CStr;

    /// The library's factory.
    fn build() -> Arc<dyn ControllerFactory>;
}

/// Controller of a [`Factory`], for [`fullpipe_abi::export!`].
pub struct Exported<F> {
    control: Control,
    factory: PhantomData<F>,
}

impl<F: Factory> Controller for Exported<F> {
    const NAME: &'static CStr = F::NAME;

    fn create(start: &fullpipe_abi::Start, _: &[f64]) -> Exported<F> {
        let rtt = (start.initial_rtt_ns != NONE).then(|| Duration::from_nanos(start.initial_rtt_ns));
        Exported { control: Control::new(F::build(), start.datagram, rtt, start.seed), factory: PhantomData }
    }
}

impl<F> PacketControl for Exported<F> {
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
}
