//! Registry of metrics: id, title, unit, kind, better direction, definition, and source of each quantity that a run or an experiment reports.
//!
//! Headings, axes, units, and the tables of `docs/reference/metrics.md` come from this registry: through `crates/py` in Python, and through
//! `crates/wasm` on the web page. A column with the prefix `reverse_` has the metric of its name without the prefix.

mod applications;

use Better::{Less, More, Neither};
use MetricKind::{Average, Count, Duration, Extreme, Fraction, Index, Percentile, Rate, Sample};
use applications::{CLIENTS, SOURCES};

/// A quantity that a run or an experiment measures.
///
/// ```
/// use fullpipe_sim::metrics::{Better, MetricKind, Unit, find};
///
/// let goodput = find("goodput_bps").expect("a metric of flows");
/// assert_eq!((goodput.unit, goodput.kind, goodput.better), (Unit::BitsPerSecond, MetricKind::Rate, Better::More));
/// assert_eq!(goodput.unit.name(), "bit/s");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name in columns and JSON. Its last part is the unit, if it has one.
    pub id: &'static str,
    /// Heading of tables and plots, without the unit.
    pub title: &'static str,
    /// SI unit of the values.
    pub unit: Unit,
    /// Statistic that the value is.
    pub kind: MetricKind,
    /// Direction in which the metric improves.
    pub better: Better,
    /// Format of shown values in the style of C's `printf`, for example `.2f`; "" for a format that suits the unit and the kind.
    pub form: &'static str,
    /// One or two sentences on what is measured.
    pub definition: &'static str,
    /// RFC, paper, or standard of the definition; "" where it needs none.
    pub source: &'static str,
}

/// Unit of a metric's values. Example: see [`Metric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// Packets or segments.
    Packets,
    /// Bytes.
    Bytes,
    /// Fractions, indices, and counts of other things.
    One,
}

/// Statistic that a value is. Example: see [`Metric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Number of events or things; a whole number.
    Count,
    /// Part of a whole from 0 to 1; shown in percent.
    Fraction,
    /// Number without unit, shown as it is.
    Index,
    /// Amount of data over time.
    Rate,
    /// Length of time.
    Duration,
    /// Mean over samples, over time, or over flows.
    Average,
    /// Percentile by the nearest rank.
    Percentile,
    /// Least or greatest value.
    Extreme,
    /// Value at one moment of a time series.
    Sample,
}

/// Direction in which a metric improves. Example: see [`Metric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Greater values are better.
    More,
    /// Smaller values are better.
    Less,
    /// Neither direction is better.
    Neither,
}

impl Unit {
    /// Symbol of the unit; "1" for fractions, indices, and counts.
    pub fn name(self) -> &'static str {
        match self {
            Unit::BitsPerSecond => "bit/s",
            Unit::Seconds => "s",
            Unit::Packets => "packets",
            Unit::Bytes => "bytes",
            Unit::One => "1",
        }
    }
}

impl MetricKind {
    /// Name of the kind in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Count => "count",
            Fraction => "fraction",
            Index => "index",
            Rate => "rate",
            Duration => "duration",
            Average => "average",
            Percentile => "percentile",
            Extreme => "extreme",
            Sample => "sample",
        }
    }
}

impl Better {
    /// "more", "less", or "".
    pub fn name(self) -> &'static str {
        match self {
            More => "more",
            Less => "less",
            Neither => "",
        }
    }
}

impl Metric {
    const fn form(self, form: &'static str) -> Metric {
        Metric { form, ..self }
    }

    const fn source(self, source: &'static str) -> Metric {
        Metric { source, ..self }
    }
}

const fn metric(
    id: &'static str,
    title: &'static str,
    unit: Unit,
    kind: MetricKind,
    better: Better,
    definition: &'static str,
) -> Metric {
    Metric { id, title, unit, kind, better, form: "", definition, source: "" }
}

