//! What the page gets: JSON, and beside it the columns of numbers, one after another.
//!
//! A result is `{"view": .., "totals": {name: number}, "tables": {name: {"rows": n, "text": {column: [..]}, "numbers": {column: place}}}}`,
//! where `place` is where the column's `n` numbers begin. Tables and columns are called as in the Python package. A problem is
//! `{"key": .., "what": .., "line": number or null}`.

use crate::{json, view::view};
use fullpipe_sim::scenario::Problem;
use fullpipe_sim::{DirectionReport, FlowReport, Report, Scenario, Series, Stopped, TrafficReport};

/// Text and numbers.
#[derive(Debug, Default)]
pub struct Answer {
    /// JSON.
    pub text: String,
    /// Columns, one after another.
    pub numbers: Vec<f64>,
}

impl Answer {
    /// What is wrong with a scenario.
    pub fn problem(problem: &Problem) -> Answer {
        let text = json::table([
            ("key", json::text(&problem.key)),
            ("what", json::text(&problem.what)),
            ("line", problem.line.map_or("null".to_owned(), |line| line.to_string())),
        ]);
        Answer { text, numbers: Vec::new() }
    }

    /// Why a run came to no end.
    pub fn stopped(stopped: Stopped) -> Answer {
        match stopped {
            Stopped::Memory(problem) => Answer::problem(&problem),
            other => Answer::problem(&Problem { key: String::new(), what: other.to_string(), line: None }),
        }
    }

    /// What a run yields.
    pub fn result(scenario: &Scenario, report: &Report) -> Answer {
        let mut numbers = Vec::new();
        let tables = json::table([
            ("links", links(&mut numbers, report)),
            ("flows", flows(&mut numbers, &report.flows)),
            ("traffic", traffic(&mut numbers, &report.traffic)),
            ("series", series(&mut numbers, "flow", &report.flow_series)),
            ("link_series", series(&mut numbers, "link", &report.link_series)),
        ]);
        let totals = json::table([
            ("data_packets", report.data_packets.to_string()),
            ("jain_index", json::number(report.jain_index)),
        ]);
        Answer { text: json::table([("view", view(scenario)), ("totals", totals), ("tables", tables)]), numbers }
    }
}

/// A table under construction.
struct Table<'a, 'n> {
    rows: usize,
    text: Vec<(&'n str, String)>,
    places: Vec<(&'n str, String)>,
    numbers: &'a mut Vec<f64>,
}

impl<'a, 'n> Table<'a, 'n> {
    fn new(numbers: &'a mut Vec<f64>, rows: usize) -> Self {
        Table { rows, text: Vec::new(), places: Vec::new(), numbers }
    }

    fn text<'s>(mut self, name: &'n str, column: impl Iterator<Item = &'s str>) -> Self {
        self.text.push((name, json::list(column.map(json::text))));
        self
    }

    fn numbers(mut self, name: &'n str, column: impl IntoIterator<Item = f64>) -> Self {
        self.places.push((name, self.numbers.len().to_string()));
        self.numbers.extend(column);
        self
    }

    fn json(self) -> String {
        json::table([
            ("rows", self.rows.to_string()),
            ("text", json::table(self.text)),
            ("numbers", json::table(self.places)),
        ])
    }
}

fn links(numbers: &mut Vec<f64>, report: &Report) -> String {
    let links = &report.links;
    let of = |figure: fn(&DirectionReport) -> f64| links.iter().map(move |link| figure(&link.forward));
    Table::new(numbers, links.len())
        .text("name", links.iter().map(|link| link.name.as_str()))
        .numbers("utilization", of(|d| d.utilization))
        .numbers("loss_rate", of(|d| d.loss_rate))
        .numbers("dropped_packets", of(|d| d.dropped_packets as f64))
        .numbers("marked_packets", of(|d| d.marked_packets as f64))
        .numbers("wire_lost_packets", of(|d| d.wire_lost_packets as f64))
        .numbers("arrived_packets", of(|d| d.arrived_packets as f64))
        .numbers("mean_queue_packets", of(|d| d.mean_queue_packets))
        .numbers("max_queue_packets", of(|d| d.max_queue_packets as f64))
        .json()
}

fn flows(numbers: &mut Vec<f64>, flows: &[FlowReport]) -> String {
    let of = |figure: fn(&FlowReport) -> f64| flows.iter().map(figure);
    Table::new(numbers, flows.len())
        .text("name", flows.iter().map(|flow| flow.name.as_str()))
        .text("algorithm", flows.iter().map(|flow| flow.algorithm.as_str()))
        .numbers("id", of(|f| f.id.into()))
        .numbers("active_s", of(|f| f.active_s))
        .numbers("throughput_bps", of(|f| f.throughput_bps))
        .numbers("goodput_bps", of(|f| f.goodput_bps))
        .numbers("retransmits", of(|f| f.retransmits as f64))
        .numbers("timeouts", of(|f| f.timeouts as f64))
        .numbers("fast_recoveries", of(|f| f.fast_recoveries as f64))
        .numbers("mean_rtt_s", of(|f| f.mean_rtt_s))
        .numbers("mean_cwnd_packets", of(|f| f.mean_cwnd_packets))
        .numbers("base_rtt_s", of(|f| f.base_rtt_s))
        .numbers("completion_s", of(|f| f.completion_s))
        .json()
}

fn traffic(numbers: &mut Vec<f64>, traffic: &[TrafficReport]) -> String {
    let of = |figure: fn(&TrafficReport) -> f64| traffic.iter().map(figure);
    Table::new(numbers, traffic.len())
        .text("kind", traffic.iter().map(|group| group.kind))
        .numbers("throughput_bps", of(|t| t.throughput_bps))
        .numbers("sent_packets", of(|t| t.sent_packets as f64))
        .numbers("received_packets", of(|t| t.received_packets as f64))
        .json()
}

fn series(numbers: &mut Vec<f64>, entity: &str, series: &Series) -> String {
    let mut table = Table::new(numbers, series.t_s.len())
        .numbers("t_s", series.t_s.iter().copied())
        .numbers(entity, series.entity.iter().map(|&entity| entity.into()));
    for (name, column) in &series.columns {
        table = table.numbers(name, column.iter().copied());
    }
    table.json()
}
