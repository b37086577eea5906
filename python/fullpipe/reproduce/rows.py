"""Tidy rows of an item's measured figures, from which checks, plots, the report, and ``measured.csv`` are made."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fullpipe.runs.aggregate import estimate

__all__ = ["Row", "Rows"]

COLUMNS = ("quantity", "unit", "algorithm", "setting", "value", "ci95", "runs")
"""Columns of the file."""

NAMED = ("quantity", "algorithm", "setting", "unit")
"""Parts of a row that make a figure's name, in this order: ``utilization, proposed, k=1/8``."""


@dataclass(frozen=True)
class Row:
    """A figure.

    Attributes:
        quantity: Quantity that was measured.
        unit: Unit; empty for a ratio, an index, a number of flows.
        algorithm: Algorithm, as the paper calls it (``proposed``), or a pair of them (``proposed over reno``); may be
            empty.
        setting: Other parameters that were varied, and the time over which the figure was taken.
        value: The figure, or its mean over several runs; NaN where there was none to measure.
        name: Name that checks and sentences use.
        ci95: Half of the width of the mean's 95 % confidence interval; None for a figure of one run.
        runs: Number of runs behind a mean; None for a figure that is no mean over seeds.
    """

    quantity: str
    unit: str
    algorithm: str
    setting: str
    value: float
    name: str
    ci95: float | None = None
    runs: int | None = None


class Rows:
    """The figures of an item, in the order in which they were added.

    Args:
        named: Parts of a row that make a figure's name: any of ``quantity``, ``unit``, ``algorithm`` and ``setting``,
            in the name's order. Empty parts are left out.
    """

    def __init__(self, named: Iterable[str] = NAMED) -> None:
        self._named = tuple(named)
        self._by_name: dict[str, Row] = {}
        self._by_key: dict[tuple[str, str, str], Row] = {}

    def add(
        self, quantity: str, value: float, *, unit: str = "", algorithm: str = "", setting: str = "", name: str = ""
    ) -> None:
        """Adds a figure; see `Row`. The default name consists of its parts.

        Raises:
            ValueError: A figure with that name, or with that quantity, algorithm and setting, exists.
        """
        self._add(Row(quantity, unit, algorithm, setting, float(value), name))

    def add_mean(
        self,
        quantity: str,
        values: Sequence[float],
        *,
        unit: str = "",
        algorithm: str = "",
        setting: str = "",
        name: str = "",
    ) -> None:
        """Adds the mean of a figure over runs with different seeds, and its 95 % confidence interval (Student's t).

        Args:
            quantity: See `Row`.
            values: The figure of each run; at least one.
            unit: See `Row`.
            algorithm: See `Row`.
            setting: See `Row`.
            name: As for `add`.

        Raises:
            ValueError: As for `add`; or there is no value.
        """
        if not values:
            raise ValueError(f"{quantity}: a mean needs at least one run")
        found = estimate([float(value) for value in values])
        self._add(Row(quantity, unit, algorithm, setting, found.mean, name, found.ci95, len(values)))

    def add_geometric_mean(
        self,
        quantity: str,
        values: Sequence[float],
        *,
        unit: str = "",
        algorithm: str = "",
        setting: str = "",
        name: str = "",
    ) -> None:
        """Adds the geometric mean of a ratio over runs with different seeds, with the interval of the mean logarithm.

        Args:
            quantity: See `Row`.
            values: The ratio of each run, above 0; at least one.
            unit: See `Row`.
            algorithm: See `Row`.
            setting: See `Row`.
            name: As for `add`.

        Raises:
            ValueError: As for `add_mean`; or a value is not above 0.
        """
        if not values:
            raise ValueError(f"{quantity}: a mean needs at least one run")
        found = estimate([math.log(value) for value in values])
        mean = math.exp(found.mean)
        # Half of the width of an interval that is symmetric on a logarithmic axis.
        ci95 = None if found.ci95 is None else mean * math.sinh(found.ci95)
        self._add(Row(quantity, unit, algorithm, setting, mean, name, ci95, len(values)))

    def _add(self, row: Row) -> None:
        """Adds a row; an empty name is made of its parts."""
        parts = asdict(row)
        name = row.name or ", ".join(parts[each] for each in self._named if parts[each])
        key = row.quantity, row.algorithm, row.setting
        if name in self._by_name or key in self._by_key:
            raise ValueError(f"two values are called {name!r}, or are {', '.join(filter(None, key))}")
        self._by_name[name] = self._by_key[key] = replace(row, name=name)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def called(self, name: str) -> Row:
        """The row of that name.

        Raises:
            KeyError: No row has it.
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
    def intervals(self) -> dict[str, dict[str, float | None]]:
        """The means over several runs by name: ``ci95`` and ``runs`` of each."""
        return {row.name: {"ci95": _finite(row.ci95), "runs": row.runs} for row in self if row.runs is not None}

    @property
    def figures(self) -> dict[str, float]:
        """The figures by name, as `judge` takes them."""
        return {row.name: row.value for row in self}

    def to_csv(self) -> str:
        """One line for each figure; a value that is no number, or missing, is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in self:
            parts = row.quantity, row.unit, row.algorithm, row.setting
            writer.writerow([*parts, _finite(row.value), row.ci95, row.runs])
        return text.getvalue()

    def to_list(self) -> list[dict[str, Any]]:
        """Plain values ready for JSON."""
        return [{**asdict(row), "value": _finite(row.value), "ci95": _finite(row.ci95)} for row in self]

    @classmethod
    def from_list(cls, rows: Iterable[Mapping[str, Any]]) -> Rows:
        """Rows from the result of `to_list`."""
        found = cls()
        for row in rows:
            value = math.nan if row["value"] is None else float(row["value"])
            found._add(Row(**{**row, "value": value}))
        return found


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
