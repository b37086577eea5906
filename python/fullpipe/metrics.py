"""Metrics by the registry of the simulator (``crates/sim/src/report/metrics.rs``).

Table headings, plot axes, and units come from this registry. ``metric("p99_rtt_s").title`` is "p99 RTT". A name with a
scope, such as ``links.edge.utilization``, has the metric of its last part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Literal

from fullpipe._core import metrics

__all__ = ["METRICS", "SUFFIXES", "Better", "Metric", "axis", "column", "metric"]

Better = Literal["more", "less", ""]
"""Direction in which a metric improves; empty where neither is better."""

Number = float | int | None


@dataclass(frozen=True)
class Metric:
    """A quantity that a run measures.

    Attributes:
        id: Name in columns and JSON. Its last part is the unit.
        title: Heading of tables and plots, without the unit.
        unit: SI unit of the values: "bit/s", "s", "packets", "bytes"; "1" for fractions, indices, and counts.
        definition: Definition in one or two sentences.
        kind: Statistic: "count", "fraction", "index", "rate", "duration", "average", "percentile", "extreme", "sample".
        better: Direction in which the metric improves.
        form: Format of shown values; empty for a format that suits the unit and the kind.
        source: RFC, paper, or standard of the definition; empty where it needs none.
        table: First table of a result that has it: "links", "flows", "groups", "transfers", "traffic", "series", or
            "totals"; "experiments" for a metric that a comparison of runs adds.
        scope: Link, group, or source that the metric is of; empty for the bottleneck and for all flows.
    """

    id: str
    title: str
    unit: str
    definition: str
    kind: str = "average"
    better: Better = ""
    form: str = ""
    source: str = ""
    table: str = ""
    scope: str = ""

    @property
    def full_title(self) -> str:
        """Title with the scope, for example "Utilization of link edge", "Goodput of call" for ``groups.call``."""
        kind, _, name = self.scope.partition(".")
        of = " ".join(part for part in (SCOPES.get(kind, kind), name) if part)
        return f"{self.title} of {of}" if of else self.title

    @property
    def percent(self) -> bool:
        """Whether values are fractions, which are shown in percent."""
        return self.kind == "fraction"


SCOPES = {"groups": "", "flows": "", "links": "link", "udp": "UDP"}
"""Words of titles for the first part of a scope, where they differ from it."""

METRICS: Mapping[str, Metric] = {entry["id"]: Metric(**entry) for entry in metrics()}
"""All metrics by id."""

SUFFIXES = {"bps": "bit/s", "s": "s", "packets": "packets", "bytes": "bytes", "bdp": "BDP"}
"""Units by the last part of an id. Quantities in scenarios have these base units too."""

SCALES: Mapping[str, tuple[tuple[float, str], ...]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
}
"""Units that people read, from the largest: size in SI units, and name."""

AXES: Mapping[str, tuple[float, str]] = {"bit/s": (1e6, "Mbit/s"), "s": (1e-3, "ms")}
"""Units of axes and of differences: size in SI units, and name."""


@cache
def metric(name: str) -> Metric:
    """The metric of a column. An unknown name gets the unit of its last part, and a title of its words.

    Args:
        name: An id, also with a scope (``links.edge.utilization``, ``groups.call.goodput_bps``) or with ``reverse_``.
    """
    scope, _, own = name.rpartition(".")
    plain = own.removeprefix("reverse_")
    found = METRICS.get(plain)
    if found is None:
        stem, _, suffix = plain.rpartition("_")
        unit = SUFFIXES.get(suffix, "1") if stem else "1"
        words = (stem if unit != "1" else plain).replace("_", " ").replace("rtt", "RTT")
        found = Metric(plain, words[:1].upper() + words[1:], unit, "")
    title = found.title if plain == own else f"{found.title}, reverse"
    return replace(found, id=name, title=title, scope=scope)


def axis(name: str) -> tuple[str, float]:
    """Label of an axis with its unit, for example "Goodput (Mbit/s)", and the factor of values in SI units."""
    one = metric(name)
    size, unit = AXES.get(one.unit, (1.0, one.unit))
    if one.percent:
        size, unit = 0.01, "%"
    return one.full_title + (f" ({unit})" if unit != "1" else ""), 1 / size


def column(
    name: str, values: Sequence[Number], halves: Iterable[Number] | None = None, *, signed: bool = False
) -> tuple[str, list[str]]:
    """Heading with a unit that suits the values, and the values as text; "-" for None.

    Args:
        name: Id of the metric.
        values: Values in SI units.
        halves: Half widths of the confidence intervals of the values; None or 0 for no interval.
        signed: Whether values are differences, which have a sign.
    """
    one = metric(name)
    size, unit, form = 1.0, one.unit, one.form or (",.0f" if one.kind == "count" else "")
    if signed and one.unit in SCALES:
        size, unit = AXES[one.unit]
        form = form or (",.2f" if one.unit == "bit/s" else ",.1f")
    elif one.unit in SCALES:
        size, unit = _scale(one.unit, [abs(value) for value in values if value])
        form = form or (",.2f" if one.unit == "bit/s" or unit == "s" else ",.1f")
    elif one.percent:
        size, unit = 0.01, "%"
    form = ("+" if signed else "") + (form or ",.1f")

    small = one.unit in SCALES

    def text(value: Number, half: Number) -> str:
        if value is None:
            return "-"
        # A value that is far below the others of the column keeps three digits.
        own = form.replace(",.2f", ".3g").replace(",.1f", ".3g") if small and 0 < abs(value) < 0.1 * size else form
        shown = f"{value / size:{own}}"
        return shown + (f" ± {half / size:,.{_decimals(shown)}f}" if half else "")

    widths = [None] * len(values) if halves is None else list(halves)
    heading = one.full_title + (f" ({unit})" if unit != "1" else "")
    return heading, [text(value, half) for value, half in zip(values, widths, strict=True)]


def _scale(unit: str, sizes: Sequence[float]) -> tuple[float, str]:
    """Unit of a column: that of the largest value. Times of less than 0.1 s beside longer ones are in ms."""
    steps = SCALES[unit]
    if not sizes:
        return steps[1]
    if unit == "s" and min(sizes) < 0.1 <= max(sizes):
        return steps[1]
    return next((step for step in steps if max(sizes) >= step[0]), steps[-1])


def _decimals(text: str) -> int:
    """Digits after the decimal point of a number."""
    return len(f"{Decimal(text.replace(',', '')):f}".partition(".")[2])
