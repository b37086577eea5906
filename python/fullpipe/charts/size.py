"""Pictures of a sizing: buffers against numbers of flows, and what each buffer gives and costs."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from fullpipe.charts.style import STYLE, label, legend_below, pens
from fullpipe.errors import InputError
from fullpipe.metrics import axis
from fullpipe.runs.aggregate import estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curve_figure", "sizing_figure"]

RULES = {
    "rule_bdp_packets": ("one BDP", "-"),
    "rule_sqrt_packets": ("BDP/√n", "--"),
    "rule_adaptive_full_packets": ("adaptive AIMD, closed form", ":"),
}


LONGEST_TITLE = 56
"""Characters of a panel's title in a line, at most."""


def sizing_figure(rows: Sequence[Mapping[str, Any]], column: str, what: str) -> Figure:
    """A panel per target: each algorithm's smallest buffer with the nearest buffers that are surely too small and
    surely enough, and the rules in gray.

    Args:
        rows: Those of `Sizing.rows`.
        column: What columns of sizes begin with.
        what: What was sized.
    """
    targets = list(dict.fromkeys(row["target"] for row in rows))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2 * len(targets) + 0.8, 5.2), layout="constrained")
        panels = figure.subplots(1, len(targets), sharey=True, squeeze=False)[0]
        for panel, target in zip(panels, targets, strict=True):
            _draw(panel, rows, target, f"{column}_packets")
            panel.set_title(_title(what, target))
        panels[0].set_ylabel(f"{what}, packets")
        legend_below(panels[0])
    return figure


def _title(what: str, target: str) -> str:
    goal = f"target {target}" if "=" in target else f"{100 * float(target):g} % utilization"
    return "\n".join(textwrap.wrap(f"smallest {what} for {goal}", LONGEST_TITLE))


def _draw(panel: Axes, every: Sequence[Mapping[str, Any]], target: str, size: str) -> None:
    rows = sorted((row for row in every if row["target"] == target), key=lambda row: row["flows"])
    flows = list(dict.fromkeys(row["flows"] for row in rows))
    first = {row["flows"]: row for row in rows}
    for rule, (name, style) in RULES.items():
        values = [first[n][rule] for n in flows]
        panel.plot(flows, values, color="#888888", linestyle=style, linewidth=1, label=name)
    algorithms = list(dict.fromkeys(row["algorithm"] for row in every))
    for look, algorithm in zip(pens(algorithms, marked=True), algorithms, strict=True):
        found = [row for row in rows if row["algorithm"] == algorithm and row[size] is not None]
        sizes = [row[size] for row in found]
        below = [row[size] - min(row["sure_low_packets"] or 1, row[size]) for row in found]
        above = [max(row["sure_high_packets"] or 0, row[size]) - row[size] for row in found]
        panel.errorbar(
            [row["flows"] for row in found],
            sizes,
            yerr=[below, above],
            **look,
            markersize=4,
            capsize=2,
            label=label(algorithm),
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(flows, [str(n) for n in flows])
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(ScalarFormatter())
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("flows (bars: 95 % CI)")


def curve_figure(tried: Sequence[Mapping[str, Any]], column: str, what: str) -> Figure:
    """A panel per number of flows: each algorithm's utilization against the 99th percentile of the queueing delay,
    means over the seeds, from the smallest buffer to the largest. Full marks are those that no other buffer of any
    algorithm beats in both; the ends are labeled with their buffers in packets.

    Args:
        tried: Rows of `Sizing.runs`.
        column: What columns of sizes begin with.
        what: What was sized.

    Raises:
        InputError: No run has a 99th percentile.
    """
    points: dict[int, dict[str, dict[int, list[tuple[float, float]]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for run in tried:
        if run["p99_queueing_delay_s"] is not None:
            at = 1e3 * run["p99_queueing_delay_s"], 100 * run["utilization"]
            points[run["flows"]][run["algorithm"]][run[f"{column}_packets"]].append(at)
    if not points:
        raise InputError("nothing to draw: no run has a 99th percentile of the queueing delay")
    algorithms = list(dict.fromkeys(run["algorithm"] for run in tried))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2 * len(points) + 0.8, 5.2), layout="constrained")
        panels = figure.subplots(1, len(points), sharey=True, squeeze=False)[0]
        for panel, (flows, found) in zip(panels, sorted(points.items()), strict=True):
            lines = {
                algorithm: {size: _mean(runs) for size, runs in sorted(found[algorithm].items())}
                for algorithm in algorithms
                if algorithm in found
            }
            best = _front(point for line in lines.values() for point in line.values())
            for look, algorithm in zip(pens(algorithms, marked=True), algorithms, strict=True):
                _trace(panel, lines.get(algorithm, {}), best, look, label(algorithm))
            ends = {size: line[size] for line in lines.values() for size in (min(line), max(line))}
            for size, point in ends.items():
                panel.annotate(f"{size:,}", point, xytext=(4, -9), textcoords="offset points", fontsize=7)
            count = f"{flows} flow{'s' if flows > 1 else ''}"
            panel.set_title(f"{count}, {what} in packets\nfull marks: none has more and waits less")
            panel.set_xlabel(axis("p99_queueing_delay_s")[0])
            panel.set_xscale("symlog", linthresh=1)
            panel.xaxis.set_major_formatter(ScalarFormatter())
        panels[0].set_ylabel(axis("utilization")[0])
        legend_below(panels[0])
    return figure


def _mean(runs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return estimate([x for x, _ in runs]).mean, estimate([y for _, y in runs]).mean


def _front(points: Iterable[tuple[float, float]]) -> set[tuple[float, float]]:
    """The points (delay, utilization) that no other beats in both."""
    best: set[tuple[float, float]] = set()
    highest = -1.0
    for delay, used in sorted(points, key=lambda point: (point[0], -point[1])):
        if used > highest:
            best.add((delay, used))
            highest = used
    return best


def _trace(
    panel: Axes,
    line: Mapping[int, tuple[float, float]],
    best: set[tuple[float, float]],
    look: Mapping[str, Any],
    name: str,
) -> None:
    hollow: dict[str, Any] = {"markersize": 4, "markerfacecolor": "white", "linewidth": 1}
    panel.plot([x for x, _ in line.values()], [y for _, y in line.values()], **look, **hollow, label=name)
    for point in best.intersection(line.values()):
        panel.plot(*point, **{**look, "linestyle": ""}, markersize=4)
