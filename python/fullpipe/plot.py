"""Pictures of results: windows, queue, utilization and RTT over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fullpipe.errors import InputError
from fullpipe.files import check_picture, staged_file
from fullpipe.tables import to_numpy

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.result import Result

__all__ = [
    "COLOURS",
    "STYLE",
    "comparison_figure",
    "flow_series",
    "legend_above",
    "moving_mean",
    "result_figure",
    "write",
]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#a6761d", "#1b1b1b", "#b5a800")
"""Told apart by colour-blind readers too (Okabe and Ito, 2008), with four more."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "path.simplify_threshold": 0.5,
    "savefig.dpi": 160,
    "svg.hashsalt": "fullpipe",
}

FEW = 6
"""Flows drawn each with a colour of its own; more are drawn thin, with their mean."""

MOST = 60
"""Flows drawn at all."""


@dataclass(frozen=True)
class Line:
    """A flow's or a link's samples."""

    label: str
    t_s: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]


def flow_series(result: Result) -> list[Line]:
    """Each flow's samples, labelled with its algorithm and id.

    Raises:
        InputError: The run sampled no series.
    """
    flows = result.columns("flows")
    names = [f"{name} #{flow}" for flow, name in zip(to_numpy(flows["id"]), flows["algorithm"], strict=True)]
    return list(_split(result.columns("series"), "flow", names))


def link_series(result: Result) -> list[Line]:
    """Each link's samples, labelled with its name.

    Raises:
        InputError: The run sampled no series.
    """
    return list(_split(result.columns("link_series"), "link", result.columns("links")["name"]))


def result_figure(result: Result) -> Figure:
    """One run: the flows' windows and RTTs, the links' queues and utilizations.

    Of many flows the mean is drawn bold, and so is, of their links, the mean over a fiftieth of the run.

    Raises:
        InputError: The run sampled no series.
    """
    flows, links = flow_series(result), link_series(result)
    with mpl.rc_context(STYLE):
        figure, (window, queue, utilization, rtt) = _panels(result)
        _draw_flows(window, flows, "cwnd_packets", threshold="ssthresh_packets")
        _draw_flows(rtt, flows, "rtt_s", scale=1e3)
        for colour, line in zip(_cycle(len(links)), links, strict=True):
            _draw(queue, line.t_s, line.values["queue_packets"], colour, line.label, smooth=len(flows) > FEW)
            _draw(utilization, line.t_s, line.values["utilization"], colour, None, smooth=len(flows) > FEW)
        _finish(window, queue, utilization, rtt)
    return figure


def comparison_figure(results: Mapping[str, Result]) -> Figure:
    """Several runs of one scenario in one picture: of each, the mean over its flows, and its first link.

    Where several flows share the link, what is drawn bold is the mean over a fiftieth of the run, over the samples.

    Raises:
        InputError: A run sampled no series.
    """
    first = next(iter(results.values()))
    busy = len(first.columns("flows")["id"]) > 1 or len(first.columns("traffic")["kind"]) > 0
    with mpl.rc_context(STYLE):
        figure, (window, queue, utilization, rtt) = _panels(first)
        for colour, (label, result) in zip(_cycle(len(results)), results.items(), strict=True):
            flows, link = flow_series(result), link_series(result)[0]
            for axes, name, scale in ((window, "cwnd_packets", 1.0), (rtt, "rtt_s", 1e3)):
                t_s, mean = _mean(flows, name)
                _draw(axes, t_s, mean * scale, colour, label, smooth=busy)
            _draw(queue, link.t_s, link.values["queue_packets"], colour, None, smooth=busy)
            _draw(utilization, link.t_s, link.values["utilization"], colour, None, smooth=busy)
        if len(first.columns("flows")["id"]) > 1:
            window.set_title("congestion window, mean of the flows")
        if len(first.columns("links")["name"]) > 1:
            name = first.columns("links")["name"][0]
            queue.set_title(f"queue of {name}")
            utilization.set_title(f"utilization of {name}")
        _finish(window, queue, utilization, rtt)
    return figure


def moving_mean(values: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
    """The mean of the ``samples`` nearest samples, of those that have a value; fewer at the ends."""
    known = np.isfinite(values)
    kernel = np.ones(max(1, min(samples, len(values))))
    counts = np.convolve(known, kernel, "same")
    sums = np.convolve(np.where(known, values, 0.0), kernel, "same")
    mean: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0.5)
    return mean


