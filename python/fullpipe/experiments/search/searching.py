"""`search`: the worst network for an algorithm within bounds, shrunk to the simplest that still shows it."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fullpipe._util.files import check_free
from fullpipe._util.plain import Table
from fullpipe._util.text import with_params
from fullpipe.custom.arguments import as_algorithm
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.errors import InputError, check_range
from fullpipe.experiments.search.found import Search
from fullpipe.experiments.search.objective import FEASIBLE, Objective, Sample, measured
from fullpipe.experiments.search.optimizer import Fitness, Place, maximize
from fullpipe.experiments.search.shrink import shrink
from fullpipe.experiments.search.space import DROP_TAIL, Point, Space, network, wanted
from fullpipe.runs.aggregate import estimate
from fullpipe.runs.design import Case, Run
from fullpipe.runs.measure import Row, name_of
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.results import table_of
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import kept_runs
from fullpipe.scenario.quantity import read_quantity

__all__ = ["search"]

LARGEST = 1_000_000
"""Largest number of evaluations."""

CANDIDATES = 3
"""Points with equal causes that get `SECOND_SEEDS` after the search."""

MOST_CAUSES = 8
"""Sets of causes whose points get `SECOND_SEEDS`."""

MOST_FINDINGS = 4
"""Findings of a search, at most; those with at most one cause come before others."""

FIRST_SEEDS = (1, 2)
SECOND_SEEDS = range(101, 111)
THIRD_SEEDS = range(201, 231)
SHRINK_SEEDS = range(301, 311)
FRESH_SEEDS = range(1001, 1031)
"""Seeds of the phases. The maximum of noisy values is biased, so that no phase reports the values of one before."""

KEPT, KEPT_FRACTION = 0.8, 0.95
"""Part of the value that a simpler network keeps, by the lower end of its confidence interval. A harm is a fraction of
at most 1, of which more is kept: 0.8 instead of 0.95 leaves the victim four times as much.
"""

EXPLORING, SHRINKING = 0.6, 0.9
"""Part of the budget after which the search, and the shrinking, ends."""


@shows_progress("evaluations")
def search(
    algorithm: str | Mapping[str, object] | type,
    *,
    against: str | Mapping[str, object] | type = "cubic",
    maximize: str = "goodput_harm",
    bounds: Mapping[str, str] | None = None,
    queue: str = DROP_TAIL,
    attack: bool = False,
    changes: bool = False,
    beyond_standard: bool = False,
    threshold: float | None = None,
    budget: str | None = None,
    evaluations: int | None = None,
    seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory: int | str | None = None,
    dask: object = None,
) -> Search:
    """Searches the networks on which an algorithm does worst, within bounds, and shrinks them.

    The network is a dumbbell with a flow of the algorithm (called "tested") and a flow of another one (called "other").
    A network counts only if the other algorithm alone reaches 0.7 of the capacity. Values are reported over 30 seeds
    that the search did not use.

    Args:
        algorithm: Name, table such as ``{"name": "vegas", "alpha": 2}``, or declared class.
        against: The other algorithm.
        maximize: ``"goodput_harm"``, ``"mean_rtt_harm"``, ``"p95_rtt_harm"``, ``"p99_rtt_harm"`` (harm to the other
            flow, 0 to 1), ``"fct_harm"`` (harm to transfers of 100 kB in its place), ``"starvation"`` (log2 of equal
            share over share of the worst flow), ``"unfairness"`` (ratio of the goodputs), ``"regret"`` (against the
            best of newreno, cubic, bbr3, copa alone), ``"loss"``, ``"underuse"`` (1 - utilization), or a metric of a
            run, with ``-`` before it for less.
        bounds: Bounds by knob, such as ``{"rate": "1..200 Mbit/s", "loss": "0"}``; None for the default ones.
        queue: Queueing discipline of the bottleneck.
        attack: Whether datagrams come in pulses.
        changes: Whether the rate changes up to four times, not periodically.
        beyond_standard: Counts only the harm that exceeds the greatest harm of newreno and cubic in that network.
        threshold: Value from which the weakness counts as found; None for the default of the metric.
        budget: Wall time such as ``"60 s"``, which is the default without ``evaluations``.
        evaluations: Number of networks of the search in place of a time: the result is then equal on all machines.
        seed: Seed of the search's own choices.
        out: Directory for ``search.json``, ``worst.toml`` and the runs. Finished runs are kept there, so that an
            interrupted search can be continued.
        workers: As for `run_many`.
        progress: Function that is called with the work done and the whole amount (seconds or evaluations).
        stop: As for `run_many`.
        memory: As for `run_many`.
        dask: Address of a Dask scheduler, or a client; None for this machine.

    Raises:
        InputError: An algorithm, a metric, a bound, or a number is not allowed, or ``cma`` is not installed.
        AlgorithmError: A custom algorithm failed.
        Cancelled: ``stop`` was set.
    """
    if budget is not None and evaluations is not None:
        raise InputError("budget conflicts with evaluations")
    budget_s = None if evaluations is not None else read_quantity("budget", budget or "60 s", "s", '"60 s"')
    if budget_s is not None and budget_s <= 0:
        raise InputError(f"budget must be above 0 s, got {budget}")
    if evaluations is not None:
        check_range("evaluations", evaluations, 1, LARGEST)
    objective = Objective(maximize, as_algorithm(algorithm), as_algorithm(against), beyond_standard)
    objective.check()
    space = Space.of(wanted(bounds, attack=attack, changes=changes), queue)
    if not space.free:
        raise InputError("bounds requires a range for at least one knob; every knob has one value")
    for roles in objective.parts().values():
        network(space.point([0.5] * len(space.free)), roles, queue)
    if out is not None:
        check_free(out)
    with kept_runs(out) as store:
        runner = Runner(RunOptions(workers, memory, stop, None, dask), store)
        work = Work(objective, space, runner, budget_s, evaluations, progress, seed)
        result = work.search(objective.threshold if threshold is None else threshold)
        if out is not None:
            result.save(out)
    return result


Key = tuple[tuple[str, float], ...]
"""A point, as a key of a dictionary."""

Causes = frozenset[str]
"""Knobs of a point that could have had their plain value."""


class Ranked(NamedTuple):
    """Networks with equal causes.

    Attributes:
        worst: Value of the worst one.
        points: The networks, the worst one first.
    """

    worst: float
    points: list[Point]


def promising(ranked: Mapping[Causes, Ranked]) -> list[Causes]:
    """Sets of causes whose networks get more seeds: half by their worst values, the others with few causes first."""
    worst = sorted(ranked, key=lambda causes: -ranked[causes].worst)
    few = sorted(worst, key=lambda causes: len(causes) > 1)
    return list(dict.fromkeys([*worst[: MOST_CAUSES // 2], *few]))[:MOST_CAUSES]


@dataclass
class Work:
    """A search under way."""

    objective: Objective
    space: Space
    runner: Runner
    budget_s: float | None
    evaluations: int | None
    progress: Progress | None
    seed: int = 1
    begun_s: float = field(default_factory=time.monotonic)
    known: dict[Key, dict[int, Sample]] = field(default_factory=dict)
    path: list[list[float]] = field(default_factory=list)
    rows: list[tuple[Key, Row]] = field(default_factory=list)

    def search(self, threshold: float | None) -> Search:
        """Searches, selects, shrinks, and reports."""
        best: Fitness = (False, -math.inf)

        def answer(places: Sequence[Place], seeds: int) -> list[Fitness]:
            nonlocal best
            points = [self.space.point(place) for place in places]
            self.measure(points, FIRST_SEEDS[:seeds])
            found = [self.fitness(point, FIRST_SEEDS[:seeds]) for point in points]
            for each in found:
                if each > best and each[0]:
                    best = each
                    self.path.append([len(self.known), each[1]])
            return found

        limit = LARGEST if self.evaluations is None else self.evaluations
        dimensions, extras = len(self.space.free), self.space.extras
        maximize(answer, dimensions, extras, limit, lambda part: self.is_over(EXPLORING * part), self.seed)
        points = self.select(threshold)
        shrunk: list[Point] = []
        for number, point in enumerate(points, 1):
            until = EXPLORING + (SHRINKING - EXPLORING) * number / len(points)
            shrunk.append(self.simplest(point, until))
        return self.report(self.distinct(shrunk), threshold)

    def simplest(self, point: Point, until: float) -> Point:
        """The simplest network that keeps most of a point's value, from as much as that part of the budget allows."""
        value = self.mean(point, THIRD_SEEDS)
        least = value - (1 - self.kept) * abs(value)

        def shows(simpler: Point) -> bool:
            self.measure([simpler], SHRINK_SEEDS)
            return self.fitness(simpler, SHRINK_SEEDS)[0] and self.lower(simpler, SHRINK_SEEDS) >= least

        return shrink(self.space, point, shows, lambda: self.is_over(until))

    def select(self, threshold: float | None) -> list[Point]:
        """The worst network of each set of causes that is a finding, by successive halving under seeds that no earlier
        choice has seen. Without a finding above the threshold, the worst network of all.
        """
        finals = self.finals()
        found = {} if threshold is None else self.above(finals, threshold)
        ordered = sorted((found or finals).values(), key=lambda point: self.mean(point, SECOND_SEEDS), reverse=True)
        if found:
            ordered.sort(key=lambda point: min(2, len(self.space.causes(point))))
        return self.best_of(ordered[: MOST_FINDINGS if found else 1], THIRD_SEEDS)

    def finals(self) -> dict[Causes, Point]:
        """The worst feasible network of each promising set of causes, small sets first."""
        ranked = self.ranked()
        finals: dict[Causes, Point] = {}
        for causes in sorted(promising(ranked), key=lambda causes: (len(causes), sorted(causes))):
            best = self.best_of(ranked[causes].points[:CANDIDATES], SECOND_SEEDS)[0]
            if self.fitness(best, SECOND_SEEDS)[0]:
                finals[causes] = best
        return finals

    def ranked(self) -> dict[Causes, Ranked]:
        """The feasible networks of the search by their causes, the worst one first."""
        seeds = FIRST_SEEDS[:1]
        by_causes: dict[Causes, list[tuple[Fitness, Point]]] = {}
        for point in (dict(key) for key in self.known):
            fitness = self.fitness(point, seeds)
            if fitness[0]:
                by_causes.setdefault(self.space.causes(point), []).append((fitness, point))
        found = {}
        for causes, members in by_causes.items():
            members.sort(key=lambda member: member[0], reverse=True)
            found[causes] = Ranked(members[0][0][1], [point for _, point in members])
        return found

    def above(self, finals: Mapping[Causes, Point], threshold: float) -> dict[Causes, Point]:
        """The networks whose interval is above the threshold, from small sets of causes to large ones: a larger one is
        a finding only if it is clearly worse than each finding with a part of its causes.
        """
        found: dict[Causes, Point] = {}
        for causes, final in finals.items():
            lower = self.lower(final, SECOND_SEEDS)
            parts = [self.mean(other, SECOND_SEEDS) for part, other in found.items() if part < causes]
            if lower > threshold and all(lower * self.kept > value for value in parts):
                found[causes] = final
        return found

    def best_of(self, points: Sequence[Point], seeds: Sequence[int]) -> list[Point]:
        """Points in the order of their fitness under some seeds."""
        self.measure(points, seeds)
        return sorted(points, key=lambda point: self.fitness(point, seeds), reverse=True)

    def distinct(self, points: Sequence[Point]) -> list[Point]:
        """Of the points with equal causes, the first one."""
        return list({self.space.causes(point): point for point in reversed(points)}.values())[::-1]

    def report(self, points: Sequence[Point], threshold: float | None) -> Search:
        """Result, with values over fresh seeds; the worst network comes first."""
        self.rows = []
        self.measure(points, FRESH_SEEDS, again=True)
        ordered = sorted(points, key=lambda point: self.mean(point, FRESH_SEEDS), reverse=True)
        findings: list[Table] = [self.finding(point, threshold) for point in ordered]
        numbers = {_key(point): number for number, point in enumerate(ordered, 1)}
        rows = [{"finding": numbers[key], **row} for key, row in self.rows]
        kept: dict[str, object] = {
            "algorithm": _label(self.objective.tested),
            "against": _label(self.objective.other),
            "metric": self.objective.metric,
            "threshold": threshold,
            "seeds": len(FRESH_SEEDS),
            "seed": self.seed,
            "beyond_standard": self.objective.beyond_standard,
            "bounds": self.space.texts(),
            "queue": self.space.queue,
            "findings": findings,
            "evaluations": len(self.known),
            "path": self.path,
        }
        return Search(kept, table_of(rows, ("part",)))

    def finding(self, point: Point, threshold: float | None) -> Table:
        """A network, and its value over fresh seeds."""
        found = estimate([each.value for each in self.samples(point, FRESH_SEEDS)])
        return {
            "value": found.mean,
            "ci95": found.ci95,
            "found": None if threshold is None else found.mean - (found.ci95 or 0.0) > threshold,
            "knobs": {knob.id: point[knob.id] for knob in self.space.changed(point)},
            "scenario": network(point, next(iter(self.objective.parts().values())), self.space.queue).to_dict(),
        }

    @property
    def kept(self) -> float:
        """Part of the value that a simpler network keeps."""
        return KEPT_FRACTION if self.objective.is_fraction else KEPT

    def mean(self, point: Point, seeds: Sequence[int]) -> float:
        """Mean value of a measured point."""
        return self.fitness(point, seeds)[1]

    def lower(self, point: Point, seeds: Sequence[int]) -> float:
        """Lower end of the confidence interval of a measured point's value."""
        found = estimate([each.value for each in self.samples(point, seeds)])
        return found.mean - (found.ci95 or 0.0)

    def measure(self, points: Sequence[Point], seeds: Sequence[int], *, again: bool = False) -> None:
        """Runs networks with seeds, those that are not known yet."""
        parts = self.objective.parts()
        wanted: dict[Key, Point] = {_key(point): point for point in points}
        places: list[tuple[Key, int, str]] = []
        runs: list[Run] = []
        for key, point in wanted.items():
            missing = [each for each in seeds if again or each not in self.known.get(key, {})]
            cases = (
                {part: Case(network(point, roles, self.space.queue), measure=MEASURED) for part, roles in parts.items()}
                if missing
                else {}
            )
            for each in missing:
                for part, case in cases.items():
                    runs.append(Run(len(runs), case, each))
                    places.append((key, each, part))
        rows = self.runner.all_rows(runs)
        found: dict[tuple[Key, int], dict[str, Row]] = {}
        for (key, each, part), row in zip(places, rows, strict=True):
            found.setdefault((key, each), {})[part] = row
            if again:
                self.rows.append((key, {"part": part, "seed": each, **row["runs"]}))
        for (key, each), of_parts in found.items():
            self.known.setdefault(key, {})[each] = self.objective.sample(wanted[key], of_parts)
        if self.progress is not None:
            if self.budget_s is not None:
                self.progress(min(self.budget_s, time.monotonic() - self.begun_s), self.budget_s)
            elif self.evaluations is not None:
                self.progress(min(len(self.known), self.evaluations), self.evaluations)

    def samples(self, point: Point, seeds: Sequence[int]) -> list[Sample]:
        """Samples of a measured point."""
        known = self.known[_key(point)]
        return [known[each] for each in seeds]

    def fitness(self, point: Point, seeds: Sequence[int]) -> Fitness:
        """Fitness of a measured point: its mean value, or how far it is from feasible."""
        samples = self.samples(point, seeds)
        use = math.fsum(each.use for each in samples) / len(samples)
        if use < FEASIBLE:
            return False, use - FEASIBLE
        return True, math.fsum(each.value for each in samples) / len(samples)

    def is_over(self, part: float) -> bool:
        """Whether that part of the budget is spent."""
        return self.budget_s is not None and time.monotonic() - self.begun_s >= part * self.budget_s


MEASURED = name_of(measured)
"""Measure of the runs."""


def _key(point: Point) -> Key:
    return tuple(point.items())


def _label(algorithm: str | Table) -> str:
    return algorithm if isinstance(algorithm, str) else with_params(algorithm)
