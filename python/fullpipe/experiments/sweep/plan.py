"""Plan of a sweep: every combination of the axes' values, each with several seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from itertools import count, islice
from typing import overload

from fullpipe import _core
from fullpipe._util.fingerprint import build_fingerprint
from fullpipe.custom.declared import identity_of, used_in
from fullpipe.errors import ScenarioError
from fullpipe.experiments.sweep.axes import LARGEST, MOST_RUNS, Axis
from fullpipe.runs.design import METRICS, Case, Design, Label
from fullpipe.scenario import Scenario
from fullpipe.scenario.keypath import Place, set_value

__all__ = ["Plan"]

MOST_TRIED = 20_000
"""Largest number of combinations that are tried for values that do not run alone."""

MOST_FLOW_ROWS = 1_000_000
"""Largest number of rows of flows that a sweep keeps. A larger sweep only has a row per run."""

FULL = "fullpipe.runs.measure:full"

Places = tuple[int, ...]
"""Combination: the position of each axis's value."""


@dataclass(frozen=True)
class Plan:
    """Sweep that has been checked and can run.

    Runs are numbered from 0. The repeat changes fastest, then the last axis. Repeat r has the scenario's seed + r, so
    that combinations are compared under equal random choices.

    Attributes:
        scenario: Scenario that the axes change; its series are not sampled.
        axes: The axes.
        repeats: Runs of each combination, each with another seed.
        algorithm_source: First 12 hexadecimal digits of the identity of each custom algorithm, or "unknown"; by default
            of the algorithms declared now, None without any.
        engine: Engine of the runs, with its kernel.
        details: Whether rows of flows and links are wanted.
        progress: Function that is called with the number of checked values and of all values.

    Raises:
        ScenarioError: A key path does not exist; a value is not allowed in any combination; an axis sets a key of
            another axis; there are no axes and no repeats, or too many runs.
    """

    scenario: Scenario
    axes: tuple[Axis, ...]
    repeats: int = 1
    points: int = field(init=False)
    algorithm_source: str | None = field(default=None, kw_only=True)
    engine: str = field(default="simulator", kw_only=True)
    details: bool = field(default=True, kw_only=True)
    progress: InitVar[Callable[[float, float], object] | None] = None

    def __post_init__(self, progress: Callable[[float, float], object] | None) -> None:
        if self._own and self.algorithm_source is None:
            source = "unknown" if self.algorithms is None else " ".join(each[:12] for each in self.algorithms.split())
            object.__setattr__(self, "algorithm_source", source)
        object.__setattr__(self, "points", math.prod(len(axis.values) for axis in self.axes))
        file = self.scenario.file
        if not isinstance(self.repeats, int) or isinstance(self.repeats, bool) or not 1 <= self.repeats <= MOST_RUNS:
            huge = isinstance(self.repeats, int) and abs(self.repeats) > LARGEST
            given = "a number beyond 64 bits" if huge else repr(self.repeats)
            raise ScenarioError("sweep.repeats", f"must be a whole number in [1, {MOST_RUNS}], got {given}", file)
        if self.repeats > 1 and any(axis.path == "seed" for axis in self.axes):
            raise ScenarioError("sweep.repeats", "conflicts with the axis seed", file)
        if self.scenario.seed + self.repeats - 1 > LARGEST:
            what = f"the last seed must be at most {LARGEST}, got {self.scenario.seed + self.repeats - 1}"
            raise ScenarioError("sweep.repeats", what, file)
        if not self.axes and self.repeats == 1:
            raise ScenarioError("sweep", "requires an axis or repeats", file)
        if self.runs > MOST_RUNS:
            raise ScenarioError("sweep", f"must make at most {MOST_RUNS} runs, got {self.points * self.repeats}", file)
        self._check_keys()
        self._check_values(progress)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.points * self.repeats

    def changes(self, run: int) -> dict[str, object]:
        """Changes of a run in the scenario, for `Scenario.replace`."""
        point, repeat = divmod(run, self.repeats)
        return self._changes(self._places(point), repeat)

    def labels(self, run: int) -> dict[str, Label]:
        """Columns that identify a run: ``run``, the axes, ``repeat``, ``seed``."""
        point, repeat = divmod(run, self.repeats)
        labels: dict[str, Label] = {"run": run}
        for axis, place in zip(self.axes, self._places(point), strict=True):
            labels.update(axis.columns(place))
        labels["repeat"] = repeat
        labels.setdefault("seed", self.scenario.seed + repeat)
        if self.algorithm_source is not None:
            labels["algorithm_source"] = self.algorithm_source
        return labels

    @cached_property
    def design(self) -> Design:
        """Runs: a case per combination, and the seeds."""
        own_seed = any(axis.path == "seed" for axis in self.axes)
        first = self.scenario.seed
        return Design(Points(self), (None,) if own_seed else range(first, first + self.repeats))

    @cached_property
    def algorithms(self) -> str | None:
        """Content identity of the custom algorithms in the scenario or an axis; None if it is unknown."""
        return identity_of(self._own).digest

    @cached_property
    def _own(self) -> list[str]:
        return used_in(self.scenario.to_dict(), *(list(axis.values) for axis in self.axes))

    @cached_property
    def keeps_flows(self) -> bool:
        """Whether rows of flows and links are kept: where they are wanted, at most `MOST_FLOW_ROWS`."""
        if not self.details:
            return False
        groups = self.scenario.to_dict().get("flows", [])
        counts = [value for axis in self.axes if axis.path.endswith(".count") for value in axis.values]
        most = max((value for value in counts if isinstance(value, int)), default=1)
        flows = sum(max(int(group.get("count", 1)), most) for group in groups)
        return self.runs * max(1, flows) <= MOST_FLOW_ROWS

    @property
    def build(self) -> str:
        """Identity of the program that makes the runs."""
        return build_fingerprint() if self.engine == "simulator" else f"{build_fingerprint()} {self.engine}"

    @property
    def measure(self) -> str:
        """Function that makes the row of a run."""
        return FULL if self.keeps_flows else METRICS

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of those columns, in order."""
        return tuple(self.labels(0))

    @property
    def point_columns(self) -> tuple[str, ...]:
        """Names of the axes' columns, in order."""
        return tuple(name for axis in self.axes for name in axis.columns(0))

    def to_dict(self) -> dict[str, object]:
        """Identity of the sweep as plain values ready for JSON. The order of the axes belongs to it, because it numbers
        the runs.
        """
        plain = {
            "fullpipe": _core.VERSION,
            "build": build_fingerprint(),
            "scenario": dict(sorted(self.scenario.to_dict().items())),
            "axes": [axis.to_dict() for axis in self.axes],
            "repeats": self.repeats,
            **({} if self.engine == "simulator" else {"engine": self.engine}),
            **(
                {"algorithm_source": self.algorithm_source, "algorithms": self.algorithms or "unknown"}
                if self._own
                else {}
            ),
        }
        copy: dict[str, object] = json.loads(json.dumps(plain))
        return copy

    def values(self, point: int) -> dict[str, object]:
        """Changes of a combination, without the seed of its runs."""
        changes = {axis.path: axis.values[i] for axis, i in zip(self.axes, self._places(point), strict=True)}
        return {**changes, "series_interval": "off"}

    def _changes(self, places: Places, repeat: int = 0) -> dict[str, object]:
        changes = {axis.path: axis.values[place] for axis, place in zip(self.axes, places, strict=True)}
        seed = {} if "seed" in changes else {"seed": self.scenario.seed + repeat}
        return {**changes, **seed, "series_interval": "off"}

    def _places(self, point: int) -> Places:
        places = []
        for axis in reversed(self.axes):
            point, place = divmod(point, len(axis.values))
            places.append(place)
        return tuple(reversed(places))

    def _check_keys(self) -> None:
        """Refuses an axis that sets a key of another axis, and an axis without effect."""
        tree = self.scenario.to_dict()
        taken: dict[Place, str] = {}
        inside: dict[Place, str] = {}
        for axis in self.axes:
            if axis.path == "series_interval":
                raise ScenarioError(
                    f"sweep.{axis.path}", "conflicts with a sweep, which samples no series", self.scenario.file
                )
            try:
                places = set_value(tree, axis.path, axis.values[0])
            except KeyError:
                continue  # said with the reason when its values are checked
            for place in places:
                if place in taken:
                    what = f"conflicts with {taken[place]}, which sets the same key"
                    raise ScenarioError(f"sweep.{axis.path}", what, self.scenario.file)
                if place in inside:
                    what = f"replaces what {inside[place]} sets inside it; put it before that"
                    raise ScenarioError(f"sweep.{axis.path}", what, self.scenario.file)
            taken.update(dict.fromkeys(places, axis.path))
            inside.update({place[:length]: axis.path for place in places for length in range(1, len(place))})

    def _check_values(self, progress: Callable[[float, float], object] | None) -> None:
        """Refuses a value that cannot run in any combination. A single combination that cannot run is a failed run.

        A value that runs alone needs one check. For other values, up to `MOST_TRIED` combinations are tried in total;
        the remaining values are left to the runs.
        """
        runs: Places | None = None
        cleared: set[tuple[int, int]] = set()
        tried = 0
        for value, error in self._errors_alone(progress).items():
            if value in cleared:
                continue
            for places in self._combinations(value, runs):
                if tried == MOST_TRIED:
                    return
                tried += 1
                if self._error(self._changes(places)) is None:
                    runs = places
                    cleared.update(enumerate(places))
                    break
            else:
                raise self._named(*value, error)
        if runs is None:
            first_error = self._error(self.changes(0))
            tries = islice(self._combinations(), MOST_TRIED)
            if first_error and self.points <= MOST_TRIED and all(self._error(self._changes(each)) for each in tries):
                raise first_error

    def _errors_alone(self, progress: Callable[[float, float], object] | None) -> dict[tuple[int, int], ScenarioError]:
        """Errors of values without other changes, by the positions of axis and value."""
        errors = {}
        total = sum(len(axis.values) for axis in self.axes)
        done = count(1)
        for i, axis in enumerate(self.axes):
            for place, value in enumerate(axis.values):
                error = self._error({axis.path: value})
                if error is not None:
                    errors[i, place] = error
                if progress is not None:
                    progress(next(done), total)
        return errors

    def _combinations(self, value: tuple[int, int] | None = None, runs: Places | None = None) -> Iterator[Places]:
        """Combinations with a given value, in strides that spread evenly over the other axes. The first one is the
        neighbor of a combination that `runs`.
        """
        fixed, place = value or (None, 0)
        if runs is not None and fixed is not None:
            yield (*runs[:fixed], place, *runs[fixed + 1 :])
        sizes = [1 if i == fixed else len(axis.values) for i, axis in enumerate(self.axes)]
        points = math.prod(sizes)
        stride = round(points * (math.sqrt(5) - 1) / 2) or 1
        while math.gcd(stride, points) > 1:
            stride += 1
        for k in range(points):
            rest = k * stride % points
            others = []
            for size in reversed(sizes):
                rest, other = divmod(rest, size)
                others.append(other)
            others.reverse()
            if fixed is not None:
                others[fixed] = place
            yield tuple(others)

    def _error(self, changes: Mapping[str, object]) -> ScenarioError | None:
        try:
            self.scenario.replace(**changes)
        except ScenarioError as error:
            return error
        return None

    def _named(self, i: int, place: int, error: ScenarioError) -> ScenarioError:
        """Error with the name of the axis."""
        axis = self.axes[i]
        about_key = error.key.rpartition(".")[2] == axis.path.rpartition(".")[2]
        what = error.what if about_key else f"{error.key}: {error.what}"
        if len(axis.values) > 1 and "unknown key" not in what:
            what = f"{axis.labels[place]}: {what}"
        return ScenarioError(f"sweep.{axis.path}", what, self.scenario.file)


class Points(Sequence[Case]):
    """Combinations as cases. A case is made when it is requested, because there may be millions."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __len__(self) -> int:
        return self._plan.points

    @overload
    def __getitem__(self, point: int) -> Case: ...
    @overload
    def __getitem__(self, point: slice) -> Sequence[Case]: ...
    def __getitem__(self, point: int | slice) -> Case | Sequence[Case]:
        if isinstance(point, slice):
            return [self[each] for each in range(len(self))[point]]
        if not 0 <= point < len(self):
            raise IndexError(point)
        return Case(self._plan.scenario, changes=self._plan.values(point), measure=self._plan.measure)
