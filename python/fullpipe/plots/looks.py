"""Colors, dashes, and markers that all plots share, on paper and on pages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from fullpipe._util.plain import Tree

__all__ = [
    "COLOURS",
    "LOOKS",
    "MARKERS",
    "STYLES",
    "Look",
    "Style",
    "link_pen",
    "pen",
    "pens",
    "properties",
    "setting_pens",
]

LOOKS: Tree = json.loads(Path(__file__).with_name("looks.json").read_text(encoding="utf-8"))
"""``colours`` by name, each light (on white) and dark; ``algorithms`` with a color, a dash, and a marker each, and
``other`` for algorithms of users; ``dashes`` by name, and ``repeated`` for further lines of one algorithm, as lengths
of lines and gaps in pixels; ``links`` for the colors of links.
"""

COLOURS = tuple(str(shades["light"]) for shades in LOOKS["colours"].values())
"""Colors for settings and kinds of traffic; an algorithm has its own (`pen`)."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Markers of variants and of settings."""

Style = Literal["screen", "paper", "paper-wide"]
"""Look of a plot. "paper" is 3.4 in wide, one column of a two-column paper, or 7 in where panels are side by side;
"paper-wide" is 7 in wide."""

STYLES: tuple[Style, ...] = ("screen", "paper", "paper-wide")

PIXELS_A_POINT = 2.0
"""Pixels per line width in the lengths of a dash."""

Dash = str | tuple[int, tuple[float, ...]]


class Look(TypedDict, total=False):
    """Style of a line, with the names and values of matplotlib."""

    color: str
    linestyle: Dash
    linewidth: float
    marker: str
    markersize: float
    markerfacecolor: str
    alpha: float
    zorder: float


def pen(algorithm: str, *, marked: bool = False, repeated: int = 0) -> Look:
    """Style of an algorithm's line, equal in all plots. Algorithms that are not built in share one style.

    Args:
        algorithm: Name of the algorithm.
        marked: Include the marker.
        repeated: Number of earlier lines of the algorithm in the plot; each line gets another dash.
    """
    look = LOOKS["algorithms"].get(algorithm, LOOKS["other"])
    dash = LOOKS["repeated"][(repeated - 1) % len(LOOKS["repeated"])] if repeated else LOOKS["dashes"][look["dash"]]
    found: Look = {"color": LOOKS["colours"][look["colour"]]["light"], "linestyle": linestyle(dash)}
    return {**found, "marker": look["marker"]} if marked else found


def pens(labels: Iterable[str], *, marked: bool = False) -> list[Look]:
    """A `pen` for each label. A label begins with the name of an algorithm; a space and other words may follow.

    Variants of one algorithm, which have different settings in parentheses, and algorithms of users get a color and a
    marker each: the first one has those of the algorithm. Other lines of the algorithm, such as its flows ("reno #1")
    or its run on Linux, keep the color and get a dash, unless all lines are of one algorithm.
    """
    labels = list(labels)
    names = [label.partition(" ")[0] for label in labels]
    algorithms = [name if name in LOOKS["algorithms"] else "" for name in names]
    first = {algorithm: pen(algorithm, marked=marked) for algorithm in algorithms}
    colours = iter(colour for colour in COLOURS if all(colour != look["color"] for look in first.values()))
    seen: Counter[str] = Counter()
    found = []
    for i, (label, algorithm) in enumerate(zip(labels, algorithms, strict=True)):
        look = pen(algorithm, marked=marked, repeated=seen[algorithm])
        variant = names[i] not in names[:i] or ("(" in label and label not in labels[:i])
        if seen[algorithm] and (variant or len(set(names)) == 1):
            look["color"] = next(colours, look["color"])
            if marked:
                others = [marker for marker in MARKERS if marker != look["marker"]]
                look["marker"] = others[(seen[algorithm] - 1) % len(others)]
        seen[algorithm] += 1
        found.append(look)
    return found


def link_pen(i: int) -> Look:
    """Style of the i-th link: a color that no algorithm has; dashed from the second link on."""
    shade = LOOKS["links"][i % len(LOOKS["links"])]["light"]
    return {"color": shade, "linestyle": linestyle(LOOKS["repeated"][1]) if i else "-"}


def setting_pens(count: int) -> list[Look]:
    """Styles for lines that belong to no algorithm: the colors in turn, then again with another dash."""
    dashes = [*LOOKS["dashes"].values(), *LOOKS["repeated"]]
    return [
        {"color": COLOURS[i % len(COLOURS)], "linestyle": linestyle(dashes[i // len(COLOURS) % len(dashes)])}
        for i in range(count)
    ]


def linestyle(dash: Sequence[float]) -> Dash:
    """A dash in matplotlib's form."""
    return (0, tuple(length / PIXELS_A_POINT for length in dash)) if dash else "-"


def properties(scheme: str) -> str:
    """The colors as custom properties of CSS, ``--blue`` and ``--link-0``, for ``light`` or ``dark``."""
    shades = {**LOOKS["colours"], **{f"link-{i}": shades for i, shades in enumerate(LOOKS["links"])}}
    return " ".join(f"--{name}: {shade[scheme]};" for name, shade in shades.items())
