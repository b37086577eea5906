"""Functions that make a row of a run's result. A process finds them by name, as ``MODULE:FUNCTION``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from fullpipe._util.plain import Tree
from fullpipe.engine.tables import to_list

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["Measure", "Row", "find_measure", "full", "metrics", "name_of", "whole"]

Row: TypeAlias = Tree
"""Values by column, ready for JSON."""

Measure = Callable[["Result"], Row]


def metrics(result: Result) -> Row:
    """All metrics of a run (`Result.figures`)."""
    return result.figures()


def full(result: Result) -> Row:
    """All metrics of a run under ``runs``, and its tables of flows and links, column by column."""
    parts = {name: result.columns(name) for name in ("flows", "links")}
    return {
        "runs": result.figures(),
        **{name: {key: to_list(column) for key, column in table.items()} for name, table in parts.items()},
    }


def whole(result: Result) -> Row:
    """The result itself under ``result``, with its series; for runs that no store keeps."""
    return {"result": result}


def find_measure(name: str) -> Measure:
    """The function of that name, ``MODULE:FUNCTION``."""
    module, _, function = name.partition(":")
    found: Measure = getattr(import_module(module), function)
    return found


def name_of(measure: Measure) -> str:
    """The name of a function at the top of a module."""
    return f"{measure.__module__}:{measure.__qualname__}"
