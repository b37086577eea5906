//! Transfers between two endpoints of quinn-proto over [`Links`], in virtual time: packets, loss detection, pacing, and flow control are
//! quinn's. Packets are not encrypted ([`fullpipe_quinn::Plain`]). Two runs are identical.

pub mod comparison;
pub mod detection;
mod endpoint;
mod frames;
mod s2n;
pub mod trace;

use endpoint::Side;
use fullpipe_net::{Delivered, Direction, Ecn, Links};
use quinn_proto::EcnCodepoint;
use quinn_proto::congestion::ControllerFactory;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Headers of UDP and IPv4, bytes.
const HEADERS: u32 = 28;

/// Result of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time at which the receiver has all bytes, nanoseconds; `None` at the end of the time limit.
    pub completed_at: Option<u64>,
    /// Bytes that the receiver has in order.
    pub received: u64,
    /// Packets that the sender has sent.
    pub sent: u64,
    /// Packets of the sender that its link has lost.
    pub lost: u64,
    /// Hash of the time, size, and direction of each packet that has arrived.
    pub digest: u64,
}

/// Packets between the two endpoints.
struct Wire {
    links: Links,
    there: Direction,
    back: Direction,
    /// Packets by their tags.
    packets: Vec<Vec<u8>>,
    digest: u64,
}

impl Wire {
    fn send(&mut self, now: u64, from_client: bool, packet: Vec<u8>, ecn: Option<EcnCodepoint>) {
        let ecn = match ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        let (tag, bytes) = (self.packets.len() as u64, packet.len() as u32 + HEADERS);
        self.packets.push(packet);
        let direction = if from_client { self.there } else { self.back };
        self.links.send(now, direction, bytes, ecn, tag);
    }

    /// Next packet that arrives by `now`: whether it is for the server, its bytes, and its ECN field.
    fn deliver(&mut self, now: u64) -> Option<(bool, Vec<u8>, Option<EcnCodepoint>)> {
        let Delivered { direction, at, ecn, tag } = self.links.deliver(now)?;
        let packet = std::mem::take(&mut self.packets[tag as usize]);
        for value in [at, packet.len() as u64, direction.index() as u64] {
            self.digest = (self.digest ^ value).wrapping_mul(0x0000_0100_0000_01b3); // FNV-1a
        }
        let ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        Some((direction == self.there, packet, ecn))
    }
}

/// Transfers `bytes` from a client to a server over the link `link`, with a controller of quinn's, until `limit_ns` at most.
///
/// # Panics
/// There is no such link.
pub fn transfer(
    links: Links,
    link: &str,
    bytes: u64,
    controller: Arc<dyn ControllerFactory + Send + Sync>,
    limit_ns: u64,
) -> Transfer {
    logged_transfer(links, link, bytes, controller, limit_ns, None)
}

/// As [`transfer`], and writes the client's events to `log`, as quinn's qlog (JSON text sequences).
///
/// # Panics
/// There is no such link.
pub fn logged_transfer(
    links: Links,
    link: &str,
    bytes: u64,
    controller: Arc<dyn ControllerFactory + Send + Sync>,
    limit_ns: u64,
    log: Option<Box<dyn Write + Send + Sync>>,
) -> Transfer {
    watched_transfer(links, link, bytes, controller, limit_ns, log, &mut |_, _| {})
}

/// What the client does at a time.
pub(crate) enum Seen<'a> {
    /// It sends a datagram.
    Sent(&'a [u8]),
    /// It receives a datagram.
    Arrived(&'a [u8]),
    /// It has done all for this time.
    End,
}

fn watched_transfer(
    links: Links,
    link: &str,
    bytes: u64,
    controller: Arc<dyn ControllerFactory + Send + Sync>,
    limit_ns: u64,
    log: Option<Box<dyn Write + Send + Sync>>,
    watch: &mut dyn FnMut(u64, Seen),
) -> Transfer {
    let (there, back) = (links.find(link, false).expect("a link"), links.find(link, true).expect("a link"));
    let mut wire = Wire { links, there, back, packets: Vec::new(), digest: 0xcbf2_9ce4_8422_2325 };
    let origin = origin();
    let at = |now: u64| origin + Duration::from_nanos(now);
    fullpipe_quinn::seed(1);
    let mut client = Side::client(at(0), bytes, controller, log);
    let mut server = Side::server();
    let (mut now, mut sent) = (0, 0);
    loop {
        sent += client.drive(at(now), |packet, ecn| {
            watch(now, Seen::Sent(&packet));
            wire.send(now, true, packet, ecn);
        });
        server.drive(at(now), |packet, ecn| wire.send(now, false, packet, ecn));
        watch(now, Seen::End);
        if server.received() >= bytes || now >= limit_ns {
            break;
        }
        let timers = [&mut client, &mut server].into_iter().filter_map(Side::timeout);
        let due = timers.map(|due| due.saturating_duration_since(origin).as_nanos() as u64);
        let Some(next) = due.chain(wire.links.next_event()).min() else { break };
        now = next.max(now);
        client.on_time(at(now));
        server.on_time(at(now));
        while let Some((to_server, packet, ecn)) = wire.deliver(now) {
            if !to_server {
                watch(now, Seen::Arrived(&packet));
            }
            let side = if to_server { &mut server } else { &mut client };
            side.take(at(now), packet, ecn);
        }
    }
    let completed_at = (server.received() >= bytes).then_some(now);
    Transfer { completed_at, received: server.received(), sent, lost: wire.links.lost(there), digest: wire.digest }
}

/// Instant that stands for time 0. quinn takes differences of instants alone.
#[expect(clippy::disallowed_methods, reason = "an origin, of which only differences are used")]
fn origin() -> Instant {
    Instant::now()
}
