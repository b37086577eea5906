"""What an item (a table or figure of a paper) is, and what is expected of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fullpipe.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fullpipe.result import Result
    from fullpipe.scenario import Scenario

__all__ = ["Item", "Quick", "Results", "Scenarios", "citation", "expected", "marks", "notes", "shorter"]

Results = Mapping[str, "Result"]
"""An item's results by the names it gave its scenarios."""

Scenarios = Callable[[], Mapping[str, "Scenario"]]
"""Makes an item's scenarios by name."""


@dataclass(frozen=True)
class Quick:
    """An item's shortened variant; `measure` and the pictures are the same.

    Attributes:
        how: In what it differs from the full one; shown wherever its figures are.
        scenarios: The scenarios by name.
    """

    how: str
    scenarios: Scenarios


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper: what to run, what to measure, what to draw.

    What is expected of the figures is not here but in ``data/<paper>.toml``; no code between a scenario and a measured
    figure sees a published value.

    Attributes:
        id: ``paper/item``.
        title: What it shows, in a line.
        scenarios: The scenarios by name; names serve as file names. None at all for an equation.
        measure: From the results, the measured figures by name; every one has a check.
        pictures: From the results, the pictures by their file names without suffix.
        quick: The shortened variant; None where the full one is quick enough.
        linux: What a virtual machine can carry of it; None where it was not thought through for Linux.
    """

    id: str
    title: str
    scenarios: Scenarios
    measure: Callable[[Results], Mapping[str, float]]
    pictures: Mapping[str, Callable[[Results], Figure]] = field(default_factory=dict)
    quick: Quick | None = None
    linux: Quick | None = None

    def variant(self, quick: bool, engine: str = "simulator") -> tuple[Mapping[str, Scenario], str]:
        """The scenarios to run, and in what they differ from the full ones (empty where in nothing).

        Raises:
            InputError: The engine is Linux, and the item has no variant for it.
        """
        if engine == "linux":
            if self.linux is None:
                raise InputError(f"{self.id} has no variant for the Linux engine")
            return self.linux.scenarios(), self.linux.how
        if quick and self.quick is not None:
            return self.quick.scenarios(), self.quick.how
        return self.scenarios(), ""


def shorter(scenarios: Scenarios, how: str, **changes: Any) -> Quick:
    """The same scenarios with some keys changed, as for `Scenario.replace`."""
    return Quick(how, lambda: {name: scenario.replace(**changes) for name, scenario in scenarios().items()})


def expected(item_id: str, *, quick: bool = False) -> list[dict[str, Any]]:
    """What is expected of an item's figures, as `judge` takes it, from its paper's data file.

    An entry's ``quick`` is a table of what differs in the shortened variant, or false where that doesn't measure it.
    """
    paper, _, item = item_id.partition("/")
    entries = [entry for entry in _data(paper)["checks"] if entry["item"] == item]
    chosen = []
    for entry in entries:
        changes = entry.get("quick", {})
        if quick and changes is False:
            continue
        own = {key: value for key, value in entry.items() if key not in ("item", "quick")}
        chosen.append({**own, **changes} if quick and changes else own)
    if not chosen:
        raise KeyError(f"{item_id} has no check; every item needs one")
    return chosen


def notes(item_id: str) -> dict[str, Any]:
    """What the data file says of an item: ``deviations`` from the paper with causes, ``reading`` of its outcome."""
    paper, _, item = item_id.partition("/")
    found: dict[str, Any] = _data(paper).get("items", {}).get(item, {})
    return {"deviations": found.get("deviations", []), "reading": found.get("reading", "")}


def marks(item_id: str) -> dict[str, float]:
    """Published values that an item's pictures mark with a line; nothing measured sees them."""
    paper, _, item = item_id.partition("/")
    found: dict[str, float] = _data(paper).get("marks", {}).get(item, {})
    return found


def citation(paper: str) -> str:
    """Authors and venue of a paper."""
    text: str = _data(paper)["paper"]
    return text


@cache
def _data(paper: str) -> dict[str, Any]:
    file = files("fullpipe.papers").joinpath("data", f"{paper.replace('-', '_')}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
