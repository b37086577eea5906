"""How a measured figure is judged: beside the number that the paper prints, or by the shape that it draws."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise, product
from typing import Any

__all__ = ["Check", "Shape", "Value", "judge"]

SHAPES = ("rising", "falling", "below", "bounds")
"""What a shape can be; see `Shape`."""


@dataclass(frozen=True, kw_only=True)
class Expectation(ABC):
    """What an item's figures must satisfy.

    Attributes:
        name: What is judged.
        origin: Where in the paper it stands.
        reason: Why the tolerance or the bound is what it is.
        miss: The cause of a known miss; empty where none is known.
        miss_within: A known miss is no larger than this; a larger one is a failure.
    """

    name: str
    origin: str
    reason: str
    miss: str = ""
    miss_within: float = 0.0

    def __post_init__(self) -> None:
        if bool(self.miss) != (self.miss_within > 0):
            raise ValueError(f"{self.name}: a known miss needs its cause (miss) and its size (miss_within)")

    @property
    @abstractmethod
    def gap(self) -> float:
        """How far the measurement is from what is asked; NaN where it is no number."""

    @property
    @abstractmethod
    def allowed(self) -> float:
        """The largest gap that passes."""

    @property
    def passed(self) -> bool:
        """Whether the figure agrees; one that is no number never does."""
        # A billionth more, so that 0.840 against 0.830 is within 0.010 in binary fractions too.
        return self.gap <= self.allowed + 1e-9

    @property
    def status(self) -> str:
        """``pass``, ``documented miss``, or ``fail``."""
        if self.passed:
            return "pass"
        return "documented miss" if self.gap <= self.miss_within else "fail"

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values ready for JSON."""

    def _common(self) -> dict[str, Any]:
        known = {"miss": self.miss} if self.miss else {}
        return {"pass": self.passed, "status": self.status, "origin": self.origin, "reason": self.reason, **known}


@dataclass(frozen=True, kw_only=True)
class Value(Expectation):
    """A measured figure beside the published one.

    Attributes:
        published: What the paper prints.
        measured: What was just simulated or computed.
        tolerance: How far apart the two may be.
    """

    published: float
    measured: float
    tolerance: float

    @property
    def difference(self) -> float:
        """Measured less published."""
        return self.measured - self.published

    @property
    def gap(self) -> float:
        """The difference without its sign."""
        return abs(self.difference)

    @property
    def allowed(self) -> float:
        """The tolerance."""
        return self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """Plain values ready for JSON."""
        return {
            "name": self.name,
            "published": self.published,
            "measured": _finite(self.measured),
            "tolerance": self.tolerance,
            **self._common(),
        }


