"""`evaluate`: makes the runs of a card, adds seeds where the verdict is inconclusive, and judges."""

from __future__ import annotations

import json
import math
import os
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from fullpipe._util.display import Outcome, Shown
from fullpipe._util.files import cache_directory, check_free
from fullpipe._util.text import unknown, with_params
from fullpipe.custom.arguments import as_algorithm
from fullpipe.engine.options import RunOptions
from fullpipe.errors import InputError
from fullpipe.experiments.evaluate import beside_linux
from fullpipe.experiments.evaluate.beside_linux import LINUX_SEEDS, on_linux
from fullpipe.experiments.evaluate.card import Card, Kernel
from fullpipe.experiments.evaluate.cell import ALWAYS, FULL, STANDARD, Cell, Setting
from fullpipe.experiments.evaluate.cells import CELLS
from fullpipe.experiments.evaluate.criteria import CRITERIA
from fullpipe.experiments.evaluate.judging import Runs, judge_cell, unclear
from fullpipe.experiments.evaluate.measure import columns
from fullpipe.experiments.evaluate.preset import PACKET_BYTES, Party, Tree, dumbbell, flows
from fullpipe.experiments.evaluate.statement import Statement
from fullpipe.experiments.evaluate.work import Work, needed, open_store
from fullpipe.runs import engines
from fullpipe.runs.cluster import check_scheduler
from fullpipe.runs.design import check_seeds
from fullpipe.runs.notebook import shows_progress
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import Quantity

__all__ = ["PROFILES", "Plan", "Profile", "card_by", "evaluate", "metrics_of", "plan"]

MORE_SEEDS = 10
"""Seeds added where the verdict is inconclusive."""

PACKETS_PER_S = 6e6
"""Approximate speed of one core, in packets of a card's runs: for `Plan`."""

PACKETS_PER_S_ON_LINUX = 9e3
"""Approximate speed of the virtual machine."""


@dataclass(frozen=True)
class Profile:
    """Extent of a card.

    Attributes:
        level: Highest level of configurations that run.
        seeds: Runs of each configuration.
        most: Runs of each configuration whose verdict stays inconclusive.
    """

    level: int
    seeds: int
    most: int


PROFILES = {"quick": Profile(ALWAYS, 3, 13), "standard": Profile(STANDARD, 10, 40), "full": Profile(FULL, 30, 40)}


