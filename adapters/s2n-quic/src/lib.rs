//! s2n-quic's congestion controllers as algorithms of a scenario: `s2n-cubic` and `s2n-bbr` (its BBRv2). The code of
//! window, rate, and RTT estimator is that of the crate s2n-quic-core, unmodified.
//!
//! # How the simulator's sender is mapped to a connection
//! - A segment is a packet of the largest datagram size. A window in segments is the window in bytes over that size.
//!   Each transmission is a separate packet.
//! - An ACK is reported as s2n-quic-transport's `recovery/manager.rs` does: the RTT (only of the largest number),
//!   `on_rtt_update`, losses, marks, and then one `on_ack` for all packets that it acknowledges, with the values of the
//!   newest.
//! - A lost packet begins a burst if the packet with the previous number is not lost.
//! - The retransmission timer of the simulator's sender, which comes after a probe, represents persistent congestion:
//!   RFC 9002 section 7.6.1 chooses its threshold so that it is "approximately equivalent to a TCP sender declaring an
//!   RTO after two TLPs".
//! - The sender is application-limited if neither window nor pacing limits it.
//! - Packets leave at the rate and in the bursts that the controller announces (`Publisher::on_pacing_rate_updated`).
//!   Without an announced rate, and below 2 ms of smoothed RTT, packets leave at once.
//! - The packet that may leave beyond the window as recovery begins (`requires_fast_retransmission`) is the sender's
//!   first retransmission.
//! - ssthresh is private to the library, and infinite here. The library's clock counts microseconds.
//! - A spurious loss is not undone, because s2n-quic does not do so.

mod packets;

pub use packets::{Control, Exported, Factory, from_factory};

use fullpipe_cc::params::{Group, Info, Param, Params};
use fullpipe_cc::random::SplitMix64;
use fullpipe_cc::{Ack, CongestionControl, Flow, Lost, Nanos, Signal, Start};
use fullpipe_connection::{Packet, Packets};
use fullpipe_sim::Catalogue;
use num_rational::Ratio;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::path;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::{Endpoint, PathInfo, Publisher};
use s2n_quic_core::recovery::{CongestionController, DEFAULT_INITIAL_RTT, RttEstimator, bbr, cubic};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::time::Duration;

const INITIAL_WINDOW: Param =
    Param::number("initial_window", 10.0, 2.0, 10_000.0, "First window; a scenario's own key does not count here.")
        .unit("packets")
        .source("s2n-quic-core 0.91.0; RFC 9002 section 7.2");

const CUBIC: Info = Info::new("s2n-cubic", "s2n-quic-core 0.91.0, src/recovery/cubic.rs")
    .recovery("rack")
    .own_slow_start(true)
    .params(&[INITIAL_WINDOW]);

const BBR: Info = Info::new("s2n-bbr", "s2n-quic-core 0.91.0, src/recovery/bbr.rs")
    .group(Group::Model)
    .recovery("rack")
    .own_slow_start(true)
    .params(&[
        INITIAL_WINDOW,
        Param::number("cwnd_gain", 2.0, 1.0, 10.0, "Window over the BDP in ProbeBW, to a hundredth."),
        Param::number("up_pacing_gain", 1.25, 1.0, 10.0, "Rate over the bandwidth in ProbeBW_UP, to a hundredth."),
        Param::number("loss_threshold", 0.02, 0.01, 0.99, "Loss in a round trip that ends a probe, to a hundredth."),
    ]);

/// Built-in algorithms and s2n-quic's two.
#[must_use]
pub fn add_to(catalogue: Catalogue) -> Catalogue {
    catalogue
        .with(&CUBIC, |params, start| {
            let builder = cubic::builder::Builder::default();
            S2n::new(builder.with_initial_congestion_window(first_window(params, start)).build(), start)
        })
        .with(&BBR, |params, start| {
            let percent = |name| (100.0 * params.number(name)).round() as u32;
            let builder = bbr::builder::Builder::default()
                .with_initial_congestion_window(first_window(params, start))
                .with_probe_bw_cwnd_gain(percent("cwnd_gain"))
                .with_probe_bw_up_pacing_gain(percent("up_pacing_gain"))
                .with_loss_threshold(percent("loss_threshold"));
            S2n::new(builder.build(), start)
        })
}

