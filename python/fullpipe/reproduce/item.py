"""What an item (a table or figure of a paper) is, and what is expected of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe._util.inputs import read_text
from fullpipe.errors import InputError
from fullpipe.reproduce.check import refuse_if_void
from fullpipe.reproduce.prose import filled, with_published
from fullpipe.reproduce.rows import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fullpipe.runs.result import Result
    from fullpipe.scenario import Scenario

__all__ = [
    "Claim",
    "Item",
    "Quick",
    "Results",
    "Scenarios",
    "citation",
    "claim",
    "elsewhere",
    "expected",
    "keep_data_in",
    "marks",
    "notes",
    "published",
    "shorter",
]

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

    What is expected of the figures is not here but in the paper's ``paper.toml``; no code between a scenario and a
    measured figure sees a published value.

    Attributes:
        id: ``paper/item``.
        title: What it shows, in a line.
        scenarios: The scenarios by name; names serve as file names. None at all for an equation.
        measure: From the results, the measured figures; every one has a check.
        pictures: From the results, the pictures by their file names without suffix.
        quick: The shortened variant; None where the full one is quick enough.
        linux: What a virtual machine can carry of it; None where it was not thought through for Linux.
    """

    id: str
    title: str
    scenarios: Scenarios
    measure: Callable[[Results], Rows]
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


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper claims above all.

    Attributes:
        of: What the paper is called in short.
        says: The claim.
        judged_by: The items whose checks judge it; none for all.
        words: What came of it where none of these checks fails, with placeholders for figures
            (``{measured: ITEM: FIGURE}``); empty for how many agree.
        item: The item whose picture shows it.
        picture: The picture's name.
        panels: Its panels that do; none for all.
    """

    of: str
    says: str
    judged_by: tuple[str, ...] = ()
    words: str = ""
    item: str = ""
    picture: str = ""
    panels: tuple[int, ...] = ()

    def verdict(self, figures: Mapping[str, float]) -> str:
        """The words, with the figures of a run; a sentence with one that it did not measure is left out."""
        return filled(self.words, figures)


def shorter(scenarios: Scenarios, how: str, **changes: Any) -> Quick:
    """The same scenarios with some keys changed, as for `Scenario.replace`."""
    return Quick(how, lambda: {name: scenario.replace(**changes) for name, scenario in scenarios().items()})


def expected(item_id: str, *, quick: bool = False) -> list[dict[str, Any]]:
    """What is expected of an item's figures, as `judge` takes it, from its paper's data file.

    An entry's ``quick`` is a table of what differs in the shortened variant, or false where that doesn't measure it.

    Raises:
        ValueError: A tolerance is the whole published value or more.
    """
    chosen = []
    for entry in _entries(item_id):
        changes = entry.get("quick", {})
        if quick and changes is False:
            continue
        own = {key: value for key, value in entry.items() if key not in ("item", "quick")}
        if quick and changes:
            own = {key: value for key, value in own.items() if not ("within_factor" in changes and key == "tolerance")}
            own |= changes
        own = {key: _with_values(item_id, key, value) for key, value in own.items()}
        try:
            refuse_if_void(own)
        except ValueError as error:
            raise ValueError(f"{_file_name(item_id)}: {item_id}: {error}") from None
        chosen.append(own)
    if not chosen:
        raise KeyError(f"{item_id} has no check; every item needs one")
    return chosen


def notes(item_id: str) -> dict[str, Any]:
    """What the data file says of an item: ``deviations`` from the paper with causes, and ``reading``, what came of its
    full runs in the simulator, with placeholders for their figures (see `fullpipe.reproduce.prose`).
    """
    paper, _, item = item_id.partition("/")
    found: dict[str, Any] = _data(paper).get("items", {}).get(item, {})
    return {
        "deviations": [with_published(text, partial(published, item_id)) for text in found.get("deviations", [])],
        "reading": with_published(found.get("reading", ""), partial(published, item_id)),
    }


def marks(item_id: str) -> dict[str, float]:
    """Published values that an item's pictures mark with a line; nothing measured sees them."""
    return {name: _value(item_id, value) for name, value in _own_marks(item_id).items()}


def published(item_id: str, name: str) -> float:
    """A published value: the one that an item's data has under a name, as a mark or for a check. Another item's is
    ``item: name``, another paper's ``paper/item: name``.

    Raises:
        ValueError: There is none.
    """
    of_checks = {entry["name"]: entry["published"] for entry in _entries(item_id) if "published" in entry}
    for found in (_own_marks(item_id).get(name), of_checks.get(name)):
        if isinstance(found, int | float):
            return found
    other, colon, rest = name.partition(": ")
    if not colon:
        raise ValueError(f"{_file_name(item_id)}: {item_id}: no published value is called {name!r}")
    return published(other if "/" in other else f"{item_id.partition('/')[0]}/{other}", rest)


def citation(paper: str) -> str:
    """Authors and venue of a paper."""
    text: str = _data(paper)["paper"]
    return text


def claim(paper: str) -> Claim:
    """What a paper claims above all, from its data file; its title stands for that where it has none."""
    said = dict(_data(paper).get("claim", {"of": paper, "says": citation(paper)}))
    lists = {key: tuple(said.pop(key, ())) for key in ("judged_by", "panels")}
    return Claim(**{**said, **lists, "words": with_published(said.get("words", ""), partial(published, f"{paper}/"))})


def _with_values(item_id: str, key: str, value: Any) -> Any:
    if key in ("published", "at_least", "at_most"):
        return _value(item_id, value)
    if key in ("origin", "reason", "miss"):
        return with_published(value, partial(published, item_id))
    return value


def _value(item_id: str, value: float | str) -> float:
    return published(item_id, value) if isinstance(value, str) else value


def _entries(item_id: str) -> list[dict[str, Any]]:
    paper, _, item = item_id.partition("/")
    return [entry for entry in _data(paper)["checks"] if entry["item"] == item]


def _own_marks(item_id: str) -> dict[str, float | str]:
    paper, _, item = item_id.partition("/")
    found: dict[str, float | str] = _data(paper).get("marks", {}).get(item, {})
    return found


def _file_name(item_id: str) -> str:
    return f"{item_id.partition('/')[0]}/paper.toml"


_ELSEWHERE: dict[str, Path] = {}
"""The directories of papers that are not in this package."""


def keep_data_in(paper: str, directory: Path) -> None:
    """Says where a paper is that is not in this package."""
    _ELSEWHERE[paper] = directory
    _data.cache_clear()


def elsewhere(item_id: str) -> Path | None:
    """The directory of an item's paper; None where that is in this package."""
    return _ELSEWHERE.get(item_id.partition("/")[0])


MOST_PAPER_BYTES = 16_000_000
"""Size of ``paper.toml``, at most."""


@cache
def _data(paper: str) -> dict[str, Any]:
    place = _ELSEWHERE.get(paper) or files("fullpipe.papers").joinpath(paper.replace("-", "_"))
    file = place.joinpath("paper.toml")
    try:
        return tomllib.loads(read_text(str(file), MOST_PAPER_BYTES))
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        raise InputError(f"{file}: {error}") from None
