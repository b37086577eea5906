"""Plots drawn by matplotlib, for screens and for papers, and written to files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, ScalarFormatter

from fullpipe._util.files import check_picture, staged_file
from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.plots.looks import STYLES, Style
from fullpipe.plots.spec import Area, Axis, Bars, Line, Note, Panel, Plot, Rule, Span

if TYPE_CHECKING:
    import os

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["STYLE", "STYLES", "Drawing", "Style", "drawn", "figure", "write"]

PROCESS_SETTINGS = ("backend", "date.epoch", "docstring.", "figure.max_open_warning", "figure.raise_window")
"""Beginnings of the settings of matplotlib that belong to the process, not to a plot."""

STYLE: Any = {
    # Settings of the user, such as text.usetex, change no plot.
    **{key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith(PROCESS_SETTINGS)},
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "path.simplify_threshold": 0.5,
    # Type 42 is TrueType, which publishers ask for; the default, Type 3, is refused by many.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 160,
    "svg.hashsalt": "fullpipe",
}

PAPER: Any = {
    **STYLE,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.titlesize": 8,
    "axes.titleweight": "normal",
    "font.size": 8,
    "grid.linewidth": 0.4,
    "legend.fontsize": 7,
    "legend.handlelength": 2.4,
    "lines.linewidth": 1.0,
    "savefig.dpi": 600,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}

NARROW, WIDE = 3.4, 7.0
"""Widths of plots in papers, in inches: one column, and both."""

LEAST_HEIGHT = 1.1
"""Height of a row of panels in a paper, in inches, at least."""


class Drawing(Figure):
    """Figure that notebooks show without pyplot, so nothing has to be closed."""

    def _repr_png_(self) -> bytes:
        found = io.BytesIO()
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", MISSING)
            self.savefig(found, format="png")
        return found.getvalue()


def drawn(plot: Plot, path: str | os.PathLike[str] | None = None, style: Style = "screen") -> Figure:
    """The plot as a figure, written to a file too where there is a path."""
    if style not in STYLES:
        raise InputError(unknown("style", style, STYLES))
    if path is not None:
        check_picture(path)
    found = figure(plot, style)
    if path is not None:
        write(found, path, style)
    return found


def figure(plot: Plot, style: Style = "screen") -> Figure:
    """A figure of matplotlib."""
    paper = style != "screen"
    columns = len(plot.rows[0])
    width, height = plot.width, plot.height
    if paper:
        width = WIDE if style == "paper-wide" or columns > 1 else NARROW
        height = max(plot.height * width / plot.width, LEAST_HEIGHT * len(plot.rows) + 0.4)
    with mpl.rc_context(PAPER if paper else STYLE):
        found = Drawing(figsize=(width, height), layout="constrained")
        places = found.subplots(
            len(plot.rows),
            columns,
            sharex=plot.share_x,
            sharey=plot.share_y,
            squeeze=False,
            height_ratios=list(plot.heights) or None,
        )
        for axes, panel in zip(places.flat, plot.panels, strict=True):
            title, label = _short_titles(panel, len(plot.rows)) if paper else (panel.title, panel.y.label)
            _draw(axes, panel, title, label)
        if plot.title and not paper:
            found.suptitle(_text(plot.title), x=0.01, ha="left", fontsize=10, fontweight="bold")
        named = [axes for axes, panel in zip(places.flat, plot.panels, strict=True) if panel.legend]
        if plot.legend:
            _legend_below(places[:1, 0])
        elif paper:
            _legend_below(named)
        else:
            for axes in named:
                _legend_above(axes)
    return found


def write(figure: Figure, path: str | os.PathLike[str], style: Style = "screen") -> None:
    """Writes a figure whole or not at all. Equal figures give equal bytes.

    Raises:
        InputError: The suffix is unknown, or the directory is missing.
        OSError: The disk is full or failing.
    """
    check_picture(path)
    kind = Path(path).suffix.lower()
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    found = io.BytesIO()
    with mpl.rc_context(STYLE if style == "screen" else PAPER), warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING)
        figure.savefig(found, format=kind[1:], metadata=dates.get(kind))
    with staged_file(path) as stage:
        stage.write_bytes(found.getbuffer())


MISSING = r"Glyph .* missing from font"
"""matplotlib's warning for characters that no installed font has; they become boxes."""


def _short_titles(panel: Panel, rows: int) -> tuple[str, str]:
    """Title and vertical label of a panel in a paper, without repeated words. Low panels have no room for a vertical
    label, and get their unit in the title.
    """
    title, label = panel.title, panel.y.label
    stem, _, unit = label.rpartition(" (")
    if not title or not stem or not title.startswith(stem):
        return title, label
    return (f"{title} ({unit}", "") if rows > 1 else ("", label)


def _draw(axes: Axes, panel: Panel, title: str, label: str) -> None:
    """Draws the marks of a panel, then its axes."""
    for mark in panel.marks:
        _MARKS[type(mark)](axes, mark)
    if title:
        axes.set_title(_text(title))
    axes.set_xlabel(_text(panel.x.label))
    axes.set_ylabel(_text(label))
    _draw_axis(axes, panel.x, "x")
    _draw_axis(axes, panel.y, "y")


