"""Targets of a sizing: conditions on the metrics of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fullpipe._util.text import listed, quoted, unknown
from fullpipe.errors import InputError
from fullpipe.experiments.sizing.search import Verdict
from fullpipe.runs.aggregate import estimate
from fullpipe.scenario.quantity import Quantity

__all__ = ["MEASURES", "Condition", "Measure", "Metrics", "Target"]

Metrics = Mapping[str, float | None]
"""Metrics of a run by name."""


@dataclass(frozen=True)
class Measure:
    """Metric that a condition can limit.

    Attributes:
        metric: Name of the metric in a run.
        at_least: Whether larger values are better.
        side: Effect of a larger buffer: "needs" improves it, "limits" worsens it, "both" first improves and then
            worsens it.
        is_time: Whether it is a time; otherwise it is a fraction.
    """

    metric: str
    at_least: bool
    side: str
    is_time: bool = False


MEASURES = {
    "utilization": Measure("utilization", at_least=True, side="needs"),
    "loss": Measure("loss_rate", at_least=False, side="needs"),
    "jain": Measure("jain_index", at_least=True, side="both"),
    "mean_delay": Measure("queueing_delay_s", at_least=False, side="limits", is_time=True),
    **{
        f"{part}_delay": Measure(f"{part}_queueing_delay_s", at_least=False, side="limits", is_time=True)
        for part in ("p50", "p95", "p99", "max")
    },
    "mean_fct": Measure("mean_fct_s", at_least=False, side="both", is_time=True),
    **{
        f"{part}_fct": Measure(f"{part}_fct_s", at_least=False, side="both", is_time=True)
        for part in ("p50", "p95", "p99")
    },
}
"""Metrics by their names in targets: the bottleneck's utilization and loss rate, Jain's index of goodputs, queueing
delay of its packets, and completion time of web transfers.
"""

EXAMPLE = '0.98, or "utilization>=0.98,p99_delay<=20ms,loss<=0.1%"'


@dataclass(frozen=True)
class Condition:
    """Limit of a metric, as a fraction or in seconds, and its text."""

    measure: Measure
    bound: float
    text: str

    def judge(self, runs: Sequence[Metrics]) -> Verdict:
        """Whether the mean over runs is within the limit. It is not if a run has no value."""
        values = [value for run in runs if (value := run[self.measure.metric]) is not None]
        if len(values) < len(runs):
            return Verdict(met=False, sure=True)
        over = estimate(values)
        met = over.mean >= self.bound if self.measure.at_least else over.mean <= self.bound
        return Verdict(met, sure=over.ci95 is not None and abs(over.mean - self.bound) > over.ci95)


@dataclass(frozen=True)
class Target:
    """Conditions that a size has to meet together.

    Attributes:
        text: Name in tables and files; only the number for a utilization.
        conditions: At least one.
    """

    text: str
    conditions: tuple[Condition, ...]

    @classmethod
    def parse(cls, target: float | str) -> Target:
        """Target from a utilization, or from text with conditions: ``utilization>=0.98,p99_delay<=20ms``.

        Raises:
            InputError: The target is malformed, or a limit is out of range.
        """
        alone = _number(target)
        if alone is not None:
            if not 0 < alone < 1:
                raise InputError(f"target must be in (0, 1), got {alone:g}: write 0.98 for 98 %")
            text = f"{alone:g}"
            return cls(text, (Condition(MEASURES["utilization"], alone, f"utilization >= {text}"),))
        parts = [part.strip() for part in str(target).split(",") if part.strip()]
        if not parts:
            raise InputError(f"target requires a condition, e.g. {EXAMPLE}, got {quoted(target)}")
        found = tuple(_condition(part) for part in parts)
        measures = [condition.measure for condition in found]
        if len(set(measures)) < len(measures):
            raise InputError(f"target requires at most one condition per metric, got {quoted(target)}")
        return cls(", ".join(condition.text for condition in found), found)

    def on(self, side: str) -> tuple[Condition, ...]:
        """Conditions with that side (`Measure.side`)."""
        return tuple(condition for condition in self.conditions if condition.measure.side == side)

    @property
    def utilization(self) -> float | None:
        """Utilization of the target; None without one."""
        return next((each.bound for each in self.conditions if each.measure is MEASURES["utilization"]), None)

    def needs_web(self) -> bool:
        """Whether a condition is on web transfers."""
        return any(condition.measure.metric.endswith("_fct_s") for condition in self.conditions)

    def unmet(self, runs: Sequence[Metrics]) -> str:
        """Conditions that the runs do not meet, as text."""
        return ", ".join(condition.text for condition in self.conditions if not condition.judge(runs).met)


def judge(conditions: Sequence[Condition], runs: Sequence[Metrics]) -> Verdict:
    """Whether runs meet all conditions. The verdict is clear if each is, or if one clearly fails."""
    verdicts = [condition.judge(runs) for condition in conditions]
    failed = any(not verdict.met and verdict.sure for verdict in verdicts)
    return Verdict(all(verdict.met for verdict in verdicts), sure=failed or all(verdict.sure for verdict in verdicts))


def _condition(text: str) -> Condition:
    found = re.fullmatch(r"(\w+)\s*(>=|<=)\s*(.+)", text)
    if not found:
        raise InputError(f"target must be a utilization or conditions, e.g. 0.95 or {EXAMPLE}, got {quoted(text)}")
    name, sign, value = found.groups()
    if name not in MEASURES:
        raise InputError(f"target: {unknown('metric', name, MEASURES)}")
    measure = MEASURES[name]
    if (sign == ">=") != measure.at_least:
        raise InputError(f"target: {name} requires {'>=' if measure.at_least else '<='}, got {quoted(text)}")
    return Condition(measure, _bound(text, value, measure), f"{name} {sign} {value.strip()}")


def _bound(text: str, value: str, measure: Measure) -> float:
    if measure.is_time:
        quantity = Quantity.parse(value)
        if quantity is None or quantity.base != "s" or not 0 < quantity.value < math.inf:
            raise InputError(f"target: the bound must be a time above 0, e.g. 20ms, got {quoted(text)}")
        return quantity.value
    share = value.strip().endswith("%")
    number = _number(value.strip().removesuffix("%"))
    part = math.nan if number is None else number / 100 if share else number
    if not 0 < part < 1:
        raise InputError(f"target: the bound must be in (0, 1), e.g. 0.98 or 98%, got {quoted(text)}")
    return part


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def check_targets(targets: Sequence[Target], *, web: bool) -> None:
    """Refuses an empty list, repeated targets, and completion times without web transfers.

    Raises:
        InputError: The targets are not allowed.
    """
    texts = [target.text for target in targets]
    if not texts:
        raise InputError("target requires at least one value")
    if len(set(texts)) < len(texts):
        raise InputError(f"target must have each value once, got {listed(texts)}")
    for target in targets:
        if target.needs_web() and not web:
            raise InputError(f"target: {quoted(target.text)}: conditions on completion times require a web load")
