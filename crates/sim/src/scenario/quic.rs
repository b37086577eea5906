//! QUIC in the place of TCP: `transport`, and `ack_every`, `ack_delay`, and `ack_reorder` of its receivers.

use super::problem::Problem;
use super::reader::Reader;
use super::units::TIME;
use super::{Pacing, Recovery, Tcp, limits};
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

/// ACK rules of a QUIC receiver (RFC 9000 section 13.2, draft-ietf-quic-ack-frequency).
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
}

impl Default for Quic {
    fn default() -> Quic {
        Quic { ack_every: 2, ack_delay: 25 * MILLISECOND, ack_reorder: 1 }
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
const QUIC_ONLY: [&str; 1] = ["ack_reorder"];

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
    }))
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
