"""Pictures of results: windows, queue, utilization and RTT over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fullpipe.charts.style import STYLE, label, legend_above, link_pen, moving_mean, pens, thinned
from fullpipe.errors import InputError
from fullpipe.metrics import axis, metric
from fullpipe.runs.tables import to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.runs.tables import Columns

__all__ = ["Line", "Sampled", "comparison_figure", "flow_series", "link_series", "run_figure"]

FEW = 6
"""Flows drawn each with a color of its own; more are drawn thin, with their mean."""

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
    """A flow's or a link's samples.

    Attributes:
        label: What it is called.
        t_s: When they were taken.
        values: The columns.
        algorithm: A flow's; empty for a link.
    """

    label: str
    t_s: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]
    algorithm: str = ""


def flow_series(run: Sampled) -> list[Line]:
    """Each flow's samples, labeled with its group and id."""
    flows = run.tables["flows"]
    names = [f"{label(name)} #{flow}" for flow, name in zip(to_numpy(flows["id"]), flows["name"], strict=True)]
    return list(_split(run.tables["series"], "flow", names, list(flows["algorithm"])))


def link_series(run: Sampled) -> list[Line]:
    """Each link's samples, labeled with its name."""
    names = [label(name) for name in run.tables["links"]["name"]]
    return list(_split(run.tables["link_series"], "link", names, [""] * len(names)))


def run_figure(run: Sampled) -> Figure:
    """One run: the flows' windows and RTTs, the links' queues and utilizations; without flows the links' alone.

    Of many flows the mean of each group is drawn bold, and so is, of their links, the mean over a fiftieth of the run,
    which the time axis says.
    The other direction of a link is dashed, where more than a few ACKs go that way.
    """
    flows, links = flow_series(run), link_series(run)
    smooth = len(flows) > FEW
    with mpl.rc_context(STYLE):
        shown = [Panel(name) for name in (PANELS if flows else OF_LINKS)]
        figure, panels = _panels(run, shown, means="links bold" if smooth else None)
        if flows:
            _draw_flows(panels["window"], flows, "cwnd_packets", threshold="ssthresh_packets")
            _draw_flows(panels["rtt"], flows, "rtt_s", scale=1e3)
        for i, line in enumerate(links):
            _draw_link(panels, line, link_pen(i), line.label, smooth=smooth)
        if any(map(_carries_back, links)):
            panels["queue"].plot([], [], color="#666666", linestyle=BACK, linewidth=THIN, label="the other direction")
        _finish(panels, run)
        if len(panels["queue"].get_legend_handles_labels()[0]) > 1:
            legend_above(panels["queue"])
    return figure


def comparison_figure(runs: Mapping[str, Sampled]) -> Figure:
    """Several runs of one scenario in one picture: of each, the mean over its flows, and its links, each in panels of
    its own; of more than `MOST_LINKS` those that the first run uses most. The other direction is dashed, as for
    `run_figure`.

    Where many flows share the links, or other traffic does, what is drawn bold is the mean over a fiftieth of the run,
    over the samples; the time axis says so.
    """
    first = next(iter(runs.values()))
    busy = len(first.tables["flows"]["id"]) > FEW or len(first.tables["traffic"]["kind"]) > 0
    with mpl.rc_context(STYLE):
        samples = {name: (flow_series(run), link_series(run)) for name, run in runs.items()}
        with_flows = any(flows for flows, _ in samples.values())
        links = _busiest(first)
        mean = ", mean of the flows" if len(first.tables["flows"]["id"]) > 1 else ""
        of_links = [
            Panel(
                panel,
                i,
                f" of {label(first.tables['links']['name'][i])}" if len(first.tables["links"]["name"]) > 1 else "",
            )
            for i in links
            for panel in OF_LINKS
        ]
        shown = [Panel("window", more=mean), *of_links, Panel("rtt")] if with_flows else of_links
        figure, panels = _panels(first, shown, means="bold" if busy else None)
        looks = pens(_algorithm(name, run) for name, run in runs.items())
        for look, (name, (flows, every)) in zip(looks, samples.items(), strict=True):
            for panel, figure_name, scale in (("window", "cwnd_packets", 1.0), ("rtt", "rtt_s", 1e3)) if flows else ():
                t_s, values = _mean(flows, figure_name)
                _draw(panels[panel], t_s, values * scale, look, label(name), smooth=busy)
            for i in links:
                own = {panel: panels[f"{panel} {i}"] for panel in OF_LINKS}
                _draw_link(own, every[i], look, label(name), smooth=busy)
        _finish(panels, first)
        first_panel = next(iter(panels.values()))
        if any(_carries_back(every[i]) for _, every in samples.values() for i in links):
            first_panel.plot([], [], color="#666666", linestyle=BACK, linewidth=THIN, label="thin: the other direction")
        legend_above(first_panel)
    return figure


