"""Plots of a sizing: buffers against numbers of flows, and utilization against delay."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fullpipe._util.plain import Table
from fullpipe.errors import InputError
from fullpipe.metrics import axis
from fullpipe.plots.looks import Look, pens
from fullpipe.plots.spec import Panel, Plot, label
from fullpipe.runs.aggregate import estimate

__all__ = ["curve_plot", "front", "sizing_plot"]

RULES = {
    "rule_bdp_packets": ("one BDP", "-"),
    "rule_sqrt_packets": ("BDP/√n", "--"),
    "rule_adaptive_full_packets": ("adaptive AIMD, analytical", ":"),
}
"""Names and dashes of the analytical sizing rules."""

LONGEST_TITLE = 56
"""Maximum number of characters in a line of a panel's title."""


def sizing_plot(rows: Sequence[Table], column: str, what: str) -> Plot:
    """A panel per target: each algorithm's smallest buffer with its 95 % confidence interval, and the rules in gray.

    Args:
        rows: Rows of `Sizing.rows`.
        column: Prefix of the columns of sizes.
        what: Name of the buffer.
    """
    targets = list(dict.fromkeys(row["target"] for row in rows))
    plot = Plot.grid(1, len(targets), width=5.2 * len(targets) + 0.8, height=5.2, share_x="none", legend=True)
    for panel, target in zip(plot.panels, targets, strict=True):
        _draw(panel, rows, target, f"{column}_packets")
        panel.title = _title(what, target)
    plot.panels[0].y.label = f"{what[:1].upper()}{what[1:]} (packets)"
    return plot


def _title(what: str, target: str) -> str:
    goal = f"target {target}" if "=" in target else f"{100 * float(target):g} % utilization"
    return "\n".join(textwrap.wrap(f"smallest {what} for {goal}", LONGEST_TITLE))


def _draw(panel: Panel, every: Sequence[Table], target: str, size: str) -> None:
    rows = sorted((row for row in every if row["target"] == target), key=lambda row: row["flows"])
    flows = list(dict.fromkeys(row["flows"] for row in rows))
    first = {row["flows"]: row for row in rows}
    for rule, (name, style) in RULES.items():
        panel.line(flows, [first[n][rule] for n in flows], color="#888888", linestyle=style, linewidth=1, label=name)
    algorithms = list(dict.fromkeys(row["algorithm"] for row in every))
    for look, algorithm in zip(pens(algorithms, marked=True), algorithms, strict=True):
        found = [row for row in rows if row["algorithm"] == algorithm and row[size] is not None]
        sizes = [row[size] for row in found]
        below = [row[size] - min(row["sure_low_packets"] or 1, row[size]) for row in found]
        above = [max(row["sure_high_packets"] or 0, row[size]) - row[size] for row in found]
        counts = [row["flows"] for row in found]
        panel.line(counts, sizes, error=(below, above), **(look | {"markersize": 4}), label=label(algorithm))
    panel.x.scale = panel.y.scale = "log"
    panel.x.name(flows, flows)
    panel.x.label = "Flows (bars: 95 % CI)"


def curve_plot(tried: Sequence[Table], column: str, what: str) -> Plot:
    """A panel per number of flows: each algorithm's utilization against the 99th percentile of the queueing delay,
    means over the seeds, from the smallest buffer to the largest. Full marks are Pareto-optimal: no other buffer of any
    algorithm has both more utilization and less delay. The ends are labeled with their buffers in packets.

    Args:
        tried: Rows of `Sizing.runs`.
        column: Prefix of the columns of sizes.
        what: Name of the buffer.

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
        raise InputError("the plot requires a run with a 99th percentile of the queueing delay")
    algorithms = list(dict.fromkeys(run["algorithm"] for run in tried))
    plot = Plot.grid(1, len(points), width=5.2 * len(points) + 0.8, height=5.2, share_x="none", legend=True)
    for panel, (flows, found) in zip(plot.panels, sorted(points.items()), strict=True):
        lines = {
            algorithm: {size: _mean(runs) for size, runs in sorted(found[algorithm].items())}
            for algorithm in algorithms
            if algorithm in found
        }
        best = front(point for line in lines.values() for point in line.values())
        for look, algorithm in zip(pens(algorithms, marked=True), algorithms, strict=True):
            _trace(panel, lines.get(algorithm, {}), best, look, label(algorithm))
        ends = {size: line[size] for line in lines.values() for size in (min(line), max(line))}
        for size, (x, y) in ends.items():
            panel.note(f"{size:,}", x, y, (4, -9))
        count = f"{flows} flow{'s' if flows > 1 else ''}"
        panel.title = f"{count}, {what} in packets\nfilled: no other has more utilization with less delay"
        panel.x.label = axis("p99_queueing_delay_s")[0]
        panel.x.scale = "symlog"
    plot.panels[0].y.label = axis("utilization")[0]
    return plot


def _mean(runs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return estimate([x for x, _ in runs]).mean, estimate([y for _, y in runs]).mean


def front(points: Iterable[tuple[float, float]]) -> set[tuple[float, float]]:
    """The points (delay, utilization) that are Pareto-optimal."""
    best: set[tuple[float, float]] = set()
    highest = -1.0
    for delay, used in sorted(points, key=lambda point: (point[0], -point[1])):
        if used > highest:
            best.add((delay, used))
            highest = used
    return best


def _trace(
    panel: Panel, line: Mapping[int, tuple[float, float]], best: set[tuple[float, float]], look: Look, name: str
) -> None:
    hollow: Look = look | {"markersize": 4, "markerfacecolor": "white", "linewidth": 1}
    panel.line([x for x, _ in line.values()], [y for _, y in line.values()], **hollow, label=name)
    full: Look = look | {"linestyle": "none", "markersize": 4}
    for x, y in best.intersection(line.values()):
        panel.line(x, y, **full)
