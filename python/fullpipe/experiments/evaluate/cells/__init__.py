"""Test cases of the card, with a file per part of RFC 9743."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import Cell
from fullpipe.experiments.evaluate.cells import (
    app_limited,
    collapse,
    fairness,
    general,
    harm,
    loss,
    queues,
    short,
    special,
    start_up,
    suite,
)

__all__ = ["CELLS"]

CELLS: tuple[Cell, ...] = (
    *collapse.CELLS,
    *queues.CELLS,
    *loss.CELLS,
    *fairness.CELLS,
    *short.CELLS,
    *app_limited.CELLS,
    *harm.CELLS,
    *suite.CELLS,
    *general.CELLS,
    *start_up.CELLS,
    *special.CELLS,
)
"""Test cases in the order of their sections."""
