"""Draws the plot of README.md with a transparent background, for light and for dark pages: ``make docs``, or
``docs/pictures.py``. The plot is that of the letter's table 1, from new runs.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from fullpipe import run_many
from fullpipe.papers import select
from fullpipe.plots.draw import STYLE, figure
from fullpipe.plots.looks import LOOKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["darken", "drawn", "write"]

IMAGES = Path(__file__).parent / "images"
ITEM, PICTURE = "hyun-jang/table-1", "table-1"
NAMES = {"light": f"{ITEM.replace('/', '-')}.png", "dark": f"{ITEM.replace('/', '-')}-dark.png"}

DARK = {shades["light"]: shades["dark"] for shades in LOOKS["colours"].values()}
"""The house's colours on a dark page."""


def write(to: Path = IMAGES) -> None:
    """Both pictures."""
    (item,) = select(ITEM)
    shown = {name: scenario for name, scenario in item.scenarios().items() if name.endswith("-k-1-8")}
    results = run_many(shown)
    for scheme, name in NAMES.items():
        picture = figure(item.pictures[PICTURE](results))
        if scheme == "dark":
            darken(picture)
        (to / name).write_bytes(drawn(picture))


def drawn(figure: Figure) -> bytes:
    """A picture without a ground."""
    made = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(made, format="png", transparent=True, metadata={"Software": None})
    return made.getvalue()


def darken(figure: Figure) -> None:
    """Gives everything in a picture the shade that it has on a dark page; greys become as light as they were dark."""
    for artist in _all(figure):
        if isinstance(artist, Line2D):  # ticks are markers
            artist.set_markeredgecolor(_dark(artist.get_markeredgecolor()))
        if isinstance(artist, Text | Line2D):
            artist.set_color(_dark(artist.get_color()))
        elif isinstance(artist, Patch | Collection):
            artist.set_edgecolor(_darkened(artist.get_edgecolor()))
            artist.set_facecolor(_darkened(artist.get_facecolor()))


def _all(artist: Artist) -> Iterator[Artist]:
    return iter(artist.findobj())


def _darkened(colours: object) -> object:
    """One colour, or those of a collection."""
    several = getattr(colours, "ndim", 1) == 2
    return [_dark(each) for each in colours] if several else _dark(colours)  # type: ignore[attr-defined]


def _dark(colour: object) -> tuple[float, float, float, float]:
    *_, alpha = to_rgba(colour)  # type: ignore[arg-type]
    shade = to_hex(colour)  # type: ignore[arg-type]
    if shade in DARK:
        return to_rgba(DARK[shade], alpha)
    red, green, blue, _ = to_rgba(shade)
    return (1 - red, 1 - green, 1 - blue, alpha)


if __name__ == "__main__":
    write()
