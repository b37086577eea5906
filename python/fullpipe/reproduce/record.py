"""Runs of papers' results. A saved result is cached, so that an interrupted reproduction can be continued."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe._util.files import staged
from fullpipe._util.fingerprint import build_fingerprint, hash_of
from fullpipe._util.folder import check_below
from fullpipe._util.inputs import read_json
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.errors import InputError
from fullpipe.reproduce.check import Check, judge
from fullpipe.reproduce.item import Item, Results, elsewhere, expected, notes
from fullpipe.reproduce.prose import filled
from fullpipe.reproduce.provenance import build, machine, now
from fullpipe.reproduce.rows import Rows
from fullpipe.runs.design import Case, Run, check_seeds
from fullpipe.runs.engines import ENGINES, check_engines
from fullpipe.runs.measure import Row, name_of, whole
from fullpipe.runs.result import TABLES, Result
from fullpipe.runs.runner import Keys, Runner
from fullpipe.runs.store import kept_runs

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

    from fullpipe.plots.draw import Style
    from fullpipe.scenario import Scenario

__all__ = ["MEASURED", "Outcome", "Variant", "reproduce", "reproduce_all"]

RECORD = "item.json"
"""File that identifies a saved result."""

MEASURED = "measured.csv"
"""File with the measured values."""


@dataclass(frozen=True)
class Variant:
    """Runs of an item: its own ones, the quick ones, or those for Linux.

    Attributes:
        item: The item.
        scenarios: Scenarios by name.
        shortened: Differences from the full variant; empty for the full variant.
        quick: Whether the checks are those of the quick variant.
        engine: Engine of the runs.
        kernel: As for `run`.
        seeds: Times that the item is measured, each with other seeds; values are then means.
    """

    item: Item
    scenarios: Mapping[str, Scenario]
    shortened: str
    quick: bool
    engine: str = ENGINES[0]
    kernel: str | None = None
    seeds: int = 1

    @classmethod
    def of(cls, item: Item, quick: bool, engine: str, kernel: str | None, seeds: int = 1) -> Variant:
        """Variant of an item for an engine."""
        scenarios, shortened = item.variant(quick, engine)
        return cls(item, scenarios, shortened, quick or engine == "linux", engine, kernel, seeds)

    @property
    def repeats(self) -> list[Mapping[str, Scenario]]:
        """Scenarios of each repetition. No two repetitions have a seed in common."""
        own = [scenario.seed for scenario in self.scenarios.values()]
        step = 1 + max(own, default=0) - min(own, default=0)
        more = [
            {name: scenario.replace(seed=scenario.seed + i * step) for name, scenario in self.scenarios.items()}
            for i in range(1, self.seeds)
        ]
        return [self.scenarios, *more]

    @property
    def full(self) -> bool:
        """Whether these are the full runs in the simulator."""
        return not self.shortened and self.engine == ENGINES[0]

    @property
    def variant(self) -> str:
        """``linux``, ``quick``, or nothing for the full variant."""
        return "linux" if self.engine == "linux" else "quick" if self.quick else ""

    @property
    def command(self) -> str:
        """Command that makes the result."""
        options = {"linux": " --engine linux", "quick": " --quick", "": ""}
        kernel = "" if self.kernel is None else f" --kernel {self.kernel}"
        directory = elsewhere(self.item.id)
        paper = "" if directory is None else f" --paper {shlex.quote(str(directory))}"
        seeds = f" --seeds {self.seeds}" if self.seeds > 1 else ""
        return f"fullpipe reproduce {self.item.id}{paper}{options[self.variant]}{kernel}{seeds}"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the measured values and plots: build, kernel, scenarios, and variant."""
        digest = hashlib.sha256(_program(self.engine, self.kernel).encode())
        for name, scenario in self.scenarios.items():
            digest.update(f"\0{name}\0{scenario.to_toml()}".encode())
        directory = elsewhere(self.item.id)
        if directory is not None:
            digest.update(hash_of(directory).encode())
        digest.update(f"\0{self.item.id}\0{self.quick}\0{self.engine}\0{self.seeds}".encode())
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Outcome(Variant):
    """Reproduced item.

    Attributes:
        results: Results by the names of the scenarios; empty if ``kept``.
        rows: Measured values.
        checks: Comparisons of the measured values with the expected ones.
        wall_s: Sum of the runs' times and the time of measuring, seconds of wall time.
        kept: Whether the values come from an earlier reproduction.
        version: Version of fullpipe.
        build: Commit or build (`provenance.build`).
        machine: Machine of the runs.
        made: Time of the runs, UTC.
    """

    results: Results
    rows: Rows
    checks: tuple[Check, ...]
    wall_s: float
    kept: bool = False
    version: str = _core.VERSION
    build: str = ""
    machine: str = ""
    made: str = ""

    @property
    def values(self) -> dict[str, float]:
        """Measured values by name."""
        return self.rows.values

    @property
    def passed(self) -> bool:
        """Whether all checks pass."""
        return all(check.passed for check in self.checks)

    @property
    def reading(self) -> str:
        """Discussion of full runs from the data file; empty for other runs."""
        return filled(notes(self.item.id)["reading"], self.values) if self.full else ""

    @property
    def status(self) -> str:
        """``pass``, ``documented miss`` (no check fails, but some miss with a documented cause), or ``fail``."""
        statuses = {check.status for check in self.checks}
        return next(status for status in ("fail", "documented miss", "pass") if status in statuses)

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "id": self.item.id,
            "title": self.item.title,
            "pass": self.passed,
            "status": self.status,
            "wall_s": self.wall_s,
            "quick": self.quick,
            "shortened": self.shortened,
            "version": self.version,
            "build": self.build,
            "machine": self.machine,
            "made": self.made,
            "seeds": sorted({scenario.seed for repeat in self.repeats for scenario in repeat.values()}),
            "engine": self.engine,
            "fingerprint": self.fingerprint,
            "figures": {name: value if math.isfinite(value) else None for name, value in self.values.items()},
            "intervals": self.rows.intervals,
            "rows": self.rows.to_list(),
            "checks": [check.to_dict() for check in self.checks],
        }

    def plot(self, path: str | os.PathLike[str], *, style: Style = "screen") -> Figure:
        """Writes the item's first plot into a file (.png, .svg, .pdf).

        Args:
            path: The file.
            style: Look of the plot, as for `Result.plot`.

        Raises:
            InputError: The item has no plot, or the file is not writable.
        """
        from fullpipe.plots.draw import drawn

        if not self.item.pictures or self.kept:
            raise InputError(f"{self.item.id}: a plot requires a result with plots that was run now")
        draw = next(iter(self.item.pictures.values()))
        return drawn(draw(self.results), path, style)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``item.json``, the measured values (``measured.csv``), the plots as PNG, SVG, and values (JSON), and a
        directory of results per scenario. For a cached result, only the first two are written.

        Raises:
            InputError: The directory is not writable.
        """
        from fullpipe.plots.draw import figure, write
        from fullpipe.plots.page import page_values

        with staged(directory, adds=self.kept) as stage:
            if not self.kept:
                for name, draw in self.item.pictures.items():
                    plot = draw(self.results)
                    drawn = figure(plot)
                    for suffix in (".png", ".svg"):
                        write(drawn, stage / f"{name}{suffix}")
                    values = json.dumps(page_values(plot), allow_nan=False, separators=(",", ":"))
                    (stage / f"{name}.json").write_text(values, encoding="utf-8")
                for name, result in self.results.items():
                    result.save(stage / name)
            (stage / MEASURED).write_text(self.rows.to_csv(), encoding="utf-8")
            (stage / RECORD).write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")


def reproduce(
    item: Item, *, quick: bool = False, workers: int | None = None, progress: Progress | None = None
) -> Outcome:
    """Runs an item's scenarios and checks its measured values; arguments as for `reproduce_all`."""
    (outcome,) = reproduce_all([item], quick=quick, workers=workers, progress=progress)
    return outcome


