//! Result of a run: metrics per link and per flow, and time series, in SI units.

pub mod columns;
pub mod jitter;
pub mod log;
pub mod meter;
pub mod metrics;
pub mod percentiles;
pub mod transfers;

use crate::memory;
pub use crate::traffic::source::player::Figures as VideoFigures;
pub use columns::{Column, Table, Values};
pub use percentiles::Percentiles;

/// Everything a run yields.
///
/// ```
/// use fullpipe_sim::{Report, Scenario, Simulation};
///
/// let report: Report = Simulation::new(Scenario::from_toml(r#"
///     duration = "20 s"
///     warmup = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP" }]
///     flows = [{ algorithm = "newreno" }]
/// "#)?)?.report()?;
/// let (link, flow, packets) = (&report.links[0], &report.flows[0], report.packets);
/// assert!(link.forward.utilization > 0.9 && link.forward.dropped_packets > 0 && link.reverse.dropped_packets == 0);
/// assert!(flow.rtt.p50_s > flow.base_rtt_s && flow.goodput_bps <= 10e6 && report.jain_index == 1.0);
/// assert_eq!((&report.groups[0].name, report.groups[0].rtt), (&flow.name, flow.rtt), "a group of one flow");
/// assert_eq!(packets.sent, packets.delivered + packets.dropped + packets.in_flight);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// One entry per link, in the scenario's order.
    pub links: Vec<LinkReport>,
    /// One entry per long-lived or finite flow, in the scenario's order.
    pub flows: Vec<FlowReport>,
    /// One entry per group of these, those of one name, in the order of their first flows.
    pub groups: Vec<GroupReport>,
    /// RTT samples of all of them.
    pub rtt: Percentiles,
    /// Jitter of all of them.
    pub jitter: Percentiles,
    /// One entry per UDP group, then one per web group, in the scenario's order.
    pub traffic: Vec<TrafficReport>,
    /// One entry per transfer that began, of finite flows and of web traffic, in the order of their beginnings.
    pub transfers: Vec<TransferReport>,
    /// Names of their groups.
    pub transfer_groups: Vec<String>,
    /// TCP data segments sent, warm-up, retransmissions and web traffic included.
    pub data_packets: u64,
    /// Where the data packets went.
    pub packets: PacketCount,
    /// Jain's fairness index of the flows' goodputs, of flows that lived in the measuring window; 1 for a single flow.
    pub jain_index: f64,
    /// Series of the flows.
    pub flow_series: Series,
    /// Series of the links: columns `queue_packets`, `utilization`, `arrived_packets`, `dropped_packets` and `marked_packets`, the last four since the
    /// sample before, and these with `reverse_`; `entity` is the link's index.
    pub link_series: Series,
}

impl Report {
    /// Warnings about the run, one line for each link: the key, its effect, and a remedy. For example, FQ-CoDel hashed two flows into one
    /// queue.
    pub fn warnings(&self) -> Vec<String> {
        let shared = |(index, link): (usize, &LinkReport)| {
            let (forward, reverse) = (link.forward.shared_queues, link.reverse.shared_queues);
            (forward + reverse > 0).then(|| {
                format!(
                    "links[{index}].queue: fq-codel hashed several flows into one queue, where they get one share together (shared queues: \
                     {forward} forward, {reverse} reverse); write another seed, or more queues, e.g. queue = {{ name = \"fq-codel\", \
                     flows = 8192 }}"
                )
            })
        };
        self.links.iter().enumerate().filter_map(shared).collect()
    }
}

/// Fates of the packets sent, warm-up, retransmissions, datagrams and web traffic included, ACKs left out:
/// sent = delivered + dropped + in flight.
///
/// Example: see [`Report`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCount {
    /// Left their sender.
    pub sent: u64,
    /// Reached their receiver by the end of the run.
    pub delivered: u64,
    /// Lost by the end of the run, in a queue or on a wire.
    pub dropped: u64,
    /// Still under way at the end.
    pub in_flight: u64,
}

/// One link. The plain fields are the forward direction, `reverse` the other one.
///
/// Example: see [`Report`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LinkReport {
    /// As in the scenario.
    pub name: String,
    /// The direction of data, but for traffic with `reverse`.
    pub forward: DirectionReport,
    /// The other direction.
    pub reverse: DirectionReport,
}

