"""Pictures of results: windows, queue, utilization and RTT over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fullpipe.charts.style import STYLE, colours, label, legend_above, moving_mean
from fullpipe.errors import InputError
from fullpipe.runs.tables import to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.runs.tables import Columns

__all__ = ["Line", "Sampled", "comparison_figure", "flow_series", "link_series", "run_figure"]

FEW = 6
"""Flows drawn each with a colour of its own; more are drawn thin, with their mean."""

MOST = 60
"""Flows drawn at all."""


@dataclass(frozen=True)
class Sampled:
    """What a run gives a picture.

    Attributes:
        tables: ``links``, ``flows``, ``traffic``, ``series`` and ``link_series`` by their columns.
        duration_s: How long it is.
        warmup_s: The part at the beginning that averages leave out.
        interval_s: Time between samples; None where there are none.

    Raises:
        InputError: It sampled no series.
    """

    tables: Mapping[str, Columns]
    duration_s: float
    warmup_s: float
    interval_s: float | None

    def __post_init__(self) -> None:
        if not len(self.tables["link_series"]["t_s"]):
            why = '"off"' if self.interval_s is None else f"{self.interval_s:g} s, the run only {self.duration_s:g} s"
            raise InputError(f"nothing to draw: the run sampled no series (series_interval is {why})")


@dataclass(frozen=True)
class Line:
    """A flow's or a link's samples."""

    label: str
    t_s: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]


def flow_series(run: Sampled) -> list[Line]:
    """Each flow's samples, labelled with its group and id."""
    flows = run.tables["flows"]
    names = [f"{label(name)} #{flow}" for flow, name in zip(to_numpy(flows["id"]), flows["name"], strict=True)]
    return list(_split(run.tables["series"], "flow", names))


def link_series(run: Sampled) -> list[Line]:
    """Each link's samples, labelled with its name."""
    names = [label(name) for name in run.tables["links"]["name"]]
    return list(_split(run.tables["link_series"], "link", names))


def run_figure(run: Sampled) -> Figure:
    """One run: the flows' windows and RTTs, the links' queues and utilizations; without flows the links' alone.

    Of many flows the mean of each group is drawn bold, and so is, of their links, the mean over a fiftieth of the run.
    """
    flows, links = flow_series(run), link_series(run)
    with mpl.rc_context(STYLE):
        figure, panels = _panels(run, PANELS if flows else OF_LINKS)
        if flows:
            _draw_flows(panels["window"], flows, "cwnd_packets", threshold="ssthresh_packets")
            _draw_flows(panels["rtt"], flows, "rtt_s", scale=1e3)
        for colour, line in zip(colours(len(links)), links, strict=True):
            smooth = len(flows) > FEW
            _draw(panels["queue"], line.t_s, line.values["queue_packets"], colour, line.label, smooth=smooth)
            _draw(panels["utilization"], line.t_s, line.values["utilization"], colour, None, smooth=smooth)
        _finish(panels)
    return figure


def comparison_figure(runs: Mapping[str, Sampled]) -> Figure:
    """Several runs of one scenario in one picture: of each, the mean over its flows, and its first link.

    Where several flows share the link, what is drawn bold is the mean over a fiftieth of the run, over the samples.
    """
    first = next(iter(runs.values()))
    busy = len(first.tables["flows"]["id"]) > 1 or len(first.tables["traffic"]["kind"]) > 0
    with mpl.rc_context(STYLE):
        samples = {name: (flow_series(run), link_series(run)[0]) for name, run in runs.items()}
        figure, panels = _panels(first, PANELS if any(flows for flows, _ in samples.values()) else OF_LINKS)
        for colour, (name, (flows, link)) in zip(colours(len(samples)), samples.items(), strict=True):
            for panel, figure_name, scale in (("window", "cwnd_packets", 1.0), ("rtt", "rtt_s", 1e3)) if flows else ():
                t_s, mean = _mean(flows, figure_name)
                _draw(panels[panel], t_s, mean * scale, colour, label(name), smooth=busy)
            shown = None if "window" in panels else label(name)
            _draw(panels["queue"], link.t_s, link.values["queue_packets"], colour, shown, smooth=busy)
            _draw(panels["utilization"], link.t_s, link.values["utilization"], colour, None, smooth=busy)
        if len(first.tables["flows"]["id"]) > 1:
            panels["window"].set_title("congestion window, mean of the flows")
        if len(first.tables["links"]["name"]) > 1:
            for panel in OF_LINKS:
                panels[panel].set_title(f"{panel} of {label(first.tables['links']['name'][0])}")
        _finish(panels)
    return figure


