"""Plot of a search: how the value grew, and the flows of the worst network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fullpipe.metrics import axis
from fullpipe.plots.looks import pens
from fullpipe.plots.series import flow_series
from fullpipe.plots.spec import Plot, moving_mean

if TYPE_CHECKING:
    from fullpipe.plots.series import Sampled

__all__ = ["search_plot"]

SMOOTH_S = 1.0
"""Time over which goodputs are averaged, seconds."""


def search_plot(path: Sequence[Sequence[float]], evaluations: int, metric: str, run: Sampled | None) -> Plot:
    """The best value of the search so far, and the goodputs of the flows in one run of the worst network.

    Args:
        path: Number of evaluations and value, each time that the search found a better one.
        evaluations: Number of evaluations in the end.
        metric: What was maximized.
        run: The run; None if no network was feasible.
    """
    plot = Plot.grid(1, 1 if run is None else 2, width=11.0, height=4.2, share_x="none", share_y="none")
    best = plot.panels[0]
    best.title = "Best value of the search (one or two seeds)"
    best.x.label, best.y.label = "Networks measured", metric
    ends = [count for count, _ in path[1:]] + [evaluations]
    steps = [(at, value) for (count, value), end in zip(path, ends, strict=False) for at in (count, end)]
    best.line([at for at, _ in steps], [value for _, value in steps], color="#333333")
    if run is not None:
        flows = plot.panels[1]
        name, scale = axis("goodput_bps")
        flows.title = f"Worst network, means over {SMOOTH_S:g} s"
        flows.x.label, flows.y.label = "Time (s)", name
        flows.legend = True
        flows.span(0, run.warmup_s, "#000000", alpha=0.05)
        lines = flow_series(run)
        samples = max(1, round(SMOOTH_S / (run.interval_s or SMOOTH_S)))
        for look, line in zip(pens(line.algorithm for line in lines), lines, strict=True):
            flows.line(line.t_s, scale * moving_mean(line.values["goodput_bps"], samples), label=line.label, **look)
    return plot
