"""Measured values of an item as tidy rows, for checks, plots, the report, and ``measured.csv``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypedDict, Unpack

from fullpipe.runs.aggregate import estimate

__all__ = ["COLUMNS", "Place", "Row", "Rows"]

COLUMNS = ("quantity", "unit", "algorithm", "setting", "value", "ci95", "runs")
"""Columns of the file."""

NAMED = ("quantity", "algorithm", "setting", "unit")
"""Parts of a row that make a value's name, in this order: ``utilization, proposed, k=1/8``."""


class Place(TypedDict, total=False):
    """Parts of a row that identify its value; see `Row`."""

    unit: str
    algorithm: str
    setting: str
    name: str


@dataclass(frozen=True)
class Row:
    """Measured value.

    Attributes:
        quantity: Measured quantity.
        unit: Unit; empty for ratios, indices, and numbers of flows.
        algorithm: Name of the algorithm in the paper (``proposed``), or of a pair (``proposed over reno``).
        setting: Other parameters that vary, and the averaging time.
        value: The value, or its mean over several runs; NaN if there was none.
        name: Name for checks and sentences.
        ci95: Half of the width of the mean's 95 % confidence interval; None for a value of one run.
        runs: Number of runs of a mean; None for a value that is no mean over seeds.
    """

    quantity: str
    unit: str
    algorithm: str
    setting: str
    value: float
    name: str
    ci95: float | None = None
    runs: int | None = None

    @property
    def cells(self) -> tuple[str | float | None, ...]:
        """Values of `COLUMNS`; None for NaN."""
        return (self.quantity, self.unit, self.algorithm, self.setting, _finite(self.value), self.ci95, self.runs)


class Rows:
    """Measured values of an item, in the order of their addition.

    Args:
        named: Parts of a row that make a value's name: any of ``quantity``, ``unit``, ``algorithm``, and ``setting``,
            in the name's order. Empty parts are left out.
    """

    def __init__(self, named: Iterable[str] = NAMED) -> None:
        self._named = tuple(named)
        self._by_name: dict[str, Row] = {}
        self._by_key: dict[tuple[str, str, str], Row] = {}

    def add(self, quantity: str, value: float, **place: Unpack[Place]) -> None:
        """Adds a value; see `Row`. The default name consists of its parts.

        Raises:
            ValueError: The name, or quantity, algorithm, and setting together, exist already.
        """
        self._add(quantity, float(value), place)

    def add_mean(self, quantity: str, values: Sequence[float], **place: Unpack[Place]) -> None:
        """Adds the mean over runs with different seeds, and its 95 % confidence interval (Student's t).

        Raises:
            ValueError: As for `add`; or there is no value.
        """
        found = estimate(_several(quantity, values))
        self._add(quantity, found.mean, place, found.ci95, len(values))

    def add_geometric_mean(self, quantity: str, values: Sequence[float], **place: Unpack[Place]) -> None:
        """Adds the geometric mean of a positive ratio over runs, with the interval of the mean logarithm.

        Raises:
            ValueError: As for `add_mean`; or a value is not above 0.
        """
        found = estimate([math.log(value) for value in _several(quantity, values)])
        mean = math.exp(found.mean)
        # Half of the width of an interval that is symmetric on a logarithmic axis.
        ci95 = None if found.ci95 is None else mean * math.sinh(found.ci95)
        self._add(quantity, mean, place, ci95, len(values))

    def _add(
        self, quantity: str, value: float, place: Place, ci95: float | None = None, runs: int | None = None
    ) -> None:
        unit, algorithm, setting = place.get("unit", ""), place.get("algorithm", ""), place.get("setting", "")
        self._put(Row(quantity, unit, algorithm, setting, value, place.get("name", ""), ci95, runs))

    def _put(self, row: Row) -> None:
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
        """Row with that name.

        Raises:
            KeyError: The name is unknown.
        """
        return self._by_name[name]

    def get(self, quantity: str, algorithm: str = "", setting: str = "") -> float | None:
        """Value; None if it was not measured."""
        row = self._by_key.get((quantity, algorithm, setting))
        return None if row is None else row.value

    def value(self, quantity: str, algorithm: str = "", setting: str = "") -> float:
        """Value.

        Raises:
            KeyError: It was not measured.
        """
        return self._by_key[quantity, algorithm, setting].value

    @property
    def intervals(self) -> dict[str, dict[str, float | None]]:
        """Means over several runs by name: ``ci95`` and ``runs`` of each."""
        return {row.name: {"ci95": _finite(row.ci95), "runs": row.runs} for row in self if row.runs is not None}

    @property
    def values(self) -> dict[str, float]:
        """Values by name, for `judge`."""
        return {row.name: row.value for row in self}

    def to_csv(self) -> str:
        """A line per value. Missing values and NaN are empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(row.cells for row in self)
        return text.getvalue()

    def to_list(self) -> list[dict[str, str | float | None]]:
        """Plain values ready for JSON."""
        return [{**asdict(row), "value": _finite(row.value), "ci95": _finite(row.ci95)} for row in self]

    @classmethod
    def mean(cls, repeats: Sequence[Rows]) -> Rows:
        """Means over repetitions of an item, each with its 95 % confidence interval; one repetition as it is."""
        if len(repeats) == 1:
            return repeats[0]
        found = cls()
        for row in repeats[0]:
            found._put(_mean([each.called(row.name) for each in repeats if row.name in each._by_name]))
        return found

    @classmethod
    def from_list(cls, rows: Iterable[Mapping[str, str | float | None]]) -> Rows:
        """Rows from the result of `to_list`."""
        found = cls()
        for row in rows:
            value = math.nan if row["value"] is None else float(row["value"])
            found._put(Row(**{**row, "value": value}))  # type: ignore[arg-type]
        return found


def _mean(rows: Sequence[Row]) -> Row:
    known = [row.value for row in rows if math.isfinite(row.value)]
    if not known:
        return rows[0]
    found = estimate(known)
    return replace(rows[0], value=found.mean, ci95=found.ci95, runs=len(known))


def _several(quantity: str, values: Sequence[float]) -> list[float]:
    if not values:
        raise ValueError(f"{quantity}: a mean requires at least one run")
    return [float(value) for value in values]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
