"""Observation: the flow of a measurement that a fit explains, as arrays, and its metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fullpipe._util.plain import Tree
from fullpipe.errors import InputError
from fullpipe.measurements import Measurement

__all__ = ["WINDOWS", "Metrics", "Observation", "Trace", "Values", "metrics_of", "observe"]

Values = NDArray[np.float64]

WINDOWS = 8
"""Parts of the time that are compared one by one."""

LEAST_SAMPLES = 16
"""Samples that a fit requires, at least."""

VARYING_S, LEAST_VARYING, ROWS_VARYING = 1.0, 8, 5
"""Shortest window of the variation of goodput, least number of windows, and least number of rows in each."""

START_S = 2.0
"""A flow whose first sample has less data than this time of its goodput is observed from its start."""

FROM_START = ("fullpipe", "iperf3", "pcap", "pcapng")
"""Formats whose times count from the start of the flow."""

BYTES_DIFFER = 0.1
"""Part by which the bytes of a bottleneck may differ from those of its flow, whose headers it counts too."""

EPISODE_RTTS, MOST_FILLED = 1.5, 0.5

SPREAD, LARGER_PEAK = 1.25, 10
"""Factor by which late ACKs can exceed the rate of the link, and rows of its peak over those of such ACKs."""

LEAST_PEAK, PEAK_WIDTH, PEAK_RATIO = 5, 1.015, 4
"""Rows of a peak of the delivery rates, the factor within which they lie, and their number over that of equally wide
ranges around it.
"""

MTU, MSS, HEADERS = 1500, 1448, 52
"""Sizes in bytes where the measurement has none: Ethernet, IPv4 and TCP with timestamps."""


@dataclass(frozen=True)
class Trace:
    """Series of a flow. Times are seconds since its start, or since the first sample where that is not in the file.

    Attributes:
        acked_at, acked: Times, and payload acknowledged by then, in bytes.
        rtt_at, rtt: Times and RTTs, in seconds.
        flight_at, flight: Times, and data in flight (or the congestion window), in bytes.
        retransmits: Retransmissions of the whole time; None where unknown.
        ce: CE marks of the whole time; None where unknown.
        queue: Mean queue of the bottleneck, in packets; None where unknown.
        drops: Packets dropped there in the whole time; None where unknown.
        episodes: Loss episodes of the whole time; None where unknown.
    """

    acked_at: Values
    acked: Values
    rtt_at: Values
    rtt: Values
    flight_at: Values
    flight: Values
    retransmits: float | None = None
    ce: float | None = None
    queue: float | None = None
    drops: float | None = None
    episodes: float | None = None


@dataclass(frozen=True)
class Metrics:
    """Metrics of a trace.

    Attributes:
        values: Metrics by id; those that the trace lacks are missing.
        goodput: Goodput of each window, bit/s.
        rtt: Mean RTT of each window, seconds; empty without RTTs.
    """

    values: dict[str, float]
    goodput: Values
    rtt: Values


@dataclass(frozen=True)
class Observation:
    """Observation of a flow.

    Attributes:
        trace: Its series.
        begin_s: Time of the first sample since the start of the flow, or 0 where the start is not in the file.
        span_s: Time from the first to the last sample.
        interval_s: Typical time between two samples.
        mss: Payload of a full packet, in bytes.
        header: Headers of a full packet, in bytes.
        host: Host of the simulated flow: "quic" for QUIC, else "linux".
        algorithm: Algorithm by the metadata; None where unknown.
        queue: Queue of the bottleneck by the metadata; None where unknown.
        from_start: Whether the first sample is near the start of the flow.
        uses_cwnd: Whether `Trace.flight` is the congestion window.
        has_samples: Whether RTTs are samples, and not smoothed.
        least_rtt_s: Smallest RTT, also of the kernel's own minimum.
        has_handshake: Whether that minimum includes the handshake, when the queue was empty.
        limited: Fraction of the samples in which the application or the receiver limited the flow.
        capacity_bps: Rate of the link by the spacing of ACKs, with headers; None where it does not show.
        varying_s: Width of the windows between which goodput varies; None where bytes are not those acknowledged.
    """

    trace: Trace
    begin_s: float
    span_s: float
    interval_s: float
    mss: int
    header: int
    host: str
    algorithm: str | None
    queue: str | None
    from_start: bool
    uses_cwnd: bool
    has_samples: bool
    least_rtt_s: float | None
    has_handshake: bool
    limited: float
    capacity_bps: float | None = None
    varying_s: float | None = None

    @property
    def packet(self) -> int:
        """Size of a full packet, in bytes."""
        return self.mss + self.header

    def until(self, span_s: float) -> Observation:
        """The first part of the observation."""
        trace = self.trace
        parts: Tree = {}
        for name in ("acked", "rtt", "flight"):
            at, values = getattr(trace, f"{name}_at"), getattr(trace, name)
            kept = at <= self.begin_s + span_s
            parts |= {f"{name}_at": at[kept], name: values[kept]}
        shorter = replace(trace, **parts, retransmits=None, ce=None, queue=None, drops=None, episodes=None)
        return replace(self, trace=shorter, span_s=span_s)


def observe(measurement: Measurement, name: str) -> Observation:
    """Observation of the flow that sent most.

    Raises:
        InputError: There is no flow with a sender's metrics, or too few samples.
    """
    flows = measurement.flows.to_pylist()
    chosen = [each for each in flows if each["protocol"] in ("tcp", "quic") and each["direction"] != "in"]
    if not chosen:
        packets = len(measurement.packets)
        kinds = sorted({f"{each['protocol'].upper()} flows" for each in flows})
        found = f"{packets} packets" if packets else " and ".join(kinds) or "no flows"
        raise InputError(f"{name}: explain requires a TCP or QUIC sender; found {found}")
    samples = {each["flow"]: measurement.of_flow(each["flow"]) for each in chosen}
    flow = max(chosen, key=lambda each: _last(samples[each["flow"]], "acked_bytes") or 0.0)
    rows = samples[flow["flow"]]
    known = [row for row in rows if row["acked_bytes"] is not None]
    if len(known) < LEAST_SAMPLES:
        why = f"explain requires at least {LEAST_SAMPLES} samples with acknowledged bytes, got {len(known)}"
        raise InputError(f"{name}: {why}")
    return _observation(flow, rows, known, measurement)


def _observation(flow: Tree, rows: list[Tree], known: list[Tree], measurement: Measurement) -> Observation:
    first, end = known[0]["t_s"], known[-1]["t_s"]
    mss = flow["mss_bytes"] or MSS
    least = [row[key] for row in rows for key in ("rtt_s", "min_rtt_s") if row[key]]
    data = known[0]["acked_bytes"]
    goodput = max(1.0, (known[-1]["acked_bytes"] - data) / max(1e-9, end - first))
    from_start = data < START_S * goodput
    start = first
    if from_start:
        # Slow start doubles the initial window of 10 packets each RTT.
        began = first - (min(least) if least else 0.0) * math.log2(1 + data / (10 * mss))
        start = 0.0 if measurement.metadata["format"] in FROM_START and first < START_S else began
    uses_cwnd = all(row["in_flight_bytes"] is None for row in rows)
    flight = "cwnd_bytes" if uses_cwnd else "in_flight_bytes"
    acked_at, acked = _series(known, "acked_bytes", start)
    rtt_at, rtt = _series(rows, "rtt_s", start)
    flight_at, in_flight = _series(rows, flight, start)
    counts = _count(rows, "retransmits"), _count(rows, "ce")
    queue, drops = _bottleneck(measurement, rows)
    has_samples = any(row["rtt_kind"] == "sample" for row in rows)
    episodes = _episodes(rows) if has_samples else None
    trace = Trace(acked_at, acked, rtt_at, rtt, flight_at, in_flight, *counts, queue, drops, episodes)
    header = flow["header_bytes"] or (HEADERS if flow["mss_bytes"] is None else max(40, MTU - mss))
    limited = [row["limited"] in ("app", "rwnd", "sndbuf") for row in known]
    interval_s = float(np.median(np.diff(acked_at)))
    # iperf3 counts whole writes to the socket.
    has_acked = measurement.metadata["format"] != "iperf3"
    return Observation(
        trace,
        first - start,
        end - first,
        interval_s,
        mss,
        header,
        "quic" if flow["protocol"] == "quic" else "linux",
        flow["algorithm"],
        _queue(measurement),
        from_start=from_start,
        uses_cwnd=uses_cwnd,
        has_samples=has_samples,
        least_rtt_s=min(least) if least else None,
        has_handshake=from_start and any(row["min_rtt_s"] for row in rows),
        limited=sum(limited) / len(limited),
        capacity_bps=_capacity(rows, (mss + header) / mss) if has_samples else None,
        varying_s=max(VARYING_S, ROWS_VARYING * interval_s) if has_acked else None,
    )


def metrics_of(
    trace: Trace, begin_s: float, span_s: float, *, has_samples: bool = True, varying_s: float | None = None
) -> Metrics:
    """Metrics of a trace.

    Args:
        trace: The series.
        begin_s: Begin of the time that counts.
        span_s: Its length.
        has_samples: Whether RTTs are samples; a minimum of smoothed ones says nothing.
        varying_s: Width of the windows of the variation of goodput; None for no such metric.
    """
    edges = np.linspace(begin_s, begin_s + span_s, WINDOWS + 1)
    at_edges = np.interp(edges, trace.acked_at, trace.acked)
    goodput = 8 * np.diff(at_edges) / np.diff(edges)
    values = {"goodput_bps": float(8 * (at_edges[-1] - at_edges[0]) / span_s)}
    values |= _variation(trace, begin_s, span_s, varying_s) if varying_s else {}
    windows: Values = np.empty(0)
    if len(trace.rtt) >= LEAST_SAMPLES:
        if has_samples:
            values["min_rtt_s"] = float(trace.rtt.min())
        percentiles = np.percentile(trace.rtt, (50, 95, 99)).tolist()
        values |= zip(("p50_rtt_s", "p95_rtt_s", "p99_rtt_s"), percentiles, strict=True)
        windows = _means(trace.rtt_at, trace.rtt, edges)
    if len(trace.flight) >= LEAST_SAMPLES:
        values["mean_in_flight_bytes"] = float(trace.flight.mean())
    for name, value in (
        ("retransmits", trace.retransmits),
        ("ce", trace.ce),
        ("mean_queue_packets", trace.queue),
        ("dropped_packets", trace.drops),
        ("fast_recoveries", trace.episodes),
    ):
        values |= {} if value is None else {name: value}
    return Metrics(values, goodput, windows)


def _variation(trace: Trace, begin_s: float, span_s: float, width_s: float) -> dict[str, float]:
    """Standard deviation of the goodput of short windows over their mean, without the start of the flow (window 1)."""
    edges = np.arange(begin_s + span_s / WINDOWS, begin_s + span_s, width_s)
    sizes = np.diff(np.interp(edges, trace.acked_at, trace.acked))
    if len(sizes) < LEAST_VARYING or not sizes.any():
        return {}
    return {"goodput_variation": float(np.std(sizes) / np.mean(sizes))}


def _means(at: Values, values: Values, edges: Values) -> Values:
    """Means of the values between edges; of an interval without values, the mean of all."""
    places = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, WINDOWS - 1)
    counts = np.bincount(places, minlength=WINDOWS)
    sums = np.bincount(places, weights=values, minlength=WINDOWS)
    return np.where(counts > 0, sums / np.maximum(counts, 1), values.mean())


def _series(rows: Sequence[Tree], key: str, start: float) -> tuple[Values, Values]:
    found = [(row["t_s"] - start, row[key]) for row in rows if row[key] is not None]
    table = np.array(found, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _last(rows: Sequence[Tree], key: str) -> float | None:
    return next((row[key] for row in reversed(rows) if row[key] is not None), None)


def _count(rows: Sequence[Tree], key: str) -> float | None:
    """Growth of a counter. A single value, at the end, counts from the start."""
    known = [(i, row[key]) for i, row in enumerate(rows) if row[key] is not None]
    if not known:
        return None
    first = known[0][1] if len(known) > 1 and known[0][0] < len(rows) - 1 else 0.0
    return max(0.0, float(known[-1][1] - first))


def _episodes(rows: Sequence[Tree]) -> float | None:
    """Loss episodes: retransmissions with less than `EPISODE_RTTS` RTTs between them belong to one.

    None if episodes fill most of the time: then several recoveries are in one, and their number is not known.
    """
    known = [row for row in rows if row["retransmits"] is not None]
    if len(known) < LEAST_SAMPLES:
        return None
    episodes, until_s, filled_s = 0, -math.inf, 0.0
    before = 0
    for row in known:
        if row["retransmits"] > before:
            begin_s, end_s = row["t_s"], row["t_s"] + EPISODE_RTTS * (row["rtt_s"] or 0.0)
            episodes += begin_s > until_s
            filled_s += max(0.0, end_s - max(begin_s, until_s))
            until_s = max(until_s, end_s)
        before = row["retransmits"]
    is_clear = filled_s <= MOST_FILLED * (known[-1]["t_s"] - known[0]["t_s"])
    return float(episodes) if is_clear else None


def _capacity(rows: Sequence[Tree], wire: float) -> float | None:
    """Greatest delivery rate at which many rows lie close together; None without such a rate.

    Packets that leave a link in a row have its spacing. Traffic of others widens it, and delays of single ACKs spread
    it, but neither gathers the rates of many rows at one value.
    """
    rates = np.sort(np.array([row["delivery_bps"] for row in rows if row["delivery_bps"]]))

    def count(low: float, high: float) -> NDArray[np.intp]:
        return np.searchsorted(rates, high * rates) - np.searchsorted(rates, low * rates)

    inside = count(1, PEAK_WIDTH)
    around = np.maximum(count(PEAK_WIDTH**-2, 1), count(PEAK_WIDTH, PEAK_WIDTH**3)) / 2
    peaks = np.flatnonzero((inside >= LEAST_PEAK) & (inside >= PEAK_RATIO * around))
    if not len(peaks):
        return None
    top = peaks[-1]
    # ACKs that come late spread a peak upwards, where a few of them can lie together.
    near = peaks[rates[peaks] * SPREAD >= rates[top]]
    if inside[near].max() < LARGER_PEAK * inside[top]:
        near = near[rates[near] * PEAK_WIDTH >= rates[top]]
    begin = int(near[np.argmax(inside[near])])
    return float(np.median(rates[begin : begin + int(inside[begin])])) * wire


def _bottleneck(measurement: Measurement, rows: Sequence[Tree]) -> tuple[float | None, float | None]:
    """Mean queue and drops of the link that sent as many bytes as the flow; None without such a link."""
    links: dict[int, list[Tree]] = {}
    for row in measurement.link_samples.to_pylist():
        links.setdefault(row["link"], []).append(row)
    sent = _count(rows, "sent_bytes") or _count(rows, "acked_bytes") or 0.0
    for samples in links.values():
        carried = _count(samples, "sent_bytes")
        matches = len(links) == 1 if carried is None else abs(carried / max(1.0, sent) - 1) < BYTES_DIFFER
        queues = [row["backlog_packets"] for row in samples if row["backlog_packets"] is not None]
        if matches and len(queues) >= LEAST_SAMPLES:
            return float(np.mean(queues)), _count(samples, "drops")
    return None, None


def _queue(measurement: Measurement) -> str | None:
    """Queue of the only link that the metadata has."""
    queues = {each["queue"] for each in measurement.links.to_pylist() if each["queue"]}
    return queues.pop() if len(queues) == 1 else None
