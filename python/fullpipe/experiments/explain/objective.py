"""Distance of simulated metrics from measured ones, and the verdict on the best model.

Seeds of a run move a metric by a few percent. `SIGMAS` are these movements: seeds alone give a
distance of about 1 for each metric. The verdict has a separate band for each metric (`TOLERANCES`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fullpipe.experiments.explain.observation import Metrics, Values

__all__ = ["MOST_J", "MOST_SPREAD", "SIGMAS", "Judged", "Verdict", "Window", "distance", "judge"]

SIGMAS = {
    "goodput_bps": 0.01,
    "min_rtt_s": 0.01,
    "p50_rtt_s": 0.03,
    "p95_rtt_s": 0.03,
    "p99_rtt_s": 0.03,
    "capacity_bps": 0.01,
    "mean_in_flight_bytes": 0.04,
    "retransmits": 0.3,
    "ce": 0.3,
    "mean_queue_packets": 0.05,
    "dropped_packets": 0.3,
    "fast_recoveries": 0.3,
}
"""Standard deviations of the logarithms of metrics."""

WINDOW_SIGMA = 0.05

TOLERANCES = {
    "goodput_bps": 0.03,
    "min_rtt_s": 0.03,
    "p50_rtt_s": 0.06,
    "p95_rtt_s": 0.08,
    "p99_rtt_s": 0.08,
    "capacity_bps": 0.03,
    "mean_in_flight_bytes": 0.08,
    "retransmits": 0.35,
    "ce": 0.35,
    "mean_queue_packets": 0.08,
    "dropped_packets": 0.35,
    "fast_recoveries": 0.35,
    "goodput_variation": 0.35,
}
"""Width of the band of each metric beyond the simulated runs, as a logarithm. One that is not in `SIGMAS` is no part of
the distance: no fit made it equal, so it tests the model that was found. A flow beside another one can have the means
and percentiles of a policer or of random loss, but varies more than the first and less than the second.
"""

WINDOW_TOLERANCES = {"goodput_bps": 0.05, "mean_rtt_s": 0.06}

OFFSETS = {
    "retransmits": 5.0,
    "ce": 5.0,
    "mean_queue_packets": 5.0,
    "dropped_packets": 5.0,
    "fast_recoveries": 5.0,
    "goodput_variation": 0.02,
}
"""Added to counts before their logarithm is taken: 0 and 1 differ little. Nor do variations of 0 and 1 %."""

MOST_J = 20.0
"""Distance from which a model explains nothing."""

MOST_OUTSIDE = 1
"""Values of windows 2 to 8 that may be outside."""

MOST_SPREAD, SPREAD_PERCENTILES = 2.0, (10, 90)
"""Ratio of these percentiles of the runs' goodput above which a model explains nothing: its band has all values."""


@dataclass(frozen=True)
class Band:
    """A measured value and the band of the simulated runs."""

    measured: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether the measured value is inside the band."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Judged(Band):
    """A metric of the verdict, in its unit."""

    id: str
    simulated: float
    tolerance: float


@dataclass(frozen=True)
class Window(Band):
    """A metric of one window."""

    from_s: float
    until_s: float
    metric: str


@dataclass(frozen=True)
class Verdict:
    """Comparison of a measurement with a model.

    Attributes:
        metrics: Metrics with their bands.
        windows: Those of the windows.
        distance: Distance of the model from the measurement.
        spread: Ratio of the 90th to the 10th percentile of the runs' goodput.
    """

    metrics: list[Judged]
    windows: list[Window]
    distance: float
    spread: float = 1.0

    @property
    def outside(self) -> list[Window]:
        """Windows 2 to 8 that are outside, in order of time."""
        return sorted((each for each in self.windows if not each.inside and each.from_s > 0), key=lambda w: w.from_s)

    @property
    def explained(self) -> bool:
        """Whether the model explains the measurement."""
        inside = all(each.inside for each in self.metrics)
        return inside and len(self.outside) <= MOST_OUTSIDE and self.distance <= MOST_J and self.spread <= MOST_SPREAD


def distance(measured: Metrics, simulated: Sequence[Metrics], *, varies: bool = False, compares: bool = False) -> float:
    """Sum over the metrics of the squared mean logarithmic difference, in units of its variance.

    Args:
        measured: Measured metrics.
        simulated: Metrics of each run.
        varies: Whether the variance between the runs is added to that of `SIGMAS`. With other flows it is large.
        compares: Whether the logarithm of that sum is added, as in a likelihood, so that of two models none gains by a
            larger variance. It is no part of the distance from the measurement: the true model has it too.
    """
    total = 0.0
    for name, sigma in SIGMAS.items():
        if (value := measured.values.get(name)) is not None:
            differences = np.array([_log(name, each.values.get(name, 0.0)) - _log(name, value) for each in simulated])
            total += float(_squared(differences, sigma, varies, compares))
    for _, own, others in _windows(measured, simulated):
        if len(own) and len(others) == len(simulated):
            logs = np.array([_logs(np.sort(each)) for each in others]) - _logs(np.sort(own))
            total += float(np.mean(_squared(logs, WINDOW_SIGMA, varies, compares)))
    return total


def _squared(differences: Values, sigma: float, varies: bool, compares: bool) -> Values:
    """Squared means of differences over the runs, in units of their variance, and the logarithm of this."""
    squared: Values = np.mean(differences, axis=0) ** 2 / sigma**2
    if not varies or len(differences) < 2:
        return squared
    ratio = 1 + np.var(differences, axis=0, ddof=1) / sigma**2
    likely: Values = squared / ratio + (np.log(ratio) if compares else 0.0)
    return likely


def judge(measured: Metrics, simulated: Sequence[Metrics], span_s: float, *, varies: bool = False) -> Verdict:
    """Verdict over runs that the fit did not use."""
    judged = []
    for name, value in measured.values.items():
        logs = [_log(name, each.values.get(name, 0.0)) for each in simulated]
        low, high = (_linear(name, edge) for edge in (min(logs) - TOLERANCES[name], max(logs) + TOLERANCES[name]))
        middle = _linear(name, math.fsum(logs) / len(logs))
        judged.append(Judged(value, low, high, name, middle, TOLERANCES[name]))
    windows = []
    for metric, own, others in _windows(measured, simulated):
        width = span_s / max(1, len(own))
        factor = math.exp(WINDOW_TOLERANCES[metric])
        for i, value in enumerate(own if others else ()):
            some = [float(each[i]) for each in others]
            low, high = min(some) / factor, max(some) * factor
            windows.append(Window(float(value), low, high, i * width, (i + 1) * width, metric))
    low, high = np.percentile([each.values["goodput_bps"] for each in simulated], SPREAD_PERCENTILES)
    return Verdict(judged, windows, distance(measured, simulated, varies=varies), float(high / max(low, 1.0)))


def _windows(measured: Metrics, simulated: Sequence[Metrics]) -> list[tuple[str, Values, list[Values]]]:
    """Measured values of windows, and the simulated ones of runs that have as many, for each metric of windows."""
    pairs = (
        ("goodput_bps", measured.goodput, [each.goodput for each in simulated]),
        ("mean_rtt_s", measured.rtt, [each.rtt for each in simulated]),
    )
    return [(name, own, [each for each in others if len(each) == len(own)]) for name, own, others in pairs]


def _log(name: str, value: float) -> float:
    return math.log(max(1e-12, value + OFFSETS.get(name, 0.0)))


def _linear(name: str, log: float) -> float:
    return max(0.0, math.exp(log) - OFFSETS.get(name, 0.0))


def _logs(values: Values) -> Values:
    return np.log(np.maximum(values, 1e-12))
