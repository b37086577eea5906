"""The agent's report as the tables of a `Result`."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fullpipe._core import figure_names
from fullpipe._util.plain import Table, Tree
from fullpipe.linux.job import counters
from fullpipe.runs.figures import PERCENTILES, jain_index, together_bps
from fullpipe.runs.transfers import COLUMNS

if TYPE_CHECKING:
    from fullpipe.linux.job import Place
    from fullpipe.linux.plan import Flow, Plan

__all__ = ["to_tables"]

Lists: TypeAlias = dict[str, list[Any]]
"""Columns of a table by name."""
Exchange: TypeAlias = tuple[int, int | None]
"""Times of a request and of the end of its response, None if it did not arrive."""

INFINITE_SSTHRESH = 0x7FFFFFFF
"""The kernel's threshold before the first loss."""
NAMES = figure_names()
"""Names of all columns; values that the kernel does not report are unknown."""
UNKNOWN = dict.fromkeys(
    (name for name in NAMES["links"] if re.match(r"p\d+_|max_queueing|shared_queues", name)), math.nan
)
"""Queueing delays and hash collisions, which no queue of the kernel reports."""
JITTER = dict.fromkeys((name for name in PERCENTILES if name.endswith("_jitter_s")), math.nan)
"""Jitter, which the kernel does not report either."""
PERCENTS = (50, 95, 99)
CA_RECOVERY, CA_LOSS = 3, 4
"""States of a connection: fast recovery; after a timeout."""


class FlowSample(NamedTuple):
    """A line ``f``: TCP_INFO at ``t_ns``."""

    t_ns: int
    flow: int
    cwnd: int
    ssthresh: int
    rtt_us: int
    min_rtt_us: int
    in_flight: int
    retransmits: int
    state: int
    acked_bytes: int
    received_bytes: int


class LinkSample(NamedTuple):
    """A line ``l``: a queue's counters at ``t_ns``; ``direction`` is a place in `fullpipe.linux.job.counters`."""

    t_ns: int
    direction: int
    sent_bytes: int
    sent_packets: int
    dropped: int
    queued: int
    marked: int


def to_tables(plan: Plan, lines: Sequence[str]) -> Tree:
    """The tables, column by column, under the names the simulator gives them.

    Metrics that the kernel does not count are sampled: ``mean_queue_packets`` and ``mean_cwnd_packets`` are means,
    ``timeouts`` and ``fast_recoveries`` are changes of state between samples, ``max_queue_packets`` is the buffer where
    packets were dropped and the greatest sample elsewhere. The packets of an AQM are without the one being sent: its
    mean has the utilization added, its greatest 1. ``mean_rtt_s`` is the mean of the kernel's smoothed RTT, percentiles
    are of these samples; headers are Ethernet's, IPv4's and TCP's with timestamps. Loss rates of flows, how long
    packets wait in queues, jitter, and slowdowns of transfers are not known.
    """
    flows: list[list[FlowSample]] = [[] for _ in plan.flows]
    places = counters(plan)
    links: list[list[LinkSample]] = [[] for _ in places]
    finished: dict[int, int] = {}
    delivered: list[dict[int, int]] = [{} for _ in plan.flows]
    requested: list[dict[int, int]] = [{} for _ in plan.flows]
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "f":
            sample = FlowSample(*map(int, rest.split()))
            flows[sample.flow].append(sample)
        elif kind == "l":
            counted = LinkSample(*map(int, rest.split()))
            links[counted.direction].append(counted)
        elif kind == "d":
            t_ns, number, frame = map(int, rest.split())
            delivered[number][frame] = t_ns
        elif kind == "q":
            t_ns, number, request = map(int, rest.split())
            requested[number][request] = t_ns
        elif kind == "finished":
            flow, t_ns = map(int, rest.split())
            finished[flow] = t_ns
    rows = [_flow(plan, i, flows[i], finished.get(i)) for i in range(len(plan.flows))]
    if any(flow.frames for flow in plan.flows):
        for each, row, times in zip(plan.flows, rows, delivered, strict=True):
            row |= _frames(plan, each, times)
    exchanges = [
        [(t_ns, ends.get(request)) for request, t_ns in starts.items()]
        for starts, ends in zip(requested, delivered, strict=True)
    ]
    if any(flow.requests for flow in plan.flows):
        for row, own in zip(rows, exchanges, strict=True):
            row["request_completion_s"] = _completion_s(plan, own)
    return {
        "links": _links(plan, dict(zip(places, links, strict=True)), rows),
        "flows": _columns(rows),
        "groups": _columns(_groups(plan, flows)),
        "transfers": _transfers(plan, flows, finished, exchanges),
        "traffic": {name: [] for name in NAMES["traffic"]},
        "series": _series(plan, flows),
        "link_series": _link_series(plan, links),
        "warnings": list(plan.warnings),
        "totals": {
            "data_packets": _data_packets(plan, flows),
            "jain_index": jain_index([row["goodput_bps"] for row in rows if not math.isnan(row["goodput_bps"])]),
            **_percentiles(sample.rtt_us for samples in flows for sample in _counted(plan, samples)),
            **JITTER,
        },
    }


