//! One endpoint with one connection, driven as a program drives quinn-proto.

use bytes::{Bytes, BytesMut};
use fullpipe_quinn::Plain;
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    QlogConfig, QlogStream, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, ValidationTokenConfig,
    VarInt,
};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// Datagram of RFC 9000 section 14 for IPv4, and no discovery of a larger one.
const DATAGRAM: u16 = 1252;
/// Flow control that never limits.
const CREDIT: u32 = 1 << 30;
/// Data that is written at a time.
const CHUNK: usize = 65_536;

/// An endpoint, its connection, and its application.
pub struct Side {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    /// Bytes that the application has yet to write, and the stream for them.
    left: u64,
    outgoing: Option<StreamId>,
    /// Stream of the peer, and the bytes that have arrived on it in order.
    incoming: Option<StreamId>,
    received: u64,
}

fn address(last: u8) -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, last), 4433).into()
}

fn endpoint(server: Option<ServerConfig>, seed: u8) -> Endpoint {
    let mut config = EndpointConfig::new(Arc::new(Plain));
    config.rng_seed(Some([seed; 32])).grease_quic_bit(false);
    Endpoint::new(Arc::new(config), server.map(Arc::new), false, None)
}

fn transport(
    controller: Option<Arc<dyn ControllerFactory + Send + Sync>>,
    log: Option<QlogStream>,
) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.initial_mtu(DATAGRAM).mtu_discovery_config(None).max_idle_timeout(None);
    transport.stream_receive_window(VarInt::from_u32(CREDIT)).receive_window(VarInt::from_u32(CREDIT));
    transport.send_window(u64::from(CREDIT));
    transport.qlog_stream(log);
    if let Some(controller) = controller {
        transport.congestion_controller_factory(controller);
    }
    Arc::new(transport)
}

impl Side {
    /// Client that connects at `now` and sends `bytes`. Its events are written to `log` as qlog.
    pub fn client(
        now: Instant,
        bytes: u64,
        controller: Arc<dyn ControllerFactory + Send + Sync>,
        log: Option<Box<dyn Write + Send + Sync>>,
    ) -> Side {
        let log = log.and_then(|writer| {
            let mut config = QlogConfig::default();
            config.writer(writer).start_time(now);
            config.into_stream()
        });
        let mut config = ClientConfig::new(Arc::new(Plain));
        config.transport_config(transport(Some(controller), log));
        let (mut endpoint, remote) = (endpoint(None, 1), address(2));
        let connection = endpoint.connect(now, config, remote, "localhost").expect("a connection");
        Side {
            endpoint,
            connection: Some(connection),
            remote,
            left: bytes,
            outgoing: None,
            incoming: None,
            received: 0,
        }
    }

    /// Server that counts received bytes.
    pub fn server() -> Side {
        let mut config = ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.validation_token_config(tokens);
        config.transport_config(transport(None, None));
        let endpoint = endpoint(Some(config), 2);
        Side { endpoint, connection: None, remote: address(1), left: 0, outgoing: None, incoming: None, received: 0 }
    }

    /// Bytes that have arrived in order.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Time of the next timer.
    pub fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout()
    }

    /// Handles timers that are due.
    pub fn on_time(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|due| due <= now)
        {
            connection.handle_timeout(now);
        }
    }

    /// Handles a datagram.
    pub fn take(&mut self, now: Instant, packet: Vec<u8>, ecn: Option<EcnCodepoint>) {
        let mut answer = Vec::new();
        let data = BytesMut::from(packet.as_slice());
        match self.endpoint.handle(now, self.remote, None, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((known, connection)) = &mut self.connection {
                    assert_eq!(*known, handle, "there is one connection");
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.unwrap_or_else(|error| panic!("{}", error.cause)));
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    /// Runs the application, and sends all packets that may leave. Returns their number.
    pub fn drive(&mut self, now: Instant, mut send: impl FnMut(Vec<u8>, Option<EcnCodepoint>)) -> u64 {
        let mut sent = 0;
        loop {
            self.run_application();
            let Some((handle, connection)) = &mut self.connection else { return sent };
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            let mut buffer = Vec::new();
            let Some(Transmit { size, ecn, .. }) = connection.poll_transmit(now, 1, &mut buffer) else { return sent };
            buffer.truncate(size);
            send(buffer, ecn);
            sent += 1;
        }
    }

    fn run_application(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.left > 0 => self.outgoing = connection.streams().open(Dir::Uni),
                Event::ConnectionLost { reason } => panic!("the connection is lost: {reason}"),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.incoming = connection.streams().accept(Dir::Uni);
                }
                _ => {}
            }
        }
        if let Some(stream) = self.incoming {
            self.received += read(connection, stream);
        }
        if let Some(stream) = self.outgoing {
            write(connection, stream, &mut self.left);
        }
    }
}

/// Writes zeros until no byte is left or the connection takes no more; then ends the stream.
fn write(connection: &mut Connection, stream: StreamId, left: &mut u64) {
    const ZEROS: &[u8] = &[0; CHUNK];
    while *left > 0 {
        let most = (*left).min(CHUNK as u64) as usize;
        let Ok(written) = connection.send_stream(stream).write(&ZEROS[..most]) else { return };
        *left -= written as u64;
        if *left == 0 {
            connection.send_stream(stream).finish().expect("an open stream");
        }
    }
}

/// Reads what has arrived in order. Returns the number of bytes.
fn read(connection: &mut Connection, stream: StreamId) -> u64 {
    let mut received = 0;
    let mut incoming = connection.recv_stream(stream);
    let Ok(mut chunks) = incoming.read(true) else { return 0 };
    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
        let bytes: &Bytes = &chunk.bytes;
        received += bytes.len() as u64;
    }
    let _ = chunks.finalize();
    received
}
