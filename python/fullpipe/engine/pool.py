"""Threads that share work: all experiments that use this machine's cores run here."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from fullpipe.errors import Cancelled, check_range

__all__ = ["MOST_WORKERS", "TICK_S", "check_stop", "count_workers", "in_threads"]

MOST_WORKERS = 1000
"""Runs at a time on this machine; each takes a thread."""

AHEAD = 1000
"""Tasks that may be done before the caller takes their results, so that cores stay busy while it works on one."""

TICK_S = 0.1
"""Time without a result after which the caller gets None, seconds of wall time."""

PAUSE_S = 0.002
"""Time between two looks at results, seconds of wall time. To wake up for each result costs more than a short run."""

Task = TypeVar("Task")
Done = TypeVar("Done")


def count_workers(workers: int | None, tasks: int) -> int:
    """Number of tasks that run at a time: the number given, else one per core that this process may use, and at most
    the number of tasks.

    Raises:
        InputError: The number is not allowed.
    """
    if workers is not None:
        check_range("workers", workers, 1, MOST_WORKERS)
    return max(1, min(workers or _cores(), tasks))


def check_stop(stop: threading.Event | None) -> None:
    """Ends the work under way if the event is set, or if Ctrl-C ended the main thread, which then waits for this one.

    Raises:
        Cancelled: The event is set.
        KeyboardInterrupt: Ctrl-C ended the main thread.
    """
    if stop is not None and stop.is_set():
        raise Cancelled("stopped")
    if not threading.main_thread().is_alive() and getattr(sys, "last_type", None) is KeyboardInterrupt:
        raise KeyboardInterrupt


def in_threads(
    tasks: Iterable[Task], work: Callable[[Task, threading.Event], Done], workers: int
) -> Generator[tuple[Task, Done] | None]:
    """Results of ``work`` for tasks, in the order in which they are done; None whenever `TICK_S` passed without one.

    The engine releases the interpreter lock, so that threads suffice. Each thread takes the next task itself: a waiting
    set of futures would cost the caller time in proportion to its size for every result. Memory does not grow with the
    number of tasks. The first failure is raised. A failure, or closing the iterator, sets the event that ``work`` was
    given, and waits for the tasks under way.
    """
    crew = Crew(iter(tasks), work)
    threads = [threading.Thread(target=crew.work_on, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        left = workers
        while left:
            try:
                done = crew.results.get(timeout=TICK_S)
            except Empty:
                yield None
                continue
            if done is None:
                left -= 1
            elif isinstance(done, BaseException):
                raise done
            else:
                crew.room.release()
                yield done
                if crew.results.empty():
                    time.sleep(PAUSE_S)
    finally:
        crew.stop.set()
        crew.room.release(workers)
        for thread in threads:
            thread.join()


class Crew(Generic[Task, Done]):
    """Threads' shared state.

    Attributes:
        results: Tasks with their results, failures, and None from each thread that has ended.
        room: Results that may still wait.
        stop: Event that ends the work.
    """

    def __init__(self, tasks: Iterator[Task], work: Callable[[Task, threading.Event], Done]) -> None:
        self.results: SimpleQueue[tuple[Task, Done] | BaseException | None] = SimpleQueue()
        self.room = threading.Semaphore(AHEAD)
        self.stop = threading.Event()
        self._tasks = tasks
        self._work = work
        self._taking = threading.Lock()

    def work_on(self) -> None:
        """Works until there are no tasks left, or one fails, or the event is set."""
        try:
            while True:
                self.room.acquire()
                check_stop(self.stop)
                with self._taking:
                    task = next(self._tasks, self)
                if task is self:
                    self.room.release()  # another thread may wait for room to find that out
                    break
                self.results.put((task, self._work(task, self.stop)))  # type: ignore[arg-type]
        except BaseException as error:
            self.results.put(error)
        self.results.put(None)


def _cores() -> int:
    """Cores that this process may use: a container or ``taskset`` may leave it a few of the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