def _draw_axis(axes: Axes, axis: Axis, name: Literal["x", "y"]) -> None:
    of = axes.xaxis if name == "x" else axes.yaxis
    scale = axes.set_xscale if name == "x" else axes.set_yscale
    limit = axes.set_xlim if name == "x" else axes.set_ylim
    if axis.scale == "log":
        scale("log")
        if axis.ticks is None and name == "y":
            of.set_major_locator(LogLocator(subs=(1, 2, 5)))
            of.set_major_formatter(ScalarFormatter())
            of.set_minor_formatter(NullFormatter())
    elif axis.scale == "symlog":
        scale("symlog", linthresh=1)
        of.set_major_formatter(ScalarFormatter())
    if axis.ticks is not None:
        of.set_ticks([place for place, _ in axis.ticks], [_text(text) for _, text in axis.ticks])
        of.set_minor_locator(NullLocator())
    if axis.rotation:
        axes.tick_params(name, rotation=axis.rotation)
    low, high = axis.limits
    if low is not None or high is not None:
        limit(low, high)
    if axis.reversed:
        of.set_inverted(True)


def _line(axes: Axes, mark: Line) -> None:
    if mark.error is None:
        axes.plot(mark.x, mark.y, **mark.look, label=_label(mark.label))
    else:
        axes.errorbar(mark.x, mark.y, yerr=np.stack(mark.error), **mark.look, capsize=2, label=_label(mark.label))


def _bars(axes: Axes, mark: Bars) -> None:
    label = _label(mark.label) or ""
    if mark.across:
        bars = axes.barh(mark.places, mark.lengths, mark.thickness, mark.base, color=list(mark.colours), label=label)
        axes.margins(x=0.15)
    else:
        bars = axes.bar(mark.places, mark.lengths, mark.thickness, mark.base, color=list(mark.colours), label=label)
    if mark.shown:
        axes.bar_label(bars, list(mark.shown), padding=3, fontsize=8)


def _area(axes: Axes, mark: Area) -> None:
    axes.fill_between(
        mark.x, mark.low, mark.high, color=mark.colour, alpha=mark.alpha, linewidth=0, label=_label(mark.label)
    )


def _rule(axes: Axes, mark: Rule) -> None:
    across = axes.axhline if mark.kind == "level" else axes.axvline
    across(mark.at, **mark.look, label=_label(mark.label))


def _span(axes: Axes, mark: Span) -> None:
    axes.axvspan(mark.low, mark.high, color=mark.colour, alpha=mark.alpha, linewidth=0)


def _note(axes: Axes, mark: Note) -> None:
    axes.annotate(_text(mark.text), (mark.x, mark.y), xytext=mark.offset, textcoords="offset points", fontsize=7)


_MARKS: dict[type, Callable[..., None]] = {Line: _line, Bars: _bars, Area: _area, Rule: _rule, Span: _span, Note: _note}


def _text(text: str) -> str:
    """A text that matplotlib shows as it is: ``$`` would begin a formula, and a leading ``_`` hide a line's name."""
    plain = text.replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{plain}" if plain.startswith("_") else plain


def _label(text: str) -> str | None:
    return _text(text) if text else None


def _legend_above(axes: Axes) -> None:
    """Puts the legend to the right of the title, in as many rows as it needs. With too many rows it goes below the
    figure, so that it covers nothing.
    """
    names = axes.get_legend_handles_labels()[1]
    if not names:
        return
    columns = _columns([_points_wide(name, BESIDE_NAMES) for name in names], _room(axes))
    if columns is None:
        _legend_below([axes])
    else:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=columns, borderaxespad=0.0, columnspacing=COLUMN_GAP
        )


def _legend_below(panels: Iterable[Axes]) -> None:
    """Puts a legend of some panels outside of them: below, or above where there is one below."""
    entries: dict[str, tuple[object, Artist]] = {}
    for axes in panels:
        handles, names = axes.get_legend_handles_labels()
        entries |= {name: (axes.figure, handle) for handle, name in zip(handles, names, strict=True)}
    if not entries:
        return
    of = next(iter(entries.values()))[0]
    assert isinstance(of, Figure)
    widest = max(_points_wide(name, BESIDE_NAMES) for name in entries)
    columns = max(1, min(4, len(entries), int(72 * of.get_figwidth() // widest)))
    place: Literal["outside upper center", "outside lower center"]
    place = "outside upper center" if of.legends else "outside lower center"
    of.legend([handle for _, handle in entries.values()], list(entries), loc=place, ncols=columns)


COLUMN_GAP = 1.2
"""Space between the columns of a legend, in widths of its font."""

BESIDE_NAMES = 2.8 + COLUMN_GAP
"""Width of an entry of a legend without its name, in widths of the font: the line, and gaps."""

MOST_ROWS = 3
"""Maximum number of rows of a legend in the line of the title."""

PANEL = 0.9
"""Part of its place that a panel fills in width; the rest has numbers and units."""


def _room(axes: Axes) -> float:
    """Space to the right of the title of a panel, in points."""
    place = axes.get_subplotspec()
    assert isinstance(axes.figure, Figure)
    width = 72 * axes.figure.get_figwidth() / (1 if place is None else place.get_gridspec().ncols)
    title = axes.get_title(loc="left")
    return PANEL * width - max(_points_wide(line, 1.0, STYLE["axes.titlesize"]) for line in title.split("\n"))


def _columns(widths: Sequence[float], room: float) -> int | None:
    """The largest number of columns that fits; None where even one column has too many rows. Legends are filled column
    by column.
    """
    for columns in range(len(widths), 0, -1):
        parts = np.array_split(np.asarray(widths), columns)
        if len(parts[0]) > MOST_ROWS:
            return None
        if sum(part.max() for part in parts) <= room:
            return columns
    return None


def _points_wide(text: str, more: float, size: float = STYLE["legend.fontsize"]) -> float:
    """Approximate width of a text, with ``more`` widths of its font."""
    return size * (LETTER * len(text) + more)


LETTER = 0.6
"""Width of a letter, in widths of its font."""
