"""One scenario with several algorithms, each with several seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fullpipe._util.text import listed, with_params
from fullpipe.errors import InputError, ScenarioError, check_several
from fullpipe.experiments.comparison import Comparison
from fullpipe.registry import without_defaults
from fullpipe.runs.engines import check_engines, run_many
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.options import RunOptions
from fullpipe.runs.result import Result
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    import os
    import threading

__all__ = ["Comparison", "compare"]

SEEDS = 5
"""Runs of each algorithm where anything is random and the caller gives no number."""

MOST_SEEDS = 1000
"""Runs of each algorithm, at most."""

Runs = dict[tuple[str, int], Result]
"""Results by label and number of the seed, from 0."""


@shows_progress("s simulated")
def compare(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    algorithms: Sequence[str | Mapping[str, Any]] | None = None,
    *,
    seeds: int | None = None,
    engine: str | Sequence[str] = "simulator",
    workers: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    stop: threading.Event | None = None,
    kernel: str | None = None,
    memory_bytes: int | None = None,
) -> Comparison:
    """Runs a scenario with each algorithm, engine, and seed. All flows use the algorithm, and its loss recovery too,
    unless the scenario names one. Engines run one after the other. Where there are several, a result is called
    "algorithm on engine".

    Args:
        scenario: The scenario; also a TOML file's path, or a dictionary with its keys.
        algorithms: Names, or tables such as ``{"name": "vegas", "alpha": 2}``; None for the scenario as it is.
        seeds: Runs of each algorithm, 1 to 1000, with the scenario's seed and those after it: all algorithms have the
            same seeds. By default 5, or 1 where two seeds give equal metrics, and 1 if an engine is "linux". Only the
            runs with the first seed have series.
        engine: Engine of the runs; or several.
        workers: Runs at a time; None for the number of cores.
        progress: As for `run_many`.
        stop: As for `run_many`.
        kernel: As for `run`.
        memory_bytes: As for `run_many`.

    Raises:
        ScenarioError: There is no such algorithm or parameter, or the scenario has no flows.
        InputError: No algorithm is given, or one is given twice; an engine or a kernel is not there; that number of
            seeds is not allowed.
        Cancelled: ``stop`` was set.
    """
    check_several("algorithms", algorithms)
    engines = [engine] if isinstance(engine, str) else list(engine)
    if len(set(engines)) < len(engines):
        raise InputError(f"an engine is named twice: {listed(engines)}")
    check_engines(engines, kernel)
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"seeds = {seeds} (allowed: 1 to {MOST_SEEDS})")
    scenario = Scenario.of(scenario)
    scenarios = _scenarios(scenario, algorithms, engines)
    most = seeds or (1 if "linux" in engines else SEEDS)
    options = RunOptions(workers, memory_bytes, stop, progress)
    results: dict[str, list[Result]] = {}
    for i, name in enumerate(engines):
        batch = Batch(scenarios, most, name, kernel if name == "linux" else None, options, i, len(engines))
        made = batch.run(0, min(most, 2) if seeds is None else most)
        if seeds is None and most > 2 and _differ(made):
            made |= batch.run(2, most)
        elif seeds is None:
            made = {key: result for key, result in made.items() if key[1] == 0}
        for label in scenarios:
            called = label if len(engines) == 1 else f"{label} on {name}"
            results[called] = [result for (of, _), result in made.items() if of == label]
    return Comparison.of(results)


@dataclass(frozen=True)
class Batch:
    """All runs of an engine.

    Attributes:
        scenarios: Scenarios by label.
        seeds: Runs of each, at most.
        engine: The engine.
        kernel: As for `run`.
        options: How runs are carried out; ``progress`` gets the sums over all engines.
        place: Place of the engine among all, from 0.
        engines: Number of engines.
    """

    scenarios: Mapping[str, Scenario]
    seeds: int
    engine: str
    kernel: str | None
    options: RunOptions
    place: int
    engines: int

    def run(self, first: int, last: int) -> Runs:
        """Runs with the seeds from one number up to another one."""
        each_s = sum(one.duration_s for one in self.scenarios.values())

        def tell(reached_s: float, _total_s: float) -> None:
            if self.options.progress is not None:
                before_s = (self.place * self.seeds + first) * each_s
                self.options.progress(before_s + reached_s, self.engines * self.seeds * each_s)

        numbers = range(first, last)
        return run_many(
            {(label, i): _seeded(one, i) for label, one in self.scenarios.items() for i in numbers},
            workers=self.options.workers,
            progress=tell,
            stop=self.options.stop,
            engine=self.engine,
            kernel=self.kernel,
            memory_bytes=self.options.memory_bytes,
        )


def _seeded(scenario: Scenario, number: int) -> Scenario:
    """The scenario with another seed; series of the first one are enough to plot."""
    return scenario.replace(seed=scenario.seed + number, series_interval="off") if number else scenario


def _differ(runs: Runs) -> bool:
    """Whether the seed changes any metric by more than rounding, which sampling of series affects."""
    for (label, number), result in runs.items():
        first = runs[label, 0].figures() if number else {}
        found = result.figures() if number else {}
        if first.keys() != found.keys() or not all(_equal(first[name], found[name]) for name in first):
            return True
    return False


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


def _scenarios(
    scenario: Scenario, algorithms: Sequence[str | Mapping[str, Any]] | None, engines: Sequence[str]
) -> dict[str, Scenario]:
    """Scenarios that each engine runs, by the names that results have."""
    if algorithms is None:
        if len(engines) < 2:
            raise InputError("nothing to compare; name --algorithms, or at least two engines")
        names = dict.fromkeys(_label(_shortened(group["algorithm"])) for group in scenario.to_dict().get("flows", ()))
        return {" + ".join(names) or "no flows": scenario}
    labels = [_label(algorithm) for algorithm in algorithms]
    if not labels:
        raise InputError("no algorithms to compare; name at least one")
    if len(set(labels)) < len(labels):
        raise InputError(f"an algorithm is named twice: {listed(labels)}")
    if not scenario.to_dict().get("flows"):
        raise ScenarioError("flows", "there are none whose algorithm could be compared", scenario.file)
    return {
        label: scenario.replace(**{"flows.algorithm": algorithm})
        for label, algorithm in zip(labels, algorithms, strict=True)
    }


def _shortened(algorithm: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Algorithm of a scenario without parameters at their defaults: a resolved scenario spells all of them out."""
    return algorithm if isinstance(algorithm, str) else without_defaults(algorithm)


def _label(algorithm: str | Mapping[str, Any]) -> str:
    return algorithm if isinstance(algorithm, str) else with_params(algorithm)
