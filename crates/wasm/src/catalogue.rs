//! Algorithms and queues to choose from.

use crate::json;
use fullpipe_cc::params::Group;
use fullpipe_cc::registry;
use fullpipe_sim::queues;

/// Version, algorithms and queues.
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
    json::table([
        ("version", json::text(env!("CARGO_PKG_VERSION"))),
        ("algorithms", json::list(algorithms)),
        ("queues", json::list(queues)),
    ])
}
