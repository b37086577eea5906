"""What a sweep runs: every combination of the axes' values, each with several seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import fullpipe
from fullpipe.errors import ScenarioError
from fullpipe.scenario import Scenario
from fullpipe.sweeps.axes import Axis

__all__ = ["MOST_RUNS", "Plan"]

MOST_RUNS = 10_000_000
"""Runs that a sweep may have."""


@dataclass(frozen=True)
class Plan:
    """A sweep that has been checked and can run.

    Runs are numbered from 0: the last axis changes fastest, but for the repeats, which change faster still. Repeat r
    uses the scenario's seed + r, so that points are compared under the same random choices.

    Attributes:
        scenario: What the axes change; its series are not sampled.
        axes: The axes.
        repeats: Runs of each combination, each with another seed.

    Raises:
        ScenarioError: A key path leads nowhere, or a value is not allowed in any combination; there are neither axes
            nor repeats, or too many runs.
    """

    scenario: Scenario
    axes: tuple[Axis, ...]
    repeats: int = 1
    points: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", math.prod(len(axis.values) for axis in self.axes))
        file = self.scenario.file
        if not isinstance(self.repeats, int) or isinstance(self.repeats, bool) or not 1 <= self.repeats <= MOST_RUNS:
            raise ScenarioError(
                "sweep.repeats", f"{self.repeats!r} (allowed: whole numbers from 1 to {MOST_RUNS})", file
            )
        if self.repeats > 1 and any(axis.path == "seed" for axis in self.axes):
            raise ScenarioError("sweep.repeats", "the seed is an axis already; leave one of them out", file)
        if not self.axes and self.repeats == 1:
            raise ScenarioError("sweep", "has neither an axis nor repeats", file)
        if self.runs > MOST_RUNS:
            raise ScenarioError("sweep", f"makes {self.runs} runs (allowed: at most {MOST_RUNS})", file)
        self._check()

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.points * self.repeats

    def changes(self, run: int) -> dict[str, Any]:
        """What a run changes in the scenario, as `Scenario.replace` takes it."""
        point, repeat = divmod(run, self.repeats)
        changes = {axis.path: axis.values[place] for axis, place in zip(self.axes, self._places(point), strict=True)}
        seed = {} if "seed" in changes else {"seed": self.scenario.seed + repeat}
        return {**changes, **seed, "series_interval": "off"}

    def labels(self, run: int) -> dict[str, Any]:
        """A run's columns that say which it is: ``run``, the axes, ``repeat``, ``seed``."""
        point, repeat = divmod(run, self.repeats)
        labels: dict[str, Any] = {"run": run}
        for axis, place in zip(self.axes, self._places(point), strict=True):
            labels.update(axis.columns(place))
        labels["repeat"] = repeat
        labels.setdefault("seed", self.scenario.seed + repeat)
        return labels

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The names of those columns, in order."""
        return tuple(self.labels(0))

    @property
    def point_columns(self) -> tuple[str, ...]:
        """The names of the axes' columns, in order."""
        return tuple(name for axis in self.axes for name in axis.columns(0))

    def to_dict(self) -> dict[str, Any]:
        """What makes two sweeps the same, as plain values ready for JSON."""
        plain = {
            "fullpipe": fullpipe.__version__,
            "scenario": self.scenario.to_dict(),
            "axes": {axis.path: axis.values for axis in self.axes},
            "repeats": self.repeats,
        }
        copy: dict[str, Any] = json.loads(json.dumps(plain))
        return copy

    def _places(self, point: int) -> tuple[int, ...]:
        places = []
        for axis in reversed(self.axes):
            point, place = divmod(point, len(axis.values))
            places.append(place)
        return tuple(reversed(places))

    def _check(self) -> None:
        """Says no to a value that no combination can run with. A combination that alone can't run is a failed run."""
        for i, axis in enumerate(self.axes):
            for place in range(len(axis.values)):
                error = self._error({axis.path: axis.values[place]})
                if error is not None and not self._some_point_runs(i, place):
                    raise self._named(axis, place, error)
        if not self._some_point_runs():
            raise self._error(self.changes(0)) or AssertionError

    def _some_point_runs(self, axis: int | None = None, place: int = 0) -> bool:
        points = (point for point in range(self.points) if axis is None or self._places(point)[axis] == place)
        return any(self._error(self.changes(point * self.repeats)) is None for point in points)

    def _error(self, changes: Mapping[str, Any]) -> ScenarioError | None:
        try:
            self.scenario.replace(**changes)
        except ScenarioError as error:
            return error
        return None

    def _named(self, axis: Axis, place: int, error: ScenarioError) -> ScenarioError:
        """The error as one of the axis's."""
        about_key = error.key.rpartition(".")[2] == axis.path.rpartition(".")[2]
        what = error.what if about_key else f"{error.key}: {error.what}"
        if len(axis.values) > 1 and "unknown key" not in what:
            what = f"{axis.labels[place]}: {what}"
        return ScenarioError(f"sweep.{axis.path}", what, self.scenario.file)
