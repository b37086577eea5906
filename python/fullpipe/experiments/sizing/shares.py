"""Mixes of several algorithms."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from fullpipe._util.text import quoted
from fullpipe.errors import InputError

__all__ = ["algorithms_of", "parts_of"]


def parts_of(text: str) -> dict[str, float]:
    """Fraction of the flows of each algorithm in ``"cubic*0.7+bbr*0.3"``; equal ones for ``"cubic+bbr"``.

    Raises:
        InputError: A fraction is no number above 0, some are missing, they do not add up to 1, or a name occurs twice.
    """
    # Names may end in pluses (ledbat++), and begin with letters.
    words = [word.partition("*") for word in re.split(r"\+(?=\s*[a-zA-Z])", text)]
    names = [name.strip() for name, _, _ in words]
    given = [_number(text, part) for _, star, part in words if star]
    if len(set(names)) < len(names):
        raise InputError(f"algorithms must be named once each, got {quoted(text)}")
    if given and len(given) < len(names):
        raise InputError(f"algorithms require a fraction each, as in cubic*0.7+bbr*0.3, or none, got {quoted(text)}")
    parts = given or [1 / len(names)] * len(names)
    if not math.isclose(math.fsum(parts), 1.0, abs_tol=1e-6):
        raise InputError(f"algorithms must have fractions with the sum 1, got {math.fsum(parts):g} in {quoted(text)}")
    return dict(zip(names, parts, strict=True))


def algorithms_of(text: str, flows: int) -> list[str]:
    """Algorithm of each flow. Counts are rounded by largest remainders and spread evenly over the flows, whose RTTs
    ascend.

    Raises:
        InputError: An algorithm would have no flow.
    """
    parts = parts_of(text)
    counts = _counts(list(parts.values()), flows)
    for name, count in zip(parts, counts, strict=True):
        if not count:
            raise InputError(f"{quoted(text)} requires more than {flows} flows; with {flows}, {quoted(name)} has none")
    given = [0] * len(counts)
    order = []
    for i in range(flows):
        behind = [count * (i + 1) / flows - had for count, had in zip(counts, given, strict=True)]
        place = behind.index(max(behind))
        given[place] += 1
        order.append(list(parts)[place])
    return order


def _counts(parts: Sequence[float], flows: int) -> list[int]:
    """Whole numbers near the fractions of ``flows``, with that sum."""
    exact = [part * flows for part in parts]
    counts = [math.floor(one + 1e-9) for one in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: flows - sum(counts)]:
        counts[i] += 1
    return counts


def _number(text: str, part: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise InputError(f"algorithms: {quoted(text)}: a fraction must be above 0, got {quoted(part.strip())}")
    return number