/// The 50th, 95th, and 99th percentile of one quantity.
macro_rules! percentiles {
    ($id:literal, $title:literal, $unit:expr, $better:expr, $definition:literal, $source:literal) => {
        &[
            percentiles!(@one "p50_", "p50 ", "50th percentile of ", $id, $title, $unit, $better, $definition, $source),
            percentiles!(@one "p95_", "p95 ", "95th percentile of ", $id, $title, $unit, $better, $definition, $source),
            percentiles!(@one "p99_", "p99 ", "99th percentile of ", $id, $title, $unit, $better, $definition, $source),
        ]
    };
    (@one $p:literal, $short:literal, $long:literal, $id:literal, $title:literal, $unit:expr, $better:expr, $definition:literal, $source:literal) => {
        metric(
            concat!($p, $id),
            concat!($short, $title),
            $unit,
            Percentile,
            $better,
            concat!($long, $definition),
        )
        .source($source)
    };
}

const BPS: Unit = Unit::BitsPerSecond;
const S: Unit = Unit::Seconds;
const PACKETS: Unit = Unit::Packets;
const BYTES: Unit = Unit::Bytes;
const ONE: Unit = Unit::One;

/// Metrics by the table that has them first, in the order of the pages; "experiments" are those that a comparison of runs adds.
const LISTS: &[(&str, &[Metric])] = &[
    ("links", LINKS),
    (
        "links",
        percentiles!(
            "queueing_delay_s",
            "queueing delay",
            S,
            Less,
            "the waiting times before transmission, over the packets that arrived and left the queue in the interval.",
            ""
        ),
    ),
    ("flows", FLOWS),
    ("flows", percentiles!("rtt_s", "RTT", S, Less, "the RTT samples, one per ACK of new data.", "RFC 6298")),
    (
        "flows",
        percentiles!(
            "jitter_s",
            "jitter",
            S,
            Less,
            "the absolute differences of one-way delays of consecutive segments of a flow. Requires `measure_jitter = true`.",
            "RFC 3550, section 6.4.1; RFC 5481"
        ),
    ),
    ("flows", SOURCES),
    ("flows", CLIENTS),
    ("groups", GROUPS),
    ("transfers", TRANSFERS),
    ("transfers", percentiles!("s", "completion", S, Less, "the completion times of the transfers.", "")),
    (
        "experiments",
        percentiles!("completion_s", "completion time", S, Less, "the completion times of the short flows.", ""),
    ),
    ("experiments", percentiles!("fct_s", "completion", S, Less, "the completion times of the web transfers.", "")),
    (
        "transfers",
        percentiles!("slowdown", "slowdown", ONE, Less, "completion time over the time on an idle path.", ""),
    ),
    ("traffic", TRAFFIC),
    (
        "traffic",
        percentiles!(
            "frame_delay_s",
            "frame delay",
            S,
            Less,
            "the times from the creation of a frame to its delivery: its last packet is at the receiver, and over TCP all earlier data too. Traffic, flow, group.",
            ""
        ),
    ),
    ("series", SERIES),
    ("totals", TOTALS),
    ("experiments", EXPERIMENTS),
];