PANELS = {
    "window": ("congestion window", "packets", 3.0),
    "queue": ("queue", "packets", 2.0),
    "utilization": ("utilization", "of capacity", 1.4),
    "rtt": ("round-trip time", "ms", 2.0),
}
"""The panels over time: title, unit, and height as a part of the picture's."""

OF_LINKS = ("queue", "utilization")
"""Those of links; the others need flows."""


def _panels(run: Sampled, names: Iterable[str]) -> tuple[Figure, dict[str, Axes]]:
    titles, units, heights = zip(*(PANELS[name] for name in names), strict=True)
    figure = Figure(figsize=(9.0, 9.0 * sum(heights) / 8.4), layout="constrained")
    panels = list(figure.subplots(len(titles), 1, sharex=True, height_ratios=heights))
    warmup_s = run.warmup_s
    for axes, title, unit in zip(panels, titles, units, strict=True):
        axes.set_title(title)
        axes.set_ylabel(unit)
        if warmup_s > 0:
            axes.axvspan(0, warmup_s, color="#000000", alpha=0.05, linewidth=0)
    panels[-1].set_xlabel("time, s" if warmup_s == 0 else f"time, s (shaded: the warm-up, {warmup_s:g} s)")
    panels[-1].set_xlim(0, run.duration_s)
    return figure, dict(zip(names, panels, strict=True))


def _draw_flows(axes: Axes, flows: list[Line], name: str, *, scale: float = 1.0, threshold: str | None = None) -> None:
    if len(flows) <= FEW:
        for colour, line in zip(colours(len(flows)), flows, strict=True):
            axes.plot(line.t_s, line.values[name] * scale, color=colour, label=line.label)
            if threshold is not None:
                limits = np.where(np.isfinite(line.values[threshold]), line.values[threshold], np.nan)
                axes.plot(line.t_s, limits, color=colour, linestyle=(0, (4, 2)), linewidth=0.8, alpha=0.7)
        if threshold is not None:
            axes.plot([], [], color="#666666", linestyle=(0, (4, 2)), linewidth=0.8, label="ssthresh")
        return
    groups: dict[str, list[Line]] = {}
    for line in flows:
        groups.setdefault(line.label.rpartition(" #")[0], []).append(line)
    for colour, (group, lines) in zip(colours(len(groups)), groups.items(), strict=True):
        for line in lines[: max(1, MOST // len(groups))]:
            axes.plot(line.t_s, line.values[name] * scale, color=colour, linewidth=0.5, alpha=0.25)
        t_s, mean = _mean(lines, name)
        axes.plot(t_s, mean * scale, color=colour, linewidth=1.8, label=f"{group}, mean of {len(lines)} flows")


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


def _split(columns: Mapping[str, Any], entity: str, labels: Sequence[str]) -> Iterator[Line]:
    arrays = {name: to_numpy(column) for name, column in columns.items()}
    owner, t_s = arrays.pop(entity), arrays.pop("t_s")
    if not len(t_s):
        return
    starts = np.flatnonzero(np.diff(owner, prepend=owner[0] + 1))
    for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
        values = {name: array[start:end] for name, array in arrays.items()}
        yield Line(labels[int(owner[start])], t_s[start:end], values)
