"""One scenario with several algorithms, each with several seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe._util.files import check_free
from fullpipe._util.text import listed, with_params
from fullpipe.errors import InputError, ScenarioError, check_several
from fullpipe.experiments.comparison import Comparison
from fullpipe.own import as_algorithm
from fullpipe.registry import without_defaults
from fullpipe.runs.design import Case, Run
from fullpipe.runs.engines import check_engines
from fullpipe.runs.measure import name_of, whole
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.options import Progress, RunOptions
from fullpipe.runs.result import Result
from fullpipe.runs.runner import Runner
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
    unless the scenario names one. Engines run one after the other. Where there are several, a result is called
    "algorithm on engine".

    Args:
        scenario: The scenario; also a TOML file's path, or a dictionary with its keys.
        algorithms: Names, tables such as ``{"name": "vegas", "alpha": 2}``, declared classes, or files as for
            `evaluate`; None for the scenario as it is.
        seeds: Runs of each algorithm, 1 to 1000, with the scenario's seed and those after it: all algorithms have the
            same seeds. By default 5, or 1 where two seeds give equal metrics, and 1 if an engine is "linux". Only the
            runs with the first seed have series.
        engine: Engine of the runs; or several.
        kernel: As for `run`.
        workers: Runs at a time; None for the number of cores.
        dask: Address of a Dask scheduler, or a client, whose cluster makes the simulator's runs; None for this machine.
        memory: As for `run_many`; on a cluster, the limit of each worker.
        out: Directory that the comparison is saved into (`Comparison.save`).
        progress: Called with the runs done and those to do in all.
        stop: As for `run_many`.

    Raises:
        ScenarioError: There is no such algorithm or parameter, or the scenario has no flows.
        InputError: No algorithm is given, or one is given twice; an engine or a kernel is not there; that number of
            seeds is not allowed; no Dask scheduler answers.
        Cancelled: ``stop`` was set.
    """
    check_several("algorithms", algorithms)
    engines = [engine] if isinstance(engine, str) else list(engine)
    if len(set(engines)) < len(engines):
        raise InputError(f"an engine is named twice: {listed(engines)}")
    check_engines(engines, kernel)
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"seeds = {seeds} (allowed: 1 to {MOST_SEEDS})")
    named = None if algorithms is None else [as_algorithm(one) for one in algorithms]
    scenario = Scenario.of(scenario)
    scenarios = _scenarios(scenario, named, engines)
    if out is not None:
        check_free(out)
    most = seeds or (1 if "linux" in engines else SEEDS)
    results: dict[str, list[Result]] = {}
    exact = seeds is None and most > 1
    for i, name in enumerate(engines):
        options = RunOptions(workers, memory, stop, _shifted(progress, i, len(engines), most * len(scenarios)), dask)
        runner = Runner(options, engine=name, kernel=kernel if name == "linux" else None)
        made = _run(runner, scenarios, 0, min(most, 2) if seeds is None else most)
        if exact and (most <= 2 or _differ(made)):
            made |= _run(runner, scenarios, 2, most)
            exact = False
        elif exact:
            made = {key: result for key, result in made.items() if key[1] == 0}
        for label in scenarios:
            called = label if len(engines) == 1 else f"{label} on {name}"
            results[called] = [result for (of, _), result in made.items() if of == label]
    outcome = Comparison(results, exact=exact)
    if out is not None:
        outcome.save(out)
    return outcome


def _run(runner: Runner, scenarios: Mapping[str, Scenario], first: int, last: int) -> Runs:
    """Runs with the seeds from one number up to another one; those after the first seed have no series."""
    places = [(label, number) for number in range(first, last) for label in scenarios]
    cases = [
        Case(scenarios[label], changes={"series_interval": "off"} if number else {}, measure=MEASURE)
        for label, number in places
    ]
    runs = [
        Run(i, case, case.scenario.seed + number)
        for i, (case, (_, number)) in enumerate(zip(cases, places, strict=True))
    ]
    rows = runner.all_rows(runs)
    found = {place: row["result"] for place, row in zip(places, rows, strict=True)}
    return {(label, number): found[label, number] for label in scenarios for number in range(first, last)}


def _shifted(progress: Progress | None, place: int, engines: int, runs: int) -> Progress | None:
    """Progress of one of several engines, in runs of all of them."""
    if progress is None:
        return None
    return lambda done, _total: progress(place * runs + done, engines * runs)


MEASURE = name_of(whole)


def _differ(runs: Runs) -> bool:
    """Whether the seed changes any metric by more than rounding, which sampling of series affects."""
    for (label, number), result in runs.items():
        first = runs[label, 0].figures() if number else {}
        found = result.figures() if number else {}
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


def _shortened(algorithm: str | Mapping[str, object]) -> str | Mapping[str, object]:
    """Algorithm of a scenario without parameters at their defaults: a resolved scenario spells all of them out."""
    return algorithm if isinstance(algorithm, str) else without_defaults(algorithm)


def _label(algorithm: str | Mapping[str, object]) -> str:
    return algorithm if isinstance(algorithm, str) else with_params(algorithm)
