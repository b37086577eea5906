//! Files of packets for the tools that you have: captures of TCP flows (`pcap.rs`) and QUIC event logs (`qlog.rs`), one file per flow.
//!
//! A run with files uses the engine for any algorithm, so that other runs have no additional code at each packet. Results are equal.
//! Web transfers and datagrams have no file.

mod file;
mod pcap;
mod qlog;

use crate::packet::{AckNote, Marks, Segment};
use crate::scenario::{Scenario, Tcp};
use crate::transport::sender::{Arrival, Snapshot};
use fullpipe_cc::Nanos;
use fullpipe_cc::packets::LostBy;
use pcap::Pcap;
use qlog::Qlog;
use std::path::{Path, PathBuf};

/// Version of the schema of a qlog file.
///
/// Example: see [`Destinations`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QlogVersion {
    /// Version 0.3 (drafts main-schema-05 and quic-events-04), JSON. The program qvis reads it.
    #[default]
    V03,
    /// Draft 13 of quic-events, a sequence of JSON records.
    Draft13,
}

/// Place of a capture.
///
/// Example: see [`Destinations`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vantage {
    /// Data as it leaves, ACKs as they arrive.
    #[default]
    Sender,
    /// Data as it arrives, ACKs as they leave.
    Receiver,
}

/// Destinations of a run's packets.
///
/// ```
/// use fullpipe_sim::{Destinations, Scenario, Simulation};
///
/// let scenario = Scenario::from_toml(r#"
///     duration = "1 s"
///     links = [{ name = "l", rate = "1 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
///     flows = [{ algorithm = "reno" }]
/// "#)?;
/// let folder = std::env::temp_dir().join(format!("fullpipe-trace-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let to = Destinations { pcap: Some(folder.clone()), ..Destinations::default() };
/// Simulation::traced(scenario, u64::MAX, &to)?.report()?;
/// let capture = std::fs::read(folder.join("flow-0000-reno.pcap"))?;
/// assert_eq!(capture[..4], 0xa1b2_3c4d_u32.to_le_bytes(), "times in nanoseconds");
/// std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Destinations {
    /// Existing directory of captures.
    pub pcap: Option<PathBuf>,
    /// Place of these.
    pub pcap_at: Vantage,
    /// Existing directory of QUIC logs.
    pub qlog: Option<PathBuf>,
    /// Schema of these.
    pub qlog_version: QlogVersion,
    /// Maximum number of packets, data and ACKs. A run with more ends.
    pub most_packets: u64,
}

impl Default for Destinations {
    fn default() -> Self {
        Destinations {
            pcap: None,
            pcap_at: Vantage::default(),
            qlog: None,
            qlog_version: QlogVersion::default(),
            most_packets: u64::MAX,
        }
    }
}

/// Properties of a flow that no event changes.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Number in the order of the file.
    pub number: u32,
    /// Settings of its group.
    pub tcp: Tcp,
    /// Size of a packet on the wire, bytes.
    pub packet_size: u32,
    /// RTT of the idle path.
    pub base_rtt: Nanos,
}

impl Facts {
    fn path(&self, folder: &Path, ending: &str) -> PathBuf {
        let name: String = self.tcp.algorithm.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        folder.join(format!("flow-{:04}-{name}.{ending}", self.number))
    }
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// TCP: segment. QUIC: packet number.
    pub seq: u64,
    /// QUIC: datagram of data in the packet.
    pub chunk: u64,
    /// QUIC: the packet before this one is a path MTU probe, which left with it.
    pub after_mtu_probe: bool,
    /// The segment is sent for the first time.
    pub new: bool,
    /// ECN fields.
    pub marks: Marks,
    /// No data follows.
    pub is_last: bool,
}

/// QUIC packets that an ACK or a timer settles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settled {
    /// Newly acknowledged packets, ascending.
    pub acked: Vec<u64>,
    /// Packets found lost, ascending.
    pub lost: Vec<LostPacket>,
}

/// QUIC packet found lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostPacket {
    pub number: u64,
    pub by: LostBy,
    pub is_mtu_probe: bool,
}

/// Files of a run.
pub(crate) struct Tracer {
    flows: Vec<(Option<Pcap>, Option<Qlog>)>,
    packets_left: u64,
    most_packets: u64,
}