@shows_progress("runs")
def evaluate(
    algorithm: str | Mapping[str, object] | type,
    *,
    profile: str = "quick",
    only: Sequence[str] | None = None,
    seeds: int | None = None,
    flow_keys: Mapping[str, object] | None = None,
    statement: Statement | None = None,
    engine: str = "simulator",
    cache: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    progress: Callable[[float, float], object] | None = None,
    stop: threading.Event | None = None,
    memory: int | str | None = None,
    called: str | None = None,
) -> Card:
    """Report card of an algorithm by RFC 9743. The baseline is the one of NewReno and CUBIC with the worse mean. A run
    that fails does not stop the others.

    Args:
        algorithm: Name, table such as ``{"name": "vegas", "alpha": 2}``, declared class, or, as for the command,
            ``"FILE.py"``, ``"FILE.py:CLASS"``, ``"FILE.o"``.
        profile: "quick", "standard" or "full".
        only: Sections of the RFC ("5.1.2", or "5.2" for all below) or test cases ("duel"); None for all.
        seeds: Runs of each configuration, and none are added; None for the profile's.
        flow_keys: Additional keys of the candidate's flows, such as ``{"pacing": "on"}``.
        statement: Statement of the authors.
        engine: With "linux", a real kernel also runs `LINUX_CELLS`. These runs are shown and give no verdict.
        out: Directory that the card is saved into (`Card.save`).
        cache: Directory of the runs; None for the user's cache.
        workers: As for `run_many`.
        dask: Address of a Dask scheduler for the runs of the simulator; None for this machine.
        progress: As for `run_many`.
        stop: As for `run_many`.
        memory: As for `run_many`.
        called: Name of the algorithm in the commands on the card; None for ``algorithm``.

    Raises:
        ScenarioError: An algorithm, parameter, or key is unknown.
        InputError: A profile, engine, section, or test case is unknown, the number of seeds is not allowed, or no Dask
            scheduler answers.
        LinuxError: The testbed lacks something, or all its runs failed; if some failed, the card has their number.
        Cancelled: ``stop`` was set.
        Exception: All runs failed; this is the last failure.
    """
    engines.check_engines([engine])
    if out is not None:
        check_free(out)
    called = called or (algorithm.__name__ if isinstance(algorithm, type) else _written(algorithm))
    asked = _asked(as_algorithm(algorithm), profile, only, seeds, flow_keys, statement)
    if dask is not None:
        check_scheduler(dask)
    runs, there = Runs(), Runs()
    options = RunOptions(workers, memory, stop, progress, dask)
    few = asked.on_linux if engine == "linux" else {}
    kernel = Kernel("", LINUX_SEEDS, 0, {}) if engine == "linux" else None
    with open_store(cache_directory("evaluate") if cache is None else cache) as store:
        if few:
            version = beside_linux.check(each.tree for each in needed(asked.candidate, few, engine, deployed=False))
        _run_until_clear(Work(store, asked.candidate, options), runs, asked)
        if few:
            work = Work(store, asked.candidate, options, engine)
            work.run(there, few, deployed=False)
            kernel = Kernel(version, LINUX_SEEDS, len(few), work.failures)
    card = Card.of(
        asked.candidate.label,
        profile,
        (asked.how.seeds, max(asked.counts.values(), default=asked.how.seeds)),
        dict(asked.candidate.keys),
        [judge_cell(cell, [s for c, s in asked.counts if c is cell], runs, there) for cell in asked.cells],
        runs,
        asked.trees(),
        statement or Statement(),
        _command(called, profile, seeds, engine),
        list(only or ()),
        kernel,
    )
    if out is not None:
        card.save(out)
    return card


def card_by(work: Work, profile: str) -> Card:
    """Report card of the candidate of ``work``, which makes the runs."""
    label = work.candidate.label
    asked = _asked(work.candidate.algorithm, profile, None, None, None, None)
    asked = replace(asked, candidate=work.candidate)
    runs = Runs()
    _run_until_clear(work, runs, asked)
    judged = [judge_cell(cell, [s for c, s in asked.counts if c is cell], runs, Runs()) for cell in asked.cells]
    seeds = (asked.how.seeds, max(asked.counts.values(), default=asked.how.seeds))
    command = _command(label, profile, None, engines.ENGINES[0])
    return Card.of(label, profile, seeds, {}, judged, runs, asked.trees(), Statement(), command)


def _run_until_clear(work: Work, runs: Runs, asked: Asked) -> None:
    """Makes the runs of a card, and adds seeds to configurations with an inconclusive verdict."""
    counts, most = asked.counts, asked.how.most
    doubtful = list(counts)
    while doubtful:
        work.run(runs, counts, deployed=asked.deployed)
        doubtful = [place for place in counts if counts[place] < most and unclear(*place, runs)]
        for place in doubtful:
            counts[place] = min(most, counts[place] + MORE_SEEDS)


@dataclass(frozen=True)
class Asked:
    """Request for a card.

    Attributes:
        candidate: Algorithm that is judged.
        how: Extent.
        cells: Test cases.
        counts: Seeds of each configuration, which grow where the verdict is inconclusive.
    """

    candidate: Party
    how: Profile
    cells: Sequence[Cell]
    counts: dict[tuple[Cell, Setting], int]

    @property
    def deployed(self) -> bool:
        """Whether harm to deployed algorithms is measured too."""
        return self.how.level >= STANDARD

    @property
    def on_linux(self) -> dict[tuple[Cell, Setting], int]:
        """Seeds of the configurations that a real kernel runs."""
        return {place: min(count, LINUX_SEEDS) for place, count in self.counts.items() if on_linux(*place)}

    def trees(self) -> dict[tuple[str, str, str], Tree]:
        """Scenarios with the first seed, by test case, configuration, and role."""
        return {
            (cell.id, setting.name, str(role)): {**tree, "seed": 1}
            for cell, setting in self.counts
            for role, tree in cell.roles(setting, self.candidate, self.deployed).items()
        }