/// One direction of a link, in the measuring window.
///
/// Example: see [`Report`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DirectionReport {
    /// Bytes sent over capacity; 0 to 1.
    pub utilization: f64,
    /// Bits per second of useful data: data over this direction that reached its receiver in the window for the first time, headers
    /// included. Data that had crossed it before the window and waited elsewhere count too.
    pub carried_goodput_bps: f64,
    /// Packets lost (full queue and wire) over packets that arrived; 0 where none arrived.
    pub loss_rate: f64,
    /// Packets lost to a full queue.
    pub dropped_packets: u64,
    /// Packets that the queue marked instead (ECN).
    pub marked_packets: u64,
    /// Packets lost on the wire by the link's random loss.
    pub wire_lost_packets: u64,
    /// Packets that arrived at the queue.
    pub arrived_packets: u64,
    /// Time average of the packets in the system, the one being sent included.
    pub mean_queue_packets: f64,
    /// Most packets in the system.
    pub max_queue_packets: u64,
    /// How long packets waited before they began to be sent, of those that came in the window and were sent, or began to be, by its
    /// end; NaN where none was.
    pub queueing_delay: Percentiles,
    /// The longest of these, seconds, to within 1 %.
    pub max_queueing_delay_s: f64,
    /// Queues of FQ-CoDel that are shared by several flows of `[[flows]]` and `[[udp]]`, in the whole run; 0 for other disciplines. Flows
    /// in one queue get one share of the rate together (RFC 8290 section 5.3).
    pub shared_queues: u64,
}

/// One flow, in the measuring window, which has its first instant but not its last: events at the end of the warm-up count,
/// those at the end of the run do not.
///
/// Example: see [`Report`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FlowReport {
    /// Position among all flows, from 0.
    pub id: u32,
    /// Name of its group: the scenario's `name`, or the algorithm's.
    pub name: String,
    /// As the registry calls it.
    pub algorithm: String,
    /// How much of the flow's life lies in the measuring window, seconds: from its start to its last ACK, or to the end of the
    /// run. Rates and the mean window are over it.
    pub active_s: f64,
    /// Bits per second that reached the receiver, duplicates included, headers included; NaN where `active_s` is 0.
    pub throughput_bps: f64,
    /// Throughput without duplicates: each segment counts once, when it first reaches the receiver, whatever is still missing
    /// before it.
    pub goodput_bps: f64,
    /// Goodput without headers, which are as long as an ACK: the applications' data.
    pub payload_goodput_bps: f64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Times fast recovery began.
    pub fast_recoveries: u64,
    /// Segments lost, in a queue or on a wire, over segments sent; 0 where none was.
    pub loss_rate: f64,
    /// Mean of the RTT samples, seconds; NaN without any.
    pub mean_rtt_s: f64,
    /// Percentiles of the RTT samples.
    pub rtt: Percentiles,
    /// Percentiles of how much the one-way delay differs from one segment that arrives to the next; NaN where that is not measured.
    pub jitter: Percentiles,
    /// Time average of the window policy's cwnd, segments; NaN where `active_s` is 0.
    pub mean_cwnd_packets: f64,
    /// Round trip without queueing and transmission, seconds.
    pub base_rtt_s: f64,
    /// Share of `active_s` in which the application kept the sender back; `None` for a flow that always has data.
    pub app_limited_fraction: Option<f64>,
    /// Delays of its frames; `None` for a flow without frames.
    pub frames: Option<FlowFrames>,
    /// Mean time from a request to its complete response, seconds, of those in the interval; `None` for a flow without requests.
    pub request_completion_s: Option<f64>,
    /// Picture of its video; `None` for a flow without one.
    pub video: Option<VideoFigures>,
    /// State of the path for ECN: `"testing"`, `"capable"`, or `"failed"`; `None` for TCP and without ECN.
    pub ecn: Option<&'static str>,
    /// When the last segment was acknowledged, seconds from the flow's start; NaN for a flow that did not finish.
    pub completion_s: f64,
}

/// A group of flows, in the measuring window.
///
/// Example: see [`Report`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GroupReport {
    /// The flows' [`FlowReport::name`].
    pub name: String,
    /// Segments of them all that were lost, over those sent.
    pub loss_rate: f64,
    /// RTT samples of them all.
    pub rtt: Percentiles,
    /// Jitter of them all.
    pub jitter: Percentiles,
    /// Frames of them all; `None` where no flow has frames.
    pub frames: Option<FlowFrames>,
}

/// A group of UDP or web traffic, in the measuring window; rates are over all of it.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation};
///
/// let report = Simulation::new(Scenario::from_toml(r#"
///     duration = "10 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "50 packets" }]
///     udp = [{ name = "call", rate = "5 Mbit/s", frames = { per_second = 10, size = "5 kB" } }]
/// "#)?)?.report()?;
/// let call = &report.traffic[0];
/// assert_eq!((call.kind, call.name.as_str()), ("udp", "call"));
/// let frames = call.frames.expect("a source of frames");
/// assert_eq!((frames.sent, call.sent_packets), (100, 500), "5 packets of 1000 bytes in each frame");
/// assert!(frames.delay.p99_s < 0.05, "20 ms, and 5 packets at 5 Mbit/s and at 10 Mbit/s");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TrafficReport {
    /// "udp" or "web".
    pub kind: &'static str,
    /// The scenario's `name`; empty without one.
    pub name: String,
    /// Bits per second that reached the receivers, headers included.
    pub throughput_bps: f64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that reached the receivers.
    pub received_packets: u64,
    /// Transfers begun in the window (web only).
    pub transfers_started: u64,
    /// Those of them that were complete by its end (web only).
    pub transfers_completed: u64,
    /// Mean time of these from start to last ACK, seconds (web only); NaN without any.
    pub mean_completion_s: f64,
    /// Of sources that send frames.
    pub frames: Option<FramesReport>,
}

