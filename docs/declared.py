"""Parts of an algorithm's page that its source declares: the table of parameters and the deviations from its paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fullpipe.registry import Param, algorithms, queues

__all__ = ["deviations", "page_of", "parameters", "source_of"]

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "crates/cc/src/algorithms"
HEADING = "# Deviations and choices"
RENO = ("tahoe", "reno", "newreno")
"""Algorithms of one file and one page."""


def page_of(name: str) -> Path:
    """Page of an algorithm."""
    page = "reno" if name in RENO else name.replace("++", "-plus-plus")
    return ROOT / "docs/reference/algorithms" / f"{page}.md"


def source_of(name: str) -> Path:
    """Source file of an algorithm, whose head has the deviations."""
    stem = page_of(name).stem.replace("-", "_")
    file = SOURCES / f"{stem}.rs"
    return file if file.exists() else SOURCES / stem / "mod.rs"


def parameters(name: str) -> str:
    """Table of the parameters of an algorithm or a queue, from the registry."""
    heads = ("parameter", "unit", "default", "allowed", "meaning", "source")
    known = {**algorithms(), **queues()}
    rows = [heads, ("---",) * len(heads), *map(_row, known[name].params)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


def deviations(name: str) -> str:
    """Deviations and choices of an algorithm, from the head of its source file."""
    lines = list(_head(source_of(name).read_text(encoding="utf-8")))
    text = "\n".join(lines[lines.index(HEADING) + 1 :]).strip("\n")
    return f"\n{text}\n\n"


def _head(source: str) -> Iterator[str]:
    for line in source.splitlines():
        if not line.startswith("//!"):
            return
        yield line.removeprefix("//!").removeprefix(" ")


def _row(param: Param) -> tuple[str, ...]:
    default = _value(param.default if param.default is not None else param.unset)
    for variant, value in param.variants.items():
        default += f"; {_value(value)} with `{variant}`"
    unit = param.unit if param.kind in ("number", "whole number") and param.unit else ""
    return (f"`{param.name}`", unit, default, _allowed(param), param.doc, param.source)


def _value(value: float | bool | str | None) -> str:
    if value is None:
        return "derived"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return re.sub(r"e([+-])0*(\d)", lambda match: f"e{match[1].strip('+')}{match[2]}", f"{value:g}")
    return f"`{value}`"


def _allowed(param: Param) -> str:
    if param.choices:
        return ", ".join(f"`{choice}`" for choice in param.choices)
    if param.kind == "packets or time":
        return "packets or a time"
    if param.min is None or param.max is None:
        return "on, off"
    return f"{_value(param.min)} to {_value(param.max)}"
