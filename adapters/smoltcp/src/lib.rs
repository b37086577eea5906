//! Transfers between two TCP/IP stacks of smoltcp over [`Links`], in virtual time: segments, retransmissions, and windows are smoltcp's. Two
//! runs are identical.
//!
//! smoltcp's clock counts microseconds: a stack takes a packet at the beginning of the microsecond in which it arrives.

use fullpipe_net::{Direction, Ecn, Links};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr, Ipv4Address};
use std::collections::VecDeque;

/// Size of an IPv4 packet at most, bytes.
const MTU: usize = 1500;
/// Buffers of a socket, bytes.
const BUFFER: usize = 1 << 20;
const PORT: u16 = 5001;

/// Result of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time at which the receiver has all bytes, nanoseconds; `None` at the end of the time limit.
    pub completed_at: Option<u64>,
    /// Bytes that the receiver's application has read.
    pub received: u64,
    /// Packets of the sender.
    pub sent: u64,
    /// Packets of the sender that its link has lost.
    pub lost: u64,
}

/// Device of a stack: packets that have arrived, and packets to send.
#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    leaving: Vec<Vec<u8>>,
}

struct Arrived(Vec<u8>);

struct Leaving<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, fill: F) -> R {
        let mut packet = vec![0; bytes];
        let done = fill(&mut packet);
        self.0.push(packet);
        done
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

/// One stack with one socket.
struct Host {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    wire: Wire,
}

fn address(last: u8) -> Ipv4Address {
    Ipv4Address::new(192, 0, 2, last)
}

fn time(now: u64) -> Instant {
    Instant::from_micros((now / 1000) as i64)
}

impl Host {
    fn new(last: u8) -> Host {
        let mut wire = Wire::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = last.into();
        let mut interface = Interface::new(config, &mut wire, time(0));
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(address(last).into(), 24)).expect("room for an address");
        });
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(CongestionControl::Cubic);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Host { interface, sockets, socket, wire }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// Processes packets that have arrived and timers. Sends into a direction of the links.
    fn poll(&mut self, now: u64, links: &mut Links, direction: Direction, packets: &mut Vec<Vec<u8>>) -> u64 {
        self.interface.poll(time(now), &mut self.wire, &mut self.sockets);
        let sent = self.wire.leaving.len() as u64;
        for packet in self.wire.leaving.drain(..) {
            links.send(now, direction, packet.len() as u32, Ecn::NotEct, packets.len() as u64);
            packets.push(packet);
        }
        sent
    }

    /// Time of the next timer, nanoseconds.
    fn due(&mut self, now: u64) -> Option<u64> {
        let due = self.interface.poll_at(time(now), &self.sockets)?;
        Some(due.total_micros() as u64 * 1000)
    }
}

/// Transfers `bytes` from a client to a server over the link `link` with smoltcp's CUBIC, until `limit_ns` at most.
///
/// # Panics
/// There is no such link.
pub fn transfer(mut links: Links, link: &str, bytes: u64, limit_ns: u64) -> Transfer {
    let (there, back) = (links.find(link, false).expect("a link"), links.find(link, true).expect("a link"));
    let (mut client, mut server) = (Host::new(1), Host::new(2));
    server.socket().listen(PORT).expect("a free port");
    let Host { interface, sockets, socket, .. } = &mut client;
    let connecting = sockets.get_mut::<Socket>(*socket).connect(interface.context(), (address(2), PORT), 49_152);
    connecting.expect("a closed socket");

    let mut packets = Vec::new();
    let (mut now, mut left, mut received, mut sent) = (0, bytes, 0, 0);
    let zeros = [0; 65_536];
    loop {
        if client.socket().can_send() {
            let most = left.min(zeros.len() as u64) as usize;
            left -= client.socket().send_slice(&zeros[..most]).expect("an open socket") as u64;
        }
        while server.socket().can_recv() {
            received += server.socket().recv(|data| (data.len(), data.len())).expect("an open socket") as u64;
        }
        sent += client.poll(now, &mut links, there, &mut packets);
        server.poll(now, &mut links, back, &mut packets);
        if received >= bytes || now >= limit_ns {
            break;
        }
        // A stack that still has something to do now gets its next microsecond.
        let timers = [client.due(now), server.due(now)].into_iter().flatten().map(|due| due.max(now + 1000));
        let Some(next) = timers.chain(links.next_event()).min() else { break };
        now = next;
        while let Some(delivered) = links.deliver(now) {
            let host = if delivered.direction == there { &mut server } else { &mut client };
            host.wire.arrived.push_back(std::mem::take(&mut packets[delivered.tag as usize]));
        }
    }
    let completed_at = (received >= bytes).then_some(now);
    Transfer { completed_at, received, sent, lost: links.lost(there) }
}
