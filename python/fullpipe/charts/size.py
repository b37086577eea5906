"""The picture of a sizing: buffer against number of flows, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from fullpipe.charts.style import COLOURS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["sizing_figure"]

RULES = {
    "rule_bdp_packets": ("one BDP", "-"),
    "rule_sqrt_packets": ("BDP/√n", "--"),
    "rule_adaptive_full_packets": ("adaptive AIMD, closed form", ":"),
}


def sizing_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel per target: each algorithm's smallest buffer with the nearest buffers that are surely too small and
    surely enough, and the rules in grey.
    """
    targets = list(dict.fromkeys(row["target"] for row in rows))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2 * len(targets) + 0.8, 4.8), layout="constrained")
        panels = figure.subplots(1, len(targets), sharey=True, squeeze=False)[0]
        for panel, target in zip(panels, targets, strict=True):
            _draw(panel, rows, target)
        panels[0].set_ylabel("buffer, packets")
        panels[-1].legend(loc="best")
    return figure


def _draw(panel: Axes, every: Sequence[Mapping[str, Any]], target: float) -> None:
    rows = sorted((row for row in every if row["target"] == target), key=lambda row: row["flows"])
    flows = list(dict.fromkeys(row["flows"] for row in rows))
    first = {row["flows"]: row for row in rows}
    for rule, (label, style) in RULES.items():
        values = [first[n][rule] for n in flows]
        panel.plot(flows, values, color="#888888", linestyle=style, linewidth=1, label=label)
    for i, algorithm in enumerate(dict.fromkeys(row["algorithm"] for row in every)):
        found = [row for row in rows if row["algorithm"] == algorithm and row["buffer_packets"] is not None]
        buffers = [row["buffer_packets"] for row in found]
        below = [row["buffer_packets"] - min(row["sure_low_packets"] or 1, row["buffer_packets"]) for row in found]
        above = [max(row["sure_high_packets"] or 0, row["buffer_packets"]) - row["buffer_packets"] for row in found]
        panel.errorbar(
            [row["flows"] for row in found],
            buffers,
            yerr=[below, above],
            color=COLOURS[i % len(COLOURS)],
            marker="o",
            markersize=4,
            capsize=2,
            label=algorithm,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(flows, [str(n) for n in flows])
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(ScalarFormatter())
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("flows")
    panel.set_title(f"smallest buffer for {100 * target:g} % utilization")
