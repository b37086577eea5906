"""Directory of the examples."""

from __future__ import annotations

from pathlib import Path

__all__ = ["examples"]

PLACES = (Path(__file__).parents[1] / "examples", Path(__file__).parents[3])
"""Directory that has the folders, in a wheel and in a clone."""


def examples() -> Path:
    """Directory with the folders of the documentation's examples, for example ``scenarios``."""
    return next(place for place in PLACES if (place / "scenarios").is_dir())
