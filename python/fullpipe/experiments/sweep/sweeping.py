"""Sweeps: runs, and their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from fullpipe._util.display import Shown
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.engine.pool import check_stop, count_workers
from fullpipe.errors import ScenarioError
from fullpipe.experiments.sweep.axes import find_axis, find_value, read_axes
from fullpipe.experiments.sweep.plan import Plan
from fullpipe.runs.design import error_line
from fullpipe.runs.engines import check_engines
from fullpipe.runs.figures import find_metric
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.results import Results
from fullpipe.runs.runner import Keys, Runner
from fullpipe.scenario import Scenario, parse

if TYPE_CHECKING:
    import os
    import threading

    import pyarrow as pa
    from matplotlib.figure import Figure

    from fullpipe.experiments.sweep.table import Tables
    from fullpipe.plots.draw import Style

__all__ = ["Sweep", "read_plan", "sweep", "sweep_plan"]


@shows_progress("runs")
def sweep(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, object],
    axes: Mapping[str, object],
    *,
    seeds: int = 1,
    engine: str = "simulator",
    kernel: str | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: object = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory: int | str | None = None,
) -> Sweep:
    """Runs a scenario with every combination of some keys' values, each with several seeds, on all cores or on a
    cluster. A run that fails is a row with its error, and does not stop the others.

    Args:
        scenario: The scenario; also a TOML file's path, or a dictionary with its keys. Its series are not sampled.
        axes: Values by key path (`Scenario.replace`): a list, or a range ``{"from": "10 packets", "to": "1000 packets",
            "count": 9, "scale": "log"}``, or with ``step``.
        seeds: Runs of each combination, from the scenario's seed on.
        engine: Engine of the runs, "simulator" or "linux".
        kernel: As for `run`.
        out: Directory that keeps rows as they come, so that an interrupted sweep can be continued.
        workers: Concurrent runs; None for one per core.
        dask: Address of a Dask scheduler such as ``tcp://scheduler:8786``, or a client (`distributed.Client`); None for
            this machine.
        progress: Function that is called ten times a second with the number of finished runs, unfinished ones in part,
            and the number of all runs.
        stop: Event that ends the sweep within about 0.2 s of wall time. Finished rows are kept in ``out``.
        memory: As for `run_many`; on a cluster, the limit of each worker.

    Raises:
        ScenarioError: An axis, a key path, or a value is wrong.
        InputError: The directory is not writable or has another sweep, or no scheduler answers.
        OSError: The disk is full; existing files stay whole.
        FullpipeError: The cluster failed.
        Cancelled: ``stop`` was set.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    scenario = Scenario.of(scenario)
    plan = Plan(scenario, read_axes(axes, scenario.file), seeds, lambda *_: check_stop(stop))
    options = RunOptions(workers, memory, stop, progress, dask)
    return sweep_plan(plan, options, engine=engine, kernel=kernel, out=out)


def read_plan(
    text: str,
    *,
    file: str | None = None,
    change: Callable[[Scenario], Scenario] | None = None,
    seeds: int | None = None,
    details: bool = True,
    progress: Progress | None = None,
) -> Plan:
    """Reads a sweep from a scenario's text with a table ``[sweep]``: ``repeats``, and key paths with lists or ranges.

    Args:
        text: Content of the file.
        file: Name of the file in errors.
        change: Function that changes the scenario first.
        seeds: Runs of each combination; None for ``repeats`` of the table, or 1.
        details: Whether the sweep keeps rows of flows and links.
        progress: Function that is called with the number of checked values and of all values.

    Raises:
        ScenarioError: The text is not TOML, has no such table, or has an error in it.
    """
    tree = parse(text, file=file)
    table = tree.pop("sweep", None)
    if not isinstance(table, dict):
        raise ScenarioError("sweep", 'requires a table, e.g. [sweep] with "flows.algorithm" = ["reno", "cubic"]', file)
    scenario = Scenario.from_dict(tree, file=file)
    scenario = change(scenario) if change else scenario
    repeats = table.pop("repeats", 1)
    return Plan(scenario, read_axes(table, file), repeats if seeds is None else seeds, progress, details=details)


