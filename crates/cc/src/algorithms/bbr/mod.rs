//! BBR, the first version, as Linux has it: bandwidth is the greatest rate of delivery of ten rounds, the round trip the least of ten
//! seconds; it sends at the bandwidth, a quarter faster in one of eight round trips, and keeps up to two BDP in flight. Losses slow it
//! down for a round only.
//!
//! Sources: N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, *BBR: Congestion-Based Congestion Control*, ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017), whose section numbers these are; Linux 6.1 for later rules, by constants and
//! behavior: a pacing margin of 1 %, room for ACKs that come in clumps, and the estimate of a policer's rate.
//!
//! | state | pacing gain | cwnd gain |
//! |---|---|---|
//! | `startup.rs` | 2.885 | 2.885 |
//! | `drain.rs` | 1/2.885 | 2.885 |
//! | `probe_bw.rs` | 5/4, 3/4, 1, 1, 1, 1, 1, 1; 1 where a policer is found | 2 |
//! | `probe_rtt.rs` | 1 | 4 segments for 200 ms and a round |
//!
//! The model is in `model.rs`, a policer's rate in `policer.rs`, rate and window in `control.rs`.
//!
//! # Deviations and choices
//!
//! - **The draft's** text was not read. Its rules and section numbers were compared with Cloudflare's quiche (`recovery/congestion/bbr`),
//!   which names the section of each function. They agree, except where this list names Linux, and in the round trip: an equal sample does
//!   not renew the estimate, as in Linux.
//! - **ACK aggregation**: extra_acked is the greatest of two bins of 5 rounds and at most 100 ms at the bandwidth, as in Linux; the
//!   draft has none.
//! - **A policer** is found as in Linux: an interval of 4 to 16 rounds, from one loss to another, in which 50 of 256 segments or more were
//!   lost, twice with rates within 1/8 or 4 kbit/s of each other; then their mean is the bandwidth for 48 rounds.
//! - **Whole segments**: the BDP is rounded up, the window to an even number, with 3 send quanta on top and 2 segments more in the phase of
//!   5/4, as in Linux. The bandwidth is a fraction.
//! - **The send quantum** is the amount that leaves in 1 ms, at least 2 segments (1 below 1.2 Mbit/s), at most 64 kB.
//! - **A round trip** is a sample unless the segment was sent more than once. The first is the handshake's.
//! - **In flight**, where it ends Drain or a phase, is the amount at the time when the next segment may leave, as in Linux: less the amount delivered
//!   until then, and in the phase of 5/4 with the send quantum that leaves then.
//! - **A mark** (ECN) is not answered, as in Linux.

mod control;
mod drain;
mod model;
mod policer;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use crate::declare::params;
use crate::params::{Group, Info, Params};
use crate::random::SplitMix64;
use crate::time::{Nanos, seconds};
use crate::{Ack, CongestionControl, Flow, RateSample, Signal, Start};
use control::Recovery;
use model::BbrModel;
use policer::Policer;
use startup::BbrFullPipe;

params! {
    /// Parameters of BBR; there are none.
    pub struct BbrParams for BBR {}
}

/// BBR.
pub const BBR: Info = Info {
    name: "bbr",
    paper: "N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016",
    group: Group::Model,
    recovery: "rack",
    own_slow_start: true,
    ecn: None,
    params: BbrParams::PARAMS,
};

/// BBRMinPipeCwnd, segments (section 4.2.3.3).
const MIN_PIPE_CWND: f64 = 4.0;

/// The state machine's states (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq)]
enum BbrPhase {
    Startup,
    Drain,
    ProbeBw {
        /// Which of the cycle's gains.
        index: u8,
        /// When it began.
        since: Nanos,
    },
    ProbeRtt {
        /// When it may end, once enough has left.
        until: Option<Nanos>,
        /// A round has passed since.
        round_done: bool,
    },
}

/// BBR on one connection.
///
/// ```
/// use fullpipe_cc::algorithms::bbr::{BBR, Bbr};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, RateSample, Start};
///
/// let rtt = 100_000_000;
/// let mut cc = Bbr::controller(&Params::defaults(&BBR), Start::from(10.0).rtt(rtt));
/// cc.on_sent(&Flow::at(0).in_flight(10));
/// let rate = RateSample::new(1, Some(rtt)).rtt(Some(rtt));
/// cc.on_ack(&Flow::at(rtt).delivered(1).in_flight(9), &Ack::of(1, 1.0).rtt(Some(rtt)).rate(Some(rate)));
/// assert_eq!(cc.cwnd(), 11.0, "Startup adds each segment that arrives");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bbr {
    segment_bytes: u32,
    /// Segments of the first window.
    initial_cwnd: f64,
    random: SplitMix64,
    phase: BbrPhase,
    /// The window, and the one to come back to; segments.
    cwnd: f64,
    prior_cwnd: f64,
    /// Segments a second.
    pacing_rate: f64,
    /// Whether a round trip has set it.
    has_seen_rtt: bool,
    recovery: Recovery,
    model: BbrModel,
    policer: Policer,
    full_pipe: BbrFullPipe,
    /// When the next segment may leave.
    departure: Nanos,
    /// Whether it restarts from idle.
    idle_restart: bool,
    begun: bool,
}

