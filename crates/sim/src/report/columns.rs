//! A [`Report`] as tables: the name of every metric, with its unit, and its value. All displays of reports take them from here, so that
//! no metric is missing in one of them.

use super::{
    DirectionReport, FlowFrames, FlowReport, GroupReport, LinkReport, Report, Series, TrafficReport, TransferReport,
    VideoFigures,
};

/// Columns of one length.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation, Values};
///
/// let report = Simulation::new(Scenario::from_toml(r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP" }]
///     flows = [{ algorithm = "newreno", count = 3 }]
/// "#)?)?.report()?;
/// let tables = report.into_tables();
/// let flows = tables.iter().find(|table| table.name == "flows").expect("a table of flows");
/// assert_eq!(flows.rows(), 3);
/// let goodput = flows.columns.iter().find(|column| column.name == "goodput_bps").expect("a column");
/// assert!(matches!(&goodput.values, Values::Numbers(numbers) if numbers.iter().sum::<f64>() <= 10e6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// "links", "flows", "groups", "transfers", "traffic", "series", "link_series", or "totals", which has one row.
    pub name: &'static str,
    /// In the order in which they are shown.
    pub columns: Vec<Column>,
}

/// A figure of every row.
///
/// Example: see [`Table`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// It ends in its unit, where it has one: `_s` seconds, `_bps` bits per second, `_packets`, `_bytes`.
    pub name: String,
    /// One for each row.
    pub values: Values,
}

/// The values of a column.
///
/// Example: see [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text.
    Text(Vec<String>),
    /// Text of which there are few: these, and which of them each row has.
    Names(Vec<String>, Vec<u32>),
    /// Whether or not.
    Flags(Vec<bool>),
    /// Which.
    Places(Vec<u32>),
    /// How many.
    Counts(Vec<u64>),
    /// How much; NaN where that is unknown.
    Numbers(Vec<f64>),
}

impl Table {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.values {
            Values::Text(values) => values.len(),
            Values::Names(_, values) | Values::Places(values) => values.len(),
            Values::Flags(values) => values.len(),
            Values::Counts(values) => values.len(),
            Values::Numbers(values) => values.len(),
        })
    }

    fn of<R>(name: &'static str, rows: &[R], figures: &[Figure<R>]) -> Table {
        Table { name, columns: columns("", figures, rows, |row| row) }
    }

    /// The table of a series; `entity` is the kind of its rows.
    fn of_series(name: &'static str, entity: &str, series: Series) -> Table {
        let column = |name: &str, values| Column { name: name.to_owned(), values };
        let mut columns =
            vec![column("t_s", Values::Numbers(series.t_s)), column(entity, Values::Places(series.entity))];
        columns
            .extend(series.columns.into_iter().map(|(name, values)| Column { name, values: Values::Numbers(values) }));
        Table { name, columns }
    }
}

impl Report {
    /// All its tables.
    pub fn into_tables(self) -> Vec<Table> {
        let mut links = Table::of("links", &self.links, LINK);
        links.columns.extend(columns("", DIRECTION, &self.links, |link| &link.forward));
        links.columns.extend(columns("reverse_", DIRECTION, &self.links, |link| &link.reverse));
        let mut transfers = Table::of("transfers", &self.transfers, TRANSFER);
        let group = self.transfers.iter().map(|transfer| transfer.group).collect();
        let names = self.transfer_groups.clone();
        transfers.columns.insert(0, Column { name: "group".to_owned(), values: Values::Names(names, group) });
        let totals = Table::of("totals", std::slice::from_ref(&self), TOTAL);
        let mut traffic = Table::of("traffic", &self.traffic, TRAFFIC);
        if self.traffic.iter().any(|group| group.frames.is_some()) {
            traffic.columns.extend(columns("", FRAMES, &self.traffic, |group| group));
        }
        let mut flows = Table::of("flows", &self.flows, FLOW);
        if self.flows.iter().any(|flow| flow.app_limited_fraction.is_some()) {
            flows.columns.extend(columns("", SOURCE, &self.flows, |flow| flow));
        }
        if self.flows.iter().any(|flow| flow.ecn.is_some()) {
            flows.columns.extend(columns("", ECN, &self.flows, |flow| flow));
        }
        let mut groups = Table::of("groups", &self.groups, GROUP);
        if self.flows.iter().any(|flow| flow.frames.is_some()) {
            flows.columns.extend(columns("", FLOW_FRAMES, &self.flows, |flow| &flow.frames));
            groups.columns.extend(columns("", FLOW_FRAMES, &self.groups, |group| &group.frames));
        }
        if self.flows.iter().any(|flow| flow.request_completion_s.is_some()) {
            flows.columns.extend(columns("", REQUESTS, &self.flows, |flow| flow));
        }
        if self.flows.iter().any(|flow| flow.video.is_some()) {
            flows.columns.extend(columns("", VIDEO, &self.flows, |flow| &flow.video));
        }
        vec![
            links,
            flows,
            groups,
            transfers,
            traffic,
            Table::of_series("series", "flow", self.flow_series),
            Table::of_series("link_series", "link", self.link_series),
            totals,
        ]
    }
}