const LINKS: &[Metric] = &[
    metric("utilization", "Utilization", ONE, Fraction, More, "Bytes sent over bytes that the link could have sent.")
        .form(".2f"),
    metric(
        "carried_goodput_bps",
        "Link goodput",
        BPS,
        Rate,
        More,
        "Data that crosses the link and reaches its receiver for the first time, headers included.",
    ),
    metric(
        "loss_rate",
        "Loss",
        ONE,
        Fraction,
        Less,
        "Link: packets lost in the queue or on the wire over packets that arrived. Flow, group: segments lost over segments sent.",
    )
    .form(".3g"),
    metric("mark_rate", "CE marks", ONE, Fraction, Neither, "Packets marked CE over packets that arrived.")
        .form(".3g")
        .source("RFC 3168"),
    metric(
        "dropped_packets",
        "Drops",
        PACKETS,
        Count,
        Less,
        "Packets lost in the queue: no room, or dropped by the discipline or a policer.",
    ),
    metric(
        "marked_packets",
        "Marks",
        PACKETS,
        Count,
        Neither,
        "Packets with a CE mark from this queue; they are not lost.",
    )
    .source("RFC 3168"),
    metric(
        "wire_lost_packets",
        "Link losses",
        PACKETS,
        Count,
        Neither,
        "Packets lost on the wire (key `loss`), not by the queue.",
    ),
    metric("arrived_packets", "Arrivals", PACKETS, Count, Neither, "Packets that arrived at the queue."),
    metric(
        "mean_queue_packets",
        "Mean queue",
        PACKETS,
        Average,
        Less,
        "Time average of the queue, including the packet in transmission.",
    ),
    metric(
        "max_queue_packets",
        "Max queue",
        PACKETS,
        Extreme,
        Less,
        "Greatest queue length, including the packet in transmission.",
    )
    .form(",.0f"),
    metric(
        "max_queueing_delay_s",
        "Max queueing delay",
        S,
        Extreme,
        Less,
        "Greatest waiting time of a packet before its transmission, to within 1 %.",
    ),
    metric(
        "shared_queues",
        "Shared queues",
        ONE,
        Count,
        Less,
        "Queues of FQ-CoDel that several flows of `[[flows]]` and `[[udp]]` share by a hash collision, over the whole run; 0 for other \
         queues, unknown on Linux.",
    )
    .source("RFC 8290, section 5.3"),
];

const FLOWS: &[Metric] = &[
    metric(
        "active_s",
        "Active time",
        S,
        Duration,
        Neither,
        "Time from the flow's start to its last ACK, or to the end of the run, that is in the interval.",
    ),
    metric(
        "throughput_bps",
        "Throughput",
        BPS,
        Rate,
        More,
        "Data at the receiver, including headers and duplicates, over the active time.",
    ),
    metric(
        "goodput_bps",
        "Goodput",
        BPS,
        Rate,
        More,
        "Throughput without duplicates: a segment counts when it first arrives, in order or not. Group: sum over the flows.",
    )
    .source("RFC 2647, section 3.17"),
    metric(
        "payload_goodput_bps",
        "Payload goodput",
        BPS,
        Rate,
        More,
        "Goodput without headers. Headers are `ack_size` per packet: 40 bytes of IPv4 and TCP by default.",
    )
    .source("RFC 791, RFC 9293"),
    metric("retransmits", "Retransmits", ONE, Count, Less, "Segments retransmitted."),
    metric("timeouts", "RTOs", ONE, Count, Less, "Expiries of the retransmission timer.").source("RFC 6298"),
    metric("fast_recoveries", "Fast recoveries", ONE, Count, Neither, "Episodes of fast recovery.").source("RFC 6582"),
    metric("mean_rtt_s", "Mean RTT", S, Average, Less, "Mean of the RTT samples, one per ACK of new data.")
        .source("RFC 6298"),
    metric("base_rtt_s", "Base RTT", S, Duration, Neither, "RTT of the path without queues."),
    metric(
        "mean_cwnd_packets",
        "Mean cwnd",
        PACKETS,
        Average,
        Neither,
        "Time average of the algorithm's congestion window; `max_window` does not limit it.",
    )
    .source("RFC 5681"),
    metric(
        "completion_s",
        "Completion",
        S,
        Duration,
        Less,
        "Time to the last ACK of a complete transfer; unknown if `stop` ended it or it still runs.",
    ),
];

const GROUPS: &[Metric] = &[
    metric("flows", "Flows", ONE, Count, Neither, "Number of flows."),
    metric("share", "Share", ONE, Fraction, Neither, "Goodput of the group over the goodput of all flows.").form(".1f"),
    metric("fair_share", "Fair share", ONE, Fraction, Neither, "Flows of the group over all flows.").form(".1f"),
    metric(
        "jain_index",
        "Jain index",
        ONE,
        Index,
        More,
        "Fairness of the goodputs: 1 if all are equal, 1/n if one of n flows has all.",
    )
    .form(".3f")
    .source("Jain et al. 1984"),
];

