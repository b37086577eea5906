"""Figures as people read them: units, the tables that the program prints and notebooks show."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fullpipe._util.text import html

__all__ = [
    "Outcome",
    "Shown",
    "any_known",
    "any_marked",
    "count",
    "fairness",
    "marked",
    "milliseconds",
    "on_axis",
    "page",
    "percent",
    "plus_minus",
    "rate",
    "rate_plus_minus",
    "unit",
    "without_unit",
]

UNITS = {"bps": "bit/s", "s": "s", "packets": "packets", "bytes": "bytes"}
"""What the last part of a figure's name says of its unit."""

ON_AXES = {"bit/s": ("Mbit/s", 1e-6), "s": ("ms", 1e3)}
"""The units that pictures show in place of others, and how many of them one is."""

OF_PARTS = {
    "utilization": ("% of capacity", 1e2),
    "loss_rate": ("% of packets", 1e2),
    "share": ("% of goodput", 1e2),
    "jain_index": ("1 where all are equal", 1.0),
}
"""The same for parts of a whole."""


def unit(figure: str) -> str:
    """The unit of a figure, by its name; "1" for parts of a whole and numbers of things."""
    return UNITS.get(figure.rpartition("_")[2], "1") if "_" in figure else "1"


def without_unit(figure: str) -> str:
    """What a figure is called where its unit stands beside: ``p99_rtt_s`` is ``p99 rtt``, and
    ``links.a_b.max_queue_packets`` is ``links.a_b.max queue``.
    """
    whose, dot, what = figure.rpartition(".")
    name, _, last = what.rpartition("_")
    return whose + dot + (name if name and last in UNITS else what).replace("_", " ")


def on_axis(figure: str) -> tuple[str, float]:
    """What an axis of a picture says of a figure, and what its values are multiplied with for that."""
    whole = figure.rpartition(".")[2].removeprefix("reverse_")
    return OF_PARTS.get(whole) or ON_AXES.get(unit(figure)) or ("number" if unit(figure) == "1" else unit(figure), 1.0)


@dataclass(frozen=True)
class Shown:
    """A table of text.

    Attributes:
        title: Above it; may be empty.
        columns: The headings.
        rows: The cells.
        left: So many columns say which row it is, and are text; the others are numbers.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


class Outcome(ABC):
    """What came of something, as plain values, as JSON and as tables."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values ready for JSON."""

    @abstractmethod
    def shown(self) -> list[Shown | str]:
        """The tables and lines that the program prints."""

    def to_json(self, *, indent: int | None = 2) -> str:
        """What `to_dict` has, as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def _repr_html_(self) -> str:
        return page(self.shown())


def rate(bits_per_s: float | None) -> str:
    """A rate with the unit that reads best, or a dash."""
    if bits_per_s is None:
        return "-"
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_s >= size:
            return f"{bits_per_s / size:.2f} {unit}"
    return f"{bits_per_s:.0f} bit/s"


def rate_plus_minus(bits_per_s: float | None, half_bps: float | None) -> str:
    """A rate with half of the width of its confidence interval, where it has one; or a dash."""
    if bits_per_s is None or not half_bps:
        return rate(bits_per_s)
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_s >= size:
            return plus_minus(bits_per_s, half_bps, ".2f", 1 / size, f" {unit}")
    return plus_minus(bits_per_s, half_bps, ".0f", 1.0, " bit/s")


def plus_minus(mean: float | None, half: float | None, form: str, scale: float = 1.0, unit: str = "") -> str:
    """A mean with half of the width of its confidence interval, where it has one that is not 0; or a dash.

    Args:
        mean: The mean; None for a dash.
        half: Half of the width.
        form: Format of both.
        scale: Factor of both, so that they are in the unit.
        unit: Text at the end.
    """
    if mean is None:
        return "-"
    return f"{mean * scale:{form}}" + (f" ± {half * scale:{form}}" if half else "") + unit


def milliseconds(seconds: float | None) -> str:
    """A time in milliseconds, or a dash."""
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def percent(part: float | None) -> str:
    """A part of a whole in per cent, or a dash."""
    return "-" if part is None else f"{100 * part:.1f} %"


def count(number: float | None) -> str:
    """A whole number, or a dash."""
    return "-" if number is None else f"{number:,.0f}"


def fairness(index: float | None) -> str:
    """Jain's index, or a dash."""
    return "-" if index is None else f"{index:.3f}"


def any_known(rows: Iterable[Mapping[str, Any]], figure: str) -> bool:
    """Whether any of the rows has the figure; engines do not tell all, and what none tells has no column."""
    return any(row.get(figure) is not None for row in rows)


def any_marked(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a queue of any of the links has marked a packet; only then a table says so."""
    return any(row.get("marked_packets") for row in rows)


def marked(row: Mapping[str, Any]) -> str:
    """How many packets a link's queue has marked, or a dash where its engine does not say."""
    return count(row.get("marked_packets"))


def page(parts: Iterable[Shown | str]) -> str:
    """Tables and lines as HTML, as notebooks show them."""
    return "\n".join(_table(part) if isinstance(part, Shown) else f"<p>{html(part)}</p>" for part in parts)


def _table(table: Shown) -> str:
    caption = f"<caption>{html(table.title)}</caption>" if table.title else ""
    head = "".join(f"<th{_side(i, table)}>{html(column)}</th>" for i, column in enumerate(table.columns))
    rows = "\n".join(
        f"<tr>{''.join(f'<td{_side(i, table)}>{html(cell)}</td>' for i, cell in enumerate(row))}</tr>"
        for row in table.rows
    )
    return f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>"


def _side(i: int, table: Shown) -> str:
    return f' style="text-align: {"left" if i < table.left else "right"}"'