/// Name of a metric, and its value in a row.
type Figure<R> = (&'static str, Of<R>);

enum Of<R> {
    Text(fn(&R) -> &str),
    Flag(fn(&R) -> bool),
    Place(fn(&R) -> u32),
    Count(fn(&R) -> u64),
    Number(fn(&R) -> f64),
}

fn columns<R, T>(prefix: &str, figures: &[Figure<T>], rows: &[R], of: fn(&R) -> &T) -> Vec<Column> {
    let column =
        |(name, figure): &Figure<T>| Column { name: format!("{prefix}{name}"), values: figure.values(rows, of) };
    figures.iter().map(column).collect()
}

impl<T> Of<T> {
    fn values<R>(&self, rows: &[R], of: fn(&R) -> &T) -> Values {
        let rows = rows.iter().map(of);
        match self {
            Of::Text(figure) => Values::Text(rows.map(|row| figure(row).to_owned()).collect()),
            Of::Flag(figure) => Values::Flags(rows.map(figure).collect()),
            Of::Place(figure) => Values::Places(rows.map(figure).collect()),
            Of::Count(figure) => Values::Counts(rows.map(figure).collect()),
            Of::Number(figure) => Values::Numbers(rows.map(figure).collect()),
        }
    }
}

const LINK: &[Figure<LinkReport>] = &[("name", Of::Text(|link| &link.name))];

const DIRECTION: &[Figure<DirectionReport>] = &[
    ("utilization", Of::Number(|d| d.utilization)),
    ("carried_goodput_bps", Of::Number(|d| d.carried_goodput_bps)),
    ("loss_rate", Of::Number(|d| d.loss_rate)),
    ("dropped_packets", Of::Count(|d| d.dropped_packets)),
    ("marked_packets", Of::Count(|d| d.marked_packets)),
    ("wire_lost_packets", Of::Count(|d| d.wire_lost_packets)),
    ("arrived_packets", Of::Count(|d| d.arrived_packets)),
    ("mean_queue_packets", Of::Number(|d| d.mean_queue_packets)),
    ("max_queue_packets", Of::Count(|d| d.max_queue_packets)),
    ("p50_queueing_delay_s", Of::Number(|d| d.queueing_delay.p50_s)),
    ("p95_queueing_delay_s", Of::Number(|d| d.queueing_delay.p95_s)),
    ("p99_queueing_delay_s", Of::Number(|d| d.queueing_delay.p99_s)),
    ("max_queueing_delay_s", Of::Number(|d| d.max_queueing_delay_s)),
    ("shared_queues", Of::Count(|d| d.shared_queues)),
];

const FLOW: &[Figure<FlowReport>] = &[
    ("id", Of::Place(|f| f.id)),
    ("name", Of::Text(|f| &f.name)),
    ("algorithm", Of::Text(|f| &f.algorithm)),
    ("active_s", Of::Number(|f| f.active_s)),
    ("throughput_bps", Of::Number(|f| f.throughput_bps)),
    ("goodput_bps", Of::Number(|f| f.goodput_bps)),
    ("payload_goodput_bps", Of::Number(|f| f.payload_goodput_bps)),
    ("retransmits", Of::Count(|f| f.retransmits)),
    ("timeouts", Of::Count(|f| f.timeouts)),
    ("fast_recoveries", Of::Count(|f| f.fast_recoveries)),
    ("loss_rate", Of::Number(|f| f.loss_rate)),
    ("mean_rtt_s", Of::Number(|f| f.mean_rtt_s)),
    ("p50_rtt_s", Of::Number(|f| f.rtt.p50_s)),
    ("p95_rtt_s", Of::Number(|f| f.rtt.p95_s)),
    ("p99_rtt_s", Of::Number(|f| f.rtt.p99_s)),
    ("p50_jitter_s", Of::Number(|f| f.jitter.p50_s)),
    ("p95_jitter_s", Of::Number(|f| f.jitter.p95_s)),
    ("p99_jitter_s", Of::Number(|f| f.jitter.p99_s)),
    ("mean_cwnd_packets", Of::Number(|f| f.mean_cwnd_packets)),
    ("base_rtt_s", Of::Number(|f| f.base_rtt_s)),
    ("completion_s", Of::Number(|f| f.completion_s)),
];

/// Where the application of any of the flows does not always have data.
const SOURCE: &[Figure<FlowReport>] =
    &[("app_limited_fraction", Of::Number(|f| f.app_limited_fraction.unwrap_or(0.0)))];

/// Where any of the flows validates ECN.
const ECN: &[Figure<FlowReport>] = &[("ecn", Of::Text(|f| f.ecn.unwrap_or("")))];

/// Where any of the flows has frames.
const FLOW_FRAMES: &[Figure<Option<FlowFrames>>] = &[
    ("p50_frame_delay_s", Of::Number(|f| f.map_or(f64::NAN, |frames| frames.delay.p50_s))),
    ("p95_frame_delay_s", Of::Number(|f| f.map_or(f64::NAN, |frames| frames.delay.p95_s))),
    ("p99_frame_delay_s", Of::Number(|f| f.map_or(f64::NAN, |frames| frames.delay.p99_s))),
    ("late_frames", Of::Number(|f| f.map_or(f64::NAN, |frames| frames.late))),
    ("late_fraction", Of::Number(|f| f.map_or(f64::NAN, |frames| frames.late_fraction))),
];

/// Where any of the flows has requests.
const REQUESTS: &[Figure<FlowReport>] =
    &[("request_completion_s", Of::Number(|f| f.request_completion_s.unwrap_or(f64::NAN)))];

/// Where any of the flows has a video.
const VIDEO: &[Figure<Option<VideoFigures>>] = &[
    ("startup_s", Of::Number(|v| v.map_or(f64::NAN, |video| video.startup_s))),
    ("stall_s", Of::Number(|v| v.map_or(f64::NAN, |video| video.stall_s))),
    ("rebuffer_ratio", Of::Number(|v| v.map_or(f64::NAN, |video| video.rebuffer_ratio))),
    ("mean_bitrate_bps", Of::Number(|v| v.map_or(f64::NAN, |video| video.mean_bitrate_bps))),
    ("switches", Of::Number(|v| v.map_or(f64::NAN, |video| video.switches as f64))),
];

/// Metrics of a group that cannot be computed from those of its flows.
const GROUP: &[Figure<GroupReport>] = &[
    ("name", Of::Text(|g| &g.name)),
    ("loss_rate", Of::Number(|g| g.loss_rate)),
    ("p50_rtt_s", Of::Number(|g| g.rtt.p50_s)),
    ("p95_rtt_s", Of::Number(|g| g.rtt.p95_s)),
    ("p99_rtt_s", Of::Number(|g| g.rtt.p99_s)),
    ("p50_jitter_s", Of::Number(|g| g.jitter.p50_s)),
    ("p95_jitter_s", Of::Number(|g| g.jitter.p95_s)),
    ("p99_jitter_s", Of::Number(|g| g.jitter.p99_s)),
];

/// After its group, which is one of few names.
const TRANSFER: &[Figure<TransferReport>] = &[
    ("start_s", Of::Number(|t| t.start_s)),
    ("size_bytes", Of::Count(|t| t.size_bytes)),
    ("state", Of::Text(|t| t.state.name())),
    ("completion_s", Of::Number(|t| t.completion_s)),
    ("slowdown", Of::Number(|t| t.slowdown)),
    ("retransmits", Of::Count(|t| t.retransmits)),
    ("timeouts", Of::Count(|t| t.timeouts)),
    ("in_warmup", Of::Flag(|t| t.in_warmup)),
];

const TRAFFIC: &[Figure<TrafficReport>] = &[
    ("kind", Of::Text(|t| t.kind)),
    ("name", Of::Text(|t| &t.name)),
    ("throughput_bps", Of::Number(|t| t.throughput_bps)),
    ("sent_packets", Of::Count(|t| t.sent_packets)),
    ("received_packets", Of::Count(|t| t.received_packets)),
    ("transfers_started", Of::Count(|t| t.transfers_started)),
    ("transfers_completed", Of::Count(|t| t.transfers_completed)),
    ("mean_completion_s", Of::Number(|t| t.mean_completion_s)),
];

/// Where any of the groups sends frames.
const FRAMES: &[Figure<TrafficReport>] = &[
    ("sent_frames", Of::Count(|t| t.frames.map_or(0, |frames| frames.sent))),
    ("received_frames", Of::Count(|t| t.frames.map_or(0, |frames| frames.received))),
    ("p50_frame_delay_s", Of::Number(|t| t.frames.map_or(f64::NAN, |frames| frames.delay.p50_s))),
    ("p95_frame_delay_s", Of::Number(|t| t.frames.map_or(f64::NAN, |frames| frames.delay.p95_s))),
    ("p99_frame_delay_s", Of::Number(|t| t.frames.map_or(f64::NAN, |frames| frames.delay.p99_s))),
];

const TOTAL: &[Figure<Report>] = &[
    ("data_packets", Of::Count(|r| r.data_packets)),
    ("jain_index", Of::Number(|r| r.jain_index)),
    ("p50_rtt_s", Of::Number(|r| r.rtt.p50_s)),
    ("p95_rtt_s", Of::Number(|r| r.rtt.p95_s)),
    ("p99_rtt_s", Of::Number(|r| r.rtt.p99_s)),
    ("p50_jitter_s", Of::Number(|r| r.jitter.p50_s)),
    ("p95_jitter_s", Of::Number(|r| r.jitter.p95_s)),
    ("p99_jitter_s", Of::Number(|r| r.jitter.p99_s)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Percentiles;

    fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Values {
        let table = tables.iter().find(|known| known.name == table).expect("a table");
        &table.columns.iter().find(|known| known.name == column).expect("a column").values
    }

    /// Each of the figures of a flow and a link is found under its own name: no two are mixed up.
    #[test]
    fn figures_are_called_what_they_are() {
        let percentiles = |p50_s: f64| Percentiles { p50_s, p95_s: p50_s + 1.0, p99_s: p50_s + 2.0 };
        let flow = FlowReport {
            rtt: percentiles(10.0),
            jitter: percentiles(20.0),
            goodput_bps: 5.0,
            payload_goodput_bps: 4.0,
            ..FlowReport::default()
        };
        let back = DirectionReport {
            queueing_delay: percentiles(30.0),
            marked_packets: 7,
            carried_goodput_bps: 6.0,
            ..DirectionReport::default()
        };
        let link = LinkReport { reverse: back, ..LinkReport::default() };
        let tables = Report { flows: vec![flow], links: vec![link], ..Report::default() }.into_tables();
        for (table, name, value) in [
            ("flows", "p50_rtt_s", 10.0),
            ("flows", "p95_rtt_s", 11.0),
            ("flows", "p99_rtt_s", 12.0),
            ("flows", "p50_jitter_s", 20.0),
            ("flows", "p95_jitter_s", 21.0),
            ("flows", "p99_jitter_s", 22.0),
            ("flows", "goodput_bps", 5.0),
            ("flows", "payload_goodput_bps", 4.0),
            ("flows", "throughput_bps", 0.0),
            ("links", "carried_goodput_bps", 0.0),
            ("links", "reverse_carried_goodput_bps", 6.0),
            ("links", "p99_queueing_delay_s", 0.0),
            ("links", "reverse_p99_queueing_delay_s", 32.0),
        ] {
            assert_eq!(column(&tables, table, name), &Values::Numbers(vec![value]), "{table}, {name}");
        }
        assert_eq!(column(&tables, "links", "reverse_marked_packets"), &Values::Counts(vec![7]));
        assert!(tables.iter().all(|table| table.columns.iter().all(|column| !column.name.is_empty())));
    }
}
