"""Runs of `advise`: the traffic of a scenario with each queue and seed."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence

from fullpipe._util.files import check_free
from fullpipe._util.plain import Tree
from fullpipe._util.text import listed, unknown
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.errors import InputError, check_several
from fullpipe.experiments.advise.advice import PRESENT, Advice
from fullpipe.experiments.advise.services import MEASURED, services_of
from fullpipe.experiments.sizing.synchrony import CORRELATION, MOST_SAMPLED
from fullpipe.registry import queues as known_queues
from fullpipe.runs.design import Case, Design, check_seeds
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.results import table_of
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import kept_runs
from fullpipe.scenario import Scenario

__all__ = ["advise"]

DROP_TAIL_BDP = (0.25, 0.5, 1, 2)
"""Sizes of drop-tail buffers, in bandwidth-delay products."""

DEEP = "4 BDP"
"""Limit of active queues: they control the delay, so that the limit is for bursts only."""

ACTIVE: Mapping[str, Mapping[str, object]] = {
    "codel": {"name": "codel", "variant": "linux"},
    "fq-codel": {"name": "fq-codel", "variant": "linux", "floor": "all"},
    "pie": {"name": "pie", "variant": "linux"},
    "fq-pie": {"name": "fq-pie", "variant": "linux"},
    "dualpi2": {"name": "dualpi2"},
    "cake": {"name": "cake"},
}
"""Active queues by name, as the kernel has them where that is a choice."""


@shows_progress("runs")
def advise(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, object],
    *,
    queues: Sequence[str] | None = None,
    link: str | None = None,
    seeds: int = 5,
    workers: int | None = None,
    dask: object = None,
    memory: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Advice:
    """Compares queues for the traffic of a scenario, and recommends one.

    The queues are the scenario's own; drop-tail with 1/4, 1/2, 1, and 2 bandwidth-delay products; and CoDel, FQ-CoDel,
    PIE, FQ-PIE, DualPI2, and CAKE, if this version has them, with a limit of 4 bandwidth-delay products. Each service
    has its own metric (`services.services_of`). The recommended queue has the smallest shortfall: the service that
    suffers most is nearest to its best value over all queues.

    Args:
        scenario: The scenario; also a TOML file's path, or a dictionary with its keys.
        queues: Names of the queues to compare; None for all.
        link: Name of the link whose queue is chosen; None for "bottleneck", or else the first link.
        seeds: Runs of each queue, 2 to 1000, from the scenario's seed on; all queues use equal seeds.
        workers: Concurrent runs; None for one per core.
        dask: Address of a Dask scheduler, or a client; None for this machine.
        memory: As for `run_many`.
        out: Directory that the advice is saved into (`Advice.save`). Finished runs are kept there, so that an
            interrupted comparison can be continued.
        progress: Function that is called with the number of finished runs and the number of all runs.
        stop: As for `run_many`.

    Raises:
        ScenarioError: A key of the scenario is not allowed.
        InputError: A queue or the link is unknown, a number is not allowed, or the scenario has no traffic.
        Cancelled: ``stop`` was set.
    """
    check_several("queues", queues)
    check_seeds(seeds)
    scenario = Scenario.of(scenario)
    name = _link(scenario, link)
    candidates = _candidates(scenario, name, _chosen(queues))
    services = services_of(scenario)
    if out is not None:
        check_free(out)
    cases = [
        Case(made, {"queue": label}, {"series_interval": "off"}, measure=MEASURED) for label, made in candidates.items()
    ]
    first = scenario.seed
    design = Design(cases, range(first, first + seeds))
    with kept_runs(out) as store:
        runner = Runner(RunOptions(workers, memory, stop, progress, dask), None if out is None else store)
        rows = runner.all_rows(design)
        runs = [
            {"run": run.number, **run.case.labels, "seed": run.seed, **row}
            for run, row in zip(design, rows, strict=True)
        ]
        links = {label: _link_of(made, name) for label, made in candidates.items()}
        outcome = Advice(scenario.resolved(), name, links, services, table_of(runs))
        outcome.correlation = _correlation(
            candidates[outcome.best], first, RunOptions(workers, memory, stop, None, dask)
        )
        if out is not None:
            outcome.save(out)
    return outcome


def _correlation(scenario: Scenario, seed: int, options: RunOptions) -> float | None:
    """Correlation of the windows with the recommended queue; None if a single run does not show it."""
    flows = sum(int(flow.get("count", 1)) for flow in scenario.to_dict().get("flows", ()))
    if not 2 <= flows <= MOST_SAMPLED:
        return None
    (row,) = Runner(options, None).all_rows(
        Design([Case(scenario, {}, {}, measure=CORRELATION)], range(seed, seed + 1))
    )
    value: float | None = row["window_correlation"]
    return value


def _link(scenario: Scenario, asked: str | None) -> str:
    names = [str(link["name"]) for link in scenario.to_dict()["links"]]
    if asked is not None and asked not in names:
        raise InputError(unknown("link", asked, names))
    return asked or ("bottleneck" if "bottleneck" in names else names[0])


def _link_of(scenario: Scenario, name: str) -> Tree:
    """Name, rate, buffer, and queue of a link as the resolved scenario writes them."""
    tree = scenario.resolved().to_dict()
    link = next(link for link in tree["links"] if link["name"] == name)
    return {key: link[key] for key in ("name", "rate", "buffer", "queue") if key in link}


def _chosen(asked: Sequence[str] | None) -> list[str]:
    allowed = ["drop-tail", *(name for name in ACTIVE if name in known_queues())]
    for name in asked or ():
        if name not in allowed:
            raise InputError(unknown("queue", name, allowed))
    if asked is not None and len(set(asked)) < len(asked):
        raise InputError(f"queues must be named once each, got {listed(asked)}")
    if asked is not None and not asked:
        raise InputError("queues requires at least one value")
    return allowed if asked is None else list(asked)


def _candidates(scenario: Scenario, link: str, names: Sequence[str]) -> dict[str, Scenario]:
    """Scenarios by the labels of their queues; the first is the scenario itself."""
    own = _link_of(scenario, link)
    queue = own["queue"]
    found = {f"{PRESENT}: {queue['name'] if isinstance(queue, Mapping) else queue}, {own['buffer']}": scenario}

    def add(label: str, queue: object, buffer: str) -> None:
        made = scenario.replace(**{f"links.{link}.queue": queue, f"links.{link}.buffer": buffer})
        if _link_of(made, link) != own:
            found[label] = made

    for name in names:
        if name == "drop-tail":
            for bdp in DROP_TAIL_BDP:
                add(f"drop-tail {bdp:g} BDP", name, f"{bdp:g} BDP")
        else:
            add(name, dict(ACTIVE[name]), DEEP)
    return found
