//! Parameters of BBRv3: every constant of the draft, and the values of Google's Linux module where they differ.

use super::model::MAX_BW_CYCLES;
use super::{BBR3, Bbr3Phase};
use crate::declare::{TypedParams, choices, params};
use crate::params::{Params, Value};
use crate::time::{Nanos, SECOND};

params! {
    /// Parameters of BBRv3.
    pub struct Bbr3Params for BBR3 in "fullpipe_cc::algorithms::bbr3" {
        variant: Bbr3Variant = choice(&["draft-06", "linux-v3"]), "1",
            "Rules and defaults: the draft's, or those of Google's Linux module.",
            "draft-ietf-ccwg-bbr-06; github.com/google/bbr, branch v3";
        startup_pacing_gain: Option<f64> = number(2.77, 1.0, 10.0), "1",
            "Pacing gain of Startup, also of the first pacing rate.",
            "draft-ietf-ccwg-bbr-06 section 2.5: StartupPacingGain", { "linux-v3": Value::Number(710.0 / 256.0) };
        drain_pacing_gain: Option<f64> = number(0.5, 0.01, 1.0), "1",
            "Pacing gain of Drain.",
            "draft-ietf-ccwg-bbr-06 section 2.5: DrainPacingGain", { "linux-v3": Value::Number(88.0 / 256.0) };
        down_pacing_gain: Option<f64> = number(0.9, 0.01, 1.0), "1",
            "Pacing gain of ProbeBW_DOWN.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.1", { "linux-v3": Value::Number(232.0 / 256.0) };
        cruise_pacing_gain: f64 = number(1.0, 0.01, 2.0), "1",
            "Pacing gain of ProbeBW_CRUISE.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.2";
        refill_pacing_gain: f64 = number(1.0, 0.01, 2.0), "1",
            "Pacing gain of ProbeBW_REFILL.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.3";
        up_pacing_gain: f64 = number(1.25, 1.0, 10.0), "1",
            "Pacing gain of ProbeBW_UP.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.5";
        probe_rtt_pacing_gain: f64 = number(1.0, 0.01, 2.0), "1",
            "Pacing gain of ProbeRTT.",
            "draft-ietf-ccwg-bbr-06 section 5.3.4.3";
        pacing_margin: f64 = number(0.01, 0.0, 0.5), "1",
            "Fraction of bw by which the pacing rate stays below it.",
            "draft-ietf-ccwg-bbr-06 section 2.5: PacingMarginPercent";
        cwnd_gain: f64 = number(2.0, 0.5, 10.0), "1",
            "Window gain of Startup, Drain, ProbeBW_DOWN, ProbeBW_CRUISE, and ProbeBW_REFILL.",
            "draft-ietf-ccwg-bbr-06 section 2.6: DefaultCwndGain";
        up_cwnd_gain: f64 = number(2.25, 0.5, 10.0), "1",
            "Window gain of ProbeBW_UP.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.5";
        probe_rtt_cwnd_gain: f64 = number(0.5, 0.01, 2.0), "1",
            "Window gain of ProbeRTT.",
            "draft-ietf-ccwg-bbr-06 section 2.16.2: ProbeRTTCwndGain";
        loss_threshold: Option<f64> = number(0.02, 0.0, 0.9), "1",
            "Fraction of a round's segments whose loss shows that too much is in flight.",
            "draft-ietf-ccwg-bbr-06 section 2.8: LossThresh", { "linux-v3": Value::Number(5.0 / 256.0) };
        beta: Option<f64> = number(0.7, 0.1, 0.99), "1",
            "Multiplicative decrease factor of a round with a loss.",
            "draft-ietf-ccwg-bbr-06 section 2.8: Beta", { "linux-v3": Value::Number(180.0 / 256.0) };
        headroom: Option<f64> = number(0.15, 0.0, 0.9), "1",
            "Fraction of inflight_longterm that stays free for other flows.",
            "draft-ietf-ccwg-bbr-06 section 2.8: Headroom", { "linux-v3": Value::Number(38.0 / 256.0) };
        min_pipe_cwnd: f64 = number(4.0, 1.0, 1000.0), "segments",
            "Smallest window outside of recovery from a timeout.",
            "draft-ietf-ccwg-bbr-06 section 2.8: MinPipeCwnd";
        max_bw_filter_len: u32 = whole(2, 2, MAX_BW_CYCLES as u64), "cycles",
            "Cycles of ProbeBW whose largest rate is max_bw.",
            "draft-ietf-ccwg-bbr-06 section 2.11: MaxBwFilterLen";
        extra_acked_filter_len: u32 = whole(10, 2, 1000), "round trips",
            "Window of the filter of extra_acked after Startup. Linux: two bins of half of it.",
            "draft-ietf-ccwg-bbr-06 section 2.12: ExtraAckedFilterLen";
        full_bw_growth: f64 = number(1.25, 1.0, 10.0), "1",
            "Growth of the delivery rate in a round below which the path may be full.",
            "draft-ietf-ccwg-bbr-06 section 5.3.1.2";
        full_bw_rounds: u32 = whole(3, 1, 100), "round trips",
            "Rounds without that growth after which the path counts as full.",
            "draft-ietf-ccwg-bbr-06 section 5.3.1.2";
        full_loss_count: u32 = whole(6, 1, 1000), "1",
            "Ranges of lost segments in a round that end Startup. Linux: ACKs that show losses.",
            "draft-ietf-ccwg-bbr-06 section 5.3.1.3: StartupFullLossCnt";
        drain_rounds: Option<u32> = whole(3, 1, NO_LIMIT as u64), "round trips",
            "Rounds after which Drain ends in any case; 1000 is no limit.",
            "draft-ietf-ccwg-bbr-06 section 5.3.2", { "linux-v3": Value::Whole(NO_LIMIT as u64) };
        probe_wait: f64 = number(2.0, 0.01, 1000.0), "s",
            "Smallest time between two probes for bandwidth.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.8.3: PickProbeWait";
        probe_wait_random: f64 = number(1.0, 0.0, 1000.0), "s",
            "Largest random time added to `probe_wait`.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.8.3: PickProbeWait";
        probe_rounds: f64 = number(63.0, 1.0, 1e6), "round trips",
            "Largest number of rounds between two probes for bandwidth.",
            "draft-ietf-ccwg-bbr-06 section 5.3.3.8.3: IsRenoCoexistenceProbeTime";
        probe_rtt_interval: f64 = number(5.0, 0.1, 1000.0), "s",
            "Time without a lower RTT after which ProbeRTT begins.",
            "draft-ietf-ccwg-bbr-06 section 2.16.2: ProbeRTTInterval";
        probe_rtt_duration: f64 = number(0.2, 0.001, 10.0), "s",
            "Smallest duration of ProbeRTT, from the time at which the data in flight is low enough.",
            "draft-ietf-ccwg-bbr-06 section 2.16.2: ProbeRTTDuration";
        min_rtt_filter_len: f64 = number(10.0, 0.1, 1000.0), "s",
            "Window of the filter of min_rtt.",
            "draft-ietf-ccwg-bbr-06 section 2.16.1: MinRTTFilterLen";
        initial_rtt: f64 = number(0.001, 1e-6, 1.0), "s",
            "RTT of the first pacing rate without a sample from the handshake.",
            "draft-ietf-ccwg-bbr-06 section 5.6.2: InitPacingRate";
        quantum_time: Option<f64> = number(0.001, 1e-6, 1.0), "s",
            "Time at the pacing rate that one send quantum takes.",
            "draft-ietf-ccwg-bbr-06 section 5.6.3: SetSendQuantum", { "linux-v3": Value::Number(1.0 / 1024.0) };
        quantum_bytes: Option<f64> = number(65_536.0, 1.0, 1e7), "bytes",
            "Largest send quantum.",
            "draft-ietf-ccwg-bbr-06 section 5.6.3: SetSendQuantum",
            // Less the longest header.
            { "linux-v3": Value::Number(65_536.0 - 1.0 - 320.0) };
        quantum_segments: f64 = number(2.0, 1.0, 1000.0), "segments",
            "Smallest send quantum; overrides `quantum_bytes`.",
            "draft-ietf-ccwg-bbr-06 section 5.6.3: SetSendQuantum";
        offload_quanta: f64 = number(3.0, 0.0, 100.0), "1",
            "Smallest window, in send quanta.",
            "draft-ietf-ccwg-bbr-06 section 5.5.8.1: UpdateOffloadBudget";
        up_extra_segments: f64 = number(2.0, 0.0, 1000.0), "segments",
            "Segments by which ProbeBW_UP raises the window.",
            "draft-ietf-ccwg-bbr-06 section 5.6.4.2: QuantizationBudget";
    }
}

