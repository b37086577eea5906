"""One scenario with several algorithms, each with several seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe._util.files import check_free
from fullpipe._util.text import listed, with_params
from fullpipe.custom.arguments import as_algorithm
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.errors import InputError, ScenarioError, check_several
from fullpipe.experiments.comparison import Comparison, Failure
from fullpipe.experiments.failures import all_done, raise_if_all_failed
from fullpipe.registry import without_defaults
from fullpipe.runs.design import Case, Done, Run, check_seeds, error_line
from fullpipe.runs.engines import check_engines
from fullpipe.runs.measure import name_of, whole
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.result import Result
from fullpipe.runs.runner import Runner
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    import os
    import threading

__all__ = ["Comparison", "compare"]

SEEDS = 5
"""Runs of each algorithm where anything is random and the caller gives no number."""

Runs = dict[tuple[str, int], Done]
"""Runs by label and number of the seed, from 0."""


@shows_progress("runs")
def compare(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, object],
    algorithms: Sequence[str | Mapping[str, object] | type] | None = None,
    *,
    seeds: int | None = None,
    engine: str | Sequence[str] = "simulator",
    kernel: str | None = None,
    workers: int | None = None,
    dask: object = None,
    memory: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Comparison:
    """Runs a scenario with each algorithm, engine, and seed. All flows use the algorithm, and its loss recovery too,
    unless the scenario names one. Engines run one after the other. With several engines, a result is called
    "algorithm on engine". A run that fails does not stop the others.

    Args:
        scenario: The scenario; also a TOML file's path, or a dictionary with its keys.
        algorithms: Names, tables such as ``{"name": "vegas", "alpha": 2}``, declared classes, or files as for
            `evaluate`; None for the algorithms of the scenario.
        seeds: Runs of each algorithm, 1 to 1000, from the scenario's seed on; all algorithms use equal seeds. By
            default 5, or 1 if two seeds give equal metrics, and 1 if an engine is "linux". Only the runs with the first
            seed have series.
        engine: Engine of the runs; or several.
        kernel: As for `run`.
        workers: Concurrent runs; None for one per core.
        dask: Address of a Dask scheduler, or a client, for the runs of the simulator; None for this machine.
        memory: As for `run_many`; on a cluster, the limit of each worker.
        out: Directory that the comparison is saved into (`Comparison.save`).
        progress: Function that is called with the number of finished runs and the number of all runs.
        stop: As for `run_many`.

    Raises:
        ScenarioError: An algorithm or parameter is unknown, or the scenario has no flows.
        InputError: No algorithm is given, or one is given twice; an engine or a kernel is unknown; the number of seeds
            is not allowed; no Dask scheduler answers.
        Cancelled: ``stop`` was set.
        Exception: All runs of an engine failed; this is the first failure.
    """
    check_several("algorithms", algorithms)
    engines = [engine] if isinstance(engine, str) else list(engine)
    if len(set(engines)) < len(engines):
        raise InputError(f"engines must be named once each, got {listed(engines)}")
    check_engines(engines, kernel)
    if seeds is not None:
        check_seeds(seeds, 1)
    named = None if algorithms is None else [as_algorithm(one) for one in algorithms]
    scenario = Scenario.of(scenario)
    scenarios = _scenarios(scenario, named, engines)
    if out is not None:
        check_free(out)
    most = seeds or (1 if "linux" in engines else SEEDS)
    results: dict[str, list[Result | Failure]] = {}
    exact = seeds is None and most > 1
    for i, name in enumerate(engines):
        options = RunOptions(workers, memory, stop, _shifted(progress, i, len(engines), most * len(scenarios)), dask)
        kernel_of = kernel if name == "linux" else None
        runner = Runner(options, engine=name, kernel=kernel_of, tolerates=(BaseException,))
        made = _run(runner, scenarios, 0, min(most, 2) if seeds is None else most)
        if exact and (most <= 2 or _differ(made)):
            made |= _run(runner, scenarios, 2, most)
            exact = False
        elif exact:
            made = {key: done for key, done in made.items() if key[1] == 0}
        raise_if_all_failed(list(made.values()))
        for label in scenarios:
            called = label if len(engines) == 1 else f"{label} on {name}"
            results[called] = [_outcome(done, name) for (of, _), done in made.items() if of == label]
    outcome = Comparison(results, exact=exact)
    if out is not None:
        outcome.save(out)
    return outcome


def _run(runner: Runner, scenarios: Mapping[str, Scenario], first: int, last: int) -> Runs:
    """Runs with a range of seeds; only those with the first seed have series."""
    places = [(label, number) for number in range(first, last) for label in scenarios]
    runs = []
    for i, (label, number) in enumerate(places):
        case = Case(scenarios[label], changes={"series_interval": "off"} if number else {}, measure=MEASURE)
        runs.append(Run(i, case, case.scenario.seed + number))
    found = dict(zip(places, all_done(runner, runs), strict=True))
    return {(label, number): found[label, number] for label in scenarios for number in range(first, last)}


def _outcome(done: Done, engine: str) -> Result | Failure:
    if done.row is not None:
        result: Result = done.row["result"]
        return result
    assert done.error is not None
    return Failure(engine, done.run.scenario().seed, error_line(done.error))


def _shifted(progress: Progress | None, place: int, engines: int, runs: int) -> Progress | None:
    """Progress over all engines, from the progress of one."""
    if progress is None:
        return None
    return lambda done, _total: progress(place * runs + done, engines * runs)


MEASURE = name_of(whole)


def _differ(runs: Runs) -> bool:
    """Whether the seed changes a metric by more than rounding errors, which depend on the sampling of series."""
    metrics = {place: done.row["result"].figures() for place, done in runs.items() if done.row is not None}
    for (label, number), found in metrics.items():
        first = metrics.get((label, 0), found) if number else found
        if first.keys() != found.keys() or not all(_equal(first[name], found[name]) for name in first):
            return True
    return False


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


def _scenarios(
    scenario: Scenario, algorithms: Sequence[str | Mapping[str, object]] | None, engines: Sequence[str]
) -> dict[str, Scenario]:
    """Scenarios by the labels of their results."""
    if algorithms is None:
        if len(engines) < 2:
            raise InputError("compare requires --algorithms or at least two engines")
        names = dict.fromkeys(_label(_shortened(group["algorithm"])) for group in scenario.to_dict().get("flows", ()))
        return {" + ".join(names) or "no flows": scenario}
    labels = [_label(algorithm) for algorithm in algorithms]
    if not labels:
        raise InputError("compare requires at least one algorithm")
    if len(set(labels)) < len(labels):
        raise InputError(f"algorithms must be named once each, got {listed(labels)}")
    if not scenario.to_dict().get("flows"):
        raise ScenarioError("flows", "compare requires at least one flow", scenario.file)
    return {
        label: scenario.replace(**{"flows.algorithm": algorithm})
        for label, algorithm in zip(labels, algorithms, strict=True)
    }


def _shortened(algorithm: str | Mapping[str, object]) -> str | Mapping[str, object]:
    """Algorithm without parameters that have their defaults, because a resolved scenario lists all parameters."""
    return algorithm if isinstance(algorithm, str) else without_defaults(algorithm)


def _label(algorithm: str | Mapping[str, object]) -> str:
    return algorithm if isinstance(algorithm, str) else with_params(algorithm)
