"""Table of a sweep, with a row per run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe.runs.figures import FIRST
from fullpipe.runs.measure import Row
from fullpipe.runs.results import Details, array_of

if TYPE_CHECKING:
    import pyarrow as pa

    from fullpipe.experiments.sweep.plan import Plan

__all__ = ["DETAILS", "Collector", "Tables", "join", "logger", "table_of"]

MOST_ROWS = 5000
"""Rows that are collected before they become columns, which need a tenth of the memory."""

logger = logging.getLogger(__name__)


Tables = tuple["pa.Table", "pa.Table | None", "pa.Table | None"]
"""Tables of runs, flows, and links."""


class Collector:
    """Rows of a sweep, in memory proportional to the final tables."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._tables: list[pa.Table] = []
        self._rows: list[Row] = []
        self._details = {name: Details() for name in DETAILS} if plan.keeps_flows else {}

    def add(self, number: int, row: Row | None, error: str | None = None) -> None:
        """Adds the row of a run, as the plan's measure makes it, or its error."""
        row = row or {}
        for name, details in self._details.items():
            details.add(number, row.get(name, {}))
        metrics = row.get("runs", {}) if self._details else row
        self._rows.append({**self._plan.labels(number), "error": error, **metrics})
        if len(self._rows) >= MOST_ROWS:
            self._pack()

    def add_tables(self, runs: pa.Table, details: Mapping[str, pa.Table]) -> None:
        """Adds rows as tables."""
        self._tables.append(runs)
        for name, table in details.items():
            self._details[name].add_table(table)

    def tables(self) -> Tables:
        """All rows, in order of their runs."""
        self._pack()
        runs = join([*self._tables, table_of([], self._plan)], self._plan)
        flows, links = (
            self._details[name].table(runs, self._plan.point_columns) if self._details else None for name in DETAILS
        )
        return runs, flows, links

    def _pack(self) -> None:
        self._tables.append(table_of(self._rows, self._plan))
        self._rows = []


DETAILS = ("flows", "links")
"""Tables with several rows per run."""


def table_of(rows: Sequence[Row], plan: Plan) -> pa.Table:
    """Rows as a table, in order of their runs: the plan's label columns, ``error``, the metrics.

    A missing value is null. A column without values has floats.
    """
    import pyarrow as pa

    rows = sorted(rows, key=lambda row: int(row["run"]))
    names = dict.fromkeys((*plan.label_columns, "error", *(name for row in rows for name in row)))
    columns = {name: array_of([row.get(name) for row in rows]) for name in names}
    types = {"error": pa.string(), **{name: array_of([value]).type for name, value in plan.labels(0).items()}}
    for name, column in columns.items():
        if pa.types.is_null(column.type):
            columns[name] = column.cast(types.get(name, pa.float64()))
    return pa.table(columns)


def join(tables: Iterable[pa.Table], plan: Plan) -> pa.Table:
    """One table from tables of some runs each, independent of their partition. The last row of a run counts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.concat_tables(tables, promote_options="permissive")
    place = pa.array(range(len(table)), pa.int64())
    table = table.append_column("__place", place)
    last = table.group_by("run").aggregate([("__place", "max")])["__place_max"]
    table = table.filter(pc.is_in(table["__place"], value_set=last.combine_chunks())).drop_columns("__place")
    leading = [*plan.label_columns, "error"]
    # The order of the other columns must not depend on which run came first.
    metrics = sorted(set(table.column_names) - set(leading), key=_rank)
    return table.select([*leading, *metrics]).sort_by("run").combine_chunks()


def _rank(name: str) -> tuple[int, str]:
    return (FIRST.index(name), "") if name in FIRST else (len(FIRST), name)
