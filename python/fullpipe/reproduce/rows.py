"""What an item measured, as tidy rows: checks, pictures, the report and a file that others read come from these."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Row", "Rows"]

COLUMNS = ("quantity", "unit", "algorithm", "setting", "value")
"""Of the file."""

NAMED = ("quantity", "algorithm", "setting", "unit")
"""The parts of a row that a figure's name has, in its order: ``utilization, proposed, k=1/8``."""


@dataclass(frozen=True)
class Row:
    """A figure.

    Attributes:
        quantity: What was measured.
        unit: In which unit; empty of a ratio, an index, a number of flows.
        algorithm: Of which algorithm, as the paper calls it (``proposed``), or of which two (``proposed over reno``);
            empty where of none.
        setting: Where: what else was varied, and over what the figure was taken.
        value: The figure; NaN where there was none to measure.
        name: What checks and sentences call it.
    """

    quantity: str
    unit: str
    algorithm: str
    setting: str
    value: float
    name: str


class Rows:
    """The figures of an item, in the order in which they were added.

    Args:
        named: The parts of a row that a figure's name has: any of ``quantity``, ``unit``, ``algorithm`` and
            ``setting``, in the name's order; those that are empty are left out.
    """

    def __init__(self, named: Iterable[str] = NAMED) -> None:
        self._named = tuple(named)
        self._by_name: dict[str, Row] = {}
        self._by_key: dict[tuple[str, str, str], Row] = {}

    def add(
        self, quantity: str, value: float, *, unit: str = "", algorithm: str = "", setting: str = "", name: str = ""
    ) -> None:
        """Adds a figure; see `Row`. Without ``name`` it is called by its parts.

        Raises:
            ValueError: There is one of that name, or of that quantity, algorithm and setting.
        """
        parts = {"quantity": quantity, "unit": unit, "algorithm": algorithm, "setting": setting}
        called = name or ", ".join(parts[each] for each in self._named if parts[each])
        key = quantity, algorithm, setting
        if called in self._by_name or key in self._by_key:
            raise ValueError(f"two figures are called {called!r}, or are {', '.join(filter(None, key))}")
        self._by_name[called] = self._by_key[key] = Row(**parts, value=float(value), name=called)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def called(self, name: str) -> Row:
        """The row of that name.

        Raises:
            KeyError: There is none.
        """
        return self._by_name[name]

    def get(self, quantity: str, algorithm: str = "", setting: str = "") -> float | None:
        """A figure; None if it was not measured."""
        row = self._by_key.get((quantity, algorithm, setting))
        return None if row is None else row.value

    def value(self, quantity: str, algorithm: str = "", setting: str = "") -> float:
        """A figure.

        Raises:
            KeyError: It was not measured.
        """
        return self._by_key[quantity, algorithm, setting].value

    @property
    def figures(self) -> dict[str, float]:
        """The figures by name, as `judge` takes them."""
        return {row.name: row.value for row in self}

    def to_csv(self) -> str:
        """A line a figure; a figure that is no number is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in self:
            writer.writerow([row.quantity, row.unit, row.algorithm, row.setting, _finite(row.value)])
        return text.getvalue()

    def to_list(self) -> list[dict[str, Any]]:
        """Plain values ready for JSON."""
        return [{**asdict(row), "value": _finite(row.value)} for row in self]

    @classmethod
    def from_list(cls, rows: Iterable[Mapping[str, Any]]) -> Rows:
        """What `to_list` gave."""
        found = cls()
        for row in rows:
            value = math.nan if row["value"] is None else float(row["value"])
            found.add(**{**row, "value": value})
        return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
