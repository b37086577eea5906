"""Directory of a sweep, which keeps rows as they come, so that an interrupted sweep can be continued.

``sweep.json`` identifies the sweep. Rows are in a store (`fullpipe.runs.store`) until ``runs.parquet``,
``summary.parquet``, ``flows.parquet``, ``links.parquet``, and their manifest replace it.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.files import (
    KEPT_RUNS,
    MANIFEST,
    SWEEP,
    check_directory,
    check_whole,
    clear_stages,
    readable,
    staged_file,
    uninterrupted,
    write_manifest,
)
from fullpipe._util.inputs import read_json, read_table
from fullpipe.errors import InputError
from fullpipe.experiments.sweep.axes import Axis
from fullpipe.experiments.sweep.plan import Plan
from fullpipe.experiments.sweep.table import DETAILS, Collector, Tables, logger
from fullpipe.runs.design import Label
from fullpipe.runs.measure import Row
from fullpipe.runs.runner import Keys, Runner
from fullpipe.runs.store import Store, kept_runs
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SweepDirectory", "load", "opened"]

RUNS = "runs.parquet"
"""Table of a finished sweep."""

MOST_PLAN_BYTES = 32_000_000
"""Largest size of ``sweep.json``: a scenario's 16 MB, as JSON."""


class SweepDirectory:
    """Directory of a sweep, opened for writing.

    Attributes:
        path: The directory.
        store: Rows of the runs that succeeded.
    """

    def __init__(self, path: Path, plan: Plan, store: Store) -> None:
        self.path = path
        self.store = store
        self._plan = plan
        self._mine = path / SWEEP

    def claim(self) -> bool:
        """Compares the directory's sweep with the plan, or writes ``sweep.json``. The result is True for a new
        directory.

        Raises:
            InputError: The directory has another sweep.
            OSError: The disk is full or failing.
        """
        clear_stages(self.path)
        if self._mine.exists() or self._mine.is_symlink():
            self._compare()
            return False
        text = json.dumps(self._plan.to_dict(), indent=2) + "\n"
        with staged_file(self._mine) as stage:
            stage.write_text(text, encoding="utf-8")
        return True

    def forget(self) -> None:
        """Removes ``sweep.json`` of a sweep that was refused before its first row."""
        self._mine.unlink(missing_ok=True)

    def recall(self, runner: Runner) -> None:
        """Puts the rows of a finished sweep into the store; failed runs are tried again. Tables that do not verify are
        reported and not used.
        """
        import pyarrow.compute as pc

        if not (self.path / RUNS).exists():
            return
        try:
            check_whole(self.path)
            if not (self.path / MANIFEST).exists():
                raise InputError(f"{self.path}: {MANIFEST} is missing")
            table = read_table(self.path / RUNS)
            table = table.filter(pc.is_null(table["error"]))
            details = _details(self.path, self._plan)
        except (InputError, OSError, ValueError, LookupError) as error:
            logger.warning("fullpipe: %s; all runs are made again", " ".join(str(error).split()))
            return
        labels = {*self._plan.label_columns, "error"}
        runs = self._plan.design
        rows_of = {name: _by_run(part) for name, part in details.items()}
        for batch in table.to_batches():
            for row in batch.to_pylist():
                metrics = {name: value for name, value in row.items() if name not in labels}
                parts = {name: found.get(row["run"], {}) for name, found in rows_of.items()}
                runner.keep(runs[row["run"]], {"runs": metrics, **parts} if rows_of else metrics)

    def finish(self, tables: Mapping[str, pa.Table]) -> None:
        """Writes the final tables by name, and then their manifest.

        Raises:
            OSError: The disk is full or failing.
        """
        import pyarrow.parquet as pq

        try:
            with uninterrupted():
                for name, content in tables.items():
                    with staged_file(self.path / f"{name}.parquet") as stage:
                        pq.write_table(content, stage)
                write_manifest(self.path, [f"{name}.parquet" for name in tables])
        except OSError as error:
            raise _failed(self.path, error) from None

    def _compare(self) -> None:
        """Refuses another sweep's directory."""
        mine: Row = self._plan.to_dict()
        try:
            if self._mine.is_symlink():
                raise ValueError(SWEEP)
            theirs = read_json(self._mine, MOST_PLAN_BYTES)
            version = theirs["fullpipe"]
            order = [axis["key"] for axis in theirs["axes"]]
            reordered = sorted(map(json.dumps, theirs["axes"])) == sorted(map(json.dumps, mine["axes"]))
            differing = [key for key in mine if json.dumps(theirs.get(key)) != json.dumps(mine[key])]
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise _refusal(self.path, "its sweep.json is not from fullpipe") from None
        if "build" in differing:
            raise _refusal(self.path, f"holds a sweep of another build of fullpipe (version {version})")
        if differing == ["axes"] and reordered:
            raise _refusal(
                self.path, f"holds a sweep of these axes in another order ({', '.join(order)}); keep to that"
            )
        if differing:
            raise _refusal(self.path, f"holds another sweep (other {', '.join(differing)})")


