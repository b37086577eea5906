"""Pictures of sweeps: a figure against an axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fullpipe.charts.series import COLOURS, STYLE, label, legend_above
from fullpipe.errors import InputError
from fullpipe.study.statistics import estimate
from fullpipe.study.sweep.table import FIRST
from fullpipe.text import hint, listed, quoted

if TYPE_CHECKING:
    from fullpipe.study.sweep.axes import Axis
    from fullpipe.study.sweep.sweeping import Sweep

__all__ = ["check_figure", "find_axis", "find_figure", "sweep_figure"]

UNITS = {"bdp": "BDP", "packets": "packets", "s": "s", "bps": "bit/s", "bytes": "bytes"}


def sweep_figure(sweep: Sweep, x: str, y: str, by: str | None = None) -> Figure:
    """A figure's mean against an axis, with 95 % confidence intervals over the runs of a point.

    Args:
        sweep: The outcome.
        x: The axis across.
        y: The figure.
        by: The axis whose values get a line each, the mean being taken over all other axes; None for all of them.

    Raises:
        InputError: There is no such axis or figure.
    """
    axes = sweep.plan.axes
    across = find_axis(axes, x)
    lines = [find_axis(axes, by)] if by is not None else [axis for axis in axes if axis is not across]
    name = find_figure(sweep, y)
    places = across.measure or across.path
    numeric = across.measure is not None or not isinstance(across.labels[0], str | bool)
    order = {value: i for i, value in enumerate(across.labels)}

    points: dict[tuple[Any, ...], dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = [sweep.table[column].to_pylist() for column in (places, name, *(axis.path for axis in lines))]
    for place, value, *labels in zip(*columns, strict=True):
        if value is not None:
            points[tuple(labels)][place].append(value)

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.0, 5.0), layout="constrained")
        panel = figure.subplots()
        for i, (labels, values) in enumerate(points.items()):
            known = sorted(values, key=None if numeric else order.__getitem__)
            estimates = [estimate(values[place]) for place in known]
            panel.errorbar(
                [place if numeric else order[place] for place in known],
                [each.mean for each in estimates],
                yerr=[each.ci95 or 0.0 for each in estimates],
                color=COLOURS[i % len(COLOURS)],
                linestyle=("-", "--", ":", "-.")[i // len(COLOURS) % 4],
                marker="o",
                markersize=3,
                capsize=2,
                label=", ".join(map(label, labels)) or None,
            )
        if across.log:
            panel.set_xscale("log")
        if not numeric:
            panel.set_xticks(range(len(across.labels)), [label(value) for value in across.labels])
        unit = "" if across.measure is None else f", {UNITS[across.measure.rpartition('_')[2]]}"
        panel.set_xlabel(f"{label(across.path)}{unit}")
        missing = f" ({sweep.failed} of {sweep.plan.runs} runs failed)" if sweep.failed else ""
        panel.set_title(f"{label(name)}, mean and 95 % confidence interval{missing}")
        legend_above(panel)
        if any(points) and len(points) > 4:
            panel.legend(loc="best")
    return figure


def find_axis(axes: Sequence[Axis], name: str) -> Axis:
    """The axis of that key path, or whose path ends so.

    Raises:
        InputError: There is none, or several.
    """
    for axis in axes:
        if axis.path == name:
            return axis
    ending = [axis for axis in axes if axis.path.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    problem = "could be several axes" if ending else "is no axis"
    raise InputError(f"{quoted(name)} {problem} (allowed: {listed(axis.path for axis in axes)})")


def find_figure(sweep: Sweep, name: str) -> str:
    """The name itself, if it is one of a figure.

    Raises:
        InputError: It is not.
    """
    known = [column for column in sweep.table.column_names if column not in (*sweep.plan.label_columns, "error")]
    if name not in known:
        raise _unknown(name, known)
    return name


def check_figure(name: str) -> None:
    """Says no, before anything runs, to what no run has as a figure.

    Raises:
        InputError: It is none.
    """
    # Those of further links, of algorithms and of cross traffic depend on the scenario.
    if name not in FIRST and "." not in name and not name.startswith("reverse_"):
        raise _unknown(name, FIRST)


def _unknown(name: str, known: Sequence[str]) -> InputError:
    return InputError(f"{quoted(name)} is no figure of a run{hint(name, known)} (allowed: {listed(known)})")
