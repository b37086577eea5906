"""Specification of a plot: panels with axes and marks. `draw` and `page` show it; nothing here knows matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fullpipe._util.text import shorten
from fullpipe.plots.looks import Look

__all__ = ["Area", "Axis", "Bars", "Line", "Note", "Panel", "Plot", "Rule", "Span", "label", "moving_mean", "thinned"]

Values = NDArray[np.float64]

Limits = tuple[float | None, float | None]

LONGEST_LABEL = 60
"""Maximum number of characters of a name in a plot."""

MARGIN = 0.05
"""Space between the data and the ends of an axis, as a fraction of the range of the data."""

COLUMNS = 2000
"""Columns of pixels in which a long line keeps its extremes: more than a plot of 9 in at 160 dots/in has."""


@dataclass
class Axis:
    """An axis of a panel.

    Attributes:
        label: Title with the unit.
        scale: Scale of the values; "symlog" is linear between 0 and 1.
        limits: Values at the ends; None for an end that follows the data.
        ticks: Places with their names; None for ticks that follow the data.
        reversed: Whether values grow to the left or downwards.
        rotation: Angle of the names of the ticks, in degrees.
    """

    label: str = ""
    scale: Literal["linear", "log", "symlog"] = "linear"
    limits: Limits = (None, None)
    ticks: Sequence[tuple[float, str]] | None = None
    reversed: bool = False
    rotation: float = 0.0

    def name(self, places: Iterable[float], names: Iterable[object]) -> None:
        """Sets the ticks."""
        self.ticks = [(place, str(name)) for place, name in zip(places, names, strict=True)]


@dataclass(frozen=True)
class Line:
    """Points, joined by a line, marked, or both. ``error`` has the lengths of error bars, downwards and upwards."""

    x: Values
    y: Values
    look: Look
    label: str = ""
    error: tuple[Values, Values] | None = None


@dataclass(frozen=True)
class Bars:
    """Bars from ``base`` to ``base + lengths`` at ``places`` of the other axis; ``across`` for horizontal bars."""

    places: Values
    lengths: Values
    thickness: float
    colours: Sequence[str]
    base: Values
    label: str = ""
    across: bool = False
    shown: Sequence[str] = ()


@dataclass(frozen=True)
class Area:
    """Region between two lines."""

    x: Values
    low: Values
    high: Values
    colour: str
    alpha: float
    label: str = ""


@dataclass(frozen=True)
class Rule:
    """Straight line through the whole panel, ``level`` or ``upright``."""

    kind: Literal["level", "upright"]
    at: float
    look: Look
    label: str = ""


@dataclass(frozen=True)
class Span:
    """Stretch of the horizontal axis with another background."""

    low: float
    high: float
    colour: str
    alpha: float = 1.0


@dataclass(frozen=True)
class Note:
    """Text near a point; ``offset`` is in points."""

    text: str
    x: float
    y: float
    offset: tuple[float, float]


Mark = Line | Bars | Area | Rule | Span | Note


@dataclass
class Panel:
    """A pair of axes and its marks.

    Attributes:
        title: Title on the left, above the panel.
        x: Horizontal axis.
        y: Vertical axis.
        marks: Marks in the order of drawing.
        legend: Whether the panel has a legend.
    """

    title: str = ""
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    marks: list[Mark] = field(default_factory=list)
    legend: bool = False

    @property
    def lines(self) -> list[Line]:
        """The lines among the marks."""
        return [mark for mark in self.marks if isinstance(mark, Line)]

    def line(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        label: str | None = None,
        error: tuple[ArrayLike, ArrayLike] | None = None,
        **look: Unpack[Look],
    ) -> None:
        """Adds a line or points. A long line is thinned (`thinned`)."""
        xs, ys = thinned(_values(x), _values(y))
        bounds = None if error is None else (_values(error[0]), _values(error[1]))
        self.marks.append(Line(xs, ys, look, label or "", bounds))

    def bars(
        self,
        places: ArrayLike,
        lengths: ArrayLike,
        colours: str | Sequence[str],
        *,
        thickness: float = 0.8,
        base: ArrayLike | None = None,
        label: str | None = None,
        across: bool = False,
        shown: Sequence[str] = (),
    ) -> None:
        """Adds bars; ``shown`` are texts at their ends."""
        at, long = _values(places), _values(lengths)
        each = [colours] * len(at) if isinstance(colours, str) else list(colours)
        start = np.zeros(len(at)) if base is None else _values(base)
        self.marks.append(Bars(at, long, thickness, each, start, label or "", across, shown))

    def area(
        self, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, *, alpha: float, label: str = ""
    ) -> None:
        """Fills the region between two lines."""
        self.marks.append(Area(_values(x), _values(low), _values(high), colour, alpha, label))

    def level(self, at: float, *, label: str = "", **look: Unpack[Look]) -> None:
        """Draws a horizontal line through the whole panel."""
        self.marks.append(Rule("level", at, look, label))

    def upright(self, at: float, *, label: str = "", **look: Unpack[Look]) -> None:
        """Draws a vertical line through the whole panel."""
        self.marks.append(Rule("upright", at, look, label))

    def span(self, low: float, high: float, colour: str, *, alpha: float = 1.0) -> None:
        """Shades a stretch of the horizontal axis."""
        self.marks.append(Span(low, high, colour, alpha))

    def note(self, text: str, x: float, y: float, offset: tuple[float, float]) -> None:
        """Writes a text near a point."""
        self.marks.append(Note(text, x, y, offset))

    def data(self, axis: Literal["x", "y"]) -> list[Values]:
        """Values of the marks along an axis."""
        found: list[Values] = []
        for mark in self.marks:
            match mark:
                case Line():
                    low, high = mark.error or (np.zeros(1), np.zeros(1))
                    found += [mark.x] if axis == "x" else [mark.y - low, mark.y + high]
                case Area():
                    found += [mark.x] if axis == "x" else [mark.low, mark.high]
                case Bars() if mark.across == (axis == "x"):
                    found += [mark.base, mark.base + mark.lengths]
                case Bars():
                    found += [mark.places - mark.thickness / 2, mark.places + mark.thickness / 2]
                case Rule() if (mark.kind == "upright") == (axis == "x"):
                    found.append(np.array([mark.at]))
                case _:
                    pass
        return found


@dataclass
class Plot:
    """Panels in rows and columns.

    Attributes:
        rows: The panels, row by row.
        title: Title of the whole plot.
        width: Width in inches.
        height: Height in inches.
        heights: Relative heights of the rows; empty for equal ones.
        share_x: Panels with a common horizontal axis: "all", those of a "col", or "none".
        share_y: Panels with a common vertical axis: those of a "row", or "none".
        over_time: Whether the horizontal axes show time, which pages let the reader zoom.
        legend: One legend below all panels.
    """

    rows: list[list[Panel]]
    title: str = ""
    width: float = 9.0
    height: float = 4.2
    heights: Sequence[float] = ()
    share_x: Literal["all", "col", "none"] = "all"
    share_y: Literal["row", "none"] = "row"
    over_time: bool = False
    legend: bool = False

    @classmethod
    def grid(cls, rows: int, columns: int = 1, **settings: Any) -> Plot:
        """A plot of empty panels."""
        return cls([[Panel() for _ in range(columns)] for _ in range(rows)], **settings)

    @property
    def panels(self) -> list[Panel]:
        """All panels, row by row."""
        return [panel for row in self.rows for panel in row]

    def sharing(self, panel: Panel, axis: Literal["x", "y"]) -> list[Panel]:
        """The panels that share an axis with a panel, the panel included."""
        at = next((r, c) for r, row in enumerate(self.rows) for c, each in enumerate(row) if each is panel)
        if axis == "y":
            return self.rows[at[0]] if self.share_y == "row" else [panel]
        if self.share_x == "all":
            return self.panels
        return [row[at[1]] for row in self.rows] if self.share_x == "col" else [panel]

    def limits(self, panel: Panel, axis: Literal["x", "y"]) -> tuple[float, float]:
        """Values at the ends of a panel's axis, in ascending order."""
        together = self.sharing(panel, axis)
        axes: list[Axis] = [getattr(each, axis) for each in together]
        low, high = (next((a.limits[i] for a in axes if a.limits[i] is not None), None) for i in (0, 1))
        log = any(each.scale == "log" for each in axes)
        values = np.concatenate([np.zeros(0), *(found for each in together for found in each.data(axis))])
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        least, most = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
        if log:
            room = max(most / least, 1.1) ** MARGIN
            return least / room if low is None else low, most * room if high is None else high
        room = MARGIN * ((most - least) or 1.0)
        return least - room if low is None else low, most + room if high is None else high


