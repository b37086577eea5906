"""Numbers with units, as scenarios write them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from fullpipe.errors import InputError
from fullpipe.text import quoted

__all__ = ["UNITS", "Quantity", "read_quantity"]

UNITS: dict[str, tuple[str, float]] = {
    "ns": ("s", 1e-9),
    "us": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "min": ("s", 60.0),
    "bit/s": ("bps", 1.0),
    "kbit/s": ("bps", 1e3),
    "Mbit/s": ("bps", 1e6),
    "Gbit/s": ("bps", 1e9),
    "B": ("bytes", 1.0),
    "kB": ("bytes", 1e3),
    "MB": ("bytes", 1e6),
    "GB": ("bytes", 1e9),
    "packet": ("packets", 1.0),
    "packets": ("packets", 1.0),
    "segment": ("packets", 1.0),
    "segments": ("packets", 1.0),
    "BDP": ("bdp", 1.0),
}
"""Each unit's base unit, as columns are suffixed with it, and how many of those it is (docs/scenarios.md,
Quantities).
"""

_TEXT = re.compile(r"\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]+)\s*")


@dataclass(frozen=True)
class Quantity:
    """A number and its unit, one of `UNITS`."""

    number: float
    unit: str

    @classmethod
    def parse(cls, text: object) -> Quantity | None:
        """What the text says; None where it is no number with a known unit."""
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if match is None or match[2] not in UNITS:
            return None
        try:
            return cls(float(match[1]), match[2])
        except ValueError:
            return None

    @property
    def base(self) -> str:
        """The base unit: "s", "bps", "bytes", "packets" or "bdp"."""
        return UNITS[self.unit][0]

    @property
    def value(self) -> float:
        """The number in the base unit."""
        return self.number * UNITS[self.unit][1]

    def in_unit_of(self, other: Quantity) -> float:
        """The number in the unit of another of the same base."""
        return self.number if self.unit == other.unit else self.value / UNITS[other.unit][1]


def read_quantity(name: str, text: str, base: str, example: str) -> float:
    """What an argument called ``name`` says, above 0, in a base unit.

    Raises:
        InputError: It is no such quantity; the message shows the ``example``.
    """
    quantity = Quantity.parse(text)
    if quantity is None or quantity.base != base or not 0 < quantity.value < math.inf:
        raise InputError(f"{name} = {quoted(text)}: expected a quantity with a unit, above 0, e.g. {example}")
    return quantity.value
