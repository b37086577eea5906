"""Pictures of results: windows, queue, utilization and RTT over time."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fullpipe.errors import InputError
from fullpipe.files import check_picture, staged_file
from fullpipe.runs.tables import to_numpy
from fullpipe.text import shorten

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.runs.result import Result

__all__ = [
    "COLOURS",
    "STYLE",
    "comparison_figure",
    "flow_series",
    "label",
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

LONGEST_LABEL = 60
"""Characters of a name in a picture, at most."""


@dataclass(frozen=True)
class Line:
    """A flow's or a link's samples."""

    label: str
    t_s: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]


def label(name: object) -> str:
    """A name from outside as pictures show it: as it is, whatever matplotlib would take it for (``$`` begins formulas,
    a leading ``_`` hides a line from the legend).
    """
    text = shorten(str(name), LONGEST_LABEL).replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def flow_series(result: Result) -> list[Line]:
    """Each flow's samples, labelled with its algorithm and id.

    Raises:
        InputError: The run sampled no series.
    """
    _check_sampled(result)
    flows = result.columns("flows")
    names = [f"{name} #{flow}" for flow, name in zip(to_numpy(flows["id"]), flows["algorithm"], strict=True)]
    return list(_split(result.columns("series"), "flow", names))


def link_series(result: Result) -> list[Line]:
    """Each link's samples, labelled with its name.

    Raises:
        InputError: The run sampled no series.
    """
    _check_sampled(result)
    names = [label(name) for name in result.columns("links")["name"]]
    return list(_split(result.columns("link_series"), "link", names))


def result_figure(result: Result) -> Figure:
    """One run: the flows' windows and RTTs, the links' queues and utilizations; without flows the links' alone.

    Of many flows the mean is drawn bold, and so is, of their links, the mean over a fiftieth of the run.

    Raises:
        InputError: The run sampled no series.
    """
    flows, links = flow_series(result), link_series(result)
    with mpl.rc_context(STYLE):
        figure, panels = _panels(result, PANELS if flows else OF_LINKS)
        if flows:
            _draw_flows(panels["window"], flows, "cwnd_packets", threshold="ssthresh_packets")
            _draw_flows(panels["rtt"], flows, "rtt_s", scale=1e3)
        for colour, line in zip(_cycle(len(links)), links, strict=True):
            smooth = len(flows) > FEW
            _draw(panels["queue"], line.t_s, line.values["queue_packets"], colour, line.label, smooth=smooth)
            _draw(panels["utilization"], line.t_s, line.values["utilization"], colour, None, smooth=smooth)
        _finish(panels)
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
        samples = {run: (flow_series(result), link_series(result)[0]) for run, result in results.items()}
        figure, panels = _panels(first, PANELS if any(flows for flows, _ in samples.values()) else OF_LINKS)
        for colour, (run, (flows, link)) in zip(_cycle(len(samples)), samples.items(), strict=True):
            for panel, name, scale in (("window", "cwnd_packets", 1.0), ("rtt", "rtt_s", 1e3)) if flows else ():
                t_s, mean = _mean(flows, name)
                _draw(panels[panel], t_s, mean * scale, colour, label(run), smooth=busy)
            shown = None if "window" in panels else label(run)
            _draw(panels["queue"], link.t_s, link.values["queue_packets"], colour, shown, smooth=busy)
            _draw(panels["utilization"], link.t_s, link.values["utilization"], colour, None, smooth=busy)
        if len(first.columns("flows")["id"]) > 1:
            panels["window"].set_title("congestion window, mean of the flows")
        if len(first.columns("links")["name"]) > 1:
            for panel in OF_LINKS:
                panels[panel].set_title(f"{panel} of {label(first.columns('links')['name'][0])}")
        _finish(panels)
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
        OSError: The disk is full or failing.
    """
    check_picture(path)
    kind = Path(path).suffix.lower()
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    drawn = io.BytesIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # A name may have characters that no font here has; they become boxes.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        figure.savefig(drawn, format=kind[1:], metadata=dates.get(kind))
    with staged_file(path) as stage:
        stage.write_bytes(drawn.getbuffer())


PANELS = {
    "window": ("congestion window", "packets", 3.0),
    "queue": ("queue", "packets", 2.0),
    "utilization": ("utilization", "of capacity", 1.4),
    "rtt": ("round-trip time", "ms", 2.0),
}
"""The panels over time: title, unit, and height as a part of the picture's."""

OF_LINKS = ("queue", "utilization")
"""Those of links; the others need flows."""


def _panels(result: Result, names: Iterable[str]) -> tuple[Figure, dict[str, Axes]]:
    titles, units, heights = zip(*(PANELS[name] for name in names), strict=True)
    figure = Figure(figsize=(9.0, 9.0 * sum(heights) / 8.4), layout="constrained")
    panels = list(figure.subplots(len(titles), 1, sharex=True, height_ratios=heights))
    warmup_s = result.scenario.warmup_s
    for axes, title, unit in zip(panels, titles, units, strict=True):
        axes.set_title(title)
        axes.set_ylabel(unit)
        if warmup_s > 0:
            axes.axvspan(0, warmup_s, color="#000000", alpha=0.05, linewidth=0)
    panels[-1].set_xlabel("time, s" if warmup_s == 0 else f"time, s (shaded: the warm-up, {warmup_s:g} s)")
    panels[-1].set_xlim(0, result.scenario.duration_s)
    return figure, dict(zip(names, panels, strict=True))


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


def _finish(panels: Mapping[str, Axes]) -> None:
    for axes in panels.values():
        axes.set_ylim(bottom=0)
    panels["utilization"].set_ylim(0, 1.05)
    if "window" in panels:
        legend_above(panels["window"])
    if len(panels["queue"].get_legend_handles_labels()[0]) > 1:
        legend_above(panels["queue"])


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


def _check_sampled(result: Result) -> None:
    if len(result.columns("link_series")["t_s"]):
        return
    interval_s, duration_s = result.scenario.series_interval_s, result.scenario.duration_s
    why = '"off"' if interval_s is None else f"{interval_s:g} s, the run only {duration_s:g} s"
    raise InputError(f"nothing to draw: the run sampled no series (series_interval is {why})")


def _split(columns: Mapping[str, Any], entity: str, labels: Sequence[str]) -> Iterator[Line]:
    arrays = {name: to_numpy(column) for name, column in columns.items()}
    owner, t_s = arrays.pop(entity), arrays.pop("t_s")
    if not len(t_s):
        return
    starts = np.flatnonzero(np.diff(owner, prepend=owner[0] + 1))
    for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
        values = {name: array[start:end] for name, array in arrays.items()}
        yield Line(labels[int(owner[start])], t_s[start:end], values)


def _cycle(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]
