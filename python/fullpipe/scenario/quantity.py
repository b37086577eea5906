"""Numbers with units, as scenarios write them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fullpipe import _core
from fullpipe._util.text import quoted
from fullpipe.errors import InputError

__all__ = ["UNITS", "Quantity", "read_quantity"]

UNITS: dict[str, str] = dict(_core.units())
"""Base unit of each unit, named as in `fullpipe.metrics` (docs/reference/scenarios.md, Quantities)."""


@dataclass(frozen=True)
class Quantity:
    """A number and its unit.

    Attributes:
        number: Number in the text.
        unit: Unit in the text, one of `UNITS`.
        base: Base unit: "s", "bit/s", "bytes", "packets", or "BDP".
        value: The number in the base unit.
    """

    number: float
    unit: str
    base: str
    value: float

    @classmethod
    def parse(cls, text: object) -> Quantity | None:
        """Quantity in a text; None if the text is not a finite number with a known unit."""
        found = _core.quantity(text) if isinstance(text, str) else None
        return None if found is None else cls(*found)

    def in_unit(self, unit: str) -> float:
        """The number in another unit with an equal base."""
        one = Quantity.parse(f"1 {unit}")
        assert one is not None
        return self.number if self.unit == unit else self.value / one.value


def read_quantity(name: str, text: str, base: str, example: str) -> float:
    """Value of the argument ``name`` in a base unit; above 0.

    Raises:
        InputError: The text is not such a quantity; the message shows the ``example``.
    """
    quantity = Quantity.parse(text)
    if quantity is None or quantity.base != base or not 0 < quantity.value < math.inf:
        raise InputError(f"{name} must be a quantity above 0 with a unit, e.g. {example}, got {quoted(text)}")
    return quantity.value
