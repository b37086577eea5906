//! Log of a flow at its sender (qlog). TCP segments are logged as packets: each transmission has the next packet number.
//!
//! Sources: draft-ietf-quic-qlog-main-schema-05 and draft-ietf-quic-qlog-quic-events-04 (version 0.3), draft 13 of both.
//!
//! # Deviations and choices
//! - TCP has no packet numbers in its ACKs. An ACK frame here has the last transmissions of the segments that the ACK newly
//!   acknowledges. A transmission counts as lost when its segment is retransmitted.
//! - The length of a packet is its size without 28 bytes, the headers of IPv4 and UDP, and for QUIC without those of a `tunnel`. Windows
//!   and rates have the same sizes. The offsets of stream frames are those of packets without a tunnel.
//! - A path MTU probe has the length of a packet of data, since the simulated probe counts as one.
//! - An ACK frame has the newly acknowledged packets only, and the CE count, if the receiver counts marks.
//! - Version 0.3 has no events for ECN states.

use super::file::File;
use super::{Facts, QlogVersion, Sent, Settled};
use crate::model::quic_datagram;
use crate::packet::{AckNote, Ecn};
use crate::scenario::EcnMode;
use crate::transport::receiver::unwrap;
use crate::transport::sender::Snapshot;
use fullpipe_cc::Nanos;
use fullpipe_cc::packets::LostBy;
use std::collections::VecDeque;
use std::fmt::{self, Display, Write};
use std::path::Path;

/// Byte before each record of a sequence, and the line feed after it (RFC 7464).
const RECORD: &str = "\u{1e}";

/// Names of an event in both schemas.
struct Name {
    v03: &'static str,
    draft13: &'static str,
}

const TRANSPORT_PARAMETERS: Name = Name { v03: "transport:parameters_set", draft13: "quic:parameters_set" };
const RECOVERY_PARAMETERS: Name = Name { v03: "recovery:parameters_set", draft13: "quic:recovery_parameters_set" };
const SENT: Name = Name { v03: "transport:packet_sent", draft13: "quic:packet_sent" };
const RECEIVED: Name = Name { v03: "transport:packet_received", draft13: "quic:packet_received" };
const METRICS: Name = Name { v03: "recovery:metrics_updated", draft13: "quic:recovery_metrics_updated" };
const LOST: Name = Name { v03: "recovery:packet_lost", draft13: "quic:packet_lost" };
const STATE: Name = Name { v03: "recovery:congestion_state_updated", draft13: "quic:congestion_state_updated" };
const ECN_STATE: Name = Name { v03: "", draft13: "quic:ecn_state_updated" };

/// Log of one flow.
pub struct Qlog {
    file: File,
    version: QlogVersion,
    facts: Facts,
    /// Payload of a packet without a tunnel, bytes.
    length: u64,
    has_events: bool,
    /// Number of the next packet.
    next: u64,
    /// Numbers of the ACK packets that have arrived.
    received: u64,
    /// First segment that is not acknowledged, and the last transmissions of the segments from there on.
    una: u64,
    segments: VecDeque<Transmission>,
    state: &'static str,
    /// Last state of the path for ECN in the file.
    ecn: &'static str,
    /// Metrics that have been written, by their place.
    written: [Option<u64>; METRIC_NAMES.len()],
}

/// Last transmission of a segment.
#[derive(Clone, Copy, Default)]
struct Transmission {
    number: u64,
    acked: bool,
}

/// Metrics in the order of [`Qlog::metrics`].
const METRIC_NAMES: [&str; 8] = [
    "min_rtt",
    "smoothed_rtt",
    "latest_rtt",
    "rtt_variance",
    "congestion_window",
    "bytes_in_flight",
    "ssthresh",
    "pacing_rate",
];

/// Number of the names that are times.
const TIMES: usize = 4;

