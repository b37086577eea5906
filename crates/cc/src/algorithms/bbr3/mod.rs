//! BBRv3: a model of the path (its bandwidth, its round trip, how much it takes before it loses) that is probed from time to time, and
//! a rate and a window that follow from it.
//!
//! Source: draft-ietf-ccwg-bbr-06 (N. Cardwell, I. Swett, J. Beshay, July 2026) and its repository up to 3 August 2026; names and
//! section numbers are the draft's. A file for each state:
//!
//! | state | pacing gain | cwnd gain | most in flight |
//! |---|---|---|---|
//! | `startup.rs` | 2.77 | 2 | |
//! | `drain.rs` | 0.5 | 2 | inflight_longterm, inflight_shortterm |
//! | `down.rs` | 0.9 | 2 | inflight_longterm, inflight_shortterm |
//! | `cruise.rs` | 1 | 2 | 0.85 inflight_longterm, inflight_shortterm |
//! | `refill.rs` | 1 | 2 | inflight_longterm |
//! | `up.rs` | 1.25 | 2.25 | inflight_longterm |
//! | `probe_rtt.rs` | 1 | 0.5 | 0.85 inflight_longterm, inflight_shortterm |
//!
//! The rules common to the four ProbeBW states are in `probe_bw.rs`, the model in `model.rs`, the response to losses in `congestion.rs`, rate
//! and window in `control.rs`. The rules of `variant = "linux-v3"` only are in `linux.rs`, its response to marks in `marks.rs`. The pacing
//! rate is gain times bw less 1 %. The window is gain times bw times min_rtt plus the aggregation of ACKs.
//!
//! # Deviations and choices
//!
//! Where the draft contradicts itself or is silent:
//!
//! - **Gains** are the table's of section 5.6.1 in every state; the code of section 5.3.3.9 never sets those of the ProbeBW states.
//!   `SetPacingRate` means BBR.pacing_gain where it writes C.pacing_gain.
//! - **Caps.** Drain is bounded by inflight_longterm too, as in that table; `BoundCwndForModel` leaves it out.
//! - **Leaving Drain** by time is after the round `drain_start_round + 3`, as in the code; in the text it is after 3 round trips.
//! - **Startup's end by loss** sets full_bw_now and full_bw_reached, as the appendix asks; section 5.3.1.3 sets the latter alone.
//!   Ranges of lost segments are counted from the round's first loss on; without selective acknowledgements any loss in fast
//!   recovery is enough.
//! - **A loss while the application is the limit** ends UP, but leaves inflight_longterm as it is, as `HandleInflightTooHigh` has it; the
//!   appendix asks for an update "regardless of the application-limited state".
//! - **A probe with Reno in mind** compares rounds with the window in packets; the draft's code compares them with bytes.
//! - **Inflight(gain)** is of bw, except where section 5.3.3.9 gives it max_bw.
//! - **State is saved** once an episode of recovery, at its first loss and before that is answered. The draft saves at the first
//!   loss of every round and again when recovery begins, which would forget the state that a spurious loss is to bring back.
//! - **probe_rtt_min_delay** begins as min_rtt does; the draft leaves it out of `OnInit`.
//! - **max_bw** of the last two cycles: a cycle without a sample does not push out an older one.
//! - **A sample without a rate** (section 4.1.2.3: shorter than the least RTT) is not used for the full pipe.
//! - **Precautionary deceleration** (section 5.3.3.6) takes C.inflight as it was before the ACK, and as reaching inflight_longterm where
//!   not a whole segment more has room. After the ACK it never reaches it: the window ends there.
//! - **After recovery** the window that comes back is bounded by the model at once (section 5.6.4.4).
//! - **A repaired tail** (a tail loss probe) is a round with a loss; section 5.5.10.3 names it without a rule.
//! - **Marks** (ECN), whose response the draft leaves open, count as a loss rate above LossThresh once a window: in a probe
//!   as inflight too high, otherwise as a round with a loss.
//! - **Segments**, not bytes, count, as fractions; send_quantum is rounded down to whole ones, but not below 2. `offload_budget` is
//!   TCP's, 3 quanta, although the simulator has no offload.
//!
//! `variant = "linux-v3"` has the rules of Google's Linux module (github.com/google/bbr, branch v3, `net/ipv4/tcp_bbr.c`). They are not the
//! draft's in these:
//!
//! - **Numbers** are parts of 256, rounded down: Startup paces at 710/256 (also at first, less the pacing margin), Drain at 88/256, DOWN at
//!   232/256; LossThresh is 5/256, Beta 180/256, Headroom 38/256. A gain that a scenario gives holds with either variant.
//! - **Whole segments.** The BDP is rounded up; thresholds, cuts, headroom and steps are rounded down.
//! - **The next departure.** The end of UP as a precaution, of DOWN and of Drain depends on the amount in flight at the next departure: the
//!   amount (in UP and DOWN, before the ACK) less bw times the time until then. In UP the send quantum that departs then is added.
//! - **Drain** ends at max_bw's BDP only, after any number of rounds. It begins with new signals of congestion, and inflight_longterm does
//!   not bound it.
//! - **A full pipe**: an ACK within a round may show that the rate still grows. Three round starts after it can be little more than two
//!   rounds, so that growth by 9 % a round (19 % in two rounds) can end Startup: conformance rule S17 fails. In the draft three whole rounds
//!   pass (30 %). Losses that end Startup do not set full_bw_now. ACKs that show losses are counted, not ranges. inflight_longterm is
//!   then at least max_bw's BDP with room for 3 quanta.
//! - **A sample without a rate** starts no round, and is not used for rates, loss rounds or aggregation.
//! - **Losses of a sample**: a probe also ends by an ACK of a segment since whose departure too much was lost. A loss that ends UP counts for
//!   the round in DOWN too.
//! - **extra_acked** is the greatest of two bins of 5 rounds, and adds at most 100 ms of bw to the window. After idle time it begins at 0.
//! - **CRUISE** begins with no more inflight_shortterm than inflight_longterm.
//! - **Young connections** grow while the window is below twice the first one.
//! - **The send quantum** is 1/1024 s of the pacing rate, plus 64 kB halved for every 512 us of min_rtt, in whole segments.
//! - **Target.** The target in flight has room for 3 quanta, also where it bounds inflight_longterm and the rounds between probes.
//! - **Recovery.** Its end brings the window back after a timeout only. State is saved when an episode begins, after its first loss is
//!   answered. A loss that was none does not bring back Startup or UP. A timeout resets the full-pipe estimator and sets inflight_shortterm.
//! - **A repaired tail** (a tail loss probe) can also end a probe as inflight too high.
//! - **min_rtt** is as old as the latest RTT that equals it.
//! - **Marks** are answered once min_rtt has been at most 5 ms: alpha is the part that is marked, averaged by 1/16 a round; a round with marks
//!   cuts inflight_shortterm by 85/256 of alpha; more than half of a round marked is inflight too high, and in Startup two such rounds end
//!   it. After marks without losses the next probe begins at once.
//!
//! Rules of the module that this variant lacks:
//!
//! - It counts the marks of a sample; here they are the round's.
//! - It keeps the latest rate where an ACK is of a tail loss probe, and RTTs of ACKs that were held back; the simulated sender reports neither.
//! - It skips the aggregation of ACKs where the application is the limit, and restarts it after 2^20 segments.
//! - Its clock has steps of 4 ms (`CONFIG_HZ`) or 1 us; here time is in nanoseconds.

