"""Figures over transfers: finite flows and web traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from fullpipe._core import figure_names
from fullpipe._util.plain import Table, Tree

__all__ = ["COLUMNS", "by_size", "completions", "summaries"]

COLUMNS = tuple(figure_names()["transfers"])
"""Of the table of transfers."""

PERCENTS = (50, 95, 99)

Row: TypeAlias = Tree


def summaries(transfers: Sequence[Table]) -> list[Row]:
    """A row per group: ``group``, and `completions` of its transfers, in the order in which groups first began one."""
    return [{"group": name, **completions(own)} for name, own in _groups(transfers).items()]


def by_size(transfers: Sequence[Table]) -> list[Row]:
    """A row per group and size class, a factor of ten each: ``group``, ``from_bytes`` and ``below_bytes``, which the
    sizes are not below and are below, and `completions`; classes without a transfer are left out.
    """
    rows = []
    for name, own in _groups(transfers).items():
        for digits in sorted({len(str(transfer["size_bytes"])) for transfer in own}):
            of_class = [transfer for transfer in own if len(str(transfer["size_bytes"])) == digits]
            bounds = {"from_bytes": 10 ** (digits - 1), "below_bytes": 10**digits}
            rows.append({"group": name, **bounds, **completions(of_class)})
    return rows


def completions(transfers: Sequence[Table]) -> Row:
    """Counts and completion times of the transfers that began after the warm-up.

    ``count`` is their number: ``completed``, ``cut_off`` (their flow stopped before) and ``running`` at the end of the
    run. ``mean_s``, ``p50_s``, ``p95_s``, ``p99_s`` (seconds) and ``p50_slowdown``, ``p95_slowdown``, ``p99_slowdown``
    are of the completed ones, by nearest rank; None if there is none.
    """
    counted = [transfer for transfer in transfers if not transfer["in_warmup"]]
    done = [transfer for transfer in counted if transfer["completion_s"] is not None]
    cut_off = sum(transfer["state"] == "cut off" for transfer in counted)
    times = sorted(transfer["completion_s"] for transfer in done)
    slowdowns = sorted(transfer["slowdown"] for transfer in done)
    return {
        "count": len(counted),
        "completed": len(done),
        "cut_off": cut_off,
        "running": len(counted) - len(done) - cut_off,
        "mean_s": math.fsum(times) / len(times) if times else None,
        **{f"p{percent}_s": _percentile(times, percent) for percent in PERCENTS},
        **{f"p{percent}_slowdown": _percentile(slowdowns, percent) for percent in PERCENTS},
    }


def _groups(transfers: Sequence[Table]) -> dict[str, list[Table]]:
    groups: dict[str, list[Table]] = {}
    for transfer in transfers:
        groups.setdefault(transfer["group"], []).append(transfer)
    return groups


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Least value that ``percent`` of a hundred are not above."""
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] if ordered else None
