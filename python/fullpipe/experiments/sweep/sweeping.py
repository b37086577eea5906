"""Runs a sweep, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fullpipe._util.display import Outcome, Shown
from fullpipe._util.text import unknown
from fullpipe.errors import InputError, ScenarioError
from fullpipe.experiments.sweep.axes import find_axis, find_value, read_axes
from fullpipe.experiments.sweep.plan import Plan
from fullpipe.experiments.sweep.shown import show_differences, show_summary
from fullpipe.runs.design import error_line
from fullpipe.runs.figures import find_figure, split
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.options import Progress, RunOptions
from fullpipe.runs.pool import check_stop, count_workers
from fullpipe.runs.runner import Keys, Runner
from fullpipe.runs.tidy import setting, tidy
from fullpipe.scenario import Scenario, parse, read_text

if TYPE_CHECKING:
    import os
    import threading

    import pyarrow as pa
    from matplotlib.figure import Figure

__all__ = ["Sweep", "load_plan", "read_plan", "sweep", "sweep_plan"]


@shows_progress("runs")
def sweep(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    axes: Mapping[str, Any],
    *,
    repeats: int = 1,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    client: Any = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory_bytes: int | None = None,
) -> Sweep:
    """Runs a scenario with every combination of some keys' values, each with several seeds, on all cores or on a
    cluster.

    A run that fails is a row with its error and stops nothing else.

    Args:
        scenario: What to run; also a TOML file's path, or a dictionary with its keys. Its series are not sampled.
        axes: By key path, as `Scenario.replace` takes it, a list of values or a range: ``{"from": "10 packets", "to":
            "1000 packets", "count": 9, "scale": "log"}``, or with ``step``.
        repeats: Runs of each combination; repeat r uses the scenario's seed + r.
        out: A directory that rows go to as they come. A sweep that was stopped there goes on where it was.
        workers: Runs at a time; None for the number of cores.
        client: A Dask client (`distributed.Client`), or a scheduler's address such as ``tcp://scheduler:8786``; its
            workers then do the runs.
        progress: Called ten times a second with the runs done, of unfinished ones their part, and those to do in all.
        stop: Ends the sweep as Ctrl-C does, in any thread, within about a fifth of a second of wall time once it is
            set; rows that were finished are kept in ``out``.
        memory_bytes: As for `run_many`; on a cluster, what the runs of each worker may hold together.

    Raises:
        ScenarioError: An axis, a key path or a value is wrong.
        InputError: The directory can't be written or holds another sweep; no scheduler answers.
        OSError: The disk is full; what is there stays whole.
        FullpipeError: The cluster failed.
        Cancelled: ``stop`` was set.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    scenario = Scenario.of(scenario)
    plan = Plan(scenario, read_axes(axes, scenario.file), repeats, lambda *_: check_stop(stop))
    return sweep_plan(
        plan, out=out, workers=workers, client=client, progress=progress, stop=stop, memory_bytes=memory_bytes
    )


