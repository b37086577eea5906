"""Paths to keys of a scenario, such as ``links.bottleneck.buffer``."""

from __future__ import annotations

from collections.abc import Iterable

from fullpipe._util.plain import Tree
from fullpipe._util.text import hint, listed, quoted

__all__ = ["Place", "set_value"]

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value of a tree."""


def set_value(tree: Tree, path: str, value: object) -> list[Place]:
    """Sets the key at ``path`` to ``value``; None removes it. Returns the places it is at.

    A list of tables is entered by the name or the position of one of its tables; else all of them are meant. An
    algorithm or a queue that is only a name becomes a table with that name.

    Raises:
        KeyError: There is no such key; the argument is the reason.
    """
    return _set(tree, path.split("."), value, ())


def _set(table: Tree, steps: list[str], value: object, place: Place) -> list[Place]:
    step, *rest = steps
    place = (*place, step)
    if not rest:
        if value is None:
            table.pop(step, None)
        else:
            table[step] = value
        return [place]
    if step not in table:
        raise KeyError(_unknown(step, table))
    if step in ("algorithm", "queue") and isinstance(table[step], str):
        table[step] = {"name": table[step]}
    inside = table[step]
    if isinstance(inside, dict):
        return _set(inside, rest, value, place)
    if not isinstance(inside, list):
        raise KeyError(f"{quoted(step)} has no keys inside")
    chosen, rest = _choose(inside, rest)
    return [one for i in chosen for one in _set(inside[i], rest, value, (*place, i))]


def _choose(entries: list[Tree], steps: list[str]) -> tuple[list[int], list[str]]:
    """The positions of the tables that ``steps`` go into, and the steps left inside them."""
    step, *rest = steps
    names = [entry["name"] for entry in entries if "name" in entry]
    if step in names:
        chosen = [i for i, entry in enumerate(entries) if entry.get("name") == step]
    elif step.isdecimal():
        # Python refuses to read numbers of thousands of digits.
        if len(step) > 9 or int(step) >= len(entries):
            raise KeyError(f"the entry must be in [0, {len(entries) - 1}], got {step}")
        chosen = [int(step)]
    elif rest and not any(step in entry for entry in entries):
        raise KeyError(_unknown(step, names or [str(i) for i in range(len(entries))]))
    else:
        return list(range(len(entries))), steps
    if not rest:
        raise KeyError(f"requires a key of the table: {listed(entries[chosen[0]])}")
    return chosen, rest


def _unknown(step: str, known: Iterable[str]) -> str:
    names = list(known)
    return f"unknown key {quoted(step)}{hint(step, names)} (allowed: {listed(names)})"
