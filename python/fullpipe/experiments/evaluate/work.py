"""Runs of a card, each made once: by the simulator or a kernel, on this machine or a cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from fullpipe import runs as core
from fullpipe import scenario as scenarios
from fullpipe._util.fingerprint import hash_of
from fullpipe.engine.options import RunOptions
from fullpipe.errors import InputError
from fullpipe.experiments.evaluate import beside_linux, measure
from fullpipe.experiments.evaluate.beside_linux import as_run, turned
from fullpipe.experiments.evaluate.cell import Cell, Role, Setting
from fullpipe.experiments.evaluate.judging import Runs
from fullpipe.experiments.evaluate.measure import MEASURES, Row
from fullpipe.experiments.evaluate.preset import Party, Tree
from fullpipe.linux.errors import LinuxError
from fullpipe.runs.design import Case, Run, error_line
from fullpipe.runs.measure import name_of
from fullpipe.runs.runner import Keys, Runner
from fullpipe.runs.store import Store
from fullpipe.scenario import Scenario

__all__ = ["Wanted", "Work", "needed", "open_store"]

Counts = Mapping[tuple[Cell, Setting], int]
"""Number of seeds by configuration."""


@dataclass(frozen=True)
class Wanted:
    """Run of a card.

    Attributes:
        cell: Test case.
        setting: Configuration.
        role: Role of its flows.
        tree: Scenario with the seed.
        seed: Seed.
        run: Run for the runner.
        turned: Whether victim and competitor have swapped places in it.
    """

    cell: Cell
    setting: Setting
    role: Role
    tree: Tree
    seed: int
    run: Run
    turned: bool = False


def open_store(directory: str | os.PathLike[str]) -> Store:
    """Store of all cards' runs in a directory. If the directory is not usable, the store keeps runs in memory and
    reports it.
    """
    return Store(Path(directory, "runs.sqlite"), optional=True)


def needed(candidate: Party, counts: Counts, engine: str, *, deployed: bool) -> Iterator[Wanted]:
    """All runs of the configurations.

    Raises:
        ScenarioError: The kernel cannot run one of them.
    """
    number = 0
    for (cell, setting), count in counts.items():
        measured = name_of(MEASURES[cell.measure])
        for role, tree in cell.roles(setting, candidate, deployed).items():
            made, turn = as_run(tree) if engine == "linux" else (tree, False)
            scenario = Scenario.from_dict(made)
            for seed in range(1, count + 1):
                asked = _asked_of_linux(scenario, seed) if engine == "linux" else None
                run = Run(number, Case(scenario, measure=measured, asked=asked), seed)
                yield Wanted(cell, setting, role, {**made, "seed": seed}, seed, run, turn)
                number += 1


@dataclass
class Work:
    """Runs of a card that the store lacks. A run that fails does not stop the others.

    Attributes:
        store: Store of runs.
        candidate: Algorithm that is judged.
        options: Options of the runs.
        engine: Engine of the runs.
        failures: Failures by the address of the run in hexadecimal.
    """

    store: Store
    candidate: Party
    options: RunOptions
    engine: str = "simulator"
    failures: dict[str, str] = field(default_factory=dict)
    _rows: dict[bytes, Row] = field(default_factory=dict)
    _runner: Runner = field(init=False)

    def __post_init__(self) -> None:
        tolerated = (LinuxError,) if self.engine == "linux" else (BaseException,)
        keys = Keys(_build_of_linux() if self.engine == "linux" else None)
        self._runner = Runner(self.options, self.store, keys, self.engine, tolerates=tolerated)

    def run(self, runs: Runs, counts: Counts, *, deployed: bool) -> None:
        """Adds the missing runs of the settings' seeds.

        Raises:
            InputError: A run is not possible.
            Exception: All runs failed; this is the last failure.
        """
        missing = [
            each
            for each in needed(self.candidate, counts, self.engine, deployed=deployed)
            if not runs.has(each.cell.id, each.setting.name, each.role, each.seed)
        ]
        addresses = [self.address(each) for each in missing]
        wanted: dict[bytes, Run] = {}
        for each, address in zip(missing, addresses, strict=True):
            if self.find(address) is None:
                wanted.setdefault(address, each.run)
        error = self._make(wanted)
        for each, address in zip(missing, addresses, strict=True):
            row = self.find(address)
            assert row is not None or address.hex() in self.failures
            row = turned(row) if row and each.turned else row or {}
            runs.add(each.cell.id, each.setting.name, each.role, each.seed, row, self.failures.get(address.hex()))
        if error is not None and runs.all_failed:
            raise error

    def address(self, wanted: Wanted) -> bytes:
        """Content address of a run; if its content is not known, its place in the card."""
        known = self._runner.key(wanted.run)
        return self.place(wanted) if known is None else known

    def place(self, wanted: Wanted) -> bytes:
        """Place of a run in the card."""
        return json.dumps([wanted.cell.id, wanted.setting.name, str(wanted.role), wanted.seed]).encode()

    def find(self, address: bytes) -> Row | None:
        """Row of an earlier run. It is kept, because the store may be found damaged, and set aside, at a later look."""
        row = self._rows.get(address) or self.store.find(address)
        if row is not None:
            self._rows[address] = row
        return row

    def _make(self, wanted: Mapping[bytes, Run]) -> BaseException | None:
        """Makes runs by address; the last failure."""
        error = None
        addresses = {run.number: address for address, run in wanted.items()}
        with closing(self._runner.rows(list(wanted.values()))) as steps:
            for done in steps:
                address = addresses[done.run.number]
                if done.row is not None:
                    self._rows[address] = done.row
                    continue
                error = done.error
                assert error is not None
                if isinstance(error, InputError):
                    raise error
                self.failures[address.hex()] = error_line(error)
        return error


def _build_of_linux() -> str:
    """Identity of the kernel, the testbed, and the code that measures. It does not depend on the build of the
    simulator.
    """
    assert measure.__file__ is not None
    folders = [Path(module.__path__[0]) for module in (core, scenarios)]
    return " ".join([beside_linux.stamp(), *map(hash_of, folders), hash_of(Path(measure.__file__))])


def _asked_of_linux(scenario: Scenario, seed: int) -> str:
    tree = scenario.replace(seed=seed).to_dict()
    algorithms = [group["algorithm"] for group in tree["flows"]]
    return beside_linux.asked(tree) + json.dumps(algorithms, sort_keys=True)
