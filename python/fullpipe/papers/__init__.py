"""The papers' tables and figures, regenerated: one package per paper, each item a declaration.

A package has ``ITEMS``; citation, published values and what else is expected are in its ``paper.toml``.
"""

from __future__ import annotations

from importlib import import_module

from fullpipe.errors import InputError
from fullpipe.reproduce.item import Item
from fullpipe.text import unknown

__all__ = ["PAPERS", "items", "select"]

PAPERS = ("hyun-jang", "ehstcp", "shorten-leith", "survey", "beyond", "modern")
"""The papers; each one's package has its name with underscores."""


def items(paper: str) -> tuple[Item, ...]:
    """A paper's items, in the paper's order."""
    module = import_module(f"fullpipe.papers.{paper.replace('-', '_')}")
    found: tuple[Item, ...] = module.ITEMS
    return found


def select(name: str | None) -> list[Item]:
    """The items meant by ``paper/item``, ``paper``, or None for all.

    Raises:
        InputError: There is no such paper or item.
    """
    every = [item for paper in PAPERS for item in items(paper)]
    chosen = [item for item in every if name is None or name in (item.id, item.id.partition("/")[0])]
    if chosen:
        return chosen
    allowed = [*PAPERS, *(item.id for item in every)]
    raise InputError(unknown("paper or item", name, allowed))