@dataclass(frozen=True, kw_only=True)
class Shape(Expectation):
    """A property of several figures, where the paper draws a curve or claims an order instead of printing a number.

    Attributes:
        shape: ``rising``: each figure at least ``margin`` above the one before. ``falling``: each at least ``margin``
            below the one before. ``below``: each at least ``margin`` below its partner in ``than``; a single
            figure or partner stands for all. ``bounds``: each from ``at_least`` to ``at_most``. A negative ``margin``
            is slack.
        figures: The figures by name.
        than: The partners of ``below``.
        margin: As above, in the figures' unit.
        at_least: The lower bound.
        at_most: The upper bound.
    """

    shape: str
    figures: Mapping[str, float]
    than: Mapping[str, float] | None = None
    margin: float = 0.0
    at_least: float = -math.inf
    at_most: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        least = 2 if self.shape in ("rising", "falling") else 1
        if self.shape not in SHAPES or len(self.figures) < least:
            raise ValueError(f"{self.name}: {self.shape!r} of {len(self.figures)} figures judges nothing")
        if (self.shape == "below") != (self.than is not None):
            raise ValueError(f"{self.name}: 'below' needs partners (than), other shapes none")
        if (
            self.than is not None
            and len(self.than) != len(self.figures)
            and 1 not in (len(self.than), len(self.figures))
        ):
            raise ValueError(f"{self.name}: {len(self.figures)} figures and {len(self.than)} partners don't pair up")
        if (self.shape == "bounds") != (math.isfinite(self.at_least) or math.isfinite(self.at_most)):
            raise ValueError(f"{self.name}: 'bounds' needs at_least or at_most, other shapes neither")

    @property
    def gap(self) -> float:
        """How far the worst figure is beyond what is asked; 0 or less where all are within."""
        gaps = [required - slack for slack, required in self._slacks()]
        return math.nan if any(math.isnan(gap) for gap in gaps) else max(gaps)

    @property
    def allowed(self) -> float:
        """None; a margin is slack enough."""
        return 0.0

    @property
    def required(self) -> str:
        """What is asked, in words."""
        if self.shape == "bounds":
            bounds = ((">=", self.at_least), ("<=", self.at_most))
            return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound))
        if self.margin == 0:
            return self.shape
        return f"{self.shape} by {self.margin:g}" if self.margin > 0 else f"{self.shape}, slack {-self.margin:g}"

    @property
    def measured(self) -> float:
        """The worst: of bounds the figure nearest to or furthest beyond one, else the least step the right way."""
        if math.isnan(self.gap):
            return math.nan
        if self.shape == "bounds":
            return max(self.figures.values(), key=lambda value: max(self.at_least - value, value - self.at_most))
        return min(slack for slack, _ in self._slacks())

    def to_dict(self) -> dict[str, Any]:
        """Plain values ready for JSON."""
        return {
            "name": self.name,
            "published": None,
            "required": self.required,
            "measured": _finite(self.measured),
            "tolerance": None,
            "figures": {name: _finite(value) for name, value in self.figures.items()},
            **({"than": {name: _finite(value) for name, value in self.than.items()}} if self.than else {}),
            **self._common(),
        }

    def _slacks(self) -> list[tuple[float, float]]:
        """Pairs of what there is and the least there must be."""
        values = list(self.figures.values())
        if self.shape == "bounds":
            slacks = [(value, self.at_least) for value in values] + [(-value, -self.at_most) for value in values]
            return [slack for slack in slacks if math.isfinite(slack[1])]
        if self.shape == "below":
            partners = list((self.than or {}).values())
            pairs = (
                product(values, partners) if 1 in (len(values), len(partners)) else zip(values, partners, strict=True)
            )
            steps = [high - low for low, high in pairs]
        else:
            sign = 1 if self.shape == "rising" else -1
            steps = [sign * (after - before) for before, after in pairwise(values)]
        return [(step, self.margin) for step in steps]


Check = Value | Shape
"""What judges an item."""


def judge(figures: Mapping[str, float], expected: Sequence[Mapping[str, Any]]) -> tuple[Check, ...]:
    """Sets measured figures beside what is expected of them, in the order of the expectations.

    Args:
        figures: The measured figures by name.
        expected: As the data file has them: those with ``published`` judge the figure of their name, those with
            ``shape`` the figures they list, where ``*`` stands for any text and the order is the measured one.

    Raises:
        KeyError: A check's figure was not measured, or a measured figure has no check.
        ValueError: An expectation judges nothing.
    """
    used: set[str] = set()
    checks: list[Check] = []
    for entry in expected:
        if "published" in entry:
            picked = _pick(figures, [entry["name"]], literally=True)
            checks.append(Value(measured=picked[entry["name"]], **entry))
        else:
            picked = _pick(figures, entry["figures"])
            than = _pick(figures, entry["than"]) if "than" in entry else None
            checks.append(Shape(**{**entry, "figures": picked, "than": than}))
            used |= (than or {}).keys()
        used |= picked.keys()
    if unused := [name for name in figures if name not in used]:
        raise KeyError(f"figures without a check: {unused}")
    return tuple(checks)


def _pick(figures: Mapping[str, float], patterns: Sequence[str], *, literally: bool = False) -> dict[str, float]:
    picked: dict[str, float] = {}
    for pattern in patterns:
        names = [n for n in figures if n == pattern or (not literally and fnmatchcase(n, pattern.replace("[", "[[]")))]
        if not names:
            raise KeyError(f"no figure {pattern!r} was measured; there are: {', '.join(figures)}")
        picked.update({name: figures[name] for name in names})
    return picked


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
