//! Handshake and keys without protection, for a connection with both ends in this process. Each end sends its transport
//! parameters, and no packet is encrypted. Implements only the parts of a cryptographic library that quinn-proto calls.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;

/// Length of a tag in the ciphers of TLS.
const TAG_BYTES: usize = 16;

/// State of one end's handshake. The client sends a hello with its parameters. The server sends a hello, and then its
/// parameters. The client then sends a message that it is done.
struct Handshake {
    side: Side,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Number of messages written, keys given out, and messages read.
    written: u32,
    read: u32,
    done: bool,
}

impl Handshake {
    fn new(side: Side, params: &TransportParameters) -> Handshake {
        let mut own = Vec::new();
        params.write(&mut own);
        Handshake { side, own, peer: None, written: 0, read: 0, done: false }
    }

    fn take_parameters(&mut self, message: &[u8]) -> Result<(), TransportError> {
        let peer = TransportParameters::read(self.side, &mut Cursor::new(message));
        self.peer = Some(peer.map_err(|_| TransportError::from(TransportErrorCode::PROTOCOL_VIOLATION))?);
        Ok(())
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.done
    }

    fn read_handshake(&mut self, message: &[u8]) -> Result<bool, TransportError> {
        self.read += 1;
        match (self.side, self.read) {
            (Side::Server, 1) | (Side::Client, 2) => self.take_parameters(message)?,
            (Side::Server, _) => self.done = true,
            (Side::Client, _) => {}
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, message: &mut Vec<u8>) -> Option<Keys> {
        let step = (self.side, self.written, self.read);
        let (text, gives_keys): (&[u8], bool) = match step {
            (Side::Client, 0, _) => (&self.own, false),
            (Side::Client, 1, 1..) => (&[], true),
            (Side::Client, 2, 2..) => (b"done", true),
            (Side::Server, 0, 1..) => (b"hello", true),
            (Side::Server, 1, _) => (&self.own, true),
            _ => return None,
        };
        message.extend_from_slice(text);
        self.written += 1;
        self.done |= (self.side, self.written) == (Side::Client, 3);
        gives_keys.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Configuration of both ends, and every key.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, params)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, params))
    }
}

fn keys() -> Keys {
    let header =
        KeyPair { local: Box::new(Plain) as Box<dyn HeaderKey>, remote: Box::new(Plain) as Box<dyn HeaderKey> };
    let packet =
        KeyPair { local: Box::new(Plain) as Box<dyn PacketKey>, remote: Box::new(Plain) as Box<dyn PacketKey> };
    Keys { header, packet }
}

impl PacketKey for Plain {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG_BYTES
    }
}

impl HmacKey for Plain {
    fn sign(&self, _: &[u8], signature: &mut [u8]) {
        // The token of a stateless reset is made of this. No packet may end with it: all packets end with a tag of
        // zeros.
        signature.fill(0xff);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Plain {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Plain)
    }
}

impl AeadKey for Plain {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
