"""Columns as the engines give them, into Arrow tables and plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fullpipe._core import Column
from fullpipe._util.plain import Table, Tree
from fullpipe.metrics import metric

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["Columns", "described", "keep", "of_arrow", "rows", "to_arrow", "to_list", "to_numpy"]

Columns: TypeAlias = Table
"""A table column by column: numbers in a `Column` or a NumPy array, anything else in a list."""


def to_arrow(columns: Columns, names: Mapping[str, Sequence[str]] | None = None) -> pa.Table:
    """An Arrow table that shares the columns' memory.

    Args:
        columns: The table.
        names: Names for columns of indices; such a column becomes an Arrow dictionary of names.
    """
    import pyarrow as pa

    arrays = {name: _array(column) for name, column in columns.items()}
    for name, values in (names or {}).items():
        indices = arrays[name] if len(arrays[name]) else pa.array([], pa.int32())  # an empty list has no type
        arrays[name] = pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string()))
    return described(pa.table(arrays))


def described(table: pa.Table) -> pa.Table:
    """The table with ``title``, ``unit``, and ``definition`` of each metric in the metadata of its field.

    Columns that are no metrics, such as names, have no metadata.
    """
    import pyarrow as pa

    fields = []
    for field in table.schema:
        one = metric(field.name)
        texts: dict[bytes | str, bytes | str] = {
            "title": one.full_title,
            "unit": one.unit,
            "definition": one.definition,
        }
        # The registry has a definition of each metric.
        fields.append(field.with_metadata(texts) if one.definition else field)
    whole: Any = table.schema.metadata
    return table.cast(pa.schema(fields, whole)) if fields else table


def to_list(column: Column | Sequence[object]) -> list[Any]:
    """Values of the column; None for a number that is not finite."""
    if isinstance(column, Column):
        return column.to_list()
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in _plain(column)]


def rows(columns: Columns) -> list[Tree]:
    """Rows of the table; None for a number that is not finite."""
    lists = {name: to_list(column) for name, column in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def to_numpy(column: Column | Sequence[object]) -> np.ndarray[Any, Any]:
    """The column as a NumPy array; one on the column's own memory where it is a `Column`."""
    import numpy as np

    return np.frombuffer(column, dtype=column.dtype) if isinstance(column, Column) else np.asarray(column)  # type: ignore[call-overload,unused-ignore]


def keep(columns: Columns) -> Columns:
    """The columns in a form that outlives this process."""
    return {name: to_numpy(column) if isinstance(column, Column) else column for name, column in columns.items()}


def of_arrow(table: pa.Table) -> Columns:
    """The columns of an Arrow table."""
    import pyarrow as pa

    columns: Tree = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            indices: Any = column.combine_chunks()
            columns[name] = indices.indices.to_numpy()
        else:
            columns[name] = column.to_pylist() if pa.types.is_string(column.type) else column.to_numpy()
    return columns


def _plain(column: Sequence[object]) -> list[object]:
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _array(column: Column | Sequence[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    if not isinstance(column, Column):
        return pa.array(column, pa.string() if isinstance(column, list) and not column else None)
    type_ = pa.type_for_alias(column.dtype)
    buffer: Any = column  # the stubs know the buffer protocol from Python 3.12 on
    return pa.Array.from_buffers(type_, len(column), [None, pa.py_buffer(buffer)])
