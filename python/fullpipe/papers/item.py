"""What an item (a table or figure of a paper) is, and how it is judged."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fullpipe.files import staged
from fullpipe.runner import run_many

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

    from fullpipe.result import Result
    from fullpipe.scenario import Scenario

__all__ = ["Check", "Item", "Outcome", "Results", "published", "reproduce"]

Results = Mapping[str, "Result"]
"""An item's results by the names it gave its scenarios."""


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper: what to run, what to measure, what to draw.

    The published values are not here but in ``data/<paper>.toml``, under the names that ``measure`` gives its figures;
    no code between a scenario and a measured figure sees them.

    Attributes:
        id: ``paper/item``.
        title: What it shows, in a line.
        scenarios: The scenarios by name; names serve as file names.
        measure: From the results, the measured figures by the names of their checks.
        pictures: From the results, the pictures by their file names without suffix.
    """

    id: str
    title: str
    scenarios: Callable[[], Mapping[str, Scenario]]
    measure: Callable[[Results], Mapping[str, float]]
    pictures: Mapping[str, Callable[[Results], Figure]] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A measured figure beside the published one.

    Attributes:
        name: What is measured.
        published: What the paper prints.
        measured: What was just simulated or computed.
        tolerance: How far apart the two may be.
        origin: Where in the paper it stands.
        reason: Why the tolerance is what it is.
    """

    name: str
    published: float
    measured: float
    tolerance: float
    origin: str
    reason: str

    @property
    def difference(self) -> float:
        """Measured less published."""
        return self.measured - self.published

    @property
    def passed(self) -> bool:
        """Whether the two agree; a figure that is no number never does."""
        # A billionth more, so that 0.840 against 0.830 is within 0.010 in binary fractions too.
        return abs(self.difference) <= self.tolerance + 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Plain values ready for JSON."""
        measured = self.measured if abs(self.measured) < float("inf") else None
        return {
            "name": self.name,
            "published": self.published,
            "measured": measured,
            "tolerance": self.tolerance,
            "pass": self.passed,
            "origin": self.origin,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Outcome:
    """An item that was reproduced.

    Attributes:
        item: The item.
        results: Its results by the names of its scenarios.
        checks: Its measured figures beside the published ones.
        wall_s: How long it took on the clock on the wall.
    """

    item: Item
    results: Results
    checks: tuple[Check, ...]
    wall_s: float

    @property
    def passed(self) -> bool:
        """Whether all checks did."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain values ready for JSON."""
        return {
            "id": self.item.id,
            "title": self.item.title,
            "pass": self.passed,
            "wall_s": self.wall_s,
            "checks": [check.to_dict() for check in self.checks],
        }

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``item.json``, the pictures as PNG and SVG, and a directory of results per scenario.

        Raises:
            InputError: The directory can't be made or written.
        """
        from fullpipe.plot import write

        with staged(directory) as stage:
            (stage / "item.json").write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
            for name, draw in self.item.pictures.items():
                figure = draw(self.results)
                for suffix in (".png", ".svg"):
                    write(figure, stage / f"{name}{suffix}")
            for name, result in self.results.items():
                result.save(stage / name)


def reproduce(
    item: Item, *, workers: int | None = None, progress: Callable[[float, float], object] | None = None
) -> Outcome:
    """Runs an item's scenarios and sets its figures beside the published ones.

    Args:
        item: What to reproduce.
        workers: Runs at a time; None for the number of cores.
        progress: As for `run_many`.
    """
    begun = time.perf_counter()
    results = run_many(item.scenarios(), workers=workers, progress=progress)
    checks = judge(item.measure(results), published(item.id))
    return Outcome(item, results, checks, time.perf_counter() - begun)


def judge(measured: Mapping[str, float], expected: list[dict[str, Any]]) -> tuple[Check, ...]:
    """Pairs measured figures with published ones, in the order of the published.

    Raises:
        KeyError: A figure has no partner; every figure is checked and every check has its figure.
    """
    names = [entry["name"] for entry in expected]
    if set(names) != set(measured) or len(names) != len(measured):
        raise KeyError(f"figures without a partner: {sorted(set(names) ^ set(measured))}")
    return tuple(Check(measured=measured[entry["name"]], **entry) for entry in expected)


def published(item_id: str) -> list[dict[str, Any]]:
    """An item's published values as its paper's data file has them: name, published, tolerance, origin, reason."""
    paper, _, item = item_id.partition("/")
    text = files("fullpipe.papers").joinpath("data", f"{paper.replace('-', '_')}.toml").read_text(encoding="utf-8")
    checks = tomllib.loads(text)["checks"]
    return [{key: value for key, value in c.items() if key != "item"} for c in checks if c["item"] == item]
