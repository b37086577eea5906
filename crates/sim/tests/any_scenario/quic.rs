//! Random scenarios with all connections over QUIC.

use crate::{asked_for, dice, fault};
use fullpipe_sim::Scenario;
use fullpipe_sim::model::{Quic, Recovery, Tcp, Tunnel};

/// Scenario of a number, over QUIC. The keys of QUIC follow from the number, so that the scenarios over TCP stay as they are.
fn scenario(number: u64) -> Scenario {
    let mut scenario = dice::scenario(number);
    let pick = |digit: u32, values: [u64; 4]| values[(number / 4u64.pow(digit) % 4) as usize];
    let rules = Quic {
        ack_every: pick(0, [2, 1, 10, 1_000_000]) as u32,
        ack_delay: pick(1, [25_000_000, 0, 1_000_000, 16_383_000_000]),
        ack_reorder: pick(2, [1, 0, 3, 1_000_000]) as u32,
        mtu_probes: Some(pick(3, [0, 1_000_000, 100_000_000, 1_000_000_000])).filter(|&interval| interval > 0),
        tunnel: Some(Tunnel { at: pick(4, [0, 1_000_000, 1_000_000_000, 2_000_000_000]), overhead: 10 }),
    };
    let flows = scenario.flows.iter_mut().map(|group| &mut group.tcp);
    for tcp in flows.chain(scenario.web.iter_mut().map(|web| &mut web.tcp)) {
        let given = tcp.clone();
        let default = Tcp::of(given.algorithm.clone(), Recovery::Sack, given.path.clone());
        let Tcp { prr, delayed_ack, delayed_ack_timeout, ack_every, byte_counting, min_rto, rto, idle, .. } = default;
        *tcp = Tcp {
            quic: Some(rules),
            recovery: Recovery::Sack,
            prr,
            delayed_ack,
            delayed_ack_timeout,
            ack_every,
            byte_counting,
            min_rto,
            rto,
            idle,
            sack_compression: false,
            timestamp_tick: 0,
            rtt_tick: 0,
            ..given
        };
    }
    scenario
}

#[test]
fn any_scenario_over_quic_makes_sense() {
    let mut faults = Vec::new();
    for number in asked_for().take(400) {
        let scenario = scenario(number);
        if let Some(fault) = fault(&scenario) {
            faults.push(format!("scenario {number}: {fault}\n{}", scenario.to_toml()));
        }
    }
    assert!(faults.is_empty(), "{} scenarios:\n{}", faults.len(), faults[0]);
}
