"""The table of a sweep: a row per run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullpipe.runs.figures import FIRST

if TYPE_CHECKING:
    import pyarrow as pa

    from fullpipe.study.sweep.plan import Plan

__all__ = ["join", "table_of"]


def table_of(rows: Sequence[Mapping[str, Any]], plan: Plan) -> pa.Table:
    """The rows as a table, in order of their runs: the plan's label columns, ``error``, the figures.

    What is absent from a row is null there. A column of nulls alone is one of floats, as figures without a value are.
    """
    import pyarrow as pa

    rows = sorted(rows, key=lambda row: int(row["run"]))
    names = dict.fromkeys((*plan.label_columns, "error", *(name for row in rows for name in row)))
    columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    types = {"error": pa.string(), **{name: pa.scalar(value).type for name, value in plan.labels(0).items()}}
    for name, column in columns.items():
        if pa.types.is_null(column.type):
            columns[name] = column.cast(types.get(name, pa.float64()))
    return pa.table(columns)


def join(tables: Iterable[pa.Table], plan: Plan) -> pa.Table:
    """Tables of some runs each as one, the same however the runs were shared out; of a run that is there several times
    the last counts.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.concat_tables(tables, promote_options="permissive")
    place = pa.array(range(len(table)), pa.int64())
    table = table.append_column("__place", place)
    last = table.group_by("run").aggregate([("__place", "max")])["__place_max"]
    table = table.filter(pc.is_in(table["__place"], value_set=last.combine_chunks())).drop_columns("__place")
    leading = [*plan.label_columns, "error"]
    # The order of the other columns must not depend on which run came first.
    figures = sorted(set(table.column_names) - set(leading), key=_rank)
    return table.select([*leading, *figures]).sort_by("run").combine_chunks()


def _rank(name: str) -> tuple[int, str]:
    return (FIRST.index(name), "") if name in FIRST else (len(FIRST), name)
