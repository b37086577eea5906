"""Placeholders in the texts of data files, which are replaced by values of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

__all__ = ["filled", "with_published"]

MEASURED = re.compile(r"\{measured: ([^|{}]+?)(?: \| ([^{}]+))?\}")
"""Placeholder of a measured value by its name, and its format: ``{measured: loss, BIC, as reconstructed, % | .3f}``."""

PUBLISHED = re.compile(r"\{published: ([^|{}]+?)(?: \| ([^{}]+))?\}")
"""Placeholder of a published value by its name, and its format."""

SENTENCES = re.compile(r"(?<=\.) +(?=[A-Z\"(])")
"""Space between two sentences."""

FORMAT = ".3g"


def filled(text: str, figures: Mapping[str, float]) -> str:
    """Text with its measured values. A sentence with a missing value is left out."""
    sentences = SENTENCES.split(text)
    known = [s for s in sentences if all(math.isfinite(figures.get(m[1], math.nan)) for m in MEASURED.finditer(s))]
    return " ".join(MEASURED.sub(lambda m: format(figures[m[1]], m[2] or FORMAT), sentence) for sentence in known)


def with_published(text: str, value: Callable[[str], float]) -> str:
    """Text with its published values."""
    return PUBLISHED.sub(lambda m: format(value(m[1]), m[2] or "g"), text)