@dataclass(frozen=True)
class Plan(Outcome):
    """Runs of a card before any verdict is inconclusive.

    Attributes:
        runs: Number of runs.
        kept: Number of runs in the cache.
        packets: Upper bound of packets over the bottlenecks in the other runs.
        seeds: Seeds of each configuration.
        more_seeds: Most seeds of a configuration that stays inconclusive.
        linux_runs: Number of runs on a real kernel.
        linux_kept: Number of these in the cache.
        linux_packets: Upper bound of packets over the bottlenecks in the other runs on the kernel.
    """

    runs: int
    kept: int
    packets: float
    seeds: int
    more_seeds: int
    linux_runs: int = 0
    linux_kept: int = 0
    linux_packets: float = 0.0

    @property
    def cpu_s(self) -> float:
        """Approximate time of these runs on one core, seconds."""
        return self.packets / PACKETS_PER_S

    @property
    def linux_cpu_s(self) -> float:
        """Approximate time of the runs on Linux on one core, seconds."""
        return self.linux_packets / PACKETS_PER_S_ON_LINUX

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {**asdict(self), "cpu_s": self.cpu_s, "linux_cpu_s": self.linux_cpu_s}

    def shown(self, _columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Lines that the program prints."""
        runs = f"{self.runs:,} runs of {self.seeds} seeds, {self.kept:,} of them kept from before"
        more = f"up to {self.more_seeds} seeds where a verdict is inconclusive" if self.more_seeds > self.seeds else ""
        lines = ["; ".join(part for part in (runs, _left(self.cpu_s), more) if part)]
        if self.linux_runs:
            there = f"on Linux {self.linux_runs:,} runs, {self.linux_kept:,} of them kept from before"
            lines.append("; ".join(part for part in (there, _left(self.linux_cpu_s)) if part))
        return [*lines]


def _left(cpu_s: float) -> str:
    return f"the others take one processor about {math.ceil(cpu_s / 60):,} min" if cpu_s else ""


def plan(
    algorithm: str | Mapping[str, object] | type,
    *,
    profile: str = "quick",
    only: Sequence[str] | None = None,
    seeds: int | None = None,
    flow_keys: Mapping[str, object] | None = None,
    statement: Statement | None = None,
    engine: str = "simulator",
    cache: str | os.PathLike[str] | None = None,
) -> Plan:
    """Number of runs and estimated time of `evaluate` with equal arguments. Nothing is run.

    Raises:
        ScenarioError: An algorithm, parameter, or key is unknown, or the kernel cannot run a scenario.
        InputError: A profile, engine, section, or test case is unknown, or the number of seeds is not allowed.
    """
    engines.check_engines([engine])
    asked = _asked(as_algorithm(algorithm), profile, only, seeds, flow_keys, statement)
    with open_store(cache_directory("evaluate") if cache is None else cache) as store:
        here = Work(store, asked.candidate, RunOptions())
        runs, kept, packets = _counted(here, asked.counts, deployed=asked.deployed)
        there = (0, 0, 0.0)
        if engine == "linux":
            there = _counted(Work(store, asked.candidate, RunOptions(), engine), asked.on_linux, deployed=False)
    return Plan(runs, kept, packets, asked.how.seeds, asked.how.most, *there)


def metrics_of(
    algorithm: str | Mapping[str, object] | type,
    *,
    profile: str = "quick",
    only: Sequence[str] | None = None,
    statement: Statement | None = None,
) -> list[str]:
    """Metrics in the runs of a card.

    Raises:
        ScenarioError: An algorithm or parameter is unknown.
        InputError: A profile, section, or test case is unknown.
    """
    asked = _asked(as_algorithm(algorithm), profile, only, None, None, statement)
    trees = {
        (cell.measure, setting, role): tree
        for cell, setting in asked.counts
        for role, tree in cell.roles(setting, asked.candidate, asked.deployed).items()
    }
    return list(dict.fromkeys(name for (measure, *_), tree in trees.items() for name in columns(measure, tree)))


for _name, _value in (("plan", plan), ("Statement", Statement)):
    setattr(evaluate, _name, _value)  # fullpipe.evaluate.plan(...), fullpipe.evaluate.Statement


def _counted(work: Work, counts: Mapping[tuple[Cell, Setting], int], *, deployed: bool) -> tuple[int, int, float]:
    """Number of different runs, of runs in the store, and of packets in the others."""
    wanted = {work.address(each): each for each in needed(work.candidate, counts, work.engine, deployed=deployed)}
    missing = [each for address, each in wanted.items() if work.find(address) is None]
    return len(wanted), len(wanted) - len(missing), math.fsum(_packets(each.tree) for each in missing)


def _asked(
    algorithm: str | Mapping[str, object],
    profile: str,
    only: Sequence[str] | None,
    seeds: int | None,
    flow_keys: Mapping[str, object] | None,
    statement: Statement | None,
) -> Asked:
    if profile not in PROFILES:
        raise InputError(unknown("profile", profile, PROFILES))
    how = PROFILES[profile]
    if seeds is not None:
        check_seeds(seeds)
        how = Profile(how.level, seeds, seeds)
    label = algorithm if isinstance(algorithm, str) else with_params(algorithm)
    candidate = Party(label, algorithm, flow_keys or {})
    _alone(candidate)
    chosen = _chosen(only)
    excluded = set((statement or Statement()).excludes)
    counts = {
        (cell, setting): how.seeds
        for cell in chosen
        if not set(cell.criteria) <= excluded
        for setting in cell.settings
        if setting.level <= how.level
    }
    return Asked(candidate, how, chosen, counts)


def _packets(tree: Tree) -> float:
    """Approximate cost of a run: packets that the first link can carry, or that the flows send if all are finite."""
    groups = tree["flows"]
    sizes = [Quantity.parse(group["size"]) for group in groups if "size" in group]
    if groups and len(sizes) == len(groups):
        return math.fsum(
            group.get("count", 1) * (size.value if size else 0.0) / PACKET_BYTES
            for group, size in zip(groups, sizes, strict=True)
        )
    rate = Quantity.parse(tree["links"][0].get("rate", "6 Mbit/s"))
    duration = Quantity.parse(tree["duration"])
    assert rate is not None
    assert duration is not None
    return rate.value * duration.value / 8 / PACKET_BYTES


def _command(called: str, profile: str, seeds: int | None, engine: str) -> str:
    """Command that makes the card."""
    words = ["fullpipe", "evaluate", called, "--profile", profile]
    words += ["--seeds", str(seeds)] if seeds is not None else []
    return shlex.join([*words, *(["--engine", engine] if engine != "simulator" else [])])


def _written(value: object) -> str:
    """Algorithm as the program takes it: a name, or an inline table of TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    return str(value)


def _inline(value: object) -> str:
    return _written(value) if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False)


def _alone(candidate: Party) -> Scenario:
    """Scenario with the candidate alone, which raises errors in its definition."""
    return Scenario.from_dict(dumbbell(10e6, 0.05, 1, flows(candidate, "subject"), duration_s=30))


def _chosen(only: Sequence[str] | None) -> list[Cell]:
    if only is None or "7.2" in only:  # it is judged from the runs of all others
        return list(CELLS)
    if not only:
        raise InputError("only requires at least one section or test case")
    ids = [cell.id for cell in CELLS]
    sections = [criterion.id for criterion in CRITERIA]
    for word in only:
        if word not in ids and not any(section == word or section.startswith(f"{word}.") for section in sections):
            raise InputError(unknown("section or test case", word, [*sections, *ids]))
    return [
        cell
        for cell in CELLS
        if any(
            word == cell.id or any(section == word or section.startswith(f"{word}.") for section in cell.criteria)
            for word in only
        )
    ]
