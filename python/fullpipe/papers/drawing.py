"""Plots and measurements that papers share: panels over time, samples of a flow or link, and common scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.engine.tables import to_numpy
from fullpipe.metrics import AXES, metric
from fullpipe.plots.spec import Panel, Plot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.runs.result import Result

    Samples = NDArray[np.float64]

__all__ = [
    "TIME",
    "bottleneck",
    "flow_samples",
    "flow_values",
    "link_samples",
    "link_value",
    "loss_percent",
    "loss_times",
    "mean_between",
    "panels",
    "runs_of",
    "titled",
    "utilization",
]


TIME = "Time (s)"
"""Label of an axis of time."""


def panels(
    rows: Sequence[tuple[str, str]],
    *,
    columns: int = 1,
    common_x: bool = True,
    title: str = "",
    xlabel: str = TIME,
    width: float = 9.0,
    height: float = 2.1,
) -> tuple[Plot, list[list[Panel]]]:
    """A plot and its panels, row by row.

    Args:
        rows: Title and unit of each row.
        columns: Panels side by side; they share the vertical axis.
        common_x: They share the horizontal axis too.
        title: Title of the whole plot.
        xlabel: Label under the last row.
        width: Inches.
        height: Inches per row.
    """
    plot = Plot.grid(
        len(rows),
        columns,
        title=title,
        width=width,
        height=height * len(rows) + 0.6,
        share_x="all" if common_x else "col",
        over_time=xlabel.startswith("Time"),
    )
    for row, (name, unit) in zip(plot.rows, rows, strict=True):
        row[0].title = name
        row[0].y.label = unit
    for panel in plot.rows[-1]:
        panel.x.label = xlabel
    return plot, plot.rows


def titled(name: str, unit: str = "") -> tuple[str, str]:
    """Title of a metric from the registry, and its unit or the given one, for `panels`."""
    one = metric(name)
    return one.title, unit or AXES.get(one.unit, (1.0, one.unit))[1]


def flow_samples(result: Result, flow: int, *names: str) -> tuple[Samples, ...]:
    """Sample times of a flow, seconds, and the named series."""
    columns = result.columns("series")
    own = to_numpy(columns["flow"]) == flow
    return tuple(to_numpy(columns[name])[own] for name in ("t_s", *names))


def link_samples(result: Result, *names: str, link: int = 0) -> tuple[Samples, ...]:
    """Sample times of a link, seconds, and the named series."""
    columns = result.columns("link_series")
    own = to_numpy(columns["link"]) == link
    return tuple(to_numpy(columns[name])[own] for name in ("t_s", *names))


def bottleneck(rate: str, delay: str, buffer: str, **keys: object) -> dict[str, object]:
    """Link called bottleneck, with additional keys."""
    return {"name": "bottleneck", "rate": rate, "delay": delay, "buffer": buffer, **keys}


def runs_of(results: Mapping[str, Result], names: Iterable[str]) -> list[Result]:
    """Results with these names, without those that the variant did not run."""
    return [results[name] for name in names if name in results]


def flow_values(result: Result, name: str) -> Samples:
    """Column of the table of flows: a value per flow."""
    return to_numpy(result.columns("flows")[name])


def link_value(result: Result, name: str, link: int = 0) -> float:
    """Metric of a link after the warm-up."""
    return float(to_numpy(result.columns("links")[name])[link])


def utilization(result: Result, link: int = 0) -> float:
    """Utilization of a link after the warm-up."""
    return link_value(result, "utilization", link)


def loss_percent(result: Result, link: int = 0) -> float:
    """Loss rate of a link after the warm-up, in percent."""
    return 100 * link_value(result, "loss_rate", link)


def mean_between(t_s: Samples, values: Samples, begin_s: float, end_s: float) -> float:
    """Mean of the samples after ``begin_s`` and up to ``end_s``; NaN without samples."""
    chosen = values[(t_s > begin_s) & (t_s <= end_s) & np.isfinite(values)]
    return float(chosen.mean()) if len(chosen) else float("nan")


def loss_times(result: Result, flow: int) -> Samples:
    """Times of changes of a flow's slow-start threshold, in seconds and to the next sample: one per loss episode or
    timeout that changes the threshold.
    """
    t_s, threshold = flow_samples(result, flow, "ssthresh_packets")
    known = np.where(np.isfinite(threshold), threshold, 0.0)
    changed: Samples = t_s[1:][known[1:] != known[:-1]]
    return changed
