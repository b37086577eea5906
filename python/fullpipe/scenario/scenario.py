"""Scenarios, loaded from TOML or built in code."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fullpipe import _core
from fullpipe._util import inputs
from fullpipe._util.plain import Table, Tree, copied
from fullpipe._util.text import html, printable
from fullpipe.custom.declared import carried, restore, used_in
from fullpipe.errors import ScenarioError
from fullpipe.scenario.keypath import set_value
from fullpipe.scenario.keys import ScenarioKeys

if TYPE_CHECKING:
    import os

__all__ = ["MOST_BYTES", "Scenario", "algorithm_name", "parse", "read_text"]

MOST_BYTES = 16_000_000
"""Size of a scenario's file, at most: of 100,000 flows with a table each."""


class Scenario:
    """Links, queues, flows and cross traffic; checked when made, never changed afterwards.

    The keyword arguments are the keys of the TOML file: ``duration``, ``warmup``, ``seed``, ``packet_size``, ``links``,
    ``flows`` and so on. Quantities are text with units (``"100 Mbit/s"``, ``"39 ms"``, ``"0.25 BDP"``). Files that
    a scenario names, such as the ``trace`` of a link, are read when the scenario is made, from the folder of its file
    or else from the current folder; the scenario keeps their content.

    Raises:
        ScenarioError: A key is unknown or missing, or a value is not allowed.
    """

    __slots__ = ("_file", "_model", "_tree")

    def __init__(self, **keys: Unpack[ScenarioKeys]) -> None:
        self._fill(keys, None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario from a TOML file.

        Raises:
            ScenarioError: The file can't be read, is not TOML, or is not a scenario.
        """
        return cls.loads(read_text(path), file=str(path))

    @classmethod
    def loads(cls, text: str, *, file: str | None = None) -> Scenario:
        """Reads a scenario from TOML text; ``file`` is named in errors.

        Raises:
            ScenarioError: The text is not TOML or not a scenario.
        """
        scenario = cls.__new__(cls)
        scenario._file = file
        try:
            scenario._model, scenario._tree = _core.load(text, _folder(file))
        except _core.Problem as problem:
            raise _named(problem, file) from None
        return scenario

    @classmethod
    def from_dict(cls, tree: Table, *, file: str | None = None) -> Scenario:
        """Builds a scenario from a dictionary with the keys of the TOML file; ``file`` is named in errors.

        Raises:
            ScenarioError: A key is unknown or missing, or a value is not allowed.
        """
        scenario = cls.__new__(cls)
        scenario._fill(tree, file)
        return scenario

    @classmethod
    def of(cls, what: Scenario | str | os.PathLike[str] | Table) -> Scenario:
        """A scenario from itself, from a TOML file's path, or from a dictionary with its keys.

        Raises:
            ScenarioError: The file can't be read, or something is wrong in the scenario.
        """
        if isinstance(what, Scenario):
            return what
        return cls.from_dict(what) if isinstance(what, Mapping) else cls.load(what)

    def replace(self, **changes: object) -> Scenario:
        """A copy with some keys changed.

        A key inside a table is named by its path: ``replace(**{"links.bottleneck.buffer": "0.5 BDP"})`` changes the
        link of that name, ``"flows.0.count"`` the first group of flows, ``"flows.algorithm"`` every group,
        ``"flows.algorithm.alpha"`` and ``"links.bottleneck.queue.target"`` a parameter. None removes a key, so that its
        default holds.

        Raises:
            ScenarioError: A path leads nowhere, or the changed scenario is wrong.
        """
        tree = self.to_dict()
        for path, value in changes.items():
            try:
                set_value(tree, path, copy.deepcopy(value))
            except KeyError as error:
                raise ScenarioError(path, error.args[0], self._file) from None
        return self.from_dict(tree, file=self._file)

    def set(self, changes: Table) -> Scenario:
        """A copy with some keys changed: ``set({"links.bottleneck.buffer": "1 BDP"})``. Paths are those of `replace`.

        Args:
            changes: Values by path; None removes a key, so that its default holds.

        Raises:
            ScenarioError: A path leads nowhere, or the changed scenario is wrong.
        """
        return self.replace(**changes)

    def to_dict(self) -> Tree:
        """The given keys as plain dictionaries and lists; contents of files in place of their names."""
        tree: Tree = copied(self._tree)
        return tree

    def resolved(self) -> Scenario:
        """Scenario with every key and parameter spelled out: defaults as values, buffers in BDP as packets. It stays
        valid if a default changes later.
        """
        return self.from_dict(self._model.resolved(), file=self._file)

    def to_toml(self) -> str:
        """The keys as they were given, as the text of a scenario file."""
        import tomli_w

        return tomli_w.dumps(self._tree)

    @property
    def file(self) -> str | None:
        """Where the scenario came from; None for one built in code."""
        return self._file

    @property
    def seed(self) -> int:
        """Seeds every random choice."""
        return self._model.seed

    @property
    def duration_s(self) -> float:
        """Simulated length, seconds."""
        return self._model.duration_s

    @property
    def warmup_s(self) -> float:
        """The part at the beginning that averages leave out, seconds."""
        return self._model.warmup_s

    @property
    def series_interval_s(self) -> float | None:
        """Time between samples of the series, seconds; None where nothing is sampled."""
        return self._model.series_interval_s

    @property
    def warnings(self) -> list[str]:
        """A line for each setting that is allowed, but probably a mistake."""
        return self._model.warnings

    @property
    def model(self) -> _core.Model:
        """The checked scenario, as the engine takes it."""
        return self._model

    def _fill(self, tree: Table, file: str | None) -> None:
        self._file = file
        try:
            self._model, self._tree = _core.check(tree, _folder(file))
        except _core.Problem as problem:
            raise _named(problem, file) from None

    def __eq__(self, other: object) -> bool:
        return self._tree == other._tree if isinstance(other, Scenario) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by value, like the dictionaries inside

    def __repr__(self) -> str:
        return printable(f"Scenario({', '.join(f'{key}={value!r}' for key, value in self._tree.items())})")

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(html(line) for line in self.to_toml().splitlines())}</pre>"

    def __reduce__(self) -> tuple[object, ...]:
        used = used_in(self._tree)
        return _restore, (self._tree, self._file, carried(used)) if used else (self._tree, self._file)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a scenario's file.

    Raises:
        ScenarioError: It can't be read, is no regular file (a device or a pipe may never end), is too large or is not
            UTF-8.
    """
    try:
        return inputs.read_text(path, MOST_BYTES)
    except inputs.FileError as error:
        raise ScenarioError("", error.why, str(path)) from None


def algorithm_name(algorithm: object) -> str:
    """Name of an algorithm as a scenario has it: a name, or a table; without a name, the table's first value."""
    if isinstance(algorithm, Mapping):
        return str(algorithm.get("name") or next(iter(algorithm.values()), ""))
    return str(algorithm)


def parse(text: str, *, file: str | None = None) -> Tree:
    """Reads TOML text as a dictionary, whatever its keys; ``file`` is named in errors.

    Raises:
        ScenarioError: The text is not TOML.
    """
    try:
        return _core.parse(text)
    except _core.Problem as problem:
        raise _named(problem, file) from None


def _restore(tree: Tree, file: str | None, algorithms: Mapping[str, bytes] | None = None) -> Scenario:
    restore(algorithms or {})
    return Scenario.from_dict(tree, file=file)


def _named(problem: _core.Problem, file: str | None) -> ScenarioError:
    key, what, line = problem.args
    if key == "sweep" and what.startswith("unknown key"):
        what = "a table for `fullpipe sweep` (fullpipe.sweep in Python), which runs the scenario with all of its values"
    return ScenarioError(key, what, file, line)


def _folder(file: str | None) -> str:
    """Where the files are that a scenario from ``file`` names."""
    return "" if file is None else str(Path(file).parent)
