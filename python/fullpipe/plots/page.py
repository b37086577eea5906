"""Plots as plain values for pages, which draw them in their own colors and let the reader see the values."""

from __future__ import annotations

import base64
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from fullpipe.plots.looks import LOOKS, PIXELS_A_POINT, Look
from fullpipe.plots.spec import Area, Bars, Line, Mark, Panel, Plot, Rule

__all__ = ["packed", "page_values"]

BUCKETS = 800
"""Stretches of the time axis; of each, a line's least and greatest sample are kept."""

DIGITS = 6
"""Significant digits of points and bars."""

LINE_WIDTH = 1.2
"""Width of a line whose look has none, in points."""

DASHES = {"-": "", "--": "6 4", ":": "2 3", "-.": "6 3 2 3"}
"""Dashes of matplotlib in pixels."""

COLOURS: dict[str, str] = {shades["light"]: name for name, shades in LOOKS["colours"].items()} | {
    shades["light"]: f"link-{i}" for i, shades in enumerate(LOOKS["links"])
}
"""Names of the colors of `LOOKS`, of which a page has a shade for each scheme."""


class Packed(TypedDict):
    """Numbers in two bytes each, of ``low`` (0) to ``high`` (65534); 65535 where there is no value."""

    low: float
    high: float
    codes: str


def page_values(plot: Plot) -> dict[str, object]:
    """The plot ready for JSON.

    ``kind`` is ``time`` for series over time without markers, with samples packed on one grid (`packed`), else
    ``plot``. Colors of `LOOKS` have their names, other greys are ``neutral``, ``faint``, or ``text``.
    """
    marked = any(line.look.get("marker") for panel in plot.panels for line in panel.lines)
    if marked or not plot.over_time:
        shown = [{**_panel(plot, panel), "marks": _marks(panel)} for panel in plot.panels]
        return {"kind": "plot", "title": plot.title, "panels": shown}
    ends = [plot.limits(panel, "x") for panel in plot.panels]
    low, high = max(0.0, min(low for low, _ in ends)), max(high for _, high in ends)
    grid = Grid(low, high)
    shown = [{**_panel(plot, panel), **_series(panel, grid)} for panel in plot.panels]
    return {"kind": "time", "title": plot.title, "from": low, "to": high, "places": 2 * BUCKETS, "panels": shown}


def packed(values: NDArray[np.float64]) -> Packed:
    """Numbers packed for a page."""
    known = np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    scaled = np.where(known, (values - low) / ((high - low) or 1.0) * 65534, 65535)
    codes = np.round(np.nan_to_num(scaled)).astype("<u2").tobytes()
    return {"low": low, "high": high, "codes": base64.b64encode(codes).decode("ascii")}


