"""Plots of runs: windows, queue, utilization, and RTT over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fullpipe._util.plain import Table
from fullpipe.engine.tables import to_numpy
from fullpipe.errors import InputError
from fullpipe.metrics import axis, metric
from fullpipe.plots.looks import Look, link_pen, pens
from fullpipe.plots.spec import Panel, Plot, label, moving_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.engine.tables import Columns

__all__ = ["Line", "Sampled", "comparison_plot", "flow_series", "link_series", "phase_plot", "run_plot"]

FEW = 6
"""Maximum number of flows that have a color each; more flows are drawn thin, with their mean."""

MOST = 60
"""Maximum number of flows drawn."""


@dataclass(frozen=True)
class Sampled:
    """Series of a run, and its times.

    Attributes:
        tables: ``links``, ``flows``, ``traffic``, ``series`` and ``link_series`` by their columns.
        duration_s: Length of the run.
        warmup_s: Length of the warm-up, which averages leave out.
        interval_s: Time between samples; None where there are none.

    Raises:
        InputError: The run sampled no series.
    """

    tables: Mapping[str, Columns]
    duration_s: float
    warmup_s: float
    interval_s: float | None

    def __post_init__(self) -> None:
        if not len(self.tables["link_series"]["t_s"]):
            why = '"off"' if self.interval_s is None else f"{self.interval_s:g} s, the run only {self.duration_s:g} s"
            raise InputError(f"the plot requires series, and the run has none (series_interval is {why})")


@dataclass(frozen=True)
class Line:
    """Samples of a flow or a link.

    Attributes:
        label: Name in legends.
        t_s: Times of the samples.
        values: Columns of the series.
        algorithm: Algorithm of the flow; empty for a link.
    """

    label: str
    t_s: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]
    algorithm: str = ""


def flow_series(run: Sampled) -> list[Line]:
    """Samples of each flow, labeled with its group and id."""
    flows = run.tables["flows"]
    names = [f"{label(name)} #{flow}" for flow, name in zip(to_numpy(flows["id"]), flows["name"], strict=True)]
    return list(_split(run.tables["series"], "flow", names, list(flows["algorithm"])))


def link_series(run: Sampled) -> list[Line]:
    """Samples of each link, labeled with its name."""
    names = [label(name) for name in run.tables["links"]["name"]]
    return list(_split(run.tables["link_series"], "link", names, [""] * len(names)))


def run_plot(run: Sampled) -> Plot:
    """One run: windows and RTTs of the flows, queues and utilizations of the links; without flows the links alone.

    More than `FEW` flows are drawn thin, with the mean of each group in bold. Their links are drawn thin too, with the
    mean over a fiftieth of the run in bold, noted at the time axis. The reverse direction of a link is dashed, where
    it carries more than ACKs.
    """
    flows, links = flow_series(run), link_series(run)
    smooth = len(flows) > FEW
    plot, panels = _panels(
        run, [Place(name) for name in (PANELS if flows else OF_LINKS)], "links bold" if smooth else ""
    )
    if flows:
        _draw_flows(panels["window"], flows, "cwnd_packets", threshold="ssthresh_packets")
        _draw_flows(panels["rtt"], flows, "rtt_s", scale=1e3)
    for i, line in enumerate(links):
        _draw_link(panels, line, link_pen(i), line.label, smooth=smooth)
    if any(map(_carries_back, links)):
        _name_reverse(panels["queue"], "reverse direction")
    _finish(panels, run)
    if sum(bool(line.label) for line in panels["queue"].lines) > 1:
        panels["queue"].legend = True
    return plot


def phase_plot(run: Sampled) -> Plot:
    """Window of the second flow against the window of the first, over the whole run, with a line of equal windows.

    Raises:
        InputError: The run has fewer than two flows.
    """
    flows = flow_series(run)
    if len(flows) < 2:
        raise InputError("the plot of a window against another requires two flows")
    first, second = flows[:2]
    at = dict(zip(first.t_s.tolist(), first.values["cwnd_packets"], strict=True))
    pairs = [
        (at[t_s], value)
        for t_s, value in zip(second.t_s.tolist(), second.values["cwnd_packets"], strict=True)
        if t_s in at
    ]
    plot = Plot.grid(1, width=5.0, height=4.6)
    (panel,) = plot.panels
    most = float(np.nanmax(pairs)) if pairs else 1.0
    panel.line([0, most], [0, most], color="#888888", linestyle="--", linewidth=1)
    panel.line(
        [x for x, _ in pairs],
        [y for _, y in pairs],
        **(pens([second.algorithm])[0] | {"linewidth": 0.8, "linestyle": "-"}),
    )
    if pairs:
        panel.line([pairs[-1][0]], [pairs[-1][1]], color="#222222", linestyle="none", marker="o", markersize=5)
    title = axis("cwnd_packets")[0]
    panel.x.label, panel.y.label = f"{first.label}: {title}", f"{second.label}: {title}"
    panel.title = "Window against window; dot: the end"
    return plot


def comparison_plot(runs: Mapping[str, Sampled]) -> Plot:
    """Several runs of one scenario: the mean over the flows of each, and two panels per link; of more than
    `MOST_LINKS` links those that the first run uses most. The reverse direction is dashed, as in `run_plot`.

    Where many flows share the links, or cross traffic does, samples are drawn thin, and the mean over a fiftieth of the
    run in bold, noted at the time axis.
    """
    first = next(iter(runs.values()))
    busy = len(first.tables["flows"]["id"]) > FEW or len(first.tables["traffic"]["kind"]) > 0
    samples = {name: (flow_series(run), link_series(run)) for name, run in runs.items()}
    links = _busiest(first)
    names = first.tables["links"]["name"]
    of_links = [
        Place(panel, i, f" of {label(names[i])}" if len(names) > 1 else "") for i in links for panel in OF_LINKS
    ]
    mean = ", mean of the flows" if len(first.tables["flows"]["id"]) > 1 else ""
    with_flows = any(flows for flows, _ in samples.values())
    shown = [Place("window", more=mean), *of_links, Place("rtt")] if with_flows else of_links
    plot, panels = _panels(first, shown, "bold" if busy else "")
    looks = pens(f"{_algorithm(name, run)} {name}" for name, run in runs.items())
    for look, (name, (flows, every)) in zip(looks, samples.items(), strict=True):
        for panel, column, scale in (("window", "cwnd_packets", 1.0), ("rtt", "rtt_s", 1e3)) if flows else ():
            t_s, values = _mean(flows, column)
            _draw(panels[panel], t_s, values * scale, look, label(name), smooth=busy)
        for i in links:
            own = {panel: panels[f"{panel} {i}"] for panel in OF_LINKS}
            _draw_link(own, every[i], look, label(name), smooth=busy)
    _finish(panels, first)
    first_panel = plot.panels[0]
    if any(_carries_back(every[i]) for _, every in samples.values() for i in links):
        _name_reverse(first_panel, "thin: reverse direction")
    first_panel.legend = True
    return plot


MOST_LINKS = 6
"""Maximum number of links in a comparison."""

BACK: Look = {"linestyle": (0, (3, 1.5)), "linewidth": 0.7}
"""Style of the reverse direction."""

FEW_ACKS = {"reverse_queue_packets": 1.0, "reverse_utilization": 0.1}
"""Limits that a direction with ACKs alone does not exceed."""


def _name_reverse(panel: Panel, name: str) -> None:
    """Entry of the legend for the reverse direction."""
    panel.line([], [], **(BACK | {"color": "#666666"}), label=name)


def _algorithm(name: str, run: Sampled) -> str:
    """The algorithm of a run; the name of the run where its flows have several."""
    algorithms = set(run.tables["flows"]["algorithm"])
    return algorithms.pop() if len(algorithms) == 1 else name


def _busiest(run: Sampled) -> list[int]:
    """The links with the largest utilizations, in their order."""
    used = to_numpy(run.tables["links"]["utilization"])
    return sorted(sorted(range(len(used)), key=lambda i: -used[i])[:MOST_LINKS])


def _carries_back(link: Line) -> bool:
    """Whether the reverse direction carries more than ACKs."""
    return any(name in link.values and np.nanmax(link.values[name]) > most for name, most in FEW_ACKS.items())


def _draw_link(panels: Mapping[str, Panel], link: Line, look: Look, name: str, *, smooth: bool) -> None:
    """Draws queue and utilization of a link, both directions."""
    for panel, column in zip(OF_LINKS, ("queue_packets", "utilization"), strict=True):
        shown = name if panel == "queue" else None
        scale = axis(column)[1]
        _draw(panels[panel], link.t_s, scale * link.values[column], look, shown, smooth=smooth)
        if _carries_back(link):
            back: Look = {**look, **BACK}
            _draw(panels[panel], link.t_s, scale * link.values[f"reverse_{column}"], back, None, smooth=smooth)


PANELS = {
    "window": ("cwnd_packets", 3.0),
    "queue": ("queue_packets", 2.0),
    "utilization": ("utilization", 1.4),
    "rtt": ("rtt_s", 2.0),
}
"""Panels over time: metric, and relative height."""

OF_LINKS = ("queue", "utilization")
"""Panels of links; the others need flows."""


@dataclass(frozen=True)
class Place:
    """A panel of `PANELS`, its link (None for all), and an addition to its title."""

    what: str
    link: int | None = None
    more: str = ""

    @property
    def name(self) -> str:
        """Name of the panel among the others."""
        return self.what if self.link is None else f"{self.what} {self.link}"


def _panels(run: Sampled, places: Sequence[Place], means: str) -> tuple[Plot, dict[str, Panel]]:
    """Empty panels by their names; ``means`` names the lines that are means."""
    heights = [PANELS[place.what][1] for place in places]
    plot = Plot.grid(len(places), height=9.0 * sum(heights) / 8.4, heights=heights, over_time=True)
    for panel, place in zip(plot.panels, places, strict=True):
        name = PANELS[place.what][0]
        panel.title = f"{metric(name).title}{place.more}"
        panel.y.label = axis(name)[0]
        if run.warmup_s > 0:
            panel.span(0, run.warmup_s, "#000000", alpha=0.05)
    shaded = f"; shaded: warm-up of {run.warmup_s:g} s" if run.warmup_s > 0 else ""
    smooth = f"; {means}: means over {run.duration_s / PARTS:.3g} s" if means else ""
    last = plot.panels[-1]
    last.x.label = f"Time (s){shaded}{smooth}"
    last.x.limits = (0, run.duration_s)
    return plot, {place.name: panel for place, panel in zip(places, plot.panels, strict=True)}


def _draw_flows(
    panel: Panel, flows: list[Line], name: str, *, scale: float = 1.0, threshold: str | None = None
) -> None:
    if len(flows) <= FEW:
        for look, line in zip(pens(line.algorithm for line in flows), flows, strict=True):
            panel.line(line.t_s, line.values[name] * scale, **look, label=line.label)
            if threshold is not None:
                limits = np.where(np.isfinite(line.values[threshold]), line.values[threshold], np.nan)
                panel.line(line.t_s, limits, **(THRESHOLD | {"color": look["color"], "alpha": 0.7}))
        if threshold is not None:
            panel.line([], [], **(THRESHOLD | {"color": "#666666"}), label="ssthresh")
        return
    groups: dict[str, list[Line]] = {}
    for line in flows:
        groups.setdefault(line.label.rpartition(" #")[0], []).append(line)
    looks = pens(lines[0].algorithm for lines in groups.values())
    for look, (group, lines) in zip(looks, groups.items(), strict=True):
        for line in lines[: max(1, MOST // len(groups))]:
            panel.line(line.t_s, line.values[name] * scale, color=look["color"], linewidth=0.5, alpha=0.25)
        t_s, mean = _mean(lines, name)
        called = f"{group}, mean of {len(lines)} flows" if len(lines) > 1 else group
        panel.line(t_s, mean * scale, **(look | {"linewidth": 1.8}), label=called)


THRESHOLD: Look = {"linestyle": (0, (4, 2)), "linewidth": 0.8}
"""Style of the slow-start threshold."""


def _finish(panels: Mapping[str, Panel], run: Sampled) -> None:
    """Sets the vertical axes and the legend of the windows."""
    for name, panel in panels.items():
        if name.startswith("utilization"):
            panel.y.limits = (0, 105)
        else:
            _scale(panel, run.warmup_s or BEGINNING * run.duration_s)
    if "window" in panels:
        panels["window"].legend = True


PARTS = 50
"""Parts of a run over each of which a mean is drawn, where samples vary much."""

BEGINNING = 0.1
"""Part of a run without a warm-up that may exceed the vertical axis."""

SQUASHED = 1.5
"""Ratio of the maximum of the beginning to the later maximum above which the axis leaves the beginning out."""


def _scale(panel: Panel, settled_s: float) -> None:
    """Fits the vertical axis to the samples after the beginning: slow start may exceed them many times, and the title
    then names the maximum.
    """
    first, later = 0.0, 0.0
    for line in panel.lines:
        known = np.isfinite(line.y)
        first = max(first, line.y[known & (line.x < settled_s)].max(initial=0.0))
        later = max(later, line.y[known & (line.x >= settled_s)].max(initial=0.0))
    if first > SQUASHED * later > 0:
        panel.y.limits = (0, 1.1 * later)
        panel.title = f"{panel.title}, at first up to {first:,.4g}"
    else:
        panel.y.limits = (0, None)


def _draw(
    panel: Panel,
    t_s: NDArray[np.float64],
    values: NDArray[np.float64],
    look: Look,
    name: str | None,
    *,
    smooth: bool,
) -> None:
    if smooth:
        panel.line(t_s, values, color=look["color"], linewidth=0.5, alpha=0.2)
        values = moving_mean(values, len(values) // PARTS)
    panel.line(t_s, values, **look, label=name)


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


def _split(columns: Table, entity: str, labels: Sequence[str], algorithms: Sequence[str]) -> Iterator[Line]:
    arrays = {name: to_numpy(column) for name, column in columns.items()}
    owner, t_s = arrays.pop(entity), arrays.pop("t_s")
    if not len(t_s):
        return
    starts = np.concatenate(([0], np.flatnonzero(owner[1:] != owner[:-1]) + 1))
    for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
        values = {name: array[start:end] for name, array in arrays.items()}
        own = int(owner[start])
        yield Line(labels[own], t_s[start:end], values, algorithms[own])