/// The frames of a group of UDP sources.
///
/// Example: see [`TrafficReport`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FramesReport {
    /// Frames begun in the measuring window.
    pub sent: u64,
    /// Frames of which the last packet arrived in it, all others having arrived.
    pub received: u64,
    /// How long these took, from when they were made until then.
    pub delay: Percentiles,
}

/// Delays of the frames of a flow or of a group of flows.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation};
///
/// let report = Simulation::new(Scenario::from_toml(r#"
///     duration = "10 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "50 packets" }]
///     flows = [{ algorithm = "cubic", initial_window = 10, source = { frames = "10/s", size = "5 kB", deadline = "100 ms" } }]
/// "#)?)?.report()?;
/// let frames = report.flows[0].frames.expect("a flow with frames");
/// assert_eq!((frames.late, frames.late_fraction), (0.0, 0.0));
/// assert!(frames.delay.p50_s > 0.02, "the link's delay is 20 ms");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowFrames {
    /// Delays of the frames delivered in the measurement interval, from their creation.
    pub delay: Percentiles,
    /// Frames made in the interval that were not delivered by their deadlines, of those whose deadlines end in it; NaN without a deadline.
    pub late: f64,
    /// Part of those frames that are late; NaN without any.
    pub late_fraction: f64,
}

impl FlowFrames {
    /// Figures of frames with these delays, of which `late.0` of `late.1` are late.
    pub(crate) fn new(delays: &percentiles::Histogram, late: Option<(u64, u64)>) -> FlowFrames {
        let (late, fraction) = late.map_or((f64::NAN, f64::NAN), |(late, due)| (late as f64, late as f64 / due as f64));
        FlowFrames { delay: delays.percentiles(0), late, late_fraction: fraction }
    }
}

/// State of a transfer when the run ends.
///
/// Example: see [`TransferReport`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransferState {
    /// All its data has been acknowledged.
    Complete,
    /// Its flow stopped (`stop`) with data left to send.
    CutOff,
    /// It was under way at the end of the run.
    #[default]
    Running,
}

fullpipe_cc::named! { TransferState { Complete = "complete", CutOff = "cut off", Running = "running" } }

/// A transfer, from its beginning to its last ACK, inside the measurement interval or not.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation, TransferState};
///
/// let report = Simulation::new(Scenario::from_toml(r#"
///     duration = "10 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }]
///     flows = [{ algorithm = "cubic", size = "100 packets" }]
/// "#)?)?.report()?;
/// let transfer = report.transfers[0];
/// assert_eq!((transfer.state, transfer.size_bytes), (TransferState::Complete, 100_000));
/// assert!(transfer.completion_s > 0.08 + 0.04, "100 packets take 80 ms at 10 Mbit/s, and a round trip 40 ms");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TransferReport {
    /// Its place among [`Report::transfer_groups`].
    pub group: u32,
    /// When it began, seconds.
    pub start_s: f64,
    /// Size in whole segments, headers included, bytes.
    pub size_bytes: u64,
    /// Whether it is complete, cut off or running at the end of the run.
    pub state: TransferState,
    /// Time from its beginning to its last ACK, seconds; NaN unless it is complete.
    pub completion_s: f64,
    /// That over the time that an idle path takes for its segments back to back, whatever a window would allow.
    pub slowdown: f64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// It began before the measuring window.
    pub in_warmup: bool,
}

/// Samples at a fixed interval, column by column: one row per entity and time, all times of the first entity first.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation};
///
/// let report = Simulation::new(Scenario::from_toml(r#"
///     duration = "5 s"
///     series_interval = "1 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP" }]
///     flows = [{ algorithm = "newreno" }]
/// "#)?)?.report()?;
/// let series = &report.flow_series;
/// assert_eq!(series.t_s, [1.0, 2.0, 3.0, 4.0, 5.0]);
/// assert!(series.columns.iter().any(|(name, rows)| name == "cwnd_packets" && rows.len() == 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Series {
    /// Sample times, seconds.
    pub t_s: Vec<f64>,
    /// Flow id or link index of each row.
    pub entity: Vec<u32>,
    /// Named columns, all of the length of `t_s`; NaN where a row's entity has no such value.
    pub columns: Vec<(String, Vec<f64>)>,
}

impl Series {
    /// No rows yet, but room for `rows`.
    pub(crate) fn with_columns<'a>(names: impl IntoIterator<Item = &'a str>, rows: usize) -> Self {
        let column = |name: &str| (name.to_owned(), memory::with_room(rows));
        Series {
            t_s: memory::with_room(rows),
            entity: memory::with_room(rows),
            columns: names.into_iter().map(column).collect(),
        }
    }
}
