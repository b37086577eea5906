"""The engine, the algorithms and the queueing disciplines, for the package around it."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, final

__all__ = ["VERSION", "Column", "Model", "Problem", "algorithms", "check", "load", "parse", "queues"]

VERSION: str

class Problem(ValueError):
    """A scenario is wrong; `args` are key, what, line (or None)."""

@final
class Column:
    """A column of numbers, all of one type; its bytes are open to Python's buffer protocol, read-only."""

    @property
    def dtype(self) -> Literal["float64", "uint32", "uint64"]: ...
    def to_list(self) -> list[int] | list[float]: ...
    def __len__(self) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Model:
    """A scenario that has been checked and can run."""

    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def warmup_s(self) -> float: ...
    @property
    def series_interval_s(self) -> float | None: ...
    @property
    def warnings(self) -> list[str]: ...
    def resolved(self) -> dict[str, Any]: ...
    def run(
        self, progress: Callable[[float], object] | None = None, memory_bytes: int | None = None
    ) -> dict[str, Any]: ...

def load(text: str, folder: str) -> tuple[Model, dict[str, Any]]: ...
def parse(text: str) -> dict[str, Any]: ...
def check(tree: Mapping[str, Any], folder: str) -> tuple[Model, dict[str, Any]]: ...

class _Param(TypedDict, total=False):
    name: str
    unit: str
    kind: Literal["number", "flag", "choice"]
    default: float | bool | str
    min: float
    max: float
    choices: list[str]
    doc: str
    source: str

class _Algorithm(TypedDict):
    name: str
    paper: str
    group: Literal["loss", "delay", "both", "model", "ECN"]
    recovery: str
    params: list[_Param]

def algorithms() -> list[_Algorithm]: ...

class _QueueParam(TypedDict, total=False):
    name: str
    kind: Literal["time", "packets", "data", "packets or time", "number", "whole number", "flag", "choice"]
    default: float | bool | str | None
    min: float | str
    max: float | str
    choices: list[str]
    doc: str
    source: str

class _Queue(TypedDict):
    name: str
    source: str
    params: list[_QueueParam]

def queues() -> list[_Queue]: ...