MOST_LINKS = 6
"""Links of a comparison drawn."""

BACK = (0, (3, 1.5))
"""Dashes of the other direction."""

THIN = 0.7
"""And their width."""

FEW_ACKS = {"reverse_queue_packets": 1.0, "reverse_utilization": 0.1}
"""What a direction that carries ACKs alone stays within."""


def _algorithm(name: str, run: Sampled) -> str:
    """What a run of a comparison is of: the algorithm of all its flows; where these have several, what it is called."""
    algorithms = set(run.tables["flows"]["algorithm"])
    return algorithms.pop() if len(algorithms) == 1 else name


def _busiest(run: Sampled) -> list[int]:
    """The links with the largest utilizations, in their order."""
    used = to_numpy(run.tables["links"]["utilization"])
    return sorted(sorted(range(len(used)), key=lambda i: -used[i])[:MOST_LINKS])


def _carries_back(link: Line) -> bool:
    """Whether more goes the other way than a few ACKs."""
    return any(name in link.values and np.nanmax(link.values[name]) > most for name, most in FEW_ACKS.items())


def _draw_link(panels: Mapping[str, Axes], link: Line, look: Mapping[str, object], name: str, *, smooth: bool) -> None:
    """A link's queue and utilization, both directions."""
    for panel, figure in zip(OF_LINKS, ("queue_packets", "utilization"), strict=True):
        shown = name if panel == "queue" else None
        scale = axis(figure)[1]
        _draw(panels[panel], link.t_s, scale * link.values[figure], look, shown, smooth=smooth)
        if _carries_back(link):
            back = {**look, "linestyle": BACK, "linewidth": THIN}
            _draw(panels[panel], link.t_s, scale * link.values[f"reverse_{figure}"], back, None, smooth=smooth)


PANELS = {
    "window": ("cwnd_packets", 3.0),
    "queue": ("queue_packets", 2.0),
    "utilization": ("utilization", 1.4),
    "rtt": ("rtt_s", 2.0),
}
"""The panels over time: metric, and height as a fraction of the plot."""

OF_LINKS = ("queue", "utilization")
"""Those of links; the others need flows."""


@dataclass(frozen=True)
class Panel:
    """A panel: what it shows, one of `PANELS`; of which link, None for all; and what its title has besides."""

    what: str
    link: int | None = None
    more: str = ""

    @property
    def name(self) -> str:
        """What it is called among the others."""
        return self.what if self.link is None else f"{self.what} {self.link}"


def _panels(run: Sampled, panels: Sequence[Panel], *, means: str | None) -> tuple[Figure, dict[str, Axes]]:
    """Empty panels by their names; ``means`` says which lines are to be no samples, but means."""
    heights = [PANELS[panel.what][1] for panel in panels]
    figure = Figure(figsize=(9.0, 9.0 * sum(heights) / 8.4), layout="constrained")
    drawn = list(figure.subplots(len(panels), 1, sharex=True, height_ratios=heights))
    warmup_s = run.warmup_s
    for axes, panel in zip(drawn, panels, strict=True):
        name = PANELS[panel.what][0]
        axes.set_title(f"{metric(name).title}{panel.more}")
        axes.set_ylabel(axis(name)[0])
        if warmup_s > 0:
            axes.axvspan(0, warmup_s, color="#000000", alpha=0.05, linewidth=0)
    shaded = f" (shaded: the warm-up, {warmup_s:g} s)" if warmup_s > 0 else ""
    smooth = f"; {means}: means over {run.duration_s / PARTS:.3g} s" if means else ""
    drawn[-1].set_xlabel(f"time, s{shaded}{smooth}")
    drawn[-1].set_xlim(0, run.duration_s)
    return figure, {panel.name: axes for panel, axes in zip(panels, drawn, strict=True)}


