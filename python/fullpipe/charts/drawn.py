"""What a picture shows, as plain values: a page draws it again in its own colors, and lets values be read off."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.category import StrCategoryLocator
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

from fullpipe.charts.looks import LOOKS
from fullpipe.charts.style import PIXELS_A_POINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

__all__ = ["drawn", "packed"]

BUCKETS = 800
"""Places along an axis of time; of each, a line's least and greatest sample are kept."""

MANY = 60
"""Samples from which on a line is a series, to be zoomed."""

DIGITS = 6
"""Of values that are drawn as points and bars."""

DASHES = {"-": "", "--": "6 4", ":": "2 3", "-.": "6 3 2 3"}
"""Of matplotlib's own dashes; the house's are `LOOKS`'s."""

HOUSE: dict[str, str] = {shades["light"]: name for name, shades in LOOKS["colours"].items()} | {
    shades["light"]: f"link-{i}" for i, shades in enumerate(LOOKS["links"])
}
"""The names of the house's colors, of which a page has a shade for each scheme."""


def drawn(figure: Figure) -> dict[str, object]:
    """The figure's panels with their axes and marks, ready for JSON.

    Its ``kind`` is ``time`` where all panels show series over time, with samples packed on one grid (`packed`), else
    ``plot``. Colors of the house have its names (`LOOKS`), other greys are ``neutral``, ``faint`` or ``text``.
    """
    panels = [axes for axes in figure.axes if axes.axison]
    title = figure.get_suptitle()
    if panels and all(_is_series(axes) for axes in panels):
        low = max(0.0, min(axes.get_xlim()[0] for axes in panels))
        high = max(axes.get_xlim()[1] for axes in panels)
        grid = _Grid(low, high)
        shown = [{**_panel(axes), **_series(axes, grid)} for axes in panels]
        return {"kind": "time", "title": title, "from": low, "to": high, "places": 2 * BUCKETS, "panels": shown}
    return {"kind": "plot", "title": title, "panels": [{**_panel(axes), "marks": _marks(axes)} for axes in panels]}


def packed(values: NDArray[np.float64]) -> dict[str, object]:
    """Numbers in two bytes each, between the least and the greatest; the last code is for those without a value."""
    known = np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    scaled = np.where(known, (values - low) / ((high - low) or 1.0) * 65534, 65535)
    codes = np.round(np.nan_to_num(scaled)).astype("<u2").tobytes()
    return {"low": low, "high": high, "codes": base64.b64encode(codes).decode("ascii")}


