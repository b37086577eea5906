"""Model of the path: parameters, the scenario that they give, and its simulated traces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fullpipe._util.plain import Tree
from fullpipe.engine.tables import to_numpy
from fullpipe.experiments.explain.observation import Metrics, Observation, Trace, Values, metrics_of
from fullpipe.runs.design import Case, Run
from fullpipe.runs.measure import name_of, whole
from fullpipe.runs.result import Result
from fullpipe.runs.runner import Runner
from fullpipe.scenario import Scenario

__all__ = ["AQM_PACKETS", "LINK", "Candidate", "Params", "Simulated", "scenario_of", "simulate"]

LINK = "l"
"""Name of the link."""

CROSS = "cross"
"""Name of the cross traffic."""

AQM_PACKETS = 1000
"""Limit of an active queue, which is not fitted: with CoDel the buffer can be 40 times off, and nothing changes."""

PROCESSING = "100 us"
"""Processing time of the sender, so that flows are not synchronized to the nanosecond."""

LEAST_INTERVAL_S, MOST_ROWS = 0.01, 3000
"""Shortest interval of the simulated series, and number of its rows, about."""

HANDSHAKE_BITS = 2 * 8 * 60
"""Bits of SYN and SYN-ACK, whose RTT the kernel's minimum includes."""

SHIFTS = 12
"""Shifts of one second, where the start of the flow is not in the file."""


@dataclass(frozen=True)
class Params:
    """Parameters of the path.

    Attributes:
        rate_bps: Rate of the link.
        base_rtt_s: Base RTT.
        buffer_packets: Buffer of a drop-tail queue.
        extra: Parameter of the candidate's impairment: loss rate, policer's or later rate over the rate.
    """

    rate_bps: float
    base_rtt_s: float
    buffer_packets: float
    extra: float = 0.0


@dataclass(frozen=True)
class Candidate:
    """Discrete choices of a model.

    Attributes:
        algorithm: Algorithm of the flow.
        queue: Queueing discipline.
        impairment: "loss", "policer", "rate change", or "" for none.
        change_s: Time of a rate change.
        cross: Algorithm of the cross traffic; "" for none.
        cross_flows: Number of its flows.
        cross_start_s: Time when they start, or earliest one with `cross_spread_s`.
        cross_spread_s: Time within which they start. A measurement shows their start in the rate of the flow, in bins
            of this width, and flows that start at one time have queues at equal times.
        spacing: Packets of all flows between two ACKed ones of this flow, if a fair queue serves them in turn.
    """

    algorithm: str
    queue: str = "drop-tail"
    impairment: str = ""
    change_s: float = 0.0
    cross: str = ""
    cross_flows: int = 0
    cross_start_s: float = 0.0
    cross_spread_s: float = 0.0
    spacing: int = 1

    @property
    def traffic(self) -> str | None:
        """Cross traffic in words; None without it."""
        if not self.cross:
            return None
        start = f" from {self.cross_start_s:.1f} s on" if self.cross_start_s else ""
        return f"{self.cross_flows} other {self.cross} flow{'s' * (self.cross_flows > 1)}{start}"

    @property
    def has_buffer(self) -> bool:
        """Whether the buffer is a parameter."""
        return self.queue == "drop-tail"


@dataclass(frozen=True)
class Simulated:
    """A run: its whole trace, and the metrics as the measurement would have them."""

    trace: Trace
    metrics: list[Metrics]


def scenario_of(candidate: Candidate, params: Params, seen: Observation, *, longer_s: float = 0.0) -> Scenario:
    """Scenario of a model."""
    packets = max(1, round(params.buffer_packets)) if candidate.has_buffer else AQM_PACKETS
    queue: str | Tree = candidate.queue
    if queue == "fq-codel":
        queue = {"name": queue, "floor": "all"}  # as in Linux
    link: Tree = {
        "name": LINK,
        "rate": f"{params.rate_bps:.0f} bit/s",
        "delay": f"{params.base_rtt_s / 2:.9f} s",
        "queue": queue,
        "buffer": f"{packets} packets",
    }
    if candidate.impairment == "loss":
        link["loss"] = params.extra
    elif candidate.impairment == "policer":
        link["policer"] = {"rate": f"{params.extra * params.rate_bps:.0f} bit/s", "burst": "50 kB"}
    elif candidate.impairment == "rate change":
        rate = f"{params.extra * params.rate_bps:.0f} bit/s"
        link["schedule"] = [{"at": f"{candidate.change_s:.3f} s", "rate": rate}]
    flow: Tree = {"algorithm": candidate.algorithm, "host": seen.host, "processing_time": PROCESSING}
    flows = [flow]
    if candidate.cross:
        begin_s = candidate.cross_start_s
        start = f"{begin_s:.3f} s..{begin_s + candidate.cross_spread_s:.3f} s"
        more: Tree = {"name": CROSS, "algorithm": candidate.cross, "count": candidate.cross_flows, "start": start}
        flows.append(flow | {"host": "linux"} | more)
    interval_s = max(LEAST_INTERVAL_S, seen.span_s / MOST_ROWS, min(0.1, seen.interval_s))
    return Scenario.from_dict(
        {
            "duration": f"{seen.begin_s + seen.span_s + longer_s + interval_s:.6f} s",
            "series_interval": f"{interval_s:.6f} s",
            "packet_size": seen.packet,
            "links": [link],
            "flows": flows,
        }
    )


