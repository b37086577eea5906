//! Scenarios without TOML text, as a crate without the feature `toml` builds them.

use fullpipe_sim::model::{Amount, Buffer, FlowGroup, Invalid, Link, Recovery, Tcp};
use fullpipe_sim::scenario::{Table, Value};
use fullpipe_sim::{Scenario, Simulation};

const SECOND: u64 = 1_000_000_000;

fn dumbbell() -> Scenario {
    let link =
        Link { rate_bps: 10_000_000, delay: 10_000_000, buffer: Buffer::Packets(20), ..Link::named("bottleneck") };
    let flow = FlowGroup { count: 2, ..FlowGroup::of(Tcp::new("cubic", Recovery::Sack, vec![0])) };
    Scenario { links: vec![link], flows: vec![flow], ..Scenario::lasting(5 * SECOND) }
}

/// The rate of the link is 10 Mbit/s, and the two flows share it.
#[test]
fn a_scenario_from_the_types_of_the_model_runs() {
    let report = Simulation::new(dumbbell()).expect("a valid scenario").report().expect("a run to its end");
    assert_eq!(report.flows.len(), 2);
    let total: f64 = report.flows.iter().map(|flow| flow.throughput_bps).sum();
    assert!((9e6..=10e6).contains(&total), "{total}");
}

#[test]
fn a_tree_of_values_gives_the_same_scenario() {
    let scenario = dumbbell();
    let tree = scenario.to_value();
    assert_eq!(Scenario::from_value(&tree).expect("a scenario"), scenario);
    let mut rate: Table = tree;
    rate["links"][0]["rate"] = Value::from("20 Mbit/s");
    assert_eq!(Scenario::from_value(&rate).expect("a scenario").links[0].rate_bps, 20_000_000);
}

#[test]
fn a_fault_is_an_enum_with_its_value() {
    let mut scenario = dumbbell();
    scenario.links[0].rate_bps = 0;
    match scenario.check() {
        Err(Invalid::OutOfRange { key, got: Amount::Rate(0), .. }) => assert_eq!(key, "links[0].rate"),
        other => panic!("{other:?}"),
    }
}
