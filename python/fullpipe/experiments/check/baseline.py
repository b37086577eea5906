"""Baseline files: values per seed of the checks that are relative to the baseline."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fullpipe import __version__
from fullpipe._util.files import staged_file
from fullpipe._util.inputs import read_json
from fullpipe._util.plain import Table
from fullpipe._util.text import quoted
from fullpipe.custom.declared import identity_of, used_in
from fullpipe.errors import InputError
from fullpipe.experiments.check.keys import FORMAT
from fullpipe.experiments.check.suite import Check, Suite
from fullpipe.metrics import metric
from fullpipe.runs.model_version import MODEL_VERSION

__all__ = ["Baseline", "Values", "default_path"]


def default_path(suite: str | os.PathLike[str]) -> Path:
    """Baseline file of a suite where none is named: ``suite.baseline.json`` next to ``suite.toml``."""
    return Path(suite).with_suffix(".baseline.json")


@dataclass(frozen=True)
class Values:
    """Values of a check in a baseline file.

    Attributes:
        metric: Id of the metric.
        unit: SI unit of the values.
        direction: "more" or "less": the better direction.
        seeds: Seeds of the runs.
        values: The metric in each run.
        controller: The controller, as scenarios have it.
        identity: Content identity of its code; None for a built-in algorithm, empty where the content is unknown.
    """

    metric: str
    unit: str
    direction: str
    seeds: Sequence[int]
    values: Sequence[float]
    controller: str | Table
    identity: str | None = None

    @classmethod
    def of(cls, check: Check, suite: Suite, values: Sequence[float]) -> Values:
        """Values of a check that ran."""
        first = suite.scenario(check.arm).seed
        controller = suite.controllers[check.controller]
        direction = "more" if check.more_is_better else "less"
        unit = metric(check.metric).unit
        seeds = [first + i for i in range(len(values))]
        return cls(check.metric, unit, direction, seeds, values, controller, identity(controller))


def identity(controller: str | Table) -> str | None:
    """Content identity of a controller's code; None for a built-in algorithm, empty where the content is unknown."""
    names = used_in(controller if isinstance(controller, str) else [controller])
    return identity_of(names).digest or "" if names else None


@dataclass(frozen=True)
class Baseline:
    """Content of a baseline file.

    Attributes:
        fullpipe: Version of the package that wrote it.
        engine_hash: Model version of the simulator (`fullpipe.runs.model_version`).
        scenarios: SHA-256 of each scenario, by name.
        values: Values by id of the check.
        file: The file.
    """

    fullpipe: str
    engine_hash: int
    scenarios: Mapping[str, str]
    values: Mapping[str, Values]
    file: str

    @classmethod
    def of(cls, suite: Suite, values: Mapping[str, Values], file: str | os.PathLike[str]) -> Baseline:
        """Baseline of a suite by this version of the simulator."""
        names = {check.scenario for check in suite.checks if check.id in values}
        hashes = {name: suite.templates[name].digest for name in sorted(names)}
        return cls(__version__, MODEL_VERSION, hashes, values, os.fspath(file))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Baseline:
        """Reads a baseline file.

        Raises:
            InputError: The file can't be read, or is no baseline.
        """
        file = os.fspath(path)
        if not Path(file).exists():
            raise InputError(f"{file}: baseline not found; write it with --update")
        tree = read_json(file)
        try:
            if tree["format"] != FORMAT:
                raise InputError(f"{file}: format must be {FORMAT}, got {quoted(tree['format'])}")
            values = {name: Values(**each) for name, each in tree["values"].items()}
            _check_values(values)
            return cls(tree["fullpipe"], int(tree["engine_hash"]), dict(tree["scenarios"]), values, file)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{file}: is not a baseline of fullpipe check; write it with --update") from None

    def save(self) -> None:
        """Writes the file."""
        values = {name: asdict(each) for name, each in self.values.items()}
        tree = {
            "format": FORMAT,
            "fullpipe": self.fullpipe,
            "engine_hash": self.engine_hash,
            "scenarios": self.scenarios,
            "values": values,
        }
        with staged_file(self.file) as stage:
            stage.write_text(_compact(json.dumps(tree, sort_keys=True, indent=1, allow_nan=False)) + "\n")

    def check(self, suite: Suite, wanted: Sequence[Check]) -> None:
        """Refuses a baseline of other scenarios, metrics, or seeds than the suite has.

        Raises:
            InputError: The baseline does not fit; the message names the scenario or the check.
        """
        for each in wanted:
            kept = self.values.get(each.id)
            if kept is None:
                raise self._stale(f"has no values of check {quoted(each.id)}")
            if self.scenarios.get(each.scenario) != suite.templates[each.scenario].digest:
                raise self._stale(f"scenario {quoted(each.scenario)} has changed since")
            if kept.metric != each.metric:
                raise self._stale(f"check {quoted(each.id)} has the metric {kept.metric} there, now {each.metric}")
            first = suite.scenario(each.arm).seed
            if list(kept.seeds) != [first + i for i in range(len(kept.seeds))]:
                raise self._stale(f"check {quoted(each.id)} has other seeds there")
            if len(kept.seeds) < suite.seeds:
                what = f"{len(kept.seeds)} seeds of check {quoted(each.id)}, and the first look has {suite.seeds}"
                raise self._stale(f"has {what}")

    def _stale(self, what: str) -> InputError:
        return InputError(f"{self.file}: {what}; write a new baseline with --update")


MOST = 1e100
"""Limit of values in a baseline file. The squares of larger ones are no numbers."""


def _check_values(values: Mapping[str, Values]) -> None:
    for each in values.values():
        numbers = all(isinstance(value, int | float) and abs(value) < MOST for value in [*each.values, *each.seeds])
        if not numbers or len(each.values) != len(each.seeds) or not isinstance(each.metric, str):
            raise ValueError


def _compact(text: str) -> str:
    """JSON text with each list of numbers on one line, so that a new baseline changes few lines."""
    import re

    return re.sub(r"\[[^\[\]{}\"]*\]", lambda found: " ".join(found[0].split()), text)
