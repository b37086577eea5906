//! State of a sender for logs.

use super::{Phase, Sender};
use crate::trace::Settled;
use crate::transport::pacing;
use crate::transport::policy::Policy;
use crate::transport::quic::{EcnState, Record};
use fullpipe_cc::Nanos;

/// State of a sender. Windows are packets.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow start threshold, if there is one.
    pub ssthresh: Option<f64>,
    /// Packets thought to be in the network.
    pub in_flight: u64,
    /// Last RTT sample.
    pub latest_rtt: Option<Nanos>,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Nanos>,
    /// RTT variation.
    pub rtt_variation: Option<Nanos>,
    /// Smallest sample.
    pub min_rtt: Option<Nanos>,
    /// Pacing rate, packets per second.
    pub pacing_rate: Option<f64>,
    /// QUIC: bytes of a packet, and those in flight, without the headers of UDP and IPv4 and of a tunnel.
    pub datagram: Option<u64>,
    pub bytes_in_flight: Option<u64>,
    /// Marked packets that the receiver has reported.
    pub marked: u64,
    /// State of the path for ECN, if that is on. TCP does not validate it.
    pub ecn: Option<&'static str>,
    /// Congestion state: a phase of BBR, "recovery", "restart" (slow start after a timeout), "slow_start", or "congestion_avoidance".
    pub state: &'static str,
}

/// Phases of BBR and of BBRv3, by the number that they show.
const BBR: [&str; 4] = ["startup", "drain", "probe_bw", "probe_rtt"];
const BBR3: [&str; 7] =
    ["startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"];

impl<P: Policy> Sender<P> {
    /// State after the last event.
    pub fn snapshot(&self) -> Snapshot {
        let ssthresh = Some(self.cc.ssthresh()).filter(|value| value.is_finite());
        let common = Snapshot {
            cwnd: self.cwnd,
            ssthresh,
            in_flight: self.in_network(),
            latest_rtt: self.meter.last_rtt(),
            smoothed_rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.variation(),
            min_rtt: self.rtt.least(),
            pacing_rate: None,
            datagram: None,
            bytes_in_flight: None,
            marked: self.ecn.as_ref().map_or(0, |ecn| ecn.told().into()),
            ecn: self.ecn.as_ref().map(|_| EcnState::Capable.name()),
            state: self.congestion_state(),
        };
        if let Some(quic) = &self.quic {
            let rtt = &quic.rtt;
            let known = |value| rtt.latest.map(|_| value);
            return Snapshot {
                latest_rtt: rtt.latest,
                smoothed_rtt: known(rtt.smoothed),
                rtt_variation: known(rtt.variation),
                min_rtt: rtt.min,
                datagram: Some(quic.datagram()),
                bytes_in_flight: Some(quic.flight.in_flight_bytes),
                pacing_rate: quic.paced.then(|| self.quic_rate(quic)),
                marked: quic.marked(),
                ecn: quic.ecn_state().map(EcnState::name),
                ..common
            };
        }
        let srtt = self.rtt.smoothed().unwrap_or(self.rtt.handshake());
        Snapshot { pacing_rate: self.pacer.as_ref().map(|_| pacing::rate(&self.cc, srtt)), ..common }
    }

    /// Data of a QUIC packet in flight.
    pub fn chunk_of(&self, number: u64) -> Option<u64> {
        Some(self.quic.as_ref()?.flight.get(number)?.chunk)
    }

    /// Whether the packet before QUIC packet `number` is a path MTU probe. Such a probe leaves directly before data.
    pub fn is_after_mtu_probe(&self, number: u64) -> bool {
        let before = number.checked_sub(1).and_then(|before| self.quic.as_ref()?.flight.get(before));
        before.is_some_and(Record::is_mtu_probe)
    }

    /// Turns on the list of settled QUIC packets.
    pub fn list_settled(&mut self) {
        if let Some(quic) = &mut self.quic {
            quic.settled = Some(Box::default());
        }
    }

    /// QUIC packets settled since the last call; `None` for TCP.
    pub fn take_settled(&mut self) -> Option<Settled> {
        Some(std::mem::take(&mut **self.quic.as_mut()?.settled.as_mut()?))
    }

    fn congestion_state(&self) -> &'static str {
        let (mut phase, mut is_third) = (None, false);
        self.cc.inspect(&mut |name, value| match name {
            "phase" => phase = Some(value as usize),
            "inflight_longterm_packets" => is_third = true,
            _ => {}
        });
        let names: &[&str] = if is_third { &BBR3 } else { &BBR };
        match (phase.and_then(|phase| names.get(phase)), self.progress.phase) {
            (Some(name), _) => name,
            (None, Phase::Recovery { .. } | Phase::Reduction { .. }) => "recovery",
            (None, Phase::Restart { .. }) => "restart",
            (None, Phase::Open) if self.cwnd < self.cc.ssthresh() => "slow_start",
            (None, Phase::Open) => "congestion_avoidance",
        }
    }
}
