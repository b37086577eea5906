//! Every valid scenario runs to its end, overflows nothing, is deterministic, and has a consistent report. Scenarios
//! are generated from numbers; `FULLPIPE_SCENARIOS=0..50000` (or other numbers) replaces the default ones.

mod dice;
mod extremes;
mod hostile;
mod invariants;
mod order;
mod quic;
mod resolved;

use fullpipe_sim::Scenario;
use fullpipe_sim::scenario::{EcnField, EcnMode, Jitter, JitterModel, Link, Loss, Recovery};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Those of every run of the tests.
const STANDING: Range<u64> = 0..1000;

/// When a run is given up: 16,384 events times this.
const PATIENCE: usize = 20;

/// Number of failures that are printed. The first is the simplest.
const SHOWN: usize = 5;

#[test]
fn any_scenario_makes_sense() {
    let mut faults = Vec::new();
    for number in asked_for() {
        let scenario = dice::scenario(number);
        if let Some(fault) = fault(&scenario) {
            faults.push(format!("scenario {number}: {fault}\n{}", scenario.to_toml()));
        }
    }
    let shown = faults.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} scenarios:\n{shown}", faults.len());
}

fn asked_for() -> Range<u64> {
    let Ok(text) = std::env::var("FULLPIPE_SCENARIOS") else { return STANDING };
    let number = |text: &str| text.parse::<u64>().expect("FULLPIPE_SCENARIOS=from..to");
    let (from, to) = text.split_once("..").expect("FULLPIPE_SCENARIOS=from..to");
    number(from)..number(to)
}

/// Error of a scenario, if there is one.
fn fault(scenario: &Scenario) -> Option<String> {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        if Scenario::from_toml(&scenario.to_toml()).as_ref() != Ok(scenario) {
            return vec![format!("written and read again: {:?}", Scenario::from_toml(&scenario.to_toml()))];
        }
        invariants::broken(scenario, PATIENCE)
    }));
    let what = match checked {
        Ok(broken) => broken.join("\n"),
        Err(panic) => format!("panic: {:?}", panic.downcast_ref::<String>()),
    };
    (!what.is_empty()).then_some(what)
}

/// The standing scenarios use every algorithm and recovery, and paths as long as they may be.
#[test]
fn the_standing_scenarios_have_everything() {
    let all: Vec<_> = STANDING.map(dice::scenario).collect();
    let tcp = || {
        let flows = all.iter().flat_map(|scenario| scenario.flows.iter().map(|group| &group.tcp));
        flows.chain(all.iter().flat_map(|scenario| scenario.web.iter().map(|web| &web.tcp)))
    };
    for info in fullpipe_cc::registry::ALL {
        let of_this = || tcp().filter(|tcp| tcp.algorithm.name == info.name);
        for recovery in Recovery::ALL {
            assert!(of_this().any(|tcp| tcp.recovery == recovery), "{} with {recovery:?}", info.name);
        }
        for param in info.params {
            let given =
                |tcp: &&fullpipe_sim::scenario::Tcp| tcp.algorithm.params.iter().any(|(name, _)| *name == param.name);
            assert!(of_this().any(|tcp| given(&tcp)), "{}.{}", info.name, param.name);
        }
    }
    for info in fullpipe_sim::queues::ALL {
        let of_this =
            || all.iter().flat_map(|scenario| &scenario.links).filter(|link| link.queue.info.name == info.name);
        assert!(of_this().count() > 0, "{}", info.name);
        for param in info.params {
            let given = |link: &Link| link.queue.given.iter().any(|(name, _)| *name == param.name);
            assert!(of_this().any(given), "{}.{}", info.name, param.name);
        }
    }
    for mode in EcnMode::ALL {
        assert!(tcp().any(|tcp| tcp.ecn == mode), "{mode:?}");
    }
    assert!(tcp().any(|tcp| tcp.path.len() == 127));
    let frames = || all.iter().flat_map(|scenario| &scenario.udp).filter_map(|udp| udp.frames);
    assert!(frames().any(|frames| frames.key.is_some()) && frames().any(|frames| frames.key.is_none()));
    let links = || all.iter().flat_map(|scenario| &scenario.links).flat_map(|link| [link, link.direction(true)]);
    let varied: [fn(&Link) -> bool; 17] = [
        |link| link.trace.is_some(),
        |link| link.schedule.repeat.is_some(),
        |link| link.schedule.changes.iter().any(|change| change.rate_bps == Some(0)),
        |link| link.jitter.is_some_and(|jitter| jitter.model == JitterModel::Wifi),
        |link| link.reorder.is_some(),
        |link| link.aggregation.is_some(),
        |link| link.policer.is_some(),
        |link| matches!(link.loss, Loss::GilbertElliott { .. }),
        |link| link.schedule.changes.iter().any(|change| change.loss == Some(Loss::Independent(1.0))),
        |link| link.reverse.is_some(),
        |link| !link.drop.is_empty(),
        |link| link.limit.is_some(),
        |link| link.ecn_field == EcnField::NotEct,
        |link| link.delay_trace.as_ref().is_some_and(|trace| trace.repeats),
        |link| link.loss_trace.is_some(),
        |link| link.jitter.is_some_and(|jitter| jitter.reorder && jitter.correlation > 0.0),
        |link| matches!(link.jitter, Some(Jitter { model: JitterModel::ParetoNormal { .. }, .. })),
    ];
    for (index, varied) in varied.iter().enumerate() {
        assert!(links().any(varied), "number {index}");
    }
    assert!(all.iter().any(|scenario| scenario.links.iter().any(|link| link.rate_bps == 1)));
}
