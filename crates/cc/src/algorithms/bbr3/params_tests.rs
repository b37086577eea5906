//! Effects of the parameters. Every expected value follows from the draft's rule by hand, for a path of 1000 segments a second and 100 ms.

use super::*;
use crate::params::{Kind, Value};
use crate::time::{MILLISECOND, SECOND};

/// Effect of one parameter.
struct Effect {
    name: &'static str,
    value: f64,
    /// Result of `measure` with the default, and with `value`.
    expected: [f64; 2],
    measure: fn(&mut Bbr3) -> f64,
}

const EFFECTS: &[Effect] = &[
    Effect {
        name: "startup_pacing_gain",
        value: 3.0,
        expected: [2.77, 3.0],
        measure: |cc| gain(cc, Bbr3Phase::Startup),
    },
    Effect { name: "drain_pacing_gain", value: 0.4, expected: [0.5, 0.4], measure: |cc| gain(cc, Bbr3Phase::Drain) },
    Effect { name: "down_pacing_gain", value: 0.8, expected: [0.9, 0.8], measure: |cc| gain(cc, Bbr3Phase::Down) },
    Effect {
        name: "cruise_pacing_gain",
        value: 0.95,
        expected: [1.0, 0.95],
        measure: |cc| gain(cc, Bbr3Phase::Cruise),
    },
    Effect { name: "refill_pacing_gain", value: 1.1, expected: [1.0, 1.1], measure: |cc| gain(cc, Bbr3Phase::Refill) },
    Effect { name: "up_pacing_gain", value: 1.5, expected: [1.25, 1.5], measure: |cc| gain(cc, Bbr3Phase::Up) },
    Effect {
        name: "probe_rtt_pacing_gain",
        value: 0.7,
        expected: [1.0, 0.7],
        measure: |cc| gain(cc, Bbr3Phase::ProbeRtt),
    },
    Effect { name: "pacing_margin", value: 0.1, expected: [990.0, 900.0], measure: |cc| cc.pacing_rate },
    Effect { name: "cwnd_gain", value: 3.0, expected: [2.0, 3.0], measure: |cc| cc.cwnd_gain() },
    Effect {
        name: "up_cwnd_gain",
        value: 4.0,
        expected: [2.25, 4.0],
        measure: |cc| in_phase(cc, Bbr3Phase::Up).cwnd_gain(),
    },
    // Half a BDP of 100 segments; a fifth of it.
    Effect { name: "probe_rtt_cwnd_gain", value: 0.2, expected: [50.0, 20.0], measure: |cc| cc.probe_rtt_cwnd() },
    // 4 of 100 segments are lost: more than 2 %, not more than 5 %.
    Effect {
        name: "loss_threshold",
        value: 0.05,
        expected: [1.0, 0.0],
        measure: |cc| f64::from(u8::from(cc.is_inflight_too_high(4.0, 100.0))),
    },
    Effect { name: "beta", value: 0.5, expected: [700.0, 500.0], measure: bw_after_a_loss },
    Effect { name: "headroom", value: 0.3, expected: [85.0, 70.0], measure: below_a_long_term_of_100 },
    Effect {
        name: "min_pipe_cwnd",
        value: 10.0,
        expected: [4.0, 10.0],
        measure: |cc| at_rate(cc, 10.0).probe_rtt_cwnd(),
    },
    Effect { name: "max_bw_filter_len", value: 3.0, expected: [500.0, 1000.0], measure: max_bw_two_cycles_later },
    Effect { name: "extra_acked_filter_len", value: 20.0, expected: [1.0, 50.0], measure: extra_acked_15_rounds_later },
    Effect {
        name: "full_bw_growth",
        value: 1.5,
        expected: [1300.0, 1000.0],
        measure: baseline_after_growth_by_30_percent,
    },
    Effect { name: "full_bw_rounds", value: 5.0, expected: [3.0, 5.0], measure: rounds_until_a_full_pipe },
    Effect { name: "full_loss_count", value: 3.0, expected: [0.0, 1.0], measure: is_full_after_3_lost_ranges },
    Effect { name: "drain_rounds", value: 7.0, expected: [4.0, 8.0], measure: round_after_drain },
    Effect { name: "probe_wait", value: 4.0, expected: [2.0, 4.0], measure: |cc| libm::floor(waits(cc)[0]) },
    Effect { name: "probe_wait_random", value: 0.0, expected: [1.0, 0.0], measure: spread_of_waits },
    Effect { name: "probe_rounds", value: 20.0, expected: [0.0, 1.0], measure: probes_after_25_rounds },
    Effect {
        name: "probe_rtt_interval",
        value: 2.0,
        expected: [0.0, 1.0],
        measure: probes_for_the_rtt_after_3_seconds,
    },
    Effect { name: "probe_rtt_duration", value: 1.0, expected: [0.21, 1.01], measure: length_of_probe_rtt },
    Effect {
        name: "min_rtt_filter_len",
        value: 4.0,
        expected: [0.1, 0.15],
        measure: min_rtt_after_4_and_a_half_seconds,
    },
    Effect { name: "quantum_time", value: 0.002, expected: [10.0, 20.0], measure: |cc| quantum_at(cc, 10_000.0) },
    // 65,536 B are 43.7 segments of 1500 B, and 15,000 B are 10.
    Effect { name: "quantum_bytes", value: 15_000.0, expected: [43.0, 10.0], measure: |cc| quantum_at(cc, 1e6) },
    Effect { name: "quantum_segments", value: 5.0, expected: [2.0, 5.0], measure: |cc| quantum_at(cc, 100.0) },
    Effect { name: "offload_quanta", value: 10.0, expected: [30.0, 100.0], measure: room_for_quanta_of_10 },
    Effect {
        name: "up_extra_segments",
        value: 7.0,
        expected: [102.0, 107.0],
        measure: |cc| in_phase(cc, Bbr3Phase::Up).inflight(1000.0, 1.0),
    },
    // 2.77 first windows of 10 segments in 1 ms; in 10 ms.
    Effect { name: "initial_rtt", value: 0.01, expected: [27_700.0, 2770.0], measure: |cc| cc.prior_cwnd },
];