def _links(plan: Plan, samples: dict[Place, list[LinkSample]], flows: Sequence[Table]) -> Lists:
    rows = []
    for i, link in enumerate(plan.links):
        row: Tree = {"name": link.name}
        for prefix, reverse in (("", False), ("reverse_", True)):
            direction = _direction(plan, i, reverse, samples)
            direction["carried_goodput_bps"] = _carried_bps(plan, i, reverse, flows)
            row |= {prefix + key: value for key, value in direction.items()}
        rows.append(row)
    return {name: [row[name] for row in rows] for name in NAMES["links"]}


def _carried_bps(plan: Plan, i: int, reverse: bool, flows: Sequence[Table]) -> float:
    """The goodput of the flows whose data crosses a direction of a link, over the measuring window."""
    own = [row for flow, row in zip(plan.flows, flows, strict=True) if i in flow.path and flow.reverse == reverse]
    return together_bps(own, "goodput_bps", (plan.duration_ns - plan.warmup_ns) / 1e9)


def _direction(plan: Plan, i: int, reverse: bool, samples: dict[Place, list[LinkSample]]) -> Tree:
    """The queue's counts; a policer's drops are the queue's too, and packets lost on the wire have been sent."""

    def window(what: str) -> list[LinkSample]:
        return [sample for sample in samples.get((i, reverse, what), []) if sample.t_ns >= plan.warmup_ns]

    def dropped_at(what: str) -> int:
        counted = window(what)
        return counted[-1].dropped - counted[0].dropped if counted else 0

    counted = window("queue")
    first, last = counted[0], counted[-1]
    lost = dropped_at("wire")
    dropped, sent = dropped_at("queue") + dropped_at("policer"), last.sent_packets - first.sent_packets
    queues = [sample.queued for sample in counted]
    arrived = sent + dropped + last.queued - first.queued
    limit, managed = plan.links[i].buffer_packets, plan.links[i].discipline is not None
    utilization = _utilization(plan, i, reverse, first, last)
    return {
        "utilization": utilization,
        "loss_rate": (dropped + lost) / arrived if arrived else 0.0,
        "dropped_packets": dropped,
        "marked_packets": last.marked - first.marked,
        "wire_lost_packets": lost,
        "arrived_packets": arrived,
        "mean_queue_packets": sum(queues) / len(queues) + (utilization if managed else 0),
        "max_queue_packets": max(queues) + 1 if managed else limit if dropped and limit else max(queues),
        **UNKNOWN,
    }


def _utilization(plan: Plan, i: int, reverse: bool, first: LinkSample, last: LinkSample) -> float:
    capacity = plan.links[i].ways[reverse].sent_bits(first.t_ns, last.t_ns)
    return (last.sent_bytes - first.sent_bytes) * 8 / capacity if capacity else 0.0


def _flow(plan: Plan, i: int, samples: list[FlowSample], finished_ns: int | None) -> Tree:
    flow = plan.flows[i]
    counted = _counted(plan, samples)
    return {
        "id": i,
        "name": flow.name,
        "algorithm": flow.tcp.algorithm,
        "active_s": _active_s(plan, flow, finished_ns),
        "throughput_bps": _rate(plan, flow, samples, finished_ns, "received_bytes"),
        "goodput_bps": (goodput_bps := _rate(plan, flow, samples, finished_ns, "acked_bytes")),
        "payload_goodput_bps": goodput_bps * plan.segment_bytes / plan.packet_bytes,
        "retransmits": counted[-1].retransmits - counted[0].retransmits if counted else 0,
        "timeouts": _entries(counted, CA_LOSS),
        "fast_recoveries": _entries(counted, CA_RECOVERY),
        "loss_rate": math.nan,
        "mean_rtt_s": _mean([sample.rtt_us for sample in counted if sample.rtt_us]) / 1e6,
        **_percentiles(sample.rtt_us for sample in counted),
        **JITTER,
        "mean_cwnd_packets": _mean([sample.cwnd for sample in counted]),
        "base_rtt_s": flow.base_rtt_ns(plan.links) / 1e9,
        "completion_s": math.nan if finished_ns is None else (finished_ns - flow.start_ns) / 1e9,
    }


