"""Which cells a real kernel runs too, as a column beside the simulator's."""

from __future__ import annotations

from fullpipe.scenario.quantity import Quantity
from fullpipe.study.evaluate.cell import Cell, Setting
from fullpipe.study.evaluate.preset import STANDARDS, Tree

__all__ = ["FASTEST_BPS", "LINUX_CELLS", "LINUX_SEEDS", "for_linux", "on_linux"]

LINUX_CELLS = ("duel", "bloat", "shallow")

FASTEST_BPS = 50e6
"""Faster links take the virtual machine too long."""

LINUX_SEEDS = 2
"""Runs of each: the column is a check of the simulator, and gives no word."""


def on_linux(cell: Cell, setting: Setting) -> bool:
    """Whether a setting is run on the kernel too."""
    if cell.id not in LINUX_CELLS:
        return False
    rate = Quantity.parse(next(iter(cell.roles(setting, STANDARDS[0], False).values()))["links"][0]["rate"])
    return rate is not None and rate.value <= FASTEST_BPS


def for_linux(tree: Tree) -> Tree:
    """The scenario without what the guest has of its own: the time that its hosts take."""
    groups = [{key: value for key, value in group.items() if key != "processing_time"} for group in tree["flows"]]
    return {**tree, "flows": groups}