/// Bytes.
fn first_window(params: &Params, start: Start) -> u32 {
    (params.number("initial_window") * f64::from(start.segment_bytes)) as u32
}

/// One of s2n-quic's controllers, driven by the simulator's sender.
struct S2n<C: CongestionController> {
    controller: C,
    mtu: u16,
    rtt: RttEstimator,
    packets: Packets<C::PacketInfo>,
    largest_acked: Option<u64>,
    announced: Announced,
    random: Random,
}

/// Values that a controller announces.
#[derive(Debug, Default)]
struct Announced {
    /// Rate in bytes per second, and bytes of a burst.
    pacing: Option<(u64, u32)>,
}

impl Publisher for Announced {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}

    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}

    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, burst: u32, _: Ratio<u64>) {
        self.pacing = Some((rate.as_bytes_per_second(), burst));
    }

    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

/// Random bytes from the flow's seed.
#[derive(Debug)]
struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }
}

impl random::Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        for bytes in dest.chunks_mut(8) {
            bytes.copy_from_slice(&self.0.bits().to_le_bytes()[..bytes.len()]);
        }
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}

fn at(now: Nanos) -> Timestamp {
    NoopClock.get_time() + Duration::from_nanos(now)
}

/// Controller of a path with this largest datagram.
fn controller<E: Endpoint>(mut endpoint: E, mtu: u16) -> E::CongestionController {
    let (config, address) = (path::Config::default(), SocketAddress::default());
    let mut info = PathInfo::new(&config, &address);
    info.max_datagram_size = mtu;
    endpoint.new_congestion_controller(info)
}

/// Estimator with the sample of a handshake, if there is one.
fn estimator(rtt: Option<Nanos>) -> RttEstimator {
    let mut estimator = RttEstimator::new(DEFAULT_INITIAL_RTT);
    if let Some(sample) = rtt.map(Duration::from_nanos) {
        estimator.update_rtt(Duration::ZERO, sample, at(0), true, PacketNumberSpace::ApplicationData);
    }
    estimator
}

/// `MINIMUM_PACING_RTT` of s2n-quic's pacers.
const LEAST_PACED: Duration = Duration::from_millis(2);

impl<C: CongestionController> S2n<C> {
    fn new(endpoint: impl Endpoint<CongestionController = C>, start: Start) -> S2n<C> {
        let mtu = u16::try_from(start.segment_bytes).unwrap_or(u16::MAX);
        S2n {
            controller: controller(endpoint, mtu),
            mtu,
            rtt: estimator(start.rtt),
            packets: Packets::default(),
            largest_acked: None,
            announced: Announced::default(),
            random: Random::new(start.seed),
        }
    }

    /// Reports lost packets, if there are any.
    fn tell_losses(&mut self, now: Nanos, is_persistent: bool) {
        let mut before = None;
        for Packet { number, info, .. } in self.packets.take_lost() {
            let is_new_burst = before.is_none_or(|before| before + 1 != number);
            before = Some(number);
            let S2n { controller, random, announced, mtu, .. } = self;
            controller.on_packet_lost((*mtu).into(), info, is_persistent, is_new_burst, random, at(now), announced);
        }
    }
}

