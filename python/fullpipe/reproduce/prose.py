"""What the data files say in sentences: figures in them stand as placeholders, and are filled in from a run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

__all__ = ["filled", "with_published"]

MEASURED = re.compile(r"\{measured: ([^|{}]+?)(?: \| ([^{}]+))?\}")
"""A figure of the run by its name, and its format: ``{measured: loss, BIC, as reconstructed, % | .3f}``."""

PUBLISHED = re.compile(r"\{published: ([^|{}]+?)(?: \| ([^{}]+))?\}")
"""A published value by its name, likewise."""

SENTENCES = re.compile(r"(?<=\.) +(?=[A-Z\"(])")
"""Between two sentences."""

FORMAT = ".3g"


def filled(text: str, figures: Mapping[str, float]) -> str:
    """The text with its measured figures; a sentence with one that the run did not measure is left out."""
    sentences = SENTENCES.split(text)
    known = [s for s in sentences if all(math.isfinite(figures.get(m[1], math.nan)) for m in MEASURED.finditer(s))]
    return " ".join(MEASURED.sub(lambda m: format(figures[m[1]], m[2] or FORMAT), sentence) for sentence in known)


def with_published(text: str, value: Callable[[str], float]) -> str:
    """The text with its published values, each of which stands elsewhere, once."""
    return PUBLISHED.sub(lambda m: format(value(m[1]), m[2] or "g"), text)