mod congestion;
mod control;
mod cruise;
mod down;
mod drain;
mod linux;
#[cfg(test)]
mod linux_tests;
mod marks;
mod model;
mod params;
#[cfg(test)]
mod params_tests;
mod probe_bw;
mod probe_rtt;
mod refill;
mod rules;
mod startup;
#[cfg(test)]
mod tests;
mod up;

use crate::params::{Group, Info, Params};
use crate::parts::number::float;
use crate::random::SplitMix64;
use crate::time::{Nanos, seconds};
use crate::{Ack, CongestionControl, Flow, Lost, RateSample, Signal, Start};
use congestion::{Congestion, Undo};
use control::Bounds;
use core::fmt::Display;
use model::Bbr3Model;
use params::Constants;
pub use params::{Bbr3Params, Bbr3Variant};
use probe_bw::Probe;
use probe_rtt::ProbeRtt;
pub use rules::{Bbr3Rule, Bbr3Rules, DraftRules};
use startup::Bbr3FullPipe;

/// BBRv3.
pub const BBR3: Info = Info {
    name: "bbr3",
    paper: "N. Cardwell, I. Swett, J. Beshay, BBR Congestion Control, draft-ietf-ccwg-bbr-06, 2026",
    group: Group::Model,
    recovery: "rack",
    own_slow_start: true,
    ecn: None,
    params: Bbr3Params::PARAMS,
};

