"""Tables and figures of papers, reproduced: a package per paper, with a declaration per item.

A package has ``ITEMS``. Citation, published values, and expectations are in its ``paper.toml``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.text import quoted, unknown
from fullpipe.errors import InputError
from fullpipe.reproduce.item import Item, expected, keep_data_in

if TYPE_CHECKING:
    import os
    from types import ModuleType

__all__ = ["PAPERS", "items", "items_in", "select"]

PAPERS = ("hyun-jang", "ehstcp", "shorten-leith", "survey", "bbr", "beyond", "modern")
"""Papers. The package of a paper has its name with underscores."""


def items(paper: str) -> tuple[Item, ...]:
    """Items of a paper, in the paper's order."""
    module = import_module(f"fullpipe.papers.{paper.replace('-', '_')}")
    found: tuple[Item, ...] = module.ITEMS
    return found


def items_in(directory: str | os.PathLike[str]) -> tuple[Item, ...]:
    """Items of a paper in any directory, which has ``ITEMS`` in its ``__init__.py``, and ``paper.toml``. The paper has
    the directory's name, with hyphens for underscores. Its code is run.

    Raises:
        InputError: The package is missing, not importable, or has a wrong name or wrong items.
    """
    place = Path(directory)
    paper = place.absolute().name.replace("_", "-")
    for name in ("__init__.py", "paper.toml"):
        if not (place / name).is_file():
            raise InputError(f"{directory}: is not a paper: {name} is missing")
    if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", paper) or paper in PAPERS:
        why = "fullpipe has a paper of that name" if paper in PAPERS else "use small letters, digits and underscores"
        raise InputError(f"{directory}: unusable name {quoted(paper)} of a paper: {why}")
    keep_data_in(paper, place)
    found = getattr(_package(place), "ITEMS", None)
    if not isinstance(found, tuple) or not all(isinstance(item, Item) for item in found) or not found:
        raise InputError(f"{directory}: __init__.py: ITEMS is not a tuple of at least one Item")
    for item in found:
        if item.id.partition("/")[0] != paper:
            raise InputError(f"{directory}: the item {quoted(item.id)} must be called {paper}/...")
        try:
            expected(item.id)
        except (ValueError, LookupError) as error:
            raise InputError(f"{directory}: paper.toml: {error.args[0] if error.args else error!r}") from error
    return found


def select(name: str | None, papers: Sequence[str | os.PathLike[str]] = ()) -> list[Item]:
    """Items of ``paper/item`` or ``paper``; for None all items, or all items of the given directories.

    Args:
        name: Name of an item or a paper.
        papers: Directories of papers outside this package.

    Raises:
        InputError: The paper or item is unknown.
    """
    theirs = [item for directory in papers for item in items_in(directory)]
    ours = [item for paper in PAPERS for item in items(paper)] if name is not None or not theirs else []
    chosen = [item for item in ours + theirs if name is None or name in (item.id, item.id.partition("/")[0])]
    if chosen:
        return chosen
    known = [item.id for item in ours + theirs]
    raise InputError(unknown("paper or item", name, [*dict.fromkeys(each.partition("/")[0] for each in known), *known]))


def _package(place: Path) -> ModuleType:
    """Package in a directory, imported again. Its modules may import each other (``from . import theory``)."""
    name = f"fullpipe_paper_{place.absolute().name}"
    for known in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[known]
    spec = spec_from_file_location(name, place / "__init__.py", submodule_search_locations=[str(place)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{place}: can't be imported: {type(error).__name__}: {error}") from error
    return module
