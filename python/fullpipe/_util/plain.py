"""Types of plain data from TOML, JSON, and tables. Readers check the types of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Table", "Tree"]

Table: TypeAlias = Mapping[str, Any]
"""Values by name, which the reader does not change: a table of TOML, an object of JSON, or a row."""

Tree: TypeAlias = dict[str, Any]
"""Values by name that their owner may change."""