/// An ACK: the rate sample, and the connection's state after it.
struct BbrAckEvent<'a> {
    now: Nanos,
    rate: RateSample,
    /// Segments a second; 0 where it tells of none.
    delivery_rate: f64,
    /// Segments delivered of the whole flow.
    delivered: u64,
    /// Segments found lost since the ACK before.
    newly_lost: f64,
    flow: &'a Flow,
}

impl BbrAckEvent<'_> {
    fn of<'a>(flow: &'a Flow, ack: &Ack, rate: RateSample) -> BbrAckEvent<'a> {
        BbrAckEvent {
            now: flow.now,
            rate,
            delivery_rate: rate.per_second().unwrap_or(0.0),
            delivered: rate.prior_delivered + rate.delivered,
            newly_lost: ack.newly_lost as f64,
            flow,
        }
    }

    fn newly_delivered(&self) -> f64 {
        self.rate.newly_delivered as f64
    }

    /// Segments in flight, and before this ACK.
    fn in_flight(&self) -> f64 {
        self.flow.in_flight as f64
    }

    fn prior_in_flight(&self) -> f64 {
        self.in_flight() + self.newly_delivered() + self.newly_lost
    }
}

impl Bbr {
    /// BBR that begins in Startup (section 4.3.2.1).
    pub fn controller(_params: &Params, start: impl Into<Start>) -> Bbr {
        let start = start.into();
        Bbr {
            segment_bytes: start.segment_bytes.max(1),
            initial_cwnd: start.window,
            random: SplitMix64::new(start.seed),
            phase: BbrPhase::Startup,
            cwnd: start.window,
            prior_cwnd: 0.0,
            pacing_rate: control::initial_pacing_rate(start.window, start.rtt),
            has_seen_rtt: start.rtt.is_some(),
            recovery: Recovery::default(),
            model: BbrModel::new(start.rtt),
            policer: Policer::default(),
            full_pipe: BbrFullPipe::default(),
            departure: 0,
            idle_restart: false,
            begun: false,
        }
    }

    /// The bandwidth in force, segments a second.
    fn bw(&self) -> f64 {
        self.policer.rate().unwrap_or(self.model.max_bw())
    }

    fn update_model_and_state(&mut self, news: &BbrAckEvent) {
        self.model.update_round(news);
        self.update_policer(news);
        self.model.update_max_bw(news);
        self.update_aggregation(news);
        self.update_cycle_phase(news);
        self.check_full_pipe(news);
        self.check_drain(news);
        self.update_min_rtt(news);
    }
}

impl CongestionControl for Bbr {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Always infinite: there is no threshold.
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn send_quantum(&self) -> u64 {
        self.quantum() as u64
    }

    fn takes_rate_samples(&self) -> bool {
        true
    }

    fn rules_recovery(&self) -> bool {
        true
    }

    /// Section 4.3.5: samples of ProbeRTT count as limited by the application.
    fn holds_back(&self) -> bool {
        matches!(self.phase, BbrPhase::ProbeRtt { .. })
    }

    #[inline(never)]
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let Some(rate) = ack.rate else { return };
        let news = BbrAckEvent::of(flow, ack, rate);
        self.update_model_and_state(&news);
        self.set_pacing_rate(&news);
        self.set_cwnd(&news);
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        match signal {
            Signal::Loss => self.enter_fast_recovery(flow),
            Signal::Timeout => self.enter_timeout(flow),
            Signal::Ecn => {}
        }
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.end_recovery(flow.now);
    }

    #[inline]
    fn on_sent(&mut self, flow: &Flow) {
        if !self.begun {
            self.begun = true;
            self.model.begin(flow.now);
        }
        if flow.in_flight == 1 && flow.app_limited {
            self.restart_from_idle(flow.now);
        }
        self.note_departure(flow.now);
    }

    /// The window comes back, and Startup looks again for a full pipe, as in Linux.
    fn on_undo(&mut self, _cwnd: f64, _ssthresh: f64) {
        self.full_pipe.look_anew();
        self.policer.reset_sampling();
        self.leave_recovery();
    }

    /// Later states need no limit: their rate is at most a quarter above a measured delivery rate.
    fn on_limit(&mut self, cwnd: f64) {
        if self.phase == BbrPhase::Startup {
            self.cwnd = self.cwnd.min(cwnd);
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let bits = 8.0 * f64::from(self.segment_bytes);
        let phase = match self.phase {
            BbrPhase::Startup => 0.0,
            BbrPhase::Drain => 1.0,
            BbrPhase::ProbeBw { .. } => 2.0,
            BbrPhase::ProbeRtt { .. } => 3.0,
        };
        visit("bw_bps", self.bw() * bits);
        visit("max_bw_bps", self.model.max_bw() * bits);
        visit("pacing_bps", self.pacing_rate * bits);
        visit("min_rtt_s", self.model.min_rtt.map_or(f64::NAN, seconds));
        visit("phase", phase);
        visit("extra_acked_packets", self.model.extra_acked.value());
        visit("policed_bps", self.policer.rate().map_or(f64::NAN, |rate| rate * bits));
    }
}
