"""Which cells a real kernel runs too, as a column beside the simulator's, and what of a run there is the same run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.fingerprint import hash_of
from fullpipe.errors import ScenarioError
from fullpipe.experiments.evaluate.cell import Cell, Setting
from fullpipe.experiments.evaluate.measure import Row
from fullpipe.experiments.evaluate.preset import STANDARDS, Tree
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import Quantity

if TYPE_CHECKING:
    from fullpipe.linux.plan import Plan

__all__ = [
    "FASTEST_BPS",
    "LINUX_CELLS",
    "LINUX_SEEDS",
    "as_run",
    "asked",
    "check",
    "for_linux",
    "on_linux",
    "stamp",
    "turned",
]

LINUX_CELLS = ("duel", "bloat", "shallow")

FASTEST_BPS = 50e6
"""Faster links take the virtual machine too long."""

LINUX_SEEDS = 2
"""Runs of each: the column is a check of the simulator, and gives no word."""

SIDES = {"victim": "other", "other": "victim"}
"""The groups of a duel, and who is across."""


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


def as_run(tree: Tree) -> tuple[Tree, bool]:
    """The scenario as the guest runs it, and whether victim and other have changed places in it: one beside another is
    one run, whichever of them is the victim.
    """
    tree = for_linux(tree)
    if [group["name"] for group in tree["flows"]] != list(SIDES):
        return tree, False
    plain = [json.dumps({**group, "name": ""}, sort_keys=True) for group in tree["flows"]]
    if plain[0] <= plain[1]:
        return tree, False
    return {**tree, "flows": [{**group, "name": SIDES[group["name"]]} for group in reversed(tree["flows"])]}, True


def turned(row: Row) -> Row:
    """The figures of a run with victim and other in each other's place."""
    return {".".join((SIDES.get(group, group), *rest)): row[key] for key in row for group, *rest in [key.split(".")]}


def check(trees: Iterable[Tree]) -> str:
    """Says no, before anything is run, to what the kernel can't run or this machine has no laboratory for; the kernel's
    version.

    Raises:
        ScenarioError: The kernel has no such algorithm, or cannot honour a key.
        LinuxError: Something needed is missing.
    """
    from fullpipe.linux import job, machine
    from fullpipe.linux.errors import LinuxError
    from fullpipe.linux.kernel import PACKAGE, ensure

    # What the kernel can do depends on the algorithms and their keys, not on the network.
    different = {json.dumps(tree["flows"], sort_keys=True, default=str): tree for tree in trees}
    plans = [_planned(tree) for tree in different.values()]
    if shutil.which(machine.QEMU) is None:
        raise LinuxError(f"{machine.QEMU} is not installed (Debian: apt-get install qemu-system-x86)")
    for plan in plans:
        job.build(plan, ensure(PACKAGE, job.modules(plan)))
    return ensure(PACKAGE).version


def stamp() -> str:
    """What figures from the kernel depend on besides what it is asked to do: which kernel, and our laboratory around
    it. Of a kernel that was not fetched yet it says so.
    """
    from fullpipe import linux
    from fullpipe.linux.kernel import cached

    kernel = cached()
    return f"linux {kernel.version if kernel else 'none'} {hash_of(Path(linux.__file__).parent)}"


def asked(tree: Tree) -> str:
    """What the guest is asked to do for a scenario, in full.

    Raises:
        ScenarioError: The kernel has no such algorithm, or cannot honour a key.
    """
    return repr(_planned(tree))


def _planned(tree: Tree) -> Plan:
    from fullpipe.linux import job
    from fullpipe.linux.plan import Plan

    try:
        plan = Plan.of(Scenario.from_dict(tree))
        job.check(plan)
    except ScenarioError as error:
        raise ScenarioError(error.key, f"{error.what}; so there is no column of a kernel's", error.file) from None
    return plan
