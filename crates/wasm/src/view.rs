//! Scenario as the page's controls show it, in SI units.

use crate::json;
use fullpipe_cc::time::seconds;
use fullpipe_sim::Scenario;
use fullpipe_sim::scenario::{Buffer, Change, FlowGroup, Link, Loss, Schedule};

/// The scenario, its warnings, and those of its run.
pub fn view(scenario: &Scenario, of_run: &[String]) -> String {
    json::table([
        ("duration_s", json::number(seconds(scenario.duration))),
        ("warmup_s", json::number(seconds(scenario.warmup))),
        ("seed", json::number(scenario.seed as f64)),
        ("packet_bytes", json::number(scenario.packet_size.into())),
        ("links", json::list(scenario.links.iter().map(link))),
        ("flows", json::list(scenario.flows.iter().map(flows))),
        ("other_traffic", (!scenario.udp.is_empty() || !scenario.web.is_empty()).to_string()),
        ("warnings", json::list(scenario.warnings().iter().chain(of_run).map(|warning| json::text(warning)))),
    ])
}

fn link(link: &Link) -> String {
    let (packets, bytes, time) = match link.buffer {
        Buffer::Packets(packets) => (Some(packets as f64), None, None),
        Buffer::Bytes(bytes) => (None, Some(bytes as f64), None),
        Buffer::Time(time) => (None, None, Some(seconds(time))),
        Buffer::Unlimited => (None, None, None),
    };
    let loss = match link.loss {
        Loss::Independent(probability) => Some(probability),
        Loss::GilbertElliott { .. } => None,
    };
    json::table([
        ("name", json::text(&link.name)),
        ("rate_bps", json::number(link.rate_bps as f64)),
        ("traced", link.trace.is_some().to_string()),
        ("delay_s", json::number(seconds(link.delay))),
        ("round_trip_s", json::number(seconds(link.round_trip()))),
        ("buffer_packets", json::or_null(packets)),
        ("buffer_bytes", json::or_null(bytes)),
        ("buffer_s", json::or_null(time)),
        ("queue", json::text(link.queue.info.name)),
        ("loss", json::or_null(loss)),
        ("changes", link.schedule.changes.len().to_string()),
        ("change", change(&link.schedule).unwrap_or_else(|| "null".to_owned())),
    ])
}

/// Schedule that is one change of the rate and no more.
fn change(schedule: &Schedule) -> Option<String> {
    match (schedule.changes.as_slice(), schedule.repeat) {
        ([Change { at, rate_bps: Some(rate_bps), delay: None, loss: None }], None) => {
            Some(json::table([("at_s", json::number(seconds(*at))), ("rate_bps", json::number(*rate_bps as f64))]))
        }
        _ => None,
    }
}

fn flows(group: &FlowGroup) -> String {
    let tcp = &group.tcp;
    json::table([
        ("name", json::text(tcp.name.as_deref().unwrap_or(&tcp.algorithm.name))),
        ("algorithm", json::text(&tcp.algorithm.name)),
        ("count", group.count.to_string()),
        ("ecn", json::text(tcp.ecn.name())),
        ("start_s", json::number(seconds(group.start.low))),
        ("access_s", json::number(seconds(tcp.access_delay.low.midpoint(tcp.access_delay.high)))),
        ("path", json::list(tcp.path.iter().map(usize::to_string))),
        ("reverse", tcp.reverse.to_string()),
    ])
}