impl<C: CongestionController> CongestionControl for S2n<C> {
    fn cwnd(&self) -> f64 {
        f64::from(self.controller.congestion_window()) / f64::from(self.mtu)
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<f64> {
        let pacing = self.announced.pacing.filter(|_| self.rtt.smoothed_rtt() >= LEAST_PACED);
        Some(pacing.map_or(f64::INFINITY, |(rate, _)| rate as f64 / f64::from(self.mtu)))
    }

    fn send_quantum(&self) -> u64 {
        self.announced.pacing.map_or(1, |(_, burst)| u64::from(burst) / u64::from(self.mtu)).max(1)
    }

    fn takes_rate_samples(&self) -> bool {
        true
    }

    fn rules_recovery(&self) -> bool {
        true
    }

    fn on_sent(&mut self, flow: &Flow) {
        self.tell_losses(flow.now, false);
        let (bytes, app_limited) = (self.mtu.into(), Some(!flow.cwnd_limited));
        let info = self.controller.on_packet_sent(at(flow.now), bytes, app_limited, &self.rtt, &mut self.announced);
        self.packets.on_sent(flow, info);
    }

    fn on_lost(&mut self, _: &Flow, lost: &Lost) {
        self.packets.on_lost(lost);
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let now = at(flow.now);
        let acked = self.packets.on_ack(flow, ack);
        let bytes = acked.len() * usize::from(self.mtu);
        let newest = acked.last().copied();
        let newer = newest.filter(|newest| self.largest_acked.is_none_or(|largest| newest.number > largest));
        self.largest_acked = newer.map(|newer| newer.number).or(self.largest_acked);
        if let Some(Packet { sent, .. }) = newer.filter(|newer| newer.is_first) {
            let sample = now - at(sent);
            self.rtt.update_rtt(Duration::ZERO, sample, now, true, PacketNumberSpace::ApplicationData);
            self.controller.on_rtt_update(at(sent), now, &self.rtt, &mut self.announced);
        }
        self.tell_losses(flow.now, false);
        if ack.ce > 0 {
            self.controller.on_explicit_congestion(ack.ce, now, &mut self.announced);
        }
        if let Some(Packet { sent, info, .. }) = newest {
            let S2n { controller, rtt, random, announced, .. } = self;
            controller.on_ack(at(sent), bytes, info, rtt, random, now, announced);
        }
    }

    /// Marks are reported with the ACK.
    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        if signal != Signal::Ecn {
            self.tell_losses(flow.now, signal == Signal::Timeout);
        }
    }

    fn on_undo(&mut self, _: f64, _: f64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::RateSample;

    const MS: Nanos = 1_000_000;

    /// Slow start threshold after a timeout with `lost` of 100 packets, a window, lost; all others arrive.
    fn threshold_after(lost: u64) -> f64 {
        let endpoint = cubic::builder::Builder::default().with_initial_congestion_window(100 * 1200).build();
        let mut cc = S2n::new(endpoint, Start::from(10.0).segment_bytes(1200).rtt(100 * MS));
        (1..=100).for_each(|high| cc.on_sent(&Flow::at(MS).flight_size(high).cwnd_limited(true)));
        (0..lost).for_each(|segment| cc.on_lost(&Flow::at(1000 * MS), &Lost::of(segment)));
        cc.on_congestion(&Flow::at(1000 * MS), Signal::Timeout);
        assert_eq!(cc.cwnd(), 2.0);
        for segment in lost..100 {
            let before = cc.cwnd();
            let sample = RateSample::new(1, None).segment(segment).newly_delivered(1);
            let flow = Flow::at(1001 * MS).flight_size(100).cwnd_limited(true);
            cc.on_ack(&flow, &Ack::of(0, 0.0).rate(Some(sample)));
            if cc.cwnd() - before < 0.99 {
                return before;
            }
        }
        panic!("slow start has not ended at {}", cc.cwnd());
    }

    /// RFC 9438 section 4.8: a timeout sets ssthresh "using beta_cubic (same as in Section 4.6)", 70 packets after 100.
    /// This holds for one lost packet. Each further lost packet of the same report cuts the remaining 2 packets again
    /// (src/recovery/cubic.rs, lines 409, 418, and 627), down to the minimum threshold of 16
    /// (src/recovery/hybrid_slow_start.rs, lines 31 and 189).
    #[test]
    fn a_timeout_of_several_packets_leaves_the_least_threshold() {
        assert_eq!([1, 2, 4].map(threshold_after), [70.0, 16.0, 16.0]);
    }
}