@contextmanager
def opened(directory: str | os.PathLike[str], plan: Plan) -> Iterator[SweepDirectory]:
    """Directory of a sweep, for one writer at a time.

    Raises:
        InputError: The directory is not writable, has another sweep, or is in use by another command.
        OSError: The disk is full or failing.
    """
    check_directory(directory)
    path = Path(directory)
    if (path / MANIFEST).exists() and not (path / SWEEP).exists():
        raise _refusal(path, "has the result of another command")
    try:
        with kept_runs(directory) as store:
            place = SweepDirectory(path, plan, store)
            new = place.claim()
            try:
                yield place
            except InputError:
                if new and not store.has_rows():
                    place.forget()
                raise
    except OSError as error:
        raise _failed(path, error) from None


def load(directory: str | os.PathLike[str]) -> tuple[Plan, Tables]:
    """Sweep that was run into a directory, and its rows so far.

    Raises:
        InputError: The directory has no sweep, or a file is not readable.
    """
    with readable(directory) as place:
        kept: Row = read_json(place / SWEEP, MOST_PLAN_BYTES)
        scenario, axes = Scenario.from_dict(kept["scenario"]), tuple(map(Axis.of, kept["axes"]))
        plan = Plan(scenario, axes, kept["repeats"], algorithm_source=kept.get("algorithm_source"))
        rows = Collector(plan)
        known: set[int] = set()
        if (place / RUNS).exists():
            runs = read_table(place / RUNS)
            known.update(_numbers(runs.filter(runs["error"].is_null())))
            rows.add_tables(runs, _details(place, plan))
        if (place / KEPT_RUNS / "runs.sqlite").exists():
            build = f"{kept['build']} {kept['engine']}" if "engine" in kept else kept["build"]
            keys = Keys(build, kept.get("algorithms", ""))
            with Store(place / KEPT_RUNS / "runs.sqlite", optional=True) as store:
                for run in plan.design:
                    key = keys.of(run)
                    row = None if key is None or run.number in known else store.find(key)
                    if row is not None:
                        rows.add(run.number, row)
        return plan, rows.tables()


def _details(place: Path, plan: Plan) -> dict[str, pa.Table]:
    """Rows of flows and links of a finished sweep, without the labels."""
    if not plan.keeps_flows:
        return {}
    found = {name: read_table(place / f"{name}.parquet") for name in DETAILS}
    labels = {*plan.point_columns, "seed"}
    return {
        name: table.select([column for column in table.column_names if column not in labels])
        for name, table in found.items()
    }


def _numbers(table: pa.Table) -> list[int]:
    return [int(run or 0) for run in table["run"].to_pylist()]


def _by_run(table: pa.Table) -> dict[int, dict[str, list[Label]]]:
    """Rows of each run, column by column."""
    places: dict[int, list[int]] = {}
    for row, run in enumerate(_numbers(table)):
        places.setdefault(run, []).append(row)
    columns = {name: table[name].to_pylist() for name in table.column_names if name != "run"}
    return {
        run: {name: [cells[row] for row in rows] for name, cells in columns.items()} for run, rows in places.items()
    }


def _refusal(path: Path, why: str) -> InputError:
    return InputError(f"{path}: {why}; choose another directory")


def _failed(path: Path, error: OSError) -> OSError:
    if error.filename == str(path) or error.errno == errno.EEXIST:
        return error
    why = (error.strerror or str(error)).partition(";")[0]
    return OSError(error.errno, f"{why}; finished runs are kept; run the command again to continue", str(path))