def load_plan(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Plan:
    """Reads a sweep from a scenario's file with a table ``[sweep]``: ``repeats``, and key paths with lists or ranges.

    Args:
        path: The file.
        progress: Called with the values checked so far and those to check in all.

    Raises:
        ScenarioError: The file can't be read, is not TOML, has no such table, or something in it is wrong.
    """
    return read_plan(read_text(path), file=str(path), progress=progress)


def read_plan(
    text: str,
    *,
    file: str | None = None,
    change: Callable[[Scenario], Scenario] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Reads a sweep as `load_plan` does, from text.

    Args:
        text: The file's.
        file: What errors name.
        change: What is made of the scenario first.
        progress: As for `load_plan`.
    """
    tree = parse(text, file=file)
    table = tree.pop("sweep", None)
    if not isinstance(table, dict):
        raise ScenarioError("sweep", 'missing; e.g. [sweep] with "flows.algorithm" = ["reno", "cubic"]', file)
    scenario = Scenario.from_dict(tree, file=file)
    scenario = change(scenario) if change else scenario
    repeats = table.pop("repeats", 1)
    return Plan(scenario, read_axes(table, file), repeats, progress)


def sweep_plan(
    plan: Plan,
    *,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    client: Any = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory_bytes: int | None = None,
) -> Sweep:
    """Runs a plan; arguments and errors as for `sweep`."""
    from fullpipe.experiments.sweep.directory import opened

    count_workers(workers, plan.runs)
    if isinstance(client, str):
        from fullpipe.runs.cluster import check_scheduler

        check_scheduler(client)
    options = RunOptions(workers, memory_bytes, stop, progress, client)
    check_stop(stop)
    runner = Runner(options, keys=Keys(algorithms=plan.algorithms), tolerates=(BaseException,))
    if out is None:
        return Sweep(plan, _rows_of(plan, runner))
    with opened(out, plan) as place:
        runner.store = place.store
        place.recall(runner)
        outcome = Sweep(plan, _rows_of(plan, runner))
        place.finish(outcome.table, outcome.summary)
        return outcome


class Sweep(Outcome):
    """The outcome of a sweep.

    Attributes:
        plan: What was run.
        table: A row per run: ``run``, the axes, ``repeat``, ``seed``, ``error`` (null for a run that succeeded), and
            the figures that `Result.figures` lists. An axis is a column as it was given; where it is
            quantities of one kind, a column of plain numbers follows, such as ``links.bottleneck.delay_s``.
    """

    def __init__(self, plan: Plan, table: pa.Table) -> None:
        self.plan = plan
        self.table = table

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Sweep:
        """The sweep that was run into a directory, unfinished ones with the rows so far.

        Raises:
            InputError: There is none, or it can't be read.
        """
        from fullpipe.experiments.sweep.directory import load

        return cls(*load(directory))

    @cached_property
    def summary(self) -> pa.Table:
        """A row per combination: the axes, ``runs``, ``failed``, and each figure's ``_mean``, ``_sd`` and ``_ci95``
        over the repeats.
        """
        from fullpipe.experiments.sweep.summary import summarize

        return summarize(self.table, self.plan)

    def versus(self, value: Any, axis: str = "algorithm") -> pa.Table:
        """How much each figure differs from that with one value of an axis, pair by pair under the same seed and the
        same values of the other axes: a row per combination but those of that value, with the axes, ``pairs`` that have
        no failed run, and of each figure X ``X_difference`` and ``X_difference_ci95``, half of its 95 % confidence
        interval (Student's t).

        Args:
            value: What is compared with, such as "newreno"; as the table has it.
            axis: The axis whose value it is, by its key path or an ending of it.

        Raises:
            InputError: There is no such axis, or none of its values is that one.
        """
        from fullpipe.experiments.sweep.summary import differences

        along = find_axis(self.plan.axes, axis)
        if value not in along.labels:
            raise InputError(unknown(f"value of {along.path}", value, along.labels))
        return differences(self.table, self.plan, along, value)

    @property
    def failed(self) -> int:
        """Runs that failed."""
        return len(self.table) - self.table["error"].null_count

    def tidy(self) -> pa.Table:
        """Everything measured as `Result.tidy` has it; the setting is the values on the axes and the seed."""
        places = [axis.path for axis in self.plan.axes]
        skipped = {*self.plan.label_columns, "error"}
        return tidy(
            (group, setting(**{place: row[place] for place in places}, seed=row["seed"]), figures)
            for row in self.table.to_pylist()
            for group, figures in split({name: value for name, value in row.items() if name not in skipped}).items()
        )

    def to_dict(self) -> dict[str, Any]:
        """The axes, rows and summary as plain values ready for JSON."""
        return {
            "axes": [axis.path for axis in self.plan.axes],
            "repeats": self.plan.repeats,
            "failed": self.failed,
            "rows": self.table.to_pylist(),
            "summary": self.summary.to_pylist(),
        }

    def plot(self, x: str, y: str, *, by: str | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws a figure against an axis: means with 95 % confidence intervals; with ``path``, writes the picture too.

        Args:
            x: An axis, by its key path or an ending of it that is clear (``buffer``).
            y: A figure, such as ``utilization``.
            by: The axis whose values get a line each; None for all other axes together.
            path: Where the picture goes.

        Raises:
            InputError: There is no such axis or figure, or the file can't be written.
        """
        from fullpipe.charts.style import written
        from fullpipe.charts.sweep import Across, sweep_figure

        axes, table = self.plan.axes, self.table
        axis = find_axis(axes, x)
        lines = [find_axis(axes, by)] if by is not None else [other for other in axes if other is not axis]
        figure = find_figure(
            y, [name for name in table.column_names if name not in (*self.plan.label_columns, "error")]
        )
        numeric = axis.measure is not None or not isinstance(axis.labels[0], str | bool)
        across = Across(axis.path, axis.unit, axis.log, None if numeric else axis.labels)
        places, values = (table[name].to_pylist() for name in (axis.measure or axis.path, figure))
        labels = zip(*(table[line.path].to_pylist() for line in lines), strict=True) if lines else [()] * len(table)
        missing = f" ({self.failed} of {self.plan.runs} runs failed)" if self.failed else ""
        algorithm = next((i for i, line in enumerate(lines) if line.path.endswith(".algorithm")), None)
        points = zip(places, values, labels, strict=True)
        picture = sweep_figure(across, figure, points, algorithm=algorithm, missing=missing)
        return written(picture, path)

    def shown(self, versus: str | None = None) -> list[Shown | str]:
        """The tables that the program prints: means over the seeds, with confidence intervals; and `versus` a value as
        tables show it, where one is asked for.
        """
        parts: list[Shown | str] = [show_summary(self.plan, self.table, self.summary, self.failed)]
        if versus is not None:
            axis, value = find_value(self.plan.axes, versus)
            parts.append(show_differences(self.plan, self.table, self.versus(value, axis.path), value))
        return parts

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.table)} runs, {self.failed} failed>"


def _rows_of(plan: Plan, runner: Runner) -> pa.Table:
    """The table of all runs."""
    from fullpipe.experiments.sweep.table import Collector

    rows = Collector(plan)
    with closing(runner.rows(plan.design)) as finished:
        for done in finished:
            rows.add(done.run.number, done.row, None if done.error is None else error_line(done.error))
    return rows.table()
