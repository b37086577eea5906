"""Distributions of scenarios: a scenario, and laws of some of its keys.

The table ``[scenario]`` is a scenario. Each key of ``[axes]`` is a path of it, as in `Scenario.replace`, and its value
a law (`fullpipe.gym.laws`). Each entry of ``[[mixture]]`` has a ``weight``, the probability of its ``axes``, which
replace or complete those of the distribution. Each axis has its own random stream, keyed by its path: a new axis does
not change the draws of the others.

A sample has ``processing_time`` of one packet on the slowest link unless the scenario sets it, against phase effects of
drop-tail queues (Floyd and Jacobson, 1992).
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import unknown
from fullpipe.errors import InputError, ScenarioError, check_range
from fullpipe.gym import laws
from fullpipe.gym.presets import PRESETS
from fullpipe.scenario import Scenario, parse, read_text
from fullpipe.scenario.quantity import Quantity

__all__ = ["Distribution"]

KEYS = ("scenario", "axes", "mixture")

ATTEMPTS = 10_000
"""Draws until one belongs to a part of a split."""


class Distribution:
    """Scenarios, drawn by a seed.

    Args:
        scenario: Keys of the scenario.
        axes: Law of each key that is drawn, by its path.
        mixture: Tables with ``weight`` and ``axes``.
        file: File for messages.

    Raises:
        ScenarioError: The scenario or a law is wrong.
    """

    def __init__(
        self,
        scenario: Table,
        axes: Mapping[str, Table] | None = None,
        mixture: Sequence[Table] = (),
        *,
        file: str | None = None,
    ) -> None:
        self.scenario = Scenario.from_dict(scenario, file=file)
        self.axes = {path: dict(law) for path, law in (axes or {}).items()}
        self.mixture = [dict(part) for part in mixture]
        self.file = file
        self._folder = Path(file).parent if file else Path()
        self._part: tuple[bytes, bool, float] | None = None
        self._outside: float | None = None
        self._check()
        self.sample(0)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Distribution:
        """Reads a distribution from a TOML file; a plain scenario is a distribution without axes.

        Raises:
            ScenarioError: The file can't be read, or something is wrong in it.
        """
        file = str(path)
        tree = parse(read_text(path), file=file)
        return cls._of_tree(tree, file) if "scenario" in tree else cls.of(Scenario.load(path))

    @classmethod
    def of(cls, what: Distribution | Scenario | str | os.PathLike[str] | Table) -> Distribution:
        """A distribution from itself, a scenario, a file, or a dictionary with the keys of either."""
        if isinstance(what, Distribution):
            return what
        if isinstance(what, Scenario):
            return cls(what.to_dict(), file=what.file)
        if isinstance(what, Mapping):
            return cls._of_tree(what, None) if "scenario" in what else cls(what)
        return cls.load(what)

    @classmethod
    def preset(cls, name: str) -> Distribution:
        """A published distribution: a name of `fullpipe.gym.PRESETS`.

        Raises:
            InputError: The name is unknown.
        """
        if name not in PRESETS:
            raise InputError(unknown("preset", name, PRESETS))
        return cls._of_tree(PRESETS[name].tree, None)

    def draws(self, seed: int) -> dict[str, object]:
        """Value of each axis for a seed, 0 to 2^63 - 1."""
        if self._part is None:
            return self._draws(str(seed))
        secret, is_train, share = self._part
        for attempt in range(ATTEMPTS):
            found = self._draws(f"{seed}:{attempt}")
            mark = hmac.digest(secret, json.dumps(found, sort_keys=True).encode(), "sha256")
            if (int.from_bytes(mark[:8], "little") >= share * 2**64) == is_train:
                return found
        raise InputError("a split requires more different draws: one of its parts has none")

    @staticmethod
    def stream(seed: int, path: str) -> np.random.Generator:
        """Random stream of a seed for an axis, or for another purpose with a name of its own."""
        return _stream(str(seed), path)

    def sample(self, seed: int) -> Scenario:
        """The scenario of a seed, 0 to 2^63 - 1; its own ``seed`` is derived from that.

        Raises:
            ScenarioError: A drawn value is not allowed.
        """
        changes = self.draws(seed)
        steps: dict[str, Table] = {path: value for path, value in changes.items() if isinstance(value, Mapping)}
        changes = {path: value for path, value in changes.items() if path not in steps}
        gone = [path for path, value in changes.items() if value == "none" and path.endswith(".algorithm")]
        changes = {path: value for path, value in changes.items() if path not in gone}
        changes["seed"] = int(_stream(str(seed), "").integers(0, 2**63))
        tree = self.scenario.replace(**changes).to_dict()
        names = {path.split(".")[1] for path in gone}
        tree["flows"] = [flow for flow in tree.get("flows", []) if flow.get("name") not in names]
        rates = [quantity.value for link in tree["links"] if (quantity := Quantity.parse(link.get("rate"))) is not None]
        size = Quantity.parse(tree.get("packet_size", "1000 B"))
        bits = 8 * float(tree.get("packet_size", 1000) if size is None else size.value)
        if rates and min(rates) > 0:
            for flow in tree.get("flows", []):
                flow.setdefault("processing_time", f"{max(1, min(10**9, round(1e9 * bits / min(rates))))} ns")
        for path, drawn in steps.items():
            self._add_steps(tree, path, drawn, _stream(str(seed), f"{path} rates"))
        return Scenario.from_dict(tree, file=self.file)

    def split(
        self, secret: str | bytes, *, share: float = 0.2, outside: float | None = None
    ) -> tuple[Distribution, Distribution]:
        """Two distributions without a common draw: one for training, and one that is held out.

        A hash of the secret and the draw decides to which of them a draw belongs.

        Args:
            secret: The secret.
            share: Part of the draws that is held out.
            outside: Draws the held-out paths beyond the range of each axis with numbers, by at most this factor, above
                1. Choices, traces, and steps stay as they are.

        Raises:
            InputError: A value is not allowed, or the distribution has no axis with several values.
        """
        check_range("share", share, 0.001, 0.999)
        key = secret.encode() if isinstance(secret, str) else secret
        parts = []
        for is_train in (True, False):
            part = copy.copy(self)
            part._part = (key, is_train, share)
            if outside is not None and not is_train:
                if not outside > 1:
                    raise InputError(f"outside must be above 1, got {outside}")
                part._part, part._outside = None, outside
            part.draws(0)
            parts.append(part)
        return parts[0], parts[1]

    @classmethod
    def _of_tree(cls, tree: Table, file: str | None) -> Distribution:
        for key in tree:
            if key not in KEYS:
                raise ScenarioError(key, unknown("key", key, KEYS), file)
        return cls(tree["scenario"], tree.get("axes"), tree.get("mixture", ()), file=file)

    def _check(self) -> None:
        total = 0.0
        for place, part in enumerate(self.mixture):
            where = f"mixture[{place}]"
            for key in part:
                if key not in ("weight", "axes"):
                    raise ScenarioError(f"{where}.{key}", unknown("key", key, ("weight", "axes")), self.file)
            if not 0 < part.get("weight", 0) <= 1:
                raise ScenarioError(f"{where}.weight", "weight must be above 0, and at most 1", self.file)
            total += part["weight"]
        if total > 1 + 1e-9:
            raise ScenarioError("mixture", f"the weights must add to at most 1, got {total:g}", self.file)
        parts = {"axes": self.axes} | {f"mixture[{place}].axes": self._axes(place) for place in self._places()}
        for where, axes in parts.items():
            for path, law in axes.items():
                wrong = laws.check(law, self._folder)
                if wrong is not None:
                    raise ScenarioError(f"{where}.{path}", wrong, self.file)
                if "steps" in law and not path.endswith(".schedule"):
                    raise ScenarioError(f"{where}.{path}", "steps requires the path links.NAME.schedule", self.file)

    def _places(self) -> range:
        return range(len(self.mixture))

    def _axes(self, place: int) -> dict[str, Table]:
        axes: dict[str, Table] = dict(self.mixture[place].get("axes", {}))
        return {**self.axes, **axes}

    def _draws(self, seed: str) -> dict[str, object]:
        axes: Mapping[str, Table] = self.axes
        if self.mixture:
            left = _stream(seed, "mixture").random()
            for place in self._places():
                left -= self.mixture[place]["weight"]
                if left < 0:
                    axes = self._axes(place)
                    break
        outside = self._outside
        return {path: laws.draw(law, _stream(seed, path), self._folder, outside=outside) for path, law in axes.items()}

    def _add_steps(self, tree: Tree, path: str, drawn: Table, random: np.random.Generator) -> None:
        name = path.split(".")[1]
        link = next((link for link in tree["links"] if link["name"] == name), None)
        rate = None if link is None else Quantity.parse(link.get("rate"))
        if link is None or rate is None:
            raise ScenarioError(f"axes.{path}", f"steps requires a link {name} with a rate", self.file)
        duration = Quantity.parse(tree["duration"])
        link["schedule"] = laws.schedule(drawn, rate.value, 0.0 if duration is None else duration.value, random)


def _stream(seed: str, path: str) -> np.random.Generator:
    digest = hashlib.sha256(f"{seed}:{path}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