def legend_above(axes: Axes) -> None:
    """Puts the legend beside the title, where it hides nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=8, borderaxespad=0.0, columnspacing=1.2)


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a picture whole or not at all; the same figure gives the same bytes.

    Raises:
        InputError: The suffix or the directory won't do.
    """
    check_picture(path)
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with staged_file(path) as stage, mpl.rc_context(STYLE):
        figure.savefig(stage, metadata=dates.get(stage.suffix.lower()))


def _panels(result: Result) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure(figsize=(9.0, 9.0), layout="constrained")
    panels = figure.subplots(4, 1, sharex=True, height_ratios=(3, 2, 1.4, 2))
    titles = ("congestion window", "queue", "utilization", "round-trip time")
    units = ("packets", "packets", "of capacity", "ms")
    warmup_s = result.scenario.warmup_s
    for axes, title, unit in zip(panels, titles, units, strict=True):
        axes.set_title(title)
        axes.set_ylabel(unit)
        if warmup_s > 0:
            axes.axvspan(0, warmup_s, color="#000000", alpha=0.05, linewidth=0)
    panels[-1].set_xlabel("time, s" if warmup_s == 0 else f"time, s (shaded: the warm-up, {warmup_s:g} s)")
    panels[-1].set_xlim(0, result.scenario.duration_s)
    return figure, list(panels)


def _draw_flows(axes: Axes, flows: list[Line], name: str, *, scale: float = 1.0, threshold: str | None = None) -> None:
    if len(flows) <= FEW:
        for colour, line in zip(_cycle(len(flows)), flows, strict=True):
            axes.plot(line.t_s, line.values[name] * scale, color=colour, label=line.label)
            if threshold is not None:
                limits = np.where(np.isfinite(line.values[threshold]), line.values[threshold], np.nan)
                axes.plot(line.t_s, limits, color=colour, linestyle=(0, (4, 2)), linewidth=0.8, alpha=0.7)
        if threshold is not None:
            axes.plot([], [], color="#666666", linestyle=(0, (4, 2)), linewidth=0.8, label="ssthresh")
        return
    groups: dict[str, list[Line]] = {}
    for line in flows:
        groups.setdefault(line.label.partition(" #")[0], []).append(line)
    for colour, (algorithm, lines) in zip(_cycle(len(groups)), groups.items(), strict=True):
        for line in lines[: max(1, MOST // len(groups))]:
            axes.plot(line.t_s, line.values[name] * scale, color=colour, linewidth=0.5, alpha=0.25)
        t_s, mean = _mean(lines, name)
        axes.plot(t_s, mean * scale, color=colour, linewidth=1.8, label=f"{algorithm}, mean of {len(lines)} flows")


def _finish(*panels: Axes) -> None:
    for axes in panels:
        axes.set_ylim(bottom=0)
    panels[2].set_ylim(0, 1.05)
    legend_above(panels[0])
    if len(panels[1].get_legend_handles_labels()[0]) > 1:
        legend_above(panels[1])


def _draw(
    axes: Axes, t_s: NDArray[np.float64], values: NDArray[np.float64], colour: str, label: str | None, *, smooth: bool
) -> None:
    if smooth:
        axes.plot(t_s, values, color=colour, linewidth=0.5, alpha=0.2)
        values = moving_mean(values, len(values) // 50)
    axes.plot(t_s, values, color=colour, label=label)


def _mean(lines: list[Line], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean over the flows at each sample time, of those that have a value then."""
    times, place = np.unique(np.concatenate([line.t_s for line in lines]), return_inverse=True)
    values = np.concatenate([line.values[name] for line in lines])
    known = np.isfinite(values)
    counts = np.bincount(place[known], minlength=len(times))
    sums = np.bincount(place[known], weights=values[known], minlength=len(times))
    return times, np.divide(sums, counts, out=np.full(len(times), np.nan), where=counts > 0)


def _split(columns: Mapping[str, Any], entity: str, labels: Sequence[str]) -> Iterator[Line]:
    arrays = {name: to_numpy(column) for name, column in columns.items()}
    owner, t_s = arrays.pop(entity), arrays.pop("t_s")
    if not len(t_s):
        raise InputError('nothing to draw: the run sampled no series (series_interval = "off")')
    starts = np.flatnonzero(np.diff(owner, prepend=owner[0] + 1))
    for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
        values = {name: array[start:end] for name, array in arrays.items()}
        yield Line(labels[int(owner[start])], t_s[start:end], values)


def _cycle(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]
