"""Objectives of a search: how bad a network is for an algorithm, and whether it is a fair test.

Harm: Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index", HotNets 2019, section 3. A network counts only
where the other algorithm alone reaches `FEASIBLE` of the capacity: a network that is hostile to everyone shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe._util.plain import Table
from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.experiments.duel import harm
from fullpipe.experiments.search.space import TRANSFER_ROOM_S, TRANSFERS, Point, Role
from fullpipe.runs.figures import find_metric
from fullpipe.runs.measure import Row

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["FEASIBLE", "Objective", "Sample", "measured"]

COMPLETION = "completion_s"
"""Mean time of the transfers of `fct_harm`, among the values of their group."""

FEASIBLE = 0.7
"""Part of the capacity that the other algorithm reaches alone, at least."""

HARMS = {"goodput": True, "mean_rtt": False, "p95_rtt": False, "p99_rtt": False, "fct": False}
"""Metrics of harm, and whether more of them is better."""

NAMED = {
    **{f"{name}_harm": (0.75 if name == "goodput" else 0.5) for name in HARMS},
    "starvation": 2.0,
    "unfairness": 4.0,
    "regret": 1.0,
    "loss": 0.03,
    "underuse": 0.3,
}
"""Objectives with names, and their thresholds. A fair share is a goodput harm of 0.5."""

BEYOND = 0.2
"""Threshold of a harm beyond that of a standard."""

STANDARDS = ("newreno", "cubic")
"""Algorithms of RFC 9743, section 5.2.1."""

REFERENCES = ("newreno", "cubic", "bbr3", "copa")
"""Algorithms that regret compares with."""

MOST_BITS = 10.0
"""Greatest starvation: a flow without goodput."""

MOST_RATIO = 1000.0
"""Greatest unfairness."""


@dataclass(frozen=True)
class Sample:
    """One seed of a network.

    Attributes:
        value: Value of the objective.
        use: Part of the capacity that the other algorithm (or the best reference) reaches alone.
    """

    value: float
    use: float


def measured(result: Result) -> Row:
    """Row of a run: metrics of the run, and of each group of flows by its name. A transfer that does not end counts as
    `TRANSFER_ROOM_S`, which it has at least.
    """
    groups = {group["name"]: dict(group) for group in result.groups.to_pylist()}
    if TRANSFERS in groups:
        flows = result.flows.select(["name", COMPLETION]).to_pylist()
        times_s = [flow[COMPLETION] for flow in flows if flow["name"] == TRANSFERS]
        known_s = [TRANSFER_ROOM_S if time_s is None or math.isnan(time_s) else time_s for time_s in times_s]
        groups[TRANSFERS][COMPLETION] = math.fsum(known_s) / len(known_s)
    return {"runs": result.figures(), "groups": groups}


@dataclass(frozen=True)
class Objective:
    """Objective of a search.

    Attributes:
        metric: A name of `NAMED`, or a metric of a run, with ``-`` before it for less.
        tested: The algorithm under test.
        other: The other algorithm.
        beyond_standard: Whether the harm counts that exceeds the harm of a standard in that network.
    """

    metric: str
    tested: str | Table
    other: str | Table
    beyond_standard: bool = False

    def check(self) -> None:
        """Checks the metric.

        Raises:
            InputError: The metric is unknown.
        """
        if self.beyond_standard and not self.metric.endswith("_harm"):
            raise InputError(f"beyond-standard requires a harm metric: {', '.join(f'{name}_harm' for name in HARMS)}")
        if self.metric in NAMED:
            return
        try:
            find_metric(self.metric.removeprefix("-"))
        except InputError:
            raise InputError(f"{unknown('metric', self.metric, NAMED)}, or a metric of a run") from None

    @property
    def threshold(self) -> float | None:
        """Value from which a weakness counts as found; None for a metric without a default."""
        return BEYOND if self.beyond_standard else NAMED.get(self.metric)

    @property
    def is_fraction(self) -> bool:
        """Whether the value is 1 at most."""
        return self.metric in NAMED and (self.metric.endswith("_harm") or self.metric == "underuse")

    def parts(self) -> dict[str, tuple[Role, ...]]:
        """Runs of a network by name, and the flows of each."""
        if self.metric == "regret":
            references = {name: (("tested", name),) for name in REFERENCES}
            return {"alone": (("tested", self.tested),), **references}
        victim: Role = (self._victim, self.other)
        found: dict[str, tuple[Role, ...]] = {"beside": (("tested", self.tested), victim), "alone": (victim,)}
        if self.beyond_standard:
            found |= {name: (("tested", name), victim) for name in STANDARDS}
        if self._victim == TRANSFERS:
            found["bulk"] = (("other", self.other),)
        return found

    @property
    def _victim(self) -> str:
        """Role of the other algorithm."""
        return TRANSFERS if self.metric == "fct_harm" else "other"

    def sample(self, point: Point, rows: Mapping[str, Row]) -> Sample:
        """Value of a network from the rows of its parts."""
        capacity_bps = point["rate"] * (1 - point["cross"])
        if self.metric == "regret":
            uses = {name: _of(row, "tested", "goodput_bps") / capacity_bps for name, row in rows.items()}
            utilities = {name: _utility(uses[name], row, point["rtt"]) for name, row in rows.items()}
            best = max(utilities[name] for name in REFERENCES)
            return Sample(best - utilities["alone"], max(uses[name] for name in REFERENCES))
        bulk = rows["bulk" if self._victim == TRANSFERS else "alone"]
        use = _of(bulk, "other", "goodput_bps") / capacity_bps
        return Sample(self._value(rows, point["flows"]), use)

    def _value(self, rows: Mapping[str, Row], count: float) -> float:
        if self.metric in NAMED and self.metric.endswith("_harm"):
            found = self._harm(rows, "beside")
            return found - max(self._harm(rows, name) for name in STANDARDS) if self.beyond_standard else found
        own, others = (_of(rows["beside"], name, "goodput_bps") for name in ("tested", "other"))
        rates = [own / count, others]
        match self.metric:
            case "starvation":
                least = min(rates)
                return min(MOST_BITS, math.log2((own + others) / (count + 1) / least)) if least > 0 else MOST_BITS
            case "unfairness":
                return min(MOST_RATIO, max(rates) / min(rates)) if min(rates) > 0 else MOST_RATIO
            case "loss":
                return _known(rows["beside"]["runs"]["loss_rate"])
            case "underuse":
                return 1 - _known(rows["beside"]["runs"]["utilization"])
        sign = -1.0 if self.metric.startswith("-") else 1.0
        found = rows["beside"]["runs"].get(self.metric.removeprefix("-"))
        return sign * _known(found) if found is not None else -math.inf

    def _harm(self, rows: Mapping[str, Row], part: str) -> float:
        name = self.metric.removesuffix("_harm")
        column = {"goodput": "goodput_bps", "fct": COMPLETION}.get(name, f"{name}_s")
        alone, beside = (_of(rows[each], self._victim, column) for each in ("alone", part))
        return harm(alone, beside, more_is_better=HARMS[name])


def _of(row: Row, group: str, column: str) -> float:
    return _known(row["groups"][group][column])


def _known(value: float | None) -> float:
    """The value, or 0 without one: a flow that gets nothing through has no goodput and no RTT."""
    return 0.0 if value is None or math.isnan(value) else float(value)


def _utility(use: float, row: Row, base_rtt_s: float) -> float:
    """log(goodput / capacity) - 0.5 log(p95 RTT / base RTT)."""
    rtt_s = max(_of(row, "tested", "p95_rtt_s"), base_rtt_s)
    return math.log(max(use, 1e-6)) - 0.5 * math.log(rtt_s / base_rtt_s)