/// The state machine's states (section 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bbr3Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Bbr3Phase {
    /// Number of states.
    const COUNT: usize = 7;

    /// IsInAProbeBWState.
    fn is_probe_bw(self) -> bool {
        matches!(self, Bbr3Phase::Down | Bbr3Phase::Cruise | Bbr3Phase::Refill | Bbr3Phase::Up)
    }

    /// IsProbingBW.
    fn is_probing(self) -> bool {
        matches!(self, Bbr3Phase::Startup | Bbr3Phase::Refill | Bbr3Phase::Up)
    }

    fn number(self) -> f64 {
        match self {
            Bbr3Phase::Startup => 0.0,
            Bbr3Phase::Drain => 1.0,
            Bbr3Phase::Down => 2.0,
            Bbr3Phase::Cruise => 3.0,
            Bbr3Phase::Refill => 4.0,
            Bbr3Phase::Up => 5.0,
            Bbr3Phase::ProbeRtt => 6.0,
        }
    }
}

/// BBRv3 on one connection. In whole cache lines, the fields of each ACK first.
///
/// ```
/// use fullpipe_cc::algorithms::bbr3::{BBR3, Bbr3};
/// use fullpipe_cc::params::Params;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, RateSample, Start};
///
/// let rtt = 100_000_000;
/// let mut cc = Bbr3::controller(&Params::defaults(&BBR3), Start::from(10.0).rtt(rtt));
/// assert_eq!(cc.pacing_rate(), Some(2.77 * 10.0 / 0.1), "StartupPacingGain times the first window per RTT");
/// let rate = RateSample::new(1, Some(rtt)).rtt(Some(rtt));
/// cc.on_ack(&Flow::at(rtt).delivered(1).in_flight(9), &Ack::of(1, 1.0).rtt(Some(rtt)).rate(Some(rate)));
/// assert_eq!(cc.cwnd(), 11.0, "Startup adds each segment that arrives");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Bbr3<R = DraftRules> {
    model: Bbr3Model,
    /// C.cwnd, segments.
    cwnd: f64,
    /// C.pacing_rate, segments a second.
    pacing_rate: f64,
    /// C.send_quantum, segments, which follows from that: asked for at every burst.
    send_quantum: u64,
    /// C.send_quantum before it is rounded down.
    quantum: f64,
    bounds: Bounds,
    phase: Bbr3Phase,
    usage: WindowUsage,
    full_pipe: Bbr3FullPipe,
    congestion: Congestion,
    settings: Settings,
    probe_rtt: ProbeRtt,
    probe: Probe,
    /// BBR.prior_cwnd, segments.
    prior_cwnd: f64,
    /// When the next segment may leave; kept in the states that Linux ends by it.
    departure: Nanos,
    /// drain_start_round.
    drain_start_round: u32,
    random: SplitMix64,
    undo: Undo,
    rules: R,
}

/// Constants of the connection, and facts about its sender.
#[derive(Clone, Debug, PartialEq)]
struct Settings {
    constants: Constants,
    selective_acks: bool,
    segment_bytes: u32,
    /// C.InitialCwnd, segments.
    initial_cwnd: f64,
}

/// How the sender uses its window.
#[derive(Clone, Debug, Default, PartialEq)]
struct WindowUsage {
    begun: bool,
    /// C.is_cwnd_limited: it was full in this round, and in the one before.
    full_now: bool,
    full_before: bool,
    /// BBR.idle_restart.
    idle_restart: bool,
}

/// An ACK: the used fields of the draft's RS, and the connection's state after it.
struct Bbr3AckEvent {
    now: Nanos,
    /// RS.delivery_rate, segments a second; 0 without one.
    delivery_rate: f64,
    /// RS.delivered, RS.prior_delivered, RS.newly_acked.
    delivered: u64,
    prior_delivered: u64,
    newly_delivered: u64,
    /// RS.rtt; [`Nanos::MAX`] where there is none.
    rtt: Nanos,
    /// RS.tx_in_flight, RS.lost, RS.is_app_limited.
    tx_in_flight: u64,
    lost: u64,
    is_app_limited: bool,
    /// C.inflight.
    flight: u64,
    /// Fast recovery is under way.
    in_recovery: bool,
    /// Segments newly marked, and found lost since the ACK before.
    ce: u64,
    newly_lost: u64,
}

