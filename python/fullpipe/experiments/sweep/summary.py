"""What the repeats of each combination say together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fullpipe.runs.aggregate import estimate, paired

if TYPE_CHECKING:
    import pyarrow as pa

    from fullpipe.experiments.sweep.axes import Axis
    from fullpipe.experiments.sweep.plan import Plan

__all__ = ["differences", "summarize"]


def summarize(table: pa.Table, plan: Plan) -> pa.Table:
    """A row per combination: the axes, ``runs`` that succeeded, those that ``failed``, and of each figure X ``X_mean``,
    ``X_sd`` (standard deviation) and ``X_ci95`` (half of the 95 % confidence interval's width, Student's t), over the
    runs in which it has a value; the last two are null for fewer than two.
    """
    import pyarrow as pa

    figures = _figures(table, plan)
    rows_of: dict[int, list[int]] = defaultdict(list)
    for row, run in enumerate(table["run"].to_pylist()):
        rows_of[int(run or 0) // plan.repeats].append(row)

    columns: dict[str, Any] = {}
    first = [rows[0] for rows in rows_of.values()]
    for name in plan.point_columns:
        columns[name] = table[name].take(pa.array(first, pa.int64()))
    failed = [error is not None for error in table["error"].to_pylist()]
    failures = [sum(failed[row] for row in rows) for rows in rows_of.values()]
    columns["runs"] = pa.array(
        [len(rows) - bad for rows, bad in zip(rows_of.values(), failures, strict=True)], pa.int64()
    )
    columns["failed"] = pa.array(failures, pa.int64())
    for name in figures:
        values: list[float | None] = table[name].to_pylist()
        estimates = []
        for rows in rows_of.values():
            present = [value for value in (values[row] for row in rows) if value is not None]
            estimates.append(estimate(present) if present else None)
        for part in ("mean", "sd", "ci95"):
            columns[f"{name}_{part}"] = pa.array([each and getattr(each, part) for each in estimates], pa.float64())
    return pa.table(columns)


def differences(table: pa.Table, plan: Plan, along: Axis, value: Any) -> pa.Table:
    """See `Sweep.versus`."""
    import pyarrow as pa

    rows = [row for row in table.to_pylist() if row["error"] is None]
    others = [axis.path for axis in plan.axes if axis is not along]

    def pair(row: dict[str, Any]) -> tuple[Any, ...]:
        return (*(row[path] for path in others), row["seed"])

    base = {pair(row): row for row in rows if row[along.path] == value}
    points: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row[along.path] != value and pair(row) in base:
            points[tuple(row[axis.path] for axis in plan.axes)].append(row)
    figures = _figures(table, plan)
    found = []
    for point, runs in points.items():
        line: dict[str, Any] = dict(zip((axis.path for axis in plan.axes), point, strict=True)) | {"pairs": len(runs)}
        for name in figures:
            over = paired([row[name] for row in runs], [base[pair(row)][name] for row in runs])
            line[f"{name}_difference"] = over and over.mean
            line[f"{name}_difference_ci95"] = over and over.ci95
        found.append(line)
    return pa.Table.from_pylist(found)


def _figures(table: pa.Table, plan: Plan) -> list[str]:
    """The columns of figures."""
    known = {*plan.label_columns, "error"}
    return [field.name for field in table.schema if field.name not in known and _is_number(field.type)]


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(kind) or pa.types.is_floating(kind)
