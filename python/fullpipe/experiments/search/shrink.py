"""Shrinking of a network: fewest knobs that differ from the plain dumbbell, then fewest digits."""

from __future__ import annotations

import math
from collections.abc import Callable

from fullpipe.experiments.search.space import STEP_NUMBERS, Point, Space, tidy

__all__ = ["shrink"]

ORDER = (
    *(
        "flows",
        "pulse",
        "cross",
        "outage",
        *(f"step{i}" for i in STEP_NUMBERS),
        "swing",
        "jitter",
        "loss",
        "rtt_ratio",
        "late",
    ),
    *("rtt_drop", "rate", "rtt", "buffer", "period", *(f"at{i}" for i in STEP_NUMBERS)),
)
"""Knobs in the order in which they become plain."""

MOST_ROUNDS = 4
"""Rounds over all knobs, at most."""


def shrink(space: Space, point: Point, shows: Callable[[Point], bool], is_over: Callable[[], bool]) -> dict[str, float]:
    """The simplest network near a point that still shows the weakness.

    Args:
        space: Bounds; none is left.
        point: Where to begin.
        shows: Whether a network still shows the weakness.
        is_over: Whether to end early.
    """
    best = tidy(point)
    bounds = {knob.id: knob for knob in space.knobs}

    def attempt(name: str, value: float) -> bool:
        """Whether the knob takes the value from now on, or has it already."""
        nonlocal best
        if best[name] == value:
            return True
        changed = tidy({**best, name: value})
        if not bounds[name].allows(value) or not shows(changed):
            return False
        best = changed
        return True

    for _ in range(MOST_ROUNDS):
        before = dict(best)
        for name in ORDER:
            if is_over():
                return best
            if not attempt(name, bounds[name].plain):
                for value in _simpler(best[name]):
                    if attempt(name, value):
                        break
        if best == before:
            break
    return best


def _simpler(value: float) -> list[float]:
    """Values with one digit of 1, 2, and 5 on both sides of a value, the nearest one first."""
    if value <= 0 or not math.isfinite(value):
        return []
    decade = 10.0 ** math.floor(math.log10(value))
    near = [float(f"{digit * decade:.6g}") for digit in (1, 2, 5, 10)]
    if value in near:
        return []
    return sorted((x for x in near), key=lambda x: abs(math.log(x / value)))[:2]
