//! quinn's own `RttEstimator`, with the samples of the simulator.
//!
//! Controllers take one by reference, and quinn-proto does not export its construction (`RttEstimator::new` and `update` are `pub(crate)`).
//! But a connection passes its estimator to its controller, and takes samples from the clock of its caller. So this module runs a connection
//! of two ends in this process. It sends a ping for each sample, whose answer arrives one RTT later.
//! Its packets are not encrypted ([`Plain`]), and no controller limits it. Smoothed and
//! least RTT are computed by quinn's code, to the nanosecond.

use crate::plain::Plain;
use bytes::BytesMut;
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
    RttEstimator, ServerConfig, TransportConfig, ValidationTokenConfig,
};
use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Estimator inside a quinn connection.
pub struct Estimator {
    client: End,
    server: End,
    now: Instant,
    seen: Arc<Seen>,
}

/// Estimator that the controller has received.
#[derive(Default)]
struct Seen(Mutex<Option<RttEstimator>>);

/// One end of the connection.
struct End {
    endpoint: Endpoint,
    connection: Connection,
    handle: ConnectionHandle,
}

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 443);

impl Estimator {
    /// That of a connection whose handshake has taken round trips of `rtt`.
    pub fn new(now: Instant, rtt: Duration) -> Estimator {
        let seen = Arc::<Seen>::default();
        let mut transport = TransportConfig::default();
        let mut frequency = AckFrequencyConfig::default();
        frequency.ack_eliciting_threshold(0u32.into());
        transport
            .mtu_discovery_config(None)
            .max_idle_timeout(None)
            .enable_segmentation_offload(false)
            .ack_frequency_config(Some(frequency))
            .congestion_controller_factory(Arc::new(Unlimited(seen.clone())));
        let transport = Arc::new(transport);
        let mut config = EndpointConfig::new(Arc::new(Plain));
        config.rng_seed(Some([0; 32]));
        let config = Arc::new(config);
        let mut serving = ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        serving.transport_config(transport.clone()).validation_token_config(tokens);
        let mut calling = ClientConfig::new(Arc::new(Plain));
        calling.transport_config(transport);

        let mut endpoint = Endpoint::new(config.clone(), None, false, None);
        let called = endpoint.connect(now, calling, ADDRESS, "peer");
        let (handle, connection) = called.expect("a configuration of ours");
        let mut client = End { endpoint, connection, handle };
        let mut answering = Endpoint::new(config, Some(Arc::new(serving)), false, None);
        let hello = client.datagram(now).expect("a client begins");
        let mut now = now + rtt / 2;
        let Some(DatagramEvent::NewConnection(incoming)) =
            answering.handle(now, ADDRESS, None, None, hello, &mut Vec::new())
        else {
            unreachable!("a first packet is a connection's");
        };
        let Ok((handle, connection)) = answering.accept(incoming, now, &mut Vec::new(), None) else {
            unreachable!("a connection of ours is accepted");
        };
        let mut server = End { endpoint: answering, connection, handle };
        // Two round trips, and one for outstanding acknowledgements.
        for _ in 0..3 {
            server.send_all(now, now + rtt / 2, &mut client);
            now += rtt / 2;
            client.send_all(now, now + rtt / 2, &mut server);
            now += rtt / 2;
        }
        server.send_all(now, now + rtt / 2, &mut client);
        now += rtt / 2;
        let open = !client.connection.is_handshaking() && !server.connection.is_handshaking();
        assert!(open && !client.connection.is_closed() && !server.connection.is_closed(), "the handshake is over");
        Estimator { client, server, now, seen }
    }

    /// Takes a sample of `rtt`. Returns the estimator before it, as quinn passes it to the controller with the ACK of the sample
    /// (`on_ack_received` calls `RttEstimator::update` last).
    pub fn sample(&mut self, rtt: Duration) -> RttEstimator {
        self.client.connection.ping();
        self.client.send_all(self.now, self.now + rtt, &mut self.server);
        self.now += rtt;
        self.server.send_all(self.now, self.now, &mut self.client);
        self.before()
    }

    /// Estimator before the last sample.
    pub fn before(&self) -> RttEstimator {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).expect("the handshake has been acknowledged")
    }

    /// The smoothed RTT, the last sample included.
    pub fn smoothed(&self) -> Duration {
        self.client.connection.rtt()
    }
}

impl std::fmt::Debug for Estimator {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Estimator").field("smoothed", &self.smoothed()).finish_non_exhaustive()
    }
}

impl End {
    /// Next datagram to send, if any.
    fn datagram(&mut self, now: Instant) -> Option<BytesMut> {
        let mut bytes = Vec::new();
        let transmit = self.connection.poll_transmit(now, 1, &mut bytes)?;
        bytes.truncate(transmit.size);
        Some(BytesMut::from(&bytes[..]))
    }

    /// All it has to send at `now` reaches `other` at `arrival`.
    fn send_all(&mut self, now: Instant, arrival: Instant, other: &mut End) {
        self.settle();
        while let Some(datagram) = self.datagram(now) {
            let event = other.endpoint.handle(arrival, ADDRESS, None, None, datagram, &mut Vec::new());
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                other.connection.handle_event(event);
            }
        }
        other.settle();
    }

    /// Exchanges events between connection and endpoint.
    fn settle(&mut self) {
        while self.connection.poll().is_some() {}
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
    }
}

/// A controller that limits nothing, and shows the estimator that it is given.
#[derive(Clone)]
struct Unlimited(Arc<Seen>);

impl Controller for Unlimited {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    /// quinn paces no window beyond 32 bits.
    fn window(&self) -> u64 {
        1 << 40
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Unlimited {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[expect(clippy::disallowed_methods, reason = "where a clock begins is of no matter")]
    fn estimator(rtt: Duration) -> Estimator {
        Estimator::new(Instant::now(), rtt)
    }

    /// RFC 9002 section 5.3: the first sample is the smoothed RTT and the least one; then smoothed = 7/8 smoothed + 1/8 sample. From 100
    /// ms on: 180 ms makes 110, 30 ms makes 100. A controller sees each a sample later.
    #[test]
    fn samples_are_smoothed_by_the_rfc() {
        let mut rtt = estimator(100 * MS);
        assert_eq!(rtt.smoothed(), 100 * MS);
        let before = rtt.sample(180 * MS);
        assert_eq!((before.get(), before.min(), rtt.smoothed()), (100 * MS, 100 * MS, 110 * MS));
        let before = rtt.sample(30 * MS);
        assert_eq!((before.get(), before.min(), rtt.smoothed()), (110 * MS, 100 * MS, 100 * MS));
        let before = rtt.sample(100 * MS);
        assert_eq!((before.get(), before.min(), before.conservative()), (100 * MS, 30 * MS, 100 * MS));
    }

    /// More than packet numbers of one byte or two count.
    #[test]
    fn many_samples_are_taken() {
        let mut rtt = estimator(40 * MS);
        for sample in 0..70_000u32 {
            rtt.sample((40 + sample % 7) * MS);
        }
        assert!(rtt.smoothed() > 42 * MS && rtt.smoothed() < 45 * MS, "{:?}", rtt.smoothed());
    }
}
