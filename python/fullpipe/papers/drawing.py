"""What the papers' pictures and measurements share: panels over time, one flow's or link's samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.runs.tables import to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fullpipe.runs.result import Result

    Samples = NDArray[np.float64]

__all__ = ["flow_samples", "link_samples", "loss_percent", "loss_times", "mean_between", "panels", "utilization"]


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
    """A figure in the house style and its panels, row by row.

    Args:
        rows: Title and unit of each row.
        columns: Panels side by side; they share the vertical axis.
        common_x: They share the horizontal axis too.
        title: Of the whole figure.
        xlabel: Under the last row.
        width: Inches.
        height: Inches a row.
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
    """Sample times of a flow, seconds, and its series of the names given."""
    columns = result.columns("series")
    own = to_numpy(columns["flow"]) == flow
    return tuple(to_numpy(columns[name])[own] for name in ("t_s", *names))


def link_samples(result: Result, *names: str, link: int = 0) -> tuple[Samples, ...]:
    """Sample times of a link, seconds, and its series of the names given."""
    columns = result.columns("link_series")
    own = to_numpy(columns["link"]) == link
    return tuple(to_numpy(columns[name])[own] for name in ("t_s", *names))


def utilization(result: Result, link: int = 0) -> float:
    """Of a link, outside the warm-up."""
    return float(to_numpy(result.columns("links")["utilization"])[link])


def loss_percent(result: Result, link: int = 0) -> float:
    """Of what came to a link, outside the warm-up."""
    return 100 * float(to_numpy(result.columns("links")["loss_rate"])[link])


def mean_between(t_s: Samples, values: Samples, begin_s: float, end_s: float) -> float:
    """Mean of the samples after ``begin_s`` and up to ``end_s`` that have a value; NaN if there are none."""
    chosen = values[(t_s > begin_s) & (t_s <= end_s) & np.isfinite(values)]
    return float(chosen.mean()) if len(chosen) else float("nan")


def loss_times(result: Result, flow: int) -> Samples:
    """When a flow's slow-start threshold changed, seconds, to the next sample: once per loss episode or timeout, unless
    one leaves the threshold exactly as it was.
    """
    t_s, threshold = flow_samples(result, flow, "ssthresh_packets")
    known = np.where(np.isfinite(threshold), threshold, 0.0)
    changed: Samples = t_s[1:][known[1:] != known[:-1]]
    return changed
