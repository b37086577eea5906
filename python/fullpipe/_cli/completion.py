"""Shell completion of files and of known names."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

__all__ = ["algorithms", "files", "items", "mixes", "queues", "sizes"]


def files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, completed by the shell."""
    return [CompletionItem(incomplete, type="file")]


def algorithms(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Algorithms, also after commas."""
    from fullpipe.registry import algorithms

    return _after_comma(algorithms(), incomplete)


def mixes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Algorithms, after commas and, in mixes, after plus signs."""
    from fullpipe.registry import algorithms

    found = _after_comma(algorithms(), incomplete)
    before, plus, begun = incomplete.rpartition("+")
    return found or [f"{before}{plus}{name}" for name in algorithms() if plus and name.startswith(begun)]


def sizes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Queueing disciplines, and after a period their parameters that can be sized."""
    from fullpipe.experiments.sizing.mix import WAYS
    from fullpipe.registry import queues

    every = queues().values()
    params = [f"{queue.name}.{param.name}" for queue in every for param in queue.params if param.kind in WAYS]
    return [name for name in (params if "." in incomplete else queues()) if name.startswith(incomplete)]


def queues(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Queueing disciplines."""
    from fullpipe.registry import queues

    return _after_comma(queues(), incomplete)


def items(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Papers and their items."""
    from fullpipe.papers import PAPERS, select

    return [name for name in (*PAPERS, *(item.id for item in select(None))) if name.startswith(incomplete)]


def _after_comma(known: Iterable[str], incomplete: str) -> list[str]:
    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in known if name.startswith(begun)]