fn gain(cc: &mut Bbr3, phase: Bbr3Phase) -> f64 {
    in_phase(cc, phase).pacing_gain()
}

fn in_phase(cc: &mut Bbr3, phase: Bbr3Phase) -> &mut Bbr3 {
    cc.phase = phase;
    cc
}

fn at_rate(cc: &mut Bbr3, rate: f64) -> &mut Bbr3 {
    cc.model.take(rate);
    cc
}

fn event(cc: &Bbr3, now_ms: u64, in_flight: u64, rate: u64) -> Bbr3AckEvent {
    let sample = RateSample::new(rate, Some(SECOND)).prior_delivered(cc.model.delivered).newly_delivered(1);
    let flow = Flow::at(now_ms * MILLISECOND).in_flight(in_flight).in_recovery(true);
    Bbr3AckEvent::of(&flow, &Ack::of(1, 1.0), sample)
}

fn bw_after_a_loss(cc: &mut Bbr3) -> f64 {
    cc.congestion.is_loss_in_round = true;
    cc.adapt_lower_bounds();
    cc.model.bw()
}

fn below_a_long_term_of_100(cc: &mut Bbr3) -> f64 {
    cc.model.inflight_longterm = 100.0;
    cc.inflight_with_headroom()
}

/// A cycle of 1000 segments a second, one of 500, and one that begins, at the end of a probe each.
fn max_bw_two_cycles_later(cc: &mut Bbr3) -> f64 {
    for rate in [1000.0, 500.0] {
        at_rate(cc, rate);
        cc.probe.ack_phase = probe_bw::AckPhase::ProbeStopping;
        let event = event(cc, 1, 100, 1);
        cc.model.next_round_delivered = 0;
        cc.update_max_bw(&event);
        cc.update_probe_bw_cycle_phase(&event);
    }
    cc.model.max_bw()
}

