"""Everything measured as one table, a row per figure, whatever was run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fullpipe._util.plain import Table
from fullpipe.metrics import metric

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["tidy"]


def tidy(measured: Iterable[tuple[str, str, Table]]) -> pa.Table:
    """A row per metric that has a value: ``quantity`` (its name), ``unit`` ("1" for parts and counts), ``group``,
    ``setting`` (the run), and ``value``. Tables of several outcomes can be concatenated.

    Args:
        measured: Groups, settings, and metrics by name; values that are not numbers are left out.
    """
    import pyarrow as pa

    rows = [
        (name, metric(name).unit, group, which, float(value))
        for group, which, figures in measured
        for name, value in figures.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ]
    columns = zip(*rows, strict=True) if rows else ((),) * 5
    names = ("quantity", "unit", "group", "setting", "value")
    kinds = (*[pa.string()] * 4, pa.float64())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip(names, arrays, strict=True)))
