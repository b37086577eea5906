"""Registry of algorithms and queueing disciplines: their papers and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache

from fullpipe import _core
from fullpipe._util.plain import Table, Tree

__all__ = ["Algorithm", "Param", "Queue", "algorithms", "queues", "without_defaults"]


@dataclass(frozen=True)
class Param:
    """A parameter of an algorithm or of a queueing discipline.

    Attributes:
        name: Name in scenarios.
        kind: "number", "flag" or "choice"; of queueing disciplines also "whole number" and the quantities "time",
            "packets", "data" and "packets or time".
        default: Value without a key in the scenario, a quantity as text ("5 ms"); None where it follows from the link
            or from other parameters, as described in `doc`.
        variants: Defaults of variants, by the value of the parameter "variant"; they win over `default`.
        unset: The word that a scenario writes for no value, for example "off"; None where there always is a value.
        unit: Unit of a plain number, "1" for a ratio or a count; None for quantities, which are written with theirs.
        min: Least value allowed; None where there is no such bound.
        max: Greatest value allowed; None where there is no such bound.
        choices: The names allowed; empty where it is no choice.
        doc: Description.
        source: Where the default comes from: paper and equation, RFC and section.
    """

    name: str
    kind: str
    default: float | bool | str | None
    doc: str
    source: str
    unit: str | None = None
    min: float | str | None = None
    max: float | str | None = None
    choices: tuple[str, ...] = ()
    variants: Mapping[str, float | bool | str] = field(default_factory=dict)
    unset: str | None = None

    def to_dict(self) -> Tree:
        """Plain dictionary; keys without meaning for the kind are left out."""
        every = {**asdict(self), "choices": list(self.choices)}
        return {key: value for key, value in every.items() if key == "default" or value not in (None, [], {})}


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the registry.

    Attributes:
        name: Name in scenarios.
        paper: Authors, title, venue, year; or the RFC.
        group: Congestion signal: "loss", "delay", "both" (the window falls on losses, by an amount or at a growth rate
            that depend on delay), "model" (rates of delivery and RTTs) or "ECN" (how many packets are marked).
        recovery: The loss recovery its paper assumes.
        params: Its parameters.
    """

    name: str
    paper: str
    group: str
    recovery: str
    params: tuple[Param, ...]

    def to_dict(self) -> Tree:
        """Plain dictionaries and lists; keys without meaning for a parameter's kind are left out."""
        return {**asdict(self), "params": [param.to_dict() for param in self.params]}


@dataclass(frozen=True)
class Queue:
    """A queueing discipline, named by the ``queue`` of a link.

    Attributes:
        name: Name in scenarios.
        source: The RFC or paper it follows.
        params: Its parameters.
    """

    name: str
    source: str
    params: tuple[Param, ...]

    def to_dict(self) -> Tree:
        """Plain dictionaries and lists; keys without meaning for a parameter's kind are left out."""
        return {"name": self.name, "source": self.source, "params": [param.to_dict() for param in self.params]}


@cache
def algorithms() -> dict[str, Algorithm]:
    """All algorithms by name, sorted by `Algorithm.group`."""
    return {entry["name"]: _algorithm(entry) for entry in _core.algorithms()}


@cache
def queues() -> dict[str, Queue]:
    """Every queueing discipline by its name, in the order in which they are listed."""
    return {entry["name"]: Queue(entry["name"], entry["source"], _params(entry["params"])) for entry in _core.queues()}


def without_defaults(algorithm: Table) -> Table:
    """An algorithm's table as a scenario writes it, without the parameters that have their defaults anyway."""
    known = algorithms().get(str(algorithm.get("name")))
    if known is None:
        return algorithm
    variant = algorithm.get("variant")
    defaults = {param.name: param.variants.get(str(variant), param.default) for param in known.params}
    return {key: value for key, value in algorithm.items() if key not in defaults or value != defaults[key]}


def _algorithm(entry: Table) -> Algorithm:
    return Algorithm(**{**entry, "params": _params(entry["params"])})


def _params(entries: Iterable[Table]) -> tuple[Param, ...]:
    return tuple(Param(**{**entry, "choices": tuple(entry.get("choices", ()))}) for entry in entries)