/// Rules that BBRv3 follows.
///
/// ```
/// use fullpipe_cc::algorithms::bbr3::{BBR3, Bbr3Variant};
/// use fullpipe_cc::params::{Params, Value};
///
/// let variant = Value::Name(Bbr3Variant::LinuxV3.name());
/// assert_eq!(Params::defaults(&BBR3).number("beta"), 0.7, "section 2.8 of the draft");
/// assert_eq!(Params::checked(&BBR3, &[("variant", variant)])?.number("beta"), 180.0 / 256.0);
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bbr3Variant {
    /// Rules of draft-ietf-ccwg-bbr-06.
    Draft06,
    /// Rules of Google's Linux module (branch v3).
    LinuxV3,
}

choices! { Bbr3Variant { Draft06 = "draft-06", LinuxV3 = "linux-v3" } }

/// Value of `drain_rounds` without a limit.
const NO_LIMIT: u32 = 1000;

/// Values that hold for one connection, in the units of the code.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constants {
    pub linux: bool,
    pub full_bw_rounds: u32,
    pub max_bw_filter_len: u32,
    pub full_loss_count: u32,
    pub extra_acked_filter_len: u32,
    /// [`u32::MAX`] without a limit.
    pub drain_rounds: u32,
    /// Pacing gains by [`Bbr3Phase`]. A table avoids branches that mispredict with many flows.
    pub pacing_gains: [f64; Bbr3Phase::COUNT],
    /// Window gain of all states but ProbeBW_UP and ProbeRTT.
    pub cwnd_gain: f64,
    pub up_cwnd_gain: f64,
    pub probe_rtt_cwnd_gain: f64,
    /// 1 - PacingMarginPercent.
    pub paced_fraction: f64,
    pub loss_threshold: f64,
    pub beta: f64,
    pub headroom: f64,
    pub min_pipe_cwnd: f64,
    pub full_bw_growth: f64,
    pub probe_wait: Nanos,
    pub probe_wait_random: f64,
    pub probe_rounds: f64,
    pub probe_rtt_interval: Nanos,
    pub probe_rtt_duration: Nanos,
    pub min_rtt_filter_len: Nanos,
    pub quantum_s: f64,
    /// Largest quantum, segments.
    pub most_quantum: f64,
    pub quantum_bytes: f64,
    pub least_quantum: f64,
    pub offload_quanta: f64,
    pub up_extra_segments: f64,
}