/// 50 segments at once in round 0; single ones at 1000 segments a second in round 15.
fn extra_acked_15_rounds_later(cc: &mut Bbr3) -> f64 {
    let burst = Bbr3AckEvent { newly_delivered: 50, ..event(cc, 0, 100, 1000) };
    cc.update_ack_aggregation(&burst);
    cc.model.round_count = 15;
    let late = event(cc, 2000, 100, 1000);
    cc.update_ack_aggregation(&late);
    cc.model.aggregation.extra_acked()
}

fn baseline_after_growth_by_30_percent(cc: &mut Bbr3) -> f64 {
    cc.full_pipe = Bbr3FullPipe { bw: 1000.0, ..Bbr3FullPipe::default() };
    let event = event(cc, 1, 100, 1300);
    cc.check_full_bw_reached(&event);
    cc.full_pipe.bw
}

fn rounds_until_a_full_pipe(cc: &mut Bbr3) -> f64 {
    cc.full_pipe = Bbr3FullPipe { bw: 1000.0, ..Bbr3FullPipe::default() };
    cc.model.round_start = true;
    let event = event(cc, 1, 100, 1000);
    let mut rounds = 0.0;
    while !cc.full_pipe.reached {
        cc.check_full_bw_reached(&event);
        rounds += 1.0;
    }
    rounds
}

fn is_full_after_3_lost_ranges(cc: &mut Bbr3) -> f64 {
    cc.full_pipe = Bbr3FullPipe::default();
    (cc.phase, cc.congestion.lost_ranges) = (Bbr3Phase::Startup, 3);
    let event = Bbr3AckEvent { lost: 10, tx_in_flight: 100, ..event(cc, 1, 100, 1000) };
    cc.check_startup_high_loss(&event, true);
    f64::from(u8::from(cc.full_pipe.reached))
}

/// First round, counted from the start of Drain, that is not in Drain.
fn round_after_drain(cc: &mut Bbr3) -> f64 {
    cc.enter_drain();
    let event = event(cc, 1, 500, 1000);
    while cc.phase == Bbr3Phase::Drain {
        cc.model.round_count += 1;
        cc.check_drain_done(&event);
    }
    f64::from(cc.model.round_count - cc.drain_start_round)
}

/// Shortest and longest of 64 times between probes, seconds. A probe begins at the first ACK after this time.
fn waits(cc: &mut Bbr3) -> [f64; 2] {
    let mut range = [f64::INFINITY, 0.0_f64];
    for _ in 0..64 {
        cc.start_down(0);
        cc.probe.rounds_since = 0;
        let mut now_ms = 0;
        loop {
            now_ms += 1;
            let event = event(cc, now_ms, 100, 1000);
            if cc.is_time_to_probe_bw(&event) {
                break;
            }
        }
        let wait_s = (now_ms - 1) as f64 / 1000.0;
        range = [range[0].min(wait_s), range[1].max(wait_s)];
    }
    range
}

fn spread_of_waits(cc: &mut Bbr3) -> f64 {
    let [shortest, longest] = waits(cc);
    libm::ceil(longest - shortest)
}

fn probes_after_25_rounds(cc: &mut Bbr3) -> f64 {
    cc.start_down(0);
    cc.probe.rounds_since = 25;
    let event = event(cc, 1, 100, 1000);
    f64::from(u8::from(cc.is_time_to_probe_bw(&event)))
}

fn probes_for_the_rtt_after_3_seconds(cc: &mut Bbr3) -> f64 {
    let event = event(cc, 3000, 100, 1000);
    f64::from(u8::from(cc.update_min_rtt(&event)))
}

/// Seconds from the ACK that leaves 1 segment in flight to the first that ends ProbeRTT, with an ACK every 10 ms.
fn length_of_probe_rtt(cc: &mut Bbr3) -> f64 {
    cc.model.round_start = true;
    let mut now_ms = 1000;
    loop {
        let event = event(cc, now_ms, 1, 1000);
        cc.check_probe_rtt(&event, now_ms == 1000);
        if cc.phase != Bbr3Phase::ProbeRtt {
            return (now_ms - 1000) as f64 / 1000.0;
        }
        now_ms += 10;
    }
}

