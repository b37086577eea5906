"""Work shared out over this machine's cores; all that runs scenarios side by side runs them here."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from fullpipe.errors import Cancelled, InputError

__all__ = ["MOST_WORKERS", "TICK_S", "check_stop", "count_workers", "in_threads"]

MOST_WORKERS = 1000
"""Runs at a time on this machine; each takes a thread."""

AHEAD = 1000
"""Tasks handed to the threads before they have time for them: cores stay busy while the caller works on an outcome."""

TICK_S = 0.1
"""How often the caller hears of time passing, seconds of wall time."""

Task = TypeVar("Task")
Done = TypeVar("Done")


def count_workers(workers: int | None, tasks: int) -> int:
    """How many tasks run at a time: as many as asked for, else one for each core that this process may use; no more
    than there are tasks.

    Raises:
        InputError: So many are not allowed.
    """
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"workers = {workers} (allowed: 1 to {MOST_WORKERS})")
    return max(1, min(workers or _cores(), tasks))


def check_stop(stop: threading.Event | None) -> None:
    """Ends what is under way if it is set, or if Ctrl-C has ended the main thread, which waits for this one alone.

    Raises:
        Cancelled: It is set.
        KeyboardInterrupt: The main thread has ended so.
    """
    if stop is not None and stop.is_set():
        raise Cancelled("stopped")
    if not threading.main_thread().is_alive() and getattr(sys, "last_type", None) is KeyboardInterrupt:
        raise KeyboardInterrupt


def in_threads(
    tasks: Iterable[Task], work: Callable[[Task, threading.Event], Done], workers: int
) -> Generator[tuple[Task, Done] | None]:
    """What ``work`` makes of tasks, each in a thread, in the order in which they are done; None whenever `TICK_S` has
    passed without.

    The engine holds no interpreter lock, so that threads suffice. Memory does not grow with the number of tasks. The
    first failure is raised; it, and closing the iterator, set the event that ``work`` was given and wait for what is
    under way.
    """
    stop = threading.Event()
    waiting = iter(tasks)

    def begin(task: Task) -> tuple[Task, Done]:
        check_stop(stop)
        return task, work(task, stop)

    with ThreadPoolExecutor(workers) as pool:
        try:
            pending: set[Future[tuple[Task, Done]]] = {pool.submit(begin, task) for task in islice(waiting, AHEAD)}
            while pending:
                done, pending = wait(pending, timeout=TICK_S, return_when=FIRST_COMPLETED)
                pending |= {pool.submit(begin, task) for task in islice(waiting, len(done))}
                for future in done:
                    yield future.result()
                if not done:
                    yield None
        finally:
            stop.set()


def _cores() -> int:
    """The cores that this process may use: a container or ``taskset`` may leave it a few of the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