const TRANSFERS: &[Metric] = &[
    metric("start_s", "Start", S, Duration, Neither, "Time of the transfer's start since the start of the run."),
    metric("size_bytes", "Size", BYTES, Count, Neither, "Size of the transfer, in whole packets."),
    metric(
        "slowdown",
        "Slowdown",
        ONE,
        Index,
        Less,
        "Completion time over the time on an idle path: all segments back to back at the slowest link's rate, all delays, and the last ACK.",
    ),
    metric("count", "Transfers", ONE, Count, Neither, "Transfers that began after the warm-up."),
    metric("completed", "Complete", ONE, Count, More, "Transfers that are complete."),
    metric("cut_off", "Cut off", ONE, Count, Neither, "Transfers whose flow `stop` ended before their end."),
    metric("running", "Running", ONE, Count, Neither, "Transfers that run at the end."),
    metric("mean_s", "Mean completion", S, Average, Less, "Mean completion time of the transfers."),
];

const TRAFFIC: &[Metric] = &[
    metric("sent_packets", "Sent", PACKETS, Count, Neither, "Datagrams or segments that the senders sent."),
    metric("received_packets", "Received", PACKETS, Count, Neither, "Datagrams or segments that the receivers got."),
    metric("transfers_started", "Web transfers", ONE, Count, Neither, "Web transfers that started in the interval."),
    metric(
        "transfers_completed",
        "Complete transfers",
        ONE,
        Count,
        Neither,
        "Web transfers that started in the interval and are complete.",
    ),
    metric(
        "mean_completion_s",
        "Mean completion",
        S,
        Average,
        Less,
        "Mean time of the complete transfers that started in the interval.",
    ),
    metric("sent_frames", "Frames sent", ONE, Count, Neither, "Frames that started in the interval."),
    metric("received_frames", "Frames received", ONE, Count, More, "Frames that became complete in the interval."),
];

const SERIES: &[Metric] = &[
    metric("t_s", "Time", S, Sample, Neither, "Time since the start of the run."),
    metric("cwnd_packets", "Congestion window", PACKETS, Sample, Neither, "Congestion window.").source("RFC 5681"),
    metric("ssthresh_packets", "Slow-start threshold", PACKETS, Sample, Neither, "Slow-start threshold.")
        .source("RFC 5681"),
    metric("rtt_s", "RTT", S, Sample, Less, "Last RTT sample.").source("RFC 6298"),
    metric(
        "in_flight_packets",
        "In flight",
        PACKETS,
        Sample,
        Neither,
        "Packets sent that are neither acknowledged nor declared lost.",
    )
    .source("RFC 6675"),
    metric("queue_packets", "Queue", PACKETS, Sample, Less, "Queue of the link."),
];

const TOTALS: &[Metric] = &[
    metric(
        "data_packets",
        "Data packets",
        PACKETS,
        Count,
        Neither,
        "Data segments sent, warm-up, retransmissions, and web traffic included.",
    ),
    metric("wall_s", "Wall time", S, Duration, Neither, "Wall-clock time of the run."),
    metric("completed_flows", "Complete flows", ONE, Count, More, "Finite flows that are complete."),
    metric("mean_goodput_bps", "Mean goodput", BPS, Average, More, "Mean of the flows' goodputs."),
    metric("min_goodput_bps", "Min goodput", BPS, Extreme, More, "Least goodput of a flow."),
    metric("max_goodput_bps", "Max goodput", BPS, Extreme, Neither, "Greatest goodput of a flow."),
];