/// A least RTT of 100 ms at time 0, and of 150 ms since the last ProbeRTT.
fn min_rtt_after_4_and_a_half_seconds(cc: &mut Bbr3) -> f64 {
    cc.probe_rtt.min_delay = 150 * MILLISECOND;
    let event = event(cc, 4500, 100, 1000);
    cc.update_min_rtt(&event);
    cc.model.min_rtt_s
}

fn quantum_at(cc: &mut Bbr3, rate: f64) -> f64 {
    cc.pace_at(rate);
    cc.send_quantum() as f64
}

fn room_for_quanta_of_10(cc: &mut Bbr3) -> f64 {
    cc.quantum = 10.0;
    cc.inflight(10.0, 1.0)
}

fn value_of(name: &str, value: f64) -> Value {
    let param = BBR3.params.iter().find(|param| param.name == name).expect("a declared parameter");
    match param.kind {
        Kind::Whole { .. } => Value::Whole(value as u64),
        _ => Value::Number(value),
    }
}

/// A connection with a full pipe of 1000 segments a second and 100 ms, in ProbeBW_CRUISE. As prior_cwnd the first pacing rate of a connection
/// without a handshake.
fn full(given: &[(&str, Value)]) -> Bbr3 {
    let params = Params::checked(&BBR3, given).expect("allowed values");
    let first = Bbr3::controller(&params, Start::from(10.0).segment_bytes(1500));
    let start = Start::from(10.0).segment_bytes(1500).rtt(100 * MILLISECOND).seed(7);
    let mut cc = Bbr3::controller(&params, start);
    cc.on_sent(&Flow::at(0).in_flight(1));
    at_rate(&mut cc, 1000.0);
    (cc.full_pipe.reached, cc.phase, cc.cwnd) = (true, Bbr3Phase::Cruise, 200.0);
    cc.prior_cwnd = first.pacing_rate;
    cc.follow_model();
    cc
}

#[test]
fn each_parameter_changes_its_rule_and_no_other() {
    for effect in EFFECTS {
        let given = [(effect.name, value_of(effect.name, effect.value))];
        for other in EFFECTS {
            let measured = (other.measure)(&mut full(&given));
            let expected = other.expected[usize::from(other.name == effect.name)];
            // Pacing rates are products of a gain.
            let pair = (effect.name, other.name);
            let is_product =
                [("cruise_pacing_gain", "pacing_margin"), ("startup_pacing_gain", "initial_rtt")].contains(&pair);
            assert!(
                is_product || (measured - expected).abs() < 1e-6,
                "{} with {}: {measured}",
                other.name,
                effect.name
            );
        }
    }
}

#[test]
fn every_parameter_of_a_number_has_a_test_of_its_effect() {
    let mut tested: std::vec::Vec<_> = EFFECTS.iter().map(|effect| effect.name).collect();
    let mut declared: std::vec::Vec<_> = BBR3.params.iter().map(|param| param.name).collect();
    declared.retain(|name| *name != "variant");
    tested.sort_unstable();
    declared.sort_unstable();
    assert_eq!(tested, declared);
}

/// The draft's values given with the module's rules hold, and vice versa.
#[test]
fn given_values_win_over_those_of_the_variant() {
    let constants = |given: &[(&str, Value)]| Constants::new(&Params::checked(&BBR3, given).expect("allowed"), 1500).0;
    let linux = ("variant", Value::Name("linux-v3"));
    let draft: std::vec::Vec<_> =
        BBR3.params[1..].iter().map(|param| (param.name, param.default.expect("a default"))).collect();
    let mut given = draft.clone();
    given.push(linux);
    assert_eq!(constants(&given), Constants { linux: true, ..constants(&[]) });
    assert_ne!(constants(&[linux]), Constants { linux: true, ..constants(&[]) });
}
