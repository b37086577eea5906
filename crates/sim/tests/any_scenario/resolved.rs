//! Resolved scenarios: every parameter of every algorithm and queue has its value in the text, and the text read again is the scenario.

use crate::{STANDING, dice};
use fullpipe_cc::params::Param;
use fullpipe_sim::queues;
use fullpipe_sim::scenario::{Algorithm, Queue, Scenario, Table, Value};
use fullpipe_sim::{Report, run};

/// Scenarios that are run both ways.
const RUN: std::ops::Range<u64> = 20_000..20_200;

/// Calls of the watch, 16,384 events apart, after which a run is given up.
const PATIENCE: usize = 4;

#[test]
fn resolved_text_is_a_fixed_point_with_every_parameter() {
    for number in STANDING {
        let scenario = dice::scenario(number);
        let text = scenario.to_toml();
        let again = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{number}: {problem}\n{text}"));
        assert_eq!(again, scenario, "scenario {number}\n{text}");
        assert_eq!(again.to_toml(), text, "scenario {number}");
        let tree: Table = text.parse().expect("TOML");
        check_links(&tree, &scenario);
        let flows = scenario.flows.iter().map(|group| &group.tcp.algorithm);
        check_algorithms(&tree, "flows", flows);
        check_algorithms(&tree, "web", scenario.web.iter().map(|web| &web.tcp.algorithm));
    }
}

#[test]
fn resolved_text_gives_the_same_report() {
    for number in RUN {
        let scenario = dice::scenario(number);
        let again = Scenario::from_toml(&scenario.to_toml()).expect("a resolved scenario");
        let reports = [scenario, again].map(|scenario| bounded(&scenario).map(|report| format!("{report:?}")));
        assert_eq!(reports[0], reports[1], "scenario {number}");
    }
}

fn bounded(scenario: &Scenario) -> Option<Report> {
    let mut calls = PATIENCE;
    run(scenario, &mut |_| {
        calls -= 1;
        calls > 0
    })
    .ok()
}

fn check_links(tree: &Table, scenario: &Scenario) {
    for (table, link) in tables(tree, "links").iter().zip(&scenario.links) {
        check_queue(&table["queue"], &link.queue, scenario.packet_size);
        if let (Some(table), Some(back)) = (table.get("reverse"), &link.reverse) {
            check_queue(&table["queue"], &back.queue, scenario.packet_size);
        }
    }
}

fn check_queue(written: &Value, queue: &Queue, packet_size: u32) {
    let value = |param: &Param| match (queue.value(param.name), param.unset) {
        (Some(value), _) => queues::written(value),
        (None, queues::Unset::Word(word)) => word.into(),
        (None, _) => queues::written(queues::Value::Bytes(u64::from(packet_size))),
    };
    check_table(written, queue.info.name, queue.info.params, value);
}

fn check_algorithms<'a>(tree: &Table, key: &str, algorithms: impl Iterator<Item = &'a Algorithm>) {
    for (table, algorithm) in tables(tree, key).iter().zip(algorithms) {
        let value = |param: &Param| queues::written(algorithm.params().value(param.name).expect("a value"));
        check_table(&table["algorithm"], &algorithm.name, algorithm.info().expect("a known one").params, value);
    }
}

/// Checks that a table has a name, every parameter that the registry lists with its value, and nothing else.
fn check_table(written: &Value, name: &str, params: &[Param], value: impl Fn(&Param) -> Value) {
    let expected: Table = params.iter().map(|param| (param.name.to_owned(), value(param))).collect();
    match written {
        Value::String(alone) => assert_eq!((alone.as_str(), params.len()), (name, 0)),
        Value::Table(table) => {
            let mut table = table.clone();
            assert_eq!(table.remove("name"), Some(name.into()));
            assert_eq!(table, expected, "{name}");
        }
        other => panic!("{name}: {other}"),
    }
}

fn tables(tree: &Table, key: &str) -> Vec<Table> {
    let list = tree.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    list.into_iter().map(|table| table.as_table().expect("a table").clone()).collect()
}
