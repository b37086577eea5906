"""Plots and measurements that papers share: panels over time, samples of a flow or link, and common scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fullpipe.runs.tables import to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fullpipe.runs.result import Result

    Samples = NDArray[np.float64]

Pen: TypeAlias = dict[str, Any]
"""Line style, as `pen` makes it."""

__all__ = [
    "Pen",
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
    "utilization",
]


@contextmanager
def panels(
    rows: Sequence[tuple[str, str]],
    *,
    columns: int = 1,
    common_x: bool = True,
    title: str = "",
    xlabel: str = "time, s",
    width: float = 9.0,
    height: float = 2.1,
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """Figure in the house style, with rows of panels.

    Args:
        rows: Title and unit of each row.
        columns: Panels in a row, with a common vertical axis.
        common_x: Whether they have a common horizontal axis.
        title: Title of the figure.
        xlabel: Label under the last row.
        width: Width in inches.
        height: Height of a row in inches.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from fullpipe.charts.style import STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height * len(rows) + 0.6), layout="constrained")
        axes = figure.subplots(len(rows), columns, sharex=True if common_x else "col", sharey="row", squeeze=False)
        for row, (name, unit) in zip(axes, rows, strict=True):
            row[0].set_title(name)
            row[0].set_ylabel(unit)
        for each in axes[-1]:
            each.set_xlabel(xlabel)
        if title:
            figure.suptitle(title, x=0.01, ha="left")
        yield figure, [list(row) for row in axes]


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