def simulate(
    models: Sequence[tuple[Candidate, Params]],
    seen: Observation,
    seeds: Sequence[int],
    runner: Runner,
    *,
    shifted: bool = False,
) -> list[list[Simulated]]:
    """Runs models with seeds, concurrently.

    Args:
        models: The models.
        seen: Observation whose times are sampled.
        seeds: Seeds, equal for all models, so that differences are those of parameters.
        runner: Runner of the simulator.
        shifted: Whether the runs are longer, and sampled at `SHIFTS` shifts too.
    """
    longer_s = float(SHIFTS) if shifted else 0.0
    cases = [Case(scenario_of(*model, seen, longer_s=longer_s), measure=name_of(whole)) for model in models]
    runs = [Run(i * len(seeds) + j, case, seed) for i, case in enumerate(cases) for j, seed in enumerate(seeds)]
    rows = runner.all_rows(runs)
    offsets = range(SHIFTS) if shifted else (0,)
    paths = [model for model in models for _ in seeds]
    found = [_simulated(row["result"], seen, offsets, *model) for row, model in zip(rows, paths, strict=True)]
    return [found[i * len(seeds) : (i + 1) * len(seeds)] for i in range(len(models))]


def _simulated(
    result: Result, seen: Observation, offsets: Sequence[int], candidate: Candidate, params: Params
) -> Simulated:
    # Arrow tables with metadata would take as long as the run itself.
    series = result.columns("series")
    own = to_numpy(series["flow"]) == 0
    columns = {name: to_numpy(series[name])[own].astype(float) for name in COLUMNS}
    at = columns["t_s"]
    widths = np.diff(at, prepend=0.0)
    payload = seen.mss / seen.packet
    acked = np.cumsum(np.nan_to_num(columns["goodput_bps"]) * widths / 8 * payload)
    flight = columns["cwnd_packets" if seen.uses_cwnd else "in_flight_packets"] * seen.mss
    has_rtt = np.isfinite(columns["rtt_s"])
    trace = Trace(
        at,
        acked,
        at[has_rtt],
        columns["rtt_s"][has_rtt],
        at,
        np.nan_to_num(flight),
        float(to_numpy(result.columns("flows")["retransmits"])[0]),
        float(to_numpy(result.columns("links")["marked_packets"])[0]),
        *_queue(result, seen),
        episodes=float(to_numpy(result.columns("flows")["fast_recoveries"])[0]),
    )
    metrics = [_sampled(trace, seen, offset, result.scenario.duration_s) for offset in offsets]
    if seen.capacity_bps is not None:
        for each in metrics:
            each.values["capacity_bps"] = params.rate_bps / candidate.spacing
    if seen.has_handshake:
        idle_s = params.base_rtt_s + HANDSHAKE_BITS / params.rate_bps
        for each in metrics:
            each.values["min_rtt_s"] = min(idle_s, each.values.get("min_rtt_s", math.inf))
    return Simulated(trace, metrics)


def _queue(result: Result, seen: Observation) -> tuple[float | None, float | None]:
    """Mean queue of the link, in packets, and its drops; None where the measurement has none."""
    if seen.trace.queue is None:
        return None, None
    series = result.columns("link_series")
    queue = to_numpy(series["queue_packets"]).astype(float)[to_numpy(series["t_s"]) >= seen.begin_s]
    return float(np.nanmean(queue)), float(to_numpy(result.columns("links")["dropped_packets"])[0])


def _sampled(trace: Trace, seen: Observation, offset_s: float, duration_s: float) -> Metrics:
    """Metrics of a trace at the times of the measurement, and after ``offset_s``."""
    want = seen.trace

    def at(times: Values, known_at: Values, known: Values) -> Values:
        if not len(known) or not len(times):
            return np.empty(0)
        return known[np.clip(np.searchsorted(known_at, times + offset_s, side="right") - 1, 0, len(known) - 1)]

    part = (seen.begin_s + seen.span_s) / duration_s
    sampled = replace(
        trace,
        acked_at=trace.acked_at - offset_s,
        rtt_at=want.rtt_at,
        rtt=at(want.rtt_at, trace.rtt_at, trace.rtt),
        flight_at=want.flight_at,
        flight=at(want.flight_at, trace.flight_at, trace.flight),
        retransmits=None if want.retransmits is None else (trace.retransmits or 0.0) * part,
        ce=None if want.ce is None else (trace.ce or 0.0) * part,
        drops=None if want.drops is None else (trace.drops or 0.0) * part,
        episodes=None if want.episodes is None else (trace.episodes or 0.0) * part,
    )
    return metrics_of(sampled, seen.begin_s, seen.span_s, has_samples=seen.has_samples, varying_s=seen.varying_s)


COLUMNS = ("t_s", "goodput_bps", "rtt_s", "in_flight_packets", "cwnd_packets")
