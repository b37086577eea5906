//! QUIC in the place of TCP: `transport`, `ack_every`, `ack_delay`, and `ack_reorder` of its receivers, `mtu_probes`, and `tunnel`.

use super::keys::{self, TUNNEL};
use super::problem::Problem;
use super::reader::Reader;
use super::render::{quantity, whole};
use super::units::TIME;
use super::{Pacing, Recovery, Tcp, Value, limits};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MILLISECOND;

/// Transport protocol of a flow.
///
/// ```
/// use fullpipe_sim::Scenario;
/// use fullpipe_sim::model::Transport;
///
/// let text = r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP" }]
///     flows = [{ algorithm = "cubic", transport = "quic" }]
/// "#;
/// assert!(Scenario::from_toml(text)?.flows[0].tcp.quic.is_some());
/// assert_eq!(Transport::find("quic"), Some(Transport::Quic));
/// # Ok::<(), fullpipe_sim::scenario::Problem>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp,
    /// QUIC (RFC 9000, RFC 9002).
    Quic,
}

fullpipe_cc::named! { Transport { Tcp = "tcp", Quic = "quic" } }

/// Rules of a QUIC connection: ACKs of its receiver (RFC 9000 section 13.2, draft-ietf-quic-ack-frequency), and its path MTU.
///
/// Example: see [`Tcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quic {
    /// Packets that an ACK is sent after.
    pub ack_every: u32,
    /// Longest time that an ACK is held back (max_ack_delay).
    pub ack_delay: Nanos,
    /// Reordering threshold of an immediate ACK: 0 for none, 1 for any reordering.
    pub ack_reorder: u32,
    /// Time between path MTU probes, which the path drops.
    pub mtu_probes: Option<Nanos>,
    /// Tunnel that the path enters.
    pub tunnel: Option<Tunnel>,
}

impl Quic {
    /// Whether the receiver acknowledges as RFC 9000 has it, without an ACK_FREQUENCY frame.
    pub fn has_default_acks(&self) -> bool {
        let acks = |rules: &Quic| (rules.ack_every, rules.ack_delay, rules.ack_reorder);
        acks(self) == acks(&Quic::default())
    }
}

/// Tunnel on the path of a flow: its headers leave less of each packet for the datagram.
///
/// ```
/// use fullpipe_sim::Scenario;
///
/// let text = r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP" }]
///     flows = [{ algorithm = "cubic", transport = "quic", tunnel = { at = "2 s", overhead = "60 B" } }]
/// "#;
/// let quic = Scenario::from_toml(text)?.flows[0].tcp.quic;
/// assert_eq!(quic.and_then(|quic| quic.tunnel).map(|tunnel| tunnel.overhead), Some(60), "WireGuard over IPv4");
/// # Ok::<(), fullpipe_sim::scenario::Problem>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Time at which the path enters it.
    pub at: Nanos,
    /// Bytes of its headers.
    pub overhead: u32,
}

impl Default for Quic {
    fn default() -> Quic {
        Quic { ack_every: 2, ack_delay: 25 * MILLISECOND, ack_reorder: 1, mtu_probes: None, tunnel: None }
    }
}

/// Headers of UDP and IPv4, bytes.
const HEADERS: u32 = 28;

/// Bytes of a QUIC packet of `packet_size` bytes on the wire, without the headers of UDP and IPv4.
pub(crate) fn quic_datagram(packet_size: u32) -> u32 {
    packet_size.saturating_sub(HEADERS).max(1)
}

/// Initial window in whole packets (RFC 9002 section 7.2).
fn initial_window(packet_size: u32) -> u32 {
    let datagram = quic_datagram(packet_size);
    (10 * datagram).min(14_720.max(2 * datagram)) / datagram
}

/// Keys of TCP alone.
pub(super) const TCP_ONLY: [&str; 11] = [
    "recovery",
    "prr",
    "delayed_ack",
    "delayed_ack_timeout",
    "byte_counting",
    "min_rto",
    "rto",
    "idle",
    "sack_compression",
    "timestamp_tick",
    "rtt_tick",
];

/// Keys of QUIC alone.
const QUIC_ONLY: [&str; 3] = ["ack_reorder", "mtu_probes", "tunnel"];

/// QUIC's rules, if `transport` is QUIC.
pub(super) fn read(reader: &Reader, transport: Transport) -> Result<Option<Quic>, Problem> {
    let given = |key: &&&str| reader.value(key).is_some();
    if transport == Transport::Tcp {
        return match QUIC_ONLY.iter().find(given) {
            Some(key) => Err(reader.problem(key, "requires transport = \"quic\"")),
            None => Ok(None),
        };
    }
    if let Some(key) = TCP_ONLY.iter().find(given) {
        return Err(reader.problem(key, "conflicts with transport = \"quic\"; leave it out"));
    }
    let default = Quic::default();
    let whole = |key, range, default: u32| Ok::<_, Problem>(reader.whole(key, range)?.map_or(default, |n| n as u32));
    Ok(Some(Quic {
        ack_every: whole("ack_every", limits::ACK_EVERY, default.ack_every)?,
        ack_delay: reader.quantity("ack_delay", &TIME, limits::QUIC_ACK_DELAY)?.unwrap_or(default.ack_delay),
        ack_reorder: whole("ack_reorder", limits::ACK_REORDER, default.ack_reorder)?,
        mtu_probes: reader.quantity("mtu_probes", &TIME, limits::MTU_PROBES)?,
        tunnel: tunnel(reader)?,
    }))
}

const EXAMPLE: &str = "{ at = \"5 s\", overhead = \"60 B\" }";

fn tunnel(reader: &Reader) -> Result<Option<Tunnel>, Problem> {
    let table = match reader.value("tunnel") {
        None => return Ok(None),
        Some(Value::Table(table)) => table,
        Some(value) => return Err(reader.wrong_type("tunnel", "a table", EXAMPLE, value)),
    };
    let inner = Reader::new(table, reader.at("tunnel"), keys::names(&[TUNNEL]))?;
    let at = inner.quantity("at", &TIME, limits::MOMENT)?.ok_or_else(|| inner.missing("at", "\"5 s\""))?;
    let overhead = super::traffic::packet_size(&inner, "overhead", limits::OVERHEAD)?;
    let overhead = overhead.ok_or_else(|| inner.missing("overhead", "\"60 B\""))?;
    Ok(Some(Tunnel { at, overhead }))
}

/// The tunnel as a table.
pub(super) fn write_tunnel(tunnel: Tunnel) -> Value {
    let pairs = [("at", quantity(&TIME, tunnel.at)), ("overhead", whole(tunnel.overhead))];
    Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Defaults of a flow over QUIC.
pub(super) fn preset(tcp: Tcp, quic: Quic, packet_size: u32) -> Tcp {
    let initial_window = initial_window(packet_size);
    Tcp { quic: Some(quic), recovery: Recovery::Sack, pacing: Pacing::On, initial_window, ..tcp }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams of 1200, 1252, 1472, 1500, and 9000 bytes: 12000, 12520, 14720, 14720, and 18000 bytes in whole packets.
    #[test]
    fn initial_windows_are_those_of_rfc_9002() {
        let windows = [1200, 1252, 1472, 1500, 9000].map(|datagram| initial_window(datagram + HEADERS));
        assert_eq!(windows, [10, 10, 10, 9, 2]);
    }
}
