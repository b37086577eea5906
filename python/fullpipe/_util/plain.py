"""Types of plain data from TOML, JSON, and tables. Readers check the types of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Table", "Tree", "copied"]

Table: TypeAlias = Mapping[str, Any]
"""Values by name, which the reader does not change: a table of TOML, an object of JSON, or a row."""

Tree: TypeAlias = dict[str, Any]
"""Values by name that their owner may change."""


def copied(value: Any) -> Any:
    """A copy of dictionaries and lists inside one another. Other values cannot change, and stay as they are.

    ``copy.deepcopy`` takes four times as long, because it looks for values that occur twice.
    """
    if isinstance(value, dict):
        return {name: copied(inside) for name, inside in value.items()}
    return [copied(inside) for inside in value] if isinstance(value, list) else value