const EXPERIMENTS: &[Metric] = &[
    metric("queueing_delay_s", "Mean queueing delay", S, Average, Less, "Mean queue over the rate of the link."),
    metric("mean_fct_s", "Mean completion", S, Average, Less, "Mean completion time of the web transfers."),
    metric("alone_goodput_bps", "Solo goodput", BPS, Rate, More, "Goodput without the competitor."),
    metric("alone_rtt_s", "Solo RTT", S, Average, Less, "Mean RTT without the competitor."),
    metric("goodput_harm", "Goodput harm", ONE, Index, Less, "Part of the solo goodput that the competitor takes.")
        .form(".2f")
        .source("Ware et al. 2019"),
    metric("rtt_harm", "RTT harm", ONE, Index, Less, "Part of the RTT that the competitor adds.")
        .form(".2f")
        .source("Ware et al. 2019"),
    metric("frame_loss_rate", "Incomplete frames", ONE, Fraction, Less, "Frames that lack a packet over frames sent.")
        .form(".3g"),
    metric("starved_flows", "Starved flows", ONE, Count, Less, "Flows with less than a tenth of the mean goodput."),
    metric("min_max", "Min over max goodput", ONE, Index, More, "Least goodput of a flow over the greatest.")
        .form(".3f"),
    metric("settle_s", "Convergence time", S, Duration, Less, "Time until a late flow has its share of the link."),
    metric(
        "ramp_s",
        "Ramp-up time",
        S,
        Duration,
        Less,
        "Time until the link sends 90 % of its capacity over a second.",
    ),
    metric(
        "start_up_s",
        "Startup time",
        S,
        Duration,
        Less,
        "Time until the link sends 90 % of its capacity over four round trips.",
    ),
    metric(
        "start_up_loss_rate",
        "Startup loss",
        ONE,
        Fraction,
        Less,
        "Loss from the start to four round trips after the end of the startup.",
    )
    .form(".3g"),
];

/// All metrics with their tables, in the order of the pages.
pub fn tables() -> impl Iterator<Item = (&'static str, &'static Metric)> {
    LISTS.iter().flat_map(|(table, list)| list.iter().map(|metric| (*table, metric)))
}

/// All metrics, in the order of the pages.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    tables().map(|(_, metric)| metric)
}

/// The metric of a column; None for text, flags, and columns that an algorithm adds to a series.
pub fn find(column: &str) -> Option<&'static Metric> {
    let id = column.strip_prefix("reverse_").unwrap_or(column);
    all().find(|metric| metric.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FramesReport, Percentiles, Report, TrafficReport, Values};
    use std::collections::BTreeSet;

    #[test]
    fn ids_and_titles_are_unique_within_a_list() {
        let ids: BTreeSet<_> = all().map(|metric| metric.id).collect();
        assert_eq!(ids.len(), all().count());
        for (_, list) in LISTS {
            let titles: BTreeSet<_> = list.iter().map(|metric| metric.title).collect();
            assert_eq!(titles.len(), list.len());
        }
    }

    /// Columns of numbers in all tables of a report are in the registry, except positions of rows.
    #[test]
    fn every_column_of_numbers_is_registered() {
        let traffic = TrafficReport {
            frames: Some(FramesReport { sent: 0, received: 0, delay: Percentiles::default() }),
            ..TrafficReport::default()
        };
        let report = Report { traffic: vec![traffic], ..Report::default() };
        let mut checked = 0;
        for table in report.into_tables() {
            for column in table.columns {
                if matches!(column.values, Values::Numbers(_) | Values::Counts(_)) {
                    assert!(find(&column.name).is_some(), "{}: {}", table.name, column.name);
                    checked += 1;
                }
            }
        }
        assert!(checked > 60, "only {checked} columns");
    }

    /// The end of an id states its unit, as `docs/reference/metrics.md` promises.
    #[test]
    fn ids_end_in_their_units() {
        for metric in all() {
            let unit = match metric.id.rsplit('_').next().filter(|_| metric.id.contains('_')) {
                Some("bps") => Unit::BitsPerSecond,
                Some("s") => Unit::Seconds,
                Some("packets") => Unit::Packets,
                Some("bytes") => Unit::Bytes,
                _ => Unit::One,
            };
            assert_eq!(metric.unit, unit, "{}", metric.id);
        }
    }

    #[test]
    fn percentiles_have_an_entry_each() {
        let found = find("reverse_p99_queueing_delay_s").expect("a metric");
        assert_eq!((found.title, found.kind, found.unit), ("p99 queueing delay", Percentile, Unit::Seconds));
        assert!(found.definition.starts_with("99th percentile of the waiting times"));
        assert!(find("w_max").is_none());
    }
}
