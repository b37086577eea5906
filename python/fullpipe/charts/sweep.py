"""Pictures of sweeps: a figure against an axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fullpipe.charts.style import STYLE, label, legend_above, pens, setting_pens
from fullpipe.metrics import axis, metric
from fullpipe.runs.aggregate import estimate

__all__ = ["Across", "sweep_figure"]


@dataclass(frozen=True)
class Across:
    """The axis across.

    Attributes:
        name: What changes along it.
        unit: Of its numbers; empty for plain ones.
        log: Its numbers grow by a factor.
        labels: Its values in order, where these are no numbers.
    """

    name: str
    unit: str = ""
    log: bool = False
    labels: tuple[object, ...] | None = None


def sweep_figure(
    across: Across,
    figure: str,
    points: Iterable[tuple[object, float | None, tuple[object, ...]]],
    *,
    algorithm: int | None = None,
    missing: str = "",
) -> Figure:
    """A figure's mean against an axis, with 95 % confidence intervals over the runs of a point.

    Args:
        across: The axis.
        figure: What the values are.
        points: A value on the axis, the figure there (None for none), and what a line is drawn for, run by run.
        algorithm: Which of a line's values is its algorithm; None for none.
        missing: Said beside the title.
    """
    lines: dict[tuple[Any, ...], dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place, value, line in points:
        if value is not None:
            lines[line][place].append(value)
    y_label, scale = axis(figure)
    order = None if across.labels is None else {value: i for i, value in enumerate(across.labels)}
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(8.0, 5.0), layout="constrained")
        panel = picture.subplots()
        for look, (line, values) in zip(_looks(list(lines), algorithm), lines.items(), strict=True):
            known = sorted(values, key=None if order is None else order.__getitem__)
            estimates = [estimate(values[place]) for place in known]
            panel.errorbar(
                known if order is None else [order[place] for place in known],
                [scale * each.mean for each in estimates],
                yerr=[scale * (each.ci95 or 0.0) for each in estimates],
                **look,
                # Where two lines agree both are seen.
                zorder=2.0 if look["linestyle"] == "-" else 2.1,
                markersize=3,
                capsize=2,
                label=", ".join(map(label, line)) or None,
            )
        if across.log:
            panel.set_xscale("log")
        if across.labels is not None:
            panel.set_xticks(range(len(across.labels)), [label(value) for value in across.labels])
        panel.set_xlabel(f"{label(across.name)}, {across.unit}" if across.unit else label(across.name))
        panel.set_title(f"{label(metric(figure).full_title)}, mean and 95 % confidence interval{missing}")
        panel.set_ylabel(label(y_label))
        legend_above(panel)
    return picture


def _looks(lines: Sequence[tuple[object, ...]], algorithm: int | None) -> list[dict[str, Any]]:
    """By their algorithms; lines that have none are told apart as settings are."""
    if algorithm is None:
        return [{**look, "marker": "o"} for look in setting_pens(len(lines))]
    return pens((str(line[algorithm]) for line in lines), marked=True)
