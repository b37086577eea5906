//! `fullpipe-quic [--json] SCENARIO.toml`: runs a scenario whose flows may name quinn-proto's and s2n-quic-core's controllers
//! or the built-in algorithms, and prints the metrics of each flow and link. `--series` adds the series of the flows, which
//! `fullpipe conform NAME --program fullpipe-quic` reads.

use fullpipe_sim::files::read_regular;
use fullpipe_sim::{Report, Simulation};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: fullpipe-quic [--json [--series]] SCENARIO.toml";

/// Size of a scenario file, at most, bytes.
const MOST_BYTES: u64 = 16_000_000;

/// Format of the output.
#[derive(Clone, Copy, PartialEq)]
enum Output {
    Table,
    Json,
    Series,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)) {
        Ok((output, file)) => run(output, &file),
        Err(fault) => fail(&fault, 2),
    }
}

fn run(output: Output, file: &Path) -> ExitCode {
    let scenario = text_of(file).and_then(|text| {
        let folder = file.parent().unwrap_or(Path::new("."));
        fullpipe_quic::catalogue().read_toml_in(&text, folder).map_err(|problem| problem.to_string())
    });
    let scenario = match scenario {
        Ok((scenario, _)) => scenario,
        Err(fault) => return fail(&format!("{}: {fault}", file.display()), 2),
    };
    let simulation = match Simulation::new(scenario) {
        Ok(simulation) => simulation,
        Err(fault) => return fail(&format!("{}: {fault}", file.display()), 2),
    };
    match simulation.report() {
        Ok(report) if output == Output::Table => print!("{}", table(&report)),
        Ok(report) => println!("{}", object(&report, output == Output::Series)),
        Err(fault) => return fail(&fault.to_string(), 1),
    }
    ExitCode::SUCCESS
}

/// Text of a scenario file.
fn text_of(file: &Path) -> Result<String, String> {
    let content = read_regular(file, MOST_BYTES).map_err(|why| format!("can't be read: {why}"))?;
    String::from_utf8(content).map_err(|_| "is not UTF-8 text".to_owned())
}

fn fail(what: &str, status: u8) -> ExitCode {
    eprintln!("fullpipe-quic: {what}");
    ExitCode::from(status)
}

fn arguments(given: impl Iterator<Item = String>) -> Result<(Output, PathBuf), String> {
    let (flags, names): (Vec<String>, Vec<String>) = given.partition(|argument| argument.starts_with('-'));
    let Ok([name]) = <[String; 1]>::try_from(names) else { return Err(USAGE.to_owned()) };
    match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok((Output::Table, name.into())),
        ["--json"] => Ok((Output::Json, name.into())),
        ["--json", "--series"] | ["--series", "--json"] => Ok((Output::Series, name.into())),
        _ => Err(format!("unknown options {} ({USAGE})", flags.join(" "))),
    }
}

/// One object; rates in bits per second, times in seconds, windows in packets. A missing value is null.
fn object(report: &Report, with_series: bool) -> Value {
    let flows = report.flows.iter().map(|flow| {
        json!({
            "name": flow.name,
            "algorithm": flow.algorithm,
            "goodput_bps": flow.goodput_bps,
            "throughput_bps": flow.throughput_bps,
            "loss_rate": flow.loss_rate,
            "retransmits": flow.retransmits,
            "timeouts": flow.timeouts,
            "fast_recoveries": flow.fast_recoveries,
            "mean_rtt_s": flow.mean_rtt_s,
            "mean_cwnd_packets": flow.mean_cwnd_packets,
        })
    });
    let links = report.links.iter().map(|link| {
        json!({
            "name": link.name,
            "utilization": link.forward.utilization,
            "loss_rate": link.forward.loss_rate,
            "mean_queue_packets": link.forward.mean_queue_packets,
            "max_queue_packets": link.forward.max_queue_packets,
        })
    });
    let mut all = json!({
        "flows": flows.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "jain_index": report.jain_index,
    });
    if with_series {
        let series = &report.flow_series;
        let mut columns: Map<String, Value> =
            series.columns.iter().map(|(name, values)| (name.to_string(), json!(values))).collect();
        columns.insert("t_s".to_owned(), json!(series.t_s));
        all["series"] = Value::Object(columns);
    }
    all
}

fn table(report: &Report) -> String {
    let mut lines = vec![format!(
        "{:16} {:>16} {:>10} {:>13} {:>12} {:>10} {:>9}",
        "flow", "goodput, Mbit/s", "loss, %", "mean RTT, ms", "mean window", "recoveries", "timeouts"
    )];
    for flow in &report.flows {
        lines.push(format!(
            "{:16} {:>16.2} {:>10.3} {:>13.1} {:>12.1} {:>10} {:>9}",
            flow.name,
            flow.goodput_bps / 1e6,
            flow.loss_rate * 100.0,
            flow.mean_rtt_s * 1e3,
            flow.mean_cwnd_packets,
            flow.fast_recoveries,
            flow.timeouts
        ));
    }
    lines.push(String::new());
    lines.push(format!("{:16} {:>16} {:>10} {:>13}", "link", "utilization, %", "loss, %", "mean queue"));
    for link in &report.links {
        let way = &link.forward;
        lines.push(format!(
            "{:16} {:>16.2} {:>10.3} {:>13.1}",
            link.name,
            way.utilization * 100.0,
            way.loss_rate * 100.0,
            way.mean_queue_packets
        ));
    }
    lines.join("\n") + "\n"
}
