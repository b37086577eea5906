"""Runs on this machine's cores."""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from fullpipe.runs.executor import check_stop, count_workers, in_threads
from fullpipe.runs.memory import share_bytes
from fullpipe.study.sweep.rows import outcome

if TYPE_CHECKING:
    from fullpipe.study.sweep.plan import Plan

__all__ = ["run_in_threads"]


def run_in_threads(
    plan: Plan, runs: Collection[int], *, workers: int | None = None, memory_bytes: int | None = None
) -> Generator[tuple[dict[str, Any] | None, float]]:
    """The rows of runs in the order in which they finish, each with how much of the unfinished runs is done, in runs;
    also None in place of a row, ten times a second.

    Those under way may hold so much memory together, each an even part. Closing the iterator stops the runs.
    """
    count = count_workers(workers, len(runs))
    part_bytes = share_bytes(count, memory_bytes)
    begun: dict[int, float] = {}

    def work(run: int, stop: threading.Event) -> dict[str, Any]:
        def watch(reached_s: float, duration_s: float) -> None:
            check_stop(stop)
            begun[run] = reached_s / duration_s

        row = {**plan.labels(run), **outcome(plan.scenario, plan.changes(run), watch, part_bytes)}
        begun.pop(run, None)
        return row

    with closing(in_threads(runs, work, count)) as outcomes:
        for done in outcomes:
            yield None if done is None else done[1], sum(list(begun.values()))
