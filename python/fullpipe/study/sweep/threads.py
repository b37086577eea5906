"""Runs on this machine's cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, Any

from fullpipe.errors import Cancelled
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

    The engine holds no interpreter lock, so that threads suffice. Few runs are begun ahead: memory does not grow with
    the sweep. Those under way may hold so much of it together, each an even part.
    Closing the iterator stops the runs.
    """
    count = workers or os.cpu_count() or 1
    part_bytes = share_bytes(min(count, len(runs)), memory_bytes)
    stop = threading.Event()
    begun: dict[int, float] = {}

    def task(run: int) -> dict[str, Any]:
        def watch(reached_s: float, duration_s: float) -> None:
            if stop.is_set():
                raise Cancelled("stopped")
            begun[run] = reached_s / duration_s

        if stop.is_set():
            raise Cancelled("stopped")
        row = {**plan.labels(run), **outcome(plan.scenario, plan.changes(run), watch, part_bytes)}
        begun.pop(run, None)
        return row

    waiting = iter(runs)
    with ThreadPoolExecutor(count) as pool:
        pending: set[Future[dict[str, Any]]] = set()
        try:
            pending = {pool.submit(task, run) for run in islice(waiting, 2 * count)}
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                pending |= {pool.submit(task, run) for run in islice(waiting, len(done))}
                for future in done:
                    yield future.result(), sum(list(begun.values()))
                if not done:
                    yield None, sum(list(begun.values()))
        finally:
            stop.set()