def reproduce_all(
    items: Sequence[Item],
    *,
    quick: bool = False,
    seeds: int = 1,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: str = ENGINES[0],
    kernel: str | None = None,
    memory: int | str | None = None,
    stop: threading.Event | None = None,
    dask: object = None,
) -> Iterator[Outcome]:
    """Reproduces items on all cores, and yields each one as soon as it is complete, in order.

    Args:
        items: Items to reproduce.
        quick: Whether to run the quick variants.
        seeds: Times that each item is measured, each with other seeds. Values are then means with their 95 %
            confidence intervals; plots show the first repetition.
        out: Directory in which each item is saved as ``out/<id>``. A saved item is cached if program, item, and
            scenarios did not change; its checks are repeated. Finished runs of an interrupted item on Linux are kept.
        workers: Concurrent runs; None for one per core.
        progress: Function that is called with the number of finished runs and the number of all runs.
        engine: Engine of the runs; ``"linux"`` runs the items' variants for it.
        kernel: As for `run`.
        memory: As for `run_many`; on a cluster, the limit of each worker.
        stop: As for `run_many`.
        dask: Address of a Dask scheduler, or a client, for the runs of the simulator; None for this machine.

    Raises:
        InputError: ``out`` is not writable, an item has no variant for the engine, or the kernel is unknown.
        Exception: First failure of a run; the others are stopped.
    """
    check_engines([engine], kernel)
    check_seeds(seeds, 1)
    variants = [Variant.of(item, quick, engine, kernel, seeds) for item in items]
    for variant in variants:
        expected(variant.item.id, quick=variant.quick)  # refuses wrong data before the runs
        if out is not None:
            check_below(out, variant.item.id)
    kept = {variant.item.id: None if out is None else _kept(variant, Path(out)) for variant in variants}
    with kept_runs(out) as store:
        # A virtual machine takes minutes for a run; the simulator takes no longer than reading a stored result.
        runner = Runner(RunOptions(workers, memory, stop, progress, dask), engine=engine, kernel=kernel)
        if engine == "linux" and out is not None:
            runner.store, runner.keys = store, Keys(_program(engine, kernel))
        results = _results(runner, [variant for variant in variants if kept[variant.item.id] is None])
        with closing(results):
            for variant in variants:
                outcome = kept[variant.item.id] or _measured(variant, next(results))
                if out is not None:
                    outcome.save(Path(out, variant.item.id))
                yield outcome


