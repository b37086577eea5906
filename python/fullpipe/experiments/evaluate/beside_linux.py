"""Test cases that a real kernel runs too, and runs that are equal there."""

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
"""Fastest link on the virtual machine."""

LINUX_SEEDS = 2
"""Runs of each configuration. They check the simulator and give no verdict."""

SIDES = {"victim": "other", "other": "victim"}
"""Competitor of each group in a duel."""


def on_linux(cell: Cell, setting: Setting) -> bool:
    """Whether the kernel runs a configuration too."""
    if cell.id not in LINUX_CELLS:
        return False
    rate = Quantity.parse(next(iter(cell.roles(setting, STANDARDS[0], False).values()))["links"][0]["rate"])
    return rate is not None and rate.value <= FASTEST_BPS


def for_linux(tree: Tree) -> Tree:
    """Scenario without the processing time of hosts, because the guest has its own."""
    groups = [{key: value for key, value in group.items() if key != "processing_time"} for group in tree["flows"]]
    return {**tree, "flows": groups}


def as_run(tree: Tree) -> tuple[Tree, bool]:
    """Scenario of the virtual machine, and whether victim and competitor have swapped places. A versus B is one run,
    because either can be the victim.
    """
    tree = for_linux(tree)
    if [group["name"] for group in tree["flows"]] != list(SIDES):
        return tree, False
    plain = [json.dumps({**group, "name": ""}, sort_keys=True) for group in tree["flows"]]
    if plain[0] <= plain[1]:
        return tree, False
    return {**tree, "flows": [{**group, "name": SIDES[group["name"]]} for group in reversed(tree["flows"])]}, True


def turned(row: Row) -> Row:
    """Metrics of a run with victim and competitor swapped."""
    return {".".join((SIDES.get(group, group), *rest)): row[key] for key in row for group, *rest in [key.split(".")]}


def check(trees: Iterable[Tree]) -> str:
    """Version of the kernel, after a check before any run that it can run all scenarios and that this machine has the
    testbed.

    Raises:
        ScenarioError: The kernel lacks an algorithm or cannot honor a key.
        LinuxError: A part of the testbed is missing.
    """
    from fullpipe.linux import job, machine
    from fullpipe.linux.errors import LinuxError
    from fullpipe.linux.kernel import PACKAGE, ensure

    # Whether the kernel can run a scenario depends on its flows, not on the network.
    different = {json.dumps(tree["flows"], sort_keys=True, default=str): tree for tree in trees}
    plans = [_planned(tree) for tree in different.values()]
    if shutil.which(machine.QEMU) is None:
        raise LinuxError(f"the Linux engine requires {machine.QEMU} (Debian: apt-get install qemu-system-x86)")
    for plan in plans:
        job.build(plan, ensure(PACKAGE, job.modules(plan)))
    return ensure(PACKAGE).version


def stamp() -> str:
    """Identity of kernel and testbed. If the kernel is not downloaded yet, the identity has "none"."""
    from fullpipe import linux
    from fullpipe.linux.kernel import cached

    kernel = cached()
    return f"linux {kernel.version if kernel else 'none'} {hash_of(Path(linux.__file__).parent)}"


def asked(tree: Tree) -> str:
    """Plan of the guest for a scenario.

    Raises:
        ScenarioError: The kernel lacks an algorithm or cannot honor a key.
    """
    return repr(_planned(tree))


def _planned(tree: Tree) -> Plan:
    from fullpipe.linux import job
    from fullpipe.linux.plan import Plan

    try:
        plan = Plan.of(Scenario.from_dict(tree))
        job.check(plan)
    except ScenarioError as error:
        raise ScenarioError(error.key, f"{error.what}; the card has no column for Linux", error.file) from None
    return plan
