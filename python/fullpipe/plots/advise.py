"""Plot of an advice: a delay against a rate, a point per queue, and the Pareto-optimal ones."""

from __future__ import annotations

from collections.abc import Mapping

from fullpipe.metrics import axis
from fullpipe.plots.looks import MARKERS, Look, setting_pens
from fullpipe.plots.size import front
from fullpipe.plots.spec import Plot, label
from fullpipe.runs.aggregate import Estimate

__all__ = ["advice_plot"]

WIDE = 10
"""Ratio of the greatest and the least delay above which the axis is logarithmic."""

Point = tuple[Estimate | None, Estimate | None]


def advice_plot(
    x: str, y: str, points: Mapping[str, Point], best: str, calls: Mapping[str, float], limit_s: float
) -> Plot:
    """Means of two metrics with 95 % confidence intervals, a mark per queue. Full marks are Pareto-optimal.

    Args:
        x: Column of the horizontal axis, of which less is better.
        y: Column of the vertical axis, of which more is better.
        points: Estimates of both by queue; None without a value.
        best: Queue with the recommendation.
        calls: Part of the runs in which calls stay under their limit, by queue; empty without calls.
        limit_s: Limit of the frame delay of calls, drawn if the horizontal axis is a frame delay.
    """
    (x_label, x_scale), (y_label, y_scale) = axis(x), axis(y)
    known = {name: (one, other) for name, (one, other) in points.items() if one is not None and other is not None}
    optimal = front((one.mean, other.mean) for one, other in known.values())
    plot = Plot.grid(1, width=8.0, height=5.0, legend=True)
    (panel,) = plot.panels
    for i, (look, (name, (one, other))) in enumerate(zip(setting_pens(len(known)), known.items(), strict=True)):
        mark: Look = {
            **look,
            "linestyle": "none",
            "marker": MARKERS[i % len(MARKERS)],
            "markersize": 9 if name == best else 6,
            "markerfacecolor": look["color"] if (one.mean, other.mean) in optimal else "white",
        }
        half = y_scale * (other.ci95 or 0.0)
        text = label(f"{name} (recommended)" if name == best else name)
        panel.line([x_scale * one.mean], [y_scale * other.mean], error=([half], [half]), **mark, label=text)
    delays = [one.mean for one, _ in known.values()]
    if delays and min(delays) > 0 and max(delays) > WIDE * min(delays):
        panel.x.scale = "log"
    if x.endswith(".p99_frame_delay_s"):
        panel.upright(
            x_scale * limit_s, color="#888888", linestyle="--", label=f"limit of calls, {1e3 * limit_s:.0f} ms"
        )
    panel.x.label, panel.y.label = label(x_label), label(y_label)
    panel.title = _title(best, calls, limit_s)
    return plot


def _title(best: str, calls: Mapping[str, float], limit_s: float) -> str:
    """Result in a sentence, and the meaning of filled marks."""
    filled = "Filled marks: no other queue is better in both"
    if best not in calls:
        return f"{label(best)} is recommended\n{filled}"
    first, *_ = calls
    today = "" if first == best else f", and in {100 * calls[first]:.0f} % today"
    return (
        f"Calls stay under {1e3 * limit_s:.0f} ms in {100 * calls[best]:.0f} % of the runs with {label(best)}{today}\n"
        f"{filled}"
    )