def _results(runner: Runner, variants: Sequence[Variant]) -> Generator[list[dict[str, Result]]]:
    """Results of each repetition of a variant. Runs of later variants go on meanwhile."""
    linux = runner.engine == "linux"
    measure = name_of(tables if linux else whole)
    repeats = {variant.item.id: variant.repeats for variant in variants}
    places = [(item, i, name) for item, each in repeats.items() for i, named in enumerate(each) for name in named]
    runs = [Run(n, Case(repeats[item][i][name], measure=measure)) for n, (item, i, name) in enumerate(places)]
    found: dict[str, list[dict[str, Result]]] = {item: [{} for _ in each] for item, each in repeats.items()}
    with closing(runner.rows(runs)) as finished:
        for variant in variants:
            own = found[variant.item.id]
            while sum(map(len, own)) < len(variant.scenarios) * len(own):
                done = next(finished)
                assert done.row is not None
                item, i, name = places[done.run.number]
                scenario = repeats[item][i][name]
                found[item][i][name] = _of_tables(scenario, done.row) if linux else done.row["result"]
            yield [{name: results[name] for name in variant.scenarios} for results in own]


def tables(result: Result) -> Row:
    """Tables of a run on a kernel, which the store keeps."""
    columns = {name: result.columns(name) for name in TABLES}
    return {"columns": {**columns, "totals": result.totals}, "wall_s": result.totals["wall_s"]}


def _of_tables(scenario: Scenario, row: Row) -> Result:
    return Result(scenario, row["columns"], engine="linux", wall_s=row["wall_s"])


def _program(engine: str, kernel: str | None) -> str:
    """Identity of the program, or of the kernel with its testbed."""
    if engine != "linux":
        return build_fingerprint()
    from fullpipe import linux

    return linux.fingerprint(kernel)


def _measured(variant: Variant, repeats: Sequence[Results]) -> Outcome:
    begun = time.perf_counter()
    measured = []
    for results in repeats:
        rows: object = variant.item.measure(results)
        if not isinstance(rows, Rows):  # a paper outside this package
            kind = type(rows).__name__
            raise InputError(f"{variant.item.id}: measure must return fullpipe.reproduce.Rows, not {kind}")
        measured.append(rows)
    taken_s = math.fsum(result.totals["wall_s"] for results in repeats for result in results.values())
    wall_s = time.perf_counter() - begun + taken_s
    origin = {"version": _core.VERSION, "build": build(), "machine": machine(), "made": now()}
    return _judged(variant, repeats[0], Rows.mean(measured), wall_s, origin)


def _kept(variant: Variant, out: Path) -> Outcome | None:
    """The saved outcome of a variant; None if there is none, or if something changed since then."""
    try:
        record = read_json(out / variant.item.id / RECORD)
        if record["fingerprint"] != variant.fingerprint:
            return None
        rows = Rows.from_list(record["rows"])
        wall_s = float(record["wall_s"])
        origin = {name: str(record[name]) for name in ("version", "build", "machine", "made")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return _judged(variant, {}, rows, wall_s, origin, kept=True)


def _judged(
    variant: Variant, results: Results, rows: Rows, wall_s: float, origin: Mapping[str, str], *, kept: bool = False
) -> Outcome:
    return Outcome(
        item=variant.item,
        scenarios=variant.scenarios,
        shortened=variant.shortened,
        quick=variant.quick,
        engine=variant.engine,
        kernel=variant.kernel,
        seeds=variant.seeds,
        results=results,
        rows=rows,
        checks=judge(rows.values, expected(variant.item.id, quick=variant.quick)),
        wall_s=wall_s,
        kept=kept,
        **origin,
    )
