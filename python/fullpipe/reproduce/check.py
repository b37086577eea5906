"""Checks of measured values: against the published value, or by the shape of a curve."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise, product

from fullpipe._util.plain import Table
from fullpipe.reproduce.prose import filled

__all__ = ["Check", "Entry", "Shape", "Value", "judge", "refuse_if_void"]

Entry = Table
"""Table ``[[checks]]`` of a data file."""

SHAPES = ("rising", "falling", "below", "bounds")
"""Kinds of shapes; see `Shape`."""


@dataclass(frozen=True, kw_only=True)
class Expectation(ABC):
    """Expectation of an item's measured values.

    Attributes:
        name: Name of the value or shape.
        origin: Place in the paper.
        reason: Reason for the tolerance or limit.
        miss: Cause of a known discrepancy; empty without one.
        miss_within: Largest gap of a known discrepancy. A larger gap is a failure.
    """

    name: str
    origin: str
    reason: str
    miss: str = ""
    miss_within: float = 0.0

    def __post_init__(self) -> None:
        if bool(self.miss) != (self.miss_within > 0):
            raise ValueError(f"{self.name}: a known discrepancy requires its cause (miss) and its size (miss_within)")

    @property
    @abstractmethod
    def gap(self) -> float:
        """Distance of the measurement from the expectation; NaN if it is no number."""

    @property
    @abstractmethod
    def allowed(self) -> float:
        """Largest gap that passes."""

    @property
    def passed(self) -> bool:
        """Whether the check passes. NaN never does."""
        # Rounding error: 0.840 and 0.830 differ by 0.010 in binary fractions too.
        return self.gap <= self.allowed + 1e-9

    @property
    def status(self) -> str:
        """``pass``, ``documented miss``, or ``fail``."""
        if self.passed:
            return "pass"
        return "documented miss" if self.gap <= self.miss_within else "fail"

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""

    def _common(self) -> dict[str, object]:
        known = {"miss": self.miss} if self.miss else {}
        return {"pass": self.passed, "status": self.status, "origin": self.origin, "reason": self.reason, **known}


@dataclass(frozen=True, kw_only=True)
class Value(Expectation):
    """Measured value and published value, with a tolerance or a factor.

    Attributes:
        published: Value in the paper.
        measured: Value from the runs.
        tolerance: Largest difference; less than the published value, because otherwise 0 would pass.
        within_factor: Largest ratio of the larger to the smaller value, instead of a tolerance; `miss_within` is then a
            factor too.
    """

    published: float
    measured: float
    tolerance: float | None = None
    within_factor: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.tolerance is None) == (self.within_factor is None):
            raise ValueError(f"{self.name}: a published value requires either tolerance or within_factor")
        if self.tolerance is not None and self.published != 0 and not 0 <= self.tolerance < abs(self.published):
            raise ValueError(
                f"{self.name}: tolerance {self.tolerance:g} is the whole published value {self.published:g} or more, "
                "so that 0 would pass; allowed is less, or within_factor"
            )
        if self.within_factor is not None and not (1 < self.within_factor < math.inf and self.published != 0):
            raise ValueError(f"{self.name}: within_factor must be above 1, and the published value not 0")

    @property
    def difference(self) -> float:
        """Measured less published."""
        return self.measured - self.published

    @property
    def ratio(self) -> float:
        """Measured over published; NaN if the published value is 0."""
        return self.measured / self.published if self.published else math.nan

    @property
    def gap(self) -> float:
        """Absolute difference; for a factor, the larger of the ratio and its inverse, and infinity for a value that is
        0 or has the other sign.
        """
        if self.within_factor is None:
            return abs(self.difference)
        if math.isnan(self.ratio):
            return math.nan
        return max(self.ratio, 1 / self.ratio) if self.ratio > 0 else math.inf

    @property
    def allowed(self) -> float:
        """Tolerance or factor."""
        return self.within_factor or self.tolerance or 0.0

    @property
    def place(self) -> float:
        """Position of the measured value: 0 at the published one, -1 and 1 at the limits; NaN without a tolerance."""
        if self.within_factor is None:
            return self.difference / self.allowed if self.allowed else math.nan
        if math.isnan(self.ratio):
            return math.nan
        return math.log(self.ratio) / math.log(self.within_factor) if self.ratio > 0 else -math.inf

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "name": self.name,
            "published": self.published,
            "measured": _finite(self.measured),
            "tolerance": self.tolerance,
            **({} if self.within_factor is None else {"within_factor": self.within_factor}),
            **self._common(),
        }


@dataclass(frozen=True, kw_only=True)
class Shape(Expectation):
    """Property of several values, where the paper draws a curve or claims an order and does not print a number.

    Attributes:
        shape: ``rising``: each value at least ``margin`` above the previous one. ``falling``: each at least ``margin``
            below the previous one. ``below``: each at least ``margin`` below its partner in ``than``; a single value or
            partner is used for all. ``bounds``: each from ``at_least`` to ``at_most``. A negative ``margin`` is slack.
        values: Values by name.
        than: Partners of ``below``.
        margin: Margin in the unit of the values.
        at_least: Lower limit.
        at_most: Upper limit.
    """

    shape: str
    values: Mapping[str, float]
    than: Mapping[str, float] | None = None
    margin: float = 0.0
    at_least: float = -math.inf
    at_most: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        least = 2 if self.shape in ("rising", "falling") else 1
        if self.shape not in SHAPES or len(self.values) < least:
            raise ValueError(f"{self.name}: {self.shape!r} of {len(self.values)} values checks nothing")
        if (self.shape == "below") != (self.than is not None):
            raise ValueError(f"{self.name}: 'below' requires partners (than), other shapes none")
        if self.than is not None and len(self.than) != len(self.values) and 1 not in (len(self.than), len(self.values)):
            raise ValueError(f"{self.name}: {len(self.values)} values and {len(self.than)} partners don't pair up")
        if (self.shape == "bounds") != (math.isfinite(self.at_least) or math.isfinite(self.at_most)):
            raise ValueError(f"{self.name}: 'bounds' requires at_least or at_most, other shapes neither")

    @property
    def gap(self) -> float:
        """Distance of the worst value beyond its limit; 0 or less if all are within."""
        gaps = [required - slack for slack, required in self._slacks()]
        return math.nan if any(math.isnan(gap) for gap in gaps) else max(gaps)

    @property
    def allowed(self) -> float:
        """Zero, because a margin can be slack."""
        return 0.0

    @property
    def required(self) -> str:
        """Requirement in words."""
        if self.shape == "bounds":
            bounds = ((">=", self.at_least), ("<=", self.at_most))
            return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound))
        if self.margin == 0:
            return self.shape
        return f"{self.shape} by {self.margin:g}" if self.margin > 0 else f"{self.shape}, slack {-self.margin:g}"

    @property
    def measured(self) -> float:
        """Worst value: for bounds, the one nearest to a limit or furthest beyond it; otherwise, the smallest step in
        the required direction.
        """
        if math.isnan(self.gap):
            return math.nan
        if self.shape == "bounds":
            return max(self.values.values(), key=lambda value: max(self.at_least - value, value - self.at_most))
        return min(slack for slack, _ in self._slacks())

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "name": self.name,
            "published": None,
            "required": self.required,
            "measured": _finite(self.measured),
            "tolerance": None,
            "figures": {name: _finite(value) for name, value in self.values.items()},
            **({"than": {name: _finite(value) for name, value in self.than.items()}} if self.than else {}),
            **self._common(),
        }

    def _slacks(self) -> list[tuple[float, float]]:
        """Pairs of a value and its lower limit."""
        values = list(self.values.values())
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
"""Check of an item."""


def judge(measured: Mapping[str, float], expected: Sequence[Entry]) -> tuple[Check, ...]:
    """Checks of measured values, in the order of the expectations.

    Args:
        measured: Measured values by name.
        expected: Entries of the data file. An entry with ``published`` checks the value of its name. An entry with
            ``shape`` checks the values it lists, where ``*`` matches any text and the order is the measured one.
            Measured values are filled into ``reason`` and ``miss``.

    Raises:
        KeyError: A value of a check was not measured, or a measured value has no check.
        ValueError: An expectation checks nothing.
    """
    used: set[str] = set()
    checks: list[Check] = []
    for entry in (_filled(entry, measured) for entry in expected):
        if "published" in entry:
            picked = _pick(measured, [entry["name"]], literally=True)
            checks.append(Value(measured=picked[entry["name"]], **entry))
        else:
            picked = _pick(measured, entry["figures"])
            than = _pick(measured, entry["than"]) if "than" in entry else None
            rest = {key: value for key, value in entry.items() if key != "figures"}
            checks.append(Shape(**{**rest, "values": picked, "than": than}))
            used |= (than or {}).keys()
        used |= picked.keys()
    if unused := [name for name in measured if name not in used]:
        raise KeyError(f"figures without a check: {unused}")
    return tuple(checks)


def refuse_if_void(entry: Entry) -> None:
    """Refuses a published value with a tolerance that would let 0 pass.

    Raises:
        ValueError: The tolerance is too large.
    """
    if "published" in entry:
        Value(measured=math.nan, **entry)


def _filled(entry: Entry, measured: Mapping[str, float]) -> Entry:
    return {key: filled(value, measured) if key in ("reason", "miss") else value for key, value in entry.items()}


def _pick(measured: Mapping[str, float], patterns: Sequence[str], *, literally: bool = False) -> dict[str, float]:
    picked: dict[str, float] = {}
    for pattern in patterns:
        names = [n for n in measured if n == pattern or (not literally and fnmatchcase(n, pattern.replace("[", "[[]")))]
        if not names:
            raise KeyError(f"no value {pattern!r} was measured; there are: {', '.join(measured)}")
        picked.update({name: measured[name] for name in names})
    return picked


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
