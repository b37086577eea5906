"""Plots of a metric against an axis of a sweep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fullpipe.metrics import axis, metric
from fullpipe.plots.looks import Look, pens, setting_pens
from fullpipe.plots.spec import Panel, Plot, label
from fullpipe.runs.aggregate import estimate

__all__ = ["Across", "sweep_plot"]


ONE_OF = {"links": "link", "web": "web users"}
"""Name of an entry of a list of tables, before its number from 1."""


RUN_OFFSET = 0.08
"""Distance of the points of runs from their mean, between two labels of an axis."""


@dataclass(frozen=True)
class Across:
    """The horizontal axis.

    Attributes:
        name: Key path or label whose values change along the axis.
        unit: Unit of the values; empty for plain numbers.
        log: Whether the scale is logarithmic.
        labels: Values in order, where these are no numbers.
    """

    name: str
    unit: str = ""
    log: bool = False
    labels: tuple[object, ...] | None = None

    @property
    def title(self) -> str:
        """Title for readers: "Buffer of bottleneck (packets)" for ``links.bottleneck.buffer``, "Count of flows 1" for
        ``flows.0.count``, and "Rate of source of flows 1" for ``flows.0.source.rate``.
        """
        scope, _, own = self.name.rpartition(".")
        table, *inside = scope.split(".")
        if inside and inside[0].isdecimal():
            inside[0] = f"{ONE_OF.get(table, table)} {1 + int(inside[0])}"
        words = own.replace("_", " ")
        title = " of ".join((f"{words[:1].upper()}{words[1:]}", *reversed(inside)))
        return f"{title} ({self.unit})" if self.unit else title


def sweep_plot(
    across: Across,
    name: str,
    points: Iterable[tuple[object, float | None, tuple[object, ...]]],
    *,
    algorithm: int | None = None,
    missing: str = "",
) -> Plot:
    """The mean of a metric against an axis, with 95 % confidence intervals over the runs of a point. Along an axis of
    labels, the runs are points too.

    Args:
        across: The horizontal axis.
        name: Id of the metric.
        points: A value on the axis, the metric there (None for none), and the labels of its line, run by run.
        algorithm: Index of the algorithm in the labels of a line; None for none.
        missing: Addition to the title.
    """
    lines: dict[tuple[object, ...], dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place, value, line in points:
        if value is not None:
            lines[line][place].append(value)
    y_label, scale = axis(name)
    order = None if across.labels is None else {value: i for i, value in enumerate(across.labels)}
    plot = Plot.grid(1, width=8.0, height=5.0)
    (panel,) = plot.panels
    for look, (line, values) in zip(_looks(list(lines), algorithm), lines.items(), strict=True):
        known = sorted(values, key=None if order is None else order.__getitem__)
        estimates = [estimate(values[place]) for place in known]
        halves = [scale * (each.ci95 or 0.0) for each in estimates]
        at = known if order is None else [order[place] for place in known]
        if order is not None:
            runs = [
                (x, scale * value) for x, place in zip(at, known, strict=True) for value in dict.fromkeys(values[place])
            ]
            _draw_runs(panel, runs if len(runs) > len(known) else [], look)
        if across.name == "algorithm":
            look = look | {"linestyle": "none"}  # a line would suggest values between two algorithms
        panel.line(
            at,
            [scale * each.mean for each in estimates],
            error=(halves, halves),
            # Dashed lines lie above, so that both are seen where two lines agree.
            **(look | {"markersize": 3, "zorder": 2.0 if look["linestyle"] == "-" else 2.1}),
            label=", ".join(map(label, line)) or None,
        )
    panel.x.scale = "log" if across.log else "linear"
    if across.labels is not None:
        panel.x.name(range(len(across.labels)), map(label, across.labels))
    panel.x.label = label(across.title)
    dots = "" if order is None else "; small: runs"
    panel.title = f"{label(metric(name).full_title)}, mean and 95 % confidence interval{dots}{missing}"
    panel.y.label = label(y_label)
    panel.legend = True
    return plot


def _draw_runs(panel: Panel, runs: Sequence[tuple[float, float]], look: Look) -> None:
    """A small point per value of the runs, so that the reader sees the distribution behind mean and interval."""
    dot: Look = {"color": look["color"], "linestyle": "none", "marker": "o", "markersize": 2, "alpha": 0.5}
    panel.line([x + RUN_OFFSET for x, _ in runs], [y for _, y in runs], **dot)


def _looks(lines: Sequence[tuple[object, ...]], algorithm: int | None) -> list[Look]:
    """Styles by the algorithms of the lines, or by their order."""
    if algorithm is None:
        return [look | {"marker": "o"} for look in setting_pens(len(lines))]
    return pens((str(line[algorithm]) for line in lines), marked=True)