def label(name: object) -> str:
    """A name from outside, cut to a length that plots can show."""
    return shorten(str(name), LONGEST_LABEL)


def moving_mean(values: Values, samples: int) -> Values:
    """Mean of the ``samples`` nearest samples, of those that have a value; fewer at the ends.

    Differences of running sums make long windows as fast as short ones.
    """
    known = np.isfinite(values)
    count = max(1, min(samples, len(values)))
    ends = np.arange(len(values)) + (count - 1) // 2 + 1
    high, low = np.minimum(ends, len(values)), np.maximum(ends - count, 0)
    counts = _running_sum(known)[high] - _running_sum(known)[low]
    sums = _running_sum(np.where(known, values, 0.0))
    mean: Values = np.full(len(values), np.nan)
    np.divide(sums[high] - sums[low], counts, out=mean, where=counts > 0)
    return mean


def _running_sum(values: NDArray[np.float64]) -> Values:
    return np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))


def thinned(x: Values, y: Values, columns: int = COLUMNS) -> tuple[Values, Values]:
    """Samples of a line that a plot can show: of each column of pixels the first, last, least, and greatest.

    Lines between these cover the pixels of lines between all samples (Jugel et al., "M4", VLDB 2014). The ends of
    stretches without a value stay too. A line with few samples is returned as it is.

    Args:
        x: Places in ascending order; a line with other places is returned as it is.
        y: Samples; NaN where there is none.
        columns: Number of columns.
    """
    if len(x) <= 4 * columns or not (x[1:] >= x[:-1]).all():
        return x, y
    column = np.minimum((x - x[0]) * (columns / (x[-1] - x[0])), columns - 1).astype(np.int32)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(column))
    gaps = np.isnan(y)
    kept = [starts, ends - 1]
    for reduce in (np.fmin.reduceat, np.fmax.reduceat):
        extreme = np.repeat(reduce(y, starts), ends - starts)
        kept.append(_first_of_each(y == extreme, column))
    if gaps.any():
        kept.append(np.flatnonzero(gaps & ~np.roll(gaps, 1)) if gaps.sum() < columns else _first_of_each(gaps, column))
    places = np.unique(np.concatenate(kept))
    return x[places], y[places]


def _first_of_each(chosen: NDArray[np.bool_], column: NDArray[np.int32]) -> NDArray[np.intp]:
    """Place of the first chosen sample in each column."""
    places = np.flatnonzero(chosen)
    return places[np.flatnonzero(np.diff(column[places], prepend=-1))]


def _values(values: ArrayLike) -> Values:
    """Numbers as an array; NaN for None."""
    return np.atleast_1d(np.asarray(values, dtype=np.float64))
