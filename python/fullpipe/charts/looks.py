"""The looks that all of fullpipe's pictures share, the pages' too."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

__all__ = ["LOOKS", "properties"]

LOOKS: dict[str, Any] = json.loads(files("fullpipe.charts").joinpath("looks.json").read_text(encoding="utf-8"))
"""``colours`` by name, each light (on white) and dark; ``algorithms`` with a color, a dash and a marker each, and
``other`` for those that are not the package's; ``dashes`` by name, and ``repeated``, those of a second line of one
algorithm and of the ones after, as lengths of lines and gaps in pixels; ``links`` for what is no algorithm's.
"""


def properties(scheme: str) -> str:
    """The colors as custom properties of CSS, ``--blue`` and ``--link-0``, for ``light`` or ``dark``."""
    shades = {**LOOKS["colours"], **{f"link-{i}": shades for i, shades in enumerate(LOOKS["links"])}}
    return " ".join(f"--{name}: {shade[scheme]};" for name, shade in shades.items())