impl Constants {
    /// Constants of a connection, and the RTT of its first pacing rate.
    pub fn new(params: &Params, segment_bytes: u32) -> (Constants, Nanos) {
        let given = Bbr3Params::read(params);
        let nanos = |time_s: f64| (time_s * SECOND as f64) as Nanos;
        let quantum_bytes = known(given.quantum_bytes);
        let drain_rounds = known(given.drain_rounds);
        let constants = Constants {
            linux: given.variant == Bbr3Variant::LinuxV3,
            full_bw_rounds: given.full_bw_rounds,
            max_bw_filter_len: given.max_bw_filter_len,
            full_loss_count: given.full_loss_count,
            extra_acked_filter_len: given.extra_acked_filter_len,
            drain_rounds: if drain_rounds < NO_LIMIT { drain_rounds } else { u32::MAX },
            pacing_gains: [
                known(given.startup_pacing_gain),
                known(given.drain_pacing_gain),
                known(given.down_pacing_gain),
                given.cruise_pacing_gain,
                given.refill_pacing_gain,
                given.up_pacing_gain,
                given.probe_rtt_pacing_gain,
            ],
            cwnd_gain: given.cwnd_gain,
            up_cwnd_gain: given.up_cwnd_gain,
            probe_rtt_cwnd_gain: given.probe_rtt_cwnd_gain,
            paced_fraction: 1.0 - given.pacing_margin,
            loss_threshold: known(given.loss_threshold),
            beta: known(given.beta),
            headroom: known(given.headroom),
            min_pipe_cwnd: given.min_pipe_cwnd,
            full_bw_growth: given.full_bw_growth,
            probe_wait: nanos(given.probe_wait),
            probe_wait_random: given.probe_wait_random * SECOND as f64,
            probe_rounds: given.probe_rounds,
            probe_rtt_interval: nanos(given.probe_rtt_interval),
            probe_rtt_duration: nanos(given.probe_rtt_duration),
            min_rtt_filter_len: nanos(given.min_rtt_filter_len),
            quantum_s: known(given.quantum_time),
            most_quantum: quantum_bytes / f64::from(segment_bytes),
            quantum_bytes,
            least_quantum: given.quantum_segments,
            offload_quanta: given.offload_quanta,
            up_extra_segments: given.up_extra_segments,
        };
        (constants, nanos(given.initial_rtt))
    }
}

/// Value of a parameter whose default depends on the variant. [`Params`] has filled it in.
fn known<T>(value: Option<T>) -> T {
    value.expect("every parameter has a value")
}
