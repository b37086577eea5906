"""Plot of a duel: harm of each algorithm to the other over the buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fullpipe._util.plain import Table
from fullpipe.metrics import axis
from fullpipe.plots.looks import pens
from fullpipe.plots.spec import Plot, label

__all__ = ["duel_plot"]

BESIDE = 0.06
"""Distance between the points of one buffer, so that no interval hides another."""


def duel_plot(rows: Sequence[Table], titles: Mapping[str, str]) -> Plot:
    """A panel per mix: the harm to each algorithm's goodput, with 95 % confidence intervals.

    Args:
        rows: Rows of `Duel.rows`.
        titles: Titles of the mixes.
    """
    mixes, buffers, algorithms = (
        list(dict.fromkeys(row[key] for row in rows)) for key in ("mix", "buffer", "algorithm")
    )
    plot = Plot.grid(1, len(mixes), width=4.6 * len(mixes) + 0.8, share_x="none", legend=True)
    for panel, mix in zip(plot.panels, mixes, strict=True):
        for i, (look, algorithm) in enumerate(zip(pens(algorithms, marked=True), algorithms, strict=True)):
            own = [row for row in rows if (row["mix"], row["algorithm"]) == (mix, algorithm)]
            known = [row for row in own if row["goodput_harm"] is not None]
            halves = [row["goodput_harm_ci95"] or 0.0 for row in known]
            panel.line(
                [buffers.index(row["buffer"]) + BESIDE * (i - (len(algorithms) - 1) / 2) for row in known],
                [row["goodput_harm"] for row in known],
                error=(halves, halves),
                **(look | {"markersize": 4}),
                label=f"to {label(algorithm)}",
            )
        panel.title = titles.get(mix, mix)
        panel.x.name(range(len(buffers)), ("as it is" if each is None else label(each) for each in buffers))
        panel.x.limits = (-0.5, len(buffers) - 0.5)
        panel.x.label = "Buffer"
        panel.y.limits = (0, 1)
    plot.panels[0].y.label = axis("goodput_harm")[0]
    return plot
