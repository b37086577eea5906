"""First estimates of rate, base RTT, and buffer from a measurement, and the candidates of a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fullpipe.experiments.explain.observation import Observation, Values
from fullpipe.experiments.explain.path import Candidate, Params
from fullpipe.linux import programs, queues
from fullpipe.registry import algorithms

__all__ = ["Estimate", "estimate"]

ALGORITHMS = ("newreno", "cubic", "bbr", "bbr3", "vegas")
"""Algorithms that are tried where the metadata names none."""

CROSS_ALGORITHMS, CROSS_FLOWS = ("newreno", "cubic", "bbr"), (1, 2, 3)
"""Algorithms and numbers of flows that are tried as cross traffic."""

AQMS = ("codel",)
"""Active queues that are tried; with one flow, FQ-CoDel is CoDel."""

LEAST_REMAINDER = 0.05
"""Part of the rate that other flows have, at least."""

LEAST_BIN_S = 0.1

AQM_DELAY_S, FAIR_DELAY_S = 0.015, 0.03
"""Median queueing delays above which CoDel and FQ-CoDel are not tried. Packets in a fair queue wait for those of others
too: BBR beside two CUBIC flows over 20 Mbit/s and 30 ms has 17 ms, on Linux and in the simulator.
"""

MOST_PACKETS = 3000.0


@dataclass(frozen=True)
class Estimate:
    """First estimate.

    Attributes:
        params: Values that the search starts from.
        candidates: Models to fit.
        crossed: Models with cross traffic.
        busy: Fraction of the time in which the link has a queue; None without RTTs.
        change_s: Time of the largest shift of the rate; None if there is none above 5 %.
    """

    params: Params
    candidates: list[Candidate]
    crossed: list[Candidate]
    busy: float | None
    change_s: float | None


def estimate(seen: Observation) -> Estimate:
    """Estimates of a path from an observation."""
    trace = seen.trace
    least = seen.least_rtt_s or 0.05
    width = max(LEAST_BIN_S, 2 * least, 2 * seen.interval_s)
    edges = np.arange(seen.begin_s, seen.begin_s + seen.span_s + width / 2, width)
    rates = 8 * np.diff(np.interp(edges, trace.acked_at, trace.acked)) / width
    busy = None
    chosen = rates
    delays = trace.rtt - least
    if len(trace.rtt):
        limit = max(0.001, min(0.1 * least, 0.0025))
        queued = np.interp(edges[1:], trace.rtt_at, trace.rtt) >= least + limit
        busy = float(np.mean(queued))
        chosen = rates[queued] if queued.sum() >= 5 else rates
    wire = seen.packet / seen.mss
    # The 95th percentile of the delivery rate; means over 5 bins even out bursts of ACKs.
    smooth = np.convolve(chosen, np.ones(5) / 5, mode="valid") if len(chosen) >= 5 else chosen
    mean = max(10e3, float(np.mean(chosen)) * wire)
    rate = seen.capacity_bps or max(10e3, float(np.percentile(smooth, 95)) * wire)
    packet_s = 8 * seen.packet / rate
    base = max(0.2 * least, least - packet_s)
    delay = float(np.percentile(delays, 95)) if len(delays) else least
    params = Params(rate, base, float(np.clip(delay * rate / 8 / seen.packet, 2.0, MOST_PACKETS)))
    change_s = _change(rates, width)
    crossed = _crossed(seen, delays, change_s, width, mean / rate)
    return Estimate(params, _candidates(seen, delays), crossed, busy, change_s)


def _crossed(seen: Observation, delays: Values, change_s: float | None, width: float, part: float) -> list[Candidate]:
    """Models with cross traffic, if the flow has only a part of the rate."""
    if 1 - part < LEAST_REMAINDER:
        return []

    def spacing(queue: str, count: int) -> int:
        # All flows have equal parts of the rate, so the rate is that many times the one by the spacing of ACKs.
        has_turns = queue == "fq-codel" and seen.capacity_bps is not None
        return max(1, round(part * (count + 1))) if has_turns else 1

    starts = [0.0] if change_s is None else [0.0, change_s]
    return [
        Candidate(
            algorithm,
            queue,
            cross=cross,
            cross_flows=count,
            cross_start_s=start_s,
            cross_spread_s=width,
            spacing=spacing(queue, count),
        )
        for algorithm in _algorithms(seen)
        for queue in _queues(seen, delays, (*AQMS, "fq-codel"))
        for cross in CROSS_ALGORITHMS
        for count in CROSS_FLOWS
        for start_s in starts
    ]


def _algorithms(seen: Observation) -> list[str]:
    given = seen.algorithm or ""
    own = programs.named(given) or given
    return [own] if own in algorithms() else list(ALGORITHMS)


def _candidates(seen: Observation, delays: Values) -> list[Candidate]:
    names = _algorithms(seen)
    return [Candidate(name, each) for each in _queues(seen, delays, AQMS) for name in names]


def _queues(seen: Observation, delays: Values, active: Sequence[str]) -> list[str]:
    """The queue of the metadata, or those that can have such delays."""
    queue = queues.named(seen.queue or "")
    if queue:
        return [queue]
    delay_s = float(np.median(delays)) if len(delays) else math.inf
    limits = {"fq-codel": FAIR_DELAY_S}
    return ["drop-tail", *(each for each in active if delay_s < limits.get(each, AQM_DELAY_S))]


def _change(rates: Values, width: float) -> float | None:
    """Best single split of the rate by the sum of squares, with a penalty of 3 log n."""
    count = len(rates)
    skip = count // 8  # slow start is no change of the path
    values = rates[skip:]
    if len(values) < 16:
        return None
    variance = float(np.var(np.diff(values))) / 2
    total = float(np.sum((values - values.mean()) ** 2))
    gains = {}
    for i in range(5, len(values) - 5):
        parts = values[:i], values[i:]
        gains[i] = total - sum(float(np.sum((part - part.mean()) ** 2)) for part in parts)
    best = max(gains, key=lambda i: gains[i])
    before, after = values[:best].mean(), values[best:].mean()
    if gains[best] < 3 * np.log(len(values)) * max(variance, 1.0) or abs(after / max(before, 1.0) - 1) < 0.05:
        return None
    return float((skip + best) * width)
