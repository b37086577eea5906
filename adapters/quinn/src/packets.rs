//! A controller of quinn's behind the packet-level interface, in a shared library that every command takes.
//!
//! A crate of type `cdylib` names its factories, and exports them:
//!
//! ```ignore
//! struct Mine;
//!
//! impl fullpipe_quinn::Factory for Mine {
//!     const NAME: &'static CStr = c"mine";
//!
//!     fn build() -> Arc<dyn ControllerFactory> {
//!         Arc::new(MyConfig::default())
//!     }
//! }
//!
//! fullpipe_abi::export!(fullpipe_quinn::Exported<Mine>);
//! ```
//!
//! Losses of an ACK come before its acknowledgments, where quinn's connection reports them after. The transport paces at 1.25 windows per
//! RTT, as quinn does.

use crate::estimator::Estimator;
use fullpipe_abi::packets::{Acked, Lost, PacketControl, Path, Rtt, Sent};
use fullpipe_abi::{Controller, NONE, Start};
use quinn_proto::congestion::ControllerFactory;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// RTT before the first sample (RFC 9002 section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Controller of quinn's trait, with its name in scenarios.
pub trait Factory {
    /// Name in scenarios.
    const NAME: &'static CStr;

    /// The library's factory.
    fn build() -> Arc<dyn ControllerFactory>;
}

/// Controller of a [`Factory`], for [`fullpipe_abi::export!`].
pub struct Exported<F> {
    controller: Box<dyn quinn_proto::congestion::Controller>,
    estimator: Estimator,
    /// Instant that stands for time 0.
    origin: Instant,
    factory: PhantomData<F>,
}

impl<F> Exported<F> {
    /// Time 0 is a nanosecond after the controller was built: a controller takes packets sent at that instant for older ones.
    fn at(&self, now: u64) -> Instant {
        self.origin + Duration::from_nanos(now + 1)
    }
}

impl<F: Factory> Controller for Exported<F> {
    const NAME: &'static CStr = F::NAME;

    #[expect(clippy::disallowed_methods, reason = "an origin, of which only differences are used")]
    fn create(start: &Start, _: &[f64]) -> Exported<F> {
        let origin = Instant::now();
        let rtt = if start.initial_rtt_ns == NONE { INITIAL_RTT } else { Duration::from_nanos(start.initial_rtt_ns) };
        getrandom::seed(start.seed);
        let mtu = u16::try_from(start.datagram).unwrap_or(u16::MAX);
        let controller = F::build().build(origin, mtu);
        Exported { controller, estimator: Estimator::new(origin, rtt), origin, factory: PhantomData }
    }
}

impl<F> PacketControl for Exported<F> {
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

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.controller.metrics().ssthresh
    }
}