def _draw_flows(axes: Axes, flows: list[Line], name: str, *, scale: float = 1.0, threshold: str | None = None) -> None:
    if len(flows) <= FEW:
        for look, line in zip(pens(line.algorithm for line in flows), flows, strict=True):
            _plot(axes, line.t_s, line.values[name], scale=scale, **look, label=line.label)
            if threshold is not None:
                limits = np.where(np.isfinite(line.values[threshold]), line.values[threshold], np.nan)
                _plot(axes, line.t_s, limits, color=look["color"], linestyle=(0, (4, 2)), linewidth=0.8, alpha=0.7)
        if threshold is not None:
            axes.plot([], [], color="#666666", linestyle=(0, (4, 2)), linewidth=0.8, label="ssthresh")
        return
    groups: dict[str, list[Line]] = {}
    for line in flows:
        groups.setdefault(line.label.rpartition(" #")[0], []).append(line)
    looks = pens(lines[0].algorithm for lines in groups.values())
    for look, (group, lines) in zip(looks, groups.items(), strict=True):
        for line in lines[: max(1, MOST // len(groups))]:
            _plot(axes, line.t_s, line.values[name], scale=scale, color=look["color"], linewidth=0.5, alpha=0.25)
        t_s, mean = _mean(lines, name)
        label = f"{group}, mean of {len(lines)} flows" if len(lines) > 1 else group
        _plot(axes, t_s, mean, scale=scale, **look, linewidth=1.8, label=label)


def _finish(panels: Mapping[str, Axes], run: Sampled) -> None:
    for name, axes in panels.items():
        if name.startswith("utilization"):
            axes.set_ylim(0, 105)
        else:
            _scale(axes, run.warmup_s or BEGINNING * run.duration_s)
    if "window" in panels:
        legend_above(panels["window"])


PARTS = 50
"""Of a run, over each of which a mean is taken where samples jump about."""

BEGINNING = 0.1
"""Part of a run without a warm-up that may go over the top of an axis."""

SQUASHED = 1.5
"""How far what comes first goes above all that follows before it is left out of an axis's range."""


def _scale(axes: Axes, settled_s: float) -> None:
    """Makes the axis as high as what comes after the first moments needs: slow start may go far above it, and the title
    then says how far.
    """
    first, later = 0.0, 0.0
    for line in axes.lines:
        t_s, values = (np.asarray(data, dtype=np.float64) for data in line.get_data())
        known = np.isfinite(values)
        first = max(first, values[known & (t_s < settled_s)].max(initial=0.0))
        later = max(later, values[known & (t_s >= settled_s)].max(initial=0.0))
    if first > SQUASHED * later > 0:
        axes.set_ylim(0, 1.1 * later)
        axes.set_title(f"{axes.get_title(loc='left')}, at first up to {first:,.4g}")
    else:
        axes.set_ylim(bottom=0)


def _draw(
    axes: Axes,
    t_s: NDArray[np.float64],
    values: NDArray[np.float64],
    look: Mapping[str, Any],
    label: str | None,
    *,
    smooth: bool,
) -> None:
    if smooth:
        _plot(axes, t_s, values, color=look["color"], linewidth=0.5, alpha=0.2)
        values = moving_mean(values, len(values) // PARTS)
    _plot(axes, t_s, values, **look, label=label)


def _plot(
    axes: Axes, t_s: NDArray[np.float64], values: NDArray[np.float64], *, scale: float = 1.0, **look: Any
) -> None:
    """Draws a line of the samples that a picture can show; matplotlib copies what it draws several times."""
    t_s, values = thinned(t_s, values)
    axes.plot(t_s, values * scale, **look)


def _mean(lines: list[Line], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean over the flows at each sample time, of those that have a value then; flow by flow, to save memory."""
    times = lines[0].t_s
    for line in lines[1:]:
        if not np.array_equal(times, line.t_s):
            times = np.union1d(times, line.t_s)
    counts, sums = np.zeros(len(times)), np.zeros(len(times))
    for line in lines:
        known = np.isfinite(line.values[name])
        places = np.searchsorted(times, line.t_s[known])
        counts[places] += 1
        sums[places] += line.values[name][known]
    return times, np.divide(sums, counts, out=np.full(len(times), np.nan), where=counts > 0)


def _split(columns: Mapping[str, Any], entity: str, labels: Sequence[str], algorithms: Sequence[str]) -> Iterator[Line]:
    arrays = {name: to_numpy(column) for name, column in columns.items()}
    owner, t_s = arrays.pop(entity), arrays.pop("t_s")
    if not len(t_s):
        return
    starts = np.concatenate(([0], np.flatnonzero(owner[1:] != owner[:-1]) + 1))
    for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
        values = {name: array[start:end] for name, array in arrays.items()}
        own = int(owner[start])
        yield Line(labels[own], t_s[start:end], values, algorithms[own])
