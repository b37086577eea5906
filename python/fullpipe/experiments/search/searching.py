"""`search`: the worst network for an algorithm within bounds, shrunk to the simplest that still shows it."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fullpipe._util.files import check_free
from fullpipe._util.plain import Table
from fullpipe._util.text import with_params
from fullpipe.custom.arguments import as_algorithm
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.errors import InputError, check_range
from fullpipe.experiments.search.found import Search
from fullpipe.experiments.search.objective import FEASIBLE, Objective, Sample, measured
from fullpipe.experiments.search.optimizer import Fitness, maximize
from fullpipe.experiments.search.shrink import shrink
from fullpipe.experiments.search.space import Point, Space, network
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

CANDIDATES = 8
"""Points that get `SECOND_SEEDS` after the search."""

FINALISTS = 3
"""Points that get `THIRD_SEEDS`; the best of them is shrunk."""

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
    """Searches the network on which an algorithm does worst, within bounds, and shrinks it.

    The network is a dumbbell with a flow of the algorithm (called "tested") and a flow of another one (called "other").
    A network counts only if the other algorithm alone reaches 0.7 of the capacity. Values are reported over 30 seeds
    that the search did not use.

    Args:
        algorithm: Name, table such as ``{"name": "vegas", "alpha": 2}``, or declared class.
        against: The other algorithm.
        maximize: ``"goodput_harm"``, ``"mean_rtt_harm"``, ``"p95_rtt_harm"``, ``"p99_rtt_harm"`` (harm to the other
            flow, 0 to 1), ``"starvation"`` (log2 of equal share over share of the worst flow), ``"unfairness"`` (ratio
            of the goodputs), ``"regret"`` (against the best of newreno, cubic, bbr3, copa alone), ``"loss"``,
            ``"underuse"`` (1 - utilization), or a metric of a run, with ``-`` before it for less.
        bounds: Bounds by knob, such as ``{"rate": "1..200 Mbit/s", "loss": "0"}``; None for the default ones.
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
    space = Space.of(bounds or {})
    if not space.free:
        raise InputError("bounds requires a range for at least one knob; every knob has one value")
    for roles in objective.parts().values():
        network(space.point([0.5] * len(space.free)), roles)
    if out is not None:
        check_free(out)
    with kept_runs(out) as store:
        runner = Runner(RunOptions(workers, memory, stop, None, dask), store)
        work = Work(objective, space, runner, budget_s, evaluations, progress)
        result = work.search(seed, objective.threshold if threshold is None else threshold)
        if out is not None:
            result.save(out)
    return result


@dataclass
class Work:
    """A search under way."""

    objective: Objective
    space: Space
    runner: Runner
    budget_s: float | None
    evaluations: int | None
    progress: Progress | None
    begun_s: float = field(default_factory=time.monotonic)
    known: dict[tuple[tuple[str, float], ...], dict[int, Sample]] = field(default_factory=dict)
    path: list[list[float]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def search(self, seed: int, threshold: float | None) -> Search:
        """Searches, selects, shrinks, and reports."""
        best: Fitness = (False, -math.inf)

        def answer(places: Sequence[Sequence[float]], seeds: int) -> list[Fitness]:
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
        maximize(answer, len(self.space.free), limit, lambda part: self.is_over(EXPLORING * part), seed)
        point = self.select()
        if point is None:
            return self.report(None, threshold)
        value = estimate([each.value for each in self.samples(point, THIRD_SEEDS)]).mean
        kept = KEPT_FRACTION if self.objective.is_fraction else KEPT
        least = value - (1 - kept) * abs(value)

        def shows(simpler: Point) -> bool:
            self.measure([simpler], SHRINK_SEEDS)
            if not self.fitness(simpler, SHRINK_SEEDS)[0]:
                return False
            found = estimate([each.value for each in self.samples(simpler, SHRINK_SEEDS)])
            return found.mean - (found.ci95 or 0.0) >= least

        return self.report(shrink(self.space, point, shows, lambda: self.is_over(SHRINKING)), threshold)

    def select(self) -> dict[str, float] | None:
        """The best point by successive halving, under seeds that no earlier choice has seen; None without one."""
        points = [dict(key) for key in self.known]
        for count, before, seeds in (
            (CANDIDATES, FIRST_SEEDS[:1], SECOND_SEEDS),
            (FINALISTS, SECOND_SEEDS, THIRD_SEEDS),
            (1, THIRD_SEEDS, ()),
        ):
            fits = sorted(((self.fitness(point, before), i) for i, point in enumerate(points)), reverse=True)
            points = [points[i] for fitness, i in fits[:count] if fitness[0]]
            if seeds:
                self.measure(points, seeds)
        return points[0] if points else None

    def report(self, point: Point | None, threshold: float | None) -> Search:
        """Result, with the value over fresh seeds."""
        kept: dict[str, object] = {
            "algorithm": _label(self.objective.tested),
            "against": _label(self.objective.other),
            "metric": self.objective.metric,
            "value": None,
            "ci95": None,
            "found": None if threshold is None else False,
            "threshold": threshold,
            "seeds": len(FRESH_SEEDS),
            "knobs": {},
            "scenario": None,
        }
        rows: list[Row] = []
        if point is not None:
            self.rows = rows
            self.measure([point], FRESH_SEEDS, again=True)
            found = estimate([each.value for each in self.samples(point, FRESH_SEEDS)])
            kept |= {
                "value": found.mean,
                "ci95": found.ci95,
                "found": None if threshold is None else found.mean - (found.ci95 or 0.0) > threshold,
                "knobs": {knob.id: point[knob.id] for knob in self.space.changed(point)},
                "scenario": network(point, next(iter(self.objective.parts().values()))).to_dict(),
            }
        kept |= {"evaluations": len(self.known), "path": self.path}
        return Search(kept, table_of(rows, ("part",)))

    def measure(self, points: Sequence[Point], seeds: Sequence[int], *, again: bool = False) -> None:
        """Runs networks with seeds, those that are not known yet."""
        parts = self.objective.parts()
        wanted: dict[tuple[tuple[str, float], ...], Point] = {_key(point): point for point in points}
        places: list[tuple[tuple[tuple[str, float], ...], int, str]] = []
        runs: list[Run] = []
        for key, point in wanted.items():
            missing = [each for each in seeds if again or each not in self.known.get(key, {})]
            cases = (
                {part: Case(network(point, roles), measure=MEASURED) for part, roles in parts.items()}
                if missing
                else {}
            )
            for each in missing:
                for part, case in cases.items():
                    runs.append(Run(len(runs), case, each))
                    places.append((key, each, part))
        rows = self.runner.all_rows(runs)
        found: dict[tuple[tuple[tuple[str, float], ...], int], dict[str, Row]] = {}
        for (key, each, part), row in zip(places, rows, strict=True):
            found.setdefault((key, each), {})[part] = row
            if again:
                self.rows.append({"part": part, "seed": each, **row["runs"]})
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


def _key(point: Point) -> tuple[tuple[str, float], ...]:
    return tuple(point.items())


def _label(algorithm: str | Table) -> str:
    return algorithm if isinstance(algorithm, str) else with_params(algorithm)