impl Bbr3AckEvent {
    #[inline(always)]
    fn of(flow: &Flow, ack: &Ack, rate: RateSample) -> Bbr3AckEvent {
        Bbr3AckEvent {
            now: flow.now,
            delivery_rate: rate.per_second().unwrap_or(0.0),
            delivered: rate.delivered,
            prior_delivered: rate.prior_delivered,
            newly_delivered: rate.newly_delivered,
            rtt: rate.rtt.unwrap_or(Nanos::MAX),
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost,
            is_app_limited: rate.is_app_limited,
            flight: flow.in_flight,
            in_recovery: flow.in_recovery,
            ce: ack.ce,
            newly_lost: ack.newly_lost,
        }
    }

    /// Whether the sample is no shorter than the least RTT (section 4.1.2.3).
    #[inline(always)]
    fn tells_of_a_rate(&self) -> bool {
        self.delivery_rate > 0.0
    }

    /// RS.newly_acked.
    fn newly_acked(&self) -> f64 {
        float(self.newly_delivered)
    }

    /// C.delivered.
    fn delivered_so_far(&self) -> u64 {
        self.prior_delivered + self.delivered
    }

    /// C.inflight.
    fn in_flight(&self) -> f64 {
        float(self.flight)
    }

    /// C.inflight before this ACK.
    fn prior_in_flight(&self) -> f64 {
        float(self.flight + self.newly_delivered + self.newly_lost)
    }
}

impl Bbr3 {
    /// BBRv3 that begins in Startup (OnInit).
    pub fn controller(params: &Params, start: impl Into<Start>) -> Bbr3 {
        Bbr3::with_rules(params, start, DraftRules)
    }
}

impl<R: Bbr3Rules> Bbr3<R> {
    /// BBRv3 with rules of the caller.
    pub fn with_rules(params: &Params, start: impl Into<Start>, rules: R) -> Bbr3<R> {
        let start = start.into();
        let segment_bytes = start.segment_bytes.max(1);
        let (constants, initial_rtt) = Constants::new(params, segment_bytes);
        let first_rate = control::initial_pacing_rate(&start, &constants, initial_rtt, &rules);
        let linux = constants.linux;
        let settings =
            Settings { constants, selective_acks: start.selective_acks, segment_bytes, initial_cwnd: start.window };
        let mut bbr = Bbr3 {
            settings,
            random: SplitMix64::new(start.seed),
            phase: Bbr3Phase::Startup,
            drain_start_round: 0,
            cwnd: start.window,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            send_quantum: 0,
            quantum: 0.0,
            bounds: Bounds::default(),
            model: Bbr3Model::new(start.rtt, linux),
            full_pipe: Bbr3FullPipe::default(),
            probe: Probe::default(),
            probe_rtt: ProbeRtt::new(start.rtt),
            congestion: Congestion::default(),
            undo: Undo::default(),
            usage: WindowUsage::default(),
            departure: 0,
            rules,
        };
        bbr.pace_at(first_rate);
        bbr
    }

    /// UpdateOnACK (section 5.2.3).
    #[inline(never)]
    fn on_news(&mut self, news: &Bbr3AckEvent) {
        self.update_model_and_state(news);
        if self.model.has_changed {
            self.follow_model();
        }
        debug_assert!(self.follows_model(), "what changes the model says so");
        self.set_cwnd(news);
    }

    /// UpdateModelAndState (section 5.2.3).
    fn update_model_and_state(&mut self, news: &Bbr3AckEvent) {
        let loss_round_starts = self.update_latest_delivery_signals(news);
        self.update_congestion_signals(news, loss_round_starts);
        if !self.settings.constants.linux || news.tells_of_a_rate() {
            self.update_ack_aggregation(news);
        }
        if self.model.round_start || (self.settings.constants.linux && !self.full_pipe.now) {
            self.check_full_bw_reached(news);
        }
        if loss_round_starts || (self.settings.constants.linux && news.newly_lost > 0) {
            self.check_startup_high_loss(news, loss_round_starts);
        }
        self.update_probe_bw_cycle_phase(news);
        let probe_rtt_expired = self.update_min_rtt(news);
        self.check_probe_rtt(news, probe_rtt_expired);
        if loss_round_starts {
            self.advance_latest_delivery_signals(news);
        }
        if self.settings.constants.linux {
            self.note_cycle(news);
        }
    }

