"""The house's style: one look for all pictures, and how they are written."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fullpipe._util.files import check_picture, staged_file
from fullpipe._util.text import shorten
from fullpipe.charts.looks import LOOKS

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = [
    "COLOURS",
    "PIXELS_A_POINT",
    "STYLE",
    "label",
    "legend_above",
    "legend_below",
    "link_pen",
    "moving_mean",
    "pen",
    "pens",
    "setting_pens",
    "thinned",
    "write",
    "written",
]

COLOURS = tuple(shades["light"] for shades in LOOKS["colours"].values())
"""For settings and kinds; an algorithm has its own (`pen`)."""

PROCESS_SETTINGS = ("backend", "date.epoch", "docstring.", "figure.max_open_warning", "figure.raise_window")
"""Beginnings of the settings of matplotlib that are of the process and not of a picture."""

STYLE: Any = {
    # Settings of the user, such as text.usetex, change no picture.
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
    "savefig.dpi": 160,
    "svg.hashsalt": "fullpipe",
}

LONGEST_LABEL = 60
"""Characters of a name in a picture, at most."""


def label(name: object) -> str:
    """A name from outside as pictures show it: as it is, whatever matplotlib would take it for (``$`` begins formulas,
    a leading ``_`` hides a line from the legend).
    """
    text = shorten(str(name), LONGEST_LABEL).replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def moving_mean(values: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
    """Mean of the ``samples`` nearest samples, of those that have a value; fewer at the ends.

    Differences of running sums, so that long windows cost no more than short ones.
    """
    known = np.isfinite(values)
    count = max(1, min(samples, len(values)))
    ends = np.arange(len(values)) + (count - 1) // 2 + 1
    high, low = np.minimum(ends, len(values)), np.maximum(ends - count, 0)
    counts = _running_sum(known)[high] - _running_sum(known)[low]
    sums = _running_sum(np.where(known, values, 0.0))
    mean: NDArray[np.float64] = np.full(len(values), np.nan)
    np.divide(sums[high] - sums[low], counts, out=mean, where=counts > 0)
    return mean


def _running_sum(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))


COLUMNS = 2000
"""Stretches of time in which a long line keeps its extremes: more than a picture of 9 in at 160 dots/in has columns."""


def thinned(
    t_s: NDArray[np.float64], values: NDArray[np.float64], columns: int = COLUMNS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples of a line that a picture can show: of each column of pixels the first, last, least and greatest.

    Lines between these cover the same pixels as lines between all samples (Jugel et al., "M4", VLDB 2014). The ends of
    stretches without a value stay too. A line with few samples is returned as it is.

    Args:
        t_s: Times in ascending order, in seconds.
        values: Samples; NaN where there is none.
        columns: Number of columns.
    """
    if len(t_s) <= 4 * columns:
        return t_s, values
    column = np.minimum((t_s - t_s[0]) * (columns / (t_s[-1] - t_s[0])), columns - 1).astype(np.int32)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(column))
    gaps = np.isnan(values)
    kept = [starts, ends - 1]
    for reduce in (np.fmin.reduceat, np.fmax.reduceat):
        extreme = np.repeat(reduce(values, starts), ends - starts)
        kept.append(_first_of_each(values == extreme, column))
    if gaps.any():
        kept.append(np.flatnonzero(gaps & ~np.roll(gaps, 1)) if gaps.sum() < columns else _first_of_each(gaps, column))
    places = np.unique(np.concatenate(kept))
    return t_s[places], values[places]


def _first_of_each(chosen: NDArray[np.bool_], column: NDArray[np.int32]) -> NDArray[np.intp]:
    """Place of the first chosen sample in each column."""
    places = np.flatnonzero(chosen)
    return places[np.flatnonzero(np.diff(column[places], prepend=-1))]


def legend_above(axes: Axes) -> None:
    """Puts the legend beside the title, in as many rows as its names take; below the picture where these are too many.
    It hides nothing.
    """
    names = axes.get_legend_handles_labels()[1]
    if not names:
        return
    columns = _columns([_points_wide(name, BESIDE_NAMES) for name in names], _room(axes))
    if columns is None:
        legend_below(axes)
    else:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=columns, borderaxespad=0.0, columnspacing=COLUMN_GAP
        )


def legend_below(axes: Axes) -> None:
    """Puts the legend outside the picture: below, or above where there is one below."""
    entries = axes.get_legend_handles_labels()
    if entries[0] and isinstance(axes.figure, Figure):
        below: Literal["outside lower center"] = "outside lower center"
        axes.figure.legend(*entries, loc="outside upper center" if axes.figure.legends else below, ncols=4)