impl Qlog {
    /// Log of a flow that has not begun.
    pub fn new(path: &Path, facts: &Facts, version: QlogVersion) -> Qlog {
        let mut file = File::new(path);
        let what = if facts.tcp.quic.is_some() { "QUIC packets" } else { "TCP segments as packets" };
        let title = quoted(&format!("fullpipe, flow {}, {}", facts.number, facts.tcp.group()));
        let place = r#""vantage_point":{"name":"fullpipe","type":"server"}"#;
        let identity = format!("{:016x}", facts.number);
        match version {
            QlogVersion::V03 => file.push(
                format!(
                    "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"title\":{title},\"description\":\"{what}\",\"traces\":[{{{place},\
                     \"common_fields\":{{\"ODCID\":\"{identity}\",\"time_format\":\"relative\",\"reference_time\":0,\"protocol_type\":[\"QUIC\"]}},\
                     \"events\":["
                )
                .as_bytes(),
            ),
            QlogVersion::Draft13 => file.push(
                format!(
                    "{RECORD}{{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"application/qlog+json-seq\",\
                     \"title\":{title},\"description\":\"{what}\",\"trace\":{{{place},\"common_fields\":{{\"group_id\":\"{identity}\",\
                     \"time_format\":\"relative_to_epoch\",\"reference_time\":{{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}}}},\
                     \"event_schemas\":[\"urn:ietf:params:qlog:events:quic-13\"]}}}}\n"
                )
                .as_bytes(),
            ),
        }
        Qlog {
            file,
            version,
            facts: facts.clone(),
            length: quic_datagram(facts.packet_size).into(),
            has_events: false,
            next: 0,
            received: 0,
            una: 0,
            segments: VecDeque::new(),
            state: "slow_start",
            ecn: "unknown",
            written: [None; METRIC_NAMES.len()],
        }
    }

    /// See [`File::fault`].
    pub fn fault(&self) -> Option<String> {
        self.file.fault()
    }

    /// Writes the rest.
    pub fn close(&mut self) {
        if self.version == QlogVersion::V03 {
            self.file.push(b"]}]}\n");
        }
        self.file.flush();
    }

    /// The connection begins.
    pub fn started(&mut self, now: Nanos, state: &Snapshot) {
        let owner = if self.version == QlogVersion::V03 { "owner" } else { "initiator" };
        let delay = self.facts.tcp.quic.map_or(self.facts.tcp.delayed_ack_timeout, |quic| quic.ack_delay);
        let transport =
            format!("\"{owner}\":\"local\",\"max_ack_delay\":{},\"ack_delay_exponent\":3", delay / 1_000_000);
        self.event(now, &TRANSPORT_PARAMETERS, &transport);
        let recovery = format!(
            "\"reordering_threshold\":3,\"time_threshold\":1.125,\"timer_granularity\":1,\
             \"initial_congestion_window\":{},\"max_datagram_size\":{}",
            u64::from(self.facts.tcp.initial_window) * self.length,
            self.length
        );
        self.event(now, &RECOVERY_PARAMETERS, &recovery);
        self.put_ecn_state(now, state);
        self.metrics(now, state);
    }

    /// Writes a change of the path's state for ECN.
    fn put_ecn_state(&mut self, now: Nanos, state: &Snapshot) {
        let Some(new) = state.ecn.filter(|&new| new != self.ecn) else { return };
        let old = std::mem::replace(&mut self.ecn, new);
        if self.version == QlogVersion::Draft13 {
            self.event(now, &ECN_STATE, &format!("\"old\":\"{old}\",\"new\":\"{new}\""));
        }
    }

    /// A packet leaves.
    pub fn sent(&mut self, now: Nanos, sent: &Sent, state: &Snapshot) {
        let is_quic = self.facts.tcp.quic.is_some();
        if sent.after_mtu_probe {
            self.put_mtu_probe(now, sent.seq - 1, self.length_at(state));
        }
        let chunk = if is_quic { sent.chunk } else { sent.seq };
        let number = if is_quic { sent.seq } else { self.next };
        self.next = number + 1;
        if !is_quic {
            let by_timer = state.state == "restart";
            if !sent.new && self.renumber(sent.seq, number, now, by_timer) {
                return self.put_sent(now, number, chunk, Some(by_timer), sent, state);
            }
            self.remember(sent.seq, number);
        }
        self.put_sent(now, number, chunk, None, sent, state);
    }

    /// Notes that segment `seq` is retransmitted as packet `number`. Returns whether its earlier transmission counts as lost.
    fn renumber(&mut self, seq: u64, number: u64, now: Nanos, by_timer: bool) -> bool {
        let Some(place) = seq.checked_sub(self.una) else { return false };
        let Some(before) = self.segments.get_mut(place as usize) else { return false };
        let earlier = std::mem::replace(before, Transmission { number, acked: false });
        if !earlier.acked {
            let by = if by_timer { "pto_expired" } else { "reordering_threshold" };
            self.put_lost(now, earlier.number, by, false);
        }
        !earlier.acked
    }