def sweep_plan(
    plan: Plan,
    options: RunOptions | None = None,
    *,
    engine: str = "simulator",
    kernel: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Sweep:
    """Runs a plan; arguments and errors as for `sweep`."""
    from fullpipe.experiments.sweep.directory import opened

    check_engines([engine], kernel)
    named = engine if kernel is None else f"{engine} {kernel}"
    if plan.engine != named:
        plan = replace(plan, engine=named)
    options = options or RunOptions()
    count_workers(options.workers, plan.runs)
    if isinstance(options.dask, str):
        from fullpipe.runs.cluster import check_scheduler

        check_scheduler(options.dask)
    check_stop(options.stop)
    runner = Runner(
        options, keys=Keys(plan.build, plan.algorithms), engine=engine, kernel=kernel, tolerates=(BaseException,)
    )
    if out is None:
        return Sweep(plan, *_tables_of(plan, runner))
    with opened(out, plan) as place:
        runner.store = place.store
        place.recall(runner)
        outcome = Sweep(plan, *_tables_of(plan, runner))
        place.finish(outcome._files())
        return outcome


class Sweep(Results):
    """Runs of a sweep. The labels are the axes. An axis has a column of its values; if they are quantities of one kind,
    a column of plain numbers follows, such as ``links.bottleneck.delay_s``.

    `runs` also has ``run``, its number; ``repeat``; and ``error``, which is null for a run that succeeded.

    Attributes:
        plan: Plan of the runs.
    """

    KIND = "sweep"

    def __init__(
        self, plan: Plan, runs: pa.Table, flows: pa.Table | None = None, links: pa.Table | None = None
    ) -> None:
        self.plan = plan
        super().__init__(plan.point_columns, runs, flows, links)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Sweep:
        """Sweep that was run into a directory. An unfinished sweep has the rows so far.

        Raises:
            InputError: The directory has no sweep, or a file is not readable.
        """
        from fullpipe.experiments.sweep.directory import load

        plan, tables = load(directory)
        return cls(plan, *tables)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes the files that `sweep` writes with ``out``, into an empty or new directory.

        Raises:
            InputError: The directory is not writable or has another sweep.
        """
        from fullpipe.experiments.sweep.directory import opened

        with opened(directory, self.plan) as place:
            place.finish(self._files())

    def to_dict(self) -> dict[str, object]:
        """Axes, rows, and summary as plain values ready for JSON."""
        return {
            "axes": [axis.path for axis in self.plan.axes],
            "repeats": self.plan.repeats,
            "failed": self.failed,
            "rows": self.runs.to_pylist(),
            "summary": self.summary().to_pylist(),
        }

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        x: str | None = None,
        metric: str | None = None,
        by: str | None = None,
        style: Style = "screen",
    ) -> Figure:
        """Plots the mean of a metric against an axis with 95 % confidence intervals; with ``path``, writes the plot.

        Args:
            path: File of the plot (.png, .svg, .pdf).
            x: Axis, by its key path or an unambiguous ending of it (``buffer``); None for the first one.
            metric: Column of `runs`, such as ``utilization``; None for the goodput.
            by: Axis whose values get a line each; None for all other axes together.
            style: "screen"; "paper" for one column of a paper, 3.4 in wide; "paper-wide" for both columns, 7 in wide.

        Raises:
            InputError: The axis or metric is unknown, or the file is not writable.
        """
        from fullpipe.plots.draw import drawn
        from fullpipe.plots.sweep import Across, sweep_plot

        axes, table = self.plan.axes, self.runs
        axis = axes[0] if x is None and axes else find_axis(axes, x or "")
        lines = [find_axis(axes, by)] if by is not None else [other for other in axes if other is not axis]
        name = find_metric("goodput_bps" if metric is None else metric, self.metrics)
        numeric = axis.measure is not None or not isinstance(axis.labels[0], str | bool)
        across = Across(axis.path, axis.unit, axis.log, None if numeric else axis.labels)
        places, values = (table[each].to_pylist() for each in (axis.measure or axis.path, name))
        labels = zip(*(table[line.path].to_pylist() for line in lines), strict=True) if lines else [()] * len(table)
        missing = f" ({self.failed} of {self.plan.runs} runs failed)" if self.failed else ""
        algorithm = next((i for i, line in enumerate(lines) if line.path.endswith(".algorithm")), None)
        points = zip(places, values, labels, strict=True)
        return drawn(sweep_plot(across, name, points, algorithm=algorithm, missing=missing), path, style)

    def shown(self, columns: Sequence[str] | None = None, versus: str | None = None) -> list[Shown | str]:
        """Tables that the program prints: means over the seeds with confidence intervals.

        Args:
            columns: Metrics to show, by default the usual ones.
            versus: Value of an axis, as tables show it; a table of differences from it follows.
        """
        parts: list[Shown | str] = [*self._means(columns)]
        if versus is not None:
            axis, value = find_value(self.plan.axes, versus)
            parts += self.shown_differences({axis.path: value}, columns)
        return parts

    def _shown_labels(self) -> list[str]:
        return [axis.path for axis in self.plan.axes]

    def _together(self, label: str) -> list[str]:
        axis = next(axis for axis in self.plan.axes if label in axis.columns(0))
        return list(axis.columns(0))

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.runs)} runs, {self.failed} failed>"


def _tables_of(plan: Plan, runner: Runner) -> Tables:
    from fullpipe.experiments.sweep.table import Collector

    rows = Collector(plan)
    with closing(runner.rows(plan.design)) as finished:
        for done in finished:
            rows.add(done.run.number, done.row, None if done.error is None else error_line(done.error))
    return rows.tables()
