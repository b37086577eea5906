//! A [`Report`] as tables: a dictionary of tables, each a dictionary of columns.

use fullpipe_sim::{
    DirectionReport, FlowReport, GroupReport, LinkReport, Percentiles, Report, Series, TrafficReport, TransferReport,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::columns::Table;

/// The tables `links`, `flows`, `groups`, `transfers`, `traffic`, `series`, `link_series` and the figures `totals`.
pub fn to_tables<'py>(py: Python<'py>, report: Report) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    tables.set_item("links", links(py, &report.links)?.0)?;
    tables.set_item("flows", flows(py, &report.flows)?.0)?;
    tables.set_item("groups", groups(py, &report.groups)?.0)?;
    tables.set_item("transfers", transfers(py, &report.transfers, &report.transfer_groups)?.0)?;
    tables.set_item("traffic", traffic(py, &report.traffic)?.0)?;
    tables.set_item("series", series(py, "flow", report.flow_series)?.0)?;
    tables.set_item("link_series", series(py, "link", report.link_series)?.0)?;
    let totals = PyDict::new(py);
    totals.set_item("data_packets", report.data_packets)?;
    totals.set_item("jain_index", report.jain_index)?;
    for (percent, percentile) in PERCENTILES {
        totals.set_item(format!("p{percent}_rtt_s"), percentile(&report.rtt))?;
    }
    tables.set_item("totals", totals)?;
    Ok(tables)
}

fn links<'py>(py: Python<'py>, links: &[LinkReport]) -> PyResult<Table<'py>> {
    let table = Table::new(py).strings("name", links.iter().map(|l| l.name.as_str()))?;
    let table = directions(table, "", &links.iter().map(|l| &l.forward).collect::<Vec<_>>())?;
    directions(table, "reverse_", &links.iter().map(|l| &l.reverse).collect::<Vec<_>>())
}

fn directions<'py>(table: Table<'py>, prefix: &str, rows: &[&DirectionReport]) -> PyResult<Table<'py>> {
    let name = |field: &str| format!("{prefix}{field}");
    table
        .numbers(&name("utilization"), column(rows, |d| d.utilization))?
        .numbers(&name("loss_rate"), column(rows, |d| d.loss_rate))?
        .numbers(&name("dropped_packets"), column(rows, |d| d.dropped_packets))?
        .numbers(&name("marked_packets"), column(rows, |d| d.marked_packets))?
        .numbers(&name("wire_lost_packets"), column(rows, |d| d.wire_lost_packets))?
        .numbers(&name("arrived_packets"), column(rows, |d| d.arrived_packets))?
        .numbers(&name("mean_queue_packets"), column(rows, |d| d.mean_queue_packets))?
        .numbers(&name("max_queue_packets"), column(rows, |d| d.max_queue_packets))?
        .percentiles(&format!("{prefix}p%_queueing_delay_s"), rows, |d| &d.queueing_delay)?
        .numbers(&name("max_queueing_delay_s"), column(rows, |d| d.max_queueing_delay_s))
}

fn flows<'py>(py: Python<'py>, flows: &[FlowReport]) -> PyResult<Table<'py>> {
    Table::new(py)
        .numbers("id", column(flows, |f| f.id))?
        .strings("name", flows.iter().map(|f| f.name.as_str()))?
        .strings("algorithm", flows.iter().map(|f| f.algorithm.as_str()))?
        .numbers("active_s", column(flows, |f| f.active_s))?
        .numbers("throughput_bps", column(flows, |f| f.throughput_bps))?
        .numbers("goodput_bps", column(flows, |f| f.goodput_bps))?
        .numbers("retransmits", column(flows, |f| f.retransmits))?
        .numbers("timeouts", column(flows, |f| f.timeouts))?
        .numbers("fast_recoveries", column(flows, |f| f.fast_recoveries))?
        .numbers("loss_rate", column(flows, |f| f.loss_rate))?
        .numbers("mean_rtt_s", column(flows, |f| f.mean_rtt_s))?
        .percentiles("p%_rtt_s", flows, |f| &f.rtt)?
        .numbers("mean_cwnd_packets", column(flows, |f| f.mean_cwnd_packets))?
        .numbers("base_rtt_s", column(flows, |f| f.base_rtt_s))?
        .numbers("completion_s", column(flows, |f| f.completion_s))
}

/// What the flows of a group have in common cannot be worked out from theirs.
fn groups<'py>(py: Python<'py>, groups: &[GroupReport]) -> PyResult<Table<'py>> {
    Table::new(py)
        .strings("name", groups.iter().map(|g| g.name.as_str()))?
        .numbers("loss_rate", column(groups, |g| g.loss_rate))?
        .percentiles("p%_rtt_s", groups, |g| &g.rtt)
}

fn transfers<'py>(py: Python<'py>, transfers: &[TransferReport], groups: &[String]) -> PyResult<Table<'py>> {
    // The names are few and the rows may be many: each name is one object.
    let names: Vec<_> = groups.iter().map(|name| PyString::new(py, name)).collect();
    let of_rows = transfers.iter().map(|t| &names[t.group as usize]);
    Table::new(py)
        .objects("group", PyList::new(py, of_rows)?)?
        .numbers("start_s", column(transfers, |t| t.start_s))?
        .numbers("size_bytes", column(transfers, |t| t.size_bytes))?
        .numbers("completion_s", column(transfers, |t| t.completion_s))?
        .numbers("slowdown", column(transfers, |t| t.slowdown))?
        .numbers("retransmits", column(transfers, |t| t.retransmits))?
        .numbers("timeouts", column(transfers, |t| t.timeouts))?
        .objects("in_warmup", PyList::new(py, transfers.iter().map(|t| t.in_warmup))?)
}

fn traffic<'py>(py: Python<'py>, traffic: &[TrafficReport]) -> PyResult<Table<'py>> {
    Table::new(py)
        .strings("kind", traffic.iter().map(|t| t.kind))?
        .numbers("throughput_bps", column(traffic, |t| t.throughput_bps))?
        .numbers("sent_packets", column(traffic, |t| t.sent_packets))?
        .numbers("received_packets", column(traffic, |t| t.received_packets))?
        .numbers("transfers_started", column(traffic, |t| t.transfers_started))?
        .numbers("transfers_completed", column(traffic, |t| t.transfers_completed))?
        .numbers("mean_completion_s", column(traffic, |t| t.mean_completion_s))
}

fn series<'py>(py: Python<'py>, entity: &str, series: Series) -> PyResult<Table<'py>> {
    let mut table = Table::new(py).numbers("t_s", series.t_s)?.numbers(entity, series.entity)?;
    for (name, numbers) in series.columns {
        table = table.numbers(&name, numbers)?;
    }
    Ok(table)
}

/// Which percentiles there are.
const PERCENTILES: [(u32, Percentile); 3] = [(50, |p| p.p50_s), (95, |p| p.p95_s), (99, |p| p.p99_s)];

type Percentile = fn(&Percentiles) -> f64;

impl Table<'_> {
    /// Adds a column for each percentile; its number takes the place of `%` in the name.
    fn percentiles<R>(mut self, name: &str, rows: &[R], field: impl Fn(&R) -> &Percentiles) -> PyResult<Self> {
        for (percent, percentile) in PERCENTILES {
            self =
                self.numbers(&name.replace('%', &percent.to_string()), column(rows, |row| percentile(field(row))))?;
        }
        Ok(self)
    }
}

fn column<R, N>(rows: &[R], field: impl Fn(&R) -> N) -> Vec<N> {
    rows.iter().map(field).collect()
}
