"""Distributions of scenarios: a scenario, and laws of some of its keys.

The table ``[scenario]`` is a scenario. Each key of ``[axes]`` is a path of it, as in `Scenario.replace`, and its value
one of ``{ uniform = [LOW, HIGH] }``, ``{ log = [LOW, HIGH] }`` with an optional probability ``zero`` of 0,
``{ integer = [LOW, HIGH] }``, and ``{ choice = [...] }`` with optional ``weights``. Each axis has its own random
stream, keyed by its path: a new axis does not change the draws of the others.

A sample has ``processing_time`` of one packet on the slowest link unless the scenario sets it, against phase effects of
drop-tail queues (Floyd and Jacobson, 1992).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence

import numpy as np

from fullpipe._util.plain import Table
from fullpipe._util.text import quoted, unknown
from fullpipe.errors import ScenarioError
from fullpipe.scenario import Scenario, parse, read_text
from fullpipe.scenario.quantity import Quantity

__all__ = ["Distribution"]

KINDS = ("uniform", "log", "integer", "choice")


class Distribution:
    """Scenarios, drawn by a seed.

    Args:
        scenario: Keys of the scenario.
        axes: Law of each key that is drawn, by its path.
        file: File for messages.

    Raises:
        ScenarioError: The scenario or a law is wrong.
    """

    def __init__(
        self,
        scenario: Table,
        axes: Mapping[str, Table] | None = None,
        *,
        file: str | None = None,
    ) -> None:
        self.scenario = Scenario.from_dict(scenario, file=file)
        self.axes = {path: dict(law) for path, law in (axes or {}).items()}
        self.file = file
        for path, law in self.axes.items():
            self._check(path, law)
        self.sample(0)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Distribution:
        """Reads a distribution from a TOML file; a plain scenario is a distribution without axes.

        Raises:
            ScenarioError: The file can't be read, or something is wrong in it.
        """
        file = str(path)
        tree = parse(read_text(path), file=file)
        if "scenario" not in tree:
            return cls.of(Scenario.load(path))
        for key in tree:
            if key not in ("scenario", "axes"):
                raise ScenarioError(key, unknown("key", key, ("scenario", "axes")), file)
        return cls(tree["scenario"], tree.get("axes"), file=file)

    @classmethod
    def of(cls, what: Distribution | Scenario | str | os.PathLike[str] | Table) -> Distribution:
        """A distribution from itself, a scenario, a file, or a dictionary with the keys of either."""
        if isinstance(what, Distribution):
            return what
        if isinstance(what, Scenario):
            return cls(what.to_dict(), file=what.file)
        if isinstance(what, Mapping):
            return cls(what["scenario"], what.get("axes")) if "scenario" in what else cls(what)
        return cls.load(what)

    def sample(self, seed: int) -> Scenario:
        """The scenario of a seed, 0 to 2^63 - 1; its own ``seed`` is derived from that.

        Raises:
            ScenarioError: A drawn value is not allowed.
        """
        changes = {path: self._draw(law, _stream(seed, path)) for path, law in self.axes.items()}
        changes["seed"] = int(_stream(seed, "").integers(0, 2**63))
        drawn = self.scenario.replace(**changes)
        tree = drawn.to_dict()
        rates = [quantity.value for link in tree["links"] if (quantity := Quantity.parse(link.get("rate"))) is not None]
        size = Quantity.parse(tree.get("packet_size", "1000 B"))
        bits = 8 * float(tree.get("packet_size", 1000) if size is None else size.value)
        if rates and min(rates) > 0:
            for flow in tree.get("flows", []):
                flow.setdefault("processing_time", f"{max(1, min(10**9, round(1e9 * bits / min(rates))))} ns")
        return Scenario.from_dict(tree, file=self.file)

    def _check(self, path: str, law: Table) -> None:
        kinds = [key for key in law if key in KINDS]
        extra = {"choice": "weights", "log": "zero"}.get(kinds[0] if kinds else "", "")
        if len(kinds) != 1 or any(key not in (kinds[0], extra) for key in law):
            raise self._wrong(path, f"an axis requires one of {', '.join(KINDS)}")
        given = law[kinds[0]]
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise self._wrong(path, f"{kinds[0]} requires a list")
        if kinds[0] == "choice":
            weights = law.get("weights", [1] * len(given))
            if len(weights) != len(given) or min(weights) < 0 or not sum(weights) > 0:
                raise self._wrong(path, f"weights must be {len(given)} numbers of at least 0, one of them above 0")
            return
        low, high = (_number(value) for value in (given if len(given) == 2 else (None, None)))
        if low is None or high is None or low[1] != high[1] or not low[0] <= high[0]:
            raise self._wrong(
                path, f"{kinds[0]} requires two values in one unit, the lesser one first, got {quoted(str(given))}"
            )
        if kinds[0] == "log" and low[0] <= 0:
            raise self._wrong(path, "log requires values above 0")
        if not 0 <= law.get("zero", 0) <= 1:
            raise self._wrong(path, f"zero must be in [0, 1], got {law['zero']}")

    def _wrong(self, path: str, what: str) -> ScenarioError:
        return ScenarioError(f"axes.{path}", what, self.file)

    def _draw(self, law: Table, random: np.random.Generator) -> object:
        if "choice" in law:
            weights = np.array(law.get("weights", [1] * len(law["choice"])), float)
            return law["choice"][int(random.choice(len(weights), p=weights / weights.sum()))]
        kind = next(key for key in KINDS if key in law)
        (low, unit), (high, _) = (_number(value) or (0.0, "") for value in law[kind])
        place, zero = random.random(), random.random()
        if kind == "integer":
            return int(random.integers(int(low), int(high) + 1))
        value = low * (high / low) ** place if kind == "log" else low + (high - low) * place
        if zero < law.get("zero", 0):
            value = 0.0
        return f"{value:.9g} {unit}" if unit else value


def _number(value: object) -> tuple[float, str] | None:
    """Value in its base unit, and that unit as scenarios write it; "" for a plain number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    quantity = Quantity.parse(value)
    return None if quantity is None else (quantity.value, {"bytes": "B"}.get(quantity.base, quantity.base))


def _stream(seed: int, path: str) -> np.random.Generator:
    digest = hashlib.sha256(f"{seed}:{path}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
