"""Keys of a suite file, each declared once: readers, messages, and the JSON Schema use this list."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fullpipe._util import plain
from fullpipe._util.text import quoted, unknown
from fullpipe.errors import ScenarioError
from fullpipe.scenario.quantity import Quantity

__all__ = ["CHECK", "FORMAT", "SCENARIO", "SUITE", "Key", "Table", "fraction", "schema"]

FORMAT = 1
"""Format of suites and of baseline files."""


@dataclass(frozen=True)
class Key:
    """A key of a table.

    Attributes:
        doc: Meaning, in one sentence.
        kind: "text", "names", "number", "whole number", "tables", "table", "controllers", or "value": a number or a
            quantity.
        default: Value of a missing key; None where it has none.
        least: Smallest number allowed.
        most: Largest number allowed.
    """

    doc: str
    kind: str
    default: object = None
    least: float = -math.inf
    most: float = math.inf


SUITE: Mapping[str, Key] = {
    "format": Key("Format of the file.", "whole number", FORMAT, FORMAT, FORMAT),
    "seeds": Key("Seeds of the first look.", "whole number", 10, 5, 1000),
    "max_seeds": Key("Seeds of the last look, and of the baseline file.", "whole number", 80, 5, 1000),
    "confidence": Key(
        "Confidence of the whole suite: 0.95 permits a false alarm in 5 % of runs.", "number", 0.95, 0.5, 0.9999
    ),
    "time_limit": Key("Wall time after which no more seeds are added.", "value"),
    "scenarios": Key("Scenarios of the checks.", "tables", ()),
    "checks": Key("The checks.", "tables"),
    "controllers": Key("Controllers by name; built-in algorithms need no entry.", "controllers", {}),
}

SCENARIO: Mapping[str, Key] = {
    "name": Key("Name for the checks.", "text"),
    "file": Key("Scenario file, relative to the suite.", "text"),
    "scenario": Key("Scenario as a table, in place of a file.", "table"),
}

CHECK: Mapping[str, Key] = {
    "id": Key("Name of the check.", "text"),
    "scenario": Key("Name of its scenario.", "text"),
    "controller": Key("Controller under test.", "text"),
    "metric": Key("Metric, by its id.", "text"),
    "min": Key("Smallest mean allowed.", "value"),
    "max": Key("Largest mean allowed.", "value"),
    "relative_to": Key('Controller to compare with, or "baseline" for the baseline file.', "text"),
    "min_ratio": Key("Smallest ratio to the other controller.", "number", None, 0.001, 1000),
    "max_ratio": Key("Largest ratio to the other controller.", "number", None, 0.001, 1000),
    "worse_by": Key('Smallest loss that counts: a part ("5 %") or a difference ("5 ms").', "value"),
    "conform": Key("Rules of `fullpipe conform`, in place of a metric.", "text"),
    "known": Key("Rules that the controller is known to break, by their ids.", "names", ()),
    "floor": Key("Value that smaller ones count as; for ratios of metrics that may be 0.", "value"),
}


@dataclass(frozen=True)
class Table:
    """A table of a suite file, whose keys are checked.

    Attributes:
        tree: Its content.
        keys: Keys allowed.
        file: The file.
        place: Key of the table in the file; empty for the file itself.
    """

    tree: plain.Table
    keys: Mapping[str, Key]
    file: str
    place: str = ""
    _seen: plain.Tree = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.tree, Mapping):
            raise ScenarioError(self.place, f"must be a table, got {quoted(self.tree)}", self.file)
        for key, value in self.tree.items():
            if key not in self.keys:
                raise self.wrong(key, unknown("key", key, self.keys))
            self._check(key, value)

    def __contains__(self, key: str) -> bool:
        return key in self.tree

    def __getitem__(self, key: str) -> Any:
        return self.tree.get(key, self.keys[key].default)

    def required(self, key: str) -> Any:
        """Value of a key that must be there.

        Raises:
            ScenarioError: The key is missing.
        """
        if key not in self.tree:
            raise self.wrong(key, "missing")
        return self.tree[key]

    def quantity(self, key: str, unit: str) -> float | None:
        """Value of a key as a number in SI units; None where it is missing.

        Raises:
            ScenarioError: It is a quantity of another kind.
        """
        value = self[key]
        if value is None or isinstance(value, int | float):
            return value
        found = Quantity.parse(value)
        if found is None or found.base != unit:
            raise self.wrong(key, f"must be a number or a quantity in {unit}, got {quoted(value)}")
        return found.value

    def wrong(self, key: str, what: str) -> ScenarioError:
        """Error that names the file and the key."""
        return ScenarioError(f"{self.place}.{key}" if self.place else key, what, self.file)

    def _check(self, key: str, value: object) -> None:
        known = self.keys[key]
        allowed, fits = KINDS[known.kind]
        if not fits(value):
            raise self.wrong(key, f"must be {allowed}, got {quoted(value)}")
        if isinstance(value, int | float) and not known.least <= value <= known.most:
            allowed = f"in [{known.least:g}, {known.most:g}]" if known.least < known.most else f"{known.least:g}"
            raise self.wrong(key, f"must be {allowed}, got {value}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_controllers(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str | Mapping) for each in value.values())


KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "text": ("text", lambda value: isinstance(value, str) and bool(value.strip())),
    "names": ("a list of names", _is_names),
    "number": ("a number", _is_number),
    "whole number": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "value": ("a number or a quantity", lambda value: _is_number(value) or isinstance(value, str)),
    "table": ("a table", lambda value: isinstance(value, Mapping)),
    "tables": ("a list of tables", lambda value: isinstance(value, list)),
    "controllers": ("a table of names, files, or tables", _is_controllers),
}


def fraction(value: object) -> float | None:
    """Fraction of a number or of text such as "5 %"; None for other text."""
    if isinstance(value, int | float):
        return float(value)
    number, percent, rest = str(value).partition("%")
    if not percent or rest.strip():
        return None
    try:
        return float(number) / 100
    except ValueError:
        return None


def schema() -> plain.Tree:
    """JSON Schema of suite files, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Suite of fullpipe check",
        **_object(SUITE, required=["checks"]),
        "$defs": {
            "scenarios": _object(SCENARIO, required=["name"]),
            "checks": _object(CHECK, required=["id", "controller"]),
        },
    }


TYPES: Mapping[str, plain.Table] = {
    "text": {"type": "string"},
    "names": {"type": "array", "items": {"type": "string"}},
    "number": {"type": "number"},
    "whole number": {"type": "integer"},
    "value": {"type": ["number", "string"]},
    "table": {"type": "object"},
    "controllers": {"type": "object", "additionalProperties": {"type": ["string", "object"]}},
}


def _object(keys: Mapping[str, Key], required: list[str]) -> plain.Tree:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": {name: _property(name, key) for name, key in keys.items()},
    }


def _property(name: str, key: Key) -> plain.Tree:
    if key.kind == "tables":
        return {"type": "array", "description": key.doc, "items": {"$ref": f"#/$defs/{name}"}}
    found = {**TYPES[key.kind], "description": key.doc}
    found |= {word: bound for word, bound in (("minimum", key.least), ("maximum", key.most)) if math.isfinite(bound)}
    return found if key.default is None else {**found, "default": key.default}