COLUMN_GAP = 1.2
"""Between the columns of a legend, in widths of its font."""

BESIDE_NAMES = 2.8 + COLUMN_GAP
"""What an entry of a legend has beside its name, in widths of the font: the line, and gaps."""

MOST_ROWS = 3
"""Rows that a legend beside the title may have."""

PANEL = 0.9
"""How much of its place a panel takes in width; numbers and units stand in the rest."""


def _room(axes: Axes) -> float:
    """What a panel leaves beside its title, points."""
    place = axes.get_subplotspec()
    assert isinstance(axes.figure, Figure)
    width = 72 * axes.figure.get_figwidth() / (1 if place is None else place.get_gridspec().ncols)
    title = axes.get_title(loc="left")
    return PANEL * width - max(_points_wide(line, 1.0, STYLE["axes.titlesize"]) for line in title.split("\n"))


def _columns(widths: list[float], room: float) -> int | None:
    """The most columns that there is room for; None where even then there are too many rows. Legends are filled column
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
    """How wide a text is, about, with so many widths of its font more."""
    return size * (LETTER * len(text) + more)


LETTER = 0.6
"""A letter's width, in widths of its font."""

MISSING = r"Glyph .* missing from font"
"""What matplotlib says of a name whose characters no font here has; they become boxes."""


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a picture whole or not at all; the same figure gives the same bytes.

    Raises:
        InputError: The suffix or the directory won't do.
        OSError: The disk is full or failing.
    """
    check_picture(path)
    kind = Path(path).suffix.lower()
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    drawn = io.BytesIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING)
        figure.savefig(drawn, format=kind[1:], metadata=dates.get(kind))
    with staged_file(path) as stage:
        stage.write_bytes(drawn.getbuffer())


def written(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The picture, written as `write` does where there is a path."""
    if path is not None:
        write(figure, path)
    return figure


def pen(algorithm: str, *, marked: bool = False, repeated: int = 0) -> dict[str, Any]:
    """An algorithm's color and dash, and where it is asked for its marker, as ``Axes.plot`` takes them: the same in
    every picture, whatever is beside it. Names that are not the package's have one look.

    Args:
        algorithm: Its name.
        marked: With its marker.
        repeated: How many lines of it the picture has already; these differ by their dashes.
    """
    look = LOOKS["algorithms"].get(algorithm, LOOKS["other"])
    dash = LOOKS["repeated"][(repeated - 1) % len(LOOKS["repeated"])] if repeated else LOOKS["dashes"][look["dash"]]
    drawn = {"color": LOOKS["colours"][look["colour"]]["light"], "linestyle": linestyle(dash)}
    return {**drawn, "marker": look["marker"]} if marked else drawn


def pens(algorithms: Iterable[str], *, marked: bool = False) -> list[dict[str, Any]]:
    """A `pen` for each line of a picture, by its algorithm; whatever stands behind the name in brackets, or after a
    space, is a setting of it.
    """
    seen: Counter[str] = Counter()
    found = []
    for label in algorithms:
        name = label.partition(" ")[0]
        drawn_as = name if name in LOOKS["algorithms"] else ""
        found.append(pen(drawn_as, marked=marked, repeated=seen[drawn_as]))
        seen[drawn_as] += 1
    return found


def link_pen(i: int) -> dict[str, Any]:
    """What the i-th link is drawn with: a color that is no algorithm's; dashed from the second on."""
    return {
        "color": LOOKS["links"][i % len(LOOKS["links"])]["light"],
        "linestyle": linestyle(LOOKS["repeated"][1]) if i else "-",
    }


def setting_pens(count: int) -> list[dict[str, Any]]:
    """So many pens for lines that are no algorithm's; another dash each time that the colors begin again."""
    dashes = [*LOOKS["dashes"].values(), *LOOKS["repeated"]]
    return [
        {"color": COLOURS[i % len(COLOURS)], "linestyle": linestyle(dashes[i // len(COLOURS) % len(dashes)])}
        for i in range(count)
    ]


PIXELS_A_POINT = 2.0
"""Of a dash's lengths: the pages have them in pixels, matplotlib in widths of a line."""


def linestyle(dash: Sequence[float]) -> Any:
    """A dash as matplotlib has it."""
    return (0, tuple(length / PIXELS_A_POINT for length in dash)) if dash else "-"
