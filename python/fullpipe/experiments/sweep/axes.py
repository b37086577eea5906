"""Axes of a sweep: a key of the scenario, and its values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

from fullpipe._util.text import listed, quoted, unknown, with_params
from fullpipe.errors import InputError, ScenarioError
from fullpipe.metrics import SUFFIXES
from fullpipe.runs.design import Label
from fullpipe.scenario.quantity import Quantity

__all__ = ["LARGEST", "MOST_AXES", "MOST_RUNS", "MOST_VALUES", "Axis", "find_axis", "find_value", "read_axes"]

MOST_AXES = 100
"""Largest number of axes."""

MOST_VALUES = 100_000
"""Largest number of values of an axis."""

MOST_RUNS = 10_000_000
"""Largest number of runs."""

DEEPEST = 8
"""Largest nesting depth of tables and lists in an axis."""

LARGEST = 2**63 - 1
"""Largest whole number in a scenario, as in TOML; the smallest is one less than its negative."""

RANGE_KEYS = ("from", "to", "step", "count", "scale")


Real = float | Fraction

Value: TypeAlias = Any
"""Value of a key: anything that a scenario can hold."""


@dataclass(frozen=True)
class Axis:
    """Key with its values.

    Attributes:
        path: Key path, as in `Scenario.replace`.
        values: Values in order, without duplicates.
        log: Whether the axis was a range of scale "log".
    """

    path: str
    values: tuple[Value, ...]
    log: bool = False

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Values of the axis's column, of one type: numbers or flags, else text."""
        if all(isinstance(value, bool) for value in self.values):
            return self.values
        if all(_is_number(value) for value in self.values):
            whole = all(isinstance(value, int) for value in self.values)
            return self.values if whole else tuple(float(value) for value in self.values)
        return tuple(_text(value) for value in self.values)

    @cached_property
    def measure(self) -> str | None:
        """Column of the values as plain numbers, such as ``links.bottleneck.delay_s``; None if they are no quantities
        of one kind.
        """
        quantities = [Quantity.parse(value) for value in self.values]
        bases = {quantity.base if quantity else None for quantity in quantities}
        base = bases.pop()
        if bases or base is None:
            return None
        suffix = next(suffix for suffix, unit in SUFFIXES.items() if unit == base)
        return f"{self.path}_{suffix}"

    def to_dict(self) -> dict[str, Value]:
        """Plain values ready for JSON; `Axis.of` reads them."""
        return {"key": self.path, "values": self.values, **({"scale": "log"} if self.log else {})}

    @classmethod
    def of(cls, tree: Mapping[str, Value]) -> Axis:
        """Axis from the result of `to_dict`."""
        return cls(tree["key"], tuple(tree["values"]), tree.get("scale") == "log")

    @property
    def unit(self) -> str:
        """Unit of that column for plots; empty without one."""
        return "" if self.measure is None else SUFFIXES[self.measure.rpartition("_")[2]]

    def columns(self, place: int) -> dict[str, Label]:
        """Columns of the axis in a run with one of its values."""
        quantity = Quantity.parse(self.values[place])
        measured = {} if self.measure is None or quantity is None else {self.measure: quantity.value}
        return {self.path: self.labels[place], **measured}


def read_axes(table: Mapping[str, Value], file: str | None = None) -> tuple[Axis, ...]:
    """Axes from a table: key paths, dotted or nested, with lists or ranges.

    Raises:
        ScenarioError: There are too many axes, or an axis is no list or range, is empty, or has a repeated or
            impossible value.
    """
    leaves = list(islice(_leaves(table, (), file), MOST_AXES + 1))
    if len(leaves) > MOST_AXES:
        raise ScenarioError("sweep", f"must have at most {MOST_AXES} axes", file)
    axes: dict[str, Axis] = {}
    points = 1
    for path, value in leaves:
        if path in axes:
            raise _wrong(path, "must be one axis, got two", file)
        axes[path] = _read_axis(path, value, file)
        points *= len(axes[path].values)
        if points > MOST_RUNS:
            raise ScenarioError("sweep", f"must make at most {MOST_RUNS} runs, got more", file)
    return tuple(axes.values())


