"""Plot of a report card: the comparison that decides each criterion, in units of its margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fullpipe.plots.looks import setting_pens
from fullpipe.plots.spec import Plot, label

__all__ = ["Point", "card_plot"]


@dataclass(frozen=True)
class Point:
    """Comparison that gives a criterion's verdict.

    Attributes:
        criterion: Section of RFC 9743.
        verdict: The verdict.
        difference: Difference from the baseline over the margin; positive is worse.
        ci95: Half of the width of its 95 % confidence interval, over the margin.
    """

    criterion: str
    verdict: str
    difference: float
    ci95: float


def card_plot(points: Sequence[Point], title: str) -> Plot:
    """Differences from the baseline, a column per criterion, a color per verdict. The margin is between the lines."""
    plot = Plot.grid(1, title=title, legend=True)
    (panel,) = plot.panels
    criteria = list(dict.fromkeys(point.criterion for point in points))
    verdicts = sorted({point.verdict for point in points})
    for verdict, look in zip(verdicts, setting_pens(len(verdicts)), strict=True):
        own = [point for point in points if point.verdict == verdict]
        halves = [point.ci95 for point in own]
        panel.line(
            [criteria.index(point.criterion) for point in own],
            [point.difference for point in own],
            error=(halves, halves),
            label=label(verdict),
            **(look | {"linestyle": "none", "marker": "o"}),
        )
    for at in (-1.0, 1.0):
        panel.level(at, color="gray", linestyle="--", linewidth=0.8)
    panel.x.name(range(len(criteria)), criteria)
    panel.x.limits = (-0.5, max(len(criteria), 1) - 0.5)
    panel.x.label = "Criterion (section of RFC 9743)"
    panel.y.label = "Difference from the baseline (margins)"
    panel.y.scale = "symlog"
    ends = [point.difference + side * point.ci95 for point in points for side in (-1, 1)]
    panel.y.limits = (1.6 * min([-1.0, *ends]), 1.6 * max([1.0, *ends]))
    return plot