    fn remember(&mut self, seq: u64, number: u64) {
        let place = seq.saturating_sub(self.una) as usize;
        if self.segments.len() <= place {
            self.segments.resize(place + 1, Transmission { number, acked: false });
        }
        self.segments[place] = Transmission { number, acked: false };
    }

    fn put_mtu_probe(&mut self, now: Nanos, number: u64, length: u64) {
        let data = format!(
            "\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":{length}}},\
             \"frames\":[{{\"frame_type\":\"ping\"}},{{\"frame_type\":\"padding\"}}],\"is_mtu_probe_packet\":true"
        );
        self.event(now, &SENT, &data);
    }

    /// Bytes of a packet that is sent in this state.
    fn length_at(&self, state: &Snapshot) -> u64 {
        state.datagram.unwrap_or(self.length)
    }

    fn put_sent(&mut self, now: Nanos, number: u64, chunk: u64, again: Option<bool>, sent: &Sent, state: &Snapshot) {
        let length = self.length_at(state);
        let within = match self.version {
            QlogVersion::V03 => format!("\"length\":{length}"),
            QlogVersion::Draft13 => format!("\"raw\":{{\"length\":{length}}}"),
        };
        let trigger = match again {
            None => String::new(),
            Some(true) => ",\"trigger\":\"retransmit_timeout\"".to_owned(),
            Some(false) => ",\"trigger\":\"retransmit_reordering\"".to_owned(),
        };
        let ecn = match (self.version, sent.marks.ecn()) {
            (QlogVersion::V03, _) | (_, Ecn::NotEct) => "",
            (_, Ecn::Ect1) => ",\"ecn\":\"ECT(1)\"",
            (_, Ecn::Ect0) => ",\"ecn\":\"ECT(0)\"",
            (_, Ecn::Ce) => ",\"ecn\":\"CE\"",
        };
        let offset = chunk * self.length;
        let data = format!(
            "\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":{length}}},\
             \"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{offset},{within}}}]{ecn}{trigger}"
        );
        self.event(now, &SENT, &data);
        self.metrics(now, state);
    }

    /// An ACK arrives.
    pub fn acked(
        &mut self,
        now: Nanos,
        cumulative: u32,
        note: Option<&AckNote>,
        settled: Option<&Settled>,
        state: &Snapshot,
    ) {
        let mut numbers = match settled {
            Some(settled) => settled.acked.clone(),
            None => self.newly_acked(cumulative, note),
        };
        numbers.sort_unstable();
        if !numbers.is_empty() || settled.is_none() {
            let ce = match self.facts.tcp.ecn {
                // A classic echo does not count marks.
                EcnMode::Off | EcnMode::Classic if settled.is_none() => String::new(),
                EcnMode::Off => String::new(),
                _ => format!(",\"ce\":{}", state.marked),
            };
            let number = self.received;
            self.received += 1;
            let data = format!(
                "\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\
                 \"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":{}{ce}}}]",
                Ranges(&numbers)
            );
            self.event(now, &RECEIVED, &data);
        }
        self.put_ecn_state(now, state);
        self.settle(now, settled, state);
    }

    /// A timer has expired.
    pub fn timed_out(&mut self, now: Nanos, settled: Option<&Settled>, state: &Snapshot) {
        self.settle(now, settled, state);
    }

    fn settle(&mut self, now: Nanos, settled: Option<&Settled>, state: &Snapshot) {
        for packet in settled.map_or(&[][..], |settled| &settled.lost) {
            let by = match packet.by {
                LostBy::PacketThreshold => "reordering_threshold",
                _ => "time_threshold",
            };
            self.put_lost(now, packet.number, by, packet.is_mtu_probe);
        }
        self.metrics(now, state);
    }

    /// Packets that a TCP ACK acknowledges, and earlier ones did not.
    fn newly_acked(&mut self, cumulative: u32, note: Option<&AckNote>) -> Vec<u64> {
        let cumulative = unwrap(cumulative, self.una);
        let mut numbers = Vec::new();
        while self.una < cumulative {
            let Some(first) = self.segments.pop_front() else { break };
            self.una += 1;
            if !first.acked {
                numbers.push(first.number);
            }
        }
        for &(start, end) in note.and_then(AckNote::sack).into_iter().flatten() {
            for seq in unwrap(start, self.una)..unwrap(end, self.una) {
                let Some(place) = seq.checked_sub(self.una) else { continue };
                if let Some(segment) = self.segments.get_mut(place as usize).filter(|segment| !segment.acked) {
                    segment.acked = true;
                    numbers.push(segment.number);
                }
            }
        }
        numbers
    }

    fn put_lost(&mut self, now: Nanos, number: u64, by: &str, is_mtu_probe: bool) {
        let probe = if is_mtu_probe { ",\"is_mtu_probe_packet\":true" } else { "" };
        let data =
            format!("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}}{probe},\"trigger\":\"{by}\"");
        self.event(now, &LOST, &data);
    }

    /// Metrics that have changed, and the congestion state.
    fn metrics(&mut self, now: Nanos, state: &Snapshot) {
        let length = self.length_at(state) as f64;
        let bytes = |packets: f64| Some((packets * length).round() as u64);
        let rate =
            state.pacing_rate.filter(|rate| rate.is_finite()).map(|packets| (packets * length * 8.0).round() as u64);
        let values = [
            state.min_rtt,
            state.smoothed_rtt,
            state.latest_rtt,
            state.rtt_variation,
            bytes(state.cwnd),
            state.bytes_in_flight.or(bytes(state.in_flight as f64)),
            state.ssthresh.and_then(bytes),
            rate,
        ];
        let mut data = String::new();
        for (place, value) in values.into_iter().enumerate() {
            let Some(value) = value.filter(|_| value != self.written[place]) else { continue };
            self.written[place] = Some(value);
            let comma = if data.is_empty() { "" } else { "," };
            let name = METRIC_NAMES[place];
            let _ = match place < TIMES {
                true => write!(data, "{comma}\"{name}\":{}", Milliseconds(value)),
                false => write!(data, "{comma}\"{name}\":{value}"),
            };
        }
        if !data.is_empty() {
            self.event(now, &METRICS, &data);
        }
        let to = if state.state == "restart" { "slow_start" } else { state.state };
        if to != self.state {
            let change = format!("\"old\":\"{}\",\"new\":\"{to}\"", self.state);
            self.state = to;
            self.event(now, &STATE, &change);
        }
    }

    fn event(&mut self, now: Nanos, name: &Name, data: &str) {
        let at = Milliseconds(now);
        let text = match self.version {
            QlogVersion::V03 => {
                let comma = if self.has_events { ",\n" } else { "\n" };
                format!("{comma}{{\"time\":{at},\"name\":\"{}\",\"data\":{{{data}}}}}", name.v03)
            }
            QlogVersion::Draft13 => {
                format!("{RECORD}{{\"time\":{at},\"name\":\"{}\",\"data\":{{{data}}}}}\n", name.draft13)
            }
        };
        self.has_events = true;
        self.file.push(text.as_bytes());
    }
}

/// A time in ms with 6 decimals.
struct Milliseconds(Nanos);

impl Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// Ascending numbers as ranges, in JSON.
struct Ranges<'a>(&'a [u64]);

impl Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_char('[')?;
        let runs = self.0.chunk_by(|before, after| before + 1 == *after);
        for (place, run) in runs.enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(f, "{comma}[{},{}]", run[0], run[run.len() - 1])?;
        }
        f.write_char(']')
    }
}

/// Text as a string of JSON.
fn quoted(text: &str) -> String {
    let mut found = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => found.extend(['\\', c]),
            c if c.is_control() => found.push(' '),
            c => found.push(c),
        }
    }
    found.push('"');
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges_of_neighbors() {
        assert_eq!(Ranges(&[1, 2, 3, 7, 9, 10]).to_string(), "[[1,3],[7,7],[9,10]]");
        assert_eq!(Ranges(&[]).to_string(), "[]");
    }

    #[test]
    fn times_are_milliseconds_to_the_nanosecond() {
        assert_eq!(Milliseconds(1_234_000_056).to_string(), "1234.000056");
    }

    #[test]
    fn names_from_scenarios_cannot_end_a_string() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c d""#);
    }
}
