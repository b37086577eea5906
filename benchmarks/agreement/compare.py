"""Runs a case on both sides and judges the difference."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean
from typing import Any

from ..simulators import OUT, SimulatorError, run_fullpipe, run_ns2_cached
from .cases import SCRIPT, Algorithm, Case, ns2_options, scenario

# Where the two must agree.
UTILIZATION_POINTS = 1.5
CWND_RATIO = 1.05
LOSS_RATIO = 1.3
# Minimum number of lost packets (in all runs of ns-2 together) from which a loss rate is computed.
COUNTABLE_LOSSES = 50


@dataclass(frozen=True)
class Figures:
    """Metrics that are compared, of one run."""

    utilization: float
    cwnd: float
    loss_rate: float
    dropped: float
    timeouts: float


@dataclass(frozen=True)
class Row:
    """A case under an algorithm: every run on both sides."""

    case: Case
    algorithm: Algorithm
    ours: list[Figures]
    ns2: list[Figures]

    @property
    def utilization_points(self) -> float:
        """Difference of mean utilizations, percentage points."""
        return 100 * (_mean(self.ours, "utilization") - _mean(self.ns2, "utilization"))

    @property
    def cwnd_ratio(self) -> float:
        """Mean cwnd, ours over ns-2's."""
        return _mean(self.ours, "cwnd") / _mean(self.ns2, "cwnd")

    @property
    def loss_ratio(self) -> float | None:
        """Ratio of fullpipe's loss rate to ns-2's; `None` if ns-2 lost too few packets for a rate."""
        if sum(run.dropped for run in self.ns2) <= COUNTABLE_LOSSES:
            return None
        return _mean(self.ours, "loss_rate") / _mean(self.ns2, "loss_rate")

    @property
    def outside(self) -> list[str]:
        """Names of the figures that disagree."""
        failed = []
        if abs(self.utilization_points) > UTILIZATION_POINTS:
            failed.append("utilization")
        if not 1 / CWND_RATIO <= self.cwnd_ratio <= CWND_RATIO:
            failed.append("cwnd")
        if self.loss_ratio is not None and not 1 / LOSS_RATIO <= self.loss_ratio <= LOSS_RATIO:
            failed.append("loss")
        return failed

    def mean_of(self, side: str, figure: str) -> float:
        """Mean over the runs; `side` is "ours" or "ns2"."""
        return _mean(self.ours if side == "ours" else self.ns2, figure)

    def ns2_spread(self, figure: str) -> float:
        """Range among ns-2's runs, which differ only in the phase of starts and delays."""
        values = _values(self.ns2, figure)
        return max(values) - min(values)


def compare(case: Case, algorithm: Algorithm) -> Row:
    """Runs a case in both simulators, as often as the case requires."""
    runs = range(case.runs_of(algorithm))
    ns2 = [ns2_figures(run_ns2_cached(SCRIPT, ns2_options(case, algorithm, run))) for run in runs]
    return Row(case, algorithm, [_run_ours(case, algorithm, run) for run in runs], ns2)


def ns2_figures(result: dict[str, Any]) -> Figures:
    """Output of dumbbell.tcl."""
    if result["packet_size"] != 1000:
        raise SimulatorError(f"ns-2 sent packets of {result['packet_size']} bytes, not 1000: set the agent's payload")
    flows = result["flows"]
    return Figures(
        utilization=result["utilization"],
        cwnd=mean(flow["mean_cwnd_packets"] for flow in flows),
        loss_rate=result["loss_rate"],
        dropped=result["dropped_packets"],
        timeouts=sum(flow["timeouts"] for flow in flows),
    )


def _run_ours(case: Case, algorithm: Algorithm, run: int) -> Figures:
    path = OUT / "agreement" / f"{case.name}-{algorithm.name}-{run}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(scenario(case, algorithm, run))
    result = run_fullpipe(path)
    link, flows = result["links"][0], result["flows"]
    return Figures(
        utilization=link["utilization"],
        cwnd=mean(flow["mean_cwnd_packets"] for flow in flows),
        loss_rate=link["loss_rate"],
        dropped=link["dropped_packets"],
        timeouts=sum(flow["timeouts"] for flow in flows),
    )


def _mean(runs: list[Figures], figure: str) -> float:
    return mean(_values(runs, figure))


def _values(runs: list[Figures], figure: str) -> list[float]:
    return [getattr(run, figure) for run in runs]
