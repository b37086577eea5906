//! Names, titles, and sources that the page shows.

use crate::json;
use fullpipe_cc::params::Group;
use fullpipe_cc::registry;
use fullpipe_sim::{metrics, queues};

/// Version, algorithms, queues, and metrics.
pub fn catalogue() -> String {
    let of_group = |group| registry::ALL.iter().filter(move |info| info.group == group);
    let algorithms = Group::ALL.into_iter().flat_map(of_group).map(|info| {
        json::table([
            ("name", json::text(info.name)),
            ("group", json::text(info.group.name())),
            ("paper", json::text(info.paper)),
        ])
    });
    let queues = queues::ALL
        .iter()
        .map(|info| json::table([("name", json::text(info.name)), ("source", json::text(info.source))]));
    let metrics = metrics::all().map(|metric| {
        json::table([
            ("id", json::text(metric.id)),
            ("title", json::text(metric.title)),
            ("unit", json::text(metric.unit.name())),
            ("kind", json::text(metric.kind.name())),
            ("definition", json::text(metric.definition)),
        ])
    });
    json::table([
        ("version", json::text(env!("CARGO_PKG_VERSION"))),
        ("algorithms", json::list(algorithms)),
        ("queues", json::list(queues)),
        ("metrics", json::list(metrics)),
    ])
}