def find_axis(axes: Sequence[Axis], name: str) -> Axis:
    """Axis with that key path or with that ending of its path.

    Raises:
        InputError: No axis matches, or several do.
    """
    for axis in axes:
        if axis.path == name:
            return axis
    ending = [axis for axis in axes if axis.path.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise InputError(f"{quoted(name)} could be several axes: {listed(axis.path for axis in ending)}")
    raise InputError(unknown("axis", name, (axis.path for axis in axes)))


def find_value(axes: Sequence[Axis], text: str) -> tuple[Axis, Label]:
    """Axis that has a value, and the value, by its text in tables.

    Raises:
        InputError: No axis has the value, or several do.
    """
    found = [(axis, label) for axis in axes for label in axis.labels if str(label) == text]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{quoted(text)} could be a value of {listed(axis.path for axis, _ in found)}")
    raise InputError(unknown("value", text, (label for axis in axes for label in axis.labels)))


def _leaves(table: Mapping[str, Value], above: tuple[str, ...], file: str | None) -> Iterable[tuple[str, Value]]:
    if len(above) > DEEPEST:
        raise _wrong(".".join(above), f"must have at most {DEEPEST} levels of tables", file)
    for key, value in table.items():
        path = (*above, str(key))
        if isinstance(value, Mapping) and not {"from", "to"} & set(value):
            yield from _leaves(value, path, file)
        else:
            yield ".".join(path), value


def _read_axis(path: str, value: Value, file: str | None) -> Axis:
    try:
        if isinstance(value, Mapping):
            axis = Axis(path, _range(value), value.get("scale") == "log")
        elif isinstance(value, str | bytes) or not isinstance(value, Iterable):
            raise ValueError(f'an axis must be a list or {{ from = "...", to = "...", count = 10 }}, got {value!r}')
        else:
            axis = Axis(path, tuple(_plain(entry) for entry in islice(value, MOST_VALUES + 1)))
    except ValueError as error:
        raise _wrong(path, str(error), file) from None
    if not axis.values:
        raise _wrong(path, "requires at least one value", file)
    if len(axis.values) > MOST_VALUES:
        raise _wrong(path, f"must have at most {MOST_VALUES} values", file)
    seen: set[Value] = set()
    for value, label in zip(axis.values, axis.labels, strict=True):
        same: set[Value] = {label}
        if isinstance(value, Mapping):  # the same table with its keys in another order
            same.add((json.dumps(value, sort_keys=True, default=str),))
        if seen & same:
            raise _wrong(path, f"must have each value once, got {quoted(label)} twice", file)
        seen |= same
    return axis


def _range(table: Mapping[str, Value]) -> tuple[Value, ...]:
    """Values of a range, both ends included. Whole numbers and packets stay whole, so that some may coincide."""
    for key in table:
        if key not in RANGE_KEYS:
            raise ValueError(unknown("range key", key, RANGE_KEYS))
    for key in ("from", "to"):
        if key not in table:
            raise ValueError(f"a range requires {key!r}")
    scale = table.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise ValueError(unknown("scale", scale, ("linear", "log")))
    if ("step" in table) == ("count" in table):
        raise ValueError("a range requires either 'step' or 'count'")
    if scale == "log" and "step" in table:
        raise ValueError("a range of scale 'log' requires 'count', and conflicts with 'step'")
    ends = [_end(key, table[key]) for key in ("from", "to")]
    steps = [_end("step", table["step"])] if "step" in table else []
    unit = _common_unit([*ends, *steps])
    whole = all(isinstance(end, int) for end in (*ends, *steps))
    # Whole numbers may be larger than the range in which binary fractions are exact.
    plain = Fraction if whole else float
    low, high, *step = [plain(end) if unit is None else end.in_unit(unit) for end in (*ends, *steps)]
    if not low < high:
        raise ValueError(f"'to' must be above 'from' = {quoted(table['from'])}, got {quoted(table['to'])}")
    numbers = _by_step(low, high, step[0]) if step else _by_count(low, high, table["count"], scale)
    if unit is None:
        return tuple(dict.fromkeys(round(number) for number in numbers)) if whole else tuple(map(_tidy, numbers))
    if ends[0].base == "packets":
        numbers = list(dict.fromkeys(float(round(number)) for number in numbers))
    return tuple(f"{number:.12g} {unit}" for number in numbers)


def _end(key: str, value: Value) -> Value:
    value = _plain(value)
    if _is_number(value) and math.isfinite(value):
        return value
    quantity = Quantity.parse(value)
    if quantity is None or not math.isfinite(quantity.number):
        raise ValueError(f'{key!r} must be a number or a quantity such as "250 packets", got {quoted(value)}')
    return quantity


def _common_unit(ends: list[Value]) -> str | None:
    """Unit of the first end; None for plain numbers."""
    bases = {end.base if isinstance(end, Quantity) else "1" for end in ends}
    if len(bases) > 1:
        raise ValueError("the ends and the step of a range must have the same kind of unit")
    return ends[0].unit if isinstance(ends[0], Quantity) else None


def _by_step(low: Real, high: Real, step: Real) -> list[Real]:
    if step <= 0:
        raise ValueError(f"'step' must be above 0, got {float(step):g}")
    steps = (high - low) / step
    if steps >= MOST_VALUES:
        raise ValueError(f"a range must have at most {MOST_VALUES} values")
    # A billionth of a step more, so that 0.1 to 0.7 by 0.2 ends at 0.7 in binary fractions too.
    return [low + i * step for i in range(math.floor(steps + 1e-9) + 1)]


def _by_count(low: Real, high: Real, count: Value, scale: str) -> list[Real]:
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MOST_VALUES:
        raise ValueError(f"'count' must be in [2, {MOST_VALUES}], got {count!r}")
    if scale == "linear":
        return [low + (high - low) * i / (count - 1) for i in range(count)]
    if low <= 0:
        raise ValueError(f"'from' must be above 0 with scale 'log', got {float(low):g}")
    return [low, *(low * (high / low) ** (i / (count - 1)) for i in range(1, count - 1)), high]


def _tidy(number: Real) -> float:
    return float(f"{float(number):.12g}")


def _plain(value: Value, depth: int = 0) -> Value:
    """Copy without NumPy types, with tables as dictionaries and sequences as lists.

    Raises:
        ValueError: The value is impossible in a scenario.
    """
    if depth > DEEPEST:
        raise ValueError(f"a value must have at most {DEEPEST} levels of lists and tables")
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item() if value.ndim == 0 else value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, depth + 1) for entry in value]
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        raise ValueError(f"a whole number must be in [{-LARGEST - 1}, {LARGEST}]")
    return value


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Value) -> str:
    if isinstance(value, Mapping):
        return with_params(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "default" if value is None else str(value)


def _wrong(path: str, what: str, file: str | None) -> ScenarioError:
    return ScenarioError(f"sweep.{path}", what, file)
