"""Runs items and keeps what came of them, so that an interrupted reproduction goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe._util.files import staged
from fullpipe._util.fingerprint import build_fingerprint, hash_of
from fullpipe._util.folder import check_below
from fullpipe._util.inputs import read_json
from fullpipe.errors import InputError
from fullpipe.reproduce.check import Check, judge
from fullpipe.reproduce.item import Item, Results, elsewhere, expected, notes
from fullpipe.reproduce.prose import filled
from fullpipe.reproduce.provenance import build, machine, now
from fullpipe.reproduce.rows import Rows
from fullpipe.runs.design import Case, Run
from fullpipe.runs.engines import check_engines, run_groups
from fullpipe.runs.result import TABLES, Result
from fullpipe.runs.runner import Keys
from fullpipe.runs.store import Store, kept_runs

if TYPE_CHECKING:
    import os

    from fullpipe.scenario import Scenario

__all__ = ["MEASURED", "Outcome", "reproduce", "reproduce_all"]

RECORD = "item.json"
"""The file that says what an item's directory holds."""
MEASURED = "measured.csv"
"""The file that has an item's figures."""


@dataclass(frozen=True)
class Outcome:
    """An item that was reproduced.

    Attributes:
        item: The item.
        scenarios: What was run, by name.
        results: The results by the same names; empty if ``kept``.
        rows: The measured figures.
        checks: The figures beside what is expected of them.
        shortened: In what the quick variant differs from the full one; empty for a full one.
        quick: Whether the quick variant was asked for.
        wall_s: On the clock on the wall, from its first run's beginning to its last one's end, and for its figures;
            other items' runs may have shared the cores.
        kept: Whether an earlier reproduction's figures were taken.
        engine: What ran the scenarios.
        kernel: As for `run`.
        version: Of the program.
        build: Which commit of it, or which build (`build`).
        machine: What its runs were made on.
        made: When, UTC.
    """

    item: Item
    scenarios: Mapping[str, Scenario]
    results: Results
    rows: Rows
    checks: tuple[Check, ...]
    shortened: str
    quick: bool
    wall_s: float
    kept: bool = False
    engine: str = "simulator"
    kernel: str | None = None
    version: str = _core.VERSION
    build: str = ""
    machine: str = ""
    made: str = ""

    @property
    def figures(self) -> dict[str, float]:
        """The measured figures by name."""
        return self.rows.figures

    @property
    def passed(self) -> bool:
        """Whether all checks did."""
        return all(check.passed for check in self.checks)

    @property
    def full(self) -> bool:
        """Whether these are the paper's own runs in the simulator, not shortened ones, nor another engine's."""
        return not self.shortened and self.engine == "simulator"

    @property
    def reading(self) -> str:
        """What came of it, in words: those of the data file are said of full runs, and of others nothing is."""
        return filled(notes(self.item.id)["reading"], self.figures) if self.full else ""

    @property
    def variant(self) -> str:
        """``linux``, ``quick``, or nothing for the item's own."""
        return "linux" if self.engine == "linux" else "quick" if self.quick else ""

    @property
    def command(self) -> str:
        """What makes it, as typed."""
        options = {"linux": " --engine linux", "quick": " --quick", "": ""}
        kernel = "" if self.kernel is None else f" --kernel {self.kernel}"
        directory = elsewhere(self.item.id)
        paper = "" if directory is None else f" --paper {shlex.quote(str(directory))}"
        return f"fullpipe reproduce {self.item.id}{paper}{options[self.variant]}{kernel}"

    @property
    def status(self) -> str:
        """``pass``, ``documented miss`` (no check fails, but some miss for a cause that is named), or ``fail``."""
        statuses = {check.status for check in self.checks}
        return next(status for status in ("fail", "documented miss", "pass") if status in statuses)

    def to_dict(self) -> dict[str, Any]:
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
            "seeds": sorted({scenario.seed for scenario in self.scenarios.values()}),
            "engine": self.engine,
            "fingerprint": fingerprint(self.item, self.scenarios, self.quick, self.engine, self.kernel),
            "figures": {name: value if abs(value) < float("inf") else None for name, value in self.figures.items()},
            "intervals": self.rows.intervals,
            "rows": self.rows.to_list(),
            "checks": [check.to_dict() for check in self.checks],
        }

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``item.json``, the figures as tidy rows (``measured.csv``), the pictures as PNG, SVG and values
        (JSON), and a directory of results per scenario; of a kept one only the first two, the rest being there.

        Raises:
            InputError: The directory can't be made or written.
        """
        from fullpipe.charts.drawn import drawn
        from fullpipe.charts.style import write

        with staged(directory, adds=self.kept) as stage:
            if not self.kept:
                for name, draw in self.item.pictures.items():
                    figure = draw(self.results)
                    for suffix in (".png", ".svg"):
                        write(figure, stage / f"{name}{suffix}")
                    values = json.dumps(drawn(figure), allow_nan=False, separators=(",", ":"))
                    (stage / f"{name}.json").write_text(values, encoding="utf-8")
                for name, result in self.results.items():
                    result.save(stage / name)
            (stage / MEASURED).write_text(self.rows.to_csv(), encoding="utf-8")
            (stage / RECORD).write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")


def reproduce(
    item: Item,
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[float, float], object] | None = None,
) -> Outcome:
    """Runs an item's scenarios and judges its figures.

    Args:
        item: What to reproduce.
        quick: Run the shortened variant.
        workers: Runs at a time; None for the number of cores.
        progress: As for `run_many`.
    """
    (outcome,) = reproduce_all([item], quick=quick, workers=workers, progress=progress)
    return outcome


def reproduce_all(
    items: Sequence[Item],
    *,
    quick: bool = False,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    engine: str = "simulator",
    kernel: str | None = None,
) -> Iterator[Outcome]:
    """Reproduces items one after the other, all cores busy, and yields each as soon as it is done.

    Args:
        items: What to reproduce.
        quick: Run the shortened variants.
        out: Save each item into ``out/<id>``. A saved item is cached if program, item, and scenarios did not change:
            its runs are kept, and its checks are repeated. Finished runs of an item interrupted on Linux are kept.
        workers: Runs at a time; None for the number of cores.
        progress: As for `run_many`, with the sums over all items that are run.
        engine: What runs the scenarios; ``"linux"`` runs the items' variants for it.
        kernel: As for `run`.

    Raises:
        InputError: ``out`` can't be made or written, an item has no variant for the engine, or there is no such kernel.
        Exception: The first failure of a run; the others are stopped.
    """
    check_engines([engine], kernel)
    variants = {item.id: item.variant(quick, engine) for item in items}
    quick = quick or engine == "linux"  # what is expected of a shortened variant is expected of this one
    for item in items:
        expected(item.id, quick=quick)  # refuses bad data now, not after the runs
    if out is not None:
        for item in items:
            check_below(out, item.id)
    kept = {item.id: _kept(item, *variants[item.id], quick, out, engine, kernel) for item in items}
    fresh = {item.id: variants[item.id][0] for item in items if kept[item.id] is None}
    with kept_runs(out) as store:
        recall = Recall(store, _program(engine, kernel)) if engine == "linux" and out is not None else None
        runs = run_groups(fresh, workers=workers, progress=progress, engine=engine, kernel=kernel, recall=recall)
        for item in items:
            outcome = kept[item.id] or _measured(item, *variants[item.id], quick, next(runs)[1:], engine, kernel)
            if out is not None:
                outcome.save(Path(out, item.id))
            yield outcome


class Recall:
    """Results of single runs of a kernel, kept until all items are done, since a virtual machine works for minutes on
    one. The simulator takes no longer than reading them would.

    Args:
        store: Store of the directory that items are saved into.
        program: Identity of the kernel and of the build.
    """

    def __init__(self, store: Store, program: str) -> None:
        self._store = store
        self._keys = Keys(program)

    def __call__(self, _item: str, scenario: Scenario, run: Callable[[], Result]) -> Result:
        """The result in the store; where there is none, that of ``run``, which is stored."""
        key = self._keys.of(Run(0, Case(scenario, measure="tables")))
        row = None if key is None else self._store.find(key)
        if row is not None:
            return Result(scenario, row["columns"], engine="linux", wall_s=row["wall_s"])
        result = run()
        if key is not None:
            columns = {name: result.columns(name) for name in TABLES}
            self._store.add(key, {"columns": {**columns, "totals": result.totals}, "wall_s": result.totals["wall_s"]})
            self._store.flush()
        return result


def fingerprint(
    item: Item, scenarios: Mapping[str, Scenario], quick: bool, engine: str = "simulator", kernel: str | None = None
) -> str:
    """Tells whether an item's figures and pictures would come out the same again: a hash of the build, the scenarios,
    whether those are the shortened ones, and what runs them.
    """
    digest = hashlib.sha256(_program(engine, kernel).encode())
    for name, scenario in scenarios.items():
        digest.update(f"\0{name}\0{scenario.to_toml()}".encode())
    directory = elsewhere(item.id)
    if directory is not None:
        digest.update(hash_of(directory).encode())
    digest.update(f"\0{item.id}\0{quick}\0{engine}".encode())
    return digest.hexdigest()


def _program(engine: str, kernel: str | None) -> str:
    if engine != "linux":
        return build_fingerprint()
    from fullpipe import linux

    return linux.fingerprint(kernel)


def _measured(
    item: Item,
    scenarios: Mapping[str, Scenario],
    shortened: str,
    quick: bool,
    run: tuple[Results, float],
    engine: str,
    kernel: str | None,
) -> Outcome:
    results, wall_s = run
    begun = time.perf_counter()
    rows = item.measure(results)
    if not isinstance(rows, Rows):  # whose paper is not in this package
        raise InputError(f"{item.id}: measure must return fullpipe.reproduce.Rows, not {type(rows).__name__}")
    checks = judge(rows.figures, expected(item.id, quick=quick))
    wall_s += time.perf_counter() - begun
    return Outcome(
        item,
        scenarios,
        results,
        rows,
        checks,
        shortened,
        quick,
        wall_s,
        engine=engine,
        kernel=kernel,
        build=build(),
        machine=machine(),
        made=now(),
    )


def _kept(
    item: Item,
    scenarios: Mapping[str, Scenario],
    shortened: str,
    quick: bool,
    out: str | os.PathLike[str] | None,
    engine: str,
    kernel: str | None,
) -> Outcome | None:
    if out is None:
        return None
    try:
        record = read_json(Path(out, item.id, RECORD))
        if record["fingerprint"] != fingerprint(item, scenarios, quick, engine, kernel):
            return None
        rows = Rows.from_list(record["rows"])
        wall_s = float(record["wall_s"])
        origin = {name: str(record[name]) for name in ("version", "build", "machine", "made")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    checks = judge(rows.figures, expected(item.id, quick=quick))
    return Outcome(
        item,
        scenarios,
        {},
        rows,
        checks,
        shortened,
        quick,
        wall_s,
        kept=True,
        engine=engine,
        kernel=kernel,
        **origin,
    )
