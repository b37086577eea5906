"""The algorithms, their papers and parameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from fullpipe import _core

__all__ = ["Algorithm", "Param", "algorithms"]


@dataclass(frozen=True)
class Param:
    """A parameter of an algorithm.

    Attributes:
        name: As scenarios call it.
        unit: Its unit; "1" for a plain ratio or count.
        kind: "number", "flag" or "choice".
        default: Its value where a scenario is silent.
        min: Least number allowed; None where it is no number.
        max: Greatest number allowed; None where it is no number.
        choices: The names allowed; empty where it is no choice.
        doc: What it does.
        source: Where the default comes from: paper and equation, RFC and section.
    """

    name: str
    unit: str
    kind: str
    default: float | bool | str
    doc: str
    source: str
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Algorithm:
    """An algorithm as the registry knows it.

    Attributes:
        name: As scenarios call it.
        paper: Authors, title, venue, year; or the RFC.
        recovery: The loss recovery its paper assumes.
        params: Its parameters.
    """

    name: str
    paper: str
    recovery: str
    params: tuple[Param, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries and lists; keys without meaning for a parameter's kind are left out."""
        params = [{k: v for k, v in asdict(p).items() if v is not None and v != ()} for p in self.params]
        return {"name": self.name, "paper": self.paper, "recovery": self.recovery, "params": params}


@cache
def algorithms() -> dict[str, Algorithm]:
    """Every algorithm by its name, in the registry's order."""
    return {entry["name"]: _algorithm(entry) for entry in _core.algorithms()}


def _algorithm(entry: Any) -> Algorithm:
    params = tuple(Param(**{**param, "choices": tuple(param.get("choices", ()))}) for param in entry["params"])
    return Algorithm(entry["name"], entry["paper"], entry["recovery"], params)
