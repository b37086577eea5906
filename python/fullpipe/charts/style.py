"""The house's style: one look for all pictures, and how they are written."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fullpipe.files import check_picture, staged_file
from fullpipe.text import shorten

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = [
    "COLOURS",
    "STYLE",
    "colours",
    "dash",
    "label",
    "legend",
    "legend_above",
    "legend_below",
    "moving_mean",
    "write",
    "written",
]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#a6761d", "#1b1b1b", "#b5a800")
"""Told apart by colour-blind readers too (Okabe and Ito, 2008), with four more."""

STYLE: Any = {
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
    """The mean of the ``samples`` nearest samples, of those that have a value; fewer at the ends."""
    known = np.isfinite(values)
    kernel = np.ones(max(1, min(samples, len(values))))
    counts = np.convolve(known, kernel, "same")
    sums = np.convolve(np.where(known, values, 0.0), kernel, "same")
    mean: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0.5)
    return mean


def legend_above(axes: Axes) -> None:
    """Puts the legend beside the title, where it hides nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=8, borderaxespad=0.0, columnspacing=1.2)


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
        # A name may have characters that no font here has; they become boxes.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        figure.savefig(drawn, format=kind[1:], metadata=dates.get(kind))
    with staged_file(path) as stage:
        stage.write_bytes(drawn.getbuffer())


def written(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The picture, written as `write` does where there is a path."""
    if path is not None:
        write(figure, path)
    return figure


def colours(count: int) -> list[str]:
    """So many colours, from the first on again where there are more."""
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def dash(i: int) -> str:
    """The dash of the i-th line: another one each time that the colours begin again."""
    return ("-", "--", ":", "-.")[i // len(COLOURS) % 4]


MOST_ABOVE = 4
"""Entries that a legend beside the title has room for."""


def legend(axes: Axes) -> None:
    """Puts the legend beside the title, or, where it has more entries, below the picture: it hides nothing."""
    entries = axes.get_legend_handles_labels()[0]
    if len(entries) <= MOST_ABOVE:
        legend_above(axes)
    else:
        legend_below(axes)


def legend_below(axes: Axes) -> None:
    """Puts the legend below the picture, where it hides nothing."""
    entries = axes.get_legend_handles_labels()
    if entries[0] and isinstance(axes.figure, Figure):
        axes.figure.legend(*entries, loc="outside lower center", ncols=4)