def _frames(plan: Plan, flow: Flow, delivered_ns: Mapping[int, int]) -> Tree:
    """Delays of the frames that arrive in the measuring window, and late frames among those made in it."""
    frames = flow.frames
    if frames is None:
        return {**_named(math.nan for _ in PERCENTS), "late_frames": math.nan, "late_fraction": math.nan}

    def made_ns(frame: int) -> int:
        return flow.start_ns + int(frame * frames.every_ns)

    # The guest has all propagation delay on the path of the ACKs.
    arrived_ns = {frame: t_ns + flow.base_rtt_ns(plan.links) // 2 for frame, t_ns in delivered_ns.items()}
    window = range(plan.warmup_ns, plan.duration_ns + 1)
    delays = sorted(t_ns - made_ns(frame) for frame, t_ns in arrived_ns.items() if t_ns in window)
    ranks = (math.ceil(len(delays) * percent / 100) - 1 for percent in PERCENTS)
    late: float = math.nan
    judged = 0
    if (deadline_ns := frames.deadline_ns) is not None:
        first = max(0, math.ceil((plan.warmup_ns - flow.start_ns) / frames.every_ns))
        last_ns = plan.duration_ns - deadline_ns
        due = list(takewhile(lambda frame: made_ns(frame) <= last_ns, count(first)))
        late = sum(arrived_ns.get(frame, math.inf) > made_ns(frame) + deadline_ns for frame in due)
        judged = len(due)
    return {
        **_named(delays[rank] / 1e9 if delays else math.nan for rank in ranks),
        "late_frames": late,
        "late_fraction": late / judged if judged else math.nan,
    }


def _completion_s(plan: Plan, times: Iterable[Exchange]) -> float:
    """Mean time of the requests that were sent and answered in the measuring window."""
    return _mean([end - start for start, end in times if end is not None and start >= plan.warmup_ns]) / 1e9


def _named(values: Iterable[float]) -> dict[str, float]:
    return {f"p{percent}_frame_delay_s": value for percent, value in zip(PERCENTS, values, strict=True)}


def _groups(plan: Plan, flows: Sequence[Sequence[FlowSample]]) -> list[Tree]:
    rows = []
    for name in dict.fromkeys(flow.name for flow in plan.flows):
        own = [samples for flow, samples in zip(plan.flows, flows, strict=True) if flow.name == name]
        rtts_us = (sample.rtt_us for samples in own for sample in _counted(plan, samples))
        rows.append({"name": name, "loss_rate": math.nan, **_percentiles(rtts_us), **JITTER})
    return rows


def _transfers(
    plan: Plan,
    flows: Sequence[Sequence[FlowSample]],
    finished: Mapping[int, int],
    exchanges: Sequence[Sequence[Exchange]],
) -> Lists:
    rows = []
    for i, (flow, samples) in enumerate(zip(plan.flows, flows, strict=True)):
        if flow.size_segments is not None:
            rows.append(_transfer(plan, flow, samples, flow.size_segments, (flow.start_ns, finished.get(i))))
        if flow.requests is not None:
            rows += [_transfer(plan, flow, samples, flow.requests.packets, times) for times in exchanges[i]]
    rows.sort(key=lambda row: row["start_s"])
    return _columns(rows) or {name: [] for name in COLUMNS}


def _transfer(plan: Plan, flow: Flow, samples: Sequence[FlowSample], packets: int, times: Exchange) -> Tree:
    start_ns, end_ns = times
    first = max(0, bisect_right(samples, start_ns, key=lambda sample: sample.t_ns) - 1)
    last = bisect_left(samples, plan.duration_ns if end_ns is None else end_ns, key=lambda sample: sample.t_ns)
    own = samples[first : last + 1]
    before = own[0].retransmits if own and own[0].t_ns <= start_ns else 0
    return {
        "group": flow.name,
        "start_s": start_ns / 1e9,
        "size_bytes": packets * plan.packet_bytes,
        "state": _state(plan, flow, end_ns is not None),
        "completion_s": math.nan if end_ns is None else (end_ns - start_ns) / 1e9,
        "slowdown": math.nan,
        "retransmits": own[-1].retransmits - before if own else 0,
        "timeouts": _entries(own, CA_LOSS),
        "in_warmup": start_ns < plan.warmup_ns,
    }


def _state(plan: Plan, flow: Flow, finished: bool) -> str:
    """State of a transfer at the end of the run, as in `fullpipe.Result.transfers`."""
    if finished:
        return "complete"
    stopped = flow.stop_ns is not None and flow.stop_ns < plan.duration_ns
    return "cut off" if stopped else "running"


def _counted(plan: Plan, samples: Sequence[FlowSample]) -> list[FlowSample]:
    return [sample for sample in samples if sample.t_ns >= plan.warmup_ns]


def _percentiles(rtts_us: Iterable[int]) -> dict[str, float]:
    """By nearest rank, as the simulator's."""
    known = sorted(rtt_us for rtt_us in rtts_us if rtt_us)
    ranks = {percent: math.ceil(len(known) * percent / 100) for percent in PERCENTS}
    return {f"p{percent}_rtt_s": known[rank - 1] / 1e6 if known else math.nan for percent, rank in ranks.items()}


def _active_s(plan: Plan, flow: Flow, finished_ns: int | None) -> float:
    """How much of a flow's life lies in the measuring window."""
    end_ns = plan.duration_ns if finished_ns is None else min(finished_ns, plan.duration_ns)
    return max(0, end_ns - max(flow.start_ns, plan.warmup_ns)) / 1e9


def _rate(plan: Plan, flow: Flow, samples: list[FlowSample], finished_ns: int | None, counter: str) -> float:
    """Bits per second over the flow's life in the measuring window, headers included; from a counter of payload."""
    counted = _counted(plan, samples)
    active_s = _active_s(plan, flow, finished_ns)
    if not counted or not active_s:
        return math.nan if not active_s else 0.0
    before = getattr(counted[0], counter) if flow.start_ns < plan.warmup_ns else 0
    payload: int = getattr(counted[-1], counter) - before
    return payload / plan.segment_bytes * plan.packet_bytes * 8 / active_s


def _entries(samples: Sequence[FlowSample], state: int) -> int:
    return sum(after.state == state != before.state for before, after in pairwise(samples))


def _data_packets(plan: Plan, flows: list[list[FlowSample]]) -> int:
    return sum(samples[-1].acked_bytes // plan.segment_bytes + samples[-1].retransmits for samples in flows if samples)


def _series(plan: Plan, flows: list[list[FlowSample]]) -> Lists:
    kept = [sample for samples in flows for sample in samples if _in_series(plan, sample.t_ns)]
    return {
        "t_s": [sample.t_ns / 1e9 for sample in kept],
        "flow": [sample.flow for sample in kept],
        "cwnd_packets": [float(sample.cwnd) for sample in kept],
        "ssthresh_packets": [
            math.inf if sample.ssthresh >= INFINITE_SSTHRESH else float(sample.ssthresh) for sample in kept
        ],
        "rtt_s": [sample.rtt_us / 1e6 if sample.rtt_us else math.nan for sample in kept],
        "in_flight_packets": [float(sample.in_flight) for sample in kept],
        "goodput_bps": _goodputs_bps(plan, kept),
    }


def _goodputs_bps(plan: Plan, kept: Sequence[FlowSample]) -> list[float]:
    """Of samples flow by flow, the bytes acknowledged since the sample before, headers included."""
    before: dict[int, int] = {}
    rates = []
    for sample in kept:
        payload = sample.acked_bytes - before.get(sample.flow, 0)
        before[sample.flow] = sample.acked_bytes
        rates.append(payload / plan.segment_bytes * plan.packet_bytes * 8e9 / (plan.series_interval_ns or 0))
    return rates


def _link_series(plan: Plan, links: list[list[LinkSample]]) -> Lists:
    columns: Lists = {"t_s": [], "link": []}
    for i in range(len(plan.links)):
        for prefix, direction in (("", 2 * i), ("reverse_", 2 * i + 1)):
            counted = [s for s in links[direction] if s.t_ns == 0 or _in_series(plan, s.t_ns)]
            kept = counted[1:]
            if not prefix:
                columns["t_s"] += [sample.t_ns / 1e9 for sample in kept]
                columns["link"] += [i] * len(kept)
            columns.setdefault(f"{prefix}queue_packets", []).extend(float(sample.queued) for sample in kept)
            columns.setdefault(f"{prefix}utilization", []).extend(
                _utilization(plan, i, bool(prefix), before, after) for before, after in pairwise(counted)
            )
            for before, after in pairwise(counted):
                lost = after.dropped - before.dropped
                taken = after.sent_packets + after.queued - before.sent_packets - before.queued
                columns.setdefault(f"{prefix}arrived_packets", []).append(float(taken + lost))
                columns.setdefault(f"{prefix}dropped_packets", []).append(float(lost))
                columns.setdefault(f"{prefix}marked_packets", []).append(float(after.marked - before.marked))
    return columns


def _in_series(plan: Plan, t_ns: int) -> bool:
    return plan.series_interval_ns is not None and t_ns > 0 and t_ns % plan.series_interval_ns == 0


def _columns(rows: list[Tree]) -> Lists:
    return {key: [row[key] for row in rows] for key in rows[0]} if rows else {}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