class _Grid:
    """Two places for each of many equal stretches of time: a line's least and greatest sample there, as they come."""

    def __init__(self, low: float, high: float) -> None:
        self.edges = np.linspace(low, high, BUCKETS + 1)
        self.places = np.linspace(low, high, 4 * BUCKETS + 1)[1::2]

    def sampled(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """A line on the grid's places; between distant samples as it is drawn, straight."""
        inside = (x >= self.edges[0]) & (x <= self.edges[-1])
        found = np.interp(self.places, x, y, left=np.nan, right=np.nan)
        if inside.sum() <= BUCKETS:
            return found
        bucket = np.clip(np.searchsorted(self.edges, x[inside], side="right") - 1, 0, BUCKETS - 1)
        samples = y[inside]
        starts = np.flatnonzero(np.diff(bucket, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(bucket)], strict=True):
            own = samples[start:end]
            if np.isfinite(own).any():
                first, second = sorted((int(np.nanargmin(own)), int(np.nanargmax(own))))
                found[2 * bucket[start] : 2 * bucket[start] + 2] = own[first], own[second]
        return found


def _is_series(axes: Axes) -> bool:
    """Whether a panel shows lines without markers over time."""
    lines = [line for line in axes.lines if _in_data(line) == (True, True)]
    over_time = axes.get_xlabel().startswith("time") or any(
        other.get_xlabel().startswith("time") for other in axes.get_shared_x_axes().get_siblings(axes)
    )
    plain = all(line.get_marker() in ("None", None, "", " ") for line in lines)
    long = any(len(_points(line)[0]) > MANY for line in lines) or bool(axes.collections)
    return over_time and plain and long and not axes.containers


def _panel(axes: Axes) -> dict[str, object]:
    """Title and axes."""
    shared = axes.get_shared_x_axes().get_siblings(axes)
    label = axes.get_xlabel() or next((other.get_xlabel() for other in shared if other.get_xlabel()), "")
    x = {**_axis(axes.xaxis, axes.get_xscale(), axes.get_xlim()), "label": label}
    y = {**_axis(axes.yaxis, axes.get_yscale(), axes.get_ylim()), "label": axes.get_ylabel()}
    return {"title": axes.get_title(loc="left") or axes.get_title(), "x": x, "y": y}


def _axis(axis: Axis, scale: str, limits: tuple[float, float]) -> dict[str, Any]:
    found: dict[str, Any] = {"log": scale == "log", "from": _short(limits[0]), "to": _short(limits[1])}
    if isinstance(axis.get_major_locator(), FixedLocator | StrCategoryLocator):
        ticks = zip(axis.get_ticklocs(), (each.get_text() for each in axis.get_ticklabels()), strict=False)
        found["ticks"] = [[_short(float(place)), text] for place, text in ticks]
    return found


def _series(axes: Axes, grid: _Grid) -> dict[str, Any]:
    """A panel's lines on the grid, what is shaded between two lines, and straight marks."""
    lines = [
        {**_pen(line), "y": packed(grid.sampled(*_points(line)))}
        for line in axes.lines
        if _in_data(line) == (True, True)
    ]
    areas = []
    for area in axes.collections:
        low, high = _bounds(area, grid)
        look = {"colour": _colour(area.get_facecolor()[0]), "label": _label(area.get_label())}
        areas.append({**look, "low": packed(low), "high": packed(high)})
    return {"lines": lines, "areas": areas, "rules": _rules(axes)}


def _bounds(area: Any, grid: _Grid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lower and upper edge of what `fill_between` filled, on the grid."""
    edges = [path.vertices for path in area.get_paths()]
    low, high = np.full(len(grid.places), np.nan), np.full(len(grid.places), np.nan)
    for corners in edges:
        # There along one edge and back along the other, with a corner more at each turn.
        turn = len(corners) // 2
        sides = [side[np.argsort(side[:, 0], kind="stable")] for side in (corners[:turn], corners[turn:])]
        one, other = (grid.sampled(side[:, 0], side[:, 1]) for side in sides)
        known = np.isfinite(one) & np.isfinite(other)
        low[known], high[known] = np.minimum(one, other)[known], np.maximum(one, other)[known]
    return low, high


def _marks(axes: Axes) -> list[dict[str, Any]]:
    """Bars below lines, lines below what stands alone."""
    found = [_bars(each) for each in axes.containers if isinstance(each, BarContainer)]
    for area in axes.collections:
        for path in area.get_paths():
            corners = [[_short(x), _short(y)] for x, y in np.asarray(path.vertices)]
            found.append({"type": "area", "colour": _colour(area.get_facecolor()[0]), "points": corners})
    for line in axes.lines:
        if _in_data(line) == (True, True):
            x, y = _points(line)
            known = np.isfinite(x) & np.isfinite(y)
            points = [[_short(a), _short(b)] for a, b in zip(x[known], y[known], strict=True)]
            if points:
                found.append({"type": "line", **_pen(line), "points": points})
    return found + _rules(axes)


def _bars(bars: BarContainer) -> dict[str, object]:
    rectangles = [bar for bar in bars.patches if isinstance(bar, Rectangle)]
    return {
        "type": "bars",
        "label": _label(bars.get_label()),
        "across": bars.orientation == "horizontal",
        "colours": [_colour(bar.get_facecolor()) for bar in rectangles],
        "boxes": [
            [_short(v) for v in (bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height())] for bar in rectangles
        ],
    }


def _rules(axes: Axes) -> list[dict[str, Any]]:
    """Lines across a whole panel, up or along."""
    found = []
    for line in axes.lines:
        along, up = _in_data(line)
        if along != up:
            place = _points(line)[0 if along else 1][0]
            found.append({"type": "upright" if along else "level", "at": _short(place), **_pen(line)})
    return found


def _in_data(line: Line2D) -> tuple[bool, bool]:
    """Whether a line's places along and up are values."""
    assert line.axes is not None
    along, up = line.get_transform().contains_branch_seperately(line.axes.transData)
    return along, up


def _points(line: Line2D) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where a line goes; NaN where it has gaps."""
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    return _with_gaps(x), _with_gaps(y)


def _with_gaps(values: object) -> NDArray[np.float64]:
    return np.asarray(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan), dtype=float)


def _pen(line: Line2D) -> dict[str, object]:
    marker = line.get_marker()
    return {
        "label": _label(line.get_label()),
        "colour": _colour(line.get_color()),
        "dash": _dash(line),
        "width": _short(line.get_linewidth()),
        "alpha": 1.0 if line.get_alpha() is None else line.get_alpha(),
        "marker": None if marker in ("None", None, "", " ") else str(marker),
        **({"hollow": True} if str(line.get_markerfacecolor()) == "none" else {}),
    }


def _dash(line: Line2D) -> str | None:
    """As SVG has it; None for points without a line."""
    style = str(line.get_linestyle())
    if style in ("None", "", " "):
        return None
    lengths = line._unscaled_dash_pattern[1]  # type: ignore[attr-defined]  # matplotlib tells it nowhere else
    if style != "--" or tuple(lengths) == DASHED:
        return DASHES[style]
    return " ".join(f"{length * PIXELS_A_POINT:g}" for length in lengths)


DASHED = (3.7, 1.6)
"""matplotlib's ``--``, by which it calls every other dash too."""


def _label(label: object) -> str:
    text = str(label)
    return "" if text.startswith("_") else text.replace("\\$", "$").lstrip("\N{ZERO WIDTH SPACE}")


def _colour(colour: Any) -> str:
    shade = to_hex(colour)
    if shade in HOUSE:
        return HOUSE[shade]
    red, green, blue = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    if max(red, green, blue) - min(red, green, blue) > 8:
        return shade
    return "faint" if red > 0xA8 else "text" if red < 0x30 else "neutral"


def _short(value: float) -> float:
    return float(f"{float(value):.{DIGITS}g}")
