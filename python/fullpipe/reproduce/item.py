"""Items (tables and figures of papers), and their expectations."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from fullpipe._util.inputs import read_text
from fullpipe.errors import InputError
from fullpipe.reproduce.check import Entry, refuse_if_void
from fullpipe.reproduce.prose import filled, with_published
from fullpipe.reproduce.rows import Rows

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot
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

Toml: TypeAlias = Any
"""Value of a data file."""

Results = Mapping[str, "Result"]
"""Results of an item by the names of its scenarios."""

Scenarios = Callable[[], Mapping[str, "Scenario"]]
"""Function that makes the scenarios of an item by name."""


@dataclass(frozen=True)
class Quick:
    """Shortened variant of an item. Measuring and plots do not differ.

    Attributes:
        how: Differences from the full variant, shown with its values.
        scenarios: Scenarios by name.
    """

    how: str
    scenarios: Scenarios


@dataclass(frozen=True)
class Item:
    """Table or figure of a paper: scenarios, measured values, and plots.

    Expectations are in the paper's ``paper.toml``. No code between a scenario and a measured value reads a published
    value.

    Attributes:
        id: ``paper/item``.
        title: Content in one line.
        scenarios: Scenarios by name; names serve as file names. Empty for an equation.
        measure: Function from results to measured values; each value has a check.
        pictures: Functions from results to plots, by file name without suffix.
        quick: Shortened variant; None if the full one is quick enough.
        linux: Variant that a virtual machine can run; None without one.
    """

    id: str
    title: str
    scenarios: Scenarios
    measure: Callable[[Results], Rows]
    pictures: Mapping[str, Callable[[Results], Plot]] = field(default_factory=dict)
    quick: Quick | None = None
    linux: Quick | None = None

    def variant(self, quick: bool, engine: str = "simulator") -> tuple[Mapping[str, Scenario], str]:
        """Scenarios to run, and the differences from the full variant (empty for the full one).

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
    """Main claim of a paper.

    Attributes:
        of: Short name of the paper.
        says: The claim.
        judged_by: Items whose checks support it; empty for all.
        words: Outcome if no check fails, with placeholders for values (``{measured: ITEM: NAME}``); empty for the
            number of checks that agree.
        item: Item of its plot.
        picture: Name of the plot.
        panels: Panels of the plot; empty for all.
    """

    of: str
    says: str
    judged_by: tuple[str, ...] = ()
    words: str = ""
    item: str = ""
    picture: str = ""
    panels: tuple[int, ...] = ()

    def verdict(self, figures: Mapping[str, float]) -> str:
        """Outcome with the values of a run. A sentence with a missing value is left out."""
        return filled(self.words, figures)


class Notes(TypedDict):
    """Texts about an item."""

    deviations: list[str]
    reading: str


def shorter(
    scenarios: Scenarios, how: str, keep: Callable[[str, Scenario], bool] | None = None, **changes: object
) -> Quick:
    """Shortened variant with the scenarios to ``keep``, and some keys changed as for `Scenario.replace`."""
    return Quick(
        how,
        lambda: {
            name: scenario.replace(**changes) if changes else scenario
            for name, scenario in scenarios().items()
            if keep is None or keep(name, scenario)
        },
    )


def expected(item_id: str, *, quick: bool = False) -> list[Entry]:
    """Expectations of an item's values from its paper's data file, for `judge`.

    ``quick`` of an entry is a table of changes for the shortened variant, or false to leave the entry out.

    Raises:
        ValueError: A tolerance is as large as the published value.
    """
    chosen: list[Entry] = []
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
        raise KeyError(f"{item_id} requires a check")
    return chosen


def notes(item_id: str) -> Notes:
    """Texts about an item in the data file: ``deviations`` from the paper with causes, and ``reading``, the discussion
    of full runs in the simulator, with placeholders (`fullpipe.reproduce.prose`).
    """
    paper, _, item = item_id.partition("/")
    found: dict[str, Toml] = _data(paper).get("items", {}).get(item, {})
    return {
        "deviations": [with_published(text, partial(published, item_id)) for text in found.get("deviations", [])],
        "reading": with_published(found.get("reading", ""), partial(published, item_id)),
    }


def marks(item_id: str) -> dict[str, float]:
    """Published values that an item's plots mark with a line."""
    return {name: _value(item_id, value) for name, value in _own_marks(item_id).items()}


def published(item_id: str, name: str) -> float:
    """Published value of an item, by the name of a mark or check. Values of another item are ``item: name``, and of
    another paper ``paper/item: name``.

    Raises:
        ValueError: The name is unknown.
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
    """Main claim of a paper from its data file; without one, its citation."""
    said = dict(_data(paper).get("claim", {"of": paper, "says": citation(paper)}))
    lists = {key: tuple(said.pop(key, ())) for key in ("judged_by", "panels")}
    return Claim(**{**said, **lists, "words": with_published(said.get("words", ""), partial(published, f"{paper}/"))})


def _with_values(item_id: str, key: str, value: Toml) -> Toml:
    if key in ("published", "at_least", "at_most"):
        return _value(item_id, value)
    if key in ("origin", "reason", "miss"):
        return with_published(value, partial(published, item_id))
    return value


def _value(item_id: str, value: float | str) -> float:
    return published(item_id, value) if isinstance(value, str) else value


def _entries(item_id: str) -> list[Entry]:
    paper, _, item = item_id.partition("/")
    return [entry for entry in _data(paper)["checks"] if entry["item"] == item]


def _own_marks(item_id: str) -> dict[str, float | str]:
    paper, _, item = item_id.partition("/")
    found: dict[str, float | str] = _data(paper).get("marks", {}).get(item, {})
    return found


def _file_name(item_id: str) -> str:
    return f"{item_id.partition('/')[0]}/paper.toml"


_ELSEWHERE: dict[str, Path] = {}
"""Directories of papers outside this package."""


def keep_data_in(paper: str, directory: Path) -> None:
    """Registers the directory of a paper outside this package."""
    _ELSEWHERE[paper] = directory
    _data.cache_clear()


def elsewhere(item_id: str) -> Path | None:
    """Directory of an item's paper; None for a paper of this package."""
    return _ELSEWHERE.get(item_id.partition("/")[0])


MOST_PAPER_BYTES = 16_000_000
"""Largest size of ``paper.toml``."""


@cache
def _data(paper: str) -> dict[str, Toml]:
    place = _ELSEWHERE.get(paper) or files("fullpipe.papers").joinpath(paper.replace("-", "_"))
    file = place.joinpath("paper.toml")
    try:
        return tomllib.loads(read_text(str(file), MOST_PAPER_BYTES))
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        raise InputError(f"{file}: {error}") from None