class Grid:
    """Grid of two places in each of many equal stretches of time."""

    def __init__(self, low: float, high: float) -> None:
        self.edges = np.linspace(low, high, BUCKETS + 1)
        self.places = np.linspace(low, high, 4 * BUCKETS + 1)[1::2]

    def sampled(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """A line on the grid: the least and the greatest sample of each stretch in their order; between distant samples
        a straight line.
        """
        if not len(x):
            return np.full(len(self.places), np.nan)
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


def _panel(plot: Plot, panel: Panel) -> dict[str, object]:
    """Title and axes."""
    return {"title": panel.title, "x": _axis(plot, panel, "x"), "y": _axis(plot, panel, "y")}


def _axis(plot: Plot, panel: Panel, name: Literal["x", "y"]) -> dict[str, object]:
    own = getattr(panel, name)
    together = [getattr(each, name) for each in plot.sharing(panel, name)]
    ends = plot.limits(panel, name)
    low, high = ends[::-1] if any(each.reversed for each in together) else ends
    label = own.label or (next((each.label for each in together if each.label), "") if name == "x" else "")
    log = any(each.scale == "log" for each in together)
    found: dict[str, object] = {"log": log, "from": _short(low), "to": _short(high), "label": label}
    ticks = own.ticks or next((each.ticks for each in together if each.ticks), None)
    return {**found, "ticks": [[_short(place), text] for place, text in ticks]} if ticks else found


def _series(panel: Panel, grid: Grid) -> dict[str, object]:
    """Lines and areas on the grid, and straight lines."""
    lines = [{**_pen(line.look, line.label), "y": packed(grid.sampled(line.x, line.y))} for line in panel.lines]
    areas = [
        {
            "colour": _colour(area.colour),
            "label": area.label,
            "low": packed(grid.sampled(area.x, area.low)),
            "high": packed(grid.sampled(area.x, area.high)),
        }
        for area in panel.marks
        if isinstance(area, Area)
    ]
    return {"lines": lines, "areas": areas, "rules": _some(panel, Rule)}


def _marks(panel: Panel) -> list[dict[str, object]]:
    """Bars below areas, lines above them."""
    return [*_some(panel, Bars), *_some(panel, Area), *_some(panel, Line), *_some(panel, Rule)]


def _some(panel: Panel, kind: type[Mark]) -> list[dict[str, object]]:
    return [found for mark in panel.marks if isinstance(mark, kind) and (found := _mark(mark))]


def _mark(mark: Mark) -> dict[str, object] | None:
    """A mark's values; None for a line without a point."""
    match mark:
        case Line():
            points = [[_short(x), _short(y)] for x, y in zip(mark.x, mark.y, strict=True) if np.isfinite((x, y)).all()]
            found = {"type": "line", **_pen(mark.look, mark.label), "points": points} if points else None
            if found and mark.error is not None:
                found["error"] = [[_short(low), _short(high)] for low, high in zip(*mark.error, strict=True)]
            return found
        case Bars():
            known = np.isfinite(mark.base) & np.isfinite(mark.lengths)
            boxes = [
                [base, place - mark.thickness / 2, length, mark.thickness]
                if mark.across
                else [place - mark.thickness / 2, base, mark.thickness, length]
                for place, base, length in zip(mark.places[known], mark.base[known], mark.lengths[known], strict=True)
            ]
            return {
                "type": "bars",
                "label": mark.label,
                "across": mark.across,
                "colours": [_colour(colour) for colour, shown in zip(mark.colours, known, strict=True) if shown],
                "boxes": [[_short(value) for value in box] for box in boxes],
            }
        case Area():
            there, back = zip(mark.x, mark.low, strict=True), zip(mark.x[::-1], mark.high[::-1], strict=True)
            points = [[_short(x), _short(y)] for x, y in (*there, *back)]
            return {"type": "area", "colour": _colour(mark.colour), "points": points}
        case Rule():
            return {"type": mark.kind, "at": _short(mark.at), **_pen(mark.look, mark.label)}
    return None


def _pen(look: Look, label: str) -> dict[str, object]:
    marker = look.get("marker")
    return {
        "label": label,
        "colour": _colour(look.get("color", "#000000")),
        "dash": _dash(look),
        "width": _short(look.get("linewidth", LINE_WIDTH)),
        "alpha": look.get("alpha", 1.0),
        "marker": marker,
        **({"hollow": True} if look.get("markerfacecolor") in ("none", "white") else {}),
    }


def _dash(look: Look) -> str | None:
    """A dash for SVG; None for points without a line."""
    style = look.get("linestyle", "-")
    if style == "none" or isinstance(style, str):
        return DASHES.get(style)
    return " ".join(f"{length * PIXELS_A_POINT:g}" for length in style[1])


def _colour(colour: str) -> str:
    shade = colour[:7]
    if shade in COLOURS:
        return COLOURS[shade]
    red, green, blue = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    if max(red, green, blue) - min(red, green, blue) > 8:
        return shade
    return "faint" if red > 0xA8 else "text" if red < 0x30 else "neutral"


def _short(value: float) -> float:
    return float(f"{float(value):.{DIGITS}g}")
