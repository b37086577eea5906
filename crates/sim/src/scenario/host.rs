//! Key `host`: defaults of a flow's TCP keys, for example those of Linux.

use super::{IdleRule, Recovery, RtoRule, SlowStart, Table, Tcp, Transport, Value};
use fullpipe_cc::Nanos;
use fullpipe_cc::params::Info;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND};

/// A preset of the keys of TCP, each of which a scenario may still set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// As ns-2 and the papers have it: [`Tcp::new`].
    Classic,
    /// As Linux has it (net/ipv4, documented in ip-sysctl and tcp(7)): a handshake, RACK-TLP with PRR whatever the algorithm, HyStart
    /// where that is CUBIC, windows that grow by segments acknowledged, a first window of 10 segments (RFC 6928), ACKs delayed by
    /// at most 40 ms and compressed behind a hole, timestamps of 1 ms, round trips measured to 1 us (it keeps the send time of each segment),
    /// a timeout of SRTT + max(4 RTTVAR, 200 ms), and windows that come down when they are not used.
    Linux,
    /// QUIC as RFC 9002 has it, with datagrams of 1252 bytes.
    Quic,
}

fullpipe_cc::named! { Host { Classic = "classic", Linux = "linux", Quic = "quic" } }

impl Host {
    /// Transport where a scenario is silent.
    pub fn transport(self) -> Transport {
        if self == Host::Quic { Transport::Quic } else { Transport::Tcp }
    }

    /// The recovery where a scenario is silent: for [`Host::Classic`] the one that the algorithm's paper assumes.
    pub fn recovery(self, info: &Info) -> Recovery {
        match self {
            Host::Classic | Host::Quic => Recovery::find(info.recovery).expect("one that there is"),
            Host::Linux => Recovery::Rack,
        }
    }

    /// The slow start where a scenario is silent.
    pub fn slow_start(self, info: &Info) -> SlowStart {
        match self {
            Host::Linux if info.name == "cubic" => SlowStart::HyStart,
            _ => SlowStart::Standard,
        }
    }

    /// The resolution of measured round trips where a scenario is silent; `None` is that of the timestamps.
    pub fn rtt_tick(self) -> Option<Nanos> {
        match self {
            Host::Classic | Host::Quic => None,
            Host::Linux => Some(MICROSECOND),
        }
    }

    /// The other defaults.
    pub fn preset(self, tcp: Tcp) -> Tcp {
        match self {
            Host::Classic | Host::Quic => tcp,
            Host::Linux => Tcp {
                handshake: true,
                delayed_ack: true,
                delayed_ack_timeout: 40 * MILLISECOND,
                byte_counting: true,
                initial_window: 10,
                min_rto: 200 * MILLISECOND,
                rto: RtoRule::Linux,
                idle: IdleRule::Linux,
                sack_compression: true,
                timestamp_tick: MILLISECOND,
                ..tcp
            },
        }
    }

    /// The size of packets, bytes, where a scenario is silent: Ethernet's where all TCP is Linux's, 1280 where all hosts are QUIC's
    /// (datagrams of 1252 bytes), ns-2's otherwise.
    pub fn packet_size(tcp: &[(&Table, String)]) -> u32 {
        let all = |host: Host| {
            let is = |(table, _): &(&Table, String)| table.get("host").and_then(Value::as_str) == Some(host.name());
            !tcp.is_empty() && tcp.iter().all(is)
        };
        match () {
            () if all(Host::Linux) => 1500,
            () if all(Host::Quic) => 1280,
            () => 1000,
        }
    }
}