impl Tracer {
    /// Empty files for the flows, in the engine's order.
    pub fn new(to: &Destinations, flows: &[Facts]) -> Tracer {
        let files = flows.iter().map(|facts| {
            let pcap = to.pcap.as_deref().map(|folder| Pcap::new(&facts.path(folder, "pcap"), facts, to.pcap_at));
            let ending = if to.qlog_version == QlogVersion::V03 { "qlog" } else { "sqlog" };
            let qlog = to.qlog.as_deref();
            (pcap, qlog.map(|folder| Qlog::new(&facts.path(folder, ending), facts, to.qlog_version)))
        });
        Tracer { flows: files.collect(), packets_left: to.most_packets, most_packets: to.most_packets }
    }

    /// Reason why the run has to end.
    pub fn fault(&self) -> Option<String> {
        if self.packets_left == 0 {
            return Some(format!("the run has more than {} packets", self.most_packets));
        }
        let pcaps = self.flows.iter().filter_map(|(pcap, _)| pcap.as_ref()?.fault());
        let qlogs = self.flows.iter().filter_map(|(_, qlog)| qlog.as_ref()?.fault());
        pcaps.chain(qlogs).next()
    }

    /// A connection begins with a SYN, or is established at once.
    pub fn started(&mut self, flow: u32, now: Nanos, handshake: bool, state: &Snapshot) {
        let Some((pcap, qlog)) = self.flows.get_mut(flow as usize) else { return };
        if let Some(pcap) = pcap {
            if handshake { pcap.syn(now) } else { pcap.established(now) }
        }
        if let Some(qlog) = qlog {
            qlog.started(now, state);
        }
    }

    /// A SYN-ACK arrives.
    pub fn opened(&mut self, flow: u32, now: Nanos, stamp: Nanos) {
        if let Some((Some(pcap), _)) = self.flows.get_mut(flow as usize) {
            pcap.opened(now, stamp);
        }
    }

    /// A packet leaves.
    pub fn sent(&mut self, flow: u32, now: Nanos, sent: &Sent, state: &Snapshot) {
        let Some((pcap, qlog)) = self.flows.get_mut(flow as usize) else { return };
        self.packets_left = self.packets_left.saturating_sub(1);
        if let Some(pcap) = pcap {
            pcap.data(now, sent);
        }
        if let Some(qlog) = qlog {
            qlog.sent(now, sent, state);
        }
    }

    /// A TCP segment arrives at its receiver.
    pub fn received(&mut self, segment: &Segment) {
        if let Some((Some(pcap), _)) = self.flows.get_mut(segment.flow as usize) {
            pcap.received(segment);
        }
    }

    /// A TCP receiver sends an ACK.
    pub fn replied(&mut self, flow: u32, arrival: &Arrival, note: Option<&AckNote>) {
        if let Some((Some(pcap), _)) = self.flows.get_mut(flow as usize) {
            pcap.replied(arrival, note);
        }
    }

    /// An ACK has arrived. `settled` has the packets of a QUIC flow.
    pub fn acked(
        &mut self,
        flow: u32,
        now: Nanos,
        arrival: &Arrival,
        note: Option<&AckNote>,
        settled: Option<&Settled>,
        state: &Snapshot,
    ) {
        let Some((pcap, qlog)) = self.flows.get_mut(flow as usize) else { return };
        self.packets_left = self.packets_left.saturating_sub(1);
        if let Some(pcap) = pcap {
            pcap.ack(now, arrival, note);
        }
        if let Some(qlog) = qlog {
            qlog.acked(now, arrival.cumulative, note, settled, state);
        }
    }

    /// A timer has expired.
    pub fn timed_out(&mut self, flow: u32, now: Nanos, settled: Option<&Settled>, state: &Snapshot) {
        if let Some((_, Some(qlog))) = self.flows.get_mut(flow as usize) {
            qlog.timed_out(now, settled, state);
        }
    }

    /// All data has been acknowledged.
    pub fn finished(&mut self, flow: u32, now: Nanos) {
        if let Some((Some(pcap), _)) = self.flows.get_mut(flow as usize) {
            pcap.fin(now);
        }
    }

    /// Writes the rest.
    pub fn close(&mut self) {
        for (pcap, qlog) in &mut self.flows {
            pcap.iter_mut().for_each(Pcap::close);
            qlog.iter_mut().for_each(Qlog::close);
        }
    }
}

/// Settings of each flow of a scenario, in its order, with its number.
pub(crate) fn facts(scenario: &Scenario, number: impl Fn(u32) -> u32, base_rtt: impl Fn(u32) -> Nanos) -> Vec<Facts> {
    let groups = scenario.flows.iter().flat_map(|group| std::iter::repeat_n(&group.tcp, group.count as usize));
    let facts = (0..).zip(groups).map(|(id, tcp)| Facts {
        number: number(id),
        tcp: tcp.clone(),
        packet_size: scenario.packet_size,
        base_rtt: base_rtt(id),
    });
    facts.collect()
}
