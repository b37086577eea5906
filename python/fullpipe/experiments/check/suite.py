"""Suites: scenarios, controllers, and checks, read from a TOML file."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullpipe._util import plain
from fullpipe._util.text import quoted, unknown
from fullpipe.custom.arguments import as_algorithm
from fullpipe.errors import InputError, ScenarioError
from fullpipe.experiments.check.keys import CHECK, SCENARIO, SUITE, Table, fraction
from fullpipe.experiments.conform import RULES
from fullpipe.metrics import METRICS, metric
from fullpipe.registry import algorithms
from fullpipe.scenario import Scenario
from fullpipe.scenario.scenario import parse, read_text

__all__ = ["BASELINE", "Arm", "Check", "Suite"]

BASELINE = "baseline"
"""The value of ``relative_to`` for the baseline file."""

WORSE_BY = 0.02
"""Smallest loss that counts by default, relative to the baseline."""

FILES = (".py", ".o", ".so")
"""Suffixes of files of controllers; another suffix is part of a name."""

Arm = tuple[str, str]
"""Name of a scenario, and of the controller that runs in it."""


@dataclass(frozen=True)
class Check:
    """A check of a metric.

    Attributes:
        id: Its name.
        scenario: Name of its scenario.
        controller: Name of the controller under test.
        metric: Id of the metric.
        relative_to: Controller to compare with, `BASELINE`, or None for an absolute limit.
        more_is_better: Whether a smaller value is worse.
        ratio: Whether values are compared by the logarithm of their ratio.
        limit: Absolute limit, in SI units.
        margin: Loss that does not count: a difference, or the logarithm of a ratio.
        floor: Value that smaller ones count as in ratios.
        conform: Rules of `fullpipe.conform` in place of a metric; None for a metric.
        known: Rules that the controller is known to break, by their ids.
    """

    id: str
    scenario: str
    controller: str
    metric: str
    relative_to: str | None
    more_is_better: bool
    ratio: bool = False
    limit: float = math.nan
    margin: float = 0.0
    floor: float = 0.0
    conform: str | None = None
    known: tuple[str, ...] = ()

    @property
    def arm(self) -> Arm:
        """Runs of the controller under test."""
        return self.scenario, self.controller

    @property
    def other(self) -> Arm | None:
        """Runs of the controller to compare with; None for a limit or the baseline."""
        return None if self.relative_to in (None, BASELINE) else (self.scenario, str(self.relative_to))

    def cost(self, value: float, other: float) -> float:
        """Difference of a pair of values; positive where the first is worse.

        Raises:
            InputError: A ratio has a value of 0 and the check no floor.
        """
        if self.ratio:
            value, other = max(value, self.floor), max(other, self.floor)
            if value <= 0 or other <= 0:
                raise InputError(
                    f'check {quoted(self.id)}: {self.metric} is {min(value, other):g} in a run; "floor" is required'
                )
            found = math.log(value / other)
        else:
            found = value - other
        return -found if self.more_is_better else found


@dataclass(frozen=True)
class Template:
    """A scenario whose controller is open.

    Attributes:
        tree: The scenario, with `STAND_IN` for the controller.
        groups: Places of the groups of flows that take the controller.
        file: File of the scenario.
        prefix: Key of the scenario in the file, with a full stop; empty for a whole file.
    """

    tree: plain.Table
    groups: tuple[int, ...]
    file: str
    prefix: str = ""

    @classmethod
    def of(cls, tree: plain.Table, file: str, prefix: str = "") -> Template:
        """The scenario of a tree. Flows without an algorithm take the controller, or all flows where all have one.

        Raises:
            ScenarioError: Something is wrong in the scenario, or it has no flows.
        """
        groups = tree.get("flows")
        if not isinstance(groups, list) or not groups:
            raise ScenarioError(f"{prefix}flows", "requires at least one group of flows for the controller", file)
        open_ = [i for i, group in enumerate(groups) if isinstance(group, Mapping) and "algorithm" not in group]
        raw = cls(tree, tuple(open_ or range(len(groups))), file, prefix)
        return cls(raw.scenario(STAND_IN).to_dict(), raw.groups, file, prefix)

    def scenario(self, algorithm: str | plain.Table) -> Scenario:
        """The scenario with an algorithm as its controller.

        Raises:
            ScenarioError: Something is wrong in the scenario or the algorithm.
        """
        tree = copy.deepcopy(dict(self.tree))
        for i in self.groups:
            if isinstance(tree["flows"][i], dict):
                tree["flows"][i]["algorithm"] = algorithm
        try:
            return Scenario.from_dict(tree, file=self.file)
        except ScenarioError as error:
            raise ScenarioError(f"{self.prefix}{error.key}", error.what, self.file, error.line) from None

    @property
    def digest(self) -> str:
        """SHA-256 of the scenario without its controller, in hexadecimal."""
        return hashlib.sha256(json.dumps(self.tree, sort_keys=True).encode()).hexdigest()


STAND_IN = "newreno"
"""Algorithm in the place of the controller, for checks and hashes of scenarios."""


@dataclass(frozen=True)
class Suite:
    """A suite of checks.

    Attributes:
        name: Name of its file.
        seeds: Seeds of the first look.
        max_seeds: Seeds of the last look.
        confidence: Confidence of the whole suite.
        time_limit_s: Wall time after which no seeds are added, seconds; None for no limit.
        templates: Scenarios without their controllers, by name.
        controllers: Controllers by name, as scenarios have them.
        checks: The checks.
        file: The file.
    """

    name: str
    seeds: int
    max_seeds: int
    confidence: float
    time_limit_s: float | None
    templates: Mapping[str, Template]
    controllers: Mapping[str, str | plain.Table]
    checks: tuple[Check, ...]
    file: str

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Suite:
        """Reads a suite from its file. Files in it are relative to the folder of the suite.

        Raises:
            ScenarioError: The file can't be read, or a key is wrong.
            AlgorithmError: The code of a controller raises.
        """
        file = os.fspath(path)
        top = Table(parse(read_text(file), file=file), SUITE, file)
        templates = _templates(top)
        controllers = {name: _controller(name, given, top) for name, given in top["controllers"].items()}
        checks = _checks(top, templates, controllers)
        for each in checks:
            for name in (each.controller, each.other and each.other[1]):
                if name is not None:
                    controllers.setdefault(name, name)
        suite = cls(
            Path(file).stem,
            top["seeds"],
            _most_seeds(top),
            top["confidence"],
            _time_limit(top),
            templates,
            controllers,
            checks,
            file,
        )
        for arm in suite.arms():
            suite.scenario(arm)
        return suite

    def arms(self, checks: Iterable[Check] | None = None) -> list[Arm]:
        """Scenarios with controllers that some checks need, each once."""
        measured = [each for each in (self.checks if checks is None else checks) if each.conform is None]
        found = [arm for each in measured for arm in (each.arm, each.other)]
        return list(dict.fromkeys(arm for arm in found if arm is not None))

    def scenario(self, arm: Arm) -> Scenario:
        """The scenario with the controller in its flows.

        Raises:
            ScenarioError: The controller or the scenario is wrong.
        """
        name, controller = arm
        try:
            return self.templates[name].scenario(self.controllers[controller])
        except ScenarioError as error:
            # The scenario alone is right, so the fault is in the controller.
            parameter = error.key.partition(".algorithm")[2]
            raise ScenarioError(f"controllers.{controller}{parameter}", error.what, self.file) from None


def _most_seeds(top: Table) -> int:
    if "max_seeds" not in top:
        return max(int(top["max_seeds"]), int(top["seeds"]))
    if top["max_seeds"] < top["seeds"]:
        raise top.wrong("max_seeds", f"must be at least {top['seeds']}, as seeds, got {top['max_seeds']}")
    return int(top["max_seeds"])


def _time_limit(top: Table) -> float | None:
    limit_s = top.quantity("time_limit", "s")
    if limit_s is not None and limit_s <= 0:
        raise top.wrong("time_limit", f"must be above 0 s, got {limit_s:g}")
    return limit_s


def _templates(top: Table) -> dict[str, Template]:
    found: dict[str, Template] = {}
    for i, given in enumerate(top["scenarios"]):
        table = Table(given, SCENARIO, top.file, f"scenarios[{i}]")
        name = table.required("name")
        if name in found:
            raise table.wrong("name", f"must be unique, got {quoted(name)} twice")
        if ("file" in table) == ("scenario" in table):
            raise table.wrong("file", "requires either file or scenario")
        if "file" in table:
            file = str(Path(top.file).parent / table["file"])
            found[name] = Template.of(parse(read_text(file), file=file), file)
        else:
            found[name] = Template.of(table["scenario"], top.file, f"scenarios[{i}].scenario.")
    return found


def _controller(name: str, given: str | plain.Table, top: Table) -> str | plain.Table:
    """Algorithm of a controller. Code of a file is run."""
    folder = Path(top.file).parent

    def found(text: str) -> str:
        file, colon, kind = text.partition(":")
        return f"{folder / file}{colon}{kind}" if file.endswith(FILES) else text

    try:
        if isinstance(given, str):
            return as_algorithm(found(given))
        known = given.get("name")
        return {**given, "name": as_algorithm(found(known))} if isinstance(known, str) else dict(given)
    except InputError as error:
        raise ScenarioError(f"controllers.{name}", str(error), top.file) from None


def _checks(top: Table, scenarios: Iterable[str], controllers: Iterable[str]) -> tuple[Check, ...]:
    known = list(dict.fromkeys([*controllers, *algorithms()]))
    found: dict[str, Check] = {}
    for i, given in enumerate(top.required("checks")):
        table = Table(given, CHECK, top.file, f"checks[{i}]")
        made = _check(table, list(scenarios), known)
        if made.id in found:
            raise table.wrong("id", f"must be unique, got {quoted(made.id)} twice")
        found[made.id] = made
    if not found:
        raise top.wrong("checks", "requires at least one check")
    return tuple(found.values())


def _check(table: Table, scenarios: Sequence[str], controllers: Sequence[str]) -> Check:
    if "conform" in table:
        return _rules_check(table, controllers)
    if "known" in table:
        raise table.wrong("known", "requires conform")
    for key, allowed in (("scenario", scenarios), ("controller", controllers)):
        if table.required(key) not in allowed:
            raise table.wrong(key, unknown(key, table[key], allowed))
    name = table.required("metric")
    if name.rpartition(".")[2].removeprefix("reverse_") not in METRICS:
        raise table.wrong("metric", unknown("metric", name, METRICS))
    kind = _kind(table)
    common = (table["id"] or table.required("id"), table["scenario"], table["controller"], name)
    unit = metric(name).unit
    if kind in ("min", "max"):
        return Check(*common, None, kind == "min", limit=table.quantity(kind, unit) or 0.0)
    relative_to = table.required("relative_to")
    if relative_to not in (*controllers, BASELINE):
        raise table.wrong("relative_to", unknown("controller", relative_to, [BASELINE, *controllers]))
    floor = table.quantity("floor", unit) or 0.0
    if kind in ("min_ratio", "max_ratio"):
        margin = math.log(table[kind])
        more = kind == "min_ratio"
        return Check(*common, relative_to, more, ratio=True, margin=-margin if more else margin, floor=floor)
    better = metric(name).better
    if not better:
        raise table.wrong("metric", f"{quoted(name)} requires min or max: neither more nor less of it is better")
    more = better == "more"
    part = fraction(WORSE_BY if table["worse_by"] is None else table["worse_by"])
    if part is None:
        return Check(*common, relative_to, more, margin=table.quantity("worse_by", unit) or 0.0)
    if not 0 <= part < 1:
        raise table.wrong("worse_by", f"must be in [0 %, 100 %) or a difference in {unit}, got {table['worse_by']}")
    return Check(
        *common, relative_to, more, ratio=True, margin=-math.log(1 - part) if more else math.log(1 + part), floor=floor
    )


def _rules_check(table: Table, controllers: Sequence[str]) -> Check:
    """A check of the rules of an RFC."""
    for key in table.tree:
        if key not in ("id", "controller", "conform", "known"):
            raise table.wrong(key, "conflicts with conform")
    for key, allowed in (("controller", controllers), ("conform", RULES)):
        if table.required(key) not in allowed:
            raise table.wrong(key, unknown(key, table[key], allowed))
    ids = [each.id for each in RULES[table["conform"]]]
    for rule in table["known"]:
        if rule not in ids:
            raise table.wrong("known", unknown("rule", rule, ids))
    rules = {"conform": table["conform"], "known": tuple(table["known"])}
    return Check(table.required("id"), "", table["controller"], "", None, False, **rules)


KINDS = ("min", "max", "min_ratio", "max_ratio", "worse_by")


def _kind(table: Table) -> str:
    """Key of the limit; ``worse_by`` by default."""
    given = [key for key in KINDS if key in table]
    if len(given) > 1:
        raise table.wrong(given[1], f"conflicts with {given[0]}; write two checks")
    kind = given[0] if given else "worse_by"
    if kind in ("min", "max"):
        for key in ("relative_to", "floor"):
            if key in table:
                raise table.wrong(key, f"conflicts with {kind}")
    elif "relative_to" not in table:
        what = f"{kind} requires it" if given else "missing; write it, or min or max"
        raise table.wrong("relative_to", what)
    return kind