    /// Another state begins.
    fn enter(&mut self, phase: Bbr3Phase) {
        self.phase = phase;
        self.model.has_changed = true;
    }

    /// C.is_cwnd_limited (section 2.2).
    fn is_cwnd_limited(&self) -> bool {
        self.usage.full_now || self.usage.full_before
    }

    /// The first segment leaves: clocks start.
    #[cold]
    fn begin(&mut self, now: Nanos) {
        self.usage.begun = true;
        self.model.begin(now);
        self.probe_rtt.begin(now);
    }

    /// HandleRestartFromIdle (section 5.4.1).
    #[cold]
    fn restart_from_idle(&mut self, now: Nanos) {
        self.usage.idle_restart = true;
        self.model.aggregation.begin(now);
        if self.settings.constants.linux {
            self.model.aggregation.forget();
        }
        if self.phase.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
            self.model.has_changed = true;
        } else if self.phase == Bbr3Phase::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}

impl<R: Bbr3Rules> CongestionControl for Bbr3<R> {
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
        self.send_quantum
    }

    fn takes_rate_samples(&self) -> bool {
        true
    }

    fn rules_recovery(&self) -> bool {
        true
    }

    /// HandleProbeRTT's MarkConnectionAppLimited (section 5.3.4.3).
    fn holds_back(&self) -> bool {
        self.phase == Bbr3Phase::ProbeRtt
    }

    /// Inlined, so that only the fields in use are built.
    #[inline(always)]
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(rate) = ack.rate {
            self.on_news(&Bbr3AckEvent::of(flow, ack, rate));
        }
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        match signal {
            // OnEnterFastRecovery (section 5.6.4.4).
            Signal::Loss => {
                if self.congestion.last_loss != Some(flow.now) {
                    self.handle_repaired_tail(flow);
                }
                self.enter_recovery();
            }
            Signal::Timeout => self.enter_timeout(flow),
            Signal::Ecn => self.on_mark(flow),
        }
    }

    /// Exiting loss recovery (section 5.6.4.4). The model's bounds come last.
    fn on_recovered(&mut self, _flow: &Flow) {
        self.undo.in_episode = false;
        let after_timeout = core::mem::take(&mut self.undo.after_timeout);
        if after_timeout || !self.settings.constants.linux {
            self.restore_cwnd();
            self.bound_cwnd();
        }
    }

    #[inline]
    fn on_sent(&mut self, flow: &Flow) {
        if !self.usage.begun {
            self.begin(flow.now);
        }
        if flow.in_flight == 1 && flow.app_limited {
            self.restart_from_idle(flow.now);
        }
        self.usage.full_now |= float(flow.in_flight) + 1.0 > self.cwnd;
        if self.settings.constants.linux && self.is_ended_at_departure() {
            self.note_departure(flow.now);
        }
    }

    fn on_lost(&mut self, flow: &Flow, lost: &Lost) {
        self.handle_lost_segment(flow, lost);
    }

    /// The window that was is remembered here.
    fn on_undo(&mut self, _cwnd: f64, _ssthresh: f64) {
        self.handle_spurious_loss();
    }

    /// Later states need no limit: their rate is at most a quarter above a measured delivery rate.
    fn on_limit(&mut self, cwnd: f64) {
        if self.phase == Bbr3Phase::Startup {
            self.cwnd = self.cwnd.min(cwnd);
        }
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.rules.fault()
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let known = |x: f64| if x.is_finite() { x } else { f64::NAN };
        let bits = 8.0 * f64::from(self.settings.segment_bytes);
        visit("bw_bps", known(self.model.bw() * bits));
        visit("max_bw_bps", self.model.max_bw() * bits);
        visit("pacing_bps", known(self.pacing_rate * bits));
        visit("min_rtt_s", self.model.min_rtt.map_or(f64::NAN, seconds));
        visit("phase", self.phase.number());
        visit("inflight_longterm_packets", known(self.model.inflight_longterm));
        visit("inflight_shortterm_packets", known(self.model.inflight_shortterm));
        visit("extra_acked_packets", self.model.aggregation.extra_acked());
    }
}
